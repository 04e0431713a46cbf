//! An ensemble as a base: corrals nest.
//!
//! Weights multiply (the inner base j is fed `outer weight * 1/pbar_j`, the loss unchanged), ranges multiply, and a new
//! range from above starts everything over. The ticket travels in the memo. A band that learns from draws of others is
//! credited with its part of them (docs/masters.md#bands-inside-bands).

use super::{Ensemble, EnsembleError, Feed, LEAST};
use crate::ticket::{Share, Trace};
use crate::{
    Abilities, Base, BaseError, BaseExtra, Benched, Duty, Feedback, Master, MasterError, Memo, Order,
    Proposal, Rng,
};

impl<X: ?Sized, D: Clone + PartialEq + Send, M: Master> Base<X, D> for Ensemble<X, D, M> {
    fn propose(&mut self, x: &X, rng: &mut dyn Rng) -> Result<Proposal<D>, BaseError> {
        let mut made = self.traced(x, rng)?;
        let own = std::mem::take(&mut made.memo);
        self.trace.pack(&own, &mut made.memo);
        Ok(made)
    }

    fn learn(&mut self, x: &X, made: &Proposal<D>, feedback: Feedback) -> Result<(), BaseError> {
        let feedback = feedback.check_in(self.params.losses, self.now.range)?;
        let mut inner = match self.spare.pop() {
            Some(mut buffer) => {
                buffer.decision.clone_from(&made.decision);
                buffer
            }
            None => Proposal::new(made.decision.clone()),
        };
        if made.memo.numbers().is_empty() {
            return self.overhear(x, inner, feedback);
        }
        let mut trace = std::mem::take(&mut self.trace);
        trace.benched.clear();
        let round = self.now.round;
        let damaged = |why| EnsembleError::Ticket { round, why };
        let settled = match trace.unpack(&made.memo, &mut inner.memo) {
            None => Err(damaged("its memo is cut short")),
            Some(()) if self.repeats(&trace) => Err(damaged("a base has more than one share in it")),
            Some(()) => self.settle(x, &mut inner, &mut trace, feedback).map(drop),
        };
        self.trace = trace;
        self.recycle(inner);
        Ok(settled?)
    }

    /// sum_i pbar_i pi_i, where every base that can be drawn has a likelihood. The memo shares the loss by it; under feed
    /// `everyone` those that learn from others have a share of no weight.
    fn likelihood(&self, x: &X, decision: &D) -> Option<(f64, Memo)> {
        let mut trace =
            Trace { ensemble: self.id, era: self.now.era, round: self.now.round, ..Trace::default() };
        let everyone = self.params.feed == Feed::Everyone;
        let (mut total, mut first) = (0.0, None);
        for (base, (seat, probability)) in self.seats.iter().zip(self.master.probabilities()).enumerate() {
            let (weight, memo) = match seat.benched {
                true => continue,
                false if *probability > 0.0 => seat.likelihood(x, decision).ok()??,
                false if everyone && seat.listens => (0.0, seat.memo(x, decision).ok()?),
                false => continue,
            };
            total += probability * weight;
            if weight > 0.0 {
                first = first.or(Some(trace.shares.len()));
            } else if !(everyone && seat.listens) {
                continue;
            }
            trace.shares.push(Share { base: base as u32, epoch: seat.epoch, weight, memo });
        }
        let Some(first) = first.filter(|_| total >= LEAST) else { return Some((0.0, Memo::empty())) };
        for share in &mut trace.shares {
            let base = share.base as usize;
            share.weight /= total;
            self.seats[base].add_part(&mut share.memo, self.master.probabilities()[base] * share.weight);
        }
        // Any of them can stand for the one that was followed: the credit is the same.
        let first = trace.shares.remove(first);
        trace.base = first.base;
        trace.epoch = first.epoch;
        trace.weight = first.weight;
        trace.probability = self.master.probabilities()[first.base as usize];
        let mut packed = Memo::empty();
        trace.pack(&first.memo, &mut packed);
        Some((total.min(1.0), packed))
    }

    fn abilities(&self) -> Abilities {
        let learns = self.params.feed == Feed::Everyone && self.seats.iter().any(|seat| seat.listens);
        Abilities {
            wants_passes: !self.wanting_passes.is_empty(),
            learns_from_others: learns,
            wants_memo: true,
            takes_offers: self.rigid().is_none(),
        }
    }

