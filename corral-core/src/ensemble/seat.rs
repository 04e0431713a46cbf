//! One base in its place: the instance, what it has been told, what it has done.

use serde::{Deserialize, Serialize};

use crate::guard::guard;
use crate::{Base, BaseError, Benched, Commons, Feedback, Memo, Order, Proposal, Rng};

/// What a base did and was told since the start.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
pub struct Tally {
    /// How often its decision was played and the loss has arrived.
    pub plays: u64,
    /// The sum of these losses.
    pub losses: f64,
    /// The largest weight it was credited with.
    pub max_weight: f64,
    /// The sum of its weights.
    pub weights: f64,
    /// The sum of their squares.
    pub squares: f64,
    /// How often it was told a wider range, or to start over, after its first range.
    pub restarts: u64,
}

impl Tally {
    pub(super) fn credit(&mut self, weight: f64) {
        self.max_weight = self.max_weight.max(weight);
        self.weights += weight;
        self.squares += weight * weight;
    }

    /// The mean loss of its plays, where there were any.
    pub fn mean_loss(&self) -> Option<f64> {
        (self.plays > 0).then(|| self.losses / self.plays as f64)
    }

    /// Kish's number of effective samples, (sum w)^2 / sum w^2; 0 where there was none.
    pub fn effective_samples(&self) -> f64 {
        if self.squares > 0.0 { self.weights * self.weights / self.squares } else { 0.0 }
    }

    pub(super) fn is_sound(&self) -> bool {
        let Self { max_weight, weights, squares, .. } = *self;
        // Written so that NaN fails.
        [max_weight, weights, squares].iter().all(|v| *v >= 0.0) && self.losses.is_finite()
    }
}

/// A base in its place. Every call is guarded: a panic becomes an error, so that a base that fails can be benched. Aligned, so
/// that a round finds all of it in two neighbouring lines of the cache.
#[repr(align(128))]
pub(super) struct Seat<X: ?Sized, D> {
    base: Box<dyn Base<X, D>>,
    /// Whether it has an [`extra`](Base::extra): others are not asked for it in every round.
    has_extra: bool,
    /// What reports call it; empty: its number.
    pub name: String,
    /// Which instance of the base this is: counts the orders it was given.
    pub epoch: u64,
    /// The largest weight that may reach it, as the master says.
    pub range: f64,
    pub benched: bool,
    /// Whether it learns losses with their weights.
    pub weighted: bool,
    /// Whether it learns from decisions of others.
    pub listens: bool,
    /// Whether it wants its memo of them.
    pub wants_memo: bool,
    /// Whether it takes rounds that offer some of the actions by their numbers.
    pub takes_offers: bool,
    /// Whether it is a band that learns its part of draws that others made: its memo ends with the part.
    pub parted: bool,
    pub tally: Tally,
}

impl<X: ?Sized, D> Seat<X, D> {
    pub fn new(base: Box<dyn Base<X, D>>) -> Self {
        let mut seat = Self {
            base,
            has_extra: false,
            name: String::new(),
            epoch: 0,
            range: 1.0,
            benched: false,
            weighted: true,
            listens: false,
            wants_memo: true,
            takes_offers: false,
            parted: false,
            tally: Tally::default(),
        };
        seat.has_extra = seat.find_extra();
        seat
    }

    fn find_extra(&mut self) -> bool {
        // A base that fails here is found out at the next call that can fail.
        guarded(|| Ok(self.base.extra().is_some())).unwrap_or(false)
    }

    /// Whether it is a band itself.
    pub fn is_band(&mut self) -> bool {
        self.has_extra
            && guarded(|| Ok(self.base.extra().is_some_and(|extra| extra.is_band()))).unwrap_or(false)
    }

    /// Whether it learns from what decisions cost.
    pub fn takes_cost(&mut self) -> bool {
        self.has_extra
            && guarded(|| Ok(self.base.extra().is_some_and(|extra| extra.takes_cost()))).unwrap_or(false)
    }

    /// Ends the memo of a band with its part of the draw. Where it has none the memo is empty: the band hears what others play.
    pub fn add_part(&self, memo: &mut Memo, part: f64) {
        if !self.parted {
        } else if part > 0.0 && !memo.numbers().is_empty() {
            memo.push(part.min(1.0));
        } else {
            memo.clear();
        }
    }

