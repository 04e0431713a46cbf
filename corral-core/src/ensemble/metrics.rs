//! What an ensemble can be watched by: numbers that serialise, as Prometheus text, and a report for people.

use std::fmt::{self, Write};

use serde::{Deserialize, Serialize};

use super::Ensemble;
use crate::feature_range::{ENOUGH, PART, Span};
use crate::masters::Experience;
use crate::{Benched, LossDomain, Master, Scale, Spending};

/// What an ensemble has done so far.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Metrics {
    /// Rounds that were chosen, here or by copies whose tickets were learned here.
    pub rounds: u64,
    /// Losses that arrived.
    pub learned: u64,
    /// Tickets that are out: those that [`Pending`](crate::Pending) holds, else the rounds whose loss has not arrived.
    pub open: u64,
    /// Tickets that waited too long.
    pub expired: u64,
    /// Losses that were refused since the ensemble was built: outside their range, learned before, of another ensemble; and
    /// those for tickets that do not wait in [`Pending`](crate::Pending).
    pub refused: u64,
    /// Losses that were cut to their range.
    pub clipped: u64,
    /// Values of features that were cut to their [range](crate::FeatureRange), in rounds that were learned.
    pub clipped_features: u64,
    /// What decisions have cost, where the band has a budget.
    #[serde(default)]
    pub spending: Option<Spending>,
    /// Each base, in order.
    pub bases: Vec<BaseMetrics>,
}

/// What one base has done so far.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "describe", derive(schemars::JsonSchema))]
pub struct BaseMetrics {
    /// Its name.
    pub name: String,
    /// The probability with which it is followed next.
    pub probability: f64,
    /// How often it was followed and the loss has arrived.
    pub plays: u64,
    /// The mean of these losses, in [0, 1].
    pub mean_loss: Option<f64>,
    /// Kish's number of effective samples behind the master's estimate of it.
    pub effective_samples: f64,
    /// How often it was told a wider range, or to start over.
    pub restarts: u64,
    /// Why it plays no more, where it does not.
    pub benched: Option<Benched>,
}

impl Metrics {
    /// What this band says of its bases, as a prior for a band on another problem (docs/experience.md): the reward of each in its own
    /// plays, less that of all, and how many plays that is worth: as many as it had, and at most `most`, for one problem alone
    /// cannot say how much carries over.
    ///
    /// ```
    /// use corral_core::{BaseMetrics, Metrics};
    /// let base = |plays, mean_loss| BaseMetrics { plays, mean_loss, ..BaseMetrics::default() };
    /// let bases = vec![base(400, Some(0.25)), base(10, Some(0.75)), base(0, None)];
    /// let known = Metrics { bases, ..Metrics::default() }.experience(10.0);
    /// assert_eq!(known.iter().map(|e| (e.relative, e.plays)).collect::<Vec<_>>(), [(0.25, 10.0), (-0.25, 10.0), (0.0, 0.0)]);
    /// ```
    pub fn experience(&self, most: f64) -> Vec<Experience> {
        let worth = |b: &BaseMetrics| (b.plays as f64).min(most);
        let played = || self.bases.iter().filter_map(|b| Some((worth(b), b.mean_loss?)));
        let plays: f64 = played().map(|(n, _)| n).sum();
        let level = played().map(|(n, loss)| n * loss).sum::<f64>() / plays;
        let of = |b: &BaseMetrics| match b.mean_loss {
            Some(loss) if plays > 0.0 => Experience { relative: level - loss, plays: worth(b) },
            _ => Experience { relative: 0.0, plays: 0.0 },
        };
        self.bases.iter().map(of).collect()
    }

    /// The numbers in the text format of Prometheus, as families `corral_...`; `band` is a label of each.
    ///
    /// ```
    /// use corral_core::{BaseMetrics, Metrics};
    /// let base = BaseMetrics { name: "linucb".into(), probability: 0.5, plays: 3, ..BaseMetrics::default() };
    /// let text = Metrics { rounds: 4, bases: vec![base], ..Metrics::default() }.prometheus("front page");
    /// assert!(text.contains("# TYPE corral_rounds_total counter\ncorral_rounds_total{band=\"front page\"} 4\n"));
    /// assert!(text.contains("corral_base_plays_total{band=\"front page\",base=\"linucb\"} 3\n"));
    /// ```
    pub fn prometheus(&self, band: &str) -> String {
        let mut text = String::new();
        let band = escaped(band);
        let whole: [(&str, &str, &str, u64); 7] = [
            ("rounds_total", "counter", "Rounds that were chosen.", self.rounds),
            ("learned_total", "counter", "Losses that arrived.", self.learned),
            ("open_tickets", "gauge", "Tickets that are out.", self.open),
            ("expired_total", "counter", "Tickets that waited too long.", self.expired),
            ("refused_total", "counter", "Losses that were refused.", self.refused),
            ("clipped_total", "counter", "Losses that were cut to their range.", self.clipped),
            (
                "clipped_features_total",
                "counter",
                "Features that were cut to their range.",
                self.clipped_features,
            ),
        ];
        for (name, kind, help, value) in whole {
            head(&mut text, name, kind, help);
            line(&mut text, format_args!("corral_{name}{{band=\"{band}\"}} {value}"));
        }
        type Value = fn(&BaseMetrics) -> Option<f64>;
        let each: [(&str, &str, &str, Value); 6] = [
            ("probability", "gauge", "With which a base is followed.", |b| Some(b.probability)),
            ("plays_total", "counter", "Decisions of a base whose loss arrived.", |b| Some(b.plays as f64)),
            ("mean_loss", "gauge", "The mean of these losses.", |b| b.mean_loss),
            ("effective_samples", "gauge", "Behind the estimate of a base.", |b| Some(b.effective_samples)),
            ("restarts_total", "counter", "Orders of the master to a base.", |b| Some(b.restarts as f64)),
            ("benched", "gauge", "Whether a base plays no more.", |b| {
                Some(f64::from(u8::from(b.benched.is_some())))
            }),
        ];
        for (name, kind, help, value) in each {
            head(&mut text, &format!("base_{name}"), kind, help);
            for (base, value) in self.bases.iter().filter_map(|b| Some((escaped(&b.name), value(b)?))) {
                line(
                    &mut text,
                    format_args!("corral_base_{name}{{band=\"{band}\",base=\"{base}\"}} {value}"),
                );
            }
        }
        text
    }
}

