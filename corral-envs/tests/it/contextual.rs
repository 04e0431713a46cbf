//! Contextual environments: each against its definition, and input that is refused.

use corral_core::policy::Policy;
use corral_core::vectors::dot;
use corral_core::{Arm, Context};
use corral_envs::contextual::{TreeParams, reference_class};
use corral_envs::{AnyEnvironment, Bandit, Environment, build};
use rand::SeedableRng;
use rand_pcg::Pcg64Dxsm;

fn table(text: &str) -> toml::Table {
    text.parse().unwrap()
}

fn world(name: &str, params: &str, rounds: u64) -> Box<dyn Environment<Context, Arm>> {
    match build(name, &table(params), rounds, &mut Pcg64Dxsm::seed_from_u64(1)).unwrap() {
        AnyEnvironment::Arms(world) => world,
        AnyEnvironment::Points(_) => unreachable!(),
    }
}

fn run(
    env: &mut dyn Environment<Context, Arm>,
    rounds: u64,
    mut visit: impl FnMut(u64, &dyn Environment<Context, Arm>),
) {
    let mut rng = Pcg64Dxsm::seed_from_u64(2);
    for t in 0..rounds {
        env.next(&mut rng).unwrap();
        visit(t, env);
        env.play(&Arm(0)).unwrap();
    }
}

fn means(env: &dyn Environment<Context, Arm>) -> Vec<f64> {
    (0..env.context().actions()).map(|a| env.mean_loss(&Arm::at(a))).collect()
}

#[test]
fn the_reference_class_is_the_published_table() {
    let class = reference_class();
    assert_eq!(class.len(), 64);
    let table = |i: usize| match &class[i] {
        Policy::Table(table) => table.clone(),
        _ => unreachable!(),
    };
    assert_eq!(table(0), [1, 0, 0, 1, 1, 0, 0, 1]);
    assert_eq!(table(1), [0, 1, 0, 2, 1, 2, 0, 2]);
    assert_eq!(table(63), [2, 2, 0, 2, 2, 1, 0, 0]);
    // Policies 15 and 30 are the same word in the published table, and no others are.
    let distinct: std::collections::HashSet<_> = class.iter().collect();
    assert_eq!(distinct.len(), 63);
    assert_eq!(class[15], class[30]);
}

#[test]
fn the_reference_instance_is_the_published_one() {
    let mut env = world("reference-contextual", "", 3000);
    let setup = env.setup();
    assert_eq!((setup.actions(), setup.context.cells, setup.context.features), (3, Some(8), 0));
    let class = setup.policies.unwrap();
    let mut visits = [0u32; 8];
    run(&mut *env, 4000, |_, env| {
        let cell = env.context().cell().unwrap();
        visits[cell] += 1;
        let planted = class[0].act(env.context()).unwrap();
        for (a, mean) in means(env).into_iter().enumerate() {
            assert!((mean - if a == planted { 0.2 } else { 0.5 }).abs() < 1e-15);
        }
    });
    // 500 each, within 5 standard errors of 21.
    assert!(visits.iter().all(|n| (395..=605).contains(n)), "{visits:?}");
    // Uniform play costs 0.2 a round beyond the best: 1/3 0.2 + 2/3 0.5 - 0.2.
    assert!((env.best_so_far() - 0.2 * 4000.0).abs() < 1e-9);

    let mut env = world("reference-contextual", "variant = \"hybrid\"", 10);
    run(&mut *env, 10, |t, env| {
        let planted = class[usize::from(t >= 3)].act(env.context()).unwrap();
        for (a, mean) in means(env).into_iter().enumerate() {
            assert!((mean - if a == planted { 0.2 } else { 0.56 }).abs() < 1e-15, "{t}");
            assert_eq!(env.loss(&Arm::at(a)), mean, "no noise");
        }
    });
}

