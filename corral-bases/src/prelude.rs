//! What the file of a base needs.

pub(crate) use corral_core::masters::RegretBound;
pub(crate) use corral_core::params::{Bounds, Params};
pub(crate) use corral_core::registry::Kind;
pub(crate) use corral_core::{
    Abilities, Arm, Base, BaseError, BaseExtra, Context, Feedback, Memo, Order, ParamError, Point, Proposal,
    Rng, Set, Setup, SnapshotError, require, sample_index, uniform,
};
pub(crate) use serde::{Deserialize, Serialize};

pub(crate) use crate::built::{BaseParams, Make, bound_horizon};
pub(crate) use crate::common::{
    CONFIDENCE, Clock, FACTOR, OFFSET, Played, RangeChange, Result, SIZE, Setting, Ties, arm_count,
    check_arm, check_first, check_numbers, check_offered, ensure, least, lowest, reopen, seal, select,
    uniform_arm,
};
