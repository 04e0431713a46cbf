//! What holds for every master and base that can be served: it learns.

use std::sync::Arc;

use corral_serve::ServeError;

use crate::common::{Bench, Memory};

/// Plays a band with one good action of three; the share of good actions in the last half, and the rewards that every base
/// learned.
fn play(text: &str, rounds: usize, refresh: usize) -> Result<(f64, Vec<f64>), ServeError> {
    let mut bench = Bench::open(text, Arc::new(Memory::default()))?;
    let mut good = 0;
    for round in 0..rounds {
        let chosen = bench.choose(&[]);
        let right = chosen.decision.0 == 1;
        good += usize::from(right && round >= rounds / 2);
        bench.reward(&chosen.token, if right { 0.9 } else { 0.2 }).unwrap();
        if round % refresh == 0 {
            bench.learn();
        }
    }
    bench.learn();
    let counts = bench.learner.counts();
    assert_eq!((counts.learned, counts.refused), (rounds as u64, 0), "{text}");
    let metrics = bench.learner.band().metrics();
    assert!(metrics.bases.iter().all(|base| base.benched.is_none()), "{text}: {metrics:?}");
    Ok((2.0 * good as f64 / rounds as f64, metrics.bases.iter().map(|b| b.effective_samples).collect()))
}

/// Every master over the same bases, with front ends that are behind by up to 20 decisions.
#[test]
fn every_master_learns_as_a_service() {
    let mut served = 0;
    for master in corral_core::masters::REGISTRY.entries().map(|entry| entry.name) {
        let text =
            format!("name = \"x\"\nactions = 3\nbases = [\"ucb1\", \"exp3\"]\nmaster = \"{master}\"\n");
        match play(&text, 2_000, 20) {
            Ok((good, _)) => {
                served += 1;
                assert!(good > 0.5, "{master}: the good action in {good} of the last rounds");
            }
            // One that cannot be built without a horizon says so.
            Err(error) => assert!(error.to_string().contains("master"), "{master}: {error}"),
        }
    }
    assert!(served >= 5, "{served} masters were served");
}

/// How often the guard of a band of greedy learners speaks in 400 rounds.
fn forced(refresh: usize) -> usize {
    let greedy = "{ name = \"epsilon-greedy\", epsilon = 0.0 }";
    let text = format!("name = \"x\"\nactions = 3\nbases = [{greedy}, {greedy}]\n");
    let store = Arc::new(Memory::default());
    let mut bench = Bench::open(&text, store.clone()).unwrap();
    for round in 0..400 {
        let chosen = bench.choose(&[]);
        bench.reward(&chosen.token, if chosen.decision.0 == 0 { 0.5 } else { 0.4 }).unwrap();
        if round % refresh == 0 {
            bench.learn();
        }
    }
    bench.learn();
    let log: Vec<u8> = corral_serve::Export::of(store, "x").flat_map(Result::unwrap).collect();
    String::from_utf8(log).unwrap().matches("\"forced\":true").count()
}

/// The learner counts what front ends have played: the guard neither falls silent nor begins anew with every state.
#[test]
fn the_guard_counts_the_rounds_of_all_front_ends() {
    let (at_once, late) = (forced(1), forced(20));
    assert!(at_once > 10, "the guard spoke {at_once} times");
    assert!(
        late > at_once / 2 && late < 2 * at_once,
        "{late} times where states are 20 rounds old, else {at_once}"
    );
}
