//! What a band inside a band is credited with, by enumeration of every draw: its estimates are those of its own draws.
#![allow(missing_docs)]

use std::convert::Infallible;
use std::sync::{Arc, Mutex};

use crate::common::*;
use corral_core::{
    Arm, Base, Context, Credit, Crediting, Ensemble, EnsembleParams, Feed, Master, MasterError, Order,
    forward,
};
use rand_core::TryRng;

const LOSSES: [f64; 4] = [0.9, 0.3, 0.6, 0.5];
const CREDITS: [Crediting; 3] = [Crediting::Chosen, Crediting::SameDecision, Crediting::Likelihood];

/// What each base of the band was credited with, loss times weight.
type Told = Arc<Mutex<Vec<f64>>>;

/// A master that stays where it is, and writes down what it is told.
struct Spy {
    toy: Toy,
    told: Told,
}

impl Master for Spy {
    forward!(Master: self => self.toy, except update);
    fn update(&mut self, loss: f64, credit: Credit<'_>) -> Result<&[(usize, Order)], MasterError> {
        let mut told = self.told.lock().unwrap();
        match credit {
            Credit::Chosen { base, weight } => told[base] += loss * weight,
            Credit::Shared(weights) => {
                told.iter_mut().zip(weights).for_each(|(sum, weight)| *sum += loss * weight);
            }
        }
        drop(told);
        self.toy.update(loss, credit)
    }
}

/// Quarters, as a number says them in base 4.
struct Quarters(usize);

impl TryRng for Quarters {
    type Error = Infallible;
    fn try_next_u32(&mut self) -> Result<u32, Infallible> {
        Ok((self.try_next_u64()? >> 32) as u32)
    }
    fn try_next_u64(&mut self) -> Result<u64, Infallible> {
        let quarter = self.0 % 4;
        self.0 /= 4;
        Ok(((quarter as u64) << 62) + (1 << 61))
    }
    fn try_fill_bytes(&mut self, _: &mut [u8]) -> Result<(), Infallible> {
        unreachable!("bases draw numbers")
    }
}

type Boxed = Box<dyn Base<Context, Arm>>;

/// A band that learns from others, of one that plays arm 1 and one that plays every arm alike; both with the same probability.
fn inner(credit: Crediting) -> (Boxed, Told, Diary) {
    let diary = Diary::default();
    let bases: Vec<Boxed> = vec![
        Box::new(Constant { arm: 1, diary: diary.clone(), frank: true, listens: true }),
        Soft::boxed(4, 0.0),
    ];
    let told = Told::default();
    told.lock().unwrap().resize(bases.len(), 0.0);
    let spy = Spy { toy: Toy::new(bases.len(), 0.0), told: Arc::clone(&told) };
    let params = EnsembleParams { credit, feed: Feed::Everyone, ..EnsembleParams::default() };
    (Box::new(Ensemble::with_params(spy, bases, params).unwrap()), told, diary)
}

/// What `told` adds up to over every draw of a round, by their probabilities, and how often `diary` was written in.
fn expected(band: impl Fn() -> (Ensemble<Context, Arm, Toy>, Told, Diary), draws: u32) -> (Vec<f64>, usize) {
    let (mut band, told, diary) = band();
    let x = Context::plain(4);
    let (mut heard, paths) = (0, 4_usize.pow(draws));
    told.lock().unwrap().fill(0.0);
    for path in 0..paths {
        diary.clear();
        let ticket = band.choose(&x, &mut Quarters(path)).unwrap();
        let arm = ticket.decision;
        band.learn(&x, ticket, LOSSES[arm.index()]).unwrap();
        let learned = |note: &Note| *note == Note::Learned(arm.0, LOSSES[arm.index()], 1.0);
        heard += usize::from(diary.notes().iter().any(learned));
    }
    assert!(band.everybody_benched().is_empty(), "{:?}", band.everybody_benched());
    let told = told.lock().unwrap().iter().map(|sum| sum / paths as f64).collect();
    (told, 100 * heard / paths)
}

fn close(found: &[f64], own: f64, what: &str) {
    for (base, (found, loss)) in found.iter().zip([LOSSES[1], LOSSES.iter().sum::<f64>() / 4.0]).enumerate() {
        assert!((found - own * loss).abs() < 1e-12, "{what}, base {base}: {found}, not {own} * {loss}");
    }
}

/// Beside a base that plays arm 2 alone, arms are played with other probabilities than the inner band would.
#[test]
fn a_band_in_a_band_is_credited_by_the_law_of_the_draw() {
    for outer in CREDITS {
        for within in CREDITS {
            for feed in [Feed::Raw, Feed::Everyone] {
                let build = || {
                    let (band, told, diary) = inner(within);
                    let params = EnsembleParams { credit: outer, feed, ..EnsembleParams::default() };
                    let bases = vec![Constant::boxed(2).0, band];
                    let band = Ensemble::with_params(Toy::starting_from(&[0.75, 0.25], 0.0), bases, params);
                    (band.unwrap(), told, diary)
                };
                let (found, heard) = expected(build, 4);
                close(&found, 0.25, &format!("{outer:?} over {within:?}, {feed:?}"));
                assert!(
                    feed == Feed::Raw || heard == 100,
                    "{outer:?} over {within:?}: {heard} % are learned"
                );
            }
        }
    }
}

#[test]
fn three_levels_are_credited_by_the_law_of_the_draw() {
    for outer in CREDITS {
        for middle in CREDITS {
            for within in CREDITS {
                let build = || {
                    let (deepest, told, diary) = inner(within);
                    let bases = vec![Soft::boxed(4, 0.0), deepest];
                    let everyone =
                        |credit| EnsembleParams { credit, feed: Feed::Everyone, ..EnsembleParams::default() };
                    let band = Ensemble::with_params(Toy::new(2, 0.0), bases, everyone(middle)).unwrap();
                    let bases: Vec<Boxed> = vec![Constant::boxed(2).0, Box::new(band)];
                    let band =
                        Ensemble::with_params(Toy::starting_from(&[0.75, 0.25], 0.0), bases, everyone(outer));
                    (band.unwrap(), told, diary)
                };
                let (found, heard) = expected(build, 5);
                close(&found, 0.125, &format!("{outer:?} over {middle:?} over {within:?}"));
                assert_eq!(heard, 100, "{outer:?} over {middle:?} over {within:?}");
            }
        }
    }
}
