//! One world: who did how well in it, over time, and what happened inside the bands.

use corral_envs::data::{Chance, Counts};
use maud::{Markup, html};

use super::{Page, key, table};
use crate::answer::row_loss;
use crate::chart::{AxisScale, Chart, Mark, Series, by_name};
use crate::figures::{self, Setting};
use crate::findings::Findings;
use crate::run::BandRecord;
use crate::spec::Spec;
use crate::standing::AgainstBest;
use crate::summary::{SummaryRow, number};
use crate::sweeps;

/// The part of the page about a world.
pub fn world(page: &mut Page, world: &Setting<'_>, found: &Findings) -> Markup {
    let crowded = world.crowded();
    let chance = world.rows.iter().find_map(|(r, _)| r.chance.as_ref());
    let mut charts = match chance {
        Some(chance) => vec![figures::running(world, chance, &mut page.palette)],
        None => vec![figures::regret(world, &AxisScale::Linear, &mut page.palette)],
    };
    if !crowded {
        charts.push(match chance {
            Some(chance) => figures::final_losses(world, chance, &mut page.palette),
            None => figures::final_regret(world, &mut page.palette),
        });
    }
    if !crowded && chance.is_none() {
        charts.push(figures::regret(world, &AxisScale::Log, &mut page.palette));
    }
    let drawn: Vec<Markup> = charts.iter().map(|c| page.figure(c)).collect();
    let styles: Vec<Option<String>> = world
        .rows
        .iter()
        .map(|(r, _)| (!crowded).then(|| figures::style_of(r, &mut page.palette).class()))
        .collect();
    let table = match chance {
        Some(chance) => in_table(world, found, &styles, chance),
        None => learners(world, found, &styles),
    };
    let rows = world.rows.iter().zip(&styles);
    let names = rows.filter_map(|((r, _), s)| Some((r.label.as_str(), s.as_deref()?)));
    let level: Vec<(String, String)> =
        (chance.iter().filter(|chance| !crowded && chance.counts == Counts::Errors))
            .flat_map(|chance| figures::baselines(chance))
            .map(|(name, _)| (page.palette.style(&name).class(), name))
            .map(|(class, name)| (name, class))
            .collect();
    let names = names.chain(level.iter().map(|(name, class)| (name.as_str(), class.as_str())));
    let inside = if crowded { inside_all(page, world) } else { inside_each(page, world) };
    html! {
        (table)
        @if crowded { @for chart in &drawn { (chart) } } @else {
            div class="charts" { @for chart in &drawn { (chart) } }
            (legend(names))
        }
        (inside)
    }
}

pub(super) fn legend<'a>(names: impl Iterator<Item = (&'a str, &'a str)>) -> Markup {
    html! { ul class="legend" { @for (name, class) in names { li data-s=(class) { (key(class)) (name) } } } }
}

/// The charts of what a spec sweeps, horizons included; `None` where it sweeps nothing.
pub fn sweeps(page: &mut Page, spec: &Spec, rows: &[SummaryRow]) -> Option<Markup> {
    let charts = sweeps::charts(spec, rows, &mut page.palette);
    let names = named(charts.iter().flat_map(|(_, chart)| chart.drawn()));
    // Charts of one panel stand beside each other, those of several have the width of the page.
    let (single, several): (Vec<_>, Vec<_>) = charts.iter().partition(|(_, chart)| chart.panels.len() == 1);
    let mut drawn = |charts: &[&(String, Chart)]| -> Vec<Markup> {
        charts.iter().map(|(_, chart)| page.figure(chart)).collect()
    };
    let (single, several) = (drawn(&single), drawn(&several));
    (!charts.is_empty()).then(|| {
        html! {
            (legend(names.iter().map(|(name, class)| (name.as_str(), class.as_str()))))
            @if !single.is_empty() { div class="charts" { @for chart in &single { (chart) } } }
            @if !several.is_empty() { div class="stacked" { @for chart in &several { (chart) } } }
        }
    })
}

/// The names of lines with the classes of their styles, each once.
fn named<'a>(series: impl Iterator<Item = &'a Series>) -> Vec<(String, String)> {
    let lines = by_name(series.filter(|s| s.mark != Mark::Tile));
    lines.into_iter().map(|s| (s.name.clone(), s.style.class())).collect()
}

/// The learners of a table, and what learning nothing costs.
fn in_table(world: &Setting<'_>, found: &Findings, styles: &[Option<String>], chance: &Chance) -> Markup {
    let figure = if chance.counts == Counts::Errors { "errors" } else { "loss per row" };
    let header = ["learner", figure, "95% interval, over rows", "worst seed", ""];
    let shown = |loss: f64| row_loss(chance.counts, loss);
    let logged = chance.counts == Counts::Logged;
    let remark = logged.then(|| super::used(world.rows.iter().map(|(row, _)| *row)));
    let lines = html! {
        @for ((row, _), style) in world.rows.iter().zip(styles) {
            @let place = found.place(row);
            tr class=[(place == Some(AgainstBest::Best)).then_some("best")] {
                td { @if let Some(class) = style { (key(class)) } (row.label) @if row.alone { " (alone)" } }
                td { (shown(row.loss.mean)) }
                td { @if let Some((low, high)) = row.over_rows_95() { (shown(low)) " to " (shown(high)) } @else { "–" } }
                td { (shown(row.loss.max)) }
                td { (place.map_or("", AgainstBest::word)) }
            }
        }
        tr { td { "always " q { (chance.class) } } td { (shown(chance.always)) } td { "–" } td { "–" } td {} }
        tr { td { "at random" } td { (shown(chance.random)) } td { "–" } td { "–" } td {} }
    };
    html! { (table(header, &lines)) @if let Some(remark) = remark { p class="note" { (remark) } } }
}

