use corral_core::{Point, Rng, Set, Space};
use rand::SeedableRng;
use rand_pcg::Pcg64Dxsm;

use super::*;
use crate::{AnyEnvironment, build};

fn world(name: &str, params: &str, rounds: u64, seed: u64) -> Box<dyn Environment<Context, Point>> {
    let table: toml::Table = params.parse().expect("toml");
    match build(name, &table, rounds, &mut Pcg64Dxsm::seed_from_u64(seed)) {
        Ok(AnyEnvironment::Points(world)) => world,
        other => panic!("{name} {params}: {other:?}"),
    }
}

/// A point of the set, by projecting a Gaussian one.
fn some_point(set: &Set, rng: &mut dyn Rng) -> Point {
    let mut stream = Draw::new(rng).stream(0);
    let mut x: Vec<f64> = set.centre().iter().map(|c| c + 0.7 * stream.normal()).collect();
    set.project(&mut x).expect("finite");
    Point(x)
}

const EVERY: &[(&str, &str)] = &[
    ("adversarial-linear", "set = 'ball'\ndim = 1"),
    ("adversarial-linear", "set = 'box'\ndim = 3\nvariant = 1"),
    ("adversarial-linear", "set = 'simplex'\ndim = 4"),
    ("adversarial-linear", "set = 'cross-polytope'\ndim = 3"),
    (
        "adversarial-linear",
        "set = { polytope = { rows = [[1, 0], [0, 1], [-1, -1]], bounds = [1, 2, 3] } }\nvariant = 1",
    ),
    ("adversarial-linear", "set = 'corners'\ndim = 4"),
    ("adversarial-convex", "set = 'ball'\ndim = 1"),
    ("adversarial-convex", "set = 'ball'\ndim = 5\nshape = 'huber'\nvariant = 1"),
    ("adversarial-convex", "set = 'box'\ndim = 2\nshape = 'max-affine'\nvariant = 1"),
    ("adversarial-convex", "set = 'simplex'\ndim = 3\nvariant = 1"),
    ("adversarial-convex", "set = 'cross-polytope'\ndim = 3"),
    ("stochastic-linear", "dim = 6\nstructure = 'sparse'\nsupport = 2"),
    ("stochastic-linear", "dim = 6\nstructure = 'group-sparse'\ngroup = 3"),
    ("stochastic-linear", "set = 'sphere'\npoints = 30\ndim = 4"),
    ("stochastic-linear", "set = 'corners'\npoints = 9\ndim = 5"),
    ("glm-points", "dim = 3"),
    ("glm-points", "dim = 3\nlink = 'exponential'\nset = 'box'"),
    ("normal-linear", "sd = 0.01\noffset = 0.5\nlength = 0.4"),
    ("normal-linear", "sd = 0.01\noffset = 0.5\nlength = 0.4\nset = 'hypercube'\ndim = 4"),
    ("reference-ball", "dim = 2\nvariant = 1"),
    ("reference-ball", "dim = 2\nloss = 'lipschitz'"),
    ("reference-simplex", "arms = 3\nvariant = 1"),
];

/// The sum of the losses at a fixed point against the sum of `mean_loss`: Hoeffding with losses in [0, 1] gives a
/// deviation above sqrt(n ln(2/alpha)/2) with probability alpha = 1e-6 per case.
#[test]
fn losses_have_the_stated_means_and_stay_in_bounds() {
    let n = 4000u64;
    for (name, params) in EVERY {
        let mut env = world(name, params, n, 3);
        let Space::Points(set) = env.setup().space else { panic!("points") };
        let mut rng = Pcg64Dxsm::seed_from_u64(11);
        let x = some_point(&set, &mut rng);
        let (mut sum, mut mean) = (0.0, 0.0);
        for _ in 0..n {
            env.next(&mut rng).expect("endless");
            let (loss, expected) = (env.loss(&x), env.mean_loss(&x));
            assert!((0.0..=1.0).contains(&loss) && (0.0..=1.0).contains(&expected), "{name} {params}");
            assert_eq!(env.play(&x).expect("inside").observed(), Some(loss));
            sum += loss;
            mean += expected;
        }
        let bound = (n as f64 * (2e6f64).ln() / 2.0).sqrt();
        assert!((sum - mean).abs() < bound, "{name} {params}: {sum} against {mean}");
    }
}

/// No point that we try beats `best_so_far`, and projected descent on the mean losses comes close to it.
#[test]
fn the_best_in_hindsight_is_the_best() {
    for (name, params) in EVERY {
        let n = 60u64;
        let mut env = world(name, params, n, 4);
        let Space::Points(set) = env.setup().space else { panic!("points") };
        let mut rng = Pcg64Dxsm::seed_from_u64(5);
        let mut candidates: Vec<Point> = (0..300).map(|_| some_point(&set, &mut rng)).collect();
        candidates.extend(set.vertices(1000).unwrap_or_default().into_iter().map(Point));
        for j in 0..set.dim() {
            for step in -40..=40 {
                let mut x = set.centre();
                x[j] += f64::from(step) / 40.0;
                set.project(&mut x).expect("finite");
                candidates.push(Point(x));
            }
        }
        let mut sums = vec![0.0; candidates.len()];
        for _ in 0..n {
            env.next(&mut rng).expect("endless");
            for (s, x) in sums.iter_mut().zip(&candidates) {
                *s += env.mean_loss(x);
            }
        }
        let least = sums.iter().copied().fold(f64::INFINITY, f64::min);
        let best = env.best_so_far();
        assert!(best <= least + 1e-9, "{name} {params}: {best} against {least}");
        assert!(best >= least - 0.1 * n as f64, "{name} {params}: {best} against {least}");
    }
}

