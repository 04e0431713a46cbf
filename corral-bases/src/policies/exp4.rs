//! EXP4 over finitely many policies.
//!
//! Auer, Cesa-Bianchi, Freund, Schapire 2002. Regret at most sqrt(2 K T ln N) for any sequence of contexts and losses.
//! Weakly stable with alpha = 1/2 (the paper's lemma on EXP4, appendix D.1): E[(c')^2] <= rho, so eta / sqrt(rho) is
//! the whole change.
//!
//! A round is two passes over the N policies and one `exp`: a loss multiplies the weights of the policies that agreed
//! with the decision by one common factor, and no other weight changes. The sums L are kept beside the weights, and
//! all weights are computed afresh from them before they could become too small to tell apart.

use std::ops::Range;
use std::sync::Arc;

use corral_core::policy::Policy;

use super::class::{ErmOracle, Policies};
use super::data::Reads;
use super::go_on;
use crate::prelude::*;

const NAME: &str = "exp4";

corral_core::params! {
    /// Parameters of [`Exp4`].
    pub struct Exp4Params {
        /// Which policies: "environment" (its own class; auto takes it where there is one), { trees = { depth,
        /// bins, search, .. } } or { linear = { ridge, .. } }.
        policies: Policies = Policies::Auto;
        /// Learning rate at range 1, divided by sqrt(range); auto: sqrt(2 ln N/(K T)), with T doubling where it
        /// is not known.
        rate: Setting = Setting::Auto, Bounds::POSITIVE;
        /// What a larger range does: restart (the paper), or retune the rate and keep the estimates.
        range_change: RangeChange = RangeChange::Restart;
    }
}

/// Actions that are tabulated at most, as policies times cells.
const TABULATED: usize = 1 << 26;

impl BaseParams for Exp4Params {
    type Base = Exp4;

    const ENTRY: Entry = Entry {
        name: NAME,
        summary: "Exponential weights over policies, on importance-weighted losses.",
        source: "Auer, Cesa-Bianchi, Freund, Schapire 2002, The nonstochastic multiarmed bandit problem",
        regret: "sqrt(2 K T ln N)",
        alpha: Some(0.5),
        fits: "any contexts and losses, finitely many policies",
        cost: "O(N)",
        kind: Kind::Contextual,
        status: Status::Paper,
    };

    fn needs(&self, setup: &Setup) -> Option<&'static str> {
        self.policies.needs(setup)
    }

    fn build(self, setup: &Setup) -> Result<Exp4, BaseError> {
        self.check()?;
        self.range_change.check(RangeChange::TUNED)?;
        let class = self.policies.class(setup)?;
        let reads = class.reads();
        let policies = class.enumerate()?;
        let n = policies.len();
        let cells = reads.cells.unwrap_or(1);
        let tabulated = reads.is_tabular() && cells.saturating_mul(n) <= TABULATED;
        let mut actions = Vec::new();
        if tabulated {
            let mut x = Context::plain(reads.actions);
            for cell in 0..cells {
                x.set_cell(reads.cells.map(|_| cell));
                act_all(&policies, &reads, &x, &mut actions)?;
            }
        }
        let state = State {
            clock: Clock::new(setup),
            losses: vec![0.0; n],
            weights: vec![1.0; n],
            shift: 0.0,
            depth: 0.0,
            doublings: 1,
        };
        let sums = vec![0.0; reads.actions];
        let mut base =
            Exp4 { params: self, state, policies, reads, tabulated, actions, seen: None, rate: 0.0, sums };
        base.tune();
        Ok(base)
    }

    fn bound(&self, setup: &Setup) -> Option<RegretBound> {
        // sqrt(2 K T ln N) over the policies that it enumerates
        let policies = self.policies.class(setup).ok()?.enumerate().ok()?;
        let ln_size = (policies.len().max(2) as f64).ln();
        Some(RegretBound::new((2.0 * setup.actions() as f64 * ln_size).sqrt(), 0.5))
    }
}

