//! Thompson sampling: a mean vector is drawn from the posterior, and its best arm is played.
//!
//! Thompson 1933; Russo, Van Roy 2016 for the bound sqrt(T K H(q)/2) when the prior is true, q the distribution of the
//! best arm. Weakly stable with alpha = 1/2 (the paper's lemma on Thompson sampling, appendix D.3): the posterior
//! moves only in rounds that were seen, with the observed loss. The range enters no formula.

use std::cell::RefCell;

use corral_core::Prior;

use super::carried::Carried;
use super::posterior::Posterior;
use super::prelude::*;
use crate::winner::Winner;

base! {
    /// Plays the best arm of a mean vector drawn from the posterior.
    "thompson": pub type Thompson = ArmBase<ThompsonParams>;
    // sqrt(T K H(q)), H(q) <= ln K
    sqrt_bound |world| (world.k * world.k.max(2.0).ln()).sqrt();
    params {
        /// The prior family: beta, gaussian, correlated, finite, particles or one-good-arm; lists of one number
        /// stand for all arms.
        prior: Prior = Prior::default();
        /// Beta and Bernoulli families: a loss c strictly between 0 and 1 counts as c of a loss; else as a
        /// whole one with probability c.
        fractional: bool = false;
        /// What a larger range does: keep the posterior, or restart from the prior (as in the theorem).
        range_change: RangeChange = RangeChange::Keep;
    } with [RangeChange::LAZY]
}

/// What [`Thompson`] has learned.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct ThompsonState {
    posterior: Posterior,
    /// The probabilities of the arms where they are independent.
    carried: Option<Carried>,
    /// Those that are not carried, while they are those of the posterior.
    #[serde(skip)]
    best: RefCell<Vec<f64>>,
    #[serde(skip)]
    winner: RefCell<Winner>,
}

impl ArmRule for ThompsonParams {
    type State = ThompsonState;
    const HORIZON: bool = false;

    fn fresh(&self, now: &Now) -> Result<ThompsonState> {
        let posterior = Posterior::new(&self.prior, now.actions)?;
        let carried = Carried::new(now.actions, |arm| posterior.law(arm));
        Ok(ThompsonState { posterior, carried, best: RefCell::default(), winner: RefCell::default() })
    }

    fn takes_offers(&self) -> bool {
        true
    }

    fn part(&self, state: &ThompsonState, _: &Now, numbers: &[u32]) -> Option<ThompsonState> {
        let posterior = state.posterior.part(numbers);
        Some(ThompsonState { posterior, carried: None, best: RefCell::default(), winner: RefCell::default() })
    }

    /// The memo is a number uniform in [0, 1), drawn before the loss is known: a loss c counts as a whole one when it
    /// is below c.
    fn propose(&self, state: &mut ThompsonState, now: &Now, rng: &mut dyn Rng) -> Result<Proposal<Arm>> {
        let arm = Arm::at(state.posterior.sample_best(now.offered, rng));
        if state.posterior.is_redrawn() {
            state.best.get_mut().clear();
        }
        let whole = state.posterior.is_bernoulli() && !self.fractional;
        Ok(Proposal::with_memo(arm, if whole { Memo::one(uniform(rng)) } else { Memo::empty() }))
    }

    fn likelihood(&self, state: &ThompsonState, now: &Now, arm: usize) -> Option<(f64, Memo)> {
        let carried = state.carried.as_ref().filter(|_| now.offered == now.actions);
        if let Some(p) = carried.and_then(|carried| carried.lowest(arm)) {
            return Some((p, Memo::empty()));
        }
        let mut best = state.best.try_borrow_mut().ok()?;
        if best.len() != now.offered {
            let mut winner = state.winner.try_borrow_mut().ok()?;
            let found = state.posterior.best(now.offered, &mut winner);
            best.clear();
            best.extend_from_slice(&found);
        }
        Some((best[arm], Memo::empty()))
    }

    fn learn(&self, state: &mut ThompsonState, _: &Now, Round { played, .. }: Round<'_>) -> Result {
        if let Some(loss) = played.feedback.observed() {
            // Decisions of others come without a memo, and count fractionally.
            let counted = match played.memo.get(0) {
                Some(u) if loss > 0.0 && loss < 1.0 => f64::from(u < loss),
                _ => loss,
            };
            let ThompsonState { posterior, carried, best, .. } = state;
            posterior.learn(played.arm, counted);
            best.get_mut().clear();
            if let Some(carried) = carried {
                let whole = posterior.is_bernoulli() && (counted == 0.0 || counted == 1.0);
                carried.changed(played.arm, whole.then_some(counted == 1.0), |arm| posterior.law(arm));
            }
        }
        Ok(())
    }

