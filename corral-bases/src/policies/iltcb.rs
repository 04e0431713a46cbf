//! ILOVETOCONBANDITS: a distribution over few policies of low regret and low variance, recomputed in epochs.
//!
//! Agarwal, Hsu, Kale, Langford, Li, Schapire 2014. Stochastic contexts and losses, regret O~(sqrt(K T ln N)). Weakly
//! stable with alpha = 1/2: range and second moment of the estimates grow by rho, so that ln(..) becomes rho ln(..) in
//! the smoothing mu (the paper's lemma on ILOVETOCONBANDITS, appendix D.1).
//!
//! Rounds in which nothing was seen count with loss 0, and their contexts enter the variance. Feedback that comes late
//! is counted when it comes, with the probability of the moment of proposal. With the constants of the theory the
//! regret constraint does not bind before millions of rounds, and half of the play explores: `practical` is the
//! default, `theory` is for study.

use super::estimates::{Estimates, Estimator, Seen};
use super::op::{History, Op, OpInfo, OpParams};
use super::prelude::*;

corral_core::params! {
    /// Constants of [`Iltcb`].
    pub enum IltcbPreset {
        /// psi = 100 and mu as in the analysis.
        Theory,
        /// psi = 1 and a tenth of mu.
        #[default]
        Practical,
    }
}

base! {
    /// Plays few policies of low regret and low variance, found by coordinate descent with an oracle.
    "iltcb": pub type Iltcb = PolicyBase<IltcbParams>;
    bound |self, setup| {
        // sqrt(K T ln N), constants and logarithms dropped
        Some(RegretBound::new((setup.actions() as f64 * self.policies.ln_size(setup)?).sqrt(), 0.5))
    };
    needs |self, setup| self.policies.needs(setup);
    params policies {
        /// Constants: theory (psi 100, mu as in the paper) or practical (psi 1, mu a tenth of it).
        preset: IltcbPreset = IltcbPreset::Practical;
        /// How little regret weighs against variance in (OP); auto: by the preset.
        psi: Setting = Setting::Auto, Bounds::POSITIVE;
        /// Multiplies the smoothing mu; auto: by the preset.
        mu_scale: Setting = Setting::Auto, SIZE;
        /// importance-weighted (the paper), or doubly-robust: around a ridge regression of the losses, with far
        /// less variance.
        estimates: Estimates = Estimates::ImportanceWeighted;
        /// Probability that the confidence of the analysis fails.
        delta: f64 = 0.05, Bounds::INSIDE_UNIT;
        /// Whether (OP) starts from the last solution instead of from nothing.
        warm_start: bool = false;
    } with only_restarts
}

/// Steps that one (OP) may take: only an oracle that approximates can need so many.
const CAP: u64 = 100_000;

impl IltcbParams {
    fn psi(&self) -> f64 {
        self.psi.or(|| if self.preset == IltcbPreset::Theory { 100.0 } else { 1.0 })
    }

    fn mu_scale(&self) -> f64 {
        self.mu_scale.or(|| if self.preset == IltcbPreset::Theory { 1.0 } else { 0.1 })
    }
}

/// What [`Iltcb`] has learned.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct IltcbState {
    sites: Sites,
    /// Rounds at each site.
    counts: Vec<f64>,
    /// Sums of v at each site and action.
    losses: Costs,
    estimator: Estimator,
    /// Q, without the weight that is left over.
    support: Vec<(Arc<Policy>, f64)>,
    /// Gets the weight that is left over.
    leader: Arc<Policy>,
    /// The smoothing of this epoch.
    mu: f64,
    /// The epoch ends when so many rounds are over.
    ends: u64,
}

/// Buffers of [`Iltcb`], and how (OP) was solved.
#[derive(Debug, Clone)]
pub struct IltcbWork {
    oracle: Workspace,
    /// q(a) at the context at hand.
    probabilities: Vec<f64>,
    /// v of the round at hand.
    estimates: Vec<f64>,
    info: OpInfo,
}

