//! The error of a parameter that cannot be used.

use std::fmt::Display;

/// A parameter has a value that the algorithm is not defined for.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{name} must be {must}, but is {value}")]
pub struct ParamError {
    /// Name of the parameter, as a spec file writes it.
    pub name: &'static str,
    /// The offending value.
    pub value: String,
    /// What it must be: "positive and finite".
    pub must: &'static str,
}

impl ParamError {
    /// `name` must be `must`, but is `value`.
    pub fn new(name: &'static str, value: impl Display, must: &'static str) -> Self {
        Self { name, value: value.to_string(), must }
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
