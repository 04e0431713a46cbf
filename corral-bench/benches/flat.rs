//! What a round costs as the number of bases grows: the dense step, the flat step, and the floor of one pass.

mod common;

use std::hint::black_box;
use std::time::Instant;

use common::{Cheap, floor};
use corral_core::{Arm, Corral, CorralParams, Credit, Ensemble, Horizon, Master, Rate, Step, uniform};
use criterion::{BenchmarkId, Criterion, criterion_group};
use rand::SeedableRng;
use rand_pcg::Pcg64Dxsm;

const SIZES: [usize; 8] = [2, 8, 32, 128, 1 << 10, 1 << 14, 1 << 17, 1 << 20];
const HORIZON: u64 = 1_000_000;

struct Game {
    corral: Corral,
    rng: Pcg64Dxsm,
}

impl Game {
    fn new(bases: usize, step: Step, rate: Rate) -> Self {
        let params = CorralParams { rate, step, ..CorralParams::new(bases, Horizon::Known(HORIZON)) };
        let corral = Corral::new(params).expect("the parameters are good");
        let mut game = Self { corral, rng: Pcg64Dxsm::seed_from_u64(1) };
        // So that probabilities differ, and there are clusters.
        let rounds = if game.corral.is_flat() { 200_000 } else { 200_000 / bases };
        for _ in 0..rounds {
            let base = game.corral.draw(&mut game.rng).0;
            let worse = 0.2 + 0.6 * base as f64 / bases as f64;
            let loss = if uniform(&mut game.rng) < worse { 1.0 } else { 0.0 };
            game.learn(base, loss);
        }
        game
    }

    fn learn(&mut self, base: usize, loss: f64) -> usize {
        let weight = 1.0 / self.corral.probability(base);
        self.corral.update(loss, Credit::Chosen { base, weight }).expect("the credit is good").len()
    }

    /// A whole round of the master: sample, and update with a loss of 1.
    fn round(&mut self) -> usize {
        let base = self.corral.draw(&mut self.rng).0;
        self.learn(base, 1.0)
    }
}

// What does a round of each step cost, as the number of bases grows?
fn rounds(c: &mut Criterion) {
    for (name, step) in [("flat/round", Step::Flat), ("dense/round", Step::Dense)] {
        let mut group = c.benchmark_group(name);
        group.sample_size(10).measurement_time(std::time::Duration::from_millis(500));
        for m in SIZES {
            let mut game = Game::new(m, step, Rate::Balanced);
            group.bench_function(BenchmarkId::from_parameter(m), |b| b.iter(|| game.round()));
        }
        group.finish();
    }
}

type Band = Ensemble<(), Arm, Corral>;

fn band(bases: usize) -> Band {
    let params = CorralParams::new(bases, Horizon::Known(HORIZON));
    Band::new(Corral::new(params).expect("the parameters are good"), Cheap::bases(bases))
        .expect("the bases are good")
}

fn band_round(band: &mut Band, rng: &mut Pcg64Dxsm) {
    let ticket = band.choose(&(), rng).expect("the bases never fail");
    let loss = 0.25 * f64::from(ticket.decision.0);
    black_box(band.learn(&(), ticket, loss).expect("the loss is good"));
}

// What does a whole round of an ensemble cost, with many cheap bases?
fn ensembles(c: &mut Criterion) {
    let mut group = c.benchmark_group("flat/ensemble");
    for m in [128, 100_000] {
        let (mut band, mut rng) = (band(m), Pcg64Dxsm::seed_from_u64(1));
        group.bench_function(BenchmarkId::from_parameter(m), |b| b.iter(|| band_round(&mut band, &mut rng)));
    }
    group.finish();
}

/// Nanoseconds of one call, over `n` calls.
fn time(n: usize, mut f: impl FnMut()) -> f64 {
    let start = Instant::now();
    for _ in 0..n {
        f();
    }
    start.elapsed().as_nanos() as f64 / n as f64
}

/// The lower decile: others may be using the machine.
fn low(mut times: Vec<f64>) -> f64 {
    times.sort_by(f64::total_cmp);
    times[times.len() / 10]
}

/// Nanoseconds at a number of bases: flat, dense, floor.
type Row = (usize, [f64; 3]);

/// Rounds of both steps and the floor, measured in turns in one run.
fn ratios(batches: usize) -> Vec<Row> {
    let mut rows = Vec::new();
    println!("a round, ns\n{:>9} {:>9} {:>10} {:>10} {:>8}", "bases", "flat", "dense", "floor", "d/f");
    for m in SIZES {
        let mut flat = Game::new(m, Step::Flat, Rate::Balanced);
        let mut dense = Game::new(m, Step::Dense, Rate::Balanced);
        let (w, rates) = (vec![m as f64; m], vec![0.001; m]);
        let batches = if m > 1 << 14 { batches.min(20) } else { batches };
        let few = (200_000 / m).clamp(2, 2_000);
        let mut found = [const { Vec::new() }; 3];
        for _ in 0..batches {
            found[0].push(time(1_000, || _ = black_box(flat.round())));
            found[1].push(time(few, || _ = black_box(dense.round())));
            let mut lambda = 0.5;
            found[2].push(time(few, || lambda = 0.5 * floor(black_box(&w), black_box(&rates), lambda)));
            black_box(lambda);
        }
        let [flat, dense, floor] = found.map(low);
        println!("{m:>9} {flat:>9.0} {dense:>10.0} {floor:>10.0} {:>8.2}", dense / flat);
        rows.push((m, [flat, dense, floor]));
    }
    rows
}