/// What a world offers as its contexts' law is the law of its contexts: the mean of every feature (or cell) in 4000
/// draws from either, within 5 combined standard errors (chance below 6e-7 each).
#[test]
fn the_sampler_draws_what_the_world_shows() {
    for (name, params) in [
        ("planted", "weights = [1, 2, 3, 4, 5, 6, 0, 8]"),
        ("hybrid", "one_hot = true"),
        ("reference-contextual", ""),
        ("planted-tree", ""),
        ("linear", "fewest = 3"),
        ("linear", "contexts = \"cube\"\nfeatures = \"shared\""),
        ("representations", ""),
    ] {
        let mut env = world(name, params, 4000);
        let sampler = env.setup().sampler.unwrap();
        let numbers = |x: &Context| {
            let mut all = vec![x.actions() as f64, x.cell().unwrap_or(0) as f64];
            all.extend(x.features());
            all.extend(x.rows().iter().take(x.row_dim()));
            all
        };
        let n = 4000.0;
        let mut shown = vec![[0.0; 2]; 0];
        let add = |moments: &mut Vec<[f64; 2]>, x: &Context| {
            let all = numbers(x);
            moments.resize(all.len(), [0.0; 2]);
            for (moment, v) in moments.iter_mut().zip(all) {
                moment[0] += v / n;
                moment[1] += v * v / n;
            }
        };
        run(&mut *env, 4000, |_, env| add(&mut shown, env.context()));
        let mut drawn = vec![[0.0; 2]; 0];
        let mut rng = Pcg64Dxsm::seed_from_u64(77);
        (0..4000).for_each(|_| add(&mut drawn, &sampler.sample(&mut rng)));
        assert_eq!(shown.len(), drawn.len(), "{name}");
        for (i, (s, d)) in shown.iter().zip(&drawn).enumerate() {
            let se = ((s[1] - s[0] * s[0] + d[1] - d[0] * d[0]).max(0.0) / n).sqrt();
            assert!((s[0] - d[0]).abs() <= 5.0 * se + 1e-9, "{name} number {i}: {} {}", s[0], d[0]);
        }
    }
}

#[test]
fn adversarial_contexts_come_without_a_sampler() {
    for contexts in ["sorted", "cyclic", "hide", "evasive"] {
        assert!(world("linear", &format!("contexts = \"{contexts}\""), 100).setup().sampler.is_none());
    }
    assert!(world("expert-advice", "", 100).setup().sampler.is_none());
}

#[test]
fn a_weight_of_zero_is_never_met() {
    let mut env = world("planted", "contexts = 3\nweights = [0, 1, 0]", 100);
    run(&mut *env, 200, |_, env| assert_eq!(env.context().cell(), Some(1)));
}

/// The ladder: planted trees have exactly the depth that was asked for, and every leaf its share of the contexts.
#[test]
fn planted_trees_have_their_depth() {
    for depth in [0, 1, 3, 8, 15] {
        let params = TreeParams {
            depth,
            features: 10,
            arms: 3,
            gap: 0.3,
            rungs: vec![3, 8, 15],
            change: 0.3,
            policies: 0,
        };
        let env = params.draw(&mut Pcg64Dxsm::seed_from_u64(depth as u64), &Default::default()).unwrap();
        assert_eq!(env.planted().depth(), depth);
    }
    let mut env = world("planted-tree", "depth = 8\npolicies = 4", 100);
    let class = env.setup().policies.unwrap();
    run(&mut *env, 200, |_, env| {
        assert!(env.context().features().iter().all(|x| (0.0..1.0).contains(x)));
        let planted = class[3].act(env.context()).unwrap();
        assert_eq!(env.mean_loss(&Arm::at(planted)), 0.2);
    });
}

/// A shallower tree does worse, and worse than a little less shallow one: the planted tree cut at depth d, with the
/// best action per cut leaf, on 6000 contexts. Ending at rung 3 it is right with probability 0.7^2 + 0.3^2/2 (departures
/// that come back), at rung 8 with 0.7.
#[test]
fn the_ladder_separates_depths() {
    use std::collections::HashMap;
    let params = TreeParams {
        depth: 15,
        features: 10,
        arms: 3,
        gap: 0.3,
        rungs: vec![3, 8, 15],
        change: 0.3,
        policies: 0,
    };
    let game = params.draw(&mut Pcg64Dxsm::seed_from_u64(4), &Default::default()).unwrap();
    let nodes: Vec<corral_core::policy::Node> = game.planted().nodes().collect();
    let mut env = Bandit::new(game, 100);
    // The path of a context down to depth `cut`, as bits below a leading 1.
    let path = |x: &[f64], cut: u32| {
        use corral_core::policy::Node;
        let (mut at, mut bits) = (0, 1u32);
        for _ in 0..cut {
            match nodes[at] {
                Node::Leaf(_) => break,
                Node::Split(feature, threshold) => {
                    let right = x[feature as usize] > threshold;
                    bits = 2 * bits + u32::from(right);
                    at += 1;
                    if right {
                        let mut open = 1;
                        while open > 0 {
                            open += if matches!(nodes[at], Node::Leaf(_)) { -1 } else { 1 };
                            at += 1;
                        }
                    }
                }
            }
        }
        bits
    };
    let cuts = [3, 8, 15];
    let mut counts: Vec<HashMap<u32, [u32; 3]>> = vec![HashMap::new(); 3];
    let rounds = 6000;
    run(&mut env, rounds, |_, env| {
        let best = (0..3).position(|a| env.mean_loss(&Arm(a)) < 0.3).unwrap();
        for (cut, counts) in cuts.iter().zip(&mut counts) {
            counts.entry(path(env.context().features(), *cut)).or_default()[best] += 1;
        }
    });
    let right = |counts: &HashMap<u32, [u32; 3]>| {
        counts.values().map(|c| *c.iter().max().unwrap()).sum::<u32>() as f64 / rounds as f64
    };
    let [shallow, middle, deep] = [right(&counts[0]), right(&counts[1]), right(&counts[2])];
    assert!(
        shallow > 0.36 && shallow + 0.05 < middle && middle + 0.05 < deep && deep == 1.0,
        "{shallow} {middle} {deep}"
    );
}

