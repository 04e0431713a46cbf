//! The page of an evaluation from a decision log.

use corral_log::{BINS, Report, Validity, Weights};
use maud::{Markup, html};

use super::{Page, key, table};
use crate::chart::{Axis, AxisScale, Chart, Panel, Point, Series};
use crate::summary::number;
use crate::valuation::shown;

/// The page.
pub fn html(title: &str, report: &Report) -> String {
    let mut page = Page::default();
    let classes: Vec<String> = report.weights.iter().map(|w| page.palette.style(&w.policy).class()).collect();
    page.part("answer", "The answer in words", answer(report));
    page.part("alarms", "Alarms", alarms(report));
    page.part("values", "Values", Some(values(report, &classes)));
    page.part("differences", "Differences", differences(report));
    let drawn = over_time(&mut page, report);
    page.part("time", "Values over time", drawn);
    let drawn = effective(&mut page, report);
    page.part("effective", "Effective sample size", drawn);
    page.part("weights", "Weights", Some(weights(report, &classes)));
    let dropped = report.rows - report.used;
    page.whole(
        title,
        html! { p { (report.rows) " decisions, " (report.used) " used"
        @if dropped > 0 { ", " (dropped) " left out" }
        ", corral " (env!("CARGO_PKG_VERSION")) } },
    )
}

fn answer(report: &Report) -> Option<Markup> {
    (!report.verdict.is_empty()).then(|| html! { ul class="answer" { li { (report.verdict) } } })
}

fn alarms(report: &Report) -> Option<Markup> {
    (!report.alarms.is_empty()).then(|| {
        html! { @for alarm in &report.alarms { p class="note" { strong { "Alarm. " } (alarm) } } }
    })
}

fn cell(value: Option<f64>) -> String {
    value.map_or("–".to_owned(), shown)
}

fn values(report: &Report, classes: &[String]) -> Markup {
    let class = |policy: &str| report.weights.iter().position(|w| w.policy == policy).map(|i| &classes[i]);
    let lines = html! { @for v in &report.values {
        tr {
            td { @if let Some(class) = class(&v.policy) { (key(class)) } (v.policy) }
            td { (v.estimator.name()) }
            td { (cell(v.value)) }
            td { "[" (cell(v.low)) ", " (cell(v.high)) "]" }
            td { (if v.kind == Validity::AnyTime { "any time" } else { "one look" }) }
            td { (v.assumes) }
        }
    } };
    table(["policy", "estimator", "value", "interval", "valid", "assumes"], &lines)
}

fn differences(report: &Report) -> Option<Markup> {
    let lines = html! { @for d in &report.differences {
        tr {
            td { (d.a) " less " (d.b) }
            td { (cell(d.value)) }
            td { "[" (cell(d.low)) ", " (cell(d.high)) "]" }
            td { (d.assumes) }
        }
    } };
    (!report.differences.is_empty())
        .then(|| table(["difference", "value", "interval, valid at any time", "assumes"], &lines))
}

fn over_time(page: &mut Page, report: &Report) -> Option<Markup> {
    let series: Vec<Series> = report
        .weights
        .iter()
        .filter(|w| w.looks.len() > 1)
        .map(|w| {
            let point = |look: &corral_log::Look| Point {
                x: look.rows as f64,
                y: look.value,
                low: if look.low.is_nan() { look.value } else { look.low },
                high: if look.high.is_nan() { look.value } else { look.high },
            };
            let points = w.looks.iter().filter(|l| l.value.is_finite()).map(point).collect();
            Series::line(&w.policy, page.palette.style(&w.policy), points)
        })
        .collect();
    drawn(page, series, "value, IPS, as reward in [0, 1]", "Bands are intervals that are valid at any time.")
}

fn effective(page: &mut Page, report: &Report) -> Option<Markup> {
    let series: Vec<Series> = report
        .weights
        .iter()
        .filter(|w| w.looks.len() > 1)
        .map(|w| {
            let points = w.looks.iter().map(|l| Point::new(l.rows as f64, l.effective)).collect();
            Series::line(&w.policy, page.palette.style(&w.policy), points)
        })
        .collect();
    drawn(
        page,
        series,
        "effective sample size",
        "How many rows of the policy's own the log is worth: (sum w)^2/sum w^2. A step down is one row with a huge weight.",
    )
}

fn drawn(page: &mut Page, series: Vec<Series>, title: &str, caption: &str) -> Option<Markup> {
    let shown: Vec<(String, String)> = series.iter().map(|s| (s.name.clone(), s.style.class())).collect();
    if series.is_empty() {
        return None;
    }
    let chart = Chart::new(
        title,
        caption,
        Axis::new("decisions", AxisScale::Linear),
        Axis::new(title, AxisScale::Linear),
        vec![Panel::only(series)],
    );
    let figure = page.figure(&chart);
    Some(html! {
        (super::world::legend(shown.iter().map(|(name, class)| (name.as_str(), class.as_str()))))
        (figure)
    })
}

fn weights(report: &Report, classes: &[String]) -> Markup {
    let mut heads: Vec<String> =
        vec!["policy".into(), "rows".into(), "effective".into(), "mean".into(), "largest".into()];
    let counted = |w: &Weights| w.bins.iter().sum::<u64>() > 0;
    let bins = report.weights.iter().any(counted);
    if bins {
        heads.push("0".into());
        heads.extend(BINS[1..].iter().map(|edge| format!("to {edge}")));
        heads.push("above".into());
    }
    let lines = html! { @for (w, class) in report.weights.iter().zip(classes) {
        tr {
            td { (key(class)) (w.policy) }
            td { (w.rows) }
            td { (format!("{:.0}", w.effective)) }
            td { (w.mean.map_or("–".to_owned(), number)) }
            td { (number(w.largest)) }
            @if bins { @for count in &w.bins { td { (count) } } }
        }
    } };
    html! {
        p { "A weight is the probability of the action under the policy, divided by the logger's. The mean weight should be 1. "
            "The further columns count weights by size." }
        (table(heads.iter().map(String::as_str), &lines))
    }
}
