//! The tests of `isolation.rs`.

use std::time::Duration;

use corral_core::{Corral, CorralParams, Ensemble, Horizon, Order};
use corral_plugin_abi::host::{Isolation, Library, LoadPolicy, Plugins, RunIn, load_file};
use corral_plugin_abi::prelude::*;
use rand::SeedableRng;
use rand_pcg::Pcg64Dxsm;

use crate::common::{SHARED, aborting, c, folder, in_this_process, rust};
use crate::draws::{Draws, DrawsParams};

/// Every test, by name.
pub const ALL: &[(&str, fn())] = &[
    ("the_same_run_bit_for_bit", the_same_run_bit_for_bit),
    ("points_cross_as_well", points_cross_as_well),
    ("a_snapshot_moves_between_homes", a_snapshot_moves_between_homes),
    ("a_panic_is_an_error_and_the_process_lives", a_panic_is_an_error_and_the_process_lives),
    ("a_plugin_that_aborts_on_panic_is_survived", a_plugin_that_aborts_on_panic_is_survived),
    ("what_kills_a_process_does_not_kill_the_host", what_kills_a_process_does_not_kill_the_host),
    ("a_library_that_crashes_when_opened_is_refused", a_library_that_crashes_when_opened_is_refused),
    ("what_comes_back_is_checked", what_comes_back_is_checked),
    ("a_run_goes_on_without_the_base_that_died", a_run_goes_on_without_the_base_that_died),
    ("a_spec_isolates_one_base", a_spec_isolates_one_base),
];

fn apart(limit_ms: u64) -> LoadPolicy {
    let isolation = Isolation { time_limit: Duration::from_millis(limit_ms), ..Isolation::default() };
    LoadPolicy { isolation, ..LoadPolicy::default() }
}

/// Generous where nothing is late on purpose: the machine may be busy.
const PATIENT: u64 = 20_000;

fn world(actions: usize, features: usize) -> Setup {
    let mut setup = Setup::arms(actions, Some(1000));
    setup.context.features = features;
    setup
}

fn arms(loaded: &Library, base: &str, params: &str, setup: &Setup) -> Box<dyn Base<Context, Arm>> {
    loaded.build(base, params, setup).unwrap().into_arms().expect("arms were asked for")
}

fn the_same_run_bit_for_bit() {
    let loaded = load_file(&rust("draws"), &apart(PATIENT)).unwrap();
    assert_eq!((loaded.bases().len(), loaded.about().unwrap().interface.as_deref()), (2, Some("0.1.0")));
    let setup = world(4, 3);
    let mut linked = Draws::build(DrawsParams { epsilon: 0.5, step: 0.1 }, &setup).unwrap();
    let mut other = arms(&loaded, "draws", "epsilon = 0.5", &setup);
    assert!(other.abilities().learns_from_others);
    let mut worldly = Pcg64Dxsm::seed_from_u64(1);
    let (mut a, mut b) = (Pcg64Dxsm::seed_from_u64(2), Pcg64Dxsm::seed_from_u64(2));
    for round in 0..100 {
        let x = Context::shared((0..3).map(|_| uniform(&mut worldly)).collect(), 4);
        let (mine, theirs) = (linked.propose(&x, &mut a).unwrap(), other.propose(&x, &mut b).unwrap());
        assert_eq!((&mine, &a), (&theirs, &b), "round {round}");
        assert_eq!(linked.likelihood(&x, &Arm(1)), other.likelihood(&x, &Arm(1)));
        let feedback = Feedback::new(uniform(&mut worldly), f64::from(round % 3 != 0));
        linked.learn(&x, &mine, feedback).unwrap();
        other.learn(&x, &theirs, feedback).unwrap();
        linked.pass(&x).unwrap();
        other.pass(&x).unwrap();
    }
    let framed: Vec<u8> = snapshot::open("plugin base draws version 0.1.0", 1, &other.save()).unwrap();
    assert_eq!(framed, linked.save());
    other.apply_order(Order::Widen { range: 3.0, remaining: Some(10) }).unwrap();
    linked.apply_order(Order::Widen { range: 3.0, remaining: Some(10) }).unwrap();
    let framed: Vec<u8> = snapshot::open("plugin base draws version 0.1.0", 1, &other.save()).unwrap();
    assert_eq!(framed, linked.save());
}

