//! BGD: gradient descent without a gradient.
//!
//! Flaxman, Kalai, McMahan 2005. Regret at most 2 sqrt(3 R d (L + 1/r)) T^{3/4} against any sequence of convex L-Lipschitz
//! losses. Weakly stable with alpha = 1/4 (the paper's lemma on BGD, appendix D.2): E[s^2] <= range multiplies the
//! second moment of the estimates, and delta grows by range^{1/4}.

use super::prelude::*;
use super::{AffineMap, Shrunk};

base! {
    /// Gradient descent with one-point estimates of the gradient.
    "bgd": pub type Bgd = PointBase<BgdParams>;
    bound |self, setup| {
        let set = point_set(setup).ok()?;
        let (d, r, outer) = (set.affine_dim() as f64, set.inner_radius(), set.outer_radius());
        // L = 1/r
        (r > 0.0).then(|| RegretBound {
            scale: 2.0 * (3.0 * outer * d * 2.0 / r).sqrt(),
            exponent: 0.75,
            alpha: 0.25,
        })
    };
    params {
        /// L, the Lipschitz constant of the losses; auto: 1/r.
        lipschitz: Setting = Setting::Auto, Bounds::POSITIVE;
        /// Distance of exploration at range 1, times range^(1/4), at most r/2; auto: sqrt(R d/(3(L + 1/r)))
        /// T^(-1/4).
        delta: Setting = Setting::Auto, SIZE;
        /// Learning rate at range 1, divided by sqrt(range); auto: R delta/(d sqrt(T)).
        rate: Setting = Setting::Auto, Bounds::POSITIVE;
        /// A point of the interior to shrink towards; empty: the centre of the set.
        centre: Vec<f64> = Vec::new();
        /// Rows of a map M: descend in z where x = M z + offset (boxes and polytopes); empty: the identity.
        matrix: Vec<Vec<f64>> = Vec::new();
        /// The map's offset; empty: zero.
        offset: Vec<f64> = Vec::new();
    } with no_matrices, only_restarts
}

/// The ground of [`Bgd`], and its rates.
#[derive(Debug, Clone)]
pub struct BgdWork {
    map: Option<AffineMap>,
    /// The set in which y moves, in the map's coordinates.
    ground: Shrunk,
    pub(super) delta: f64,
    pub(super) rate: f64,
    u: Vec<f64>,
    scratch: Vec<f64>,
}

impl BgdParams {
    /// The map of the parameters, where there is one.
    fn map(&self, dim: usize) -> Result<Option<AffineMap>> {
        if !self.matrix.is_empty() {
            let zero = vec![0.0; dim];
            let offset = if self.offset.is_empty() { &zero } else { &self.offset };
            return Ok(Some(AffineMap::new(&self.matrix, offset)?));
        }
        require(self.offset.is_empty(), "offset", "given without a matrix", "empty")?;
        Ok(None)
    }
}

impl Bgd {
    /// A uniform direction of the affine hull.
    fn turn(&mut self, rng: &mut dyn Rng) {
        let u = &mut self.work.u;
        loop {
            fill_sphere(u, rng);
            if self.set.affine_dim() == self.set.dim() {
                return;
            }
            // On the simplex: a uniform direction of the plane sum = 0.
            let mean = u.iter().sum::<f64>() / u.len() as f64;
            u.iter_mut().for_each(|v| *v -= mean);
            let norm = dot(u, u).sqrt();
            if norm > 1e-12 {
                return u.iter_mut().for_each(|v| *v /= norm);
            }
        }
    }
}

impl PointRule for BgdParams {
    /// y, the point of descent, in the map's coordinates.
    type State = Vec<f64>;
    type Work = BgdWork;
    const LAZY: bool = false;

    fn work(&self, set: &Set) -> Result<BgdWork> {
        if !set.is_convex() {
            return Err(SetError::Unsupported { what: "gradient descent", kind: set.kind() }.into());
        }
        let zeros = || vec![0.0; set.dim()];
        let map = self.map(set.dim())?;
        let inner = map.as_ref().map_or_else(|| Ok(set.clone()), |map| map.preimage(set))?;
        let centre = match (&map, self.centre.is_empty()) {
            (_, true) => inner.centre(),
            (None, false) => self.centre.clone(),
            (Some(map), false) => {
                set.margin(&self.centre)?;
                let mut z = zeros();
                map.invert(&self.centre, &mut z);
                z
            }
        };
        let ground = Shrunk::new(inner, centre)?;
        Ok(BgdWork { map, ground, delta: 0.0, rate: 0.0, u: zeros(), scratch: zeros() })
    }

