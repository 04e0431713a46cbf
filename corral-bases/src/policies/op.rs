//! The optimisation problem (OP) of ILOVETOCONBANDITS, by coordinate descent with the oracle.
//!
//! Agarwal, Hsu, Kale, Langford, Li, Schapire 2014, with losses in place of rewards. Given the contexts of t rounds
//! and their importance-weighted losses, find weights Q on few policies with
//!
//! ```text
//! Q >= 0, sum Q <= 1,  b_pi = Reg(pi)/(psi mu),
//! sum_pi Q(pi) b_pi <= 2K                                          (low regret)
//! V_pi(Q) = avg_x 1/Q^mu(pi(x)|x) <= 2K + b_pi     for all pi     (low variance)
//! Q^mu(a|x) = (1 - K mu) sum_{pi: pi(x)=a} Q(pi) + mu
//! ```

use std::sync::Arc;

use corral_core::BaseError;
use corral_core::policy::Policy;

use super::class::PolicyClass;
use super::data::{Costs, Sites};
use super::workspace::Workspace;

/// What was seen in t rounds, aggregated per site.
#[derive(Debug, Clone, Copy)]
pub(crate) struct History<'a> {
    pub sites: &'a Sites,
    /// How many of the rounds were at each site.
    pub counts: &'a [f64],
    /// The sums of the importance-weighted losses v, K per site.
    pub losses: &'a Costs,
    /// t.
    pub rounds: f64,
}

/// The constants of a problem.
#[derive(Debug, Clone, Copy)]
pub(crate) struct OpParams {
    /// The least probability of an action, in (0, 1/(2K)].
    pub mu: f64,
    /// How little regret weighs against variance.
    pub psi: f64,
    /// The steps that are taken at most, beside the bound of the theory.
    pub cap: u64,
}

/// How a problem was solved.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct OpInfo {
    /// Calls of the oracle that found a policy of too much variance.
    pub steps: u64,
    /// Times that Q was scaled down.
    pub rescalings: u64,
    /// What the largest V_pi - 2K - b_pi was at the end, as the oracle saw it.
    pub violation: f64,
    /// Whether it ended because nothing was violated.
    pub solved: bool,
}

/// One policy of the support.
#[derive(Debug, Clone)]
pub(crate) struct Supported {
    pub policy: Arc<Policy>,
    /// Q(pi).
    pub weight: f64,
    /// b_pi.
    pub regret: f64,
    /// Its actions at all sites.
    actions: Vec<u16>,
}

/// The problem with its iterate Q.
pub(crate) struct Op<'a> {
    history: History<'a>,
    class: &'a PolicyClass,
    work: &'a mut Workspace,
    params: OpParams,
    pub leader: Arc<Policy>,
    /// Lhat(leader)/(psi mu).
    leader_loss: f64,
    pub support: Vec<Supported>,
    /// sum_{pi: pi(x)=a} Q(pi), K per site.
    mass: Vec<f64>,
    /// The costs of the oracle call.
    costs: Costs,
    pub info: OpInfo,
}

/// What counts as violated: 1e-9 K, as rounding allows.
const TOLERANCE: f64 = 1e-9;

/// Weights below this are dropped.
const NOTHING: f64 = 1e-12;

impl<'a> Op<'a> {
    /// The problem, with the leader found and Q set to `start`.
    pub(crate) fn new(
        history: History<'a>,
        class: &'a PolicyClass,
        work: &'a mut Workspace,
        params: OpParams,
        start: &[(Arc<Policy>, f64)],
    ) -> Result<Self, BaseError> {
        // The leader: argmin Lhat, one call of the oracle.
        let leader = class.minimise(history.sites, history.losses, work)?;
        let k = history.sites.reads().actions;
        let mut op = Self {
            history,
            class,
            work,
            params,
            leader: leader.policy,
            leader_loss: leader.value / (history.rounds * params.psi * params.mu),
            support: Vec::new(),
            mass: vec![0.0; history.sites.len() * k],
            costs: Costs::new(k),
            info: OpInfo::default(),
        };
        for (policy, weight) in start.iter().filter(|s| s.1 > NOTHING) {
            op.add(policy, *weight)?;
        }
        Ok(op)
    }

    fn actions(&self) -> usize {
        self.history.sites.reads().actions
    }

    /// 1 - K mu.
    fn kept(&self) -> f64 {
        1.0 - self.actions() as f64 * self.params.mu
    }

