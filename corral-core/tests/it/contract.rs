//! The contract kit: good bases pass, and each vice is found by the law that it breaks.
#![allow(missing_docs)]

use std::sync::atomic::{AtomicU64, Ordering};

use crate::common::*;
use corral_core::contract::{self, OnRange, Subject};
use corral_core::snapshot::{open, seal};
use corral_core::{
    Abilities, Arm, Base, BaseError, BaseExtra, Context, Corral, CorralParams, Ensemble, EnsembleParams,
    Feedback, Horizon, Memo, Order, Proposal, Rng, Setup,
};

#[derive(Clone, Copy, Debug, PartialEq)]
enum Vice {
    OutsideTheSpace,
    NotFiniteMemo,
    OwnGenerator,
    HiddenCounter,
    LearnsInPass,
    LosesPasses,
    LearnsUnseen,
    OneAtATime,
    WrongSum,
    WrongFrequencies,
    OtherMemo,
    RemembersAfterRestart,
    AcceptsAnyRange,
    ForgetsInSnapshot,
    LoadsAnything,
    PanicsOnTamperedState,
    AcceptsAnyLoss,
    PanicsLate,
}

/// A base with one vice.
struct Crooked {
    inner: Soft,
    vice: Vice,
    waiting: bool,
    rounds: u64,
    kept: f64,
}

static ELSEWHERE: AtomicU64 = AtomicU64::new(1);

impl Base<Context, Arm> for Crooked {
    fn propose(&mut self, x: &Context, rng: &mut dyn Rng) -> Result<Proposal<Arm>, BaseError> {
        if self.vice == Vice::OneAtATime && self.waiting {
            return Err(BaseError::Failed("a proposal is outstanding".into()));
        }
        self.waiting = true;
        let mut made = self.inner.propose(x, rng)?;
        match self.vice {
            Vice::OutsideTheSpace if self.inner.told == 50 => made.decision = Arm(3),
            Vice::NotFiniteMemo if self.inner.told == 50 => made.memo = Memo::one(f64::INFINITY),
            Vice::OwnGenerator => {
                let arm = ELSEWHERE.fetch_add(0x9e37_79b9_7f4a_7c15, Ordering::Relaxed) >> 33;
                made.decision = Arm::at(arm as usize % 3);
                made.memo =
                    self.inner.likelihood(x, &made.decision).map(|(_, memo)| memo).unwrap_or_default();
            }
            Vice::RemembersAfterRestart | Vice::ForgetsInSnapshot if self.kept as u64 % 7 == 3 => {
                made.decision = Arm(0);
            }
            Vice::WrongFrequencies if self.inner.told > 190 => {
                made.decision = Arm(1);
                made.memo =
                    self.inner.likelihood(x, &made.decision).map(|(_, memo)| memo).unwrap_or_default();
            }
            _ => {}
        }
        Ok(made)
    }
    fn learn(&mut self, x: &Context, made: &Proposal<Arm>, feedback: Feedback) -> Result<(), BaseError> {
        self.waiting = false;
        self.rounds += 1;
        self.kept += 1.0;
        if self.vice == Vice::PanicsLate && self.rounds > 3_000 {
            panic!("the fixture panics late");
        }
        if self.vice == Vice::AcceptsAnyLoss && !(0.0..=1.0).contains(&feedback.estimate()) {
            self.inner.told += 1;
            return Ok(());
        }
        let feedback = match self.vice {
            Vice::LearnsUnseen if feedback.weight() == 0.0 => Feedback::new(0.5, 1.0),
            _ => feedback,
        };
        self.inner.learn(x, made, feedback)
    }
    fn abilities(&self) -> Abilities {
        Abilities { wants_passes: self.vice != Vice::HiddenCounter, ..Abilities::OWN }
    }
    fn likelihood(&self, x: &Context, arm: &Arm) -> Option<(f64, Memo)> {
        let (q, memo) = self.inner.likelihood(x, arm)?;
        match self.vice {
            Vice::WrongSum => Some((0.9 * q, memo)),
            Vice::OtherMemo => Some((q, Memo::one(1.0 - q))),
            _ => Some((q, memo)),
        }
    }
    fn apply_order(&mut self, order: Order) -> Result<(), BaseError> {
        let anything = self.vice == Vice::AcceptsAnyRange && order.check().is_err();
        let order = if anything { Order::Widen { range: 1.0, remaining: None } } else { order };
        Base::<Context, Arm>::apply_order(&mut self.inner, order)?;
        self.rounds = 0;
        if self.vice != Vice::RemembersAfterRestart {
            self.kept = 0.0;
        }
        Ok(())
    }
    fn save(&self) -> Vec<u8> {
        let kept = if self.vice == Vice::ForgetsInSnapshot { 0.0 } else { self.kept };
        let kept = if matches!(self.vice, Vice::RemembersAfterRestart | Vice::ForgetsInSnapshot) {
            kept
        } else {
            0.0
        };
        seal("crooked", 1, &(kept, Base::<Context, Arm>::save(&self.inner)))
    }
    fn load(&mut self, state: &[u8]) -> Result<(), BaseError> {
        if self.vice == Vice::LoadsAnything && state.len() < 40 {
            return Ok(());
        }
        let (kept, inner): (f64, Vec<u8>) = open("crooked", 1, state)?;
        if self.vice == Vice::PanicsOnTamperedState {
            open::<Soft>("soft", 1, &inner).expect("the fixture trusts what it reads");
        }
        Base::<Context, Arm>::load(&mut self.inner, &inner)?;
        self.kept = kept;
        Ok(())
    }

