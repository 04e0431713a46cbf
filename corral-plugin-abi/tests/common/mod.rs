//! Builds the fixtures: Rust ones by a nested cargo, C ones by the system's compiler.
#![allow(dead_code)]

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::OnceLock;

use corral_plugin_abi::host::LoadPolicy;

/// The workspace.
pub fn workspace() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap().to_owned()
}

/// Where nested builds go: one folder for all of them, so that dependencies are built once, and not the one whose lock
/// an outer cargo may hold.
pub fn target() -> PathBuf {
    Path::new(env!("CARGO_TARGET_TMPDIR")).parent().unwrap().join("plugin-fixtures")
}

/// Runs cargo and returns the libraries that it made, by name of their target.
pub fn cargo(folder: &Path, args: &[&str]) -> BTreeMap<String, PathBuf> {
    let mut command = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    let json = args.iter().position(|a| *a == "--").unwrap_or(args.len());
    command
        .args(&args[..json])
        .arg("--message-format=json")
        .args(&args[json..])
        .current_dir(folder)
        // Plugins are as their authors build them, whatever the host is built with (a sanitizer, for one).
        .env_remove("RUSTFLAGS")
        .env_remove("CARGO_ENCODED_RUSTFLAGS")
        .env("CARGO_TARGET_DIR", target());
    if !args.contains(&"--release") {
        // Fixtures are built quickly rather than well.
        command.env("CARGO_PROFILE_DEV_OPT_LEVEL", "0").env("CARGO_PROFILE_DEV_DEBUG", "0");
    }
    let output = command.stderr(Stdio::piped()).output().expect("cargo runs");
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(
        output.status.success(),
        "cargo {args:?}: {}\n{}",
        String::from_utf8_lossy(&output.stderr),
        text.lines().filter(|l| l.contains("\"level\":\"error\"")).collect::<Vec<_>>().join("\n")
    );
    let mut made = BTreeMap::new();
    for message in text.lines().filter_map(|l| serde_json::from_str::<serde_json::Value>(l).ok()) {
        let cdylib =
            message["target"]["crate_types"].as_array().is_some_and(|t| t.iter().any(|t| t == "cdylib"));
        if message["reason"] != "compiler-artifact" || !cdylib {
            continue;
        }
        let name = message["target"]["name"].as_str().unwrap_or_default().to_owned();
        for file in message["filenames"].as_array().into_iter().flatten().filter_map(|f| f.as_str()) {
            if file.ends_with(std::env::consts::DLL_SUFFIX) {
                made.insert(name.clone(), PathBuf::from(file));
            }
        }
    }
    made
}

/// Everything in this process.
pub fn in_this_process() -> LoadPolicy {
    // SAFETY: the fixtures are this repository's. Hostile ones break the promise on purpose, in a process of their own.
    unsafe { LoadPolicy::in_this_process() }
}

/// A Rust fixture by the name of its example.
pub fn rust(name: &str) -> PathBuf {
    static BUILT: OnceLock<BTreeMap<String, PathBuf>> = OnceLock::new();
    let built = BUILT.get_or_init(|| {
        cargo(&workspace(), &["build", "--locked", "-p", "corral-plugin-fixtures", "--examples"])
    });
    built.get(name).unwrap_or_else(|| panic!("no fixture {name} among {built:?}")).clone()
}

/// The Rust fixture that is built with `panic = "abort"`: its last step only, the dependencies are those of the others.
pub fn aborting() -> PathBuf {
    let package = ["rustc", "--locked", "-p", "corral-plugin-fixtures"];
    let example = ["--features", "aborting", "--example", "aborting", "--", "-Cpanic=abort"];
    cargo(&workspace(), &[&package[..], &example].concat())["aborting"].clone()
}

/// Compiles a C fixture to `out`; `None`, said so, where there is no C compiler.
pub fn c(source: &str, out: &Path, flags: &[&str]) -> Option<PathBuf> {
    let here = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap().join("corral-plugin-abi");
    let source = here.join("tests/fixtures/c").join(source);
    compile("cc", &here, &source, out, flags)
}

/// Runs a compiler; `None`, said so, where there is none.
pub fn compile(compiler: &str, abi: &Path, source: &Path, out: &Path, flags: &[&str]) -> Option<PathBuf> {
    let output = Command::new(compiler)
        .args(["-O1", "-Wall", "-Wextra"])
        .args(flags)
        .arg("-I")
        .arg(abi.join("include"))
        .arg("-o")
        .arg(out)
        .arg(source)
        .arg("-lm")
        .output();
    match output {
        Err(_) => {
            println!("skipped: there is no {compiler}");
            None
        }
        Ok(output) => {
            let said = String::from_utf8_lossy(&output.stderr);
            assert!(output.status.success(), "{compiler} {}: {said}", source.display());
            Some(out.to_owned())
        }
    }
}

/// Flags of a library.
pub const SHARED: &[&str] = &["-shared", "-fPIC"];

/// A folder of its own whose files no one else may write.
pub fn folder() -> tempfile::TempDir {
    tempfile::tempdir().expect("a temporary folder")
}
