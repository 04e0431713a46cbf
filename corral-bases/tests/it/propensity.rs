//! From the log of a band that learns, policies can be evaluated by inverse propensities: for every base, under every
//! credit rule.

use crate::common::{arms, coin, over_points, plain, points, round, worlds};
use corral_bases::{build, entries};
use corral_core::registry::Kind;
use corral_core::{
    Arm, Context, Corral, CorralParams, Crediting, Ensemble, EnsembleParams, Horizon, Propensities, Set,
    Setup, uniform,
};
use rand::SeedableRng;
use rand_pcg::Pcg64Dxsm;

/// A context of `setup`.
fn context(setup: &Setup, rng: &mut Pcg64Dxsm) -> Context {
    if let Some(sampler) = &setup.sampler {
        return sampler.sample(rng);
    }
    Context::shared((0..setup.context.features).map(|_| uniform(rng) - 0.5).collect(), 4)
}

/// The probability of a loss of 1.
fn mean_loss(x: &Context, arm: usize) -> f64 {
    let tilt = x.features().first().copied().unwrap_or(0.0) + x.cell().unwrap_or(0) as f64 / 8.0;
    (0.2 + 0.2 * arm as f64 + 0.3 * tilt * (arm as f64 - 1.5)).clamp(0.0, 1.0)
}

/// A world of 2,000 rounds that a base over arms is for.
fn fitting(name: &str) -> Option<Setup> {
    let mut worlds = worlds(Some(2_000));
    let place = [1, 2, 0].into_iter().find(|i| arms(name, &worlds[*i].0).is_some())?;
    Some(worlds.swap_remove(place).0)
}

#[test]
fn the_uniform_policy_is_evaluated_from_the_log_of_a_band_that_learns() {
    // Four standard errors of a martingale for some 25 bases, 3 credits and one twice: false alarms below 100 * 6.4e-5 = 0.007.
    let asked = Propensities::Decision;
    // Credit by likelihood computes the propensity anyway.
    let cases = [
        (Crediting::Chosen, asked),
        (Crediting::SameDecision, asked),
        (Crediting::Likelihood, asked),
        (Crediting::Likelihood, Propensities::None),
    ];
    let mut evaluated = 0;
    for entry in entries() {
        let Some(setup) = &fitting(entry.name) else { continue };
        let rounds = 2_000;
        for (credit, propensities) in cases {
            let bases = vec![arms(entry.name, setup).unwrap(), arms("random", &plain(None)).unwrap()];
            let master = Corral::new(CorralParams::new(2, Horizon::Known(2_000))).unwrap();
            let params = EnsembleParams { credit, propensities, ..EnsembleParams::default() };
            let mut band = Ensemble::with_params(master, bases, params).unwrap();
            let mut rng = Pcg64Dxsm::seed_from_u64(31);
            let (mut sum, mut square) = (0.0, 0.0);
            for _ in 0..rounds {
                let x = context(setup, &mut rng);
                let mut known = true;
                // The law before the draw, sum_i pbar_i pi_i(a | x).
                let likelihood =
                    |i: usize, a: u32| band.base(i).unwrap().likelihood(&x, &Arm(a)).map(|(q, _)| q);
                let mixed = |a: u32| -> Option<f64> {
                    Some(
                        band.probabilities()[0] * likelihood(0, a)?
                            + band.probabilities()[1] * likelihood(1, a)?,
                    )
                };
                let law: Vec<Option<f64>> = (0..4).map(mixed).collect();
                round(&mut band, &x, &mut rng, |ticket, rng| {
                    let Some(propensity) = ticket.propensity() else {
                        // It plays what it makes of a future that it draws, and has no likelihood: it is named.
                        let blamed = (propensities == asked).then_some(0);
                        assert_eq!((entry.name, ticket.without_likelihood()), ("bistro", blamed));
                        known = false;
                        return 0.0;
                    };
                    let before = law[ticket.decision.index()].unwrap();
                    assert!(
                        (propensity - before).abs() < 1e-9,
                        "{} {credit:?}: {propensity} {before}",
                        entry.name
                    );
                    let loss = coin(mean_loss(&x, ticket.decision.index()), rng);
                    // 1/4 loss/propensity estimates the mean loss of the four actions.
                    let truth = (0..4).map(|a| 0.25 * mean_loss(&x, a)).sum::<f64>();
                    let off = 0.25 * loss / propensity - truth;
                    (sum, square) = (sum + off, square + off * off);
                    loss
                });
                if !known {
                    break;
                }
            }
            let (n, name) = (f64::from(rounds), entry.name);
            let (mean, error) = (sum / n, (square / n).sqrt() / n.sqrt());
            assert!(mean.abs() <= 4.0 * error, "{name} {credit:?}: off by {mean} +- {error}");
            evaluated += 1;
        }
    }
    assert!(evaluated >= 4 * 20, "{evaluated}");
}

