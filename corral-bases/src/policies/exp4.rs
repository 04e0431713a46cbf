//! EXP4 over finitely many policies.
//!
//! Auer, Cesa-Bianchi, Freund, Schapire 2002. Regret at most sqrt(2 K T ln N) for any sequence of contexts and losses.
//! Weakly stable with alpha = 1/2 (the paper's lemma on EXP4, appendix D.1): E[(c')^2] <= rho, so eta / sqrt(rho) is
//! the whole change.
//!
//! A round is two passes over the N policies and one `exp`: a loss multiplies the weights of the policies that agreed
//! with the decision by one common factor, and no other weight changes. The sums L are kept beside the weights, and
//! all weights are computed afresh from them before they could become too small to tell apart.

use super::prelude::*;
use std::ops::Range;

base! {
    /// Exponential weights over policies, on importance-weighted losses.
    "exp4": pub type Exp4 = PolicyBase<Exp4Params>;
    bound |self, setup| {
        // sqrt(2 K T ln N) over the policies that it enumerates
        let policies = self.policies.class(setup).ok()?.enumerate().ok()?;
        let ln_size = (policies.len().max(2) as f64).ln();
        Some(RegretBound::new((2.0 * setup.actions() as f64 * ln_size).sqrt(), 0.5))
    };
    needs |self, setup| self.policies.needs(setup);
    params policies {
        /// Learning rate at range 1, divided by sqrt(range); auto: sqrt(2 ln N/(K T)), with T doubling where it
        /// is not known.
        rate: Setting = Setting::Auto, Bounds::POSITIVE;
    } with restarts
}

/// What [`Exp4`] has learned.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Exp4State {
    /// L, the sum of the estimated losses of each policy.
    losses: Vec<f64>,
    /// exp(-eta (L - shift)), by common factors.
    weights: Vec<f64>,
    /// The minimum of L when the weights were last computed from it.
    shift: f64,
    /// How far the logarithm of the largest weight can have fallen since.
    depth: f64,
    /// The rate is for 2^doublings rounds, where the horizon is not known.
    doublings: u32,
}

/// The policies of [`Exp4`], and what they play.
#[derive(Debug, Clone)]
pub struct Exp4Work {
    policies: Vec<Arc<Policy>>,
    /// Whether `actions` has a row of N for every cell; else it has the row of `seen`.
    tabulated: bool,
    actions: Vec<u16>,
    seen: Option<Context>,
    rate: f64,
    /// The weight of each action at the context at hand.
    sums: Vec<f64>,
}

/// Actions that are tabulated at most, as policies times cells.
const TABULATED: usize = 1 << 26;

/// Estimates add up to here and no further: beyond it a policy has no weight anyway.
const LARGEST: f64 = 1e300;

/// The weights are computed afresh when the largest could have fallen by exp(-this).
const DEEPEST: f64 = 200.0;

impl Exp4State {
    /// Computes all weights from L.
    fn refresh(&mut self, rate: f64) {
        self.shift = least(&self.losses);
        self.depth = 0.0;
        for (w, l) in self.weights.iter_mut().zip(&self.losses) {
            *w = (-rate * (*l - self.shift)).exp();
        }
    }
}

impl Exp4Work {
    /// The actions of all policies at `x`, appended; whether or not they are offered.
    fn act_all(&mut self, x: &Context) -> Result {
        for policy in &self.policies {
            let action =
                policy.act(x).filter(|a| *a < self.sums.len()).ok_or_else(undefined::<Exp4Params>)?;
            self.actions.push(action as u16);
        }
        Ok(())
    }

    /// Where the actions of all policies are.
    fn actions_at(&mut self, class: &PolicyClass, x: &Context) -> Result<Range<usize>> {
        let n = self.policies.len();
        if self.tabulated {
            let cell = if class.reads().cells.is_some() { x.cell().unwrap_or(0) } else { 0 };
            return Ok(cell * n..(cell + 1) * n);
        }
        let same = |seen: &Context| seen.features() == x.features() && seen.cell() == x.cell();
        if !self.seen.as_ref().is_some_and(same) {
            self.seen = None;
            self.actions.clear();
            self.act_all(x)?;
            self.seen.insert(Context::default()).copy_from(x);
        }
        Ok(0..n)
    }
}

