//! Worlds that between them fit every base, the rounds of a band of them, and what a base costs in a world of `corral-envs`.

#![allow(dead_code)]

use std::sync::Arc;

use corral_bases::{Learner, build};
use corral_core::{
    Arm, Base, Context, ContextSampler, Corral, Decision, Ensemble, Feedback, Outcome, Point, Policy, Rng,
    Set, Setup, Space, Ticket, uniform,
};
use corral_envs::{AnyEnvironment, alone, induce};
use rand::SeedableRng;
use rand_pcg::Pcg64Dxsm;

/// A loss, with its cost where the band asks for one.
pub fn costing<D: Decision>(
    band: &corral_bases::band::Band<D>,
    x: &Context,
    ticket: &Ticket<D>,
    loss: f64,
    cost: f64,
) -> Feedback {
    let (plain, costed) = (Feedback::plain(loss), Feedback::plain(loss).with_cost(cost));
    if band.check(x, ticket, costed).is_ok() { costed } else { plain }
}

/// Four finite contexts.
struct Cells;

impl ContextSampler for Cells {
    fn sample(&self, rng: &mut dyn Rng) -> Context {
        Context::tabular((uniform(rng) * 4.0) as usize, 4)
    }
}

/// One to four actions are offered, with three shared features or with none.
struct Changing {
    features: usize,
}

impl ContextSampler for Changing {
    fn sample(&self, rng: &mut dyn Rng) -> Context {
        let actions = 1 + (uniform(rng) * 4.0) as usize;
        Context::shared((0..self.features).map(|_| uniform(rng) - 0.5).collect(), actions)
    }
}

/// Four arms.
pub fn plain(horizon: Option<u64>) -> Setup {
    Setup::arms(4, horizon)
}

/// Four actions, three shared features.
pub fn features(horizon: Option<u64>) -> Setup {
    let mut setup = Setup::arms(4, horizon);
    setup.context.features = 3;
    setup
}

/// Four actions with three features each.
pub fn rows(horizon: Option<u64>) -> Setup {
    let mut setup = Setup::arms(4, horizon);
    setup.context.row_features = 3;
    setup
}

/// Four actions, four contexts, nine policies.
pub fn tables(horizon: Option<u64>) -> Setup {
    let mut setup = Setup::arms(4, horizon);
    setup.context.cells = Some(4);
    setup.policies = Some((0..9).map(|i| Policy::Table(vec![i % 4, i / 3, 1, 3 - i % 4])).collect());
    setup.sampler = Some(Arc::new(Cells));
    setup
}

pub fn points(set: Set, horizon: Option<u64>) -> Setup {
    Setup::new(Space::Points(set), horizon)
}

/// Each with a context of it.
pub fn worlds(horizon: Option<u64>) -> Vec<(Setup, Context)> {
    vec![
        (plain(horizon), Context::plain(4)),
        (features(horizon), Context::shared(vec![1.0, 0.5, -0.2], 4)),
        (tables(horizon), Context::tabular(2, 4)),
        (points(Set::Ball { dim: 8 }, horizon), Context::plain(0)),
        (points(Set::Simplex { vertices: 4 }, horizon), Context::plain(0)),
    ]
}

/// Rounds offer between one and all four of the announced actions.
pub fn changing(features: usize, horizon: Option<u64>) -> Setup {
    let mut setup = Setup::arms(4, horizon);
    setup.context.features = features;
    setup.sampler = Some(Arc::new(Changing { features }));
    setup
}

/// The base `name` over arms with its defaults; `None` where it does not fit.
pub fn arms(name: &str, setup: &Setup) -> Option<Box<dyn Base<Context, Arm>>> {
    match build(name, &toml::Table::new(), setup) {
        Ok(Learner::Arms(base)) => Some(base),
        _ => None,
    }
}

/// The base `name` over points with its defaults.
pub fn over_points(name: &str, setup: &Setup) -> Box<dyn Base<Context, Point>> {
    match build(name, &toml::Table::new(), setup) {
        Ok(Learner::Points(base)) => base,
        _ => panic!("{name} does not decide on points"),
    }
}

/// The first half of a round: `band` chooses in `x`, and `loss` says what that costs.
pub fn choose<D: Decision>(
    band: &mut Ensemble<Context, D, Corral>,
    x: &Context,
    rng: &mut Pcg64Dxsm,
    loss: impl FnOnce(&Ticket<D>, &mut Pcg64Dxsm) -> f64,
) -> (Ticket<D>, f64) {
    let ticket = band.choose(x, rng).unwrap();
    let loss = loss(&ticket, rng);
    (ticket, loss)
}

/// A round: what [`choose`] says is learned at once.
pub fn round<D: Decision>(
    band: &mut Ensemble<Context, D, Corral>,
    x: &Context,
    rng: &mut Pcg64Dxsm,
    loss: impl FnOnce(&Ticket<D>, &mut Pcg64Dxsm) -> f64,
) -> Outcome {
    let (ticket, loss) = choose(band, x, rng, loss);
    band.learn(x, ticket, loss).unwrap()
}

/// 1 with probability `mean`, else 0.
pub fn coin(mean: f64, rng: &mut Pcg64Dxsm) -> f64 {
    f64::from(u8::from(uniform(rng) < mean))
}

/// A world of `corral-envs`, and where there is a schedule the E' around it.
#[derive(Debug, Clone)]
pub struct Scene {
    pub world: &'static str,
    pub params: String,
    pub rounds: u64,
    /// What `induce` reads; empty: the world itself.
    pub around: String,
}

impl Scene {
    /// The regret of a base in it, by mean losses.
    pub fn regret(&self, name: &str, params: &str, seed: u64) -> f64 {
        let mut nature = Pcg64Dxsm::seed_from_u64(1_000_000 + seed);
        let table = self.params.parse().unwrap();
        let mut world = corral_envs::build(self.world, &table, self.rounds, &mut nature).unwrap();
        if !self.around.is_empty() {
            world = induce(world, &self.around.parse().unwrap(), self.rounds).unwrap();
        }
        let AnyEnvironment::Arms(mut world) = world else { panic!("{self:?} has points") };
        let Ok(Learner::Arms(mut base)) = build(name, &params.parse().unwrap(), &world.setup()) else {
            panic!("{name} is not built for {self:?}");
        };
        let mut rng = Pcg64Dxsm::seed_from_u64(seed);
        alone(&mut *world, &mut *base, self.rounds, &mut nature, &mut rng).unwrap().regret()
    }

    /// Mean and standard error over seeds.
    pub fn regrets(&self, name: &str, params: &str, seeds: u64) -> (f64, f64) {
        let all: Vec<f64> = (0..seeds).map(|seed| self.regret(name, params, seed)).collect();
        let n = seeds as f64;
        let mean = all.iter().sum::<f64>() / n;
        let variance = all.iter().map(|r| (r - mean).powi(2)).sum::<f64>() / (n - 1.0);
        (mean, (variance / n).sqrt())
    }

    /// Holds the mean regret against a reference figure: within four combined standard errors.
    pub fn compare(&self, name: &str, params: &str, seeds: u64, reference: f64, se: f64) {
        let (mean, own) = self.regrets(name, params, seeds);
        println!("{name} {params} in {self:?}: {mean:.1} +- {own:.1}; reference {reference} +- {se}");
        assert!(
            (mean - reference).abs() <= 4.0 * own.hypot(se),
            "{name} {params} in {self:?}: {mean} +- {own}, not {reference} +- {se}"
        );
    }
}
