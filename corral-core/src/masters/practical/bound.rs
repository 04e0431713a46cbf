//! The regret bound with its constants, so that a user sees when it is vacuous.

use super::{Fall, Practical};

impl Practical {
    /// A bound of the expected regret after `rounds` rounds against each base as it runs in the band, whatever the losses
    /// (docs/practical.md#the-theorem, with Q_T at its largest, T):
    ///
    /// ```text
    /// (B + A C)/eta_T + kappa (2 scale sqrt(M T L) + cap) + 2 floor (sqrt(T + t0) - sqrt(t0)) + risen
    /// L = ln(T + t0),   B = (M - 1) (ln(1/(M phi_T)) + ln(phi_0/phi_T)),   1/eta_T = max(1/cap, 1, sqrt(T/(M L))/scale)
    /// A = the alarms of this run so far,   C = M/3 + (M - 1) ln((1 + 1/t0) (1 + max(cap, reach))/(4 M phi_T))
    /// kappa = (-reach - ln(1 - reach))/reach^2
    /// risen = ln(1 + T/t0) (M - 1) ln((1 + 1/t0) (1 + max(cap, reach))/(M phi_T))
    /// ```
    ///
    /// For credit by likelihood, losses in [0, 1] that are fixed before the decision is drawn and learned before the next one.
    /// The guard over K arms adds K (1 + (ln T)^2/2). `None` where nothing is proved: no floor, a reach of 1 or more, other
    /// losses, a band below another, bases that joined or left, experience.
    pub fn bound(&self, rounds: u64) -> Option<f64> {
        let rule = self.rule();
        let params = &rule.params;
        let covered =
            params.floor > 0.0 && params.reach < 1.0 && rule.unit && rule.outer == 1.0 && rule.whole;
        if !covered || rounds == 0 {
            return None;
        }
        let (m, t, t0) = (rule.inverse.len() as f64, rounds as f64, params.offset);
        if m < 2.0 {
            // Followed always.
            return Some(0.0);
        }
        // M phi
        let floor = |time: f64| (params.floor / time.sqrt()).min(0.5);
        let last = floor(t + t0);
        let kappa = (-params.reach - (-params.reach).ln_1p()) / params.reach.powi(2);
        // W^ <= (1 + 1/t0) (1 + max(cap, reach))/phi
        let widest = (1.0 + 1.0 / t0) * (1.0 + params.cap.max(params.reach));
        let (inverse, stability, risen) = match params.rate {
            Fall::Adaptive => {
                let varied = (t / (m * (t + t0).ln())).sqrt() / params.scale;
                let stability = 2.0 * params.scale * (m * t * (t + t0).ln()).sqrt() + params.cap;
                let risen = (1.0 + t / t0).ln() * (widest / last).ln();
                (varied.max(1.0 / params.cap).max(1.0), stability, (m - 1.0) * risen)
            }
            Fall::Falling => (
                (t + t0).sqrt() / params.scale,
                2.0 * params.scale * ((t + t0).sqrt() - t0.sqrt() + 1.0),
                0.0,
            ),
        };
        let barrier = (m - 1.0) * ((floor(t0) / last).ln() - last.ln());
        let alarm = m / 3.0 + (m - 1.0) * (widest / (4.0 * last)).ln().max(0.0);
        let floors = 2.0 * params.floor * ((t + t0).sqrt() - t0.sqrt());
        Some((barrier + rule.alarms as f64 * alarm) * inverse + kappa * stability + floors + risen)
    }
}
