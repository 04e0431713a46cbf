//! Sums and minima over pairs of numbers in independent lanes, which the compiler turns into vector code.

const LANES: usize = 4;

/// sum_i f(a_i, b_i)
#[inline]
pub(super) fn sum(a: &[f64], b: &[f64], f: impl Fn(f64, f64) -> f64) -> f64 {
    two_sums(a, b, f, |_, _| 0.0).0
}

/// sum_i f(a_i, b_i) and sum_i g(a_i, b_i), in one pass.
#[inline]
pub(super) fn two_sums(
    a: &[f64],
    b: &[f64],
    f: impl Fn(f64, f64) -> f64,
    g: impl Fn(f64, f64) -> f64,
) -> (f64, f64) {
    fold(a, b, 0.0, |x, y| x + y, f, g)
}

/// min_i f(a_i, b_i); infinite for none.
#[inline]
pub(super) fn least(a: &[f64], b: &[f64], f: impl Fn(f64, f64) -> f64) -> f64 {
    two_least(a, b, f, |_, _| 0.0).0
}

/// min_i f(a_i, b_i) and min_i g(a_i, b_i), in one pass.
#[inline]
pub(super) fn two_least(
    a: &[f64],
    b: &[f64],
    f: impl Fn(f64, f64) -> f64,
    g: impl Fn(f64, f64) -> f64,
) -> (f64, f64) {
    fold(a, b, f64::INFINITY, |x, y| if y < x { y } else { x }, f, g)
}

#[inline(always)]
fn fold(
    a: &[f64],
    b: &[f64],
    start: f64,
    join: impl Fn(f64, f64) -> f64,
    f: impl Fn(f64, f64) -> f64,
    g: impl Fn(f64, f64) -> f64,
) -> (f64, f64) {
    let (mut first, mut second) = ([start; LANES], [start; LANES]);
    let (whole_a, rest_a) = a.as_chunks::<LANES>();
    let (whole_b, rest_b) = b.as_chunks::<LANES>();
    for (a, b) in whole_a.iter().zip(whole_b) {
        for j in 0..LANES {
            first[j] = join(first[j], f(a[j], b[j]));
        }
        for j in 0..LANES {
            second[j] = join(second[j], g(a[j], b[j]));
        }
    }
    for (a, b) in rest_a.iter().zip(rest_b) {
        first[0] = join(first[0], f(*a, *b));
        second[0] = join(second[0], g(*a, *b));
    }
    let all = |x: [f64; LANES]| join(join(x[0], x[2]), join(x[1], x[3]));
    (all(first), all(second))
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
            assert_eq!(sum(&a, &b, |x, y| x * y), double);
            assert_eq!(two_sums(&a, &b, |x, y| x * y, |_, y| y), (double, 2.0 * f64::from(n)));
            let expected = a.iter().copied().fold(f64::INFINITY, f64::min);
            assert_eq!(two_least(&a, &b, |x, _| x, |x, y| x - y), (expected, expected - 2.0));
            assert_eq!(least(&a, &b, |x, _| x), expected);
        }
    }
}