    /// Q(policy) += weight.
    fn add(&mut self, policy: &Arc<Policy>, weight: f64) -> Result<(), BaseError> {
        let k = self.actions();
        let known = self.support.iter().position(|s| s.policy == *policy);
        let at = match known {
            Some(at) => at,
            None => {
                let mut actions = Vec::new();
                self.history.sites.profile(policy, &mut actions)?;
                let dense = self.history.losses.dense().chunks_exact(k).zip(&actions);
                let loss: f64 = dense.map(|(row, a)| row[usize::from(*a)]).sum();
                // b_pi = (Lhat(pi) - Lhat(leader))/(psi mu); not below 0, also where the oracle only approximates
                let scaled = loss / (self.history.rounds * self.params.psi * self.params.mu);
                let regret = (scaled - self.leader_loss).max(0.0);
                self.support.push(Supported { policy: Arc::clone(policy), weight: 0.0, regret, actions });
                self.support.len() - 1
            }
        };
        self.support[at].weight += weight;
        for (row, a) in self.mass.chunks_exact_mut(k).zip(&self.support[at].actions) {
            row[usize::from(*a)] += weight;
        }
        Ok(())
    }

    /// Step A: where sum_pi Q(pi)(2K + b_pi) > 2K, Q is scaled down to equality. Whether it was.
    pub(crate) fn rescale(&mut self) -> bool {
        let twice = 2.0 * self.actions() as f64;
        let total: f64 = self.support.iter().map(|s| s.weight * (twice + s.regret)).sum();
        // Not where it is rounding: the step would be taken for ever.
        if total <= twice * (1.0 + 1e-12) {
            return false;
        }
        let factor = twice / total;
        self.support.iter_mut().for_each(|s| s.weight *= factor);
        self.mass.iter_mut().for_each(|m| *m *= factor);
        self.info.rescalings += 1;
        true
    }

    /// Step B: adds weight to the policy of the largest D_pi = V_pi - (2K + b_pi); false when none is above 0.
    pub(crate) fn descend(&mut self) -> Result<bool, BaseError> {
        let (k, kept, mu) = (self.actions(), self.kept(), self.params.mu);
        let (t, scale) = (self.history.rounds, self.history.rounds * self.params.psi * mu);
        // The costs whose minimum is -max D_pi: -(1/t)/Q^mu(a|x_i) + v_i[a]/(t psi mu)
        // docs/bases.md#ilovetoconbandits
        let losses = self.history.losses.dense();
        let block = self.costs.block(self.history.sites);
        for (site, (row, mass)) in block.chunks_exact_mut(k).zip(self.mass.chunks_exact(k)).enumerate() {
            let share = self.history.counts[site] / t;
            for (a, (cost, m)) in row.iter_mut().zip(mass).enumerate() {
                let loss = losses.get(site * k + a).copied().unwrap_or(0.0);
                *cost = loss / scale - share / (kept * m + mu);
            }
        }
        let found = self.class.minimise(self.history.sites, &self.costs, self.work)?;
        let violation = self.leader_loss - found.value - 2.0 * k as f64;
        self.info.violation = violation;
        if !(violation > TOLERANCE * k as f64) {
            self.info.solved = true;
            return Ok(false);
        }
        // V = avg 1/Q^mu, S = avg 1/(Q^mu)^2 along the policy; Q(pi) += (V + D)/(2 (1 - K mu) S)
        self.add(&found.policy, 0.0)?;
        let entry = self.support.iter().find(|s| s.policy == found.policy);
        let entry = entry.ok_or_else(|| BaseError::Failed(String::from("a policy left the support")))?;
        let (mut v, mut s) = (0.0, 0.0);
        for (site, (a, mass)) in entry.actions.iter().zip(self.mass.chunks_exact(k)).enumerate() {
            let inverse = 1.0 / (kept * mass[usize::from(*a)] + mu);
            let share = self.history.counts[site] / t;
            v += share * inverse;
            s += share * inverse * inverse;
        }
        let step = (v + violation) / (2.0 * kept * s);
        if !(step > 0.0 && step.is_finite()) {
            return Err(BaseError::Failed(format!("the step of (OP) is {step}")));
        }
        self.add(&found.policy, step)?;
        self.info.steps += 1;
        Ok(true)
    }

    /// The potential Phi(Q) = t mu (avg_x RE(unif || Q^mu(.|x))/(1 - K mu) + sum_pi Q(pi) b_pi/(2K)), where
    /// RE(p || q) = sum p ln(p/q) + q - p. Every step B lowers it by at least t mu^2/(4 (1 - K mu)).
    pub(crate) fn potential(&self) -> f64 {
        let (k, kept, mu, t) = (self.actions() as f64, self.kept(), self.params.mu, self.history.rounds);
        let mut entropy = 0.0;
        for (count, mass) in self.history.counts.iter().zip(self.mass.chunks_exact(self.actions())) {
            let each = |m: &f64| {
                let q = kept * m + mu;
                -(k * q).ln() / k + q - 1.0 / k
            };
            entropy += count / t * mass.iter().map(each).sum::<f64>();
        }
        let regret: f64 = self.support.iter().map(|s| s.weight * s.regret).sum();
        t * mu * (entropy / kept + regret / (2.0 * k))
    }

