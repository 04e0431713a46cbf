//! The first half of a round: who decides, and where the loss will have to go.

use super::{Crediting, Ensemble, EnsembleError, Feed, LEAST, Propensities, Seat};
use crate::ticket::{Propensity, Share, Trace};
use crate::{BaseError, Duty, Feedback, Master, MasterError, Memo, Proposal, Rng, draw_base};

impl<X: ?Sized, D: Clone + PartialEq, M: Master> Ensemble<X, D, M> {
    /// Picks the base of the round, has it propose, and traces where the loss will have to go. `guarded`: not as a base of
    /// another, to which its likelihood tells the truth without a guard.
    pub(super) fn serve(
        &mut self,
        x: &X,
        rng: &mut dyn Rng,
        trace: &mut Trace,
        guarded: bool,
    ) -> Result<Proposal<D>, EnsembleError> {
        trace.ensemble = self.id;
        trace.copy = self.copy();
        trace.era = self.now.era;
        trace.round = self.now.round;
        trace.shares.clear();
        trace.benched.clear();
        trace.likelihoods.clear();
        trace.propensity = Propensity::NotAsked;
        trace.forced = false;
        self.unfollowed.clear();
        let before = self.now.benched.len();
        let mut made = match self.params.credit {
            Crediting::Chosen => self.ask_one(x, rng, trace)?,
            Crediting::SameDecision => self.ask_all(x, rng, trace)?,
            Crediting::Likelihood => match self.demanded(x).filter(|_| guarded) {
                Some(decision) => self.follow_guard(x, rng, decision, trace)?,
                // One base alone is credited with every decision, however probable it was.
                None if self.is_alone() => self.ask_one(x, rng, trace)?,
                None => loop {
                    let made = self.ask_one(x, rng, trace)?;
                    if let Some(own) = self.own_likelihood(x, &made, trace) {
                        self.share_by_likelihood(x, rng, &made, own, trace)?;
                        break made;
                    }
                    self.recycle(made);
                },
            },
        };
        let known = match self.params.credit {
            Crediting::Chosen => false,
            Crediting::SameDecision => true,
            // Each base has said its probability already.
            Crediting::Likelihood => trace.forced || self.params.propensities == Propensities::Decision,
        };
        let parted = self.parted && self.params.credit == Crediting::Chosen && !trace.forced;
        if (self.params.propensities != Propensities::None && !known) || parted {
            self.weigh_decision(x, &made, trace);
        }
        if self.parted {
            self.part_out(&mut made, trace);
        }
        if self.params.feed == Feed::Everyone {
            self.add_listeners(x, &made, trace);
        }
        trace.epoch = self.seats[trace.base as usize].epoch;
        self.tell_passed(x, trace);
        trace.benched.extend(self.now.benched[before..].iter().map(|b| b.base as u32));
        self.now.round += 1;
        Ok(made)
    }

    /// Whether there is no other base, and the probability of what it proposes is of no use.
    fn is_alone(&self) -> bool {
        self.seats.len() == 1 && self.now.guard.is_none() && self.params.propensities == Propensities::None
    }

    /// The decision that the guard wants to see, if it may be played at `x`.
    fn demanded(&self, x: &X) -> Option<D> {
        let world = self.world.as_ref()?;
        let decision = world.arm(self.now.guard.as_ref()?.demands(world.offered(x))?, x)?;
        world.admits(&decision, x).then_some(decision)
    }

    /// Plays what the guard demands. It would have been played whatever the bases say: no base is credited, and those that
    /// learn from others learn it.
    fn follow_guard(
        &mut self,
        x: &X,
        rng: &mut dyn Rng,
        decision: D,
        trace: &mut Trace,
    ) -> Result<Proposal<D>, EnsembleError> {
        let (base, probability) = self.draw(rng)?;
        (trace.base, trace.probability, trace.weight) = (base as u32, probability, 0.0);
        trace.propensity = Propensity::Exact(1.0);
        trace.forced = true;
        self.count_in_guard(x, &decision, 1.0);
        Ok(Proposal::new(decision))
    }

    /// Counts a round for the guard, where there is one.
    pub(super) fn count_in_guard(&mut self, x: &X, decision: &D, propensity: f64) {
        if let (Some(guard), Some(world)) = (&mut self.now.guard, &self.world)
            && let Some(arm) = world.number(decision, x)
        {
            guard.count(arm, world.offered(x), propensity);
        }
    }

    /// Gives the guard, where there is one, the loss of a round.
    pub(super) fn teach_guard(&mut self, x: &X, decision: &D, loss: f64) {
        if let (Some(guard), Some(world)) = (&mut self.now.guard, &self.world)
            && let Some(arm) = world.number(decision, x)
        {
            guard.learn(arm, loss);
        }
    }

