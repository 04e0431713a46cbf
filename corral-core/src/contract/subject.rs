//! A base under examination.

use super::{Tape, demand};
use crate::{Arm, Base, BaseError, Context, Decision, Feedback, Order, Point, Proposal, Setup, uniform};

/// What a base does when its range changes.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum OnRange {
    /// It forgets everything: it is as a new one with that range.
    #[default]
    Restart,
    /// It keeps what it learned, and tunes itself to the range.
    Retune,
    /// It keeps what it learned, and goes on as before.
    Keep,
}

type Fresh<'a, X, D> = Box<dyn Fn() -> Result<Box<dyn Base<X, D>>, BaseError> + 'a>;

type Admits<'a, X, D> = Box<dyn Fn(&X, &D) -> bool + 'a>;
type List<'a, X, D> = Box<dyn Fn(&X) -> Vec<D> + 'a>;

/// A base under examination: how to build it, what it sees, what it may decide, and what it declares about itself.
///
/// [`Subject::arms`] and [`Subject::points`] make one from a [`Setup`].
pub struct Subject<'a, X, D> {
    pub(super) name: String,
    fresh: Fresh<'a, X, D>,
    context: Box<dyn Fn(u64) -> X + 'a>,
    admits: Admits<'a, X, D>,
    decisions: Option<List<'a, X, D>>,
    pub(super) on_range: OnRange,
    pub(super) counts_rounds: bool,
    pub(super) own_memos: bool,
    pub(super) rounds: u64,
    pub(super) range: f64,
    seed: u64,
}

impl<'a, X, D> Subject<'a, X, D> {
    /// The base that `fresh` builds. `context` gives what it sees in round t, `admits` says what it may decide.
    pub fn new(
        name: impl Into<String>,
        fresh: impl Fn() -> Result<Box<dyn Base<X, D>>, BaseError> + 'a,
        context: impl Fn(u64) -> X + 'a,
        admits: impl Fn(&X, &D) -> bool + 'a,
    ) -> Self {
        Self {
            name: name.into(),
            fresh: Box::new(fresh),
            context: Box::new(context),
            admits: Box::new(admits),
            decisions: None,
            on_range: OnRange::Restart,
            counts_rounds: false,
            own_memos: false,
            rounds: 100_000,
            range: 64.0,
            seed: 1,
        }
    }

    /// Lists every decision at a context, so that likelihoods can be summed.
    #[must_use]
    pub fn with_decisions(mut self, decisions: impl Fn(&X) -> Vec<D> + 'a) -> Self {
        self.decisions = Some(Box::new(decisions));
        self
    }

    /// Declares what the base does when its range changes; by default it restarts.
    #[must_use]
    pub fn on_range(mut self, on_range: OnRange) -> Self {
        self.on_range = on_range;
        self
    }

    /// Declares that the base counts rounds, or stores contexts, of rounds that it did not see.
    #[must_use]
    pub fn counts_rounds(mut self) -> Self {
        self.counts_rounds = true;
        self
    }

    /// Declares that the memo of a likelihood is another than that of a proposal (an ensemble's: it shares the loss).
    #[must_use]
    pub fn own_memos(mut self) -> Self {
        self.own_memos = true;
        self
    }

    /// How many rounds of the worst weights the base must survive; 100 000 by default, fewer for expensive bases.
    #[must_use]
    pub fn rounds(mut self, rounds: u64) -> Self {
        self.rounds = rounds.max(1);
        self
    }

    /// The range up to which weights go; 64 by default.
    #[must_use]
    pub fn range(mut self, range: f64) -> Self {
        self.range = range;
        self
    }

    /// The seed of everything that is drawn.
    #[must_use]
    pub fn seed(mut self, seed: u64) -> Self {
        self.seed = seed;
        self
    }

    /// A new base, given the range and that `rounds` are to come.
    pub(super) fn build(&self, rounds: u64) -> Result<Box<dyn Base<X, D>>, String> {
        let mut base = self.as_built()?;
        let order = Order::StartOver { range: self.range, remaining: Some(rounds) };
        base.apply_order(order).map_err(|e| format!("{order:?}: {e}"))?;
        Ok(base)
    }

    /// A new base as its author builds it.
    pub(super) fn as_built(&self) -> Result<Box<dyn Base<X, D>>, String> {
        (self.fresh)().map_err(|e| format!("it could not be built: {e}"))
    }

    pub(super) fn context(&self, round: u64) -> X {
        (self.context)(round)
    }

    pub(super) fn decisions(&self, x: &X) -> Option<Vec<D>> {
        self.decisions.as_ref().map(|list| list(x))
    }

    pub(super) fn tape(&self, stream: u64) -> Tape {
        Tape::new(self.seed.wrapping_mul(0xd134_2543_de82_ef95).wrapping_add(stream))
    }
}

