//! The probability that an arm has the lowest of several random numbers: the likelihoods of Thompson sampling.
//!
//! Numbers that are drawn apart are integrated, to about 1e-10: P(a) is the integral of f_a(x) prod_{b != a} (1 - F_b(x)).

use crate::joint::Joint;
use crate::law::{Law, Node, Span};
use crate::quadrature::{NODES, QUADRATURE};

/// No arm that can win has a smaller probability here: what was drawn is never said to be impossible.
pub(crate) const FLOOR: f64 = 1e-12;
/// How many deviations of a law are looked at on either side.
const REACH: f64 = 7.5;
/// How many deviations of the narrowest law a panel is wide.
const WIDTH: f64 = 1.5;

/// A law, on the part of the line where its mass is.
#[derive(Debug, Clone, Copy)]
struct Shape {
    law: Law,
    constant: f64,
    span: Span,
    /// The distribution function at the left end of the panel.
    below: f64,
}

/// Far more than laws need that a computer's numbers can hold apart.
const MOST_PANELS: usize = 100_000;

/// Buffers for the probabilities of all arms, used again.
#[derive(Debug, Clone, Default)]
pub(crate) struct Winner {
    shapes: Vec<(usize, Shape)>,
    /// Densities and survival functions at the nodes of a panel, arm after arm.
    densities: Vec<[f64; NODES]>,
    survivals: Vec<[f64; NODES]>,
    joint: Joint,
    probabilities: Vec<f64>,
}

impl Winner {
    /// The numbers of the arms are independent, with these laws. Where several are certain and equal, the first wins.
    pub fn independent(&mut self, laws: impl Iterator<Item = Law>) -> &[f64] {
        self.shapes.clear();
        self.probabilities.clear();
        let (mut low, mut high, mut certain) = (f64::INFINITY, f64::INFINITY, None);
        for (arm, law) in laws.enumerate() {
            self.probabilities.push(FLOOR);
            match law {
                Law::Normal { mean, .. } if law.is_certain() => {
                    self.probabilities[arm] = 0.0;
                    if certain.is_none_or(|(_, lowest)| mean < lowest) {
                        certain = Some((arm, mean));
                    }
                }
                law => {
                    let (constant, span) = (law.log_constant(), law.span(REACH));
                    self.shapes.push((arm, Shape { law, constant, span, below: 0.0 }));
                }
            }
        }
        for (_, shape) in &self.shapes {
            (low, high) = (low.min(shape.span.from), high.min(shape.span.to));
        }
        if let Some((_, mean)) = certain {
            high = high.min(mean);
        }
        self.shapes.retain(|(_, shape)| shape.span.from < high);
        self.densities.resize(self.shapes.len(), [0.0; NODES]);
        self.survivals.resize(self.shapes.len(), [0.0; NODES]);
        let mut x = low;
        for _ in 0..MOST_PANELS {
            if !(x < high) {
                break;
            }
            let stride = self.shapes.iter().map(|(_, s)| s.span.stride(x, WIDTH)).fold(high - x, f64::min);
            // Far from 0 a stride can be less than the digits of x.
            let to = (x + stride).max(x + 4.0 * f64::EPSILON * x.abs()).min(high);
            self.panel(x, to - x);
            x = to;
        }
        if let Some((arm, _)) = certain {
            self.probabilities[arm] = self.shapes.iter().map(|(_, s)| (1.0 - s.below).max(0.0)).product();
        }
        normalise(&mut self.probabilities)
    }

    /// Adds what arms win on [x, x + length].
    fn panel(&mut self, x: f64, length: f64) {
        let Self { shapes, densities, survivals, probabilities, .. } = self;
        let rule = &*QUADRATURE;
        let nodes = rule.nodes.map(|t| Node::new(x + length * t));
        for ((_, shape), (density, survival)) in
            shapes.iter_mut().zip(densities.iter_mut().zip(&mut *survivals))
        {
            for (f, node) in density.iter_mut().zip(&nodes) {
                *f = length * shape.law.density(shape.constant, node);
            }
            for (s, row) in survival.iter_mut().zip(&rule.partial) {
                let part: f64 = row.iter().zip(&*density).map(|(a, f)| a * f).sum();
                *s = (1.0 - shape.below - part).clamp(0.0, 1.0);
            }
            shape.below += rule.weights.iter().zip(&*density).map(|(w, f)| w * f).sum::<f64>();
        }
        // f_a prod_{b != a} S_b: the product of those before, and of those behind
        let mut before = [1.0; NODES];
        for (at, density) in densities.iter_mut().enumerate() {
            for i in 0..NODES {
                density[i] *= rule.weights[i] * before[i];
                before[i] *= survivals[at][i];
            }
        }
        let mut behind = [1.0; NODES];
        for (at, (arm, _)) in shapes.iter().enumerate().rev() {
            for i in 0..NODES {
                probabilities[*arm] += densities[at][i] * behind[i];
                behind[i] *= survivals[at][i];
            }
        }
    }

    /// The number of arm a is means[a] + <rows[a], g>, g standard normal in `dim` dimensions.
    pub fn joint(&mut self, means: &[f64], rows: &[f64], dim: usize) -> &[f64] {
        self.joint.look(means, rows, dim);
        self.probabilities.clear();
        self.probabilities.extend((0..means.len()).map(|arm| self.joint.lowest(arm)));
        &self.probabilities
    }
}

