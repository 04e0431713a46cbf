//! Rounds of bases over arms and contexts, as multiples of what they cannot do without.

use std::hint::black_box;
use std::time::{Duration, Instant};

use corral_bases::{Learner, build};
use corral_core::{Arm, Base, Context, ContextShape, Feedback, Setup};
use criterion::{BenchmarkId, Criterion, criterion_group, criterion_main};
use nalgebra::{DMatrix, DVector};
use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64Dxsm;

fn make(name: &str, params: &str, setup: &Setup) -> Box<dyn Base<Context, Arm>> {
    match build(name, &params.parse().unwrap_or_default(), setup) {
        Ok(Learner::Arms(base)) => base,
        _ => panic!("{name} is not built"),
    }
}

/// One propose + learn. Losses are cheap to make, and differ between arms.
fn round(base: &mut dyn Base<Context, Arm>, x: &Context, rng: &mut Pcg64Dxsm, t: u64) {
    let made = base.propose(x, rng).unwrap_or_default();
    let loss = if made.decision.0 == 3 { (t & 3) as f64 * 0.1 } else { (t & 1) as f64 };
    let _ = base.learn(x, black_box(&made), Feedback::plain(loss));
}

/// The shortest of several means over `rounds` calls, in nanoseconds.
fn measure(rounds: u64, mut call: impl FnMut(u64)) -> f64 {
    let mut best = f64::INFINITY;
    for _ in 0..7 {
        let start = Instant::now();
        (0..rounds).for_each(&mut call);
        best = best.min(start.elapsed().as_secs_f64() * 1e9 / rounds as f64);
    }
    best
}

const ACTIONS: usize = 10;
const DIM: usize = 20;

fn is_test() -> bool {
    std::env::args().any(|a| a == "--test")
}

/// How many times one `rng.random::<f64>()` per arm does a round cost, K = 10?
fn arms(c: &mut Criterion) {
    let setup = Setup::arms(ACTIONS, Some(u64::MAX));
    let x = Context::plain(ACTIONS);
    let names = ["ucb1", "exp3", "thompson", "tsallis-inf", "kl-ucb", "moss", "ucb-v", "epsilon-greedy"];
    let rounds = if is_test() { 100 } else { 200_000 };
    let mut rng = Pcg64Dxsm::seed_from_u64(1);
    let floor = measure(rounds, |_| {
        for _ in 0..ACTIONS {
            black_box(rng.random::<f64>());
        }
    });
    println!("rng.random::<f64>() for {ACTIONS} arms: {floor:.1} ns");
    for name in names {
        let mut base = make(name, "", &setup);
        let found = measure(rounds, |t| round(&mut *base, &x, &mut rng, t));
        println!("{name}: {found:.1} ns a round, {:.1} times the generator", found / floor);
    }
    // Arms that are alike are the worst case of a sampler that draws only what can win.
    let mut base = make("thompson", "", &setup);
    let found = measure(rounds, |t| {
        let made = base.propose(&x, &mut rng).unwrap_or_default();
        let _ = base.learn(&x, black_box(&made), Feedback::plain((t & 1) as f64));
    });
    println!("thompson, arms alike: {found:.1} ns a round, {:.1} times the generator", found / floor);
    let mut group = c.benchmark_group("a round over 10 arms");
    for name in names {
        let mut base = make(name, "", &setup);
        let mut rng = Pcg64Dxsm::seed_from_u64(2);
        let mut t = 0;
        group.bench_function(BenchmarkId::from_parameter(name), |b| {
            b.iter(|| {
                t += 1;
                round(&mut *base, &x, &mut rng, t);
            });
        });
    }
    group.finish();
}

/// A ring of contexts, so that none is predicted by the processor.
fn contexts(by_rows: bool) -> Vec<Context> {
    let mut rng = Pcg64Dxsm::seed_from_u64(3);
    let mut numbers = |n: usize| (0..n).map(|_| rng.random::<f64>() - 0.5).collect::<Vec<f64>>();
    (0..64)
        .map(|_| {
            if by_rows {
                Context::with_rows(vec![], numbers(ACTIONS * DIM), DIM)
            } else {
                Context::shared(numbers(DIM), ACTIONS)
            }
        })
        .collect()
}

