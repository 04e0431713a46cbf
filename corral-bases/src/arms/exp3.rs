//! EXP3, and its implicit-exploration form EXP3-IX.
//!
//! Auer, Cesa-Bianchi, Freund, Schapire 2002; Neu 2015 for IX. Regret at most sqrt(2 K T ln K) against any sequence of
//! losses, also adaptive ones. Weakly stable with alpha = 1/2: the second moment of the estimates grows by the range,
//! so that eta / sqrt(range) is the whole change (docs/stability.md#second-moment-bases).

use corral_core::masters::RegretBound;
use corral_core::params::{Bounds, Params};
use corral_core::registry::{Entry, Kind, Status};
use corral_core::snapshot::SnapshotError;
use corral_core::{
    Abilities, Arm, Base, BaseError, Feedback, Memo, Order, Proposal, Rng, Setup, sample_index,
};
use serde::{Deserialize, Serialize};

use crate::built::BaseParams;
use crate::common::{
    Clock, RangeChange, Setting, arm_count, check_arm, check_numbers, reopen, restart_or_retune, seal,
};

const NAME: &str = "exp3";

corral_core::params! {
    /// Parameters of [`Exp3`].
    pub struct Exp3Params {
        /// Learning rate at range 1, divided by sqrt(range); auto: sqrt(2 ln K/(K T)), or sqrt(ln K/(K t))
        /// where T is not known.
        rate: Setting = Setting::Auto, Bounds::POSITIVE;
        /// Implicit exploration: half the rate is added to the probability in the estimate.
        ix: bool = false;
        /// What a larger range does: restart (the paper), or retune the rate and keep the estimates.
        range_change: RangeChange = RangeChange::Restart;
    }
}

impl BaseParams for Exp3Params {
    type Base = Exp3;

    const ENTRY: Entry = Entry {
        name: NAME,
        summary: "Exponential weights on importance-weighted losses.",
        source: "Auer, Cesa-Bianchi, Freund, Schapire 2002, The nonstochastic multiarmed bandit problem",
        regret: "sqrt(2 K T ln K)",
        alpha: Some(0.5),
        fits: "adversarial arms",
        cost: "O(K)",
        kind: Kind::Arms,
        status: Status::Standard,
    };

    fn build(self, setup: &Setup) -> Result<Exp3, BaseError> {
        self.check()?;
        let actions = arm_count(setup)?;
        restart_or_retune(self.range_change)?;
        let state = State { clock: Clock::new(setup), losses: vec![0.0; actions], shift: 0.0 };
        let mut base = Exp3 { params: self, state, weights: vec![0.0; actions], rate: 0.0 };
        base.tune();
        Ok(base)
    }

    fn bound(&self, setup: &Setup) -> Option<RegretBound> {
        let k = setup.actions() as f64;
        Some(RegretBound::new((2.0 * k * k.max(2.0).ln()).sqrt(), 0.5))
    }
}

/// EXP3: draws from q ~ exp(-eta L), where L are the estimated cumulative losses.
#[derive(Debug, Clone)]
pub struct Exp3 {
    params: Exp3Params,
    state: State,
    /// exp(-rate (losses - shift)), kept up to date: one loss changes one weight.
    weights: Vec<f64>,
    rate: f64,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
struct State {
    clock: Clock,
    /// L, the sum of the estimated losses of each arm.
    losses: Vec<f64>,
    /// What is subtracted from L before exp: a recent minimum of L.
    shift: f64,
}

/// Estimates add up to here and no further: beyond it an arm is never drawn again anyway.
const LARGEST: f64 = 1e300;

impl Exp3 {
    /// Sets the rate for the clock, and computes all weights afresh.
    fn tune(&mut self) {
        let k = self.weights.len() as f64;
        let clock = &self.state.clock;
        let base_rate = self.params.rate.or(|| match clock.tuned() {
            // eta = sqrt(2 ln K/(K T))   docs/bases.md#exp3
            Some(horizon) => (2.0 * k.ln() / (k * horizon)).sqrt(),
            // anytime: eta_t = sqrt(ln K/(K t))
            None => (k.ln() / (k * (clock.rounds as f64 + 1.0))).sqrt(),
        });
        // eta <- eta/sqrt(rho)   docs/stability.md#second-moment-bases
        self.rate = base_rate / clock.range.sqrt();
        for (w, l) in self.weights.iter_mut().zip(&self.state.losses) {
            *w = (-self.rate * (l - self.state.shift)).exp();
        }
    }

