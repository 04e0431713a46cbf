//! Bases that come and go while the ensemble runs. Nobody else forgets anything, and tickets that are out come home.

use super::{Duty, Ensemble, EnsembleError, Seat};
use crate::{Base, Master, Order};

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
        let place = self.seats.len();
        // The base is told its range first: if it refuses, nothing has changed.
        (seat.listens, seat.weighted) = self.ways_of(&seat);
        seat.range = self.range * 2.0 / share;
        let range = if seat.weighted { self.params.cut.unwrap_or(seat.range) } else { 1.0 };
        seat.obey(Order::Widen { range, remaining: self.remaining() })
            .map_err(|why| EnsembleError::Base { base: place, why })?;
        self.master.admit(share)?;
        self.seats.push(seat);
        self.weights.push(0.0);
        self.survey();
        Ok(place)
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
        (self.seats[base].listens, self.seats[base].weighted) = self.ways_of(&self.seats[base]);
        let order = Order::Widen { range: self.told_range(base), remaining: self.remaining() };
        if let Err(why) = self.seats[base].obey(order) {
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
    /// No such base, it is not out, the share is not in (0, 1), or the master takes nobody back.
    pub fn reinstate(&mut self, base: usize, share: f64) -> Result<(), EnsembleError> {
        self.place(base)?;
        self.master.reinstate(base, share)?;
        let range = self.range * 2.0 / share;
        let seat = &mut self.seats[base];
        seat.benched = false;
        let wider = range > seat.range;
        seat.range = seat.range.max(range);
        self.benched.retain(|b| b.base != base);
        if wider && self.seats[base].weighted {
            let order = Order::Widen { range: self.told_range(base), remaining: self.remaining() };
            if let Err(error) = self.seats[base].obey(order) {
                self.bench(base, Duty::Obey, &error);
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
