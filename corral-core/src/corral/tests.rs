use super::engine::EngineState;
use super::*;
use crate::SnapshotError;
use crate::omd::{BarrierState, LogBarrier, Losses};
use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64Dxsm;

pub(super) fn build(bases: usize, horizon: Horizon, rate: Rate) -> Corral {
    Corral::new(CorralParams { rate, ..CorralParams::new(bases, horizon) }).unwrap()
}

/// Plays on, with base 0 the best.
pub(super) fn play(corral: &mut Corral, rounds: u64, rng: &mut Pcg64Dxsm) {
    let m = corral.params().bases;
    for _ in 0..rounds {
        let base = corral.draw(rng).0;
        let weight = 1.0 / corral.probabilities()[base];
        let loss = if rng.random::<f64>() < (base as f64 + 0.5) / m as f64 { rng.random() } else { 0.0 };
        corral.update(loss, Credit::Chosen { base, weight }).unwrap();
    }
}

#[track_caller]
fn assert_distribution(corral: &Corral) {
    for p in [corral.distribution(), corral.probabilities()] {
        assert!(p.iter().all(|p| *p >= 0.0));
        assert!((p.iter().sum::<f64>() - 1.0).abs() < 1e-13, "{p:?}");
    }
}

#[test]
fn a_trace_stays_what_it_was() {
    let mut corral = build(3, Horizon::Known(1_000), Rate::Fast);
    let mut rng = Pcg64Dxsm::seed_from_u64(2017);
    let mut drawn = Vec::new();
    for _ in 0..12 {
        let base = corral.draw(&mut rng).0;
        let weight = 1.0 / corral.probabilities()[base];
        corral.update(0.25 * (base + 1) as f64, Credit::Chosen { base, weight }).unwrap();
        drawn.push(base);
    }
    assert_eq!(drawn, [1, 0, 0, 2, 1, 2, 1, 1, 2, 0, 0, 1]);
    // Computed for these draws with Python's mpmath at 40 digits.
    let expected = [0.456437388570134, 0.25693588808027584, 0.28662672334959014];
    for (found, expected) in corral.probabilities().iter().zip(expected) {
        assert!((found - expected).abs() < 1e-15, "{found} {expected}");
    }
}

#[test]
fn parameters_out_of_bounds_are_named() {
    let known = Horizon::Known(100);
    let error = |params: CorralParams| Corral::new(params).unwrap_err().to_string();
    assert!(error(CorralParams::new(0, known)).starts_with("bases must be at least 1"));
    assert_eq!(error(CorralParams::new(2, Horizon::Known(0))), "horizon must be at least 1, but is 0");
    for rate in [0.0, -1.0, f64::NAN, f64::INFINITY] {
        let params = CorralParams { rate: Rate::Fixed(rate), ..CorralParams::new(2, known) };
        assert_eq!(error(params), format!("rate must be positive and finite, but is {rate}"));
        let params =
            CorralParams { rate: Rate::Theory { alpha: 0.5, regret: rate }, ..CorralParams::new(2, known) };
        assert!(error(params).starts_with("rate.theory.regret"));
    }
    for alpha in [0.0, -0.5, 1.5, f64::NAN] {
        let params =
            CorralParams { rate: Rate::Theory { alpha, regret: 9.0 }, ..CorralParams::new(2, known) };
        assert!(error(params).starts_with("rate.theory.alpha must be in (0, 1]"));
    }
    let many = CorralParams::new(u32::MAX as usize, known);
    assert!(error(many).starts_with("bases must be smaller, but is 4294967295, which takes 412.3 GB"));
    for prior in [vec![1.0], vec![1.0, 0.0], vec![1.0, f64::NAN], vec![1.0, -1.0], vec![1e300, 1e-300]] {
        let params = CorralParams { prior: Some(prior), ..CorralParams::new(2, known) };
        assert!(error(params).starts_with("prior"));
    }
}

