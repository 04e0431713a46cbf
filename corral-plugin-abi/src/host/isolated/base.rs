//! The host: a base whose every call is a message, with a time limit.

use std::cell::RefCell;

use corral_core::snapshot::seal;
use corral_core::{
    Abilities, Arm, Base, BaseError, Context, Feedback, Learner, Memo, Order, Point, Proposal, Rng, Setup,
    Space,
};

use super::Isolation;
use super::home::{Home, Limit};
use super::wire::{Pen, tag};
use crate::author::Crosses;
use crate::host::foreign::{SNAPSHOT_MOST, check_decision, check_memo, check_probability, memo_room};
use crate::host::loader::Door;
use crate::host::sealed::Sealed;

/// Starts a process for a base of the world's kind of decisions, and builds it there.
pub(in crate::host) fn build(
    bytes: &Sealed,
    door: Door,
    name: &str,
    params: &str,
    setup: &Setup,
    isolation: &Isolation,
) -> Result<Learner, BaseError> {
    Ok(match setup.space {
        Space::Arms(_) => {
            Learner::Arms(Box::new(IsolatedBase::<Arm>::build(bytes, door, name, params, setup, isolation)?))
        }
        Space::Points(_) => Learner::Points(Box::new(IsolatedBase::<Point>::build(
            bytes, door, name, params, setup, isolation,
        )?)),
    })
}

/// A base in a process of its own. What comes back is checked as a [`ForeignBase`](crate::host::ForeignBase) checks
/// it; a process that crashes, ends or is late makes this and every later call an error.
pub struct IsolatedBase<D> {
    home: RefCell<Home>,
    name: String,
    space: Space,
    isolation: Isolation,
    /// A failure that could not be reported when it happened.
    fault: RefCell<Option<BaseError>>,
    memo: Vec<f64>,
    point: Vec<f64>,
    decision: std::marker::PhantomData<fn() -> D>,
}

impl<D: Crosses> IsolatedBase<D> {
    fn build(
        bytes: &Sealed,
        door: Door,
        name: &str,
        params: &str,
        setup: &Setup,
        isolation: &Isolation,
    ) -> Result<Self, BaseError> {
        let (mut home, _) = Home::open(bytes, door, isolation).map_err(|e| failed(name, &e.to_string()))?;
        let world = (name, params, &setup.space, &setup.context, setup.horizon);
        home.ask(tag::BUILD, 0, |pen| pen.rest(&seal("build", 1, &world)))
            .map_err(|why| failed(name, &why))?;
        home.limit(Limit::call(isolation));
        Ok(Self {
            home: RefCell::new(home),
            name: name.to_owned(),
            space: setup.space.clone(),
            isolation: isolation.clone(),
            fault: RefCell::new(None),
            memo: Vec::new(),
            point: Vec::new(),
            decision: std::marker::PhantomData,
        })
    }

    /// Bytes that a proposal, or a probability with its memo, may take.
    fn most(&self) -> usize {
        let dim = if let Space::Points(set) = &self.space { set.dim() } else { 0 };
        32 + 8 * (dim + memo_room(&self.space))
    }

    /// Number of the process, for those who want to look at it.
    pub fn process(&self) -> u32 {
        self.home.borrow().process()
    }

    fn sound(&self) -> Result<(), BaseError> {
        self.fault.borrow().clone().map_or(Ok(()), Err)
    }

    /// A request whose answer has nothing in it.
    fn tell(&mut self, tag: u8, fill: impl FnOnce(&mut Pen<'_>)) -> Result<(), BaseError> {
        self.sound()?;
        self.home.get_mut().ask(tag, 0, fill).map(|_| ()).map_err(|why| failed(&self.name, &why))
    }
}

/// The child's error texts begin with the base's name already; those about the process do not.
#[cold]
fn failed(name: &str, why: &str) -> BaseError {
    let named = why.starts_with(&format!("{name}: "));
    BaseError::Failed(if named { why.to_owned() } else { format!("{name}: {why}") })
}

#[cold]
fn short(name: &str) -> BaseError {
    BaseError::Failed(format!("{name}: an answer that is too short"))
}

fn send_decision<D: Crosses>(pen: &mut Pen<'_>, decision: &D, memo: &[f64]) {
    let (arm, point) = decision.given();
    pen.u32(arm);
    pen.numbers(point);
    pen.numbers(memo);
}

impl<D: Crosses> Base<Context, D> for IsolatedBase<D> {
    fn propose(&mut self, x: &Context, rng: &mut dyn Rng) -> Result<Proposal<D>, BaseError> {
        let mut made = Proposal::new(D::default());
        self.propose_into(x, rng, &mut made)?;
        Ok(made)
    }

