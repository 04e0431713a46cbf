//! What the bases for stochastic linear losses share: they learn from observed losses alone, and neither know nor need
//! the weight (docs/stability.md#lazy-bases).

use corral_core::LossDomain;
use serde::de::DeserializeOwned;

use super::resize;
use crate::prelude::*;

/// A model of the loss that proposes points.
pub trait Model: Send {
    /// Its parameters.
    type Params: BaseParams;
    /// What it has learned.
    type State: Clone + Send + Serialize + DeserializeOwned;

    /// What it has learned.
    fn state(&self) -> &Self::State;

    /// Continues from `state`; on error nothing changed.
    ///
    /// # Errors
    /// The state is not one of this model.
    fn resume(&mut self, state: Self::State, clock: &Clock) -> Result<(), BaseError>;

    /// Writes a decision into `out`: the one that it is sure of, unless it draws.
    ///
    /// # Errors
    /// The state cannot produce one.
    fn propose(&mut self, clock: &Clock, _rng: &mut dyn Rng, out: &mut [f64]) -> Result<(), BaseError> {
        let nothing = || BaseError::Failed(String::from("it is not sure of a decision, and draws none"));
        out.copy_from_slice(self.sure(clock).ok_or_else(nothing)?);
        Ok(())
    }

    /// The decision that [`propose`](Model::propose) would write, where it does not draw.
    fn sure(&self, clock: &Clock) -> Option<&[f64]>;

    /// Learns that `x` cost `loss`. The clock has not ticked yet.
    ///
    /// # Errors
    /// The arithmetic failed.
    fn learn(&mut self, clock: &Clock, x: &[f64], loss: f64) -> Result<(), BaseError>;

    /// What a wider range does to it: lazy learning needs no range.
    const RANGE_CHANGE: RangeChange = RangeChange::Keep;
}

/// A base over points that learns lazily.
#[derive(Debug, Clone)]
pub struct Lazy<M: Model> {
    params: M::Params,
    set: Set,
    clock: Clock,
    losses: LossDomain,
    model: M,
    /// What the model knew before the first round.
    first: M::State,
}

impl<M: Model> Lazy<M> {
    pub(crate) fn new(params: M::Params, set: Set, clock: Clock, model: M) -> Self {
        let first = model.state().clone();
        Self { params, set, clock, losses: LossDomain::Unit, model, first }
    }

    /// The same for losses of `losses`.
    pub(crate) fn with_losses(self, losses: LossDomain) -> Self {
        Self { losses, ..self }
    }

    /// The model.
    pub fn model(&self) -> &M {
        &self.model
    }
}

impl<X: ?Sized, M: Model> Base<X, Point> for Lazy<M> {
    fn propose(&mut self, x: &X, rng: &mut dyn Rng) -> Result<Proposal<Point>, BaseError> {
        let mut made = Proposal::default();
        self.propose_into(x, rng, &mut made)?;
        Ok(made)
    }

    fn propose_into(
        &mut self,
        _x: &X,
        rng: &mut dyn Rng,
        made: &mut Proposal<Point>,
    ) -> Result<(), BaseError> {
        made.memo.clear();
        let out = resize(&mut made.decision, self.set.dim());
        self.model.propose(&self.clock, rng, out)?;
        self.set.pull_inside(out);
        Ok(())
    }

    fn learn(&mut self, _x: &X, made: &Proposal<Point>, feedback: Feedback) -> Result<(), BaseError> {
        let feedback = feedback.check_in(self.losses, self.clock.range)?;
        let x = made.decision.coordinates();
        if !self.set.contains(x) {
            return Err(BaseError::Proposal(format!("{x:?} is outside the set")));
        }
        if let Some(loss) = feedback.observed() {
            self.model.learn(&self.clock, x, loss)?;
        }
        self.clock.tick();
        Ok(())
    }

    fn pass(&mut self, _x: &X) -> Result<(), BaseError> {
        self.clock.tick();
        Ok(())
    }

    /// 1 or 0 where the decision is certain.
    fn likelihood(&self, _x: &X, decision: &Point) -> Option<(f64, Memo)> {
        let mut sure = self.model.sure(&self.clock)?.to_vec();
        self.set.pull_inside(&mut sure);
        Some((f64::from(sure == decision.coordinates()), Memo::empty()))
    }

    fn memo(&self, _x: &X, _decision: &Point) -> Memo {
        Memo::empty()
    }

    fn abilities(&self) -> Abilities {
        Abilities { heeds_passes: true, learns_from_others: true }
    }

    fn obey(&mut self, order: Order) -> Result<(), BaseError> {
        let mut clock = self.clock;
        if clock.obey(order, M::RANGE_CHANGE)? {
            self.model.resume(self.first.clone(), &clock)?;
        }
        self.clock = clock;
        Ok(())
    }

    fn save(&self) -> Vec<u8> {
        seal(M::Params::ENTRY.name, &self.params, &(&self.set, &self.clock, self.model.state()))
    }

    fn load(&mut self, state: &[u8]) -> Result<(), BaseError> {
        let (set, clock, state): (Set, Clock, M::State) = reopen(M::Params::ENTRY.name, &self.params, state)?;
        clock.valid()?;
        if set != self.set {
            return Err(SnapshotError::state("it was saved for another set").into());
        }
        self.model.resume(state, &clock)?;
        self.clock = clock;
        Ok(())
    }
}
