//! `corral new`: a commented spec to start from.

use std::path::PathBuf;

use clap::{Args, ValueEnum};

use crate::{Failure, print};

/// Arguments of `corral new`.
#[derive(Debug, Args)]
pub struct NewArgs {
    /// What kind of spec
    #[arg(value_enum, default_value = "arms")]
    kind: Kind,
    /// Where to write it [default: KIND.toml]; - prints it
    #[arg(long, short, value_name = "FILE")]
    out: Option<PathBuf>,
}

/// The specs to start from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Kind {
    /// Arms without contexts
    Arms,
    /// Arms with contexts
    Contexts,
    /// Points of a set in R^d
    Points,
    /// A table of your own, row by row
    Data,
    /// A base of a plugin beside known ones
    PluginTest,
}

impl Kind {
    fn text(self) -> (&'static str, &'static str) {
        match self {
            Self::Arms => ("arms", include_str!("new/arms.toml")),
            Self::Contexts => ("contexts", include_str!("new/contexts.toml")),
            Self::Points => ("points", include_str!("new/points.toml")),
            Self::Data => ("data", include_str!("new/data.toml")),
            Self::PluginTest => ("plugin-test", include_str!("new/plugin-test.toml")),
        }
    }
}

/// `corral new`.
///
/// # Errors
/// The file is there already, or cannot be written.
pub fn new(args: NewArgs) -> Result<(), Failure> {
    let (name, text) = args.kind.text();
    let path = args.out.unwrap_or_else(|| PathBuf::from(format!("{name}.toml")));
    if path.as_os_str() == "-" {
        return print(text);
    }
    let written = std::fs::File::create_new(&path).and_then(|mut file| {
        use std::io::Write;
        // Half a spec is not left behind.
        file.write_all(text.as_bytes()).inspect_err(|_| drop(std::fs::remove_file(&path)))
    });
    match written {
        Ok(()) => print(&format!(
            "wrote {0}\n\n  corral run {0} --check    is it fine, and what will it cost\n  corral run {0} --fast     a short run\n  corral run {0}\n",
            path.display()
        )),
        Err(e) if e.kind() == std::io::ErrorKind::AlreadyExists => Err(Failure::usage(format!(
            "{}: there is such a file already, and it was left as it is; name another with --out",
            path.display()
        ))),
        Err(e) => Err(Failure::usage(format!("{}: {e}", path.display()))),
    }
}
