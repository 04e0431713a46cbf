//! SCRiBLe: follow the leader regularised by a self-concordant barrier, exploring on the Dikin ellipsoid.
//!
//! Abernethy, Hazan, Rakhlin 2012. Regret at most 2 d sqrt(2 nu T ln T) against any sequence of linear losses. Weakly
//! stable with alpha = 1/2 (the paper's lemma on SCRiBLe, appendix D.2): eta is divided by sqrt(range). The clamp eta
//! <= 1/(4 d range), which the paper's lemma leaves out, keeps every step short in the local norm. An offset of the
//! losses does no harm: the direction has mean zero.

use corral_core::Observation;

use super::geometry::Leader;
use super::{fill_sphere, point_set, resize};
use crate::prelude::*;

const NAME: &str = "scrible";
const ARMS_NAME: &str = "scrible-arms";

/// 2 d sqrt(2 nu ln T).
fn bound_scale(leader: &Leader, setup: &Setup) -> f64 {
    2.0 * leader.dim() as f64 * (2.0 * leader.nu() * bound_horizon(setup).ln()).sqrt()
}

/// How directions on the Dikin ellipsoid are drawn.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "describe", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Direction {
    /// Sphere on the ball, else basis.
    Auto,
    /// Uniform on the sphere, through the factor of the Hessian.
    Sphere,
    /// A signed unit vector, as in the original, through the factor of the Hessian.
    Basis,
}

/// The parameters, over points and over arms.
macro_rules! scrible_params {
    ($name:ident, $doc:literal) => {
        corral_core::params! {
            #[doc = $doc]
                    pub struct $name {
                /// Learning rate at range 1, divided by sqrt(range) and never above 1/(4 d range); auto: sqrt(nu ln
                /// T/(2 d^2 T)).
                rate: Setting = Setting::Auto, Bounds::POSITIVE;
                /// Learn from the loss minus 1/2: unbiased too, with less variance.
                centered: bool = false;
                /// sphere, or basis: a signed axis of the ellipsoid; auto: sphere on the ball, else basis.
                direction: Direction = Direction::Auto;
            }
        }
    };
}

scrible_params!(ScribleParams, "Parameters of [`Scrible`].");
scrible_params!(ScribleArmsParams, "Parameters of [`ScribleArms`].");

impl BaseParams for ScribleParams {
    type Base = Scrible;
    const MATRICES: bool = false;

    const ENTRY: Entry = Entry {
        name: NAME,
        summary: "Barrier-regularised leader that explores on the Dikin ellipsoid.",
        source: "Abernethy, Hazan, Rakhlin 2012, Interior-point methods for full-information and bandit online learning",
        regret: "2 d sqrt(2 nu T ln T)",
        fits: "adversarial linear losses on a convex set",
        cost: "O(d) on ball, box and simplex, O(m d^2 + d^3) on polytopes",
        status: Status::Paper,
        ..super::POINTS
    };

    fn build(self, setup: &Setup) -> Result<Scrible, BaseError> {
        self.check()?;
        Scrible::new(self, point_set(setup)?.clone(), setup)
    }

    fn bound(&self, setup: &Setup) -> Option<RegretBound> {
        let leader = Leader::new(point_set(setup).ok()?).ok()?;
        Some(RegretBound::new(bound_scale(&leader, setup), 0.5))
    }
}

impl BaseParams for ScribleArmsParams {
    type Base = ScribleArms;

    const ENTRY: Entry = Entry {
        name: ARMS_NAME,
        summary: "SCRiBLe on the simplex over the arms; a vertex is drawn from its point.",
        regret: "2 (K-1) sqrt(2 K T ln T)",
        fits: "adversarial arms",
        cost: "O(K)",
        kind: Kind::Arms,
        ..ScribleParams::ENTRY
    };

