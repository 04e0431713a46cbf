//! A small master and small bases whose every number is known.
#![allow(dead_code, missing_docs)]

use corral_core::snapshot::{open, seal};
use corral_core::{
    Abilities, Arm, Base, BaseError, BaseExtra, Credit, EnsembleParams, Feedback, Limits, Master,
    MasterError, MasterExtra, Memo, Order, Proposal, Rng, SnapshotError, sample_index,
};
use rand::SeedableRng;
use rand_pcg::Pcg64Dxsm;
use serde::{Deserialize, Serialize};

/// Of a band whose tickets may leave the process.
pub fn opened(params: EnsembleParams) -> EnsembleParams {
    EnsembleParams { secret: 0x0123_4567_89ab_cdef_u64.try_into().ok(), copy: Some(0), ..params }
}

pub fn generator(seed: u64) -> Pcg64Dxsm {
    Pcg64Dxsm::seed_from_u64(seed)
}

/// Panics of fixtures are wanted: they are not printed, all others are.
pub fn quiet_fixtures() {
    static ONCE: std::sync::Once = std::sync::Once::new();
    ONCE.call_once(|| {
        let loud = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |info| {
            if !info.to_string().contains("the fixture ") {
                loud(info);
            }
        }));
    });
}

/// Exponential weights over bases with Algorithm 1's ranges: everything a master owes, in the fewest lines.
#[derive(Clone, Serialize, Deserialize)]
pub struct Toy {
    rate: f64,
    above: f64,
    logs: Vec<f64>,
    live: Vec<bool>,
    ranges: Vec<f64>,
    p: Vec<f64>,
    #[serde(skip)]
    changes: Vec<(usize, Order)>,
}

impl Toy {
    pub fn new(bases: usize, rate: f64) -> Self {
        Self::starting_from(&vec![1.0 / bases as f64; bases], rate)
    }

    /// Starts from the distribution `p`; with rate 0 it stays there.
    pub fn starting_from(p: &[f64], rate: f64) -> Self {
        let mut toy = Self {
            rate,
            above: 1.0,
            logs: p.iter().map(|p| p.ln()).collect(),
            live: vec![true; p.len()],
            ranges: p.iter().map(|p| 2.0 / p).collect(),
            p: p.to_vec(),
            changes: Vec::new(),
        };
        toy.normalise();
        toy
    }

    fn normalise(&mut self) {
        let top =
            self.logs.iter().zip(&self.live).filter(|(_, l)| **l).map(|(w, _)| *w).fold(f64::MIN, f64::max);
        for ((p, log), live) in self.p.iter_mut().zip(&self.logs).zip(&self.live) {
            *p = if *live { (log - top).exp().max(1e-3) } else { 0.0 };
        }
        let total: f64 = self.p.iter().sum();
        self.p.iter_mut().for_each(|p| *p /= total);
    }

    fn check(&self, loss: f64, base: usize, weight: f64) -> Result<(), MasterError> {
        if !(0.0..=1.0).contains(&loss) {
            return Err(MasterError::Loss(loss));
        }
        let Some(range) = self.ranges.get(base).copied() else {
            return Err(MasterError::Index { base, bases: self.p.len() });
        };
        if !(weight >= 0.0 && weight <= range * (1.0 + 1e-9)) {
            return Err(MasterError::Weight { base, weight, range });
        }
        if weight > 0.0 && !self.live[base] {
            return Err(MasterError::Retired(base));
        }
        Ok(())
    }
}

