//! The page of a spec that measures stability: regret against the range, and the fitted exponents.

use maud::html;

use super::{Page, claims, key, table};
use crate::chart::{Axis, AxisScale, Chart, Panel, Point, Series};
use crate::claims::Held;
use crate::figures::base_style;
use crate::spec::StabilitySpec;
use crate::stability::Measured;

/// The page; `table` is that of the program, its header first.
pub fn html(
    spec: &StabilitySpec,
    (header, rows): (&[String], &[Vec<String>]),
    measured: &[Measured],
) -> String {
    let mut page = Page::default();
    let lines: Vec<Series> = measured
        .iter()
        .map(|m| {
            let points = m.found.curve.iter().map(|p| {
                let half = p.worst.half_width(m.what.seeds);
                Point { x: p.range, y: p.worst.mean, low: p.worst.mean - half, high: p.worst.mean + half }
            });
            Series::line(&m.held.learner, base_style(&m.held.learner, &mut page.palette), points.collect())
        })
        .collect();
    let classes: Vec<String> = lines.iter().map(|s| s.style.class()).collect();
    let panels = lines.into_iter().map(|s| Panel { name: s.name.clone(), series: vec![s] }).collect();
    let caption =
        "Mean over seeds at the worst gap, with its 95% interval; a straight line is a power of rho.";
    let (x, y) = (Axis::new("range rho", AxisScale::Log), Axis::new("regret", AxisScale::Log));
    let chart = page.figure(&Chart::new("Regret under importance weighting", caption, x, y, panels));
    let lines = html! { @for (row, class) in rows.iter().zip(&classes) {
        tr { @for (i, cell) in row.iter().enumerate() { td { @if i == 0 { (key(class)) } (cell) } } }
    } };
    page.part(
        "exponents",
        "Exponents",
        Some(html! {
            (table(header.iter().map(String::as_str), &lines))
            (chart)
        }),
    );
    let held: Vec<Held> = measured.iter().map(|m| m.held.clone()).collect();
    page.part("claims", "Claims", claims(&held));
    page.part("spec", "The spec", Some(html! { pre { (spec.text) } }));
    page.whole(&spec.name, html! { @if let Some(asks) = &spec.asks { p { (asks) } } })
}
