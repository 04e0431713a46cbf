//! EXP3, and its implicit-exploration form EXP3-IX.
//!
//! Auer, Cesa-Bianchi, Freund, Schapire 2002; Neu 2015 for IX. Regret at most sqrt(2 K T ln K) against any sequence of
//! losses, also adaptive ones; 2 sqrt(K T ln K) where T is not known. Weakly stable with alpha = 1/2: the second moment of the estimates grows by the range,
//! so that eta / sqrt(range) is the whole change (docs/stability.md#second-moment-bases).

use super::prelude::*;
use std::borrow::Cow;

base! {
    /// Exponential weights on importance-weighted losses.
    "exp3": pub type Exp3 = ArmBase<Exp3Params>;
    bound |self, setup| {
        // With sqrt(ln K/(K t)), where T is not known: ln K/eta_T + (K/2) sum_t eta_t <= 2 sqrt(K T ln K).
        let (k, factor) = (setup.actions() as f64, if setup.horizon.is_some() { 2.0 } else { 4.0 });
        Some(RegretBound::new((factor * k * k.max(2.0).ln()).sqrt(), 0.5))
    };
    params {
        /// Learning rate at range 1, divided by sqrt(range); auto: sqrt(2 ln K/(K T)), or sqrt(ln K/(K t))
        /// where T is not known.
        rate: Setting = Setting::Auto, Bounds::POSITIVE;
        /// Implicit exploration: half the rate is added to the probability in the estimate.
        ix: bool = false;
    } with restarts
}

/// What [`Exp3`] has learned.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Exp3State {
    /// L, the sum of the estimated losses of each arm.
    losses: Vec<f64>,
    /// What is subtracted from L before exp: a recent minimum of L.
    shift: f64,
    /// exp(-rate (losses - shift)), kept up to date: one loss changes one weight.
    #[serde(skip)]
    weights: Vec<f64>,
    #[serde(skip)]
    rate: f64,
}

/// Estimates add up to here and no further: beyond it an arm is never drawn again anyway.
const LARGEST: f64 = 1e300;
/// Weights that sum to less are computed again around a lower minimum.
const SMALLEST: f64 = 1e-100;

impl Exp3State {
    /// L_a += loss, and the weight that follows.
    fn add(&mut self, arm: usize, loss: f64) {
        let sum = &mut self.losses[arm];
        *sum = (*sum + loss).min(LARGEST);
        self.weights[arm] = (-self.rate * (*sum - self.shift)).exp();
    }

    /// The weights of the arms that are offered.
    fn offered(&self, offered: usize) -> Cow<'_, [f64]> {
        let kept = &self.weights[..offered];
        if offered == self.weights.len() || kept.iter().sum::<f64>() >= SMALLEST {
            return Cow::Borrowed(kept);
        }
        let low = least(&self.losses[..offered]);
        self.losses[..offered].iter().map(|l| (-self.rate * (l - low)).exp()).collect()
    }
}

impl Exp3Params {
    /// Whether the rate changes from round to round.
    fn is_anytime(&self, clock: &Clock) -> bool {
        self.rate == Setting::Auto && clock.horizon.is_none()
    }
}

impl ArmRule for Exp3Params {
    type State = Exp3State;

    fn fresh(&self, now: &Now) -> Result<Exp3State> {
        Ok(Exp3State { losses: vec![0.0; now.actions], shift: 0.0, weights: Vec::new(), rate: 0.0 })
    }

    /// Sets the rate for the clock, and computes all weights afresh.
    fn tune(&self, state: &mut Exp3State, now: &Now) {
        let (k, clock) = (now.met as f64, &now.clock);
        let base_rate = self.rate.or(|| match clock.tuned() {
            // eta = sqrt(2 ln K/(K T))   docs/bases.md#exp3
            Some(horizon) => (2.0 * k.ln() / (k * horizon)).sqrt(),
            // anytime: eta_t = sqrt(ln K/(K t))
            None => (k.ln() / (k * (clock.rounds as f64 + 1.0))).sqrt(),
        });
        // eta <- eta/sqrt(rho)   docs/stability.md#second-moment-bases
        state.rate = base_rate / clock.range.sqrt();
        state.weights.resize(now.actions, 0.0);
        for (w, l) in state.weights.iter_mut().zip(&state.losses) {
            *w = (-state.rate * (l - state.shift)).exp();
        }
    }

    fn takes_offers(&self) -> bool {
        true
    }

    fn part(&self, state: &Exp3State, _: &Now, numbers: &[u32]) -> Option<Exp3State> {
        let losses = select(&state.losses, numbers);
        let shift = least(&losses);
        let weights = losses.iter().map(|l| (-state.rate * (l - shift)).exp()).collect();
        Some(Exp3State { losses, shift, weights, rate: state.rate })
    }

    fn propose(&self, state: &mut Exp3State, now: &Now, rng: &mut dyn Rng) -> Result<Proposal<Arm>> {
        let weights = state.offered(now.offered);
        let total = weights.iter().sum();
        let arm = sample_index(&weights, total, rng)
            .ok_or_else(|| BaseError::Failed(String::from("all weights of exp3 are zero")))?;
        Ok(Proposal::with_memo(Arm::at(arm), Memo::one(weights[arm] / total)))
    }