    fn build(self, setup: &Setup) -> Result<ScribleArms, BaseError> {
        let Self { rate, centered, direction } = self;
        let params = ScribleParams { rate, centered, direction };
        let inner = Scrible::new(params, Set::simplex(arm_count(setup)?)?, setup)?;
        Ok(ScribleArms { inner, mixed: Proposal::default() })
    }

    fn bound(&self, setup: &Setup) -> Option<RegretBound> {
        let leader = Leader::new(&Set::simplex(setup.actions()).ok()?).ok()?;
        Some(RegretBound::new(bound_scale(&leader, setup), 0.5))
    }
}

/// The decision stays this share of the way to the ellipsoid's surface, which touches the set's boundary.
const SHARE: f64 = 1.0 - 1e-9;

/// SCRiBLe over a convex set.
#[derive(Debug, Clone)]
pub struct Scrible {
    params: ScribleParams,
    set: Set,
    state: State,
    leader: Leader,
    rate: f64,
    sphere: bool,
    u: Vec<f64>,
    stretched: Vec<f64>,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
struct State {
    set: Set,
    clock: Clock,
    /// F, the sum of the gradient estimates, in coordinates of the affine hull.
    force: Vec<f64>,
    /// The leader's point where it depends on the way to it, else empty.
    point: Vec<f64>,
}

impl Scrible {
    fn new(params: ScribleParams, set: Set, setup: &Setup) -> Result<Self, BaseError> {
        params.check()?;
        let leader = Leader::new(&set)?;
        let dim = leader.dim();
        let sphere = match params.direction {
            Direction::Auto => matches!(set, Set::Ball { .. }),
            Direction::Sphere => true,
            Direction::Basis => false,
        };
        let state =
            State { set: set.clone(), clock: Clock::new(setup), force: vec![0.0; dim], point: Vec::new() };
        let mut base = Self {
            params,
            set,
            state,
            leader,
            rate: 0.0,
            sphere,
            u: vec![0.0; dim],
            stretched: vec![0.0; dim],
        };
        base.tune();
        Ok(base)
    }

    /// The rounds that the rate is for: the horizon, or the next power of two.
    fn rounds(&self) -> f64 {
        horizon_or_doubling(&self.state.clock)
    }

    fn tune(&mut self) {
        let (d, rounds, range) = (self.leader.dim() as f64, self.rounds(), self.state.clock.range);
        let nu = self.leader.nu();
        // eta = min{ sqrt(nu ln T/(2 d^2 rho T)), 1/(4 d rho) }   docs/bases.md#scrible
        let free = self.params.rate.or(|| (nu * rounds.ln() / (2.0 * d * d * rounds)).sqrt()) / range.sqrt();
        self.rate = free.min(1.0 / (4.0 * d * range));
    }

    /// The learning rate in force.
    pub fn rate(&self) -> f64 {
        self.rate
    }

    /// The leader's point, in coordinates of the affine hull.
    pub fn point(&self) -> &[f64] {
        &self.leader.point
    }

    /// The sum of the gradient estimates, in coordinates of the affine hull.
    pub fn force(&self) -> &[f64] {
        &self.state.force
    }

    fn draw(&mut self, rng: &mut dyn Rng, made: &mut Proposal<Point>) {
        if self.sphere {
            fill_sphere(&mut self.u, rng);
        } else {
            // A signed axis from one number: the lowest bit is the sign, the rest the index.
            let bits = rng.next_u64();
            let index = (u128::from(bits >> 1) * self.u.len() as u128) >> 63;
            self.u.fill(0.0);
            self.u[index as usize] = if bits & 1 == 1 { 1.0 } else { -1.0 };
        }
        // y = x + A^{-T} u   docs/bases.md#scrible
        let y = resize(&mut made.decision, self.set.dim());
        self.leader.displace(&self.u, SHARE, y);
        self.set.pull_inside(y);
        // The estimate needs A u of this moment: it travels with the ticket.
        self.leader.stretch(&self.u, &mut self.stretched);
        made.memo.set(&self.stretched);
    }

