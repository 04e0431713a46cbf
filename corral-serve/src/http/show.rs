//! Reports and metrics.

use std::fmt::Write;

use corral_log::{Bounds, WATCH_ERROR};
use serde_json::{Value, json};

use crate::serving::Serving;

/// What is known of a band, as JSON.
pub(super) fn report(serving: &Serving) -> Value {
    let (front, learned, metrics) = (serving.counts(), serving.learned(), serving.metrics());
    let scale = serving.spec().scale();
    let value = |mean: Option<f64>| mean.map(|loss| scale.value(loss));
    let width = |count: u64| Serving::width(count) * (scale.high - scale.low);
    let side = |sum: crate::state::Sum| json!({ "rewards": sum.count, "mean_reward": value(sum.mean()), "half_width": width(sum.count) });
    let bases: Vec<Value> = metrics
        .bases
        .iter()
        .map(|base| {
            json!({
                "name": base.name, "probability": base.probability, "plays": base.plays,
                "mean_reward": value(base.mean_loss), "half_width": width(base.plays),
                "effective_samples": base.effective_samples, "restarts": base.restarts,
                "benched": base.benched.as_ref().map(|b| &b.reason),
            })
        })
        .collect();
    let lift = serving.lift().map(|(mean, low, high)| {
        let unit = scale.high - scale.low;
        json!({ "mean": mean * unit, "low": low * unit, "high": high * unit })
    });
    let watch = serving.watched().map(|watched| {
        let name = |base: usize| metrics.bases.get(base).map(|b| &b.name);
        let known = |base: usize, bounds: Option<Bounds>| match bounds {
            Some(Bounds { value, low, high }) => {
                json!({ "base": name(base), "value": value, "low": low, "high": high })
            }
            None => json!({ "base": name(base), "value": null }),
        };
        let values = watched.values.iter().enumerate().map(|(base, value)| known(base, *value));
        json!({
            "rounds": watched.rounds, "error_rate": WATCH_ERROR, "values": values.collect::<Vec<_>>(),
            "best": watched.best.map(|(base, lead)| known(base, Some(lead))),
        })
    });
    let mut alarms: Vec<String> = serving.unready().into_iter().collect();
    let benched = metrics
        .bases
        .iter()
        .filter_map(|b| Some(format!("{} is benched: {}", b.name, b.benched.as_ref()?.reason)));
    alarms.extend(benched);
    json!({
        "name": serving.spec().name, "actions": serving.spec().actions, "reward_range": [scale.low, scale.high],
        "decisions": front.decisions, "acknowledged": front.rewards, "refused_here": front.refused,
        "writes": front.groups, "waiting": front.waiting, "refreshes": front.refreshes,
        "learned": learned.learned, "repeated": learned.repeated, "late": learned.late, "refused": learned.refused,
        "changes": learned.changes, "folds": serving.folds(), "served_fold": front.fold,
        "stale_ms": serving.staleness().as_millis() as u64,
        "band": side(learned.band), "default": side(learned.default), "lift": lift,
        "clipped": metrics.clipped, "clipped_features": metrics.clipped_features,
        "bases": bases, "watch": watch, "alarms": alarms, "report": text(serving),
    })
}

/// The report as text, with what is known of the values of the bases where they are followed.
pub(super) fn text(serving: &Serving) -> String {
    let watched = serving.watched().map(|watched| watched.text(&names(serving)));
    serving.report() + &watched.unwrap_or_default()
}

fn names(serving: &Serving) -> Vec<String> {
    serving.metrics().bases.into_iter().map(|base| base.name).collect()
}

pub(super) fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}

/// The report for people.
pub(super) fn html(serving: &Serving) -> String {
    let name = escaped(&serving.spec().name);
    let all = serde_json::to_string_pretty(&report(serving)).unwrap_or_default();
    format!(
        "<!doctype html><html lang=en><meta charset=utf-8><meta name=viewport content=\"width=device-width\"><title>{name}</title>\
         <style>body{{font:16px/1.4 system-ui;margin:1rem;max-width:60rem}}pre{{overflow-x:auto}}</style>\
         <h1>{name}</h1><pre>{}</pre><h2>All numbers</h2><pre>{}</pre></html>",
        escaped(&text(serving)),
        escaped(&all)
    )
}

/// The metrics of all bands in the text format of Prometheus: each family once, with the lines of every band.
pub(super) fn metrics<'a>(bands: impl Iterator<Item = &'a Serving>) -> String {
    let mut families: Vec<(String, Vec<String>)> = Vec::new();
    for serving in bands {
        let band = &serving.spec().name;
        let watched = serving.watched().map(|watched| watched.prometheus(band, &names(serving)));
        let text = serving.metrics().prometheus(band) + &own(serving) + &watched.unwrap_or_default();
        let mut at = None;
        let mut lines = text.lines();
        while let Some(line) = lines.next() {
            if let Some(help) = line.strip_prefix("# HELP ") {
                let name = help.split(' ').next().unwrap_or_default();
                let head = format!("{line}\n{}", lines.next().unwrap_or_default());
                at = families.iter().position(|(head, _)| head.split(' ').nth(2) == Some(name)).or_else(
                    || {
                        families.push((head, Vec::new()));
                        Some(families.len() - 1)
                    },
                );
            } else if let Some((_, family)) = at.and_then(|at| families.get_mut(at)) {
                family.push(line.to_owned());
            }
        }
    }
    families.iter().map(|(head, lines)| format!("{head}\n{}\n", lines.join("\n"))).collect()
}

/// What the service itself counts of a band.
fn own(serving: &Serving) -> String {
    let (front, learned) = (serving.counts(), serving.learned());
    let band = &serving.spec().name;
    let stale = serving.staleness().as_secs_f64();
    let ready = f64::from(u8::from(serving.unready().is_none()));
    let rows: [(&str, &str, &str, f64); 12] = [
        (
            "staleness_seconds",
            "gauge",
            "Age of the oldest reward that is acknowledged and not served.",
            stale,
        ),
        ("decisions_total", "counter", "Decisions of this process.", front.decisions as f64),
        ("rewards_total", "counter", "Rewards that this process acknowledged.", front.rewards as f64),
        ("writes_total", "counter", "Synced writes of rewards.", front.groups as f64),
        ("waiting_rewards", "gauge", "Rewards that wait to be written.", front.waiting as f64),
        ("refused_requests_total", "counter", "Requests that were refused.", front.refused as f64),
        ("refreshes_total", "counter", "Newer states that were loaded.", front.refreshes as f64),
        ("folds_total", "counter", "Folds that were learned.", serving.folds() as f64),
        ("repeated_total", "counter", "Rewards that came a second time.", learned.repeated as f64),
        ("late_total", "counter", "Rewards that came too late to be learned.", learned.late as f64),
        (
            "unlogged_decisions_total",
            "counter",
            "Decisions that could not be logged, where all are to be.",
            front.unlogged as f64,
        ),
        ("ready", "gauge", "Whether the band is ready.", ready),
    ];
    let mut text = String::new();
    for (name, kind, help, value) in rows {
        // Writing to a string cannot fail.
        let _ = writeln!(text, "# HELP corral_serve_{name} {help}\n# TYPE corral_serve_{name} {kind}");
        let _ = writeln!(text, "corral_serve_{name}{{band=\"{band}\"}} {value}");
    }
    text
}
