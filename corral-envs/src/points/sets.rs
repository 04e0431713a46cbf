//! The set of decisions as a spec names it.

use corral_core::memory::Budget;
use corral_core::set::SetError;

use super::fill_sphere;
use crate::prelude::*;

/// A set of decisions: a word, of which `dim` and `points` say the size, or one written out.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum SetSpec {
    /// By name.
    Named(Named),
    /// Written out: `{ polytope = { rows = [...], bounds = [...] } }`.
    Given(Set),
}

#[cfg(feature = "describe")]
impl schemars::JsonSchema for SetSpec {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "SetSpec".into()
    }

    fn json_schema(generator: &mut schemars::SchemaGenerator) -> schemars::Schema {
        let named = Named::json_schema(generator);
        schemars::json_schema!({ "anyOf": [named, { "type": "object" }] })
    }
}

impl Default for SetSpec {
    fn default() -> Self {
        Self::Named(Named::Ball)
    }
}

params! {
    /// The sets that have a name.
    pub enum Named {
        /// The unit ball.
        #[default]
        Ball,
        /// The cube [-1, 1]^dim.
        Box,
        /// The probability simplex with `dim` vertices.
        Simplex,
        /// The polytope sum |x_i| <= 1, of 2^dim rows.
        CrossPolytope,
        /// The unit sphere.
        UnitSphere,
        /// The corners {-1, 1}^dim / sqrt(dim).
        Hypercube,
        /// `points` points drawn uniformly from the unit sphere.
        Sphere,
        /// `points` different corners of the cube [-1, 1]^dim, drawn uniformly; 0: all of them.
        Corners,
    }
}

/// Finite sets have no more points than this.
const MOST_POINTS: usize = 65_536;

impl SetSpec {
    /// The set; `dim` and `points` are not used for one that is written out.
    ///
    /// # Errors
    /// The dimension is 0 or too large, or more points are asked for than there are.
    pub fn build(
        &self,
        dim: usize,
        points: usize,
        rng: &mut dyn Rng,
        budget: &Budget,
    ) -> Result<Set, EnvError> {
        let kind = match self {
            Self::Given(set) => {
                set.check()?;
                budget.claim("dim", set.dim(), set.dim() as u128 * 4)?;
                return Ok(set.clone());
            }
            Self::Named(kind) => *kind,
        };
        require(dim <= 1_000_000, "dim", dim, "at most 1000000")?;
        require(points <= MOST_POINTS, "points", points, "at most 65536")?;
        budget.claim("dim", dim, dim as u128 * 4)?;
        Ok(match kind {
            Named::Ball => Set::ball(dim)?,
            Named::Box => Set::cube(dim)?,
            Named::Simplex => Set::simplex(dim)?,
            Named::CrossPolytope => cross_polytope(dim)?,
            Named::UnitSphere => Set::sphere(dim)?,
            Named::Hypercube => Set::hypercube(dim)?,
            Named::Sphere => {
                require(points != 0, "points", points, "at least 1 on the sphere")?;
                if dim == 0 {
                    return Err(SetError::ZeroDimension.into());
                }
                budget.claim("points", points, 2 * points as u128 * dim as u128)?;
                let mut u = vec![0.0; dim];
                let drawn: Vec<Vec<f64>> = (0..points)
                    .map(|_| {
                        fill_sphere(&mut u, Draw::new(rng));
                        u.clone()
                    })
                    .collect();
                Set::finite(&drawn)?
            }
            Named::Corners => corners(dim, points, rng)?,
        })
    }
}

fn cross_polytope(dim: usize) -> Result<Set, EnvError> {
    require(dim <= 8, "dim", dim, "at most 8 for a cross-polytope")?;
    let rows = Set::cube(dim)?.vertices(1 << dim).unwrap_or_default();
    let bounds = vec![1.0; rows.len()];
    Ok(Set::polytope(&rows, &bounds)?)
}

fn corners(dim: usize, points: usize, rng: &mut dyn Rng) -> Result<Set, EnvError> {
    let corner =
        |mask: usize| -> Vec<f64> { (0..dim).map(|j| if mask >> j & 1 == 1 { 1.0 } else { -1.0 }).collect() };
    require(dim <= 30, "dim", dim, "at most 30 for the corners of a cube")?;
    let all = 1usize << dim;
    if points == 0 || points == all {
        require(all <= MOST_POINTS, "dim", dim, "at most 16 for all corners of a cube")?;
        return Ok(Set::finite(&Set::cube(dim)?.vertices(all).unwrap_or_default())?);
    }
    require(points <= all, "points", points, "at most 2^dim corners")?;
    // Floyd's sampling: `points` different numbers below 2^dim.
    let mut stream = Draw::new(rng).stream(0);
    let mut chosen = std::collections::BTreeSet::new();
    for top in all - points..all {
        let pick = stream.index(top + 1);
        let _ = chosen.insert(if chosen.contains(&pick) { top } else { pick });
    }
    let drawn: Vec<Vec<f64>> = chosen.into_iter().map(corner).collect();
    Ok(Set::finite(&drawn)?)
}
