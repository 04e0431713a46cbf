//! What credit by likelihood costs: the practical preset over the same band with credit `chosen`, in one run.

use std::hint::black_box;
use std::time::Instant;

use corral_bases::band::{Assembler, Band, BandRecipe, Copies, MasterRecipe, Recipe};
use corral_core::{Arm, Context, ContextShape, Crediting, Setup, uniform};
use criterion::{BenchmarkId, Criterion, criterion_group};
use rand::SeedableRng;
use rand_pcg::Pcg64Dxsm;

/// A band in a world where the first arm is the best, and losses are 0 or 1.
struct Case {
    name: String,
    bases: Vec<Recipe>,
    setup: Setup,
    xs: Vec<Context>,
}

impl Case {
    fn arms(bases: &[&str], arms: usize) -> Self {
        let name = format!("{}, {arms} arms", bases.join(", "));
        let setup = Setup::arms(arms, None);
        Self { name, bases: recipes(bases), setup, xs: vec![Context::plain(arms)] }
    }

    /// The same, in a band that has one more arm, which no round offers.
    fn with_a_spare(bases: &[&str], arms: usize) -> Self {
        let plain = Self::arms(bases, arms);
        let offer = Context::plain(arms).offering((0..arms as u32).collect());
        Self {
            name: format!("{}, one spare", plain.name),
            setup: Setup::arms(arms + 1, None),
            xs: vec![offer],
            ..plain
        }
    }

    /// Every action has its own features, or all have the same.
    fn features(bases: &[&str], arms: usize, dim: usize, rows: bool) -> Self {
        let what = if rows { "rows" } else { "features" };
        let name = format!("{}, {arms} arms, {what} of {dim} numbers", bases.join(", "));
        let mut rng = Pcg64Dxsm::seed_from_u64(3);
        let mut numbers = |n: usize| (0..n).map(|_| uniform(&mut rng) - 0.5).collect::<Vec<f64>>();
        let xs = (0..256).map(|_| match rows {
            true => Context::with_rows(vec![], numbers(arms * dim), dim),
            false => Context::shared(numbers(dim), arms),
        });
        let xs = xs.collect();
        let mut setup = Setup::arms(arms, None);
        let (features, row_features) = if rows { (0, dim) } else { (dim, 0) };
        setup.context = ContextShape { features, row_features, ..ContextShape::default() };
        Self { name, bases: recipes(bases), setup, xs }
    }

    fn band(&self, credit: Crediting) -> Band<Arm> {
        let master = MasterRecipe { credit: Some(credit), ..MasterRecipe::named("practical") };
        let recipe = BandRecipe { master, bases: self.bases.clone(), copies: Copies::Count(1) };
        Assembler::new(&self.setup).band(&recipe).expect("the bases are good")
    }

    /// One round: choose, and learn.
    fn round(&self, band: &mut Band<Arm>, at: usize, rng: &mut Pcg64Dxsm) {
        let x = &self.xs[at % self.xs.len()];
        let ticket = band.choose(x, rng).expect("the bases never fail");
        let arm = ticket.decision.index();
        let mean = if arm == 0 { 0.35 } else { 0.45 + 0.05 * (arm % 4) as f64 };
        black_box(band.learn(x, ticket, f64::from(uniform(rng) < mean)).expect("the loss is good"));
    }

    /// Nanoseconds of a round, the mean over a run of 20,000: the least of three runs.
    fn nanoseconds(&self, credit: Crediting) -> f64 {
        let rounds = 20_000;
        let run = |seed| {
            let (mut band, mut rng) = (self.band(credit), Pcg64Dxsm::seed_from_u64(seed));
            let start = Instant::now();
            (0..rounds).for_each(|at| self.round(&mut band, at, &mut rng));
            start.elapsed().as_secs_f64() * 1e9 / rounds as f64
        };
        (0..3).map(run).fold(f64::INFINITY, f64::min)
    }
}

fn recipes(bases: &[&str]) -> Vec<Recipe> {
    bases.iter().map(|name| Recipe::from(*name)).collect()
}

fn cases() -> Vec<Case> {
    let mut cases = vec![Case::arms(&["thompson", "ucb1", "tsallis-inf"], 5)];
    cases.extend([3, 10, 30, 100].map(|arms| Case::arms(&["thompson", "ucb1", "exp3"], arms)));
    cases.push(Case::with_a_spare(&["thompson", "ucb1", "tsallis-inf"], 5));
    cases.push(Case::with_a_spare(&["thompson", "ucb1", "exp3"], 100));
    for (arms, dim) in [(3, 5), (10, 5), (10, 20)] {
        cases.push(Case::features(&["lints", "linucb"], arms, dim, true));
    }
    cases.push(Case::features(&["linucb", "lints", "squarecb"], 10, 20, false));
    cases.push(Case::features(&["linucb", "lints", "squarecb"], 10, 20, true));
    cases.push(Case::arms(&["ucb1", "exp3", "epsilon-greedy"], 3));
    cases
}

// What does a round cost in which every base says how probable the decision was to it?
fn rounds(c: &mut Criterion) {
    let mut group = c.benchmark_group("round under the practical preset");
    for case in cases() {
        for credit in [Crediting::Likelihood, Crediting::Chosen] {
            let (mut band, mut rng) = (case.band(credit), Pcg64Dxsm::seed_from_u64(1));
            let mut at = 0;
            group.bench_function(BenchmarkId::new(format!("{credit:?}"), &case.name), |b| {
                b.iter(|| {
                    at += 1;
                    case.round(&mut band, at, &mut rng);
                });
            });
        }
    }
    group.finish();
}

criterion_group!(benches, rounds);

/// `-- --table` prints the table alone.
fn main() {
    let asked = |word: &str| std::env::args().any(|a| a == word);
    if !asked("--table") {
        benches();
    }
    if asked("--test") || asked("--list") || asked("--profile-time") {
        return;
    }
    println!("| band | likelihood, ns per round | chosen | ratio |\n|---|---|---|---|");
    for case in cases() {
        let (shared, chosen) = (case.nanoseconds(Crediting::Likelihood), case.nanoseconds(Crediting::Chosen));
        println!("| {} | {shared:.0} | {chosen:.0} | {:.1} |", case.name, shared / chosen);
    }
}
