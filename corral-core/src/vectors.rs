//! Inner products, and the one Cholesky factorisation: for sets and priors here, for worlds and bases elsewhere.

/// <a, b>, summed from the first number to the last.
#[inline]
pub fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(x, y)| x * y).sum()
}

/// |a - b|.
pub fn distance(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(x, y)| (x - y) * (x - y)).sum::<f64>().sqrt()
}

/// Where the first of the lowest numbers is, and which it is; 0 for none.
#[inline]
pub fn lowest(numbers: impl Iterator<Item = f64>) -> (usize, f64) {
    let mut best = (0, f64::INFINITY);
    for (at, number) in numbers.enumerate() {
        if number < best.1 {
            best = (at, number);
        }
    }
    best
}

/// How many numbers the lower triangle of a matrix of `dim` rows takes.
#[inline]
pub fn triangle(dim: usize) -> usize {
    dim * (dim + 1) / 2
}

/// The factor L of A = L L^T, in place. A is its lower triangle, row after row; below a pivot of L that is 0 everything is 0.
///
/// `dot` is an inner product of slices of one length, and `root` says what becomes of the pivots of A: their square roots.
///
/// # Errors
/// Those of `root`; `matrix` is spoilt then.
#[inline]
pub fn factorise<E>(
    matrix: &mut [f64],
    dim: usize,
    dot: impl Fn(&[f64], &[f64]) -> f64,
    root: impl Fn(f64) -> Result<f64, E>,
) -> Result<(), E> {
    for i in 0..dim {
        let (done, from_i) = matrix.split_at_mut(triangle(i));
        let row = &mut from_i[..=i];
        for j in 0..i {
            let other = &done[triangle(j)..triangle(j + 1)];
            let rest = row[j] - dot(&row[..j], &other[..j]);
            row[j] = if other[j] > 0.0 { rest / other[j] } else { 0.0 };
        }
        row[i] = root(row[i] - dot(&row[..i], &row[..i]))?;
    }
    Ok(())
}
