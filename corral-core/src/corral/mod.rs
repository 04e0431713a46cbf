//! Algorithm 1: Corral.
//!
//! ```text
//! gamma = 1/T, beta = e^(1/ln T), eta_{1,i} = eta, rho_{1,i} = 2M, p_1 = pbar_1 = 1/M
//! for t = 1 .. T:
//!     i_t ~ pbar_t; observe the loss f of its decision
//!     p_{t+1}    = Log-Barrier-OMD(p_t, (f/pbar_{t,i_t}) e_{i_t}, eta_t)
//!     pbar_{t+1} = (1 - gamma) p_{t+1} + gamma/M
//!     where 1/pbar_{t+1,i} > rho_{t,i}: rho_{t+1,i} = 2/pbar_{t+1,i}, eta_{t+1,i} = beta eta_{t,i}
//! ```
//!
//! p and pbar are two vectors. T = 1 has ln T = 0: beta is 1 there.

mod params;

use rand_core::Rng;
use serde::{Deserialize, Serialize};

pub use params::{CorralParams, CorralRules, Horizon, Rate};

use crate::omd::{self, OmdError, OmdParams};
use crate::{Credit, Master, MasterError, ParamError, Rerange, SnapshotError, sample_index, snapshot};

const NAME: &str = "corral";
const VERSION: u16 = 1;
/// Length of the first epoch when the horizon is unknown.
const FIRST_EPOCH: u64 = 64;
/// A weight is 1/pbar computed by somebody else, a range 2/pbar computed here: allow their rounding.
const SLACK: f64 = 1.0 + 1e-9;

/// The paper's master: mirror descent with the log barrier, and a rate per base that grows where its probability falls.
#[derive(Debug, Clone)]
pub struct Corral {
    params: CorralParams,
    state: State,
    /// pbar_t
    mixed: Vec<f64>,
    /// p_t
    plain: Vec<f64>,
    scratch: Vec<f64>,
    events: Vec<Rerange>,
}

/// What decides the future.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
struct State {
    /// eta of the first round of this epoch, which tells one configuration from another.
    rate: f64,
    /// T of this epoch.
    length: u64,
    /// Rounds played in this epoch.
    round: u64,
    /// The largest weight that losses carry from outside: 1 but for a nested master.
    outer: f64,
    /// 1/p_t; infinite for a retired base.
    inverse: Vec<f64>,
    /// eta_t
    rates: Vec<f64>,
    /// rho_t
    ranges: Vec<f64>,
    /// The largest range ever promised: credit may come late, from before a restart.
    promised: Vec<f64>,
    /// Range changes n_i.
    changes: Vec<u32>,
    /// Sum and number of losses, with one pseudo-observation of 1/2.
    losses: (f64, f64),
}

impl Corral {
    /// Corral before its first round.
    ///
    /// # Errors
    /// Names the parameter that the algorithm is not defined for.
    pub fn new(params: CorralParams) -> Result<Self, ParamError> {
        let params = params.check()?;
        let m = params.bases;
        let length = match params.horizon {
            Horizon::Known(rounds) => rounds,
            Horizon::Unknown => FIRST_EPOCH,
        };
        let state = State {
            rate: 0.0,
            length,
            round: 0,
            outer: 1.0,
            inverse: vec![1.0; m],
            rates: vec![0.0; m],
            ranges: vec![0.0; m],
            promised: vec![0.0; m],
            changes: vec![0; m],
            losses: (0.5, 1.0),
        };
        let mut corral = Self {
            params,
            state,
            mixed: vec![0.0; m],
            plain: vec![0.0; m],
            scratch: vec![0.0; m],
            events: Vec::with_capacity(m),
        };
        corral.begin(length);
        Ok(corral)
    }

    /// The distribution pbar_t from which bases are drawn.
    pub fn probabilities(&self) -> &[f64] {
        &self.mixed
    }

    /// The distribution p_t of the mirror descent.
    pub fn distribution(&self) -> &[f64] {
        &self.plain
    }

    /// The learning rates eta_t.
    pub fn rates(&self) -> &[f64] {
        &self.state.rates
    }

    /// The ranges rho_t, above which 1/pbar_t never is. (For a nested master the weights of feedback go up to
    /// [`Master::range`], which has the outer range in it.)
    pub fn ranges(&self) -> &[f64] {
        &self.state.ranges
    }

    /// How often the range of `base` changed since the last restart; 0 for a base that is not there.
    pub fn range_changes(&self, base: usize) -> u32 {
        self.state.changes.get(base).copied().unwrap_or(0)
    }

    /// The parameters.
    pub fn params(&self) -> &CorralParams {
        &self.params
    }

    /// Rounds left of the horizon, or of the epoch when the horizon is unknown.
    pub fn remaining(&self) -> u64 {
        self.state.length.saturating_sub(self.state.round)
    }

