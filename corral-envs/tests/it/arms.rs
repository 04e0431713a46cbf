//! Arms: each environment against its definition, and input that is refused.

use corral_core::{Arm, Context};
use corral_envs::arms::clipped_mean;
use corral_envs::{AnyEnvironment, EnvError, Environment, build};
use rand::SeedableRng;
use rand_pcg::Pcg64Dxsm;

fn table(text: &str) -> toml::Table {
    text.parse().unwrap()
}

fn arms(name: &str, params: &str, rounds: u64) -> Box<dyn Environment<Context, Arm>> {
    match build(name, &table(params), rounds, &mut Pcg64Dxsm::seed_from_u64(1)).unwrap() {
        AnyEnvironment::Arms(world) => world,
        AnyEnvironment::Points(_) => unreachable!(),
    }
}

/// Mean losses of the rounds, one list per round, while `choose` plays.
fn means(env: &mut dyn Environment<Context, Arm>, rounds: u64, choose: impl Fn(u64) -> u32) -> Vec<Vec<f64>> {
    let mut rng = Pcg64Dxsm::seed_from_u64(2);
    (0..rounds)
        .map(|t| {
            env.next(&mut rng).unwrap();
            let means = (0..env.setup().actions()).map(|a| env.mean_loss(&Arm::at(a))).collect();
            env.play(&Arm(choose(t))).unwrap();
            means
        })
        .collect()
}

#[test]
fn paths_are_as_defined() {
    let of = |name: &str, params: &str, rounds: u64| means(&mut *arms(name, params, rounds), rounds, |_| 0);
    assert_eq!(of("alternating", "", 3), [[0.0, 1.0], [1.0, 0.0], [0.0, 1.0]]);
    assert_eq!(of("ftl-killer", "arms = 3", 3), [[0.5, 0.0, 1.0], [0.0, 1.0, 1.0], [1.0, 0.0, 1.0]]);
    // The second phase begins at T/3, rounded down.
    let switching = of("switching", "means = [[0.1], [0.2], [0.3]]", 10);
    assert_eq!(switching.concat(), [0.1, 0.1, 0.1, 0.2, 0.2, 0.2, 0.3, 0.3, 0.3, 0.3]);
    let given = of("switching", "means = [[0.1], [0.2], [0.3]]\nat = [1, 1]", 3);
    assert_eq!(given.concat(), [0.1, 0.3, 0.3]);
    assert_eq!(of("change", "", 4), [[0.3, 0.5], [0.3, 0.5], [0.9, 0.5], [0.9, 0.5]]);
    let drift = of("drift", "arms = 2\nperiod = 4\namplitude = 0.5", 4).concat();
    let expected = [0.5, 0.5, 1.0, 0.0, 0.5, 0.5, 0.0, 1.0];
    assert!(drift.iter().zip(expected).all(|(a, b)| (a - b).abs() < 1e-15), "{drift:?}");
    // Phases of lengths 1, 1.6, 2.56, ...: rounds 0; 1, 2; 3, 4, 5; the gap stays.
    let swings = of("stochastically-constrained", "arms = 2\ngap = 0.25", 7);
    let best: Vec<f64> = swings.iter().map(|m| m[1]).collect();
    assert_eq!(best, [0.0, 0.75, 0.75, 0.0, 0.0, 0.0, 0.75]);
    assert!(swings.iter().all(|m| m[0] - m[1] == 0.25));
}

/// Losses follow the ratings, and regret the means.
#[test]
fn ratings_that_lie_are_learned_and_not_counted() {
    let params = "means = [[0.0, 1.0], [0.0, 1.0]]\nrated = [[0.0, 1.0], [1.0, 0.0]]";
    let (mut env, mut rng) = (arms("switching", params, 4), Pcg64Dxsm::seed_from_u64(1));
    for rated in [0.0, 0.0, 1.0, 1.0] {
        env.next(&mut rng).unwrap();
        assert_eq!((env.mean_loss(&Arm(0)), env.loss(&Arm(0))), (0.0, rated));
        assert_eq!(env.play(&Arm(0)).unwrap().observed(), Some(rated));
    }
    assert_eq!(env.best_so_far(), 0.0);
}

