//! Arbe, adversarial regret balancing and elimination, with its second phase (Pacchiano, Dann, Gentile 2022, "Best of both
//! worlds model selection", NeurIPS).
//!
//! ```text
//! bases in the order of their candidate bounds d_1 <= ... <= d_M (R_i(n) = d_i sqrt(n));  s dropped so far
//! 1: p_i = d_i^-2/sum_{j > s} d_j^-2 for i > s, fixed between drops
//!    drop all up to i where for some j > i   G_i + c (d_i sqrt(V_i) + v_i) < G_j - c v_j
//!    b has a gap, gap = min_j (G_b - G_j - c (v_b + v_j))/t, where for all j   G_b - G_j >= 2 c (v_b + v_j)
//! 2: p_b = 1 - e, e/m for each of the m others that are left,   e = min(1/2, 8 c^2 m ln(M t/delta)/(gap^2 t))
//!    it is refuted, and phase 1 goes on for good, where for some j   G_b - G_j + c (v_b + v_j) < t gap/2
//! G_i += (1 - f) w_i,   V_i += 1/p_i,   v_i = sqrt(V_i ln(M t/delta));   with each drop and phase G, V and t begin anew
//! ```
//!
//! with w_i = 1{i = i_t}/p_i or the weights of another credit rule. A base that is drawn with probability d^-2 has a bound
//! d sqrt(t/p) that is the same for all: the candidate bounds are balanced, whatever losses do. In the second phase the others
//! are drawn just so often that a gap of half its size would show: 8 c^2 M ln^2 T/gap rounds in all.
//!
//! Feed: weighted. With high probability, under adversarial losses, d^2 sqrt(M T) for the first base in the order whose
//! bound holds under its share of the rounds; where losses are stochastic, about M ln^2 T/gap more once the gap is seen.
//! **Experimental**: from memory; the paper's text could not be had. c, the logarithm, the factors 2, 8 and 1/2 of the
//! second phase are ours. The paper finds a gap between single policies; here a base stands for a policy, because a
//! master does not see what a base plays. No base is started over when others are dropped.

use super::prelude::*;

crate::params! {
    /// Parameters of [`Arbe`].
    pub struct ArbeParams {
        /// A candidate bound `{ scale, exponent }` per base; unset: what is known of the bases.
        bounds: Option<Vec<RegretBound>> = None;
        /// The factor c of the test.
        scale: f64 = 1.0, Bounds::POSITIVE;
        /// The confidence delta.
        delta: f64 = 0.01, Bounds::INSIDE_UNIT;
        /// Whether a base with a verified gap is played for as long as the gap is not refuted.
        second_phase: bool = true;
    }
}

/// Arbe.
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
    /// V_i
    spreads: Vec<f64>,
    /// t
    round: u64,
    /// b and its gap, in the second phase.
    leader: Option<(usize, f64)>,
    /// Whether the second phase may begin.
    hopes: bool,
    /// The largest weight that each was told to expect.
    ranges: Vec<f64>,
    #[serde(skip)]
    widened: Vec<usize>,
}

impl ArbeRule {
    /// How many bases are dropped at present: the first of those in the order of their bounds.
    pub fn dropped(&self) -> usize {
        self.dropped
    }

    /// The base that is played in the second phase.
    pub fn leader(&self) -> Option<usize> {
        self.leader.map(|(base, _)| base)
    }

    /// The bases that are not dropped, in the order of d.
    fn left<'a>(&'a self, roster: &'a Roster) -> impl DoubleEndedIterator<Item = usize> + 'a {
        self.order[self.dropped..].iter().copied().filter(|i| roster.has(*i))
    }

    /// sum_{j > s} d_j^-2
    fn total(&self, roster: &Roster) -> f64 {
        self.left(roster).map(|i| self.rates[i].powi(-2)).sum()
    }

    /// c v_i
    fn width(&self, roster: &Roster, base: usize) -> f64 {
        let t = self.round as f64;
        self.scale * (self.spreads[base] * (roster.bases() as f64 * t / self.delta).ln()).sqrt()
    }

    /// Begins to count anew.
    fn begin(&mut self) {
        self.gains.fill(0.0);
        self.spreads.fill(0.0);
        self.round = 0;
    }

    /// How many are dropped after the test.
    fn test(&self, roster: &Roster) -> usize {
        let mut best = f64::NEG_INFINITY;
        // From the last to the first: a base that is broken by one behind takes all before along.
        for i in self.left(roster).rev() {
            let width = self.width(roster, i);
            let bound = self.scale * self.rates[i] * self.spreads[i].sqrt();
            if self.gains[i] + bound + width < best {
                return self.order.iter().position(|j| *j == i).map_or(self.dropped, |place| place + 1);
            }
            best = best.max(self.gains[i] - width);
        }
        self.dropped
    }

