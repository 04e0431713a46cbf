//! What the bases over points owe, over all kinds of sets.

use crate::built::BaseParams;
use corral_core::contract::{OnRange, Subject, check_all};
use corral_core::set::SetError;
use corral_core::{
    Arm, Base, BaseError, Context, Feedback, Order, Point, Proposal, Set, Setup, Space, uniform,
};
use rand::SeedableRng;
use rand_pcg::Pcg64Dxsm;

use super::*;
use crate::common::Setting;
use crate::regression::Link;
use crate::{Learner, build};

fn setup(set: Set, horizon: u64) -> Setup {
    Setup::new(Space::Points(set), Some(horizon))
}

fn polytope() -> Set {
    let rows = [
        vec![1.0, 0.3, 0.0],
        vec![-1.0, 0.2, 0.1],
        vec![0.0, 1.0, -0.4],
        vec![0.1, -1.0, 0.0],
        vec![0.0, 0.2, 1.0],
        vec![-0.3, 0.0, -1.0],
        vec![1.0, 1.0, 1.0],
    ];
    Set::polytope(&rows, &[1.0, 1.0, 0.8, 1.2, 1.0, 0.9, 1.5]).unwrap()
}

fn convex_sets() -> Vec<Set> {
    vec![Set::Ball { dim: 3 }, Set::Box { dim: 3 }, Set::Simplex { vertices: 4 }, polytope()]
}

fn points_of(name: &str, params: &str, setup: &Setup) -> Result<Box<dyn Base<Context, Point>>, BaseError> {
    match build(name, &params.parse().unwrap(), setup) {
        Ok(Learner::Points(base)) => Ok(base),
        Ok(Learner::Arms(_)) => Err(BaseError::Failed(String::from("arms"))),
        Err(e) => Err(BaseError::Failed(e.to_string())),
    }
}

#[test]
fn every_base_over_points_keeps_the_contract() {
    let corners = Set::finite(&Set::Box { dim: 3 }.vertices(8).unwrap()).unwrap();
    let ball = |dim| Set::Ball { dim };
    let restart = OnRange::Restart;
    let mut cases: Vec<(&str, &str, Set, OnRange, u64)> = Vec::new();
    for set in convex_sets() {
        let rounds = if matches!(set, Set::Polytope(_)) { 5_000 } else { 50_000 };
        cases.push(("scrible", "", set.clone(), restart, rounds));
        cases.push(("bgd", "lipschitz = 0.5", set, restart, rounds));
    }
    cases.push(("scrible", "centered = true\ndirection = 'basis'", ball(3), restart, 20_000));
    cases.push(("scrible", "direction = 'sphere'", polytope(), restart, 2_000));
    cases.push((
        "bgd",
        "matrix = [[2, 0, 0], [0, 1, 0], [0, 0.5, 1]]\ncentre = [0.1, 0, 0]",
        polytope(),
        restart,
        2_000,
    ));
    for set in [ball(3), corners.clone(), Set::Simplex { vertices: 4 }, polytope()] {
        cases.push(("oful", "", set, OnRange::Keep, 2_000));
    }
    cases.push(("oful", "search = 'relaxed'", Set::Box { dim: 3 }, OnRange::Keep, 500));
    cases.push(("sparse-oful", "sparsity = 2", ball(4), OnRange::Keep, 2_000));
    cases.push(("sparse-oful", "sparsity = 1", corners.clone(), OnRange::Keep, 2_000));
    cases.push(("sl-ucb", "", ball(8), restart, 3_000));
    cases.push(("group-sparse", "", ball(6), restart, 3_000));
    cases.push(("glm-oful", "", corners, OnRange::Keep, 1_200));
    cases.push(("glm-oful", "link = 'exponential'", ball(3), OnRange::Keep, 1_200));
    for (name, params, set, on_range, rounds) in cases {
        let list = if let Set::Finite(points) = &set {
            Some(points.iter().map(|p| Point(p.to_vec())).collect::<Vec<_>>())
        } else {
            None
        };
        let world = setup(set, 200_000);
        let mut subject = Subject::points(format!("{name} {params} {:?}", world.space), &world, || {
            points_of(name, params, &world)
        })
        .on_range(on_range)
        .counts_rounds()
        .rounds(rounds);
        if let Some(list) = list {
            subject = subject.with_decisions(move |_| list.clone());
        }
        for (law, verdict) in check_all(&subject) {
            assert!(verdict.is_ok(), "{law}: {}", verdict.unwrap_err());
        }
    }
}

