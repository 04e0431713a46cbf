//! BISTRO+: follow the leader of a hallucinated future, mixed with uniform play.
//!
//! Syrgkanis, Luo, Krishnamurthy, Schapire 2016. Contexts i.i.d. from a distribution that can be sampled, losses
//! adversarial; regret at most 3.78 (K T)^(2/3) (ln N)^(1/3). Weakly stable with alpha = 1/3: L becomes smaller by
//! rho^(1/3), and the estimates are of size B = L rho (the paper's lemma on BISTRO+, appendix D.1).
//!
//! Every round draws a fresh future: it is what a proposal is drawn from, so that there is no likelihood that could be
//! told without a generator; [`Base::likelihood`] answers `None`. The horizon must be known, and exactly: with one too
//! long the future perturbs too much. At short horizons the bound is vacuous, and play is nearly uniform; a smaller
//! `kappa` (0.1 to 0.5) is far better on benign sequences, and outside the theorem.
//!
//! Where contexts are finite and their probabilities known, a round costs as many binomials as there are contexts and
//! actions, whatever the horizon (docs/bases.md#bistro); else it draws every context of the future.

use super::data::Reads;
use super::prelude::*;
use corral_core::ContextSampler;
use rand_distr::{Binomial, Distribution};

corral_core::params! {
    /// Which minimiser over the simplex is played.
    pub enum BistroRule {
        /// All on the leader's action: one call of the oracle.
        #[default]
        Leader,
        /// phi on the leader's action, the rest spread evenly: two calls.
        Uniform,
        /// As in the paper: q_a = min(phi_a, what is left) action by action, the rest spread evenly: K + 1 calls.
        WaterFill,
    }
}

base! {
    /// Follows the leader of a hallucinated future, mixed with uniform play (BISTRO+).
    "bistro": pub type Bistro = PolicyBase<BistroParams>;
    needs_horizon |self| true;
    needs |self, setup| {
        if self.needs_horizon() && setup.horizon.is_none() {
            return Some("a known horizon");
        }
        let sees = setup.policies.is_some() || setup.context.features > 0 || setup.context.cells.is_some();
        if sees && setup.sampler.is_none() {
            return Some("a context sampler: an environment with i.i.d. contexts");
        }
        self.policies.needs(setup)
    };
    bound |self, setup| {
        // 3.78 (K T)^(2/3) (ln N)^(1/3)
        let scale = 3.78 * (setup.actions() as f64).powf(2.0 / 3.0) * self.policies.ln_size(setup)?.cbrt();
        Some(RegretBound { scale, exponent: 2.0 / 3.0, alpha: 1.0 / 3.0 })
    };
    params policies {
        /// Which minimiser q*: the leader's action, its share phi and the rest uniform, or water-filling; all
        /// have the same value.
        rule: BistroRule = BistroRule::Leader;
        /// Multiplies the hallucinated losses: 2 in theory, less in practice.
        kappa: f64 = 2.0, Bounds::NON_NEGATIVE;
    } with only_restarts
}

/// Contexts that a future may have, on average, where each is drawn: beyond this a round takes seconds.
const LONGEST: f64 = 1e7;

/// Contexts that a future may have where they are counted: these are whole numbers up to here.
const COUNTED: f64 = 1e15;

/// The size of exploration and of the estimates.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
struct Size {
    /// L: every action is played with at least 1/L.
    length: f64,
    /// B = L rho: an estimate is B or 0.
    estimate: f64,
}

impl Size {
    /// For what `clock` says of horizon and range; an error where a future would be too long to be drawn.
    fn new(clock: &Clock, class: &PolicyClass, longest: f64) -> Result<Self, ParamError> {
        let (k, horizon) = (class.reads().actions as f64, clock.tuned().unwrap_or(2.0));
        // L = 2^(-1/3) (K T/(rho ln N))^(1/3), at least K: the optimum of 2 sqrt(2) sqrt(T K L rho ln N) + T K/L
        let length = (k * horizon / (2.0 * clock.range * class.ln_size(horizon))).cbrt().max(k);
        let size = Self { length, estimate: length * clock.range };
        if horizon * size.chance(k) <= longest {
            return Ok(size);
        }
        let must = "short enough for a future to be drawn every round";
        Err(ParamError::new("horizon", clock.horizon.unwrap_or(0), must))
    }

