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
use crate::law::Law;
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
    carried: Kept,
    /// Those that are not carried, while they are those of the posterior.
    #[serde(skip)]
    best: RefCell<Vec<f64>>,
    #[serde(skip)]
    winner: RefCell<Winner>,
    /// The posterior of the arms with these numbers alone, where arms are independent: as if it were selected afresh.
    #[serde(skip)]
    part: Option<(Vec<u32>, Posterior)>,
}

/// The probabilities that are carried along, where arms are independent.
#[derive(Debug, Clone, Serialize, Deserialize)]
enum Kept {
    Nothing,
    /// In rounds that offer all arms.
    All(Carried),
    /// In those too, and in rounds that offer the arms with these numbers, which the last one that was learned did; carried
    /// if the one before did too.
    Among {
        all: Carried,
        numbers: Vec<u32>,
        some: Option<Box<Carried>>,
    },
}

impl Kept {
    fn all(&self) -> Option<&Carried> {
        match self {
            Self::Nothing => None,
            Self::All(all) | Self::Among { all, .. } => Some(all),
        }
    }

    /// What is carried for rounds that offer these arms.
    fn among(&self, offer: &[u32]) -> Option<&Carried> {
        match self {
            Self::Among { numbers, some, .. } if numbers == offer => some.as_deref(),
            _ => None,
        }
    }

    /// The law of `arm` has changed: see [`Carried::changed`].
    fn changed(&mut self, arm: usize, whole: Option<bool>, law: impl Fn(usize) -> Option<Law>) {
        let (Self::All(all) | Self::Among { all, .. }) = self else { return };
        all.changed(arm, whole, &law);
        if let Self::Among { numbers, some: Some(some), .. } = self
            && let Ok(place) = numbers.binary_search(&(arm as u32))
        {
            some.changed(place, whole, |place| law(numbers[place] as usize));
        }
    }

    /// A round that offered these arms was learned.
    fn offered(&mut self, offer: &[u32], law: impl Fn(usize) -> Option<Law>) {
        match self {
            Self::Among { numbers, some, .. } if numbers == offer => {
                let anew = || Carried::new(offer.len(), |place| law(offer[place] as usize)).map(Box::new);
                *some = some.take().or_else(anew);
            }
            Self::Among { numbers, some, .. } => {
                (*numbers, *some) = (offer.to_vec(), None);
            }
            Self::All(_) => {
                if let Self::All(all) = std::mem::replace(self, Self::Nothing) {
                    *self = Self::Among { all, numbers: offer.to_vec(), some: None };
                }
            }
            Self::Nothing => {}
        }
    }
}

impl ThompsonState {
    fn new(posterior: Posterior, carried: Kept) -> Self {
        Self { posterior, carried, best: RefCell::default(), winner: RefCell::default(), part: None }
    }
}

impl ArmRule for ThompsonParams {
    type State = ThompsonState;
    const HORIZON: bool = false;

    fn fresh(&self, now: &Now) -> Result<ThompsonState> {
        let posterior = Posterior::new(&self.prior, now.actions)?;
        let carried = Carried::new(now.actions, |arm| posterior.law(arm)).map_or(Kept::Nothing, Kept::All);
        Ok(ThompsonState::new(posterior, carried))
    }

    fn takes_offers(&self) -> bool {
        true
    }

    fn part(&self, state: &ThompsonState, _: &Now, numbers: &[u32]) -> Option<ThompsonState> {
        Some(ThompsonState::new(state.posterior.part(numbers), Kept::Nothing))
    }

    fn propose_among(
        &self,
        state: &mut ThompsonState,
        now: &Now,
        numbers: &[u32],
        rng: &mut dyn Rng,
    ) -> Result<Proposal<Arm>> {
        if state.part.as_ref().is_none_or(|(of, _)| of != numbers) {
            state.part = Some((numbers.to_vec(), state.posterior.part(numbers)));
        }
        let ThompsonState { posterior, part: Some((_, part)), .. } = state else {
            return self.propose(state, now, rng);
        };
        let made = self.draw(part, now, rng);
        // A draw may have changed it, and a loss of one arm changes all.
        if posterior.law(0).is_none() {
            state.part = None;
        }
        Ok(made)
    }

