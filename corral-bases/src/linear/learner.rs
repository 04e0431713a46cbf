//! The base that regresses the loss on features and chooses by a rule.
//!
//! Lazy: it learns the observed loss in rounds that it saw, also from decisions that others proposed. Weakly stable
//! with alpha = 1/2 without being told the range, where the squared widths of its rule are summable (argument B of
//! section 1.2 of the notes on bases).

use std::cell::RefCell;

use corral_core::snapshot::SnapshotError;
use corral_core::{Arm, Base, BaseError, Context, Feedback, Memo, Proposal, Rng, Setup, sample_index};
use serde::{Deserialize, Serialize, de::DeserializeOwned};

use super::regressor::{Layout, Regressor, unusable};
use crate::arms::Ties;
use crate::common::{Clock, RangeChange, check_arm, reopen, seal};

/// What a rule may look at.
pub struct View<'a> {
    /// The predicted loss of each action.
    pub predictions: &'a [f64],
    /// ||z||_{V^-1} of each action; zeros unless the rule asks for widths.
    pub widths: &'a [f64],
    /// ln det(V/lambda) of each action's model; zeros unless the rule asks for widths.
    pub log_dets: &'a [f64],
    /// Losses learned so far.
    pub seen: f64,
    /// Rounds that are over.
    pub rounds: f64,
    /// T, where it is known; at least 2.
    pub horizon: Option<f64>,
    /// The largest weight of feedback.
    pub range: f64,
    /// Features of an example.
    pub dim: f64,
}

impl View<'_> {
    /// The number of actions.
    pub fn actions(&self) -> f64 {
        self.predictions.len() as f64
    }

    /// T, or the number of this round where T is not known; at least 2.
    pub fn horizon_or_round(&self) -> f64 {
        self.horizon.unwrap_or((self.rounds + 1.0).max(2.0))
    }
}

/// A rule that turns predictions and widths into a distribution over actions.
pub trait Choice: Serialize + DeserializeOwned + PartialEq + Clone + Send + 'static {
    /// The name of the base.
    const NAME: &'static str;
    /// The model of the loss.
    type Model: Regressor;

    /// A model that has learned nothing.
    fn model(&self, models: usize, dim: usize) -> Self::Model;

    /// Whether the rule looks at widths.
    fn needs_widths(&self) -> bool;

    /// Writes the distribution over actions.
    fn weigh(&self, view: &View<'_>, weights: &mut [f64]);

    /// Whether rounds that were not seen matter to the rule where the horizon is not known.
    fn counts_rounds(&self) -> bool {
        false
    }

    /// What a larger range does.
    fn range_change(&self) -> RangeChange;

    /// Whether examples count by their importance weight.
    fn weighted(&self) -> bool;
}

/// All weight on the actions with the lowest score: on the first, or evenly.
pub(crate) fn put_on_lowest(ties: Ties, weights: &mut [f64], score: impl Fn(usize) -> f64) {
    let (mut low, mut first, mut count) = (f64::INFINITY, 0, 0.0);
    for (a, weight) in weights.iter_mut().enumerate() {
        let s = score(a);
        *weight = s;
        if s < low {
            (low, first, count) = (s, a, 1.0);
        } else if s == low {
            count += 1.0;
        }
    }
    for (a, weight) in weights.iter_mut().enumerate() {
        *weight = match ties {
            Ties::Lowest => f64::from(a == first),
            Ties::Random => f64::from(*weight == low) / count,
        };
    }
}

/// A base that regresses the loss on features and chooses by the rule `C`.
#[derive(Debug, Clone)]
pub struct Linear<C: Choice> {
    params: C,
    layout: Layout,
    state: State<C::Model>,
    scratch: RefCell<Scratch>,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(bound = "M: Regressor")]
pub(crate) struct State<M> {
    pub clock: Clock,
    /// Losses learned.
    pub seen: u64,
    pub model: M,
}

#[derive(Debug, Clone, Default)]
pub(crate) struct Scratch {
    pub predictions: Vec<f64>,
    pub widths: Vec<f64>,
    log_dets: Vec<f64>,
    weights: Vec<f64>,
}

impl Scratch {
    pub(crate) fn new(actions: usize) -> Self {
        let zeros = || vec![0.0; actions];
        Self { predictions: zeros(), widths: zeros(), log_dets: zeros(), weights: zeros() }
    }

    /// Predicts the loss of every action of `x`, with widths where `widths`; how many actions there are.
    pub(crate) fn look<M: Regressor>(
        &mut self,
        layout: &Layout,
        model: &M,
        x: &Context,
        widths: bool,
    ) -> Result<usize, BaseError> {
        let actions = layout.check(x)?;
        let mut finite = true;
        for a in 0..actions {
            let (m, z) = (layout.model(a), layout.features(x, a));
            self.predictions[a] = model.predict(m, z);
            finite &= self.predictions[a].is_finite();
            if widths {
                self.widths[a] = model.variance(m, z).sqrt();
                self.log_dets[a] = model.log_det(m);
                finite &= self.widths[a].is_finite();
            }
        }
        if finite {
            return Ok(actions);
        }
        let fine = |a: &usize| !(self.predictions[*a].is_finite() && self.widths[*a].is_finite());
        Err(unusable(layout.features(x, (0..actions).find(fine).unwrap_or(0))))
    }
}