    /// Moves the shift to the minimum of L, when the weights have become small.
    fn rebase(&mut self) {
        self.state.shift = self.state.losses.iter().copied().fold(f64::INFINITY, f64::min);
        self.tune();
    }

    /// Whether the rate changes from round to round.
    fn is_anytime(&self) -> bool {
        self.params.rate == Setting::Auto && self.state.clock.horizon.is_none()
    }

    fn step(&mut self) {
        self.state.clock.tick();
        if self.is_anytime() {
            self.tune();
        }
    }

    fn total(&self) -> f64 {
        self.weights.iter().sum()
    }

    /// q_t, the distribution of the next proposal.
    pub fn distribution(&self) -> impl Iterator<Item = f64> {
        let total = self.total();
        self.weights.iter().map(move |w| w / total)
    }
}

impl<X: ?Sized> Base<X, Arm> for Exp3 {
    fn propose(&mut self, _x: &X, rng: &mut dyn Rng) -> Result<Proposal<Arm>, BaseError> {
        let total = self.total();
        let arm = sample_index(&self.weights, total, rng)
            .ok_or_else(|| BaseError::Failed(String::from("all weights of exp3 are zero")))?;
        Ok(Proposal::with_memo(Arm::from(arm), Memo::one(self.weights[arm] / total)))
    }

    fn learn(&mut self, _x: &X, made: &Proposal<Arm>, feedback: Feedback) -> Result<(), BaseError> {
        let feedback = feedback.check(self.state.clock.range)?;
        let arm = check_arm(made.decision, self.weights.len())?;
        let estimate = feedback.estimate();
        if estimate > 0.0 {
            let probability = check_probability(&made.memo)?;
            // L_a += s c/q_a; IX: s c/(q_a + eta/2)
            let bias = if self.params.ix { 0.5 * self.rate } else { 0.0 };
            let loss = &mut self.state.losses[arm];
            *loss = (*loss + estimate / (probability + bias)).min(LARGEST);
            self.weights[arm] = (-self.rate * (*loss - self.state.shift)).exp();
            if self.total() < 1e-100 {
                self.rebase();
            }
        }
        self.step();
        Ok(())
    }

    /// Only a rate that changes from round to round needs to know of rounds that were not seen.
    fn pass(&mut self, _x: &X) -> Result<(), BaseError> {
        if self.is_anytime() {
            self.step();
        }
        Ok(())
    }

    fn likelihood(&self, _x: &X, decision: &Arm) -> Option<(f64, Memo)> {
        let q = self.weights.get(decision.index())? / self.total();
        Some((q, Memo::one(q)))
    }

    /// Restarts, or re-tunes the rate and keeps the estimates: with a rate that only falls this is sound too, and did
    /// better where ranges grow often (docs/stability.md#rates-that-follow-the-range).
    fn abilities(&self) -> Abilities {
        Abilities { heeds_passes: self.is_anytime(), learns_from_others: false }
    }

    fn obey(&mut self, order: Order) -> Result<(), BaseError> {
        if self.state.clock.obey(order, self.params.range_change)? {
            self.state.losses.fill(0.0);
            self.state.shift = 0.0;
        }
        self.tune();
        Ok(())
    }

    fn save(&self) -> Vec<u8> {
        seal(NAME, &self.params, &self.state)
    }