/// At the level `Full` a ticket has every base's distribution as it was before the draw, under every credit.
#[test]
fn whole_distributions_are_the_law_before_the_draw() {
    let mut compared = 0;
    for entry in entries() {
        let Some(setup) = &fitting(entry.name) else { continue };
        for credit in [Crediting::Chosen, Crediting::SameDecision, Crediting::Likelihood] {
            let bases = vec![arms(entry.name, setup).unwrap(), arms("random", &plain(None)).unwrap()];
            let master = Corral::new(CorralParams::new(2, Horizon::Known(2_000))).unwrap();
            let params =
                EnsembleParams { credit, propensities: Propensities::Full, ..EnsembleParams::default() };
            let mut band = Ensemble::with_params(master, bases, params).unwrap().with_setup(setup);
            let mut rng = Pcg64Dxsm::seed_from_u64(32);
            for _ in 0..200 {
                let x = context(setup, &mut rng);
                let own = |i: usize, a: u32| {
                    band.base(i).unwrap().likelihood(&x, &Arm(a)).map_or(f64::NAN, |(q, _)| q)
                };
                let law: Vec<f64> =
                    (0..2).flat_map(|i| (0..4).map(move |a| (i, a))).map(|(i, a)| own(i, a)).collect();
                let pbar = band.probabilities().to_vec();
                let ticket = band.choose(&x, &mut rng).unwrap();
                let (whole, arm, name) = (ticket.whole(), ticket.decision.index(), entry.name);
                let same = |(a, b): (&f64, &f64)| a.is_nan() && b.is_nan() || (a - b).abs() < 1e-9;
                assert!(
                    whole.len() == 8 && whole.iter().zip(&law).all(same),
                    "{name} {credit:?}: {whole:?} {law:?}"
                );
                if let Some(propensity) = ticket.propensity() {
                    let mixed = pbar[0] * whole[arm] + pbar[1] * whole[4 + arm];
                    assert!((propensity - mixed).abs() < 1e-9, "{name} {credit:?}: {propensity} {mixed}");
                    assert_eq!(ticket.likelihoods().len(), 2);
                    compared += 1;
                }
                let loss = coin(mean_loss(&x, arm), &mut rng);
                band.learn(&x, ticket, loss).unwrap();
            }
        }
    }
    assert!(compared > 3 * 20 * 200, "{compared}");
}

#[test]
fn where_decisions_are_points_of_a_continuum_the_base_to_blame_is_named() {
    let setup = points(Set::Ball { dim: 3 }, Some(100));
    let params = EnsembleParams { propensities: Propensities::Decision, ..EnsembleParams::default() };
    let mut rng = Pcg64Dxsm::seed_from_u64(1);
    // A base that draws from a continuum has a density and no probability.
    for (names, blamed) in
        [(["oful", "scrible"], Some(1)), (["bgd", "oful"], Some(0)), (["oful", "glm-oful"], None)]
    {
        let master = Corral::new(CorralParams::new(2, Horizon::Known(100))).unwrap();
        let mut band =
            Ensemble::with_params(master, names.map(|name| over_points(name, &setup)).into(), params)
                .unwrap();
        let ticket = band.choose(&Context::plain(0), &mut rng).unwrap();
        assert_eq!((ticket.propensity().is_none(), ticket.without_likelihood()), (blamed.is_some(), blamed));
    }
}

