//! The zooming algorithm on the interval [-1, 1].
//!
//! Kleinberg, Slivkins, Upfal 2008, "Multi-armed bandits in metric spaces"; with the confidence radius of Slivkins 2019,
//! "Introduction to multi-armed bandits", section 4.3. Regret T^((d+1)/(d+2)) up to logarithms, where d <= 1 is the zooming
//! dimension, for i.i.d. losses whose mean is Lipschitz. No stability exponent is known for it. A change of range
//! restarts it.

use corral_plugin_abi::prelude::*;

/// Parameters of [`Zooming`].
#[derive(Debug, Clone, Deserialize)]
#[serde(crate = "corral_plugin_abi::serde", deny_unknown_fields, default)]
pub struct ZoomingParams {
    /// How much the mean loss may change per unit.
    pub lipschitz: f64,
    /// Factor of the confidence radius: 1 is the theorem's, less is bolder.
    pub scale: f64,
    /// Most points that are ever tried.
    pub most_points: usize,
}

impl Default for ZoomingParams {
    fn default() -> Self {
        Self { lipschitz: 1.0, scale: 1.0, most_points: 1000 }
    }
}

/// A point that is being tried.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(crate = "corral_plugin_abi::serde")]
struct Active {
    at: f64,
    plays: u64,
    mean: f64,
}

/// What changes from round to round.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(crate = "corral_plugin_abi::serde")]
struct State {
    active: Vec<Active>,
    range: f64,
    /// ln T.
    log_horizon: f64,
}

/// The zooming algorithm.
#[derive(Debug, Clone)]
pub struct Zooming {
    params: ZoomingParams,
    horizon: Option<u64>,
    state: State,
}

/// Where the horizon is not known.
const ASSUMED_HORIZON: u64 = 100_000;

impl Plugin for Zooming {
    type Params = ZoomingParams;
    type Decision = Point;
    const KIND: Kind = Kind::Points;
    const DESCRIPTION: &'static str = "zooming on an interval (Kleinberg, Slivkins, Upfal 2008)";

    fn build(params: ZoomingParams, setup: &Setup) -> Result<Self, BaseError> {
        for (name, value) in [("lipschitz", params.lipschitz), ("scale", params.scale)] {
            if !(value > 0.0 && value.is_finite()) {
                return Err(BaseError::Failed(format!("{name} must be positive and finite, but is {value}")));
            }
        }
        if params.most_points == 0 {
            return Err(BaseError::Failed("most_points must be at least 1".into()));
        }
        match &setup.space {
            Space::Points(Set::Box { dim: 1 } | Set::Ball { dim: 1 }) => {
                let state = State::new(1.0, setup.horizon);
                Ok(Self { params, horizon: setup.horizon, state })
            }
            other => Err(BaseError::Failed(format!("zooming needs the interval [-1, 1], not {other:?}"))),
        }
    }
}

impl State {
    fn new(range: f64, horizon: Option<u64>) -> Self {
        let log_horizon = (horizon.unwrap_or(ASSUMED_HORIZON).max(2) as f64).ln();
        Self { active: Vec::new(), range, log_horizon }
    }
}

impl Zooming {
    /// r_t(x) = sqrt(2 ln T / (n_t(x) + 1)).
    fn radius(&self, point: &Active) -> f64 {
        self.params.scale * (2.0 * self.state.log_horizon / (point.plays + 1) as f64).sqrt()
    }

    /// A point that no ball B(x, r_t(x)) covers: the middle of the first gap.
    fn uncovered(&self) -> Option<f64> {
        let ball = |a: &Active| {
            let half = self.radius(a) / self.params.lipschitz;
            (a.at - half, a.at + half)
        };
        let mut reach = -1.0;
        loop {
            // The furthest end of the balls that begin before `reach`.
            let further = self.state.active.iter().map(ball).filter(|b| b.0 <= reach).map(|b| b.1);
            let furthest = further.fold(f64::NEG_INFINITY, f64::max);
            if furthest >= 1.0 {
                return None;
            }
            if furthest <= reach {
                let begins = self.state.active.iter().map(|a| ball(a).0).filter(|b| *b > reach);
                return Some(f64::midpoint(reach, begins.fold(1.0, f64::min)));
            }
            reach = furthest;
        }
    }
}

impl<X: ?Sized> Base<X, Point> for Zooming {
    fn propose(&mut self, x: &X, rng: &mut dyn Rng) -> Result<Proposal<Point>, BaseError> {
        let mut made = Proposal::default();
        BaseExtra::<X, Point>::propose_into(self, x, rng, &mut made)?;
        Ok(made)
    }