    /// gamma = 1/T
    fn gamma(&self) -> f64 {
        1.0 / self.state.length as f64
    }

    /// beta = e^(1/ln T); 1 for T = 1.
    fn beta(&self) -> f64 {
        let beta = if self.state.length > 1 { (1.0 / (self.state.length as f64).ln()).exp() } else { 1.0 };
        if self.params.rules.shrink { 1.0 / beta } else { beta }
    }

    fn active(&self) -> usize {
        self.state.inverse.iter().filter(|w| w.is_finite()).count()
    }

    /// Line "Initialize", for a horizon of `length` rounds, over the bases that are not retired.
    fn begin(&mut self, length: u64) {
        let active = self.active();
        let total: f64 = match &self.params.prior {
            Some(prior) => {
                prior.iter().zip(&self.state.inverse).filter(|(_, w)| w.is_finite()).map(|(p, _)| p).sum()
            }
            None => active as f64,
        };
        // A nested master's estimates are up to `outer` times larger: eta/sqrt(rho).
        let rate = self.params.rate.value(active, length) / self.state.outer.sqrt();
        self.state.rate = rate;
        self.state.length = length;
        self.state.round = 0;
        self.state.losses = (0.5, 1.0);
        for i in 0..self.params.bases {
            self.state.rates[i] = rate;
            self.state.changes[i] = 0;
            if self.state.inverse[i].is_finite() {
                self.state.inverse[i] = total / self.params.prior.as_ref().map_or(1.0, |p| p[i]);
            }
        }
        self.derive();
        for i in 0..self.params.bases {
            // rho_{1,i} = 2M; with a prior 2/pbar_{1,i}.
            self.state.ranges[i] = match &self.params.prior {
                None => 2.0 * active as f64,
                Some(_) if self.mixed[i] > 0.0 => 2.0 / self.mixed[i],
                Some(_) => 2.0 * active as f64,
            };
            self.state.promised[i] = self.state.promised[i].max(self.state.ranges[i] * self.state.outer);
        }
    }

    /// p and pbar from 1/p.
    fn derive(&mut self) {
        let (gamma, floor) = (self.gamma(), self.gamma() / self.active() as f64);
        for (i, w) in self.state.inverse.iter().enumerate() {
            self.plain[i] = 1.0 / w;
            // pbar = (1 - gamma) p + gamma/M
            self.mixed[i] = if w.is_finite() { (1.0 - gamma) * self.plain[i] + floor } else { 0.0 };
        }
    }

    /// Whether a loss and its credit can be learned. Comparisons are written so that NaN fails.
    fn check(&self, loss: f64, credit: Credit<'_>) -> Result<(), MasterError> {
        if !(0.0..=1.0).contains(&loss) {
            return Err(MasterError::Loss(loss));
        }
        let check = |base: usize, weight: f64| {
            let range = self.state.promised[base];
            if weight >= 0.0 && weight <= range * SLACK {
                Ok(())
            } else {
                Err(MasterError::Weight { base, weight, range })
            }
        };
        match credit {
            Credit::Chosen { base, .. } if base >= self.params.bases => {
                Err(MasterError::Index { base, bases: self.params.bases })
            }
            Credit::Chosen { base, weight } => check(base, weight),
            Credit::Shared(weights) if weights.len() != self.params.bases => {
                Err(MasterError::Length { found: weights.len(), bases: self.params.bases })
            }
            Credit::Shared(weights) => weights.iter().enumerate().try_for_each(|(i, w)| check(i, *w)),
        }
    }

    /// Lines "Update" and "Set pbar" of Algorithm 1.
    fn descend(&mut self, estimate: f64, credit: Credit<'_>) -> Result<(), OmdError> {
        self.scratch.copy_from_slice(&self.state.inverse);
        let solver = OmdParams::default();
        match credit {
            Credit::Chosen { base, weight } => {
                let losses = omd::Losses::OneHot { index: base, loss: estimate * weight };
                omd::step(&mut self.scratch, &self.state.rates, losses, &solver)?;
            }
            Credit::Shared(weights) => {
                for (l, w) in self.plain.iter_mut().zip(weights) {
                    *l = estimate * w;
                }
                let done =
                    omd::step(&mut self.scratch, &self.state.rates, omd::Losses::Dense(&self.plain), &solver);
                if let Err(e) = done {
                    self.derive();
                    return Err(e);
                }
            }
        }
        std::mem::swap(&mut self.scratch, &mut self.state.inverse);
        self.derive();
        Ok(())
    }

