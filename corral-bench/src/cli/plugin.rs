//! `corral plugin`.

use std::path::{Path, PathBuf};

use clap::{Args, Subcommand};
use corral_plugin_abi::host::{Policy, check_base, inspect, scaffold};

use super::{Failure, print};

/// Arguments of `corral plugin`.
#[derive(Debug, Args)]
pub struct PluginArgs {
    #[command(subcommand)]
    command: PluginCommand,
}

#[derive(Debug, Subcommand)]
enum PluginCommand {
    /// Write a new plugin crate: manifest, code of a complete base, readme
    New {
        /// Its name: small letters, digits and dashes
        name: String,
        /// The folder to write it into
        #[arg(long, default_value = ".", value_name = "DIR")]
        dir: PathBuf,
    },
    /// Examine a compiled plugin: pre-flight, version, layout, then every law that a base owes
    Check {
        /// The library
        file: PathBuf,
        /// Parameters of its bases, as TOML: 'epsilon = 0.1'
        #[arg(long, default_value = "", value_name = "TOML")]
        params: String,
        /// Also load a file that everybody may write
        #[arg(long)]
        allow_world_writable: bool,
    },
}

/// `corral plugin`.
///
/// # Errors
/// A name that cannot be used, a file that is refused (2), or a law that is broken (1).
pub fn plugin(args: PluginArgs) -> Result<(), Failure> {
    match args.command {
        PluginCommand::New { name, dir } => {
            let folder = scaffold(&name, &dir).map_err(Failure::usage)?;
            let library = format!("target/release/lib{}.so", name.replace('-', "_"));
            print(&format!(
                "wrote {0}\n\n  cd {0}\n  cargo build --release\n  corral plugin check {library}\n",
                folder.display()
            ))
        }
        PluginCommand::Check { file, params, allow_world_writable } => {
            check(&file, &params, &Policy { allow_world_writable, ..Policy::default() })
        }
    }
}

fn check(file: &Path, params: &str, policy: &Policy) -> Result<(), Failure> {
    let inspection = inspect(file, policy);
    for (step, found) in &inspection.steps {
        match found {
            Ok(found) => print(&format!("ok      {step}: {found}\n"))?,
            Err(why) => {
                print(&format!("FAILED  {step}\n"))?;
                return Err(Failure::usage(format!("{}: {why}", file.display())));
            }
        }
    }
    let Some(loaded) = &inspection.loaded else {
        return Err(Failure::usage(format!("{}: it was not loaded", file.display())));
    };
    let mut broken = 0;
    for base in &loaded.bases {
        let verdict = check_base(loaded, base, params);
        print(&format!("\n{}/{} ({}), in {}\n", loaded.stem(), base.name, base.kind, verdict.world))?;
        for (law, outcome) in &verdict.laws {
            match outcome {
                Ok("") => print(&format!("ok      {law}\n"))?,
                Ok(note) => print(&format!("ok      {law} ({note})\n"))?,
                Err(why) => {
                    broken += 1;
                    print(&format!("BROKEN  {law}: {why}\n"))?;
                }
            }
        }
    }
    match broken {
        0 => Ok(()),
        n => Err(Failure::running(format!("{n} laws are broken"))),
    }
}