fn points_cross_as_well() {
    let (here, there) = (in_this_process(), apart(PATIENT));
    let setup = Setup::new(Space::Points(Set::Box { dim: 5 }), None);
    let build = |policy: &LoadPolicy| {
        let loaded = load_file(&rust("draws"), policy).unwrap();
        loaded.build("walk", "", &setup).unwrap().into_points().expect("points were asked for")
    };
    let (mut here, mut there) = (build(&here), build(&there));
    let (mut a, mut b) = (Pcg64Dxsm::seed_from_u64(2), Pcg64Dxsm::seed_from_u64(2));
    for _ in 0..20 {
        let x = Context::plain(0);
        let (mine, theirs) = (here.propose(&x, &mut a).unwrap(), there.propose(&x, &mut b).unwrap());
        assert_eq!(mine, theirs);
        here.learn(&x, &mine, Feedback::plain(mine.decision.0[0].abs())).unwrap();
        there.learn(&x, &mine, Feedback::plain(mine.decision.0[0].abs())).unwrap();
    }
}

fn a_snapshot_moves_between_homes() {
    let (here, there) =
        (load_file(&rust("draws"), &in_this_process()), load_file(&rust("draws"), &apart(PATIENT)));
    let (here, there) = (here.unwrap(), there.unwrap());
    let setup = world(3, 1);
    let mut first = arms(&here, "draws", "", &setup);
    let (x, mut rng) = (Context::shared(vec![1.0], 3), Pcg64Dxsm::seed_from_u64(1));
    for _ in 0..10 {
        let made = first.propose(&x, &mut rng).unwrap();
        first.learn(&x, &made, Feedback::plain(0.5)).unwrap();
    }
    let mut second = arms(&there, "draws", "", &setup);
    second.load(&first.save()).unwrap();
    assert_eq!(second.save(), first.save());
    assert!(second.load(b"damaged").unwrap_err().to_string().contains("not a snapshot"));
    second.propose(&x, &mut rng).unwrap();
}

fn a_panic_is_an_error_and_the_process_lives() {
    let loaded = load_file(&rust("faults"), &apart(PATIENT)).unwrap();
    let (x, mut rng) = (Context::plain(3), Pcg64Dxsm::seed_from_u64(1));
    let mut base = arms(&loaded, "faulty", "fault = 'third'", &world(3, 0));
    for _ in 0..2 {
        base.propose(&x, &mut rng).unwrap();
    }
    let told = base.propose(&x, &mut rng).unwrap_err().to_string();
    assert!(told.starts_with("faulty: propose: panicked: fault in round 2 at "), "{told}");
    base.apply_order(Order::Widen { range: 2.0, remaining: None }).unwrap();
    base.propose(&x, &mut rng).unwrap();
    let refused = loaded.build("faulty", "fault = 'create'", &world(3, 0)).unwrap_err().to_string();
    assert!(refused.starts_with("faulty: create: panicked: fault in create at "), "{refused}");
}

fn a_plugin_that_aborts_on_panic_is_survived() {
    let loaded = load_file(&aborting(), &apart(PATIENT)).unwrap();
    let (x, mut rng) = (Context::plain(3), Pcg64Dxsm::seed_from_u64(1));
    let mut base = arms(&loaded, "faulty", "fault = 'propose'", &world(3, 0));
    base.pass(&x).unwrap();
    let told = base.propose(&x, &mut rng).unwrap_err();
    let expected = "faulty: its process was ended by signal 6 (abort); it last wrote: ";
    assert!(
        told.to_string().starts_with(expected) && told.to_string().contains("fault in propose"),
        "{told}"
    );
    assert_eq!(base.pass(&x).unwrap_err(), told, "and stays so");
    assert!(base.save().is_empty());
    assert!(base.apply_order(Order::Widen { range: 2.0, remaining: None }).is_err());
}

fn what_kills_a_process_does_not_kill_the_host() {
    let dir = folder();
    let Some(path) = c("faulty.c", &dir.path().join("faulty.so"), SHARED) else { return };
    let loaded = load_file(&path, &apart(PATIENT)).unwrap();
    let hasty = load_file(&path, &apart(100)).unwrap();
    let (x, mut rng) = (Context::plain(3), Pcg64Dxsm::seed_from_u64(1));
    let mut say = |loaded: &Library, fault: &str| {
        let mut base = arms(loaded, "faulty", &format!("fault = {fault:?}"), &world(3, 0));
        base.pass(&x).unwrap();
        base.propose(&x, &mut rng).map(|made| made.decision.0).map_err(|e| e.to_string())
    };
    let ended = |how: &str| Err(format!("faulty: its process was ended by signal {how}"));
    assert_eq!(say(&loaded, "null-write"), ended("11 (segmentation fault)"));
    assert_eq!(say(&loaded, "abort"), ended("6 (abort)"));
    assert_eq!(say(&loaded, "exit"), Err("faulty: its process ended with exit code 42".into()));
    // Rust's handler of its own stack says abort, the system's segmentation fault.
    let stack = say(&loaded, "stack").unwrap_err();
    assert!(stack.contains("signal 6") || stack.contains("signal 11"), "{stack}");
    assert_eq!(
        say(&hasty, "loop"),
        Err("faulty: no answer within 100ms of processor time, or 6s by the clock; its process was ended"
            .into())
    );
    assert_eq!(
        say(&hasty, "draw-loop"),
        Err("faulty: no answer within 100ms of processor time, or 6s by the clock; its process was ended"
            .into())
    );
    // What a plugin prints or reads does not disturb the conversation.
    assert_eq!(say(&loaded, "print"), Ok(0));
    assert_eq!(say(&loaded, "read"), Ok(0));
    let created = loaded.build("faulty", "fault = \"create\"", &world(3, 0)).unwrap_err().to_string();
    assert!(created.contains("its process was ended by signal 11"), "{created}");
}

