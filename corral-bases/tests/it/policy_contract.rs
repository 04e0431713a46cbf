//! Every base over policies through the contract, in worlds with tables, with features and with nothing to see; and
//! what cannot be built, with its reason.

use std::sync::Arc;

use corral_bases::{BuildError, Learner, build};
use corral_core::contract::{self, OnRange, Subject};
use corral_core::{
    Arm, Base, BaseError, Context, ContextSampler, ContextShape, Feedback, Policy, Proposal, Rng, Setup,
    Space, uniform,
};
use rand::SeedableRng;
use rand_pcg::Pcg64Dxsm;

struct Cells;

impl ContextSampler for Cells {
    fn sample(&self, rng: &mut dyn Rng) -> Context {
        Context::tabular((uniform(rng) * 4.0) as usize, 3)
    }
}

/// One context, in which one action in two rounds is not offered.
struct One;

impl ContextSampler for One {
    fn sample(&self, rng: &mut dyn Rng) -> Context {
        Context::tabular(0, if uniform(rng) < 0.5 { 3 } else { 2 })
    }
}

struct Square;

impl ContextSampler for Square {
    fn sample(&self, rng: &mut dyn Rng) -> Context {
        Context::shared(vec![2.0 * uniform(rng) - 1.0, uniform(rng)], 3)
    }
}

/// Four contexts, three actions, nine policies.
fn tables() -> Setup {
    let mut setup = Setup::arms(3, Some(500));
    setup.context.cells = Some(4);
    let table = |i: u16| Policy::Table(vec![i % 3, (i / 3) % 3, (i + i / 3) % 3, 2 - i % 3]);
    setup.policies = Some((0..9).map(table).collect());
    setup.sampler = Some(Arc::new(Cells));
    setup
}

/// Two features, three actions, no class.
fn square() -> Setup {
    let mut setup = Setup::arms(3, Some(500));
    setup.context = ContextShape { features: 2, row_features: 0, cells: None };
    setup.sampler = Some(Arc::new(Square));
    setup
}

fn made(name: &str, params: &str, setup: &Setup) -> Result<Box<dyn Base<Context, Arm>>, BaseError> {
    match build(name, &params.parse().unwrap(), setup) {
        Ok(Learner::Arms(base)) => Ok(base),
        Ok(_) => Err(BaseError::Failed(String::from("not over arms"))),
        Err(e) => Err(BaseError::Failed(e.to_string())),
    }
}

fn law_abiding(name: &str, params: &str, setup: &Setup, on_range: OnRange, rounds: u64) {
    let subject = Subject::arms(format!("{name} {params}"), setup, || made(name, params, setup))
        .on_range(on_range)
        .counts_rounds()
        .rounds(rounds);
    for (law, verdict) in contract::check_all(&subject) {
        assert!(verdict.is_ok(), "{law}: {}", verdict.unwrap_err());
    }
}

#[test]
fn over_tables() {
    for (name, params) in [
        ("exp4", ""),
        ("epoch-greedy", ""),
        ("epoch-greedy", "variant = \"epochs\""),
        ("iltcb", ""),
        ("iltcb", "preset = \"theory\"\nwarm_start = true"),
    ] {
        law_abiding(name, params, &tables(), OnRange::Restart, 20_000);
    }
    for rule in ["leader", "uniform", "water-fill"] {
        law_abiding("bistro", &format!("rule = \"{rule}\""), &tables(), OnRange::Restart, 1_000);
    }
}

#[test]
fn keeping_what_was_learned() {
    for name in ["exp4", "epoch-greedy"] {
        law_abiding(name, "range_change = \"retune\"", &tables(), OnRange::Retune, 2_000);
    }
}