impl Iltcb {
    /// mu after `rounds` rounds.
    fn smoothing(&self, rounds: u64) -> f64 {
        let (k, t) = (self.actions() as f64, rounds as f64);
        let horizon = self.clock.tuned().unwrap_or(t.max(2.0));
        // d_tau = ln(16 tau^2 N/delta)
        let confidence = 16f64.ln() + 2.0 * t.ln() + self.class.ln_size(horizon) - self.rule.delta.ln();
        // mu_m = min(1/(2K), sqrt(rho d/(K tau_m)))                  the paper: ln(..) becomes rho ln(..)
        let mu = (self.clock.range * confidence / (k * t)).sqrt();
        (self.rule.mu_scale() * mu).min(0.5 / k)
    }

    /// Adds a round to the history.
    fn record(&mut self, round: Offer<'_>, seen: Option<Seen>) -> Result {
        let (k, v, state) = (self.actions(), &mut self.work.estimates, &mut self.state);
        v.fill(0.0);
        state.estimator.add(round.x, seen, v)?;
        // An action that is not offered costs what is played in its place.
        let stands_in = v[round.offered - 1];
        v[round.offered..].fill(stands_in);
        let site = state.sites.enter(round.x)?;
        state.counts.resize(state.sites.len(), 0.0);
        state.counts[site] += 1.0;
        let row = &mut state.losses.block(&state.sites)[site * k..(site + 1) * k];
        row.iter_mut().zip(v).for_each(|(sum, v)| *sum += *v);
        Ok(())
    }

    /// The end of an epoch: the leader, and Q as a solution of (OP).
    fn optimise(&mut self) -> Result {
        let rounds = self.clock.rounds;
        let mu = self.smoothing(rounds);
        let state = &self.state;
        let history = History {
            sites: &state.sites,
            counts: &state.counts,
            losses: &state.losses,
            rounds: rounds as f64,
        };
        let params = OpParams { mu, psi: self.rule.psi(), cap: CAP };
        let start: &[_] = if self.rule.warm_start { &state.support } else { &[] };
        let mut op = Op::new(history, &self.class, &mut self.work.oracle, params, start)?;
        self.work.info = op.solve()?;
        let leader = Arc::clone(&op.leader);
        let support = op.support.iter().map(|s| (Arc::clone(&s.policy), s.weight)).collect();
        (self.state.support, self.state.leader, self.state.mu) = (support, leader, mu);
        // tau_{m+1} = 2 tau_m
        while self.state.ends <= rounds {
            self.state.ends = self.state.ends.saturating_mul(2);
        }
        Ok(())
    }

    /// Q, without the weight that is left over, and the leader that gets it.
    pub fn support(&self) -> (&[(Arc<Policy>, f64)], &Policy) {
        (&self.state.support, &self.state.leader)
    }
}

impl IltcbState {
    /// Qtilde^mu(.|x) into `to`: the weight that is left over goes to the leader, and every action gets mu.
    fn distribution_at(&self, round: Offer<'_>, to: &mut [f64]) -> Result {
        to.fill(0.0);
        let mut left = 1.0;
        for (policy, weight) in &self.support {
            to[round.action(policy).ok_or_else(undefined::<IltcbParams>)?] += weight;
            left -= weight;
        }
        to[round.action(&self.leader).ok_or_else(undefined::<IltcbParams>)?] += f64::max(left, 0.0);
        let kept = 1.0 - to.len() as f64 * self.mu;
        to.iter_mut().for_each(|q| *q = kept * *q + self.mu);
        Ok(())
    }
}

impl PolicyRule for IltcbParams {
    type State = IltcbState;
    type Work = IltcbWork;

    fn work(&self, class: &PolicyClass, _: &Setup) -> Result<IltcbWork> {
        let zeros = || vec![0.0; class.reads().actions];
        let (oracle, info) = (Workspace::default(), OpInfo::default());
        Ok(IltcbWork { oracle, probabilities: zeros(), estimates: zeros(), info })
    }

