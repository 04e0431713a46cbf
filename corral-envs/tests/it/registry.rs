//! One table over every registered environment.

use corral_core::registry::Kind;
use corral_core::{Arm, Context, LossDomain};
use corral_envs::{AnyEnvironment, Environment, build, entries, example};
use rand::SeedableRng;
use rand_pcg::Pcg64Dxsm;

const ROUNDS: u64 = 1000;

fn table(text: &str) -> toml::Table {
    text.parse().unwrap()
}

fn world(name: &str, seed: u64) -> AnyEnvironment {
    let params = table(example(name).unwrap());
    build(name, &params, ROUNDS, &mut Pcg64Dxsm::seed_from_u64(seed)).unwrap()
}

#[test]
fn names_are_unique_and_told_of() {
    for (i, entry) in entries().enumerate() {
        assert!(entries().take(i).all(|e| e.name != entry.name), "{} twice", entry.name);
        assert_ne!(entry.kind, Kind::Any, "{}", entry.name);
        assert!(!entry.summary.is_empty() && !entry.source.is_empty(), "{}", entry.name);
    }
}

#[test]
fn every_example_builds_and_its_kind_is_right() {
    for entry in entries() {
        let world = world(entry.name, 1);
        assert_eq!(matches!(world, AnyEnvironment::Points(_)), entry.kind == Kind::Points, "{}", entry.name);
        assert_eq!(world.setup().horizon, Some(ROUNDS), "{}", entry.name);
    }
}

