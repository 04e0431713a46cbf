//! Any base, made stable by rescaling its losses (the paper, section 3, after the definition of stability: a linear scaling
//! "is trivially achievable simply by rescaling the losses").
//!
//! Inside weights of at most rho the base learns `loss * weight / rho` in every round, a number in [0, 1] like any loss,
//! and 0 in rounds in which it was not played. In units of f' = loss * weight its regret is rho times the regret that it
//! has alone on such losses, so that it is stable with alpha = 1 if its bound holds for any losses in [0, 1]: weights depend on
//! what was played, so these are not i.i.d. even where the losses are. When rho grows it starts over (the doubling of the paper,
//! section 4): the losses from before were divided by another rho.
//!
//! A base that learns from what it observed, such as UCB1, takes losses of 0 for what it was not asked: that is the price of a
//! guarantee without an argument of its own. Bases with a stability argument (docs/stability.md) are better without it.
//!
//! A round in which it was not played needs a decision to charge with 0. Alone and under E' it is the proposal that was made.
//! Under a master that asks only the base that it follows, `pass` draws the decision by a generator that was seeded
//! from the last proposal's, so that runs stay reproducible. In a spec every base, plugins too, takes `rescaled = true`.

use corral_core::{
    Abilities, Base, BaseError, BaseExtra, Commons, Feedback, Order, Proposal, Rng, forward, snapshot,
};
use rand::SeedableRng;
use rand_pcg::Pcg64Dxsm;

/// A base that learns losses divided by the range of their weights. See the [module](self).
pub struct Rescaled<B> {
    base: B,
    /// rho; at least 1.
    range: f64,
    /// Draws what it would have played in rounds that it only hears of.
    spare: Pcg64Dxsm,
}

impl<B> Rescaled<B> {
    /// Rescales the losses of `base`, which is told a range of 1 for ever.
    pub fn new(base: B) -> Self {
        Self { base, range: 1.0, spare: Pcg64Dxsm::seed_from_u64(0) }
    }
}

impl<X: ?Sized, D, B: Base<X, D>> Base<X, D> for Rescaled<B> {
    fn propose(&mut self, x: &X, rng: &mut dyn Rng) -> Result<Proposal<D>, BaseError> {
        self.spare = Pcg64Dxsm::seed_from_u64(rng.next_u64());
        self.base.propose(x, rng)
    }

    fn learn(&mut self, x: &X, made: &Proposal<D>, feedback: Feedback) -> Result<(), BaseError> {
        let estimate = feedback.check(self.range)?.estimate();
        // A weight may exceed the range by its rounding.
        self.base.learn(x, made, Feedback::plain((estimate / self.range).min(1.0)))
    }

    forward!(Base<X, D>: self => self.base, except propose, learn, abilities, apply_order, save, load, extra);

    fn abilities(&self) -> Abilities {
        Abilities { wants_passes: true, ..Abilities::OWN }
    }

    fn apply_order(&mut self, order: Order) -> Result<(), BaseError> {
        let (Order::Widen { range, remaining } | Order::StartOver { range, remaining }) = order.check()?;
        self.base.apply_order(Order::StartOver { range: 1.0, remaining })?;
        self.range = range;
        Ok(())
    }

    fn save(&self) -> Vec<u8> {
        snapshot::seal("rescaled", 1, &(self.range, &self.spare, self.base.save()))
    }

    fn load(&mut self, state: &[u8]) -> Result<(), BaseError> {
        let (range, spare, base): (f64, Pcg64Dxsm, Vec<u8>) = snapshot::open("rescaled", 1, state)?;
        snapshot::ensure(range >= 1.0 && range.is_finite(), "a range below 1")?;
        self.base.load(&base)?;
        (self.range, self.spare) = (range, spare);
        Ok(())
    }

    fn extra(&mut self) -> Option<&mut dyn BaseExtra<X, D>> {
        Some(self)
    }
}

impl<X: ?Sized, D, B: Base<X, D>> BaseExtra<X, D> for Rescaled<B> {
    fn propose_into(&mut self, x: &X, rng: &mut dyn Rng, made: &mut Proposal<D>) -> Result<(), BaseError> {
        self.spare = Pcg64Dxsm::seed_from_u64(rng.next_u64());
        made.refill(&mut self.base, x, rng)
    }

    fn pass(&mut self, x: &X) -> Result<(), BaseError> {
        let made = self.base.propose(x, &mut self.spare)?;
        self.base.learn(x, &made, Feedback::plain(0.0))
    }

    /// What it learns is not what others learn.
    fn share(&mut self, _: &mut Commons) {}

    forward!(BaseExtra<X, D>: self => self.base, except propose_into, pass, share);
}

#[cfg(test)]
mod tests {
    use corral_core::{Arm, Context, Setup};

    use super::*;
    use crate::registry::over_arms as inner;

    /// What it does is what the base alone does with losses loss * weight / range, 0 where nothing was seen.
    #[test]
    fn the_base_inside_sees_rescaled_losses_and_zeros() {
        let setup = Setup::arms(3, Some(400));
        let x = Context::plain(3);
        for name in ["exp3", "ucb1", "thompson"] {
            let (mut rescaled, mut alone) = (Rescaled::new(inner(name, &setup)), inner(name, &setup));
            let order = Order::Widen { range: 4.0, remaining: Some(400) };
            Base::<Context, Arm>::apply_order(&mut rescaled, order).unwrap();
            let (mut a, mut b) = (Pcg64Dxsm::seed_from_u64(3), Pcg64Dxsm::seed_from_u64(3));
            for t in 0..400u64 {
                b.next_u64();
                let (mine, theirs) =
                    (rescaled.propose(&x, &mut a).unwrap(), alone.propose(&x, &mut b).unwrap());
                assert_eq!(mine, theirs, "{name} at {t}");
                let loss = [0.9, 0.2, 0.5][mine.decision.index()];
                let (feedback, seen) = match t % 4 {
                    0 => (Feedback::new(loss, 4.0), loss),
                    1 => (Feedback::new(loss, 1.0), loss / 4.0),
                    _ => (Feedback::unseen(), 0.0),
                };
                rescaled.learn(&x, &mine, feedback).unwrap();
                alone.learn(&x, &theirs, Feedback::plain(seen)).unwrap();
            }
        }
    }

    #[test]
    fn a_wider_range_starts_it_over_and_a_snapshot_continues_it() {
        let setup = Setup::arms(3, Some(100));
        let x = Context::plain(3);
        let mut base = Rescaled::new(inner("exp3", &setup));
        let fresh = Base::<Context, Arm>::save(&base.base);
        let mut rng = Pcg64Dxsm::seed_from_u64(5);
        for _ in 0..20 {
            let made = base.propose(&x, &mut rng).unwrap();
            base.learn(&x, &made, Feedback::plain(0.5)).unwrap();
            base.pass(&x).unwrap();
        }
        assert!(base.learn(&x, &Proposal::new(Arm(0)), Feedback::new(0.5, 2.0)).is_err());
        let mut other = Rescaled::new(inner("exp3", &setup));
        Base::<Context, Arm>::load(&mut other, &Base::<Context, Arm>::save(&base)).unwrap();
        for base in [&mut base, &mut other] {
            base.pass(&x).unwrap();
        }
        assert_eq!(Base::<Context, Arm>::save(&base), Base::<Context, Arm>::save(&other));
        let order = Order::Widen { range: 8.0, remaining: Some(100) };
        Base::<Context, Arm>::apply_order(&mut base, order).unwrap();
        assert_eq!(Base::<Context, Arm>::save(&base.base), fresh);
    }
}
