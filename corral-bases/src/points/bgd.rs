//! BGD: gradient descent without a gradient.
//!
//! Flaxman, Kalai, McMahan 2005. Regret at most 2 sqrt(3 R d (L + 1/r)) T^{3/4} against any sequence of convex L-Lipschitz
//! losses. Weakly stable with alpha = 1/4 (the paper's lemma on BGD, appendix D.2): E[s^2] <= range multiplies the
//! second moment of the estimates, and delta grows by range^{1/4}.

use corral_core::set::SetError;

use super::scrible::{doubled, horizon_or_doubling};
use super::{AffineMap, Shrunk, dot, fill_sphere, point_set, resize};
use crate::prelude::*;

const NAME: &str = "bgd";

corral_core::params! {
    /// Parameters of [`Bgd`].
    pub struct BgdParams {
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
    }
}

impl BaseParams for BgdParams {
    type Base = Bgd;
    const MATRICES: bool = false;

    const ENTRY: Entry = Entry {
        name: NAME,
        summary: "Gradient descent with one-point estimates of the gradient.",
        source: "Flaxman, Kalai, McMahan 2005, Online convex optimization in the bandit setting",
        regret: "2 sqrt(3 R d (L + 1/r)) T^{3/4}",
        alpha: Some(0.25),
        fits: "adversarial convex Lipschitz losses on a convex set",
        cost: "O(d) and a projection",
        status: Status::Paper,
        ..super::POINTS
    };

    fn build(self, setup: &Setup) -> Result<Bgd, BaseError> {
        self.check()?;
        let set = point_set(setup)?.clone();
        if !set.is_convex() {
            return Err(SetError::Unsupported { what: "gradient descent", kind: set.kind() }.into());
        }
        let map = if self.matrix.is_empty() {
            if !self.offset.is_empty() {
                return Err(ParamError::new("offset", "given without a matrix", "empty").into());
            }
            None
        } else {
            let zero = vec![0.0; set.dim()];
            Some(AffineMap::new(&self.matrix, if self.offset.is_empty() { &zero } else { &self.offset })?)
        };
        let inner = map.as_ref().map_or_else(|| Ok(set.clone()), |map| map.preimage(&set))?;
        let centre = match (&map, self.centre.is_empty()) {
            (_, true) => inner.centre(),
            (None, false) => self.centre.clone(),
            (Some(map), false) => {
                set.room(&self.centre)?;
                let mut z = vec![0.0; set.dim()];
                map.invert(&self.centre, &mut z);
                z
            }
        };
        let ground = Shrunk::new(inner, centre)?;
        let dim = set.dim();
        let state = State { set: set.clone(), clock: Clock::new(setup), y: ground.centre().to_vec() };
        let mut base = Bgd {
            params: self,
            set,
            map,
            ground,
            state,
            delta: 0.0,
            rate: 0.0,
            u: vec![0.0; dim],
            scratch: vec![0.0; dim],
        };
        base.tune();
        Ok(base)
    }

    fn bound(&self, setup: &Setup) -> Option<RegretBound> {
        let set = point_set(setup).ok()?;
        let (d, r, outer) = (set.affine_dim() as f64, set.inner_radius(), set.outer_radius());
        // L = 1/r
        (r > 0.0).then(|| RegretBound {
            scale: 2.0 * (3.0 * outer * d * 2.0 / r).sqrt(),
            exponent: 0.75,
            alpha: 0.25,
        })
    }
}

/// BGD over a convex set.
#[derive(Debug, Clone)]
pub struct Bgd {
    params: BgdParams,
    set: Set,
    map: Option<AffineMap>,
    /// The set in which y moves, in the map's coordinates.
    ground: Shrunk,
    state: State,
    delta: f64,
    rate: f64,
    u: Vec<f64>,
    scratch: Vec<f64>,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
struct State {
    set: Set,
    clock: Clock,
    /// y, the point of descent, in the map's coordinates.
    y: Vec<f64>,
}

impl Bgd {
    fn tune(&mut self) {
        let clock = &self.state.clock;
        let (rounds, range) = (horizon_or_doubling(clock), clock.range);
        let (d, r, outer) =
            (self.set.affine_dim() as f64, self.ground.inner_radius(), self.ground.outer_radius());
        // A map stretches slopes by at most its norm.
        let stretch = self.map.as_ref().map_or(1.0, AffineMap::norm);
        let lipschitz = match self.params.lipschitz {
            Setting::Auto => 1.0 / r,
            Setting::Given(l) => l * stretch,
        };
        // delta = sqrt(R d/(3(L + 1/r))) rho^{1/4} T^{-1/4}, at most r/2   docs/bases.md#bgd
        let free =
            self.params.delta.or(|| (outer * d / (3.0 * (lipschitz + 1.0 / r))).sqrt() * rounds.powf(-0.25));
        self.delta = (free * range.powf(0.25)).min(0.5 * r);
        // eta = R delta/(d sqrt(rho T))
        self.rate = match self.params.rate {
            Setting::Auto => outer * self.delta / (d * (range * rounds).sqrt()),
            Setting::Given(rate) => rate / range.sqrt(),
        };
        // y moves in (1 - delta/r) Theta, so that y + delta u stays in Theta.
        self.ground.set_share(1.0 - self.delta / r);
    }

