//! What the plugin boundary costs.

#[path = "../../corral-plugin-abi/tests/common/mod.rs"]
mod common;
#[path = "../../corral-plugin-abi/tests/fixtures/bases/linear.rs"]
mod linear;

use std::hint::black_box;
use std::path::Path;
use std::time::{Duration, Instant};

use corral_core::Learner;
use corral_plugin_abi::host::{Isolation, LoadPolicy, load_file};
use corral_plugin_abi::prelude::*;
use criterion::Criterion;
use rand::SeedableRng;
use rand_pcg::Pcg64Dxsm;

const FEATURES: usize = 20;
const ARMS: usize = 5;

type Boxed = Box<dyn Base<Context, Arm>>;

fn world() -> Setup {
    let mut setup = Setup::arms(ARMS, None);
    setup.context.features = FEATURES;
    setup
}

fn native() -> linear::Linear {
    linear::Linear::build(linear::LinearParams {}, &world()).expect("the world fits")
}

fn load(path: &Path, policy: &LoadPolicy) -> Boxed {
    let loaded = load_file(path, policy).expect("the fixture loads");
    match loaded.build("linear", "", &world()).expect("the world fits") {
        Learner::Arms(base) => base,
        Learner::Points(_) => unreachable!("the fixture decides on arms"),
    }
}

/// The same base in every home, by name; C only where there is a compiler.
fn homes(quick: bool, dir: &Path) -> Vec<(&'static str, Boxed)> {
    let profile: &[&str] = if quick { &[] } else { &["--release"] };
    let build = ["build", "--locked", "-p", "corral-plugin-fixtures", "--example", "speed"];
    let rust = common::cargo(&common::workspace(), &[&build[..], profile].concat())["speed"].clone();
    let isolation = Isolation { time_limit: Duration::from_secs(20), ..Isolation::default() };
    let apart = LoadPolicy { isolation, ..LoadPolicy::default() };
    let mut homes =
        vec![("boxed", Box::new(native()) as Boxed), ("loaded", load(&rust, &common::in_this_process()))];
    // As hard as cargo optimises the others.
    let flags = [common::SHARED, &["-O3"]].concat();
    if let Some(c) = common::c("linear.c", &dir.join("linear.so"), &flags) {
        homes.push(("loaded C", load(&c, &common::in_this_process())));
    }
    #[cfg(feature = "wasm")]
    if let Some(path) = module(dir) {
        homes.push((
            "wasm",
            load(&path, &LoadPolicy { wasm: Some(corral_plugin_wasm::open), ..LoadPolicy::default() }),
        ));
    }
    homes.push(("isolated", load(&rust, &apart)));
    homes
}

/// The C base as a module.
#[cfg(feature = "wasm")]
fn module(dir: &Path) -> Option<std::path::PathBuf> {
    // The compiler is told to link a math library, of which nothing is needed.
    std::fs::write(dir.join("libm.a"), "!<arch>\n").expect("a file");
    let abi = common::workspace().join("corral-plugin-abi");
    let c = abi.join("tests/fixtures/c");
    let (headers, here) = (format!("-I{}", c.join("wasm").display()), format!("-L{}", dir.display()));
    let flags = "--target=wasm32 -O3 -mmutable-globals -ffreestanding -nostdlib -Wl,--no-entry,--growable-table,--stack-first \
                 -Wl,--export-table,--export=__stack_pointer,--export=corral_plugin_v1";
    let flags: Vec<&str> = flags.split(' ').chain([&*headers, &*here]).collect();
    common::compile("clang", &abi, &c.join("linear.c"), &dir.join("linear.wasm"), &flags)
}

/// Some rounds, so that the weights are not all 0.
fn train<B: Base<Context, Arm> + ?Sized>(base: &mut B, x: &Context, rng: &mut Pcg64Dxsm) {
    for _ in 0..50 {
        let made = base.propose(x, rng).expect("the base never fails");
        base.learn(x, &made, Feedback::plain(0.5)).expect("the base never fails");
    }
}

/// Nanoseconds a call in a batch of `calls`.
fn batch<B: Base<Context, Arm> + ?Sized>(base: &mut B, x: &Context, rng: &mut Pcg64Dxsm, calls: u32) -> f64 {
    let mut made = Proposal::default();
    let start = Instant::now();
    for _ in 0..calls {
        made.refill(base, black_box(x), rng).expect("the base never fails");
        black_box(&mut made);
    }
    start.elapsed().as_nanos() as f64 / f64::from(calls)
}

fn main() {
    // The isolated base lives in a copy of this program.
    corral_plugin_abi::host::isolated_main();
    let quick = std::env::args().any(|a| a == "--test");
    let dir = tempfile::tempdir().expect("a temporary folder");
    let mut rng = Pcg64Dxsm::seed_from_u64(1);
    let x = Context::shared((0..FEATURES).map(|_| uniform(&mut rng) - 0.5).collect(), ARMS);
    let mut linked = native();
    train(&mut linked, &x, &mut rng);
    let mut homes = homes(quick, dir.path());
    for (_, base) in &mut homes {
        train(&mut **base, &x, &mut rng);
    }

    // What does a proposal cost, for the same base linked, behind a trait object, behind the table (from Rust and from
    // C), as a WebAssembly module, and in a process of its own?
    let mut criterion = Criterion::default().configure_from_args().without_plots();
    let mut group = criterion.benchmark_group("plugin");
    group.warm_up_time(Duration::from_millis(300)).measurement_time(Duration::from_secs(1)).sample_size(20);
    let mut made = Proposal::default();
    group.bench_function("native", |b| {
        b.iter(|| made.refill(&mut linked, black_box(&x), &mut rng).expect("the base never fails"));
    });
    for (name, base) in &mut homes {
        group.bench_function(*name, |b| {
            b.iter(|| made.refill(&mut **base, black_box(&x), &mut rng).expect("the base never fails"));
        });
    }
    group.finish();

    // How much is that above the trait object? The minimum of many short batches, taken in turns, so that neither the
    // clock nor the neighbours of this machine favour one of them.
    let (batches, calls) = if quick { (3, 10) } else { (2000, 500) };
    let mut least = vec![f64::INFINITY; homes.len() + 1];
    for turn in 0..batches {
        least[0] = least[0].min(batch(&mut linked, &x, &mut rng, calls));
        for (i, (name, base)) in homes.iter_mut().enumerate() {
            // A process takes a thousand times as long: fewer of those.
            if *name != "isolated" || turn % 100 == 0 {
                least[i + 1] = least[i + 1].min(batch(&mut **base, &x, &mut rng, calls));
            }
        }
    }
    let boxed = least[1];
    println!("a proposal with {FEATURES} features and {ARMS} arms, least of {batches} batches of {calls}");
    for (name, ns) in std::iter::once("native").chain(homes.iter().map(|(name, _)| *name)).zip(&least) {
        println!("{name:>10} {ns:>10.1} ns {:>+10.1} ns above boxed {:>8.2} x", ns - boxed, ns / boxed);
    }
}
