//! Laws of single numbers, on the line where their densities are smooth.

use std::f64::consts::TAU;

use serde::{Deserialize, Serialize};

/// The law of a number.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub(crate) enum Law {
    /// A normal number.
    Normal { mean: f64, deviation: f64 },
    /// ln(x/(1 - x)) of a Beta(a, b) number x: in the same order, with a density that is smooth everywhere.
    Beta { a: f64, b: f64 },
}

/// The part of the line where the mass of a law is.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Span {
    pub from: f64,
    pub to: f64,
    /// The standard deviation of the normal number that is nearest.
    pub scale: f64,
    /// Whether the logistic function is part of the density.
    logistic: bool,
}

impl Law {
    /// Where all of its mass is, but for what a normal number has `reach` deviations from its mean, and 1e-11.
    #[inline]
    pub fn span(self, reach: f64) -> Span {
        match self {
            Self::Normal { mean, deviation: scale } => {
                Span { from: mean - reach * scale, to: mean + reach * scale, scale, logistic: false }
            }
            // The density s^a (1 - s)^b of the logit has its mode at ln(a/b) and falls as exp(a y) and exp(-b y).
            Self::Beta { a, b } => {
                let (mode, scale) = ((a / b).ln(), ((a + b) / (a * b)).sqrt());
                let (from, to) = (mode - reach * scale - 25.0 / a, mode + reach * scale + 25.0 / b);
                Span { from, to, scale, logistic: true }
            }
        }
    }

    /// Whether its number is known, as far as digits go.
    pub fn is_certain(self) -> bool {
        // Written so that NaN is.
        matches!(self, Self::Normal { mean, deviation } if !(deviation > 1e-14 * mean.abs().max(1e-280)))
    }

    /// -ln of the constant of the density.
    pub fn log_constant(self) -> f64 {
        match self {
            Self::Normal { deviation, .. } => deviation.ln() + 0.5 * TAU.ln(),
            // ln B(a, b), from the density at the mode: lgamma alone would lose the digits of a large a + b.
            Self::Beta { a, b } => {
                let n = a + b;
                let mode = 0.5 * (a * (b / n) / TAU).ln() + stirling(n) - stirling(a) - stirling(b);
                a * (a / n).ln() + b * (b / n).ln() - mode
            }
        }
    }

    /// The density, given its [constant](Law::log_constant).
    #[inline]
    pub fn density(self, constant: f64, at: &Node) -> f64 {
        let log = match self {
            Self::Normal { mean, deviation } => -0.5 * ((at.x - mean) / deviation).powi(2),
            Self::Beta { a, b } => a * at.ln_share + b * at.ln_rest,
        };
        (log - constant).exp()
    }
}

/// ln Gamma(z) - ((z - 1/2) ln z - z + ln(2 pi)/2).
fn stirling(z: f64) -> f64 {
    if z < 10.0 {
        return libm::lgamma(z) - ((z - 0.5) * z.ln() - z + 0.5 * TAU.ln());
    }
    let square = 1.0 / (z * z);
    (1.0 / 12.0 - square * (1.0 / 360.0 - square * (1.0 / 1260.0 - square / 1680.0))) / z
}

impl Span {
    /// How far a panel that begins at `x` may go, to be `width` deviations wide where the mass is.
    pub fn stride(&self, x: f64, width: f64) -> f64 {
        let smooth = width * self.scale;
        let there = match x {
            // The logistic function bends around 0.
            _ if !self.logistic || x >= 12.0 => smooth,
            _ if x < -12.0 => smooth.min(-12.0 - x).max(1.0),
            _ => smooth.min(2.5),
        };
        if x < self.from {
            there.max(self.from - x)
        } else if x > self.to {
            f64::INFINITY
        } else {
            there
        }
    }
}

/// A point of the line, with ln(1/(1 + e^-x)) and ln(1/(1 + e^x)).
#[derive(Debug, Clone, Copy)]
pub(crate) struct Node {
    pub x: f64,
    pub ln_share: f64,
    pub ln_rest: f64,
}

impl Node {
    pub fn new(x: f64) -> Self {
        let tail = (-x.abs()).exp().ln_1p();
        Self { x, ln_share: x.min(0.0) - tail, ln_rest: -x.max(0.0) - tail }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn constants_are_those_of_the_beta_function() {
        for (a, b) in [(1.0, 1.0), (0.3, 7.0), (9.5, 12.0), (40.0, 3.0)] {
            let known = libm::lgamma(a) + libm::lgamma(b) - libm::lgamma(a + b);
            assert!((Law::Beta { a, b }.log_constant() - known).abs() < 1e-11, "{a} {b}");
        }
    }
}
