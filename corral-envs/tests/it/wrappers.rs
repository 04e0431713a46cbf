//! Running: what was paid is measured.

use corral_core::{Arm, Base, BaseError, Context, Feedback, Order, Proposal, Rng};
use corral_envs::{AnyEnvironment, Environment, RunError, alone, build, induce};
use rand::SeedableRng;
use rand_pcg::Pcg64Dxsm;

fn world(name: &str, params: &str, rounds: u64) -> Box<dyn Environment<Context, Arm>> {
    let params: toml::Table = params.parse().unwrap();
    match build(name, &params, rounds, &mut Pcg64Dxsm::seed_from_u64(1)).unwrap() {
        AnyEnvironment::Arms(world) => world,
        AnyEnvironment::Points(_) => unreachable!(),
    }
}

/// Plays one arm, and remembers what it was told.
#[derive(Default)]
struct Stubborn {
    arm: u32,
    ranges: Vec<(f64, Option<u64>)>,
    seen: u64,
    unseen: u64,
}

impl Base<Context, Arm> for Stubborn {
    fn propose(&mut self, _x: &Context, _rng: &mut dyn Rng) -> Result<Proposal<Arm>, BaseError> {
        Ok(Proposal::new(Arm(self.arm)))
    }
    fn learn(&mut self, _x: &Context, _made: &Proposal<Arm>, feedback: Feedback) -> Result<(), BaseError> {
        match feedback.observed() {
            Some(_) => self.seen += 1,
            None => self.unseen += 1,
        }
        Ok(())
    }
    fn apply_order(&mut self, order: Order) -> Result<(), BaseError> {
        self.ranges.push((order.range(), order.remaining()));
        Ok(())
    }
    fn save(&self) -> Vec<u8> {
        Vec::new()
    }
    fn load(&mut self, _state: &[u8]) -> Result<(), BaseError> {
        Ok(())
    }
}

fn run(
    env: &mut dyn Environment<Context, Arm>,
    base: &mut Stubborn,
    rounds: u64,
) -> Result<corral_envs::Run, RunError> {
    alone(env, base, rounds, &mut Pcg64Dxsm::seed_from_u64(3), &mut Pcg64Dxsm::seed_from_u64(4))
}

#[test]
fn regret_is_what_was_paid_beyond_the_best() {
    let params = "means = [0.9, 0.5, 0.25]";
    let bad = run(&mut *world("bernoulli", params, 400), &mut Stubborn::default(), 400).unwrap();
    assert_eq!(bad.rounds, 400);
    assert!((bad.regret() - 400.0 * 0.65).abs() < 1e-9);
    let middle =
        run(&mut *world("bernoulli", params, 400), &mut Stubborn { arm: 1, ..Stubborn::default() }, 400)
            .unwrap();
    assert!((bad.paid - middle.paid - 400.0 * 0.4).abs() < 1e-9);
}

#[test]
fn a_range_is_told_before_the_round_that_needs_it() {
    let params: toml::Table = "schedule = \"staircase\"\nrange = 8\nannounce = \"exact\"".parse().unwrap();
    let inner = AnyEnvironment::Arms(world("bernoulli", "means = [0.5]", 300));
    let AnyEnvironment::Arms(mut env) = induce(inner, &params, 300).unwrap() else { unreachable!() };
    let mut base = Stubborn::default();
    run(&mut *env, &mut base, 300).unwrap();
    assert_eq!(base.ranges, [(2.0, Some(300)), (4.0, Some(200)), (8.0, Some(100))]);
    assert_eq!(base.seen + base.unseen, 300);
    assert!(base.unseen > 150);
}

#[test]
fn a_failure_names_its_round() {
    let mut env = world("replay", "losses = [[0.5], [0.5]]", 3);
    let error = run(&mut *env, &mut Stubborn::default(), 3).unwrap_err();
    assert_eq!(error.to_string(), "round 2: the data ended after 2 rounds");
    let mut env = world("bernoulli", "means = [0.5]", 3);
    let error = run(&mut *env, &mut Stubborn { arm: 1, ..Stubborn::default() }, 3).unwrap_err();
    assert_eq!(error.to_string(), "round 0: the decision 1 of 1 arms is outside the space");
}
