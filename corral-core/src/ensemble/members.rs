//! Bases that come and go while the ensemble runs. The other bases forget nothing, and tickets that are out can still be learned.

use super::{Ensemble, EnsembleError, Seat};
use crate::master::check_share;
use crate::{Base, Duty, Master, MasterError, Order};

impl<X: ?Sized, D: Clone + PartialEq, M: Master> Ensemble<X, D, M> {
    /// Adds a base that is followed with probability `share` at first; the probabilities of the others are multiplied by
    /// 1 - share, so their ratios stay. It keeps what it has learned unless the range of its weights makes it start over.
    ///
    /// # Errors
    /// The share is not in (0, 1), the master takes no bases while it runs, or the base refuses its range.
    pub fn add(
        &mut self,
        name: impl Into<String>,
        base: Box<dyn Base<X, D>>,
        share: f64,
    ) -> Result<usize, EnsembleError> {
        let mut seat = Seat::new(base);
        seat.name = name.into();
        self.seats.push(seat);
        if let Err(error) = self.join(share) {
            self.seats.pop();
            return Err(error);
        }
        Ok(self.seats.len() - 1)
    }

    /// The last base joins the others.
    pub(super) fn join(&mut self, share: f64) -> Result<(), EnsembleError> {
        check_share(share)?;
        let base = self.seats.len() - 1;
        self.note_ways(base);
        self.seats[base].range = self.now.range * 2.0 / share;
        // It is told its range first: if it refuses, nothing has changed.
        let order = Order::Widen { range: self.given_range(base), remaining: self.remaining() };
        self.seats[base].apply_order(order).map_err(|why| EnsembleError::Base { base, why })?;
        self.seats[base].tally.restarts = 0;
        self.orders.clear();
        self.orders.extend_from_slice(self.master.extra().ok_or(MasterError::Fixed)?.admit(share)?);
        self.weights.push(0.0);
        self.survey();
        self.deliver_orders();
        Ok(())
    }

    /// Gives a base what it, or one like it, had learned: a state that [`Base::save`] gave. It keeps that unless the range of
    /// its weights makes it start over. What was asked of it before is not told to it.
    ///
    /// # Errors
    /// No such base, or it refuses the state: it is as it was then.
    pub fn warm(&mut self, base: usize, state: &[u8]) -> Result<(), EnsembleError> {
        self.place(base)?;
        let range = self.given_range(base);
        let order = Order::Widen { range, remaining: self.remaining() };
        let seat = &mut self.seats[base];
        let before = seat.save();
        if let Err(why) = seat.load(state).and_then(|()| seat.apply_order(order)) {
            let _ = seat.load(&before);
            return Err(EnsembleError::Base { base, why });
        }
        seat.tally.restarts -= 1;
        Ok(())
    }

    /// Has the [guard](crate::EnsembleParams::guard), where there is one, count a round that another logger played with this
    /// propensity, and its loss in [0, 1]: what the log has seen of an arm need not be seen again.
    pub fn warm_guard(&mut self, x: &X, decision: &D, propensity: f64, loss: f64) {
        self.count_in_guard(x, decision, propensity);
        self.teach_guard(x, decision, loss);
    }

    /// Puts another base in the place of one: the same probability, another learner. The loss of a decision that the old
    /// one proposed reaches the master and not the new one. The old base is given back.
    ///
    /// # Errors
    /// No such base, or the new one refuses its range.
    pub fn replace(
        &mut self,
        base: usize,
        new: Box<dyn Base<X, D>>,
    ) -> Result<Box<dyn Base<X, D>>, EnsembleError> {
        self.place(base)?;
        let old = self.seats[base].replace(new);
        self.note_ways(base);
        let order = Order::Widen { range: self.given_range(base), remaining: self.remaining() };
        if let Err(why) = self.seats[base].apply_order(order) {
            drop(self.seats[base].replace(old));
            return Err(EnsembleError::Base { base, why });
        }
        self.survey();
        Ok(old)
    }

    /// Takes a base out: the probabilities of the others are divided by 1 - p, so their ratios stay.
    ///
    /// # Errors
    /// No such base, it is out already, or it is the last one.
    pub fn retire(&mut self, base: usize) -> Result<(), EnsembleError> {
        self.place(base)?;
        self.master.retire(base)?;
        self.note_benched(base, Duty::Retired, "the caller retired it".into());
        Ok(())
    }

    /// Puts a base back that was benched or retired, after repair ([`replace`](Ensemble::replace) puts another in its
    /// place first): it is followed with probability `share`, the others as after [`add`](Ensemble::add).
    ///
    /// # Errors
    /// No such base, it is not out, the share is not in (0, 1), or the master takes no base back.
    pub fn reinstate(&mut self, base: usize, share: f64) -> Result<(), EnsembleError> {
        self.place(base)?;
        self.orders.clear();
        self.orders.extend_from_slice(self.master.extra().ok_or(MasterError::Fixed)?.reinstate(base, share)?);
        let range = self.now.range * 2.0 / share;
        let seat = &mut self.seats[base];
        seat.benched = false;
        let wider = range > seat.range;
        seat.range = seat.range.max(range);
        self.now.benched.retain(|b| b.base != base);
        self.deliver_orders();
        if wider && self.seats[base].weighted {
            let order = Order::Widen { range: self.given_range(base), remaining: self.remaining() };
            if let Err(error) = self.seats[base].apply_order(order) {
                self.bench(base, Duty::ApplyOrder, &error);
                return Err(EnsembleError::Base { base, why: error });
            }
        }
        Ok(())
    }

    /// Passes over an index of a base.
    fn place(&self, base: usize) -> Result<(), EnsembleError> {
        if base < self.seats.len() { Ok(()) } else { Err(EnsembleError::NoSuchBase(base.to_string())) }
    }
}
