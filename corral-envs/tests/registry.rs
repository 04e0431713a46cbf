//! One table over every registered environment.

use corral_core::{Arm, Context};
use corral_envs::{Environment, World, build, entries, example};
use rand::SeedableRng;
use rand_pcg::Pcg64Dxsm;

const ROUNDS: u64 = 1000;

fn table(text: &str) -> toml::Table {
    text.parse().unwrap()
}

fn world(name: &str, seed: u64) -> World {
    let params = table(example(name).unwrap());
    build(name, &params, ROUNDS, &mut Pcg64Dxsm::seed_from_u64(seed)).unwrap()
}

#[test]
fn names_are_unique_and_told_of() {
    for (i, entry) in entries().iter().enumerate() {
        assert!(entries()[..i].iter().all(|e| e.name != entry.name), "{} twice", entry.name);
        assert!(["arms", "contextual", "points"].contains(&entry.kind), "{}", entry.name);
        assert!(!entry.summary.is_empty() && !entry.source.is_empty(), "{}", entry.name);
        assert!(entry.fields.iter().all(|f| !f.doc.is_empty()), "{}", entry.name);
    }
}

#[test]
fn every_example_builds_and_its_kind_is_right() {
    for entry in entries() {
        let world = world(entry.name, 1);
        assert_eq!(matches!(world, World::Points(_)), entry.kind == "points", "{}", entry.name);
        assert_eq!(world.setup().horizon, Some(ROUNDS), "{}", entry.name);
    }
}

/// Every key with a default can be left out and can be written; a key without one must be given.
#[test]
fn the_fields_are_those_that_are_read() {
    for entry in entries() {
        let mut params = table(example(entry.name).unwrap());
        for field in entry.fields {
            if field.default.is_empty() {
                let mut without = params.clone();
                if without.remove(field.name).is_some() {
                    let built = build(entry.name, &without, ROUNDS, &mut Pcg64Dxsm::seed_from_u64(1));
                    assert!(built.is_err(), "{}: {} is not needed", entry.name, field.name);
                }
            } else if !params.contains_key(field.name) {
                let default = table(&format!("x = {}", field.default));
                params.insert(field.name.to_owned(), default["x"].clone());
            }
        }
        let built = build(entry.name, &params, ROUNDS, &mut Pcg64Dxsm::seed_from_u64(1));
        assert!(built.is_ok(), "{}: {:?}", entry.name, built.err().map(|e| e.to_string()));
    }
}

#[test]
fn a_typo_in_a_name_or_a_key_is_answered_with_the_nearest() {
    let rng = &mut Pcg64Dxsm::seed_from_u64(1);
    let said = |name: &str, params: &str, rng: &mut Pcg64Dxsm| {
        build(name, &table(params), 10, rng).unwrap_err().to_string()
    };
    assert_eq!(said("bernouli", "", rng), r#"unknown environment "bernouli"; did you mean "bernoulli"?"#);
    assert_eq!(
        said("bernoulli", "mean = [0.5]", rng),
        r#"unknown key of bernoulli "mean"; did you mean "means"?"#
    );
    assert_eq!(said("bernoulli", "", rng), r#"environment "bernoulli": missing field `means`"#);
    for entry in entries() {
        let mut params = table(example(entry.name).unwrap());
        params.insert("no-such-key".to_owned(), 1.into());
        let error = build(entry.name, &params, 10, rng).unwrap_err().to_string();
        assert!(error.starts_with(&format!("unknown key of {} ", entry.name)), "{error}");
    }
}

/// Plays `world` with arms chosen by `choose`, calling `visit` after `next`.
fn drive(
    world: &mut dyn Environment<Context, Arm>,
    rounds: u64,
    seed: u64,
    choose: impl Fn(u64, usize) -> usize,
    mut visit: impl FnMut(u64, &dyn Environment<Context, Arm>),
) {
    let mut rng = Pcg64Dxsm::seed_from_u64(seed);
    for t in 0..rounds {
        world.next(&mut rng).unwrap();
        visit(t, world);
        let actions = world.context().actions();
        world.play(&Arm::from(choose(t, actions))).unwrap();
    }
}

/// The generator ends in the same state whatever was played.
#[test]
fn a_round_draws_the_same_whatever_is_played() {
    use rand::Rng;
    for entry in entries().iter().filter(|e| e.kind != "points") {
        let mut ends = Vec::new();
        for play in 0..3 {
            let World::Arms(mut env) = world(entry.name, 1) else { unreachable!() };
            let mut rng = Pcg64Dxsm::seed_from_u64(5);
            for t in 0..50 {
                env.next(&mut rng).unwrap();
                let actions = env.context().actions();
                env.play(&Arm::from((play * t) % actions)).unwrap();
            }
            ends.push(rng.next_u64());
        }
        assert!(ends.windows(2).all(|w| w[0] == w[1]), "{}", entry.name);
    }
}

/// Losses lie in [0, 1], are the same when asked again, and an arm outside the space is answered and refused.
#[test]
fn losses_are_in_range_and_repeatable() {
    for entry in entries().iter().filter(|e| e.kind != "points") {
        let World::Arms(mut env) = world(entry.name, 2) else { unreachable!() };
        drive(
            &mut *env,
            200,
            3,
            |t, k| t as usize % k,
            |_, env| {
                for a in 0..env.context().actions() {
                    let (loss, mean) = (env.loss(&Arm::from(a)), env.mean_loss(&Arm::from(a)));
                    assert!(
                        (0.0..=1.0).contains(&loss) && (0.0..=1.0).contains(&mean),
                        "{}: {loss} {mean}",
                        entry.name
                    );
                    assert_eq!(loss, env.loss(&Arm::from(a)));
                }
                let outside = Arm::from(env.context().actions());
                assert!(env.loss(&outside).is_nan() && env.mean_loss(&outside).is_nan(), "{}", entry.name);
            },
        );
        env.next(&mut Pcg64Dxsm::seed_from_u64(1)).unwrap();
        assert!(env.play(&Arm::from(env.context().actions())).is_err(), "{}", entry.name);
    }
}
