//! All masters, one table: the laws they owe.
#![allow(missing_docs)]

use crate::table::*;

#[test]
fn the_table_holds_every_registered_master() {
    for entry in masters::REGISTRY.entries() {
        assert!(TABLE.iter().any(|(name, _)| *name == entry.name), "{} is missing", entry.name);
    }
}

#[test]
fn corral_is_audited_where_its_spec_asks_for_it() {
    let spec = |audit, rules| CorralSpec { audit, rules, ..CorralSpec::default() };
    let setup = MasterSetup::new(3, Some(100));
    let mut audited = spec(true, CorralProgram::Paper).master(&setup).unwrap();
    assert_eq!(audited.telemetry().audit.unwrap().rounds, 0);
    let mut rng = Pcg64Dxsm::seed_from_u64(1);
    for _ in 0..100 {
        round("corral", &mut *audited, &mut rng);
    }
    let audit = audited.telemetry().audit.unwrap();
    assert_eq!((audit.rounds, audit.failures(1e-12)), (100, vec![]));
    assert!(audit.tightest.unwrap().left > 0.0);
    assert_eq!(spec(false, CorralProgram::Paper).master(&setup).unwrap().telemetry().audit, None);
    assert!(spec(true, CorralProgram::AsCoba).master(&setup).is_err());
}

#[test]
fn probabilities_stay_in_the_simplex() {
    for (name, build) in TABLE {
        for bases in [1, 2, 3, 7, 40] {
            let mut master = build(&setup(bases));
            let mut rng = Pcg64Dxsm::seed_from_u64(bases as u64);
            simplex(name, master.probabilities());
            assert_eq!(master.probabilities().len(), bases);
            for _ in 0..400 {
                round(name, &mut *master, &mut rng);
            }
            if bases == 1 {
                assert!((master.probabilities()[0] - 1.0).abs() < 1e-12, "{name}");
            }
        }
    }
}

#[test]
fn credit_may_come_late_and_out_of_order() {
    for (name, build) in TABLE {
        let mut master = build(&setup(5));
        let mut rng = Pcg64Dxsm::seed_from_u64(11);
        let mut waiting: Vec<(usize, f64, f64)> = Vec::new();
        for t in 0..600 {
            let base = draw_base(&mut *master, &mut rng).0;
            waiting.push((base, 1.0 / master.probabilities()[base], uniform(&mut rng)));
            if t > 50 && uniform(&mut rng) < 0.97 {
                let at = (rng.next_u64() % waiting.len() as u64) as usize;
                let (base, weight, loss) = waiting.swap_remove(at);
                master
                    .update(loss, Credit::Chosen { base, weight })
                    .unwrap_or_else(|e| panic!("{name}: {e}"));
                simplex(name, master.probabilities());
            }
        }
    }
}

#[test]
fn a_retired_base_is_never_drawn_again() {
    for (name, build) in TABLE {
        let mut master = build(&setup(4));
        let mut rng = Pcg64Dxsm::seed_from_u64(3);
        let mut out = Vec::new();
        for base in [2, 0, 3] {
            for _ in 0..60 {
                round(name, &mut *master, &mut rng);
            }
            let weight = 1.0 / master.probabilities()[base].max(0.2);
            master.retire(base).unwrap();
            out.push(base);
            // What was asked before comes back now, and moves no base back.
            master.update(0.3, Credit::Chosen { base, weight }).unwrap();
            for _ in 0..60 {
                round(name, &mut *master, &mut rng);
                assert!(out.iter().all(|&i| master.probabilities()[i] == 0.0), "{name}");
            }
            let before = master.save();
            assert_eq!(master.retire(base), Err(MasterError::Retired(base)), "{name}");
            assert_eq!(master.retire(9), Err(MasterError::Index { base: 9, bases: 4 }), "{name}");
            assert_eq!(master.save(), before, "{name}");
        }
        assert_eq!(master.retire(1), Err(MasterError::LastBase(1)), "{name}");
        assert!((master.probabilities()[1] - 1.0).abs() < 1e-12, "{name}: {:?}", master.probabilities());
        // Starting over brings everybody back.
        master.extra().unwrap().start_over(4.0, Some(500)).unwrap();
        for _ in 0..60 {
            round(name, &mut *master, &mut rng);
        }
    }
}

