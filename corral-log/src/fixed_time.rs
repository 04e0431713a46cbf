//! Intervals for one look, at a time that was fixed in advance.

/// An estimate with its standard error.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Estimate {
    /// The value.
    pub value: f64,
    /// Its standard error; NaN where it is not known.
    pub error: f64,
}

/// The interval of a value V from estimates of V and of 1 - V whose terms are bounded from below.
///
/// Each end is a lower bound, that of V and that of 1 - V. Terms like w r are skewed to the right: where their mean comes out
/// too large, so does their standard error, and the bound stays below. The upper end of the usual interval, V + z error, is
/// the one that misses: a heavy weight that has not occurred yet is missing in the mean and in the error alike.
pub(crate) fn from_below(earned: Estimate, lost: Estimate, z: f64) -> (f64, f64) {
    let lower = |e: Estimate| e.value - z * e.error;
    (lower(earned).max(0.0), (1.0 - lower(lost)).min(1.0))
}

/// Sums over rows, or over units, of which each adds a = c w r above and b = c w below: SNIPS is sum a/sum b.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(crate) struct Ratio {
    pub above: f64,
    pub below: f64,
    /// sum a^2, sum a b, sum b^2.
    pub squares: [f64; 3],
    /// The largest b.
    pub heaviest: f64,
}

impl Ratio {
    /// Adds a row or a unit.
    pub fn add(&mut self, a: f64, b: f64) {
        (self.above, self.below) = (self.above + a, self.below + b);
        self.squares.iter_mut().zip([a * a, a * b, b * b]).for_each(|(sum, add)| *sum += add);
        self.heaviest = self.heaviest.max(b);
    }

    /// All v for which sum (a - v b) is within z of its standard errors of 0, which is its mean at v = V (Fieller 1954: the
    /// linearised variance of the ratio, taken at v and not at the estimate). For each end there is one more row: as heavy
    /// as the heaviest, with the reward at that end. Without it heavy rows that all earned the same look certain
    /// (docs/lab/evaluation-band.md#snips).
    pub fn interval(&self, z: f64) -> (f64, f64) {
        if !(self.below > 0.0) {
            return (f64::NAN, f64::NAN);
        }
        let end = |reward: f64| {
            let mut with = *self;
            with.add(self.heaviest * reward, self.heaviest);
            let (a, b, [aa, ab, bb]) = (with.above, with.below, with.squares.map(|sum| z * z * sum));
            // Between the roots of (a - v b)^2 = aa - 2 v ab + v^2 bb. Where b may be 0 every v fits.
            let (square, half, rest) = (b * b - bb, a * b - ab, a * a - aa);
            if !(square > 0.0) {
                return reward;
            }
            let root = (half * half - square * rest).max(0.0).sqrt();
            (half + if reward == 0.0 { -root } else { root }) / square
        };
        (end(0.0).max(0.0), end(1.0).min(1.0))
    }
}

/// Sums over rows: n counts decisions, w = c pi/p.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(crate) struct Likelihood {
    pub n: f64,
    pub w: f64,
    pub wr: f64,
    pub w2: f64,
    pub w2r: f64,
    pub w2r2: f64,
}

impl Likelihood {
    /// The interval of Cressie-Read: the least and the largest value of any reweighting of the rows, and of one row that was not
    /// seen, that has the mean weight 1 and is likely enough (Karampatziakis, Langford, Mineiro 2020, "Empirical likelihood for
    /// contextual bandits", power -2). The row that was not seen has a weight of 0 or of any size, and the worst reward. As
    /// `vw-estimators` 0.2.2 computes it, but for sums that no reweighting fits: then it is [0, 1].
    pub fn interval(&self, alpha: f64) -> (f64, f64) {
        let Self { n, w, wr, w2, w2r, w2r2 } = *self;
        if !(n > 0.0) {
            return (f64::NAN, f64::NAN);
        }
        let free = if w < n {
            1.0 + 1.0 / n
        } else {
            let (a, b) = (w / (1.0 + n), w2 / (1.0 + n));
            (1.0 + n) * (a - 1.0) * (a - 1.0) / (b - a * a)
        };
        let phi = (-free - student(alpha, n).powi(2)) / (2.0 * (1.0 + n));
        // Of what is x - sqrt(2 y z), both y and z at most 0.
        let least = |x: f64, y: f64, z: f64| (z <= 0.0 && y * z >= 0.0).then(|| x - (2.0 * y * z).sqrt());
        let end = |r: f64, sign: f64| {
            let of_any_weight = || {
                let off = r * w - wr;
                let y = off * off / (n * (1.0 + n)) - (r * r * w2 - 2.0 * r * w2r + w2r2) / (1.0 + n);
                least(sign * (r + (wr - w * r) / n), y, phi + 1.0 / (2.0 * n))
            };
            let of_no_weight = || {
                let [w, wr, w2, w2r, w2r2] = [w, sign * wr, w2, sign * w2r, w2r2].map(|sum| sum / (1.0 + n));
                let (spread, along) = (w2 - w * w, w2r - w * wr);
                let x = wr + (1.0 - w) * along / spread;
                let y = along * along / spread - (w2r2 - wr * wr);
                (spread > 0.0).then(|| least(x, y, phi + 0.5 * (1.0 - w) * (1.0 - w) / spread)).flatten()
            };
            let both = [of_any_weight(), of_no_weight()].into_iter().flatten();
            sign * both.reduce(f64::min).unwrap_or(sign * r)
        };
        (end(0.0, 1.0).clamp(0.0, 1.0), end(1.0, -1.0).clamp(0.0, 1.0))
    }
}

/// The z with P(|N(0, 1)| > z) = alpha.
pub(crate) fn quantile(alpha: f64) -> f64 {
    let (mut low, mut high) = (0.0, 40.0);
    for _ in 0..100 {
        let middle = 0.5 * (low + high);
        if libm::erfc(middle * std::f64::consts::FRAC_1_SQRT_2) > alpha {
            low = middle
        } else {
            high = middle
        }
    }
    0.5 * (low + high)
}

/// The same of Student's t with `n` degrees of freedom, as a series in 1/n (Abramowitz, Stegun 1964, 26.7.5): exact to 1e-9 from
/// a hundred of them. Not `statrs` 0.19, which inverts the incomplete beta function: it agrees to 1e-12 at 10,000, but is off by 6e-5
/// at a million, where 1 - I is lost, and does not end at 1e8; a log has as many decisions.
fn student(alpha: f64, n: f64) -> f64 {
    let z = quantile(alpha);
    let x = z * z;
    let terms = [
        (x + 1.0) / 4.0,
        ((5.0 * x + 16.0) * x + 3.0) / 96.0,
        (((3.0 * x + 19.0) * x + 17.0) * x - 15.0) / 384.0,
        ((((79.0 * x + 776.0) * x + 1482.0) * x - 1920.0) * x - 945.0) / 92160.0,
    ];
    z * (1.0 + terms.iter().rev().fold(0.0, |sum, term| (sum + term) / n))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// From the tables of scipy.stats: t.isf(0.025, n).
    #[test]
    fn students_t_agrees_with_tables() {
        for (n, t) in TABLE {
            assert!((student(0.05, n) - t).abs() < 1e-9, "{n}: {}", student(0.05, n));
        }
    }
    const TABLE: [(f64, f64); 3] = [
        (100.0, 1.983_971_518_523_552),
        (500.0, 1.964_719_837_467_367_8),
        (10_000.0, 1.960_201_239_890_626_3),
    ];
}
