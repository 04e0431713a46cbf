//! R-SR, rising successive rejects (Mussi, Montenegro, Trovo, Restelli, Metelli 2024, "Best arm identification for stochastic rising
//! bandits", ICML, arXiv 2302.07510), then the base that is left.
//!
//! ```text
//! phases j = 1..M-1:  play each base that is left until it has N_j = ceil((B - M)/(log(M) (M + 1 - j))) plays,
//!                     log(M) = 1/2 + sum_{i=2..M} 1/i;   drop the one with the least mean over its last floor(epsilon n) plays
//! ```
//!
//! The paper has B = T and recommends a base at the end; a master has to play it as well, so B is a `part` of T here (ours). M + 1 - j is
//! the number of bases that are left: where one is retired from outside the phase goes on with one less.
//!
//! Feed: raw. Wrong with probability at most M^2/2 exp(-epsilon/(8 sigma^2) (B - M)/(log(M) max_i i/gap_i^2)) where B is large enough for
//! the rise of the rewards (its theorem, for stochastic losses whose means fall and are convex in the base's own plays). A base is dropped for good, and
//! it is deterministic: regret is linear where that was wrong, or where losses depend on the choice.

use super::prelude::*;
use super::r_ed_ucb::{NO_CURVE, WINDOW};
use super::rising::Rising;

crate::params! {
    /// Parameters of [`RSr`].
    pub struct RSrParams {
        /// The window epsilon, a part of a base's plays.
        window: f64 = 0.25, WINDOW;
        /// The part of the rounds in which bases are rejected.
        part: f64 = 0.25, Bounds::POSITIVE_UNIT;
        /// The longest window, in plays.
        longest: u32 = 1_024, Bounds::at_least(1.0);
    }
}

/// Rising successive rejects.
pub type RSr = Ruled<RSrRule>;

/// The rule of [`RSr`].
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RSrRule {
    rising: Rising,
    /// (B - M)/log(M)
    budget: f64,
    dropped: Vec<bool>,
}

impl RSrRule {
    /// Whether `base` is left.
    pub fn active(&self, base: usize) -> bool {
        self.dropped.get(base).is_some_and(|dropped| !dropped)
    }

    fn left<'a>(&'a self, roster: &'a Roster) -> impl Iterator<Item = usize> + Clone + 'a {
        (0..self.dropped.len()).filter(|&i| roster.has(i) && !self.dropped[i])
    }

    /// The base that is played in this phase, the lowest index first; `None`: all have their plays.
    fn due(&self, roster: &Roster) -> Option<usize> {
        let mut left = self.left(roster);
        let count = left.clone().count();
        // N_j, and a play of each at least.
        let plays = (self.budget / count as f64).ceil().max(1.0);
        if count == 1 { left.next() } else { left.find(|&i| (self.rising.plays(i) as f64) < plays) }
    }
}

impl Rule for RSrRule {
    type Params = RSrParams;

    const NAME: &'static str = "r-sr";

    const CERTAIN: bool = true;

    fn new(params: &RSrParams, setup: &MasterSetup) -> Result<Self, ParamError> {
        let rounds = params.part * setup.known_horizon("known")? as f64;
        let log = 0.5 + (2..=setup.bases).map(|i| 1.0 / i as f64).sum::<f64>();
        Ok(Self {
            rising: Rising::new(params.window, params.longest, setup)?,
            budget: (rounds - setup.bases as f64).max(0.0) / log,
            dropped: vec![false; setup.bases],
        })
    }

    fn begin(&mut self, _: &[Experience]) -> Result<(), ParamError> {
        Err(Experience::refuse(NO_CURVE))
    }

    fn learn(&mut self, round: Credited<'_>) -> Result<(), MasterError> {
        self.rising.count(round);
        while self.left(round.roster).nth(1).is_some() && self.due(round.roster).is_none() {
            let score = |i: usize| if self.dropped[i] { f64::INFINITY } else { self.rising.mean(i) };
            let worst = round.roster.least(score);
            self.dropped[worst] = true;
        }
        Ok(())
    }

    fn retired(&mut self, _: usize, roster: &Roster) {
        // Where no base is left all have another chance.
        if self.left(roster).next().is_none() {
            self.dropped.fill(false);
        }
    }

    fn distribute(&mut self, roster: &Roster, out: &mut [f64]) {
        // After one was retired all others may have the plays of their phase; the next loss ends it.
        let best = || roster.least(|i| if self.dropped[i] { f64::INFINITY } else { -self.rising.mean(i) });
        follow(self.due(roster).unwrap_or_else(best), out);
    }

    fn constants(&self) -> impl Serialize {
        (self.rising.constants(), self.budget, self.dropped.contains(&false))
    }

    fn admits(&self, state: &Self) -> Result<(), SnapshotError> {
        ensure(state.dropped.len() == self.dropped.len(), "rejects of other bases")?;
        self.rising.validate(&state.rising)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Credit, Master};

    /// M = 3, B = 0.5 80 = 40: log(3) = 1/2 + 1/2 + 1/3 = 4/3, N_1 = ceil(37/(4/3 3)) = ceil(9.25) = 10, N_2 = ceil(37/(4/3 2)) =
    /// ceil(13.875) = 14; by hand. The base that rises is behind on average and ahead in its last two plays of ten.
    #[test]
    fn phases_have_their_plays_and_drop_the_lowest_of_the_last() {
        let params = RSrParams { part: 0.5, ..RSrParams::default() };
        let mut master = RSr::new(params, &MasterSetup::new(3, Some(80))).unwrap();
        let mut played = [0; 3];
        for t in 0..80 {
            let base = master.probabilities().iter().position(|p| *p == 1.0).unwrap();
            let due = if t < 30 {
                t / 10
            } else if t < 38 {
                [0, 2][(t - 30) / 4]
            } else {
                2
            };
            assert_eq!(base, due, "round {t}");
            played[base] += 1;
            let reward = [0.5, 0.4, 0.05 * f64::from(played[2])][base];
            master.update(1.0 - reward.min(1.0), Credit::Chosen { base, weight: 1.0 }).unwrap();
        }
        assert_eq!(played, [14, 10, 56]);
    }
}