/// The curve of the README: time against bases, both in logarithms.
fn curve(rows: &[Row]) -> String {
    let x = |bases: usize| 64.0 + 22.8 * (bases as f64).log2();
    let y = |ns: f64| 286.0 - 38.29 * (ns / 10.0).log10();
    let grouped = |n: usize| match n {
        0..1_000 => n.to_string(),
        1_000..1_000_000 => format!("{},{:03}", n / 1_000, n % 1_000),
        _ => format!("{},{:03},{:03}", n / 1_000_000, n / 1_000 % 1_000, n % 1_000),
    };
    let mut lines = vec![
        r##"<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 640 330" font-family="sans-serif" font-size="12" fill="#444">"##.to_owned(),
        "<title>The time of a round of the master against the number of bases: dense step, flat step, and one pass over the numbers</title>".to_owned(),
        r##"<rect width="640" height="330" fill="#fff"/>"##.to_owned(),
        r##"<text x="292" y="324" text-anchor="middle">bases M</text>"##.to_owned(),
    ];
    let labels = ["10 ns", "100 ns", "1 µs", "10 µs", "100 µs", "1 ms", "10 ms", "100 ms"];
    for (power, label) in labels.iter().enumerate() {
        let at = y(10f64.powi(power as i32 + 1));
        lines.push(format!(r##"<line x1="64" x2="520" y1="{at:.1}" y2="{at:.1}" stroke="#ddd"/>"##));
        lines.push(format!(r##"<text x="58" y="{:.1}" text-anchor="end">{label}</text>"##, at + 4.0));
    }
    for (bases, _) in rows {
        let label = grouped(*bases);
        lines.push(format!(r##"<text x="{:.1}" y="302" text-anchor="middle">{label}</text>"##, x(*bases)));
    }
    for (which, name, ink) in [
        (1, "dense step", r##"stroke="#b5451b""##),
        (2, "one pass", r##"stroke="#888" stroke-dasharray="4 3""##),
        (0, "flat step", r##"stroke="#1b5fb5""##),
    ] {
        let points: Vec<_> = rows.iter().map(|(m, ns)| format!("{:.1},{:.1}", x(*m), y(ns[which]))).collect();
        lines.push(format!(
            r##"<polyline points="{}" fill="none" stroke-width="2" {ink}/>"##,
            points.join(" ")
        ));
        let end = rows.last().map_or(0.0, |(_, ns)| y(ns[which]) + 4.0);
        lines.push(format!(r##"<text x="528" y="{end:.1}">{name}</text>"##));
    }
    lines.join("\n") + "\n</svg>\n"
}

/// From how many bases on is the flat step the faster one, at which rates? Dense over flat.
fn crossover(batches: usize) {
    const RATES: [f64; 5] = [0.001, 0.01, 0.1, 0.3, 1.0];
    println!(
        "\ndense round/flat round\n{:>9} {:>7.3} {:>7.2} {:>7.1} {:>7.1} {:>7.0}",
        "bases", RATES[0], RATES[1], RATES[2], RATES[3], RATES[4]
    );
    for m in [32, 64, 128, 192, 256, 384, 512, 1_024] {
        print!("{m:>9}");
        for rate in RATES {
            let mut flat = Game::new(m, Step::Flat, Rate::Fixed(rate));
            let mut dense = Game::new(m, Step::Dense, Rate::Fixed(rate));
            let mut found = [const { Vec::new() }; 2];
            for _ in 0..batches {
                found[0].push(time(500, || _ = black_box(flat.round())));
                found[1].push(time(500, || _ = black_box(dense.round())));
            }
            let [flat, dense] = found.map(low);
            print!(" {:>7.2}", dense / flat);
        }
        println!();
    }
}

/// An ensemble round over many bases beside one over few.
fn bands(batches: usize) {
    let mut bands = [(band(128), Vec::new()), (band(100_000), Vec::new())];
    let mut rng = Pcg64Dxsm::seed_from_u64(1);
    for _ in 0..batches {
        for (band, times) in &mut bands {
            times.push(time(1_000, || band_round(band, &mut rng)));
        }
    }
    let [few, many] = bands.map(|(_, times)| low(times));
    println!("\nensemble round, ns: {few:.0} over 128 bases, {many:.0} over 100000, ratio {:.2}", many / few);
}

criterion_group!(benches, rounds, ensembles);

fn main() {
    if !std::env::args().any(|a| a == "--test") {
        let rows = ratios(300);
        if let Some(file) = std::env::var_os("CORRAL_SVG") {
            std::fs::write(file, curve(&rows)).expect("the file can be written");
        }
        crossover(60);
        bands(300);
    }
    benches();
    Criterion::default().configure_from_args().final_summary();
}