/// The masters of the table that have a distribution to give a share of; the others say that they take no base.
const TAKES: &[&str] = &[
    "corral",
    "exp3",
    "exp3/mixing",
    "exp3/anytime",
    "exp3-p",
    "exp4-mix",
    "tsallis-inf",
    "tsallis-inf/reduced",
    "practical",
    "practical/falling",
    "practical/experience",
    "corral/experience",
    "exp3/experience",
    "exp3-p/experience",
    "exp4-mix/experience",
    "tsallis-inf/experience",
];

/// With pbar = (1 - gamma) p + gamma/M, where p keeps its ratios all differences of pbar shrink by one factor, whatever
/// the mixing before and after: by 1 - share where there is none.
fn keeps_ratios(name: &str, before: &[f64], after: &[f64], others: &[usize], share: f64) {
    let mut factors = Vec::new();
    for i in others {
        for j in others {
            let apart = before[*i] - before[*j];
            if apart > 1e-3 {
                factors.push((after[*i] - after[*j]) / apart);
            }
        }
    }
    assert!(!factors.is_empty(), "{name}: {before:?}");
    for factor in &factors {
        assert!((factor / factors[0] - 1.0).abs() < 1e-9, "{name}: {factors:?}");
    }
    let mixing = !["exp3", "exp3/anytime", "tsallis-inf", "tsallis-inf/reduced", "practical"].contains(&name);
    assert!(mixing || (factors[0] - (1.0 - share)).abs() < 1e-9, "{name}: {factors:?}");
}

/// A master whose bases come and go, where it takes any.
struct Taking(Box<dyn Master>);

impl Taking {
    fn extra(&mut self) -> Result<&mut dyn MasterExtra, MasterError> {
        self.0.extra().ok_or(MasterError::Fixed)
    }
    fn admit(&mut self, share: f64) -> Result<(), MasterError> {
        self.extra()?.admit(share).map(|_| ())
    }
    fn reinstate(&mut self, base: usize, share: f64) -> Result<(), MasterError> {
        self.extra()?.reinstate(base, share).map(|_| ())
    }
    fn load_of(&mut self, state: &[u8], bases: usize) -> Result<(), MasterError> {
        self.extra()?.load_of(state, bases)
    }
}

impl std::ops::Deref for Taking {
    type Target = Box<dyn Master>;
    fn deref(&self) -> &Box<dyn Master> {
        &self.0
    }
}

impl std::ops::DerefMut for Taking {
    fn deref_mut(&mut self) -> &mut Box<dyn Master> {
        &mut self.0
    }
}

#[test]
fn a_base_that_joins_leaves_the_others_their_ratios() {
    for (name, build) in TABLE {
        let mut master = Taking(build(&setup(4)));
        let mut rng = Pcg64Dxsm::seed_from_u64(8);
        (0..100).for_each(|_| round(name, &mut *master.0, &mut rng));
        let before = (master.save(), master.probabilities().to_vec());
        for share in [0.0, 1.0, -0.5, f64::NAN] {
            assert!(master.admit(share).is_err(), "{name}: {share}");
        }
        assert!(master.reinstate(9, 0.2).is_err(), "{name}");
        assert!(master.reinstate(1, 0.2).is_err(), "{name}: it is not retired");
        let admitted = master.admit(0.2);
        if !TAKES.contains(name) {
            assert_eq!((admitted, master.save()), (Err(MasterError::Fixed), before.0), "{name}");
            continue;
        }
        admitted.unwrap_or_else(|e| panic!("{name}: {e}"));
        simplex(name, master.probabilities());
        keeps_ratios(name, &before.1, master.probabilities(), &[0, 1, 2, 3], 0.2);
        (0..100).for_each(|_| round(name, &mut *master.0, &mut rng));
        master.retire(1).unwrap();
        (0..50).for_each(|_| round(name, &mut *master.0, &mut rng));
        let back = master.probabilities().to_vec();
        master.reinstate(1, 0.3).unwrap_or_else(|e| panic!("{name}: {e}"));
        simplex(name, master.probabilities());
        keeps_ratios(name, &back, master.probabilities(), &[0, 2, 3, 4], 0.3);
        (0..100).for_each(|_| round(name, &mut *master.0, &mut rng));
        // It is a master over five now, and one that is built so goes on from it.
        let mut again = Taking(build(&setup(5)));
        again.load(&master.save()).unwrap_or_else(|e| panic!("{name}: {e}"));
        assert_eq!(again.save(), master.save(), "{name}");
        let mut wide = Taking(build(&setup(5)));
        let untouched = wide.save();
        assert!(wide.load_of(&before.0, 3).is_err(), "{name}");
        assert_eq!(wide.save(), untouched, "{name}");
        wide.load_of(&before.0, 4).unwrap_or_else(|e| panic!("{name}: {e}"));
        assert_eq!((wide.save(), wide.probabilities()), (before.0, &before.1[..]), "{name}");
        wide.admit(0.2).unwrap_or_else(|e| panic!("{name}: {e}"));
        keeps_ratios(name, &before.1, wide.probabilities(), &[0, 1, 2, 3], 0.2);
    }
}