#[test]
fn scrible_over_arms_keeps_the_contract() {
    let world = Setup::arms(4, Some(200_000));
    let subject =
        Subject::arms("scrible-arms", &world, || match build("scrible-arms", &toml::Table::new(), &world) {
            Ok(Learner::Arms(base)) => Ok(base),
            _ => Err(BaseError::Failed(String::from("no arms"))),
        })
        .counts_rounds()
        .own_memos()
        .rounds(50_000);
    for (law, verdict) in check_all(&subject) {
        assert!(verdict.is_ok(), "{law}: {}", verdict.unwrap_err());
    }
}

/// Compares the mean of `draws` vectors with `truth`: 4 standard errors per coordinate, so that a true mean is refused
/// with probability at most 6.4e-5 per coordinate.
fn assert_mean(what: &str, truth: &[f64], draws: u32, mut draw: impl FnMut() -> Vec<f64>) {
    let mut sums = vec![(0.0, 0.0); truth.len()];
    for _ in 0..draws {
        for ((s, q), v) in sums.iter_mut().zip(draw()) {
            *s += v;
            *q += v * v;
        }
    }
    let n = f64::from(draws);
    for (i, (s, q)) in sums.iter().enumerate() {
        let mean = s / n;
        let se = ((q / n - mean * mean) / n).sqrt();
        assert!(
            (mean - truth[i]).abs() <= 4.0 * se,
            "{what}, coordinate {i}: {mean} +- {se}, not {}",
            truth[i]
        );
    }
}

/// The linear loss 0.5 + <c, x> and, on the simplex, its gradient in the first K - 1 coordinates.
const SLOPE: [f64; 4] = [0.2, -0.1, 0.05, -0.15];

fn linear(x: &[f64]) -> f64 {
    0.5 + dot(&SLOPE[..x.len()], x)
}

fn seen(x: &[f64], p: f64, rng: &mut Pcg64Dxsm) -> Feedback {
    if uniform(rng) < p { Feedback::new(linear(x), 1.0 / p) } else { Feedback::unseen() }
}

