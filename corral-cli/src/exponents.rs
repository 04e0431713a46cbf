//! `corral run` of a spec that measures stability.

use std::path::Path;
use std::sync::atomic::AtomicBool;

use corral_lab::claims::Held;
use corral_lab::report::heading;
use corral_lab::report::stability as report;
use corral_lab::run::{Plugins, Resources, RunError, check, run as drive};
use corral_lab::spec::{SpecError, StabilityRow, StabilitySpec};
use corral_lab::stability::{AtRange, Family, Measured, Stability, kind_and_alpha};
use corral_lab::store::{Shard, csv as csv_text, csv_cell, write_whole};
use corral_lab::summary::number;
use corral_lab::table::{fitted, paged};

use crate::Format;
use crate::progress::Reporter;
use crate::stability::{CURVE_HEADER, curve_row};
use crate::table::terminal_width;

/// Builds every run once: is the spec well formed?
///
/// # Errors
/// The line of the spec, and what is wrong there.
pub fn checked(spec: &StabilitySpec, plugins: &Plugins, memory: u64) -> Result<u64, SpecError> {
    let mut cells = 0;
    for row in &spec.rows {
        let at_row = |e: SpecError| SpecError::at(row.base.origin.place(), e.why);
        let runs = stability(spec, row, plugins)?.spec(&row.schedule).map_err(at_row)?;
        check(&runs, plugins, memory).map_err(at_row)?;
        cells += runs.cells();
    }
    Ok(cells)
}

/// Measures every base, its runs kept in a folder of its own below `dir`, and answers in `format`.
///
/// # Errors
/// A base cannot be built, a folder fails, or the user interrupts. What was finished is kept.
pub fn run(
    spec: &StabilitySpec,
    plugins: &Plugins,
    dir: &Path,
    resources: Resources,
    cancel: &AtomicBool,
    format: Format,
    quiet: bool,
) -> Result<String, RunError> {
    checked(spec, plugins, resources.memory_of_a_cell())?;
    let mut all = Vec::new();
    for row in &spec.rows {
        let what = stability(spec, row, plugins)?;
        let runs = what.spec(&row.schedule)?;
        let reporter = Reporter::new(&runs, Shard::WHOLE, quiet);
        let folder = dir.join(what.base.label.replace(['/', ' ', ','], "-"));
        let outcome = drive(&runs, plugins, &folder, Shard::WHOLE, resources, cancel, &reporter);
        reporter.finish();
        let found = what.analyse(&row.schedule, &outcome?.0);
        let held = what.hold(&found);
        all.push(Measured { what, found, held });
    }
    let (header, rows) = table(spec, &all);
    let page = report::html(spec, (&header, &rows), &all);
    write_whole(&dir.join("report.html"), page.as_bytes()).map_err(RunError::Store)?;
    Ok(match format {
        Format::Table => text(spec, &all),
        Format::Json => json(spec, &all),
        Format::Csv => csv(&all),
    })
}

fn stability(spec: &StabilitySpec, row: &StabilityRow, plugins: &Plugins) -> Result<Stability, SpecError> {
    let (kind, alpha) = kind_and_alpha(&row.base.recipe.name, plugins)
        .map_err(|e| SpecError::at(row.base.origin.place(), e))?;
    Ok(Stability {
        base: row.base.clone(),
        world: Family::of_kind(kind),
        claimed: row.alpha.or(alpha),
        rounds: ((spec.rounds as f64 * row.rounds_times) as u64).max(2),
        seeds: spec.seeds.saturating_mul(row.seeds_times),
        ranges: spec.ranges.clone(),
    })
}

fn text(spec: &StabilitySpec, all: &[Measured]) -> String {
    let mut out = heading(&spec.name, spec.asks.as_deref()) + "\n";
    let (header, rows) = table(spec, all);
    let header: Vec<&str> = header.iter().map(String::as_str).collect();
    // The fit itself last: its interval says as much.
    let less = [4, 3, 9, 1, 7];
    out.push_str(&fitted(&header, "lllrrrrrrrrl", &rows, terminal_width(), &less));
    for m in all {
        if let Some(why) = &m.held.unlikely {
            out.push_str(&format!("\n{}: {why}\n", m.held.learner));
        }
    }
    if let Some(m) = all.first() {
        let (_, tolerance) = m.held.bound.split_once("+ ").unwrap_or_default();
        out.push_str(&format!(
            "\nRegret is that of the worst gap. Claimed is the alpha of table 1 and a tolerance of {tolerance}. Holds: the whole interval is below their sum.\n"
        ));
    }
    paged(&out, terminal_width())
}

/// The table: its header, and a row for every base.
fn table(spec: &StabilitySpec, all: &[Measured]) -> (Vec<String>, Vec<Vec<String>>) {
    let (first, last) = (spec.ranges[0], spec.ranges[spec.ranges.len() - 1]);
    let (at_first, at_last) = (format!("regret, rho {first}"), format!("rho {last}"));
    let header = [
        "base", "world", "schedule", "rounds", "seeds", &at_first, &at_last, "alpha", "95%", "ranges",
        "claimed", "verdict",
    ];
    let rows = all.iter().map(|m| {
        let ends = [m.found.curve.first(), m.found.curve.last()].map(|p| p.map(|p| p.worst.mean));
        let fitted = m.found.worst;
        let mut row = vec![m.held.learner.clone(), m.held.environment.clone(), m.found.schedule.clone()];
        row.push(m.what.rounds.to_string());
        row.push(m.what.seeds.to_string());
        row.extend(ends.map(|mean| mean.map_or("-".to_owned(), number)));
        row.push(fitted.map_or("-".to_owned(), |f| format!("{:.3}", f.alpha)));
        row.push(fitted.map_or("-".to_owned(), |f| format!("[{:.3}, {:.3}]", f.low, f.high)));
        row.push(fitted.map_or("0".to_owned(), |f| f.points.to_string()));
        row.push(m.held.bound.clone());
        row.push(m.held.verdict.to_string());
        row
    });
    (header.map(str::to_owned).to_vec(), rows.collect())
}

fn json(spec: &StabilitySpec, all: &[Measured]) -> String {
    let base = |m: &Measured| {
        serde_json::json!({
            "label": m.what.base.label,
            "world": m.what.world,
            "rounds": m.what.rounds,
            "claimed_alpha": m.what.claimed,
            "measured": m.found,
        })
    };
    let bases: Vec<_> = all.iter().map(base).collect();
    let claims: Vec<&Held> = all.iter().map(|m| &m.held).collect();
    let object = serde_json::json!({
        "name": spec.name,
        "rounds": spec.rounds,
        "seeds": spec.seeds,
        "bases": bases,
        "claims": claims,
    });
    format!("{object:#}\n")
}

fn csv(all: &[Measured]) -> String {
    let row = |(m, p): (&Measured, &AtRange)| {
        let labels = [&*m.what.base.label, &*m.held.environment].map(|text| csv_cell(text).into_owned());
        labels.into_iter().chain([m.what.rounds.to_string()]).chain(curve_row(p)).collect()
    };
    let points = all.iter().flat_map(|m| m.found.curve.iter().map(move |p| (m, p)));
    csv_text(&[&["base", "world", "rounds"], CURVE_HEADER].concat(), points.map(row))
}