    pub fn base(&self) -> &dyn Base<X, D> {
        &*self.base
    }

    /// Puts another base in its place: what was asked of the old one is not told to the new one.
    pub fn replace(&mut self, base: Box<dyn Base<X, D>>) -> Box<dyn Base<X, D>> {
        self.epoch += 1;
        let before = std::mem::replace(&mut self.base, base);
        self.has_extra = self.find_extra();
        before
    }

    /// Asks for a proposal, into `buffer` where there is one; a memo that is not finite is an error.
    pub fn propose(
        &mut self,
        x: &X,
        rng: &mut dyn Rng,
        buffer: &mut Option<Proposal<D>>,
    ) -> Result<(), BaseError> {
        let (base, extra) = (&mut self.base, self.has_extra);
        guarded(|| match &mut *buffer {
            Some(made) if extra => made.refill(base, x, rng),
            buffer => base.propose(x, rng).map(|made| *buffer = Some(made)),
        })?;
        match buffer {
            Some(made) => finite(&made.memo),
            None => Err(BaseError::Failed("it proposed nothing".into())),
        }
    }

    pub fn learn(&mut self, x: &X, made: &Proposal<D>, feedback: Feedback) -> Result<(), BaseError> {
        guarded(|| self.base.learn(x, made, feedback))
    }

    pub fn pass(&mut self, x: &X) -> Result<(), BaseError> {
        guarded(|| self.base.pass(x))
    }

    /// The likelihood of a decision; one that is no probability, or carries a memo that is not finite, is an error.
    pub fn likelihood(&self, x: &X, decision: &D) -> Result<Option<(f64, Memo)>, BaseError> {
        let found = guarded(|| Ok(self.base.likelihood(x, decision)))?;
        if let Some((probability, memo)) = &found {
            if !(*probability >= 0.0 && *probability <= 1.0 + 1e-9) {
                return Err(BaseError::Failed(format!(
                    "a likelihood must be in [0, 1], but is {probability}"
                )));
            }
            finite(memo)?;
        }
        Ok(found)
    }

    /// The memo of a decision that others made, where it is wanted; one that is not finite is an error.
    pub fn memo(&self, x: &X, decision: &D) -> Result<Memo, BaseError> {
        if !self.wants_memo {
            return Ok(Memo::empty());
        }
        let found = guarded(|| Ok(self.base.likelihood(x, decision)))?;
        let memo = found.map(|(_, memo)| memo).unwrap_or_default();
        finite(&memo)?;
        Ok(memo)
    }

    /// Introduces the base to what others keep.
    pub fn share(&mut self, commons: &mut Commons) -> Result<(), BaseError> {
        guarded(|| {
            if let Some(extra) = self.base.extra() {
                extra.share(commons);
            }
            Ok(())
        })
    }

    /// The bases that are benched inside of it.
    pub fn benched_inside(&mut self) -> Vec<Benched> {
        guarded(|| Ok(self.base.extra().map(|extra| extra.benched_inside()).unwrap_or_default()))
            .unwrap_or_default()
    }

    /// An order makes a new instance: what was asked of the old one is not told to the new one.
    pub fn apply_order(&mut self, order: Order) -> Result<(), BaseError> {
        self.epoch += 1;
        self.tally.restarts += 1;
        guarded(|| self.base.apply_order(order))
    }

    /// The state; empty where the base cannot tell it, which [`load`](Seat::load) then refuses.
    pub fn save(&self) -> Vec<u8> {
        guarded(|| Ok(self.base.save())).unwrap_or_default()
    }

    pub fn load(&mut self, state: &[u8]) -> Result<(), BaseError> {
        guarded(|| self.base.load(state))
    }
}

fn finite(memo: &Memo) -> Result<(), BaseError> {
    match memo.numbers().iter().position(|v| !v.is_finite()) {
        None => Ok(()),
        Some(at) => Err(BaseError::Failed(format!("number {at} of a memo is {}", memo.numbers()[at]))),
    }
}

/// Turns a panic into an error. The base is benched then, so a state is never read that the panic left half made.
#[inline]
fn guarded<T>(call: impl FnOnce() -> Result<T, BaseError>) -> Result<T, BaseError> {
    guard(call).unwrap_or_else(|text| Err(BaseError::Failed(text)))
}