    fn fresh(&self, _: &Set, work: &BgdWork) -> Vec<f64> {
        work.ground.centre().to_vec()
    }

    fn tune(base: &mut Bgd) -> Result {
        let PointBase { rule, set, clock, work, .. } = base;
        let (rounds, range) = (horizon_or_doubling(clock), clock.range);
        let (d, r, outer) = (set.affine_dim() as f64, work.ground.inner_radius(), work.ground.outer_radius());
        // A map stretches slopes by at most its norm.
        let stretch = work.map.as_ref().map_or(1.0, AffineMap::norm);
        let lipschitz = match rule.lipschitz {
            Setting::Auto => 1.0 / r,
            Setting::Given(l) => l * stretch,
        };
        // delta = sqrt(R d/(3(L + 1/r))) rho^{1/4} T^{-1/4}, at most r/2   docs/bases.md#bgd
        let free = rule.delta.or(|| (outer * d / (3.0 * (lipschitz + 1.0 / r))).sqrt() * rounds.powf(-0.25));
        work.delta = (free * range.powf(0.25)).min(0.5 * r);
        // eta = R delta/(d sqrt(rho T))
        work.rate = match rule.rate {
            Setting::Auto => outer * work.delta / (d * (range * rounds).sqrt()),
            Setting::Given(rate) => rate / range.sqrt(),
        };
        // y moves in (1 - delta/r) Theta, so that y + delta u stays in Theta.
        work.ground.set_share(1.0 - work.delta / r);
        Ok(())
    }

    fn propose(base: &mut Bgd, rng: &mut dyn Rng, theta: &mut [f64], memo: &mut Memo) -> Result {
        base.turn(rng);
        let BgdWork { map, delta, u, scratch, .. } = &mut base.work;
        // theta = y + delta u   docs/bases.md#bgd
        let moved = if map.is_none() { &mut *theta } else { &mut scratch[..] };
        for ((t, y), u) in moved.iter_mut().zip(&base.state).zip(&*u) {
            *t = y + *delta * u;
        }
        if let Some(map) = map {
            map.apply(scratch, theta);
        }
        // The estimate of the gradient per unit of loss travels with the ticket: (d/delta) u.
        let factor = base.set.affine_dim() as f64 / *delta;
        scratch.iter_mut().zip(u).for_each(|(h, u)| *h = factor * *u);
        memo.set(scratch);
        Ok(())
    }

    fn absorb(base: &mut Bgd, memo: &[f64], feedback: Feedback) -> Result {
        let direction = check_direction(memo, base.state.len())?;
        let estimate = feedback.estimate();
        if estimate > 0.0 {
            // y <- Proj(y - eta (d/delta) f' u)   docs/bases.md#bgd
            let BgdWork { ground, rate, scratch, .. } = &mut base.work;
            scratch.copy_from_slice(&base.state);
            scratch.iter_mut().zip(direction).for_each(|(y, h)| *y -= *rate * estimate * h);
            ground.project(scratch)?;
            base.state.copy_from_slice(scratch);
        }
        Ok(())
    }

    fn ticked(base: &mut Bgd) -> Result {
        if doubled(&base.clock) {
            Self::tune(base)?;
            base.work.ground.project(&mut base.state)?;
        }
        Ok(())
    }

    /// A valid y is its own projection, but for rounding.
    fn restore(base: &Bgd, y: &mut Vec<f64>, clock: &Clock) -> Result {
        check_numbers("coordinates", y, base.set.dim())?;
        let mut next = base.clone();
        next.clock = *clock;
        Self::tune(&mut next)?;
        let mut near = y.clone();
        next.work.ground.project(&mut near)?;
        let off: f64 = near.iter().zip(&*y).map(|(a, b)| (a - b).abs()).sum();
        let near = off <= 1e-9 * (1.0 + next.work.ground.outer_radius());
        Ok(ensure(near, "its point is outside the set")?)
    }
}