impl<M: Regressor> State<M> {
    /// Learns an observed loss, and lets the round go by.
    pub(crate) fn learn(
        &mut self,
        layout: &Layout,
        weighted: bool,
        x: &Context,
        arm: Arm,
        feedback: Feedback,
    ) -> Result<(), BaseError> {
        let feedback = feedback.check(self.clock.range)?;
        let action = check_arm(arm, layout.check(x)?)?;
        if let Some(loss) = feedback.observed() {
            let weight = if weighted { feedback.weight() } else { 1.0 };
            self.model.update(layout.model(action), layout.features(x, action), loss, weight)?;
            self.seen = self.seen.saturating_add(1);
        }
        self.clock.tick();
        Ok(())
    }

    pub(crate) fn rerange(
        &mut self,
        change: RangeChange,
        range: f64,
        remaining: Option<u64>,
    ) -> Result<(), BaseError> {
        if change == RangeChange::Restart {
            self.clock.restart(range, remaining)?;
            self.seen = 0;
            self.model.reset();
            Ok(())
        } else {
            self.clock.widen(range)
        }
    }

    /// Checks a state that was read back.
    pub(crate) fn restore(&mut self, fresh: &M) -> Result<(), SnapshotError> {
        self.clock.valid()?;
        self.model.restore(fresh)
    }
}

impl<C: Choice> Linear<C> {
    pub(crate) fn new(params: C, layout: Layout, setup: &Setup) -> Self {
        let model = params.model(layout.models(), layout.dim);
        let state = State { clock: Clock::new(setup), seen: 0, model };
        Self { params, layout, state, scratch: RefCell::new(Scratch::new(layout.actions)) }
    }

    /// The model of the loss.
    pub fn model(&self) -> &C::Model {
        &self.state.model
    }

    /// Fills the weights of the actions of `x`.
    fn weigh(&self, scratch: &mut Scratch, x: &Context) -> Result<usize, BaseError> {
        let actions = scratch.look(&self.layout, &self.state.model, x, self.params.needs_widths())?;
        let clock = &self.state.clock;
        let view = View {
            predictions: &scratch.predictions[..actions],
            widths: &scratch.widths[..actions],
            log_dets: &scratch.log_dets[..actions],
            seen: self.state.seen as f64,
            rounds: clock.rounds as f64,
            horizon: clock.tuned(),
            range: if self.params.range_change() == RangeChange::Keep { 1.0 } else { clock.range },
            dim: self.layout.dim as f64,
        };
        self.params.weigh(&view, &mut scratch.weights[..actions]);
        Ok(actions)
    }
}

impl<C: Choice> Base<Context, Arm> for Linear<C> {
    fn propose(&mut self, x: &Context, rng: &mut dyn Rng) -> Result<Proposal<Arm>, BaseError> {
        self.state.clock.ask()?;
        let mut scratch = self.scratch.borrow_mut();
        let actions = self.weigh(&mut scratch, x)?;
        let arm = sample_index(&scratch.weights[..actions], 1.0, rng)
            .ok_or_else(|| BaseError::Failed(format!("{} found no action", C::NAME)))?;
        Ok(Proposal::new(Arm::from(arm)))
    }

    fn learn(&mut self, x: &Context, made: &Proposal<Arm>, feedback: Feedback) -> Result<(), BaseError> {
        self.state.learn(&self.layout, self.params.weighted(), x, made.decision, feedback)
    }

    fn pass(&mut self, x: &Context) -> Result<(), BaseError> {
        self.layout.check(x)?;
        if self.heeds_passes() {
            self.state.clock.tick();
        }
        Ok(())
    }

    fn heeds_passes(&self) -> bool {
        self.state.clock.horizon.is_none() && self.params.counts_rounds()
    }

    fn likelihood(&self, x: &Context, decision: &Arm) -> Option<(f64, Memo)> {
        let mut scratch = self.scratch.try_borrow_mut().ok()?;
        let actions = self.weigh(&mut scratch, x).ok()?;
        let weight = scratch.weights[..actions].get(decision.index())?;
        Some((weight.clamp(0.0, 1.0), Memo::empty()))
    }

    fn learns_from_others(&self) -> bool {
        true
    }

    fn rerange(&mut self, range: f64, remaining: Option<u64>) -> Result<(), BaseError> {
        self.state.rerange(self.params.range_change(), range, remaining)
    }

    fn save(&self) -> Vec<u8> {
        seal(C::NAME, &self.params, &(&self.layout, &self.state))
    }

    fn load(&mut self, state: &[u8]) -> Result<(), BaseError> {
        let (layout, mut state): (Layout, State<C::Model>) = reopen(C::NAME, &self.params, state)?;
        if layout != self.layout {
            return Err(SnapshotError::state("it was saved for a world of another shape").into());
        }
        state.restore(&self.params.model(layout.models(), layout.dim))?;
        self.state = state;
        Ok(())
    }
}
