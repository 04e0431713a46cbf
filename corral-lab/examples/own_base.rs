//! A learner of your own: what it implements, the laws it is checked against, and a place under a master.
//!
//! `cargo run --release -p corral-lab --example own_base`

use corral_bases::BaseParams;
use std::error::Error;

use corral_bases::arms::Exp3Params;
use corral_core::contract::{self, OnRange, Subject};
use corral_core::{
    Abilities, Arm, Base, BaseError, Context, Corral, CorralParams, Ensemble, Feedback, Horizon, Order,
    Proposal, Rng, Setup, SnapshotError, snapshot, uniform,
};
use rand::SeedableRng;
use rand_pcg::Pcg64Dxsm;
use serde::{Deserialize, Serialize};

/// Plays the arm with the least mean loss, and now and then any arm.
#[derive(Clone, Serialize, Deserialize)]
struct Curious {
    sums: Vec<f64>,
    plays: Vec<f64>,
}

impl Curious {
    fn new(arms: usize) -> Self {
        Self { sums: vec![0.0; arms], plays: vec![0.0; arms] }
    }
}

impl<X: ?Sized> Base<X, Arm> for Curious {
    fn propose(&mut self, _x: &X, rng: &mut dyn Rng) -> Result<Proposal<Arm>, BaseError> {
        let arms = self.sums.len();
        let mean = |arm: usize| self.sums[arm] / self.plays[arm].max(1.0);
        let best = (0..arms).min_by(|a, b| mean(*a).total_cmp(&mean(*b))).unwrap_or(0);
        // Two numbers each round, whatever they decide.
        let (curious, any) = (uniform(rng) < 0.1, (uniform(rng) * arms as f64) as usize);
        Ok(Proposal::new(Arm::at(if curious { any } else { best })))
    }

    fn learn(&mut self, _x: &X, made: &Proposal<Arm>, feedback: Feedback) -> Result<(), BaseError> {
        let arm = made.decision.index();
        if arm >= self.sums.len() {
            return Err(BaseError::Proposal(format!("arm {arm} of {}", self.sums.len())));
        }
        // The mean of what was seen: the weight says how often this base is heard, not how bad the arm is.
        if let Some(loss) = feedback.check(f64::MAX)?.observed() {
            self.sums[arm] += loss;
            self.plays[arm] += 1.0;
        }
        Ok(())
    }

    fn abilities(&self) -> Abilities {
        Abilities::MODEL
    }

    /// It does not look at weights, so a new range is nothing to it.
    fn apply_order(&mut self, order: Order) -> Result<(), BaseError> {
        order.check().map(drop)
    }

    fn save(&self) -> Vec<u8> {
        snapshot::seal("curious", 1, self)
    }

    fn load(&mut self, state: &[u8]) -> Result<(), BaseError> {
        let loaded: Self = snapshot::open("curious", 1, state)?;
        let arms = self.sums.len();
        let good = |v: &f64| (0.0..f64::INFINITY).contains(v);
        if loaded.sums.len() != arms
            || loaded.plays.len() != arms
            || !loaded.sums.iter().chain(&loaded.plays).all(good)
        {
            return Err(SnapshotError::state(format!("not the sums and plays of {arms} arms")).into());
        }
        *self = loaded;
        Ok(())
    }
}

fn main() -> Result<(), Box<dyn Error>> {
    let setup = Setup::arms(3, Some(5_000));
    let subject = Subject::arms("curious", &setup, || Ok(Box::new(Curious::new(3)))).on_range(OnRange::Keep);
    for (law, verdict) in contract::check_all(&subject) {
        println!("{law:14} {}", verdict.map_or_else(|violation| violation.to_string(), |()| "kept".into()));
    }

    let bases: Vec<Box<dyn Base<Context, Arm>>> =
        vec![Box::new(Curious::new(3)), Box::new(Exp3Params::default().build(&setup)?)];
    let master = Corral::new(CorralParams::new(bases.len(), Horizon::Known(5_000)))?;
    let mut band = Ensemble::new(master, bases)?;
    let mut rng = Pcg64Dxsm::seed_from_u64(3);
    let x = Context::plain(3);
    let mut losses = 0.0;
    for _ in 0..5_000 {
        let ticket = band.choose(&x, &mut rng)?;
        let loss = f64::from(u8::from(uniform(&mut rng) < [0.6, 0.2, 0.5][ticket.decision.index()]));
        band.learn(&x, ticket, loss)?;
        losses += loss;
    }
    println!("mean loss {:.3}; the best arm's is 0.2", losses / 5_000.0);
    println!("curious is followed with probability {:.2}", band.probabilities()[0]);
    Ok(())
}
