//! Epoch-Greedy: explore uniformly, then follow the cheapest policy.
//!
//! Langford, Zhang 2008. Stochastic contexts and losses. Weakly stable with alpha = 1/3 (the paper's lemma
//! on Epoch-Greedy, appendix D.1).
//! - `first`, as in the paper's proof: T0 = T^(2/3) rho^(1/3) sqrt(K ln(T N)) uniform rounds, one call of the oracle,
//!   then that policy for ever. Regret O(T^(2/3) sqrt(K ln(T N))).
//! - `epochs`: one uniform round, then S(l) = sqrt(l/(rho K ln(T N))) rounds with the policy that is cheapest on all
//!   exploration so far. Regret O((K ln(T N))^(1/3) T^(2/3)); the horizon need not be known.
//!
//! Rounds in which the base was not asked count, as in E'. An exploration whose loss arrives after `first` has chosen
//! its policy is ignored.

use super::prelude::*;

corral_core::params! {
    /// Which Epoch-Greedy.
    pub enum EpochGreedyVariant {
        /// All exploration comes first, as in the paper.
        #[default]
        First,
        /// One exploration at the beginning of every epoch.
        Epochs,
    }
}

base! {
    /// Explores uniformly, then follows the cheapest policy.
    "epoch-greedy": pub type EpochGreedy = PolicyBase<EpochGreedyParams>;
    needs_horizon |self| self.variant == EpochGreedyVariant::First;
    needs |self, setup| {
        if self.needs_horizon() && setup.horizon.is_none() {
            return Some("a known horizon, or variant = \"epochs\"");
        }
        self.policies.needs(setup)
    };
    bound |self, setup| {
        // T^(2/3) sqrt(K ln(T N)), the paper's T0
        let ln = bound_horizon(setup).ln() + self.policies.ln_size(setup)?;
        let scale = (setup.actions() as f64 * ln).sqrt();
        Some(RegretBound { scale, exponent: 2.0 / 3.0, alpha: 1.0 / 3.0 })
    };
    params policies {
        /// Explore first (the paper; needs the horizon), or in epochs of one exploration each.
        variant: EpochGreedyVariant = EpochGreedyVariant::First;
        /// Multiplies the rounds of exploration T0 (first), or divides those of exploitation S(l) (epochs).
        scale: f64 = 1.0, Bounds::POSITIVE;
        /// What a larger range does: restart (the paper), or retune the schedule and keep the examples.
        range_change: RangeChange = RangeChange::Restart;
    } with [RangeChange::TUNED]
}

/// What [`EpochGreedy`] has learned.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct EpochGreedyState {
    sites: Sites,
    costs: Costs,
    /// The policy that is followed, once there is one.
    policy: Option<Arc<Policy>>,
    /// l, the rounds of exploration that are over.
    explored: u64,
    /// Rounds of exploitation that this epoch still has (epochs).
    left: u64,
    /// The oracle is called again when so many rounds of exploration are over (epochs).
    solve_at: u64,
}

impl EpochGreedy {
    /// ln(T N); where the horizon is not known, ln(l N/delta) with delta = 0.05.
    fn ln_terms(&self) -> f64 {
        let explored = self.state.explored.max(1) as f64;
        let horizon = self.clock.tuned().unwrap_or(explored / 0.05);
        horizon.ln() + self.class.ln_size(horizon)
    }

    /// T0, the rounds of exploration of `first`.
    fn explore_first(&self) -> u64 {
        let (k, range) = (self.actions() as f64, self.clock.range);
        let horizon = self.clock.tuned().unwrap_or(2.0);
        // T0 = T^(2/3) rho^(1/3) sqrt(K ln(T N)), at most T                 the paper, appendix D.1
        let rounds = self.rule.scale * horizon.powf(2.0 / 3.0) * range.cbrt() * (k * self.ln_terms()).sqrt();
        rounds.min(horizon).max(1.0) as u64
    }

    /// S(l), the rounds of exploitation of an epoch.
    fn exploit(&self) -> u64 {
        let (k, range) = (self.actions() as f64, self.clock.range);
        // S(l) = sqrt(l/(rho K ln(T N))): one over the excess risk after l explorations   docs/bases.md#epoch-greedy
        let rounds = (self.state.explored as f64 / (range * k * self.ln_terms())).sqrt() / self.rule.scale;
        rounds.max(1.0) as u64
    }

    /// Whether the next round is exploration.
    pub fn explores(&self) -> bool {
        match self.rule.variant {
            EpochGreedyVariant::First => self.state.policy.is_none(),
            EpochGreedyVariant::Epochs => self.state.left == 0,
        }
    }

