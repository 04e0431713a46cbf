//! Tsallis-INF: follow the regularised leader with power 1/2.
//!
//! Zimmert, Seldin 2019. Best of both worlds: 4 sqrt(K T) against any sequence, O(sum log T/gap) with stochastic
//! losses, without knowing which. Weakly stable with alpha = 1/2: eta / sqrt(range)
//! (docs/stability.md#second-moment-bases).

use super::prelude::*;

base! {
    /// Follow the leader regularised by the Tsallis entropy of power 1/2, for stochastic and adversarial losses
    /// alike.
    "tsallis-inf": pub type Tsallis = ArmBase<TsallisParams>;
    sqrt_bound |world| 4.0 * world.k.sqrt();
    params {
        /// Estimates relative to a loss of 1/2 for likely arms, with twice the rate.
        reduced_variance: bool = false;
    } with restarts
}

/// What [`Tsallis`] has learned.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct TsallisState {
    /// L, the estimated cumulative losses.
    losses: Vec<f64>,
    /// min L - z of the last round, where the next search starts.
    gap: f64,
    #[serde(skip)]
    weights: Vec<f64>,
}

const LARGEST: f64 = 1e300;

/// What a solution of the normalisation is.
#[derive(Debug, Clone, Copy)]
struct Root {
    /// eta_t.
    rate: f64,
    /// min L.
    low: f64,
    /// min L - z.
    gap: f64,
    /// sum_i q_i, 1 up to rounding.
    sum: f64,
}

impl Root {
    /// Finds the gap g = min L - z with sum_i 4/(eta (L_i - min L + g))^2 = 1, by Newton inside a bracket from `start`.
    fn find(losses: &[f64], rate: f64, start: f64) -> Self {
        let low = least(losses);
        // min L - 2 sqrt(K)/eta <= z <= min L - 2/eta
        let (mut near, mut far) = (2.0 / rate, 2.0 * (losses.len() as f64).sqrt() / rate);
        let mut gap = start.clamp(near, far);
        let mut sum = 0.0;
        for _ in 0..100 {
            let mut cubes = 0.0;
            sum = 0.0;
            for loss in losses {
                let root = 2.0 / (rate * (loss - low + gap));
                sum += root * root;
                cubes += root * root * root;
            }
            let off = sum - 1.0;
            if off.abs() < 1e-12 {
                break;
            }
            if off > 0.0 {
                near = gap;
            } else {
                far = gap;
            }
            // z <- z - (sum q - 1)/(eta sum q^{3/2})
            let newton = gap + off / (rate * cubes);
            let next = if newton > near && newton < far { newton } else { 0.5 * (near + far) };
            if next == gap {
                break;
            }
            gap = next;
        }
        Self { rate, low, gap, sum }
    }

    fn weight(&self, loss: f64) -> f64 {
        let half = 2.0 / (self.rate * (loss - self.low + self.gap));
        half * half
    }
}

impl TsallisParams {
    /// eta_t = 2/sqrt(rho t); 4/sqrt(rho t) with the reduced-variance estimates.   docs/bases.md#tsallis-inf
    fn solve(&self, state: &TsallisState, now: &Now) -> Root {
        let numerator = if self.reduced_variance { 4.0 } else { 2.0 };
        let rate = numerator / (now.clock.range * (now.clock.rounds as f64 + 1.0)).sqrt();
        Root::find(&state.losses[..now.offered], rate, state.gap)
    }

    /// The memo of `arm`: its probability, and which arms are likely enough for the baseline, 32 arms to a number.
    fn memo(&self, state: &TsallisState, now: &Now, root: &Root, arm: usize) -> Memo {
        let probability = |arm: usize| root.weight(state.losses[arm]) / root.sum;
        let mut memo = Memo::one(probability(arm));
        if self.reduced_variance {
            for first in (0..now.actions).step_by(32) {
                let last = (first + 32).min(now.offered);
                let likely = |i: &usize| probability(*i) >= root.rate * root.rate;
                memo.push((first..last).filter(likely).map(|i| f64::from(1u32 << (i - first))).sum());
            }
        }
        memo
    }
}

impl ArmRule for TsallisParams {
    type State = TsallisState;
    /// The rate is that of the round.
    const HORIZON: bool = false;

    fn fresh(&self, now: &Now) -> Result<TsallisState> {
        Ok(TsallisState { losses: vec![0.0; now.actions], gap: 0.0, weights: Vec::new() })
    }

    fn tune(&self, state: &mut TsallisState, now: &Now) {
        state.weights.resize(now.actions, 0.0);
    }

    /// With the reduced variance the memo says of all arms how likely they are.
    fn takes_offers(&self) -> bool {
        !self.reduced_variance
    }

    fn part(&self, state: &TsallisState, _: &Now, numbers: &[u32]) -> Option<TsallisState> {
        let (losses, weights) = (select(&state.losses, numbers), vec![0.0; numbers.len()]);
        self.takes_offers().then_some(TsallisState { losses, gap: state.gap, weights })
    }

    fn propose(&self, state: &mut TsallisState, now: &Now, rng: &mut dyn Rng) -> Result<Proposal<Arm>> {
        let root = self.solve(state, now);
        let weights = &mut state.weights[..now.offered];
        for (weight, loss) in weights.iter_mut().zip(&state.losses) {
            *weight = root.weight(*loss);
        }
        state.gap = root.gap;
        let arm = sample_index(weights, root.sum, rng)
            .ok_or_else(|| BaseError::Failed(String::from("all weights of tsallis-inf are zero")))?;
        Ok(Proposal::with_memo(Arm::at(arm), self.memo(state, now, &root, arm)))
    }