/// Every key has a sentence, and one without a default must be given.
#[cfg(feature = "describe")]
#[test]
fn the_fields_are_those_that_are_read() {
    for row in corral_envs::REGISTRY.rows() {
        let name = row.entry.name;
        for field in row.fields() {
            assert!(!field.doc.is_empty(), "{name}: {}", field.name);
            let mut without = table(example(name).unwrap());
            if field.default.is_none() {
                assert!(without.remove(&field.name).is_some(), "{name}: the example has no {}", field.name);
                let built = build(name, &without, ROUNDS, &mut Pcg64Dxsm::seed_from_u64(1));
                assert!(built.is_err(), "{name}: {} is not needed", field.name);
            }
        }
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
    assert_eq!(said("bernoulli", "", rng), r#"environment "bernoulli": the key "means" is missing"#);
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
        world.play(&Arm::at(choose(t, actions))).unwrap();
    }
}

/// The generator ends in the same state whatever was played.
#[test]
fn a_round_draws_the_same_whatever_is_played() {
    use rand::Rng;
    for entry in entries().filter(|e| e.kind != Kind::Points) {
        let mut ends = Vec::new();
        for play in 0..3 {
            let AnyEnvironment::Arms(mut env) = world(entry.name, 1) else { unreachable!() };
            let mut rng = Pcg64Dxsm::seed_from_u64(5);
            for t in 0..50 {
                env.next(&mut rng).unwrap();
                let actions = env.context().actions();
                env.play(&Arm::at((play * t) % actions)).unwrap();
            }
            ends.push(rng.next_u64());
        }
        assert!(ends.windows(2).all(|w| w[0] == w[1]), "{}", entry.name);
    }
}

/// Losses lie where the setup says, [0, 1] but for one environment, are the same when asked again, and an arm outside the space is answered and refused.
#[test]
fn losses_are_in_range_and_repeatable() {
    for entry in entries().filter(|e| e.kind != Kind::Points) {
        let AnyEnvironment::Arms(mut env) = world(entry.name, 2) else { unreachable!() };
        let losses = env.setup().losses;
        assert_eq!(losses == LossDomain::Real, entry.name == "sphere", "{}", entry.name);
        drive(
            &mut *env,
            200,
            3,
            |t, k| t as usize % k,
            |_, env| {
                for a in 0..env.context().actions() {
                    let (loss, mean) = (env.loss(&Arm::at(a)), env.mean_loss(&Arm::at(a)));
                    assert!(losses.contains(loss) && losses.contains(mean), "{}: {loss} {mean}", entry.name);
                    assert_eq!(loss, env.loss(&Arm::at(a)));
                }
                let outside = Arm::at(env.context().actions());
                assert!(env.loss(&outside).is_nan() && env.mean_loss(&outside).is_nan(), "{}", entry.name);
            },
        );
        env.next(&mut Pcg64Dxsm::seed_from_u64(1)).unwrap();
        assert!(env.play(&Arm::at(env.context().actions())).is_err(), "{}", entry.name);
    }
}

/// Arms that can be played in every round; per-round action sets have fewer.
fn every_arm(env: &dyn Environment<Context, Arm>) -> usize {
    env.setup().actions()
}

/// Empirical losses against `mean_loss`: for each arm the sum of f_t(a) - E[f_t(a)] is a martingale with increments of
/// variance at most 1/4, and stays below 4.5 of its standard errors. An assertion fails by chance with probability
/// below 7e-6, the whole table (some 200 arms) below 0.2 per cent.
#[test]
fn losses_have_the_means_they_claim() {
    let rounds = 20_000;
    for entry in entries().filter(|e| e.kind != Kind::Points) {
        let AnyEnvironment::Arms(mut env) = world(entry.name, 4) else { unreachable!() };
        let mut drift = vec![0.0; every_arm(&*env)];
        drive(
            &mut *env,
            rounds,
            9,
            |t, k| (t / 3) as usize % k,
            |_, env| {
                for (a, drift) in drift.iter_mut().enumerate().take(env.context().actions()) {
                    *drift += env.loss(&Arm::at(a)) - env.mean_loss(&Arm::at(a));
                }
            },
        );
        let bound = 4.5 * 0.5 * (rounds as f64).sqrt();
        for (a, drift) in drift.iter().enumerate() {
            assert!(drift.abs() < bound, "{} arm {a}: {drift} beyond {bound}", entry.name);
        }
    }
}

/// The best in hindsight, by brute force: the best policy of the environment's class where it comes with one; the best
/// decision of every round where it comes with contexts and no class (the planted policy is optimal everywhere); else
/// the best arm.
#[test]
fn the_best_in_hindsight_is_found_by_brute_force() {
    for entry in
        entries().filter(|e| e.kind != Kind::Points && !["slow-starter", "learning-curves"].contains(&e.name))
    {
        let AnyEnvironment::Arms(mut env) = world(entry.name, 4) else { unreachable!() };
        let policies = env.setup().policies;
        let contextual = entry.kind == Kind::Contextual;
        let mut totals = vec![0.0; policies.as_ref().map_or(every_arm(&*env), |p| p.len())];
        let mut least = 0.0;
        drive(
            &mut *env,
            500,
            9,
            |t, k| (t as usize / 2) % k,
            |t, env| {
                let mean = |a: usize| env.mean_loss(&Arm::at(a));
                match &policies {
                    Some(class) => class
                        .iter()
                        .zip(&mut totals)
                        .for_each(|(policy, total)| *total += mean(policy.act(env.context()).unwrap())),
                    None => totals
                        .iter_mut()
                        .enumerate()
                        .take(env.context().actions())
                        .for_each(|(a, total)| *total += mean(a)),
                }
                least += (0..env.context().actions()).map(mean).fold(f64::INFINITY, f64::min);
                if [0, 1, 77, 499].contains(&t) {
                    let best = if contextual && policies.is_none() {
                        least
                    } else {
                        totals.iter().copied().fold(f64::INFINITY, f64::min)
                    };
                    let told = env.best_so_far();
                    assert!(
                        (told - best).abs() < 1e-9 * (t + 1) as f64,
                        "{} round {t}: {told} {best}",
                        entry.name
                    );
                }
            },
        );
    }
}

#[test]
fn the_best_slow_starter_is_the_one_played_alone() {
    let AnyEnvironment::Arms(mut env) = world("slow-starter", 1) else { unreachable!() };
    drive(&mut *env, 1000, 1, |_, _| 0, |_, _| ());
    // A alone costs 500; B alone 0.7 * 100 + 0.3 * 900.
    assert!((env.best_so_far() - 340.0).abs() < 1e-9, "{}", env.best_so_far());
    assert_eq!(env.mean_loss(&Arm(1)), 0.7, "B has not been played");
    drive(&mut *env, 100, 1, |_, _| 1, |_, env| assert_eq!(env.mean_loss(&Arm(1)), 0.7));
    drive(&mut *env, 1, 1, |_, _| 1, |_, env| assert_eq!(env.mean_loss(&Arm(1)), 0.3));
    assert_eq!(env.mean_loss(&Arm(0)), 0.5);
}

/// What every arm would cost in the round after `past`, before and after it is played.
fn answers(env: &mut dyn Environment<Context, Arm>, past: &[usize]) -> Vec<(f64, f64)> {
    let mut rng = Pcg64Dxsm::seed_from_u64(21);
    for choice in past {
        env.next(&mut rng).unwrap();
        let actions = env.context().actions();
        env.play(&Arm::at(choice % actions)).unwrap();
    }
    env.next(&mut rng).unwrap();
    (0..env.context().actions()).map(|a| (env.loss(&Arm::at(a)), env.mean_loss(&Arm::at(a)))).collect()
}

/// Whether the loss that is paid is the one that was fixed before the decision, whatever is decided: copies of the
/// world with the same past each play another arm.
fn ignores_the_present(copy: &dyn Fn() -> Box<dyn Environment<Context, Arm>>, past: &[usize]) -> bool {
    let fixed = answers(&mut *copy(), past);
    (0..fixed.len()).all(|a| {
        let mut env = copy();
        answers(&mut *env, past);
        let paid = env.play(&Arm::at(a)).unwrap();
        paid.observed() == Some(fixed[a].0)
            && (0..fixed.len()).all(|b| (env.loss(&Arm::at(b)), env.mean_loss(&Arm::at(b))) == fixed[b])
    })
}

#[test]
fn no_environment_reads_the_present_decision() {
    // A log shows the loss of its own action only.
    for entry in entries().filter(|e| e.kind != Kind::Points && e.name != "logged") {
        let copy = || match world(entry.name, 6) {
            AnyEnvironment::Arms(env) => env,
            AnyEnvironment::Points(_) => unreachable!(),
        };
        for past in [&[][..], &[0, 1, 2, 0, 0, 1, 1, 1], &[1; 40]] {
            assert!(ignores_the_present(&copy, past), "{}", entry.name);
        }
    }
}

/// The check above notices an environment that punishes the arm that is being played.
#[test]
fn a_cheat_would_be_noticed() {
    struct Cheat(Option<Arm>, Context);
    impl Environment<Context, Arm> for Cheat {
        fn setup(&self) -> corral_core::Setup {
            corral_core::Setup::arms(2, None)
        }
        fn next(&mut self, _rng: &mut dyn rand::Rng) -> Result<(), corral_envs::EnvError> {
            self.0 = None;
            Ok(())
        }
        fn context(&self) -> &Context {
            &self.1
        }
        fn loss(&self, decision: &Arm) -> f64 {
            f64::from(self.0 == Some(*decision))
        }
        fn mean_loss(&self, decision: &Arm) -> f64 {
            self.loss(decision)
        }
        fn play(&mut self, decision: &Arm) -> Result<corral_core::Feedback, corral_envs::EnvError> {
            self.0 = Some(*decision);
            Ok(corral_core::Feedback::plain(self.loss(decision)))
        }
        fn best_so_far(&self) -> f64 {
            0.0
        }
    }
    assert!(!ignores_the_present(&|| Box::new(Cheat(None, Context::plain(2))), &[0, 1]));
}

/// Adaptive environments answer the past, and no others do.
#[test]
fn only_adaptive_environments_answer_the_past() {
    for entry in entries().filter(|e| e.kind != Kind::Points) {
        let after = |choice: usize| {
            let AnyEnvironment::Arms(mut env) = world(entry.name, 6) else { unreachable!() };
            answers(&mut *env, &vec![choice; 150])
        };
        let adaptive = entry.fits.contains("adaptive") || entry.fits.contains("reacts");
        assert_eq!(after(0) != after(1), adaptive, "{}", entry.name);
    }
}

/// Seed to values, per environment: sum over 30 rounds t and actions a of (t + 1)(a + 1) f_t(a), from one seed for the
/// world and one for its rounds, while arms are played in turn. A change shows the old and the new value. To 1e-9: some
/// laws use the platform's mathematics.
#[test]
fn values_are_stable() {
    let known = [
        ("bernoulli", 2337.0),
        ("gaussian", 3436.09760485661),
        ("beta", 1143.0763524515542),
        ("heavy-tailed", 628.8698780126628),
        ("deterministic", 511.49999999999994),
        ("gap", 2598.0),
        ("bayesian", 2029.0),
        ("switching", 1278.0),
        ("drift", 1208.0),
        ("alternating", 690.0),
        ("ftl-killer", 704.5),
        ("exp3-hard", 2163.0),
        ("stochastically-constrained", 2954.0),
        ("change", 604.5),
        ("replay", 460.0),
        ("anti-greedy", 604.0),
        ("anti-cumulative", 2562.0),
        ("slow-starter", 883.5),
        ("learning-curves", 36392.0),
        ("planted", 998.0),
        ("hybrid", 2093.519999999999),
        ("reference-contextual", 1100.0),
        ("planted-tree", 1033.0),
        ("linear", 7110.0),
        ("sphere", 4894.463615663827),
        ("representations", 4014.0),
        ("expert-advice", 2495.0),
        ("contrary", 708.0),
        ("dataset", 1976.0),
        ("logged", 1015.4878227546691),
        ("hardness", 1395.0),
    ];
    let mut wrong = Vec::new();
    for entry in entries().filter(|e| e.kind != Kind::Points) {
        let AnyEnvironment::Arms(mut env) = world(entry.name, 31) else { unreachable!() };
        let mut sum = 0.0;
        drive(
            &mut *env,
            30,
            32,
            |t, k| t as usize % k,
            |t, env| {
                for a in 0..env.context().actions() {
                    sum += ((t + 1) * (a as u64 + 1)) as f64 * env.loss(&Arm::at(a));
                }
            },
        );
        let value = known.iter().find(|(name, _)| *name == entry.name).map(|(_, value)| *value);
        if value.is_none_or(|v| (v - sum).abs() >= 1e-9) {
            wrong.push((entry.name, sum));
        }
    }
    assert!(wrong.is_empty(), "{wrong:?}");
}
