//! Algorithm 2 in double-double arithmetic (about 32 digits), by bisection: slow, plain, and sharing nothing with the
//! library.

use std::cmp::Ordering;
use std::ops::{Add, Div, Mul, Sub};

/// An unevaluated sum of two doubles, the second below half a unit in the last place of the first.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Wide(f64, f64);

fn quick_sum(a: f64, b: f64) -> Wide {
    let s = a + b;
    Wide(s, b - (s - a))
}

fn two_sum(a: f64, b: f64) -> Wide {
    let s = a + b;
    let v = s - a;
    Wide(s, (a - (s - v)) + (b - v))
}

fn two_product(a: f64, b: f64) -> Wide {
    let p = a * b;
    Wide(p, a.mul_add(b, -p))
}

impl Wide {
    pub const ZERO: Self = Self(0.0, 0.0);

    pub fn number(self) -> f64 {
        self.0 + self.1
    }

    fn half(self) -> Self {
        Self(0.5 * self.0, 0.5 * self.1)
    }
}

impl From<f64> for Wide {
    fn from(x: f64) -> Self {
        Self(x, 0.0)
    }
}

impl Add for Wide {
    type Output = Self;
    fn add(self, other: Self) -> Self {
        let (s, t) = (two_sum(self.0, other.0), two_sum(self.1, other.1));
        let s = quick_sum(s.0, s.1 + t.0);
        quick_sum(s.0, s.1 + t.1)
    }
}

impl Sub for Wide {
    type Output = Self;
    fn sub(self, other: Self) -> Self {
        self + Self(-other.0, -other.1)
    }
}

impl Mul for Wide {
    type Output = Self;
    fn mul(self, other: Self) -> Self {
        let p = two_product(self.0, other.0);
        quick_sum(p.0, p.1 + self.0 * other.1 + self.1 * other.0)
    }
}

impl Div for Wide {
    type Output = Self;
    fn div(self, other: Self) -> Self {
        let a = self.0 / other.0;
        let rest = self - other * Self::from(a);
        let b = rest.0 / other.0;
        let rest = rest - other * Self::from(b);
        quick_sum(a, b) + Self::from(rest.0 / other.0)
    }
}

impl PartialOrd for Wide {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        self.0.partial_cmp(&other.0).map(|o| o.then(self.1.total_cmp(&other.1)))
    }
}

/// The next p and lambda of Algorithm 2, for w = `inverse`: the root left of the first pole.
pub fn step(inverse: &[f64], rates: &[f64], losses: &[f64]) -> (Vec<f64>, f64) {
    let one = Wide::from(1.0);
    let finite = |i: &usize| inverse[*i].is_finite();
    let least = (0..inverse.len()).filter(finite).map(|i| losses[i]).fold(f64::INFINITY, f64::min);
    let term = |i: usize, lambda: Wide| {
        Wide::from(inverse[i]) + Wide::from(rates[i]) * (Wide::from(losses[i]) - lambda)
    };
    // Below the first pole every term is positive; beyond (w - 1)/eta + l a probability would exceed 1.
    let mut low = Wide::from(least);
    let mut high = Wide::from(f64::INFINITY);
    for i in (0..inverse.len()).filter(finite) {
        let end = Wide::from(losses[i]) + (Wide::from(inverse[i]) - one) / Wide::from(rates[i]);
        if end < high {
            high = end;
        }
    }
    for _ in 0..240 {
        let middle = (low + high).half();
        let sum = (0..inverse.len()).filter(finite).fold(Wide::ZERO, |sum, i| sum + one / term(i, middle));
        if sum > one { high = middle } else { low = middle }
    }
    let p = (0..inverse.len()).map(|i| if finite(&i) { (one / term(i, low)).number() } else { 0.0 });
    (p.collect(), low.number())
}