/// Figures that the reference instances state: the best value 0.25 a round and the centre's cost of 0.25 more.
#[test]
fn the_reference_ball_costs_what_is_stated() {
    let mut env = world("reference-ball", "dim = 2", 300, 1);
    let mut rng = Pcg64Dxsm::seed_from_u64(2);
    let mut centre = 0.0;
    for _ in 0..300 {
        env.next(&mut rng).expect("endless");
        centre += env.mean_loss(&Point(vec![0.0, 0.0]));
    }
    assert!((env.best_so_far() - 75.0).abs() < 1e-9);
    assert!((centre - 150.0).abs() < 1e-9);
    let mut env = world("reference-ball", "dim = 2\nloss = 'lipschitz'", 300, 1);
    (0..300).for_each(|_| env.next(&mut rng).expect("endless"));
    // At the mean target the loss is 0.2/2.
    assert!((env.best_so_far() - 30.0).abs() < 1e-9);
    assert!((env.mean_loss(&Point(vec![-0.6, 0.0])) - 0.1).abs() < 1e-12);
    let mut env = world("reference-simplex", "arms = 3", 100, 1);
    (0..100).for_each(|_| env.next(&mut rng).expect("endless"));
    assert!((env.best_so_far() - 20.0).abs() < 1e-9);
}

#[test]
fn bad_worlds_are_refused_by_name_and_value() {
    let no = |name: &str, params: &str| {
        let table: toml::Table = params.parse().expect("toml");
        match build(name, &table, 10, &mut Pcg64Dxsm::seed_from_u64(1)) {
            Err(e) => e.to_string(),
            Ok(_) => format!("built {name} {params}"),
        }
    };
    assert!(no("adversarial-linear", "dim = 0").contains("at least one dimension"));
    assert!(no("adversarial-linear", "gap = 0.8").contains("gap + noise must be at most 1"));
    assert!(no("adversarial-linear", "gap = nan").contains("gap must be in [0, 1], but is NaN"));
    assert!(no("adversarial-linear", "variant = 2").contains("variant must be 0 or 1, but is 2"));
    assert!(no("adversarial-linear", "set = 'simplex'\ndim = 1").contains("at least 2 vertices"));
    assert!(no("adversarial-linear", "set = 'sphere'").contains("points must be at least 1"));
    assert!(no("adversarial-linear", "set = { ball = { dim = 0 } }").starts_with("environment"));
    let unbounded = "set = { polytope = { rows = [[1, 0]], bounds = [1] } }";
    assert!(no("adversarial-linear", unbounded).starts_with("environment"));
    assert!(no("adversarial-convex", "set = 'corners'").contains("not defined on a finite set"));
    assert!(no("stochastic-linear", "noise = 0.5").contains("noise must be in [0, 0.5), but is 0.5"));
    assert!(no("stochastic-linear", "parameter = [1]").contains("parameter must be as long"));
    assert!(no("stochastic-linear", "structure = 'sparse'\nsupport = 3").contains("support must be"));
    assert!(no("stochastic-linear", "structure = 'group-sparse'\ngroup = 3").contains("group must be"));
    assert!(no("glm-points", "scale = -1").contains("scale must be positive"));
    assert!(no("reference-simplex", "arms = 1").contains("at least 2 vertices"));
}

/// Experiments 12 and 16 of the published figures: the best point is theta over its length, the noise has its law (5
/// standard errors of 20,000 rounds), and a hundred dimensions are no list.
#[test]
fn normal_linear_rewards_are_the_published_ones() {
    let mut env = world("normal-linear", "dim = 5", 10, 1);
    let mut rng = Pcg64Dxsm::seed_from_u64(3);
    // ramp(5) = (0, 1, 2, 3, 4) times 5/sqrt(30).
    let best = Point([0.0, 1.0, 2.0, 3.0, 4.0].map(|v: f64| v / 30f64.sqrt()).to_vec());
    assert_eq!(env.setup().losses, corral_core::LossDomain::Real);
    let (mut off, mut square, n) = (0.0, 0.0, 20_000);
    for _ in 0..n {
        env.next(&mut rng).expect("endless");
        let noise = env.mean_loss(&best) - env.loss(&best);
        off += noise / f64::from(n);
        square += noise * noise / f64::from(n);
    }
    let root = f64::from(n).sqrt();
    assert!(off.abs() < 5.0 / root && (square - 1.0).abs() < 5.0 * 2f64.sqrt() / root, "{off} {square}");
    // 1 - reward, of mean offset + |theta| = 6.
    assert!((env.mean_loss(&best) + 5.0).abs() < 1e-12);
    assert!((env.best_so_far() + 5.0 * f64::from(n)).abs() < 1e-6);
    let mut wide = world("normal-linear", "dim = 100\nsupport = 30", 10, 1);
    wide.next(&mut rng).expect("endless");
    assert!((wide.best_so_far() + 5.0).abs() < 1e-12);
    let mut cube = world("normal-linear", "set = 'hypercube'\ndim = 100", 10, 1);
    cube.next(&mut rng).expect("endless");
    let corner = Point(vec![0.1; 100]);
    assert!(
        (cube.best_so_far() - cube.mean_loss(&corner)).abs() < 1e-9,
        "every weight of the ramp is positive"
    );
    assert!(cube.mean_loss(&Point(vec![0.05; 100])).is_nan());
}

