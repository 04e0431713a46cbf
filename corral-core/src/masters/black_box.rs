//! Black-box best of both worlds (Dann, Wei, Zimmert 2023, "A blackbox approach to best of both worlds in bandits and
//! beyond", COLT): a candidate beside an algorithm that is stable under importance weights, over all others.
//!
//! ```text
//! q' = argmin <q, (Z_1, Z_2 - B)> - (2/eta) (sqrt(q_1) + sqrt(q_2)),   eta = 1/(sqrt(t) + 8 sqrt(c_1))
//! q = (1 - 1/(2 t^2)) q' + 1/(4 t^2);   with q_1 play the candidate, with q_2 what EXP3 over the others draws
//! Z_1 += (1 + f) w_candidate,   Z_2 += (1 + f) sum_j e_j w_j,   B = sqrt(c_1 S),   S = sum 1/q_2
//! EXP3: e_j ~ exp(-sqrt(ln m/(m S)) L_j),   L_j += f w_j,   m = M - 1,   c_1 = 4 m ln m
//! where t >= 2 (rounds of the epoch before) and some j was played in t/2 rounds of this one: j is the candidate, all else anew
//! ```
//!
//! with w_i = 1{i = i_t}/pbar_i or the weights of another credit rule, and t the rounds of this epoch. The two minimise in closed
//! form: with d = eta (Z_1 - Z_2 + B) and s = sqrt(1 + d^2/4 + sqrt(1 + d^2)), 1/sqrt(q'_1) = s + d/2 and 1/sqrt(q'_2) = s - d/2.
//!
//! EXP3 that is fed with probability q_2 has regret at most sqrt(c_1 S) with this rate (ln m/eta + (m/2) sum eta/q_2), so
//! that it is stable with c_2 = 0, and the log-barrier 8 c_2 sum ln(1/q_i) of the paper vanishes. Against the best base, taken
//! as an arm as by `ucb` and `tsallis-inf`: sqrt(M T ln M) for any losses (docs/master-bounds.md#black-box), and, says the paper, about
//! M ln M ln T/gap where one base is better than all others by a gap.
//!
//! The algorithm is from memory; the paper's text could not be had. Ours are the first candidate (base 0, where
//! the paper draws one), the epoch before the first (sqrt(c_1) ln T rounds), weights from outside (S and t count them), and that
//! the actions of the paper are bases here: a master cannot see which policy a base played, so that it cannot make a
//! policy its candidate.

use super::prelude::*;

crate::params! {
    /// Parameters of [`BlackBox`].
    pub struct BlackBoxParams {
        /// Multiplies c_1 = 4 m ln m, the constant in which EXP3 over the m others is stable.
        scale: f64 = 1.0, Bounds::POSITIVE;
    }
}

/// Black-box best of both worlds.
pub type BlackBox = Ruled<BlackBoxRule>;

/// The rule of [`BlackBox`].
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct BlackBoxRule {
    scale: f64,
    /// The largest weight that losses carry from outside.
    outer: f64,
    /// ln T, 1 where T is not known.
    log_horizon: f64,
    candidate: usize,
    /// Rounds of this epoch and of the one before.
    round: u64,
    before: f64,
    /// Z_1 - Z_2
    lead: f64,
    /// S of the rounds before this one, and q_2 of this one.
    stretch: f64,
    share: f64,
    /// L_j
    sums: Vec<f64>,
    /// How often each was played in this epoch.
    plays: Vec<f64>,
}

impl BlackBoxRule {
    /// The base that is the candidate.
    pub fn candidate(&self) -> usize {
        self.candidate
    }

    /// c_1
    fn stability(&self, roster: &Roster) -> f64 {
        let others = (roster.left() - 1).max(1) as f64;
        self.scale * 4.0 * others * others.ln()
    }

    /// A new epoch.
    fn begin(&mut self, candidate: usize) {
        self.before = self.round as f64;
        (self.candidate, self.round, self.lead, self.stretch) = (candidate, 0, 0.0, 0.0);
        self.sums.fill(0.0);
        self.plays.fill(0.0);
    }

    /// q_2 of the next round.
    fn other(&self, roster: &Roster) -> f64 {
        let t = (self.round + 1) as f64;
        share_beside_candidate(t, self.outer, self.stability(roster), self.lead, self.stretch)
    }
}

