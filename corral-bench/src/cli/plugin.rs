//! `corral plugin`.

use clap::{Args, Subcommand};

use super::Failure;

/// Arguments of `corral plugin`.
#[derive(Debug, Args)]
pub struct PluginArgs {
    #[command(subcommand)]
    command: PluginCommand,
}

#[derive(Debug, Subcommand)]
enum PluginCommand {}

/// `corral plugin`.
///
/// # Errors
/// See [`Failure`].
pub fn plugin(args: PluginArgs) -> Result<(), Failure> {
    match args.command {}
}