/// Every link: rows of norm at most 1, means as the link says, from the parameters that the world was drawn with.
#[test]
fn linear_means_are_the_link_of_the_features() {
    use corral_envs::contextual::LinearParams;
    for (link, sigma) in [
        ("identity", (|u| u) as fn(f64) -> f64),
        ("logistic", |u: f64| 1.0 / (1.0 + (-u).exp())),
        ("exponential", |u: f64| u.exp()),
    ] {
        for features in ["rows", "shared"] {
            for contexts in ["gaussian", "cube", "drifting", "sorted", "cyclic", "hide"] {
                let params: LinearParams = table(&format!(
                    "link = \"{link}\"\nfeatures = \"{features}\"\ncontexts = \"{contexts}\"\narms = 4\ndim = 3"
                ))
                .try_into()
                .unwrap();
                let game = params.draw(50, &mut Pcg64Dxsm::seed_from_u64(3), &Default::default()).unwrap();
                let theta = game.theta().to_vec();
                let mut env = Bandit::new(game, 50);
                run(&mut env, 50, |_, env| {
                    let x = env.context();
                    for a in 0..4 {
                        let (z, theta) = match x.row(a) {
                            Some(row) => (row, &theta[..]),
                            None => (x.features(), &theta[4 * a..4 * a + 4]),
                        };
                        assert!(dot(z, z) <= 1.0 + 1e-12 && z[0] == 0.5f64.sqrt());
                        let mean = env.mean_loss(&Arm::at(a));
                        assert!((mean - sigma(dot(theta, z))).abs() < 1e-12, "{link} {features} {contexts}");
                    }
                });
            }
        }
    }
}

#[test]
fn action_sets_change_from_round_to_round() {
    let mut env = world("linear", "arms = 6\nfewest = 2", 100);
    assert_eq!(env.setup().actions(), 6);
    let mut seen = [0; 7];
    run(&mut *env, 2000, |_, env| {
        seen[env.context().actions()] += 1;
        assert_eq!(env.context().rows().len(), 6 * env.context().actions());
        assert!(env.mean_loss(&Arm::at(env.context().actions())).is_nan());
    });
    // Five sizes, 400 each, within 5 standard errors of 18.
    assert!(seen[..2] == [0, 0] && seen[2..].iter().all(|n| (310..=490).contains(n)), "{seen:?}");
}

#[test]
fn adversarial_sequences_are_as_defined() {
    let shown = |contexts: &str, rounds: u64| {
        let mut env =
            world("linear", &format!("contexts = \"{contexts}\"\narms = 2\ndim = 3\npool = 3"), rounds);
        let mut all = Vec::new();
        run(&mut *env, rounds, |_, env| all.push(env.context().rows().to_vec()));
        all
    };
    let cyclic = shown("cyclic", 9);
    assert!(cyclic[0] == cyclic[3] && cyclic[1] == cyclic[7] && cyclic[0] != cyclic[1]);
    // Blocks of lengths 1, 2, 4, 8, ...: the fourth is the first context again.
    let hide = shown("hide", 9);
    assert!(
        hide[0] != hide[1]
            && hide[1] == hide[2]
            && hide[3] == hide[6]
            && hide[2] != hide[3]
            && hide[7] == hide[0]
    );
    let sorted = shown("sorted", 100);
    assert!(sorted.windows(2).all(|w| w[0][1] < w[1][1]));
    assert!((sorted[0][1] + 0.5f64.sqrt()).abs() < 1e-12);
    // Evasive: rows are orthogonal to the sum of those played (action 0), the intercept apart.
    let evasive = shown("evasive", 30);
    let mut sum = vec![0.0; 3];
    for rows in &evasive {
        for row in rows.chunks(4) {
            assert!(dot(&row[1..], &sum).abs() < 1e-9);
        }
        sum.iter_mut().zip(&rows[1..4]).for_each(|(s, v)| *s += v);
    }
}