#[test]
fn over_trees_and_linear_policies() {
    for class in ["{ trees = { depth = 2, sample = 40 } }", "{ linear = { sample = 40 } }"] {
        for name in ["exp4", "epoch-greedy", "iltcb", "bistro"] {
            let rounds = if name == "exp4" { 5_000 } else { 300 };
            law_abiding(name, &format!("policies = {class}"), &square(), OnRange::Restart, rounds);
        }
    }
    let robust = "policies = { linear = {} }\nestimates = \"doubly-robust\"";
    law_abiding("iltcb", robust, &square(), OnRange::Restart, 300);
    let epochs = "variant = \"epochs\"\npolicies = { trees = { depth = 2, search = \"exact\", bins = 6 } }";
    law_abiding("epoch-greedy", epochs, &square(), OnRange::Restart, 300);
}

#[test]
fn without_side_information() {
    for name in ["exp4", "epoch-greedy", "iltcb", "bistro"] {
        law_abiding(name, "", &Setup::arms(4, Some(500)), OnRange::Restart, 500);
        // One arm is not an error.
        law_abiding(name, "", &Setup::arms(1, Some(500)), OnRange::Restart, 500);
    }
}

#[test]
fn what_does_not_fit_is_told_what_it_needs() {
    let needs = |name: &str, params: &str, setup: &Setup| match build(name, &params.parse().unwrap(), setup) {
        Err(BuildError::Unfit { needs, .. }) => needs,
        Err(e) => panic!("{name}: {e}"),
        Ok(_) => String::from("nothing"),
    };
    let mut blind = tables();
    blind.sampler = None;
    assert_eq!(needs("bistro", "", &blind), "a context sampler: an environment with i.i.d. contexts");
    let mut endless = tables();
    endless.horizon = None;
    assert_eq!(needs("bistro", "", &endless), "a known horizon");
    assert_eq!(needs("epoch-greedy", "", &endless), "a known horizon, or variant = \"epochs\"");
    assert_eq!(needs("epoch-greedy", "variant = \"epochs\"", &endless), "nothing");
    assert_eq!(needs("exp4", "", &endless), "nothing");
    assert_eq!(needs("iltcb", "", &endless), "nothing");
    let classless = "an environment with a policy class, or policies = { trees = {} } or { linear = {} }";
    assert_eq!(needs("iltcb", "policies = \"environment\"", &square()), classless);
    let featureless = "an environment with shared features for its policies";
    assert_eq!(needs("exp4", "policies = { linear = {} }", &tables()), featureless);
    let points = Setup::new(Space::Points(corral_core::Set::Ball { dim: 2 }), Some(100));
    for name in ["exp4", "epoch-greedy", "iltcb", "bistro"] {
        assert_eq!(needs(name, "", &points), "an environment with arms");
    }
    // Rows would be passed over: the policies that are made from features see the shared ones alone.
    for features in [0, 2] {
        let mut rows = square();
        (rows.context.features, rows.context.row_features, rows.sampler) = (features, 2, tables().sampler);
        for name in ["exp4", "epoch-greedy", "iltcb", "bistro"] {
            for keys in ["", "policies = { trees = {} }", "policies = { linear = {} }"] {
                assert!(needs(name, keys, &rows).contains("row_features = 0"), "{name} {keys}");
            }
        }
    }
    let mut given = tables();
    given.context.row_features = 2;
    assert_eq!(needs("exp4", "", &given), "nothing");
}

