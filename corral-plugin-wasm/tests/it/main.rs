//! Modules as bases. `base.wat` is an honest one; hostile ones are made from it by a line of other code.

mod clang;
mod hostile;
mod laws;
/// What `base.wat` and the scaffold in C are, in Rust.
#[path = "../../../corral-plugin-abi/src/host/scaffold/lib.rs.txt"]
#[allow(dead_code, missing_docs)]
mod twin;

use corral_core::{Arm, Base, BaseError, Context, Feedback, Proposal, Setup};
use rand::SeedableRng;
use rand_pcg::Pcg64Dxsm;

/// Few enough steps that a test does not wait for them.
const FUEL: &str = "fuel = 100_000";
const ARMS: usize = 4;

type Boxed = Box<dyn Base<Context, Arm>>;

/// The honest module with one text in place of another, which must be there.
fn with(from: &str, to: &str) -> Vec<u8> {
    let honest = include_str!("base.wat");
    assert!(honest.contains(from), "no {from:?} in the module");
    wat::parse_str(honest.replacen(from, to, 1)).unwrap_or_else(|e| panic!("{to}: {e}"))
}

fn honest() -> Vec<u8> {
    with("", "")
}

/// The base of a module, or why there is none.
fn build(module: &[u8], base: &str, params: &str, arms: usize) -> Result<Boxed, String> {
    let opened = corral_plugin_wasm::open(module).map_err(|why| why.to_string())?;
    let built = opened.build(base, params, &Setup::arms(arms, Some(1000))).map_err(|why| why.to_string())?;
    built.into_arms().ok_or_else(|| "a base for points".into())
}

fn greedy(module: &[u8]) -> Boxed {
    build(module, "greedy", FUEL, ARMS).unwrap()
}

fn rng(seed: u64) -> Pcg64Dxsm {
    Pcg64Dxsm::seed_from_u64(seed)
}

fn x() -> Context {
    Context::plain(ARMS)
}

/// What it proposes in so many rounds, learning from each a loss that only the round and the arm decide.
fn play(
    base: &mut dyn Base<Context, Arm>,
    rng: &mut Pcg64Dxsm,
    rounds: u64,
) -> Result<Vec<Proposal<Arm>>, BaseError> {
    let round = |t: u64| {
        let made = base.propose(&x(), rng)?;
        let noise = (t * 2_654_435_761 + 40_503 * u64::from(made.decision.0)) % 1000;
        base.learn(&x(), &made, Feedback::plain((noise as f64 / 1000.0 + f64::from(made.decision.0)) / 5.0))?;
        Ok(made)
    };
    (0..rounds).map(round).collect()
}
