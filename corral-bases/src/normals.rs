//! The probability with which one of several independent normal numbers is the lowest: an integral, to about 1e-11.

use std::f64::consts::TAU;

use crate::law::{Law, Span};
use crate::phi::phi;
use crate::quadrature::{NODES, QUADRATURE};
use crate::winner::FLOOR;

/// How many deviations of a number are looked at on either side.
const REACH: f64 = 7.5;
/// How many deviations of the narrowest number a panel is wide: the lowest of many falls off steeply.
fn width(count: usize) -> f64 {
    if count <= 10 { 4.0 } else { 1.5 }
}

/// A buffer for the numbers that may be below the one that is asked about.
#[derive(Debug, Clone, Default)]
pub(crate) struct Normals {
    rivals: Vec<Rival>,
}

#[derive(Debug, Clone, Copy)]
struct Rival {
    mean: f64,
    /// One over its deviation.
    steepness: f64,
    span: Span,
}

impl Normals {
    /// P(a) is the integral of f_a prod_{b != a} (1 - F_b); `law` gives mean and deviation of each of `count` numbers. Where
    /// several are certain and equal, the first is the lowest.
    pub fn lowest(&mut self, a: usize, count: usize, law: impl Fn(usize) -> (f64, f64)) -> f64 {
        let normal = |b: usize| {
            let (mean, deviation) = law(b);
            Law::Normal { mean, deviation }
        };
        let (mean, deviation) = law(a);
        let certain = normal(a).is_certain();
        let own = normal(a).span(REACH);
        let mut end = own.to;
        self.rivals.clear();
        for b in (0..count).filter(|b| *b != a) {
            let (m, d) = law(b);
            if !normal(b).is_certain() {
                let span = normal(b).span(REACH);
                end = end.min(span.to);
                self.rivals.push(Rival { mean: m, steepness: 1.0 / d, span });
            } else if certain && (m < mean || (m == mean && b < a)) {
                return 0.0;
            } else {
                end = end.min(m);
            }
        }
        if certain {
            return self.rivals.iter().map(|b| phi((b.mean - mean) * b.steepness)).product();
        }
        self.rivals.retain(|b| b.span.from < end);
        let (width, mut x, mut won) = (width(count), own.from, 0.0);
        while x < end {
            let narrowest = self.rivals.iter().map(|b| b.span.stride(x, width));
            let stride = narrowest.fold(own.stride(x, width), f64::min);
            // Far from 0 a stride can be less than the digits of x.
            let to = (x + stride).max(x + 4.0 * f64::EPSILON * x.abs()).min(end);
            won += (to - x) * self.panel(x, to, |y| (y - mean) / deviation);
            x = to;
        }
        (won / (deviation * TAU.sqrt())).clamp(FLOOR, 1.0)
    }

    /// The mean over a panel of exp(-z^2/2) times the probability that all rivals are above; `z` of a point.
    fn panel(&self, from: f64, to: f64, z: impl Fn(f64) -> f64) -> f64 {
        let (nodes, weights) = (&QUADRATURE.nodes, &QUADRATURE.weights);
        let points = nodes.map(|t| from + (to - from) * t);
        let mut parts: [f64; NODES] =
            std::array::from_fn(|i| weights[i] * (-0.5 * z(points[i]) * z(points[i])).exp());
        for rival in self.rivals.iter().filter(|b| b.span.from < to) {
            for (part, x) in parts.iter_mut().zip(&points) {
                *part *= phi((rival.mean - x) * rival.steepness);
            }
        }
        parts.iter().sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use corral_core::uniform;
    use rand::SeedableRng;
    use rand_pcg::Pcg64Dxsm;

    #[test]
    fn it_agrees_with_the_probabilities_of_all() {
        let mut rng = Pcg64Dxsm::seed_from_u64(7);
        let (mut normals, mut winner) = (Normals::default(), crate::winner::Winner::default());
        for count in [1, 2, 3, 10, 11, 100, 300] {
            for narrow in [1.0f64, 0.1, 0.001] {
                let mut law = || (2.0 * uniform(&mut rng), narrow.powf(uniform(&mut rng)));
                let laws: Vec<(f64, f64)> = (0..count).map(|_| law()).collect();
                let all = winner.independent(
                    laws.iter().map(|(mean, deviation)| Law::Normal { mean: *mean, deviation: *deviation }),
                );
                for (a, p) in all.iter().enumerate() {
                    let one = normals.lowest(a, count, |b| laws[b]);
                    assert!((one - p).abs() < 1e-10, "{count} {narrow}: {one} and {p}");
                }
            }
        }
        let sure = [(0.2, 0.0), (0.1, 0.0), (0.1, 0.0), (0.3, 0.1)];
        let all: Vec<f64> = (0..4).map(|a| normals.lowest(a, 4, |b| sure[b])).collect();
        assert_eq!((all[0], all[2]), (0.0, 0.0));
        assert!((all[1] - phi(2.0)).abs() < 1e-12 && (all[3] - phi(-2.0)).abs() < 1e-10, "{all:?}");
    }
}
