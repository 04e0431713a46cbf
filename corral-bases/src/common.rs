//! What bases have in common: settings, clocks, checks of what comes back, snapshots.

use std::fmt;

use corral_core::params::{Bounded, Bounds};
use corral_core::snapshot::{self, SnapshotError};
use corral_core::{Arm, BaseError, Feedback, Memo, Order, ParamError, Rng, Setup, uniform};
use serde::de::{self, DeserializeOwned, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// What is asked of a base: an answer, or why there is none.
pub type Result<T = (), E = BaseError> = std::result::Result<T, E>;

/// What a base does when the range of its feedback grows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "describe", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum RangeChange {
    /// Forget everything and start with the new range and the rounds that are left: as in the paper's theorem.
    Restart,
    /// Keep what was learned, and set the rates for the new range.
    Retune,
    /// Go on as before: for bases that neither know nor need the range.
    Keep,
}

impl RangeChange {
    /// For bases that tune a rate for the range: they cannot just go on.
    pub const TUNED: &'static [Self] = &[Self::Restart, Self::Retune];
    /// For lazy bases: there is nothing to re-tune.
    pub const LAZY: &'static [Self] = &[Self::Keep, Self::Restart];
    /// For bases that can do any of it.
    pub const ANY: &'static [Self] = &[Self::Retune, Self::Keep, Self::Restart];

    /// Whether it is one of `allowed`.
    ///
    /// # Errors
    /// It is not.
    pub fn check(self, allowed: &[Self]) -> Result<(), ParamError> {
        if allowed.contains(&self) {
            return Ok(());
        }
        let words: Vec<&str> = allowed.iter().map(|change| change.word()).collect();
        Err(ParamError::new("range_change", self.word(), words.join(" or ")))
    }

    fn word(self) -> &'static str {
        match self {
            Self::Restart => "restart",
            Self::Retune => "retune",
            Self::Keep => "keep",
        }
    }
}

corral_core::params! {
    /// Which of several best actions is played.
    pub enum Ties {
        /// The one that is counted first.
        #[default]
        Lowest,
        /// A random one.
        Random,
    }
}

/// An arm drawn uniformly: one number of the generator.
#[inline]
pub(crate) fn uniform_arm(actions: usize, rng: &mut dyn Rng) -> usize {
    // The product may round up to `actions` for huge counts only; stay inside whatever it is.
    ((uniform(rng) * actions as f64) as usize).min(actions - 1)
}

/// A number that is given, or follows from the horizon, the range and the world: `"auto"` or a number.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub enum Setting {
    /// By the formula of the base.
    #[default]
    Auto,
    /// This number.
    Given(f64),
}

impl Setting {
    /// The number that was given, or what `formula` says.
    pub fn or(self, formula: impl FnOnce() -> f64) -> f64 {
        match self {
            Self::Auto => formula(),
            Self::Given(value) => value,
        }
    }
}

impl Bounded for Setting {
    fn numbers(&self, see: &mut dyn FnMut(f64)) {
        if let Self::Given(value) = self {
            see(*value);
        }
    }
}

#[cfg(feature = "describe")]
impl schemars::JsonSchema for Setting {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Setting".into()
    }

    fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
        schemars::json_schema!({ "anyOf": [{ "const": "auto" }, { "type": "number" }] })
    }
}

impl Serialize for Setting {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        match (to.is_human_readable(), self) {
            (true, Self::Auto) => to.serialize_str("auto"),
            (true, Self::Given(value)) => to.serialize_f64(*value),
            (false, Self::Auto) => None::<f64>.serialize(to),
            (false, Self::Given(value)) => Some(*value).serialize(to),
        }
    }
}

impl<'de> Deserialize<'de> for Setting {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        struct Text;
        impl Visitor<'_> for Text {
            type Value = Setting;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("\"auto\" or a number")
            }
            fn visit_str<E: de::Error>(self, text: &str) -> Result<Setting, E> {
                if text == "auto" {
                    Ok(Setting::Auto)
                } else {
                    Err(E::invalid_value(de::Unexpected::Str(text), &self))
                }
            }
            fn visit_f64<E: de::Error>(self, value: f64) -> Result<Setting, E> {
                Ok(Setting::Given(value))
            }
            fn visit_i64<E: de::Error>(self, value: i64) -> Result<Setting, E> {
                Ok(Setting::Given(value as f64))
            }
            fn visit_u64<E: de::Error>(self, value: u64) -> Result<Setting, E> {
                Ok(Setting::Given(value as f64))
            }
        }
        if from.is_human_readable() {
            from.deserialize_any(Text)
        } else {
            Ok(Option::<f64>::deserialize(from)?.map_or(Self::Auto, Self::Given))
        }
    }
}

