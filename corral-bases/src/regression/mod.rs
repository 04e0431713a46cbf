//! Regressions of the loss, and the linear algebra under them, written once for the bases of all families.
//!
//! Kernels work in place on packed triangles: a round allocates nothing, and half of a symmetric matrix is not stored.
//! Decompositions that rounds do not need are nalgebra's.
//!
//! ```
//! use corral_bases::regression::{Regressor, Ridge};
//! let mut ridge = Ridge::new(1e-9, 0.0, 1, 2); // one model of two features
//! for (z, loss) in [([1.0, 0.0], 0.2), ([0.0, 1.0], 0.5)] {
//!     ridge.update(0, &z, loss, 1.0)?;
//! }
//! assert!((ridge.predict(0, &[1.0, 1.0]) - 0.7).abs() < 1e-6);
//! # Ok::<(), corral_core::BaseError>(())
//! ```

use std::fmt;

use serde::de::DeserializeOwned;

use crate::prelude::*;

mod factored;
mod glm;
pub(crate) mod packed;
mod ridge;

pub use corral_core::Link;
pub use factored::Factored;
pub use glm::Glm;
pub(crate) use packed::dot;
pub use ridge::Ridge;

/// A model of the loss that learns one example at a time. `model` counts parameter vectors.
pub trait Regressor: fmt::Debug + Serialize + DeserializeOwned + PartialEq + Clone + Send + 'static {
    /// The predicted loss.
    fn predict(&self, model: usize, z: &[f64]) -> f64;

    /// z^T V^-1 z, how little is known at z; 0 for models without widths.
    fn variance(&self, model: usize, z: &[f64]) -> f64;

    /// ln det(V/lambda); 0 for models without widths.
    fn log_det(&self, model: usize) -> f64;

    /// Learns that z cost `loss`.
    ///
    /// # Errors
    /// A feature is not finite, or so large that the model would not be. Nothing changed then.
    fn update(&mut self, model: usize, z: &[f64], loss: f64, weight: f64) -> Result;

    /// Takes over the parameter vector `model` of another that is alike, which has learned at most one example more, of it.
    fn copy_model(&mut self, other: &Self, model: usize);

    /// Forgets everything.
    fn reset(&mut self);

    /// Checks a model that was read back against a new one, and fills what was not written.
    ///
    /// # Errors
    /// It is not a state that updates can lead to.
    fn restore(&mut self, fresh: &Self) -> Result<(), SnapshotError>;
}

/// Goes on where what was computed from `z` is `sound`; else a feature is to blame.
#[inline]
pub(crate) fn usable(sound: bool, z: &[f64]) -> Result {
    if sound { Ok(()) } else { Err(blamed(z)) }
}

/// The feature that is not finite, or else the largest.
#[cold]
fn blamed(z: &[f64]) -> BaseError {
    let largest = |at: usize, i: usize| if z[i].abs() > z[at].abs() { i } else { at };
    let bad = z.iter().position(|v| !v.is_finite()).unwrap_or_else(|| (0..z.len()).fold(0, largest));
    BaseError::Feature { index: bad, value: z.get(bad).copied().unwrap_or(f64::NAN) }
}
