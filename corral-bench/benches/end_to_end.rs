//! The whole program on one core, without the folder: what a user's rounds cost.

use std::hint::black_box;

use corral_lab::run::{CellSpec, Plugins, run_cell};
use corral_lab::spec::Spec;
use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};

const ROUNDS: u64 = 100_000;

fn spec(learner: &str) -> Spec {
    let text = format!(
        r#"
        rounds = {ROUNDS}
        seeds = 100
        environment = {{ name = "bernoulli", means = [0.5, 0.5, 0.5, 0.5, 0.5, 0.5, 0.5, 0.5, 0.5, 0.3] }}
        [[learner]]
        {learner}
        "#
    );
    match Spec::parse(&text) {
        Ok(spec) => spec,
        Err(e) => panic!("{e}"),
    }
}

// How many rounds a second does a cell play: the band of four over ten arms, and its members alone? Two million is
// the goal for the band. Seeds below 8 also record probabilities, rates and ranges.
fn rounds(c: &mut Criterion) {
    let band = r#"
        master = { name = "corral" }
        bases = ["ucb1", "exp3", "thompson", "tsallis-inf"]
    "#;
    let mut group = c.benchmark_group("end_to_end");
    group.throughput(Throughput::Elements(ROUNDS)).sample_size(10);
    let cases = [
        ("corral over four", band, 50),
        ("corral over four, traced", band, 0),
        ("ucb1", r#"base = { name = "ucb1" }"#, 50),
        ("exp3", r#"base = { name = "exp3" }"#, 50),
        ("thompson", r#"base = { name = "thompson" }"#, 50),
        ("tsallis-inf", r#"base = { name = "tsallis-inf" }"#, 50),
    ];
    for (name, learner, seed) in cases {
        let spec = spec(learner);
        let cell = CellSpec::of(&spec, seed);
        group.bench_function(BenchmarkId::from_parameter(name), |b| {
            b.iter(|| black_box(run_cell(&spec, &cell, &Plugins::default(), &|| false, &|_| ())));
        });
    }
    group.finish();
}

criterion_group!(benches, rounds);
criterion_main!(benches);
