//! What a round of each master costs, beside Corral's.

use std::hint::black_box;
use std::time::Instant;

use corral_core::masters::{self, CorralProgram, CorralSpec, MasterSetup};
use corral_core::{Credit, Master, draw_base};
use criterion::{BenchmarkId, Criterion, criterion_group};
use rand::SeedableRng;
use rand_pcg::Pcg64Dxsm;

const SIZES: [usize; 2] = [8, 128];
const HORIZON: u64 = 1_000_000;

/// Why a master may cost more than three rounds of Corral.
const REASONS: &[(&str, &str)] = &[
    (
        "trim",
        "baselines give every base an estimate: passes for sums and bounds beside a search of two evaluations, where \
         Corral's loss is in one place",
    ),
    ("eta-grid", "five rates: five steps of Corral, and a hedge"),
];

struct Game {
    master: Box<dyn Master>,
    rng: Pcg64Dxsm,
    round: u64,
}

impl Game {
    fn new(master: Box<dyn Master>) -> Self {
        Self { master, rng: Pcg64Dxsm::seed_from_u64(1), round: 0 }
    }

    fn named(name: &str, bases: usize) -> Self {
        let setup = MasterSetup::new(bases, Some(HORIZON));
        Self::new(masters::build(name, toml::Table::new(), &setup).expect("the defaults are valid"))
    }

    /// A whole round: sample, then update with a loss that differs from base to base and from round to round.
    fn round(&mut self) -> usize {
        let base = draw_base(&mut self.master, &mut self.rng).0;
        let weight = 1.0 / self.master.probabilities()[base];
        self.round += 1;
        let loss = 0.3 + 0.4 * ((self.round * 7 + base as u64 * 3) % 11) as f64 / 11.0;
        self.master.update(loss, Credit::Chosen { base, weight }).expect("the credit is valid").len()
    }

    /// Nanoseconds of a round, over `n` rounds.
    fn time(&mut self, n: u32) -> f64 {
        let start = Instant::now();
        for _ in 0..n {
            black_box(self.round());
        }
        start.elapsed().as_nanos() as f64 / f64::from(n)
    }
}

// What does a whole round cost, master by master, with few bases and with many?
fn rounds(c: &mut Criterion) {
    let mut group = c.benchmark_group("masters/round");
    group.sample_size(20).warm_up_time(std::time::Duration::from_millis(300));
    group.measurement_time(std::time::Duration::from_millis(700));
    for entry in masters::REGISTRY.entries() {
        for bases in SIZES {
            let mut game = Game::named(entry.name, bases);
            group.bench_function(BenchmarkId::new(entry.name, bases), |b| b.iter(|| game.round()));
        }
    }
    group.finish();
}

// What do the rules of the public programs cost, beside the paper's?
fn presets(c: &mut Criterion) {
    let mut group = c.benchmark_group("masters/presets");
    group.sample_size(10).warm_up_time(std::time::Duration::from_millis(200));
    group.measurement_time(std::time::Duration::from_millis(300));
    for rules in [CorralProgram::Paper, CorralProgram::AsModelselection, CorralProgram::AsSmpybandits] {
        let setup = MasterSetup::new(8, Some(HORIZON));
        let spec = CorralSpec { rules, ..CorralSpec::default() };
        let mut game = Game::new(spec.master(&setup).expect("the defaults are valid"));
        group.bench_function(BenchmarkId::from_parameter(format!("{rules:?}")), |b| b.iter(|| game.round()));
    }
    group.finish();
}

/// Nanoseconds of a round of the master `name`, and of Corral's, measured in turns: the lower decile of many short
/// batches, because others may be using the machine.
fn beside_corral(name: &str, bases: usize) -> (f64, f64) {
    let mut games = [Game::named(name, bases), Game::named("corral", bases)];
    let n = (20_000 / bases as u32).max(100);
    let mut times = [const { Vec::new() }; 2];
    for _ in 0..401 {
        for (game, times) in games.iter_mut().zip(&mut times) {
            times.push(game.time(n));
        }
    }
    let [own, corral] = times.map(|mut times| {
        times.sort_by(f64::total_cmp);
        times[times.len() / 10]
    });
    (own, corral)
}

/// Which master costs more than three rounds of Corral, and why?
fn ratios() {
    println!("{:<18}{:>12}{:>8}{:>12}{:>8}", "master", "M = 8, ns", "ratio", "M = 128, ns", "ratio");
    for entry in masters::REGISTRY.entries() {
        let [(few, few_corral), (many, many_corral)] = SIZES.map(|m| beside_corral(entry.name, m));
        let ratio = [few / few_corral, many / many_corral];
        let reason = REASONS.iter().find(|(name, _)| *name == entry.name).map_or("", |(_, why)| why);
        let note = match (ratio.iter().any(|r| *r > 3.0), reason) {
            (true, "") => "above 3, and no reason is given".to_owned(),
            (true, why) => format!("above 3: {why}"),
            (false, _) => String::new(),
        };
        println!("{:<18}{few:>12.0}{:>8.2}{many:>12.0}{:>8.2}  {note}", entry.name, ratio[0], ratio[1]);
    }
}

criterion_group!(benches, rounds, presets);

fn main() {
    if !std::env::args().any(|a| a == "--test") {
        ratios();
    }
    benches();
    Criterion::default().configure_from_args().final_summary();
}
