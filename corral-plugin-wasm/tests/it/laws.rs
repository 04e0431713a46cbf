//! What an honest module promises.

use corral_core::contract::{Subject, check_all};
use corral_core::set::Set;
use corral_core::{Abilities, Arm, Base, Context, Feedback, Learner, Order, Rng, Setup, Space};
use corral_plugin_abi::Plugin;
use corral_plugin_abi::host::{Door, LoadPolicy, Plugins, inspect};

use crate::twin::{MyBase, Params};
use crate::{ARMS, Boxed, FUEL, build, greedy, honest, play, rng, with, x};

/// Every law of the kit, and the run of the same base in Rust, bit for bit.
pub fn keeps_every_law(module: &[u8], base: &str) {
    let (opened, setup) = (corral_plugin_wasm::open(module).unwrap(), Setup::arms(ARMS, Some(2000)));
    let fresh = || Ok(opened.build(base, FUEL, &setup)?.into_arms().expect("arms"));
    for (law, kept) in check_all(&Subject::arms(base, &setup, fresh).rounds(2000)) {
        assert!(kept.is_ok(), "{law}: {kept:?}");
    }
    let mut twin = MyBase::build(Params { epsilon: 0.1 }, &setup).unwrap();
    let (mut base, mut one, mut other) = (fresh().unwrap(), rng(1), rng(1));
    let run = play(&mut *base, &mut one, 2000).unwrap();
    assert_eq!(run, play(&mut twin, &mut other, 2000).unwrap(), "proposals, memos and all");
    assert_eq!(one.next_u64(), other.next_u64(), "as many numbers are drawn");
    for arm in (0..ARMS).map(Arm::at) {
        assert_eq!(base.likelihood(&x(), &arm), twin.likelihood(&x(), &arm));
    }
    assert_eq!(base.abilities(), Abilities { learns_from_others: true, ..Abilities::OWN });
}

#[test]
fn an_honest_module_keeps_every_law() {
    keeps_every_law(&honest(), "greedy");
}

#[test]
fn every_kind_of_draw_is_the_hosts() {
    let draws = "(call_indirect (type $bytes) (i32.const 0) (i32.const 68000) (i32.const 5) (i32.load offset=12 (local.get $rng)))
        (f64.store (i32.load offset=16 (local.get $made)) (f64.convert_i64_u (i64.load (i32.const 68000))))
        (f64.store offset=8 (i32.load offset=16 (local.get $made)) (f64.convert_i32_u
          (call_indirect (type $u32) (i32.const 0) (i32.load offset=4 (local.get $rng)))))
        (i32.store (local.get $made) (i32.const 1)) (i32.store offset=24 (local.get $made) (i32.const 2)) (return (i32.const 0))";
    let (mut base, mut one, mut other) = (greedy(&with(";;@ propose\n", draws)), rng(3), rng(3));
    for _ in 0..3 {
        let mut bytes = [0; 8];
        other.fill_bytes(&mut bytes[..5]);
        let drawn = [u64::from_le_bytes(bytes) as f64, f64::from(other.next_u32())];
        assert_eq!(base.propose(&x(), &mut one).unwrap().memo.numbers(), drawn);
    }
}

#[test]
fn points_are_written_whole() {
    let points = |coordinates: &[u32]| {
        let write =
            |at| format!("(f64.store offset={at} (i32.load offset=8 (local.get $made)) (f64.const 0.5))");
        let code: String = coordinates.iter().map(write).collect();
        let module = with(";;@ propose\n", &(code + "(return (i32.const 0))"));
        // The kind, where the table has it.
        let kind =
            module.windows(16).position(|at| at == b"CRRLBAS1\x68\0\0\0\0\0\0\0").expect("the table") + 16;
        let module = [&module[..kind], &[3], &module[kind + 1..]].concat();
        let setup = Setup::new(Space::Points(Set::Box { dim: 2 }), None);
        match corral_plugin_wasm::open(&module).unwrap().build("greedy", FUEL, &setup).unwrap() {
            Learner::Points(mut base) => base.propose(&Context::plain(0), &mut rng(1)),
            Learner::Arms(_) => unreachable!(),
        }
    };
    assert_eq!(points(&[0, 8]).unwrap().decision.coordinates(), [0.5, 0.5]);
    let unwritten = points(&[0]).unwrap_err().to_string();
    assert!(unwritten.contains("lies outside the set"), "{unwritten}");
}

