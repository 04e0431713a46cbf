//! The second half of a round: a loss arrives.

use super::{Ensemble, EnsembleError, Outcome};
use crate::ticket::Trace;
use crate::{Credit, Duty, Feedback, Master, MasterError, Order, Proposal};

impl<X: ?Sized, D: Clone + PartialEq, M: Master> Ensemble<X, D, M> {
    /// Whether a loss and where it has to go can be this ensemble's. Written so that NaN fails.
    pub(super) fn admit(
        &self,
        x: &X,
        decision: &D,
        trace: &Trace,
        feedback: Feedback,
    ) -> Result<(), EnsembleError> {
        let (loss, weight) = (feedback.observed().unwrap_or(0.0), feedback.weight());
        if !self.params.losses.contains(loss) {
            return Err(EnsembleError::Loss(loss));
        }
        match feedback.cost() {
            Some(cost) if !(cost >= 0.0 && cost.is_finite()) => return Err(EnsembleError::Cost(cost)),
            None if self.needs_cost && weight > 0.0 => return Err(EnsembleError::NoCost),
            _ => {}
        }
        feedback
            .check_in(self.params.losses, self.now.range)
            .map_err(|_| EnsembleError::Weight { weight, range: self.now.range })?;
        if trace.ensemble != self.id {
            return Err(EnsembleError::Foreign { found: trace.ensemble, expected: self.id });
        }
        let damaged = |why| EnsembleError::Ticket { round: trace.round, why };
        trace.check(self.seats.len()).map_err(damaged)?;
        if let Some(world) = &self.world {
            world.check(x)?;
            if !world.admits(decision, x) {
                return Err(damaged("its decision lies outside the space"));
            }
        }
        Ok(())
    }

    /// Takes in a loss. `feedback` carries the weight of the ensemble above: 1 at the top, 0 where nothing was seen.
    pub(super) fn settle(
        &mut self,
        x: &X,
        made: &mut Proposal<D>,
        trace: &mut Trace,
        feedback: Feedback,
    ) -> Result<Outcome, EnsembleError> {
        self.admit(x, &made.decision, trace, feedback)?;
        let (loss, above) = (feedback.observed().unwrap_or(0.0), feedback.weight());
        let chosen = trace.base as usize;
        self.orders.clear();
        let credited = above > 0.0 && self.credit(loss, above, trace)?;
        if self.needs_cost {
            let action = self.action(x, &made.decision);
            if let Some(extra) = self.master.extra() {
                extra.paid(action, feedback.cost());
            }
        }
        self.now.home += 1;
        let mut outcome = Outcome {
            base: chosen,
            weight: above * trace.weight,
            credited,
            learned: 0,
            ordered: 0,
            benched: trace.benched.iter().map(|b| *b as usize).collect(),
        };
        let before = self.now.benched.len();
        if above > 0.0 {
            self.seats[chosen].tally.plays += 1;
            self.seats[chosen].tally.losses += loss;
            self.teach_guard(x, &made.decision, loss);
        }
        if credited {
            self.seats[chosen].tally.credit(outcome.weight);
            trace.shares.iter().for_each(|s| self.seats[s.base as usize].tally.credit(above * s.weight));
        }
        if !trace.forced {
            outcome.learned += usize::from(self.feed(x, chosen, trace.epoch, made, feedback, trace.weight));
        }
        for share in &mut trace.shares {
            std::mem::swap(&mut made.memo, &mut share.memo);
            let learned = self.feed(x, share.base as usize, share.epoch, made, feedback, share.weight);
            outcome.learned += usize::from(learned);
            std::mem::swap(&mut made.memo, &mut share.memo);
        }
        if !self.orders.is_empty() {
            outcome.ordered = self.deliver_orders();
        }
        if self.now.benched.len() > before {
            outcome.benched.extend(self.now.benched[before..].iter().map(|b| b.base));
        }
        Ok(outcome)
    }

    /// The number of the action that a decision plays; points have none, and count as one.
    pub(super) fn action(&self, x: &X, decision: &D) -> usize {
        self.world
            .as_ref()
            .and_then(|world| world.number(decision, x))
            .filter(|action| *action < u32::MAX as usize)
            .unwrap_or(0)
    }

