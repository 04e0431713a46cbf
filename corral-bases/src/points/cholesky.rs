//! Cholesky factors of small dense matrices, in place: H = A A^T with A lower triangular, row-major.

/// Replaces the lower triangle of the `dim` x `dim` matrix by its factor. `None` where a pivot is not positive.
pub(crate) fn factor(matrix: &mut [f64], dim: usize) -> Option<()> {
    for j in 0..dim {
        let (above, row) = matrix.split_at_mut(j * dim);
        for k in 0..j {
            let mut v = row[k];
            for i in 0..k {
                v -= row[i] * above[k * dim + i];
            }
            row[k] = v / above[k * dim + k];
        }
        let pivot = row[j] - row[..j].iter().map(|v| v * v).sum::<f64>();
        // Written so that NaN fails.
        if !(pivot > 0.0 && pivot < f64::INFINITY) {
            return None;
        }
        row[j] = pivot.sqrt();
    }
    Some(())
}

/// x <- A^{-1} x.
pub(crate) fn solve_lower(a: &[f64], dim: usize, x: &mut [f64]) {
    for i in 0..dim {
        let row = &a[i * dim..i * dim + i];
        let sum: f64 = row.iter().zip(&x[..i]).map(|(a, v)| a * v).sum();
        x[i] = (x[i] - sum) / a[i * dim + i];
    }
}

/// x <- A^{-T} x.
pub(crate) fn solve_upper(a: &[f64], dim: usize, x: &mut [f64]) {
    for i in (0..dim).rev() {
        let v = x[i] / a[i * dim + i];
        x[i] = v;
        for (x, a) in x[..i].iter_mut().zip(&a[i * dim..i * dim + i]) {
            *x -= a * v;
        }
    }
}

/// x <- (A A^T)^{-1} x.
pub(crate) fn solve(a: &[f64], dim: usize, x: &mut [f64]) {
    solve_lower(a, dim, x);
    solve_upper(a, dim, x);
}

/// x <- A^T x.
pub(crate) fn transposed(a: &[f64], dim: usize, x: &mut [f64]) {
    for i in 0..dim {
        // Row i of A^T has entries from i on alone, so that those above are still the old ones.
        x[i] = (i..dim).map(|k| a[k * dim + i] * x[k]).sum();
    }
}

/// The factor of A A^T + x x^T in place of A, in O(d^2); `x` is used up (Gill, Golub, Murray, Saunders 1974, method C1).
pub(crate) fn update(a: &mut [f64], dim: usize, x: &mut [f64]) {
    for k in 0..dim {
        let pivot = a[k * dim + k];
        let longer = pivot.hypot(x[k]);
        let (cos, sin) = (longer / pivot, x[k] / pivot);
        a[k * dim + k] = longer;
        for i in k + 1..dim {
            let below = (a[i * dim + k] + sin * x[i]) / cos;
            x[i] = cos * x[i] - sin * below;
            a[i * dim + k] = below;
        }
    }
}

/// out <- A u.
pub(crate) fn multiply(a: &[f64], dim: usize, u: &[f64], out: &mut [f64]) {
    for (i, o) in out.iter_mut().enumerate() {
        *o = a[i * dim..i * dim + i + 1].iter().zip(u).map(|(a, v)| a * v).sum();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_updated_factor_is_that_of_the_sum() {
        let dim = 4;
        let mut matrix: Vec<f64> =
            (0..dim * dim).map(|k| if k / dim == k % dim { 2.0 } else { 0.3 }).collect();
        let mut kept = matrix.clone();
        factor(&mut kept, dim).unwrap();
        for n in 0..50 {
            let x: Vec<f64> = (0..dim).map(|i| ((n * dim + i) as f64).sin()).collect();
            for i in 0..dim {
                (0..dim).for_each(|j| matrix[i * dim + j] += x[i] * x[j]);
            }
            update(&mut kept, dim, &mut x.clone());
        }
        factor(&mut matrix, dim).unwrap();
        for i in 0..dim {
            assert!((0..=i).all(|j| (kept[i * dim + j] - matrix[i * dim + j]).abs() < 1e-12), "row {i}");
        }
        // A^T and its inverse.
        let mut x = [1.0, -2.0, 0.5, 3.0];
        transposed(&kept, dim, &mut x);
        solve_upper(&kept, dim, &mut x);
        assert!(x.iter().zip([1.0, -2.0, 0.5, 3.0]).all(|(a, b)| (a - b).abs() < 1e-12));
    }

    #[test]
    fn a_known_factor() {
        let mut m = vec![4.0, 0.0, 0.0, 12.0, 37.0, 0.0, -16.0, -43.0, 98.0];
        assert_eq!(factor(&mut m, 3), Some(()));
        assert_eq!([m[0], m[3], m[4], m[6], m[7], m[8]], [2.0, 6.0, 1.0, -8.0, 5.0, 3.0]);
        let mut x = [1.0, 2.0, 3.0];
        solve(&m, 3, &mut x);
        // H x = (1, 2, 3)
        assert!((4.0 * x[0] + 12.0 * x[1] - 16.0 * x[2] - 1.0).abs() < 1e-10);
        assert!((12.0 * x[0] + 37.0 * x[1] - 43.0 * x[2] - 2.0).abs() < 1e-10);
        let mut out = [0.0; 3];
        multiply(&m, 3, &[1.0, 1.0, 1.0], &mut out);
        assert_eq!(out, [2.0, 7.0, 0.0]);
        assert_eq!(factor(&mut [1.0, 2.0, 2.0, 1.0], 2), None);
        assert_eq!(factor(&mut [f64::NAN], 1), None);
    }
}
