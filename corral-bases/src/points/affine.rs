//! Invertible affine maps of R^d.

use corral_core::Set;
use corral_core::set::SetError;
use nalgebra::DMatrix;

use crate::regression::dot;

/// x = M z + o with M invertible. Puts an elongated set into a position where balls fit it.
#[derive(Debug, Clone, PartialEq)]
pub struct AffineMap {
    dim: usize,
    matrix: Vec<f64>,
    inverse: Vec<f64>,
    offset: Vec<f64>,
}

impl AffineMap {
    /// The map z -> M z + o, where `matrix` holds the rows of M.
    ///
    /// # Errors
    /// M is not square, of another size than the offset, not finite or singular.
    pub fn new(matrix: &[Vec<f64>], offset: &[f64]) -> Result<Self, SetError> {
        let dim = offset.len();
        if dim == 0 {
            return Err(SetError::ZeroDimension);
        }
        SetError::same_length("the matrix of the map", matrix.len(), dim)?;
        let mut flat = Vec::with_capacity(dim * dim);
        for (i, row) in matrix.iter().enumerate() {
            SetError::same_length(&format!("row {i} of the map"), row.len(), dim)?;
            flat.extend_from_slice(row);
        }
        SetError::finite("the map", &flat)?;
        SetError::finite("the map", offset)?;
        let inverse = invert(&flat, dim)?;
        Ok(Self { dim, matrix: flat, inverse, offset: offset.to_vec() })
    }

    /// out <- M z + o.
    pub fn apply(&self, z: &[f64], out: &mut [f64]) {
        for (i, o) in out.iter_mut().enumerate() {
            *o = dot(&self.matrix[i * self.dim..(i + 1) * self.dim], z) + self.offset[i];
        }
    }

    /// out <- M^{-1} (x - o).
    pub fn invert(&self, x: &[f64], out: &mut [f64]) {
        for (i, o) in out.iter_mut().enumerate() {
            let row = &self.inverse[i * self.dim..(i + 1) * self.dim];
            *o = row.iter().zip(x).zip(&self.offset).map(|((m, x), o)| m * (x - o)).sum();
        }
    }

    /// A bound on |M z|/|z|: the Frobenius norm.
    pub fn norm(&self) -> f64 {
        dot(&self.matrix, &self.matrix).sqrt()
    }

    /// {z : M z + o in `set`}, for boxes (as polytopes), polytopes and finite sets.
    ///
    /// # Errors
    /// The set is of another dimension or kind.
    pub fn preimage(&self, set: &Set) -> Result<Set, SetError> {
        SetError::same_length("the map", self.dim, set.dim())?;
        let d = self.dim;
        match set {
            Set::Box { dim } => {
                let rows: Vec<Vec<f64>> = (0..2 * dim)
                    .map(|k| {
                        (0..*dim).map(|j| if j != k / 2 { 0.0 } else { 1.0 - 2.0 * (k % 2) as f64 }).collect()
                    })
                    .collect();
                self.preimage(&Set::polytope(&rows, &vec![1.0; 2 * dim])?)
            }
            Set::Polytope(p) => {
                // A (M z + o) <= b
                let rows: Vec<Vec<f64>> = (0..p.constraints())
                    .map(|i| {
                        (0..d).map(|j| (0..d).map(|k| p.row(i)[k] * self.matrix[k * d + j]).sum()).collect()
                    })
                    .collect();
                let bounds: Vec<f64> =
                    (0..p.constraints()).map(|i| p.bounds()[i] - dot(p.row(i), &self.offset)).collect();
                Set::polytope(&rows, &bounds)
            }
            Set::Finite(points) => {
                let moved: Vec<Vec<f64>> = points
                    .iter()
                    .map(|x| {
                        let mut z = vec![0.0; d];
                        self.invert(x, &mut z);
                        z
                    })
                    .collect();
                Set::finite(&moved)
            }
            other => Err(SetError::Unsupported { what: "an affine map", kind: other.kind() }),
        }
    }
}

/// By the LU decomposition with partial pivoting.
fn invert(matrix: &[f64], d: usize) -> Result<Vec<f64>, SetError> {
    let scale = matrix.iter().fold(0.0f64, |m, v| m.max(v.abs()));
    let lu = DMatrix::from_row_slice(d, d, matrix).lu();
    let pivots = lu.u().diagonal();
    let bad = (0..d).find(|i| pivots[*i] == 0.0 || pivots[*i].abs() <= 1e-13 * scale);
    match (bad, lu.try_inverse()) {
        (None, Some(inverse)) => Ok(inverse.transpose().as_slice().to_vec()),
        (bad, _) => {
            let column = bad.unwrap_or(0);
            Err(SetError::Singular { pivot: pivots[column], column })
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn maps_go_there_and_back() {
        let map = AffineMap::new(&[vec![0.0, 2.0], vec![3.0, 1.0]], &[1.0, -1.0]).unwrap();
        let (mut x, mut z) = ([0.0; 2], [0.0; 2]);
        map.apply(&[0.5, 0.25], &mut x);
        assert_eq!(x, [1.5, 0.75]);
        map.invert(&x, &mut z);
        assert!((z[0] - 0.5).abs() < 1e-15 && (z[1] - 0.25).abs() < 1e-15);
        let set = map.preimage(&Set::Box { dim: 2 }).unwrap();
        for probe in [[0.0, 0.0], [0.3, -0.5], [0.9, -0.9], [0.1, -0.05], [0.6, -0.9]] {
            map.apply(&probe, &mut x);
            assert_eq!(set.contains(&probe), Set::Box { dim: 2 }.contains(&x), "{probe:?}");
        }
    }

    #[test]
    fn what_is_no_map_is_named() {
        let square = [vec![1.0, 2.0], vec![2.0, 4.0]];
        assert!(matches!(AffineMap::new(&square, &[0.0, 0.0]), Err(SetError::Singular { column: 1, .. })));
        assert!(matches!(AffineMap::new(&square, &[0.0]), Err(SetError::Dimension { .. })));
        assert!(matches!(AffineMap::new(&[vec![f64::NAN]], &[0.0]), Err(SetError::NotFinite { .. })));
        assert_eq!(AffineMap::new(&[], &[]), Err(SetError::ZeroDimension));
        let map = AffineMap::new(&[vec![2.0]], &[0.0]).unwrap();
        assert!(matches!(map.preimage(&Set::Ball { dim: 1 }), Err(SetError::Unsupported { .. })));
        assert!(matches!(map.preimage(&Set::Box { dim: 2 }), Err(SetError::Dimension { .. })));
    }
}
