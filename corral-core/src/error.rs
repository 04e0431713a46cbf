//! The error of a parameter that cannot be used.

use std::borrow::Cow;
use std::fmt::Display;

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

    /// Passes `value` on when it is positive and finite. Written so that NaN fails.
    ///
    /// # Errors
    /// The value is zero, negative, infinite or NaN.
    pub fn positive(name: &'static str, value: f64) -> Result<f64, Self> {
        if value > 0.0 && value < f64::INFINITY {
            Ok(value)
        } else {
            Err(Self::new(name, value, "positive and finite"))
        }
    }

    /// Passes `value` on when it lies in [0, 1]. Written so that NaN fails.
    ///
    /// # Errors
    /// The value is outside [0, 1] or NaN.
    pub fn unit(name: &'static str, value: f64) -> Result<f64, Self> {
        if (0.0..=1.0).contains(&value) { Ok(value) } else { Err(Self::new(name, value, "in [0, 1]")) }
    }
}