/// sums[a] = sum of the weights whose action is a. Four partial sums per action, so that one addition need not wait
/// for the one before.
fn sum_by_action(weights: &[f64], actions: &[u16], sums: &mut [f64]) {
    /// Actions for which the partial sums stay on the stack.
    const FEW: usize = 16;
    sums.fill(0.0);
    if sums.len() > FEW {
        weights.iter().zip(actions).for_each(|(w, a)| sums[usize::from(*a)] += w);
        return;
    }
    let mut banks = [[0.0; FEW]; 4];
    let (w4, a4) = (weights.chunks_exact(4), actions.chunks_exact(4));
    for (w, a) in w4.remainder().iter().zip(a4.remainder()) {
        banks[0][usize::from(*a) % FEW] += w;
    }
    for (w, a) in w4.zip(a4) {
        for (bank, (w, a)) in banks.iter_mut().zip(w.iter().zip(a)) {
            bank[usize::from(*a) % FEW] += w;
        }
    }
    for (a, sum) in sums.iter_mut().enumerate() {
        *sum = banks.iter().map(|b| b[a]).sum();
    }
}

impl PolicyRule for Exp4Params {
    type State = Exp4State;
    type Work = Exp4Work;

    fn work(&self, class: &PolicyClass, _: &Setup) -> Result<Exp4Work> {
        let (reads, policies) = (class.reads(), class.enumerate()?);
        let cells = reads.cells.unwrap_or(1);
        let tabulated = reads.is_tabular() && cells.saturating_mul(policies.len()) <= TABULATED;
        let sums = vec![0.0; reads.actions];
        let mut work = Exp4Work { policies, tabulated, actions: Vec::new(), seen: None, rate: 0.0, sums };
        if tabulated {
            let mut x = Context::plain(reads.actions);
            for cell in 0..cells {
                x.set_cell(reads.cells.map(|_| cell));
                work.act_all(&x)?;
            }
        }
        Ok(work)
    }

    fn fresh(&self, _: &PolicyClass, work: &Exp4Work) -> Result<Exp4State> {
        let n = work.policies.len();
        Ok(Exp4State { losses: vec![0.0; n], weights: vec![1.0; n], shift: 0.0, depth: 0.0, doublings: 1 })
    }

    fn tune(base: &mut Exp4) -> Result {
        let k = base.actions() as f64;
        let horizon = base.clock.tuned().unwrap_or_else(|| 2f64.powi(base.state.doublings as i32));
        let ln_size = (base.work.policies.len().max(2) as f64).ln();
        // eta = sqrt(2 ln N/(rho K T))   docs/bases.md#exp4
        let rate = base.rule.rate.or(|| (2.0 * ln_size / (k * horizon)).sqrt());
        base.work.rate = rate / base.clock.range.sqrt();
        Ok(())
    }

    /// Keeps the estimates (docs/stability.md#rates-that-follow-the-range).
    fn retune(base: &mut Exp4) -> Result {
        Self::tune(base)?;
        base.state.refresh(base.work.rate);
        Ok(())
    }

    fn propose(base: &mut Exp4, round: Offer<'_>, rng: &mut dyn Rng) -> Result<Proposal<Arm>> {
        let row = base.work.actions_at(&base.class, round.x)?;
        sum_by_action(&base.state.weights, &base.work.actions[row], &mut base.work.sums);
        let (sums, missing) = base.work.sums.split_at_mut(round.offered);
        sums[round.offered - 1] += missing.iter().sum::<f64>();
        let total: f64 = sums.iter().sum();
        let arm = sample_index(sums, total, rng)
            .ok_or_else(|| BaseError::Failed(String::from("all weights of exp4 are zero")))?;
        Ok(Proposal::with_memo(Arm::at(arm), Memo::one(sums[arm] / total)))
    }

    fn likelihood(base: &Exp4, round: Offer<'_>, arm: usize) -> Option<(f64, Memo)> {
        let (mut agreed, mut total) = (0.0, 0.0);
        for (policy, w) in base.work.policies.iter().zip(&base.state.weights) {
            total += w;
            if round.action(policy)? == arm {
                agreed += w;
            }
        }
        let q = agreed / total;
        Some((q, Memo::one(q)))
    }