fn head(text: &mut String, name: &str, kind: &str, help: &str) {
    line(text, format_args!("# HELP corral_{name} {help}\n# TYPE corral_{name} {kind}"));
}

fn line(text: &mut String, words: fmt::Arguments<'_>) {
    // Writing to a string cannot fail.
    let _ = writeln!(text, "{words}");
}

/// A label's value: backslash, quote and line end are written with a backslash.
fn escaped(label: &str) -> String {
    label.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n")
}

impl<X: ?Sized, D: Clone + PartialEq, M: Master> Ensemble<X, D, M> {
    /// What the ensemble has done so far.
    pub fn metrics(&self) -> Metrics {
        let bases = self.seats.iter().enumerate().map(|(base, seat)| BaseMetrics {
            name: self.name(base),
            probability: self.master.probabilities()[base],
            plays: seat.tally.plays,
            mean_loss: seat.tally.mean_loss(),
            effective_samples: seat.tally.effective_samples(),
            restarts: seat.tally.restarts,
            benched: self.now.benched.iter().find(|b| b.base == base).cloned(),
        });
        Metrics {
            rounds: self.rounds(),
            learned: self.now.home,
            open: self.rounds() - self.now.home,
            expired: 0,
            refused: self.refused,
            clipped: self.now.clipped,
            clipped_features: self.now.features.as_ref().map_or(0, |f| f.clipped),
            spending: self.master.telemetry().spending,
            bases: bases.collect(),
        }
    }

    /// What people should know of the ranges of losses and features, in sentences: those that are learned or clip, and those
    /// that fit badly. `scale` is that of the caller, where losses are converted before the ensemble sees them.
    pub fn remarks(&self, scale: Option<Scale>) -> Vec<String> {
        let mut remarks = Vec::new();
        let (learned, Span { least, most }) = (self.now.home, self.now.losses);
        if self.scale() == Some(Scale::learned()) {
            remarks.push("rewards: their range is not known yet: two that differ are needed".to_owned());
        } else if let Some(Scale { low, high, learned: true, .. }) = self.scale() {
            remarks.push(format!("rewards: the range [{low:.4}, {high:.4}] was learned"));
        } else if learned >= ENOUGH && self.params.losses == LossDomain::Unit && most - least < PART {
            let scale = scale.or(self.params.scale).unwrap_or(Scale::losses(0.0, 1.0));
            let Scale { low, high, rewards, .. } = scale;
            let [a, b] = [scale.value(least), scale.value(most)];
            remarks.push(format!(
                "{} lie in [{:.4}, {:.4}], {:.1} % of their range [{low}, {high}]: with a range that fits, the band learns faster",
                if rewards { "rewards" } else { "losses" },
                a.min(b),
                a.max(b),
                100.0 * (most - least)
            ));
        }
        if let Some(Spending { per_round, rounds, mean, unknown, expected }) =
            self.master.telemetry().spending
        {
            remarks.push(format!("{rounds} decisions cost {mean:.6} on average; the budget is {per_round}"));
            if unknown > 0 {
                remarks.push(format!(
                    "the cost of {unknown} more is not known: with what their actions cost otherwise the mean is {expected:.6}"
                ));
            }
        }
        remarks.extend(self.now.features.iter().flat_map(|features| features.remarks(learned)));
        remarks
    }

    /// What the ensemble is and has done, for people: the choices of its preset, a line for each base, which were benched and
    /// why, and [`remarks`](Ensemble::remarks) on the ranges of losses and features.
    pub fn report(&mut self) -> String {
        let Metrics { rounds, learned, open, refused, clipped, bases, .. } = self.metrics();
        let mut text = String::new();
        line(&mut text, format_args!("master: {}", self.master.telemetry().describe()));
        line(&mut text, format_args!("band: {}", self.params));
        let counts = format_args!(
            "rounds: {rounds}, learned {learned}, open {open}, refused {refused}, clipped {clipped}"
        );
        line(&mut text, counts);
        let width = bases.iter().map(|b| b.name.chars().count()).fold(4, usize::max);
        let heads = ["probability", "plays", "mean loss", "samples", "restarts"];
        let [a, b, c, d, e] = heads;
        line(&mut text, format_args!("{:width$}  {a:>11}  {b:>10}  {c:>9}  {d:>10}  {e:>8}", "base"));
        for base in &bases {
            let mean = base.mean_loss.map_or("-".into(), |mean| format!("{mean:.4}"));
            line(
                &mut text,
                format_args!(
                    "{:width$}  {:11.4}  {:10}  {mean:>9}  {:10.0}  {:8}",
                    base.name, base.probability, base.plays, base.effective_samples, base.restarts
                ),
            );
        }
        for Benched { name, round, during, reason, .. } in self.everybody_benched() {
            line(&mut text, format_args!("benched: {name} in round {round} ({during}): {reason}"));
        }
        self.remarks(None).iter().for_each(|remark| line(&mut text, format_args!("{remark}")));
        text
    }
}