/// The law before the draw, without asking the code for it: a band is put back to one state, and what it plays is counted.
#[test]
fn propensities_are_the_frequencies_of_decisions_from_one_state() {
    // 4.5 standard errors for 4 arms of some 25 bases under 3 credits: false alarms below 300 * 6.8e-6 = 0.002.
    const DRAWS: u32 = 2_000;
    let mut counted = 0;
    for entry in entries() {
        let Some(setup) = &fitting(entry.name) else { continue };
        for credit in [Crediting::Chosen, Crediting::SameDecision, Crediting::Likelihood] {
            let mut bases = vec![arms(entry.name, setup).unwrap(), arms("random", &plain(None)).unwrap()];
            bases.extend(build("fixed", &"arm = 1".parse().unwrap(), &plain(None)).unwrap().into_arms());
            let master = Corral::new(CorralParams::new(3, Horizon::Known(2_000))).unwrap();
            let propensities = Propensities::Decision;
            let params = EnsembleParams { credit, propensities, ..EnsembleParams::default() };
            let mut band = Ensemble::with_params(master, bases, params).unwrap();
            let mut rng = Pcg64Dxsm::seed_from_u64(33);
            for _ in 0..60 {
                let x = context(setup, &mut rng);
                round(&mut band, &x, &mut rng, |t, rng| coin(mean_loss(&x, t.decision.index()), rng));
            }
            let (x, state) = (context(setup, &mut rng), band.save());
            let mut law = [(0u32, 0.0); 4];
            for _ in 0..DRAWS {
                let ticket = band.choose(&x, &mut rng).unwrap();
                let Some(propensity) = ticket.propensity() else { break };
                let (count, said) = &mut law[ticket.decision.index()];
                let name = entry.name;
                assert!(*count == 0 || (*said - propensity).abs() < 1e-9, "{name}: {said} and {propensity}");
                (*count, *said) = (*count + 1, propensity);
                band.load(&state).unwrap();
            }
            if law.iter().all(|(count, _)| *count == 0) {
                assert_eq!(entry.name, "bistro", "it alone draws what it plays from a future");
                continue;
            }
            let n = f64::from(DRAWS);
            let total: f64 = law.iter().map(|(_, said)| said).sum();
            assert!((total - 1.0).abs() < 1e-9, "{} {credit:?}: {law:?} do not sum to 1", entry.name);
            for (arm, (count, said)) in law.iter().enumerate() {
                let (seen, error) = (f64::from(*count) / n, (said * (1.0 - said) / n).sqrt());
                let name = entry.name;
                assert!((seen - said).abs() <= 4.5 * error, "{name} {credit:?} {arm}: {seen}, said {said}");
            }
            counted += 1;
        }
    }
    assert!(counted >= 3 * 20, "{counted}");
}

/// The guard plays an arm whatever the bases say, with propensity 1: its rounds are no draws of the band's law. They are left
/// out of inverse propensities, and whether a round is one is known before its draw, so that the others stay unbiased.
#[test]
fn inverse_propensities_are_unbiased_without_the_rounds_of_the_guard() {
    const MEANS: [f64; 4] = [0.3, 0.5, 0.6, 0.6];
    let (mut forced, mut unforced) = (0, 0);
    // Sum, and sum of squares, of what single rounds of a martingale are off by.
    let (mut without, mut with) = ((0.0, 0.0), (0.0, 0.0));
    for seed in 0..300 {
        let fixed =
            || build("fixed", &"arm = 0".parse().unwrap(), &plain(None)).unwrap().into_arms().unwrap();
        let bases = vec![fixed(), fixed(), arms("random", &plain(None)).unwrap()];
        let master = Corral::new(CorralParams::new(3, Horizon::Known(200))).unwrap();
        let params = EnsembleParams::practical(Kind::Arms);
        let mut band = Ensemble::with_params(master, bases, params).unwrap().with_setup(&plain(None));
        let (x, mut rng) = (Context::plain(4), Pcg64Dxsm::seed_from_u64(seed));
        for _ in 0..200 {
            round(&mut band, &x, &mut rng, |ticket, rng| {
                let loss = coin(MEANS[ticket.decision.index()], rng);
                // The value of the uniform policy.
                let off = 0.25 * loss / ticket.propensity().unwrap() - MEANS.iter().sum::<f64>() / 4.0;
                with = (with.0 + off, with.1 + off * off);
                if ticket.is_forced() {
                    forced += 1;
                } else {
                    unforced += 1;
                    without = (without.0 + off, without.1 + off * off);
                }
                loss
            });
        }
    }
    let z = |(sum, square): (f64, f64)| sum / f64::sqrt(square);
    assert!(forced > 3_000 && unforced > 10_000, "{forced} rounds of the guard, {unforced} others");
    // A martingale over all seeds: false alarms below 6.4e-5.
    assert!(z(without).abs() < 4.0, "off by {} standard errors", z(without));
    assert!(z(with) < -8.0, "rounds of the guard would do no harm: {} standard errors", z(with));
}
