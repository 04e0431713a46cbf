//! The host: a base whose every call is a message, with a time limit.

use std::borrow::Cow;
use std::cell::RefCell;

use corral_core::{
    Abilities, Arm, Base, BaseError, BaseExtra, Context, Feedback, Learner, Memo, Order, Point, Proposal,
    Rng, Setup, Space,
};

use super::home::{Home, Limit};
use super::wire::{Answer, Call, Opening};
use super::{Image, Isolation};
use crate::author::Crosses;
use crate::host::foreign::{SNAPSHOT_MOST, check_decision, check_memo, check_probability, memo_capacity_of};

/// Builds the base `name` of a library in a process of its own.
pub(in crate::host) fn build(
    image: Image<'_>,
    name: &str,
    params: &str,
    setup: &Setup,
) -> Result<Learner, BaseError> {
    Ok(match setup.space {
        Space::Arms(_) => Learner::Arms(Box::new(IsolatedBase::<Arm>::build(image, name, params, setup)?)),
        Space::Points(_) => {
            Learner::Points(Box::new(IsolatedBase::<Point>::build(image, name, params, setup)?))
        }
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
    decision: std::marker::PhantomData<fn() -> D>,
}

impl<D: Crosses> IsolatedBase<D> {
    fn build(image: Image<'_>, name: &str, params: &str, setup: &Setup) -> Result<Self, BaseError> {
        let (mut home, _) = Home::open(image).map_err(|e| failed(name, &e.to_string()))?;
        let world = Opening::Build {
            base: name.to_owned(),
            params: params.to_owned(),
            space: setup.space.clone(),
            context: setup.context,
            horizon: setup.horizon,
        };
        home.ask::<D>(&world, 0, None).map_err(|why| failed(name, &why))?;
        home.limit(Limit::call(image.isolation));
        Ok(Self {
            home: RefCell::new(home),
            name: name.to_owned(),
            space: setup.space.clone(),
            isolation: image.isolation.clone(),
            fault: RefCell::new(None),
            decision: std::marker::PhantomData,
        })
    }

    /// Bytes that a proposal, or a probability with its memo, may take.
    fn most(&self) -> usize {
        let dim = if let Space::Points(set) = &self.space { set.dim() } else { 0 };
        32 + 8 * (dim + memo_capacity_of(&self.space))
    }

    /// Number of the process, for those who want to look at it.
    pub fn process(&self) -> u32 {
        self.home.borrow().process()
    }

    fn sound(&self) -> Result<(), BaseError> {
        self.fault.borrow().clone().map_or(Ok(()), Err)
    }

    /// A call whose answer has nothing in it.
    fn tell(&mut self, call: &Call<'_, D>) -> Result<(), BaseError> {
        self.sound()?;
        self.home.get_mut().ask::<D>(call, 0, None).map(drop).map_err(|why| failed(&self.name, &why))
    }

    /// The probability and the memo of `asked`, where the base knows them.
    fn probability(&self, x: &Context, asked: &D) -> Result<Option<(f64, Memo)>, BaseError> {
        let call = Call::Likelihood(Cow::Borrowed(x), Cow::Borrowed(asked));
        let told = self.home.borrow_mut().ask::<D>(&call, self.most(), None);
        match told.map_err(|why| failed(&self.name, &why))? {
            Answer::Likelihood(None) => Ok(None),
            Answer::Likelihood(Some((probability, memo))) => {
                check_memo(memo.numbers())?;
                Ok(Some((check_probability(probability)?, memo)))
            }
            _ => Err(other(&self.name)),
        }
    }
}

/// The child's error texts begin with the base's name already; those about the process do not.
#[cold]
fn failed(name: &str, why: &str) -> BaseError {
    let named = why.starts_with(&format!("{name}: "));
    BaseError::Failed(if named { why.to_owned() } else { format!("{name}: {why}") })
}

#[cold]
fn other(name: &str) -> BaseError {
    BaseError::Failed(format!("{name}: an answer to something else"))
}

impl<D: Crosses> Base<Context, D> for IsolatedBase<D> {
    fn propose(&mut self, x: &Context, rng: &mut dyn Rng) -> Result<Proposal<D>, BaseError> {
        self.sound()?;
        let most = self.most();
        let told = self.home.get_mut().ask::<D>(&Call::<D>::Propose(Cow::Borrowed(x)), most, Some(rng));
        let Answer::Proposed(made) = told.map_err(|why| failed(&self.name, &why))? else {
            return Err(other(&self.name));
        };
        check_decision(&made.decision, &self.space, x)?;
        if made.memo.numbers().len() > memo_capacity_of(&self.space) {
            return Err(BaseError::Proposal(format!("a memo of {} numbers", made.memo.numbers().len())));
        }
        check_memo(made.memo.numbers())?;
        Ok(made)
    }

    fn learn(&mut self, x: &Context, made: &Proposal<D>, feedback: Feedback) -> Result<(), BaseError> {
        let feedback = feedback.check(f64::MAX)?;
        self.tell(&Call::Learn(Cow::Borrowed(x), Cow::Borrowed(made), feedback))
    }

    fn likelihood(&self, x: &Context, asked: &D) -> Option<(f64, Memo)> {
        self.sound().ok()?;
        self.probability(x, asked).unwrap_or_else(|fault| {
            *self.fault.borrow_mut() = Some(fault);
            None
        })
    }

    fn abilities(&self) -> Abilities {
        match self.home.borrow_mut().ask::<D>(&Call::<D>::Abilities, 64, None) {
            Ok(Answer::Abilities(abilities)) => abilities,
            // Whoever cannot answer is found out at the next call that can fail.
            _ => Abilities { wants_passes: true, ..Abilities::OWN },
        }
    }

    fn apply_order(&mut self, order: Order) -> Result<(), BaseError> {
        let order = order.check()?;
        *self.fault.get_mut() = None;
        if order.starts_over() {
            // The base is built again: that may take as long as it did at first.
            self.home.get_mut().limit(Limit::start(&self.isolation));
        }
        let told = self.tell(&Call::ApplyOrder(order));
        self.home.get_mut().limit(Limit::call(&self.isolation));
        told
    }

    fn save(&self) -> Vec<u8> {
        match self.home.borrow_mut().ask::<D>(&Call::<D>::Save, SNAPSHOT_MOST + 4096, None) {
            Ok(Answer::Saved(state)) => state,
            Ok(_) => Vec::new(),
            Err(why) => {
                *self.fault.borrow_mut() = Some(failed(&self.name, &why));
                Vec::new()
            }
        }
    }

    fn load(&mut self, state: &[u8]) -> Result<(), BaseError> {
        self.tell(&Call::Load(Cow::Borrowed(state)))
    }

    fn extra(&mut self) -> Option<&mut dyn BaseExtra<Context, D>> {
        Some(self)
    }
}

impl<D: Crosses> BaseExtra<Context, D> for IsolatedBase<D> {
    fn pass(&mut self, x: &Context) -> Result<(), BaseError> {
        self.tell(&Call::Pass(Cow::Borrowed(x)))
    }
}