    /// Draws a base and asks it alone, until one answers: i_t ~ pbar_t, weight 1/pbar_{t,i_t}.
    fn ask_one(&mut self, x: &X, rng: &mut dyn Rng, trace: &mut Trace) -> Result<Proposal<D>, EnsembleError> {
        let mut buffer = self.spare.pop();
        loop {
            let (base, probability) = self.draw(rng)?;
            trace.base = base as u32;
            trace.probability = probability;
            trace.weight = 1.0 / probability;
            match self.ask(base, trace.weight, x, rng, &mut buffer) {
                Ok(()) => {
                    if let Some(made) = buffer.take() {
                        return Ok(made);
                    }
                }
                Err(error) => self.fault(base, Duty::Propose, error)?,
            }
        }
    }

    /// Asks every base, then draws one: the weight is shared by those that proposed the same decision.
    fn ask_all(&mut self, x: &X, rng: &mut dyn Rng, trace: &mut Trace) -> Result<Proposal<D>, EnsembleError> {
        let mut asked = std::mem::take(&mut self.asked);
        asked.resize_with(self.seats.len(), || None);
        for (base, slot) in asked.iter_mut().enumerate() {
            *slot = None;
            if self.seats[base].benched {
                continue;
            }
            let mut buffer = self.spare.pop();
            match self.ask(base, self.expected(base), x, rng, &mut buffer) {
                Ok(()) => *slot = buffer,
                Err(error) => self.fault(base, Duty::Propose, error)?,
            }
        }
        let (chosen, probability) = self.draw(rng)?;
        let Some(made) = asked[chosen].take() else {
            return Err(MasterError::Retired(chosen).into());
        };
        // 1/sum_{j: theta_j = theta} pbar_j, for every base that proposed theta            remark after Algorithm 1
        let same =
            |slot: &Option<Proposal<D>>| slot.as_ref().is_some_and(|other| other.decision == made.decision);
        let others = asked.iter().zip(self.master.probabilities()).filter(|(slot, _)| same(slot));
        let weight = 1.0 / (probability + others.map(|(_, p)| p).sum::<f64>());
        trace.base = chosen as u32;
        trace.probability = probability;
        trace.weight = weight;
        // By what the bases were when they were asked, before zero is fed to those that are not followed.
        if self.params.propensities != Propensities::None {
            self.weigh_decision(x, &made, trace);
        }
        for (base, slot) in asked.iter_mut().enumerate() {
            let Some(other) = slot.take() else { continue };
            if other.decision == made.decision {
                let epoch = self.seats[base].epoch;
                trace.shares.push(Share { base: base as u32, epoch, weight, memo: other.memo });
            } else {
                // Asked, and not followed: fed zero.
                self.pass_over(base, x, other);
            }
        }
        self.asked = asked;
        Ok(made)
    }

    /// The largest weight that a base may be given for a decision of this round, 1/pbar. Of a base that is hardly ever
    /// drawn nothing is known before the decision: it is told when it learns.
    fn expected(&self, base: usize) -> f64 {
        let probability = self.master.probabilities()[base];
        if probability > LEAST { 1.0 / probability } else { 1.0 }
    }

    /// The probability with which the chosen base proposes what it did, where it has a likelihood. `None`: it contradicts
    /// itself, and is benched.
    fn own_likelihood(&mut self, x: &X, made: &Proposal<D>, trace: &Trace) -> Option<Option<f64>> {
        let base = trace.base as usize;
        let error = match self.seats[base].likelihood(x, &made.decision) {
            Ok(None) => return Some(None),
            Ok(Some((q, _))) if q > 0.0 => return Some(Some(q)),
            Ok(Some(_)) => BaseError::Failed("it proposed a decision to which it gives probability 0".into()),
            Err(error) => error,
        };
        self.bench(base, Duty::Likelihood, &error);
        None
    }

