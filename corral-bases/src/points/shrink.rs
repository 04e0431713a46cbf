//! Sets shrunk towards a point.

use corral_core::Set;
use corral_core::set::SetError;

/// The set centre + share (Theta - centre), for a centre in the interior of Theta and a share in (0, 1].
#[derive(Debug, Clone, PartialEq)]
pub struct Shrunk {
    set: Set,
    centre: Vec<f64>,
    share: f64,
    margin: f64,
}

impl Shrunk {
    /// Theta itself, to be shrunk towards `centre`.
    ///
    /// # Errors
    /// The centre is not in the interior (of the affine hull), or the set is finite.
    pub fn new(set: Set, centre: Vec<f64>) -> Result<Self, SetError> {
        let margin = set.margin(&centre)?;
        // On the simplex the centre must lie in the affine hull as well.
        if margin > 0.0 && set.contains(&centre) {
            Ok(Self { set, centre, share: 1.0, margin })
        } else {
            Err(SetError::CentreOutside { radius: margin })
        }
    }

    /// Sets the share.
    pub fn set_share(&mut self, share: f64) {
        self.share = share.clamp(f64::MIN_POSITIVE, 1.0);
    }

    /// The whole set.
    pub fn set(&self) -> &Set {
        &self.set
    }

    /// The centre.
    pub fn centre(&self) -> &[f64] {
        &self.centre
    }

    /// r: the radius of the largest ball around the centre inside the whole set.
    pub fn inner_radius(&self) -> f64 {
        self.margin
    }

    /// R: a radius around the centre that holds the whole set.
    pub fn outer_radius(&self) -> f64 {
        let off = self.centre.iter().zip(self.set.centre()).map(|(a, b)| (a - b) * (a - b)).sum::<f64>();
        self.set.outer_radius() + off.sqrt()
    }

    /// Moves `point` to the nearest one of the shrunk set: c + share (Proj_Theta(c + (z - c)/share) - c).
    ///
    /// # Errors
    /// The point is of another dimension or not finite.
    pub fn project(&self, point: &mut [f64]) -> Result<(), SetError> {
        point.iter_mut().zip(&self.centre).for_each(|(z, c)| *z = c + (*z - c) / self.share);
        self.set.project(point)?;
        point.iter_mut().zip(&self.centre).for_each(|(z, c)| *z = c + self.share * (*z - c));
        Ok(())
    }
}
