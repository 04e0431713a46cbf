//! Modules that break every rule. Each is an error that says so, and none ends or stops the host.

use corral_core::{Arm, Order, Rng};

use crate::{ARMS, FUEL, build, greedy, honest, play, rng, with, x};

#[test]
fn what_a_module_does_wrong_is_its_error() {
    for line in include_str!("hostile.txt").lines().filter(|line| !line.is_empty() && !line.starts_with('#'))
    {
        let [from, to, says] = line.split(" | ").collect::<Vec<_>>()[..] else { panic!("{line}") };
        let from = if from.starts_with(";;@") { format!("{from}\n") } else { from.to_owned() };
        let base = build(&with(&from, to), "greedy", FUEL, ARMS);
        match base.and_then(|mut base| play(&mut *base, &mut rng(1), 9).map_err(|why| why.to_string())) {
            Ok(_) => assert!(says.starts_with("nothing"), "{to}: it goes on"),
            Err(why) => assert!(why.contains(says), "{to}: {why}"),
        }
    }
    let whole = honest();
    let (half, huge) = (&whole[..whole.len() / 2], vec![0; (1 << 24) + 1]);
    for bytes in [b"", &whole[..8], half, b"\0asm\x0d\0\x01\0", &[0; 40], &huge[..]] {
        let why = build(bytes, "greedy", FUEL, ARMS).err().expect("it is no module");
        assert!(why.contains("not a usable WebAssembly module"), "{why}");
    }
}

#[test]
fn a_trap_lasts_until_the_base_starts_over() {
    let once =
        "(if (i32.load (i32.const 68000)) (then (unreachable))) (i32.store (i32.const 68000) (i32.const 1))";
    let mut base = greedy(&with(";;@ learn\n", once));
    let saved = base.save();
    let first = play(&mut *base, &mut rng(1), 9).unwrap_err();
    assert!(first.to_string().contains("greedy: learn: "), "{first}");
    for _ in 0..2 {
        assert_eq!(base.propose(&x(), &mut rng(1)).unwrap_err(), first);
        assert_eq!(base.apply_order(Order::Widen { range: 4.0, remaining: None }).unwrap_err(), first);
        assert_eq!((base.likelihood(&x(), &Arm::at(0)), base.save()), (None, Vec::new()));
    }
    base.apply_order(Order::StartOver { range: 1.0, remaining: Some(1000) }).unwrap();
    assert_eq!(base.save(), saved, "it is as new");
    play(&mut *base, &mut rng(1), 9).unwrap_err();
    base.load(&saved).unwrap();
    base.propose(&x(), &mut rng(1)).unwrap();
}

#[test]
fn a_likelihood_that_fails_makes_the_next_call_fail() {
    let wrong = "(f64.store (local.get $answer) (f64.const 1.5)) (return (i32.const 0))";
    let mut base = greedy(&with(";;@ likelihood\n", wrong));
    assert_eq!(base.likelihood(&x(), &Arm::at(0)), None);
    let why = base.propose(&x(), &mut rng(1)).unwrap_err().to_string();
    assert!(why.contains("a probability of 1.5"), "{why}");
}

/// A panic of the generator goes through, and the call that it interrupted is not taken up again.
#[test]
fn a_generator_may_panic() {
    struct Panics;
    impl rand::TryRng for Panics {
        type Error = std::convert::Infallible;
        fn try_next_u32(&mut self) -> Result<u32, Self::Error> {
            panic!("no number")
        }
        fn try_next_u64(&mut self) -> Result<u64, Self::Error> {
            panic!("no number")
        }
        fn try_fill_bytes(&mut self, _: &mut [u8]) -> Result<(), Self::Error> {
            panic!("no number")
        }
    }
    let mut base = greedy(&honest());
    let panics = std::panic::AssertUnwindSafe(|| base.propose(&x(), &mut Panics).map(drop));
    assert!(std::panic::catch_unwind(panics).is_err());
    let why = base.propose(&x(), &mut rng(1)).unwrap_err().to_string();
    assert!(why.contains("interrupted by a panic of the generator"), "{why}");
    assert!(base.save().is_empty());
}

/// It counts what it saw, and hangs for ever in some round.
#[test]
fn a_hang_is_found_in_the_same_round_every_time() {
    let hangs =
        "(if (i64.gt_u (i64.load offset=67136 (i32.const 0)) (i64.const 20)) (then (loop $on (br $on))))";
    let module = with(";;@ propose\n", hangs);
    let run = || {
        let (mut base, mut draws) = (greedy(&module), rng(4));
        (0..1000).find_map(|t| play(&mut *base, &mut draws, 1).err().map(|why| (t, why.to_string())))
    };
    let (round, why) = run().expect("it hangs");
    assert!(round > 20 && why.contains("propose took more than 100000 steps"), "{round}: {why}");
    assert_eq!(run(), Some((round, why)));
    // Steps are counted for one call at a time.
    play(&mut *build(&honest(), "greedy", "fuel = 2000", ARMS).unwrap(), &mut rng(1), 500).unwrap();
}

/// Bits of the honest module are changed, one or two at a time: whatever that gives, it is an answer or an error.
#[test]
fn changed_bytes_never_panic() {
    let (whole, mut draws, mut opened, mut played) = (honest(), rng(6), 0, 0);
    for _ in 0..3000 {
        let mut bytes = whole.clone();
        for _ in 0..=draws.next_u32() % 2 {
            let at = draws.next_u64() as usize % bytes.len();
            bytes[at] ^= 1 << (draws.next_u32() % 8);
        }
        let Ok(mut base) = build(&bytes, "greedy", FUEL, ARMS) else { continue };
        opened += 1;
        let (fine, saved) = (play(&mut *base, &mut rng(1), 5).is_ok(), base.save());
        played += u32::from(fine && base.load(&saved).is_ok());
    }
    assert!(opened > 300 && played > 100, "{opened} are opened, {played} play on");
}