#[test]
fn a_snapshot_continues_bit_for_bit() {
    for (name, build) in TABLE {
        let mut master = build(&setup(5));
        let mut rng = Pcg64Dxsm::seed_from_u64(21);
        for _ in 0..150 {
            round(name, &mut *master, &mut rng);
        }
        master.retire(1).unwrap();
        round(name, &mut *master, &mut rng);
        let mut again = build(&setup(5));
        again.load(&master.save()).unwrap_or_else(|e| panic!("{name}: {e}"));
        let mut same = rng.clone();
        for _ in 0..150 {
            round(name, &mut *master, &mut rng);
            round(name, &mut *again, &mut same);
            let bits = |m: &dyn Master| m.probabilities().iter().map(|p| p.to_bits()).collect::<Vec<_>>();
            assert_eq!(bits(&*master), bits(&*again), "{name}");
        }
        assert_eq!(master.save(), again.save(), "{name}");
    }
}

#[test]
fn a_snapshot_that_does_not_fit_changes_nothing() {
    for (name, build) in TABLE {
        let mut master = build(&setup(3));
        let mut rng = Pcg64Dxsm::seed_from_u64(5);
        for _ in 0..20 {
            round(name, &mut *master, &mut rng);
        }
        let (state, p) = (master.save(), master.probabilities().to_vec());
        let mut damaged = state.clone();
        let middle = damaged.len() / 2;
        damaged[middle] ^= 0x10;
        let foreign = if *name == "uniform" { "exp3" } else { "uniform" };
        let others =
            [damaged, build(&setup(4)).save(), by_name(foreign, &setup(3)).unwrap().save(), Vec::new()];
        for (i, other) in others.iter().enumerate() {
            assert!(matches!(master.load(other), Err(MasterError::Snapshot(_))), "{name}: {i}");
            assert_eq!((master.save(), master.probabilities()), (state.clone(), &p[..]), "{name}: {i}");
        }
    }
}

#[test]
fn errors_name_the_value_and_change_nothing() {
    for (name, build) in TABLE {
        let mut master = build(&setup(3));
        let mut rng = Pcg64Dxsm::seed_from_u64(8);
        for _ in 0..20 {
            round(name, &mut *master, &mut rng);
        }
        let (state, p) = (master.save(), master.probabilities().to_vec());
        let good = Credit::Chosen { base: 0, weight: 1.0 };
        for loss in [f64::NAN, -0.1, 1.1, f64::INFINITY] {
            assert!(matches!(master.update(loss, good), Err(MasterError::Loss(_))), "{name}: {loss}");
        }
        for weight in [f64::NAN, -1.0, f64::INFINITY] {
            let chosen = Credit::Chosen { base: 1, weight };
            assert!(matches!(master.update(0.5, chosen), Err(MasterError::Weight { base: 1, .. })), "{name}");
            let list = [1.0, weight, 1.0];
            let shared = Credit::Shared(&list);
            assert!(matches!(master.update(0.5, shared), Err(MasterError::Weight { base: 1, .. })), "{name}");
        }
        let chosen = Credit::Chosen { base: 3, weight: 1.0 };
        assert_eq!(
            master.update(0.5, chosen).err(),
            Some(MasterError::Index { base: 3, bases: 3 }),
            "{name}"
        );
        let short = master.update(0.5, Credit::Shared(&[1.0])).err();
        assert_eq!(short, Some(MasterError::Length { found: 1, bases: 3 }), "{name}");
        for range in [f64::NAN, 0.5, f64::INFINITY] {
            assert!(
                matches!(master.extra().unwrap().start_over(range, None), Err(MasterError::Range(_))),
                "{name}"
            );
        }
        assert_eq!((master.save(), master.probabilities()), (state, &p[..]), "{name}");
    }
}

