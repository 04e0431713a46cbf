//! Many charges as one: the moments of a cluster, and sums over clusters.

/// Terms of a cluster's series: `LIMIT^TERMS` is 2^-48.
pub(super) const TERMS: usize = 24;
/// The largest radius of a cluster, relative to its distance.
pub(super) const LIMIT: f64 = 0.25;
/// What an evaluation on the way to the root may see: the series is cut at 9e-15 there.
pub(super) const SEEN: f64 = 0.26;
/// Clusters are evaluated eight at a time.
pub(super) const LANES: usize = 8;

/// The smallest power of two above `x` > 0.
pub(super) fn power_above(x: f64) -> f64 {
    2.0 * f64::from_bits(x.to_bits() & 0x7ff0_0000_0000_0000)
}

/// Grids on which the terms of a moment are rounded, so that sums of them are exact: what is added can be taken away
/// again without a trace, in any order. The second grid takes what the first leaves.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Grid {
    /// A power of two above every charge.
    pub unit: f64,
    /// Adding and subtracting these rounds to the grids.
    coarse: f64,
    fine: f64,
}

impl Grid {
    /// For `count` charges up to `largest`.
    pub fn new(count: usize, largest: f64) -> Self {
        // Sums of n terms below 1 stay below 2^b: they are exact where terms are multiples of 2^(b - 52).
        let bits = count.max(1).ilog2() as i32 + 1;
        Self {
            unit: power_above(largest),
            coarse: 1.5 * 2f64.powi(bits),
            fine: 1.5 * 2f64.powi(2 * bits - 52),
        }
    }
}

/// Exact sums S_k = sum_i m_i u_i^k, in units of the grid, on two limbs.
#[derive(Debug, Clone)]
pub(super) struct Moments {
    coarse: [f64; TERMS],
    fine: [f64; TERMS],
}

impl Moments {
    pub const ZERO: Self = Self { coarse: [0.0; TERMS], fine: [0.0; TERMS] };

    /// Adds the powers of a charge `mass` (negative: takes them away) at `u`, |u| <= 1.
    #[inline]
    pub fn add(&mut self, mass: f64, u: f64, grid: &Grid) {
        const WAYS: usize = 4;
        let v = mass / grid.unit;
        let square = u * u;
        let step = square * square;
        let mut powers = [v, v * u, v * square, v * (square * u)];
        let (coarse, _) = self.coarse.as_chunks_mut::<WAYS>();
        let (fine, _) = self.fine.as_chunks_mut::<WAYS>();
        for (coarse, fine) in coarse.iter_mut().zip(fine) {
            for j in 0..WAYS {
                let high = (powers[j] + grid.coarse) - grid.coarse;
                let low = ((powers[j] - high) + grid.fine) - grid.fine;
                coarse[j] += high;
                fine[j] += low;
                powers[j] *= step;
            }
        }
    }

    /// S_k
    #[inline]
    pub fn get(&self, k: usize, grid: &Grid) -> f64 {
        (self.coarse[k] + self.fine[k]) * grid.unit
    }
}

/// What an evaluation reads of eight clusters. One that is not there is infinitely far away.
#[derive(Debug, Clone)]
pub(super) struct Octet {
    /// The centre A, and its distance A - L.
    pub high: [f64; LANES],
    pub low: [f64; LANES],
    pub distance: [f64; LANES],
    /// An upper bound of |a_i - A|.
    pub radius: [f64; LANES],
    /// The unit of a_i - A in the moments, a power of two.
    pub scale: [f64; LANES],
    pub sums: [[f64; LANES]; TERMS],
    /// sum m/d and sum m/d^2, at the level of the last evaluation.
    pub mass: [f64; LANES],
    pub slope: [f64; LANES],
    /// How many terms the last evaluation took: where the next begins to look.
    terms: usize,
}

impl Octet {
    pub const EMPTY: Self = Self {
        high: [f64::INFINITY; LANES],
        low: [0.0; LANES],
        distance: [f64::INFINITY; LANES],
        radius: [0.0; LANES],
        scale: [0.0; LANES],
        sums: [[0.0; LANES]; TERMS],
        mass: [0.0; LANES],
        slope: [0.0; LANES],
        terms: 1,
    };

    /// Whether the members of cluster `j` are too far from its centre, or the unit of its moments too coarse.
    #[inline]
    pub fn is_wide(&self, j: usize) -> bool {
        self.radius[j] > LIMIT * self.distance[j] || self.scale[j] > self.distance[j]
    }

    /// Whether cluster `j` can be evaluated at L + lambda. Written so that it cannot right of L.
    #[inline]
    pub fn is_seen(&self, j: usize, lambda: f64) -> bool {
        let distance = self.distance[j] - lambda;
        self.radius[j] < SEEN * distance && self.scale[j] < 1.25 * distance
    }
}