    /// The distance of exploration in force.
    pub fn delta(&self) -> f64 {
        self.delta
    }

    /// The learning rate in force.
    pub fn rate(&self) -> f64 {
        self.rate
    }

    /// The point of descent, in the map's coordinates.
    pub fn point(&self) -> &[f64] {
        &self.state.y
    }

    fn draw(&mut self, rng: &mut dyn Rng) {
        loop {
            fill_sphere(&mut self.u, rng);
            if self.set.affine_dim() == self.set.dim() {
                return;
            }
            // On the simplex: a uniform direction of the plane sum = 0.
            let mean = self.u.iter().sum::<f64>() / self.u.len() as f64;
            self.u.iter_mut().for_each(|v| *v -= mean);
            let norm = dot(&self.u, &self.u).sqrt();
            if norm > 1e-12 {
                return self.u.iter_mut().for_each(|v| *v /= norm);
            }
        }
    }

    fn step(&mut self) -> Result<(), BaseError> {
        self.state.clock.tick();
        if doubled(&self.state.clock) {
            self.tune();
            self.ground.project(&mut self.state.y)?;
        }
        Ok(())
    }
}

impl<X: ?Sized> Base<X, Point> for Bgd {
    fn propose(&mut self, x: &X, rng: &mut dyn Rng) -> Result<Proposal<Point>, BaseError> {
        let mut made = Proposal::default();
        self.propose_into(x, rng, &mut made)?;
        Ok(made)
    }

    fn propose_into(
        &mut self,
        _x: &X,
        rng: &mut dyn Rng,
        made: &mut Proposal<Point>,
    ) -> Result<(), BaseError> {
        self.draw(rng);
        // theta = y + delta u   docs/bases.md#bgd
        let theta = resize(&mut made.decision, self.set.dim());
        match &self.map {
            None => {
                for ((t, y), u) in theta.iter_mut().zip(&self.state.y).zip(&self.u) {
                    *t = y + self.delta * u;
                }
            }
            Some(map) => {
                for ((z, y), u) in self.scratch.iter_mut().zip(&self.state.y).zip(&self.u) {
                    *z = y + self.delta * u;
                }
                map.apply(&self.scratch, theta);
            }
        }
        self.set.pull_inside(theta);
        // The estimate of the gradient per unit of loss travels with the ticket: (d/delta) u.
        let factor = self.set.affine_dim() as f64 / self.delta;
        self.scratch.iter_mut().zip(&self.u).for_each(|(h, u)| *h = factor * u);
        made.memo.set(&self.scratch);
        Ok(())
    }

    fn learn(&mut self, _x: &X, made: &Proposal<Point>, feedback: Feedback) -> Result<(), BaseError> {
        let feedback = feedback.check(self.state.clock.range)?;
        let direction = made.memo.numbers();
        if direction.len() != self.state.y.len() || !direction.iter().all(|v| v.is_finite()) {
            return Err(BaseError::Proposal(format!(
                "its memo has {} numbers, not {} finite ones",
                direction.len(),
                self.state.y.len()
            )));
        }
        let estimate = feedback.estimate();
        if estimate > 0.0 {
            // y <- Proj(y - eta (d/delta) f' u)   docs/bases.md#bgd
            self.scratch.copy_from_slice(&self.state.y);
            self.scratch.iter_mut().zip(direction).for_each(|(y, h)| *y -= self.rate * estimate * h);
            self.ground.project(&mut self.scratch)?;
            self.state.y.copy_from_slice(&self.scratch);
        }
        self.step()
    }

    fn pass(&mut self, _x: &X) -> Result<(), BaseError> {
        self.step()
    }

    /// Restarts: the paper's rule.
    fn obey(&mut self, order: Order) -> Result<(), BaseError> {
        if !self.state.clock.obey(order, RangeChange::Restart)? {
            return Ok(());
        }
        self.state.y.copy_from_slice(self.ground.centre());
        self.tune();
        Ok(())
    }

    fn save(&self) -> Vec<u8> {
        seal(NAME, &self.params, &self.state)
    }

    fn load(&mut self, state: &[u8]) -> Result<(), BaseError> {
        let state: State = reopen(NAME, &self.params, state)?;
        state.clock.valid()?;
        if state.set != self.set {
            return Err(SnapshotError::state("it was saved for another set").into());
        }
        check_numbers("coordinates", &state.y, self.state.y.len())?;
        let mut next = Self { state, ..self.clone() };
        next.tune();
        // A valid y is its own projection, but for rounding.
        let mut near = next.state.y.clone();
        next.ground.project(&mut near)?;
        let off: f64 = near.iter().zip(&next.state.y).map(|(a, b)| (a - b).abs()).sum();
        if off > 1e-9 * (1.0 + next.ground.outer_radius()) {
            return Err(SnapshotError::state("its point is outside the set").into());
        }
        *self = next;
        Ok(())
    }
}
