//! What bases over policies and their oracles cost.

use corral_bases::BaseParams;
use std::hint::black_box;
use std::time::{Duration, Instant};

use corral_bases::policies::{
    Costs, ErmOracle, Exp4Params, Reads, Sites, TreeClass, TreeParams, TreeSearch, Workspace,
};
use corral_bases::{Learner, build};
use corral_core::{Arm, Base, Context, ContextShape, Feedback, Policy, Rng, Setup, uniform};
use criterion::{BenchmarkId, Criterion, criterion_group, criterion_main};
use rand::SeedableRng;
use rand_pcg::Pcg64Dxsm;

const CELLS: usize = 8;

/// `policies` random tables over 8 contexts and `actions` actions.
fn tables(policies: usize, actions: usize) -> Setup {
    let mut rng = Pcg64Dxsm::seed_from_u64(1);
    let mut setup = Setup::arms(actions, None);
    setup.context = ContextShape { features: 0, row_features: 0, cells: Some(CELLS) };
    let mut table = || (0..CELLS).map(|_| (rng.next_u64() % actions as u64) as u16).collect();
    setup.policies = Some((0..policies).map(|_| Policy::Table(table())).collect());
    setup
}

/// One round of a base on a tabular world.
fn round(base: &mut dyn Base<Context, Arm>, contexts: &[Context], at: &mut usize, rng: &mut Pcg64Dxsm) {
    *at += 1;
    let x = &contexts[*at % contexts.len()];
    if let Ok(made) = base.propose(x, rng) {
        let loss = f64::from(u8::from(made.decision.index() != *at % 3));
        black_box(base.learn(x, &made, Feedback::plain(loss)).is_ok());
    }
}

/// Nanoseconds per call of `f`, the least of several batches: what it takes when nothing else runs.
fn nanoseconds(batches: u32, batch: u32, mut f: impl FnMut()) -> f64 {
    let mut time = || {
        let start = Instant::now();
        (0..batch).for_each(|_| f());
        start.elapsed().as_nanos() as f64 / f64::from(batch)
    };
    (0..batches).map(|_| time()).fold(f64::INFINITY, f64::min)
}

// How many passes over N numbers does a round of EXP4 take?
fn exp4(c: &mut Criterion) {
    let mut group = c.benchmark_group("exp4 round");
    for (policies, actions) in [(1_000, 3), (10_000, 3), (10_000, 10)] {
        let setup = tables(policies, actions);
        let Ok(mut base) = Exp4Params::default().build(&setup) else { continue };
        let contexts: Vec<Context> = (0..CELLS).map(|cell| Context::tabular(cell, actions)).collect();
        let (mut at, mut rng) = (0, Pcg64Dxsm::seed_from_u64(2));
        let id = BenchmarkId::from_parameter(format!("N={policies} K={actions}"));
        group.bench_function(id, |b| b.iter(|| round(&mut base, &contexts, &mut at, &mut rng)));
        let numbers: Vec<f64> = (0..policies).map(|_| uniform(&mut rng)).collect();
        let pass = nanoseconds(20, 100, || {
            black_box(black_box(&numbers).iter().sum::<f64>());
        });
        let own = nanoseconds(20, 100, || round(&mut base, &contexts, &mut at, &mut rng));
        println!(
            "exp4 N={policies} K={actions}: {own:.0} ns a round, one pass {pass:.0} ns, ratio {:.2}",
            own / pass
        );
    }
    group.finish();
}

/// `rows` examples with one cost each, 20 features, 4 actions, a planted tree.
fn examples(rows: usize) -> (Setup, Sites, Costs) {
    let mut rng = Pcg64Dxsm::seed_from_u64(3);
    let mut setup = Setup::arms(4, None);
    setup.context = ContextShape { features: 20, row_features: 0, cells: None };
    let mut sites = Sites::new(Reads { actions: 4, cells: None, features: Some(20) });
    let mut costs = Costs::new(4);
    for _ in 0..rows {
        let x: Vec<f64> = (0..20).map(|_| uniform(&mut rng)).collect();
        let right = usize::from(x[0] > 0.3) + 2 * usize::from(x[1] + 0.3 * x[2] > 0.6);
        let action = (rng.next_u64() % 4) as usize;
        let loss = f64::from(u8::from((action != right) == (uniform(&mut rng) < 0.8)));
        if let Ok(site) = sites.enter(&Context::shared(x, 4)) {
            costs.observe(&sites, site, action, 4.0, loss);
        }
    }
    (setup, sites, costs)
}

// Is the greedy tree oracle linear in the number of examples? Depth 10, 20 features.
fn trees(c: &mut Criterion) {
    let mut group = c.benchmark_group("tree oracle, depth 10, d = 20");
    group.sample_size(10).measurement_time(Duration::from_secs(3));
    let mut times = Vec::new();
    for rows in [10_000, 100_000] {
        let (setup, sites, costs) = examples(rows);
        let params = TreeParams { depth: 10, search: TreeSearch::Greedy, ..TreeParams::default() };
        let Ok(class) = TreeClass::new(&params, &setup) else { continue };
        let mut erm = || black_box(class.minimise(&sites, &costs, &mut Workspace::default()).is_ok());
        group.bench_function(BenchmarkId::from_parameter(rows), |b| b.iter(&mut erm));
        times.push(nanoseconds(40, 1, || {
            erm();
        }));
    }
    if let [small, large] = times[..] {
        let (a, b) = (small / 1e6, large / 1e6);
        println!("tree oracle: {a:.1} ms for 10^4, {b:.1} ms for 10^5, ratio {:.2}", large / small);
    }
    group.finish();
}

// What does a round cost between the calls of the oracle, and with them over 2^14 rounds?
fn rounds(c: &mut Criterion) {
    let mut group = c.benchmark_group("round, N = 64, K = 3");
    let mut setup = tables(64, 3);
    setup.horizon = Some(1 << 62);
    let contexts: Vec<Context> = (0..CELLS).map(|cell| Context::tabular(cell, 3)).collect();
    for (name, params) in [
        ("exp4", ""),
        ("epoch-greedy", "variant = \"epochs\""),
        ("iltcb", "preset = \"theory\""),
        ("iltcb", ""),
    ] {
        let table: toml::Table = params.parse().unwrap_or_default();
        let Ok(Learner::Arms(mut base)) = build(name, &table, &setup) else { continue };
        let (mut at, mut rng) = (0, Pcg64Dxsm::seed_from_u64(4));
        let start = Instant::now();
        for _ in 0..1 << 14 {
            round(&mut *base, &contexts, &mut at, &mut rng);
        }
        let whole = start.elapsed().as_nanos() as f64 / f64::from(1 << 14);
        println!("{name} {params}: {whole:.0} ns a round over 2^14 rounds with all calls of the oracle");
        let id = BenchmarkId::from_parameter(format!("{name} {params}"));
        group.bench_function(id, |b| b.iter(|| round(&mut *base, &contexts, &mut at, &mut rng)));
    }
    group.finish();
}

criterion_group!(benches, exp4, trees, rounds);
criterion_main!(benches);