    /// Q_0 = 0, mu_0 = 1/(2K), tau_1 = 1; the leader is what the oracle answers when nothing costs anything.
    fn fresh(&self, class: &PolicyClass, _: &IltcbWork) -> Result<IltcbState> {
        let reads = class.reads();
        let (sites, losses) = (Sites::new(reads), Costs::new(reads.actions));
        let leader = class.minimise(&sites, &losses, &mut Workspace::default())?.policy;
        let (counts, mu) = (vec![0.0; sites.len()], 0.5 / reads.actions as f64);
        let estimator = Estimator::new(self.estimates, &reads)?;
        Ok(IltcbState { sites, counts, losses, estimator, support: Vec::new(), leader, mu, ends: 1 })
    }

    fn tune(base: &mut Iltcb) -> Result {
        base.work.oracle.clear();
        base.work.info = OpInfo::default();
        Ok(())
    }

    fn propose(base: &mut Iltcb, round: Offer<'_>, rng: &mut dyn Rng) -> Result<Proposal<Arm>> {
        let q = &mut base.work.probabilities[..round.offered];
        base.state.distribution_at(round, q)?;
        let arm = sample_index(q, q.iter().sum(), rng)
            .ok_or_else(|| BaseError::Failed(String::from("iltcb has no probability left")))?;
        Ok(Proposal::with_memo(Arm::at(arm), Memo::one(q[arm])))
    }

    /// As `distribution_at`, for one action.
    fn likelihood(base: &Iltcb, round: Offer<'_>, arm: usize) -> Option<(f64, Memo)> {
        let state = &base.state;
        let (mut agreed, mut left) = (0.0, 1.0);
        for (policy, weight) in &state.support {
            agreed += if round.action(policy)? == arm { *weight } else { 0.0 };
            left -= weight;
        }
        agreed += if round.action(&state.leader)? == arm { f64::max(left, 0.0) } else { 0.0 };
        let k = round.offered;
        let q = if arm < k { (1.0 - k as f64 * state.mu) * agreed + state.mu } else { 0.0 };
        Some((q, Memo::one(q)))
    }

    fn learn(base: &mut Iltcb, round: Offer<'_>, played: Played<'_>) -> Result {
        // c'' = s c/Q(a)
        let Played { arm, feedback, .. } = played;
        let seen = |loss| -> Result<Seen> {
            Ok(Seen { arm, loss, weight: feedback.weight(), probability: played.probability()? })
        };
        base.record(round, feedback.observed().map(seen).transpose()?)
    }

    fn pass(base: &mut Iltcb, round: Offer<'_>) -> Result {
        base.record(round, None)
    }

    fn ticked(base: &mut Iltcb) -> Result {
        if base.clock.rounds >= base.state.ends { base.optimise() } else { Ok(()) }
    }

    fn restore(base: &Iltcb, state: &mut IltcbState, clock: &Clock) -> Result<(), SnapshotError> {
        let reads = base.class.reads();
        let estimator = Estimator::new(base.rule.estimates, &reads).map_err(SnapshotError::state)?;
        state.estimator.restore(&estimator)?;
        state.sites.valid(&reads)?;
        state.losses.valid(&state.sites)?;
        check_numbers("counts", &state.counts, state.sites.len())?;
        for policy in state.support.iter().map(|s| &s.0).chain([&state.leader]) {
            base.class.valid(policy)?;
        }
        let total: f64 = state.support.iter().map(|s| s.1).sum();
        let weights = state.support.iter().all(|s| s.1 >= 0.0) && total <= 1.0 + 1e-9;
        let counts = state.counts.iter().all(|c| *c >= 0.0)
            && state.counts.iter().sum::<f64>() == clock.rounds as f64
            && state.ends.is_power_of_two()
            && state.ends > clock.rounds;
        let mu = state.mu > 0.0 && state.mu <= 0.5 / reads.actions as f64;
        ensure(weights && counts && mu, "its weights or rounds do not add up")
    }
}

#[cfg(test)]
mod tests {
    use corral_core::uniform;
    use rand::SeedableRng;
    use rand_pcg::Pcg64Dxsm;

    use super::super::oracle_tests::world;
    use super::super::{TreeParams, TreeSearch};
    use super::*;

    fn setup() -> Setup {
        let mut setup = world(3, 0, Some(4));
        let table = |i: u16| Policy::Table(vec![i % 3, i / 3 % 3, i / 9 % 3, (i + 1) % 3]);
        setup.policies = Some((0..27).map(table).collect());
        setup.horizon = Some(10_000);
        setup
    }