    /// The probability that a round of the future has Z != 0: K/B.
    fn chance(&self, actions: f64) -> f64 {
        (actions / self.estimate).min(1.0)
    }
}

/// What [`Bistro`] has learned.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct BistroState {
    sites: Sites,
    /// The estimates chat, B at an action of a site or nothing.
    past: Costs,
}

/// The future of [`Bistro`], and buffers for a round.
#[derive(Clone)]
pub struct BistroWork {
    size: Size,
    sampler: Option<Arc<dyn ContextSampler>>,
    /// The probability of each site, where these are all that there is to a context.
    law: Option<Vec<f64>>,
    /// Past and future.
    future: Costs,
    oracle: Workspace,
    /// phi_a.
    shares: Vec<f64>,
    q: Vec<f64>,
}

impl Bistro {
    /// Adds a hallucinated future to the estimates: for every round to come Z = B with probability K/B, a context, and
    /// signs per action; A(pi) gets kappa eps[pi(x)] Z.
    fn hallucinate(&mut self, rng: &mut dyn Rng) -> Result {
        let (k, state, work) = (self.actions(), &mut self.state, &mut self.work);
        let horizon = self.clock.horizon.unwrap_or(0);
        let to_come = horizon.saturating_sub(self.clock.rounds + 1);
        let chance = work.size.chance(k as f64);
        // Only Z != 0 matters: how many there are is binomial.
        let mut count = binomial(to_come, chance, rng)?;
        let step = self.rule.kappa * work.size.estimate;
        let (past, block) = (state.past.dense(), work.future.block(&state.sites));
        block[..past.len()].copy_from_slice(past);
        block[past.len()..].fill(0.0);
        if let Some(law) = &work.law {
            // How often each context comes is multinomial: binomial given those before it. Of n signs h are +1, so that
            // they add up to 2 h - n.
            let mut rest = 1.0;
            for (row, probability) in block.chunks_exact_mut(k).zip(law) {
                let share = if *probability < rest { probability / rest } else { 1.0 };
                let here = binomial(count, share, rng)?;
                (count, rest) = (count - here, rest - probability);
                for cost in row {
                    let heads = binomial(here, 0.5, rng)?;
                    *cost += step * (2.0 * heads as f64 - here as f64);
                }
            }
            return Ok(());
        }
        for _ in 0..count {
            let drawn = work.sampler.as_ref().map_or_else(|| Context::plain(k), |law| law.sample(rng));
            let site = state.sites.enter(&drawn)?;
            let row = &mut work.future.block(&state.sites)[site * k..(site + 1) * k];
            let (mut bits, mut signed) = (0, step);
            for (a, cost) in row.iter_mut().enumerate() {
                if a % 64 == 0 {
                    bits = rng.next_u64();
                }
                // An action that is not offered costs what is played in its place.
                if a < drawn.actions() {
                    signed = if bits & 1 == 0 { step } else { -step };
                }
                *cost += signed;
                bits >>= 1;
            }
        }
        Ok(())
    }

    /// q* at the site of the round, for the past and future at hand.
    fn minimise(&mut self, site: usize, round: Offer<'_>) -> Result {
        let k = self.actions();
        let BistroWork { size, future, oracle, shares, q, .. } = &mut self.work;
        let (shares, q) = (&mut shares[..round.offered], &mut q[..round.offered]);
        let sites = &self.state.sites;
        let found = self.class.minimise(sites, future, oracle)?;
        let leader = sites.act(&found.policy, site).ok_or_else(undefined::<BistroParams>)?;
        let leader = leader.min(round.offered - 1);
        // phi_a = (psi_a - psi_0)/B, psi_a = min (A(pi) + B 1{pi(x) = a}); it is 0 but for the leader's action.
        shares.fill(0.0);
        let asked = match self.rule.rule {
            BistroRule::Leader => 0..0,
            BistroRule::Uniform => leader..leader + 1,
            BistroRule::WaterFill => 0..round.offered,
        };
        for a in asked {
            let played_as = round.played_as(a, k);
            let add = |costs: &mut Costs, b: f64| {
                let row = &mut costs.block(sites)[site * k..(site + 1) * k];
                row[played_as.clone()].iter_mut().for_each(|cost| *cost += b);
            };
            add(future, size.estimate);
            let psi = self.class.minimise(sites, future, oracle)?.value;
            add(future, -size.estimate);
            shares[a] = ((psi - found.value) / size.estimate).clamp(0.0, 1.0);
        }
        if self.rule.rule == BistroRule::Leader {
            q.fill(0.0);
            q[leader] = 1.0;
        } else {
            fill(shares, q);
        }
        Ok(())
    }
}