    fn likelihood(&self, state: &TsallisState, now: &Now, arm: usize) -> Option<(f64, Memo)> {
        let memo = self.memo(state, now, &self.solve(state, now), arm);
        Some((memo.get(0)?, memo))
    }

    fn learn(&self, state: &mut TsallisState, now: &Now, round: Round<'_>) -> Result {
        let Round { played: Played { arm, feedback, .. }, .. } = round;
        if feedback.observed().is_none() {
            return Ok(());
        }
        let q = round.played.probability()?;
        let mut add = |arm: usize, estimate: f64| {
            let loss = &mut state.losses[arm];
            *loss = (*loss + estimate).clamp(-LARGEST, LARGEST);
        };
        if !self.reduced_variance {
            // L_a += s c/q_a
            add(arm, feedback.estimate() / q);
            // What was not offered: sum_b q_b times the estimate of b   docs/bases.md#actions-that-are-not-offered
            round.absent(now).for_each(|arm| add(arm, feedback.estimate()));
            return Ok(());
        }
        // 1{a = i}(s c - s B_i)/q_i + s B_i, B_i = 1/2 where q_i >= eta_t^2
        let half = 0.5 * feedback.weight();
        let words = round.played.memo.numbers().get(1..).unwrap_or_default();
        if words.len() != now.actions.div_ceil(32) {
            return Err(BaseError::Proposal(String::from("its memo has no baseline")));
        }
        for i in 0..now.actions {
            let likely = (words[i / 32] as u32) >> (i % 32) & 1 == 1;
            let baseline = if likely { half } else { 0.0 };
            let own = if i == arm { (feedback.estimate() - baseline) / q } else { 0.0 };
            add(i, own + baseline);
        }
        // In expectation what it is above.
        round.absent(now).for_each(|arm| add(arm, feedback.estimate()));
        Ok(())
    }

    fn abilities(&self, _: &Clock) -> Abilities {
        Abilities { wants_passes: true, ..Abilities::OWN }
    }

    fn restore(&self, state: &mut TsallisState, now: &Now) -> Result<(), SnapshotError> {
        check_numbers("estimated losses", &state.losses, now.actions)?;
        ensure(state.gap >= 0.0 && state.gap.is_finite(), format_args!("a gap of {}", state.gap))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use rand::SeedableRng;
    use rand_pcg::Pcg64Dxsm;

    proptest! {
        #[test]
        fn the_distribution_sums_to_one(
            losses in prop::collection::vec(-50.0..1e6f64, 1..40),
            rounds in 0u64..100_000,
            range in 1.0..1000.0f64,
            gap in 0.0..1e5f64,
        ) {
            let mut base = TsallisParams::default().build(&Setup::arms(losses.len(), None)).unwrap();
            base.clock = Clock { rounds, horizon: None, range };
            (base.state.losses, base.state.gap) = (losses, gap);
            let root = base.rule.solve(&base.state, &base.now());
            prop_assert!((root.sum - 1.0).abs() < 1e-11, "{root:?}");
            let total: f64 = base.state.losses.iter().map(|l| root.weight(*l) / root.sum).sum();
            prop_assert!((total - 1.0).abs() < 1e-12);
        }
    }

    #[test]
    fn two_arms_agree_with_the_closed_form() {
        // K = 2, L = (0, d), eta = 2: 1/g^2 + 1/(d + g)^2 = 1. At d = 1: g = 1.10455... solves g^4 + 2g^3 - g^2 - 2g - 1 = 0.
        let mut base = TsallisParams::default().build(&Setup::arms(2, None)).unwrap();
        base.state.losses = vec![0.0, 1.0];
        let g = base.rule.solve(&base.state, &base.now()).gap;
        assert!((g.powi(4) + 2.0 * g.powi(3) - g * g - 2.0 * g - 1.0).abs() < 1e-9, "{g}");
        assert!(g > 1.0 && g < 2f64.sqrt());
    }

    #[test]
    fn both_estimates_are_unbiased() {
        // Four standard errors for 2 * 2 * 3 means: false alarms below 8e-4.
        let truth = [0.9, 0.3, 0.6];
        for (reduced_variance, p) in [(false, 1.0), (false, 0.125), (true, 1.0), (true, 0.125)] {
            let params = TsallisParams { reduced_variance, ..TsallisParams::default() };
            let mut base = params.build(&Setup::arms(3, None)).unwrap();
            Base::<(), Arm>::apply_order(&mut base, Order::Widen { range: 8.0, remaining: None }).unwrap();
            (base.state.losses, base.clock.rounds) = (vec![0.0, 10.0, 40.0], 400);
            let mut rng = Pcg64Dxsm::seed_from_u64(11);
            let (mut sum, mut square) = ([0.0; 3], [0.0; 3]);
            let draws = 100_000;
            for _ in 0..draws {
                let made = base.propose(&(), &mut rng).unwrap();
                let seen = corral_core::uniform(&mut rng) < p;
                let loss = truth[made.decision.index()];
                let feedback = if seen { Feedback::new(loss, 1.0 / p) } else { Feedback::unseen() };
                let mut copy = base.clone();
                copy.learn(&(), &made, feedback).unwrap();
                for i in 0..3 {
                    let e = copy.state.losses[i] - base.state.losses[i];
                    sum[i] += e;
                    square[i] += e * e;
                }
            }
            for i in 0..3 {
                let mean = sum[i] / f64::from(draws);
                let se = ((square[i] / f64::from(draws) - mean * mean) / f64::from(draws)).sqrt();
                assert!((mean - truth[i]).abs() <= 4.0 * se + 1e-12, "p {p} arm {i}: {mean} +- {se}");
            }
        }
    }
}
