use super::tests::play;
use super::*;
use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64Dxsm;

/// Both steps in one run: the flat one draws, both learn. Returns them at the end.
fn coupled(params: CorralParams, rounds: u64, seed: u64, retire: &[usize]) -> (Corral, Corral) {
    let with = |step| Corral::new(CorralParams { step, ..params.clone() }).unwrap();
    let (mut flat, mut dense) = (with(Step::Flat), with(Step::Dense));
    let mut rng = Pcg64Dxsm::seed_from_u64(seed);
    for t in 0..rounds {
        let base = flat.draw(&mut rng).0;
        let weight = 1.0 / flat.probability(base);
        let worse = (base as f64 + 0.5) / params.bases as f64;
        let loss = if rng.random::<f64>() < worse { 1.0 } else { 0.0 };
        let credit = Credit::Chosen { base, weight };
        let (found, expected) = (flat.update(loss, credit).unwrap(), dense.update(loss, credit).unwrap());
        assert_eq!(found.len(), expected.len(), "round {t}");
        for ((i, found), (j, expected)) in found.iter().zip(expected) {
            assert_eq!((i, found.remaining()), (j, expected.remaining()), "round {t}");
            assert!((found.range() / expected.range() - 1.0).abs() < 1e-11);
        }
        if t % 100 == 50
            && let Some(base) = retire.get((t / 100) as usize)
        {
            assert_eq!((flat.retire(*base), dense.retire(*base)), (Ok(()), Ok(())));
        }
        if t % 64 == 0 {
            for (i, p) in dense.probabilities().iter().enumerate() {
                let q = flat.probability(i);
                assert!((q - p).abs() <= 1e-11 * p, "round {t}, base {i}: {q} {p}");
                assert_eq!(q, flat.probabilities()[i]);
            }
        }
    }
    (flat, dense)
}

#[test]
fn the_flat_step_has_the_trajectory_of_the_dense_one() {
    let known = |m, t, rate| CorralParams { rate, ..CorralParams::new(m, Horizon::Known(t)) };
    let prior = |m: usize| Some((0..m).map(|i| 1.0 + (i % 17) as f64).collect::<Vec<f64>>());
    let cases = [
        known(300, 100_000, Rate::Balanced),
        known(64, 20_000, Rate::Fast),
        known(20, 20_000, Rate::Eager),
        known(2, 5_000, Rate::Fixed(0.3)),
        CorralParams { prior: prior(200), ..known(200, 20_000, Rate::Fast) },
        CorralParams { baseline: true, ..known(100, 20_000, Rate::Fast) },
        CorralParams { losses: LossDomain::Real, ..known(50, 20_000, Rate::Fast) },
        CorralParams { rate: Rate::Fast, ..CorralParams::new(100, Horizon::Restart) },
    ];
    for (i, params) in cases.into_iter().enumerate() {
        let retire = if params.bases > 10 { vec![3, 9, 0, 4] } else { vec![] };
        let (flat, dense) = coupled(params, 20_000, i as u64, &retire);
        assert!(flat.is_flat() && !dense.is_flat());
        for (a, b) in flat.distribution().iter().zip(dense.distribution()) {
            assert!((a - b).abs() <= 1e-11 * b, "case {i}: {a} {b}");
        }
        let changes = |c: &Corral| (0..c.params().bases).map(|b| c.range_changes(b)).collect::<Vec<_>>();
        assert_eq!(changes(&flat), changes(&dense));
    }
}

#[test]
fn ranges_change_where_a_gain_of_another_takes_mass_away() {
    let params = CorralParams {
        baseline: true,
        rate: Rate::Fixed(0.3),
        ..CorralParams::new(40, Horizon::Known(10_000))
    };
    let (flat, _) = coupled(params, 10_000, 77, &[]);
    assert!((0..40).map(|i| flat.range_changes(i)).sum::<u32>() > 40);
}

