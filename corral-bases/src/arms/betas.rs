//! Independent beta posteriors, for Thompson sampling: only the arms that can win are drawn.

use corral_core::{Rng, uniform};
use serde::{Deserialize, Serialize};

use super::posterior::standard_normal;
use crate::common::lowest;

/// Beta(a, b) per arm.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Betas {
    pub a: Vec<f64>,
    pub b: Vec<f64>,
    /// a/(a + b).
    #[serde(skip)]
    means: Vec<f64>,
    /// 2 (a + b); 0 where a or b is below 1, and the bound of [`Betas::below`] is not used.
    #[serde(skip)]
    sizes: Vec<f64>,
}

/// Products of more than this are scaled back to 1.
const LARGE: f64 = 1e200;
/// Exponents are bounded by this, so that one factor cannot overflow a product.
const LARGEST_EXPONENT: f64 = 1e30;

impl Betas {
    pub fn new(a: Vec<f64>, b: Vec<f64>) -> Self {
        let mut fresh = Self { a, b, means: Vec::new(), sizes: Vec::new() };
        fresh.prepare();
        fresh
    }

    /// Fills what follows from a and b.
    pub fn prepare(&mut self) {
        self.means.resize(self.a.len(), 0.0);
        self.sizes.resize(self.a.len(), 0.0);
        (0..self.a.len()).for_each(|arm| self.refresh(arm));
    }

    #[inline]
    fn refresh(&mut self, arm: usize) {
        let (a, b) = (self.a[arm], self.b[arm]);
        self.means[arm] = a / (a + b);
        self.sizes[arm] = if a >= 1.0 && b >= 1.0 { 2.0 * (a + b) } else { 0.0 };
    }

    /// a += c, b += 1 - c   docs/bases.md#thompson-sampling
    pub fn learn(&mut self, arm: usize, loss: f64) {
        self.a[arm] += loss;
        self.b[arm] += 1.0 - loss;
        self.refresh(arm);
    }

    /// The one of the first `offered` arms whose number is the lowest, in law as if all were drawn: most are only shown not to be.
    ///
    /// The likely winner is drawn first, and gives the level m. Any other arm is below m with a probability of at most
    /// 1/q, q = 1 + y + y^2/2 + y^3/6 <= e^y, y = 2 n (a/n - m)^2 (Hoeffding's bound of [`Betas::below`]'s M). One
    /// number v of the generator, uniform in (0, 1], answers for many arms: the first that v does not clear is the
    /// first i with v > (1 - 1/q_1) .. (1 - 1/q_i), which happens at i with probability 1/q_i given that it did not
    /// before. Written with the products of q - 1 and of q, without a division.
    pub fn sample_best(&self, offered: usize, rng: &mut dyn Rng) -> usize {
        let (likely, _) = lowest(self.means[..offered].iter().copied());
        let (mut best, mut level) = (likely, beta(self.a[likely], self.b[likely], rng));
        let mut v = 1.0 - uniform(rng);
        let (mut cleared, mut all) = (1.0, 1.0);
        for (arm, (mean, size)) in self.means[..offered].iter().zip(&self.sizes).enumerate() {
            if arm == likely {
                continue;
            }
            let rest = rest(*mean, *size, level);
            cleared *= rest;
            all *= 1.0 + rest;
            if v * all > cleared {
                if let Some(draw) = self.below(arm, level, 1.0 + rest, rng) {
                    (best, level) = (arm, draw);
                }
                (v, cleared, all) = (1.0 - uniform(rng), 1.0, 1.0);
            } else if all > LARGE {
                (cleared, all) = (cleared / all, 1.0);
            }
        }
        best
    }

