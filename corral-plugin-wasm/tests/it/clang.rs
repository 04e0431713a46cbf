//! The scaffold, compiled by clang where there is one with the target wasm32.

use std::process::Command;

use corral_plugin_abi::host::scaffold_wasm;

use crate::laws::keeps_every_law;
use crate::{ARMS, build};

#[test]
fn the_scaffold_keeps_every_law() {
    let dir = tempfile::tempdir().unwrap();
    let folder = scaffold_wasm("my-base", dir.path()).unwrap();
    assert!(scaffold_wasm("my-base", dir.path()).is_err(), "a second time");
    std::fs::write(folder.join("layout.c"), include_str!("layout.c")).unwrap();
    let run = |program: &str, args: &[&str]| Command::new(program).args(args).current_dir(&folder).output();
    if run("clang", &["--version"]).is_err()
        || run("wasm-ld", &["--version"]).is_err()
        || run("make", &["-v"]).is_err()
    {
        println!("SKIPPED: no clang, wasm-ld or make (on Debian: apt install clang lld make)");
        return;
    }
    let works = |program: &str, args: &[&str]| {
        let output = run(program, args).unwrap();
        assert!(output.status.success(), "{program}: {}", String::from_utf8_lossy(&output.stderr));
    };
    works("clang", &["--target=wasm32", "-std=c11", "-ffreestanding", "-fsyntax-only", "layout.c"]);
    works("make", &["CFLAGS=-O2 -Wall -Wextra -Werror"]);
    let module = std::fs::read(folder.join("my-base.wasm")).unwrap();
    keeps_every_law(&module, "my-base");
    build(&module, "my-base", "epsilon = 0.25", ARMS).unwrap();
    let why = build(&module, "my-base", "epsilon = 2.0", ARMS).err().expect("no such epsilon");
    assert!(why.contains("epsilon must be in [0, 1]"), "{why}");
}
