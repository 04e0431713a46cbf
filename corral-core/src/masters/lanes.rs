//! Sums and minima over pairs of numbers in independent lanes, which the compiler turns into vector code.

use std::array;

const LANES: usize = 4;

/// sum_i f(a_i, b_i), for each of the numbers that f makes.
#[inline]
pub(super) fn sums<const N: usize>(a: &[f64], b: &[f64], f: impl Fn(f64, f64) -> [f64; N]) -> [f64; N] {
    fold(a, b, 0.0, |x, y| x + y, f)
}

/// min_i f(a_i, b_i), for each of the numbers that f makes; infinite for none.
#[inline]
pub(super) fn least<const N: usize>(a: &[f64], b: &[f64], f: impl Fn(f64, f64) -> [f64; N]) -> [f64; N] {
    fold(a, b, f64::INFINITY, |x, y| if y < x { y } else { x }, f)
}

#[inline(always)]
fn fold<const N: usize>(
    a: &[f64],
    b: &[f64],
    start: f64,
    join: impl Fn(f64, f64) -> f64,
    f: impl Fn(f64, f64) -> [f64; N],
) -> [f64; N] {
    let mut lanes = [[start; LANES]; N];
    let (whole_a, rest_a) = a.as_chunks::<LANES>();
    let (whole_b, rest_b) = b.as_chunks::<LANES>();
    for (a, b) in whole_a.iter().zip(whole_b) {
        let made: [[f64; N]; LANES] = array::from_fn(|j| f(a[j], b[j]));
        for (n, lane) in lanes.iter_mut().enumerate() {
            *lane = array::from_fn(|j| join(lane[j], made[j][n]));
        }
    }
    for (a, b) in rest_a.iter().zip(rest_b) {
        for (lane, made) in lanes.iter_mut().zip(f(*a, *b)) {
            lane[0] = join(lane[0], made);
        }
    }
    lanes.map(|x| join(join(x[0], x[2]), join(x[1], x[3])))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_number_counts_once() {
        for n in 0..11 {
            let a: Vec<f64> = (0..n).map(|i| f64::from(i) - 3.0).collect();
            let b = vec![2.0; n as usize];
            let double = a.iter().sum::<f64>() * 2.0;
            assert_eq!(sums(&a, &b, |x, y| [x * y]), [double]);
            assert_eq!(sums(&a, &b, |x, y| [x * y, y]), [double, 2.0 * f64::from(n)]);
            let expected = a.iter().copied().fold(f64::INFINITY, f64::min);
            assert_eq!(least(&a, &b, |x, y| [x, x - y]), [expected, expected - 2.0]);
            assert_eq!(least(&a, &b, |x, _| [x]), [expected]);
        }
    }
}
