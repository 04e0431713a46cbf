//! The role of a base algorithm.

use rand_core::Rng;
use std::fmt;

use serde::{Deserialize, Serialize};

use crate::{BaseError, Commons, LossDomain, Memo, Order, forward};

/// A base algorithm: it proposes decisions and learns from losses that a master passes on.
///
/// `X` is what it sees before deciding, `D` what it decides. A context-free base is
/// `impl<X: ?Sized> Base<X, Arm> for Exp3`, and works beside contextual ones with no adapter.
///
/// # What an implementation owes
/// - `learn` with weight 0 advances the round and nothing else; so does [`pass`](BaseExtra::pass).
/// - After [`Order::StartOver`] it behaves as a new one built with that range and horizon.
/// - All randomness comes from `rng`; the same calls with the same generator give the same proposals.
/// - Proposed decisions lie in the declared space, and are finite.
/// - `propose` never depends on feedback that was not given; several proposals may be outstanding, and feedback may
///   come late and out of order. What the estimate needs of the moment of proposal travels in the memo.
/// - `load(save())` continues bit for bit as if nothing had happened.
/// - It never panics on input, and never proposes NaN.
///
/// Each sentence is a function of `corral_core::contract` (feature `contract`).
///
/// ```
/// use corral_core::{Abilities, Arm, Base, BaseError, Feedback, Order, Proposal, Rng, snapshot, uniform};
///
/// /// The arm with the lowest mean loss; a random one in a tenth of the rounds.
/// struct Greedy {
///     /// Losses seen of each arm, and their sum.
///     seen: Vec<(f64, f64)>,
/// }
///
/// impl<X: ?Sized> Base<X, Arm> for Greedy {
///     fn propose(&mut self, _x: &X, rng: &mut dyn Rng) -> Result<Proposal<Arm>, BaseError> {
///         let (explore, any) = (uniform(rng) < 0.1, uniform(rng)); // the same draws whatever happens
///         let mean = |arm: &usize| self.seen[*arm].1 / self.seen[*arm].0.max(1.0);
///         let best = (0..self.seen.len()).min_by(|a, b| mean(a).total_cmp(&mean(b))).unwrap_or(0);
///         let arm = if explore { (any * self.seen.len() as f64) as usize } else { best };
///         Ok(Proposal::new(Arm::at(arm)))
///     }
///     fn learn(&mut self, _x: &X, made: &Proposal<Arm>, feedback: Feedback) -> Result<(), BaseError> {
///         let seen = self.seen.get_mut(made.decision.index());
///         let seen = seen.ok_or_else(|| BaseError::Proposal(format!("arm {}", made.decision.index())))?;
///         if let Some(loss) = feedback.check(f64::MAX)?.observed() {
///             *seen = (seen.0 + 1.0, seen.1 + loss); // lazy: the loss, never loss * weight
///         }
///         Ok(())
///     }
///     fn abilities(&self) -> Abilities {
///         Abilities::MODEL
///     }
///     fn apply_order(&mut self, order: Order) -> Result<(), BaseError> {
///         if order.check()?.starts_over() {
///             self.seen.fill((0.0, 0.0)); // a wider range is nothing to a lazy base
///         }
///         Ok(())
///     }
///     fn save(&self) -> Vec<u8> {
///         snapshot::seal("my-greedy", 1, &self.seen)
///     }
///     fn load(&mut self, state: &[u8]) -> Result<(), BaseError> {
///         let seen: Vec<(f64, f64)> = snapshot::open("my-greedy", 1, state)?;
///         if seen.len() != self.seen.len() {
///             return Err(BaseError::Failed("a snapshot of another number of arms".into()));
///         }
///         self.seen = seen;
///         Ok(())
///     }
/// }
/// # use rand::SeedableRng;
/// let (mut base, mut rng) = (Greedy { seen: vec![(0.0, 0.0); 3] }, rand_pcg::Pcg64Dxsm::seed_from_u64(1));
/// for _ in 0..1_000 {
///     let made = base.propose(&(), &mut rng)?;
///     let loss = [0.5, 0.2, 0.7][made.decision.index()];
///     base.learn(&(), &made, loss.into())?;
/// }
/// assert!(base.seen[1].0 > 800.0);
/// # Ok::<(), BaseError>(())
/// ```
pub trait Base<X: ?Sized, D>: Send {
    /// Proposes a decision for `x`.
    ///
    /// # Errors
    /// The context does not fit this base, or its state cannot produce a decision.
    fn propose(&mut self, x: &X, rng: &mut dyn Rng) -> Result<Proposal<D>, BaseError>;

