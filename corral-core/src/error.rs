//! Errors that every part of the crate can meet: a parameter that cannot be used, a base that could not go on.

use std::borrow::Cow;
use std::fmt::Display;

use crate::SnapshotError;
use crate::set::SetError;

/// Parameters that the algorithm is not defined for.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ParamError {
    /// One has a value that it cannot have.
    #[error("{name} must be {must}, but is {value}")]
    Value {
        /// Name of the parameter, as a spec file writes it.
        name: Cow<'static, str>,
        /// The offending value.
        value: String,
        /// What it must be: "positive and finite".
        must: Cow<'static, str>,
    },
    /// One is missing, or does not go with the others.
    #[error("{name}: {why}")]
    Choice {
        /// Name of the parameter, as a spec file writes it.
        name: Cow<'static, str>,
        /// What to do about it: "give gap or scale, not both".
        why: Cow<'static, str>,
    },
}

impl ParamError {
    /// `name` must be `must`, but is `value`.
    pub fn new(
        name: impl Into<Cow<'static, str>>,
        value: impl Display,
        must: impl Into<Cow<'static, str>>,
    ) -> Self {
        Self::Value { name: name.into(), value: value.to_string(), must: must.into() }
    }

    /// `name` is missing, or does not go with the others; `why` says what to do about it.
    pub fn choice(name: impl Into<Cow<'static, str>>, why: impl Into<Cow<'static, str>>) -> Self {
        Self::Choice { name: name.into(), why: why.into() }
    }

    /// Which parameter it is about, as a spec file writes it.
    pub fn name(&self) -> &str {
        match self {
            Self::Value { name, .. } | Self::Choice { name, .. } => name,
        }
    }

    /// Passes `value` on when it is positive and finite. Written so that NaN fails.
    ///
    /// # Errors
    /// The value is zero, negative, infinite or NaN.
    pub fn positive(name: &'static str, value: f64) -> Result<f64, Self> {
        require(value > 0.0 && value < f64::INFINITY, name, value, "positive and finite").map(|()| value)
    }

    /// Passes `value` on when it lies in [0, 1]. Written so that NaN fails.
    ///
    /// # Errors
    /// The value is outside [0, 1] or NaN.
    pub fn unit(name: &'static str, value: f64) -> Result<f64, Self> {
        require((0.0..=1.0).contains(&value), name, value, "in [0, 1]").map(|()| value)
    }
}

/// Refuses `value` unless it `holds` what it must.
///
/// # Errors
/// [`ParamError::new`] of the same words.
pub fn require(
    holds: bool,
    name: impl Into<Cow<'static, str>>,
    value: impl Display,
    must: impl Into<Cow<'static, str>>,
) -> Result<(), ParamError> {
    if holds { Ok(()) } else { Err(ParamError::new(name, value, must)) }
}

impl BaseError {
    /// The parameter that it is about, where one is to blame.
    pub fn key(&self) -> Option<&str> {
        match self {
            Self::Param(why) => Some(why.name()),
            _ => None,
        }
    }
}

/// Why a base could not do what it was asked.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum BaseError {
    /// A parameter that the algorithm is not defined for.
    #[error(transparent)]
    Param(#[from] ParamError),
    /// A loss outside [0, 1] (or, where any loss is allowed, not a number).
    #[error("{}", loss_text(*.0))]
    Loss(f64),
    /// A weight that is negative, not finite or above the range.
    #[error("a weight must be in [0, {range}], but is {weight}")]
    Weight {
        /// The offending weight.
        weight: f64,
        /// The range in force.
        range: f64,
    },
    /// A range below 1 or not finite.
    #[error("a range must be finite and at least 1, but is {0}")]
    Range(f64),
    /// The context is not of the shape that the base was built for.
    #[error("the context has {found} {what}, but {expected} were announced")]
    Context {
        /// What was counted: "features", "actions".
        what: &'static str,
        /// How many there are.
        found: usize,
        /// How many the base was built for.
        expected: usize,
    },
    /// Numbers of offered actions that do not increase, or that no action has.
    #[error("the numbers of the offered actions must increase and be below {actions}, but are {numbers:?}")]
    Numbers {
        /// The numbers.
        numbers: Vec<u32>,
        /// How many actions were announced.
        actions: usize,
    },
    /// A round that leaves actions out, and a base that cannot take it.
    #[error("{base} cannot take a round that offers only some of the actions by their numbers")]
    LeftOut {
        /// The base.
        base: String,
    },
    /// A feature that is not finite.
    #[error("feature {index} of the context is {value}")]
    Feature {
        /// Its place.
        index: usize,
        /// Its value.
        value: f64,
    },
    /// A feature outside the range that the caller has.
    #[error("feature {index} of the context must be in [{low}, {high}], but is {value}")]
    Outside {
        /// Its place: shared features first, then those of action rows, one row after the other.
        index: usize,
        /// Its value.
        value: f64,
        /// The least value.
        low: f64,
        /// The largest value.
        high: f64,
    },
    /// A decision or memo that this base cannot have made.
    #[error("not a proposal of this base: {0}")]
    Proposal(String),
    /// A set, or a point of one, that cannot be used.
    #[error(transparent)]
    Set(#[from] SetError),
    /// A snapshot that cannot be used.
    #[error(transparent)]
    Snapshot(#[from] SnapshotError),
    /// The caller stopped the base while it worked (an interrupt, say): it is no fault of the base.
    #[error("stopped by the caller: {0}")]
    Caller(String),
    /// Anything else: a numerical failure, a foreign base.
    #[error("{0}")]
    Failed(String),
}

/// What an error says of a loss that cannot be one.
pub(crate) fn loss_text(loss: f64) -> String {
    if loss.is_finite() && loss.abs() <= 1e100 {
        format!("a loss must be in [0, 1], but is {loss}")
    } else {
        format!("a loss must be a number, but is {loss}")
    }
}

impl BaseError {
    /// Whether whoever called is to blame, and not the base: the context is not one that the base was built for, or it was stopped.
    pub fn is_the_callers(&self) -> bool {
        matches!(
            self,
            Self::Context { .. }
                | Self::Numbers { .. }
                | Self::LeftOut { .. }
                | Self::Feature { .. }
                | Self::Outside { .. }
                | Self::Caller(_)
        )
    }

    /// Goes on where a context has as many of `what` as were announced.
    ///
    /// # Errors
    /// It has not.
    #[inline]
    pub fn check_count(what: &'static str, found: usize, expected: usize) -> Result<(), Self> {
        if found == expected { Ok(()) } else { Err(Self::Context { what, found, expected }) }
    }

    /// Passes `range` on when it is finite and at least 1.
    ///
    /// # Errors
    /// Names the range otherwise.
    pub fn check_range(range: f64) -> Result<f64, Self> {
        if (1.0..f64::INFINITY).contains(&range) { Ok(range) } else { Err(Self::Range(range)) }
    }
}

/// An error that is seldom: the compiler lays out the other path straight.
#[cold]
#[inline(never)]
pub(crate) fn seldom<E>(error: E) -> E {
    error
}