    /// The most steps that the falling potential allows from where Q is now.
    pub(crate) fn bound(&self) -> f64 {
        let drop = self.history.rounds * self.params.mu * self.params.mu / (4.0 * self.kept());
        self.potential() / drop
    }

    /// Descends until nothing is violated, or the bound on the steps is reached (which an exact oracle never does).
    pub(crate) fn solve(&mut self) -> Result<OpInfo, BaseError> {
        let most = (self.bound().max(0.0).ceil() as u64).saturating_add(1).min(self.params.cap);
        loop {
            self.rescale();
            if self.info.steps >= most || !self.descend()? {
                break;
            }
        }
        self.rescale();
        self.support.retain(|s| s.weight > NOTHING);
        Ok(self.info)
    }
}

#[cfg(test)]
mod tests {
    use corral_core::Context;
    use rand::SeedableRng;
    use rand_pcg::Pcg64Dxsm;

    use super::super::class::ErmOracle;
    use super::super::finite::FiniteClass;
    use super::super::oracle_tests::world;
    use super::*;

    /// A random problem over tables: contexts, losses of random propensities, and random policies.
    struct Case {
        class: PolicyClass,
        policies: Vec<Arc<Policy>>,
        sites: Sites,
        counts: Vec<f64>,
        losses: Costs,
        rounds: f64,
    }

    impl Case {
        fn draw(rng: &mut Pcg64Dxsm, k: usize) -> Self {
            let u = |rng: &mut Pcg64Dxsm, n: usize| (corral_core::uniform(rng) * n as f64) as usize;
            let (cells, n, rounds) = (2 + u(rng, 7), 2 + u(rng, 40), 20 + u(rng, 1500));
            let table = |rng: &mut Pcg64Dxsm| Policy::Table((0..cells).map(|_| u(rng, k) as u16).collect());
            let policies: Vec<Policy> = (0..n).map(|_| table(rng)).collect();
            let class = FiniteClass::new(policies, &world(k, 0, Some(cells))).unwrap();
            let mut sites = Sites::new(class.reads());
            let (mut counts, mut losses) = (vec![0.0; cells], Costs::new(k));
            for _ in 0..rounds {
                let site = sites.enter(&Context::tabular(u(rng, cells), k)).unwrap();
                counts[site] += 1.0;
                let good = u(rng, k) == site % k;
                let v = if good { 0.0 } else { corral_core::uniform(rng) * k as f64 * 2.0 };
                losses.observe(&sites, site, u(rng, k), v, 1.0);
            }
            losses.block(&sites);
            let policies = class.enumerate().unwrap();
            Self { class: PolicyClass::Finite(class), policies, sites, counts, losses, rounds: rounds as f64 }
        }

        fn history(&self) -> History<'_> {
            History { sites: &self.sites, counts: &self.counts, losses: &self.losses, rounds: self.rounds }
        }

