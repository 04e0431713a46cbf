//! What a round of the master costs, beside the floor: one pass computing sum_i 1/(w_i - eta_i lambda).

mod common;

use std::hint::black_box;
use std::time::Instant;

use common::floor;
use corral_core::{Corral, CorralParams, Credit, Horizon, Master, Rate};
use criterion::{BenchmarkId, Criterion, criterion_group};
use rand::SeedableRng;
use rand_pcg::Pcg64Dxsm;

const SIZES: [usize; 5] = [2, 8, 32, 128, 1024];

/// The floor, written plainly: one sum.
fn plain_floor(w: &[f64], rates: &[f64], lambda: f64) -> f64 {
    w.iter().zip(rates).map(|(w, e)| 1.0 / (w - e * lambda)).sum()
}

struct Game {
    corral: Corral,
    rng: Pcg64Dxsm,
}

impl Game {
    fn new(bases: usize) -> Self {
        let params =
            CorralParams { rate: Rate::Balanced, ..CorralParams::new(bases, Horizon::Known(1_000_000)) };
        let corral = Corral::new(params).expect("parameters are valid");
        Self { corral, rng: Pcg64Dxsm::seed_from_u64(1) }
    }

    /// A whole round of the master: sample, update with loss 1.
    fn round(&mut self) -> usize {
        let base = self.corral.draw(&mut self.rng).0;
        let weight = 1.0 / self.corral.probability(base);
        self.corral.update(1.0, Credit::Chosen { base, weight }).expect("the credit is valid").len()
    }
}

// What does a whole round of the master cost, as the number of bases grows?
fn rounds(c: &mut Criterion) {
    let mut group = c.benchmark_group("master/round");
    for m in SIZES {
        let mut game = Game::new(m);
        group.bench_function(BenchmarkId::from_parameter(m), |b| b.iter(|| game.round()));
    }
    group.finish();
}

// What does the floor cost?
fn floors(c: &mut Criterion) {
    let mut group = c.benchmark_group("master/floor");
    for m in SIZES {
        let (w, rates) = (vec![m as f64; m], vec![0.001; m]);
        group.bench_function(BenchmarkId::from_parameter(m), |b| {
            b.iter(|| floor(black_box(&w), black_box(&rates), black_box(0.5)));
        });
    }
    group.finish();
}

// What does credit to every base cost, as with the likelihood rule?
fn shared(c: &mut Criterion) {
    let mut group = c.benchmark_group("master/shared");
    for m in SIZES {
        let mut game = Game::new(m);
        let mut weights = vec![0.0; m];
        group.bench_function(BenchmarkId::from_parameter(m), |b| {
            b.iter(|| {
                let base = game.corral.draw(&mut game.rng).0;
                // Every second base proposed the same decision.
                let same: f64 = game.corral.probabilities().iter().skip(base % 2).step_by(2).sum();
                for (i, w) in weights.iter_mut().enumerate() {
                    *w = if i % 2 == base % 2 { 1.0 / same } else { 0.0 };
                }
                game.corral.update(1.0, Credit::Shared(&weights)).expect("the credit is valid").len()
            });
        });
    }
    group.finish();
}

// What does the draw alone cost?
fn samples(c: &mut Criterion) {
    let mut group = c.benchmark_group("master/sample");
    for m in SIZES {
        let mut game = Game::new(m);
        group
            .bench_function(BenchmarkId::from_parameter(m), |b| b.iter(|| game.corral.draw(&mut game.rng).0));
    }
    group.finish();
}

/// Nanoseconds of one call, over `n` calls.
fn time(n: u32, mut f: impl FnMut()) -> f64 {
    let start = Instant::now();
    for _ in 0..n {
        f();
    }
    start.elapsed().as_nanos() as f64 / f64::from(n)
}

/// The ratios of a round to the floor, measured in turns in one run, by the lower decile of many short
/// batches (others may be using the machine). A round can only
/// begin when the one before has ended; so in one column the next pass of the floor waits for the one before, as
/// a search for lambda would, and in the other passes may overlap.
fn ratios(batches: usize) {
    println!(
        "{:>6} {:>9} {:>9} {:>9} {:>9} {:>9}",
        "bases", "round ns", "floor ns", "/ floor", "/ overlap", "/ plain"
    );
    for m in SIZES {
        let n = (10_000 / m as u32).max(20);
        let mut game = Game::new(m);
        let (w, rates) = (vec![m as f64; m], vec![0.001; m]);
        let mut found = [const { Vec::new() }; 4];
        for _ in 0..batches {
            found[0].push(time(n, || {
                black_box(game.round());
            }));
            let mut lambda = 0.5;
            found[1].push(time(n, || {
                lambda = floor(black_box(&w), black_box(&rates), lambda) * 0.5;
            }));
            black_box(lambda);
            found[2].push(time(n, || {
                black_box(floor(black_box(&w), black_box(&rates), black_box(0.5)));
            }));
            let mut lambda = 0.5;
            found[3].push(time(n, || {
                lambda = plain_floor(black_box(&w), black_box(&rates), lambda) * 0.5;
            }));
            black_box(lambda);
        }
        let [round, chained, overlapping, plain] = found.map(|mut times| {
            times.sort_by(f64::total_cmp);
            times[times.len() / 10]
        });
        println!(
            "{m:>6} {round:>9.1} {chained:>9.1} {:>9.2} {:>9.2} {:>9.2}",
            round / chained,
            round / overlapping,
            round / plain
        );
    }
}

criterion_group!(benches, rounds, floors, shared, samples);

fn main() {
    let quick = std::env::args().any(|a| a == "--test");
    ratios(if quick { 1 } else { 2_001 });
    benches();
    Criterion::default().configure_from_args().final_summary();
}