#[test]
fn bad_parameters_are_named_with_their_value() {
    let no = |name: &str, params: &str| match build(name, &params.parse().unwrap(), &tables()) {
        Err(e) => e.to_string(),
        Ok(_) => String::from("built"),
    };
    assert_eq!(no("exp4", "rate = 0.0"), "base \"exp4\": rate must be positive and finite, but is 0");
    assert_eq!(no("iltcb", "delta = 1.0"), "base \"iltcb\": delta must be in (0, 1), but is 1");
    assert_eq!(no("iltcb", "psi = -1"), "base \"iltcb\": psi must be positive and finite, but is -1");
    assert_eq!(
        no("bistro", "kappa = -0.5"),
        "base \"bistro\": kappa must be non-negative and finite, but is -0.5"
    );
    assert_eq!(
        no("epoch-greedy", "scale = nan"),
        "base \"epoch-greedy\": scale must be positive and finite, but is NaN"
    );
    assert_eq!(no("bistro", "rul = 1"), "unknown key of bistro \"rul\"; did you mean \"rule\"?");
    assert!(no("bistro", "rule = \"drown\"").contains("unknown variant `drown`"));
    let mut none = tables();
    none.space = Space::Arms(0);
    for name in ["exp4", "epoch-greedy", "iltcb", "bistro"] {
        assert!(matches!(build(name, &toml::Table::new(), &none), Err(BuildError::Refused { .. })));
    }
    let mut long = tables();
    long.horizon = Some(u64::MAX);
    let refused = made("bistro", "", &long).err().unwrap().to_string();
    assert!(refused.contains("horizon must be short enough"), "{refused}");
}

#[test]
fn bad_rounds_are_typed_errors() {
    let mut rng = Pcg64Dxsm::seed_from_u64(1);
    for name in ["exp4", "epoch-greedy", "iltcb", "bistro"] {
        let mut base = made(name, "", &tables()).unwrap();
        let x = Context::tabular(1, 3);
        let good = base.propose(&x, &mut rng).unwrap();
        for bad in [Context::tabular(1, 4), Context::tabular(4, 3), Context::plain(3)] {
            assert!(matches!(base.propose(&bad, &mut rng), Err(BaseError::Context { .. })), "{name}");
            assert!(
                matches!(base.learn(&bad, &good, Feedback::plain(1.0)), Err(BaseError::Context { .. })),
                "{name}"
            );
            assert!(matches!(base.pass(&bad), Err(BaseError::Context { .. })), "{name}");
            assert_eq!(base.likelihood(&bad, &Arm(0)), None);
        }
        assert!(
            matches!(base.learn(&x, &good, Feedback::new(1.0, 2.0)), Err(BaseError::Weight { .. })),
            "{name}"
        );
        let alien = Proposal::with_memo(Arm(3), good.memo.clone());
        assert!(
            matches!(base.learn(&x, &alien, Feedback::plain(1.0)), Err(BaseError::Proposal(_))),
            "{name}"
        );
        let mut over_features =
            made(name, "policies = { trees = { depth = 2, sample = 10 } }", &square()).unwrap();
        let nan = Context::shared(vec![0.0, f64::NAN], 3);
        assert!(
            matches!(over_features.propose(&nan, &mut rng), Err(BaseError::Feature { index: 1, .. })),
            "{name}"
        );
        let short = Context::shared(vec![0.0], 3);
        assert!(matches!(over_features.propose(&short, &mut rng), Err(BaseError::Context { .. })), "{name}");
        // The horizon is 500 rounds; what comes later is played with the rates of the last round.
        for _ in 0..600 {
            base.pass(&x).unwrap();
        }
        let made = base.propose(&x, &mut rng).unwrap_or_else(|e| panic!("{name}: {e}"));
        base.learn(&x, &made, Feedback::plain(0.5)).unwrap_or_else(|e| panic!("{name}: {e}"));
    }
}