    fn likelihood(&self, state: &Exp3State, now: &Now, arm: usize) -> Option<(f64, Memo)> {
        let weights = state.offered(now.offered);
        let q = weights[arm] / weights.iter().sum::<f64>();
        Some((q, Memo::one(q)))
    }

    fn learn(&self, state: &mut Exp3State, now: &Now, round: Round<'_>) -> Result {
        let played = round.played;
        let estimate = played.feedback.estimate();
        if estimate > 0.0 {
            let probability = played.probability()?;
            // L_a += s c/q_a; IX: s c/(q_a + eta/2)
            let bias = if self.ix { 0.5 * state.rate } else { 0.0 };
            let estimate = estimate / (probability + bias);
            state.add(played.arm, estimate);
            // What was not offered: sum_b q_b times the estimate of b   docs/bases.md#actions-that-are-not-offered
            round.absent(now).for_each(|arm| state.add(arm, probability * estimate));
            if state.weights.iter().sum::<f64>() < SMALLEST {
                state.shift = least(&state.losses);
                self.tune(state, now);
            }
        }
        Ok(())
    }

    fn ticked(&self, state: &mut Exp3State, now: &Now) -> Result {
        if self.is_anytime(&now.clock) {
            self.tune(state, now);
        }
        Ok(())
    }

    /// Only a rate that changes from round to round needs to know of rounds that were not seen.
    fn abilities(&self, clock: &Clock) -> Abilities {
        Abilities { wants_passes: self.is_anytime(clock), ..Abilities::OWN }
    }

    fn restore(&self, state: &mut Exp3State, now: &Now) -> Result<(), SnapshotError> {
        check_numbers("estimated losses", &state.losses, now.actions)?;
        ensure(
            state.shift >= 0.0 && state.losses.iter().all(|l| *l >= state.shift && *l <= LARGEST),
            "estimated losses below their shift",
        )
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

    fn distribution(base: &Exp3) -> impl Iterator<Item = f64> {
        (0..base.state.losses.len())
            .map(|arm| Base::<(), Arm>::likelihood(base, &(), &Arm::at(arm)).unwrap().0)
    }

    #[test]
    fn weights_equal_a_direct_computation() {
        let mut base = base(Exp3Params::default(), 3, 1000);
        let mut rng = Pcg64Dxsm::seed_from_u64(1);
        let mut losses = [0.0; 3];
        // After the last round the base takes the game to be longer.
        for round in 0..999 {
            let made = base.propose(&(), &mut rng).unwrap();
            let loss = if made.decision == Arm(2) { 0.1 } else { f64::from(round % 2) };
            losses[made.decision.index()] += loss / made.memo.get(0).unwrap();
            base.learn(&(), &made, Feedback::plain(loss)).unwrap();
            // q ~ exp(-eta (L - min L)), computed from nothing else
            let eta = (2.0 * 3f64.ln() / (3.0 * 1000.0)).sqrt();
            let low = losses.iter().copied().fold(f64::INFINITY, f64::min);
            let direct: Vec<f64> = losses.iter().map(|l| (-eta * (l - low)).exp()).collect();
            let total: f64 = direct.iter().sum();
            for (q, d) in distribution(&base).zip(&direct) {
                assert!((q - d / total).abs() <= 1e-12, "round {round}: {q} and {}", d / total);
            }
        }
    }

    #[test]
    fn beyond_its_horizon_the_rate_is_that_of_twice_as_long_a_game() {
        let mut base = base(Exp3Params::default(), 3, 10);
        let mut rng = Pcg64Dxsm::seed_from_u64(2);
        for played in 0..=100u64 {
            let told = match played {
                0..10 => 10.0,
                10..20 => 20.0,
                20..40 => 40.0,
                40..80 => 80.0,
                _ => 160.0,
            };
            assert_eq!(base.state.rate, (2.0 * 3f64.ln() / (3.0 * told)).sqrt(), "after {played} rounds");
            let mut other = base.clone();
            Base::<(), Arm>::load(&mut other, &Base::<(), Arm>::save(&base)).unwrap();
            assert_eq!(other.state.rate, base.state.rate);
            let made = base.propose(&(), &mut rng).unwrap();
            base.learn(&(), &made, Feedback::plain(0.5)).unwrap();
        }
    }

    #[test]
    fn the_estimate_is_unbiased_seen_or_not() {
        // Mean of s c/q_a over 200,000 draws at p = 1 and p = 1/8, against the true losses. Four standard errors per
        // arm: false alarms below 2 * 3 * 6.4e-5 = 4e-4.
        let truth = [0.9, 0.3, 0.6];
        for p in [1.0, 0.125] {
            let mut base = base(Exp3Params::default(), 3, 1_000_000);
            Base::<(), Arm>::apply_order(&mut base, Order::Widen { range: 8.0, remaining: Some(1_000_000) })
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
            let q: Vec<f64> = distribution(&base).collect();
            assert!((q.iter().sum::<f64>() - 1.0).abs() < 1e-12 && q.iter().all(|q| *q >= 0.0), "{q:?}");
        }
        assert!((distribution(&base).next().unwrap() - 0.5).abs() < 1e-12);
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