/// Where a positive size may lie, such as the strength of a ridge: beyond these what is computed from it leaves the
/// numbers of a computer.
pub const SIZE: Bounds = Bounds::between(1e-12, 1e12);
/// As [`SIZE`], for factors that may be 0.
pub const FACTOR: Bounds = Bounds::between(0.0, 1e12);
/// As [`SIZE`], for what is subtracted from losses.
pub const OFFSET: Bounds = Bounds::between(-1e12, 1e12);
/// As [`SIZE`], for the probability of a wrong confidence set.
pub const CONFIDENCE: Bounds = Bounds { low: 1e-12, high: 1.0, above: false, below: true };

/// Rounds that went by, and the horizon that the base was tuned for; how wide its feedback may be. Beyond the horizon a
/// base goes on with the rates of its last round.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Clock {
    /// Rounds that are over: learned from, or passed where the base wants passes.
    pub rounds: u64,
    /// The rounds that the base was tuned for, where they are known.
    pub horizon: Option<u64>,
    /// The largest weight that feedback may carry.
    pub range: f64,
}

impl Clock {
    /// At the first round of `setup`, with range 1.
    pub fn new(setup: &Setup) -> Self {
        Self { rounds: 0, horizon: setup.horizon, range: 1.0 }
    }

    /// Does what `order` says to the clock. `true`: the base has to forget what it learned, by the order or because
    /// that is what `change` says of a wider range. A range that is no wider changes nothing.
    ///
    /// # Errors
    /// The range is not a number of at least 1.
    pub fn apply_order(&mut self, order: Order, change: RangeChange) -> Result<bool> {
        let (range, remaining) = (order.check()?.range(), order.remaining());
        let wider = range > self.range;
        let forget = order.starts_over() || (wider && change == RangeChange::Restart);
        if forget {
            *self = Self { rounds: 0, horizon: remaining, range };
        } else if wider {
            self.range = range;
        }
        Ok(forget)
    }

    /// A round is over.
    #[inline]
    pub fn tick(&mut self) {
        self.rounds = self.rounds.saturating_add(1);
    }

    /// After the last round that was told, the game is taken to be twice as long: a rate for T rounds that is kept for ever has
    /// linear regret. `true`: the horizon has changed.
    #[inline]
    pub fn outlast(&mut self) -> bool {
        let outlasted = self.horizon.filter(|horizon| self.rounds >= *horizon);
        outlasted.inspect(|horizon| self.horizon = Some(horizon.max(&1).saturating_mul(2))).is_some()
    }

    /// The horizon as formulas use it, at least 2 (docs/bases.md#what-all-bases-share), where it is known.
    pub fn tuned(&self) -> Option<f64> {
        self.horizon.map(|horizon| horizon.max(2) as f64)
    }

    /// Checks a clock that was read back.
    ///
    /// # Errors
    /// The range is not a number of at least 1.
    pub fn valid(&self) -> Result<(), SnapshotError> {
        BaseError::check_range(self.range).map(|_| ()).map_err(SnapshotError::state)
    }
}

/// The number of arms, at least 1.
///
/// # Errors
/// There are no arms, or more than 2^32 - 1.
pub fn arm_count(setup: &Setup) -> Result<usize, ParamError> {
    let actions = setup.actions();
    if actions >= 1 && u32::try_from(actions).is_ok() {
        Ok(actions)
    } else {
        Err(ParamError::new("the number of actions", actions, "at least 1 and below 2^32"))
    }
}

/// How many of `actions` arms a round offers, when it says so: the first ones.
///
/// # Errors
/// None, or more than there are.
#[inline]
pub fn check_offered(offered: Option<usize>, actions: usize) -> Result<usize> {
    let found = offered.unwrap_or(actions);
    if (1..=actions).contains(&found) {
        return Ok(found);
    }
    Err(BaseError::Context { what: "actions", found, expected: actions })
}