/// Two policies: always action 0, and always action 2, which half of the rounds do not offer. Action 1 is played in its
/// place there, and is the better one.
#[test]
fn a_policy_whose_action_is_not_offered_plays_the_last_one_that_is() {
    let mut setup = Setup::arms(3, Some(2_000));
    setup.policies = Some([0, 2].map(|action| Policy::Table(vec![action])).into());
    setup.context.cells = Some(1);
    setup.sampler = Some(Arc::new(One));
    for (name, params) in [
        ("exp4", ""),
        ("epoch-greedy", "scale = 0.1"),
        ("iltcb", ""),
        ("bistro", "kappa = 0.1"),
        ("bistro", "kappa = 0.1\nrule = \"water-fill\""),
    ] {
        let mut base = made(name, params, &setup).unwrap();
        let mut rng = Pcg64Dxsm::seed_from_u64(6);
        let mut late = [0; 3];
        for round in 0..2_000 {
            let x = Context::tabular(0, 3 - round % 2);
            let made = base.propose(&x, &mut rng).unwrap();
            assert!(made.decision.index() < x.actions(), "{name}");
            if name != "bistro" {
                // Exact probabilities over what is offered, none for what is not, and the memo says so.
                let of = |arm: u32| base.likelihood(&x, &Arm(arm)).unwrap().0;
                let all: f64 = (0..x.actions() as u32).map(of).sum();
                assert!((all - 1.0).abs() < 1e-12, "{name}: {all}");
                assert!((x.actions() as u32..4).all(|arm| of(arm) == 0.0), "{name}");
                assert!((made.memo.get(0).unwrap() - of(made.decision.0)).abs() < 1e-12, "{name}");
            }
            let loss = if made.decision == Arm(0) { 0.9 } else { 0.1 };
            if round % 2 == 1 {
                late[made.decision.index()] += usize::from(round > 1_000);
            }
            // Nothing is learned where all actions are offered: what is known of action 2 is what was seen of 1.
            let seen = if round % 2 == 1 { Feedback::plain(loss) } else { Feedback::unseen() };
            base.learn(&x, &made, seen).unwrap();
        }
        assert!(late[1] > 3 * late[0] && late[2] == 0, "{name}: {late:?}");
        if let Some((followed, _)) = base.likelihood(&Context::tabular(0, 3), &Arm(2)) {
            assert!(followed > 0.75, "{name}: {followed}");
        }
        let (saved, x) = (base.save(), Context::tabular(0, 2));
        let mut copy = made(name, params, &setup).unwrap();
        copy.load(&saved).unwrap();
        let (mut one, mut other) = (Pcg64Dxsm::seed_from_u64(7), Pcg64Dxsm::seed_from_u64(7));
        assert_eq!(base.propose(&x, &mut one).unwrap(), copy.propose(&x, &mut other).unwrap());
    }
}

/// Decisions of a fixed seed: a change of any random or numeric detail shows here.
#[test]
fn values_are_stable() {
    let play = |name: &str, params: &str, setup: &Setup| -> String {
        let mut base = made(name, params, setup).unwrap();
        let (mut world, mut rng) = (Pcg64Dxsm::seed_from_u64(1), Pcg64Dxsm::seed_from_u64(2));
        let sampler = setup.sampler.clone().unwrap();
        let mut decisions = String::new();
        for round in 0..400 {
            let x = sampler.sample(&mut world);
            let made = base.propose(&x, &mut rng).unwrap();
            let loss = if made.decision.index() == round / 200 { 0.1 } else { 0.9 };
            base.learn(&x, &made, Feedback::plain(loss)).unwrap();
            if round % 10 == 9 {
                decisions.push_str(&made.decision.index().to_string());
            }
        }
        decisions
    };
    let trees = "policies = { trees = { depth = 2, sample = 50 } }";
    for (name, params, setup, decisions) in [
        ("exp4", "", tables(), "2100111122000002000010020000000110110110"),
        ("epoch-greedy", "scale = 0.1", tables(), "2100200000000202202000020000000220000000"),
        ("epoch-greedy", "variant = \"epochs\"", tables(), "0000200021000202202020020000020210000101"),
        ("iltcb", "", tables(), "1102000010000102002000020000000220100000"),
        ("bistro", "kappa = 0.1", tables(), "0020000220000211102110221211101111220021"),
        ("exp4", trees, square(), "2100110110000001000000000001010110100100"),
        ("iltcb", trees, square(), "1200002110002001001000000100000000200120"),
        ("bistro", trees, square(), "0201221021221022222200200211110212000022"),
    ] {
        assert_eq!(play(name, params, &setup), decisions, "{name} {params}");
    }
}
