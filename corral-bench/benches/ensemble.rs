//! What a round costs around the master and the bases.

mod common;

use std::hint::black_box;
use std::time::{Duration, Instant};

use common::Cheap;
use corral_core::{
    Arm, Base, BaseExtra, Context, ContextShape, Corral, CorralParams, Credit, Crediting, Ensemble,
    EnsembleParams, Feed, Feedback, Horizon, Master, Proposal, Setup, forward, uniform,
};
use criterion::{BenchmarkId, Criterion, criterion_group};
use rand::SeedableRng;
use rand_pcg::Pcg64Dxsm;

type Band = Ensemble<(), Arm, Corral>;

fn corral(bases: usize) -> Corral {
    Corral::new(CorralParams::new(bases, Horizon::Known(100_000_000))).expect("the parameters are good")
}

fn band(bases: usize, credit: Crediting, feed: Feed) -> Band {
    let params = EnsembleParams { credit, feed, ..EnsembleParams::default() };
    Band::with_params(corral(bases), Cheap::bases(bases), params).expect("the bases are good")
}

/// One round of the ensemble: choose, and learn a loss of 1.
fn round(band: &mut Band, rng: &mut Pcg64Dxsm) {
    let ticket = band.choose(&(), rng).expect("the bases never fail");
    black_box(band.learn(&(), ticket, 1.0).expect("the loss is good"));
}

/// The same round of the master alone.
fn master_round(master: &mut Corral, rng: &mut Pcg64Dxsm) {
    let base = master.draw(rng).0;
    let weight = 1.0 / master.probabilities()[base];
    black_box(master.update(1.0, Credit::Chosen { base, weight }).expect("the loss is good"));
}

/// One round of the ensemble as a learner that a runner drives: proposals into a buffer that is used again.
fn driven_round(band: &mut Band, buffer: &mut Proposal<Arm>, rng: &mut Pcg64Dxsm) {
    buffer.refill(band, &(), rng).expect("the bases never fail");
    Base::learn(band, &(), buffer, Feedback::plain(1.0)).expect("the loss is good");
}

// What does a round cost as bases are added, beside what the master itself costs?
fn chosen(c: &mut Criterion) {
    let mut group = c.benchmark_group("round, credit chosen");
    for bases in [2, 4, 32] {
        let (mut band, mut rng) =
            (band(bases, Crediting::Chosen, Feed::Weighted), Pcg64Dxsm::seed_from_u64(1));
        group.bench_function(BenchmarkId::from_parameter(bases), |b| b.iter(|| round(&mut band, &mut rng)));
    }
    group.finish();
    let mut group = c.benchmark_group("round of the master alone");
    for bases in [2, 4, 32] {
        let (mut master, mut rng) = (corral(bases), Pcg64Dxsm::seed_from_u64(1));
        group.bench_function(BenchmarkId::from_parameter(bases), |b| {
            b.iter(|| master_round(&mut master, &mut rng))
        });
    }
    group.finish();
}

// What does it cost to be driven as a base, the ticket packed into the memo?
fn driven(c: &mut Criterion) {
    let mut group = c.benchmark_group("round, driven as a base");
    for bases in [2, 4, 32] {
        let (mut band, mut rng) =
            (band(bases, Crediting::Chosen, Feed::Weighted), Pcg64Dxsm::seed_from_u64(1));
        let mut buffer = Proposal::new(Arm(0));
        group.bench_function(BenchmarkId::from_parameter(bases), |b| {
            b.iter(|| driven_round(&mut band, &mut buffer, &mut rng));
        });
    }
    group.finish();
}

// What do the rules cost that ask every base?
fn rules(c: &mut Criterion) {
    let mut group = c.benchmark_group("round of 8 bases");
    let table = [
        ("same-decision", Crediting::SameDecision, Feed::Weighted),
        ("likelihood", Crediting::Likelihood, Feed::Weighted),
        ("chosen, everyone", Crediting::Chosen, Feed::Everyone),
    ];
    for (name, credit, feed) in table {
        let (mut band, mut rng) = (band(8, credit, feed), Pcg64Dxsm::seed_from_u64(1));
        group.bench_function(name, |b| b.iter(|| round(&mut band, &mut rng)));
    }
    group.finish();
}