fn normalise(probabilities: &mut [f64]) -> &[f64] {
    let total: f64 = probabilities.iter().sum();
    probabilities.iter_mut().for_each(|p| *p /= total);
    probabilities
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::phi::phi;
    use crate::regression::dot;
    use corral_core::{beta, normal};
    use rand::SeedableRng;
    use rand_pcg::Pcg64Dxsm;

    /// The shares of 200,000 draws, and the arm of the lowest number of each.
    fn drawn(arms: usize, mut draw: impl FnMut(&mut Pcg64Dxsm, usize) -> f64) -> Vec<f64> {
        let mut rng = Pcg64Dxsm::seed_from_u64(5);
        let mut wins = vec![0.0; arms];
        for _ in 0..200_000 {
            let numbers: Vec<f64> = (0..arms).map(|arm| draw(&mut rng, arm)).collect();
            let first = (0..arms).fold(0, |low, arm| if numbers[arm] < numbers[low] { arm } else { low });
            wins[first] += 1.0 / 200_000.0;
        }
        wins
    }

    /// Five standard errors of the draws for each arm: false alarms below 30 * 6e-7.
    fn agree(said: &[f64], wins: &[f64], slack: f64) {
        for (p, share) in said.iter().zip(wins) {
            let error = 5.0 * (p * (1.0 - p) / 200_000.0).sqrt();
            assert!((p - share).abs() <= error + slack + 1e-9, "{said:?} and {wins:?}");
        }
        assert!((said.iter().sum::<f64>() - 1.0).abs() < 1e-12);
    }

    #[test]
    fn independent_numbers_win_as_often_as_they_are_drawn_lowest() {
        let mut winner = Winner::default();
        // Deviations from 0.001 to 2, so that panels must follow the narrowest law where it is.
        let normals = [(0.3, 0.05), (0.31, 0.001), (0.5, 0.2), (1.0, 2.0), (0.29, 0.03)];
        let laws = normals.map(|(mean, deviation)| Law::Normal { mean, deviation });
        let wins = drawn(5, |rng, arm| normals[arm].0 + normals[arm].1 * normal(rng));
        agree(winner.independent(laws.into_iter()), &wins, 0.0);
        let betas = [(1.0, 1.0), (3.0, 9.0), (0.5, 0.5), (40.0, 120.0), (1.0, 30.0), (2000.0, 9000.0)];
        let wins = drawn(6, |rng, arm| beta(betas[arm].0, betas[arm].1, rng));
        agree(winner.independent(betas.iter().map(|(a, b)| Law::Beta { a: *a, b: *b })), &wins, 0.0);
    }

    #[test]
    fn two_normal_numbers_have_their_closed_form() {
        let mut winner = Winner::default();
        for (gap, first, second) in [(0.1, 0.3, 0.2), (1.0, 0.01, 0.5), (-3.0, 0.4, 0.3), (0.0, 1.0, 1e-6)] {
            let p = phi(gap / f64::hypot(first, second));
            let laws = [(0.0, first), (gap, second)].map(|(mean, deviation)| Law::Normal { mean, deviation });
            let said = winner.independent(laws.into_iter())[0];
            assert!((said - p).abs() < 1e-9, "{said} and {p}");
            let joint = winner.joint(&[0.0, gap], &[first, 0.0, 0.0, second], 2)[0];
            assert!((joint - p).abs() < 1e-4, "{joint} and {p}");
        }
    }

    #[test]
    fn certain_numbers_win_by_order() {
        let mut winner = Winner::default();
        let sure = |mean: f64| Law::Normal { mean, deviation: 0.0 };
        assert_eq!(winner.independent([sure(0.2), sure(0.1), sure(0.1)].into_iter()), [0.0, 1.0, 0.0]);
        let laws = [sure(0.1), Law::Normal { mean: 0.0, deviation: 0.1 }];
        assert!((winner.independent(laws.into_iter())[1] - phi(1.0)).abs() < 1e-9);
        // Equal rows: the one with the lower mean, or the first.
        assert_eq!(winner.joint(&[0.2, 0.1, 0.1], &[1.0, 1.0, 1.0], 1), [0.0, 1.0, 0.0]);
        assert_eq!(winner.joint(&[0.2, 0.1], &[0.0, 0.0], 1), [0.0, 1.0]);
    }

    #[test]
    fn joint_numbers_win_as_often_as_they_are_drawn_lowest() {
        // Six arms on a plane, and four in four dimensions; the stated standard error of the draws beside that of the test.
        let mut winner = Winner::default();
        let mut rng = Pcg64Dxsm::seed_from_u64(8);
        for (arms, dim) in [(6, 2), (4, 4), (3, 1)] {
            let rows: Vec<f64> = (0..arms * dim).map(|_| 0.3 * normal(&mut rng)).collect();
            let means: Vec<f64> = (0..arms).map(|_| 0.2 * normal(&mut rng)).collect();
            let mut g = vec![0.0; dim];
            let wins = drawn(arms, |rng, arm| {
                if arm == 0 {
                    g.iter_mut().for_each(|g| *g = normal(rng));
                }
                means[arm] + dot(&rows[arm * dim..][..dim], &g)
            });
            agree(winner.joint(&means, &rows, dim), &wins, 0.04);
        }
    }
}