    /// Learns what the decision `made` cost. `made` is what `propose` returned, or, when the base learns from others,
    /// their decision with the memo of its [`likelihood`](Base::likelihood), where [`wants_memo`](Abilities::wants_memo).
    ///
    /// # Errors
    /// The feedback or the proposal cannot be this base's.
    fn learn(&mut self, x: &X, made: &Proposal<D>, feedback: Feedback) -> Result<(), BaseError>;

    /// The probability with which this base would propose `decision` now (a density is not one: continuous bases
    /// return `None`), and the memo that such a proposal would carry.
    fn likelihood(&self, _x: &X, _decision: &D) -> Option<(f64, Memo)> {
        None
    }

    /// What the base can do beyond the required methods; asked when an ensemble is built, loaded or gives an order.
    fn abilities(&self) -> Abilities {
        Abilities::default()
    }

    /// Does what the master orders. On [`Order::Widen`] each base says whether it starts over, re-tunes or keeps; after
    /// [`Order::StartOver`] nothing is left of the past.
    ///
    /// # Errors
    /// The range is not a number of at least 1; nothing changed then.
    fn apply_order(&mut self, order: Order) -> Result<(), BaseError>;

    /// Everything that decides the future but the generator, as a framed snapshot ([`crate::snapshot`]).
    fn save(&self) -> Vec<u8>;

    /// Continues from a snapshot, validated as strictly as a constructor would. On error nothing changed.
    ///
    /// # Errors
    /// The snapshot is damaged, of another algorithm or version, or does not fit this base's parameters.
    fn load(&mut self, state: &[u8]) -> Result<(), BaseError>;

    /// What few bases have: `Some(self)` of a base that is a [`BaseExtra`] too, as one that
    /// [wants passes](Abilities::wants_passes) has to be. The answer is the same for as long as the base lives.
    fn extra(&mut self) -> Option<&mut dyn BaseExtra<X, D>> {
        None
    }
}

/// What a base may have beyond [`Base`], and says by [`extra`](Base::extra). What stands around another base passes these on by
/// [`forward!`](crate::forward), too.
pub trait BaseExtra<X: ?Sized, D>: Base<X, D> {
    /// A round went by in which this base was not asked and learned nothing: a counter or a stored context for bases whose
    /// schedule counts rounds, which say so by [`wants_passes`](Abilities::wants_passes).
    ///
    /// # Errors
    /// The context does not fit this base.
    fn pass(&mut self, _x: &X) -> Result<(), BaseError> {
        Ok(())
    }

    /// As [`propose`](Base::propose), into a proposal whose buffers are used again: bases over points write this to spare the
    /// allocation of a round. `made` may hold anything before, and is only meaningful after `Ok`.
    ///
    /// # Errors
    /// As [`propose`](Base::propose).
    fn propose_into(&mut self, x: &X, rng: &mut dyn Rng, made: &mut Proposal<D>) -> Result<(), BaseError> {
        *made = self.propose(x, rng)?;
        Ok(())
    }

    /// An ensemble with [`Feed::Everyone`](crate::Feed::Everyone) introduces its bases to each other when it is built and
    /// loaded. Those that learn from others mostly learn the same losses in the same order, so bases with the same model
    /// may keep it once, and part when something comes to one of them alone. What a base proposes and saves must not
    /// depend on it.
    fn share(&mut self, _commons: &mut Commons) {}

    /// Whether it learns from what decisions cost: an ensemble refuses a [cost](Feedback::with_cost) that neither its master nor a base asks for.
    fn takes_cost(&mut self) -> bool {
        false
    }

