//! OFUL: optimism in the face of uncertainty for linear losses.
//!
//! Abbasi-Yadkori, Pal, Szepesvari 2011. Regret O~(d sqrt T) where the loss is 1/2 + <x, theta> plus noise. Lazy: it
//! learns from observed losses alone, and is stable with alpha = 1/2 without restarts (docs/stability.md#lazy-bases).

use corral_core::catalog::{Entry, Field};
use corral_core::snapshot::SnapshotError;
use corral_core::{BaseError, ParamError, Rng, Set, Setup};
use serde::{Deserialize, Serialize};

use super::lazy::{Lazy, Model};
use super::optimism::{Ellipsoid, Optimist, Search};
use super::point_set;
use super::ridge::Ridge;
use crate::common::{Clock, Setting, non_negative};
use crate::registry::{Row, bound_horizon, defaults, points};

const NAME: &str = "oful";

pub(crate) const ROW: Row = Row {
    entry: Entry {
        name: NAME,
        summary: "The best point for the most favourable parameter of a confidence ellipsoid.",
        source: "Abbasi-Yadkori, Pal, Szepesvari 2011, Improved algorithms for linear stochastic bandits",
        regret: "O~(d sqrt T)",
        alpha: Some(0.5),
        fits: "stochastic linear losses on a finite set, ball, box, simplex or polytope",
        cost: "O(A d^2) over A points or vertices, O(d^3) on the ball",
        kind: "points",
        status: "standard",
        fields: &[
            Field { name: "lambda", default: "1.0", doc: "Weight of the regularisation." },
            Field {
                name: "norm",
                default: "\"auto\"",
                doc: "S, a bound on the length of the parameter; auto: what losses in [0, 1] allow.",
            },
            Field { name: "noise", default: "0.5", doc: "Sub-Gaussian constant of the noise." },
            Field {
                name: "delta",
                default: "\"auto\"",
                doc: "Probability of a wrong confidence set; auto: 1/T.",
            },
            Field { name: "scale", default: "1.0", doc: "Multiplies the confidence radius." },
            Field {
                name: "offset",
                default: "0.5",
                doc: "What is subtracted from losses before the regression.",
            },
            Field {
                name: "search",
                default: "\"auto\"",
                doc: "On polytopes and boxes: vertices (exact), relaxed (an l1 ball), or auto.",
            },
        ],
    },
    build: |table, setup| points(&ROW.entry, table, setup, OfulParams::check),
    bound: |setup| {
        let d = point_set(setup).ok()?.dim() as f64;
        let t = bound_horizon(setup);
        // sqrt(T W), W = 8 beta^2 d ln(1 + T/(d lambda))   docs/stability.md#lazy-bases
        let log = (1.0 + t / d).ln();
        let beta = 0.5 * (2.0 * t.ln() + d * log).sqrt() + 0.5;
        Some(((8.0 * beta * beta * d * log).sqrt(), 0.5, 0.5))
    },
    defaults: defaults::<OfulParams>,
};

/// Parameters of [`Oful`].
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct OfulParams {
    /// Weight of the regularisation.
    pub lambda: f64,
    /// S, a bound on the length of the parameter.
    pub norm: Setting,
    /// Sub-Gaussian constant of the noise.
    pub noise: f64,
    /// Probability of a wrong confidence set.
    pub delta: Setting,
    /// Multiplies the confidence radius.
    pub scale: f64,
    /// What is subtracted from losses before the regression.
    pub offset: f64,
    /// How the optimum over polytopes and boxes is found.
    pub search: Search,
}

impl Default for OfulParams {
    fn default() -> Self {
        Self {
            lambda: 1.0,
            norm: Setting::Auto,
            noise: 0.5,
            delta: Setting::Auto,
            scale: 1.0,
            offset: 0.5,
            search: Search::Auto,
        }
    }
}

impl OfulParams {
    /// The base for the world of `setup`, with range 1.
    ///
    /// # Errors
    /// A parameter is out of bounds, or the space is no set of points.
    pub fn check(self, setup: &Setup) -> Result<Oful, BaseError> {
        ParamError::positive("lambda", self.lambda)?;
        self.norm.positive("norm")?;
        non_negative("noise", self.noise)?;
        check_delta(self.delta)?;
        non_negative("scale", self.scale)?;
        check_offset(self.offset)?;
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
}

pub(super) fn check_delta(delta: Setting) -> Result<(), ParamError> {
    match delta {
        Setting::Given(v) if !(v > 0.0 && v < 1.0) => Err(ParamError::new("delta", v, "in (0, 1)")),
        _ => Ok(()),
    }
}

pub(super) fn check_offset(offset: f64) -> Result<f64, ParamError> {
    if offset.is_finite() { Ok(offset) } else { Err(ParamError::new("offset", offset, "finite")) }
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
    const NAME: &'static str = NAME;
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

    fn propose(&mut self, _clock: &Clock, _rng: &mut dyn Rng, out: &mut [f64]) -> Result<(), BaseError> {
        out.copy_from_slice(&self.decision);
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
