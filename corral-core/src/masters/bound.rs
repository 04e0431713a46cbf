//! Candidate regret bounds, as data.

use serde::{Deserialize, Serialize};

use crate::ParamError;

/// A candidate regret bound R(n) = scale * n^exponent of a base after n rounds of its own, at range 1; `alpha` is how
/// it grows with the range: range^alpha R(n).
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "describe", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct RegretBound {
    /// The factor.
    pub scale: f64,
    /// The power of n, in [0, 1].
    #[serde(default = "half")]
    pub exponent: f64,
    /// The stability exponent, in [0, 1].
    #[serde(default = "half")]
    pub alpha: f64,
}

fn half() -> f64 {
    0.5
}

impl Default for RegretBound {
    /// sqrt(n), with alpha = 1/2.
    fn default() -> Self {
        Self { scale: 1.0, exponent: 0.5, alpha: 0.5 }
    }
}

impl RegretBound {
    /// scale * n^exponent, with alpha = 1/2.
    pub fn new(scale: f64, exponent: f64) -> Self {
        Self { scale, exponent, alpha: 0.5 }
    }

    /// R(n); 0 at n = 0.
    #[inline]
    pub fn at(&self, plays: f64) -> f64 {
        if plays <= 0.0 {
            0.0
        } else if self.exponent == 0.5 {
            self.scale * plays.sqrt()
        } else {
            self.scale * plays.powf(self.exponent)
        }
    }

    pub(super) fn check(self) -> Result<Self, ParamError> {
        ParamError::positive("scale", self.scale)?;
        ParamError::unit("exponent", self.exponent)?;
        ParamError::unit("alpha", self.alpha)?;
        Ok(self)
    }
}
