//! Linear losses that an oblivious adversary chooses.

use super::{PointLoss, PointWorld, SetSpec, fill_sphere, misleads};
use crate::prelude::*;

params! {
    /// Parameters of [`AdversarialLinear`].
    pub struct AdversarialLinearParams {
        /// The set of decisions.
        set: SetSpec = SetSpec::default();
        /// Its dimension, where it is named by a word.
        dim: usize = 2;
        /// How many points, for the sphere and the corners.
        points: usize = 0;
        /// 0: the same direction throughout; 1: the opposite one in the first third.
        variant: u8 = 0;
        /// Weight of the adversary's direction.
        gap: f64 = 0.5, Bounds::UNIT;
        /// Weight of the noise.
        noise: f64 = 0.5, Bounds::UNIT;
    }
}

impl Builds for AdversarialLinearParams {
    fn build(self, ask: Ask<'_>) -> Result<AnyEnvironment, EnvError> {
        let Ask { rounds, rng, .. } = ask;
        check_variant(self.variant)?;
        require(self.gap + self.noise <= 1.0, "gap + noise", self.gap + self.noise, "at most 1")?;
        let set = self.set.build(self.dim, self.points, rng, &ask.budget)?;
        let dim = set.dim();
        let losses = AdversarialLinear {
            scale: 0.5 / set.norm_bound().max(f64::MIN_POSITIVE),
            gap: self.gap,
            noise: self.noise,
            variant: self.variant,
            horizon: rounds,
            sign: 1.0,
            turned: 0.0,
            c: vec![0.0; dim],
        };
        Ok(PointWorld::new(set, losses, rounds).boxed())
    }
}

pub(super) fn check_variant(variant: u8) -> Result<(), ParamError> {
    if variant <= 1 { Ok(()) } else { Err(ParamError::new("variant", variant, "0 or 1")) }
}

/// f_t(x) = 1/2 + <c_t, x>/(2N), c_t = gap v_t + noise u_t, with u_t uniform on the sphere, v_t = e_1 (variant 1: -e_1 in the
/// first third), and N a bound on |x|.
#[derive(Debug, Clone)]
pub struct AdversarialLinear {
    scale: f64,
    gap: f64,
    noise: f64,
    variant: u8,
    horizon: u64,
    sign: f64,
    turned: f64,
    c: Vec<f64>,
}

impl PointLoss for AdversarialLinear {
    fn next(&mut self, round: u64, draw: Draw) {
        self.sign = if misleads(self.variant, round, self.horizon) { -1.0 } else { 1.0 };
        fill_sphere(&mut self.c, draw);
        self.c.iter_mut().for_each(|v| *v *= self.noise);
        self.c[0] += self.gap * self.sign;
        self.turned += self.sign;
    }

    fn loss(&self, x: &[f64]) -> f64 {
        // |c| <= 1 and |x| <= N up to rounding.
        (0.5 + dot(&self.c, x) * self.scale).clamp(0.0, 1.0)
    }

    fn mean(&self, x: &[f64]) -> f64 {
        0.5 + self.gap * self.sign * x[0] * self.scale
    }

    fn best(&self, set: &Set, rounds: f64) -> f64 {
        // The support function of the summed direction.
        let mut sum = vec![0.0; set.dim()];
        sum[0] = self.gap * self.turned * self.scale;
        let mut at = vec![0.0; set.dim()];
        0.5 * rounds + set.linear_min(&sum, &mut at).unwrap_or(f64::NAN)
    }
}