#[test]
fn credit_of_one_is_the_same_chosen_or_shared() {
    for (name, build) in TABLE {
        let (mut one, mut list) = (build(&setup(4)), build(&setup(4)));
        let mut rng = Pcg64Dxsm::seed_from_u64(13);
        for _ in 0..100 {
            let base = draw_base(&mut *one, &mut rng).0;
            let weight = 1.0 / one.probabilities()[base];
            let loss = uniform(&mut rng);
            let mut weights = [0.0; 4];
            weights[base] = weight;
            one.update(loss, Credit::Chosen { base, weight }).unwrap();
            list.update(loss, Credit::Shared(&weights)).unwrap();
            for (a, b) in one.probabilities().iter().zip(list.probabilities()) {
                assert!((a - b).abs() < 1e-9, "{name}: {a} {b}");
            }
        }
    }
}

#[test]
fn a_master_below_another_takes_its_weights() {
    for (name, build) in TABLE {
        let mut master = build(&setup(3));
        master.extra().unwrap().start_over(50.0, Some(2000)).unwrap();
        simplex(name, master.probabilities());
        let mut rng = Pcg64Dxsm::seed_from_u64(17);
        for _ in 0..500 {
            let base = draw_base(&mut *master, &mut rng).0;
            // Seen once in fifty rounds, with weight fifty.
            let above = if uniform(&mut rng) < 0.02 { 50.0 } else { 0.0 };
            let weight = above / master.probabilities()[base];
            master.update(uniform(&mut rng), Credit::Chosen { base, weight }).unwrap();
            simplex(name, master.probabilities());
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, ..ProptestConfig::default() })]

    /// Whatever weights somebody finds, a master answers with a distribution or an error that changed nothing.
    #[test]
    fn strange_weights_do_no_harm(
        bases in 1usize..6,
        rounds in prop::collection::vec((0usize..6, -8.0f64..15.0, 0.0f64..=1.0, any::<bool>()), 1..60),
    ) {
        for (name, build) in TABLE {
            let mut master = build(&setup(bases));
            for (base, scale, loss, shared) in &rounds {
                let weight = 10f64.powf(*scale);
                let before = master.save();
                let weights: Vec<f64> = (0..bases).map(|i| weight / (i + 1) as f64).collect();
                let credit = match shared {
                    true => Credit::Shared(&weights),
                    false => Credit::Chosen { base: base % bases, weight },
                };
                match master.update(*loss, credit) {
                    Ok(_) => simplex(name, master.probabilities()),
                    Err(_) => prop_assert_eq!(master.save(), before, "{}", name),
                }
            }
        }
    }
}

/// docs/practical.md, the rate: eta is at most one over the mean loss with t0 pseudo-observations of 1/2, and a lucky round
/// takes at most half of 1/p from a base.
#[test]
fn practical_follows_the_mean_loss_and_no_lucky_round_more_than_doubles_a_base() {
    let build = |reach| {
        let params = PracticalParams { reach, ..Default::default() };
        let mut master = Practical::new(params, &setup(4)).unwrap();
        for t in 1..=744 {
            // All alike: nothing varies, and the bound alone decides.
            master.update(0.1, Credit::Shared(&[1.0; 4])).unwrap();
            let mean = (128.0 + 0.1 * f64::from(t)) / (256.0 + f64::from(t));
            let rate = master.telemetry().rates[0];
            assert!((rate * mean - 1.0).abs() < 1e-9, "{t}: {rate}, {mean}");
        }
        for _ in 0..3 {
            let weight = 1.0 / master.probabilities()[0];
            master.update(1.0, Credit::Chosen { base: 0, weight }).unwrap();
        }
        master
    };
    for (reach, least, most) in [(0.5, 1.2, 2.05), (1000.0, 2.1, f64::INFINITY)] {
        let mut master = build(reach);
        let before = master.probabilities()[0];
        assert!(before < 0.1, "{before}");
        master.update(0.0, Credit::Chosen { base: 0, weight: 1.0 / before }).unwrap();
        let ratio = master.probabilities()[0] / before;
        assert!((least..most).contains(&ratio), "reach {reach}: {before}, times {ratio}");
    }
}
