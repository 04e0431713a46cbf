//! The examples run to their end.

use std::process::Command;

#[test]
fn the_examples_run() {
    for (name, says) in [("embed", "clicks"), ("own_base", "curious"), ("own_environment", "regret")] {
        let output = Command::new(env!("CARGO"))
            .args(["run", "--quiet", "--package", "corral-bench", "--example", name])
            .current_dir(env!("CARGO_MANIFEST_DIR"))
            .output()
            .unwrap_or_else(|e| panic!("{name}: {e}"));
        assert!(output.status.success(), "{name}: {}", String::from_utf8_lossy(&output.stderr));
        let said = String::from_utf8_lossy(&output.stdout);
        assert!(said.contains(says), "{name}: {said}");
    }
}