/// A contextual base that keeps its regression to itself.
struct Apart(Box<dyn Base<Context, Arm>>);

impl Base<Context, Arm> for Apart {
    forward!(Base<Context, Arm>: self => self.0, except extra);
    fn extra(&mut self) -> Option<&mut dyn BaseExtra<Context, Arm>> {
        Some(self)
    }
}

impl BaseExtra<Context, Arm> for Apart {
    forward!(BaseExtra<Context, Arm>: self => self.0, except share);
}

// What does it save that bases with the same regression keep it once? The band of the real data, with as many features
// and classes as adult and as pendigits have.
fn shared(c: &mut Criterion) {
    let mut group = c.benchmark_group("round of 8 contextual bases, everyone, likelihood");
    let rules = [
        ("greedy", ""),
        ("epsilon-greedy", "epsilon = 0.05"),
        ("linucb", "alpha = 0.1"),
        ("linucb", "alpha = 1.0"),
        ("regcb", ""),
        ("squarecb", "gamma = 10.0"),
        ("lints", "scale = 0.25\ndraw = \"independent\""),
        ("nlms", ""),
    ];
    for (dim, actions) in [(109, 2), (17, 10)] {
        for (name, together) in [("together", true), ("apart", false)] {
            let mut setup = Setup::arms(actions, Some(100_000_000));
            setup.context = ContextShape { features: dim, ..ContextShape::default() };
            let build = |(name, params): &(&str, &str)| {
                let table = params.parse().expect("the parameters are TOML");
                let learner = corral_bases::build(name, &table, &setup).expect("the parameters are good");
                let base = learner.into_arms().expect("it decides on arms");
                if together { base } else { Box::new(Apart(base)) as Box<dyn Base<Context, Arm>> }
            };
            let params = EnsembleParams {
                credit: Crediting::Likelihood,
                feed: Feed::Everyone,
                ..EnsembleParams::default()
            };
            let bases = rules.iter().map(build).collect();
            let mut band =
                Ensemble::with_params(corral(rules.len()), bases, params).expect("the bases are good");
            let mut rng = Pcg64Dxsm::seed_from_u64(1);
            let xs: Vec<Context> = (0..64)
                .map(|_| Context::shared((0..dim).map(|_| uniform(&mut rng) - 0.5).collect(), actions))
                .collect();
            let mut at = 0;
            group.bench_function(BenchmarkId::new(name, format!("{dim} features, {actions} actions")), |b| {
                b.iter(|| {
                    let x = &xs[at % xs.len()];
                    at += 1;
                    let ticket = band.choose(x, &mut rng).expect("the bases never fail");
                    let loss = f64::from(u8::from(ticket.decision.index() != at % actions));
                    black_box(band.learn(x, ticket, loss).expect("the loss is good"));
                });
            });
        }
    }
    group.finish();
}

criterion_group!(benches, chosen, driven, rules, shared);

/// Nanoseconds of one call: the least of many short measurements.
fn least(mut call: impl FnMut()) -> f64 {
    let mut best = f64::INFINITY;
    let end = Instant::now() + Duration::from_secs(2);
    while Instant::now() < end {
        let start = Instant::now();
        (0..2_000).for_each(|_| call());
        best = best.min(start.elapsed().as_secs_f64() * 1e9 / 2_000.0);
    }
    best
}

fn main() {
    benches();
    if std::env::args().any(|a| a == "--test" || a == "--list") {
        return;
    }
    Criterion::default().configure_from_args().final_summary();
    let figures = [2, 32].map(|bases| {
        let mut rng = Pcg64Dxsm::seed_from_u64(1);
        let (mut band, mut master) = (band(bases, Crediting::Chosen, Feed::Weighted), corral(bases));
        (least(|| round(&mut band, &mut rng)), least(|| master_round(&mut master, &mut rng)))
    });
    let [(round_2, master_2), (round_32, master_32)] = figures;
    println!("round   M = 2: {round_2:.1} ns, M = 32: {round_32:.1} ns");
    println!("master  M = 2: {master_2:.1} ns, M = 32: {master_32:.1} ns");
    let ratio = (round_32 - (master_32 - master_2)) / round_2;
    println!("(round 32 - (master 32 - master 2)) / round 2 = {ratio:.2}    (at most 1.5)");
}
