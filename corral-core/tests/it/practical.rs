//! docs/practical.md#the-theorem: what is proved of the practical preset, in many runs.

use corral_core::masters::{Fall, MasterSetup, Practical, PracticalParams};
use corral_core::{Credit, LossDomain, Master, sample_index, uniform};
use rand::SeedableRng;
use rand_core::Rng;
use rand_pcg::Pcg64Dxsm;

fn setup(bases: usize) -> MasterSetup {
    MasterSetup::new(bases, None)
}

/// Random policies over arms, whose means change now and then; credit by likelihood. Plays `rounds` rounds.
fn play(master: &mut Practical, rounds: usize, rng: &mut dyn Rng) {
    let bases = master.probabilities().len();
    let arms = 2 + (uniform(rng) * 5.0) as usize;
    let sharp = 8.0 * uniform(rng);
    let mut draw = |size: usize| -> Vec<f64> { (0..size).map(|_| uniform(rng)).collect() };
    let (mut means, mut policies) = (draw(arms), Vec::new());
    let (level, habit) = (draw(1)[0], draw(3));
    for t in 0..rounds {
        if t == 0 || draw(1)[0] < 0.02 * habit[0] {
            means = draw(arms)
                .iter()
                .map(|u| if habit[1] < 0.3 { u * level } else { u.powf(8.0 * level) })
                .collect();
        }
        if t == 0 || draw(1)[0] < 0.1 * habit[2] {
            policies = (0..bases)
                .map(|_| {
                    let weights: Vec<f64> = draw(arms).iter().map(|u| (sharp * u).exp()).collect();
                    let total: f64 = weights.iter().sum();
                    weights.iter().map(|w| w / total).collect::<Vec<_>>()
                })
                .collect();
        }
        let p = master.probabilities();
        let mixed = |arm: usize| policies.iter().zip(p).map(|(policy, p)| p * policy[arm]).sum::<f64>();
        let (mut arm, mut at) = (0, draw(1)[0] - mixed(0));
        while at > 0.0 && arm + 1 < arms {
            arm += 1;
            at -= mixed(arm);
        }
        let weights: Vec<f64> = policies.iter().map(|policy| policy[arm] / mixed(arm)).collect();
        let loss = if habit[2] < 0.5 { means[arm] } else { f64::from(draw(1)[0] < means[arm]) };
        master.update(loss, Credit::Shared(&weights)).unwrap();
    }
}

#[test]
fn no_run_violates_what_is_proved() {
    let runs = if std::env::var_os("CORRAL_SLOW").is_some() { 4800 } else { 480 };
    let mut most: f64 = 0.0;
    for run in 0..runs {
        let mut rng = Pcg64Dxsm::seed_from_u64(run);
        let params = PracticalParams {
            scale: [1.4, 0.5, 5.0][run as usize % 3],
            floor: [0.5, 0.01, 30.0][run as usize / 3 % 3],
            offset: [256.0, 2.0][run as usize / 9 % 2],
            reach: [0.5, 0.9][run as usize / 18 % 2],
            rate: if run % 7 == 6 { Fall::Falling } else { Fall::Adaptive },
            audit: true,
            ..Default::default()
        };
        let mut master = Practical::new(params, &setup([2, 3, 5, 16][run as usize % 4])).unwrap();
        play(&mut master, 300, &mut rng);
        let audit = master.telemetry().audit.unwrap();
        assert_eq!((audit.failures(1e-9), audit.rounds), (vec![], 300), "run {run}: {audit:?}");
        let tightest = audit.tightest.unwrap();
        most = most.max(tightest.share());
        // 300 rounds of the pathwise theorem are below the bound, but for what the floor adds.
        assert!(tightest.right <= master.bound(300).unwrap(), "run {run}: {tightest:?}");
    }
    assert!((0.2..1.0).contains(&most), "the tightest run uses {most} of its right side");
}