/// The largest ratio of radius to distance for which k terms are enough: 2^(-48/k).
fn reach(k: usize) -> f64 {
    const REACH: [f64; TERMS + 1] = [
        0.0,
        3.552713678800501e-15,
        5.960464477539063e-08,
        1.52587890625e-05,
        0.000244140625,
        0.001288581944114155,
        0.00390625,
        0.008625699325576662,
        0.015625,
        0.024803141437003122,
        0.03589682359365735,
        0.04857519630534124,
        0.0625,
        0.07735789283158924,
        0.09287464307105929,
        0.1088188204120155,
        0.125,
        0.1412644729286662,
        0.15749013123685915,
        0.17358139282683205,
        0.18946457081379978,
        0.2050838390019095,
        0.22039781374900533,
        0.23537670953722276,
        SEEN,
    ];
    REACH[k]
}

/// F = sum m/(d - lambda), its derivative, and half its second derivative to a few hundredths.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(super) struct Sums {
    pub total: f64,
    pub slope: f64,
    pub curve: f64,
}

impl Sums {
    /// Adds one charge at its distance.
    #[inline]
    pub fn with(mut self, mass: f64, distance: f64) -> Self {
        let inverse = 1.0 / distance;
        let term = mass * inverse;
        self.total += term;
        self.slope += term * inverse;
        self.curve += term * inverse * inverse;
        self
    }
}

/// The sums over all clusters at L + lambda, whose masses and slopes are left in the octets. The series of a cluster,
///
/// ```text
/// sum_i m_i/(a_i - L - lambda) = sum_k S_k z^k/D,   z = -R/D,   D = A - L - lambda,
/// ```
///
/// is cut where the rest is below 2^-48 of it. Every radius must be below `SEEN` D.
pub(super) fn evaluate(octets: &mut [Octet], lambda: f64) -> Sums {
    let mut sums = Sums::default();
    for octet in octets {
        let (mut inverse, mut z, mut widest) = ([0.0; LANES], [0.0; LANES], 0.0f64);
        for j in 0..LANES {
            inverse[j] = 1.0 / (octet.distance[j] - lambda);
            z[j] = -octet.scale[j] * inverse[j];
            widest = widest.max(octet.radius[j] * inverse[j]);
        }
        // The fewest that are enough, whatever the last evaluation took.
        let mut terms = octet.terms;
        while terms > 1 && reach(terms - 1) >= widest {
            terms -= 1;
        }
        while terms < TERMS && reach(terms) < widest {
            terms += 1;
        }
        octet.terms = terms;
        // P = sum S_k z^k and its derivative, by Horner's rule
        let (mut p, mut q) = ([0.0; LANES], [0.0; LANES]);
        for row in octet.sums[..terms].iter().rev() {
            for j in 0..LANES {
                q[j] = q[j] * z[j] + p[j];
                p[j] = p[j] * z[j] + row[j];
            }
        }
        let (mut total, mut slope, mut curve) = ([0.0; LANES], [0.0; LANES], [0.0; LANES]);
        for j in 0..LANES {
            total[j] = p[j] * inverse[j];
            slope[j] = (p[j] + q[j] * z[j]) * inverse[j] * inverse[j];
            // Members are close: F F''/2 is F'^2 but for the square of the radius.
            curve[j] = slope[j] * slope[j] / total[j].max(f64::MIN_POSITIVE);
        }
        octet.mass = total;
        octet.slope = slope;
        sums.total += sum(&total);
        sums.slope += sum(&slope);
        sums.curve += sum(&curve);
    }
    sums
}

#[inline(always)]
fn sum(v: &[f64; LANES]) -> f64 {
    ((v[0] + v[4]) + (v[2] + v[6])) + ((v[1] + v[5]) + (v[3] + v[7]))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn terms_reach_as_far_as_they_say() {
        for k in 1..TERMS {
            assert!((reach(k) / 2f64.powf(-48.0 / k as f64) - 1.0).abs() < 1e-6, "{k}");
        }
        assert_eq!((reach(TERMS), LIMIT.powi(TERMS as i32)), (SEEN, 2f64.powi(-48)));
    }

    #[test]
    fn what_is_added_can_be_taken_away_in_any_order() {
        let grid = Grid::new(1_000_000, 3.0);
        let charges: Vec<(f64, f64)> =
            (1..200).map(|i| (3.0 / f64::from(i), (f64::from(i) * 0.77).sin())).collect();
        let mut all = Moments::ZERO;
        charges.iter().for_each(|(m, u)| all.add(*m, *u, &grid));
        let mut some = all.clone();
        charges[50..].iter().for_each(|(m, u)| some.add(-m, *u, &grid));
        let mut alone = Moments::ZERO;
        charges[..50].iter().rev().for_each(|(m, u)| alone.add(*m, *u, &grid));
        for k in 0..TERMS {
            assert_eq!(some.get(k, &grid).to_bits(), alone.get(k, &grid).to_bits());
            let plain: f64 = charges.iter().map(|(m, u)| m * u.powi(k as i32)).sum();
            assert!((all.get(k, &grid) - plain).abs() < 1e-13, "{k}");
        }
    }
}
