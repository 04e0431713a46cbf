//! Multi-armed bases: they see no context.

use corral_core::registry::Row;
use corral_core::{Abilities, Arm, Base, BaseError, Context, Feedback, Learner, Memo, Order, Proposal, Rng};

use crate::built::{BaseParams, Build, build, read_for, row};

mod betas;
mod epsilon_greedy;
mod exp3;
mod fixed;
mod index;
mod kl_ucb;
mod moss;
mod posterior;
mod random;
mod thompson;
mod tsallis;
mod ucb1;
mod ucb_v;

pub use epsilon_greedy::EpsilonGreedy;
pub use exp3::{Exp3, Exp3Params};
pub use fixed::{Fixed, FixedParams};
pub use index::{ArmStats, Index, IndexBase, Ties};
pub use kl_ucb::{KlUcb, KlUcbParams};
pub use moss::{Moss, MossParams};
pub use random::{Random, RandomParams};
pub use thompson::{Thompson, ThompsonParams};
pub use tsallis::{Tsallis, TsallisParams};
pub use ucb_v::{Mode, UcbV, UcbVParams};
pub use ucb1::{Ucb1, Ucb1Params, Width};

/// The rows of the registry.
pub(crate) const ROWS: &[Row<Build>] = &[
    context_free::<Exp3Params>(),
    context_free::<TsallisParams>(),
    context_free::<Ucb1Params>(),
    context_free::<UcbVParams>(),
    context_free::<KlUcbParams>(),
    context_free::<MossParams>(),
    context_free::<ThompsonParams>(),
    context_free::<FixedParams>(),
    context_free::<RandomParams>(),
];

/// A context-free base beside contexts: it refuses rounds with another number of actions than was announced.
pub struct ContextFree<B> {
    base: B,
    actions: usize,
}

impl<B> ContextFree<B> {
    /// `base` decides on `actions` arms in every round.
    pub fn new(base: B, actions: usize) -> Self {
        Self { base, actions }
    }

    #[inline]
    fn check(&self, x: &Context) -> Result<(), BaseError> {
        if x.actions() == self.actions {
            Ok(())
        } else {
            Err(BaseError::Context { what: "actions", found: x.actions(), expected: self.actions })
        }
    }
}

impl<B: Base<Context, Arm>> Base<Context, Arm> for ContextFree<B> {
    fn propose(&mut self, x: &Context, rng: &mut dyn Rng) -> Result<Proposal<Arm>, BaseError> {
        self.check(x)?;
        self.base.propose(x, rng)
    }
    fn learn(&mut self, x: &Context, made: &Proposal<Arm>, feedback: Feedback) -> Result<(), BaseError> {
        self.check(x)?;
        self.base.learn(x, made, feedback)
    }
    fn pass(&mut self, x: &Context) -> Result<(), BaseError> {
        self.check(x)?;
        self.base.pass(x)
    }
    fn likelihood(&self, x: &Context, decision: &Arm) -> Option<(f64, Memo)> {
        self.check(x).ok()?;
        self.base.likelihood(x, decision)
    }
    fn abilities(&self) -> Abilities {
        self.base.abilities()
    }
    fn obey(&mut self, order: Order) -> Result<(), BaseError> {
        self.base.obey(order)
    }
    fn save(&self) -> Vec<u8> {
        self.base.save()
    }
    fn load(&mut self, state: &[u8]) -> Result<(), BaseError> {
        self.base.load(state)
    }
}

/// The row of a context-free base over arms.
pub(crate) const fn context_free<P: BaseParams>() -> Row<Build>
where
    P::Base: Base<Context, Arm> + 'static,
{
    row::<P>(|table, setup| {
        let base = build(read_for::<P>(table, setup)?, setup)?;
        Ok(Learner::Arms(Box::new(ContextFree::new(base, setup.actions()))))
    })
}