/// Base 0 is right until it fails: the losses of the band rise, every base comes back, and what is proved counts that.
#[test]
fn bases_come_back_when_losses_rise() {
    for (run, bases) in [2, 3, 16].into_iter().enumerate() {
        let run_with = |alarm| {
            let params = PracticalParams { audit: true, alarm, ..Default::default() };
            let mut master = Practical::new(params, &setup(bases)).unwrap();
            let mut rng = Pcg64Dxsm::seed_from_u64(run as u64);
            let (mut paid, mut highest) = (0.0, 0.0f64);
            for t in 0..6_000 {
                let base = sample_index(master.probabilities(), 1.0, &mut rng).unwrap();
                let mean = if (base == 0) == (t < 3_000) { 0.1 } else { 0.6 };
                let loss = f64::from(u8::from(uniform(&mut rng) < mean));
                let (weight, before) = (1.0 / master.probabilities()[base], master.probabilities()[1]);
                master.update(loss, Credit::Chosen { base, weight }).unwrap();
                // From the floor to a quarter of 1/M in one round.
                highest = highest.max(master.probabilities()[1] / before);
                paid += if t < 3_000 { 0.0 } else { mean };
            }
            let audit = master.telemetry().audit.unwrap();
            assert_eq!(audit.failures(1e-9), [], "{audit:?}");
            assert!(audit.tightest.unwrap().right <= master.bound(6_000).unwrap());
            (paid, highest)
        };
        let ((with, jump), (without, step)) = (run_with(true), run_with(false));
        assert!(jump > 4.0 && step <= 2.0 + 1e-9, "{bases}: {jump}, {step}");
        assert!(with + 10.0 < without, "{bases}: {with}, {without}");
    }
}

#[test]
fn a_bound_is_given_where_something_is_proved() {
    let of =
        |params: PracticalParams, setup: &MasterSetup| Practical::new(params, setup).unwrap().bound(20_000);
    // 2 ln(20256/8)/eta, 1/eta = sqrt(20000/(3 ln 20256))/1.4 = 18.52; kappa = 0.7726, 2.8 sqrt(3 20000 ln 20256) + 8;
    // 2 (1/2) (sqrt 20256 - 16); 2 ln(1 + 20000/256) ln(9 (1 + 1/256) 2 sqrt 20256)
    let bound = of(PracticalParams::default(), &setup(3)).unwrap();
    let ln = 20256f64.ln();
    let by_hand = 2.0 * (20256f64 / 8.0).ln() * (20000.0 / (3.0 * ln)).sqrt() / 1.4
        + (4.0 * 2f64.ln() - 2.0) * (2.8 * (60_000.0 * ln).sqrt() + 8.0)
        + (20256f64.sqrt() - 16.0)
        + 2.0 * (1.0 + 20000.0 / 256.0f64).ln() * (9.0 * (1.0 + 1.0 / 256.0) * 2.0 * 20256f64.sqrt()).ln();
    assert!((bound - by_hand).abs() < 1e-9, "{bound}, {by_hand}");
    assert_eq!(of(PracticalParams::default(), &setup(1)), Some(0.0));
    assert_eq!(of(PracticalParams { floor: 0.0, ..Default::default() }, &setup(3)), None);
    assert_eq!(of(PracticalParams { reach: 1.0, ..Default::default() }, &setup(3)), None);
    assert_eq!(of(PracticalParams::default(), &setup(3).with_losses(LossDomain::Real)), None);
    let mut less = Practical::new(PracticalParams::default(), &setup(3)).unwrap();
    less.retire(1).unwrap();
    assert_eq!(less.bound(20_000), None);
}

/// Losses of any size and place: the same run, up to rounding.
#[test]
fn real_losses_are_taken_relative_to_where_they_lie() {
    let run = |factor: f64, shift: f64| {
        let real = setup(4).with_losses(LossDomain::Real);
        let mut master = Practical::new(PracticalParams::default(), &real).unwrap();
        let mut rng = Pcg64Dxsm::seed_from_u64(3);
        for _ in 0..400 {
            let base = corral_core::draw_base(&mut master, &mut rng).0;
            let loss = uniform(&mut rng) + if base == 2 { 0.0 } else { 0.5 };
            let weight = 1.0 / master.probabilities()[base];
            master.update(factor * loss + shift, Credit::Chosen { base, weight }).unwrap();
        }
        master.probabilities().to_vec()
    };
    let plain = run(1.0, 0.0);
    assert!(plain[2] > 0.7, "{plain:?}");
    for (factor, shift) in [(1000.0, 0.0), (1.0, -300.0), (1e-3, 7.0)] {
        let other = run(factor, shift);
        assert!(plain.iter().zip(&other).all(|(a, b)| (a - b).abs() < 1e-6), "{factor} {shift}: {other:?}");
    }
}