    /// The policy that is followed, once there is one.
    pub fn policy(&self) -> Option<&Policy> {
        self.state.policy.as_deref()
    }

    fn solve(&mut self) -> Result {
        let found = self.class.minimise(&self.state.sites, &self.state.costs, &mut self.work)?;
        self.state.policy = Some(found.policy);
        Ok(())
    }
}

/// The memo of a proposal: its probability, and whether it explored.
fn memo(probability: f64, explored: bool) -> Memo {
    Memo::from(&[probability, f64::from(u8::from(explored))][..])
}

impl PolicyRule for EpochGreedyParams {
    type State = EpochGreedyState;
    type Work = Workspace;

    fn work(&self, _: &PolicyClass, _: &Setup) -> Result<Workspace> {
        Ok(Workspace::default())
    }

    fn fresh(&self, class: &PolicyClass, _: &Workspace) -> Result<EpochGreedyState> {
        let reads = class.reads();
        let (sites, costs) = (Sites::new(reads), Costs::new(reads.actions));
        Ok(EpochGreedyState { sites, costs, policy: None, explored: 0, left: 0, solve_at: 1 })
    }

    fn tune(base: &mut EpochGreedy) -> Result {
        base.work.clear();
        Ok(())
    }

    fn propose(base: &mut EpochGreedy, round: Offer<'_>, rng: &mut dyn Rng) -> Result<Proposal<Arm>> {
        // One draw whatever the phase, so that runs stay coupled.
        let (k, draw) = (round.offered, uniform(rng));
        if base.explores() {
            let arm = ((draw * k as f64) as usize).min(k - 1);
            return Ok(Proposal::with_memo(Arm::at(arm), memo(1.0 / k as f64, true)));
        }
        let arm = base.policy().and_then(|policy| round.action(policy)).ok_or_else(undefined::<Self>)?;
        Ok(Proposal::with_memo(Arm::at(arm), memo(1.0, false)))
    }

    fn likelihood(base: &EpochGreedy, round: Offer<'_>, arm: usize) -> Option<(f64, Memo)> {
        let (k, explores) = (round.offered, base.explores());
        let q = match explores {
            true => f64::from(u8::from(arm < k)) / k as f64,
            false => f64::from(u8::from(round.action(base.policy()?)? == arm)),
        };
        Some((q, memo(q, explores)))
    }

    fn learn(base: &mut EpochGreedy, round: Offer<'_>, played: Played<'_>) -> Result {
        let explored = played.memo.get(1) == Some(1.0);
        let late = base.rule.needs_horizon() && base.state.policy.is_some();
        if let Some(loss) = played.feedback.observed().filter(|_| explored && !late) {
            // c'' = s c/q with q = 1/K
            let weight = played.feedback.weight() / played.probability()?;
            if loss > 0.0 || base.class.learns_from_zeros() {
                let actions = round.played_as(played.arm, base.actions());
                let EpochGreedyState { sites, costs, .. } = &mut base.state;
                let site = sites.enter(round.x)?;
                actions.for_each(|action| costs.observe(sites, site, action, weight, loss));
            }
        }
        Ok(())
    }

    fn ticked(base: &mut EpochGreedy) -> Result {
        match base.rule.variant {
            EpochGreedyVariant::First => {
                if base.state.policy.is_none() {
                    base.state.explored += 1;
                    if base.clock.rounds >= base.explore_first() {
                        base.solve()?;
                    }
                }
            }
            EpochGreedyVariant::Epochs if base.state.left > 0 => base.state.left -= 1,
            EpochGreedyVariant::Epochs => {
                base.state.explored += 1;
                if base.state.explored >= base.state.solve_at {
                    base.solve()?;
                    // Oracles that start over are called when the examples have grown by a quarter.
                    let wait = if base.class.is_incremental() { 1 } else { (base.state.explored / 4).max(1) };
                    base.state.solve_at = base.state.explored + wait;
                }
                base.state.left = base.exploit();
            }
        }
        Ok(())
    }

    fn restore(base: &EpochGreedy, state: &mut EpochGreedyState, clock: &Clock) -> Result<(), SnapshotError> {
        state.sites.valid(&base.class.reads())?;
        state.costs.valid(&state.sites)?;
        if let Some(policy) = &state.policy {
            base.class.valid(policy)?;
        }
        let followed = base.rule.needs_horizon() || state.left == 0 || state.policy.is_some();
        ensure(followed && state.explored <= clock.rounds, "its rounds do not add up")
    }
}

#[cfg(test)]
mod tests {
    use rand::SeedableRng;
    use rand_pcg::Pcg64Dxsm;

    use super::super::oracle_tests::world;
    use super::*;

