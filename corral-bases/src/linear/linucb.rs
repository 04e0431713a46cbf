//! LinUCB for losses: the lowest confidence bound of a ridge regression.
//!
//! Li, Chu, Langford, Schapire 2010; Abbasi-Yadkori, Pal, Szepesvari 2011 for the radius. Regret O~(d sqrt T) when the
//! loss is linear in the features, contexts chosen by an adversary. Lazy; weakly stable with alpha = 1/2
//! (docs/stability.md#lazy-bases, W = 8 beta^2 d ln(1 + T/(d lambda))).

use super::prelude::*;

base! {
    /// The action with the lowest confidence bound of a ridge regression.
    "linucb": pub type LinUcb = Linear<LinUcbParams>;
    // O~(d sqrt T): beta sqrt(d T ln T) with beta about sqrt(d ln T)
    sqrt_bound |world| world.d * world.t.ln();
    params {
        /// The width is alpha ||z||_{V^-1}; auto: sqrt(2 ln(1/delta) + ln det(V/lambda))/2 + sqrt(lambda)
        /// bound, delta = 1/T.
        alpha: Setting = Setting::Auto, Bounds::NON_NEGATIVE;
        /// Multiplies the width.
        scale: f64 = 1.0, Bounds::NON_NEGATIVE;
        /// A bound on the norm of the true parameter, for alpha = auto.
        bound: f64 = 1.0, Bounds::NON_NEGATIVE;
    } with random_ties, lazy, ridge, real_losses
}

impl ActionRule for LinUcbParams {
    fn needs_widths(&self) -> bool {
        true
    }

    fn weigh(&self, view: &View<'_>, weights: &mut [f64]) {
        // beta = sigma sqrt(2 ln(1/delta) + ln det V - d ln lambda) + sqrt(lambda) S, sigma = 1/2
        // docs/bases.md#linear-bases
        let confidence = 2.0 * view.horizon_or_round().ln();
        let shift = self.model.ridge.sqrt() * self.bound;
        put_on_lowest(self.ties, weights, |a| {
            let beta = self.alpha.or(|| 0.5 * (confidence + view.log_dets[a]).sqrt() + shift);
            view.predictions[a] - self.scale * beta * view.widths[a]
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn view<'a>(predictions: &'a [f64], widths: &'a [f64], log_dets: &'a [f64]) -> View<'a> {
        View {
            predictions,
            widths,
            log_dets,
            seen: 9.0,
            rounds: 9.0,
            horizon: Some(100.0),
            range: 1.0,
            dim: 2.0,
        }
    }

    #[test]
    fn the_radius_is_that_of_the_ellipsoid() {
        // beta = sqrt(2 ln 100 + 3)/2 + 1 for the first action and sqrt(2 ln 100)/2 + 1 for the second.
        let betas = [0.5 * (2.0 * 100f64.ln() + 3.0).sqrt() + 1.0, 0.5 * (2.0 * 100f64.ln()).sqrt() + 1.0];
        let widths = [0.2, 0.3];
        let params = LinUcbParams::default();
        let mut weights = [0.0; 2];
        // Predictions that make the two bounds nearly equal, one way and the other.
        let even = 0.5 + betas[0] * widths[0] - betas[1] * widths[1];
        for (off, expected) in [(1e-9, [1.0, 0.0]), (-1e-9, [0.0, 1.0])] {
            let predictions = [0.5, 0.5 - (even - 0.5) + off];
            params.weigh(&view(&predictions, &widths, &[3.0, 0.0]), &mut weights);
            assert_eq!(weights, expected);
        }
    }

    #[test]
    fn ties_are_shared_or_go_to_the_first() {
        let mut weights = [0.0; 3];
        let (predictions, widths) = ([0.5, 0.2, 0.2], [0.0; 3]);
        let mut params = LinUcbParams { alpha: Setting::Given(0.1), ..LinUcbParams::default() };
        params.weigh(&view(&predictions, &widths, &[0.0; 3]), &mut weights);
        assert_eq!(weights, [0.0, 0.5, 0.5]);
        params.ties = Ties::Lowest;
        params.weigh(&view(&predictions, &widths, &[0.0; 3]), &mut weights);
        assert_eq!(weights, [0.0, 1.0, 0.0]);
    }
}