    /// Line "if 1/pbar_{t+1,i} > rho_{t,i}".
    fn widen(&mut self) {
        let (beta, remaining) = (self.beta(), Some(self.remaining()));
        for i in 0..self.params.bases {
            if self.mixed[i] > 0.0 && 1.0 / self.mixed[i] > self.state.ranges[i] {
                let range = 2.0 / self.mixed[i];
                let range = if self.params.rules.whole_ranges { range.trunc() } else { range };
                self.state.ranges[i] = range;
                self.state.rates[i] *= beta;
                self.state.changes[i] += 1;
                self.state.promised[i] = self.state.promised[i].max(range * self.state.outer);
                self.events.push(Rerange { base: i, range: range * self.state.outer, remaining });
            }
        }
    }

    /// After the last round of an epoch the next begins, twice as long.
    fn next_epoch(&mut self) {
        if self.params.horizon == Horizon::Unknown && self.state.round >= self.state.length {
            self.begin(self.state.length.saturating_mul(2));
            self.events.clear();
            for i in 0..self.params.bases {
                if self.mixed[i] > 0.0 {
                    let range = self.state.ranges[i] * self.state.outer;
                    self.events.push(Rerange { base: i, range, remaining: Some(self.state.length) });
                }
            }
        }
    }
}

impl Master for Corral {
    fn probabilities(&self) -> &[f64] {
        &self.mixed
    }

    fn sample(&self, rng: &mut dyn Rng) -> usize {
        sample_index(&self.mixed, 1.0, rng).unwrap_or(0)
    }

    /// A round is one update. Credit of a retired base moves nothing.
    fn update(&mut self, loss: f64, credit: Credit<'_>) -> Result<&[Rerange], MasterError> {
        self.check(loss, credit)?;
        // l_i = f weight_i; with a baseline m + (f - m) weight_i, of which the constant m moves nothing.
        let mean = if self.params.baseline { self.state.losses.0 / self.state.losses.1 } else { 0.0 };
        if loss != mean {
            self.descend(loss - mean, credit).map_err(|e| match e {
                OmdError::Residual { residual, iterations } => MasterError::Step { residual, iterations },
                _ => MasterError::Step { residual: f64::NAN, iterations: 0 },
            })?;
        }
        self.events.clear();
        self.state.losses.0 += loss;
        self.state.losses.1 += 1.0;
        self.state.round += 1;
        self.widen();
        if self.params.rules.overwrite {
            for i in 0..self.params.bases {
                self.state.inverse[i] = 1.0 / self.mixed[i];
                self.plain[i] = self.mixed[i];
            }
        }
        self.next_epoch();
        Ok(&self.events)
    }

    fn retire(&mut self, base: usize) -> Result<(), MasterError> {
        let w = *self.state.inverse.get(base).ok_or(MasterError::Index { base, bases: self.params.bases })?;
        if w == f64::INFINITY {
            return Err(MasterError::Retired(base));
        }
        if self.active() == 1 {
            return Err(MasterError::LastBase(base));
        }
        self.state.inverse[base] = f64::INFINITY;
        // p restricted to the others and renormalised
        let rest: f64 = self.state.inverse.iter().map(|w| 1.0 / w).sum();
        for w in &mut self.state.inverse {
            *w *= rest;
        }
        self.derive();
        Ok(())
    }

    /// Starts over, with all its bases, as a master whose own losses carry weights up to `range`, with the rate
    /// divided by sqrt(range). `remaining` becomes the horizon where one was known.
    fn rerange(&mut self, range: f64, remaining: Option<u64>) -> Result<(), MasterError> {
        if !(range >= 1.0 && range.is_finite()) {
            return Err(MasterError::Range(range));
        }
        let length = match (self.params.horizon, remaining) {
            (Horizon::Known(_), Some(rounds)) => rounds.max(1),
            (Horizon::Known(rounds), None) => rounds,
            (Horizon::Unknown, _) => FIRST_EPOCH,
        };
        self.state.outer = range;
        self.state.inverse.fill(1.0);
        self.begin(length);
        Ok(())
    }

    fn range(&self, base: usize) -> f64 {
        self.state.ranges.get(base).map_or(f64::INFINITY, |r| r * self.state.outer)
    }

    fn remaining(&self) -> Option<u64> {
        Some(self.remaining())
    }

    fn rates(&self) -> &[f64] {
        &self.state.rates
    }

    fn save(&self) -> Vec<u8> {
        snapshot::seal(NAME, VERSION, &self.state)
    }

    fn load(&mut self, state: &[u8]) -> Result<(), MasterError> {
        let state: State = snapshot::open(NAME, VERSION, state)?;
        let m = self.params.bases;
        if state.inverse.len() != m
            || state.rates.len() != m
            || state.ranges.len() != m
            || state.promised.len() != m
            || state.changes.len() != m
        {
            return Err(SnapshotError::state(format_args!("it is not of {m} bases")).into());
        }
        self.state = state;
        self.derive();
        Ok(())
    }
}

#[cfg(test)]
mod tests;