/// 4 sets x 2 probabilities x centred or not x 3 coordinates, and as many for BGD: a false alarm in less than 0.5 % of seeds.
#[test]
fn gradient_estimates_are_unbiased() {
    for set in convex_sets() {
        let d = set.affine_dim();
        let truth: Vec<f64> = match &set {
            Set::Simplex { .. } => SLOPE[..3].iter().map(|c| c - SLOPE[3]).collect(),
            _ => SLOPE[..3].to_vec(),
        };
        for p in [1.0, 0.125] {
            for centered in [false, true] {
                let mut rng = Pcg64Dxsm::seed_from_u64(17);
                let params = ScribleParams { centered, ..Default::default() };
                let mut base = params.build(&setup(set.clone(), 1000)).unwrap();
                Base::<(), Point>::apply_order(&mut base, Order::Widen { range: 8.0, remaining: Some(1000) })
                    .unwrap();
                // Away from the centre first.
                for _ in 0..200 {
                    let made = base.propose(&(), &mut rng).unwrap();
                    let feedback = seen(&made.decision.0, p, &mut rng);
                    base.learn(&(), &made, feedback).unwrap();
                }
                let what = format!("scrible on a {} at p = {p}, centered {centered}", set.kind());
                let draws = if matches!(set, Set::Polytope(_)) { 40_000 } else { 200_000 };
                assert_mean(&what, &truth, draws, || {
                    let made = base.propose(&(), &mut rng).unwrap();
                    let feedback = seen(&made.decision.0, p, &mut rng);
                    let mut copy = base.clone();
                    copy.learn(&(), &made, feedback).unwrap();
                    copy.state.force.iter().zip(&base.state.force).map(|(a, b)| a - b).collect()
                });
            }
            // BGD: the gradient of a linear loss is that of the smoothed one. In the set's own coordinates, where the
            // simplex sees the part of c in the plane.
            let mut rng = Pcg64Dxsm::seed_from_u64(23);
            let mut base = BgdParams::default().build(&setup(set.clone(), 1_000_000_000)).unwrap();
            Base::<(), Point>::apply_order(
                &mut base,
                Order::Widen { range: 8.0, remaining: Some(1_000_000_000) },
            )
            .unwrap();
            let mean = if d < set.dim() { SLOPE.iter().sum::<f64>() / 4.0 } else { 0.0 };
            let truth: Vec<f64> = SLOPE[..set.dim()].iter().map(|c| c - mean).collect();
            assert_mean(&format!("bgd on a {} at p = {p}", set.kind()), &truth, 100_000, || {
                let made = base.propose(&(), &mut rng).unwrap();
                let feedback = seen(&made.decision.0, p, &mut rng);
                let mut copy = base.clone();
                copy.learn(&(), &made, feedback).unwrap();
                base.state.iter().zip(&copy.state).map(|(a, b)| (a - b) / base.work.rate).collect()
            });
        }
    }
}

/// 10^6 decisions of leaders pushed to the boundary: `contains` accepts every one.
#[test]
fn decisions_near_the_boundary_stay_inside() {
    let mut rng = Pcg64Dxsm::seed_from_u64(31);
    for set in convex_sets() {
        let mut base = ScribleParams::default().build(&setup(set.clone(), 1_000_000)).unwrap();
        let mut made = Proposal::default();
        let d = set.affine_dim();
        // Blame one direction again and again: the leader runs to the other side.
        let (pushes, draws) = if matches!(set, Set::Polytope(_)) { (12, 10_000) } else { (25, 7_000) };
        for push in 0..pushes {
            let mut memo = vec![0.1; d];
            memo[push % d] = f64::from(1 << push.min(20)) * if push % 3 == 0 { -1.0 } else { 1.0 };
            let blame = Proposal::with_memo(Point(set.centre()), memo.as_slice().into());
            base.learn(&(), &blame, Feedback::plain(1.0)).unwrap();
            for _ in 0..draws {
                made.refill(&mut base, &(), &mut rng).unwrap();
                assert!(set.contains(&made.decision.0), "{} {:?}", set.kind(), made.decision.0);
            }
        }
        let mut bgd = BgdParams { delta: Setting::Given(0.01), ..Default::default() }
            .build(&setup(set.clone(), 1_000_000))
            .unwrap();
        for push in 0..8 {
            let memo: Vec<f64> = (0..set.dim()).map(|i| 1e5 * (i as f64 - 0.3 * f64::from(push))).collect();
            let blame = Proposal::with_memo(Point(set.centre()), memo.as_slice().into());
            bgd.learn(&(), &blame, Feedback::plain(1.0)).unwrap();
            for _ in 0..10_000 {
                made.refill(&mut bgd, &(), &mut rng).unwrap();
                assert!(set.contains(&made.decision.0), "bgd {} {:?}", set.kind(), made.decision.0);
            }
        }
    }
}