#[test]
fn adaptive_paths_are_as_defined() {
    let mut greedy = arms("anti-greedy", "arms = 2\nwindow = 3", 10);
    let got = means(&mut *greedy, 6, |t| [0, 0, 1, 1, 1, 0][t as usize]);
    // Counts over the last three plays: (0,0) (1,0) (2,0) (2,1) (1,2) (0,3).
    let expected = [[0.0, 0.0], [1.0, 0.0], [1.0, 0.0], [1.0, 0.0], [0.0, 1.0], [0.0, 1.0]];
    assert_eq!(got, expected);
    let mut cumulative = arms("anti-cumulative", "arms = 2\ntemperature = 2.0", 10);
    let got = means(&mut *cumulative, 3, |_| 1);
    assert_eq!(got[0], [1.0, 1.0]);
    assert!((got[2][0] - (-1.0f64).exp()).abs() < 1e-15 && got[2][1] == 1.0);
}

/// The stress scenario's arithmetic: never leaving A costs 3600 more than B alone at T = 20000.
#[test]
fn the_slow_starter_has_the_published_scale() {
    let mut env = arms("slow-starter", "", 20_000);
    let paid: f64 = means(&mut *env, 20_000, |_| 0).iter().map(|m| m[0]).sum();
    assert!((paid - env.best_so_far() - 3600.0).abs() < 1e-6, "{}", paid - env.best_so_far());
}

#[test]
fn the_gap_instance_has_its_gap() {
    let env = arms("gap", "arms = 3\ngap = 0.3", 100);
    assert_eq!([0, 1, 2].map(|a| env.mean_loss(&Arm(a))), [0.5, 0.5, 0.2]);
    assert_eq!(env.about().facts, [("gap", 0.3)]);
    let env = arms("gap", "arms = 4\nscale = 2\nrange = 4\nbest = 1", 1600);
    assert_eq!(env.mean_loss(&Arm(1)), 0.5 - 0.2);
    let hard = arms("exp3-hard", "arms = 4", 400);
    let better: Vec<u32> = (0..4).filter(|a| hard.mean_loss(&Arm(*a)) < 0.5).collect();
    assert_eq!((better.len(), hard.about().facts), (1, &[("gap", 0.025)][..]));
}

/// The closed form of the clipped mean against the integral, by Simpson's rule.
#[test]
fn the_clipped_mean_is_the_integral() {
    for (mean, sd) in [(0.5, 0.1), (0.5, 1.0), (0.0, 1.0), (0.9, 0.3), (-1.0, 0.5), (3.0, 0.7), (0.2, 1e-3)] {
        let density = |z: f64| (-0.5 * z * z).exp() / std::f64::consts::TAU.sqrt();
        let steps = 200_000;
        let h = 20.0 / f64::from(steps);
        let f = |i: i32| {
            let z = -10.0 + h * f64::from(i);
            (mean + sd * z).clamp(0.0, 1.0) * density(z)
        };
        let sum: f64 = (0..=steps)
            .map(|i| {
                f(i) * if i == 0 || i == steps {
                    1.0
                } else if i % 2 == 1 {
                    4.0
                } else {
                    2.0
                }
            })
            .sum();
        let integral = sum * h / 3.0;
        assert!((clipped_mean(mean, sd) - integral).abs() < 1e-8, "{mean} {sd}: {integral}");
    }
}

