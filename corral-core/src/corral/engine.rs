//! p_t, pbar_t and eta_t, moved by one of two steps of the same trajectory.

use std::cell::{OnceCell, RefCell};

use rand_core::Rng;
use serde::{Deserialize, Serialize};

use super::mixture::Mixture;
use crate::omd::{BarrierState, FlatBarrier, FlatState, LogBarrier, OmdError};
use crate::uniform;

/// What moves the distribution.
#[expect(
    clippy::large_enum_variant,
    reason = "one per master: the dense step is the usual one, and is kept without a detour"
)]
#[derive(Debug, Clone)]
pub(super) enum Engine {
    /// Every number is kept, and passed over in every round.
    Dense(Dense),
    /// Clusters stand for them.
    Flat(Box<Flat>),
}

#[derive(Debug, Clone)]
pub(super) struct Dense {
    barrier: LogBarrier,
    mixture: Mixture,
}

#[derive(Debug, Clone)]
pub(super) struct Flat {
    barrier: FlatBarrier,
    gamma: f64,
    p: Lazy,
    mixed: Lazy,
}

/// What an engine continues from, beside the rates.
#[derive(Serialize, Deserialize)]
pub(super) enum EngineState {
    Dense(BarrierState),
    Flat(FlatState),
}

impl Engine {
    /// The distribution 1/`inverse` with these rates, mixed with weight `gamma`.
    pub fn new(flat: bool, inverse: &[f64], rates: &[f64], gamma: f64) -> Result<Self, OmdError> {
        if flat {
            return Ok(Self::of_flat(FlatBarrier::new(inverse, rates)?, gamma));
        }
        Ok(Self::of_dense(LogBarrier::new(inverse, rates)?, gamma))
    }

    fn of_flat(barrier: FlatBarrier, gamma: f64) -> Self {
        Self::Flat(Box::new(Flat { barrier, gamma, p: Lazy::default(), mixed: Lazy::default() }))
    }

    fn of_dense(barrier: LogBarrier, gamma: f64) -> Self {
        let mut dense = Dense { mixture: Mixture::new(barrier.inverse().len()), barrier };
        dense.mix(gamma);
        Self::Dense(dense)
    }

    pub fn is_flat(&self) -> bool {
        matches!(self, Self::Flat(_))
    }

    /// pbar_t
    #[inline]
    pub fn probabilities(&self) -> &[f64] {
        match self {
            Self::Dense(dense) => &dense.mixture.mixed()[..dense.barrier.inverse().len()],
            Self::Flat(flat) => flat.mixed.get(|all| {
                all.extend(flat.p().iter().map(|p| flat.mix(*p)));
            }),
        }
    }

    /// pbar_{t,i}; 0 for a base that is not there.
    #[inline]
    pub fn probability(&self, i: usize) -> f64 {
        match self {
            // What pads the last block is 0 too.
            Self::Dense(dense) => dense.mixture.mixed().get(i).copied().unwrap_or(0.0),
            Self::Flat(flat) => flat.mix(flat.barrier.probability(i)),
        }
    }

    /// p_t
    pub fn distribution(&self) -> &[f64] {
        match self {
            Self::Dense(dense) => dense.barrier.distribution(),
            Self::Flat(flat) => flat.p(),
        }
    }

    /// eta_{t,i}
    pub fn rate(&self, i: usize) -> f64 {
        match self {
            Self::Dense(dense) => dense.barrier.rates()[i],
            Self::Flat(flat) => flat.barrier.rate(i),
        }
    }

    pub fn active(&self) -> usize {
        match self {
            Self::Dense(dense) => dense.barrier.active(),
            Self::Flat(flat) => flat.barrier.active(),
        }
    }

    pub fn is_retired(&self, i: usize) -> bool {
        match self {
            Self::Dense(dense) => dense.barrier.is_retired(i),
            Self::Flat(flat) => flat.barrier.is_retired(i),
        }
    }

    /// Draws from pbar_t.
    #[inline]
    pub fn sample(&self, rng: &mut dyn Rng) -> usize {
        match self {
            Self::Dense(dense) => dense.mixture.at(uniform(rng)),
            Self::Flat(flat) => flat.barrier.sample(flat.gamma, rng),
        }
    }

    /// Starts again where all rates are `rate`. On error nothing changed.
    pub fn reset(
        &mut self,
        flat: bool,
        inverse: impl Fn(usize) -> f64,
        rate: f64,
        gamma: f64,
    ) -> Result<(), OmdError> {
        if let (Self::Dense(dense), false) = (&mut *self, flat) {
            dense.barrier.reset(inverse, rate);
            dense.mix(gamma);
            return Ok(());
        }
        let m = self.probabilities().len();
        let inverse: Vec<f64> = (0..m).map(inverse).collect();
        *self = Self::new(flat, &inverse, &vec![rate; m], gamma)?;
        Ok(())
    }

    /// Lines "Update" and "Set pbar" with a loss in one place.
    #[inline]
    pub fn step_one(&mut self, base: usize, loss: f64, weight: f64) -> Result<(), OmdError> {
        match self {
            Self::Dense(dense) => {
                if !dense.barrier.step_one(base, loss, weight, &mut dense.mixture)? {
                    return dense.search(base, loss * weight);
                }
                dense.mixture.total();
                Ok(())
            }
            Self::Flat(flat) => flat.step_one(base, loss * weight),
        }
    }

