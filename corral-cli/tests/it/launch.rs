//! The program, started as a user would.

// Not every test uses all of it.
#![allow(dead_code)]

use std::fs;
use std::path::Path;
use std::process::{Command, Output, Stdio};

use tempfile::TempDir;

/// Runs `corral` in `dir`, without plugins of the environment.
pub fn corral(dir: &Path, args: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_corral"))
        .args(args)
        .current_dir(dir)
        .env_remove("CORRAL_PLUGINS")
        .stdin(Stdio::null())
        .output()
        .expect("the program starts")
}

/// A folder with `spec.toml` in it.
pub fn folder_with(spec: &str) -> TempDir {
    let dir = TempDir::new().unwrap();
    fs::write(dir.path().join("spec.toml"), spec).unwrap();
    dir
}

/// `corral run spec.toml --quiet` with more arguments.
pub fn run(dir: &TempDir, args: &[&str]) -> Output {
    corral(dir.path(), &[&["run", "spec.toml", "--quiet"], args].concat())
}

/// What it printed, when it ended well.
#[track_caller]
pub fn succeeded(output: &Output) -> String {
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8_lossy(&output.stdout).into_owned()
}

/// The exit code, and the message on stderr.
#[track_caller]
pub fn refused(output: &Output, code: i32, parts: &[&str]) {
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(code), "{stderr}");
    for part in parts {
        assert!(stderr.contains(part), "{part:?} is not in: {stderr}");
    }
}

/// The records of a results folder, without their digests.
pub fn records(dir: &Path) -> Vec<String> {
    let text = fs::read_to_string(dir.join("cells.jsonl")).unwrap();
    text.lines().map(|l| l.split_once("\",").unwrap().1.to_owned()).collect()
}