#[test]
fn rates_have_their_formulas() {
    let rate = |r: Rate| r.value(5, 10_000);
    assert_eq!((rate(Rate::Balanced), rate(Rate::Fast), rate(Rate::Eager)), (0.01, 0.1, 0.3));
    assert_eq!(rate(Rate::Scaled(50.0)), 0.5);
    // sqrt((M-1) ln T/(2.116 T)), "3.6 to 5.5/sqrt(T) for M = 5"
    assert!((rate(Rate::MasterOptimal) - (4.0 * 9.210340371976184 / 21160.4f64).sqrt()).abs() < 1e-6);
    for rate in [
        Rate::MasterOptimal,
        Rate::Theory { alpha: 0.3, regret: 2.0 },
        Rate::Theory { alpha: 1.0, regret: 2.0 },
    ] {
        for (m, t) in [(1, 1), (1, 100), (2, 1), (1_000_000, u64::MAX)] {
            let eta = rate.value(m, t);
            assert!(eta > 0.0 && eta.is_finite(), "{rate:?} {m} {t}: {eta}");
        }
    }
    // Regrets that make the formula's powers overflow.
    for regret in [1e-300, 1e300] {
        let eta = Rate::Theory { alpha: 0.99, regret }.value(3, 1_000);
        assert!(eta > 0.0 && eta.is_finite(), "{eta}");
    }
}

#[test]
fn params_are_read_from_a_spec() {
    let read = |text: &str| toml::from_str::<CorralParams>(&format!("bases = 2\n{text}"));
    for (text, rate) in [
        ("rate = 'balanced'", Rate::Balanced),
        ("rate = 'fast'", Rate::Fast),
        ("rate = 'eager'", Rate::Eager),
        ("rate = { scaled = 3 }", Rate::Scaled(3.0)),
        ("rate = 'master-optimal'", Rate::MasterOptimal),
        ("rate = 0.25", Rate::Fixed(0.25)),
        ("rate = 2", Rate::Fixed(2.0)),
        ("rate = { fixed = 0.5 }", Rate::Fixed(0.5)),
        ("rate = { theory = { alpha = 0.5, regret = 100 } }", Rate::Theory { alpha: 0.5, regret: 100.0 }),
        ("", Rate::Balanced),
    ] {
        let params = read(text).unwrap();
        assert_eq!(params.rate, rate);
        let again: CorralParams = toml::from_str(&toml::to_string(&params).unwrap()).unwrap();
        assert_eq!(again, params);
    }
    assert_eq!(read("horizon = 10").unwrap().horizon, Horizon::Known(10));
    assert_eq!(read("horizon = 'restart'").unwrap().horizon, Horizon::Restart);
    let params = read("prior = [1.0, 3.0]\nbaseline = true").unwrap();
    assert_eq!((params.prior, params.baseline), (Some(vec![1.0, 3.0]), true));
    for wrong in [
        "rate = 'slow'",
        "rate = { theory = { alpha = 1 } }",
        "horizon = -1",
        "eta = 1",
        "horizon = 'long'",
        "horizon = 'unknown'",
    ] {
        assert!(read(wrong).is_err(), "{wrong}");
    }
    assert!(toml::from_str::<CorralParams>("horizon = 10").is_err(), "the number of bases has no default");
    assert!(read("rate = 'slow'").unwrap_err().to_string().contains("master-optimal"));
}

#[test]
fn a_prior_is_where_the_run_starts() {
    let params =
        CorralParams { prior: Some(vec![1.0, 2.0, 5.0]), ..CorralParams::new(3, Horizon::Known(100)) };
    let mut corral = Corral::new(params).unwrap();
    assert_eq!(corral.distribution(), [0.125, 0.25, 0.625]);
    for i in 0..3 {
        assert_eq!(corral.ranges()[i], 2.0 / corral.probabilities()[i]);
    }
    corral.start_audit(0).unwrap();
    play(&mut corral, 100, &mut Pcg64Dxsm::seed_from_u64(1));
    assert_eq!(corral.audit().unwrap().failures(1e-12), []);
}

#[test]
fn credit_may_come_late_and_out_of_order() {
    let mut corral = build(3, Horizon::Known(400), Rate::Fixed(1.0));
    let mut rng = Pcg64Dxsm::seed_from_u64(2);
    let mut waiting: Vec<(usize, f64)> = Vec::new();
    for _ in 0..400 {
        let base = corral.draw(&mut rng).0;
        waiting.push((base, 1.0 / corral.probabilities()[base]));
        if waiting.len() > 20 {
            let (base, weight) = waiting.swap_remove(rng.random_range(0..waiting.len()));
            let loss = if base == 2 { 0.0 } else { 1.0 };
            corral.update(loss, Credit::Chosen { base, weight }).unwrap();
            assert_distribution(&corral);
        }
    }
    assert!(corral.probabilities()[2] > 0.9);
}

