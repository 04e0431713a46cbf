//! What a band shows of itself: its bases as columns, as text and for a monitor, and as a notebook shows them, with a picture of
//! their probabilities so far.

use std::fmt::Write;

use corral_core::{Quota, Space};
use corral_lab::table::aligned;
use numpy::{PyArray1, ToPyArray};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList};

use super::Band;
use crate::convert;
use crate::errors::Answer;
use crate::inner::Inner;

const WIDTH: f64 = 560.0;
const HEIGHT: f64 = 120.0;
const COLOURS: [&str; 8] =
    ["#4269d0", "#efb118", "#ff725c", "#6cc5b0", "#3ca951", "#ff8ab7", "#a463f2", "#97bbf5"];

fn safe(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('"', "&quot;")
}

/// The page; `reward` is the reward of a loss.
pub fn html(inner: &Inner, reward: impl Fn(f64) -> f64) -> String {
    let members = &inner.members;
    let mut page = format!("<p><b>{} rounds</b></p><table><thead><tr>", members.rounds());
    for head in ["", "base", "probability", "plays", "mean reward", ""] {
        let _ = write!(page, "<th style=\"text-align:left\">{head}</th>");
    }
    page.push_str("</tr></thead><tbody>");
    for (i, tally) in members.tallies().into_iter().enumerate() {
        let mean = tally.mean_loss().map_or("–".to_owned(), |loss| format!("{:.4}", reward(loss)));
        let benched = members.benched().iter().find(|b| b.base == i);
        let benched = benched.map_or(String::new(), |b| format!("benched: {}", safe(&b.reason)));
        let (colour, probability) = (COLOURS[i % COLOURS.len()], members.probabilities()[i]);
        let _ = write!(
            page,
            "<tr><td><span style=\"background:{colour}\">&emsp;</span></td><td>{}</td><td>{probability:.4}</td><td>{}</td>\
             <td>{mean}</td><td>{benched}</td></tr>",
            safe(&inner.names[i]),
            tally.plays
        );
    }
    page.push_str("</tbody></table>");
    if let Some(values) = inner.values_text() {
        let _ = write!(page, "<pre>{}</pre>", safe(&values));
    }
    page.push_str(&picture(inner));
    page
}

/// The probabilities of the bases, one above the other, over the rounds.
fn picture(inner: &Inner) -> String {
    let points = &inner.history.points;
    let (Some((first, _)), Some((last, _))) = (points.first(), points.last()) else { return String::new() };
    if first == last {
        return String::new();
    }
    let across = |round: u64| (round - first) as f64 / (last - first) as f64 * WIDTH;
    let bases = inner.members.len();
    let mut svg = format!(
        "<svg viewBox=\"0 0 {WIDTH} {}\" width=\"{WIDTH}\" role=\"img\" aria-label=\"probability of each base over the rounds\">",
        HEIGHT + 16.0
    );
    for base in 0..bases {
        let below = |p: &[f64], upto: usize| p.iter().take(upto).sum::<f64>().min(1.0);
        let edge = |upto: usize| {
            points
                .iter()
                .map(move |(t, p)| format!("{:.1},{:.1} ", across(*t), HEIGHT * (1.0 - below(p, upto))))
        };
        let upper: String = edge(base + 1).collect();
        let lower: Vec<String> = edge(base).collect();
        let lower: String = lower.into_iter().rev().collect();
        let (colour, name) = (COLOURS[base % COLOURS.len()], safe(&inner.names[base]));
        let _ = write!(
            svg,
            "<polygon points=\"{upper}{lower}\" fill=\"{colour}\"><title>{name}</title></polygon>"
        );
    }
    let y = HEIGHT + 12.0;
    let _ = write!(
        svg,
        "<text x=\"0\" y=\"{y}\" font-size=\"11\" fill=\"currentColor\">round {first}</text>\
         <text x=\"{WIDTH}\" y=\"{y}\" font-size=\"11\" text-anchor=\"end\" fill=\"currentColor\">{last}</text></svg>"
    );
    svg
}