/// A success that pays 30: losses 0 and 30 with the means of 30 coins.
#[test]
fn a_coin_may_have_a_scale() {
    let mut env = arms("bernoulli", "means = [0.9, 0.8]\nscale = 30", 10);
    assert_eq!(env.setup().losses, corral_core::LossDomain::Real);
    assert_eq!(
        arms("bernoulli", "means = [0.9]\nscale = 0.5", 10).setup().losses,
        corral_core::LossDomain::Unit
    );
    let mut plain = arms("bernoulli", "means = [0.9, 0.8]", 10);
    let (mut one, mut other) = (Pcg64Dxsm::seed_from_u64(1), Pcg64Dxsm::seed_from_u64(1));
    for _ in 0..10 {
        env.next(&mut one).unwrap();
        plain.next(&mut other).unwrap();
        assert_eq!(env.loss(&Arm(1)), 30.0 * plain.loss(&Arm(1)));
    }
    assert!((env.mean_loss(&Arm(1)) - 24.0).abs() < 1e-12 && (env.best_so_far() - 240.0).abs() < 1e-9);
}

/// The mean of min(1, X) against the integral of its tail, by the midpoint rule.
#[test]
fn heavy_tails_have_the_mean_of_the_clipped_law() {
    for exponent in [0.5, 1.0, 1.1, 3.0] {
        for scale in [0.01, 0.2, 5.0] {
            let env = arms("heavy-tailed", &format!("scales = [{scale:?}]\nexponent = {exponent:?}"), 10);
            let n = 1_000_000;
            let tail = |i: i32| (1.0 + (f64::from(i) + 0.5) / f64::from(n) / scale).powf(-exponent);
            let integral = (0..n).map(tail).sum::<f64>() / f64::from(n);
            assert!((env.mean_loss(&Arm(0)) - integral).abs() < 1e-6, "{exponent} {scale}: {integral}");
        }
    }
}

/// A learner's loss follows its own plays, between sizes linearly in their logarithms.
#[test]
fn learning_curves_are_followed() {
    let dir = tempfile::TempDir::new().unwrap();
    let path = dir.path().join("curves.csv");
    std::fs::write(&path, "learner,set,size,loss\nb,s,4,0.5\na,s,2,0.8\na,s,8,0.2\n").unwrap();
    let mut env = arms("learning-curves", &format!("file = '{}'\nnoise = 'none'", path.display()), 10);
    // a at 0, 1, 2, 3, 4 plays: 0.8 up to size 2, then 0.6 less for a factor of 4.
    let curve = |n: f64| if n <= 2.0 { 0.8 } else { 0.8 - 0.6 * (n / 2.0).log(4.0) };
    let got = means(&mut *env, 10, |t| u32::from(t >= 5));
    for (t, means) in got.iter().enumerate() {
        let plays = t.min(5) as f64;
        assert!((means[0] - curve(plays)).abs() < 1e-12 && means[1] == 0.5, "{t}: {means:?}");
    }
    // Alone, a costs 0.2 from the play after 8 others on; b always costs 0.5.
    let alone: f64 = (0..10).map(|n| curve(f64::from(n.min(8)))).sum();
    assert!((env.best_so_far() - alone.min(5.0)).abs() < 1e-12, "{} {alone}", env.best_so_far());
    for (text, keys, part) in [
        ("learner,set,size,loss\na,s,0,0.5\n", "", ":2: a size is at least 1, but this is \"0\""),
        ("learner,set,size,loss\na,s,1,1.5\n", "", ":2: a loss is in [0, 1], but this is \"1.5\""),
        (
            "learner,set,size,loss\na,s,1,0.5\na,s,1,0.5\n",
            "",
            ":3: \"a\" has the size 1 twice in the set \"s\"",
        ),
        ("learner,set,size,loss\na,s,1,0.5\na,t,1,0.5\n", "", "2 sets of curves; `set` says which: s, t"),
        ("learner,set,size,loss\na,s,1,0.5\n", "set = 'ss'", "unknown set \"ss\"; did you mean \"s\"?"),
        ("learner,set,size,los\na,s,1,0.5\n", "", "unknown column \"loss\"; did you mean \"los\"?"),
    ] {
        std::fs::write(&path, text).unwrap();
        let params = table(&format!("file = '{}'\n{keys}", path.display()));
        let e =
            build("learning-curves", &params, 10, &mut Pcg64Dxsm::seed_from_u64(1)).unwrap_err().to_string();
        assert!(e.contains(part), "{e}");
    }
}