/// Feedback that comes late and out of order gives the same sum of gradients: the direction is in the ticket.
#[test]
fn late_feedback_counts_with_the_direction_of_its_proposal() {
    for set in convex_sets() {
        let mut rng = Pcg64Dxsm::seed_from_u64(5);
        let mut base = ScribleParams::default().build(&setup(set.clone(), 100)).unwrap();
        let tickets: Vec<Proposal<Point>> = (0..20).map(|_| base.propose(&(), &mut rng).unwrap()).collect();
        let (mut early, mut late) = (base.clone(), base);
        for made in &tickets {
            early.learn(&(), made, Feedback::plain(linear(&made.decision.0))).unwrap();
        }
        for made in tickets.iter().rev() {
            late.learn(&(), made, Feedback::plain(linear(&made.decision.0))).unwrap();
        }
        for (a, b) in early.state.force.iter().zip(&late.state.force) {
            assert!((a - b).abs() < 1e-12 * (1.0 + a.abs()), "{}", set.kind());
        }
        for (a, b) in early.work.leader.point.iter().zip(&late.work.leader.point) {
            assert!((a - b).abs() < 1e-9, "{}", set.kind());
        }
    }
}

/// eta = min{ sqrt(nu ln T/(2 d^2 rho T)), 1/(4 d rho) }: the second term binds beyond rho = T/(8 nu ln T).
#[test]
fn the_clamps_bind_where_they_should() {
    let horizon = 5000.0f64;
    for (set, nu) in convex_sets().into_iter().zip([1.0, 3.0, 4.0, 7.0]) {
        let d = 3.0;
        let mut base = ScribleParams::default().build(&setup(set, 5000)).unwrap();
        let edge = horizon / (8.0 * nu * horizon.ln());
        for rho in [1.0, 0.5 * edge, 0.99 * edge, 1.01 * edge, 100.0 * edge] {
            Base::<(), Point>::apply_order(&mut base, Order::Widen { range: rho, remaining: Some(5000) })
                .unwrap();
            let free = (nu * horizon.ln() / (2.0 * d * d * rho * horizon)).sqrt();
            let expected = if rho < edge { free } else { 1.0 / (4.0 * d * rho) };
            assert!(
                (base.work.rate / expected - 1.0).abs() < 1e-12,
                "rho {rho}: {} not {expected}",
                base.work.rate
            );
        }
    }
    // delta = sqrt(R d/(3(L + 1/r))) rho^{1/4} T^{-1/4}, at most r/2; eta = R delta/(d sqrt(rho T)).
    let mut base = BgdParams { lipschitz: Setting::Given(0.5), ..Default::default() }
        .build(&setup(Set::Ball { dim: 2 }, 5000))
        .unwrap();
    let free = |rho: f64| (2.0f64 / 4.5).sqrt() * (rho / horizon).powf(0.25);
    let edge = horizon * (0.5f64 / (2.0f64 / 4.5).sqrt()).powi(4);
    for rho in [1.0, 16.0, 0.99 * edge, 1.01 * edge, 1e6] {
        Base::<(), Point>::apply_order(&mut base, Order::Widen { range: rho, remaining: Some(5000) })
            .unwrap();
        let delta = if rho < edge { free(rho) } else { 0.5 };
        assert!((base.work.delta / delta - 1.0).abs() < 1e-12, "rho {rho}: {} not {delta}", base.work.delta);
        assert!((base.work.rate / (delta / (2.0 * (rho * horizon).sqrt())) - 1.0).abs() < 1e-12);
    }
}