impl Master for Toy {
    fn probabilities(&self) -> &[f64] {
        &self.p
    }
    fn update(&mut self, loss: f64, credit: Credit<'_>) -> Result<&[(usize, Order)], MasterError> {
        match credit {
            Credit::Chosen { base, weight } => {
                self.check(loss, base, weight)?;
                self.logs[base] -= self.rate * loss * weight / self.above;
            }
            Credit::Shared(weights) => {
                weights.iter().enumerate().try_for_each(|(b, w)| self.check(loss, b, *w))?;
                for (log, weight) in self.logs.iter_mut().zip(weights) {
                    *log -= self.rate * loss * weight / self.above;
                }
            }
        }
        self.normalise();
        self.changes.clear();
        for base in 0..self.p.len() {
            let inverse = self.above / self.p[base];
            if self.live[base] && inverse > self.ranges[base] * (1.0 + 1e-12) {
                self.ranges[base] = 2.0 * inverse;
                self.changes.push((base, Order::Widen { range: 2.0 * inverse, remaining: None }));
            }
        }
        Ok(&self.changes)
    }
    fn retire(&mut self, base: usize) -> Result<(), MasterError> {
        if !self.live.get(base).copied().unwrap_or(false) {
            return Err(MasterError::Retired(base));
        }
        if self.live.iter().filter(|l| **l).count() == 1 {
            return Err(MasterError::LastBase(base));
        }
        self.live[base] = false;
        self.normalise();
        Ok(())
    }
    fn limits(&self, base: usize) -> Limits {
        Limits { range: self.ranges.get(base).copied(), remaining: None }
    }
    fn save(&self) -> Vec<u8> {
        seal("toy-master", 1, self)
    }
    fn load(&mut self, state: &[u8]) -> Result<(), MasterError> {
        let loaded: Self = open("toy-master", 1, state)?;
        if loaded.p.len() != self.p.len() || loaded.p.iter().any(|p| !(0.0..=1.0).contains(p)) {
            return Err(SnapshotError::state("another number of bases").into());
        }
        *self = loaded;
        Ok(())
    }

    fn extra(&mut self) -> Option<&mut dyn MasterExtra> {
        Some(self)
    }
}

impl MasterExtra for Toy {
    fn start_over(&mut self, range: f64, _remaining: Option<u64>) -> Result<(), MasterError> {
        let bases = self.p.len();
        *self = Self { above: range, ..Self::new(bases, self.rate) };
        self.ranges.iter_mut().for_each(|r| *r *= range);
        Ok(())
    }
}

/// Exponential weights over arms, and a record of what it was told.
#[derive(Clone, Serialize, Deserialize)]
pub struct Soft {
    rate: f64,
    sums: Vec<f64>,
    q: Vec<f64>,
    pub range: f64,
    pub told: u64,
    pub passed: u64,
}

impl Soft {
    pub fn new(arms: usize, rate: f64) -> Self {
        Self { rate, sums: vec![0.0; arms], q: vec![1.0 / arms as f64; arms], range: 1.0, told: 0, passed: 0 }
    }
    pub fn boxed<X: ?Sized>(arms: usize, rate: f64) -> Box<dyn Base<X, Arm>> {
        Box::new(Self::new(arms, rate))
    }
    fn refresh(&mut self) {
        let rate = self.rate / self.range.sqrt();
        let low = self.sums.iter().copied().fold(f64::INFINITY, f64::min);
        for (q, s) in self.q.iter_mut().zip(&self.sums) {
            *q = (-rate * (s - low)).exp();
        }
        let total: f64 = self.q.iter().sum();
        self.q.iter_mut().for_each(|q| *q /= total);
    }
}