/// Losses outside [0, 1] are shown inside it; regret stays in the units of the world.
#[test]
fn any_world_can_be_rescaled() {
    let mut env = arms("bernoulli", "means = [0.9, 0.8]\nscale = 30\nrescale = [0, 60]", 10);
    let mut plain = arms("bernoulli", "means = [0.9, 0.8]", 10);
    assert_eq!(env.setup().losses, corral_core::LossDomain::Unit);
    let (mut one, mut other) = (Pcg64Dxsm::seed_from_u64(1), Pcg64Dxsm::seed_from_u64(1));
    for _ in 0..10 {
        env.next(&mut one).unwrap();
        plain.next(&mut other).unwrap();
        let expected = 0.5 * plain.loss(&Arm(0));
        assert_eq!(env.loss(&Arm(0)), expected);
        assert_eq!(env.play(&Arm(0)).unwrap().observed(), Some(expected));
    }
    assert!((env.mean_loss(&Arm(0)) - 27.0).abs() < 1e-12 && (env.best_so_far() - 240.0).abs() < 1e-9);
    let mut clipped = arms("gaussian", "means = [0.5]\nsd = 10.0\nclip = false\nrescale = [-1, 1]", 10);
    let mut ends = [false; 2];
    for _ in 0..40 {
        clipped.next(&mut one).unwrap();
        let loss = clipped.loss(&Arm(0));
        assert!((0.0..=1.0).contains(&loss));
        ends = [ends[0] || loss == 0.0, ends[1] || loss == 1.0];
    }
    assert_eq!(ends, [true; 2]);
    let mut rewards =
        arms("bernoulli", "means = [1.0]\nscale = 30\nrescale = { low = 0, high = 60, rewards = true }", 10);
    rewards.next(&mut one).unwrap();
    assert_eq!(rewards.play(&Arm(0)).unwrap().observed(), Some(0.5));
    let mut strict = arms("bernoulli", "means = [1.0]\nscale = 30\nrescale = { low = 0, high = 20 }", 10);
    strict.next(&mut one).unwrap();
    assert_eq!(strict.play(&Arm(0)).unwrap_err().to_string(), "a loss must be in [0, 20], but is 30");
    for (rescale, part) in [
        ("[1, 1]", "scale must be [low, high], low below high, but is [1, 1]"),
        ("[0, inf]", "but is [0, inf]"),
        ("[0]", "rescale must be [low, high]"),
        ("3", "rescale must be [low, high]"),
        ("{ low = 0, high = 1, clap = true }", "clap"),
    ] {
        let params = table(&format!("means = [0.5]\nrescale = {rescale}"));
        let e = build("bernoulli", &params, 10, &mut Pcg64Dxsm::seed_from_u64(1)).unwrap_err().to_string();
        assert!(e.contains(part), "{e}");
    }
}

/// Without clipping, losses leave [0, 1] and keep the means that were given.
#[test]
fn an_unclipped_gaussian_is_normal() {
    let mut env = arms("gaussian", "means = [0.5, 0.0]\nsd = 1.0\nclip = false", 100);
    let mut rng = Pcg64Dxsm::seed_from_u64(3);
    let (mut outside, mut sum, n) = (0, 0.0, 10_000);
    for _ in 0..n {
        env.next(&mut rng).unwrap();
        let loss = env.loss(&Arm(0));
        outside += u32::from(!(0.0..=1.0).contains(&loss));
        sum += loss;
    }
    assert_eq!(env.mean_loss(&Arm(1)), 0.0);
    // P(outside) = 2 Phi(-1/2) = 0.617; both within 5 standard errors, chance below 1e-6 each.
    assert!((f64::from(outside) / f64::from(n) - 0.6171).abs() < 0.025, "{outside}");
    assert!((sum / f64::from(n) - 0.5).abs() < 0.05, "{sum}");
}