        /// The largest violation of (OP) by enumeration: sum, regret, variance; all at most 0 where Q is feasible.
        fn violations(&self, q: &[(Arc<Policy>, f64)], params: OpParams) -> [f64; 3] {
            let (k, mu) = (self.sites.reads().actions, params.mu);
            let loss = |p: &Policy| self.losses.of(&self.sites, p) / self.rounds;
            let best = self.policies.iter().map(|p| loss(p)).fold(f64::INFINITY, f64::min);
            let b = |p: &Policy| (loss(p) - best) / (params.psi * mu);
            let smooth = |site: usize, a: usize| {
                let agree = q.iter().filter(|(p, _)| self.sites.act(p, site) == Some(a));
                (1.0 - k as f64 * mu) * agree.map(|(_, w)| w).sum::<f64>() + mu
            };
            let variance = |p: &Policy| -> f64 {
                let at = |s: usize| self.counts[s] / self.rounds / smooth(s, self.sites.act(p, s).unwrap());
                (0..self.sites.len()).map(at).sum()
            };
            let twice = 2.0 * k as f64;
            [
                q.iter().map(|(_, w)| w).sum::<f64>() - 1.0,
                q.iter().map(|(p, w)| w * b(p)).sum::<f64>() - twice,
                self.policies.iter().map(|p| variance(p) - twice - b(p)).fold(f64::NEG_INFINITY, f64::max),
            ]
        }
    }

    /// Solves step by step, watching the potential; returns the info and Q.
    fn watched(
        case: &Case,
        params: OpParams,
        start: &[(Arc<Policy>, f64)],
    ) -> (OpInfo, Vec<(Arc<Policy>, f64)>) {
        let mut work = Workspace::default();
        let mut op = Op::new(case.history(), &case.class, &mut work, params, start).unwrap();
        let bound = op.bound();
        let least = case.rounds * params.mu * params.mu / (4.0 * op.kept());
        loop {
            let before = op.potential();
            op.rescale();
            let scaled = op.potential();
            assert!(
                scaled <= before + 1e-9 * before.abs(),
                "rescaling raised the potential: {before} to {scaled}"
            );
            if !op.descend().unwrap() {
                break;
            }
            let after = op.potential();
            assert!(
                after <= scaled - least * (1.0 - 1e-6),
                "the potential fell from {scaled} to {after}, not by {least}"
            );
            assert!(op.info.steps as f64 <= bound, "{} steps where {bound} are allowed", op.info.steps);
        }
        assert!(op.info.solved);
        (op.info, op.support.iter().map(|s| (Arc::clone(&s.policy), s.weight)).collect())
    }

    fn params(case: &Case, psi: f64, scale: f64) -> OpParams {
        let k = case.sites.reads().actions as f64;
        let d = (16.0 * case.rounds * case.rounds * case.policies.len() as f64 / 0.05).ln();
        OpParams { mu: (scale * (d / (k * case.rounds)).sqrt()).min(0.5 / k), psi, cap: u64::MAX }
    }

    #[test]
    fn cold_starts_end_feasible_within_the_bound_of_the_theory() {
        let mut rng = Pcg64Dxsm::seed_from_u64(17);
        let mut most = 0.0f64;
        for i in 0..120 {
            let case = Case::draw(&mut rng, 2 + i % 4);
            for (psi, scale) in [(100.0, 1.0), (1.0, 0.1), (0.1, 0.3)] {
                let params = params(&case, psi, scale);
                let (info, q) = watched(&case, params, &[]);
                let worst = case.violations(&q, params);
                assert!(worst.iter().all(|v| *v <= 1e-7), "{worst:?}");
                // A cold start halts within 4 ln(1/(K mu))/mu steps; ln is at least ln 2 here.
                let k = case.sites.reads().actions as f64;
                let bound = 4.0 * (1.0 / (k * params.mu)).ln() / params.mu;
                assert!(info.steps as f64 <= bound, "{} steps where {bound} are allowed", info.steps);
                most = most.max(info.steps as f64);
            }
        }
        assert!(most > 3.0, "the cases are not trivial");
    }

    #[test]
    fn warm_starts_end_feasible_and_come_through_the_rescaling() {
        let mut rng = Pcg64Dxsm::seed_from_u64(18);
        let mut rescalings = 0;
        for i in 0..60 {
            let case = Case::draw(&mut rng, 2 + i % 4);
            for psi in [1.0, 0.1, 0.02] {
                // Random weights on random policies, and the solution of a coarser problem, as an epoch leaves it.
                let coarse = params(&case, psi, 0.5);
                let (_, solved) = watched(&case, coarse, &[]);
                let some = |rng: &mut Pcg64Dxsm| {
                    let at = (corral_core::uniform(rng) * case.policies.len() as f64) as usize;
                    (Arc::clone(&case.policies[at]), 0.3 * corral_core::uniform(rng))
                };
                let random: Vec<_> = (0..4).map(|_| some(&mut rng)).collect();
                for start in [solved, random] {
                    let fine = params(&case, psi, 0.1);
                    let (info, q) = watched(&case, fine, &start);
                    let worst = case.violations(&q, fine);
                    assert!(worst.iter().all(|v| *v <= 1e-7), "{worst:?}");
                    rescalings += info.rescalings;
                }
            }
        }
        assert!(rescalings > 50, "{rescalings} rescalings");
    }

    #[test]
    fn the_largest_smoothing_needs_no_policy() {
        // mu = 1/(2K) and Q = 0: V = 2K exactly.
        let case = Case::draw(&mut Pcg64Dxsm::seed_from_u64(19), 3);
        let params = OpParams { mu: 0.5 / 3.0, psi: 1.0, cap: 10 };
        let mut work = Workspace::default();
        let mut op = Op::new(case.history(), &case.class, &mut work, params, &[]).unwrap();
        let info = op.solve().unwrap();
        assert!(info.solved && info.steps == 0 && op.support.is_empty());
    }

    #[test]
    fn a_cap_ends_the_search_and_says_so() {
        let case = Case::draw(&mut Pcg64Dxsm::seed_from_u64(20), 3);
        let params = OpParams { cap: 1, ..params(&case, 1.0, 0.05) };
        let mut work = Workspace::default();
        let mut op = Op::new(case.history(), &case.class, &mut work, params, &[]).unwrap();
        let info = op.solve().unwrap();
        assert!(!info.solved && info.steps == 1 && info.violation > 0.0);
    }
}
