//! How much a round of an environment costs.

use std::hint::black_box;

use corral_core::Arm;
use corral_envs::{World, build, entries, example, induce};
use criterion::{BenchmarkId, Criterion, criterion_group, criterion_main};
use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64Dxsm;

fn world(name: &str, params: &str) -> World {
    let params: toml::Table = params.parse().expect("the benchmark's own table");
    build(name, &params, 1_000_000, &mut Pcg64Dxsm::seed_from_u64(1))
        .expect("the benchmark's own environment")
}

/// One round that plays action 0 and looks at its mean loss, as the runner does.
fn round(world: &mut World, rng: &mut Pcg64Dxsm) -> f64 {
    match world {
        World::Arms(env) => {
            env.next(rng).expect("a round");
            let mean = env.mean_loss(&Arm(0));
            env.play(&Arm(0)).expect("an arm").estimate() + mean
        }
        World::Points(_) => 0.0,
    }
}

// How does a Bernoulli round grow with the number of arms, beside the drawing of one number (the first row)?
// A round at K = 10 is to stay below 20 draws.
fn bernoulli(c: &mut Criterion) {
    let mut group = c.benchmark_group("envs/bernoulli");
    let mut rng = Pcg64Dxsm::seed_from_u64(2);
    group.bench_function("one random f64", |b| b.iter(|| black_box(rng.random::<f64>())));
    for arms in [2, 10, 100, 1000] {
        let mut world = world("bernoulli", &format!("means = {:?}", vec![0.5; arms]));
        group.bench_function(BenchmarkId::from_parameter(arms), |b| {
            b.iter(|| black_box(round(&mut world, &mut rng)));
        });
    }
    group.finish();
}

// What does a round of each environment cost, as its example builds it?
fn every(c: &mut Criterion) {
    let mut group = c.benchmark_group("envs/round");
    for entry in entries().iter().filter(|e| e.kind != "points") {
        let Some(params) = example(entry.name) else { continue };
        let mut world = world(entry.name, params);
        let mut rng = Pcg64Dxsm::seed_from_u64(2);
        group.bench_function(entry.name, |b| b.iter(|| black_box(round(&mut world, &mut rng))));
    }
    group.finish();
}

// What does E' add to a Bernoulli round, by schedule?
fn induced(c: &mut Criterion) {
    let mut group = c.benchmark_group("envs/induced");
    for schedule in ["constant", "decay", "staircase", "starve-good"] {
        let params = format!("schedule = \"{schedule}\"\nrange = 8");
        let params: toml::Table = params.parse().expect("the benchmark's own table");
        let inner = world("bernoulli", &format!("means = {:?}", vec![0.5; 10]));
        let mut world = induce(inner, &params, 1_000_000).expect("the benchmark's own schedule");
        let mut rng = Pcg64Dxsm::seed_from_u64(2);
        group.bench_function(schedule, |b| b.iter(|| black_box(round(&mut world, &mut rng))));
    }
    group.finish();
}

// What does the best policy in hindsight cost at a checkpoint, by the size of the class (8 contexts)?
fn best(c: &mut Criterion) {
    let mut group = c.benchmark_group("envs/best_so_far");
    for policies in [64, 1024, 16_384] {
        let mut world = world("planted", &format!("policies = {policies}"));
        let mut rng = Pcg64Dxsm::seed_from_u64(2);
        (0..1000).for_each(|_| _ = round(&mut world, &mut rng));
        let World::Arms(env) = &world else { continue };
        group.bench_function(BenchmarkId::from_parameter(policies), |b| {
            b.iter(|| black_box(env.best_so_far()));
        });
    }
    group.finish();
}

criterion_group!(benches, bernoulli, every, induced, best);
criterion_main!(benches);