#[test]
fn a_bayesian_world_is_drawn_from_its_prior() {
    let prior = "arms = 4\nprior = { one-good-arm = { probabilities = [1.0], gap = 0.2 } }";
    let mut seen = [0; 4];
    for seed in 0..400 {
        let AnyEnvironment::Arms(env) =
            build("bayesian", &table(prior), 10, &mut Pcg64Dxsm::seed_from_u64(seed)).unwrap()
        else {
            unreachable!()
        };
        let best: Vec<usize> = (0..4).filter(|a| env.mean_loss(&Arm::at(*a)) == 0.3).collect();
        assert_eq!(best.len(), 1);
        seen[best[0]] += 1;
        // H(q) of four equally likely arms is ln 4.
        assert!((env.about().facts[0].1 - 4.0f64.ln()).abs() < 1e-12);
    }
    // Each about 100, within 5 standard errors of 8.7.
    assert!(seen.iter().all(|n| (56..=144).contains(n)), "{seen:?}");
    let gaussian = "arms = 2\nprior = { gaussian = { mean = [0.5], variance = [0.01], noise = 0.04 } }";
    let env = arms("bayesian", gaussian, 10);
    assert!(env.mean_loss(&Arm(0)) != env.mean_loss(&Arm(1)));
    assert!((env.about().facts[0].1 - 2.0f64.ln()).abs() < 1e-12);
}

#[test]
fn a_replay_ends_with_its_rows() {
    let file = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(file.path(), "# losses\n0, 0.5\n1, 0.25\n").unwrap();
    let params = format!("file = {:?}", file.path().to_str().unwrap());
    let mut env = arms("replay", &params, 5);
    assert_eq!(means(&mut *env, 2, |_| 0), [[0.0, 0.5], [1.0, 0.25]]);
    assert_eq!(env.best_so_far(), 0.75);
    assert_eq!(env.next(&mut Pcg64Dxsm::seed_from_u64(1)), Err(EnvError::Ended(2)));
    let mut again = arms("replay", &format!("{params}\nrepeat = true"), 5);
    assert_eq!(means(&mut *again, 5, |_| 0).concat(), [0.0, 0.5, 1.0, 0.25, 0.0, 0.5, 1.0, 0.25, 0.0, 0.5]);
}

