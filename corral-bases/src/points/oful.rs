//! OFUL: optimism in the face of uncertainty for linear losses.
//!
//! Abbasi-Yadkori, Pal, Szepesvari 2011. Regret O~(d sqrt T) where the loss is 1/2 + <x, theta> plus noise. Lazy: it
//! learns from observed losses alone, and is stable with alpha = 1/2 without restarts (docs/stability.md#lazy-bases).

use super::lazy::{Lazy, Model};
use super::optimism::{Ellipsoid, Optimist, Search};
use super::point_set;
use super::ridge::Ridge;
use crate::prelude::*;

corral_core::params! {
    /// Parameters of [`Oful`].
    pub struct OfulParams {
        /// Weight of the regularisation.
        lambda: f64 = 1.0, SIZE;
        /// S, a bound on the length of the parameter; auto: what losses in [0, 1] allow.
        norm: Setting = Setting::Auto, SIZE;
        /// Sub-Gaussian constant of the noise.
        noise: f64 = 0.5, FACTOR;
        /// Probability of a wrong confidence set; auto: 1/T.
        delta: Setting = Setting::Auto, CONFIDENCE;
        /// Multiplies the confidence radius.
        scale: f64 = 1.0, FACTOR;
        /// What is subtracted from losses before the regression.
        offset: f64 = 0.5, OFFSET;
        /// On polytopes and boxes: vertices (exact), relaxed (an l1 ball), or auto.
        search: Search = Search::Auto;
    }
}

impl BaseParams for OfulParams {
    type Base = Oful;

    const ENTRY: Entry = Entry {
        name: "oful",
        summary: "The best point for the most favourable parameter of a confidence ellipsoid.",
        source: "Abbasi-Yadkori, Pal, Szepesvari 2011, Improved algorithms for linear stochastic bandits",
        regret: "O~(d sqrt T)",
        fits: "stochastic linear losses on a finite set, ball, box, simplex or polytope",
        cost: "O(A d^2) over A points or vertices, O(d^3) on the ball",
        ..super::POINTS
    };

    fn build(self, setup: &Setup) -> Result<Oful, BaseError> {
        self.check()?;
        let set = point_set(setup)?.clone();
        let optimist = Optimist::new(&set, self.search)?;
        let (dim, clock) = (set.dim(), Clock::new(setup));
        let mut model = OfulModel {
            norm: self.norm.or(|| parameter_norm(&set)),
            params: self.clone(),
            optimist,
            ridge: Ridge::new(dim, self.lambda),
            decision: vec![0.0; dim],
        };
        model.decide(&clock)?;
        Ok(Lazy::new(self, set, clock, model))
    }

    fn bound(&self, setup: &Setup) -> Option<RegretBound> {
        let d = point_set(setup).ok()?.dim() as f64;
        let t = bound_horizon(setup);
        // sqrt(T W), W = 8 beta^2 d ln(1 + T/(d lambda))                   docs/stability.md#lazy-bases
        let log = (1.0 + t / d).ln();
        let beta = 0.5 * (2.0 * t.ln() + d * log).sqrt() + 0.5;
        Some(RegretBound::new((8.0 * beta * beta * d * log).sqrt(), 0.5))
    }
}

/// The longest parameter with |<x, theta>| <= 1/2 over the set: 1/(2r) where a ball of radius r around the origin fits,
/// sqrt(K)/2 on the simplex, else 1/(2N) with N the largest norm.
pub(super) fn parameter_norm(set: &Set) -> f64 {
    match set {
        Set::Simplex { vertices } => 0.5 * (*vertices as f64).sqrt(),
        other => match other.room(&vec![0.0; other.dim()]) {
            Ok(room) if room > 0.0 => 0.5 / room,
            _ => 0.5 / other.norm_bound().max(f64::MIN_POSITIVE),
        },
    }
}

/// 1/T where T is known, else 1/(n + 2)^2 after n updates.
pub(super) fn confidence(delta: Setting, clock: &Clock, updates: u64) -> f64 {
    delta.or(|| clock.tuned().map_or_else(|| (updates as f64 + 2.0).powi(-2), |t| 1.0 / t))
}

/// OFUL over a set of points.
pub type Oful = Lazy<OfulModel>;

/// The model of [`Oful`].
#[derive(Debug, Clone)]
pub struct OfulModel {
    params: OfulParams,
    norm: f64,
    optimist: Optimist,
    ridge: Ridge,
    decision: Vec<f64>,
}

impl OfulModel {
    /// beta = sigma sqrt(2 ln(1/delta) + ln det V - d ln lambda) + sqrt(lambda) S   docs/bases.md#linear-bases
    pub fn radius(&self, clock: &Clock) -> f64 {
        let delta = confidence(self.params.delta, clock, self.ridge.updates());
        let spread = (2.0 * (1.0 / delta).ln() + self.ridge.log_det()).max(0.0).sqrt();
        self.params.scale * (self.params.noise * spread + self.params.lambda.sqrt() * self.norm)
    }

    /// |theta - estimate|_V, to be compared with the radius.
    pub fn distance(&self, theta: &[f64]) -> f64 {
        let off: Vec<f64> = theta.iter().zip(self.ridge.estimate()).map(|(a, b)| a - b).collect();
        super::ridge::quadratic(self.ridge.gram(), &off).sqrt()
    }

    fn decide(&mut self, clock: &Clock) -> Result<(), BaseError> {
        let ellipsoid = Ellipsoid {
            centre: self.ridge.estimate(),
            gram: self.ridge.gram(),
            inverse: self.ridge.inverse(),
            radius: self.radius(clock),
        };
        self.optimist.choose(ellipsoid, &mut self.decision)?;
        Ok(())
    }
}

impl Model for OfulModel {
    type Params = OfulParams;
    type State = Ridge;

    fn state(&self) -> &Ridge {
        &self.ridge
    }

    fn resume(&mut self, state: Ridge, clock: &Clock) -> Result<(), BaseError> {
        state.valid(self.decision.len(), self.params.lambda)?;
        let mut next = Self { ridge: state, ..self.clone() };
        next.decide(clock).map_err(SnapshotError::state)?;
        *self = next;
        Ok(())
    }

    fn sure(&self, _clock: &Clock) -> Option<&[f64]> {
        Some(&self.decision)
    }

    fn learn(&mut self, clock: &Clock, x: &[f64], loss: f64) -> Result<(), BaseError> {
        self.ridge.learn(x, loss - self.params.offset);
        self.decide(clock)
    }
}