    fn extra(&mut self) -> Option<&mut dyn BaseExtra<Context, Arm>> {
        if self.vice == Vice::LosesPasses { None } else { Some(self) }
    }
}

impl BaseExtra<Context, Arm> for Crooked {
    fn pass(&mut self, _x: &Context) -> Result<(), BaseError> {
        match self.vice {
            Vice::LearnsInPass | Vice::HiddenCounter => self.inner.told += 1,
            _ => {}
        }
        Ok(())
    }
}

fn crooked(vice: Vice) -> Subject<'static, Context, Arm> {
    Subject::arms("crooked", &Setup::arms(3, None), move || {
        Ok(Box::new(Crooked { inner: Soft::new(3, 0.02), vice, waiting: false, rounds: 0, kept: 0.0 }))
    })
    .rounds(5_000)
}

#[test]
fn a_good_base_passes() {
    let setup = Setup::arms(3, Some(1_000));
    let subject = Subject::arms("soft", &setup, || Ok(Soft::boxed(3, 0.1))).counts_rounds();
    for (law, verdict) in contract::check_all(&subject) {
        assert_eq!(verdict, Ok(()), "{law}");
    }
}

#[test]
fn an_ensemble_passes_as_a_base() {
    let setup = Setup::arms(3, Some(1_000));
    let subject = Subject::arms("ensemble", &setup, || {
        let master = Corral::new(CorralParams::new(3, Horizon::Known(1_000)))?;
        let bases = (0..3).map(|i| Soft::boxed(3, 0.05 + 0.1 * f64::from(i))).collect();
        let params = EnsembleParams { id: Some(1), ..Default::default() };
        Ok(Box::new(Ensemble::with_params(master, bases, params).map_err(BaseError::from)?))
    });
    let subject = subject.counts_rounds().own_memos().range(8.0).rounds(20_000);
    for (law, verdict) in contract::check_all(&subject) {
        assert_eq!(verdict, Ok(()), "{law}");
    }
}

#[test]
fn each_vice_is_found_by_its_law() {
    quiet_fixtures();
    let table = [
        (Vice::OutsideTheSpace, "proposals"),
        (Vice::NotFiniteMemo, "proposals"),
        (Vice::OwnGenerator, "randomness"),
        (Vice::HiddenCounter, "pass"),
        (Vice::LearnsInPass, "pass"),
        (Vice::LosesPasses, "pass"),
        (Vice::LearnsUnseen, "unseen"),
        (Vice::OneAtATime, "outstanding"),
        (Vice::WrongSum, "likelihoods"),
        (Vice::WrongFrequencies, "likelihoods"),
        (Vice::OtherMemo, "likelihoods"),
        (Vice::RemembersAfterRestart, "start over"),
        (Vice::AcceptsAnyRange, "widen"),
        (Vice::ForgetsInSnapshot, "continuation"),
        (Vice::LoadsAnything, "bad snapshots"),
        (Vice::PanicsOnTamperedState, "bad snapshots"),
        (Vice::AcceptsAnyLoss, "bad feedback"),
        (Vice::PanicsLate, "survival"),
    ];
    for (vice, law) in table {
        let subject = if vice == Vice::HiddenCounter { crooked(vice).counts_rounds() } else { crooked(vice) };
        let verdicts = contract::check_all(&subject);
        let found: Vec<&str> = verdicts.iter().filter(|(_, v)| v.is_err()).map(|(name, _)| *name).collect();
        assert!(found.contains(&law), "{vice:?} should break {law:?}, and breaks {found:?}");
        let violation = verdicts.into_iter().find(|(name, _)| *name == law).and_then(|(_, v)| v.err());
        let text = violation.map(|v| v.to_string()).unwrap_or_default();
        assert!(text.starts_with(&format!("crooked breaks the law {law:?}: ")), "{text}");
    }
}

#[test]
fn a_base_that_keeps_may_say_so() {
    struct Keeps(Soft);
    impl Base<Context, Arm> for Keeps {
        fn propose(&mut self, x: &Context, rng: &mut dyn Rng) -> Result<Proposal<Arm>, BaseError> {
            self.0.propose(x, rng)
        }
        fn learn(&mut self, x: &Context, made: &Proposal<Arm>, feedback: Feedback) -> Result<(), BaseError> {
            let loss = feedback.observed().map_or(Feedback::unseen(), Feedback::plain);
            feedback.check(f64::MAX)?;
            self.0.learn(x, made, loss)
        }
        fn likelihood(&self, x: &Context, arm: &Arm) -> Option<(f64, Memo)> {
            self.0.likelihood(x, arm)
        }
        fn apply_order(&mut self, order: Order) -> Result<(), BaseError> {
            if order.starts_over() {
                Base::<Context, Arm>::apply_order(&mut self.0, order)
            } else {
                order.check().map(drop)
            }
        }
        fn save(&self) -> Vec<u8> {
            Base::<Context, Arm>::save(&self.0)
        }
        fn load(&mut self, state: &[u8]) -> Result<(), BaseError> {
            Base::<Context, Arm>::load(&mut self.0, state)
        }
    }
    let build =
        || -> Result<Box<dyn Base<Context, Arm>>, BaseError> { Ok(Box::new(Keeps(Soft::new(3, 0.01)))) };
    let setup = Setup::arms(3, None);
    let keeps = Subject::arms("keeps", &setup, build).counts_rounds().on_range(OnRange::Keep).rounds(2_000);
    assert_eq!(contract::check(&keeps), Ok(()));
    let restarts = Subject::arms("keeps", &setup, build).counts_rounds();
    assert_eq!(contract::widen(&restarts).unwrap_err().law, "widen");
}
