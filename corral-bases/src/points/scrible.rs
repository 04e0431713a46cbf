//! SCRiBLe: follow the leader regularised by a self-concordant barrier, exploring on the Dikin ellipsoid.
//!
//! Abernethy, Hazan, Rakhlin 2012. Regret at most 2 d sqrt(2 nu T ln T) against any sequence of linear losses. Weakly
//! stable with alpha = 1/2 (the paper's lemma on SCRiBLe, appendix D.2): eta is divided by sqrt(range). The clamp eta
//! <= 1/(4 d range), which the paper's lemma leaves out, keeps every step short in the local norm. An offset of the
//! losses does no harm: the direction has mean zero.

use corral_core::Observation;

use super::geometry::Leader;
use super::prelude::*;

corral_core::params! {
    /// How directions on the Dikin ellipsoid are drawn.
    pub enum Direction {
        /// Sphere on the ball, else basis.
        #[default]
        Auto,
        /// Uniform on the sphere, through the factor of the Hessian.
        Sphere,
        /// A signed unit vector, as in the original, through the factor of the Hessian.
        Basis,
    }
}

base! {
    /// Barrier-regularised leader that explores on the Dikin ellipsoid.
    "scrible": pub type Scrible = PointBase<ScribleParams>;
    bound |self, setup| bound_over(point_set(setup).ok()?, setup);
    params scrible {} with no_matrices, only_restarts
}

base! {
    /// SCRiBLe on the simplex over the arms; a vertex is drawn from its point.
    "scrible-arms": ScribleArms from ScribleArmsParams;
    bound |self, setup| bound_over(&Set::simplex(setup.actions()).ok()?, setup);
    params scrible {}
}

/// 2 d sqrt(2 nu T ln T).
fn bound_over(set: &Set, setup: &Setup) -> Option<RegretBound> {
    let leader = Leader::new(set).ok()?;
    let scale = 2.0 * leader.dim() as f64 * (2.0 * leader.nu * bound_horizon(setup).ln()).sqrt();
    Some(RegretBound::new(scale, 0.5))
}

/// The decision stays this share of the way to the ellipsoid's surface, which touches the set's boundary.
const SHARE: f64 = 1.0 - 1e-9;

/// What [`Scrible`] has learned.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct ScribleState {
    /// F, the sum of the gradient estimates, in coordinates of the affine hull.
    pub(super) force: Vec<f64>,
    /// The leader's point where it depends on the way to it, else empty.
    point: Vec<f64>,
}

/// The leader of [`Scrible`], and its rate.
#[derive(Debug, Clone)]
pub struct ScribleWork {
    pub(super) leader: Leader,
    pub(super) rate: f64,
    sphere: bool,
    u: Vec<f64>,
    stretched: Vec<f64>,
}

impl Scrible {
    fn set_rate(&mut self) {
        let leader = &self.work.leader;
        let (d, nu, range) = (leader.dim() as f64, leader.nu, self.clock.range);
        let rounds = horizon_or_doubling(&self.clock);
        // eta = min{ sqrt(nu ln T/(2 d^2 rho T)), 1/(4 d rho) }   docs/bases.md#scrible
        let free = self.rule.rate.or(|| (nu * rounds.ln() / (2.0 * d * d * rounds)).sqrt()) / range.sqrt();
        self.work.rate = free.min(1.0 / (4.0 * d * range));
    }

    /// Moves the leader to where the force drives it.
    fn follow(&mut self) -> Result {
        let ScribleWork { leader, rate, .. } = &mut self.work;
        leader.follow(&self.state.force, *rate).map_err(|e| BaseError::Failed(e.to_string()))?;
        self.keep_point();
        Ok(())
    }

    fn keep_point(&mut self) {
        if self.work.leader.has_history() {
            self.state.point.clone_from(&self.work.leader.point);
        }
    }
}

impl PointRule for ScribleParams {
    type State = ScribleState;
    type Work = ScribleWork;
    const LAZY: bool = false;

    fn work(&self, set: &Set) -> Result<ScribleWork> {
        let leader = Leader::new(set)?;
        let sphere = match self.direction {
            Direction::Auto => matches!(set, Set::Ball { .. }),
            Direction::Sphere => true,
            Direction::Basis => false,
        };
        let zeros = || vec![0.0; leader.dim()];
        let (u, stretched) = (zeros(), zeros());
        Ok(ScribleWork { leader, rate: 0.0, sphere, u, stretched })
    }

    fn fresh(&self, _: &Set, work: &ScribleWork) -> ScribleState {
        ScribleState { force: vec![0.0; work.leader.dim()], point: Vec::new() }
    }

    fn tune(base: &mut Scrible) -> Result {
        base.set_rate();
        if !base.state.point.is_empty() {
            return Ok(base.work.leader.resume(&base.state.point)?);
        }
        if !base.work.leader.has_history() {
            return base.follow();
        }
        base.work.leader.reset();
        base.keep_point();
        Ok(())
    }