fn a_library_that_crashes_when_opened_is_refused() {
    let dir = folder();
    let flags = [SHARED, &["-DCRASH_AT_OPEN"]].concat();
    let Some(path) = c("faulty.c", &dir.path().join("crash.so"), &flags) else { return };
    let why = load_file(&path, &apart(PATIENT)).unwrap_err().why.to_string();
    assert_eq!(why, "a child process was to open it: its process was ended by signal 6 (abort)");
}

fn what_comes_back_is_checked() {
    let dir = folder();
    let Some(path) = c("faulty.c", &dir.path().join("faulty.so"), SHARED) else { return };
    let loaded = load_file(&path, &apart(PATIENT)).unwrap();
    let (x, mut rng) = (Context::plain(3), Pcg64Dxsm::seed_from_u64(1));
    for (fault, why) in [
        ("arm", "not a proposal of this base: arm 3 of 3"),
        ("nan", "not a proposal of this base: number 0 of the memo is NaN"),
        ("status", "propose returned the unknown status 77"),
    ] {
        let mut base = arms(&loaded, "faulty", &format!("fault = {fault:?}"), &world(3, 0));
        let told = base.propose(&x, &mut rng).unwrap_err().to_string();
        assert!(told.contains(why), "{told}");
    }
    let mut base = arms(&loaded, "faulty", "fault = \"probability\"", &world(3, 0));
    assert_eq!(base.likelihood(&x, &Arm(0)), None);
    assert!(base.pass(&x).unwrap_err().to_string().contains("a probability of NaN"));
}

fn a_run_goes_on_without_the_base_that_died() {
    let faults = load_file(&rust("faults"), &in_this_process()).unwrap();
    let dying = load_file(&aborting(), &apart(PATIENT)).unwrap();
    let setup = world(3, 0);
    let bases = vec![
        arms(&faults, "faulty", "", &setup),
        arms(&dying, "faulty", "fault = 'third'", &setup),
        arms(&faults, "faulty", "fault = 'third'", &setup),
    ];
    let master = Corral::new(CorralParams::new(3, Horizon::Known(200))).unwrap();
    let mut ensemble = Ensemble::new(master, bases).unwrap();
    let (x, mut rng) = (Context::plain(3), Pcg64Dxsm::seed_from_u64(1));
    for round in 0..200 {
        let ticket = ensemble.choose(&x, &mut rng).unwrap();
        let loss = if round % 2 == 0 { 0.0 } else { 1.0 };
        let _ = ensemble.learn(&x, ticket, loss).unwrap();
    }
    let probabilities = corral_core::Master::probabilities(ensemble.master());
    assert_eq!(probabilities, [1.0, 0.0, 0.0], "both are benched, the run went on");
    let mut reasons: Vec<_> = ensemble.benched().iter().map(|b| (b.base, b.reason.clone())).collect();
    reasons.sort();
    assert!(reasons[0].1.contains("its process was ended by signal 6"), "{reasons:?}");
    assert!(reasons[1].1.contains("panicked: fault in round 2"), "{reasons:?}");
}

fn a_spec_isolates_one_base() {
    let mut registry = Plugins::new(LoadPolicy { run_in: RunIn::user_vouches(), ..LoadPolicy::default() });
    registry.add_file(&rust("draws")).unwrap();
    let build = |params: &str, isolate: bool| {
        registry.build("draws/draws", &toml::from_str(params).unwrap(), isolate, &world(2, 1))
    };
    build("time-limit = 20\nepsilon = 0.5", true).unwrap();
    build("", false).unwrap();
    assert!(build("time-limit = -1", false).is_err());
    let refused = build("time-limit = 20\nepsilon = 2.0", true).unwrap_err().to_string();
    assert!(refused.contains("epsilon must be in [0, 1], but is 2"), "{refused}");
}