/// Confidence sets hold the parameter in all rounds with probability at least 1 - delta. 300 runs at delta = 0.1: the
/// number of failures exceeds 30 + 4 sqrt(27) = 50 with probability below 1e-4 if the level is just kept. A radius of a
/// quarter fails more often than that, so that the test can see.
#[test]
fn confidence_sets_cover_at_their_level() {
    let theta = [0.3, -0.35, 0.1];
    let failures = |scale: f64| {
        let mut failed = 0;
        for run in 0..300 {
            let mut rng = Pcg64Dxsm::seed_from_u64(run);
            let params = OfulParams {
                delta: Setting::Given(0.1),
                scale,
                norm: Setting::Given(0.5),
                ..Default::default()
            };
            let mut base = params.build(&setup(Set::Ball { dim: 3 }, 150)).unwrap();
            let mut covered = true;
            for _ in 0..150 {
                let made = base.propose(&(), &mut rng).unwrap();
                let mean = 0.5 + dot(&theta, &made.decision.0);
                let loss = f64::from(uniform(&mut rng) < mean);
                base.learn(&(), &made, Feedback::plain(loss)).unwrap();
                covered &= base.distance(&theta) <= base.radius();
            }
            failed += u32::from(!covered);
        }
        failed
    };
    let (full, quarter) = (failures(1.0), failures(0.25));
    assert!(full <= 50, "{full} of 300");
    assert!(quarter > 50, "{quarter} of 300: the test cannot see");
    // The conversion's radius is far wider: no failure in 60 runs of 200 rounds.
    let sparse = [0.0, 0.45, 0.0, 0.0, 0.0, 0.0];
    for run in 0..60 {
        let mut rng = Pcg64Dxsm::seed_from_u64(run);
        let mut base = SparseOfulParams { delta: Setting::Given(0.1), ..Default::default() }
            .build(&setup(Set::Ball { dim: 6 }, 200))
            .unwrap();
        for _ in 0..200 {
            let made = base.propose(&(), &mut rng).unwrap();
            let loss = f64::from(uniform(&mut rng) < 0.5 + dot(&sparse, &made.decision.0));
            base.learn(&(), &made, Feedback::plain(loss)).unwrap();
            assert!(base.distance_squared(&sparse) <= base.radius_squared(), "run {run}");
        }
    }
}

#[test]
fn structure_is_found() {
    // Uniform noise of size 0.1 on 0.5 + <theta, x>.
    let play = |base: &mut dyn Base<(), Point>, theta: &[f64], rounds: u32| {
        let mut rng = Pcg64Dxsm::seed_from_u64(3);
        for _ in 0..rounds {
            let made = base.propose(&(), &mut rng).unwrap();
            let loss = 0.5 + dot(theta, &made.decision.0) + 0.1 * (2.0 * uniform(&mut rng) - 1.0);
            base.learn(&(), &made, Feedback::plain(loss.clamp(0.0, 1.0))).unwrap();
        }
    };
    let mut theta = [0.0; 12];
    theta[7] = -0.3;
    theta[2] = 0.25;
    let mut base = SlUcbParams { noise: 0.1, ..Default::default() }
        .build(&setup(Set::Ball { dim: 12 }, 200_000))
        .unwrap();
    play(&mut base, &theta, 3000);
    assert_eq!(base.state.support, [2, 7]);
    let mut theta = [0.0; 12];
    theta[6..9].copy_from_slice(&[0.2, -0.25, 0.2]);
    let mut base = GroupSparseParams { group: 3, noise: 0.1, ..Default::default() }
        .build(&setup(Set::Ball { dim: 12 }, 20_000))
        .unwrap();
    play(&mut base, &theta, 2100);
    assert_eq!(base.state.support, [6, 7, 8]);
}

#[test]
fn a_link_is_fitted() {
    let theta = [1.0, -1.5];
    for (link, mean) in [
        (Link::Logistic, (|u: f64| 1.0 / (1.0 + (-u).exp())) as fn(f64) -> f64),
        (Link::Exponential, |u: f64| (u - 2.0).exp()),
    ] {
        let set =
            Set::finite(&[vec![1.0, 0.0], vec![0.0, 1.0], vec![0.6, 0.8], vec![-0.6, 0.8], vec![0.0, -1.0]])
                .unwrap();
        let mut base =
            GlmOfulParams { link, ..Default::default() }.build(&setup(set.clone(), 100_000)).unwrap();
        let mut rng = Pcg64Dxsm::seed_from_u64(8);
        let Set::Finite(points) = set else { panic!() };
        // Learning from others: every point in turn, beyond the rounds of full refits.
        for t in 0..3000 {
            let x = points.get(t % 5).unwrap().to_vec();
            let loss = f64::from(uniform(&mut rng) < mean(dot(&theta, &x)));
            base.learn(&(), &Proposal::new(Point(x)), Feedback::plain(loss)).unwrap();
        }
        for (a, b) in base.state.theta(0).iter().zip(theta) {
            assert!((a - b).abs() < 0.3, "{link:?}: {:?}", base.state.theta(0));
        }
    }
}

