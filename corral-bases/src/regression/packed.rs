//! Kernels on symmetric matrices stored as their lower triangle, row after row: row i has i + 1 numbers.

use corral_core::vectors;
pub(crate) use corral_core::vectors::triangle as size;

/// A_ij.
#[inline]
pub(crate) fn entry(matrix: &[f64], i: usize, j: usize) -> f64 {
    matrix[size(i.max(j)) + i.min(j)]
}

/// sum_i a_i b_i of vectors of one length, in four lanes.
#[inline]
pub(crate) fn dot(a: &[f64], b: &[f64]) -> f64 {
    debug_assert_eq!(a.len(), b.len());
    let mut lanes = [0.0; 4];
    let (a4, b4) = (a.chunks_exact(4), b.chunks_exact(4));
    let rest: f64 = a4.remainder().iter().zip(b4.remainder()).map(|(x, y)| x * y).sum();
    for (x, y) in a4.zip(b4) {
        for (lane, (x, y)) in lanes.iter_mut().zip(x.iter().zip(y)) {
            *lane += x * y;
        }
    }
    (lanes[0] + lanes[2]) + (lanes[1] + lanes[3]) + rest
}

/// a += factor b.
#[inline]
pub(crate) fn axpy(a: &mut [f64], factor: f64, b: &[f64]) {
    for (a, b) in a.iter_mut().zip(b) {
        *a += factor * b;
    }
}

/// x^T A x.
#[inline]
pub(crate) fn quadratic(matrix: &[f64], x: &[f64]) -> f64 {
    let (mut below, mut diagonal, mut rest) = (0.0, 0.0, matrix);
    for (i, xi) in x.iter().enumerate() {
        let (row, next) = rest.split_at(i + 1);
        below += xi * dot(&row[..i], &x[..i]);
        diagonal += xi * xi * row[i];
        rest = next;
    }
    2.0 * below + diagonal
}

/// out = A x.
#[inline]
pub(crate) fn multiply(matrix: &[f64], x: &[f64], out: &mut [f64]) {
    let mut rest = matrix;
    for (i, xi) in x.iter().enumerate() {
        let (row, next) = rest.split_at(i + 1);
        out[i] = dot(row, &x[..=i]);
        axpy(&mut out[..i], *xi, &row[..i]);
        rest = next;
    }
}

/// A += factor x x^T.
#[inline]
pub(crate) fn rank_one(matrix: &mut [f64], factor: f64, x: &[f64]) {
    let mut rest = matrix;
    for (i, xi) in x.iter().enumerate() {
        let (row, next) = rest.split_at_mut(i + 1);
        axpy(row, factor * xi, &x[..=i]);
        rest = next;
    }
}

/// A = value I.
pub(crate) fn set_diagonal(matrix: &mut [f64], value: f64) {
    let len = matrix.len();
    matrix.fill(0.0);
    (0..).map(|i| size(i) + i).take_while(|at| *at < len).for_each(|at| matrix[at] = value);
}

/// The factor L of A = L L^T, in place. `None` where A is not positive definite (`matrix` is spoilt then).
pub(crate) fn cholesky(matrix: &mut [f64], dim: usize) -> Option<()> {
    // Written so that NaN fails.
    factorise(matrix, dim, |pivot| (pivot > 0.0 && pivot.is_finite()).then(|| pivot.sqrt()))
}

/// As [`cholesky`], where `root` says what becomes of a pivot; below one that is 0 everything is 0.
pub(crate) fn factorise(matrix: &mut [f64], dim: usize, root: impl Fn(f64) -> Option<f64>) -> Option<()> {
    vectors::factorise(matrix, dim, dot, |pivot| root(pivot).ok_or(())).ok()
}

/// The factor of A + x x^T from that of A, in place: O(d^2) (Gill, Golub, Murray, Saunders 1974). `x` is spoilt.
pub(crate) fn update_factor(factor: &mut [f64], x: &mut [f64]) {
    for k in 0..x.len() {
        let pivot = factor[size(k) + k];
        let next = pivot.hypot(x[k]);
        let (c, s) = (next / pivot, x[k] / pivot);
        factor[size(k) + k] = next;
        for i in k + 1..x.len() {
            let below = &mut factor[size(i) + k];
            *below = (*below + s * x[i]) / c;
            x[i] = c * x[i] - s * *below;
        }
    }
}

/// out = A^-1, given the factor L of A; returns ln det A. `factor` becomes L^-1.
pub(crate) fn invert(factor: &mut [f64], dim: usize, out: &mut [f64]) -> f64 {
    let mut log_det = 0.0;
    // L^-1, row by row: row i of the inverse is -(1/L_ii) sum_{j<=k<i} L_ik Linv_kj
    for i in 0..dim {
        let (done, from_i) = factor.split_at_mut(size(i));
        let row = &mut from_i[..=i];
        let pivot = row[i];
        log_det += 2.0 * pivot.ln();
        for j in 0..i {
            let sum: f64 = (j..i).map(|k| row[k] * done[size(k) + j]).sum();
            row[j] = -sum / pivot;
        }
        row[i] = 1.0 / pivot;
    }
    // A^-1 = L^-T L^-1
    for i in 0..dim {
        for j in 0..=i {
            out[size(i) + j] = (i..dim).map(|k| factor[size(k) + i] * factor[size(k) + j]).sum();
        }
    }
    log_det
}