    fn setup(horizon: u64) -> Setup {
        let mut setup = world(2, 0, Some(2));
        setup.horizon = Some(horizon);
        let table = |i: u16| Policy::Table(vec![i % 2, i / 2]);
        setup.policies = Some((0..4).map(table).collect());
        setup
    }

    /// Plays a world where action `x` is right in context `x`; returns which rounds explored.
    fn play(base: &mut EpochGreedy, rounds: u64) -> Vec<bool> {
        let mut rng = Pcg64Dxsm::seed_from_u64(3);
        let mut explored = Vec::new();
        for round in 0..rounds {
            let x = Context::tabular(round as usize % 2, 2);
            explored.push(base.explores());
            let made = base.propose(&x, &mut rng).unwrap();
            let wrong = made.decision.index() != round as usize % 2;
            base.learn(&x, &made, Feedback::plain(f64::from(u8::from(wrong)))).unwrap();
        }
        explored
    }

    #[test]
    fn first_explores_as_long_as_the_paper_says_and_then_never() {
        for range in [1.0, 8.0] {
            let mut base = EpochGreedyParams::default().build(&setup(100_000)).unwrap();
            base.apply_order(Order::Widen { range, remaining: Some(100_000) }).unwrap();
            // T0 = T^(2/3) rho^(1/3) sqrt(K ln(T N))
            let t0 = 100_000f64.powf(2.0 / 3.0) * range.cbrt() * (2.0 * 400_000f64.ln()).sqrt();
            assert_eq!(base.explore_first(), t0 as u64);
            let explored = play(&mut base, t0 as u64 + 100);
            assert!(explored[..t0 as usize].iter().all(|e| *e));
            assert!(!explored[t0 as usize..].iter().any(|e| *e));
            assert_eq!(base.policy(), Some(&Policy::Table(vec![0, 1])));
        }
        let short = EpochGreedyParams::default().build(&setup(3)).unwrap();
        assert_eq!(short.explore_first(), 3);
    }

    #[test]
    fn rounds_that_were_not_seen_count_as_exploration() {
        let mut base = EpochGreedyParams::default().build(&setup(100_000)).unwrap();
        let x = Context::tabular(0, 2);
        for _ in 0..base.explore_first() {
            assert!(base.explores());
            base.pass(&x).unwrap();
        }
        assert!(!base.explores());
        // Nothing was seen: the first policy.
        assert_eq!(base.policy(), Some(&Policy::Table(vec![0, 0])));
    }

    #[test]
    fn epochs_explore_once_each_and_grow() {
        let params = EpochGreedyParams {
            variant: EpochGreedyVariant::Epochs,
            scale: 0.1,
            ..EpochGreedyParams::default()
        };
        let mut base = params.build(&setup(2000)).unwrap();
        let explored = play(&mut base, 2000);
        // The rounds between explorations are S(l) = 10 sqrt(l/(K ln(T N))), at least 1.
        let mut at = 0;
        for epoch in 1.. {
            assert!(explored[at], "epoch {epoch} begins at {at}");
            let s = (10.0 * (f64::from(epoch) / (2.0 * 8000f64.ln())).sqrt()).max(1.0) as usize;
            let end = (at + 1 + s).min(explored.len());
            assert!(!explored[at + 1..end].iter().any(|e| *e), "epoch {epoch}");
            at = end;
            if at == explored.len() {
                break;
            }
        }
        assert_eq!(base.policy(), Some(&Policy::Table(vec![0, 1])));
    }

    #[test]
    fn an_unknown_horizon_is_for_epochs() {
        let mut setup = setup(10);
        setup.horizon = None;
        assert!(EpochGreedyParams::default().build(&setup).is_err());
        let params =
            EpochGreedyParams { variant: EpochGreedyVariant::Epochs, ..EpochGreedyParams::default() };
        let mut base = params.build(&setup).unwrap();
        assert!(play(&mut base, 500).iter().filter(|e| **e).count() < 300);
    }

    #[test]
    fn a_snapshot_that_cannot_be_is_refused() {
        let mut base = EpochGreedyParams::default().build(&setup(50)).unwrap();
        play(&mut base, 20);
        let mut other = base.clone();
        for break_it in [
            (|s: &mut EpochGreedy| s.state.explored = 21) as fn(&mut EpochGreedy),
            |s| s.clock.horizon = None,
            |s| s.state.policy = Some(Arc::new(Policy::Table(vec![0, 2]))),
            |s| s.state.costs = Costs::new(3),
        ] {
            let mut broken = base.clone();
            break_it(&mut broken);
            assert!(matches!(other.load(&broken.save()), Err(BaseError::Snapshot(_))));
        }
        assert!(other.load(&base.save()).is_ok());
    }
}