#[test]
fn bad_input_is_refused_by_type() {
    let finite = setup(Set::finite(&[vec![1.0, 2.0]]).unwrap(), 10);
    assert!(matches!(
        ScribleParams::default().build(&finite),
        Err(BaseError::Set(SetError::Unsupported { what: "a barrier", .. }))
    ));
    assert!(matches!(BgdParams::default().build(&finite), Err(BaseError::Set(SetError::Unsupported { .. }))));
    let flat = setup(Set::Ball { dim: 0 }, 10);
    let zero = BaseError::Set(SetError::ZeroDimension);
    assert_eq!(ScribleParams::default().build(&flat).unwrap_err(), zero);
    assert_eq!(BgdParams::default().build(&flat).unwrap_err(), zero);
    assert_eq!(OfulParams::default().build(&flat).unwrap_err(), zero);
    let square = setup(Set::Box { dim: 2 }, 10);
    let centre = |c: Vec<f64>| BgdParams { centre: c, ..Default::default() }.build(&square).unwrap_err();
    assert!(
        matches!(centre(vec![2.0, 0.0]), BaseError::Set(SetError::CentreOutside { radius }) if radius == -1.0)
    );
    assert!(matches!(centre(vec![1.0, 0.0]), BaseError::Set(SetError::CentreOutside { radius: 0.0 })));
    assert!(matches!(centre(vec![0.0]), BaseError::Set(SetError::Dimension { found: 1, .. })));
    let map = |m: &[[f64; 2]]| {
        let matrix = m.iter().map(|r| r.to_vec()).collect();
        BgdParams { matrix, ..Default::default() }.build(&square).map(|_| ())
    };
    assert!(matches!(map(&[[1.0, 2.0], [2.0, 4.0]]), Err(BaseError::Set(SetError::Singular { .. }))));
    assert!(matches!(map(&[[1.0, 2.0]]), Err(BaseError::Set(SetError::Dimension { .. }))));
    assert!(map(&[[1.0, 2.0], [0.0, 4.0]]).is_ok());
    let ball = setup(Set::Ball { dim: 40 }, 10);
    let many = SparseOfulParams { sparsity: 4, ..Default::default() }.build(&ball).unwrap_err();
    assert!(many.to_string().contains("at most 5000 supports"), "{many}");
    assert!(GroupSparseParams { group: 3, ..Default::default() }.build(&ball).is_err());
    assert!(matches!(
        SlUcbParams::default().build(&square),
        Err(BaseError::Set(SetError::Unsupported { .. }))
    ));
    // A proposal that is not one.
    let mut base = ScribleParams::default().build(&square).unwrap();
    for memo in [&[][..], &[1.0], &[f64::NAN, 0.0]] {
        let made = Proposal::with_memo(Point(vec![0.0, 0.0]), memo.into());
        assert!(matches!(base.learn(&(), &made, Feedback::plain(1.0)), Err(BaseError::Proposal(_))));
    }
    let mut base = OfulParams::default().build(&square).unwrap();
    for x in [vec![0.0], vec![2.0, 0.0], vec![f64::NAN, 0.0]] {
        let made = Proposal::new(Point(x));
        assert!(matches!(base.learn(&(), &made, Feedback::plain(1.0)), Err(BaseError::Proposal(_))));
    }
    let arms = Setup::arms(1, Some(10));
    assert!(matches!(ScribleArmsParams::default().build(&arms), Err(BaseError::Set(SetError::Vertices(1)))));
}

