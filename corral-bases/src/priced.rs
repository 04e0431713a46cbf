//! A base that weighs what decisions cost in money against their losses, at a price.
//!
//! It learns h(f + lambda c) in place of the loss f, with c the cost: h(s) = 0.45 s up to 2, and 1 - 0.2/s from there. So losses and
//! costs are weighed against each other where they are moderate, and the dearer of two decisions with the same loss is worse however dear both
//! are. At the price 0 it learns f. Under the master `pacer` bases with rising prices keep a budget.

use corral_core::{Base, BaseError, BaseExtra, Commons, Feedback, Proposal, forward};

/// A base that learns loss and cost together. See the [module](self).
pub struct Priced<B> {
    base: B,
    price: f64,
}

/// What loss and cost together count, in [0, 1]: in proportion up to 2, and less and less from there.
fn counted(sum: f64) -> f64 {
    if sum <= 2.0 { 0.45 * sum } else { 1.0 - 0.2 / sum }
}

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
        Ok(feedback.with_loss(counted(loss + self.price * cost)))
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
    forward!(BaseExtra<X, D>: self => self.base, except share, takes_cost);

    fn takes_cost(&mut self) -> bool {
        self.price > 0.0 || self.base.extra().is_some_and(|extra| extra.takes_cost())
    }

    /// What it learns is not what others learn, but at the price 0.
    fn share(&mut self, commons: &mut Commons) {
        if let Some(extra) = self.base.extra().filter(|_| self.price == 0.0) {
            extra.share(commons);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dearer_counts_more_however_dear() {
        let sums = [0.0, 0.1, 1.0, 1.9999, 2.0, 2.0001, 7.0, 70.0, 1e3, 1e6, 1e12];
        assert!(sums.windows(2).all(|pair| counted(pair[0]) < counted(pair[1])));
        assert_eq!(counted(2.0), 0.9);
        assert_eq!(counted(f64::INFINITY), 1.0);
    }
}
