//! The page of a spec that measures stability: regret against the range, and the fitted exponents.

use maud::html;

use super::{Page, claims, key};
use crate::chart::{Axis, Chart, Panel, Point, Scale, Series};
use crate::claims::Held;
use crate::figures::base_style;
use crate::spec::StabilitySpec;
use crate::stability::AtRange;

/// What was measured of a base: its label, its seeds, and its regret at every range.
pub struct Measured<'a> {
    /// The base's label.
    pub label: &'a str,
    /// How many seeds.
    pub seeds: u64,
    /// Regret by range.
    pub curve: &'a [AtRange],
}

/// The page; `table` is that of the program, its header first.
pub fn html(spec: &StabilitySpec, table: &[Vec<String>], measured: &[Measured<'_>], held: &[Held]) -> String {
    let mut page = Page::default();
    let lines: Vec<Series> = measured
        .iter()
        .map(|m| {
            let points = m.curve.iter().map(|p| {
                let half = p.worst.half_width(m.seeds);
                Point { x: p.range, y: p.worst.mean, low: p.worst.mean - half, high: p.worst.mean + half }
            });
            Series::line(m.label, base_style(m.label, &mut page.palette), points.collect())
        })
        .collect();
    let classes: Vec<String> = lines.iter().map(|s| s.style.class()).collect();
    let panels = lines.into_iter().map(|s| Panel { name: s.name.clone(), series: vec![s] }).collect();
    let chart = page.figure(&Chart {
        title: "Regret under importance weighting".to_owned(),
        caption:
            "Mean over seeds at the worst gap, with its 95% interval; a straight line is a power of rho."
                .to_owned(),
        x: Axis::new("range rho", Scale::Log),
        y: Axis::new("regret", Scale::Log),
        panels,
        context: Vec::new(),
    });
    let (header, rows) = table.split_first().map_or((&[][..], &[][..]), |(h, rows)| (h.as_slice(), rows));
    page.part(
        "exponents",
        "Exponents",
        Some(html! {
            div class="scroll" { table {
                thead { tr { @for name in header { th { (name) } } } }
                tbody { @for (row, class) in rows.iter().zip(&classes) {
                    tr { @for (i, cell) in row.iter().enumerate() { td { @if i == 0 { (key(class)) } (cell) } } }
                } }
            } }
            (chart)
        }),
    );
    page.part("claims", "Claims", claims(held));
    page.part("spec", "The spec", Some(html! { pre { (spec.text) } }));
    page.whole(&spec.name, html! { @if let Some(asks) = &spec.asks { p { (asks) } } })
}