    fn likelihood_among(
        &self,
        state: &ThompsonState,
        now: &Now,
        numbers: &[u32],
        place: usize,
    ) -> Option<(f64, Memo)> {
        let all = state.carried.all().filter(|_| numbers.len() == now.actions);
        if let Some(p) =
            all.or_else(|| state.carried.among(numbers)).and_then(|carried| carried.lowest(place))
        {
            return Some((p, Memo::empty()));
        }
        self.likelihood(&self.part(state, now, numbers)?, now, place)
    }

    /// The memo is a number uniform in [0, 1), drawn before the loss is known: a loss c counts as a whole one when it
    /// is below c.
    fn propose(&self, state: &mut ThompsonState, now: &Now, rng: &mut dyn Rng) -> Result<Proposal<Arm>> {
        let made = self.draw(&mut state.posterior, now, rng);
        if state.posterior.is_redrawn() {
            state.best.get_mut().clear();
        }
        Ok(made)
    }

    fn likelihood(&self, state: &ThompsonState, now: &Now, arm: usize) -> Option<(f64, Memo)> {
        let carried = state.carried.all().filter(|_| now.offered == now.actions);
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

    fn learn(&self, state: &mut ThompsonState, now: &Now, round: Round<'_>) -> Result {
        let played = round.played;
        if let Some(loss) = played.feedback.observed() {
            // Decisions of others come without a memo, and count fractionally.
            let counted = match played.memo.get(0) {
                Some(u) if loss > 0.0 && loss < 1.0 => f64::from(u < loss),
                _ => loss,
            };
            let ThompsonState { posterior, carried, best, part, .. } = state;
            posterior.learn(played.arm, counted);
            best.get_mut().clear();
            if let Some((numbers, part)) = part
                && let Ok(place) = numbers.binary_search(&(played.arm as u32))
            {
                part.learn(place, counted);
            }
            let whole = posterior.is_bernoulli() && (counted == 0.0 || counted == 1.0);
            carried.changed(played.arm, whole.then_some(counted == 1.0), |arm| posterior.law(arm));
            if let Some(numbers) = round.numbers.filter(|numbers| numbers.len() < now.actions) {
                carried.offered(numbers, |arm| posterior.law(arm));
            }
        }
        Ok(())
    }

    fn restore(&self, state: &mut ThompsonState, now: &Now) -> Result<(), SnapshotError> {
        let arms = now.actions;
        state.posterior.restore(&self.prior, arms)?;
        let ThompsonState { posterior, carried, .. } = state;
        ensure(carried.all().is_some() == posterior.law(0).is_some(), "probabilities that are not carried")?;
        if let Kept::All(all) | Kept::Among { all, .. } = carried {
            all.restore(arms, |arm| posterior.law(arm))?;
        }
        if let Kept::Among { numbers, some, .. } = carried {
            let sound = numbers.is_sorted_by(|a, b| a < b)
                && numbers.last().is_some_and(|last| (*last as usize) < arms);
            ensure(sound && numbers.len() < arms, "an offer of arms that there are not")?;
            if let Some(some) = some {
                some.restore(numbers.len(), |place| posterior.law(numbers[place] as usize))?;
            }
        }
        Ok(())
    }
}

impl ThompsonParams {
    fn draw(&self, posterior: &mut Posterior, now: &Now, rng: &mut dyn Rng) -> Proposal<Arm> {
        let arm = Arm::at(posterior.sample_best(now.offered, rng));
        let whole = posterior.is_bernoulli() && !self.fractional;
        Proposal::with_memo(arm, if whole { Memo::one(uniform(rng)) } else { Memo::empty() })
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

    /// What is carried for an offer is never seen: decisions are those of the posterior selected afresh, to the last bit, and
    /// probabilities those that are computed afresh. The offer stays, changes now and then, or in every round.
    #[test]
    fn what_is_carried_for_an_offer_is_that_of_the_offered_arms() {
        type Mask = fn(usize) -> u32;
        let pick = |mask: u32| (0..6).filter(|arm| mask >> arm & 1 == 1).collect::<Vec<u32>>();
        let offers: [(Mask, bool); 4] = [
            (|_| 0b01_1111, true),
            (|t| if t < 400 { 0b11_0101 } else { 0b11_1110 }, true),
            (|t| if t % 50 < 10 { 0b11_1111 } else { 0b10_1101 }, true),
            (|t| [0b00_0111, 0b11_1000, 0b10_1010][t % 3], false),
        ];
        for prior in
            [Prior::default(), Prior::Gaussian { mean: vec![0.5], variance: vec![0.04], noise: 0.25 }]
        {
            for (mask, carries) in offers {
                let params = ThompsonParams { prior: prior.clone(), ..ThompsonParams::default() };
                let mut base = params.clone().build(&Setup::arms(6, None)).unwrap();
                let mut rng = Pcg64Dxsm::seed_from_u64(9);
                let (mut worst, mut carried) = (0f64, 0);
                for t in 0..800 {
                    let numbers = pick(mask(t));
                    let x = Context::plain(numbers.len()).offering(numbers.clone());
                    let kept = base.state.carried.among(&numbers).is_some();
                    carried += usize::from(kept);
                    let now = Now { offered: numbers.len(), ..base.now() };
                    let looked_at = if t < 20 || t % 19 == 0 { numbers.len() } else { 0 };
                    for place in 0..looked_at {
                        let (p, _) = base.likelihood(&x, &Arm::at(place)).unwrap();
                        let part = params.part(&base.state, &now, &numbers).unwrap();
                        let (q, _) = params.likelihood(&part, &now, place).unwrap();
                        worst = worst.max((p - q).abs());
                    }
                    let mut part = params.part(&base.state, &now, &numbers).unwrap();
                    let afresh = params.propose(&mut part, &now, &mut rng.clone()).unwrap();
                    let made = base.propose(&x, &mut rng).unwrap();
                    assert_eq!((made.decision, &made.memo), (afresh.decision, &afresh.memo), "round {t}");
                    let number = x.number(made.decision.index());
                    base.learn(
                        &x,
                        &made,
                        Feedback::plain(f64::from((t + number).is_multiple_of(number + 2))),
                    )
                    .unwrap();
                    if t % 97 == 0 {
                        let saved = Base::<Context, Arm>::save(&base);
                        base = params.clone().build(&Setup::arms(6, None)).unwrap();
                        Base::<Context, Arm>::load(&mut base, &saved).unwrap();
                        assert_eq!(Base::<Context, Arm>::save(&base), saved);
                    }
                }
                println!("{prior:?} {worst:e} {carried}");
                assert!(worst < 1e-9, "{prior:?}: {worst:e}");
                assert_eq!(carried > 400, carries, "{carried} rounds were carried");
            }
        }
    }

    #[test]
    fn an_offer_that_no_rounds_can_have_had_is_refused() {
        let mut base = ThompsonParams::default().build(&Setup::arms(4, None)).unwrap();
        let x = Context::plain(2).offering(vec![1, 3]);
        for _ in 0..3 {
            base.learn(&x, &Proposal::new(Arm(0)), Feedback::plain(1.0)).unwrap();
        }
        let mut other = ThompsonParams::default().build(&Setup::arms(4, None)).unwrap();
        for wrong in [vec![1, 4], vec![3, 1], vec![], vec![0, 1, 2, 3], vec![1]] {
            let mut spoilt = base.clone();
            if let Kept::Among { numbers, .. } = &mut spoilt.state.carried {
                *numbers = wrong.clone();
            }
            let saved = Base::<Context, Arm>::save(&spoilt);
            assert!(Base::<Context, Arm>::load(&mut other, &saved).is_err(), "{wrong:?}");
        }
        Base::<Context, Arm>::load(&mut other, &Base::<Context, Arm>::save(&base)).unwrap();
    }
}
