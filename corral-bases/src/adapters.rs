//! Bases around bases: for ranges that nobody tells, and for losses on another scale. [`Featurize`], for another view
//! of the context, is with the bases that need it.

use corral_core::{Base, BaseError, Feedback, Memo, ParamError, Proposal, Rng};

pub use crate::linear::Featurize;

/// A base outside Corral that is not told the range of its weights: it starts at 2, and when a weight s above the
/// range arrives, the range becomes 2 s.
///
/// The loss that broke the range is not learned: it belongs to a proposal of the instance before.
pub struct SelfDoubling<B> {
    base: B,
    range: f64,
    rounds: u64,
    horizon: Option<u64>,
}

impl<B> SelfDoubling<B> {
    /// Wraps a base that was built for `horizon` rounds.
    ///
    /// # Errors
    /// What the base says to a range of 2.
    pub fn new<X: ?Sized, D>(mut base: B, horizon: Option<u64>) -> Result<Self, BaseError>
    where
        B: Base<X, D>,
    {
        base.rerange(2.0, horizon)?;
        Ok(Self { base, range: 2.0, rounds: 0, horizon })
    }

    /// The range at present.
    pub fn range(&self) -> f64 {
        self.range
    }

    fn remaining(&self) -> Option<u64> {
        self.horizon.map(|horizon| horizon.saturating_sub(self.rounds))
    }
}

impl<X: ?Sized, D, B: Base<X, D>> Base<X, D> for SelfDoubling<B> {
    fn propose(&mut self, x: &X, rng: &mut dyn Rng) -> Result<Proposal<D>, BaseError> {
        self.base.propose(x, rng)
    }
    fn propose_into(&mut self, x: &X, rng: &mut dyn Rng, made: &mut Proposal<D>) -> Result<(), BaseError> {
        self.base.propose_into(x, rng, made)
    }
    fn learn(&mut self, x: &X, made: &Proposal<D>, feedback: Feedback) -> Result<(), BaseError> {
        // Any finite weight is admitted here; written so that NaN fails.
        feedback.check(f64::MAX / 4.0)?;
        self.rounds = self.rounds.saturating_add(1);
        if feedback.weight() > self.range {
            let range = 2.0 * feedback.weight();
            self.base.rerange(range, self.remaining())?;
            self.range = range;
            return Ok(());
        }
        self.base.learn(x, made, feedback)
    }
    fn pass(&mut self, x: &X) -> Result<(), BaseError> {
        self.rounds = self.rounds.saturating_add(1);
        self.base.pass(x)
    }
    fn likelihood(&self, x: &X, decision: &D) -> Option<(f64, Memo)> {
        self.base.likelihood(x, decision)
    }
    fn learns_from_others(&self) -> bool {
        self.base.learns_from_others()
    }
    /// Told a range after all: it holds until a weight above it arrives.
    fn rerange(&mut self, range: f64, remaining: Option<u64>) -> Result<(), BaseError> {
        self.base.rerange(range, remaining)?;
        (self.range, self.rounds, self.horizon) = (range, 0, remaining);
        Ok(())
    }
    fn save(&self) -> Vec<u8> {
        let own = (self.range, self.rounds, self.horizon, self.base.save());
        corral_core::snapshot::seal("self-doubling", 1, &own)
    }
    fn load(&mut self, state: &[u8]) -> Result<(), BaseError> {
        let (range, rounds, horizon, base): (f64, u64, Option<u64>, Vec<u8>) =
            corral_core::snapshot::open("self-doubling", 1, state)?;
        BaseError::check_range(range)?;
        self.base.load(&base)?;
        (self.range, self.rounds, self.horizon) = (range, rounds, horizon);
        Ok(())
    }
}

/// A base that learns from losses declared to lie in [lo, hi], mapped onto [0, 1].
pub struct Scaled<B> {
    base: B,
    lo: f64,
    hi: f64,
}

impl<B> Scaled<B> {
    /// Losses lie in [lo, hi].
    ///
    /// # Errors
    /// `lo < hi` does not hold, or they are not finite.
    pub fn new(base: B, lo: f64, hi: f64) -> Result<Self, ParamError> {
        if lo < hi && (hi - lo).is_finite() {
            Ok(Self { base, lo, hi })
        } else {
            Err(ParamError::new("[lo, hi]", format_args!("[{lo}, {hi}]"), "a finite interval"))
        }
    }
}