    fn propose_into(
        &mut self,
        x: &Context,
        rng: &mut dyn Rng,
        made: &mut Proposal<D>,
    ) -> Result<(), BaseError> {
        self.sound()?;
        let most = self.most();
        let told = self.home.get_mut().ask_with(tag::PROPOSE, most, |pen| pen.context(x), Some(rng));
        let mut answer = told.map_err(|why| failed(&self.name, &why))?.ok_or_else(|| short(&self.name))?;
        let arm = answer.u32().ok_or_else(|| short(&self.name))?;
        answer.numbers(&mut self.point).ok_or_else(|| short(&self.name))?;
        answer.numbers(&mut self.memo).ok_or_else(|| short(&self.name))?;
        made.decision.take(arm, &self.point);
        check_decision(&made.decision, &self.space, x)?;
        if self.memo.len() > memo_room(&self.space) {
            return Err(BaseError::Proposal(format!("a memo of {} numbers", self.memo.len())));
        }
        check_memo(&self.memo)?;
        made.memo.set(&self.memo);
        Ok(())
    }

    fn learn(&mut self, x: &Context, made: &Proposal<D>, feedback: Feedback) -> Result<(), BaseError> {
        let feedback = feedback.check(f64::MAX)?;
        self.tell(tag::LEARN, |pen| {
            pen.context(x);
            send_decision(pen, &made.decision, made.memo.numbers());
            pen.f64(feedback.observed().unwrap_or(0.0));
            pen.f64(feedback.weight());
        })
    }

    fn pass(&mut self, x: &Context) -> Result<(), BaseError> {
        self.tell(tag::PASS, |pen| pen.context(x))
    }

    fn likelihood(&self, x: &Context, asked: &D) -> Option<(f64, Memo)> {
        self.sound().ok()?;
        let mut home = self.home.borrow_mut();
        let told = home.ask(tag::LIKELIHOOD, self.most(), |pen| {
            pen.context(x);
            send_decision(pen, asked, &[]);
        });
        let answer = told.map_err(|why| failed(&self.name, &why)).and_then(|answer| {
            let Some(mut answer) = answer else { return Ok(None) };
            let probability = check_probability(answer.f64().ok_or_else(|| short(&self.name))?)?;
            let mut memo = Vec::new();
            answer.numbers(&mut memo).ok_or_else(|| short(&self.name))?;
            check_memo(&memo)?;
            Ok(Some((probability, Memo::from(&memo[..]))))
        });
        answer.unwrap_or_else(|fault| {
            *self.fault.borrow_mut() = Some(fault);
            None
        })
    }

    fn abilities(&self) -> Abilities {
        match self.home.borrow_mut().ask(tag::ABILITIES, 64, |_| {}) {
            Ok(Some(answer)) => match answer.rest() {
                [heeds, learns] => Abilities { heeds_passes: *heeds != 0, learns_from_others: *learns == 1 },
                _ => Abilities::default(),
            },
            // Whoever cannot answer is found out at the next call that can fail.
            _ => Abilities::default(),
        }
    }

    fn obey(&mut self, order: Order) -> Result<(), BaseError> {
        let order = order.check()?;
        *self.fault.get_mut() = None;
        let tag = if order.starts_over() { tag::START_OVER } else { tag::WIDEN };
        if order.starts_over() {
            // The base is built again: that may take as long as it did at first.
            self.home.get_mut().limit(Limit::start(&self.isolation));
        }
        let told = self.tell(tag, |pen| {
            pen.f64(order.range());
            pen.u64(order.remaining().unwrap_or(u64::MAX));
        });
        self.home.get_mut().limit(Limit::call(&self.isolation));
        told
    }

    fn save(&self) -> Vec<u8> {
        match self.home.borrow_mut().ask(tag::SAVE, SNAPSHOT_MOST + 4096, |_| {}) {
            Ok(Some(answer)) => answer.rest().to_vec(),
            Ok(None) => Vec::new(),
            Err(why) => {
                *self.fault.borrow_mut() = Some(failed(&self.name, &why));
                Vec::new()
            }
        }
    }

    fn load(&mut self, state: &[u8]) -> Result<(), BaseError> {
        self.tell(tag::LOAD, |pen| pen.rest(state))
    }
}