fn binomial(n: u64, p: f64, rng: &mut dyn Rng) -> Result<u64> {
    Ok(Binomial::new(n, p).map_err(|e| BaseError::Failed(e.to_string()))?.sample(rng))
}

/// Water-filling: q_a = min(phi_a, what is left) in order, and what is left at the end spread evenly. It minimises
/// sum_a max(0, q_a - phi_a) over the simplex.
fn fill(shares: &[f64], q: &mut [f64]) {
    let mut left = 1.0;
    for (q, share) in q.iter_mut().zip(shares) {
        *q = share.min(left);
        left -= *q;
    }
    // Not where it is rounding (docs/pitfalls.md#the-least-significant-bit).
    if left > 1e-12 {
        let each = left / q.len() as f64;
        q.iter_mut().for_each(|q| *q += each);
    }
}

impl PolicyRule for BistroParams {
    type State = BistroState;
    type Work = BistroWork;

    fn work(&self, class: &PolicyClass, setup: &Setup) -> Result<BistroWork> {
        let Reads { actions, cells, .. } = class.reads();
        let probabilities = setup.sampler.as_ref().and_then(|s| s.probabilities());
        Ok(BistroWork {
            size: Size::default(),
            sampler: setup.sampler.clone(),
            law: probabilities.filter(|law| class.reads().is_tabular() && cells == Some(law.len())),
            future: Costs::new(actions),
            oracle: Workspace::default(),
            shares: vec![0.0; actions],
            q: vec![0.0; actions],
        })
    }

    fn fresh(&self, class: &PolicyClass, _: &BistroWork) -> Result<BistroState> {
        let reads = class.reads();
        Ok(BistroState { sites: Sites::new(reads), past: Costs::new(reads.actions) })
    }

    fn tune(base: &mut Bistro) -> Result {
        let longest = if base.work.law.is_some() { COUNTED } else { LONGEST };
        base.work.size = Size::new(&base.clock, &base.class, longest)?;
        base.work.oracle.clear();
        Ok(())
    }

    fn propose(base: &mut Bistro, round: Offer<'_>, rng: &mut dyn Rng) -> Result<Proposal<Arm>> {
        let stored = base.state.sites.len();
        let site = base.state.sites.enter(round.x)?;
        let drawn = base.hallucinate(rng).and_then(|()| base.minimise(site, round));
        // The data set as it was before the future.
        base.state.sites.truncate(stored);
        base.work.oracle.truncate(base.state.sites.len());
        drawn?;
        // q = (1 - K/L) q* + 1/L
        let (q, floor) = (&mut base.work.q[..round.offered], 1.0 / base.work.size.length);
        let kept = 1.0 - round.offered as f64 * floor;
        q.iter_mut().for_each(|q| *q = kept * *q + floor);
        let arm = sample_index(q, q.iter().sum(), rng)
            .ok_or_else(|| BaseError::Failed(String::from("bistro has no probability left")))?;
        // The coin of the estimate is drawn now, for want of a generator when the loss arrives.
        Ok(Proposal::with_memo(Arm::at(arm), Memo::from(&[q[arm], uniform(rng)][..])))
    }

    fn likelihood(_: &Bistro, _: Offer<'_>, _: usize) -> Option<(f64, Memo)> {
        None
    }