#[test]
fn bad_input_is_refused_with_the_value() {
    let cases = [
        ("bernoulli", "means = []", "means: give at least one number"),
        ("bernoulli", "means = [0.5, 1.5]", "means must be in [0, 1], but is 1.5"),
        ("bernoulli", "means = [nan]", "means must be in [0, 1], but is NaN"),
        ("bernoulli", "means = [-0.1]", "means must be in [0, 1], but is -0.1"),
        ("gaussian", "means = [inf]", "means must be finite, but is inf"),
        ("gaussian", "means = []", "means: give at least one number"),
        ("gaussian", "means = [0.5]\nsd = 0", "sd must be positive and finite, but is 0"),
        ("beta", "a = [1]\nb = [1, 2]", "b must be as many numbers as a, but is 2 numbers"),
        ("beta", "a = [0.0]\nb = [1]", "a must be positive and finite, but is 0"),
        ("beta", "a = []\nb = []", "a: give at least one number"),
        ("deterministic", "losses = [2]", "losses must be in [0, 1], but is 2"),
        ("gap", "arms = 0\ngap = 0.1", "arms must be in [1, 16777216], but is 0"),
        ("gap", "arms = 2\ngap = 0.6", "gap must be in [0, 0.5], but is 0.6"),
        ("gap", "arms = 2", "gap: give gap or scale"),
        ("gap", "arms = 2\ngap = 0.1\nscale = 1", "gap: give gap or scale, not both"),
        ("gap", "arms = 2\ngap = 0.1\nbest = 2", "best must be an arm, but is 2"),
        ("bayesian", "arms = 0", "arms must be in [1, 16777216], but is 0"),
        ("switching", "means = []", "means: give at least one phase"),
        (
            "switching",
            "means = [[0.1], [0.1, 0.2]]",
            "means must be as many in every phase, but is 2 means in phase 1 with 1 arms",
        ),
        (
            "switching",
            "means = [[0.1], [0.2]]\nrated = [[0.1]]",
            "rated must be one for each phase, but is 1 phases beside 2 of means",
        ),
        (
            "switching",
            "means = [[0.1, 0.2]]\nrated = [[0.1]]",
            "rated must be as many in every phase, but is 1 means in phase 0 with 2 arms",
        ),
        (
            "switching",
            "means = [[0.1], [0.2]]\nat = [1, 2]",
            "at must be one fewer than the phases, but is 2 switches for 2 phases",
        ),
        ("switching", "means = [[0.1], [0.2], [0.3]]\nat = [4, 2]", "at must be in order, but is 2 after 4"),
        ("drift", "arms = 2\namplitude = 0.6", "amplitude must be in [0, 0.5], but is 0.6"),
        ("drift", "arms = 2\nperiod = 0", "period must be at least 1, but is 0"),
        ("alternating", "arms = 1", "arms must be in [2, 16777216], but is 1"),
        ("exp3-hard", "arms = 0", "arms must be in [1, 16777216], but is 0"),
        ("exp3-hard", "arms = 2\nscale = -1", "scale must be positive and finite, but is -1"),
        ("stochastically-constrained", "arms = 2\ngap = 1.5", "gap must be in [0, 1], but is 1.5"),
        ("stochastically-constrained", "arms = 2\ngrowth = 0.5", "growth must be at least 1, but is 0.5"),
        ("change", "at = 2", "at must be in [0, 1], but is 2"),
        ("change", "before = [0.1]", "after must be as many as before, but is 2 means after 1 before"),
        ("anti-greedy", "arms = 2\nwindow = 0", "window must be in [1, 16777216], but is 0"),
        (
            "anti-cumulative",
            "arms = 2\ntemperature = nan",
            "temperature must be positive and finite, but is NaN",
        ),
        ("slow-starter", "before = [0.1]", "after must be as many as before, but is 2 means after 1 before"),
        ("replay", "", "losses: give at least one row of one number"),
        ("replay", "losses = [[0.1], [0.1, 0.2]]", "losses must be as many as in row 0, but is 2 in row 1"),
        ("replay", "losses = [[0.1], [7]]", "losses must be in [0, 1], but is 7"),
        (
            "replay",
            "file = \"no/such.csv\"",
            "no/such.csv: no such file, neither here nor in the folder of CORRAL_DATA",
        ),
    ];
    for (name, params, why) in cases {
        let built = build(name, &table(params), 100, &mut Pcg64Dxsm::seed_from_u64(1));
        assert_eq!(built.unwrap_err().to_string(), format!("environment {name:?}: {why}"));
    }
}

#[test]
fn a_bad_loss_file_is_named_with_its_line() {
    let file = tempfile::NamedTempFile::new().unwrap();
    let path = file.path().to_str().unwrap();
    let said = |content: &str| {
        std::fs::write(path, content).unwrap();
        let params = table(&format!("file = {path:?}"));
        build("replay", &params, 10, &mut Pcg64Dxsm::seed_from_u64(1)).unwrap_err().to_string()
    };
    let cases = [
        ("0.1,0.2\n0.3\n", ":2: 1 cells, where the first row has 2"),
        ("0.1,0.2\n0.3,x\n", r#":2: column 1 holds "x", no loss in [0, 1]"#),
        ("0.1,nan\n", r#":1: column 1 holds "nan", no loss in [0, 1]"#),
        ("0.1,1.2\n", r#":1: column 1 holds "1.2", no loss in [0, 1]"#),
    ];
    for (content, why) in cases {
        assert_eq!(said(content), format!("environment \"replay\": {path}{why}"));
    }
}
