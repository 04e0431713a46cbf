//! The range of the weights of each base, and the rounds that are left.

use super::Ensemble;
use crate::{BaseError, Master, Order};

impl<X: ?Sized, D: Clone + PartialEq, M: Master> Ensemble<X, D, M> {
    /// Widens the range of a base whose weights, up to `bound`, would exceed it: rho <- 2/pbar, as Algorithm 1 does. Masters
    /// that know their ranges have ordered it before; for the others it is done when the base is asked.
    #[inline]
    pub(super) fn widen(&mut self, base: usize, bound: f64) -> Result<(), BaseError> {
        let seat = &mut self.seats[base];
        if !seat.weighted || self.now.range * bound <= seat.range * (1.0 + 1e-9) {
            return Ok(());
        }
        seat.range = 2.0 * self.now.range * bound;
        if self.params.cut.is_some() {
            return Ok(());
        }
        let order = Order::Widen { range: seat.range, remaining: self.remaining() };
        self.seats[base].apply_order(order)
    }

    /// The first range of a base: the master's, or rho_1 = 2M where it knows none, and ranges multiply.
    pub(super) fn first_range(&mut self, base: usize, over: bool) -> Result<(), BaseError> {
        let unknown = 2.0 * self.seats.len() as f64 * self.now.range;
        // rho_1 = 2M                                                                       Algorithm 1, line 1
        self.seats[base].range = self.master.limits(base).range.unwrap_or(unknown);
        let order = Order::new(over, self.given_range(base), self.remaining());
        self.seats[base].apply_order(order)
    }

    /// The largest weight that a base is told to expect: 1 where it learns without weights.
    pub(super) fn given_range(&self, base: usize) -> f64 {
        let seat = &self.seats[base];
        match self.params.cut {
            _ if !seat.weighted => 1.0,
            Some(cut) => cut.max(1.0),
            None => seat.range,
        }
    }

    /// The rounds that are left, where anybody knows: at least 1, for something is still to come.
    pub(super) fn remaining(&self) -> Option<u64> {
        let own = || self.now.remaining.map(|r| r.saturating_sub(self.rounds() - self.now.since));
        self.master.limits(0).remaining.or_else(own).map(|rounds| rounds.max(1))
    }
}
