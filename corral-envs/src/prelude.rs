//! What the file of a world names.

pub(crate) use std::sync::Arc;

pub(crate) use corral_core::params::Bounds;
pub(crate) use corral_core::vectors::dot;
pub(crate) use corral_core::{
    Arm, Context, ContextSampler, ContextShape, LossDomain, ParamError, Policy, Rng, Set, Setup, params,
    require,
};
pub(crate) use serde::{Deserialize, Serialize};

pub(crate) use crate::bandit::{Game, Round, coin};
pub(crate) use crate::draw::{Draw, Stream};
pub(crate) use crate::environment::EnvError;
pub(crate) use crate::regret::{ArmSums, CellSums};
pub(crate) use crate::world::{AnyEnvironment, Ask, Builds};
