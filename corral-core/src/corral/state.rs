//! Snapshots of Corral: everything that decides the future.

use serde::{Deserialize, Serialize};

use super::engine::{Engine, EngineState};
use super::{Corral, CorralParams, Epoch, FIRST_EPOCH, Horizon, SLACK, close};
use crate::{LossDomain, MasterError, SnapshotError, snapshot};

const NAME: &str = "corral";
const VERSION: u16 = 2;

#[derive(Serialize, Deserialize)]
pub(super) struct State {
    pub length: u64,
    pub round: u64,
    pub rate: f64,
    pub outer: f64,
    pub losses: (f64, f64),
    pub engine: EngineState,
    /// But for [`Epoch::fall`].
    pub rates: Vec<f64>,
    pub ranges: Vec<f64>,
    pub promised: Vec<f64>,
    pub changes: Vec<u32>,
}

impl State {
    pub fn of(corral: &Corral) -> Self {
        let Epoch { length, round, rate, outer, losses } = corral.epoch;
        Self {
            length,
            round,
            rate,
            outer,
            losses,
            engine: corral.engine.state(),
            rates: (0..corral.params.bases).map(|i| corral.engine.rate(i)).collect(),
            ranges: corral.ranges.clone(),
            promised: corral.promised.clone(),
            changes: corral.changes.clone(),
        }
    }

    pub fn seal(&self) -> Vec<u8> {
        snapshot::seal(NAME, VERSION, self)
    }

    /// Puts `corral` where the state was taken, if a master with its parameters can be there.
    pub fn load(bytes: &[u8], corral: &mut Corral) -> Result<(), MasterError> {
        let state: Self = snapshot::open(NAME, VERSION, bytes)?;
        state.check(&corral.params).map_err(SnapshotError::state)?;
        snapshot::counted(state.round)?;
        if corral.params.horizon == Horizon::Restart {
            // The next epoch is twice as long.
            snapshot::counted(state.length)?;
        }
        let Self { length, round, rate, outer, losses, engine, rates, ranges, promised, changes } = state;
        let epoch = Epoch { length, round, rate, outer, losses };
        let engine = engine.resume(&rates, epoch.gamma()).map_err(SnapshotError::state)?;
        holds(&engine, &ranges).map_err(SnapshotError::state)?;
        (corral.epoch, corral.engine) = (epoch, engine);
        corral.rates.forget();
        (corral.ranges, corral.promised, corral.changes) = (ranges, promised, changes);
        Ok(())
    }

    /// As strict as the constructor. Every comparison is written so that NaN fails.
    fn check(&self, params: &CorralParams) -> Result<(), String> {
        let m = params.bases;
        let lengths = [self.rates.len(), self.ranges.len(), self.promised.len(), self.changes.len()];
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
        let epoch = Epoch::start(params, self.length, self.outer);
        if !close(self.rate, epoch.rate) {
            return Err(format!("its rate is {}, not {}", self.rate, epoch.rate));
        }
        if matches!(self.engine, EngineState::Flat(_)) && !params.step.is_flat(m, epoch.rate) {
            return Err("it was taken of the flat step".into());
        }
        let possible = match params.losses {
            LossDomain::Unit => self.losses.0 >= 0.5 && self.losses.0 <= self.losses.1,
            LossDomain::Real => self.losses.0.is_finite(),
        };
        if !(self.losses.1 >= 1.0 && possible) {
            return Err(format!("losses of {} in {} rounds", self.losses.0, self.losses.1));
        }
        let beta = epoch.beta();
        for i in 0..m {
            // eta_{t,i} = eta beta^(n_i), and n_i < log2 T; 64 is above that for any T
            let (rate, changes) = (self.rates[i], self.changes[i]);
            if changes > 64 || !close(rate, self.rate * beta.powi(changes as i32)) {
                return Err(format!("base {i} has rate {rate} after {changes} changes"));
            }
            let (range, promised) = (self.ranges[i], self.promised[i]);
            if !(promised >= range * self.outer && promised.is_finite()) {
                return Err(format!("base {i} was promised {promised} at range {range}"));
            }
        }
        Ok(())
    }
}

/// Whether no 1/pbar exceeds its range.
fn holds(engine: &Engine, ranges: &[f64]) -> Result<(), String> {
    for (i, range) in ranges.iter().enumerate() {
        let mixed = engine.probability(i);
        let holds = mixed == 0.0 || 1.0 / mixed <= range * SLACK;
        if !(*range >= 1.0 && range.is_finite() && holds) {
            return Err(format!("base {i} has range {range} at probability {mixed}"));
        }
    }
    Ok(())
}
