//! Sums and minima over pairs of numbers in independent lanes, which the compiler turns into vector code.

const LANES: usize = 4;

/// sum_i f(a_i, b_i)
#[inline]
pub(super) fn sum(a: &[f64], b: &[f64], f: impl Fn(f64, f64) -> f64) -> f64 {
    fold(a, b, 0.0, |x, y| x + y, f)
}

/// min_i f(a_i, b_i); infinite for none.
#[inline]
pub(super) fn least(a: &[f64], b: &[f64], f: impl Fn(f64, f64) -> f64) -> f64 {
    fold(a, b, f64::INFINITY, |x, y| if y < x { y } else { x }, f)
}

#[inline(always)]
fn fold(
    a: &[f64],
    b: &[f64],
    start: f64,
    join: impl Fn(f64, f64) -> f64,
    f: impl Fn(f64, f64) -> f64,
) -> f64 {
    let mut lanes = [start; LANES];
    let (whole_a, rest_a) = a.as_chunks::<LANES>();
    let (whole_b, rest_b) = b.as_chunks::<LANES>();
    for (a, b) in whole_a.iter().zip(whole_b) {
        for j in 0..LANES {
            lanes[j] = join(lanes[j], f(a[j], b[j]));
        }
    }
    for (a, b) in rest_a.iter().zip(rest_b) {
        lanes[0] = join(lanes[0], f(*a, *b));
    }
    join(join(lanes[0], lanes[2]), join(lanes[1], lanes[3]))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_number_counts_once() {
        for n in 0..11 {
            let a: Vec<f64> = (0..n).map(|i| f64::from(i) - 3.0).collect();
            let b = vec![2.0; n as usize];
            assert_eq!(sum(&a, &b, |x, y| x * y), a.iter().sum::<f64>() * 2.0);
            let expected = a.iter().copied().fold(f64::INFINITY, f64::min);
            assert_eq!(least(&a, &b, |x, _| x), expected);
        }
    }
}