#[test]
fn a_retired_base_has_probability_zero_and_the_others_go_on_as_if_it_had_never_been() {
    let mut corral = build(4, Horizon::Known(1_000), Rate::Fixed(0.3));
    play(&mut corral, 100, &mut Pcg64Dxsm::seed_from_u64(3));
    let before = corral.distribution().to_vec();
    let late = (1, 1.0 / corral.probabilities()[1]);
    corral.retire(1).unwrap();
    assert_distribution(&corral);
    assert_eq!((corral.distribution()[1], corral.probabilities()[1]), (0.0, 0.0));
    for i in [0, 2, 3] {
        assert!((corral.distribution()[i] - before[i] / (1.0 - before[1])).abs() < 1e-15);
        assert!((corral.probabilities()[i] - (0.999 * corral.distribution()[i] + 0.001 / 3.0)).abs() < 1e-15);
    }
    // Late credit of a retired base moves nothing.
    let still = corral.distribution().to_vec();
    corral.update(1.0, Credit::Chosen { base: late.0, weight: late.1 }).unwrap();
    assert_eq!(corral.distribution(), still);
    let mut rng = Pcg64Dxsm::seed_from_u64(4);
    for _ in 0..1_000 {
        assert_ne!(corral.draw(&mut rng).0, 1);
        let weights: Vec<f64> =
            corral.probabilities().iter().map(|p| if *p > 0.2 { 1.0 } else { 0.0 }).collect();
        corral.update(rng.random(), Credit::Shared(&weights)).unwrap();
        assert_eq!(corral.probabilities()[1], 0.0);
    }
    assert_distribution(&corral);
    assert_eq!(corral.retire(1), Err(MasterError::Retired(1)));
    assert_eq!(corral.retire(4), Err(MasterError::Index { base: 4, bases: 4 }));
    corral.retire(0).unwrap();
    corral.retire(3).unwrap();
    assert_eq!(corral.retire(2), Err(MasterError::LastBase(2)));
    assert_eq!(corral.distribution(), [0.0, 0.0, 1.0, 0.0]);
    corral.update(1.0, Credit::Chosen { base: 2, weight: 1.0 }).unwrap();
    assert_eq!(corral.distribution(), [0.0, 0.0, 1.0, 0.0]);
    assert_eq!(corral.draw(&mut rng).0, 2);
}

#[test]
fn an_unknown_horizon_has_epochs_that_double_and_start_over() {
    let mut corral = build(3, Horizon::Restart, Rate::Balanced);
    let mut rng = Pcg64Dxsm::seed_from_u64(5);
    corral.retire(2).unwrap();
    let mut starts = Vec::new();
    for t in 1..=1_000 {
        let base = corral.draw(&mut rng).0;
        let weight = 1.0 / corral.probabilities()[base];
        let events = corral.update(base as f64, Credit::Chosen { base, weight }).unwrap().to_vec();
        if corral.epoch.round == 0 {
            starts.push(t);
            let length = corral.remaining();
            let order = Order::StartOver { range: 4.0, remaining: Some(length) };
            let expected: Vec<(usize, Order)> = (0..2).map(|base| (base, order)).collect();
            assert_eq!(events, expected);
            assert_eq!(corral.distribution(), [0.5, 0.5, 0.0]);
            assert_eq!(corral.rates(), [1.0 / (length as f64).sqrt(); 3]);
            // Credit from before the restart may carry the weight of its time.
            let mut late = corral.clone();
            late.update(0.5, Credit::Chosen { base, weight }).unwrap();
        }
    }
    assert_eq!(starts, [64, 192, 448, 960]);
}

/// Told T = 100 and played on: rates are those of games of 200, 400, ... rounds, p goes on, and snapshots continue.
#[test]
fn beyond_its_horizon_rates_fall_and_no_base_is_restarted() {
    for step in [Step::Dense, Step::Flat] {
        let params = CorralParams { step, ..CorralParams::new(4, Horizon::Known(100)) };
        let mut corral = Corral::new(params.clone()).unwrap();
        let mut rng = Pcg64Dxsm::seed_from_u64(3);
        let mut played = 0;
        for (round, doublings) in [(100, 0), (101, 1), (200, 1), (201, 2), (400, 2), (401, 3), (801, 4)] {
            play(&mut corral, round - played, &mut rng);
            played = round;
            let beta = (1.0 / 100_f64.ln()).exp();
            for i in 0..4 {
                let rate = 0.1 * beta.powi(corral.range_changes(i) as i32) / 2_f64.sqrt().powi(doublings);
                assert!(close(corral.rates()[i], rate), "round {round}: {} {rate}", corral.rates()[i]);
            }
            assert_distribution(&corral);
            let mut copy = Corral::new(params.clone()).unwrap();
            copy.load(&corral.save()).unwrap();
            assert_eq!(copy.probabilities(), corral.probabilities());
            let mut ahead = corral.clone();
            play(&mut copy, 250, &mut rng.clone());
            play(&mut ahead, 250, &mut rng.clone());
            assert_eq!(copy.save(), ahead.save(), "round {round}");
        }
        assert!(
            corral.probabilities()[0] > 0.4,
            "what was learned before T is kept: {:?}",
            corral.probabilities()
        );
        assert_eq!(corral.is_flat(), step == Step::Flat);
    }
}