#[test]
fn the_audit_holds_for_the_flat_step() {
    for prior in [None, Some((1..=60).map(f64::from).collect())] {
        let params = CorralParams {
            prior,
            step: Step::Flat,
            rate: Rate::Fast,
            ..CorralParams::new(60, Horizon::Known(3_000))
        };
        let mut corral = Corral::new(params).unwrap();
        corral.start_audit(0).unwrap();
        play(&mut corral, 3_000, &mut Pcg64Dxsm::seed_from_u64(21));
        assert_eq!(corral.audit().unwrap().failures(1e-11), []);
    }
}

#[test]
fn a_nested_master_starts_over_with_the_flat_step_too() {
    let params = CorralParams { step: Step::Flat, ..CorralParams::new(30, Horizon::Known(5_000)) };
    let mut corral = Corral::new(params).unwrap();
    play(&mut corral, 500, &mut Pcg64Dxsm::seed_from_u64(22));
    corral.retire(7).unwrap();
    corral.start_over(9.0, Some(1_000)).unwrap();
    assert_eq!((corral.range(7), corral.remaining()), (Some(540.0), 1_000));
    assert!(corral.is_flat() && corral.rates().iter().all(|r| *r == (1.0 / 1_000f64.sqrt()) / 3.0));
    assert!(corral.distribution().iter().all(|p| (p - 1.0 / 30.0).abs() < 1e-15));
}

#[test]
fn credit_to_several_bases_makes_the_dense_step() {
    let with = |step| {
        let params = CorralParams { step, rate: Rate::Fast, ..CorralParams::new(40, Horizon::Known(1_000)) };
        let mut corral = Corral::new(params).unwrap();
        let mut rng = Pcg64Dxsm::seed_from_u64(23);
        for t in 0..200 {
            let base = rng.random_range(0..40);
            let weight = 1.0 / corral.probability(base);
            let weights: Vec<f64> = (0..40).map(|i| if i % 2 == t % 2 { 2.0 } else { 0.0 }).collect();
            let credit = if t < 100 { Credit::Chosen { base, weight } } else { Credit::Shared(&weights) };
            corral.update(rng.random(), credit).unwrap();
        }
        corral
    };
    let (flat, dense) = (with(Step::Flat), with(Step::Dense));
    assert!(!flat.is_flat());
    for (a, b) in flat.distribution().iter().zip(dense.distribution()) {
        assert!((a / b - 1.0).abs() < 1e-12);
    }
    // And what was saved then can be read by a master that begins flat.
    let mut other = Corral::new(flat.params().clone()).unwrap();
    other.load(&flat.save()).unwrap();
    assert_eq!(other.save(), flat.save());
}

#[test]
fn the_step_is_chosen_by_the_number_of_bases_and_the_rate() {
    let flat = |bases, rate, step| {
        let params = CorralParams { step, rate, ..CorralParams::new(bases, Horizon::Known(10_000)) };
        Corral::new(params).unwrap().is_flat()
    };
    assert!(flat(1_024, Rate::Balanced, Step::Auto) && !flat(1_024, Rate::Balanced, Step::Dense));
    assert!(!flat(8, Rate::Balanced, Step::Auto) && flat(8, Rate::Balanced, Step::Flat));
    assert!(!flat(1_024, Rate::Fixed(1.0), Step::Auto) && flat(1_024, Rate::Fixed(0.3), Step::Auto));
    let read: CorralParams = toml::from_str("bases = 2\nstep = 'flat'").unwrap();
    assert_eq!(read.step, Step::Flat);
    assert!(toml::from_str::<CorralParams>("bases = 2\nstep = 'fast'").is_err());
}

#[test]
fn a_flat_snapshot_is_refused_where_it_is_damaged_or_the_step_is_another() {
    let with =
        |step| Corral::new(CorralParams { step, ..CorralParams::new(12, Horizon::Known(500)) }).unwrap();
    let mut corral = with(Step::Flat);
    play(&mut corral, 300, &mut Pcg64Dxsm::seed_from_u64(24));
    let good = corral.save();
    assert!(with(Step::Dense).load(&good).is_err());
    for i in 0..good.len() * 8 {
        let mut bytes = good.clone();
        bytes[i / 8] ^= 1 << (i % 8);
        assert!(corral.load(&bytes).is_err());
    }
    assert_eq!(corral.save(), good);
}