/// The evasive contexts answer the past, and the past only.
#[test]
fn evasive_contexts_answer_what_was_played() {
    let after = |arm: u32| {
        let mut env = world("linear", "contexts = \"evasive\"\narms = 2", 100);
        let mut rng = Pcg64Dxsm::seed_from_u64(2);
        env.next(&mut rng).unwrap();
        let first = env.context().clone();
        env.play(&Arm(arm)).unwrap();
        assert_eq!(env.context(), &first);
        env.next(&mut rng).unwrap();
        env.context().clone()
    };
    assert_ne!(after(0), after(1));
}

/// Only the fitting representation makes the loss linear: least squares on it leaves nothing, on the others much.
#[test]
fn one_representation_fits() {
    let mut env = world("representations", "maps = 2\nfitting = 0\ndim = 1\narms = 2", 100);
    assert_eq!(env.about().facts, [("fitting representation", 0.0)]);
    let (mut fits, mut misfits) = (Vec::new(), Vec::new());
    run(&mut *env, 300, |_, env| {
        let row = env.context().row(0).unwrap();
        fits.push((row[1], env.mean_loss(&Arm(0))));
        misfits.push((row[3], env.mean_loss(&Arm(0))));
    });
    let unexplained = |pairs: &[(f64, f64)]| {
        let n = pairs.len() as f64;
        let (mx, my) =
            (pairs.iter().map(|p| p.0).sum::<f64>() / n, pairs.iter().map(|p| p.1).sum::<f64>() / n);
        let cov: f64 = pairs.iter().map(|p| (p.0 - mx) * (p.1 - my)).sum();
        let (vx, vy): (f64, f64) =
            (pairs.iter().map(|p| (p.0 - mx).powi(2)).sum(), pairs.iter().map(|p| (p.1 - my).powi(2)).sum());
        1.0 - cov * cov / (vx * vy)
    };
    assert!(unexplained(&fits) < 1e-9, "{}", unexplained(&fits));
    assert!(unexplained(&misfits) > 0.8, "{}", unexplained(&misfits));
}

#[test]
fn experts_are_followed_by_their_policies() {
    let mut env = world("expert-advice", "experts = 5\narms = 3", 1600);
    let class = env.setup().policies.unwrap();
    let gap = 0.25 * (3.0 * 5.0f64.ln() / 1600.0).sqrt();
    assert!((env.about().facts[0].1 - gap).abs() < 1e-15);
    let mut better = [0u32; 5];
    run(&mut *env, 500, |_, env| {
        for (i, policy) in class.iter().enumerate() {
            let action = policy.act(env.context()).unwrap();
            assert_eq!(action as f64, env.context().features()[i]);
            better[i] += u32::from(env.mean_loss(&Arm::at(action)) < 0.5);
        }
    });
    assert_eq!(better.iter().filter(|n| **n == 500).count(), 1, "one expert is always right: {better:?}");
}

