//! Arbe, adversarial regret balancing and elimination (Pacchiano, Dann, Gentile 2022, "Best of both worlds model selection",
//! NeurIPS): its first phase.
//!
//! ```text
//! bases in the order of their candidate bounds d_1 <= ... <= d_M (R_i(n) = d_i sqrt(n));  s dropped so far
//! p_i = d_i^-2/sum_{j > s} d_j^-2 for i > s, fixed between drops;   G_i += (1 - f) w_i,  t += 1
//! drop all up to i, and begin G and t anew, where for some j > i
//! G_i + c (d_i sqrt(t/p_i) + v(p_i)) < G_j - c v(p_j),   v(p) = sqrt(t ln(M t/delta)/p)
//! ```
//!
//! with w_i = 1{i = i_t}/p_i or the weights of another credit rule. A base that is drawn with probability d^-2 has a bound
//! d sqrt(t/p) that is the same for all: the candidate bounds are balanced, whatever losses do.
//!
//! Feed: weighted. With high probability, under adversarial losses, d^2 sqrt(M T) for the first base in the order whose
//! bound holds under its share of the rounds. **Experimental**: from memory; c and the logarithm are not the paper's
//! constants. The paper's second phase, which plays a policy whose gap was verified and earns ln T/gap where losses are
//! stochastic, is not here: it must name and test single policies, which a master over bases cannot see. Nobody is
//! started over when others are dropped.

use serde::{Deserialize, Serialize};

use super::rule::{Credited, Rule, Ruled, all};
use super::{MasterSetup, RegretBound, Roster};
use crate::params::Bounds;
use crate::registry::{Entry, Status};
use crate::{MasterError, ParamError, SnapshotError};

crate::params! {
    /// Parameters of [`Arbe`].
    pub struct ArbeParams {
        /// A candidate bound `{ scale, exponent }` per base; unset: what is known of the bases.
        bounds: Option<Vec<RegretBound>> = None;
        /// The factor c of the test.
        scale: f64 = 1.0, Bounds::POSITIVE;
        /// The confidence delta.
        delta: f64 = 0.01, Bounds::INSIDE_UNIT;
    }
}

/// Arbe's first phase.
pub type Arbe = Ruled<ArbeRule>;

/// The rule of [`Arbe`].
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ArbeRule {
    scale: f64,
    delta: f64,
    /// d_i
    rates: Vec<f64>,
    /// The bases in the order of d.
    order: Vec<usize>,
    /// s
    dropped: usize,
    /// G_i
    gains: Vec<f64>,
    /// t
    round: u64,
}

impl ArbeRule {
    /// How many bases are dropped at present: the first of those in the order of their bounds.
    pub fn dropped(&self) -> usize {
        self.dropped
    }

    /// sum_{j > s} d_j^-2
    fn total(&self, roster: &Roster) -> f64 {
        let left = self.order[self.dropped..].iter().filter(|i| roster.has(**i));
        left.map(|i| self.rates[*i].powi(-2)).sum()
    }

    /// How many are dropped after the test.
    fn test(&self, roster: &Roster) -> usize {
        let (t, total) = (self.round as f64, self.total(roster));
        let log = (roster.bases() as f64 * t / self.delta).ln();
        let mut best = f64::NEG_INFINITY;
        // From the last to the first: who is broken by one behind takes all before along.
        for (place, &i) in self.order.iter().enumerate().skip(self.dropped).rev() {
            if !roster.has(i) {
                continue;
            }
            let d = self.rates[i];
            let p = d.powi(-2) / total;
            let wide = (t * log / p).sqrt();
            if self.gains[i] + self.scale * (d * (t / p).sqrt() + wide) < best {
                return place + 1;
            }
            best = best.max(self.gains[i] - self.scale * wide);
        }
        self.dropped
    }
}

impl Rule for ArbeRule {
    type Params = ArbeParams;

    const ENTRY: Entry = Entry {
        name: "arbe",
        summary: "draws bases so that their candidate bounds are balanced, and drops those that break theirs",
        source: "Pacchiano, Dann, Gentile 2022, Best of both worlds model selection (first phase)",
        regret: "about d^2 sqrt(M T) for the first base whose bound d sqrt(n) holds, with probability 1 - delta",
        fits: "feed weighted; any losses; nested bases with candidate bounds",
        cost: "O(M), two square roots a base",
        status: Status::Experimental,
        ..Entry::EMPTY
    };

    fn new(params: &ArbeParams, setup: &MasterSetup) -> Result<Self, ParamError> {
        let bounds = setup.bounds_or(params.bounds.as_deref())?;
        // d_i = R_i(T)/sqrt(T); where T is not known, the factor of the bound.
        let rate = |b: &RegretBound| match setup.horizon {
            Some(rounds) => b.at(rounds as f64) / (rounds as f64).sqrt(),
            None => b.scale,
        };
        let rates: Vec<f64> = bounds.iter().map(rate).collect();
        let mut order: Vec<usize> = (0..setup.bases).collect();
        order.sort_by(|a, b| rates[*a].total_cmp(&rates[*b]));
        let gains = vec![0.0; setup.bases];
        Ok(Self { scale: params.scale, delta: params.delta, rates, order, dropped: 0, gains, round: 0 })
    }

    fn learn(&mut self, round: Credited<'_>) -> Result<(), MasterError> {
        let Credited { loss, roster, .. } = round;
        round.each(|i, weight| self.gains[i] += (1.0 - loss) * weight);
        self.round += 1;
        let dropped = self.test(roster);
        if dropped > self.dropped {
            self.dropped = dropped;
            self.gains.fill(0.0);
            self.round = 0;
        }
        Ok(())
    }

    fn retired(&mut self, _: usize, roster: &Roster) {
        // Where nobody is left of those that keep their bounds, everybody has another chance.
        if !self.order[self.dropped..].iter().any(|i| roster.has(*i)) {
            self.dropped = 0;
        }
        // The shares of the others changed.
        self.gains.fill(0.0);
        self.round = 0;
    }

    fn distribute(&mut self, roster: &Roster, out: &mut [f64]) {
        let total = self.total(roster);
        out.fill(0.0);
        for &i in self.order[self.dropped..].iter().filter(|i| roster.has(**i)) {
            out[i] = self.rates[i].powi(-2) / total;
        }
    }

    fn range_of(&self, base: usize) -> Option<f64> {
        // sum_j d_j^-2 only falls, so no later weight is larger than the first.
        let all: f64 = self.rates.iter().map(|d| d.powi(-2)).sum();
        self.rates.get(base).map(|d| all * d * d)
    }

    fn constants(&self) -> impl PartialEq {
        (&self.rates, &self.order, self.scale, self.delta, self.dropped < self.rates.len())
    }

    fn admits(&self, state: &Self) -> Result<(), SnapshotError> {
        let bases = self.rates.len();
        all("gains", &state.gains, bases, f64::is_finite)
    }
}