    /// The number X of `arm` if it is below `m`, else `None`; asked with probability 1/q, and in law as if it were
    /// always asked.
    ///
    /// X = G/(G + H) of two gammas is below m where S = m H - (1 - m) G > 0. With t = (a - m n)/(m (1 - m) n), n = a + b,
    /// the law of (G, H) is M e^{-t S} times that of (G m n/a, H (1 - m) n/b), where
    ///     M = (m n/a)^a ((1 - m) n/b)^b = exp(-n kl(a/n, m)) <= exp(-2 n (a/n - m)^2) <= 1/q
    /// is Chernoff's bound of P(X < m). So: with probability 1 - M the answer is no; else draw from the other law, and
    /// accept with probability e^{-t S} where S > 0.
    #[inline(never)]
    fn below(&self, arm: usize, m: f64, q: f64, rng: &mut dyn Rng) -> Option<f64> {
        let (a, b) = (self.a[arm], self.b[arm]);
        let n = a + b;
        let off = a - m * n;
        if q == 1.0 || off <= 0.0 || m <= 0.0 {
            return Some(beta(a, b, rng)).filter(|x| *x < m);
        }
        let (shrink, grow) = (m * n / a, (1.0 - m) * n / b);
        if (uniform(rng) / q).ln() >= a * shrink.ln() + b * grow.ln() {
            return None;
        }
        let (g, h) = (shrink * gamma(a, rng), grow * gamma(b, rng));
        let s = m * h - (1.0 - m) * g;
        let tilt = off / (m * (1.0 - m) * n);
        (s > 0.0 && uniform(rng) < (-tilt * s).exp()).then_some(g / (g + h))
    }
}

/// q - 1, where 1/q bounds the probability that an arm of this mean and size is below `m`; 0 where nothing is known.
#[inline]
fn rest(mean: f64, size: f64, m: f64) -> f64 {
    let off = (mean - m).max(0.0);
    let y = (size * off * off).min(LARGEST_EXPONENT);
    y * (1.0 + y * (0.5 + y * (1.0 / 6.0)))
}

/// A Gamma(shape, 1) number, shape >= 1 (Marsaglia and Tsang 2000).
#[inline]
fn gamma(shape: f64, rng: &mut dyn Rng) -> f64 {
    let d = shape - 1.0 / 3.0;
    let c = 1.0 / (9.0 * d).sqrt();
    loop {
        let x = standard_normal(rng);
        let root = 1.0 + c * x;
        if root <= 0.0 {
            continue;
        }
        let v = root * root * root;
        let (u, square) = (uniform(rng), x * x);
        // The squeeze decides nearly always; the logarithms decide the rest.
        if u < 1.0 - 0.0331 * square * square || u.ln() < 0.5 * square + d * (1.0 - v + v.ln()) {
            return d * v;
        }
    }
}