#[test]
fn bad_input_is_refused_with_the_value() {
    let cases = [
        ("planted", "contexts = 0", "contexts must be in [1, 1048576], but is 0"),
        ("planted", "arms = 0", "arms must be in [1, 65536], but is 0"),
        ("planted", "policies = 0", "policies must be in [1, 1048576], but is 0"),
        ("planted", "gap = 0.7", "gap must be in [0, 0.5], but is 0.7"),
        ("planted", "gap = nan", "gap must be in [0, 0.5], but is NaN"),
        ("planted", "weights = [1, 2]", "weights must be one number per context, but is 2 numbers"),
        ("planted", "contexts = 2\nweights = [1, -2]", "weights must be non-negative and finite, but is -2"),
        (
            "planted",
            "contexts = 2\nweights = [0, 0]",
            "weights must be of a positive and finite sum, but is 0",
        ),
        ("planted-tree", "depth = 21", "depth must be in [0, 20], but is 21"),
        ("planted-tree", "arms = 1", "arms must be in [2, 65536], but is 1"),
        ("planted-tree", "change = 1.5", "change must be in [0, 1], but is 1.5"),
        (
            "planted-tree",
            "depth = 20\npolicies = 60000",
            "policies must be smaller, but is 60000, which takes 3.0 TB where 8.6 GB may be used",
        ),
        ("linear", "dim = 0", "dim must be in [1, 65536], but is 0"),
        ("linear", "arms = 3\nfewest = 4", "fewest must be in 1..=arms, but is 4"),
        ("linear", "scale = 0", "scale must be positive and finite, but is 0"),
        (
            "linear",
            "features = \"shared\"\nfewest = 2",
            "fewest must be the number of arms where features are shared, but is 2",
        ),
        (
            "linear",
            "features = \"shared\"\ncontexts = \"evasive\"",
            "contexts must be another where features are shared, but is evasive",
        ),
        ("linear", "policies = 3", "policies must be 0 where actions have rows, but is 3"),
        ("representations", "fitting = 3", "fitting must be one of the maps, but is 3"),
        ("expert-advice", "experts = 1", "experts must be in [2, 65536], but is 1"),
        ("expert-advice", "scale = -1", "scale must be positive and finite, but is -1"),
    ];
    for (name, params, why) in cases {
        let built = build(name, &table(params), 100, &mut Pcg64Dxsm::seed_from_u64(1));
        assert_eq!(built.unwrap_err().to_string(), format!("environment {name:?}: {why}"));
    }
}

/// The centre of drifting contexts goes once around: after a quarter of the run it lies along the second axis. Means of
/// 500 vectors in 6 dimensions: 6 standard errors of at most 0.35/sqrt(6 * 500) each.
#[test]
fn drifting_contexts_move() {
    let mut env = world("linear", "contexts = 'drifting'\nfeatures = 'shared'\ndim = 6\narms = 2", 4000);
    let mut sums = [[0.0; 6]; 8];
    run(&mut *env, 4000, |t, env| {
        for (sum, v) in sums[t as usize / 500].iter_mut().zip(&env.context().features()[1..]) {
            *sum += v / 500.0;
        }
    });
    for (part, mean) in sums.iter().enumerate() {
        let angle = std::f64::consts::TAU * (part as f64 + 0.5) / 8.0;
        // Cutting to the unit ball shortens the centre a little.
        let along = mean[0] * angle.cos() + mean[1] * angle.sin();
        let across = mean[1] * angle.cos() - mean[0] * angle.sin();
        assert!((0.35..0.5).contains(&along) && across.abs() < 0.04, "{part}: {along} {across}");
        assert!(mean[2..].iter().all(|m| m.abs() < 0.04), "{mean:?}");
    }
}

/// In each context the action that was played most in it costs 1; sorted contexts come one after the other.
#[test]
fn the_contrary_world_answers_context_by_context() {
    let mut env = world("contrary", "contexts = 2\narms = 3\nwindow = 2", 8);
    let mut rng = Pcg64Dxsm::seed_from_u64(1);
    let mut got = Vec::new();
    for play in [0, 0, 1, 1, 2, 2, 2, 0] {
        env.next(&mut rng).unwrap();
        let cell = env.context().cell().unwrap();
        got.push((cell, [0, 1, 2].map(|a| env.loss(&Arm(a)))));
        env.play(&Arm(play)).unwrap();
    }
    let none = [0.0; 3];
    let [first, third] = [[1.0, 0.0, 0.0], [0.0, 0.0, 1.0]];
    // The last two plays of context 0 are -, 0, 00, 01 (the lowest of equals), and of context 1 -, 2, 22, 22.
    assert_eq!(
        got,
        [(0, none), (0, first), (0, first), (0, first), (1, none), (1, third), (1, third), (1, third)]
    );
    assert!(env.setup().sampler.is_none() && env.setup().policies.unwrap().len() == 16);
    for (params, part) in [
        ("arms = 1", "arms must be in [2, 65536]"),
        ("contexts = 0", "contexts must be in [1, 1048576]"),
        ("window = 0", "window must be in [1, 16777216]"),
        ("window = 10000000\ncontexts = 1000", "window must be smaller"),
        ("contexts = 1000000\npolicies = 1000000", "contexts must be smaller"),
    ] {
        let e = build("contrary", &table(params), 10, &mut rng).unwrap_err().to_string();
        assert!(e.contains(part), "{e}");
    }
}
