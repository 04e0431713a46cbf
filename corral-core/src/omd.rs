//! Algorithm 2: one step of online mirror descent with the log barrier.
//!
//! The state is w = 1/p, the quantity that adds:
//!
//! ```text
//! find lambda with  sum_i 1/(w_i + eta_i (l_i - lambda)) = 1,  left of the first pole
//! return            w'_i = w_i + eta_i (l_i - lambda)
//! ```
//!
//! The interval [min l, max l] of the paper may hold a pole, and further roots beyond it that give negative
//! probabilities; left of the first pole the sum is increasing and convex, and the root is unique. There is no upper
//! limit on a rate, and losses may have any sign: the step depends on them only up to a constant.

/// When a step is solved, and when it gives up.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct OmdParams {
    /// The step is solved when |sum p - 1| is at most this, or when rounding forbids to come nearer.
    pub tolerance: f64,
    /// Rounding that is larger than this is an error.
    pub acceptable: f64,
    /// Evaluations of the sum after which the step gives up.
    pub iterations: usize,
}

impl Default for OmdParams {
    fn default() -> Self {
        Self { tolerance: 4.0 * f64::EPSILON, acceptable: 1e-12, iterations: 200 }
    }
}

/// How a step was solved.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct OmdInfo {
    /// The multiplier lambda.
    pub lambda: f64,
    /// What remained: sum p - 1.
    pub residual: f64,
    /// How often the sum was evaluated.
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
    /// A loss that is not finite.
    #[error("loss {index} must be finite, but is {value}")]
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
    /// No root was found.
    #[error("|sum p - 1| = {residual} after {iterations} iterations")]
    Residual {
        /// What remained.
        residual: f64,
        /// How often the sum was evaluated.
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

/// Makes one step in place. `inverse` holds w = 1/p, where infinity is a probability of 0 and stays so.
///
/// # Errors
/// A value is out of bounds, or no root was found; `inverse` is unchanged then.
pub fn step(
    inverse: &mut [f64],
    rates: &[f64],
    losses: Losses<'_>,
    params: &OmdParams,
) -> Result<OmdInfo, OmdError> {
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
    match losses {
        Losses::OneHot { index, loss } => {
            if index >= expected {
                return Err(OmdError::Index { index, expected });
            }
            if !loss.is_finite() {
                return Err(OmdError::Loss { index, value: loss });
            }
            run(inverse, rates, |i| if i == index { loss } else { 0.0 }, params)
        }
        Losses::Dense(losses) => {
            if losses.len() != expected {
                return Err(OmdError::Length { what: "losses", found: losses.len(), expected });
            }
            if let Some((index, &value)) = losses.iter().enumerate().find(|(_, l)| !l.is_finite()) {
                return Err(OmdError::Loss { index, value });
            }
            run(inverse, rates, |i| losses[i], params)
        }
    }
}

fn run(
    inverse: &mut [f64],
    rates: &[f64],
    loss: impl Fn(usize) -> f64,
    params: &OmdParams,
) -> Result<OmdInfo, OmdError> {
    let root = solve(inverse, rates, &loss, params)?;
    if root.lambda == 0.0 && root.correction == 0.0 && root.iterations == 0 {
        return Ok(OmdInfo::default());
    }
    for (i, w) in inverse.iter_mut().enumerate() {
        *w = root.inverse(*w, rates[i], loss(i));
    }
    Ok(OmdInfo {
        lambda: root.lambda + root.correction,
        residual: root.residual,
        iterations: root.iterations,
    })
}

/// The multiplier in two parts: where the losses are many orders of magnitude above 1 a single number cannot bring the
/// sum near 1, and the correction acts on the rounded w + eta (l - lambda).
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Root {
    pub lambda: f64,
    pub correction: f64,
    pub residual: f64,
    pub iterations: usize,
}

impl Root {
    /// 1/p_{t+1,i} = 1/p_{t,i} + eta_{t,i} (l_{t,i} - lambda)        Algorithm 2
    #[inline]
    pub fn inverse(&self, inverse: f64, rate: f64, loss: f64) -> f64 {
        inverse + rate * (loss - self.lambda) - rate * self.correction
    }
}

/// The sum F = sum 1/(w_i + eta_i (l_i - lambda)) and its derivative.
fn evaluate(
    w: &[f64],
    rates: &[f64],
    loss: &impl Fn(usize) -> f64,
    lambda: f64,
    correction: f64,
) -> (f64, f64) {
    let (mut sum, mut slope) = ([0.0f64; 4], [0.0f64; 4]);
    for i in 0..w.len() {
        let eta = rates[i];
        let q = 1.0 / (w[i] + eta * (loss(i) - lambda) - eta * correction);
        sum[i % 4] += q;
        slope[i % 4] += eta * q * q;
    }
    (sum.iter().sum(), slope.iter().sum())
}

/// Finds the root left of the first pole.
pub(crate) fn solve(
    w: &[f64],
    rates: &[f64],
    loss: &impl Fn(usize) -> f64,
    params: &OmdParams,
) -> Result<Root, OmdError> {
    // The bracket [min l, min(max l, min_j(l_j + (w_j - 1)/eta_j))]: beyond its right end some p'_j would exceed 1.
    let (mut low, mut high, mut cap) = (f64::INFINITY, f64::NEG_INFINITY, f64::INFINITY);
    // mu = sum(eta p^2 l)/sum(eta p^2) is at least the root: F is convex, and mu is its tangent's.
    let (mut top, mut bottom) = (0.0, 0.0);
    for i in 0..w.len() {
        if w[i] == f64::INFINITY {
            continue;
        }
        let (l, p) = (loss(i), 1.0 / w[i]);
        low = low.min(l);
        high = high.max(l);
        cap = cap.min(l + (w[i] - 1.0) / rates[i]);
        top += rates[i] * p * p * l;
        bottom += rates[i] * p * p;
    }
    if !(high > low) {
        // Equal losses (all 0, or a single base) move nothing: an exact no-op.
        return Ok(Root::default());
    }
    high = high.min(cap).max(low);
    let mut lambda = (top / bottom).clamp(low, high);
    let mut best = Root { residual: f64::INFINITY, ..Root::default() };
    let mut iterations = 0;
    while iterations < params.iterations {
        let (sum, slope) = evaluate(w, rates, loss, lambda, 0.0);
        iterations += 1;
        let residual = sum - 1.0;
        let stalled = !(residual.abs() < best.residual.abs());
        if !stalled {
            best = Root { lambda, correction: 0.0, residual, iterations };
        }
        if best.residual.abs() <= params.tolerance || stalled && best.residual.abs() <= 1e-9 {
            break;
        }
        if residual > 0.0 {
            high = lambda;
        } else {
            low = lambda;
        }
        // Newton on 1/F - 1, which is concave and decreasing: lambda -= (F - 1) F/F'.
        let newton = lambda - residual * sum / slope;
        let next = if newton > low && newton < high { newton } else { low + 0.5 * (high - low) };
        if next == low || next == high {
            break;
        }
        lambda = next;
    }
    // The same equation in the correction, from 0: it has all its digits where lambda has none left.
    let mut correction = 0.0;
    for _ in 0..4 {
        if best.residual.abs() <= params.tolerance {
            break;
        }
        let (sum, slope) = evaluate(w, rates, loss, best.lambda, correction);
        iterations += 1;
        let residual = sum - 1.0;
        if residual.abs() < best.residual.abs() {
            best = Root { correction, residual, ..best };
        } else if correction != 0.0 {
            break;
        }
        correction -= residual * sum / slope;
    }
    best.iterations = iterations;
    if best.residual.abs() <= params.acceptable {
        Ok(best)
    } else {
        Err(OmdError::Residual { residual: best.residual.abs(), iterations })
    }
}