    fn propose(base: &mut Scrible, rng: &mut dyn Rng, y: &mut [f64], memo: &mut Memo) -> Result {
        let ScribleWork { leader, sphere, u, stretched, .. } = &mut base.work;
        if *sphere {
            fill_sphere(u, rng);
        } else {
            // A signed axis from one number: the lowest bit is the sign, the rest the index.
            let bits = rng.next_u64();
            let index = (u128::from(bits >> 1) * u.len() as u128) >> 63;
            u.fill(0.0);
            u[index as usize] = if bits & 1 == 1 { 1.0 } else { -1.0 };
        }
        // y = x + A^{-T} u   docs/bases.md#scrible
        leader.displace(u, SHARE, y);
        // The estimate needs A u of this moment: it travels with the ticket.
        leader.stretch(u, stretched);
        memo.set(stretched);
        Ok(())
    }

    fn absorb(base: &mut Scrible, memo: &[f64], feedback: Feedback) -> Result {
        let dim = base.work.leader.dim();
        let direction = check_direction(memo, dim)?;
        let mut estimate = feedback.estimate();
        if base.rule.centered {
            estimate -= 0.5 * feedback.weight();
        }
        if estimate != 0.0 {
            // g = d f' A u; F += g   docs/bases.md#scrible
            let factor = dim as f64 * estimate;
            let add = |force: &mut [f64], factor: f64| {
                force.iter_mut().zip(direction).for_each(|(f, h)| *f += factor * h);
            };
            add(&mut base.state.force, factor);
            base.follow().inspect_err(|_| add(&mut base.state.force, -factor))?;
        }
        Ok(())
    }

    fn ticked(base: &mut Scrible) -> Result {
        if doubled(&base.clock) {
            base.set_rate();
            base.follow()?;
        }
        Ok(())
    }

    fn restore(base: &Scrible, state: &mut ScribleState, _: &Clock) -> Result {
        let (dim, held) = (base.work.leader.dim(), base.state.point.len());
        check_numbers("sums of gradients", &state.force, dim)?;
        Ok(check_numbers("coordinates of the leader", &state.point, held)?)
    }
}

/// SCRiBLe on the simplex over arms: an arm is drawn from the mixed point y, whose direction stays in the estimate (the
/// loss of the arm is an unbiased estimate of <y, c>). In place of an arm that is not offered a random one is played that
/// is: so the expected loss stays linear in y, the arms that are not offered costing the mean of those that are.
#[derive(Debug, Clone)]
pub struct ScribleArms {
    pub(super) inner: Scrible,
    mixed: Proposal<Point>,
}

impl Make<ScribleArmsParams> for ScribleArms {
    const KIND: Kind = Kind::Arms;

    fn make(params: ScribleArmsParams, setup: &Setup) -> Result<Self> {
        let ScribleArmsParams { rate, centered, direction } = params;
        let set = Set::simplex(arm_count(setup)?)?;
        let inner = PointBase::over(ScribleParams { rate, centered, direction }, set, setup)?;
        Ok(Self { inner, mixed: Proposal::default() })
    }
}

impl ScribleArms {
    fn offered<X: Observation + ?Sized>(&self, x: &X) -> Result<usize> {
        check_first(x.offer(), "scrible over arms")?;
        check_offered(x.offered(), self.inner.set.dim())
    }
}

impl<X: Observation + ?Sized> Base<X, Arm> for ScribleArms {
    fn propose(&mut self, x: &X, rng: &mut dyn Rng) -> Result<Proposal<Arm>> {
        let offered = self.offered(x)?;
        self.inner.draw(rng, &mut self.mixed)?;
        let y = self.mixed.decision.coordinates();
        let arm = sample_index(y, y.iter().sum(), rng)
            .ok_or_else(|| BaseError::Failed(String::from("the mixed point has no mass")))?;
        let arm = if arm < offered { arm } else { uniform_arm(offered, rng) };
        Ok(Proposal::with_memo(Arm::at(arm), self.mixed.memo.clone()))
    }

    fn learn(&mut self, x: &X, made: &Proposal<Arm>, feedback: Feedback) -> Result {
        check_arm(made.decision, self.offered(x)?)?;
        self.inner.take(&made.memo, feedback)
    }

    /// The direction u has mean 0, so that an arm has the probability that the leader's point gives it. The memo is the mean
    /// of A u given the arm: with y = x + A^{-T} u and E[u u^T] = I/d it is c/(d P(a)), c the gradient of P(a) in y.
    fn likelihood(&self, x: &X, decision: &Arm) -> Option<(f64, Memo)> {
        let (offered, arm) = (self.offered(x).ok()?, decision.index());
        let (point, actions) = (&self.inner.work.leader.point, self.inner.set.dim());
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

    fn abilities(&self) -> Abilities {
        Abilities { wants_passes: true, ..Abilities::OWN }
    }

    fn apply_order(&mut self, order: Order) -> Result {
        Base::<X, Point>::apply_order(&mut self.inner, order)
    }

    fn save(&self) -> Vec<u8> {
        seal(ScribleArmsParams::NAME, &self.inner.rule, &Base::<X, Point>::save(&self.inner))
    }

    fn load(&mut self, state: &[u8]) -> Result {
        let state: Vec<u8> = reopen(ScribleArmsParams::NAME, &self.inner.rule, state)?;
        Base::<X, Point>::load(&mut self.inner, &state)
    }

    fn extra(&mut self) -> Option<&mut dyn BaseExtra<X, Arm>> {
        Some(self)
    }
}

impl<X: Observation + ?Sized> BaseExtra<X, Arm> for ScribleArms {
    fn pass(&mut self, x: &X) -> Result {
        self.offered(x)?;
        self.inner.tick()
    }
}