    fn absorb(&mut self, memo: &Memo, feedback: Feedback) -> Result<(), BaseError> {
        let feedback = feedback.check(self.state.clock.range)?;
        let direction = memo.numbers();
        if direction.len() != self.leader.dim() || !direction.iter().all(|v| v.is_finite()) {
            return Err(BaseError::Proposal(format!(
                "its memo has {} numbers, not {} finite ones",
                direction.len(),
                self.leader.dim()
            )));
        }
        let mut estimate = feedback.estimate();
        if self.params.centered {
            estimate -= 0.5 * feedback.weight();
        }
        if estimate != 0.0 {
            // g = d f' A u; F += g   docs/bases.md#scrible
            let factor = self.leader.dim() as f64 * estimate;
            let add = |force: &mut [f64], factor: f64| {
                force.iter_mut().zip(direction).for_each(|(f, h)| *f += factor * h);
            };
            add(&mut self.state.force, factor);
            let moved = self.leader.follow(&self.state.force, self.rate);
            if let Err(e) = moved {
                add(&mut self.state.force, -factor);
                return Err(BaseError::Failed(e.to_string()));
            }
        }
        self.step()
    }

    fn step(&mut self) -> Result<(), BaseError> {
        self.state.clock.tick();
        if doubled(&self.state.clock) {
            self.tune();
            self.leader.follow(&self.state.force, self.rate).map_err(|e| BaseError::Failed(e.to_string()))?;
        }
        Ok(())
    }

    fn follow(&mut self, order: Order) -> Result<(), BaseError> {
        if !self.state.clock.obey(order, RangeChange::Restart)? {
            return Ok(());
        }
        self.state.force.fill(0.0);
        self.leader.reset();
        self.tune();
        Ok(())
    }

    fn snapshot(&self, name: &str) -> Vec<u8> {
        let mut state = self.state.clone();
        if self.leader.has_history() {
            state.point = self.leader.point.clone();
        }
        seal(name, &self.params, &state)
    }

    fn restore(&mut self, name: &str, bytes: &[u8]) -> Result<(), BaseError> {
        let mut state: State = reopen(name, &self.params, bytes)?;
        state.clock.valid()?;
        if state.set != self.set {
            return Err(SnapshotError::state("it was saved for another set").into());
        }
        check_numbers("sums of gradients", &state.force, self.leader.dim())?;
        let held = if self.leader.has_history() { self.leader.dim() } else { 0 };
        check_numbers("coordinates of the leader", &state.point, held)?;
        let mut next = self.clone();
        next.leader.resume(&std::mem::take(&mut state.point)).map_err(SnapshotError::state)?;
        next.state = state;
        next.tune();
        if !next.leader.has_history() {
            next.leader.follow(&next.state.force, next.rate).map_err(SnapshotError::state)?;
        }
        *self = next;
        Ok(())
    }
}

/// The horizon where it is known, else the power of two that the rounds have not reached.
pub(super) fn horizon_or_doubling(clock: &Clock) -> f64 {
    clock.tuned().unwrap_or_else(|| (clock.rounds + 1).next_power_of_two().max(16) as f64)
}

/// Whether the last tick made [`horizon_or_doubling`] grow.
pub(super) fn doubled(clock: &Clock) -> bool {
    clock.horizon.is_none() && clock.rounds >= 16 && clock.rounds.is_power_of_two()
}

impl<X: ?Sized> Base<X, Point> for Scrible {
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
        self.draw(rng, made);
        Ok(())
    }

    fn learn(&mut self, _x: &X, made: &Proposal<Point>, feedback: Feedback) -> Result<(), BaseError> {
        self.absorb(&made.memo, feedback)
    }

    fn pass(&mut self, _x: &X) -> Result<(), BaseError> {
        self.step()
    }

    /// Restarts: the paper's rule.
    fn obey(&mut self, order: Order) -> Result<(), BaseError> {
        self.follow(order)
    }

    fn save(&self) -> Vec<u8> {
        self.snapshot(NAME)
    }

