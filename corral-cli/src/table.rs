//! Tables that only the program prints.

use std::time::Duration;

use corral_lab::answer::time;
use corral_lab::run::in_words;
use corral_lab::spec::{RunSpec, Spec};
use corral_lab::summary::number;
use corral_lab::table::{fitted, paged};

/// How many characters fit beside each other: those of the terminal, or of `COLUMNS`, or 100.
pub fn page_width() -> usize {
    terminal_width().unwrap_or(100)
}

/// The same, where there is a terminal or `COLUMNS` is set: what goes into a file or a pipe is not broken.
pub fn terminal_width() -> Option<usize> {
    let said = std::env::var("COLUMNS").ok().and_then(|text| text.parse().ok());
    let seen = || {
        let terminal = console::Term::stdout();
        terminal.is_term().then(|| usize::from(terminal.size().1))
    };
    said.or_else(seen).map(|width: usize| width.clamp(60, 200))
}

/// The columns of a data set, and what is worth a look before a run of so many rounds.
pub fn columns(table: &corral_envs::data::Table, rounds: u64) -> String {
    let width = terminal_width();
    let lines = table.columns.iter().map(|c| {
        vec![
            c.name.clone(),
            c.kind.to_owned(),
            c.range.map_or("-".to_owned(), |(low, high)| format!("{} to {}", number(low), number(high))),
            c.missing.to_string(),
            c.categories.map_or("many".to_owned(), |n| n.to_string()),
            c.features.to_string(),
        ]
    });
    let dropped = match table.dropped {
        0 => String::new(),
        more => format!(", {more} more passed over for missing cells"),
    };
    let mut out = format!(
        "{}: {} rows{dropped}, {} actions, {} features\n",
        table.file, table.rows, table.actions, table.features
    );
    let header = ["column", "type", "range", "missing", "values", "features"];
    out.push_str(&fitted(&header, "lllrrr", &lines.collect::<Vec<_>>(), width, &[]));
    let warnings = table.warnings().into_iter().chain(table.shorter_than(rounds));
    warnings.for_each(|w| out.push_str(&format!("warning: {w}\n")));
    out.push('\n');
    paged(&out, width)
}

/// What a round of every learner takes, as its first rounds did.
pub fn costs(spec: &Spec, costs: &[(RunSpec, Option<f64>)]) -> String {
    let rows = costs.iter().map(|(run, seconds)| {
        let rounds = spec.rounds[run.horizon] as f64;
        vec![
            spec.environments[run.environment].label.clone(),
            spec.learners[run.learner].label.clone(),
            seconds.map_or("-".to_owned(), time),
            seconds.map_or("-".to_owned(), |s| in_words(Duration::from_secs_f64(s * rounds))),
        ]
    });
    let rows: Vec<Vec<String>> = rows.collect();
    fitted(&["environment", "learner", "per round", "per seed"], "llrr", &rows, terminal_width(), &[]) + "\n"
}
