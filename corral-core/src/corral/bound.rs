//! The regret bound with its constants, so that a user sees when it is vacuous.

use super::params::growth;
use super::{Corral, Horizon};
use crate::LossDomain;

/// 2^alpha/(2^alpha - 1): what restarts cost a base that is only weakly stable (the paper's doubling theorem,
/// appendix D). 2 for alpha = 1, 3.41 for 1/2.
pub fn restart_factor(alpha: f64) -> f64 {
    let two = alpha.exp2();
    two / (two - 1.0)
}

impl Corral {
    /// A bound of the expected regret against a base whose own regret is at most rho^alpha `regret` when its weights
    /// go up to rho (the paper's main theorem, section 4), for the rate in use and whichever base of the prior it is:
    ///
    /// ```text
    /// ((M-1) ln T + (max 1/p_1 - M) + C0/ln T)/eta + (G/2) T eta/(1 - 1/T)^2 + 2
    ///   + max_{rho in [min rho_1, 2TM]} (rho^alpha R - rho/(8 G' eta ln T))
    /// G = e^(log2(T M max pbar_1)/ln T),    G' = max{5, G},    C0 = max{1 + ln(TM/4), max rho_1/8}/G'
    /// ```
    ///
    /// G is how much a rate grows at most: e^(1/ln 2) = 4.23 without a prior, which the paper rounds to 5
    /// (docs/step.md, "Rates grow, and by how much"). A base that is only weakly stable, and restarted when its range
    /// grows, has `regret` multiplied by [`restart_factor`]. `None` where the paper says nothing: T = 1, an unknown
    /// horizon, a baseline, losses outside [0, 1], an `alpha` outside (0, 1], a `regret` that is not positive and finite.
    pub fn bound(&self, alpha: f64, regret: f64) -> Option<f64> {
        if !(alpha > 0.0 && alpha <= 1.0 && regret > 0.0 && regret.is_finite()) {
            return None;
        }
        let params = &self.params;
        let covered = matches!(params.horizon, Horizon::Known(_))
            && !params.baseline
            && params.losses == LossDomain::Unit;
        if !covered || self.epoch.length < 2 {
            return None;
        }
        let (t, m, outer) = (self.epoch.length as f64, params.bases as f64, self.epoch.outer);
        if params.bases == 1 {
            // Followed always: the base's own regret.
            return Some(outer.powf(alpha) * regret);
        }
        let (eta, ln, gamma) = (self.epoch.rate, t.ln(), 1.0 / t);
        // The smallest and the largest p_1; uniform: 1/M.
        let (least, most) = params.prior.as_ref().map_or((1.0 / m, 1.0 / m), |prior| {
            let (sum, least, most) =
                prior.iter().fold((0.0, f64::INFINITY, 0.0f64), |(s, l, h), p| (s + p, p.min(l), p.max(h)));
            (least / sum, most / sum)
        });
        let mixed = |p: f64| (1.0 - gamma) * p + gamma / m;
        let grown = growth(ln, (m * mixed(most)).max(1.0));
        let rounded = grown.max(5.0);
        let barrier = (m - 1.0) * ln + (1.0 / least - m);
        let c0 = (1.0 + (t * m / 4.0).ln()).max(0.25 / mixed(least)) / rounded;
        let stability = 0.5 * grown * t * eta * outer / (1.0 - gamma).powi(2);
        // The base's regret less the negative term is concave in rho: its maximum is inside, or at an end.
        let price = 1.0 / (8.0 * rounded * eta * ln);
        let scaled = outer.powf(alpha) * regret;
        let gain = |rho: f64| rho.powf(alpha) * scaled - rho * price;
        let (start, end) = (2.0 / mixed(most), 2.0 * t * m);
        let inside = if alpha < 1.0 {
            (alpha * scaled / price).powf(1.0 / (1.0 - alpha)).clamp(start.min(end), end)
        } else {
            start
        };
        let base = gain(inside).max(gain(start)).max(gain(end));
        Some((barrier + c0 / ln) / eta + stability + 2.0 + base)
    }
}
