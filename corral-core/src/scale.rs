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
    /// Whether the range is learned from the values: see [`Scale::learned`].
    #[serde(default)]
    pub learned: bool,
}

/// The range of the values that came so far.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct ValueRange(Option<(f64, f64)>);

impl ValueRange {
    /// With one value more: one that lies outside widens the range to itself, but at most by the width that it has. The first two
    /// that differ give the first width.
    pub fn with(self, value: f64) -> Self {
        Self(Some(match self.0 {
            None => (value, value),
            Some((low, high)) if low == high => (low.min(value), high.max(value)),
            Some((low, high)) => {
                let width = high - low;
                (low.min(value.max(low - width)), high.max(value.min(high + width)))
            }
        }))
    }

    /// Its ends, where it has two.
    pub fn ends(self) -> Option<(f64, f64)> {
        self.0.filter(|(low, high)| low < high)
    }

    /// Whether values can have given it.
    pub fn is_sound(self) -> bool {
        self.0.is_none_or(|(low, high)| low <= high && (high - low).is_finite())
    }
}

/// A value that a [`Scale`] has no loss for.
#[derive(Debug, Clone, Copy, PartialEq, thiserror::Error)]
#[error("a {} must be {}, but is {value}", if .scale.rewards { "reward" } else { "loss" }, .scale.must())]
pub struct ScaleError {
    /// The value.
    pub value: f64,
    /// The scale.
    pub scale: Scale,
}

impl Scale {
    /// Losses from `low` to `high`: smaller is better.
    pub fn losses(low: f64, high: f64) -> Self {
        Self { low, high, clip: false, rewards: false, learned: false }
    }

    /// Rewards from `low` to `high`: larger is better.
    pub fn rewards(low: f64, high: f64) -> Self {
        Self { rewards: true, ..Self::losses(low, high) }
    }

    /// Rewards whose range is not known, up to 1e100 in size. It is that of those that came so far: a reward outside widens it to
    /// itself, but by no more than the width that it has, so that one wild value cannot decide it; the first two that differ give
    /// the first width, and until then every reward is half way. What was learned with a smaller range is kept as it is.
    pub fn learned() -> Self {
        Self { learned: true, clip: true, ..Self::rewards(-1e100, 1e100) }
    }

    /// This scale with the range that was learned, where it learns one.
    pub(crate) fn within(self, seen: ValueRange) -> Self {
        match seen.ends().filter(|_| self.learned) {
            Some((low, high)) => Self { low, high, ..self },
            None => self,
        }
    }

    /// The range that is learned with one value more, where this learns one.
    pub(crate) fn see(self, seen: ValueRange, feedback: Feedback) -> ValueRange {
        match feedback.observed().filter(|_| self.learned) {
            Some(value) => seen.with(value),
            None => seen,
        }
    }

    /// What a value must be.
    fn must(&self) -> String {
        match self.learned {
            true => "a number of at most 1e100 in size".into(),
            false => format!("in [{}, {}]", self.low, self.high),
        }
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
            None => Ok((feedback.without_loss(), false)),
            Some(value) if self.learned && !(value.abs() <= 1e100) => {
                Err(ScaleError { value, scale: Self::learned() })
            }
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

    #[test]
    fn a_range_that_is_learned_grows_by_at_most_its_width() {
        let scale = Scale::learned();
        let mut seen = ValueRange::default();
        let mut learn = |value: f64| {
            let feedback = Feedback::plain(value);
            let next = scale.see(seen, feedback);
            let loss = scale.within(next).feedback(feedback).map(|(told, _)| told.observed());
            seen = next;
            (loss, next.ends())
        };
        // Half way until two differ.
        assert_eq!(learn(10.0), (Ok(Some(0.5)), None));
        assert_eq!(learn(12.0), (Ok(Some(0.0)), Some((10.0, 12.0))));
        assert_eq!(learn(11.0), (Ok(Some(0.5)), Some((10.0, 12.0))));
        // One wild value doubles the range; it is the best of all, and no more.
        assert_eq!(learn(1e9), (Ok(Some(0.0)), Some((10.0, 14.0))));
        assert_eq!(learn(9.0), (Ok(Some(1.0)), Some((9.0, 14.0))));
        let refused = |value: f64| scale.within(seen).feedback(Feedback::plain(value)).is_err();
        assert!(refused(f64::NAN) && refused(f64::INFINITY) && refused(-1e200) && !refused(50.0));
    }
}