#[test]
fn a_nested_master_starts_over_with_its_rate_divided_by_the_root_of_the_range() {
    let mut corral = build(2, Horizon::Known(10_000), Rate::Balanced);
    play(&mut corral, 500, &mut Pcg64Dxsm::seed_from_u64(6));
    corral.retire(0).unwrap();
    corral.start_over(16.0, Some(2_500)).unwrap();
    assert_eq!(corral.rates(), [0.02 / 4.0; 2]);
    assert_eq!((corral.ranges(), corral.range(0)), (&[4.0, 4.0][..], Some(64.0)));
    assert_eq!((corral.distribution(), corral.remaining()), (&[0.5, 0.5][..], 2_500));
    let fresh = {
        let mut fresh = build(2, Horizon::Known(2_500), Rate::Balanced);
        fresh.start_over(16.0, None).unwrap();
        fresh
    };
    assert_eq!(fresh.probabilities(), corral.probabilities());
    // Outer weight 16 times inner weight 2.
    corral.update(1.0, Credit::Chosen { base: 0, weight: 32.0 }).unwrap();
    let expected = {
        let mut plain = build(2, Horizon::Known(2_500), Rate::Fixed(0.005));
        plain.start_over(1.0, None).unwrap();
        plain.promised.fill(64.0);
        plain.update(1.0, Credit::Chosen { base: 0, weight: 32.0 }).unwrap();
        plain.distribution().to_vec()
    };
    assert_eq!(corral.distribution(), expected);
    for range in [0.5, f64::NAN, f64::INFINITY, -1.0] {
        assert!(matches!(corral.start_over(range, None), Err(MasterError::Range(_))));
    }
}

#[test]
fn a_baseline_estimates_around_the_running_mean() {
    let params = CorralParams {
        baseline: true,
        rate: Rate::Fixed(0.2),
        ..CorralParams::new(3, Horizon::Known(1_000))
    };
    let mut corral = Corral::new(params).unwrap();
    // The mean starts at 1/2, one pseudo-observation; a loss of 0 is a gain of 1/2.
    corral.update(0.0, Credit::Chosen { base: 1, weight: 3.0 }).unwrap();
    let mut expected = LogBarrier::new(&[3.0; 3], &[0.2; 3]).unwrap();
    expected.step(Losses::Dense(&[0.5, 0.5 - 0.5 * 3.0, 0.5])).unwrap();
    for (a, b) in corral.distribution().iter().zip(expected.distribution()) {
        assert!((a / b - 1.0).abs() < 1e-14);
    }
    // Now it is 1/4: a loss of 1/4 says nothing.
    let still = corral.distribution().to_vec();
    corral.update(0.25, Credit::Chosen { base: 0, weight: 3.0 }).unwrap();
    assert_eq!(corral.distribution(), still);
    corral.update(1.0, Credit::Shared(&[1.0, 0.0, 2.0])).unwrap();
    assert!(corral.distribution()[2] < still[2] && corral.distribution()[1] > still[1]);
    corral.start_over(1.0, None).unwrap();
    corral.start_audit(0).unwrap();
    play(&mut corral, 1_000, &mut Pcg64Dxsm::seed_from_u64(7));
    let audit = corral.audit().unwrap();
    assert_eq!((audit.failures(1e-12), audit.theorem), (vec![], None));
    assert_eq!(corral.bound(0.5, 1.0), None);
}