/// Sizes are refused before memory is asked for.
#[test]
fn sizes_are_bounded() {
    let no = |name: &str, params: &str| {
        let table: toml::Table = params.parse().expect("toml");
        build(name, &table, 10, &mut Pcg64Dxsm::seed_from_u64(1))
            .err()
            .map(|e| e.to_string())
            .unwrap_or_default()
    };
    let huge = i64::MAX;
    assert!(no("reference-simplex", &format!("arms = {huge}")).contains("arms must be smaller"));
    for name in
        ["adversarial-linear", "adversarial-convex", "stochastic-linear", "glm-points", "normal-linear"]
    {
        for set in
            ["ball", "box", "simplex", "unit-sphere", "hypercube", "sphere", "corners", "cross-polytope"]
        {
            for dim in [1_000_000_000, huge] {
                let e = no(name, &format!("set = '{set}'\ndim = {dim}"));
                assert!(e.contains("dim must be at most 1000000"), "{name} {set}: {e}");
            }
        }
        let e = no(name, "set = { ball = { dim = 1000000000 } }");
        assert!(e.contains("dim must be smaller"), "{name}: {e}");
    }
    let e = no("stochastic-linear", "set = 'sphere'\ndim = 1000000\npoints = 60000");
    assert!(e.contains("points must be smaller"), "{e}");
}

#[test]
fn a_decision_outside_is_refused() {
    let mut env = world("reference-ball", "dim = 2", 10, 1);
    let mut rng = Pcg64Dxsm::seed_from_u64(2);
    env.next(&mut rng).expect("endless");
    for x in [vec![1.0, 1.0], vec![0.0], vec![f64::NAN, 0.0]] {
        let x = Point(x);
        assert!(matches!(env.play(&x), Err(EnvError::Decision(_))));
        assert!(env.loss(&x).is_nan() && env.mean_loss(&x).is_nan());
    }
}

#[test]
fn structured_parameters_have_their_structure() {
    let mut rng = Pcg64Dxsm::seed_from_u64(6);
    let params = StochasticLinearParams {
        dim: 12,
        structure: Structure::GroupSparse,
        support: 2,
        group: 3,
        ..Default::default()
    };
    let world = params.world(10, &mut rng, &Default::default()).expect("fits");
    let groups: Vec<bool> =
        world.losses.parameter.chunks_exact(3).map(|g| g.iter().all(|v| *v != 0.0)).collect();
    assert_eq!(groups.iter().filter(|g| **g).count(), 2);
    assert_eq!(world.losses.parameter.iter().filter(|v| **v != 0.0).count(), 6);
    let length = dot(&world.losses.parameter, &world.losses.parameter).sqrt();
    assert!((length - 0.4).abs() < 1e-12, "{length}");
}

/// Seeds to numbers: a change here changes every run that anyone has stored. To 1e-12 across platforms.
#[test]
fn values_are_stable() {
    let found: Vec<f64> = EVERY
        .iter()
        .map(|(name, params)| {
            let mut env = world(name, params, 30, 2017);
            let Space::Points(set) = env.setup().space else { panic!("points") };
            let mut rng = Pcg64Dxsm::seed_from_u64(2018);
            let mut x: Vec<f64> = set
                .centre()
                .iter()
                .enumerate()
                .map(|(i, c)| c + if i % 2 == 0 { 0.3 } else { -0.2 })
                .collect();
            set.project(&mut x).expect("finite");
            let x = Point(x);
            (1..=30)
                .map(|t| {
                    env.next(&mut rng).expect("endless");
                    f64::from(t) * env.loss(&x)
                })
                .sum()
        })
        .collect();
    let same = found.len() == STABLE.len() && found.iter().zip(STABLE).all(|(a, b)| (a - b).abs() < 1e-9);
    assert!(same, "{found:?}");
}

const STABLE: &[f64] = &[
    272.7,
    247.32432964048797,
    289.3578518193577,
    266.42649212547434,
    224.39412977952108,
    278.4328063169264,
    202.14999999999998,
    174.9493795497727,
    158.09797043436325,
    157.2155104041907,
    172.80924560677306,
    294.0107771633854,
    140.85254743926032,
    370.6384590408661,
    202.3132552285311,
    145.0,
    37.0,
    175.16185647295083,
    282.27329365455995,
    258.0870782924464,
    215.68100334958905,
    161.0,
];