/// A Beta(a, b) number.
#[inline]
fn beta(a: f64, b: f64, rng: &mut dyn Rng) -> f64 {
    if a >= 1.0 && b >= 1.0 {
        let x = gamma(a, rng);
        x / (x + gamma(b, rng))
    } else {
        corral_core::beta(a, b, rng)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand::SeedableRng;
    use rand_pcg::Pcg64Dxsm;

    #[test]
    fn arms_win_as_often_as_if_all_were_drawn() {
        // 40,000 draws each way, five standard errors of the difference per arm: false alarms below 160 * 6e-7.
        let mut rng = Pcg64Dxsm::seed_from_u64(12);
        // Many arms that cannot win, so that the products are scaled back, before and between some that can.
        let hopeless = |arm: usize| (arm % 50 < 45) as usize as f64;
        let many = |low: f64, high: f64| (0..150).map(|arm| low + high * hopeless(arm)).collect::<Vec<f64>>();
        let posteriors = [
            (vec![1.0, 3.0, 2.0, 9.0], vec![1.0, 4.0, 1.0, 30.0]),
            (vec![12.0, 30.0, 25.0, 20.0], vec![40.0, 70.0, 60.0, 21.0]),
            (vec![0.4, 3.0, 1.0, 5.0], vec![2.0, 0.7, 1.5, 6.0]),
            (many(20.0, 5000.0), many(70.0, 4000.0)),
        ];
        for (a, b) in posteriors {
            let n = 40_000;
            let (mut fast, mut plain) = (vec![0.0; a.len()], vec![0.0; a.len()]);
            let betas = Betas::new(a, b);
            for _ in 0..n {
                fast[betas.sample_best(betas.a.len(), &mut rng)] += 1.0 / f64::from(n);
                let draws = betas.a.iter().zip(&betas.b).map(|(a, b)| beta(*a, *b, &mut rng));
                plain[lowest(draws).0] += 1.0 / f64::from(n);
            }
            for (p, q) in fast.iter().zip(&plain) {
                let se = ((p * (1.0 - p) + q * (1.0 - q)) / f64::from(n)).sqrt();
                assert!((p - q).abs() <= 5.0 * se + 1e-12, "{fast:?} and {plain:?}");
            }
        }
    }

    #[test]
    fn draws_below_a_level_have_the_law_of_draws_that_happen_to_be() {
        // P(X < m), and the mean of X given that, against plain draws: five standard errors.
        let mut rng = Pcg64Dxsm::seed_from_u64(13);
        for (a, b, m) in [(3.0, 4.0, 0.2), (20.0, 25.0, 0.35), (1.5, 1.0, 0.5), (2.0, 9.0, 0.1)] {
            let n = 100_000;
            let betas = Betas::new(vec![a], vec![b]);
            let q = 1.0 + rest(betas.means[0], betas.sizes[0], m);
            let ask = |_| if uniform(&mut rng) * q < 1.0 { betas.below(0, m, q, &mut rng) } else { None };
            let fast: Vec<f64> = (0..n).filter_map(ask).collect();
            let plain: Vec<f64> = (0..n).map(|_| beta(a, b, &mut rng)).filter(|x| *x < m).collect();
            let share = |list: &[f64]| list.len() as f64 / f64::from(n);
            let (p, q) = (share(&fast), share(&plain));
            assert!((p - q).abs() < 5.0 * ((p + q) / f64::from(n)).sqrt(), "P(X < {m}): {p} and {q}");
            let mean = |list: &[f64]| list.iter().sum::<f64>() / list.len() as f64;
            let (x, y) = (mean(&fast), mean(&plain));
            let variance = plain.iter().map(|v| (v - y).powi(2)).sum::<f64>() / plain.len() as f64;
            let se = (variance / fast.len() as f64 + variance / plain.len() as f64).sqrt();
            assert!((x - y).abs() < 5.0 * se, "mean below {m}: {x} and {y}");
            assert!(fast.iter().all(|x| *x >= 0.0 && *x < m));
        }
    }

    #[test]
    fn beta_draws_have_their_moments() {
        // 40,000 draws, mean and variance at five standard errors: false alarms below 1e-5.
        let mut rng = Pcg64Dxsm::seed_from_u64(9);
        for (a, b) in [(1.0, 1.0), (3.0, 1.5), (40.0, 200.0), (0.5, 0.5), (1e-3, 2.0)] {
            let n = 40_000;
            let draws: Vec<f64> = (0..n).map(|_| beta(a, b, &mut rng)).collect();
            let mean = draws.iter().sum::<f64>() / f64::from(n);
            let (m, v) = (a / (a + b), a * b / ((a + b) * (a + b) * (a + b + 1.0)));
            assert!((mean - m).abs() < 5.0 * (v / f64::from(n)).sqrt(), "Beta({a}, {b}): {mean} and {m}");
            let squares: Vec<f64> = draws.iter().map(|x| (x - m).powi(2)).collect();
            let variance = squares.iter().sum::<f64>() / f64::from(n);
            let spread = squares.iter().map(|s| (s - v).powi(2)).sum::<f64>() / f64::from(n);
            assert!((variance - v).abs() < 5.0 * (spread / f64::from(n)).sqrt(), "Beta({a}, {b})");
        }
    }
}
