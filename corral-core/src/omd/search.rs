//! The guarded search for the root, where no good start is known.

use super::dense::{SERIES, Shifted};
use super::kernel::Target;
use super::wide::Wide;
use super::{LogBarrier, OmdError, OmdInfo};

impl LogBarrier {
    /// One step with a loss in one place, by the search.
    #[cold]
    pub(crate) fn search_one(
        &mut self,
        index: usize,
        loss: f64,
        target: &mut impl Target,
    ) -> Result<(), OmdError> {
        self.search(|i| if i == index { loss } else { 0.0 }, target)
    }

    /// The guarded search, for any losses and rates.
    #[cold]
    #[inline(never)]
    pub(super) fn search(
        &mut self,
        loss: impl Fn(usize) -> f64,
        target: &mut impl Target,
    ) -> Result<(), OmdError> {
        let (mut least, mut most) = (f64::INFINITY, f64::NEG_INFINITY);
        for (i, w) in self.inverse().iter().enumerate() {
            if w.is_finite() {
                least = least.min(loss(i));
                most = most.max(loss(i));
            }
        }
        if !(most > least) {
            // Equal losses move nothing: an exact no-op.
            target.made(OmdInfo { lambda: least, ..OmdInfo::default() });
            return Ok(());
        }
        self.backup.copy_from_slice(&self.inverse);
        // w + eta (l - min l), whose root is in [0, max l - min l].
        self.count_from(Wide(least, 0.0), &loss);
        if self.approach(0.0, &mut Shifted { target, lambda: least, iterations: 0 }) {
            return Ok(());
        }
        self.bracketed(loss, (least, most), target)
            .inspect_err(|_| self.inverse.copy_from_slice(&self.backup))
    }

    /// Losses count from `frame`: w + eta (l - frame), from the w before the step.
    fn count_from(&mut self, frame: Wide, loss: impl Fn(usize) -> f64) {
        let (rates, before) = (self.rates.as_flattened(), self.backup.as_flattened());
        for (i, w) in self.inverse.as_flattened_mut()[..self.size].iter_mut().enumerate() {
            *w = (before[i] + rates[i] * (loss(i) - frame.0)) - rates[i] * frame.1;
        }
    }

    /// Newton's method in a bracket. What is added to w and taken away again costs digits of it, so losses count from the
    /// least at first, and in the end from the root.
    fn bracketed(
        &mut self,
        loss: impl Fn(usize) -> f64,
        (least, most): (f64, f64),
        target: &mut impl Target,
    ) -> Result<(), OmdError> {
        let (mut frame, mut low, mut high, mut lambda) = (Wide(least, 0.0), 0.0, most - least, 0.0);
        // Beyond (w_j - 1)/eta_j the next p_j would exceed 1; the pole is further right.
        for (w, e) in self.inverse().iter().zip(self.rates()) {
            high = high.min((w - 1.0) / e);
        }
        high = high.max(0.0);
        let mut residual = f64::INFINITY;
        for iterations in 1..=self.params.iterations {
            let sums = self.evaluate(lambda);
            residual = sums.total - 1.0;
            let rest = sums.halley();
            let close = self.reach(rest, sums.slope) <= SERIES * SERIES;
            if !close {
                if residual > 0.0 {
                    high = lambda;
                } else {
                    low = lambda;
                }
                let newton = lambda + sums.newton();
                let next = if newton > low && newton < high { newton } else { low + 0.5 * (high - low) };
                if next > low && next < high {
                    lambda = next;
                    continue;
                }
            } else if lambda == 0.0 || (frame.0 + lambda).abs() >= lambda.abs() {
                if !(sums.residual(rest).abs() <= self.params.tolerance) {
                    break;
                }
                let mut target = Shifted { target, lambda: frame.0, iterations: 0 };
                self.finish((sums, lambda, rest), iterations, &mut target);
                return Ok(());
            }
            // As near as can be seen from this frame.
            frame = frame.plus(lambda);
            self.count_from(frame, &loss);
            let reach = 4.0 * f64::EPSILON * lambda.abs().max(least.abs());
            (low, high, lambda) = (-reach, reach, 0.0);
        }
        Err(OmdError::Residual { residual: residual.abs(), iterations: self.params.iterations })
    }
}
