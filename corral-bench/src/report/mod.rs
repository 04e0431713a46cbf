//! One self-contained HTML page: no network, no script.

mod chart;
mod overall;

use maud::{DOCTYPE, Markup, PreEscaped, html};

use crate::claims::{Held, Verdict};
use crate::curves::{self, Curve};
use crate::overall::Overall;
use crate::run::{BandRecord, CellRecord, checkpoints};
use crate::spec::Spec;
use crate::summary::{Row, number};
use chart::{Axis, COLOURS, Line, Scale, Stack};

/// The page for `cells` of `spec`.
pub fn html(spec: &Spec, cells: &[CellRecord], rows: &[Row], overall: &Overall, held: &[Held]) -> String {
    let worlds =
        spec.rounds.iter().flat_map(|rounds| spec.environments.iter().map(move |e| (*rounds, &e.label)));
    let page = html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta name="viewport" content="width=device-width, initial-scale=1";
                title { (spec.name) " · Corral" }
                style { (PreEscaped(include_str!("style.css"))) }
            }
            body {
                h1 { (spec.name) }
                @if let Some(asks) = &spec.asks { p { (asks) } }
                p { (cells.len()) " of " (spec.cells()) " cells, " (spec.seeds) " seeds, corral " (env!("CARGO_PKG_VERSION")) }
                (overall::overall(overall))
                @for (rounds, environment) in worlds {
                    @let here: Vec<&CellRecord> = cells.iter().filter(|c| c.rounds == rounds && c.environment == *environment).collect();
                    @let lines: Vec<&Row> = rows.iter().filter(|r| r.rounds == rounds && r.environment == *environment).collect();
                    @if !here.is_empty() { (world(rounds, environment, &here, &lines)) }
                }
                (claims(held))
                (failures(cells))
                h2 { "The spec" }
                pre { (spec.text) }
            }
        }
    };
    page.into_string()
}

fn world(rounds: u64, environment: &str, cells: &[&CellRecord], rows: &[&Row]) -> Markup {
    let of =
        |label: &str| -> Vec<&CellRecord> { cells.iter().copied().filter(|c| c.learner == label).collect() };
    let curves: Vec<(usize, &str, Option<Curve>)> =
        rows.iter().enumerate().map(|(i, r)| (i, r.label.as_str(), curves::regret(&of(&r.label)))).collect();
    html! {
        h2 { (environment) ": " (rounds) " rounds" }
        (verdict(rows, &curves))
        div class="charts" {
            (regret_chart(&curves, Scale::Linear, "Regret", "Mean over seeds; the band is its 95% interval."))
            (regret_chart(&curves, Scale::Log, "Regret, both axes logarithmic",
                "A power of t is a straight line; the table has its fitted exponent."))
        }
        (legend(rows.iter().map(|r| r.label.as_str()), false))
        @for row in rows {
            @let bands: Vec<&BandRecord> = of(&row.label).iter().filter_map(|c| c.band.as_ref()).collect();
            @if !bands.is_empty() { (inside(&row.label, rounds, &bands, rows.len() > OPEN)) }
        }
    }
}

fn verdict(rows: &[&Row], curves: &[(usize, &str, Option<Curve>)]) -> Markup {
    let best = rows.iter().map(|r| r.regret.mean).fold(f64::INFINITY, f64::min);
    html! {
        div class="scroll" { table {
            thead { tr {
                th { "learner" } th { "regret" } th { "95% interval" } th { "worst seed" } th { "loss per round" }
                th { "to best base" } th { "exponent" }
            } }
            tbody { @for (row, (i, _, curve)) in rows.iter().zip(curves) {
                tr class=[(row.regret.mean == best).then_some("best")] {
                    td { (key(*i, false)) (row.label) @if row.alone { " (alone)" } }
                    td { (number(row.regret.mean)) }
                    td { @let half = row.regret.half_width(row.seeds); "[" (number(row.regret.mean - half)) ", " (number(row.regret.mean + half)) "]" }
                    td { (number(row.regret.max)) }
                    td { (number(row.loss.mean)) }
                    td { (row.to_best_base().as_deref().unwrap_or("–")) }
                    td { @match curve.as_ref().and_then(|c| c.slope) {
                        Some((s, lo, _)) if lo.is_nan() => { (format!("{s:.2}")) }
                        Some((s, lo, hi)) => { (format!("{s:.2} [{lo:.2}, {hi:.2}]")) }
                        None => { "–" }
                    } }
                }
            } }
        } }
    }
}

