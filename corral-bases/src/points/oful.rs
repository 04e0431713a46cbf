//! OFUL: optimism in the face of uncertainty for linear losses.
//!
//! Abbasi-Yadkori, Pal, Szepesvari 2011. Regret O~(d sqrt T) where the loss is 1/2 + <x, theta> plus noise. Lazy: it
//! learns from observed losses alone, and is stable with alpha = 1/2 without restarts (docs/stability.md#lazy-bases).

use super::prelude::*;

base! {
    /// The best point for the most favourable parameter of a confidence ellipsoid.
    "oful": pub type Oful = PointBase<OfulParams>;
    sqrt_bound |world| {
        // sqrt(T W), W = 8 beta^2 d ln(1 + T/(d lambda))                   docs/stability.md#lazy-bases
        let log = (1.0 + world.t / world.d).ln();
        let beta = 0.5 * (2.0 * world.t.ln() + world.d * log).sqrt() + 0.5;
        (8.0 * beta * beta * world.d * log).sqrt()
    };
    params {
        /// Weight of the regularisation.
        lambda: f64 = 1.0, SIZE;
    } with optimist
}

/// The longest parameter with |<x, theta>| <= 1/2 over the set: 1/(2r) where a ball of radius r around the origin fits,
/// sqrt(K)/2 on the simplex, else 1/(2N) with N the largest norm.
pub(super) fn parameter_norm(set: &Set) -> f64 {
    match set {
        Set::Simplex { vertices } => 0.5 * (*vertices as f64).sqrt(),
        other => match other.margin(&vec![0.0; other.dim()]) {
            Ok(margin) if margin > 0.0 => 0.5 / margin,
            _ => 0.5 / other.norm_bound().max(f64::MIN_POSITIVE),
        },
    }
}

/// 1/T where T is known, else 1/(n + 2)^2 after n updates.
pub(super) fn confidence(delta: Setting, clock: &Clock, updates: u64) -> f64 {
    delta.or(|| clock.tuned().map_or_else(|| (updates as f64 + 2.0).powi(-2), |t| 1.0 / t))
}

/// What [`Oful`] plays.
#[derive(Debug, Clone)]
pub struct OfulWork {
    norm: f64,
    optimist: Optimist,
    decision: Vec<f64>,
}

impl Oful {
    /// beta = sigma sqrt(2 ln(1/delta) + ln det V - d ln lambda) + sqrt(lambda) S   docs/bases.md#linear-bases
    pub fn radius(&self) -> f64 {
        let delta = confidence(self.rule.delta, &self.clock, self.state.updates(0));
        let spread = (2.0 * (1.0 / delta).ln() + self.state.log_det(0)).max(0.0).sqrt();
        self.rule.scale * (self.rule.noise * spread + self.rule.lambda.sqrt() * self.work.norm)
    }

    /// |theta - estimate|_V, to be compared with the radius.
    pub fn distance(&self, theta: &[f64]) -> f64 {
        self.state.distance_squared(theta).sqrt()
    }
}

impl PointRule for OfulParams {
    type State = Ridge;
    type Work = OfulWork;

    fn work(&self, set: &Set) -> Result<OfulWork> {
        let norm = self.norm.or(|| parameter_norm(set));
        Ok(OfulWork { norm, optimist: Optimist::new(set, self.search)?, decision: vec![0.0; set.dim()] })
    }

    fn fresh(&self, set: &Set, _: &OfulWork) -> Ridge {
        Ridge::new(self.lambda, 0.0, 1, set.dim())
    }

    fn tune(base: &mut Oful) -> Result {
        let ellipsoid = Ellipsoid::around(&base.state, base.radius());
        base.work.optimist.choose(ellipsoid, &mut base.work.decision).map(drop)
    }

    fn sure(base: &Oful) -> Option<&[f64]> {
        Some(&base.work.decision)
    }

    fn learn(base: &mut Oful, x: &[f64], loss: f64) -> Result {
        base.state.update(0, x, loss - base.rule.offset, 1.0)
    }

    fn restore(base: &Oful, state: &mut Ridge, _: &Clock) -> Result {
        Ok(state.restore(&base.state)?)
    }
}