impl<X, D: std::fmt::Debug> Subject<'_, X, D> {
    /// Has the base propose in round `round`, and checks what it proposes.
    pub(super) fn propose(
        &self,
        base: &mut dyn Base<X, D>,
        round: u64,
        rng: &mut Tape,
    ) -> Result<(X, Proposal<D>), String> {
        let x = self.context(round);
        let made = base.propose(&x, rng).map_err(|e| format!("round {round}: propose: {e}"))?;
        let found = format_args!("round {round}: it proposes {:?}", made.decision);
        demand((self.admits)(&x, &made.decision), format_args!("{found}, which is outside the space"))?;
        if let Some(v) = made.memo.numbers().iter().find(|v| !v.is_finite()) {
            return Err(format!("round {round}: its memo holds {v}"));
        }
        Ok((x, made))
    }

    /// One round: a proposal, and feedback that `feedback` draws.
    pub(super) fn play(
        &self,
        base: &mut dyn Base<X, D>,
        round: u64,
        rng: &mut Tape,
        feedback: impl FnOnce(&mut Tape) -> Feedback,
    ) -> Result<Proposal<D>, String> {
        let (x, made) = self.propose(base, round, rng)?;
        // The world's numbers are its own: they do not depend on how many the base drew.
        let feedback = feedback(&mut self.tape(1_000_003 + round));
        base.learn(&x, &made, feedback).map_err(|e| {
            let (loss, weight) = (feedback.observed().unwrap_or(0.0), feedback.weight());
            format!("round {round}: learn(loss {loss}, weight {weight}) after {:?}: {e}", made.decision)
        })?;
        Ok(made)
    }

    /// Plays rounds `from..to` of an ordinary life: losses anywhere in [0, 1], weights 0 or between 1 and the range.
    pub(super) fn train(
        &self,
        base: &mut dyn Base<X, D>,
        from: u64,
        to: u64,
        rng: &mut Tape,
    ) -> Result<Vec<Proposal<D>>, String> {
        (from..to).map(|round| self.play(base, round, rng, |world| self.ordinary(world))).collect()
    }

    pub(super) fn ordinary(&self, world: &mut Tape) -> Feedback {
        let loss = uniform(world);
        if uniform(world) < 0.3 {
            return Feedback::unseen();
        }
        Feedback::new(loss, 1.0 + (self.range - 1.0) * uniform(world).powi(4))
    }
}

impl<'a> Subject<'a, Context, Arm> {
    /// A base over the arms of `setup`, with contexts of its shape.
    pub fn arms(
        name: impl Into<String>,
        setup: &Setup,
        fresh: impl Fn() -> Result<Box<dyn Base<Context, Arm>>, BaseError> + 'a,
    ) -> Self {
        let (world, space) = (setup.clone(), setup.space.clone());
        let admits = move |x: &Context, arm: &Arm| arm.lies_in(&space, Some(x.actions()));
        Self::new(name, fresh, move |round| context_of(&world, round), admits)
            .with_decisions(|x| (0..x.actions()).map(Arm::at).collect())
    }
}

impl<'a> Subject<'a, Context, Point> {
    /// A base over the points of `setup`, with contexts of its shape.
    pub fn points(
        name: impl Into<String>,
        setup: &Setup,
        fresh: impl Fn() -> Result<Box<dyn Base<Context, Point>>, BaseError> + 'a,
    ) -> Self {
        let (world, space) = (setup.clone(), setup.space.clone());
        let admits = move |_: &Context, point: &Point| {
            point.coordinates().iter().all(|v| v.is_finite()) && point.lies_in(&space, None)
        };
        Self::new(name, fresh, move |round| context_of(&world, round), admits)
    }
}

/// The context of a round in the world of `setup`: drawn from its sampler, or made up in its shape.
fn context_of(setup: &Setup, round: u64) -> Context {
    let mut world = Tape::new(round.wrapping_mul(0x2545_f491_4f6c_dd1d));
    if let Some(sampler) = &setup.sampler {
        return sampler.sample(&mut world);
    }
    let shape = setup.context;
    // In the unit ball: |v_i| <= 1/sqrt(d).
    let mut numbers = |count: usize, dim: usize| -> Vec<f64> {
        let scale = 1.0 / (dim.max(1) as f64).sqrt();
        (0..count).map(|_| scale * (2.0 * uniform(&mut world) - 1.0)).collect()
    };
    let actions = setup.actions();
    let features = numbers(shape.features, shape.features);
    let mut context = if shape.row_features > 0 {
        Context::with_rows(
            features,
            numbers(actions * shape.row_features, shape.row_features),
            shape.row_features,
        )
    } else {
        Context::shared(features, actions)
    };
    context.set_cell(shape.cells.map(|cells| (uniform(&mut world) * cells as f64) as usize));
    context
}