fn regret_chart(curves: &[(usize, &str, Option<Curve>)], scale: Scale, title: &str, caption: &str) -> Markup {
    let lines: Vec<Line> = curves
        .iter()
        .filter_map(|(i, _, curve)| {
            let points = &curve.as_ref()?.points;
            Some(Line {
                style: *i,
                points: points.iter().map(|p| (p.0, p.1)).collect(),
                band: points.iter().map(|p| (p.0, p.1 - p.2, p.1 + p.2)).collect(),
                marks: Vec::new(),
                steps: false,
            })
        })
        .collect();
    let y = Axis { title: "pseudo-regret (loss units)".to_owned(), scale };
    figure(chart::lines(title, &round_axis(scale), &y, &lines), title, caption)
}

fn round_axis(scale: Scale) -> Axis {
    Axis { title: "round t".to_owned(), scale }
}

fn figure(drawing: Option<Markup>, title: &str, caption: &str) -> Markup {
    html! {
        @if let Some(drawing) = drawing {
            figure { h3 style="margin-top:0" { (title) } (drawing) figcaption { (caption) } }
        }
    }
}

fn key(style: usize, filled: bool) -> Markup {
    html! { span class={ "key c" (style % COLOURS) " d" (style / COLOURS % 3) @if filled { " box" } } {} }
}

fn legend<'a>(labels: impl Iterator<Item = &'a str>, filled: bool) -> Markup {
    html! { ul class="legend" { @for (i, label) in labels.enumerate() { li { (key(i, filled)) (label) } } } }
}

/// Among more learners than these, what happened inside a band is folded away.
const OPEN: usize = 8;

fn inside(label: &str, rounds: u64, bands: &[&BandRecord], folded: bool) -> Markup {
    html! {
        @if folded {
            details { summary { "Inside " (label) } (band(rounds, bands)) }
        } @else {
            h3 { "Inside " (label) }
            (band(rounds, bands))
        }
    }
}

/// What happened inside one band: probabilities, rates, ranges, weights.
fn band(rounds: u64, bands: &[&BandRecord]) -> Markup {
    let x: Vec<f64> = checkpoints(rounds).iter().map(|t| *t as f64).collect();
    let names = &bands[0].bases;
    let probabilities = mean_trace(bands, |b| &b.probabilities);
    let one = bands.iter().find(|b| !b.probabilities.is_empty());
    html! {
        (legend(names.iter().map(String::as_str), true))
        div class="charts" {
            (figure(
                chart::stack("probabilities", &round_axis(Scale::Linear),
                    &Axis { title: "probability of each base".to_owned(), scale: Scale::Linear },
                    &Stack { x: x.clone(), shares: probabilities }),
                "Probabilities", "The distribution that bases are drawn from, averaged over the traced seeds."))
            @if let Some(one) = one {
                (figure(steps(&x, &one.rates, one, "learning rate eta"), "Learning rates",
                    "One seed. A dot marks a change of the base's range."))
                (figure(steps(&x, &one.ranges, one, "range rho"), "Ranges",
                    "One seed: the largest weight promised to each base. A dot marks a change."))
            }
        }
        (weights(names, bands))
    }
}

