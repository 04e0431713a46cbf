//! SL-UCB: find the relevant coordinates with random signs, then be optimistic on them.
//!
//! Carpentier, Munos 2012, for the unit ball; from memory (docs/bases.md#sl-ucb). Regret
//! O~(s sqrt T). Noise here is added to the loss and does not shrink with the point, so that an estimate from n random
//! signs errs by noise sqrt(d/n): the threshold has the noise times sqrt(d). Lazy; alpha = 1/2, with the exploration grown by
//! sqrt(range) and started over when the range grows.

use corral_core::set::SetError;

use super::lazy::{Lazy, Model};
use super::oful::confidence;
use super::point_set;
use super::restricted::{self, Width};
use super::ridge::Ridge;
use super::scrible::horizon_or_doubling;
use crate::prelude::*;

corral_core::params! {
    /// Parameters of [`SlUcb`].
    pub struct SlUcbParams {
        /// S, a bound on the length of the parameter.
        norm: f64 = 0.5, SIZE;
        /// Sub-Gaussian constant of the noise.
        noise: f64 = 0.5, FACTOR;
        /// Probability of a wrong confidence set; auto: 1/T.
        delta: Setting = Setting::Auto, CONFIDENCE;
        /// Multiplies the confidence radius and the threshold.
        scale: f64 = 1.0, FACTOR;
        /// What is subtracted from losses before the regression.
        offset: f64 = 0.5, OFFSET;
    }
}

impl BaseParams for SlUcbParams {
    type Base = SlUcb;

    const ENTRY: Entry = Entry {
        name: "sl-ucb",
        summary: "Random signs until the relevant coordinates are found, then optimism on them.",
        source: "Carpentier, Munos 2012, Bandit theory meets compressed sensing for high-dimensional stochastic linear bandit",
        regret: "O~(s sqrt T)",
        fits: "stochastic linear losses on the ball with few relevant coordinates",
        cost: "O(d^2), and O(s^3) on s coordinates",
        status: Status::FromMemory,
        ..super::POINTS
    };

    fn build(self, setup: &Setup) -> Result<SlUcb, BaseError> {
        self.check()?;
        let set = point_set(setup)?.clone();
        let Set::Ball { dim } = set else {
            return Err(SetError::Unsupported { what: "sl-ucb", kind: set.kind() }.into());
        };
        let state = SlUcbState {
            ridge: Ridge::new(dim, 1.0),
            signs: vec![0.0; dim],
            explored: 0,
            support: Vec::new(),
        };
        let model = SlUcbModel { params: self.clone(), state, decision: vec![0.0; dim] };
        Ok(Lazy::new(self, set, Clock::new(setup), model))
    }
}

/// SL-UCB over the unit ball.
pub type SlUcb = Lazy<SlUcbModel>;

/// The model of [`SlUcb`].
#[derive(Debug, Clone)]
pub struct SlUcbModel {
    params: SlUcbParams,
    state: SlUcbState,
    decision: Vec<f64>,
}

/// What [`SlUcb`] has learned.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct SlUcbState {
    ridge: Ridge,
    /// sum x_i c over the exploration.
    signs: Vec<f64>,
    explored: u64,
    /// The relevant coordinates; empty while they are searched.
    support: Vec<usize>,
}

impl SlUcbModel {
    /// The relevant coordinates; empty while they are searched.
    pub fn support(&self) -> &[usize] {
        &self.state.support
    }

    /// After an update of the exploration: is it over, and what was found?
    fn search(&mut self, clock: &Clock) {
        let state = &mut self.state;
        let (d, n, horizon) = (state.signs.len() as f64, state.explored as f64, horizon_or_doubling(clock));
        let delta = confidence(self.params.delta, clock, state.explored);
        // b = (S + sigma sqrt d) sqrt(2 ln(2 d/delta)); A = {i : |hat_i| >= 2 b/sqrt n}
        let b = self.params.scale
            * (self.params.norm + self.params.noise * d.sqrt())
            * (2.0 * (2.0 * d / delta).ln()).sqrt();
        let hat: Vec<f64> = state.signs.iter().map(|s| d * s / n).collect();
        let found: Vec<usize> = (0..hat.len()).filter(|i| hat[*i].abs() >= 2.0 * b / n.sqrt()).collect();
        let size = found.iter().map(|i| hat[*i] * hat[*i]).sum::<f64>().sqrt();
        // Stop at n >= sqrt(T)/max(|hat_A| - b/sqrt n, 1e-3), at the latest at T^{2/3}; rounds, times sqrt(range).
        let stretch = clock.range.sqrt();
        let enough = stretch * horizon.sqrt() / (size - b / n.sqrt()).max(1e-3);
        let latest = (stretch * horizon.powf(2.0 / 3.0)).min(horizon);
        let rounds = clock.rounds as f64 + 1.0;
        if rounds >= enough.min(latest) {
            // Nothing found: every coordinate may count.
            state.support = if found.is_empty() { (0..hat.len()).collect() } else { found };
        }
    }

    fn decide(&mut self, clock: &Clock) -> Result<(), BaseError> {
        if self.state.support.is_empty() {
            return Ok(());
        }
        let delta = confidence(self.params.delta, clock, self.state.ridge.updates());
        let width =
            Width { noise: self.params.noise, norm: self.params.norm, delta, scale: self.params.scale };
        restricted::choose(&self.state.ridge, &self.state.support, width, &mut self.decision)
    }
}

impl Model for SlUcbModel {
    type Params = SlUcbParams;
    type State = SlUcbState;

    fn state(&self) -> &SlUcbState {
        &self.state
    }

    fn resume(&mut self, state: SlUcbState, clock: &Clock) -> Result<(), BaseError> {
        let dim = self.decision.len();
        state.ridge.valid(dim, 1.0)?;
        crate::common::check_numbers("sums", &state.signs, dim)?;
        check_support(&state.support, dim)?;
        let mut next = Self { state, ..self.clone() };
        next.decide(clock).map_err(SnapshotError::state)?;
        *self = next;
        Ok(())
    }

    fn propose(&mut self, _clock: &Clock, rng: &mut dyn Rng, out: &mut [f64]) -> Result<(), BaseError> {
        if self.state.support.is_empty() {
            let size = 1.0 / (out.len() as f64).sqrt();
            let mut bits = 0;
            for (i, v) in out.iter_mut().enumerate() {
                if i % 64 == 0 {
                    bits = rng.next_u64();
                }
                *v = if bits >> (i % 64) & 1 == 1 { size } else { -size };
            }
        } else {
            out.copy_from_slice(&self.decision);
        }
        Ok(())
    }

    fn sure(&self, _clock: &Clock) -> Option<&[f64]> {
        (!self.state.support.is_empty()).then_some(&self.decision)
    }

    fn learn(&mut self, clock: &Clock, x: &[f64], loss: f64) -> Result<(), BaseError> {
        let y = loss - self.params.offset;
        self.state.ridge.learn(x, y);
        if self.state.support.is_empty() {
            self.state.explored += 1;
            self.state.signs.iter_mut().zip(x).for_each(|(s, x)| *s += x * y);
            self.search(clock);
        }
        self.decide(clock)
    }

    const RANGE_CHANGE: RangeChange = RangeChange::Restart;
}

/// Coordinates below `dim`, rising.
pub(super) fn check_support(support: &[usize], dim: usize) -> Result<(), SnapshotError> {
    if support.iter().all(|i| *i < dim) && support.windows(2).all(|w| w[0] < w[1]) {
        Ok(())
    } else {
        Err(SnapshotError::state(format_args!("its coordinates {support:?} are not rising below {dim}")))
    }
}