    fn play(base: &mut Iltcb, rounds: usize, rng: &mut Pcg64Dxsm) {
        for _ in 0..rounds {
            let x = Context::tabular((uniform(rng) * 4.0) as usize, 3);
            let made = base.propose(&x, rng).unwrap();
            let mean = if made.decision.index() == x.cell().unwrap() % 3 { 0.2 } else { 0.6 };
            base.learn(&x, &made, Feedback::plain(f64::from(u8::from(uniform(rng) < mean)))).unwrap();
        }
    }

    #[test]
    fn mu_is_the_formula_and_epochs_double() {
        let mut base =
            IltcbParams { preset: IltcbPreset::Theory, ..IltcbParams::default() }.build(&setup()).unwrap();
        assert_eq!((base.state.mu, base.state.ends), (1.0 / 6.0, 1));
        let mut rng = Pcg64Dxsm::seed_from_u64(1);
        for (rounds, ends) in [(1, 2), (1, 4), (1, 4), (1, 8), (2044, 4096)] {
            play(&mut base, rounds, &mut rng);
            assert_eq!(base.state.ends, ends);
        }
        assert_eq!(base.clock.rounds, 2048);
        // mu = sqrt(rho ln(16 tau^2 N/delta)/(K tau))
        let mu = ((16.0 * 2048f64.powi(2) * 27.0 / 0.05).ln() / (3.0 * 2048.0)).sqrt();
        assert!((base.state.mu - mu).abs() < 1e-12);
        base.clock.range = 4.0;
        assert!((base.smoothing(2048) - 2.0 * mu).abs() < 1e-12);
        let practical = IltcbParams::default().build(&setup()).unwrap();
        assert!((practical.smoothing(2048) - 0.1 * mu).abs() < 1e-12);
        assert_eq!((practical.rule.psi(), practical.rule.mu_scale()), (1.0, 0.1));
    }

    #[test]
    fn a_proposal_has_at_least_mu_and_its_likelihood() {
        let mut base = IltcbParams::default().build(&setup()).unwrap();
        let mut rng = Pcg64Dxsm::seed_from_u64(2);
        play(&mut base, 1000, &mut rng);
        assert!(base.work.info.solved && !base.support().0.is_empty());
        for cell in 0..4 {
            let x = Context::tabular(cell, 3);
            let q: Vec<f64> = (0..3).map(|a| base.likelihood(&x, &Arm(a)).unwrap().0).collect();
            assert!((q.iter().sum::<f64>() - 1.0).abs() < 1e-12);
            assert!(q.iter().all(|q| *q >= base.state.mu * (1.0 - 1e-12)));
        }
    }

    #[test]
    fn rounds_that_were_not_seen_count_with_their_context() {
        let mut base = IltcbParams::default().build(&setup()).unwrap();
        let x = Context::tabular(2, 3);
        for _ in 0..5 {
            base.pass(&x).unwrap();
        }
        let made = base.propose(&x, &mut Pcg64Dxsm::seed_from_u64(0)).unwrap();
        base.learn(&x, &made, Feedback::unseen()).unwrap();
        assert_eq!(base.state.counts, [0.0, 0.0, 6.0, 0.0]);
        assert_eq!((base.clock.rounds, base.state.ends), (6, 8));
        assert!(base.state.losses.dense().iter().all(|v| *v == 0.0));
    }