    /// As [`step_one`](Self::step_one), with a loss everywhere. The flat step has nothing to gain then, and from here on the
    /// dense one is made.
    pub fn step_all(&mut self, losses: &[f64]) -> Result<(), OmdError> {
        if let Self::Flat(flat) = self {
            let inverse: Vec<f64> = flat.p().iter().map(|p| 1.0 / p).collect();
            *self = Self::of_dense(LogBarrier::new(&inverse, &flat.barrier.rates())?, flat.gamma);
        }
        let Self::Dense(dense) = self else { return Ok(()) };
        let step = dense.barrier.step_all(losses, &mut dense.mixture);
        dense.finish(step)
    }

    pub fn set_rate(&mut self, i: usize, rate: f64) {
        match self {
            Self::Dense(dense) => dense.barrier.set_rate(i, rate),
            Self::Flat(flat) => flat.barrier.set_rate(i, rate),
        }
    }

    /// Takes a base out; mixed with weight `gamma`.
    pub fn retire(&mut self, i: usize, gamma: f64) {
        match self {
            Self::Dense(dense) => {
                dense.barrier.retire(i);
                dense.mix(gamma);
            }
            Self::Flat(flat) => {
                flat.forget();
                flat.barrier.retire(i);
            }
        }
    }

    /// From now on [`fallen`](Self::fallen) shows `i` where 1/pbar_i exceeds `range`.
    pub fn watch(&mut self, i: usize, range: f64) {
        if let Self::Flat(flat) = self {
            let floor = flat.gamma / flat.barrier.active() as f64;
            flat.barrier.watch(i, (1.0 / range - floor) / (1.0 - flat.gamma));
        }
    }

    /// Writes down the bases whose 1/pbar may exceed the range that is watched, in order. The dense step watches no base.
    pub fn fallen(&mut self, found: &mut Vec<u32>) {
        found.clear();
        if let Self::Flat(flat) = self {
            flat.barrier.fallen(|i| found.push(i as u32));
            found.sort_unstable();
        }
    }

    pub fn state(&self) -> EngineState {
        match self {
            Self::Dense(dense) => EngineState::Dense(dense.barrier.state()),
            Self::Flat(flat) => EngineState::Flat(flat.barrier.state()),
        }
    }

    /// Replaces the distribution, keeping the rates.
    #[cfg(test)]
    pub fn overwrite(&mut self, p: &[f64]) {
        if let Self::Dense(dense) = self {
            dense.barrier.overwrite(p);
        }
    }
}

impl Dense {
    /// pbar from p, for the bases that are left.
    fn mix(&mut self, gamma: f64) {
        let Self { barrier, mixture } = self;
        mixture.set(gamma, barrier.inverse().len(), |i| !barrier.is_retired(i));
        mixture.fill(barrier.blocks());
    }

    #[cold]
    fn search(&mut self, base: usize, loss: f64) -> Result<(), OmdError> {
        let step = self.barrier.search_one(base, loss, &mut self.mixture);
        self.finish(step)
    }

    fn finish(&mut self, step: Result<(), OmdError>) -> Result<(), OmdError> {
        match step {
            Ok(_) => self.mixture.total(),
            Err(_) => self.mixture.fill(self.barrier.blocks()),
        }
        step
    }
}

impl Flat {
    /// pbar = (1 - gamma) p + gamma/M        Algorithm 1
    #[inline]
    fn mix(&self, p: f64) -> f64 {
        if p > 0.0 { (1.0 - self.gamma) * p + self.gamma / self.barrier.active() as f64 } else { 0.0 }
    }

    fn p(&self) -> &[f64] {
        self.p.get(|all| all.extend((0..self.barrier.len()).map(|i| self.barrier.probability(i))))
    }

    // Called, so that nothing of the dense step has to be put away for what is called here.
    #[inline(never)]
    fn step_one(&mut self, base: usize, loss: f64) -> Result<(), OmdError> {
        self.forget();
        self.barrier.step_one(base, loss).map(|_| ())
    }

    /// What was written out is no longer so.
    #[inline]
    fn forget(&mut self) {
        self.p.forget();
        self.mixed.forget();
    }
}

impl EngineState {
    /// The engine that continues from here.
    pub fn resume(self, rates: &[f64], gamma: f64) -> Result<Engine, String> {
        Ok(match self {
            Self::Dense(state) => Engine::of_dense(state.resume(rates)?, gamma),
            Self::Flat(state) => Engine::of_flat(state.resume(rates)?, gamma),
        })
    }
}

/// Numbers that are written out on demand.
#[derive(Debug, Clone, Default)]
pub(super) struct Lazy {
    all: OnceCell<Vec<f64>>,
    /// Their buffer, while they are not.
    buffer: RefCell<Vec<f64>>,
}

impl Lazy {
    pub fn get(&self, fill: impl FnOnce(&mut Vec<f64>)) -> &[f64] {
        self.all.get_or_init(|| {
            let mut all = self.buffer.take();
            all.clear();
            fill(&mut all);
            all
        })
    }

    #[inline]
    pub fn forget(&mut self) {
        if let Some(all) = self.all.take() {
            self.buffer.replace(all);
        }
    }
}