    fn load(&mut self, state: &[u8]) -> Result<(), BaseError> {
        self.restore(NAME, state)
    }
}

/// SCRiBLe on the simplex over arms: an arm is drawn from the mixed point y, whose direction stays in the estimate (the
/// loss of the arm is an unbiased estimate of <y, c>). In place of an arm that is not offered a random one is played that
/// is: so the expected loss stays linear in y, the arms that are not offered costing the mean of those that are.
#[derive(Debug, Clone)]
pub struct ScribleArms {
    inner: Scrible,
    mixed: Proposal<Point>,
}

impl ScribleArms {
    /// The sum of the gradient estimates, in the first K - 1 coordinates.
    pub fn force(&self) -> &[f64] {
        self.inner.force()
    }

    fn offered<X: Observation + ?Sized>(&self, x: &X) -> Result<usize, BaseError> {
        let actions = self.inner.set.dim();
        let found = x.offered().unwrap_or(actions);
        if (1..=actions).contains(&found) {
            return Ok(found);
        }
        Err(BaseError::Context { what: "actions", found, expected: actions })
    }
}

impl<X: Observation + ?Sized> Base<X, Arm> for ScribleArms {
    fn propose(&mut self, x: &X, rng: &mut dyn Rng) -> Result<Proposal<Arm>, BaseError> {
        let offered = self.offered(x)?;
        self.inner.draw(rng, &mut self.mixed);
        let y = self.mixed.decision.coordinates();
        let arm = sample_index(y, y.iter().sum(), rng)
            .ok_or_else(|| BaseError::Failed(String::from("the mixed point has no mass")))?;
        let arm = if arm < offered { arm } else { uniform_arm(offered, rng) };
        Ok(Proposal::with_memo(Arm::from(arm), self.mixed.memo.clone()))
    }

    fn learn(&mut self, x: &X, made: &Proposal<Arm>, feedback: Feedback) -> Result<(), BaseError> {
        check_arm(made.decision, self.offered(x)?)?;
        self.inner.absorb(&made.memo, feedback)
    }

    fn pass(&mut self, x: &X) -> Result<(), BaseError> {
        self.offered(x)?;
        self.inner.step()
    }

    /// The direction u has mean 0, so that an arm has the probability that the leader's point gives it. The memo is the mean
    /// of A u given the arm: with y = x + A^{-T} u and E[u u^T] = I/d it is c/(d P(a)), c the gradient of P(a) in y.
    fn likelihood(&self, x: &X, decision: &Arm) -> Option<(f64, Memo)> {
        let (offered, arm) = (self.offered(x).ok()?, decision.index());
        let (point, actions) = (self.inner.point(), self.inner.set.dim());
        if arm >= offered {
            return Some((0.0, Memo::empty()));
        }
        let of = |arm: usize| point.get(arm).copied().unwrap_or_else(|| 1.0 - point.iter().sum::<f64>());
        let missing: f64 = (offered..actions).map(of).sum();
        let probability = (of(arm) + missing / offered as f64).clamp(f64::MIN_POSITIVE, 1.0);
        let mut memo = Memo::empty();
        for b in 0..point.len() {
            // y_K = 1 - sum of the others
            let own = if arm == point.len() { -1.0 } else { f64::from(b == arm) };
            let stands_in = if offered < actions && b < offered { 1.0 / offered as f64 } else { 0.0 };
            memo.push(SHARE * (own - stands_in) / (point.len() as f64 * probability));
        }
        Some((probability, memo))
    }

    /// Restarts: the paper's rule.
    fn obey(&mut self, order: Order) -> Result<(), BaseError> {
        self.inner.follow(order)
    }

    fn save(&self) -> Vec<u8> {
        self.inner.snapshot(ARMS_NAME)
    }

    fn load(&mut self, state: &[u8]) -> Result<(), BaseError> {
        self.inner.restore(ARMS_NAME, state)
    }
}
