//! Revenue, seconds or rewards as losses in [0, 1].

use serde::{Deserialize, Serialize};

use crate::{Feedback, ParamError};

/// How what a caller measures becomes a loss in [0, 1]: `low` to `high` is mapped to 0 to 1, or to 1 to 0 for rewards. A
/// value outside the range is an error, or with `clip` the nearest end of it.
///
/// ```
/// use corral_core::Scale;
/// let seconds = Scale::losses(0.0, 30.0);
/// assert_eq!(seconds.loss(6.0)?, (0.2, false));
/// assert_eq!(seconds.loss(31.0).unwrap_err().to_string(), "a loss must be in [0, 30], but is 31");
/// let revenue = Scale { clip: true, ..Scale::rewards(0.0, 100.0) };
/// assert_eq!((revenue.loss(75.0)?, revenue.loss(250.0)?), ((0.25, false), (0.0, true)));
/// # Ok::<(), corral_core::ScaleError>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Scale {
    /// The smallest value.
    pub low: f64,
    /// The largest value.
    pub high: f64,
    /// Whether values outside are cut to the nearest end, and counted; else they are refused.
    #[serde(default)]
    pub clip: bool,
    /// Whether larger values are better.
    #[serde(default)]
    pub rewards: bool,
}

/// A value that a [`Scale`] has no loss for.
#[derive(Debug, Clone, Copy, PartialEq, thiserror::Error)]
#[error("a {} must be in [{}, {}], but is {value}", if .scale.rewards { "reward" } else { "loss" }, .scale.low, .scale.high)]
pub struct ScaleError {
    /// The value.
    pub value: f64,
    /// The scale.
    pub scale: Scale,
}

impl Scale {
    /// Losses from `low` to `high`: smaller is better.
    pub fn losses(low: f64, high: f64) -> Self {
        Self { low, high, clip: false, rewards: false }
    }

    /// Rewards from `low` to `high`: larger is better.
    pub fn rewards(low: f64, high: f64) -> Self {
        Self { rewards: true, ..Self::losses(low, high) }
    }

    /// Passes a scale on whose range can be used.
    ///
    /// # Errors
    /// The range is empty or not finite.
    pub fn check(self) -> Result<Self, ParamError> {
        let width = self.high - self.low;
        if width > 0.0 && width.is_finite() && self.low.is_finite() {
            return Ok(self);
        }
        Err(ParamError::new("scale", format!("[{}, {}]", self.low, self.high), "[low, high], low below high"))
    }

    /// The loss of `value`, and whether it was clipped. Written so that NaN fails.
    ///
    /// # Errors
    /// The value is no finite number, or lies outside the range and is not to be clipped.
    pub fn loss(self, value: f64) -> Result<(f64, bool), ScaleError> {
        let outside = !(self.low..=self.high).contains(&value);
        if outside && !(self.clip && value.is_finite()) {
            return Err(ScaleError { value, scale: self });
        }
        let part = ((value - self.low) / (self.high - self.low)).clamp(0.0, 1.0);
        Ok((if self.rewards { 1.0 - part } else { part }, outside))
    }

    /// What has this loss: the other way round.
    pub fn value(self, loss: f64) -> f64 {
        let part = if self.rewards { 1.0 - loss } else { loss };
        self.low + part * (self.high - self.low)
    }

    /// As [`loss`](Scale::loss), with the weight of `feedback` kept; what was not seen stays so.
    ///
    /// # Errors
    /// As [`loss`](Scale::loss).
    pub fn feedback(self, feedback: Feedback) -> Result<(Feedback, bool), ScaleError> {
        match feedback.observed() {
            None => Ok((Feedback::unseen(), false)),
            Some(value) => {
                let loss = self.loss(value)?;
                Ok((feedback.with_loss(loss.0), loss.1))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_mapped_clipped_or_refused() {
        let scale = Scale::rewards(-10.0, 10.0);
        assert_eq!(
            [-10.0, 0.0, 10.0].map(|v| scale.loss(v)),
            [Ok((1.0, false)), Ok((0.5, false)), Ok((0.0, false))]
        );
        let clip = Scale { clip: true, ..scale };
        assert_eq!([-11.0, 11.0].map(|v| clip.loss(v)), [Ok((1.0, true)), Ok((0.0, true))]);
        for value in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY] {
            assert!(scale.loss(value).is_err() && clip.loss(value).is_err(), "{value}");
        }
        assert_eq!([1.0, 0.5, 0.0].map(|loss| scale.value(loss)), [-10.0, 0.0, 10.0]);
        assert_eq!(scale.loss(12.0).unwrap_err().to_string(), "a reward must be in [-10, 10], but is 12");
        assert_eq!(clip.feedback(Feedback::new(20.0, 3.0)), Ok((Feedback::new(0.0, 3.0), true)));
        assert_eq!(scale.feedback(Feedback::new(f64::NAN, 0.0)), Ok((Feedback::unseen(), false)));
    }

    #[test]
    fn a_range_that_cannot_be_used_is_refused() {
        for (low, high) in
            [(1.0, 1.0), (2.0, 1.0), (f64::NAN, 1.0), (0.0, f64::INFINITY), (f64::MIN, f64::MAX)]
        {
            assert!(Scale::losses(low, high).check().is_err(), "[{low}, {high}]");
        }
        let error = Scale::losses(2.0, 1.0).check().unwrap_err().to_string();
        assert_eq!(error, "scale must be [low, high], low below high, but is [2, 1]");
    }
}
