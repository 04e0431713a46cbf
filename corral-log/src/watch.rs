//! What a running band knows of the values of its bases, valid at any time: state that does not grow with rounds.

use corral_core::Ticket;
use serde::{Deserialize, Serialize};

use crate::MixtureBernstein;

/// How often what a band says of the values of its bases may be wrong, however often it is asked.
pub const WATCH_ERROR: f64 = 0.05;

/// With more bases than these no differences are kept, as their number grows as the square: which base is best is not said then.
pub const MOST_COMPARED: usize = 32;

/// Follows the values of the bases of a band while it runs. It needs tickets with the probabilities of every base
/// ([`Propensities::EveryBase`](corral_core::Propensities::EveryBase)); for differences, and so to say which base is best, with
/// whole distributions ([`Propensities::Full`](corral_core::Propensities::Full)). Bases learn, so that their values move: the
/// sequences are those for values that may. With more than [`MOST_COMPARED`] bases their values are followed and their differences
/// are not, so that none is ever said to be best.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Watch {
    bases: Vec<Followed>,
    /// Of bases 1 and 0, 2 and 0, 2 and 1, ...: the first less the second.
    pairs: Vec<Pair>,
    rounds: u64,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
struct Followed {
    low: MixtureBernstein,
    high: MixtureBernstein,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
struct Pair {
    sum: f64,
    first: MixtureBernstein,
    second: MixtureBernstein,
}

/// Where two bases stand in the list of pairs.
fn pair(a: usize, b: usize) -> usize {
    let (first, second) = (a.max(b), a.min(b));
    first * first.saturating_sub(1) / 2 + second
}

/// A mean and where it lies.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Bounds {
    /// The estimate.
    pub value: f64,
    /// No less than this.
    pub low: f64,
    /// No more than this.
    pub high: f64,
}

/// What is known now.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Watched {
    /// The rounds that were seen.
    pub rounds: u64,
    /// The value of each base: the mean reward in [0, 1] that it would have earned on the data of the band. `None`: it never
    /// said its probabilities.
    pub values: Vec<Option<Bounds>>,
    /// The base that is best at any time, with by how much it leads the nearest other; `None`: not decided, or there are more than
    /// [`MOST_COMPARED`] bases.
    pub best: Option<(usize, Bounds)>,
}

impl Watch {
    /// Of a band with so many bases.
    pub fn new(bases: usize) -> Self {
        let mut watch = Self::default();
        watch.grow(bases);
        watch
    }

    /// More bases have joined: there are so many now.
    pub fn grow(&mut self, bases: usize) {
        self.bases.resize(bases, Followed::default());
        let pairs = if bases <= MOST_COMPARED { bases * bases.saturating_sub(1) / 2 } else { 0 };
        self.pairs.resize(pairs, Pair::default());
    }

    /// Another learner took the place of a base: what is known of it and of its differences begins anew.
    pub fn replace(&mut self, base: usize) {
        if let Some(followed) = self.bases.get_mut(base) {
            *followed = Followed::default();
        }
        let bases = self.bases.len();
        for other in (0..bases).filter(|other| *other != base) {
            if let Some(pair) = self.pairs.get_mut(pair(base, other)) {
                *pair = Pair::default();
            }
        }
    }

    /// Takes in a decision and its reward in [0, 1]. A decision that no policy made, or whose probability is not known, says
    /// nothing.
    pub fn see<D>(&mut self, ticket: &Ticket<D>, reward: f64) {
        self.see_with(ticket, ticket.whole(), reward);
    }

    /// The same of a ticket that was written down, which does not have the distributions of its bases: `whole` has them.
    pub fn see_with<D>(&mut self, ticket: &Ticket<D>, whole: &[f64], reward: f64) {
        let (Some(propensity), false) = (ticket.propensity(), ticket.is_forced()) else { return };
        let own = ticket.likelihoods();
        if own.len() > self.bases.len() {
            self.grow(own.len());
        }
        let reward = reward.clamp(0.0, 1.0);
        self.rounds += 1;
        let weight = |base: usize| own[base] / propensity;
        for base in (0..own.len()).filter(|b| own[*b].is_finite()) {
            // Means V and 1 - V, whatever the weights (docs/evaluation.md#intervals-and-what-they-assume).
            self.bases[base].low.add(weight(base) * reward);
            self.bases[base].high.add(weight(base) * (1.0 - reward));
        }
        let actions = whole.len().checked_div(own.len()).unwrap_or(0);
        if actions == 0 || self.pairs.is_empty() {
            return;
        }
        for a in 1..own.len() {
            for b in 0..a {
                let (first, second) =
                    (&whole[a * actions..(a + 1) * actions], &whole[b * actions..(b + 1) * actions]);
                // The total variation between the two, and NaN where one is not known.
                let apart: f64 =
                    first.iter().zip(second).map(|(p, q)| (p - q).max(0.0) + (p - q) * 0.0).sum();
                if !(apart.is_finite() && own[a].is_finite() && own[b].is_finite()) {
                    continue;
                }
                let gap = weight(a) - weight(b);
                let (more, less) = (gap.max(0.0), (-gap).max(0.0));
                let pair = &mut self.pairs[pair(a, b)];
                // Z >= -1 with mean V_a - V_b, and its opposite (docs/evaluation.md#differences).
                let z = more * reward + less * (1.0 - reward) - apart;
                let opposite = less * reward + more * (1.0 - reward) - apart;
                pair.sum += z;
                pair.first.add(0.5 * (z + 1.0));
                pair.second.add(0.5 * (opposite + 1.0));
            }
        }
    }

