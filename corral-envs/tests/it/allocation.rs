//! A round of an environment allocates nothing once the first rounds are over.

use corral_core::{Arm, Context, Point, Space};
use corral_envs::{AnyEnvironment, Environment, build, entries, example};
use rand::SeedableRng;
use rand_pcg::Pcg64Dxsm;

/// Allocations of 1000 rounds as a runner plays them, after 100 to warm up.
fn rounds<D>(env: &mut dyn Environment<Context, D>, decisions: &[D]) -> u64 {
    let mut rng = Pcg64Dxsm::seed_from_u64(1);
    let mut before = 0;
    for round in 0..1100 {
        if round == 100 {
            before = crate::counting::calls();
        }
        let decision = &decisions[round % decisions.len()];
        env.next(&mut rng).unwrap();
        std::hint::black_box(env.context());
        assert!(env.mean_loss(decision).is_finite() && env.loss(decision).is_finite());
        env.play(decision).unwrap();
    }
    crate::counting::calls() - before
}

fn allocations(name: &str) -> u64 {
    let params: toml::Table = example(name).unwrap().parse().unwrap();
    match build(name, &params, 2000, &mut Pcg64Dxsm::seed_from_u64(1)).unwrap() {
        AnyEnvironment::Arms(mut env) => {
            // The first two arms are there in every round of every example.
            rounds(&mut *env, &[Arm(0), Arm(1)])
        }
        AnyEnvironment::Points(mut env) => {
            let Space::Points(set) = env.setup().space else { panic!("{name} has no points") };
            let corner = |sign: f64| {
                let mut at = vec![0.0; set.dim()];
                set.linear_min(&vec![sign; set.dim()], &mut at).unwrap();
                Point(at)
            };
            rounds(&mut *env, &[corner(1.0), corner(-1.0)])
        }
    }
}

#[test]
fn the_counter_counts() {
    let before = crate::counting::calls();
    drop(std::hint::black_box(vec![1u8; 100]));
    assert_eq!(crate::counting::calls() - before, 1);
}

#[test]
fn a_round_allocates_nothing() {
    let found: Vec<(&str, u64)> = entries().map(|e| (e.name, allocations(e.name))).collect();
    for name in ["bernoulli", "switching", "planted", "linear", "reference-ball"] {
        assert!(found.iter().any(|f| f.0 == name), "no environment is called {name}");
    }
    // The examples of these begin again at the end of their short files, which are opened afresh.
    let most = |name: &str| if ["dataset", "logged"].contains(&name) { 250 } else { 0 };
    let guilty: Vec<_> = found.iter().filter(|f| f.1 > most(f.0)).collect();
    assert!(guilty.is_empty(), "allocations in 1000 rounds: {guilty:?}");
}