/// See `Band.table`.
pub fn table<'py>(band: &Band, py: Python<'py>) -> Answer<Bound<'py, PyDict>> {
    let entered = band.enter(py)?;
    let inner = &*entered.inner;
    let benched = |base: usize| inner.members.benched().iter().any(|b| b.base == base);
    let reward = |loss: Option<f64>| loss.map_or(f64::NAN, |loss| band.reward(inner, loss));
    let tallies = inner.members.tallies();
    let columns = PyDict::new(py);
    let texts = PyList::new(py, inner.names.iter().map(|n| &**n))?;
    columns.set_item("name", py.import("numpy")?.call_method1("array", (texts,))?)?;
    columns.set_item("probability", inner.members.probabilities().to_pyarray(py))?;
    let column = |of: &dyn Fn(usize) -> f64| PyArray1::from_iter(py, (0..tallies.len()).map(of));
    columns.set_item("plays", PyArray1::from_iter(py, tallies.iter().map(|t| t.plays)))?;
    columns.set_item("mean_reward", column(&|i| reward(tallies[i].mean_loss())))?;
    columns.set_item("effective_samples", column(&|i| tallies[i].effective_samples()))?;
    columns.set_item("benched", PyArray1::from_iter(py, (0..tallies.len()).map(benched)))?;
    Ok(columns)
}

/// See `Band.report`.
pub fn report(band: &Band, py: Python<'_>) -> Answer<String> {
    let entered = band.enter(py)?;
    let inner = &*entered.inner;
    let rows = inner.members.tallies().into_iter().enumerate().map(|(i, tally)| {
        let mean =
            tally.mean_loss().map_or("-".to_owned(), |loss| format!("{:.4}", band.reward(inner, loss)));
        let probability = format!("{:.4}", inner.members.probabilities()[i]);
        vec![inner.names[i].to_string(), probability, tally.plays.to_string(), mean]
    });
    let table = aligned(&["base", "probability", "plays", "mean reward"], "lrrr", rows);
    let mut text = format!("{} rounds\n{table}", inner.members.rounds());
    text.push_str(&inner.values_text().unwrap_or_default());
    for b in inner.members.benched() {
        text.push_str(&format!("benched: {} in round {}, {}: {}\n", b.name, b.round, b.during, b.reason));
    }
    for remark in inner.members.remarks(Some(band.rewards)) {
        text.push_str(&remark);
        text.push('\n');
    }
    Ok(text)
}

/// See `Band.metrics`.
pub fn metrics<'py>(band: &Band, py: Python<'py>) -> Answer<Bound<'py, PyAny>> {
    let entered = band.enter(py)?;
    let metrics = convert::plain(py, &entered.inner.members.metrics())?;
    metrics.set_item("over_quota", entered.inner.quota.as_ref().map_or(0, Quota::refused))?;
    if let Some(values) = entered.inner.values() {
        let best = values.best.map(|(base, lead)| (&*entered.inner.names[base], lead));
        metrics.set_item("values", convert::plain(py, &values.values)?)?;
        metrics.set_item("best", convert::plain(py, &best)?)?;
    }
    if let Some(waiting) = &entered.inner.waiting {
        let (open, expired) = waiting.counts();
        metrics.set_item("waiting", open)?;
        metrics.set_item("expired", expired)?;
    }
    Ok(metrics)
}

/// See `Band.__repr__`.
pub fn line(band: &Band, py: Python<'_>) -> Answer<String> {
    let entered = band.enter(py)?;
    let (members, names) = (&entered.inner.members, entered.inner.names.join(", "));
    let over = match &entered.inner.plan.space {
        Space::Arms(actions) => format!("{actions} actions"),
        Space::Points(set) => format!("points of R^{}", set.dim()),
    };
    Ok(format!("<Band of {names} over {over}, {} rounds>", members.rounds()))
}

/// See `Band.experience`.
pub fn experience<'py>(band: &Band, py: Python<'py>, plays: f64) -> Answer<Vec<Bound<'py, PyDict>>> {
    let metrics = band.enter(py)?.inner.members.metrics();
    let one = |(base, known): (&corral_core::BaseMetrics, corral_core::masters::Experience)| {
        let entry = PyDict::new(py);
        entry.set_item("base", &base.name)?;
        entry.set_item("relative", known.relative)?;
        entry.set_item("plays", known.plays)?;
        Ok(entry)
    };
    metrics.bases.iter().zip(metrics.experience(plays)).map(one).collect()
}