    fn load(&mut self, state: &[u8]) -> Result<(), BaseError> {
        let state: State = reopen(NAME, &self.params, state)?;
        state.clock.valid()?;
        check_numbers("estimated losses", &state.losses, self.weights.len())?;
        if !(state.shift >= 0.0 && state.losses.iter().all(|l| *l >= state.shift && *l <= LARGEST)) {
            return Err(SnapshotError::state("estimated losses below their shift").into());
        }
        self.state = state;
        self.tune();
        Ok(())
    }
}

/// The probability that a proposal's memo carries, in (0, 1].
pub(crate) fn check_probability(memo: &Memo) -> Result<f64, BaseError> {
    match memo.get(0) {
        // A little above 1 by rounding is 1.
        Some(q) if q > 0.0 && q <= 1.0 + 1e-9 => Ok(q),
        Some(q) => Err(BaseError::Proposal(format!("its memo has the probability {q}"))),
        None => Err(BaseError::Proposal(String::from("its memo has no probability"))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand::SeedableRng;
    use rand_pcg::Pcg64Dxsm;

    fn base(params: Exp3Params, actions: usize, horizon: u64) -> Exp3 {
        params.build(&Setup::arms(actions, Some(horizon))).unwrap()
    }

    #[test]
    fn weights_equal_a_direct_computation() {
        let mut base = base(Exp3Params::default(), 3, 1000);
        let mut rng = Pcg64Dxsm::seed_from_u64(1);
        let mut losses = [0.0; 3];
        for round in 0..1000 {
            let made = base.propose(&(), &mut rng).unwrap();
            let loss = if made.decision == Arm(2) { 0.1 } else { f64::from(round % 2) };
            losses[made.decision.index()] += loss / made.memo.get(0).unwrap();
            base.learn(&(), &made, Feedback::plain(loss)).unwrap();
            // q ~ exp(-eta (L - min L)), computed from nothing else
            let eta = (2.0 * 3f64.ln() / (3.0 * 1000.0)).sqrt();
            let low = losses.iter().copied().fold(f64::INFINITY, f64::min);
            let direct: Vec<f64> = losses.iter().map(|l| (-eta * (l - low)).exp()).collect();
            let total: f64 = direct.iter().sum();
            for (q, d) in base.distribution().zip(&direct) {
                assert!((q - d / total).abs() <= 1e-12, "round {round}: {q} and {}", d / total);
            }
        }
    }

    #[test]
    fn the_estimate_is_unbiased_seen_or_not() {
        // Mean of s c/q_a over 200,000 draws at p = 1 and p = 1/8, against the true losses. Four standard errors per
        // arm: false alarms below 2 * 3 * 6.4e-5 = 4e-4.
        let truth = [0.9, 0.3, 0.6];
        for p in [1.0, 0.125] {
            let mut base = base(Exp3Params::default(), 3, 1_000_000);
            Base::<(), Arm>::obey(&mut base, Order::Widen { range: 8.0, remaining: Some(1_000_000) })
                .unwrap();
            let skew = Proposal::with_memo(Arm(0), Memo::one(1.0 / 3.0));
            base.learn(&(), &skew, Feedback::new(1.0, 8.0)).unwrap();
            let mut rng = Pcg64Dxsm::seed_from_u64(7);
            let (mut sum, mut square) = ([0.0; 3], [0.0; 3]);
            let draws = 200_000;
            for _ in 0..draws {
                let made = base.propose(&(), &mut rng).unwrap();
                let (arm, seen) = (made.decision.index(), corral_core::uniform(&mut rng) < p);
                let feedback = if seen { Feedback::new(truth[arm], 1.0 / p) } else { Feedback::unseen() };
                let mut copy = base.clone();
                copy.learn(&(), &made, feedback).unwrap();
                let e = copy.state.losses[arm] - base.state.losses[arm];
                sum[arm] += e;
                square[arm] += e * e;
            }
            for arm in 0..3 {
                let mean = sum[arm] / draws as f64;
                let se = ((square[arm] / draws as f64 - mean * mean) / draws as f64).sqrt();
                assert!((mean - truth[arm]).abs() <= 4.0 * se, "p {p} arm {arm}: {mean} +- {se}");
            }
        }
    }

    #[test]
    fn weights_survive_when_they_all_become_small() {
        let mut base = base(Exp3Params { rate: Setting::Given(100.0), ..Exp3Params::default() }, 2, 1000);
        for round in 0..100 {
            let made = Proposal::with_memo(Arm(round % 2), Memo::one(0.5));
            base.learn(&(), &made, Feedback::plain(1.0)).unwrap();
            let q: Vec<f64> = base.distribution().collect();
            assert!((q.iter().sum::<f64>() - 1.0).abs() < 1e-12 && q.iter().all(|q| *q >= 0.0), "{q:?}");
        }
        assert!((base.distribution().next().unwrap() - 0.5).abs() < 1e-12);
    }

    #[test]
    fn a_forged_memo_is_refused() {
        let mut base = base(Exp3Params::default(), 2, 10);
        for memo in [Memo::empty(), Memo::one(0.0), Memo::one(f64::NAN), Memo::one(2.0)] {
            let made = Proposal::with_memo(Arm(0), memo);
            assert!(matches!(base.learn(&(), &made, Feedback::plain(1.0)), Err(BaseError::Proposal(_))));
        }
    }
}
