//! One round of Algorithm 1: what is learned of a loss, which ranges change, and what ends.

use super::{Corral, Epoch, Horizon, SLACK};
use crate::audit::AuditedRound;
use crate::error::seldom;
use crate::omd::Losses;
use crate::{MasterError, Order};

impl Corral {
    /// Lines "Update" and "Set pbar", with the loss of one base estimated by `loss` times its weight. A step with all rates multiplied
    /// by a number is one with all losses multiplied by it. Comparisons are written so that NaN fails.
    #[inline(always)]
    fn descend_one(&mut self, loss: f64, base: usize, weight: f64) -> Result<(), MasterError> {
        let Some(range) = self.ranges.get(base) else {
            return Err(seldom(MasterError::Index { base, bases: self.params.bases }));
        };
        // Nothing was promised that is below the range.
        if !(weight >= 0.0 && weight <= *range) {
            check_weight(base, weight, self.promised[base])?;
        }
        if loss != 0.0 {
            self.engine.step_one(base, loss * self.epoch.fall(), weight)?;
        }
        Ok(())
    }

    /// As [`descend_one`](Self::descend_one), for every base.
    fn descend_all(&mut self, loss: f64, weights: &[f64]) -> Result<(), MasterError> {
        let bases = self.params.bases;
        if weights.len() != bases {
            return Err(MasterError::Length { found: weights.len(), bases });
        }
        for (i, (weight, range)) in weights.iter().zip(&self.promised).enumerate() {
            check_weight(i, *weight, *range)?;
        }
        if loss != 0.0 {
            let loss = loss * self.epoch.fall();
            self.estimates.clear();
            self.estimates.extend(weights.iter().map(|weight| loss * weight));
            self.engine.step_all(&self.estimates)?;
        }
        Ok(())
    }

    pub(super) fn update_one(
        &mut self,
        loss: f64,
        base: usize,
        weight: f64,
    ) -> Result<&[(usize, Order)], MasterError> {
        let centred = self.centre(loss)?;
        self.descend_one(centred, base, weight)?;
        self.count(loss);
        if centred > 0.0 {
            // Where one base loses, no other's probability falls.
            self.widen(base);
        } else if centred < 0.0 {
            self.widen_all();
        }
        if self.auditor.is_some() {
            self.show(Losses::OneHot { index: base, loss: centred * weight });
        }
        self.close()
    }

    pub(super) fn update_all(
        &mut self,
        loss: f64,
        weights: &[f64],
    ) -> Result<&[(usize, Order)], MasterError> {
        let centred = self.centre(loss)?;
        self.descend_all(centred, weights)?;
        self.count(loss);
        if centred != 0.0 {
            self.widen_all();
        }
        if self.auditor.is_some() {
            let mut estimates = std::mem::take(&mut self.estimates);
            estimates.clear();
            estimates.extend(weights.iter().map(|weight| centred * weight));
            self.show(Losses::Dense(&estimates));
            self.estimates = estimates;
        }
        self.close()
    }

    /// l_i = f weight_i; with a baseline m + (f - m) weight_i, of which the constant m moves nothing. This is f - m.
    #[inline(always)]
    fn centre(&self, loss: f64) -> Result<f64, MasterError> {
        if !self.params.losses.contains(loss) {
            return Err(seldom(MasterError::Loss(loss)));
        }
        let mean = if self.params.baseline { self.epoch.losses.0 / self.epoch.losses.1 } else { 0.0 };
        Ok(loss - mean)
    }

    #[inline(always)]
    fn count(&mut self, loss: f64) {
        self.epoch.losses.0 += loss;
        self.epoch.losses.1 += 1.0;
        self.epoch.round += 1;
        // What was just written is slow to read back as part of the slice that is returned.
        if !self.orders.is_empty() {
            self.orders.clear();
        }
    }

    /// Ends a round, and with it the epoch where it was its last.
    #[inline(always)]
    fn close(&mut self) -> Result<&[(usize, Order)], MasterError> {
        if self.epoch.round >= self.epoch.length {
            match self.params.horizon {
                Horizon::Known(_) if self.epoch.round == self.epoch.length => {}
                // Nothing is proven from here on.
                Horizon::Known(_) => {
                    self.auditor = None;
                    self.rates.forget();
                }
                Horizon::Restart => self.next_epoch()?,
            }
        }
        Ok(&self.orders)
    }

    /// Line "if 1/pbar_{t+1,i} > rho_{t,i}".
    #[inline(always)]
    pub(super) fn widen(&mut self, base: usize) {
        let mixed = self.engine.probability(base);
        if mixed * self.ranges[base] < 1.0 + 1e-12 && 1.0 / mixed > self.ranges[base] && mixed > 0.0 {
            self.widened(base, 2.0 / mixed);
        }
    }

    fn widen_all(&mut self) {
        if !self.engine.is_flat() {
            return (0..self.params.bases).for_each(|i| self.widen(i));
        }
        let mut fallen = std::mem::take(&mut self.fallen);
        self.engine.fallen(&mut fallen);
        fallen.iter().for_each(|i| self.widen(*i as usize));
        self.fallen = fallen;
    }

    #[cold]
    fn widened(&mut self, base: usize, range: f64) {
        // rho_{t+1,i} = 2/pbar_{t+1,i}, eta_{t+1,i} = beta eta_{t,i}        Algorithm 1
        self.ranges[base] = range;
        self.engine.set_rate(base, self.epoch.beta() * self.engine.rate(base));
        self.rates.forget();
        if self.is_signed() {
            self.engine.watch(base, range);
        }
        self.changes[base] += 1;
        let range = range * self.epoch.outer;
        self.promised[base] = self.promised[base].max(range);
        self.orders.push((base, Order::Widen { range, remaining: Some(self.epoch.remaining()) }));
    }

    /// After the last round of an epoch the next begins, twice as long.
    #[cold]
    fn next_epoch(&mut self) -> Result<(), MasterError> {
        let retired: Vec<bool> = (0..self.params.bases).map(|i| self.engine.is_retired(i)).collect();
        let length = self.epoch.length.saturating_mul(2);
        self.begin(Epoch::start(&self.params, length, self.epoch.outer), |i| retired[i])?;
        self.orders.clear();
        let (outer, remaining) = (self.epoch.outer, Some(length));
        for (base, range) in self.ranges.iter().enumerate().filter(|(i, _)| !retired[*i]) {
            self.orders.push((base, Order::StartOver { range: range * outer, remaining }));
        }
        Ok(())
    }

    /// Shows the finished round to the auditor.
    #[cold]
    fn show(&mut self, losses: Losses<'_>) {
        let Some(mut auditor) = self.auditor.take() else { return };
        auditor.observe(&AuditedRound {
            losses,
            distribution: self.distribution(),
            probabilities: self.probabilities(),
            rates: self.rates(),
            ranges: &self.ranges,
        });
        self.auditor = Some(auditor);
    }
}

#[cold]
fn check_weight(base: usize, weight: f64, range: f64) -> Result<(), MasterError> {
    if weight >= 0.0 && weight <= range * SLACK {
        Ok(())
    } else {
        Err(MasterError::Weight { base, weight, range })
    }
}