    /// Has the master step. `false`: nothing of this loss concerns it any more.
    fn credit(&mut self, loss: f64, above: f64, trace: &Trace) -> Result<bool, EnsembleError> {
        let chosen = trace.base as usize;
        let sole = trace.shares.iter().all(|s| s.weight == 0.0);
        let orders = if sole {
            let weight = above * trace.weight;
            // Without weight the decision was not the master's doing.
            if self.seats[chosen].benched || weight == 0.0 {
                return Ok(false);
            }
            self.master.update(loss, Credit::Chosen { base: chosen, weight })
        } else {
            self.weights.fill(0.0);
            self.weights[chosen] = above * trace.weight;
            for share in &trace.shares {
                self.weights[share.base as usize] = above * share.weight;
            }
            let mut any = false;
            for (base, seat) in self.seats.iter().enumerate() {
                if seat.benched {
                    self.weights[base] = 0.0;
                }
                any |= self.weights[base] > 0.0;
            }
            if !any {
                return Ok(false);
            }
            self.master.update(loss, Credit::Shared(&self.weights))
        };
        match orders {
            Ok(orders) => {
                self.orders.extend_from_slice(orders);
                Ok(true)
            }
            // A weight from before the master started over, beyond the ranges that it has now.
            Err(MasterError::Weight { .. }) if trace.era != self.now.era => Ok(false),
            Err(error) => Err(error.into()),
        }
    }

    /// Tells one base, if it is still the instance that was asked. Whether it learned.
    fn feed(
        &mut self,
        x: &X,
        base: usize,
        epoch: u64,
        made: &mut Proposal<D>,
        feedback: Feedback,
        weight: f64,
    ) -> bool {
        let current = |band: &Self| !band.seats[base].benched && band.seats[base].epoch == epoch;
        if !current(self) {
            return false;
        }
        // No base is given a weight beyond its range. That of a base that was not asked, or not drawn, is known only now; one
        // that starts over for it does not learn what the instance before it was asked.
        if feedback.observed().is_some() {
            self.attempt(base, Duty::ApplyOrder, |band| band.widen(base, weight));
            if !current(self) {
                return false;
            }
        }
        let seat = &mut self.seats[base];
        // It has no memo where it has no part: it hears of a decision that others made.
        let part = if seat.parted { made.memo.pop() } else { None };
        let told = match feedback.observed() {
            // What it cost may be known.
            None => feedback.without_loss(),
            // f' = loss * weight: the weight travels beside the loss                      line "send f_t/pbar to base"
            Some(_) if seat.weighted => {
                let weight = feedback.weight() * weight;
                feedback.with_weight(self.params.cut.map_or(weight, |cut| weight.min(cut)))
            }
            Some(_) => {
                feedback.with_weight(part.map_or(1.0, |part| feedback.weight() * part / self.now.range))
            }
        };
        match seat.learn(x, made, told) {
            Ok(()) => true,
            // The context of this call differs from that of the choice.
            Err(error) if error.is_the_callers() => false,
            Err(error) => {
                self.bench(base, Duty::Learn, &error);
                false
            }
        }
    }

    /// Gives the master's orders to its bases.
    pub(super) fn deliver_orders(&mut self) -> usize {
        let orders = std::mem::take(&mut self.orders);
        let mut told = 0;
        let left = self.remaining();
        self.now.era += u64::from(orders.iter().any(|(_, order)| order.starts_over()));
        for &(base, order) in &orders {
            let Some(seat) = self.seats.get_mut(base) else { continue };
            seat.range = order.range();
            // Without weights there is no range to widen, and where they are cut it stays; to start over concerns everybody.
            let widens = seat.weighted && self.params.cut.is_none();
            if seat.benched || !(widens || order.starts_over()) {
                continue;
            }
            let remaining = order.remaining().map(|rounds| rounds.max(1)).or(left);
            let range = self.given_range(base);
            let order = Order::new(order.starts_over(), range, remaining);
            let applied = self.attempt(base, Duty::ApplyOrder, |band| band.seats[base].apply_order(order));
            told += usize::from(applied.is_some());
        }
        self.orders = orders;
        self.orders.clear();
        told
    }
}
