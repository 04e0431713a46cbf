//! Bases that fail in a round: who is benched, who serves it, and what becomes of their feedback.

use crate::common::*;
use crate::ensemble::{Band, loss, params, plain};
use corral_core::{Arm, Base, Context, Crediting, Duty, EnsembleError, EnsembleParams, Feed, Setup};

fn faulty_band(fails_in: In, how: How, after: u32, params: EnsembleParams) -> Band {
    let bases: Vec<Box<dyn Base<Context, Arm>>> =
        vec![Soft::boxed(3, 0.1), Box::new(Faulty::new(fails_in, how, after)), Soft::boxed(3, 0.2)];
    Band::with_params(Toy::new(3, 0.05), bases, params).unwrap().with_setup(&Setup::arms(3, None))
}

#[test]
fn a_base_that_fails_is_benched_in_whatever_it_does() {
    quiet_fixtures();
    let everything = [
        (In::Propose, How::Error),
        (In::Propose, How::Panic),
        (In::Propose, How::NotANumber),
        (In::Propose, How::Outside),
        (In::Learn, How::Error),
        (In::Learn, How::Panic),
        (In::Pass, How::Error),
        (In::Pass, How::Panic),
        (In::Likelihood, How::Panic),
        (In::Likelihood, How::NotANumber),
    ];
    for credit in [Crediting::Chosen, Crediting::SameDecision, Crediting::Likelihood] {
        for feed in [Feed::Weighted, Feed::Raw, Feed::Everyone] {
            for (fails_in, how) in everything {
                let mut band = faulty_band(fails_in, how, 5, params(credit, feed));
                let mut rng = generator(11);
                let mut said = false;
                for t in 0..300 {
                    let ticket = band.choose(&plain(), &mut rng).unwrap();
                    assert!(ticket.decision.index() < 3);
                    let cost = loss(t, ticket.decision);
                    let outcome = band.learn(&plain(), ticket, cost).unwrap();
                    said |= outcome.benched.contains(&1);
                    if !band.benched().is_empty() && !said {
                        panic!("benched, and the outcome did not say so");
                    }
                    let total: f64 = band.probabilities().iter().sum();
                    assert!((total - 1.0).abs() < 1e-12);
                }
                // Pass and likelihood are not called under every rule.
                let called = match fails_in {
                    In::Pass => credit == Crediting::Chosen && feed != Feed::Everyone,
                    In::Likelihood => credit == Crediting::Likelihood || feed == Feed::Everyone,
                    _ => true,
                };
                assert_eq!(
                    band.benched().len(),
                    usize::from(called),
                    "{credit:?} {feed:?} {fails_in:?} {how:?}"
                );
                assert_eq!(said, called);
                if called {
                    assert_eq!((band.benched()[0].base, band.probabilities()[1]), (1, 0.0));
                    let reason = &band.benched()[0].reason;
                    let expected = match how {
                        How::Error => "the fixture fails",
                        How::Panic => "panic",
                        How::NotANumber => "NaN",
                        How::Outside => "outside",
                    };
                    // Without a likelihood there is no memo either, and a listener is benched for that.
                    let silent = matches!(fails_in, In::Likelihood) && reason.contains("no memo");
                    assert!(silent || reason.contains(expected), "{reason}");
                }
            }
        }
    }
}

#[test]
fn a_base_that_fails_when_its_range_grows_is_benched() {
    quiet_fixtures();
    for how in [How::Error, How::Panic] {
        let mut band = faulty_band(In::ApplyOrder, how, 1, EnsembleParams::default());
        let mut rng = generator(12);
        let mut outcomes = Vec::new();
        for _ in 0..400 {
            let ticket = band.choose(&plain(), &mut rng).unwrap();
            let cost = f64::from(u8::from(ticket.base() == 1));
            outcomes.push(band.learn(&plain(), ticket, cost).unwrap());
        }
        assert_eq!(band.benched().len(), 1);
        assert_eq!(band.benched()[0].during, Duty::ApplyOrder);
        assert!(outcomes.iter().any(|o| o.benched == [1]));
    }
    // At construction it is an error: nothing has begun.
    let bases: Vec<Box<dyn Base<Context, Arm>>> = vec![Box::new(Faulty::new(In::ApplyOrder, How::Error, 0))];
    let refused = Band::new(Toy::new(1, 0.1), bases);
    assert!(matches!(refused, Err(EnsembleError::Base { base: 0, .. })));
}

#[test]
fn the_round_is_served_by_another_base_with_the_probability_used() {
    let mut band = faulty_band(In::Propose, How::Error, 0, EnsembleParams::default());
    let mut rng = generator(13);
    let ticket = loop {
        let ticket = band.choose(&plain(), &mut rng).unwrap();
        if ticket.benched().len() > 0 {
            break ticket;
        }
    };
    assert_eq!(ticket.benched().collect::<Vec<_>>(), [1]);
    assert_ne!(ticket.base(), 1);
    assert_eq!(ticket.probability(), 0.5);
    let outcome = band.learn(&plain(), ticket, 0.5).unwrap();
    assert_eq!((outcome.weight, outcome.benched), (2.0, vec![1]));
}

#[test]
fn choose_fails_only_when_no_base_is_left() {
    let bases: Vec<Box<dyn Base<Context, Arm>>> = vec![
        Box::new(Faulty::new(In::Propose, How::Error, 3)),
        Box::new(Faulty::new(In::Propose, How::Error, 3)),
    ];
    let mut band = Band::new(Toy::new(2, 0.1), bases).unwrap();
    let mut rng = generator(14);
    let mut served = 0;
    let error = loop {
        match band.choose(&plain(), &mut rng) {
            Ok(_) => served += 1,
            Err(error) => break error,
        }
    };
    assert_eq!(served, 6);
    assert!(matches!(&error, EnsembleError::NoneLeft { bases: 2, last } if last.contains("fixture")));
    let before = band.save();
    assert_eq!(band.choose(&plain(), &mut rng).unwrap_err(), error);
    assert_eq!(band.save(), before);
}

#[test]
fn feedback_for_a_benched_base_is_ignored() {
    let mut band = faulty_band(In::Propose, How::Error, 1, EnsembleParams::default());
    let mut rng = generator(15);
    let mut kept = None;
    while band.benched().is_empty() {
        let ticket = band.choose(&plain(), &mut rng).unwrap();
        if ticket.base() == 1 {
            kept = Some(ticket);
        }
    }
    let before = band.probabilities().to_vec();
    let outcome = band.learn(&plain(), kept.unwrap(), 1.0).unwrap();
    assert_eq!((outcome.credited, outcome.learned), (false, 0));
    assert_eq!(band.probabilities(), before);
}
