//! Stochastic losses of a hidden linear parameter: plain, structured, and through a link.

use corral_core::catalog::{Entry, Field};
use corral_core::{ParamError, Rng, Set};
use serde::{Deserialize, Serialize};

use super::adversarial::SET_FIELDS;
use super::{PointLoss, PointWorld, SetSpec, dot};
use crate::registry::Row;
use crate::{Draw, EnvError};

/// The structure of the hidden parameter.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Structure {
    /// Every coordinate counts.
    Dense,
    /// `support` coordinates count.
    Sparse,
    /// `support` groups of `group` neighbouring coordinates count.
    GroupSparse,
}

/// Parameters of [`StochasticLinear`].
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct StochasticLinearParams {
    /// The set of decisions.
    pub set: SetSpec,
    /// Its dimension, where it is named by a word.
    pub dim: usize,
    /// How many points, for the sphere and the corners.
    pub points: usize,
    /// The structure of the parameter.
    pub structure: Structure,
    /// How many coordinates or groups count.
    pub support: usize,
    /// Size of a group.
    pub group: usize,
    /// The parameter itself, scaled to its length; empty: drawn.
    pub parameter: Vec<f64>,
    /// Noise is uniform in [-noise, noise].
    pub noise: f64,
}

impl Default for StochasticLinearParams {
    fn default() -> Self {
        Self {
            set: SetSpec::default(),
            dim: 2,
            points: 0,
            structure: Structure::Dense,
            support: 1,
            group: 2,
            parameter: Vec::new(),
            noise: 0.1,
        }
    }
}

impl StochasticLinearParams {
    /// The world of `rounds` rounds; the parameter is drawn from `rng` unless it is given.
    ///
    /// # Errors
    /// The set cannot be built, the parameter does not fit it, or the noise is not in [0, 1/2).
    pub fn check(self, rounds: u64, rng: &mut dyn Rng) -> Result<PointWorld<StochasticLinear>, EnvError> {
        if !(0.0..0.5).contains(&self.noise) {
            return Err(ParamError::new("noise", self.noise, "in [0, 1/2)").into());
        }
        let set = self.set.build(self.dim, self.points, rng)?;
        let mut parameter = hidden(&self, set.dim(), rng)?;
        // |c*| = 1 - 2 noise: the loss 1/2 + <c*, x>/(2N) + xi stays in [0, 1], so that nothing is clipped.
        let scale = 0.5 * (1.0 - 2.0 * self.noise) / set.norm_bound().max(f64::MIN_POSITIVE);
        parameter.iter_mut().for_each(|v| *v *= scale);
        let mut at = vec![0.0; set.dim()];
        let least = 0.5 + set.linear_min(&parameter, &mut at)?;
        let losses = StochasticLinear { parameter, noise: self.noise, xi: 0.0, least, rounds: 0.0 };
        Ok(PointWorld::new(set, losses, rounds))
    }
}

/// A unit vector of the asked structure.
fn hidden(params: &StochasticLinearParams, dim: usize, rng: &mut dyn Rng) -> Result<Vec<f64>, EnvError> {
    let mut stream = Draw::new(rng).stream(0);
    let mut c = params.parameter.clone();
    if c.is_empty() {
        let (size, groups) = match params.structure {
            Structure::Dense => (1, dim),
            Structure::Sparse => (1, dim),
            Structure::GroupSparse => {
                if params.group == 0 || !dim.is_multiple_of(params.group) {
                    return Err(ParamError::new("group", params.group, "a divisor of the dimension").into());
                }
                (params.group, dim / params.group)
            }
        };
        let wanted = if params.structure == Structure::Dense { groups } else { params.support };
        if wanted == 0 || wanted > groups {
            return Err(
                ParamError::new("support", wanted, "at least 1 and at most the number of groups").into()
            );
        }
        // The first `wanted` of a shuffle (Fisher and Yates).
        let mut order: Vec<usize> = (0..groups).collect();
        for i in 0..wanted {
            order.swap(i, i + stream.index(groups - i));
        }
        c = vec![0.0; dim];
        for g in &order[..wanted] {
            for v in &mut c[g * size..(g + 1) * size] {
                // Bounded away from zero, so that the support is what it says.
                let size = 0.5 + 0.5 * stream.uniform();
                *v = if stream.uniform() < 0.5 { size } else { -size };
            }
        }
    }
    if c.len() != dim {
        return Err(
            ParamError::new("parameter", format!("{} numbers", c.len()), "as long as the dimension").into()
        );
    }
    let norm = dot(&c, &c).sqrt();
    if !(norm > 0.0 && norm.is_finite()) {
        return Err(ParamError::new("parameter", format!("of length {norm}"), "finite and not zero").into());
    }
    c.iter_mut().for_each(|v| *v /= norm);
    Ok(c)
}

/// f_t(x) = 1/2 + <c*, x>/(2N) + xi_t with xi_t uniform in [-noise, noise] and |c*| = 1 - 2 noise: never
/// clipped (docs/bases.md#worlds-for-tests).
#[derive(Debug, Clone)]
pub struct StochasticLinear {
    parameter: Vec<f64>,
    noise: f64,
    xi: f64,
    least: f64,
    rounds: f64,
}

impl StochasticLinear {
    /// c*/(2N): the mean loss is 1/2 + <parameter, x>.
    pub fn parameter(&self) -> &[f64] {
        &self.parameter
    }
}

impl PointLoss for StochasticLinear {
    fn next(&mut self, _round: u64, draw: Draw) {
        self.xi = self.noise * (2.0 * draw.uniform(0) - 1.0);
        self.rounds += 1.0;
    }

    fn loss(&self, x: &[f64]) -> f64 {
        (0.5 + dot(&self.parameter, x) + self.xi).clamp(0.0, 1.0)
    }