fn learners(world: &Setting<'_>, found: &Findings, styles: &[Option<String>]) -> Markup {
    let header =
        ["learner", "regret", "95% interval", "worst seed", "loss per round", "to best base", "exponent", ""];
    let lines = html! { @for ((row, curve), style) in world.rows.iter().zip(styles) {
        @let place = found.place(row);
        tr class=[(place == Some(AgainstBest::Best)).then_some("best")] {
            td { @if let Some(class) = style { (key(class)) } (row.label) @if row.alone { " (alone)" } }
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
            td { (place.map_or("", AgainstBest::word)) }
        }
    } };
    let remarks = super::remarks(world.rows.iter().map(|(row, _)| *row));
    html! { (table(header, &lines)) @for remark in &remarks { p class="note" { (remark) } } }
}

/// A section for every band: probabilities, rates, ranges, weights.
fn inside_each(page: &mut Page, world: &Setting<'_>) -> Markup {
    let mut parts = Vec::new();
    for (row, _) in &world.rows {
        let bands = world.bands(&row.label);
        let Some(first) = bands.first() else { continue };
        let charts = [
            Some(figures::probabilities(world, &[&row.label], &mut page.palette))
                .filter(|c| !c.panels.is_empty()),
            figures::rates(world, &row.label, &mut page.palette),
            figures::ranges(world, &row.label, &mut page.palette),
        ];
        let drawn: Vec<Markup> = charts.iter().flatten().map(|c| page.figure(c)).collect();
        let classes: Vec<String> =
            first.bases.iter().map(|b| figures::base_style(b, &mut page.palette).class()).collect();
        parts.push(html! {
            div class="part" {
                h3 { "Inside " (row.label) }
                (legend(first.bases.iter().map(String::as_str).zip(classes.iter().map(String::as_str))))
                div class="charts" { @for chart in &drawn { (chart) } }
                (weights(&first.bases, &classes, &bands))
            }
        });
    }
    html! { @for part in &parts { (part) } }
}

/// All bands of a crowded world together: a panel of probabilities and a line of plays for each.
fn inside_all(page: &mut Page, world: &Setting<'_>) -> Markup {
    let bands: Vec<(&str, Vec<&BandRecord>)> = world
        .rows
        .iter()
        .map(|(r, _)| (r.label.as_str(), world.bands(&r.label)))
        .filter(|(_, bands)| !bands.is_empty())
        .collect();
    let Some((_, first)) = bands.first() else { return html! {} };
    let names = first.first().map_or(&[][..], |b| b.bases.as_slice());
    let labels: Vec<&str> = bands.iter().map(|(label, _)| *label).collect();
    let chart = figures::probabilities(world, &labels, &mut page.palette);
    let shown = named(chart.drawn());
    let drawn = page.figure(&chart);
    let share = |bands: &[&BandRecord], base: &str| {
        let of = |b: &&BandRecord| {
            let at = b.bases.iter().position(|name| name == base)?;
            Some(*b.plays.get(at)? as f64 / b.plays.iter().sum::<u64>().max(1) as f64)
        };
        let found: Vec<f64> = bands.iter().filter_map(of).collect();
        found.iter().sum::<f64>() / found.len() as f64
    };
    let lines = html! { @for (label, bands) in &bands {
        tr { td { (label) } @for name in names {
            @let share = 100.0 * share(bands, name);
            td { @if share.is_nan() { "–" } @else { (format!("{share:.0}")) } }
        } }
    } };
    html! {
        details class="part" {
            summary { "Inside the bands" }
            (legend(shown.iter().map(|(name, class)| (name.as_str(), class.as_str()))))
            (drawn)
            p { "Rounds in which each base was followed, in per cent. " code { "corral export --what bases" } " has weights, ranges and more." }
            (table(["master"].into_iter().chain(names.iter().map(String::as_str)), &lines))
        }
    }
}

fn weights(names: &[String], classes: &[String], bands: &[&BandRecord]) -> Markup {
    let n = bands.len() as f64;
    let mean = |of: &dyn Fn(&BandRecord) -> f64| bands.iter().map(|b| of(b)).sum::<f64>() / n;
    let at = |values: &[f64], i: usize| values.get(i).copied().unwrap_or(f64::NAN);
    let header = ["base", "plays", "effective samples", "largest weight", "range changes", "benched"];
    let lines = html! { @for (i, (name, class)) in names.iter().zip(classes).enumerate() {
        tr {
            td { (key(class)) (name) }
            td { (number(mean(&|b| b.plays.get(i).map_or(f64::NAN, |p| *p as f64)))) }
            td { (number(mean(&|b| at(&b.effective, i)))) }
            td { (number(bands.iter().map(|b| at(&b.max_weight, i)).fold(f64::NAN, f64::max))) }
            td { (number(mean(&|b| b.range_changes.iter().filter(|c| c.1 == i).count() as f64))) }
            td { (bands.iter().filter(|b| b.benched.iter().any(|c| c.1 == i)).count()) " of " (bands.len()) }
        }
    } };
    table(header, &lines)
}
