//! `corral decide`: a model that was kept decides for new rows.

use std::path::PathBuf;

use clap::Args;
use corral_lab::model::Model;

use crate::plugins::PluginDir;
use crate::{Failure, print, say};

/// Arguments of `corral decide`.
#[derive(Debug, Args)]
pub struct DecideArgs {
    /// The model: `corral run SPEC --keep best` writes it
    model: PathBuf,
    /// A table with the same columns, in any order; that of the answer may be missing
    table: String,
    #[command(flatten)]
    plugins: PluginDir,
}

/// `corral decide`.
///
/// # Errors
/// The model or the table cannot be read.
pub fn decide(args: DecideArgs) -> Result<(), Failure> {
    let named = |e: &dyn std::fmt::Display| Failure::usage(format!("{}: {e}", args.model.display()));
    let bytes = std::fs::read(&args.model).map_err(|e| named(&e))?;
    let mut model = Model::from_bytes(&bytes).map_err(|e| named(&e))?;
    let plugins = args.plugins.load(true)?;
    let mut out = csv::Writer::from_writer(Vec::new());
    let mut written = out.write_record(["line", "action", "probability"]);
    let notes = model
        .decide(&args.table, &plugins, |answer| {
            if written.is_ok() {
                let row =
                    [answer.line.to_string(), answer.action.to_owned(), format!("{:.4}", answer.probability)];
                written = out.write_record(row);
            }
        })
        .map_err(Failure::usage)?;
    written.map_err(Failure::running)?;
    let bytes = out.into_inner().map_err(Failure::running)?;
    print(&String::from_utf8_lossy(&bytes))?;
    notes.iter().for_each(|note| say(note));
    Ok(())
}