/// q_2, the probability of not playing the candidate in round `t` of an epoch: beside an algorithm that is stable with the constant
/// `c1` (c_1), for losses of weights up to `outer`, where Z_1 - Z_2 is `lead` and the sum of 1/q_2 so far `stretch`. The
/// formulas stand at the top of this file.
pub fn share_beside_candidate(t: f64, outer: f64, c1: f64, lead: f64, stretch: f64) -> f64 {
    let eta = 1.0 / ((t * outer).sqrt() + 8.0 * c1.sqrt());
    let d = eta * (lead + (c1 * stretch).sqrt());
    let s = (1.0 + 0.25 * d * d + (1.0 + d * d).sqrt()).sqrt();
    // The smaller of the two has all its digits.
    let small = (s + 0.5 * d.abs()).powi(-2);
    let leader = if d < 0.0 { small } else { 1.0 - small };
    (1.0 - 0.5 / (t * t)) * leader + 0.25 / (t * t)
}

impl Rule for BlackBoxRule {
    type Params = BlackBoxParams;

    const NAME: &'static str = "black-box";

    fn new(params: &BlackBoxParams, setup: &MasterSetup) -> Result<Self, ParamError> {
        let zeros = vec![0.0; setup.bases];
        let mut rule = Self {
            scale: params.scale,
            outer: setup.range,
            log_horizon: setup.horizon.map_or(1.0, |rounds| (rounds as f64).ln().max(1.0)),
            sums: zeros.clone(),
            plays: zeros,
            ..Self::default()
        };
        rule.before = rule.stability(&Roster::new(setup.bases)).sqrt() * rule.log_horizon;
        Ok(rule)
    }

    fn takes_real_losses(_: &BlackBoxParams) -> bool {
        false
    }

    fn begin(&mut self, experience: &[Experience]) -> Result<(), ParamError> {
        let all: Vec<f64> = Experience::estimates(experience, self.sums.len()).collect();
        let roster = Roster::new(all.len());
        self.candidate = roster.least(|i| all[i]);
        // Only differences matter, and sums of losses are not negative.
        for (sum, s) in self.sums.iter_mut().zip(&all) {
            *sum = s - all[self.candidate];
        }
        Ok(())
    }

    fn learn(&mut self, round: Credited<'_>) -> Result<(), MasterError> {
        let Credited { loss, credit, roster, current } = round;
        let (sure, share) = (matches!(credit, Credit::Chosen { .. }), self.share);
        round.each(|i, weight| {
            if i == self.candidate {
                self.lead += (1.0 + loss) * weight;
            } else {
                // e_i w_i, with e_i = pbar_i/q_2
                self.lead -= (1.0 + loss) * weight * current[i] / share;
                self.sums[i] += loss * weight;
            }
            self.plays[i] += if sure { 1.0 } else { (weight * current[i]).min(1.0) };
        });
        if share > 0.0 {
            self.stretch += self.outer / share;
        }
        self.round += 1;
        let rounds = self.round as f64;
        if rounds >= 2.0 * self.before {
            let most = |i: &usize| *i != self.candidate && self.plays[*i] >= 0.5 * rounds;
            if let Some(next) = roster.iter().find(most) {
                self.begin(next);
            }
        }
        Ok(())
    }

    fn retired(&mut self, base: usize, roster: &Roster) {
        if base == self.candidate {
            self.begin(roster.least(|i| self.sums[i]));
        }
    }

    fn distribute(&mut self, roster: &Roster, out: &mut [f64]) {
        out.fill(0.0);
        if roster.left() == 1 {
            self.share = 0.0;
            out[self.candidate] = 1.0;
            return;
        }
        self.share = self.other(roster);
        let others = (roster.left() - 1) as f64;
        let eta = (others.ln() / (others * (self.stretch + self.outer / self.share))).sqrt();
        let present = || roster.iter().filter(|i| *i != self.candidate);
        let least = present().map(|i| self.sums[i]).fold(f64::INFINITY, f64::min);
        let mut total = 0.0;
        for i in present() {
            out[i] = (-eta * (self.sums[i] - least)).exp();
            total += out[i];
        }
        present().for_each(|i| out[i] *= self.share / total);
        out[self.candidate] = 1.0 - self.share;
    }

    fn constants(&self) -> impl Serialize {
        (self.scale, self.outer, self.log_horizon, self.candidate < self.sums.len())
    }

    fn admits(&self, state: &Self) -> Result<(), SnapshotError> {
        let bases = self.sums.len();
        counted(state.round)?;
        let sensible = |x: f64| x >= 0.0 && x.is_finite();
        all("estimates", &state.sums, bases, sensible)?;
        all("plays", &state.plays, bases, sensible)?;
        let epoch = sensible(state.before) && sensible(state.stretch) && state.lead.is_finite();
        ensure(epoch, "its epoch cannot be")?;
        ensure((0.0..=1.0).contains(&state.share), format_args!("a share of {}", state.share))?;
        Ok(())
    }
}
