//! `corral plugin`.

use std::path::{Path, PathBuf};

use clap::{Args, Subcommand};
use corral_plugin_abi::host::{ISOLATE, LoadPolicy, inspect, scaffold, scaffold_wasm};

use crate::plugins::Trust;
use crate::{Failure, print};

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
        /// A checkout of Corral to build against, in place of the published crate [default: one that the folder lies in]
        #[arg(long, value_name = "DIR")]
        corral: Option<PathBuf>,
        /// Write a WebAssembly plugin in C instead: one file for every platform, for programs built with `--features wasm`
        #[arg(long, conflicts_with = "corral")]
        wasm: bool,
    },
    /// Examine a compiled plugin: pre-flight, version, layout, then every law that a base owes
    Check {
        /// The library
        file: PathBuf,
        /// Parameters of its bases, as TOML: 'epsilon = 0.1'
        #[arg(long, default_value = "", value_name = "TOML")]
        params: String,
        #[command(flatten)]
        trust: Trust,
    },
}

/// `corral plugin`.
///
/// # Errors
/// A name that cannot be used, a file that is refused (2), or a law that is broken (1).
pub fn plugin(args: PluginArgs) -> Result<(), Failure> {
    match args.command {
        PluginCommand::New { name, dir, corral, wasm } => {
            let checkout = checkout(&dir, corral.as_deref())?;
            let (folder, build, library, suffix) = if wasm {
                (scaffold_wasm(&name, &dir), "make", format!("{name}.wasm"), "wasm")
            } else {
                let library = format!("target/release/lib{}.so", name.replace('-', "_"));
                (scaffold(&name, &dir, checkout.as_deref()), "cargo build --release", library, "so")
            };
            let folder = folder.map_err(Failure::usage)?;
            let installed = format!("plugins/{name}.{suffix}");
            // Without a checkout it asks for a crate that a registry may not have.
            let needs = if wasm || checkout.is_some() {
                ""
            } else {
                "\nno checkout of Corral was found, so Cargo.toml asks the registry for corral-plugin-abi: where it is not there, name a \
                 checkout, here with --corral DIR or in Cargo.toml with path = \"DIR/corral-plugin-abi\"\n"
            };
            print(&format!(
                "wrote {0}\n{needs}\n  cd {0}\n  {build}\n  corral plugin check {library}\n  install -D -m 644 {library} \
                 {installed}\n\nruns look for plugins in plugins/ of the folder that they start in, or in --plugins DIR\n",
                folder.display()
            ))
        }
        PluginCommand::Check { file, params, trust } => check(&file, &params, &trust.policy()),
    }
}

/// The checkout of Corral that a plugin in a folder of `dir` is built against, as seen from that folder: the one that is
/// `given`, or one that `dir` lies in.
fn checkout(dir: &Path, given: Option<&Path>) -> Result<Option<PathBuf>, Failure> {
    let whole =
        |path: &Path| path.canonicalize().map_err(|e| Failure::usage(format!("{}: {e}", path.display())));
    let is_one = |path: &Path| path.join("corral-plugin-abi/Cargo.toml").is_file();
    let dir = if dir.is_dir() { whole(dir)? } else { std::path::absolute(dir).map_err(Failure::usage)? };
    let found = match given {
        Some(path) => {
            let refuse = format_args!("{}: not a checkout of Corral", path.display());
            Failure::ensure(is_one(path), refuse)?;
            Some(whole(path)?)
        }
        None => dir.ancestors().find(|path| is_one(path)).map(Path::to_owned),
    };
    Ok(found.map(|found| {
        let shared = found.components().zip(dir.components()).take_while(|(a, b)| a == b).count();
        let up = std::iter::repeat_n("..", dir.components().count() - shared + 1);
        up.collect::<PathBuf>().join(found.components().skip(shared).collect::<PathBuf>())
    }))
}

/// Every step runs in a child, and every base in one of its own: one that ends before its verdict is no good base.
fn check(file: &Path, params: &str, policy: &LoadPolicy) -> Result<(), Failure> {
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
    for base in loaded.bases() {
        let name = format!("{}/{} ({})", loaded.stem(), base.name, base.kind);
        let verdict = match loaded.examine(&base.name, params) {
            Ok(verdict) => verdict,
            Err(why) => {
                broken += 1;
                print(&format!("\n{name}\nBROKEN  it can be examined: {why}\n        {ISOLATE}\n"))?;
                continue;
            }
        };
        print(&format!("\n{name}, in {}\n", verdict.world))?;
        for (law, outcome) in &verdict.laws {
            match outcome {
                Ok(note) if note.is_empty() => print(&format!("ok      {law}\n"))?,
                Ok(note) => print(&format!("ok      {law} ({note})\n"))?,
                Err(why) => {
                    broken += 1;
                    print(&format!("BROKEN  {law}: {why}\n"))?;
                }
            }
        }
        if verdict.ends_processes() {
            print(&format!("        {ISOLATE}\n"))?;
        }
    }
    match broken {
        0 => Ok(()),
        n => Err(Failure::running(format!("{n} laws are broken"))),
    }
}