/// How many times the bare nalgebra kernels that it needs does a round of LinUCB cost, shared parameters, d = 20, K = 10?
/// The kernels: theta z and z^T V^-1 z for every action, V^-1 z, and two rank-one updates (V^-1, and V for its refresh).
fn linear(c: &mut Criterion) {
    let mut setup = Setup::arms(ACTIONS, None);
    setup.context = ContextShape { row_features: DIM, ..ContextShape::default() };
    let ring = contexts(true);
    let rounds = if is_test() { 100 } else { 50_000 };
    let vectors: Vec<Vec<DVector<f64>>> = ring
        .iter()
        .map(|x| (0..ACTIONS).filter_map(|a| x.row(a)).map(DVector::from_column_slice).collect())
        .collect();
    let (mut inverse, mut gram) = (DMatrix::<f64>::identity(DIM, DIM), DMatrix::<f64>::identity(DIM, DIM));
    let (mut theta, mut scratch) = (DVector::<f64>::zeros(DIM), DVector::<f64>::zeros(DIM));
    let floor = measure(rounds, |t| {
        let rows = &vectors[t as usize % 64];
        let (mut low, mut best) = (f64::INFINITY, 0);
        for (a, z) in rows.iter().enumerate() {
            scratch.gemv(1.0, &inverse, z, 0.0);
            let bound = theta.dot(z) - 0.1 * z.dot(&scratch).sqrt();
            if bound < low {
                (low, best) = (bound, a);
            }
        }
        let z = &rows[best];
        scratch.gemv(1.0, &inverse, z, 0.0);
        let gain = 1.0 / (1.0 + z.dot(&scratch));
        theta.axpy(gain * ((t & 1) as f64 - 0.5 - theta.dot(z)), &scratch, 1.0);
        inverse.ger(-gain, &scratch, &scratch, 1.0);
        gram.ger(1.0, z, z, 1.0);
        black_box(best);
    });
    println!("bare nalgebra kernels, d = {DIM}, K = {ACTIONS}: {floor:.0} ns");
    let names = [
        ("linucb", "alpha = 0.1"),
        ("linucb", ""),
        ("regcb", ""),
        ("lints", "scale = 0.25"),
        ("lints", "scale = 0.25\ndraw = \"independent\""),
        ("squarecb", "gamma = 10.0"),
        ("greedy", ""),
        ("nlms", ""),
    ];
    let mut rng = Pcg64Dxsm::seed_from_u64(1);
    for (name, params) in names {
        let mut base = make(name, params, &setup);
        let found = measure(rounds, |t| round(&mut *base, &ring[t as usize % 64], &mut rng, t));
        println!("{name} {params:?} shared: {found:.0} ns a round, {:.2} times the kernels", found / floor);
    }
    let mut disjoint = Setup::arms(ACTIONS, None);
    disjoint.context = ContextShape { features: DIM, ..ContextShape::default() };
    let own = contexts(false);
    for (name, params) in names {
        let mut base = make(name, params, &disjoint);
        let found = measure(rounds, |t| round(&mut *base, &own[t as usize % 64], &mut rng, t));
        println!("{name} {params:?} disjoint: {found:.0} ns a round");
    }
    let mut group = c.benchmark_group("a round over 10 actions of 20 features");
    for (name, params) in names {
        let mut base = make(name, params, &setup);
        let mut rng = Pcg64Dxsm::seed_from_u64(2);
        let mut t = 0;
        group.bench_function(BenchmarkId::new(name, params), |b| {
            b.iter(|| {
                t += 1;
                round(&mut *base, &ring[t as usize % 64], &mut rng, t);
            });
        });
    }
    group.finish();
}

criterion_group! {
    name = benches;
    config = Criterion::default()
        .warm_up_time(Duration::from_millis(300))
        .measurement_time(Duration::from_secs(1))
        .sample_size(20);
    targets = arms, linear
}
criterion_main!(benches);