impl<X: ?Sized, D, B: Base<X, D>> Base<X, D> for Scaled<B> {
    fn propose(&mut self, x: &X, rng: &mut dyn Rng) -> Result<Proposal<D>, BaseError> {
        self.base.propose(x, rng)
    }
    fn propose_into(&mut self, x: &X, rng: &mut dyn Rng, made: &mut Proposal<D>) -> Result<(), BaseError> {
        self.base.propose_into(x, rng, made)
    }
    fn learn(&mut self, x: &X, made: &Proposal<D>, feedback: Feedback) -> Result<(), BaseError> {
        let feedback = match feedback.observed() {
            // Written so that NaN fails.
            Some(loss) if loss >= self.lo && loss <= self.hi => {
                let unit = ((loss - self.lo) / (self.hi - self.lo)).clamp(0.0, 1.0);
                Feedback::new(unit, feedback.weight())
            }
            Some(loss) => return Err(BaseError::Loss(loss)),
            // A weight that is negative or NaN is the base's to refuse.
            None => Feedback::new(0.0, feedback.weight()),
        };
        self.base.learn(x, made, feedback)
    }
    fn pass(&mut self, x: &X) -> Result<(), BaseError> {
        self.base.pass(x)
    }
    fn heeds_passes(&self) -> bool {
        self.base.heeds_passes()
    }
    fn likelihood(&self, x: &X, decision: &D) -> Option<(f64, Memo)> {
        self.base.likelihood(x, decision)
    }
    fn learns_from_others(&self) -> bool {
        self.base.learns_from_others()
    }
    fn rerange(&mut self, range: f64, remaining: Option<u64>) -> Result<(), BaseError> {
        self.base.rerange(range, remaining)
    }
    fn save(&self) -> Vec<u8> {
        self.base.save()
    }
    fn load(&mut self, state: &[u8]) -> Result<(), BaseError> {
        self.base.load(state)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::arms::{Exp3Params, Ucb1Params};
    use corral_core::{Arm, Setup};
    use rand::SeedableRng;
    use rand_pcg::Pcg64Dxsm;

    #[test]
    fn a_weight_above_the_range_doubles_it() {
        let setup = Setup::arms(3, Some(100));
        let base = Exp3Params::default().check(&setup).unwrap();
        let mut base = SelfDoubling::new::<(), Arm>(base, setup.horizon).unwrap();
        let mut rng = Pcg64Dxsm::seed_from_u64(1);
        let mut play = |base: &mut SelfDoubling<_>, weight: f64| {
            let made = base.propose(&(), &mut rng).unwrap();
            base.learn(&(), &made, Feedback::new(1.0, weight)).unwrap();
            base.range()
        };
        assert_eq!(play(&mut base, 2.0), 2.0);
        assert_eq!(play(&mut base, 2.5), 5.0);
        assert_eq!(play(&mut base, 4.9), 5.0);
        assert_eq!(play(&mut base, 64.0), 128.0);
        // It restarted with the rounds that were left: one fewer than a new base would have.
        let mut fresh = Exp3Params::default().check(&setup).unwrap();
        Base::<(), Arm>::rerange(&mut fresh, 128.0, Some(96)).unwrap();
        let inner: (f64, u64, Option<u64>, Vec<u8>) =
            corral_core::snapshot::open("self-doubling", 1, &Base::<(), Arm>::save(&base)).unwrap();
        assert_eq!(inner.3, Base::<(), Arm>::save(&fresh));
    }

    #[test]
    fn losses_are_mapped_from_their_interval() {
        let setup = Setup::arms(2, None);
        let mut scaled = Scaled::new(Ucb1Params::default().check(&setup).unwrap(), -10.0, 30.0).unwrap();
        let made = Proposal::new(Arm(1));
        scaled.learn(&(), &made, Feedback::plain(20.0)).unwrap();
        assert_eq!(scaled.base.tallies()[1].mean, 0.75);
        assert_eq!(scaled.learn(&(), &made, Feedback::plain(31.0)), Err(BaseError::Loss(31.0)));
        assert!(scaled.learn(&(), &made, Feedback::plain(f64::NAN)).is_err());
        scaled.learn(&(), &made, Feedback::unseen()).unwrap();
        assert_eq!(scaled.base.tallies()[1].count, 1.0);
        assert!(Scaled::new((), 1.0, 1.0).is_err());
    }
}