    /// Weighs every base by the probability with which it proposes the decision that was made.
    fn share_by_likelihood(
        &mut self,
        x: &X,
        rng: &mut dyn Rng,
        made: &Proposal<D>,
        own: Option<f64>,
        trace: &mut Trace,
    ) -> Result<(), EnsembleError> {
        let chosen = trace.base as usize;
        // The first base that can be drawn and has no likelihood.
        let mut unknown = own.is_none().then_some(chosen);
        // Given its draw, such a base proposes that for sure.
        let own = own.unwrap_or(1.0);
        for base in 0..self.seats.len() {
            if base == chosen || self.seats[base].benched {
                continue;
            }
            let bound = self.expected(base);
            let likelihood = self.attempt(base, Duty::Likelihood, |band| {
                band.widen(base, bound)?;
                band.seats[base].likelihood(x, &made.decision)
            });
            let found = match likelihood {
                Some(None) => {
                    if self.master.probabilities()[base] > 0.0 {
                        unknown = Some(unknown.map_or(base, |first| first.min(base)));
                    }
                    self.draws_the_same(base, x, rng, made)?.map(|memo| (1.0, memo))
                }
                found => found.flatten(),
            };
            if let Some((weight, memo)) = found.filter(|(q, _)| *q > 0.0) {
                let epoch = self.seats[base].epoch;
                trace.shares.push(Share { base: base as u32, epoch, weight, memo });
            }
        }
        // A base that failed here has no part in the draw: the others have their restricted probabilities.
        let probabilities = self.master.probabilities();
        trace.probability = probabilities[chosen];
        // pi_i(theta)/sum_j pbar_j pi_j(theta)
        let mixture = trace.probability * own
            + trace.shares.iter().map(|s| probabilities[s.base as usize] * s.weight).sum::<f64>();
        let mixture = mixture.max(LEAST);
        // It is computed anyway, asked for or not.
        match unknown {
            None => trace.propensity = Propensity::Exact(self.mix(own, trace)),
            Some(base) if self.params.propensities == Propensities::Decision => {
                trace.propensity = Propensity::Unknown { base: base as u32 };
            }
            Some(_) => {}
        }
        trace.weight = own / mixture;
        trace.shares.iter_mut().for_each(|s| s.weight /= mixture);
        self.count_in_guard(x, &made.decision, mixture);
        Ok(())
    }

    /// Tells the bands among the bases what part of the draw is theirs, pbar_l Q_l/P with Q_l the law of band l: what a band learns
    /// of a draw from P it divides by Q_l, and with this factor its estimates are pbar_l times those of its own draws
    /// (docs/masters.md#bands-inside-bands).
    fn part_out(&mut self, made: &mut Proposal<D>, trace: &mut Trace) {
        let probabilities = self.master.probabilities();
        self.parts.clear();
        self.parts.resize(self.seats.len(), 0.0);
        let chosen = trace.base as usize;
        if self.params.credit != Crediting::Chosen {
            // Q_l/P is the weight that the master is told.
            self.parts[chosen] = trace.probability * trace.weight;
            for share in &trace.shares {
                self.parts[share.base as usize] = probabilities[share.base as usize] * share.weight;
            }
        } else if let Propensity::Exact(law) = trace.propensity {
            let of = |(p, own): (&f64, &f64)| if own.is_nan() { 0.0 } else { p * own / law.max(LEAST) };
            self.parts
                .iter_mut()
                .zip(probabilities.iter().zip(&self.laws).map(of))
                .for_each(|(to, part)| *to = part);
        } else {
            // A base cannot say its law: the draws of a band are its own alone.
            self.parts[chosen] = 1.0;
        }
        if !trace.forced {
            self.seats[chosen].add_part(&mut made.memo, self.parts[chosen]);
        }
        for share in &mut trace.shares {
            self.seats[share.base as usize].add_part(&mut share.memo, self.parts[share.base as usize]);
        }
    }

    /// sum_i pbar_i pi_i(theta), base by base as [`weigh_decision`](Ensemble::weigh_decision) adds them; shares have pi_i.
    fn mix(&self, own: f64, trace: &Trace) -> f64 {
        let mut shares = trace.shares.iter().peekable();
        let parts = self.master.probabilities().iter().enumerate().map(|(base, probability)| {
            let share = shares.next_if(|share| share.base as usize == base);
            let likelihood = if base == trace.base as usize { own } else { share.map_or(0.0, |s| s.weight) };
            probability * likelihood.min(1.0)
        });
        parts.sum::<f64>().min(1.0)
    }

    /// Has a base without a likelihood draw, before it is known which base is followed: given its draw it is a base that
    /// proposes that decision for sure. The memo of the draw where it is the decision that was made.
    fn draws_the_same(
        &mut self,
        base: usize,
        x: &X,
        rng: &mut dyn Rng,
        made: &Proposal<D>,
    ) -> Result<Option<Memo>, EnsembleError> {
        let mut buffer = self.spare.pop();
        if let Err(error) = self.ask(base, self.expected(base), x, rng, &mut buffer) {
            self.fault(base, Duty::Propose, error)?;
            return Ok(None);
        }
        let Some(mut other) = buffer else { return Ok(None) };
        if other.decision == made.decision {
            let memo = std::mem::take(&mut other.memo);
            self.recycle(other);
            return Ok(Some(memo));
        }
        self.unfollowed.push(base as u32);
        self.pass_over(base, x, other);
        Ok(None)
    }