    /// Whether it is a band, which credits its own bases by their probabilities of a decision: an ensemble that has it learn from
    /// draws of others says which part of the draw was its own.
    fn is_band(&mut self) -> bool {
        false
    }

    /// The bases that are benched inside this one, where it is an ensemble itself.
    fn benched_inside(&mut self) -> Vec<Benched> {
        Vec::new()
    }
}

impl<X: ?Sized, D> dyn Base<X, D> + '_ {
    /// Tells the base that a round went by without it ([`BaseExtra::pass`]); nothing to one that has no
    /// [`extra`](Base::extra).
    ///
    /// # Errors
    /// As [`BaseExtra::pass`].
    pub fn pass(&mut self, x: &X) -> Result<(), BaseError> {
        self.extra().map_or(Ok(()), |extra| extra.pass(x))
    }
}

impl<X: ?Sized, D, B: Base<X, D> + ?Sized> Base<X, D> for Box<B> {
    forward!(Base<X, D>: self => **self);
}

/// What a base can do beyond what every base must.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Abilities {
    /// Whether [`BaseExtra::pass`] does anything. A base that does not need to see every round is spared the call.
    pub wants_passes: bool,
    /// Whether it can learn from the observed loss of a decision that it did not propose: true of bases that model the
    /// loss. A base that divides the loss by its own probability of the decision cannot, and is given the weight of
    /// the credit rule whenever the decision was not its own.
    pub learns_from_others: bool,
    /// Whether, to learn from others, it wants the memo that its own proposal of their decision would carry. A base that wants
    /// none is spared the [`likelihood`](Base::likelihood).
    pub wants_memo: bool,
    /// Whether it takes rounds that offer some of the actions by their [numbers](crate::Observation::offer).
    #[serde(default)]
    pub takes_offers: bool,
}

impl Abilities {
    /// A base that models the loss of decisions: it learns from others, without a memo, and does not need to see every round.
    pub const MODEL: Self =
        Self { wants_passes: false, learns_from_others: true, wants_memo: false, takes_offers: false };
    /// A base that learns from its own proposals alone, and does not need to see every round.
    pub const OWN: Self =
        Self { wants_passes: false, learns_from_others: false, wants_memo: true, takes_offers: false };
}

impl Default for Abilities {
    /// Nothing is taken for granted: it learns from its own proposals alone.
    fn default() -> Self {
        Self::OWN
    }
}

/// A decision, with what the base wants back when its loss arrives.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Proposal<D> {
    /// What to play.
    pub decision: D,
    /// What the base wants back.
    pub memo: Memo,
}

impl<D> Proposal<D> {
    /// A decision whose base needs nothing back.
    pub fn new(decision: D) -> Self {
        Self { decision, memo: Memo::empty() }
    }

    /// A decision and what its base wants back.
    pub fn with_memo(decision: D, memo: Memo) -> Self {
        Self { decision, memo }
    }

    /// Has `base` propose for `x`, into this proposal, whose buffers are used again where the base can
    /// ([`BaseExtra::propose_into`]). It is only meaningful after `Ok`.
    ///
    /// # Errors
    /// As [`Base::propose`].
    #[inline]
    pub fn refill<X: ?Sized, B: Base<X, D> + ?Sized>(
        &mut self,
        base: &mut B,
        x: &X,
        rng: &mut dyn Rng,
    ) -> Result<(), BaseError> {
        match base.extra() {
            Some(extra) => extra.propose_into(x, rng, self)?,
            None => *self = base.propose(x, rng)?,
        }
        Ok(())
    }
}

/// What a base learns of a round: the loss in [0, 1], and the importance weight beside it, never multiplied in
/// silently. The paper's f' is their product.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Feedback {
    loss: f64,
    weight: f64,
    #[serde(default)]
    cost: Option<f64>,
}

impl From<f64> for Feedback {
    /// A loss that counts as it is.
    fn from(loss: f64) -> Self {
        Self::plain(loss)
    }
}

impl Feedback {
    /// A loss that was seen, and its weight (0: it was not seen).
    pub fn new(loss: f64, weight: f64) -> Self {
        Self { loss, weight, cost: None }
    }

