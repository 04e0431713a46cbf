//! Reports and metrics.

use std::fmt::Write;

use corral_core::{Duty, Scale};
use corral_log::{Bounds, WATCH_ERROR};
#[cfg(test)]
use schemars::JsonSchema;
use serde::Serialize;

use crate::history::Point;
use crate::serving::Serving;
use crate::spec::Actions;
use crate::state::Sum;

/// What is known of a band.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(JsonSchema))]
pub(super) struct Report {
    /// Its name.
    name: String,
    /// The names of its actions, or how many there are.
    actions: Actions,
    /// Where rewards lie.
    reward_range: [f64; 2],
    /// Decisions that this process has made since its start.
    decisions: u64,
    /// Rewards that it has acknowledged since its start.
    acknowledged: u64,
    /// Requests that it has refused since its start.
    refused_here: u64,
    /// Its writes of rewards since its start.
    writes: u64,
    /// Rewards that wait to be written.
    waiting: usize,
    /// How often it has loaded a newer state.
    refreshes: u64,
    /// Rewards that were learned.
    learned: u64,
    /// Rewards that came a second time, and were passed over.
    repeated: u64,
    /// Rewards that came too late to be learned.
    late: u64,
    /// Rewards and changes of bases that were refused when they were to be learned.
    refused: u64,
    /// Changes of bases.
    changes: u64,
    /// Folds that were learned.
    folds: u64,
    /// After how many of them the state is that is served here.
    served_fold: u64,
    /// For how long a reward has waited that was taken here and is not served yet.
    stale_ms: u64,
    /// The decisions of the band.
    band: Side,
    /// The decisions that got the default action.
    default: Side,
    /// What the band earns more per decision than the default action, where both have rewards.
    lift: Option<Lift>,
    /// Rewards that were cut to their range.
    clipped: u64,
    /// Values of features that were cut to their range.
    clipped_features: u64,
    /// The bases, in order.
    bases: Vec<Base>,
    /// What each base would have earned, where that is followed.
    watch: Option<Values>,
    /// What the bases were over time, after the time that `?history=` says; left out without that.
    #[serde(skip_serializing_if = "Option::is_none")]
    history: Option<Vec<Moment>>,
    /// What somebody should look at.
    alarms: Vec<String>,
    /// The report as text.
    report: String,
}

/// The rewards of decisions.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(JsonSchema))]
struct Side {
    /// How many.
    rewards: u64,
    /// Their mean, where there are any.
    mean_reward: Option<f64>,
    /// Half the width of the interval around the mean.
    half_width: f64,
}

/// A difference with its interval, which holds at all times at once with probability 95 %.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(JsonSchema))]
struct Lift {
    /// The difference of the means.
    mean: f64,
    /// No less than this.
    low: f64,
    /// No more than this.
    high: f64,
}

/// A base.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(JsonSchema))]
struct Base {
    /// Its name.
    name: String,
    /// With which probability it is followed next.
    probability: f64,
    /// How often it was followed and the reward has come.
    plays: u64,
    /// The mean of these rewards, where there are any.
    mean_reward: Option<f64>,
    /// Half the width of the interval around the mean.
    half_width: f64,
    /// The number of effective samples behind the master's estimate of it.
    effective_samples: f64,
    /// How often it was told a wider range, or to start over.
    restarts: u64,
    /// Why it plays no more, where it does not.
    benched: Option<String>,
}

/// What each base would have earned per decision.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(JsonSchema))]
struct Values {
    /// From how many rewards.
    rounds: u64,
    /// All of it together is wrong with at most this probability, however often it is asked.
    error_rate: f64,
    /// Each base.
    values: Vec<Known>,
    /// The best of them and its lead, where it is known.
    best: Option<Known>,
}

/// A value and its bounds; left out where nothing is known.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(JsonSchema))]
struct Known {
    /// The base.
    base: String,
    /// Its value.
    value: Option<f64>,
    /// No less than this.
    #[serde(skip_serializing_if = "Option::is_none")]
    low: Option<f64>,
    /// No more than this.
    #[serde(skip_serializing_if = "Option::is_none")]
    high: Option<f64>,
}

