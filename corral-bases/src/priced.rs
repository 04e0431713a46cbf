//! A base that weighs what decisions cost in money against their losses, at a price.
//!
//! It learns min(f + lambda c, 2)/2 in place of the loss f, with c the cost: what is so dear that it exceeds 2 is bad enough. At the
//! price 0 it learns f. Under the master `pacer` bases with rising prices keep a budget.

use corral_core::{Base, BaseError, BaseExtra, Commons, Feedback, Proposal, forward};

/// A base that learns loss and cost together. See the [module](self).
pub struct Priced<B> {
    base: B,
    price: f64,
}

/// Losses and costs together are cut at this.
const MOST: f64 = 2.0;

impl<B> Priced<B> {
    /// `base`, to which a cost of 1 is as bad as `price` losses.
    pub fn new(base: B, price: f64) -> Self {
        Self { base, price }
    }

    fn priced(&self, feedback: Feedback) -> Result<Feedback, BaseError> {
        let Some(loss) = feedback.observed().filter(|_| self.price > 0.0) else { return Ok(feedback) };
        let cost = feedback
            .cost()
            .ok_or_else(|| BaseError::Failed("its price needs the cost of a decision".into()))?;
        Ok(feedback.with_loss((loss + self.price * cost).min(MOST) / MOST))
    }
}

impl<X: ?Sized, D, B: Base<X, D>> Base<X, D> for Priced<B> {
    forward!(Base<X, D>: self => self.base, except learn, extra);

    fn learn(&mut self, x: &X, made: &Proposal<D>, feedback: Feedback) -> Result<(), BaseError> {
        self.base.learn(x, made, self.priced(feedback)?)
    }

    fn extra(&mut self) -> Option<&mut dyn BaseExtra<X, D>> {
        Some(self)
    }
}

impl<X: ?Sized, D, B: Base<X, D>> BaseExtra<X, D> for Priced<B> {
    forward!(BaseExtra<X, D>: self => self.base, except share);

    /// What it learns is not what others learn, but at the price 0.
    fn share(&mut self, commons: &mut Commons) {
        if let Some(extra) = self.base.extra().filter(|_| self.price == 0.0) {
            extra.share(commons);
        }
    }
}
