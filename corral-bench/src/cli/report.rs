//! `corral report`.

use std::path::PathBuf;

use clap::Args;

use super::{Failure, print};
use crate::claims::hold;
use crate::overall::Overall;
use crate::report;
use crate::spec::Spec;
use crate::store;
use crate::summary::rows;

/// Arguments of `corral report`.
#[derive(Debug, Args)]
pub struct ReportArgs {
    /// A results folder, finished or not
    dir: PathBuf,
    /// Where to write the report [default: DIR/report.html]
    #[arg(long, short)]
    output: Option<PathBuf>,
}

/// `corral report`.
///
/// # Errors
/// The folder is not one of results, or the report cannot be written.
pub fn report(args: ReportArgs) -> Result<(), Failure> {
    let manifest = store::read_manifest(&args.dir).map_err(Failure::usage)?;
    let cells = store::read_cells(&args.dir).map_err(Failure::usage)?;
    let spec =
        Spec::parse(&manifest.spec).map_err(|e| Failure::usage(format!("{}: {e}", args.dir.display())))?;
    let path = args.output.unwrap_or_else(|| args.dir.join("report.html"));
    let rows = rows(&spec, &cells, &|_, _, _| None);
    let overall = Overall::of(&spec, &cells, &rows);
    let html = report::html(&spec, &cells, &rows, &overall, &hold(&spec, &cells));
    store::write_whole(&path, html.as_bytes()).map_err(Failure::running)?;
    print(&format!("{}\n", path.display()))
}