impl<X: ?Sized> Base<X, Arm> for Soft {
    fn propose(&mut self, _x: &X, rng: &mut dyn Rng) -> Result<Proposal<Arm>, BaseError> {
        let arm = sample_index(&self.q, 1.0, rng).unwrap_or(0);
        Ok(Proposal::with_memo(Arm::at(arm), Memo::one(self.q[arm])))
    }
    fn learn(&mut self, _x: &X, made: &Proposal<Arm>, feedback: Feedback) -> Result<(), BaseError> {
        let feedback = feedback.check(self.range)?;
        let q = made.memo.get(0).ok_or_else(|| BaseError::Proposal("no memo".into()))?;
        if made.decision.index() >= self.q.len() || !(q > 0.0 && q <= 1.0) {
            return Err(BaseError::Proposal("not an arm of mine".into()));
        }
        self.told += 1;
        if feedback.observed().is_some() {
            self.sums[made.decision.index()] += feedback.estimate() / q;
            self.refresh();
        }
        Ok(())
    }
    fn likelihood(&self, _x: &X, arm: &Arm) -> Option<(f64, Memo)> {
        let q = self.q.get(arm.index()).copied().unwrap_or(0.0);
        Some((q, Memo::one(q)))
    }
    fn abilities(&self) -> Abilities {
        Abilities { wants_passes: true, ..Abilities::OWN }
    }
    fn apply_order(&mut self, order: Order) -> Result<(), BaseError> {
        *self = Self { range: order.check()?.range(), ..Self::new(self.q.len(), self.rate) };
        Ok(())
    }
    fn save(&self) -> Vec<u8> {
        seal("soft", 1, self)
    }
    fn load(&mut self, state: &[u8]) -> Result<(), BaseError> {
        let loaded: Self = open("soft", 1, state)?;
        if loaded.q.len() != self.q.len() || loaded.sums.len() != self.q.len() {
            return Err(SnapshotError::state("another number of arms").into());
        }
        BaseError::check_range(loaded.range).map_err(SnapshotError::state)?;
        let mut fresh = loaded.clone();
        fresh.refresh();
        if fresh.q != loaded.q {
            return Err(SnapshotError::state("the distribution is not that of the sums").into());
        }
        *self = loaded;
        Ok(())
    }

    fn extra(&mut self) -> Option<&mut dyn BaseExtra<X, Arm>> {
        Some(self)
    }
}

impl<X: ?Sized> BaseExtra<X, Arm> for Soft {
    fn pass(&mut self, _x: &X) -> Result<(), BaseError> {
        self.passed += 1;
        Ok(())
    }
}

/// Always the same arm, and a record of what it was told. The record can be watched from outside.
#[derive(Clone, Default)]
pub struct Diary(pub std::sync::Arc<std::sync::Mutex<Vec<Note>>>);

#[derive(Clone, Debug, PartialEq)]
pub enum Note {
    Asked,
    Learned(u32, f64, f64),
    Passed,
    Ranged(f64),
}

impl Diary {
    pub fn notes(&self) -> Vec<Note> {
        self.0.lock().unwrap().clone()
    }
    pub fn clear(&self) {
        self.0.lock().unwrap().clear();
    }
    fn note(&self, note: Note) {
        self.0.lock().unwrap().push(note);
    }
}

pub struct Constant {
    pub arm: u32,
    pub diary: Diary,
    /// Whether it says with which probability it proposes.
    pub frank: bool,
    pub listens: bool,
}

impl Constant {
    pub fn boxed<X: ?Sized>(arm: u32) -> (Box<dyn Base<X, Arm>>, Diary) {
        let diary = Diary::default();
        (Box::new(Self { arm, diary: diary.clone(), frank: true, listens: false }), diary)
    }
}

impl<X: ?Sized> Base<X, Arm> for Constant {
    fn propose(&mut self, _x: &X, _rng: &mut dyn Rng) -> Result<Proposal<Arm>, BaseError> {
        self.diary.note(Note::Asked);
        Ok(Proposal::with_memo(Arm(self.arm), Memo::one(f64::from(self.arm))))
    }
    fn learn(&mut self, _x: &X, made: &Proposal<Arm>, feedback: Feedback) -> Result<(), BaseError> {
        self.diary.note(Note::Learned(
            made.decision.0,
            feedback.observed().unwrap_or(0.0),
            feedback.weight(),
        ));
        Ok(())
    }
    fn likelihood(&self, _x: &X, arm: &Arm) -> Option<(f64, Memo)> {
        self.frank.then(|| (f64::from(u8::from(arm.0 == self.arm)), Memo::one(f64::from(self.arm))))
    }
    fn abilities(&self) -> Abilities {
        Abilities { wants_passes: true, learns_from_others: self.listens, ..Abilities::OWN }
    }
    fn apply_order(&mut self, order: Order) -> Result<(), BaseError> {
        self.diary.note(Note::Ranged(order.range()));
        Ok(())
    }
    fn save(&self) -> Vec<u8> {
        seal("constant", 1, &self.arm)
    }
    fn load(&mut self, state: &[u8]) -> Result<(), BaseError> {
        let arm: u32 = open("constant", 1, state)?;
        if arm == self.arm { Ok(()) } else { Err(SnapshotError::state("another arm").into()) }
    }