    /// Feeds zero for a proposal that is not followed.
    fn pass_over(&mut self, base: usize, x: &X, made: Proposal<D>) {
        self.attempt(base, Duty::Learn, |band| band.seats[base].learn(x, &made, Feedback::unseen()));
        self.recycle(made);
    }

    /// The probability of the decision, sum_i pbar_i pi_i(theta | x), where every base that can be drawn has a
    /// likelihood; else the first that has none.
    fn weigh_decision(&mut self, x: &X, made: &Proposal<D>, trace: &mut Trace) {
        let mut total = 0.0;
        let mut unknown = None;
        self.laws.clear();
        for base in 0..self.seats.len() {
            let probability = self.master.probabilities()[base];
            let drawn = !self.seats[base].benched && probability > 0.0;
            let own = match self.seats[base].likelihood(x, &made.decision) {
                Ok(Some((own, _))) if drawn => own.min(1.0),
                Err(error) if drawn => {
                    self.bench(base, Duty::Likelihood, &error);
                    f64::NAN
                }
                _ => f64::NAN,
            };
            if drawn && own.is_nan() {
                unknown = unknown.or(Some(base as u32));
            } else if drawn {
                total += probability * own;
            }
            self.laws.push(own);
            if self.params.propensities.every_base() {
                trace.likelihoods.push(own);
            }
        }
        trace.propensity = match unknown {
            None => Propensity::Exact(total.min(1.0)),
            Some(base) => Propensity::Unknown { base },
        };
    }

    /// Adds the bases that learn from others and have no part in the decision: weight 0 to the master.
    fn add_listeners(&mut self, x: &X, made: &Proposal<D>, trace: &mut Trace) {
        for base in 0..self.seats.len() {
            let Seat { benched, listens, epoch, .. } = self.seats[base];
            if benched || !listens || trace.takes_part(base) {
                continue;
            }
            let memo = self.attempt(base, Duty::Likelihood, |band| {
                let mut memo = band.seats[base].memo(x, &made.decision)?;
                band.seats[base].add_part(&mut memo, band.parts.get(base).copied().unwrap_or_default());
                Ok(memo)
            });
            trace.shares.extend(memo.map(|memo| Share { base: base as u32, epoch, weight: 0.0, memo }));
        }
    }

    /// A round went by that these bases did not see. The others were asked, or will learn.
    fn tell_passed(&mut self, x: &X, trace: &Trace) {
        for at in 0..self.wanting_passes.len() {
            let base = self.wanting_passes[at] as usize;
            if self.seats[base].benched {
                continue;
            }
            // Under the remark's rule every base was asked.
            let asked =
                self.params.credit == Crediting::SameDecision || self.unfollowed.contains(&(base as u32));
            if asked || trace.takes_part(base) {
                continue;
            }
            self.attempt(base, Duty::Pass, |band| band.seats[base].pass(x));
        }
    }

    /// i_t ~ pbar_t, with its probability.
    #[inline]
    fn draw(&mut self, rng: &mut dyn Rng) -> Result<(usize, f64), EnsembleError> {
        if self.now.benched.len() >= self.seats.len() {
            let last = self.now.benched.last().map(|b| b.reason.clone()).unwrap_or_default();
            return Err(EnsembleError::NoneLeft { bases: self.seats.len(), last });
        }
        let (base, probability) = draw_base(&mut self.master, rng);
        match self.seats.get(base) {
            None => Err(MasterError::Index { base, bases: self.seats.len() }.into()),
            Some(seat) if seat.benched || !(probability > 0.0) => Err(MasterError::Retired(base).into()),
            Some(_) => Ok((base, probability)),
        }
    }

    /// Has a base propose, and checks what it proposes. `bound` is the largest weight that it may be given for it.
    #[inline]
    fn ask(
        &mut self,
        base: usize,
        bound: f64,
        x: &X,
        rng: &mut dyn Rng,
        buffer: &mut Option<Proposal<D>>,
    ) -> Result<(), BaseError> {
        self.widen(base, bound)?;
        self.seats[base].propose(x, rng, buffer)?;
        match (&self.world, buffer) {
            (Some(world), Some(made)) if !world.admits(&made.decision, x) => {
                Err(BaseError::Failed("its decision lies outside the space".into()))
            }
            _ => Ok(()),
        }
    }

    /// Benches a base for a fault of its own; an error that is the caller's ends the round instead, and benches no base.
    fn fault(&mut self, base: usize, during: Duty, error: BaseError) -> Result<(), EnsembleError> {
        if error.is_the_callers() {
            return Err(EnsembleError::Context(error));
        }
        self.bench(base, during, &error);
        Ok(())
    }
}