/// Where the horizon is not known the rate falls as the rounds double, and never rises.
#[test]
fn an_unknown_horizon_is_doubled() {
    let world = Setup::new(Space::Points(Set::Ball { dim: 2 }), None);
    let mut base = ScribleParams::default().build(&world).unwrap();
    let mut bgd = BgdParams::default().build(&world).unwrap();
    let mut rng = Pcg64Dxsm::seed_from_u64(1);
    let (mut last, mut falls, mut last_delta) = (base.work.rate, 0, bgd.work.delta);
    for _ in 0..1000 {
        let made = base.propose(&(), &mut rng).unwrap();
        base.learn(&(), &made, Feedback::plain(linear(&made.decision.0))).unwrap();
        assert!(base.work.rate <= last);
        falls += u32::from(base.work.rate < last);
        last = base.work.rate;
        let made = bgd.propose(&(), &mut rng).unwrap();
        bgd.learn(&(), &made, Feedback::plain(linear(&made.decision.0))).unwrap();
        assert!(bgd.work.delta <= last_delta);
        last_delta = bgd.work.delta;
    }
    assert_eq!(falls, 6);
}

/// The arm of the simplex base is drawn from its mixed point, and the vertex's loss gives an unbiased estimate: 4
/// standard errors per coordinate.
#[test]
fn vertices_give_unbiased_estimates_too() {
    let losses = [0.9, 0.2, 0.6];
    let mut rng = Pcg64Dxsm::seed_from_u64(12);
    let base = ScribleArmsParams::default().build(&Setup::arms(3, Some(1000))).unwrap();
    assert_mean("scrible-arms", &[0.3, -0.4], 200_000, || {
        let mut copy = base.clone();
        let made: Proposal<Arm> = copy.propose(&(), &mut rng).unwrap();
        copy.learn(&(), &made, Feedback::plain(losses[made.decision.index()])).unwrap();
        copy.inner.state.force.clone()
    });
}

/// Seeds to numbers: a change here changes every run that anyone has stored. To the last bit on one platform, to 1e-9
/// across platforms.
#[test]
fn values_are_stable() {
    let mut found: Vec<(String, f64)> = Vec::new();
    let mut record = |name: &str, params: &str, set: Set| {
        let kind = set.kind();
        let mut base = points_of(name, params, &setup(set, 1000)).unwrap();
        let (mut rng, x) = (Pcg64Dxsm::seed_from_u64(2017), Context::plain(0));
        let mut sum = 0.0;
        for t in 0..50 {
            let made = base.propose(&x, &mut rng).unwrap();
            let loss = linear(&made.decision.0[..made.decision.0.len().min(4)]);
            base.learn(&x, &made, Feedback::plain(loss)).unwrap();
            sum += f64::from(t + 1) * made.decision.0[0];
        }
        found.push((format!("{name} {kind}"), sum));
    };
    for set in convex_sets() {
        record("scrible", "", set.clone());
        record("bgd", "", set.clone());
        record("oful", "", set);
    }
    record("sparse-oful", "", Set::Ball { dim: 3 });
    record("sl-ucb", "", Set::Ball { dim: 3 });
    record("group-sparse", "group = 1", Set::Ball { dim: 3 });
    record("glm-oful", "", Set::Ball { dim: 3 });
    assert_eq!(found.len(), STABLE.len(), "{found:?}");
    for ((name, value), (expected_name, expected)) in found.iter().zip(STABLE) {
        let near = (value - expected).abs() <= 1e-9 * (1.0 + expected.abs());
        assert!(name == expected_name && near, "{name}: {value}; all: {found:?}");
    }
}

const STABLE: &[(&str, f64)] = &[
    ("scrible ball", 26.389583683623076),
    ("bgd ball", 73.51423379765376),
    ("oful ball", -768.9400236086701),
    ("scrible box", -250.79206834503321),
    ("bgd box", 119.64447093728062),
    ("oful box", -1271.0),
    ("scrible simplex", 264.36040931607073),
    ("bgd simplex", 245.2549769996977),
    ("oful simplex", 177.0),
    ("scrible polytope", -574.5220708360434),
    ("bgd polytope", 179.0192537907664),
    ("oful polytope", -1150.5897394081271),
    ("sparse-oful ball", -664.87082830597),
    ("sl-ucb ball", 45.61067126598044),
    ("group-sparse ball", -348.2471385134642),
    ("glm-oful ball", -730.6724475599754),
];