    /// The base that is better than every other by more than chance, and by how much at least.
    fn gap(&self, roster: &Roster) -> Option<(usize, f64)> {
        let best = self.left(roster).reduce(|a, b| if self.gains[b] > self.gains[a] { b } else { a })?;
        let mut gap = f64::INFINITY;
        for i in self.left(roster).filter(|i| *i != best) {
            let (ahead, wide) =
                (self.gains[best] - self.gains[i], self.width(roster, best) + self.width(roster, i));
            if !(ahead >= 2.0 * wide && ahead > wide) {
                return None;
            }
            gap = gap.min((ahead - wide) / self.round as f64);
        }
        gap.is_finite().then_some((best, gap))
    }

    /// Whether the gap of the second phase is not there.
    fn refuted(&self, roster: &Roster, best: usize, gap: f64) -> bool {
        let expected = 0.5 * gap * self.round as f64;
        self.left(roster).filter(|i| *i != best).any(|i| {
            let wide = self.width(roster, best) + self.width(roster, i);
            self.gains[best] - self.gains[i] + wide < expected
        })
    }
}

impl Rule for ArbeRule {
    type Params = ArbeParams;

    const NAME: &'static str = "arbe";

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
        let zeros = vec![0.0; setup.bases];
        let all: f64 = rates.iter().map(|d| d.powi(-2)).sum();
        Ok(Self {
            scale: params.scale,
            delta: params.delta,
            // sum_j d_j^-2 only falls, so that no later weight of the first phase is larger.
            ranges: rates.iter().map(|d| all * d * d).collect(),
            rates,
            order,
            dropped: 0,
            gains: zeros.clone(),
            spreads: zeros,
            round: 0,
            leader: None,
            hopes: params.second_phase,
            widened: Vec::with_capacity(setup.bases),
        })
    }

    fn begin(&mut self, _: &[Experience]) -> Result<(), ParamError> {
        Err(Experience::refuse(
            "means nothing to this master: its test compares gains over the same rounds for all bases, and forgets them whenever it drops one",
        ))
    }

    fn learn(&mut self, round: Credited<'_>) -> Result<(), MasterError> {
        let Credited { loss, roster, current, .. } = round;
        self.widened.clear();
        round.each(|i, weight| self.gains[i] += (1.0 - loss) * weight);
        for (spread, p) in self.spreads.iter_mut().zip(current) {
            if *p > 0.0 {
                *spread += 1.0 / p;
            }
        }
        self.round += 1;
        if let Some((best, gap)) = self.leader {
            if self.refuted(roster, best, gap) {
                (self.leader, self.hopes) = (None, false);
                self.begin();
            }
            return Ok(());
        }
        let dropped = self.test(roster);
        if dropped > self.dropped {
            self.dropped = dropped;
            self.begin();
        } else if self.hopes {
            self.leader = self.gap(roster);
            if self.leader.is_some() {
                self.begin();
            }
        }
        Ok(())
    }

    fn retired(&mut self, base: usize, roster: &Roster) {
        self.widened.clear();
        // Where no base is left that keeps its bound, all have another chance.
        if self.left(roster).next().is_none() {
            self.dropped = 0;
        }
        if self.leader() == Some(base) {
            self.leader = None;
        }
        // The shares of the others changed.
        self.begin();
    }

    fn distribute(&mut self, roster: &Roster, out: &mut [f64]) {
        out.fill(0.0);
        let others = self.left(roster).count().saturating_sub(1) as f64;
        match self.leader {
            Some((best, gap)) if others > 0.0 => {
                let t = (self.round + 1) as f64;
                let log = (roster.bases() as f64 * t / self.delta).ln();
                let share = (8.0 * (self.scale / gap).powi(2) * others * log / t).min(0.5);
                self.left(roster).for_each(|i| out[i] = share / others);
                out[best] = 1.0 - share;
            }
            _ => {
                let total = self.total(roster);
                self.left(roster).for_each(|i| out[i] = self.rates[i].powi(-2) / total);
            }
        }
        for (i, p) in out.iter().enumerate().filter(|(_, p)| **p > 0.0) {
            if 1.0 > p * self.ranges[i] * (1.0 + 1e-12) {
                self.ranges[i] = 2.0 / p;
                self.widened.push(i);
            }
        }
    }

    fn range_of(&self, base: usize) -> Option<f64> {
        self.ranges.get(base).copied()
    }

    fn widened(&self) -> &[usize] {
        &self.widened
    }

    fn resize_buffers(&mut self) {
        self.widened.reserve(self.rates.len());
    }

    fn constants(&self) -> impl Serialize {
        (&self.rates, &self.order, self.scale, self.delta, self.dropped < self.rates.len())
    }

    fn admits(&self, state: &Self) -> Result<(), SnapshotError> {
        let bases = self.rates.len();
        counted(state.round)?;
        all("gains", &state.gains, bases, f64::is_finite)?;
        all("spreads", &state.spreads, bases, |v| v >= 0.0 && v.is_finite())?;
        all("ranges", &state.ranges, bases, |r| r >= 1.0 && r.is_finite())?;
        let left = state.order.get(state.dropped..).unwrap_or_default();
        let leads = |(base, gap): (usize, f64)| left.contains(&base) && gap > 0.0 && gap.is_finite();
        ensure(state.leader.is_none_or(leads), "its second phase cannot be")
    }
}
