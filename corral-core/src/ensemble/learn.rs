//! The second half of a round: a loss comes home.

use super::{Ensemble, EnsembleError, Feed, Outcome};
use crate::ticket::Trace;
use crate::{Credit, Feedback, Master, MasterError, Proposal};

impl<X: ?Sized, D: Clone + PartialEq, M: Master> Ensemble<X, D, M> {
    /// Brings a loss home. `feedback` carries the weight of the ensemble above: 1 at the top, 0 where nothing was seen.
    pub(super) fn settle(
        &mut self,
        x: &X,
        made: &mut Proposal<D>,
        trace: &mut Trace,
        feedback: Feedback,
    ) -> Result<Outcome, EnsembleError> {
        let (loss, above) = (feedback.observed().unwrap_or(0.0), feedback.weight());
        // Written so that NaN fails.
        if !self.params.losses.contains(loss) {
            return Err(EnsembleError::Loss(loss));
        }
        if trace.ensemble != self.id {
            return Err(EnsembleError::Foreign { found: trace.ensemble, expected: self.id });
        }
        if !trace.fits(self.seats.len()) {
            return Err(EnsembleError::Ticket { round: trace.round, bases: self.seats.len() });
        }
        let chosen = trace.base as usize;
        self.changes.clear();
        let credited = above > 0.0 && self.credit(loss, above, trace)?;
        let mut outcome = Outcome {
            base: chosen,
            weight: above * trace.weight,
            credited,
            learned: 0,
            reranged: 0,
            benched: trace.benched.iter().map(|b| *b as usize).collect(),
        };
        let before = self.benched.len();
        self.seats[chosen].tally.plays += u64::from(above > 0.0);
        if credited {
            self.seats[chosen].tally.credit(outcome.weight);
            trace.shares.iter().for_each(|s| self.seats[s.base as usize].tally.credit(above * s.weight));
        }
        outcome.learned += usize::from(self.feed(x, chosen, trace.epoch, made, loss, above, trace.weight));
        for share in &mut trace.shares {
            std::mem::swap(&mut made.memo, &mut share.memo);
            let learned = self.feed(x, share.base as usize, share.epoch, made, loss, above, share.weight);
            outcome.learned += usize::from(learned);
            std::mem::swap(&mut made.memo, &mut share.memo);
        }
        if !self.changes.is_empty() {
            outcome.reranged = self.deliver_ranges();
        }
        if self.benched.len() > before {
            outcome.benched.extend(self.benched[before..].iter().map(|b| b.base));
        }
        Ok(outcome)
    }

    /// Has the master step. `false`: nothing of this loss concerns it any more.
    fn credit(&mut self, loss: f64, above: f64, trace: &Trace) -> Result<bool, EnsembleError> {
        let chosen = trace.base as usize;
        let sole = trace.shares.iter().all(|s| s.weight == 0.0);
        let changes = if sole {
            let weight = above * trace.weight;
            if self.seats[chosen].benched {
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
        match changes {
            Ok(changes) => {
                self.changes.extend_from_slice(changes);
                Ok(true)
            }
            // A weight of before the master started over, beyond the ranges that it has now.
            Err(MasterError::Weight { .. }) if trace.era != self.era => Ok(false),
            Err(error) => Err(error.into()),
        }
    }

    /// Tells one base, if it is still the instance that was asked. Whether it learned.
    #[allow(clippy::too_many_arguments)]
    fn feed(
        &mut self,
        x: &X,
        base: usize,
        epoch: u64,
        made: &Proposal<D>,
        loss: f64,
        above: f64,
        weight: f64,
    ) -> bool {
        let seat = &mut self.seats[base];
        if seat.benched {
            return false;
        }
        if seat.epoch != epoch {
            return false;
        }
        let feedback = match self.params.feed {
            _ if !(above > 0.0) => Feedback::unseen(),
            // f' = loss * weight: the weight travels beside the loss                      line "send f_t/pbar to base"
            Feed::Weighted => Feedback::new(loss, above * weight),
            Feed::Raw | Feed::Everyone => Feedback::plain(loss),
        };
        match seat.learn(x, made, feedback) {
            Ok(()) => true,
            Err(error) => {
                self.bench(base, "learn", &error);
                false
            }
        }
    }

    /// Tells the bases whose range changed.
    fn deliver_ranges(&mut self) -> usize {
        let changes = std::mem::take(&mut self.changes);
        let mut told = 0;
        let remaining = self.remaining();
        // A range that shrinks: the master has started over.
        let restarted = changes.iter().any(|c| self.seats.get(c.base).is_some_and(|s| c.range < s.range));
        self.era += u64::from(restarted);
        for change in &changes {
            let Some(seat) = self.seats.get_mut(change.base) else { continue };
            seat.range = change.range;
            if seat.benched || self.params.feed != Feed::Weighted {
                continue;
            }
            match seat.rerange(change.range, change.remaining.map(|r| r.max(1)).or(remaining)) {
                Ok(()) => told += 1,
                Err(error) => self.bench(change.base, "rerange", &error),
            }
        }
        self.changes = changes;
        self.changes.clear();
        told
    }
}