/// Where public programs leave the paper, done to the state between rounds.
#[test]
fn deviations_are_seen_by_the_audit() {
    use crate::audit::Check;
    let found = |deviate: fn(&mut Corral)| {
        let params = CorralParams { rate: Rate::Fixed(1.0), ..CorralParams::new(3, Horizon::Known(300)) };
        let mut corral = Corral::new(params).unwrap();
        corral.start_audit(0).unwrap();
        let mut rng = Pcg64Dxsm::seed_from_u64(8);
        for _ in 0..300 {
            play(&mut corral, 1, &mut rng);
            deviate(&mut corral);
        }
        corral.audit().unwrap().failures(1e-11)
    };
    assert_eq!(found(|_| {}), []);
    // p is replaced by pbar
    let overwrite = |corral: &mut Corral| {
        let mixed = corral.probabilities().to_vec();
        corral.engine.overwrite(&mixed);
    };
    assert!(found(overwrite).contains(&Check::Run));
    // ranges are cut to whole numbers
    let cut = |corral: &mut Corral| corral.ranges.iter_mut().for_each(|range| *range = range.trunc());
    assert!(found(cut).contains(&Check::Ranges));
    // rates shrink by beta where they should grow
    let shrink = |corral: &mut Corral| {
        for i in 0..3 {
            let factor = corral.epoch.beta().powi(-(corral.changes[i] as i32));
            corral.engine.set_rate(i, corral.epoch.rate * factor);
        }
    };
    assert!(found(shrink).contains(&Check::Rates));
}

#[test]
fn the_bound_is_vacuous_where_it_should_be() {
    // With an EXP3 base of two arms, sqrt(2 K T ln K), at alpha = 1/2: above T at T = 1000.
    let bound = |m: usize, t: u64| {
        let regret = (4.0 * t as f64 * 2f64.ln()).sqrt();
        let corral = build(m, Horizon::Known(t), Rate::Theory { alpha: 0.5, regret });
        corral.bound(0.5, regret).unwrap() / t as f64
    };
    assert!(bound(2, 1_000) > 1.0);
    assert!((bound(2, 10_000) - 0.99).abs() < 0.05, "{}", bound(2, 10_000));
    assert!(bound(5, 10_000) > 1.0 && bound(2, 1_000_000) < 0.2);
    // Of the master alone 0.09 T at T = 10^4, M = 2.
    let alone = build(2, Horizon::Known(10_000), Rate::MasterOptimal).bound(1.0, 1e-9).unwrap();
    assert!((alone / 10_000.0 - 0.09).abs() < 0.01, "{alone}");
    // One base: its own regret. Nothing is said of T = 1, of an unknown horizon, of nonsense.
    assert_eq!(build(1, Horizon::Known(100), Rate::Fast).bound(0.5, 7.0), Some(7.0));
    assert_eq!(build(2, Horizon::Known(1), Rate::Fast).bound(0.5, 7.0), None);
    assert_eq!(build(2, Horizon::Restart, Rate::Fast).bound(0.5, 7.0), None);
    let some = build(2, Horizon::Known(100), Rate::Fast);
    assert!(
        [(0.0, 1.0), (1.1, 1.0), (f64::NAN, 1.0), (0.5, -1.0), (0.5, f64::NAN)]
            .iter()
            .all(|(a, r)| some.bound(*a, *r).is_none())
    );
    assert!((restart_factor(1.0) - 2.0).abs() < 1e-12 && (restart_factor(0.5) - 3.414).abs() < 1e-3);
}

#[test]
fn an_audit_starts_with_the_run_and_ends_with_a_retirement() {
    let mut corral = build(3, Horizon::Known(100), Rate::Fast);
    assert_eq!(corral.audit(), None);
    assert!(matches!(corral.start_audit(3), Err(MasterError::Index { base: 3, bases: 3 })));
    corral.start_audit(2).unwrap();
    play(&mut corral, 10, &mut Pcg64Dxsm::seed_from_u64(9));
    assert_eq!(corral.audit().unwrap().rounds, 10);
    assert!(corral.start_audit(0).is_err());
    let audited = corral.save();
    corral.retire(0).unwrap();
    assert_eq!(corral.audit(), None);
    corral.start_over(1.0, None).unwrap();
    corral.start_audit(1).unwrap();
    corral.load(&audited).unwrap();
    assert_eq!(corral.audit(), None);
}