/// EXP4: draws from q_a = sum of the weights of the policies that take a, weights ~ exp(-eta L).
#[derive(Debug, Clone)]
pub struct Exp4 {
    params: Exp4Params,
    state: State,
    policies: Vec<Arc<Policy>>,
    reads: Reads,
    /// Whether `actions` has a row of N for every cell; else it has the row of `seen`.
    tabulated: bool,
    actions: Vec<u16>,
    seen: Option<Context>,
    rate: f64,
    /// The weight of each action at the context at hand.
    sums: Vec<f64>,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
struct State {
    clock: Clock,
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

/// Estimates add up to here and no further: beyond it a policy has no weight anyway.
const LARGEST: f64 = 1e300;

/// The weights are computed afresh when the largest could have fallen by exp(-this).
const DEEPEST: f64 = 200.0;

impl Exp4 {
    /// Sets the rate for the clock.
    fn set_rate(&mut self) {
        let (k, clock) = (self.reads.actions as f64, &self.state.clock);
        let horizon = clock.tuned().unwrap_or_else(|| 2f64.powi(self.state.doublings as i32));
        let ln_size = (self.policies.len().max(2) as f64).ln();
        // eta = sqrt(2 ln N/(rho K T))   docs/bases.md#exp4
        let rate = self.params.rate.or(|| (2.0 * ln_size / (k * horizon)).sqrt());
        self.rate = rate / clock.range.sqrt();
    }

    /// Sets the rate, and computes all weights from L.
    fn tune(&mut self) {
        self.set_rate();
        self.refresh();
    }

    /// Computes all weights from L.
    fn refresh(&mut self) {
        let State { losses, weights, shift, depth, .. } = &mut self.state;
        *shift = losses.iter().copied().fold(f64::INFINITY, f64::min);
        *depth = 0.0;
        for (w, l) in weights.iter_mut().zip(losses) {
            *w = (-self.rate * (*l - *shift)).exp();
        }
    }

    /// Where the actions of all policies at `x` are.
    fn actions_at(&mut self, x: &Context) -> Result<Range<usize>, BaseError> {
        self.reads.check(x)?;
        let n = self.policies.len();
        if self.tabulated {
            let cell = if self.reads.cells.is_some() { x.cell().unwrap_or(0) } else { 0 };
            return Ok(cell * n..(cell + 1) * n);
        }
        let same = |seen: &Context| seen.features() == x.features() && seen.cell() == x.cell();
        if !self.seen.as_ref().is_some_and(same) {
            self.seen = None;
            self.actions.clear();
            act_all(&self.policies, &self.reads, x, &mut self.actions)?;
            self.seen.insert(Context::default()).copy_from(x);
        }
        Ok(0..n)
    }

    fn step(&mut self) {
        self.state.clock.tick();
        let clock = &self.state.clock;
        if clock.horizon.is_none()
            && clock.rounds >= 1u64.checked_shl(self.state.doublings).unwrap_or(u64::MAX)
        {
            self.state.doublings += 1;
            self.tune();
        }
    }

    /// The weights of all policies; their probabilities are proportional to these.
    pub fn weights(&self) -> &[f64] {
        &self.state.weights
    }

