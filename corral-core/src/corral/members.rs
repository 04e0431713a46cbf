//! Bases that come while Corral runs. Outside the theorem, which has M fixed.

use super::{Corral, Engine, Epoch};
use crate::master::check_share;
use crate::{MasterError, Order};

impl Corral {
    /// A base joins with p = `share`, behind the others or in the place that it had; p of the others is multiplied by
    /// 1 - share, and the mixing is spread anew. Who falls out of its range by that gets a wider one, as after a loss.
    pub(super) fn join(&mut self, base: usize, share: f64) -> Result<&[(usize, Order)], MasterError> {
        check_share(share)?;
        let mut params = self.params.clone();
        if base == params.bases {
            params.bases += 1;
            if let Some(prior) = &mut params.prior {
                prior.push(prior.iter().sum::<f64>() * share / (1.0 - share));
            }
        }
        // The rate of a master over so many bases, and eta_{t,i} = eta beta^(n_i) as before.
        let rate = Epoch::start(&params, self.epoch.length, self.epoch.outer).rate;
        let mut inverse: Vec<f64> = self.distribution().iter().map(|p| 1.0 / (p * (1.0 - share))).collect();
        inverse.resize(params.bases, 0.0);
        inverse[base] = 1.0 / share;
        let grown = |i| self.engine.rate(i) / self.epoch.rate * rate;
        let mut rates: Vec<f64> = (0..self.params.bases).map(grown).collect();
        rates.resize(params.bases, rate);
        let flat = self.engine.is_flat() && params.step.is_flat(params.bases, rate);
        self.engine =
            Engine::new(flat, &inverse, &rates, self.epoch.gamma()).map_err(|_| MasterError::Share(share))?;
        self.epoch.rate = rate;
        self.rates.forget();
        self.auditor = None;
        self.ranges.resize(params.bases, 1.0);
        self.promised.resize(params.bases, 1.0);
        self.changes.resize(params.bases, 0);
        // 2/pbar where there is no mixing: the range that the base was told before it joined.
        self.ranges[base] = self.ranges[base].max(2.0 / share);
        self.promised[base] = self.promised[base].max(self.ranges[base] * self.epoch.outer);
        self.params = params;
        self.orders.clear();
        (0..self.params.bases).for_each(|i| self.widen(i));
        self.watch_all();
        Ok(&self.orders)
    }

    /// As [`load`](crate::Master::load), of a snapshot over `bases` bases.
    pub(super) fn load_over(&mut self, state: &[u8], bases: usize) -> Result<(), MasterError> {
        let mut params = self.params.clone();
        params.bases = bases;
        if let Some(prior) = &mut params.prior {
            prior.truncate(bases);
        }
        let own = std::mem::replace(&mut self.params, params);
        if let Err(error) = super::State::load(state, self) {
            self.params = own;
            return Err(error);
        }
        self.auditor = None;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use crate::{Corral, CorralParams, Credit, Horizon, Master, MasterExtra, Order, Step};

    fn played(step: Step) -> Corral {
        let params = CorralParams { step, ..CorralParams::new(5, Horizon::Known(500)) };
        let mut corral = Corral::new(params).unwrap();
        for t in 0..300 {
            let base = [0, 0, 1, 0, 2, 3, 0, 4][t % 8];
            let weight = 1.0 / corral.probabilities()[base];
            corral.update([0.9, 0.1, 0.4, 0.6, 0.5][base], Credit::Chosen { base, weight }).unwrap();
        }
        corral
    }

    /// Both steps take a base in alike: no base is out of its range, and one that would be is ordered a wider one.
    #[test]
    fn ranges_hold_when_a_base_joins() {
        let (mut dense, mut flat) = (played(Step::Dense), played(Step::Flat));
        let mut known = dense.ranges().to_vec();
        let orders = dense.admit(0.9).unwrap().to_vec();
        assert!(!orders.is_empty(), "p of the others falls to a tenth");
        known.push(2.0 / 0.9);
        for (base, order) in &orders {
            assert!(matches!(order, Order::Widen { range, .. } if *range > known[*base]));
        }
        assert_eq!(flat.admit(0.9).unwrap().len(), orders.len());
        assert!(flat.is_flat());
        for corral in [&dense, &flat] {
            for (p, range) in corral.probabilities().iter().zip(corral.ranges()) {
                assert!(1.0 / p <= range * (1.0 + 1e-9), "{p} {range}");
            }
        }
        for (a, b) in dense.probabilities().iter().zip(flat.probabilities()) {
            assert!((a / b - 1.0).abs() < 1e-9, "{a} {b}");
        }
    }
}