    fn learn(base: &mut Bistro, round: Offer<'_>, played: Played<'_>) -> Result {
        let (k, size, estimate) = (base.actions(), base.work.size, played.feedback.estimate());
        if estimate > 0.0 {
            let coin = played.memo.get(1).filter(|u| (0.0..1.0).contains(u));
            let coin = coin.ok_or_else(|| BaseError::Proposal(String::from("its memo has no coin")))?;
            // X ~ Bernoulli(s c/(B q_a)), at most 1 since q_a >= 1/L; chat = B e_a where X = 1
            if coin < estimate / (size.estimate * played.probability()?) {
                let site = base.state.sites.enter(round.x)?;
                let row = &mut base.state.past.block(&base.state.sites)[site * k..(site + 1) * k];
                row[round.played_as(played.arm, k)].iter_mut().for_each(|cost| *cost += size.estimate);
            }
        }
        Ok(())
    }

    fn restore(base: &Bistro, state: &mut BistroState, _: &Clock) -> Result<(), SnapshotError> {
        state.sites.valid(&base.class.reads())?;
        state.past.valid(&state.sites)?;
        ensure(state.past.sparse().is_empty(), "it has estimates that bistro does not make")
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use rand::SeedableRng;
    use rand_pcg::Pcg64Dxsm;

    use super::super::class::ErmOracle;
    use super::super::finite::FiniteClass;
    use super::super::oracle_tests::world;
    use super::*;
    use corral_core::Policy;

    struct Cells;

    impl ContextSampler for Cells {
        fn sample(&self, rng: &mut dyn Rng) -> Context {
            Context::tabular((uniform(rng) * 4.0) as usize, 3)
        }
    }

    fn setup(tables: &[Vec<u16>]) -> Setup {
        let mut setup = world(3, 0, Some(4));
        setup.policies = Some(tables.iter().cloned().map(Policy::Table).collect());
        setup.sampler = Some(Arc::new(Cells));
        setup
    }

    /// max over w in D of E_w[<q, chat> + R], but for what does not depend on q, by enumeration: D puts at most 1/B on
    /// each B e_a and the rest on 0, so its corners are the subsets of actions that get all of 1/B. R is minus the
    /// minimum of A(pi) + chat[pi(x)].
    fn worst(q: &[f64], least: f64, with: &[f64], b: f64) -> f64 {
        let k = q.len();
        (0..1u32 << k)
            .map(|set| {
                let mut value = 0.0;
                let mut rest = 1.0;
                for a in (0..k).filter(|a| set >> a & 1 == 1) {
                    value += (b * q[a] - with[a]) / b;
                    rest -= 1.0 / b;
                }
                value - rest * least
            })
            .fold(f64::NEG_INFINITY, f64::max)
    }

    proptest! {
        #[test]
        fn the_three_rules_have_the_value_of_the_linear_program(
            tables in prop::collection::vec(prop::collection::vec(0u16..3, 4), 1..10),
            costs in prop::collection::vec(-4i8..5, 12),
            cell in 0usize..4,
        ) {
            let setup = setup(&tables);
            let mut values = Vec::new();
            for rule in [BistroRule::Leader, BistroRule::Uniform, BistroRule::WaterFill] {
                let mut base = BistroParams { rule, ..BistroParams::default() }.build(&setup).unwrap();
                let b = base.work.size.estimate;
                let site = base.state.sites.enter(&Context::tabular(cell, 3)).unwrap();
                // A past and a future in halves of B, so that phi takes values inside (0, 1).
                let block = base.work.future.block(&base.state.sites);
                block.iter_mut().zip(&costs).for_each(|(to, c)| *to = 0.4 * b * f64::from(*c));
                base.minimise(site, Offer { x: &Context::tabular(cell, 3), offered: 3 }).unwrap();
                prop_assert!((base.work.q.iter().sum::<f64>() - 1.0).abs() < 1e-12);
                prop_assert!(base.work.q.iter().all(|q| *q >= 0.0));
                // The oracle's minima by brute force.
                let class = FiniteClass::new(tables.iter().cloned().map(Policy::Table), &setup).unwrap();
                let all: Vec<(f64, usize)> = class.enumerate().unwrap().iter()
                    .map(|p| (base.work.future.of(&base.state.sites, p), p.act(&Context::tabular(cell, 3)).unwrap()))
                    .collect();
                let least = all.iter().map(|p| p.0).fold(f64::INFINITY, f64::min);
                let with: Vec<f64> = (0..3)
                    .map(|a| all.iter().map(|p| p.0 + if p.1 == a { b } else { 0.0 }).fold(f64::INFINITY, f64::min))
                    .collect();
                values.push(worst(&base.work.q, least, &with, b));
                // The optimum over the simplex: it is piecewise linear in q with kinks at phi, so a grid of thirds
                // and the kinks, exhaustively, holds a minimiser.
                let phi: Vec<f64> = with.iter().map(|w| (w - least) / b).collect();
                let mut optimum = f64::INFINITY;
                let ticks = |a: usize| [0.0, 1.0, 1.0 / 3.0, 2.0 / 3.0, phi[a], 1.0 - phi[a]];
                for x in ticks(0) {
                    for y in ticks(1) {
                        let z = 1.0 - x - y;
                        if z >= 0.0 {
                            optimum = optimum.min(worst(&[x, y, z], least, &with, b));
                        }
                    }
                }
                prop_assert!((values[values.len() - 1] - optimum).abs() <= 1e-12 * b.max(least.abs()),
                    "{rule:?}: {} and {optimum}", values[values.len() - 1]);
            }
            // At most one share is positive, so water-filling is the uniform rule.
            prop_assert!((values[1] - values[2]).abs() <= 1e-12 * values[1].abs().max(1.0));
        }
    }

    /// Four cells with probabilities 0.5, 0.3, 0.2 and 0, which it may keep to itself.
    struct Uneven {
        says: bool,
    }

    impl ContextSampler for Uneven {
        fn sample(&self, rng: &mut dyn Rng) -> Context {
            let u = uniform(rng);
            Context::tabular(usize::from(u >= 0.5) + usize::from(u >= 0.8), 3)
        }

        fn probabilities(&self) -> Option<Vec<f64>> {
            self.says.then(|| vec![0.5, 0.3, 0.2, 0.0])
        }
    }

    #[test]
    fn counted_futures_have_the_law_of_drawn_ones() {
        // Chi-square of two samples over the joint values of three sums: two actions of one context, and one of another.
        // The threshold is the 99.9% quantile (Wilson, Hilferty 1931): false alarms below 0.001, and none at this seed.
        let draws = 60_000;
        let mut counts = std::collections::BTreeMap::<[i64; 3], [f64; 2]>::new();
        for (side, says) in [(0, false), (1, true)] {
            let mut setup = setup(&[vec![0, 1, 2, 0], vec![1, 1, 0, 2]]);
            setup.sampler = Some(Arc::new(Uneven { says }));
            setup.horizon = Some(12);
            let mut base = BistroParams::default().build(&setup).unwrap();
            assert_eq!(base.work.law.is_some(), says);
            let step = 2.0 * base.work.size.estimate;
            let mut rng = Pcg64Dxsm::seed_from_u64(11);
            for _ in 0..draws {
                base.hallucinate(&mut rng).unwrap();
                let at = |i: usize| ((base.work.future.dense()[i] / step).round() as i64).clamp(-3, 3);
                counts.entry([at(0), at(1), at(3)]).or_default()[side] += 1.0;
                assert!(base.work.future.dense()[9..].iter().all(|cost| *cost == 0.0));
            }
        }
        // Rare values together.
        let mut cells: Vec<[f64; 2]> = vec![[0.0; 2]];
        for [a, b] in counts.into_values() {
            if a + b >= 20.0 {
                cells.push([a, b]);
            } else {
                cells[0] = [cells[0][0] + a, cells[0][1] + b];
            }
        }
        let of = |[a, b]: &[f64; 2]| if a + b > 0.0 { (a - b).powi(2) / (a + b) } else { 0.0 };
        let (chi, freedom) = (cells.iter().map(of).sum::<f64>(), cells.len() as f64 - 1.0);
        let (share, normal) = (2.0 / (9.0 * freedom), 3.0902);
        let threshold = freedom * (1.0 - share + normal * share.sqrt()).powi(3);
        assert!(freedom >= 50.0 && chi <= threshold, "{chi} of {threshold} at {freedom} degrees");
    }

    #[test]
    fn sizes_are_the_formulas() {
        let tables: Vec<Vec<u16>> = (0..64).map(|i| vec![i % 3, i / 3 % 3, i / 9 % 3, i / 27 % 3]).collect();
        let mut setup = setup(&tables);
        setup.horizon = Some(5000);
        let mut base = BistroParams::default().build(&setup).unwrap();
        let length = 2f64.powf(-1.0 / 3.0) * (15_000.0 / 64f64.ln()).cbrt();
        assert!(
            (base.work.size.length - length).abs() < 1e-12
                && base.work.size.estimate == base.work.size.length
        );
        base.apply_order(Order::Widen { range: 8.0, remaining: Some(5000) }).unwrap();
        assert!((base.work.size.length - length / 2.0).abs() < 1e-12);
        assert!((base.work.size.estimate - 4.0 * length).abs() < 1e-12);
        // A range so large that L = K: uniform play.
        base.apply_order(Order::Widen { range: 1e6, remaining: Some(5000) }).unwrap();
        assert_eq!(base.work.size.length, 3.0);
        // The rounds that are left, also where their number is not given.
        base.pass(&Context::tabular(0, 3)).unwrap();
        base.apply_order(Order::StartOver { range: 1.0, remaining: None }).unwrap();
        assert_eq!(base.clock.horizon, Some(4999));
    }

    #[test]
    fn the_estimate_is_unbiased_seen_or_not() {
        // Mean of chat over 200,000 draws at p = 1 and p = 1/8, against the true losses at the context; four standard
        // errors per action: false alarms below 2 * 3 * 6.4e-5 = 4e-4.
        let tables: Vec<Vec<u16>> = (0..9).map(|i| vec![i % 3, i / 3, (i + 1) % 3, 0]).collect();
        let truth = [0.9, 0.3, 0.6];
        for p in [1.0, 0.125] {
            let mut setup = setup(&tables);
            setup.horizon = Some(50);
            let mut base = BistroParams::default().build(&setup).unwrap();
            base.apply_order(Order::Widen { range: 8.0, remaining: Some(50) }).unwrap();
            let state = base.state.clone();
            let x = Context::tabular(1, 3);
            let mut rng = Pcg64Dxsm::seed_from_u64(7);
            let (mut counts, draws) = ([0.0; 3], 200_000);
            for _ in 0..draws {
                let made = base.propose(&x, &mut rng).unwrap();
                let seen = uniform(&mut rng) < p;
                let loss = truth[made.decision.index()];
                base.learn(&x, &made, if seen { Feedback::new(loss, 1.0 / p) } else { Feedback::unseen() })
                    .unwrap();
                for (a, count) in counts.iter_mut().enumerate() {
                    *count +=
                        f64::from(u8::from(base.state.past.dense().get(3 + a).is_some_and(|c| *c > 0.0)));
                }
                base.state.clone_from(&state);
            }
            for (a, count) in counts.iter().enumerate() {
                // chat is B with probability c/B.
                let (b, share) = (base.work.size.estimate, count / f64::from(draws));
                let se = b * (share * (1.0 - share) / f64::from(draws)).sqrt();
                assert!((b * share - truth[a]).abs() <= 4.0 * se, "p {p} action {a}: {} +- {se}", b * share);
            }
        }
    }

    #[test]
    fn a_snapshot_that_cannot_be_is_refused() {
        let setup = setup(&[vec![0, 1, 2, 0]]);
        let base = BistroParams::default().build(&setup).unwrap();
        let mut other = base.clone();
        for break_it in [
            (|s: &mut Bistro| s.clock.horizon = None) as fn(&mut Bistro),
            |s| s.clock.horizon = Some(u64::MAX),
            |s| s.clock.range = f64::NAN,
            |s| s.state.past = Costs::new(2),
            |s| s.state.sites = Sites::new(Reads { actions: 3, cells: Some(5), features: None }),
        ] {
            let mut broken = base.clone();
            break_it(&mut broken);
            assert!(matches!(other.load(&broken.save()), Err(BaseError::Snapshot(_))));
        }
        assert!(other.load(&base.save()).is_ok());
    }
}
