//! An environment of one's own: a vending machine whose slots run empty, and a band of learners in it.
//!
//! ```sh
//! cargo run --release --example own_environment
//! ```

use corral_core::{
    Arm, Context, Corral, CorralParams, Ensemble, Feedback, Horizon, ParamError, Rng, Setup, uniform,
};
use corral_envs::{EnvError, Environment};
use rand::SeedableRng;

/// Each slot satisfies with its own probability, until it has been used `stock` times in a row.
struct Vending {
    satisfies: Vec<f64>,
    stock: u32,
    used: Vec<u32>,
    context: Context,
    luck: f64,
    best: f64,
}

impl Vending {
    fn new(satisfies: Vec<f64>, stock: u32) -> Result<Self, ParamError> {
        for p in &satisfies {
            ParamError::unit("satisfies", *p)?;
        }
        let slots = satisfies.len();
        let (used, context) = (vec![0; slots], Context::plain(slots));
        Ok(Self { satisfies, stock, used, context, luck: 0.0, best: 0.0 })
    }
}

impl Environment<Context, Arm> for Vending {
    fn setup(&self) -> Setup {
        Setup::arms(self.satisfies.len(), None)
    }

    // One number fixes the round's losses before the decision is seen.
    fn next(&mut self, rng: &mut dyn Rng) -> Result<(), EnvError> {
        self.luck = uniform(rng);
        self.best += 1.0 - self.satisfies.iter().copied().fold(0.0, f64::max);
        Ok(())
    }

    fn context(&self) -> &Context {
        &self.context
    }

    fn loss(&self, decision: &Arm) -> f64 {
        f64::from(self.luck < self.mean_loss(decision))
    }

    fn mean_loss(&self, decision: &Arm) -> f64 {
        match (self.satisfies.get(decision.index()), self.used.get(decision.index())) {
            (Some(p), Some(used)) if *used < self.stock => 1.0 - p,
            (Some(_), Some(_)) => 1.0,
            _ => f64::NAN,
        }
    }

    // Only now does the decision enter the history: every other slot is filled up again.
    fn play(&mut self, decision: &Arm) -> Result<Feedback, EnvError> {
        let loss = self.loss(decision);
        if loss.is_nan() {
            return Err(EnvError::Decision(decision.index().to_string()));
        }
        for (slot, used) in self.used.iter_mut().enumerate() {
            *used = if slot == decision.index() { *used + 1 } else { 0 };
        }
        Ok(Feedback::plain(loss))
    }

    /// Against the best slot, as if it never ran empty.
    fn best_so_far(&self) -> f64 {
        self.best
    }
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    const ROUNDS: u64 = 20_000;
    let mut world = Vending::new(vec![0.6, 0.5, 0.3], 5)?;
    let setup = Setup { horizon: Some(ROUNDS), ..world.setup() };
    let build = |name| corral_bases::build(name, &Default::default(), &setup).ok()?.into_arms();
    let bases: Vec<_> = ["ucb1", "exp3", "random"].into_iter().filter_map(build).collect();
    let master = Corral::new(CorralParams::new(bases.len(), Horizon::Known(ROUNDS)))?;
    let mut band = Ensemble::new(master, bases)?;

    let mut rng = rand_pcg::Pcg64Dxsm::seed_from_u64(1);
    let mut total = 0.0;
    for _ in 0..ROUNDS {
        world.next(&mut rng)?;
        let ticket = band.choose(world.context(), &mut rng)?;
        total += world.mean_loss(&ticket.decision);
        let feedback = world.play(&ticket.decision)?;
        band.learn(world.context(), ticket, feedback.estimate())?;
    }
    println!("mean loss {:.3}, regret {:.0}", total / ROUNDS as f64, total - world.best_so_far());
    println!("followed (ucb1, exp3, random): {:.2?}", band.probabilities());
    Ok(())
}
