//! SquareCB: inverse gap weighting over the predictions of an online regression.
//!
//! Foster, Rakhlin 2020. Regret O(sqrt(K T RegSq)), RegSq the regret of the regression in squared loss, when the loss
//! is in its class. Lazy; weakly stable with alpha = 1/2 with gamma / sqrt(range), keeping the regression
//! (docs/stability.md#squarecb).

use super::prelude::*;

corral_core::params! {
    /// Which prediction [`SquareCb`] uses.
    pub enum Forecast {
        /// That of the regression.
        #[default]
        Ridge,
        /// That of Vovk, Azoury and Warmuth, as if the example had been seen with the centre as its loss.
        Vaw,
    }
}

base! {
    /// Probabilities that fall with the inverse of the predicted gap.
    "squarecb": pub type SquareCb = Linear<SquareCbParams>;
    sqrt_bound |world| (world.k * world.d * (1.0 + world.t / world.d).ln()).sqrt();
    params {
        /// How greedy it is: a number g stands for g sqrt(n) after n - 1 updates; auto: 2 sqrt(2 K T/RegSq);
        /// both divided by sqrt(range).
        gamma: Setting = Setting::Auto, Bounds::POSITIVE;
        /// ridge: the prediction as it is; vaw: that of Vovk, Azoury and Warmuth, shrunk where little is known,
        /// at O(K d^2).
        forecast: Forecast = Forecast::Ridge;
    } with random_ties, {
        /// What a larger range does: retune gamma and keep the regression, keep both, or restart (as in the theorem).
        range_change: RangeChange = RangeChange::Retune;
    }, [RangeChange::ANY], ridge
}

impl ActionRule for SquareCbParams {
    fn needs_widths(&self) -> bool {
        self.forecast == Forecast::Vaw
    }

    fn weigh(&self, view: &View<'_>, weights: &mut [f64]) {
        let actions = view.actions();
        // gamma = 2 sqrt(2 A T/(rho RegSq)), RegSq = d ln(1 + T/d)   docs/bases.md#linear-bases
        let gamma = match self.gamma {
            Setting::Given(g) => g * (view.seen + 1.0).sqrt(),
            Setting::Auto => {
                let horizon = view.horizon_or_round();
                let regret = view.dim * (horizon / view.dim).ln_1p();
                2.0 * (2.0 * actions * horizon / regret).sqrt()
            }
        } / view.range.sqrt();
        for (a, weight) in weights.iter_mut().enumerate() {
            let mean = match self.forecast {
                Forecast::Ridge => view.predictions[a],
                // z (V + z z^T)^-1 b = (z V^-1 b)/(1 + z V^-1 z)
                Forecast::Vaw => {
                    let centre = self.model.centre;
                    centre + (view.predictions[a] - centre) / (1.0 + view.widths[a] * view.widths[a])
                }
            };
            *weight = mean.clamp(0.0, 1.0);
        }
        let (low, first, count) = all_lowest(weights.iter().copied());
        let count = count as f64;
        // p_a = 1/(A + gamma (y_a - y_b)), and what is left on the best
        let mut left = 1.0;
        for weight in weights.iter_mut() {
            if *weight > low {
                *weight = 1.0 / (actions + gamma * (*weight - low));
                left -= *weight;
            } else {
                *weight = -1.0; // one of the best
            }
        }
        for (a, weight) in weights.iter_mut().enumerate() {
            if *weight < 0.0 {
                *weight = match self.ties {
                    Ties::Random => left / count,
                    // 1/A on the others that are equal, the rest on the first
                    Ties::Lowest if a == first => left - (count - 1.0) / actions,
                    Ties::Lowest => 1.0 / actions,
                };
            }
        }
    }

    fn counts_rounds(&self) -> bool {
        self.gamma == Setting::Auto
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn it_weighs_by_the_inverse_gap(
            predictions in prop::collection::vec(-0.5..1.5f64, 1..8),
            gamma in 0.01..1000.0f64,
            range in 1.0..64.0f64,
        ) {
            let zeros = vec![0.0; predictions.len()];
            let view = View {
                predictions: &predictions, widths: &zeros, log_dets: &zeros,
                seen: 15.0, rounds: 20.0, horizon: None, range, dim: 3.0,
            };
            for ties in [Ties::Random, Ties::Lowest] {
                let params = SquareCbParams { gamma: Setting::Given(gamma), ties, ..SquareCbParams::default() };
                let mut weights = zeros.clone();
                params.weigh(&view, &mut weights);
                prop_assert!((weights.iter().sum::<f64>() - 1.0).abs() < 1e-12);
                prop_assert!(weights.iter().all(|w| *w >= -1e-15));
                let clipped: Vec<f64> = predictions.iter().map(|p| p.clamp(0.0, 1.0)).collect();
                let low = clipped.iter().copied().fold(1.0, f64::min);
                for (w, y) in weights.iter().zip(&clipped).filter(|(_, y)| **y > low) {
                    let p = 1.0 / (predictions.len() as f64 + gamma * 4.0 / range.sqrt() * (y - low));
                    prop_assert!((w - p).abs() < 1e-12);
                }
            }
        }
    }
}