    /// What is known now, all of it together wrong with probability at most `alpha`, however often it is asked.
    pub fn now(&self, alpha: f64) -> Watched {
        let each = 0.5 * alpha / self.bases.len().max(1) as f64;
        let value = |f: &Followed| {
            f.low.mean().map(|value| {
                let (low, high) = (f.low.lower(each / 2.0), 1.0 - f.high.lower(each / 2.0));
                Bounds { value: value.clamp(low, high.max(low)), low, high }
            })
        };
        Watched {
            rounds: self.rounds,
            values: self.bases.iter().map(value).collect(),
            best: self.best(alpha),
        }
    }

    /// The base that leads every other, where one does.
    fn best(&self, alpha: f64) -> Option<(usize, Bounds)> {
        let each = 0.5 * alpha / self.pairs.len().max(1) as f64;
        let lead = |base: usize, other: usize| -> Option<Bounds> {
            let pair = self.pairs.get(pair(base, other))?;
            let mean = pair.sum / pair.first.rounds()?;
            let (first, second) =
                (2.0 * pair.first.lower(each / 2.0) - 1.0, 1.0 - 2.0 * pair.second.lower(each / 2.0));
            Some(match base > other {
                true => Bounds { value: mean, low: first, high: second },
                false => Bounds { value: -mean, low: -second, high: -first },
            })
        };
        (0..self.bases.len()).find_map(|base| {
            let others = (0..self.bases.len()).filter(|o| *o != base);
            let leads: Option<Vec<Bounds>> = others.map(|other| lead(base, other)).collect();
            let least = leads?.into_iter().min_by(|a, b| a.low.total_cmp(&b.low))?;
            (least.low > 0.0).then_some((base, least))
        })
    }
}

impl Watched {
    /// The same in the units of rewards that lie in [low, high].
    #[must_use]
    pub fn scaled(mut self, low: f64, high: f64) -> Self {
        let unit = high - low;
        let scale = |bounds: &mut Bounds, from: f64| {
            for part in [&mut bounds.value, &mut bounds.low, &mut bounds.high] {
                *part = from + unit * *part;
            }
        };
        self.values.iter_mut().flatten().for_each(|value| scale(value, low));
        self.best.iter_mut().for_each(|(_, lead)| scale(lead, 0.0));
        self
    }

    /// As text: a line for each base, and which is best.
    pub fn text(&self, names: &[String]) -> String {
        let name = |base: usize| names.get(base).map_or("?", String::as_str);
        let mut out = String::new();
        for (base, value) in self.values.iter().enumerate() {
            let known = value
                .map_or("not known".to_owned(), |v| format!("{:.4} [{:.4}, {:.4}]", v.value, v.low, v.high));
            out.push_str(&format!("value of {}: {known}\n", name(base)));
        }
        out.push_str(&match &self.best {
            Some((base, lead)) => format!(
                "{} is best, by {:.4} [{:.4}, {:.4}], valid at any time\n",
                name(*base),
                lead.value,
                lead.low,
                lead.high
            ),
            None if self.values.len() > MOST_COMPARED => {
                format!("which base is best is not followed: there are more than {MOST_COMPARED}\n")
            }
            None => "which base is best is not decided\n".to_owned(),
        });
        out
    }

    /// In the text format of Prometheus, with the label `band`.
    pub fn prometheus(&self, band: &str, names: &[String]) -> String {
        let mut out = String::new();
        let label = |text: &str| text.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n");
        let families = [
            ("value", "Value of each base: the mean reward that it would have earned."),
            ("value_low", "The least value that is possible, valid at any time."),
            ("value_high", "The largest value that is possible, valid at any time."),
        ];
        for (i, (what, help)) in families.into_iter().enumerate() {
            let of = |b: &Bounds| [b.value, b.low, b.high][i];
            out.push_str(&format!("# HELP corral_base_{what} {help}\n# TYPE corral_base_{what} gauge\n"));
            for (value, name) in self.values.iter().zip(names) {
                if let Some(bounds) = value {
                    out.push_str(&format!(
                        "corral_base_{what}{{band=\"{}\",base=\"{}\"}} {}\n",
                        label(band),
                        label(name),
                        of(bounds)
                    ));
                }
            }
        }
        out.push_str("# HELP corral_base_best Whether the base is best, valid at any time.\n# TYPE corral_base_best gauge\n");
        for (base, name) in names.iter().enumerate().take(self.values.len()) {
            let best = u8::from(self.best.is_some_and(|(best, _)| best == base));
            out.push_str(&format!(
                "corral_base_best{{band=\"{}\",base=\"{}\"}} {best}\n",
                label(band),
                label(name)
            ));
        }
        out
    }
}