    /// The same, with what the decision cost in money (or whatever is short): for bands with a
    /// [budget](crate::masters::Pacer). No part of the loss.
    #[must_use]
    pub fn with_cost(self, cost: f64) -> Self {
        Self { cost: Some(cost), ..self }
    }

    /// The same with another loss.
    #[must_use]
    pub fn with_loss(self, loss: f64) -> Self {
        Self { loss, ..self }
    }

    /// The same without its loss, of which nothing was seen; its cost stays.
    #[must_use]
    pub fn without_loss(self) -> Self {
        Self { loss: 0.0, weight: 0.0, ..self }
    }

    /// The same with another weight.
    #[must_use]
    pub fn with_weight(self, weight: f64) -> Self {
        Self { weight, ..self }
    }

    /// What the decision cost in money, where that was said.
    pub fn cost(self) -> Option<f64> {
        self.cost
    }

    /// A loss that counts as it is: the base is used alone.
    pub fn plain(loss: f64) -> Self {
        Self::new(loss, 1.0)
    }

    /// Nothing was seen.
    pub fn unseen() -> Self {
        Self::new(0.0, 0.0)
    }

    /// The importance weight s_t, 0 where nothing was seen; its mean is 1.
    pub fn weight(self) -> f64 {
        self.weight
    }

    /// The loss itself, where it was seen. Confidence-bound and Bayesian bases learn from this.
    pub fn observed(self) -> Option<f64> {
        (self.weight > 0.0).then_some(self.loss)
    }

    /// The unbiased estimate f' = loss * weight; 0 where nothing was seen. Exponential-weight bases learn from this.
    pub fn estimate(self) -> f64 {
        if self.weight > 0.0 { self.loss * self.weight } else { 0.0 }
    }

    /// Passes the feedback on when the loss is in [0, 1] and the weight in [0, range]. Written so that NaN fails.
    ///
    /// # Errors
    /// Names the value that is out of bounds.
    #[inline]
    pub fn check(self, range: f64) -> Result<Self, BaseError> {
        self.check_in(LossDomain::Unit, range)
    }

    /// As [`check`](Feedback::check), for losses of `domain`: for bases that are defined there.
    ///
    /// # Errors
    /// Names the value that is out of bounds.
    #[inline]
    pub fn check_in(self, domain: LossDomain, range: f64) -> Result<Self, BaseError> {
        if !domain.contains(self.loss) {
            return Err(BaseError::Loss(self.loss));
        }
        // The range is 2/pbar computed once, the weight 1/pbar computed again: allow their rounding.
        if !(self.weight >= 0.0 && self.weight <= range * (1.0 + 1e-9) && self.weight < f64::INFINITY) {
            return Err(BaseError::Weight { weight: self.weight, range });
        }
        Ok(self)
    }
}

/// A base that failed and plays no more, and why.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "describe", derive(schemars::JsonSchema))]
pub struct Benched {
    /// The base.
    pub base: usize,
    /// The round in which it failed.
    pub round: u64,
    /// What reports call it: a base of a nested ensemble has the names of both, `outer/inner`.
    pub name: String,
    /// What it was asked to do.
    pub during: Duty,
    /// What went wrong.
    pub reason: String,
}

/// What a base was asked to do when it failed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "describe", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Duty {
    /// To propose a decision.
    Propose,
    /// To learn a loss.
    Learn,
    /// To note a round without it.
    Pass,
    /// To give the probability of a decision.
    Likelihood,
    /// To do what the master ordered. Older records call it `obey`.
    #[serde(alias = "obey")]
    ApplyOrder,
    /// Nothing: the caller retired it.
    Retired,
}

impl fmt::Display for Duty {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.serialize(f)
    }
}

#[cfg(test)]
mod tests {
    use serde::de::IntoDeserializer;
    use serde::de::value::{Error, StrDeserializer};

    use super::*;

    #[test]
    fn records_with_the_older_word_are_read() {
        for word in ["apply-order", "obey"] {
            let words: StrDeserializer<'_, Error> = word.into_deserializer();
            assert_eq!(Duty::deserialize(words), Ok(Duty::ApplyOrder));
        }
        assert_eq!(Duty::ApplyOrder.to_string(), "apply-order");
    }
}
