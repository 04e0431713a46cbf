//! The regret bound with its constants, so that a user sees when it is vacuous.

use super::params::half_growth;
use super::{Corral, Horizon};

/// 2^alpha/(2^alpha - 1): what restarts cost a base that is only weakly stable (the paper's doubling theorem,
/// appendix D). 2 for alpha = 1, 3.41 for 1/2.
pub fn restart_factor(alpha: f64) -> f64 {
    let two = alpha.exp2();
    two / (two - 1.0)
}

impl Corral {
    /// A bound of the expected regret against a base whose own regret is at most rho^alpha `regret` when its weights
    /// go up to rho (the paper's main theorem, section 4), for the rate in use and the worst placed base of the prior:
    ///
    /// ```text
    /// ((M-1) ln T + (1/p_1 - M) + C0/ln T)/eta + e^(1/ln 2)/2 T eta/(1 - 1/T)^2 + 2
    ///   + max_{rho in [rho_1, 2TM]} (rho^alpha R - rho/(40 eta ln T)),    C0 = max{(1 + ln(TM/4))/5, rho_1/40}
    /// ```
    ///
    /// A base that is only weakly stable, and restarted when its range grows, has `regret` multiplied by
    /// [`restart_factor`]. `None` where the paper says nothing: T = 1, an unknown horizon, a baseline, an `alpha`
    /// outside (0, 1], a `regret` that is not positive and finite.
    pub fn bound(&self, alpha: f64, regret: f64) -> Option<f64> {
        if !(alpha > 0.0 && alpha <= 1.0 && regret > 0.0 && regret.is_finite()) {
            return None;
        }
        let params = &self.params;
        let covered = matches!(params.horizon, Horizon::Known(_)) && !params.baseline;
        if !covered || self.clock.length < 2 {
            return None;
        }
        let (t, m, outer) = (self.clock.length as f64, params.bases as f64, self.clock.outer);
        if params.bases == 1 {
            // Followed always: the base's own regret.
            return Some(outer.powf(alpha) * regret);
        }
        let (eta, ln) = (self.clock.rate, t.ln());
        // The smallest p_1; uniform: 1/M.
        let first = params.prior.as_ref().map_or(m, |prior| {
            let (sum, least) = prior.iter().fold((0.0, f64::INFINITY), |(s, l), p| (s + p, p.min(l)));
            sum / least
        });
        let gamma = 1.0 / t;
        let start = 2.0 / ((1.0 - gamma) / first + gamma / m);
        let barrier = (m - 1.0) * ln + (first - m);
        let c0 = ((1.0 + (t * m / 4.0).ln()) / 5.0).max(start / 40.0);
        let stability = half_growth() * t * eta * outer / (1.0 - gamma).powi(2);
        // The base's regret less the negative term is concave in rho: its maximum is inside, or at an end.
        let price = 1.0 / (40.0 * eta * ln);
        let scaled = outer.powf(alpha) * regret;
        let gain = |rho: f64| rho.powf(alpha) * scaled - rho * price;
        let end = 2.0 * t * m;
        let inside = if alpha < 1.0 {
            (alpha * scaled / price).powf(1.0 / (1.0 - alpha)).clamp(start.min(end), end)
        } else {
            start
        };
        let base = gain(inside).max(gain(start)).max(gain(end));
        Some((barrier + c0 / ln) / eta + stability + 2.0 + base)
    }
}
