//! docs/bases.md#actions-that-are-not-offered: laws of every base that takes rounds with some of the arms.

use corral_bases::band::{Assembler, BandRecipe, Copies, MasterRecipe, Recipe};
use corral_bases::{build, entries};
use corral_core::{Arm, Base, Context, Feedback, Learner, Setup, masters, uniform};
use rand::SeedableRng;
use rand_pcg::Pcg64Dxsm;

type Boxed = Box<dyn Base<Context, Arm>>;

/// Every base over arms that takes offers and learns, with its defaults and with parameters that change its estimates.
fn cases() -> Vec<(&'static str, &'static str)> {
    let setup = Setup::arms(4, None);
    let takes = |name: &str| match build(name, &toml::Table::new(), &setup) {
        Ok(Learner::Arms(base)) => base.abilities().takes_offers,
        _ => false,
    };
    let named = entries().map(|entry| entry.name);
    let mut cases: Vec<_> = named
        .filter(|name| takes(name) && !["random", "fixed"].contains(name))
        .map(|name| (name, ""))
        .collect();
    cases.extend([("exp3", "ix = true"), ("thompson", "fractional = true"), ("ucb1", "scale = 0.3")]);
    cases
}

fn base((name, keys): (&str, &str), setup: &Setup) -> Boxed {
    match build(name, &keys.parse().unwrap(), setup).unwrap() {
        Learner::Arms(base) => base,
        Learner::Points(_) => unreachable!("{name} is over arms"),
    }
}

/// The number of the arm that is played in each round.
fn play(
    base: &mut Boxed,
    means: &[f64],
    rounds: usize,
    seed: u64,
    offer: impl Fn(usize) -> Context,
) -> Vec<usize> {
    let mut rng = Pcg64Dxsm::seed_from_u64(seed);
    let mut round = |t: usize| {
        let x = offer(t);
        let made = base.propose(&x, &mut rng).unwrap();
        let number = x.number(made.decision.index());
        let loss = f64::from(uniform(&mut rng) < means[number]);
        base.learn(&x, &made, Feedback::plain(loss)).unwrap();
        number
    };
    (0..rounds).map(&mut round).collect()
}

fn these(numbers: &[u32]) -> Context {
    Context::plain(numbers.len()).offering(numbers.to_vec())
}

/// How the offer of arms is written: by numbers, or as the first ones.
fn rounds(numbers: bool, of: usize) -> Context {
    if numbers { these(&(0..of as u32).collect::<Vec<_>>()) } else { Context::plain(of) }
}

#[test]
fn a_worse_arm_that_rests_in_half_of_the_rounds_is_left_alone() {
    for case in cases() {
        for horizon in [None, Some(6_000)] {
            let mut share = 0.0;
            for (seed, numbers) in [(0, true), (1, false), (2, true), (3, false)] {
                let mut base = base(case, &Setup::arms(2, horizon));
                let played = play(&mut base, &[0.3, 0.5], 6_000, seed, |t| rounds(numbers, 1 + t % 2));
                let worse = played[3_000..].iter().filter(|number| **number == 1).count();
                share += worse as f64 / 1_500.0 / 4.0;
            }
            println!("{case:?} {horizon:?}: {share:.3}");
            assert!(
                share < 0.25,
                "{case:?}, horizon {horizon:?}: the worse arm in {share} of the rounds with both"
            );
        }
    }
}

#[test]
fn a_better_arm_that_rests_in_half_of_the_rounds_is_found() {
    for case in cases() {
        let mut share = 0.0;
        for (seed, numbers) in [(0, true), (1, false), (2, true), (3, false)] {
            let mut base = base(case, &Setup::arms(2, None));
            let played = play(&mut base, &[0.5, 0.3], 6_000, seed, |t| rounds(numbers, 1 + t % 2));
            share += played[3_000..].iter().filter(|number| **number == 1).count() as f64 / 1_500.0 / 4.0;
        }
        println!("{case:?}: {share:.3}");
        assert!(share > 0.75, "{case:?}: the better arm in {share} of the rounds with both");
    }
}

#[test]
fn a_bad_newcomer_gets_few_rounds_and_a_good_one_gets_most() {
    for case in cases() {
        for horizon in [None, Some(8_000)] {
            let newcomer = |mean: f64| {
                let mut share = 0.0;
                for (seed, numbers) in [(0, true), (1, false), (2, true), (3, false)] {
                    let mut base = base(case, &Setup::arms(3, horizon));
                    let joins = |t| rounds(numbers, if t < 4_000 { 2 } else { 3 });
                    let played = play(&mut base, &[0.3, 0.6, mean], 8_000, seed, joins);
                    share += played.iter().filter(|number| **number == 2).count() as f64 / 4_000.0 / 4.0;
                }
                share
            };
            let (bad, good) = (newcomer(0.9), newcomer(0.1));
            println!("{case:?} {horizon:?}: {bad:.3} {good:.3}");
            assert!(bad < 0.1, "{case:?}, horizon {horizon:?}: the bad newcomer in {bad} of its rounds");
            assert!(good > 0.6, "{case:?}, horizon {horizon:?}: the good newcomer in {good} of its rounds");
        }
    }
}