#[test]
fn a_snapshot_continues_bit_for_bit() {
    let cases = [
        (1, Horizon::Known(50), Step::Auto),
        (2, Horizon::Known(900), Step::Auto),
        (9, Horizon::Restart, Step::Auto),
        (9, Horizon::Restart, Step::Flat),
        (300, Horizon::Known(2_000), Step::Flat),
    ];
    for (m, horizon, step) in cases {
        let build = |m, horizon, rate| {
            let baseline = step == Step::Flat;
            Corral::new(CorralParams { rate, step, baseline, ..CorralParams::new(m, horizon) }).unwrap()
        };
        let mut straight = build(m, horizon, Rate::Fast);
        let mut rng = Pcg64Dxsm::seed_from_u64(10);
        for part in 0..8 {
            play(&mut straight, 100, &mut rng);
            if part == 4 && m > 2 {
                straight.retire(3).unwrap();
            }
            let mut loaded = build(m, horizon, Rate::Fast);
            loaded.load(&straight.save()).unwrap();
            assert_eq!(loaded.save(), straight.save());
            let (mut a, mut b) = (straight.clone(), loaded);
            let (mut rng_a, mut rng_b) = (rng.clone(), rng.clone());
            play(&mut a, 150, &mut rng_a);
            play(&mut b, 150, &mut rng_b);
            assert_eq!(a.save(), b.save());
            assert!(a.probabilities().iter().zip(b.probabilities()).all(|(x, y)| x.to_bits() == y.to_bits()));
        }
    }
}

#[test]
fn a_snapshot_that_is_no_state_of_this_master_is_refused() {
    let mut corral = build(3, Horizon::Known(500), Rate::Fast);
    play(&mut corral, 300, &mut Pcg64Dxsm::seed_from_u64(11));
    let good = corral.save();
    let mut refuse = |bytes: &[u8]| {
        let error = corral.load(bytes).unwrap_err();
        assert_eq!(corral.save(), good, "{error}");
        error
    };
    let spoil = |change: &dyn Fn(&mut State)| {
        let mut state: State = crate::snapshot::open("corral", 2, &good).unwrap();
        change(&mut state);
        state.seal()
    };
    type Change = fn(&mut Vec<f64>, &mut Vec<f64>, &mut (f64, f64, f64));
    let dense = |s: &mut State, change: Change| {
        let EngineState::Dense(BarrierState { inverse, distribution, sums }) = &mut s.engine else {
            panic!("it is flat")
        };
        change(inverse, distribution, sums);
    };
    let changes: [&dyn Fn(&mut State); 20] = [
        &|s| s.length = 0,
        &|s| s.length += 1,
        &|s| s.rate *= 1.1,
        &|s| s.outer = 0.5,
        &|s| s.outer = f64::NAN,
        &|s| s.losses.0 = 1e9,
        &|s| s.losses.1 = f64::NAN,
        &|s| dense(s, |w, _, _| w[1] = 0.5),
        &|s| dense(s, |w, _, _| w[1] = f64::NAN),
        &|s| dense(s, |w, _, _| w[1] *= 1.01),
        &|s| dense(s, |_, p, _| p[1] = -0.1),
        &|s| dense(s, |_, p, _| p.push(0.0)),
        &|s| s.rates[0] *= 1.5,
        &|s| s.rates[2] = f64::NAN,
        &|s| s.changes[0] += 1,
        &|s| s.changes.clear(),
        &|s| s.ranges[0] = 1.0,
        &|s| s.ranges[0] = f64::INFINITY,
        &|s| s.promised[2] = 1.0,
        &|s| dense(s, |_, _, sums| sums.0 = f64::NAN),
    ];
    for (i, change) in changes.iter().enumerate() {
        let error = refuse(&spoil(change));
        assert!(matches!(error, MasterError::Snapshot(SnapshotError::State(_))), "change {i}: {error}");
    }
    // Damage: every bit, every length.
    for i in 0..good.len() * 8 {
        let mut bytes = good.clone();
        bytes[i / 8] ^= 1 << (i % 8);
        refuse(&bytes);
    }
    for n in 0..good.len() {
        refuse(&good[..n]);
    }
    refuse(&[&good[..], &[0]].concat());
    refuse(&crate::snapshot::seal("exp3", 1, &0u8));
    refuse(&crate::snapshot::seal("corral", 1, &0u8));
    refuse(&crate::snapshot::seal("corral", 2, &u64::MAX));
    refuse(&build(4, Horizon::Known(500), Rate::Fast).save());
    refuse(&build(3, Horizon::Known(500), Rate::Balanced).save());
    assert_eq!(corral.load(&good), Ok(()));
}
