//! The `corral` program.

use std::process::ExitCode;

use clap::Parser;
use corral_bench::cli::{Cli, say};

fn main() -> ExitCode {
    // A copy of this program that was started as the home of a plugin never returns from here.
    corral_plugin_abi::host::isolated_main();
    match Cli::parse().execute() {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            say(&format!("error: {}", failure.message));
            ExitCode::from(failure.code)
        }
    }
}