/// x = L^-1 x by substitution.
pub(crate) fn solve_lower(factor: &[f64], x: &mut [f64]) {
    for i in 0..x.len() {
        let row = &factor[size(i)..size(i) + i + 1];
        x[i] = (x[i] - dot(&row[..i], &x[..i])) / row[i];
    }
}

/// x = L^-T x by substitution.
pub(crate) fn solve_upper(factor: &[f64], x: &mut [f64]) {
    for i in (0..x.len()).rev() {
        let row = &factor[size(i)..size(i) + i + 1];
        x[i] /= row[i];
        let xi = x[i];
        axpy(&mut x[..i], -xi, &row[..i]);
    }
}

/// x = A^-1 x, given the factor L of A.
pub(crate) fn solve(factor: &[f64], x: &mut [f64]) {
    solve_lower(factor, x);
    solve_upper(factor, x);
}

/// out = L x.
pub(crate) fn multiply_lower(factor: &[f64], x: &[f64], out: &mut [f64]) {
    for (i, out) in out.iter_mut().enumerate() {
        *out = dot(&factor[size(i)..size(i) + i + 1], &x[..=i]);
    }
}

/// x = L^T x.
pub(crate) fn multiply_upper(factor: &[f64], x: &mut [f64]) {
    for i in 0..x.len() {
        // Row i of L^T has entries from i on alone, so that those above are still the old ones.
        x[i] = (i..x.len()).map(|k| factor[size(k) + i] * x[k]).sum();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use nalgebra::{DMatrix, DVector};
    use proptest::prelude::*;

    fn full(matrix: &[f64], dim: usize) -> DMatrix<f64> {
        DMatrix::from_fn(dim, dim, |i, j| entry(matrix, i, j))
    }

    proptest! {
        #[test]
        fn kernels_agree_with_nalgebra(dim in 1usize..24, seed in prop::collection::vec(-1.0..1.0f64, 24 * 25)) {
            let vectors: Vec<DVector<f64>> =
                (0..dim + 2).map(|k| DVector::from_column_slice(&seed[k * 10..k * 10 + dim])).collect();
            let mut matrix = vec![0.0; size(dim)];
            set_diagonal(&mut matrix, 0.7);
            let mut dense = DMatrix::identity(dim, dim) * 0.7;
            for v in &vectors {
                rank_one(&mut matrix, 1.3, v.as_slice());
                dense += v * v.transpose() * 1.3;
            }
            prop_assert!((full(&matrix, dim) - &dense).amax() < 1e-12);
            let x = &vectors[dim];
            prop_assert!((quadratic(&matrix, x.as_slice()) - (x.transpose() * &dense * x)[0]).abs() < 1e-10);
            let mut out = vec![0.0; dim];
            multiply(&matrix, x.as_slice(), &mut out);
            prop_assert!((DVector::from_vec(out.clone()) - &dense * x).amax() < 1e-11);
            let mut factor = matrix.clone();
            prop_assert!(cholesky(&mut factor, dim).is_some());
            let mut solved = x.as_slice().to_vec();
            solve(&factor, &mut solved);
            // L L^T of the solution, and A times it.
            let mut back = solved.clone();
            multiply_upper(&factor, &mut back);
            multiply_lower(&factor, &back, &mut out);
            prop_assert!((DVector::from_vec(out.clone()) - x).amax() < 1e-9);
            prop_assert!((&dense * DVector::from_vec(solved) - x).amax() < 1e-9);
            let (mut updated, mut afresh) = (factor.clone(), matrix.clone());
            update_factor(&mut updated, x.clone().as_mut_slice());
            rank_one(&mut afresh, 1.0, x.as_slice());
            prop_assert!(cholesky(&mut afresh, dim).is_some());
            prop_assert!(updated.iter().zip(&afresh).all(|(a, b)| (a - b).abs() < 1e-10));
            let mut inverse = vec![0.0; size(dim)];
            let log_det = invert(&mut factor, dim, &mut inverse);
            prop_assert!((full(&inverse, dim) * &dense - DMatrix::identity(dim, dim)).amax() < 1e-9);
            prop_assert!((log_det - dense.determinant().ln()).abs() < 1e-8);
        }
    }

    #[test]
    fn what_is_not_positive_has_no_factor() {
        assert!(cholesky(&mut [1.0, 2.0, 1.0], 2).is_none());
        assert!(cholesky(&mut [f64::NAN], 1).is_none());
        let mut known = [4.0, 12.0, 37.0, -16.0, -43.0, 98.0];
        assert!(cholesky(&mut known, 3).is_some());
        assert_eq!(known, [2.0, 6.0, 1.0, -8.0, 5.0, 3.0]);
    }
}
