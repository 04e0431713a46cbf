//! One self-contained HTML page: no network; a few lines of script show values under the pointer and hide lines, and
//! nothing is missing without them.

mod overall;
pub mod stability;
mod text;
pub mod valuation;
mod world;

use maud::{DOCTYPE, Markup, PreEscaped, html};

use crate::answer::{extent, method, seeds, words};
use crate::chart::{COLOURS, Chart, DASHES, Palette, svg};
use crate::claims::{Held, Verdict};
use crate::figures::Setting;
use crate::findings::Findings;
use crate::harmless;
use crate::ranks::unranked;
use crate::run::CellRecord;
use crate::spec::Spec;
use crate::summary::{FEWEST_SEEDS, SummaryRow, quoted};

pub use text::{heading, text};

/// The page for what came of a spec.
pub fn html(found: &Findings) -> String {
    let Findings { spec, cells, .. } = found;
    let mut page = Page::default();
    page.part("answer", "The answer in words", answer(found));
    overall::parts(&mut page, found);
    page.part("claims", "Claims", claims(&found.held));
    let swept = world::sweeps(&mut page, spec, &found.rows);
    page.part("sweeps", "Regret against what was swept", swept);
    for world in &Setting::all(found) {
        let extent = extent(world.rounds, world.rows.iter().map(|(row, _)| *row));
        let title = format!("{}: {extent}", world.environment);
        let body = world::world(&mut page, world, found);
        page.part(&format!("world-{}", page.parts.len()), &title, Some(body));
    }
    page.part("failed", "What failed", Some(failures(cells)));
    page.part("spec", "The spec", Some(html! { pre { (spec.text) } }));
    let done = cells.len() as u64;
    page.whole(
        &spec.name,
        html! {
            @if let Some(asks) = &spec.asks { p { (asks) } }
            p { (done) " of " (spec.cells()) " cells, " (seeds(spec.seeds)) (spec.seeds_begin()) ", corral " (env!("CARGO_PKG_VERSION")) }
            @if done < spec.cells() {
                p class="note" { strong { "Unfinished. " } (spec.cells() - done) " cells are missing: learners may have different seeds, "
                    "and nothing here is final." }
            }
        },
    )
}

/// What a reader of the table of one world would stumble over.
fn remarks<'a>(rows: impl Iterator<Item = &'a SummaryRow> + Clone) -> Vec<String> {
    let mut out = Vec::new();
    if rows.clone().any(|r| r.regret.mean < 0.0) {
        let why =
            "is measured against the best fixed decision, and following the changes of this world beats it";
        out.push(format!("A regret below 0: regret {why}."));
    }
    // Two learners that did the same in every seed are one in other words, here.
    let same = |a: &SummaryRow, b: &SummaryRow| {
        let figures = |r: &SummaryRow| [r.regret.mean, r.regret.max, r.loss.mean].map(f64::to_bits);
        a.seeds > 1 && figures(a) == figures(b) && a.regret.mean != 0.0
    };
    let mut told: Vec<&str> = Vec::new();
    for row in rows.clone().filter(|r| !r.alone) {
        let twins: Vec<&str> =
            rows.clone().filter(|r| !r.alone && same(row, r)).map(|r| r.label.as_str()).collect();
        if twins.len() > 1 && !told.contains(&row.label.as_str()) {
            out.push(format!(
                "The same figures to the last digit, for they played the same here: {}.",
                twins.iter().map(|label| quoted(label)).collect::<Vec<_>>().join(", ")
            ));
            told.extend(twins);
        }
    }
    out
}

/// How many rows of a log the learners of a world used.
fn used<'a>(rows: impl Iterator<Item = &'a SummaryRow>) -> String {
    let used: Vec<String> = rows.map(|r| format!("{} {}", quoted(&r.label), r.played)).collect();
    format!("Rows of the log that were used, in the seed with the fewest: {}.", used.join(", "))
}

/// The masters that are not ranked, and why.
fn not_ranked(spec: &Spec) -> Option<String> {
    let labels = unranked(spec).into_iter().map(quoted).collect::<Vec<_>>().join(", ");
    let why = "their constants were not checked against their papers (status \"from memory\" in `corral list masters`)";
    (!labels.is_empty()).then(|| format!("Not ranked, because {why}: {labels}."))
}

/// A page that is being written: its parts, and the styles of its names.
#[derive(Default)]
pub(crate) struct Page {
    parts: Vec<(String, String, Markup)>,
    palette: Palette,
    charts: usize,
}

impl Page {
    /// Adds a part with an anchor, where there is one.
    pub fn part(&mut self, id: &str, title: &str, body: Option<Markup>) {
        self.parts.extend(body.map(|body| (id.to_owned(), title.to_owned(), body)));
    }