    fn learn(&mut self, _: &X, made: &Proposal<Point>, feedback: Feedback) -> Result<(), BaseError> {
        let feedback = feedback.check(self.state.range)?;
        let place = made.memo.get(0).unwrap_or(-1.0) as usize;
        let Some(point) = self.state.active.get_mut(place).filter(|a| made.decision.coordinates() == [a.at])
        else {
            return Err(BaseError::Proposal(format!("{:?} is not active", made.decision)));
        };
        // The loss as it was seen, and not its estimate: confidence bounds are about losses in [0, 1].
        if let Some(loss) = feedback.observed() {
            point.plays += 1;
            point.mean += (loss - point.mean) / point.plays as f64;
        }
        Ok(())
    }

    fn abilities(&self) -> Abilities {
        Abilities::OWN
    }

    fn apply_order(&mut self, order: Order) -> Result<(), BaseError> {
        self.state = State::new(order.check()?.range(), order.remaining().or(self.horizon));
        Ok(())
    }

    fn save(&self) -> Vec<u8> {
        snapshot::seal("zooming", 1, &self.state)
    }

    fn load(&mut self, state: &[u8]) -> Result<(), BaseError> {
        let state: State = snapshot::open("zooming", 1, state)?;
        let sound = |a: &Active| a.at.abs() <= 1.0 && (0.0..=1.0).contains(&a.mean);
        if state.active.len() > self.params.most_points || !state.active.iter().all(sound) {
            return Err(SnapshotError::state("points that cannot be active").into());
        }
        if !(state.log_horizon > 0.0 && state.log_horizon.is_finite()) {
            return Err(
                SnapshotError::state(format!("a logarithm of the horizon of {}", state.log_horizon)).into()
            );
        }
        BaseError::check_range(state.range)?;
        self.state = state;
        Ok(())
    }

    fn extra(&mut self) -> Option<&mut dyn BaseExtra<X, Point>> {
        Some(self)
    }
}

impl<X: ?Sized> BaseExtra<X, Point> for Zooming {
    fn propose_into(&mut self, _: &X, _: &mut dyn Rng, made: &mut Proposal<Point>) -> Result<(), BaseError> {
        // Activation rule: what is not covered becomes active.
        if self.state.active.len() < self.params.most_points
            && let Some(at) = self.uncovered()
        {
            self.state.active.push(Active { at, plays: 0, mean: 0.0 });
        }
        // Selection rule: the smallest index mean - 2 r_t (for losses).
        let index = |a: &Active| a.mean - 2.0 * self.radius(a);
        let best = (0..self.state.active.len())
            .min_by(|&i, &j| index(&self.state.active[i]).total_cmp(&index(&self.state.active[j])));
        let best = best.ok_or_else(|| BaseError::Failed("no point is active".into()))?;
        made.decision.set(&[self.state.active[best].at]);
        made.memo.set(&[best as f64]);
        Ok(())
    }
}

corral_plugin! { "zooming" => Zooming }

#[cfg(test)]
mod tests {
    use super::*;
    use corral_plugin_abi::corral_core::Context;

    /// Numbers from a counter: the algorithm draws none.
    struct NoNumbers;

    impl corral_plugin_abi::rand_core::TryRng for NoNumbers {
        type Error = std::convert::Infallible;
        fn try_next_u32(&mut self) -> Result<u32, Self::Error> {
            panic!("zooming is deterministic")
        }
        fn try_next_u64(&mut self) -> Result<u64, Self::Error> {
            panic!("zooming is deterministic")
        }
        fn try_fill_bytes(&mut self, _: &mut [u8]) -> Result<(), Self::Error> {
            panic!("zooming is deterministic")
        }
    }

    #[test]
    fn it_zooms_in_on_the_best_point() {
        let setup = Setup::new(Space::Points(Set::Box { dim: 1 }), Some(20_000));
        let mut base = Zooming::build(ZoomingParams { scale: 0.2, ..Default::default() }, &setup).unwrap();
        let x = Context::plain(0);
        let mut late = 0.0;
        for round in 0..20_000 {
            let made = base.propose(&x, &mut NoNumbers).unwrap();
            let loss = (made.decision.0[0] - 0.37).abs() / 2.0;
            Base::<Context, Point>::learn(&mut base, &x, &made, Feedback::plain(loss)).unwrap();
            late += if round >= 15_000 { loss / 5_000.0 } else { 0.0 };
        }
        // Uniform play would lose 0.28 a round.
        assert!(late < 0.05, "a mean loss of {late} at the end");
        let near = base.state.active.iter().filter(|a| (a.at - 0.37).abs() < 0.25).count();
        assert!(near * 2 > base.state.active.len(), "{near} of {} points are near", base.state.active.len());
    }
}
