//! `corral report`.

use std::path::PathBuf;

use clap::Args;
use corral_lab::report;
use corral_lab::store;

use crate::{Failure, folder, print};

/// Arguments of `corral report`.
#[derive(Debug, Args)]
pub struct ReportArgs {
    /// A results folder
    dir: PathBuf,
    /// Report what is there of an unfinished run
    #[arg(long)]
    partial: bool,
    /// Where to write the report [default: DIR/report.html]
    #[arg(long, short)]
    output: Option<PathBuf>,
}

/// `corral report`.
///
/// # Errors
/// The folder is not one of results, or the report cannot be written.
pub fn report(args: ReportArgs) -> Result<(), Failure> {
    let found = folder::read(&args.dir, args.partial)?;
    let path = args.output.unwrap_or_else(|| args.dir.join("report.html"));
    store::write_whole(&path, report::html(&found).as_bytes()).map_err(Failure::running)?;
    print(&format!("{}\n", path.display()))
}