fn mean_trace(bands: &[&BandRecord], of: impl Fn(&BandRecord) -> &Vec<Vec<f64>>) -> Vec<Vec<f64>> {
    let traced: Vec<&Vec<Vec<f64>>> = bands.iter().map(|b| of(b)).filter(|t| !t.is_empty()).collect();
    let Some(first) = traced.first() else { return Vec::new() };
    let same: Vec<_> = traced.iter().filter(|t| t.len() == first.len()).collect();
    (0..first.len())
        .map(|k| {
            (0..first[k].len())
                .map(|i| {
                    same.iter().map(|t| t[k].get(i).copied().unwrap_or(0.0)).sum::<f64>() / same.len() as f64
                })
                .collect()
        })
        .collect()
}

fn steps(x: &[f64], trace: &[Vec<f64>], band: &BandRecord, title: &str) -> Option<Markup> {
    let bases = trace.first()?.len();
    let lines: Vec<Line> = (0..bases)
        .map(|i| {
            let points: Vec<(f64, f64)> = x.iter().zip(trace).map(|(x, row)| (*x, row[i])).collect();
            let marks = band
                .range_changes
                .iter()
                .filter(|(_, base)| *base == i)
                .filter_map(|(t, _)| points.iter().find(|p| p.0 >= *t as f64).map(|p| (*t as f64, p.1)))
                .collect();
            Line { style: i, points, band: Vec::new(), marks, steps: true }
        })
        .collect();
    let y = Axis { title: title.to_owned(), scale: Scale::Log };
    chart::lines(title, &round_axis(Scale::Linear), &y, &lines)
}

fn weights(names: &[String], bands: &[&BandRecord]) -> Markup {
    let n = bands.len() as f64;
    let mean = |of: &dyn Fn(&BandRecord) -> f64| bands.iter().map(|b| of(b)).sum::<f64>() / n;
    let at = |values: &[f64], i: usize| values.get(i).copied().unwrap_or(f64::NAN);
    html! {
        div class="scroll" { table {
            thead { tr {
                th { "base" } th { "plays" } th { "effective samples" } th { "largest weight" } th { "range changes" } th { "benched" }
            } }
            tbody { @for (i, name) in names.iter().enumerate() {
                tr {
                    td { (key(i, true)) (name) }
                    td { (number(mean(&|b| b.plays.get(i).map_or(f64::NAN, |p| *p as f64)))) }
                    td { (number(mean(&|b| at(&b.effective, i)))) }
                    td { (number(bands.iter().map(|b| at(&b.max_weight, i)).fold(f64::NAN, f64::max))) }
                    td { (number(mean(&|b| b.range_changes.iter().filter(|c| c.1 == i).count() as f64))) }
                    td { (bands.iter().filter(|b| b.benched.iter().any(|c| c.1 == i)).count()) " of " (bands.len()) }
                }
            } }
        } }
    }
}

/// What was claimed, what was measured, and whether it holds.
fn claims(held: &[Held]) -> Markup {
    html! {
        @if !held.is_empty() {
            h2 { "Claims" }
            p { "Intervals are 95% bootstraps over seeds; a claim whose bound lies inside is undecided." }
            div class="scroll" { table class="words" {
                thead { tr { th { "claim" } th { "where" } th { "measured" } th { "claimed" } th { "verdict" } } }
                tbody { @for h in held {
                    tr {
                        td { (h.text) @if let Some(why) = &h.unlikely { p { "Not expected to show here: " (why) } } }
                        td { (h.environment) ", " (h.learner) }
                        td { (h.figure) ": " (number(h.measured)) " [" (number(h.low)) ", " (number(h.high)) "]" }
                        td { (h.bound) }
                        td class=[(h.verdict == Verdict::Fails).then_some("bad")] { (h.verdict) }
                    }
                } }
            } }
        }
    }
}

fn failures(cells: &[CellRecord]) -> Markup {
    let failed: Vec<&CellRecord> = cells.iter().filter(|c| c.failed.is_some()).collect();
    let benched: Vec<(&CellRecord, String)> =
        cells.iter().flat_map(|c| c.benched().map(move |what| (c, what))).collect();
    const SHOWN: usize = 20;
    html! {
        h2 { "What failed" }
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
