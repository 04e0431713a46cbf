//! Snapshots of Corral: everything that decides the future.

use serde::{Deserialize, Serialize};

use super::{Clock, Corral, CorralParams, FIRST_EPOCH, Horizon, SLACK};
use crate::{LossDomain, MasterError, SnapshotError, snapshot};

const NAME: &str = "corral";
const VERSION: u16 = 1;

#[derive(Serialize, Deserialize)]
pub(super) struct State {
    pub length: u64,
    pub round: u64,
    pub rate: f64,
    pub outer: f64,
    pub losses: (f64, f64),
    /// 1/p_t; infinite for a retired base.
    pub inverse: Vec<f64>,
    /// p_t follows from 1/p_t but for its last bits, which decide too.
    pub distribution: Vec<f64>,
    pub sums: (f64, f64, f64),
    pub rates: Vec<f64>,
    pub ranges: Vec<f64>,
    pub promised: Vec<f64>,
    pub changes: Vec<u32>,
}

/// Whether two numbers agree but for the rounding of another platform.
fn close(a: f64, b: f64) -> bool {
    (a - b).abs() <= 1e-9 * b.abs()
}

impl State {
    pub fn of(corral: &Corral) -> Self {
        let Clock { length, round, rate, outer, losses } = corral.clock;
        Self {
            length,
            round,
            rate,
            outer,
            losses,
            inverse: corral.barrier.inverse().to_vec(),
            distribution: corral.distribution().to_vec(),
            sums: corral.barrier.sums(),
            rates: corral.rates().to_vec(),
            ranges: corral.ranges.clone(),
            promised: corral.promised.clone(),
            changes: corral.changes.clone(),
        }
    }

    pub fn seal(&self) -> Vec<u8> {
        snapshot::seal(NAME, VERSION, self)
    }

    /// A state that a master with these parameters can be in.
    pub fn open(bytes: &[u8], params: &CorralParams) -> Result<Self, MasterError> {
        let state: Self = snapshot::open(NAME, VERSION, bytes)?;
        state.check(params).map_err(|why| SnapshotError::state(why).into()).map(|()| state)
    }

    /// As strict as the constructor. Every comparison is written so that NaN fails.
    fn check(&self, params: &CorralParams) -> Result<(), String> {
        let m = params.bases;
        let lengths = [
            self.inverse.len(),
            self.distribution.len(),
            self.rates.len(),
            self.ranges.len(),
            self.promised.len(),
            self.changes.len(),
        ];
        if let Some(found) = lengths.into_iter().find(|n| *n != m) {
            return Err(format!("it is of {found} bases, not {m}"));
        }
        let epochs = params.horizon == Horizon::Restart;
        if self.length == 0 || epochs && (self.round >= self.length || self.length < FIRST_EPOCH) {
            return Err(format!("round {} of {}", self.round, self.length));
        }
        if !(self.outer >= 1.0 && self.outer.is_finite()) {
            return Err(format!("an outer range of {}", self.outer));
        }
        let clock = Clock::start(params, self.length, self.outer);
        if !close(self.rate, clock.rate) {
            return Err(format!("its rate is {}, not {}", self.rate, clock.rate));
        }
        let possible = match params.losses {
            LossDomain::Unit => self.losses.0 >= 0.5 && self.losses.0 <= self.losses.1,
            LossDomain::Real => self.losses.0.is_finite(),
        };
        if !(self.losses.1 >= 1.0 && possible) {
            return Err(format!("losses of {} in {} rounds", self.losses.0, self.losses.1));
        }
        let (mut sum, mut active) = (0.0, 0);
        for i in 0..m {
            let (w, p) = (self.inverse[i], self.distribution[i]);
            if !(w >= 1.0 - 1e-9 && if w.is_finite() { close(p, 1.0 / w) } else { p == 0.0 }) {
                return Err(format!("base {i} has probability {p} and inverse {w}"));
            }
            sum += p;
            active += usize::from(w.is_finite());
        }
        if !((sum - 1.0).abs() <= 1e-9) {
            return Err(format!("its probabilities sum to {sum}"));
        }
        let beta = clock.beta();
        let mut largest = 0.0f64;
        for i in 0..m {
            // eta_{t,i} = eta beta^(n_i), and n_i < log2 T; 64 is above that for any T
            let (rate, changes) = (self.rates[i], self.changes[i]);
            if changes > 64 || !close(rate, self.rate * beta.powi(changes as i32)) {
                return Err(format!("base {i} has rate {rate} after {changes} changes"));
            }
            largest = largest.max(rate);
            let (range, promised) = (self.ranges[i], self.promised[i]);
            let gamma = clock.gamma();
            let mixed = (1.0 - gamma) * self.distribution[i] + gamma / active as f64;
            let holds = self.distribution[i] == 0.0 || 1.0 / mixed <= range * SLACK;
            if !(range >= 1.0 && range.is_finite() && holds) {
                return Err(format!("base {i} has range {range} at probability {mixed}"));
            }
            if !(promised >= range * self.outer && promised.is_finite()) {
                return Err(format!("base {i} was promised {promised} at range {range}"));
            }
        }
        let (slope, curve, bound) = self.sums;
        let finite = slope.is_finite() && curve.is_finite() && bound.is_finite();
        if !(finite && slope >= 0.0 && curve >= 0.0 && bound >= largest) {
            return Err(format!("sums of {slope}, {curve} and {bound}"));
        }
        Ok(())
    }

    /// Puts `corral` where this state was taken.
    pub fn restore(self, corral: &mut Corral) {
        let Self { length, round, rate, outer, losses, .. } = self;
        corral.clock = Clock { length, round, rate, outer, losses };
        corral.barrier.reset(|i| self.inverse[i], rate);
        for (i, rate) in self.rates.iter().enumerate() {
            corral.barrier.set_rate(i, *rate);
        }
        corral.barrier.resume(&self.distribution, self.sums);
        corral.ranges = self.ranges;
        corral.promised = self.promised;
        corral.changes = self.changes;
        corral.mix();
    }
}
