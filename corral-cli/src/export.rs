//! `corral export`.

use std::io::{self, BufWriter};
use std::path::PathBuf;

use clap::Args;
use corral_lab::export::{Export, Form, What};

use crate::{Failure, choice, folder};

/// Arguments of `corral export`.
#[derive(Debug, Args)]
pub struct ExportArgs {
    /// A results folder
    dir: PathBuf,
    /// Which table
    #[arg(long, value_parser = choice::<What>(), default_value = "cells")]
    what: What,
    /// In which form
    #[arg(long, value_parser = choice::<Form>(), default_value = "csv")]
    to: Form,
    /// Where to write it [default: print it]
    #[arg(long, short, value_name = "FILE")]
    out: Option<PathBuf>,
    /// Export what is there of an unfinished run
    #[arg(long)]
    partial: bool,
}

/// `corral export`.
///
/// # Errors
/// The folder is not one of results, or the table cannot be written.
pub fn export(args: ExportArgs) -> Result<(), Failure> {
    let found = folder::read(&args.dir, args.partial)?;
    let export = Export(&found);
    let failure = |name: &str, e: io::Error| match e.kind() {
        io::ErrorKind::Unsupported => Failure::usage(e),
        _ => Failure::running(format!("{name}: {e}")),
    };
    match args.out {
        Some(path) => {
            export.write_file(args.what, args.to, &path).map_err(|e| failure(&path.display().to_string(), e))
        }
        None if args.to == Form::Parquet => {
            Err(Failure::usage("parquet is not printed: name a file with --out"))
        }
        None => match export.write(args.what, args.to, &mut BufWriter::new(io::stdout())) {
            // A closed pipe (`corral export ... | head`) ends quietly.
            Err(e) if e.kind() != io::ErrorKind::BrokenPipe => Err(failure("stdout", e)),
            _ => Ok(()),
        },
    }
}