#[test]
fn an_arm_that_no_round_offers_changes_nothing() {
    let means = [0.6, 0.3, 0.5];
    for case in cases() {
        for horizon in [None, Some(300)] {
            let mut plain = base(case, &Setup::arms(3, horizon));
            let played = play(&mut plain, &means, 400, 5, |_| Context::plain(3));
            let spare = [means[0], means[1], means[2], 0.0, 0.0];
            let mut first = base(case, &Setup::arms(5, horizon));
            assert_eq!(play(&mut first, &spare, 400, 5, |_| Context::plain(3)), played, "{case:?}");
            let apart = [0.0, means[0], 0.0, means[1], 0.0, means[2]];
            let mut named = base(case, &Setup::arms(6, horizon));
            let among = play(&mut named, &apart, 400, 5, |_| these(&[1, 3, 5]));
            assert_eq!(among.iter().map(|number| number / 2).collect::<Vec<_>>(), played, "{case:?}");
            for arm in 0..3 {
                let of = |base: &Boxed, x: &Context| base.likelihood(x, &Arm(arm)).map(|(p, _)| p).unwrap();
                let (p, q) = (of(&plain, &Context::plain(3)), of(&named, &these(&[1, 3, 5])));
                assert!((p - q).abs() < 1e-9, "{case:?}, arm {arm}: {p} and {q}");
            }
        }
    }
}

#[test]
fn what_rounds_have_offered_is_saved() {
    for case in cases() {
        let setup = Setup::arms(4, None);
        let mut one = base(case, &setup);
        play(&mut one, &[0.6, 0.3, 0.5, 0.1], 100, 3, |_| these(&[0, 2]));
        let mut other = base(case, &setup);
        other.load(&one.save()).unwrap();
        let joins = |t| if t < 50 { these(&[0, 2]) } else { these(&[0, 1, 2]) };
        let rest = |base: &mut Boxed| play(base, &[0.6, 0.3, 0.5, 0.1], 200, 4, joins);
        assert_eq!(rest(&mut one), rest(&mut other), "{case:?}");
        assert_eq!(one.save(), other.save(), "{case:?}");
    }
}

/// Whatever the master: the best arm is always there, the second rests in half of the rounds, and a bad one joins in the middle. A
/// band that was saved there and read back goes on as it was.
#[test]
fn bands_under_every_master_leave_resting_arms_and_bad_newcomers_alone() {
    let bases = ["exp3", "tsallis-inf", "thompson", "ucb1"].map(Recipe::from).to_vec();
    let (means, rounds) = ([0.2, 0.5, 0.9], 4_000);
    let setup = Setup::arms(means.len(), Some(rounds));
    let mut played = 0;
    for entry in masters::REGISTRY.entries() {
        let recipe = BandRecipe {
            master: MasterRecipe::named(entry.name),
            bases: bases.clone(),
            copies: Copies::Count(1),
        };
        // The pacer wants costs, and its bands are of its own making.
        let Some(mut band) =
            Assembler::new(&setup).band::<Arm>(&recipe).ok().filter(|_| entry.name != "pacer")
        else {
            continue;
        };
        played += 1;
        let mut rng = Pcg64Dxsm::seed_from_u64(2);
        let (mut with_both, mut resting, mut newcomer) = (0.0, 0.0, 0.0);
        for t in 0..rounds {
            let late = if t < rounds / 2 { vec![0] } else { vec![0, 2] };
            let x = these(&if t % 2 == 0 { late } else { [&late[..1], &[1], &late[1..]].concat() });
            if t == rounds / 2 + 100 {
                let mut again = Assembler::new(&setup).band::<Arm>(&recipe).unwrap();
                again.load(&band.save()).unwrap();
                let (mut one, mut other) = (rng.clone(), rng.clone());
                for _ in 0..20 {
                    let (mine, its) =
                        (band.choose(&x, &mut one).unwrap(), again.choose(&x, &mut other).unwrap());
                    assert_eq!(
                        (mine.decision, mine.propensity()),
                        (its.decision, its.propensity()),
                        "{}",
                        entry.name
                    );
                    band.learn(&x, mine, 0.5).unwrap();
                    again.learn(&x, its, 0.5).unwrap();
                }
            }
            let ticket = band.choose(&x, &mut rng).unwrap();
            let number = x.number(ticket.decision.index());
            band.learn(&x, ticket, f64::from(uniform(&mut rng) < means[number])).unwrap();
            if t >= rounds / 4 && t % 2 == 1 {
                with_both += 1.0;
                resting += f64::from(u8::from(number == 1));
            }
            newcomer += f64::from(u8::from(number == 2)) / (rounds / 2) as f64;
        }
        assert!(band.benched().is_empty(), "{}: {:?}", entry.name, band.benched());
        println!("{}: {:.3} {newcomer:.3}", entry.name, resting / with_both);
        assert!(resting < 0.25 * with_both, "{}: the resting arm in {resting} of {with_both}", entry.name);
        assert!(newcomer < 0.15, "{}: the newcomer in {newcomer} of its rounds", entry.name);
    }
    assert!(played > 20, "{played} masters");
}
