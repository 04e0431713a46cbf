//! Every base of the registry keeps the laws of `corral_core::contract`, and chooses among the actions that are offered.

use crate::common::{arms, changing, worlds};
use corral_bases::{Learner, build, entries, needs_horizon};
use corral_core::contract::{OnRange, Subject, check_all};
use corral_core::{
    BaseError, Context, Corral, CorralParams, Crediting, Ensemble, EnsembleParams, Feed, Horizon, Setup,
    uniform,
};
use rand::SeedableRng;
use rand_pcg::Pcg64Dxsm;

/// What each base declares about itself: what a wider range does to it, and whether the memo of its likelihood is another
/// than that of its proposal. A base of the registry that is not here fails the test.
fn declared(name: &str) -> (OnRange, bool) {
    let on_range = match name {
        "exp3" | "tsallis-inf" | "candidate" | "scrible" | "scrible-arms" | "bgd" | "exp4"
        | "epoch-greedy" | "iltcb" | "bistro" => OnRange::Restart,
        "epsilon-greedy" | "squarecb" => OnRange::Retune,
        "ucb1" | "ucb-v" | "kl-ucb" | "moss" | "thompson" | "fixed" | "random" | "hardness-first"
        | "hardness-second" | "greedy" | "linucb" | "lints" | "glm-ucb" | "regcb" | "nlms" | "oful"
        | "lints-points" | "sparse-oful" | "sl-ucb" | "group-sparse" | "glm-oful" => OnRange::Keep,
        _ => panic!("{name} is in the registry and not in the list of this test"),
    };
    (on_range, ["thompson", "scrible-arms"].contains(&name))
}

fn hold_arms(name: &str, setup: &Setup) {
    let (on_range, own_memos) = declared(name);
    let unbuilt = || BaseError::Failed(String::from("it was built before"));
    let subject = Subject::arms(name, setup, || arms(name, setup).ok_or_else(unbuilt));
    let subject = subject.on_range(on_range).counts_rounds().rounds(500);
    let subject = if own_memos { subject.own_memos() } else { subject };
    for (law, verdict) in check_all(&subject) {
        assert!(verdict.is_ok(), "{law}: {}", verdict.unwrap_err());
    }
}

#[test]
fn every_base_keeps_the_contract() {
    for entry in entries() {
        let (on_range, _) = declared(entry.name);
        let mut held = 0;
        for (setup, _) in worlds(Some(500)) {
            match build(entry.name, &toml::Table::new(), &setup) {
                Ok(Learner::Arms(_)) => hold_arms(entry.name, &setup),
                Ok(Learner::Points(_)) => {
                    let fresh = || match build(entry.name, &toml::Table::new(), &setup) {
                        Ok(Learner::Points(base)) => Ok(base),
                        _ => Err(BaseError::Failed(String::from("it was built before"))),
                    };
                    let subject = Subject::points(entry.name, &setup, fresh).on_range(on_range);
                    for (law, verdict) in check_all(&subject.counts_rounds().rounds(200)) {
                        assert!(verdict.is_ok(), "{law}: {}", verdict.unwrap_err());
                    }
                }
                Err(_) => continue,
            }
            held += 1;
            if POLICIES.contains(&entry.name) {
                break; // their other worlds are in policy_contract.rs
            }
        }
        assert!(held > 0, "{} fits no world", entry.name);
    }
}

/// No base has to be built to find out: what the registry says is what building says.
#[test]
fn a_base_needs_a_horizon_exactly_when_it_is_not_built_without() {
    let keys_of = ["", "variant = \"first\""];
    let mut found = std::collections::BTreeSet::new();
    for entry in entries() {
        for keys in keys_of {
            let keys: toml::Table = keys.parse().unwrap();
            for (known, _) in worlds(Some(500)) {
                let told = Setup { horizon: None, ..known.clone() };
                if build(entry.name, &keys, &known).is_ok() {
                    let needs = build(entry.name, &keys, &told).is_err();
                    assert_eq!(needs_horizon(entry.name, &keys), needs, "{}: {keys}", entry.name);
                    found.extend(needs.then_some(entry.name));
                }
            }
        }
    }
    assert!(found.into_iter().eq(["bistro", "epoch-greedy"]));
}

const POLICIES: [&str; 4] = ["exp4", "epoch-greedy", "iltcb", "bistro"];

/// The bases that `setup` fits.
fn fitting(setup: &Setup) -> Vec<&'static str> {
    entries().map(|e| e.name).filter(|name| arms(name, setup).is_some()).collect()
}

#[test]
fn bases_choose_among_the_actions_that_are_offered() {
    let mut held = 0;
    for features in [0, 3] {
        for horizon in [Some(2_000), None] {
            let setup = changing(features, horizon);
            for name in fitting(&setup) {
                hold_arms(name, &setup);
                held += 1;
            }
        }
    }
    assert!(held >= 4 * 15, "{held}");
}

#[test]
fn a_band_of_them_lives_where_action_sets_change() {
    for features in [0, 3] {
        let setup = changing(features, Some(400));
        let names = fitting(&setup);
        for credit in [Crediting::Chosen, Crediting::SameDecision, Crediting::Likelihood] {
            for feed in [Feed::Weighted, Feed::Raw, Feed::Everyone] {
                let bases: Vec<_> = names.iter().filter_map(|name| arms(name, &setup)).collect();
                let master = Corral::new(CorralParams::new(bases.len(), Horizon::Known(400))).unwrap();
                let params = EnsembleParams { credit, feed, ..EnsembleParams::default() };
                let mut band = Ensemble::with_params(master, bases, params).unwrap().with_setup(&setup);
                let mut rng = Pcg64Dxsm::seed_from_u64(3);
                let sampler = setup.sampler.clone().unwrap();
                for _ in 0..400 {
                    let x = sampler.sample(&mut rng);
                    let ticket = band.choose(&x, &mut rng).unwrap();
                    assert!(ticket.decision.index() < x.actions());
                    let loss = 0.2 * ticket.decision.index() as f64 + 0.3 * uniform(&mut rng);
                    band.learn(&x, ticket, loss).unwrap();
                    assert!(band.benched().is_empty(), "{credit:?} {feed:?}: {:?}", band.benched());
                }
            }
        }
    }
}

#[test]
fn offering_nothing_or_more_than_was_announced_is_the_callers_error() {
    let setup = Setup::arms(4, Some(100));
    let mut rng = Pcg64Dxsm::seed_from_u64(1);
    for name in fitting(&setup) {
        let mut base = arms(name, &setup).unwrap();
        for actions in [0, 5] {
            let refused = base.propose(&Context::plain(actions), &mut rng).unwrap_err();
            assert!(refused.is_the_callers(), "{name}: {refused}");
        }
    }
}
