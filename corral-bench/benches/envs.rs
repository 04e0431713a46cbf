//! How much a round of an environment costs.

use std::hint::black_box;
use std::time::{Duration, Instant};

use corral_core::Arm;
use corral_core::registry::Kind;
use corral_envs::{AnyEnvironment, build, entries, example, induce};
use criterion::{BatchSize, BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64Dxsm;

fn world(name: &str, params: &str) -> AnyEnvironment {
    let params: toml::Table = params.parse().expect("the benchmark's own table");
    build(name, &params, 1_000_000, &mut Pcg64Dxsm::seed_from_u64(1))
        .expect("the benchmark's own environment")
}

/// One round that plays action 0 and looks at its mean loss, as the runner does.
fn round(world: &mut AnyEnvironment, rng: &mut Pcg64Dxsm) -> f64 {
    match world {
        AnyEnvironment::Arms(env) => {
            env.next(rng).expect("a round");
            let mean = env.mean_loss(&Arm(0));
            env.play(&Arm(0)).expect("an arm").estimate() + mean
        }
        AnyEnvironment::Points(_) => 0.0,
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
    for entry in entries().filter(|e| e.kind != Kind::Points) {
        let Some(params) = example(entry.name) else { continue };
        // The files of examples lie beside the environments.
        let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../corral-envs/tests/data/");
        let mut world = world(entry.name, &params.replace("tests/data/", folder));
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
        let AnyEnvironment::Arms(env) = &world else { continue };
        group.bench_function(BenchmarkId::from_parameter(policies), |b| {
            b.iter(|| black_box(env.best_so_far()));
        });
    }
    group.finish();
}

/// A CSV of `rows` rows: eight numbers, a category, a class of four.
fn generate(rows: usize) -> tempfile::NamedTempFile {
    let mut rng = Pcg64Dxsm::seed_from_u64(7);
    let mut text = String::from("x0,x1,x2,x3,x4,x5,x6,x7,colour,class\n");
    for _ in 0..rows {
        for _ in 0..8 {
            text.push_str(&format!("{:.5},", 20.0 * rng.random::<f64>() - 10.0));
        }
        let pick = |n: f64, u: f64| (n * u) as usize;
        let colour = ["red", "green", "blue", "yellow", "violet"][pick(5.0, rng.random())];
        text.push_str(&format!("{colour},{}\n", pick(4.0, rng.random())));
    }
    let mut file = tempfile::Builder::new().suffix(".csv").tempfile().expect("a temporary file");
    std::io::Write::write_all(&mut file, text.as_bytes()).expect("space for the file");
    file
}

/// The shortest of several runs of `call`, in seconds.
fn shortest(mut call: impl FnMut() -> Duration) -> f64 {
    (0..7).map(|_| call().as_secs_f64()).fold(f64::INFINITY, f64::min)
}

// How many times the raw reading of records by the `csv` crate does a CSV cost through `dataset`: to build it (which
// reads the file once, to learn its columns and check every row), and to play it? To play it is to stay below 3.
fn csv_file(c: &mut Criterion) {
    let rows = if std::env::args().any(|a| a == "--test") { 500 } else { 60_000 };
    let file = generate(rows);
    let bytes = file.path().metadata().expect("the file").len();
    let params = format!("file = '{}'", file.path().display());
    let raw = || {
        let mut reader = csv::Reader::from_path(file.path()).expect("the file");
        let mut record = csv::ByteRecord::new();
        let mut cells = 0;
        while reader.read_byte_record(&mut record).expect("a record") {
            cells += record.len();
        }
        assert_eq!(cells, 10 * rows);
    };
    let play = |world: &mut AnyEnvironment| {
        let AnyEnvironment::Arms(env) = world else { return };
        let mut rng = Pcg64Dxsm::seed_from_u64(1);
        for _ in 0..rows {
            env.next(&mut rng).expect("a row");
            black_box(env.context());
        }
    };
    let timed = |call: &mut dyn FnMut()| {
        let start = Instant::now();
        call();
        start.elapsed()
    };
    let floor = shortest(|| timed(&mut || raw()));
    let build = shortest(|| timed(&mut || drop(black_box(world("dataset", &params)))));
    let played = shortest(|| {
        let mut world = world("dataset", &params);
        timed(&mut || play(&mut world))
    });
    for (what, seconds) in [("csv crate", floor), ("dataset, built", build), ("dataset, played", played)] {
        let speed = bytes as f64 / seconds / 1e6;
        println!("{what}: {speed:.0} MB/s, {:.2} times the csv crate's time", seconds / floor);
    }
    let mut group = c.benchmark_group("envs/csv");
    group.sample_size(10).throughput(Throughput::Bytes(bytes));
    group.bench_function("csv crate", |b| b.iter(raw));
    group.bench_function("dataset, built", |b| b.iter(|| world("dataset", &params)));
    group.bench_function("dataset, played", |b| {
        b.iter_batched_ref(|| world("dataset", &params), play, BatchSize::PerIteration);
    });
    group.finish();
}

criterion_group!(benches, bernoulli, every, induced, best, csv_file);
criterion_main!(benches);