    fn learn(base: &mut Exp4, round: Offer<'_>, played: Played<'_>) -> Result {
        let estimate = played.feedback.estimate();
        if estimate > 0.0 {
            // e = s c/q_a; L_theta += e for every theta with theta(x) = a
            let (loss, last) = (estimate / played.probability()?, round.offered - 1);
            let row = base.work.actions_at(&base.class, round.x)?;
            let factor = (-base.work.rate * loss).exp();
            let Exp4State { losses, weights, depth, .. } = &mut base.state;
            for ((l, w), a) in losses.iter_mut().zip(weights).zip(&base.work.actions[row]) {
                let agreed = usize::from(*a).min(last) == played.arm;
                *l = (*l + if agreed { loss } else { 0.0 }).min(LARGEST);
                *w *= if agreed { factor } else { 1.0 };
            }
            *depth += base.work.rate * loss;
            if base.state.depth > DEEPEST {
                base.state.refresh(base.work.rate);
            }
        }
        Ok(())
    }

    fn ticked(base: &mut Exp4) -> Result {
        let ends = 1u64.checked_shl(base.state.doublings).unwrap_or(u64::MAX);
        if base.clock.horizon.is_none() && base.clock.rounds >= ends {
            base.state.doublings += 1;
            Self::retune(base)?;
        }
        Ok(())
    }

    fn restore(base: &Exp4, state: &mut Exp4State, _: &Clock) -> Result<(), SnapshotError> {
        check_numbers("estimated losses", &state.losses, base.work.policies.len())?;
        check_numbers("weights", &state.weights, base.work.policies.len())?;
        let losses = state.losses.iter().all(|l| *l >= state.shift && *l <= LARGEST) && state.shift >= 0.0;
        let weights = state.weights.iter().all(|w| (0.0..=1.0).contains(w));
        ensure(
            losses && weights && state.weights.iter().any(|w| *w > 0.0),
            "its weights are not weights of its estimated losses",
        )?;
        ensure(
            (0.0..=DEEPEST).contains(&state.depth) && (1..=64).contains(&state.doublings),
            "its weights were never computed like that",
        )
    }
}

#[cfg(test)]
mod tests {
    use rand::SeedableRng;
    use rand_pcg::Pcg64Dxsm;

    use super::super::oracle_tests::world;
    use super::super::{TreeParams, TreeSearch};
    use super::*;

    fn tables(n: usize) -> Setup {
        let mut setup = world(3, 0, Some(4));
        let mut rng = Pcg64Dxsm::seed_from_u64(5);
        let mut table = || Policy::Table((0..4).map(|_| (rng.next_u64() % 3) as u16).collect());
        setup.policies = Some((0..n).map(|_| table()).collect());
        setup
    }

    /// Plays `rounds` rounds and returns L as computed from the memos alone.
    fn play(base: &mut Exp4, contexts: &[Context], rounds: usize) -> Vec<f64> {
        let mut rng = Pcg64Dxsm::seed_from_u64(1);
        let mut losses = vec![0.0; base.work.policies.len()];
        for round in 0..rounds {
            let x = &contexts[round % contexts.len()];
            let made = base.propose(x, &mut rng).unwrap();
            let loss = if made.decision == Arm(1) { 0.2 } else { f64::from(round as u32 % 2) };
            for (l, p) in losses.iter_mut().zip(&base.work.policies) {
                if p.act(x) == Some(made.decision.index()) {
                    *l += loss / made.memo.get(0).unwrap();
                }
            }
            let (q, memo) = base.likelihood(x, &made.decision).unwrap();
            assert!((q - made.memo.get(0).unwrap()).abs() < 1e-12 && memo == Memo::one(q));
            base.learn(x, &made, Feedback::plain(loss)).unwrap();
        }
        losses
    }

    fn assert_weights(base: &Exp4, losses: &[f64], eta: f64) {
        let low = losses.iter().copied().fold(f64::INFINITY, f64::min);
        let direct: Vec<f64> = losses.iter().map(|l| (-eta * (l - low)).exp()).collect();
        let (a, b): (f64, f64) = (base.state.weights.iter().sum(), direct.iter().sum());
        for (w, d) in base.state.weights.iter().zip(&direct) {
            assert!((w / a - d / b).abs() <= 1e-12, "{} and {}", w / a, d / b);
        }
    }