    /// A wider range is a new game for the master, which starts over; the bases say by themselves what it is for them.
    fn apply_order(&mut self, order: Order) -> Result<(), BaseError> {
        let (range, remaining) = (order.check()?.range(), order.remaining());
        let master = self.master.extra().ok_or(MasterError::Alone);
        master.and_then(|master| master.start_over(range, remaining)).map_err(EnsembleError::from)?;
        self.now.range = range;
        (self.now.remaining, self.now.since) = (remaining, self.rounds());
        self.now.era += 1;
        // Everything starts over, and the benched get another chance.
        self.now.benched.clear();
        self.seats.iter_mut().for_each(|seat| seat.benched = false);
        for base in 0..self.seats.len() {
            self.attempt(base, Duty::ApplyOrder, |band| band.first_range(base, order.starts_over()));
        }
        self.survey();
        Ok(())
    }

    fn save(&self) -> Vec<u8> {
        self.save()
    }

    fn load(&mut self, state: &[u8]) -> Result<(), BaseError> {
        Ok(self.load(state)?)
    }

    fn extra(&mut self) -> Option<&mut dyn BaseExtra<X, D>> {
        Some(self)
    }
}

impl<X: ?Sized, D: Clone + PartialEq + Send, M: Master> BaseExtra<X, D> for Ensemble<X, D, M> {
    fn takes_cost(&mut self) -> bool {
        self.takes_cost
    }

    fn is_band(&mut self) -> bool {
        true
    }

    fn propose_into(&mut self, x: &X, rng: &mut dyn Rng, made: &mut Proposal<D>) -> Result<(), BaseError> {
        let mut inner = self.traced(x, rng)?;
        self.trace.pack(&inner.memo, &mut made.memo);
        std::mem::swap(&mut made.decision, &mut inner.decision);
        self.recycle(inner);
        Ok(())
    }

    fn pass(&mut self, x: &X) -> Result<(), BaseError> {
        for at in 0..self.wanting_passes.len() {
            let base = self.wanting_passes[at] as usize;
            if self.seats[base].benched {
                continue;
            }
            self.attempt(base, Duty::Pass, |band| band.seats[base].pass(x));
        }
        Ok(())
    }

    fn benched_inside(&mut self) -> Vec<Benched> {
        self.everybody_benched()
    }
}

impl<X: ?Sized, D: Clone + PartialEq, M: Master> Ensemble<X, D, M> {
    /// Serves a round, with its trace in the buffer for it.
    fn traced(&mut self, x: &X, rng: &mut dyn Rng) -> Result<Proposal<D>, EnsembleError> {
        let mut trace = std::mem::take(&mut self.trace);
        let made = self.serve(x, rng, &mut trace, false);
        self.trace = trace;
        made
    }

    /// The bases that are benched here, and inside of bases that are ensembles themselves.
    pub fn everybody_benched(&mut self) -> Vec<Benched> {
        let mut all = self.now.benched.clone();
        for place in 0..self.seats.len() {
            if self.seats[place].benched {
                continue;
            }
            let inside = self.seats[place].benched_inside();
            let path = |inner: Benched| Benched {
                base: place,
                name: format!("{}/{}", self.name(place), inner.name),
                ..inner
            };
            all.extend(inside.into_iter().map(path));
        }
        all
    }

    /// Whether a base has more than one share. A memo has no seal of its own: a base is owed only that its own come back.
    fn repeats(&mut self, trace: &Trace) -> bool {
        self.weights.fill(0.0);
        let mut places = trace.shares.iter().map(|share| share.base).chain([trace.base]);
        // Those that do not exist are refused later.
        places.any(|base| match self.weights.get_mut(base as usize) {
            Some(seen) => std::mem::replace(seen, 1.0) != 0.0,
            None => false,
        })
    }

    /// Learns from a decision that no base here can have proposed: those that learn from others do.
    fn overhear(&mut self, x: &X, mut made: Proposal<D>, feedback: Feedback) -> Result<(), BaseError> {
        if feedback.observed().is_none() {
            // Nothing was seen of it, and so nothing is learned.
            self.recycle(made);
            return Ok(());
        }
        if self.params.feed != Feed::Everyone {
            self.recycle(made);
            return Err(BaseError::Proposal("its memo is empty".into()));
        }
        made.memo.clear();
        let told = feedback.with_weight(1.0);
        for base in 0..self.seats.len() {
            if self.seats[base].benched || !self.seats[base].listens {
                continue;
            }
            let memo = self.attempt(base, Duty::Likelihood, |band| {
                let mut memo = band.seats[base].memo(x, &made.decision)?;
                band.seats[base].add_part(&mut memo, 0.0);
                Ok(memo)
            });
            let Some(memo) = memo else { continue };
            made.memo = memo;
            self.attempt(base, Duty::Learn, |band| band.seats[base].learn(x, &made, told));
        }
        self.recycle(made);
        Ok(())
    }
}