/// Goes on where a round offers the first actions: for bases that cannot leave others out.
///
/// # Errors
/// It offers actions by their numbers.
#[inline]
pub fn check_first(offer: Option<&[u32]>, base: &str) -> Result {
    if offer.is_none() { Ok(()) } else { Err(BaseError::LeftOut { base: base.to_owned() }) }
}

/// The numbers in `all` at `places`.
pub(crate) fn select<T: Copy>(all: &[T], places: &[u32]) -> Vec<T> {
    places.iter().map(|place| all[*place as usize]).collect()
}

/// The index of a decision that came back, below `actions`.
///
/// # Errors
/// It is no decision of a base over `actions` arms.
#[inline]
pub fn check_arm(arm: Arm, actions: usize) -> Result<usize> {
    let index = arm.index();
    if index < actions { Ok(index) } else { Err(BaseError::Proposal(format!("arm {index} of {actions}"))) }
}

/// What came of a proposal of an arm.
#[derive(Debug, Clone, Copy)]
pub struct Played<'a> {
    /// The arm.
    pub arm: usize,
    /// What the base wanted back.
    pub memo: &'a Memo,
    /// What it cost.
    pub feedback: Feedback,
}

impl Played<'_> {
    /// The probability that the memo begins with, in (0, 1].
    ///
    /// # Errors
    /// There is none.
    pub fn probability(&self) -> Result<f64> {
        match self.memo.get(0) {
            // A little above 1 by rounding is 1.
            Some(q) if q > 0.0 && q <= 1.0 + 1e-9 => Ok(q),
            Some(q) => Err(BaseError::Proposal(format!("its memo has the probability {q}"))),
            None => Err(BaseError::Proposal(String::from("its memo has no probability"))),
        }
    }
}

/// The least of `numbers`.
pub(crate) fn least(numbers: &[f64]) -> f64 {
    numbers.iter().copied().fold(f64::INFINITY, f64::min)
}

/// The version of the snapshots of bases.
const VERSION: u16 = 4;

/// Seals parameters and state together, so that [`reopen`] can tell whose they are.
pub fn seal<P: Serialize, S: Serialize>(algorithm: &str, params: &P, state: &S) -> Vec<u8> {
    snapshot::seal(algorithm, VERSION, &(params, state))
}

/// The state that [`seal`] wrote, when it was written with the same parameters.
///
/// # Errors
/// The snapshot is damaged, of another algorithm or of other parameters.
pub fn reopen<P, S>(algorithm: &str, params: &P, bytes: &[u8]) -> Result<S>
where
    P: DeserializeOwned + PartialEq,
    S: DeserializeOwned,
{
    let (theirs, state): (P, S) = snapshot::open(algorithm, VERSION, bytes)?;
    ensure(theirs == *params, "it was saved with other parameters")?;
    Ok(state)
}

pub use corral_core::snapshot::ensure;
pub(crate) use corral_core::vectors::lowest;

/// Checks a list of numbers that was read back: `len` of them, all finite.
///
/// # Errors
/// Names `what` otherwise.
pub fn check_numbers(what: &str, numbers: &[f64], len: usize) -> Result<(), SnapshotError> {
    ensure(numbers.len() == len, format_args!("{} {what} where {len} are needed", numbers.len()))?;
    match numbers.iter().position(|v| !v.is_finite()) {
        Some(at) => Err(SnapshotError::state(format_args!("number {at} of the {what} is {}", numbers[at]))),
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_setting_is_a_word_or_a_number() {
        #[derive(Debug, PartialEq, Serialize, Deserialize)]
        struct P {
            rate: Setting,
        }
        for (text, setting) in [
            ("rate = \"auto\"", Setting::Auto),
            ("rate = 0.5", Setting::Given(0.5)),
            ("rate = 2", Setting::Given(2.0)),
        ] {
            let p: P = toml::from_str(text).unwrap();
            assert_eq!(p.rate, setting);
            let bytes = snapshot::seal("p", 1, &p);
            assert_eq!(snapshot::open::<P>("p", 1, &bytes).unwrap(), p);
        }
        assert!(toml::from_str::<P>("rate = \"fast\"").is_err());
    }
}