    #[test]
    fn the_estimate_is_unbiased_seen_or_not() {
        // The mean of v over 100,000 draws of one epoch against the true losses; four standard errors per action:
        // false alarms below 2 * 3 * 6.4e-5 = 4e-4.
        let truth = [0.9, 0.3, 0.6];
        for p in [1.0, 0.125] {
            let mut base = IltcbParams::default().build(&setup()).unwrap();
            base.apply_order(Order::Widen { range: 8.0, remaining: None }).unwrap();
            let mut rng = Pcg64Dxsm::seed_from_u64(9);
            play(&mut base, 131_072, &mut rng);
            let x = Context::tabular(1, 3);
            let before = base.state.losses.dense()[3..6].to_vec();
            let mut squares = [0.0; 3];
            let draws = 100_000;
            for _ in 0..draws {
                let made = base.propose(&x, &mut rng).unwrap();
                let (a, seen) = (made.decision.index(), uniform(&mut rng) < p);
                let feedback = if seen { Feedback::new(truth[a], 1.0 / p) } else { Feedback::unseen() };
                squares[a] += (feedback.estimate() / made.memo.get(0).unwrap()).powi(2);
                base.learn(&x, &made, feedback).unwrap();
            }
            for a in 0..3 {
                let n = f64::from(draws);
                let mean = (base.state.losses.dense()[3 + a] - before[a]) / n;
                let se = ((squares[a] / n - mean * mean) / n).sqrt();
                assert!((mean - truth[a]).abs() <= 4.0 * se, "p {p} action {a}: {mean} +- {se}");
            }
        }
    }

    #[test]
    fn warm_and_cold_starts_both_learn() {
        for warm_start in [false, true] {
            let mut base = IltcbParams { warm_start, ..IltcbParams::default() }.build(&setup()).unwrap();
            play(&mut base, 4096, &mut Pcg64Dxsm::seed_from_u64(3));
            assert!(base.work.info.solved);
            // Action x mod 3 is right in context x; of 27 policies the best are right in contexts 1 and 2, and in one
            // of 0 and 3.
            let leader = base.support().1;
            let right = |x: usize| leader.act(&Context::tabular(x, 3)) == Some(x % 3);
            assert!(right(1) && right(2) && (right(0) || right(3)), "warm {warm_start}: {leader:?}");
        }
    }

    #[test]
    fn over_trees_with_an_exact_oracle_it_solves_its_problem() {
        let trees = TreeParams { depth: 2, bins: 5, search: TreeSearch::Exact, ..TreeParams::default() };
        let params = IltcbParams { policies: Policies::Trees(trees), ..IltcbParams::default() };
        let mut base = params.build(&world(2, 2, None)).unwrap();
        let mut rng = Pcg64Dxsm::seed_from_u64(4);
        for _ in 0..512 {
            let x = Context::shared(vec![uniform(&mut rng), uniform(&mut rng)], 2);
            let made = base.propose(&x, &mut rng).unwrap();
            let right = usize::from((x.features()[0] > 0.5) != (x.features()[1] > 0.5));
            let loss = if made.decision.index() == right { 0.0 } else { 1.0 };
            base.learn(&x, &made, Feedback::plain(loss)).unwrap();
        }
        assert!(base.work.info.solved, "{:?}", base.work.info);
        // The exclusive or was found.
        let right = |a: f64, b: f64| base.support().1.act(&Context::shared(vec![a, b], 2));
        let quadrants = [right(0.1, 0.1), right(0.1, 0.9), right(0.9, 0.1), right(0.9, 0.9)];
        assert_eq!(quadrants, [Some(0), Some(1), Some(1), Some(0)]);
    }

    #[test]
    fn a_snapshot_that_cannot_be_is_refused() {
        let mut base = IltcbParams::default().build(&setup()).unwrap();
        play(&mut base, 600, &mut Pcg64Dxsm::seed_from_u64(5));
        let mut other = base.clone();
        for break_it in [
            (|s: &mut Iltcb| s.state.mu = 0.5) as fn(&mut Iltcb),
            |s| s.state.mu = f64::NAN,
            |s| s.state.support[0].1 = -0.1,
            |s| s.state.support[0].1 = 1.5,
            |s| s.state.support[0].0 = Arc::new(Policy::Table(vec![0, 0, 0, 2])),
            |s| s.state.leader = Arc::new(Policy::Table(vec![3, 0, 0, 0])),
            |s| s.state.counts[0] += 1.0,
            |s| s.state.counts.truncate(2),
            |s| s.state.ends = 512,
            |s| s.state.ends = 1000,
            |s| s.state.losses = Costs::new(2),
        ] {
            let mut broken = base.clone();
            break_it(&mut broken);
            assert!(matches!(other.load(&broken.save()), Err(BaseError::Snapshot(_))));
        }
        assert!(other.load(&base.save()).is_ok());
    }
}
