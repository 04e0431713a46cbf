//! The examples run to their end.

use std::path::Path;
use std::process::Command;

#[test]
fn the_examples_run() {
    // Of the workspace, as the tests are: for one package alone the libraries have other features, and all would be built again.
    let build = ["build", "--quiet", "--workspace", "--examples"];
    let built = Command::new(env!("CARGO")).args(build).current_dir(env!("CARGO_MANIFEST_DIR")).output();
    let built = built.unwrap_or_else(|e| panic!("cargo: {e}"));
    assert!(built.status.success(), "{}", String::from_utf8_lossy(&built.stderr));
    let folder = Path::new(env!("CARGO_BIN_EXE_corral")).with_file_name("examples");
    for (name, says) in [("embed", "clicks"), ("own_base", "curious"), ("own_environment", "regret")] {
        let output = Command::new(folder.join(name)).output().unwrap_or_else(|e| panic!("{name}: {e}"));
        assert!(output.status.success(), "{name}: {}", String::from_utf8_lossy(&output.stderr));
        let said = String::from_utf8_lossy(&output.stdout);
        assert!(said.contains(says), "{name}: {said}");
    }
}