#[test]
fn a_snapshot_goes_on_in_another_instance_and_only_there() {
    // Memory that grew is state too.
    let grows = "(drop (memory.grow (i32.const 1))) (i32.store offset=131072 (i32.const 8) (i32.const 7))";
    for module in [honest(), with(";;@ learn\n", grows)] {
        let (mut base, mut other, mut draws) = (greedy(&module), greedy(&module), rng(5));
        // Also after it started over for another number of rounds.
        base.apply_order(Order::StartOver { range: 2.0, remaining: Some(9) }).unwrap();
        play(&mut *base, &mut draws, 30).unwrap();
        let (saved, mut same) = (base.save(), draws.clone());
        other.load(&saved).unwrap();
        assert_eq!(other.save(), saved);
        assert_eq!(play(&mut *base, &mut draws, 30), play(&mut *other, &mut same, 30));

        let refused = |mut base: Boxed, says: &str| {
            let (before, why) = (base.save(), base.load(&saved).unwrap_err().to_string());
            assert!(base.save() == before && why.contains(says), "{why}");
        };
        refused(greedy(&with("(type $u32", "(func) (type $u32")), "another build of the module");
        refused(
            build(&module, "greedy", FUEL, ARMS - 1).unwrap(),
            "other parameters, or for another environment",
        );
        // The limit of steps is the host's, and no parameter of the base.
        build(&module, "greedy", "fuel = 7_777_777", ARMS).unwrap().load(&saved).unwrap();
    }
}

#[test]
fn what_the_host_refuses_never_reaches_the_module() {
    let mut base = greedy(&with(";;@ learn\n", "(unreachable)"));
    let made = base.propose(&x(), &mut rng(1)).unwrap();
    for bad in [Feedback::plain(1.5), Feedback::new(0.5, f64::NAN)] {
        let why = base.learn(&x(), &made, bad).unwrap_err().to_string();
        assert!(why.contains("must be in [0"), "{why}");
    }
    let why = base.propose(&Context::shared(vec![0.0; 8000], ARMS), &mut rng(1)).unwrap_err().to_string();
    assert!(why.contains("bytes do not fit on its stack of 65536"), "{why}");
    base.propose(&x(), &mut rng(1)).unwrap();
}

#[test]
fn a_folder_has_modules_beside_libraries() {
    let dir = tempfile::tempdir().unwrap();
    let whole = honest();
    for (name, bytes) in [("mine.wasm", &whole[..]), ("other.wasm", b"\x7fELF"), ("short.wasm", &whole[..99])]
    {
        std::fs::write(dir.path().join(name), bytes).unwrap();
    }
    let policy = LoadPolicy { wasm: Some(corral_plugin_wasm::open), ..LoadPolicy::default() };
    let mut plugins = Plugins::new(policy.clone());
    plugins.add_dir(dir.path());
    assert_eq!(plugins.list()[0].key, "mine/greedy");
    assert_eq!((plugins.list().len(), plugins.plugins()[0].door), (1, Door::Wasm));
    let refused: Vec<String> = plugins.refused().iter().map(ToString::to_string).collect();
    assert!(refused[0].contains("does not begin as one"), "{refused:?}");
    assert!(refused[1].contains("not a usable WebAssembly module"), "{refused:?}");

    let build = |text: &str, isolate| {
        let params = text.parse().unwrap();
        plugins.build("mine/greedy", &params, isolate, &Setup::arms(ARMS, None)).map_err(|e| e.to_string())
    };
    assert!(build("fuel = 1000", false).is_ok());
    for (text, isolate) in [("", true), ("time-limit = 2", false)] {
        assert!(build(text, isolate).unwrap_err().contains("leave out isolate and time-limit"));
    }
    let why = build("fuel = -1", false).unwrap_err();
    assert!(why.contains("fuel must be a number of steps, at least 1, but is -1"), "{why}");
    assert!(inspect(&dir.path().join("mine.wasm"), &policy).loaded.is_some());
    let lacks = inspect(&dir.path().join("mine.wasm"), &LoadPolicy::default()).steps.pop().unwrap().1;
    assert!(lacks.unwrap_err().to_string().contains("--features wasm"));
}