    fn extra(&mut self) -> Option<&mut dyn BaseExtra<X, Arm>> {
        Some(self)
    }
}

impl<X: ?Sized> BaseExtra<X, Arm> for Constant {
    fn pass(&mut self, _x: &X) -> Result<(), BaseError> {
        self.diary.note(Note::Passed);
        Ok(())
    }
}

/// The methods in which a base can fail.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum In {
    Propose,
    Learn,
    Pass,
    Likelihood,
    ApplyOrder,
    Save,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum How {
    Error,
    Panic,
    NotANumber,
    Outside,
}

/// A base that is well for a while.
pub struct Faulty {
    pub inner: Soft,
    pub fails_in: In,
    pub how: How,
    pub after: std::cell::Cell<u32>,
}

impl Faulty {
    pub fn new(fails_in: In, how: How, after: u32) -> Self {
        Self { inner: Soft::new(3, 0.1), fails_in, how, after: after.into() }
    }
    fn due(&self, method: In) -> Result<bool, BaseError> {
        if method != self.fails_in {
            return Ok(false);
        }
        if self.after.get() > 0 {
            self.after.set(self.after.get() - 1);
            return Ok(false);
        }
        match self.how {
            How::Error => Err(BaseError::Failed("the fixture fails".into())),
            How::Panic => panic!("the fixture panics"),
            How::NotANumber | How::Outside => Ok(true),
        }
    }
}

impl<X: ?Sized> Base<X, Arm> for Faulty {
    fn propose(&mut self, x: &X, rng: &mut dyn Rng) -> Result<Proposal<Arm>, BaseError> {
        let due = self.due(In::Propose)?;
        let mut made = self.inner.propose(x, rng)?;
        if due {
            match self.how {
                How::NotANumber => made.memo = Memo::one(f64::NAN),
                _ => made.decision = Arm(77),
            }
        }
        Ok(made)
    }
    fn learn(&mut self, x: &X, made: &Proposal<Arm>, feedback: Feedback) -> Result<(), BaseError> {
        self.due(In::Learn)?;
        self.inner.learn(x, made, feedback)
    }
    fn likelihood(&self, x: &X, arm: &Arm) -> Option<(f64, Memo)> {
        match self.due(In::Likelihood) {
            // Far from 0: it listens to others although it divides by what it would have done.
            Ok(false) => self.inner.likelihood(x, arm).map(|(q, _)| (q, Memo::one(q.max(0.1)))),
            _ => Some((f64::NAN, Memo::empty())),
        }
    }
    fn abilities(&self) -> Abilities {
        Abilities { wants_passes: true, learns_from_others: true, ..Abilities::OWN }
    }
    fn apply_order(&mut self, order: Order) -> Result<(), BaseError> {
        self.due(In::ApplyOrder)?;
        Base::<X, Arm>::apply_order(&mut self.inner, order)
    }
    fn save(&self) -> Vec<u8> {
        if self.fails_in == In::Save {
            panic!("the fixture cannot be saved");
        }
        Base::<X, Arm>::save(&self.inner)
    }
    fn load(&mut self, state: &[u8]) -> Result<(), BaseError> {
        Base::<X, Arm>::load(&mut self.inner, state)
    }

    fn extra(&mut self) -> Option<&mut dyn BaseExtra<X, Arm>> {
        Some(self)
    }
}

impl<X: ?Sized> BaseExtra<X, Arm> for Faulty {
    fn pass(&mut self, x: &X) -> Result<(), BaseError> {
        self.due(In::Pass)?;
        BaseExtra::<X, Arm>::pass(&mut self.inner, x)
    }
}
