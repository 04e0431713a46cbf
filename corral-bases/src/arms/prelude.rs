//! What the file of a base over arms needs.

pub(super) use super::frame::{ArmBase, ArmRule, Now, Round};
pub(super) use super::index::{ArmStats, Index, IndexBase, Moment};
pub(super) use crate::prelude::*;