    #[test]
    fn weights_equal_a_direct_computation() {
        let mut base = Exp4Params::default().build(&tables(70)).unwrap();
        let contexts: Vec<Context> = (0..4).map(|c| Context::tabular(c, 3)).collect();
        let losses = play(&mut base, &contexts, 1000);
        // eta = sqrt(2 ln N/(K T)), T = 1000
        assert_weights(&base, &losses, (2.0 * 70f64.ln() / 3000.0).sqrt());
    }

    #[test]
    fn weights_over_features_equal_a_direct_computation() {
        let trees = TreeParams { depth: 2, sample: 200, search: TreeSearch::Greedy, ..TreeParams::default() };
        let params = Exp4Params { policies: Policies::Trees(trees), ..Exp4Params::default() };
        let mut base = params.build(&world(3, 2, None)).unwrap();
        let at =
            |i: i32| Context::shared(vec![f64::from(i % 7) / 4.0 - 0.8, f64::from(i % 5) / 3.0 - 0.7], 3);
        let contexts: Vec<Context> = (0..35).map(at).collect();
        let losses = play(&mut base, &contexts, 1000);
        assert_weights(&base, &losses, (2.0 * 200f64.ln() / 3000.0).sqrt());
    }

    #[test]
    fn weights_survive_any_fall() {
        // A rate so large that every loss drives weights to 0: they are computed afresh from L.
        let params = Exp4Params { rate: Setting::Given(1000.0), ..Exp4Params::default() };
        let mut base = params.build(&Setup::arms(2, Some(100))).unwrap();
        let x = Context::plain(2);
        for round in 0..100 {
            let made = Proposal::with_memo(Arm(round % 2), Memo::one(0.5));
            base.learn(&x, &made, Feedback::plain(1.0)).unwrap();
        }
        assert_eq!(base.likelihood(&x, &Arm(0)).unwrap().0, 0.5);
    }

    #[test]
    fn an_unknown_horizon_doubles() {
        let mut setup = tables(8);
        setup.horizon = None;
        let mut base = Exp4Params::default().build(&setup).unwrap();
        let x = Context::tabular(0, 3);
        for _ in 0..8 {
            base.pass(&x).unwrap();
        }
        // 8 rounds are over: the rate is for 16.
        assert!((base.work.rate - (2.0 * 8f64.ln() / 48.0).sqrt()).abs() < 1e-15);
        assert!(base.propose(&x, &mut Pcg64Dxsm::seed_from_u64(0)).is_ok());
    }

    #[test]
    fn a_range_divides_the_rate_and_restarts_or_keeps() {
        for (range_change, kept) in [(RangeChange::Restart, false), (RangeChange::Retune, true)] {
            let mut base = Exp4Params { range_change, ..Exp4Params::default() }.build(&tables(8)).unwrap();
            let made = Proposal::with_memo(Arm(0), Memo::one(0.5));
            base.learn(&Context::tabular(0, 3), &made, Feedback::plain(1.0)).unwrap();
            base.apply_order(Order::Widen { range: 4.0, remaining: Some(if kept { 999 } else { 1000 }) })
                .unwrap();
            assert!((base.work.rate - (2.0 * 8f64.ln() / 3000.0).sqrt() / 2.0).abs() < 1e-15);
            assert_eq!(base.state.losses.iter().any(|l| *l > 0.0), kept);
        }
        assert!(
            Exp4Params { range_change: RangeChange::Keep, ..Default::default() }.build(&tables(8)).is_err()
        );
    }

    #[test]
    fn a_snapshot_that_cannot_be_is_refused() {
        let setup = tables(8);
        let base = Exp4Params::default().build(&setup).unwrap();
        let mut other = base.clone();
        for break_it in [
            (|s: &mut Exp4| s.state.weights[0] = f64::NAN) as fn(&mut Exp4),
            |s| s.state.weights[0] = -1.0,
            |s| s.state.weights.fill(0.0),
            |s| s.state.losses[1] = -1.0,
            |s| s.state.losses.truncate(3),
            |s| s.state.depth = 1e9,
            |s| s.state.doublings = 0,
            |s| s.clock.range = 0.5,
        ] {
            let mut broken = base.clone();
            break_it(&mut broken);
            assert!(matches!(other.load(&broken.save()), Err(BaseError::Snapshot(_))));
        }
        assert!(other.load(&Exp4Params::default().build(&tables(9)).unwrap().save()).is_err());
        assert!(other.load(&base.save()).is_ok());
    }
}
