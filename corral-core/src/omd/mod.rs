//! Algorithm 2: one step of online mirror descent with the log barrier.
//!
//! The state is w = 1/p, the quantity that adds:
//!
//! ```text
//! find lambda with  F(lambda) = sum_i 1/(w_i + eta_i (l_i - lambda)) = 1,  left of the first pole
//! return            w'_i = w_i + eta_i (l_i - lambda)
//! ```
//!
//! The interval [min l, max l] of the paper may hold a pole, and beyond it further roots that give negative
//! probabilities; left of the first pole F is increasing and convex, and the root is unique. There is no upper limit
//! on a rate, and losses may have any sign: the step depends on them only up to a constant.
//!
//! How it is solved. At lambda = 0 a one-hot loss changes one term of F, so that F, F' and F'' there follow from what
//! the last step left behind: a series, or Halley's formula, gives a start for free. One pass evaluates F at the start and
//! keeps the reciprocals; as soon as what is missing moves no probability by more than a few parts in a million, a second
//! pass adds it by a series, without a division. Otherwise, and for dense losses, a bracket
//! [min l, min(max l, min_j(l_j + (w_j - 1)/eta_j))] guards Newton's method on 1/F - 1. Two probabilities
//! have a closed form. The sum is restored by each step; nothing is ever renormalised.

mod dense;
mod flat;
mod kernel;
mod root;
mod saved;
mod search;
mod wide;

pub use dense::LogBarrier;
pub use flat::FlatBarrier;
pub(crate) use flat::FlatState;
pub(crate) use kernel::{Block, Sink, Target, WIDTH};
pub use root::settle;
pub(crate) use saved::BarrierState;

/// When a step counts as solved, and when it gives up.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct OmdParams {
    /// The largest |sum p - 1| of a step that is made, but for the rounding of its last pass.
    pub tolerance: f64,
    /// Evaluations of F after which the step gives up.
    pub iterations: usize,
}

impl Default for OmdParams {
    fn default() -> Self {
        Self { tolerance: 1e-12, iterations: 200 }
    }
}

/// How a step was solved.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct OmdInfo {
    /// The multiplier lambda.
    pub lambda: f64,
    /// What remained: sum p - 1.
    pub residual: f64,
    /// How often F was evaluated: 0 for a closed form, or where nothing moved.
    pub iterations: usize,
}

/// Why a step could not be made. The state is as it was.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum OmdError {
    /// There is nothing to step.
    #[error("a distribution over nothing has no step")]
    Empty,
    /// Lists of different lengths.
    #[error("{found} {what} were given for {expected} probabilities")]
    Length {
        /// What was counted: "rates", "losses".
        what: &'static str,
        /// How many there are.
        found: usize,
        /// How many probabilities there are.
        expected: usize,
    },
    /// A one-hot loss outside the distribution.
    #[error("there is no probability {index} among {expected}")]
    Index {
        /// The index that was given.
        index: usize,
        /// How many probabilities there are.
        expected: usize,
    },
    /// A loss that is not finite, or overflows when multiplied by its rate.
    #[error("loss {index} must be finite, and times its rate too, but is {value}")]
    Loss {
        /// Its place.
        index: usize,
        /// Its value.
        value: f64,
    },
    /// A rate that is zero, negative or not finite.
    #[error("rate {index} must be positive and finite, but is {value}")]
    Rate {
        /// Its place.
        index: usize,
        /// Its value.
        value: f64,
    },
    /// An inverse probability below 1.
    #[error("inverse probability {index} must be at least 1, but is {value}")]
    Inverse {
        /// Its place.
        index: usize,
        /// Its value.
        value: f64,
    },
    /// The probabilities do not sum to 1.
    #[error("probabilities must sum to 1, but sum to {0}")]
    Sum(f64),
    /// No root was found.
    #[error("|sum p - 1| = {residual} after {iterations} iterations")]
    Residual {
        /// What remained.
        residual: f64,
        /// How often F was evaluated.
        iterations: usize,
    },
}

/// The losses of a step.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Losses<'a> {
    /// Zero but in one place.
    OneHot {
        /// The place.
        index: usize,
        /// The loss there.
        loss: f64,
    },
    /// One loss per probability.
    Dense(&'a [f64]),
}

impl Losses<'_> {
    /// The loss of probability `i`.
    pub fn get(&self, i: usize) -> f64 {
        match *self {
            Self::OneHot { index, loss } => {
                if i == index {
                    loss
                } else {
                    0.0
                }
            }
            Self::Dense(losses) => losses.get(i).copied().unwrap_or(0.0),
        }
    }
}

/// Makes one step of `inverse` = 1/p in place, where infinity is a probability of 0 and stays so. For many steps keep a
/// [`LogBarrier`].
///
/// # Errors
/// A value is out of bounds, or no root was found; `inverse` is unchanged then.
pub fn step(
    inverse: &mut [f64],
    rates: &[f64],
    losses: Losses<'_>,
    params: &OmdParams,
) -> Result<OmdInfo, OmdError> {
    let mut barrier = LogBarrier::new(inverse, rates)?;
    barrier.params = *params;
    let info = barrier.step(losses)?;
    inverse.copy_from_slice(barrier.inverse());
    Ok(info)
}

/// Whether `inverse` is 1/p of a distribution, and every rate one.
fn check_start(inverse: &[f64], rates: &[f64]) -> Result<(), OmdError> {
    let expected = inverse.len();
    if expected == 0 {
        return Err(OmdError::Empty);
    }
    if rates.len() != expected {
        return Err(OmdError::Length { what: "rates", found: rates.len(), expected });
    }
    // Every comparison is written so that NaN fails.
    if let Some((index, &value)) = inverse.iter().enumerate().find(|(_, w)| !(**w >= 1.0 - 1e-9)) {
        return Err(OmdError::Inverse { index, value });
    }
    if let Some((index, &value)) = rates.iter().enumerate().find(|(_, r)| !(**r > 0.0 && r.is_finite())) {
        return Err(OmdError::Rate { index, value });
    }
    let sum: f64 = inverse.iter().map(|w| 1.0 / w).sum();
    if !((sum - 1.0).abs() <= 1e-6) {
        return Err(OmdError::Sum(sum));
    }
    Ok(())
}
