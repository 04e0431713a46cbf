//! `corral report`.

use std::path::PathBuf;

use clap::Args;

use super::folder::Folder;
use super::{Failure, print};
use crate::report;
use crate::store;

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
    let folder = Folder::read(&args.dir, args.partial)?;
    let path = args.output.unwrap_or_else(|| args.dir.join("report.html"));
    let html = report::html(&folder.spec, &folder.cells, &folder.rows, &folder.overall(), &folder.held());
    store::write_whole(&path, html.as_bytes()).map_err(Failure::running)?;
    print(&format!("{}\n", path.display()))
}