    fn mean(&self, x: &[f64]) -> f64 {
        0.5 + dot(&self.parameter, x)
    }

    fn best(&self, _set: &Set) -> f64 {
        self.rounds * self.least
    }
}

/// A link function sigma: the mean loss is sigma(<c*, x>).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Link {
    /// 1/(1 + e^-u).
    Logistic,
    /// e^(u - scale), which is at most 1 where u <= scale.
    Exponential,
}

impl Link {
    /// sigma(u).
    pub fn mean(self, u: f64, scale: f64) -> f64 {
        match self {
            Self::Logistic => 1.0 / (1.0 + libm::exp(-u)),
            Self::Exponential => libm::exp(u - scale).min(1.0),
        }
    }
}

/// Parameters of [`Glm`].
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct GlmParams {
    /// The set of decisions.
    pub set: SetSpec,
    /// Its dimension, where it is named by a word.
    pub dim: usize,
    /// How many points, for the sphere and the corners.
    pub points: usize,
    /// The link.
    pub link: Link,
    /// The largest |<c*, x>| over the set.
    pub scale: f64,
    /// The parameter itself, scaled to its length; empty: drawn.
    pub parameter: Vec<f64>,
}

impl Default for GlmParams {
    fn default() -> Self {
        Self {
            set: SetSpec::default(),
            dim: 2,
            points: 0,
            link: Link::Logistic,
            scale: 2.0,
            parameter: Vec::new(),
        }
    }
}

impl GlmParams {
    /// The world of `rounds` rounds; the parameter is drawn from `rng` unless it is given.
    ///
    /// # Errors
    /// The set cannot be built, the parameter does not fit it, or the scale is not positive.
    pub fn check(self, rounds: u64, rng: &mut dyn Rng) -> Result<PointWorld<Glm>, EnvError> {
        ParamError::positive("scale", self.scale)?;
        let set = self.set.build(self.dim, self.points, rng)?;
        let structure = StochasticLinearParams { parameter: self.parameter, ..Default::default() };
        let mut parameter = hidden(&structure, set.dim(), rng)?;
        let length = self.scale / set.norm_bound().max(f64::MIN_POSITIVE);
        parameter.iter_mut().for_each(|v| *v *= length);
        let mut at = vec![0.0; set.dim()];
        let least = self.link.mean(set.linear_min(&parameter, &mut at)?, self.scale);
        let losses = Glm { parameter, link: self.link, scale: self.scale, uniform: 0.0, least, rounds: 0.0 };
        Ok(PointWorld::new(set, losses, rounds))
    }
}

/// A loss of 1 with probability sigma(<c*, x>), else 0.
#[derive(Debug, Clone)]
pub struct Glm {
    parameter: Vec<f64>,
    link: Link,
    scale: f64,
    uniform: f64,
    least: f64,
    rounds: f64,
}

impl PointLoss for Glm {
    fn next(&mut self, _round: u64, draw: Draw) {
        self.uniform = draw.uniform(0);
        self.rounds += 1.0;
    }

    fn loss(&self, x: &[f64]) -> f64 {
        f64::from(self.uniform < self.mean(x))
    }

    fn mean(&self, x: &[f64]) -> f64 {
        self.link.mean(dot(&self.parameter, x), self.scale)
    }

    fn best(&self, _set: &Set) -> f64 {
        // sigma is increasing: the best point minimises the linear part.
        self.rounds * self.least
    }
}

pub(super) const LINEAR_ROW: Row = Row {
    entry: Entry {
        name: "stochastic-linear",
        summary: "stochastic linear losses on a set of points, with a dense, sparse or group-sparse parameter",
        source: "the paper's other examples: stochastic linear bandits",
        regret: "",
        alpha: None,
        fits: "stochastic linear",
        cost: "O(d)",
        kind: "points",
        status: "standard",
        fields: &[
            SET_FIELDS[0],
            SET_FIELDS[1],
            SET_FIELDS[2],
            Field { name: "structure", default: "\"dense\"", doc: "dense, sparse or group-sparse" },
            Field { name: "support", default: "1", doc: "how many coordinates (sparse) or groups count" },
            Field { name: "group", default: "2", doc: "size of a group of neighbouring coordinates" },
            Field { name: "parameter", default: "[]", doc: "direction of the parameter; empty: drawn" },
            Field { name: "noise", default: "0.1", doc: "noise is uniform in [-noise, noise]; below 1/2" },
        ],
    },
    example: "dim = 6\nstructure = \"sparse\"\nsupport = 2",
    build: |request, rng| {
        let params: StochasticLinearParams = request.read()?;
        request.points(params.check(request.rounds, rng))
    },
};

pub(super) const GLM_ROW: Row = Row {
    entry: Entry {
        name: "glm-points",
        summary: "losses 0 and 1 whose mean is a link function of a linear one",
        source: "Filippi, Cappe, Garivier, Szepesvari 2010; the paper's other examples",
        regret: "",
        alpha: None,
        fits: "stochastic generalised linear",
        cost: "O(d)",
        kind: "points",
        status: "standard",
        fields: &[
            SET_FIELDS[0],
            SET_FIELDS[1],
            SET_FIELDS[2],
            Field { name: "link", default: "\"logistic\"", doc: "logistic, or exponential: e^(u - scale)" },
            Field { name: "scale", default: "2.0", doc: "the largest |<c*, x>| over the set" },
            Field { name: "parameter", default: "[]", doc: "direction of the parameter; empty: drawn" },
        ],
    },
    example: "link = \"exponential\"\nset = \"sphere\"\npoints = 20\ndim = 3",
    build: |request, rng| {
        let params: GlmParams = request.read()?;
        request.points(params.check(request.rounds, rng))
    },
};
