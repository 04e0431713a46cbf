//! A small dense linear program: the simplex method on a dictionary. For the dozens of constraints of a decision
//! set, not a general solver.

use super::SetError;

/// Entries below this count as zero; rows come in with norm 1.
const TINY: f64 = 1e-11;

/// What the program ended with.
#[derive(Debug, PartialEq)]
pub(super) enum Outcome {
    /// A maximiser.
    Optimum(Vec<f64>),
    /// The objective grows without bound.
    Unbounded,
}

/// Maximises <objective, x> over {x in R^n : <rows_i, x> <= bounds_i}, where every bound is at least 0, so that the
/// origin is feasible. `rows` is row-major, m x n.
///
/// # Errors
/// The method did not end within its bound of pivots.
pub(super) fn maximise(objective: &[f64], rows: &[f64], bounds: &[f64]) -> Result<Outcome, SetError> {
    let (n, m) = (objective.len(), bounds.len());
    // A free variable is the difference of two that are not negative: columns j and n + j.
    let width = 2 * n;
    // Slack w_i = value_i - sum_j table_ij v_j; the last row is the objective's.
    let mut table = vec![0.0; (m + 1) * width];
    let mut value: Vec<f64> = bounds.iter().map(|b| b.max(0.0)).collect();
    for i in 0..m {
        for j in 0..n {
            table[i * width + j] = rows[i * n + j];
            table[i * width + n + j] = -rows[i * n + j];
        }
    }
    for j in 0..n {
        table[m * width + j] = objective[j];
        table[m * width + n + j] = -objective[j];
    }
    // Variables are named: 0..2n the halves of x, then the slacks.
    let mut column_name: Vec<usize> = (0..width).collect();
    let mut row_name: Vec<usize> = (width..width + m).collect();

    let patience = 50 * (m + width);
    let limit = 20 * patience;
    for iteration in 0..limit {
        // Dantzig's rule is fast; Bland's cannot cycle and takes over when patience ends.
        let gains = &table[m * width..];
        let candidates = (0..width).filter(|j| gains[*j] > TINY);
        let entering = if iteration < patience {
            candidates.max_by(|a, b| gains[*a].total_cmp(&gains[*b]))
        } else {
            candidates.min_by_key(|j| column_name[*j])
        };
        let Some(enter) = entering else {
            let mut x = vec![0.0; n];
            for (name, v) in row_name.iter().zip(&value) {
                match *name {
                    k if k < n => x[k] += v,
                    k if k < width => x[k - n] -= v,
                    _ => {}
                }
            }
            return Ok(Outcome::Optimum(x));
        };
        let leaving = (0..m)
            .filter(|i| table[i * width + enter] > TINY)
            .map(|i| (value[i] / table[i * width + enter], i))
            .min_by(|a, b| a.0.total_cmp(&b.0).then(row_name[a.1].cmp(&row_name[b.1])));
        let Some((step, leave)) = leaving else {
            return Ok(Outcome::Unbounded);
        };
        pivot(&mut table, &mut value, width, m, leave, enter, step);
        std::mem::swap(&mut column_name[enter], &mut row_name[leave]);
    }
    Err(SetError::Iterations { what: "the linear program", iterations: limit })
}

fn pivot(
    table: &mut [f64],
    value: &mut [f64],
    width: usize,
    m: usize,
    leave: usize,
    enter: usize,
    step: f64,
) {
    let inverse = 1.0 / table[leave * width + enter];
    for v in &mut table[leave * width..(leave + 1) * width] {
        *v *= inverse;
    }
    table[leave * width + enter] = inverse;
    let pivot_row: Vec<f64> = table[leave * width..(leave + 1) * width].to_vec();
    value[leave] = step;
    for i in (0..=m).filter(|i| *i != leave) {
        let row = &mut table[i * width..(i + 1) * width];
        let factor = row[enter];
        if factor == 0.0 {
            continue;
        }
        for (v, p) in row.iter_mut().zip(&pivot_row) {
            *v -= factor * p;
        }
        row[enter] = -factor * inverse;
        if i < m {
            value[i] = (value[i] - factor * step).max(0.0);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_textbook_program() {
        // max 3x + 5y, x <= 4, 2y <= 12, 3x + 2y <= 18, x >= 0, y >= 0: optimum (2, 6).
        let rows = [1.0, 0.0, 0.0, 2.0, 3.0, 2.0, -1.0, 0.0, 0.0, -1.0];
        let out = maximise(&[3.0, 5.0], &rows, &[4.0, 12.0, 18.0, 0.0, 0.0]);
        let Ok(Outcome::Optimum(x)) = out else { panic!("{out:?}") };
        assert!((x[0] - 2.0).abs() < 1e-12 && (x[1] - 6.0).abs() < 1e-12, "{x:?}");
    }

    #[test]
    fn beales_cycle_ends() {
        // Beale's example, on which the largest-coefficient rule can cycle: optimum value 1/20.
        let mut rows = vec![0.25, -60.0, -1.0 / 25.0, 9.0, 0.5, -90.0, -1.0 / 50.0, 3.0, 0.0, 0.0, 1.0, 0.0];
        for j in 0..4 {
            rows.extend((0..4).map(|k| if k == j { -1.0 } else { 0.0 }));
        }
        let objective = [0.75, -150.0, 0.02, -6.0];
        let out = maximise(&objective, &rows, &[0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 0.0]);
        let Ok(Outcome::Optimum(x)) = out else { panic!("{out:?}") };
        let value: f64 = x.iter().zip(&objective).map(|(a, b)| a * b).sum();
        assert!((value - 0.05).abs() < 1e-12, "{value}");
    }

    #[test]
    fn a_half_plane_is_unbounded() {
        assert_eq!(maximise(&[1.0, 1.0], &[1.0, 0.0], &[1.0]), Ok(Outcome::Unbounded));
        let out = maximise(&[1.0, 0.0], &[1.0, 0.0], &[1.0]);
        assert_eq!(out, Ok(Outcome::Optimum(vec![1.0, 0.0])));
    }
}