    /// The policies, in the order of their weights.
    pub fn policies(&self) -> &[Arc<Policy>] {
        &self.policies
    }
}

/// The actions of all policies at `x`, appended.
fn act_all(policies: &[Arc<Policy>], reads: &Reads, x: &Context, to: &mut Vec<u16>) -> Result<(), BaseError> {
    for policy in policies {
        match policy.act(x) {
            Some(a) if a < reads.actions => to.push(a as u16),
            _ => return Err(BaseError::Failed(String::from("a policy of exp4 is not defined at a context"))),
        }
    }
    Ok(())
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

impl Base<Context, Arm> for Exp4 {
    fn propose(&mut self, x: &Context, rng: &mut dyn Rng) -> Result<Proposal<Arm>, BaseError> {
        let row = self.actions_at(x)?;
        sum_by_action(&self.state.weights, &self.actions[row], &mut self.sums);
        let total: f64 = self.sums.iter().sum();
        let arm = sample_index(&self.sums, total, rng)
            .ok_or_else(|| BaseError::Failed(String::from("all weights of exp4 are zero")))?;
        Ok(Proposal::with_memo(Arm::from(arm), Memo::one(self.sums[arm] / total)))
    }

    fn learn(&mut self, x: &Context, made: &Proposal<Arm>, feedback: Feedback) -> Result<(), BaseError> {
        let feedback = feedback.check(self.state.clock.range)?;
        let arm = check_arm(made.decision, self.reads.actions)?;
        let row = self.actions_at(x)?;
        let estimate = feedback.estimate();
        if estimate > 0.0 {
            // e = s c/q_a; L_theta += e for every theta with theta(x) = a
            let loss = estimate / probability(&made.memo)?;
            let factor = (-self.rate * loss).exp();
            let State { losses, weights, depth, .. } = &mut self.state;
            for ((l, w), a) in losses.iter_mut().zip(weights).zip(&self.actions[row]) {
                let agreed = usize::from(*a) == arm;
                *l = (*l + if agreed { loss } else { 0.0 }).min(LARGEST);
                *w *= if agreed { factor } else { 1.0 };
            }
            *depth += self.rate * loss;
            if self.state.depth > DEEPEST {
                self.refresh();
            }
        }
        self.step();
        Ok(())
    }

    fn pass(&mut self, x: &Context) -> Result<(), BaseError> {
        self.reads.check(x)?;
        self.step();
        Ok(())
    }

    fn likelihood(&self, x: &Context, decision: &Arm) -> Option<(f64, Memo)> {
        self.reads.check(x).ok()?;
        let (mut agreed, mut total) = (0.0, 0.0);
        for (policy, w) in self.policies.iter().zip(&self.state.weights) {
            total += w;
            if policy.act(x)? == decision.index() {
                agreed += w;
            }
        }
        let q = agreed / total;
        Some((q, Memo::one(q)))
    }

    /// Restarts, or re-tunes the rate and keeps the estimates (docs/stability.md#rates-that-follow-the-range).
    fn obey(&mut self, order: Order) -> Result<(), BaseError> {
        let clock = &mut self.state.clock;
        if clock.obey(order, self.params.range_change)? {
            self.state.losses.fill(0.0);
            self.state.doublings = 1;
        } else {
            *clock = go_on(*clock, order);
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
        check_numbers("estimated losses", &state.losses, self.policies.len())?;
        check_numbers("weights", &state.weights, self.policies.len())?;
        let losses = state.losses.iter().all(|l| *l >= state.shift && *l <= LARGEST) && state.shift >= 0.0;
        let weights = state.weights.iter().all(|w| (0.0..=1.0).contains(w));
        if !(losses && weights && state.weights.iter().any(|w| *w > 0.0)) {
            return Err(SnapshotError::state("its weights are not weights of its estimated losses").into());
        }
        if !((0.0..=DEEPEST).contains(&state.depth) && (1..=64).contains(&state.doublings)) {
            return Err(SnapshotError::state("its weights were never computed like that").into());
        }
        self.state = state;
        self.set_rate();
        Ok(())
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
        let mut losses = vec![0.0; base.policies.len()];
        for round in 0..rounds {
            let x = &contexts[round % contexts.len()];
            let made = base.propose(x, &mut rng).unwrap();
            let loss = if made.decision == Arm(1) { 0.2 } else { f64::from(round as u32 % 2) };
            for (l, p) in losses.iter_mut().zip(&base.policies) {
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
        let (a, b): (f64, f64) = (base.weights().iter().sum(), direct.iter().sum());
        for (w, d) in base.weights().iter().zip(&direct) {
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
        assert!((base.rate - (2.0 * 8f64.ln() / 48.0).sqrt()).abs() < 1e-15);
        assert!(base.propose(&x, &mut Pcg64Dxsm::seed_from_u64(0)).is_ok());
    }

    #[test]
    fn a_range_divides_the_rate_and_restarts_or_keeps() {
        for (range_change, kept) in [(RangeChange::Restart, false), (RangeChange::Retune, true)] {
            let mut base = Exp4Params { range_change, ..Exp4Params::default() }.build(&tables(8)).unwrap();
            let made = Proposal::with_memo(Arm(0), Memo::one(0.5));
            base.learn(&Context::tabular(0, 3), &made, Feedback::plain(1.0)).unwrap();
            base.obey(Order::Widen { range: 4.0, remaining: Some(if kept { 999 } else { 1000 }) }).unwrap();
            assert!((base.rate - (2.0 * 8f64.ln() / 3000.0).sqrt() / 2.0).abs() < 1e-15);
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
            (|s: &mut State| s.weights[0] = f64::NAN) as fn(&mut State),
            |s| s.weights[0] = -1.0,
            |s| s.weights.fill(0.0),
            |s| s.losses[1] = -1.0,
            |s| s.losses.truncate(3),
            |s| s.depth = 1e9,
            |s| s.doublings = 0,
            |s| s.clock.range = 0.5,
        ] {
            let mut broken = base.clone();
            break_it(&mut broken.state);
            assert!(matches!(other.load(&broken.save()), Err(BaseError::Snapshot(_))));
        }
        assert!(other.load(&Exp4Params::default().build(&tables(9)).unwrap().save()).is_err());
        assert!(other.load(&base.save()).is_ok());
    }
}
