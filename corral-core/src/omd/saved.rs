//! What a barrier continues from, to the last bit.

use serde::{Deserialize, Serialize};

use super::LogBarrier;

/// What a [`LogBarrier`] continues from, beside its rates.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct BarrierState {
    /// 1/p; infinite where p is 0.
    pub inverse: Vec<f64>,
    /// p follows from 1/p but for its last bits, which decide too.
    pub distribution: Vec<f64>,
    pub sums: (f64, f64, f64),
}

impl BarrierState {
    /// The barrier that continues from here. Every comparison is written so that NaN fails.
    pub fn resume(self, rates: &[f64]) -> Result<LogBarrier, String> {
        let Self { inverse, distribution, sums } = self;
        let m = rates.len();
        if let Some(found) = [inverse.len(), distribution.len()].into_iter().find(|n| *n != m) {
            return Err(format!("it is of {found} bases, not {m}"));
        }
        for (i, (w, p)) in inverse.iter().zip(&distribution).enumerate() {
            let close = |p: f64, exact: f64| (p - exact).abs() <= 1e-9 * exact;
            if !(*w >= 1.0 - 1e-9 && if w.is_finite() { close(*p, 1.0 / w) } else { *p == 0.0 }) {
                return Err(format!("base {i} has probability {p} and inverse {w}"));
            }
        }
        let sum: f64 = distribution.iter().sum();
        if !((sum - 1.0).abs() <= 1e-9) {
            return Err(format!("its probabilities sum to {sum}"));
        }
        let (slope, curve, bound) = sums;
        let finite = slope.is_finite() && curve.is_finite() && bound.is_finite();
        let largest = rates.iter().copied().fold(0.0, f64::max);
        if !(finite && slope >= 0.0 && curve >= 0.0 && bound >= largest) {
            return Err(format!("sums of {slope}, {curve} and {bound}"));
        }
        let mut barrier = LogBarrier::new(&inverse, rates).map_err(|e| e.to_string())?;
        barrier.p.as_flattened_mut()[..m].copy_from_slice(&distribution);
        barrier.largest = bound;
        barrier.weigh(slope, curve);
        Ok(barrier)
    }
}

impl LogBarrier {
    /// What it continues from, beside its rates.
    pub(crate) fn state(&self) -> BarrierState {
        BarrierState {
            inverse: self.inverse().to_vec(),
            distribution: self.distribution().to_vec(),
            sums: (self.slope, self.curve, self.largest),
        }
    }
}

/// A barrier with its rates, as rules of masters keep it in their state.
#[derive(Serialize, Deserialize)]
pub(super) struct Saved {
    rates: Vec<f64>,
    state: BarrierState,
}

impl From<LogBarrier> for Saved {
    fn from(barrier: LogBarrier) -> Self {
        Self { rates: barrier.rates().to_vec(), state: barrier.state() }
    }
}

impl TryFrom<Saved> for LogBarrier {
    type Error = String;

    fn try_from(saved: Saved) -> Result<Self, String> {
        saved.state.resume(&saved.rates)
    }
}
