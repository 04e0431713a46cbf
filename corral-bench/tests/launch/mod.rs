//! The program, started as a user would.

use std::path::Path;
use std::process::{Command, Output, Stdio};

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