    fn restore(&self, state: &mut ThompsonState, now: &Now) -> Result<(), SnapshotError> {
        state.posterior.restore(&self.prior, now.actions)?;
        let ThompsonState { posterior, carried, .. } = state;
        ensure(carried.is_some() == posterior.law(0).is_some(), "probabilities that are not carried")?;
        carried.as_mut().map_or(Ok(()), |carried| carried.restore(now.actions, |arm| posterior.law(arm)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use corral_core::prior::Noise;
    use rand::SeedableRng;
    use rand_pcg::Pcg64Dxsm;

    fn priors() -> Vec<Prior> {
        vec![
            Prior::default(),
            Prior::Gaussian { mean: vec![0.5], variance: vec![0.04], noise: 0.25 },
            Prior::Correlated {
                mean: vec![0.5],
                covariance: vec![vec![0.04, 0.03, 0.0], vec![0.03, 0.05, -0.01], vec![0.0, -0.01, 0.02]],
                noise: 0.25,
            },
            Prior::Finite {
                weights: vec![1.0, 3.0],
                means: vec![vec![0.1, 0.9, 0.5], vec![0.5, 0.2, 0.7]],
                noise: Noise::Bernoulli,
            },
            Prior::Particles {
                means: (0..20).map(|i| vec![0.02 * f64::from(i), 0.5, 1.0 - 0.04 * f64::from(i)]).collect(),
                noise: Noise::Gaussian(0.25),
            },
            Prior::OneGoodArm { probabilities: vec![1.0], gap: 0.3 },
        ]
    }

    #[test]
    fn weight_zero_does_not_move_the_posterior() {
        let mut rng = Pcg64Dxsm::seed_from_u64(2);
        let posterior = |base: &Thompson| seal("posterior", &(), &base.state.posterior);
        for prior in priors() {
            let params = ThompsonParams { prior, ..ThompsonParams::default() };
            let mut base = params.build(&Setup::arms(3, None)).unwrap();
            for round in 0..50 {
                let made = base.propose(&(), &mut rng).unwrap();
                let before = posterior(&base);
                base.learn(&(), &made, Feedback::unseen()).unwrap();
                assert_eq!(posterior(&base), before);
                base.learn(&(), &made, Feedback::plain(f64::from(round % 2))).unwrap();
                assert_ne!(posterior(&base), before);
            }
            assert_eq!(base.clock.rounds, 100);
        }
    }

    #[test]
    fn the_beta_posterior_counts() {
        let mut base = ThompsonParams::default().build(&Setup::arms(2, None)).unwrap();
        for (arm, loss) in [(0, 1.0), (0, 0.0), (0, 0.0), (1, 1.0)] {
            base.learn(&(), &Proposal::with_memo(Arm(arm), Memo::one(0.3)), Feedback::plain(loss)).unwrap();
        }
        assert_eq!(base.state.posterior.beta_parameters(), Some((&[2.0, 2.0][..], &[3.0, 1.0][..])));
        // A loss between: whole with probability c by the memo, in parts without one.
        base.learn(&(), &Proposal::with_memo(Arm(1), Memo::one(0.3)), Feedback::plain(0.4)).unwrap();
        assert_eq!(base.state.posterior.beta_parameters(), Some((&[2.0, 3.0][..], &[3.0, 1.0][..])));
        base.learn(&(), &Proposal::new(Arm(0)), Feedback::plain(0.25)).unwrap();
        assert_eq!(base.state.posterior.beta_parameters(), Some((&[2.25, 3.0][..], &[3.75, 1.0][..])));
    }

    #[test]
    fn proposals_follow_the_probability_of_being_best() {
        // 20,000 draws against the exact probability; 5 standard errors, false alarms below 1e-5.
        let mut rng = Pcg64Dxsm::seed_from_u64(4);
        let two = Prior::Gaussian { mean: vec![0.5, 0.45], variance: vec![0.04], noise: 0.25 };
        for (prior, arms) in [(priors().remove(3), 3), (priors().remove(5), 3), (two, 2)] {
            let params = ThompsonParams { prior, ..ThompsonParams::default() };
            let mut base = params.build(&Setup::arms(arms, None)).unwrap();
            base.learn(&(), &Proposal::new(Arm(1)), Feedback::plain(1.0)).unwrap();
            let n = 20_000;
            let mut counts = vec![0.0; arms];
            for _ in 0..n {
                counts[base.propose(&(), &mut rng).unwrap().decision.index()] += 1.0;
            }
            let mut total = 0.0;
            for (arm, count) in counts.iter().enumerate() {
                let (p, _) = Base::<(), Arm>::likelihood(&base, &(), &Arm::at(arm)).unwrap();
                total += p;
                assert!(
                    (count / f64::from(n) - p).abs() <= 5.0 * (p * (1.0 - p) / f64::from(n)).sqrt() + 1e-9
                );
            }
            assert!((total - 1.0).abs() < 1e-9);
        }
    }
}