    /// A chart in its frame, with heading and caption.
    pub fn figure(&mut self, chart: &Chart) -> Markup {
        self.charts += 1;
        let drawing = svg::page(chart, &format!("f{}", self.charts));
        html! {
            @if let Some(drawing) = drawing {
                figure { h3 { (chart.title) } (drawing) figcaption {
                    (chart.caption) @if let Some(out) = chart.left_out() { " " (out) }
                } }
            }
        }
    }

    /// The whole page.
    pub fn whole(self, title: &str, head: Markup) -> String {
        let page = html! {
            (DOCTYPE)
            html lang="en" {
                head {
                    meta charset="utf-8";
                    meta name="viewport" content="width=device-width, initial-scale=1";
                    title { (title) " · Corral" }
                    style { (PreEscaped(include_str!("style.css"))) (PreEscaped(styles(self.palette.count()))) }
                }
                body {
                    h1 { (title) }
                    (head)
                    nav aria-label="Contents" { ol { @for (id, title, _) in &self.parts { li { a href={ "#" (id) } { (title) } } } } }
                    @for (id, title, body) in &self.parts {
                        section class="part" { h2 id=(id) { a href={ "#" (id) } { (title) } } (body) }
                    }
                    script { (PreEscaped(include_str!("script.js"))) }
                }
            }
        };
        harmless::markup(page.into_string())
    }
}

/// The colour and dash of every style, on light and dark screens and in print.
fn styles(count: usize) -> String {
    let of = |dark: bool| -> String {
        (0..count)
            .map(|i| {
                let (light, on_dark) = COLOURS[i % COLOURS.len()];
                let dash = DASHES[i / COLOURS.len() % DASHES.len()];
                format!(".s{i}{{--c:{};--d:{dash}}}", if dark { on_dark } else { light })
            })
            .collect()
    };
    format!("{}@media screen and (prefers-color-scheme: dark){{{}}}", of(false), of(true))
}

/// A table that scrolls where it is wider than the page.
fn table<'a>(header: impl IntoIterator<Item = &'a str>, body: &Markup) -> Markup {
    html! {
        div class="scroll" { table {
            thead { tr { @for name in header { th { (name) } } } }
            tbody { (body) }
        } }
    }
}

/// A sample of a style.
fn key(class: &str) -> Markup {
    html! { svg class="key" viewBox="0 0 26 12" aria-hidden="true" { path class={ "line " (class) } d="M1 6h24" {} } }
}

fn answer(found: &Findings) -> Option<Markup> {
    let method = method(&found.standings)?;
    Some(html! {
        ul class="answer" { @for line in words(&found.standings, false) { li { (line) } } }
        p { (method) }
    })
}

/// What was claimed, what was measured, and whether it holds.
pub(crate) fn claims(held: &[Held]) -> Option<Markup> {
    (!held.is_empty()).then(|| {
        html! {
            p { "Intervals are 95% bootstraps over seeds; a claim whose bound lies inside is undecided, and with fewer than " (FEWEST_SEEDS) " seeds it is not tested." }
            div class="scroll" { table class="words" {
                thead { tr { th { "claim" } th { "where" } th { "measured" } th { "claimed" } th { "verdict" } } }
                tbody { @for h in held {
                    tr {
                        td { (h.text) @if let Some(why) = &h.unlikely { p { "Not expected to show here: " (why) } } }
                        td { (h.environment) ", " (h.learner) }
                        td { (h.figure) ": " (h.shown()) }
                        td { (h.bound) }
                        td class=[(h.verdict == Verdict::Fails).then_some("bad")] { (h.verdict) }
                    }
                } }
            } }
        }
    })
}

fn failures(cells: &[CellRecord]) -> Markup {
    let failed: Vec<&CellRecord> = cells.iter().filter(|c| c.failed.is_some()).collect();
    let benched: Vec<(&CellRecord, String)> =
        cells.iter().flat_map(|c| c.benched().map(move |what| (c, what))).collect();
    const SHOWN: usize = 20;
    html! {
        @if failed.is_empty() && benched.is_empty() { p { "Nothing." } }
        @if !failed.is_empty() {
            p class="bad" { (failed.len()) " cells ended early." }
            ul { @for c in failed.iter().take(SHOWN) {
                li { (c.learner) " in " (c.environment) ", seed " (c.seed) ", after " (c.played) " rounds: "
                    (c.failed.as_deref().unwrap_or_default()) }
            } }
        }
        @if !benched.is_empty() {
            p { (benched.len()) " times a base was benched and the run continued with the others." }
            ul { @for (c, what) in benched.iter().take(SHOWN) {
                li { (c.learner) " in " (c.environment) ", " (what) }
            } }
        }
    }
}