/// The bases at one time.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(JsonSchema))]
struct Moment {
    /// When, in milliseconds since 1970.
    at: u64,
    /// With which probability each base was followed.
    probabilities: Vec<f64>,
    /// What each would have earned: the value, and no less and no more than what. Empty where that is not followed.
    values: Vec<Option<[f64; 3]>>,
}

impl From<Point> for Moment {
    fn from(Point { at, probabilities, values }: Point) -> Self {
        let values = values.into_iter().map(|bounds| bounds.map(|b| [b.value, b.low, b.high])).collect();
        Self { at, probabilities, values }
    }
}

fn width(scale: &Scale, count: u64) -> f64 {
    Serving::width(count) * (scale.high - scale.low)
}

impl Side {
    fn of(sum: Sum, scale: &Scale) -> Self {
        let mean_reward = sum.mean().map(|loss| scale.value(loss));
        Self { rewards: sum.count, mean_reward, half_width: width(scale, sum.count) }
    }
}

impl Base {
    fn of(base: corral_core::BaseMetrics, scale: &Scale) -> Self {
        Self {
            name: base.name,
            probability: base.probability,
            plays: base.plays,
            mean_reward: base.mean_loss.map(|loss| scale.value(loss)),
            half_width: width(scale, base.plays),
            effective_samples: base.effective_samples,
            restarts: base.restarts,
            benched: base.benched.map(|benched| benched.reason),
        }
    }
}

impl Values {
    fn of(watched: corral_log::Watched, names: &[Base]) -> Self {
        let known = |base: usize, bounds: Option<Bounds>| Known {
            base: names.get(base).map(|base| base.name.clone()).unwrap_or_default(),
            value: bounds.map(|b| b.value),
            low: bounds.map(|b| b.low),
            high: bounds.map(|b| b.high),
        };
        Self {
            rounds: watched.rounds,
            error_rate: WATCH_ERROR,
            values: watched.values.iter().enumerate().map(|(base, value)| known(base, *value)).collect(),
            best: watched.best.map(|(base, lead)| known(base, Some(lead))),
        }
    }
}

/// What is known of a band; with its history after a time, where that is asked for.
pub(super) fn report(serving: &Serving, since: Option<u64>) -> Report {
    let (front, learned, metrics) = (serving.counts(), serving.learned(), serving.metrics());
    let (spec, scale) = (serving.spec(), serving.spec().scale());
    // That somebody has retired a base is known to whoever did.
    let failed = |base: &corral_core::BaseMetrics| {
        let benched = base.benched.as_ref().filter(|benched| benched.during != Duty::Retired)?;
        Some(format!("{} is benched: {}", base.name, benched.reason))
    };
    let alarms = serving.unready().into_iter().chain(metrics.bases.iter().filter_map(failed)).collect();
    let bases: Vec<Base> = metrics.bases.into_iter().map(|base| Base::of(base, &scale)).collect();
    let unit = scale.high - scale.low;
    let lift = |(mean, low, high)| Lift { mean: mean * unit, low: low * unit, high: high * unit };
    Report {
        name: spec.name.clone(),
        actions: spec.actions.clone(),
        reward_range: [scale.low, scale.high],
        decisions: front.decisions,
        acknowledged: front.rewards,
        refused_here: front.refused,
        writes: front.groups,
        waiting: front.waiting,
        refreshes: front.refreshes,
        learned: learned.learned,
        repeated: learned.repeated,
        late: learned.late,
        refused: learned.refused,
        changes: learned.changes,
        folds: serving.folds(),
        served_fold: front.fold,
        stale_ms: serving.staleness().as_millis() as u64,
        band: Side::of(learned.band, &scale),
        default: Side::of(learned.default, &scale),
        lift: serving.lift().map(lift),
        clipped: metrics.clipped,
        clipped_features: metrics.clipped_features,
        watch: serving.watched().map(|watched| Values::of(watched, &bases)),
        history: since.map(|since| serving.history(since).into_iter().map(Moment::from).collect()),
        alarms,
        bases,
        report: text(serving),
    }
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
    let all = serde_json::to_string_pretty(&report(serving, None)).unwrap_or_default();
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
