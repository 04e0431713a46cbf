//! What the file of a rule names.

pub(super) use serde::{Deserialize, Serialize};

pub(super) use super::bound::RegretBound;
pub(super) use super::earned::{Earned, follow, iterated_width};
pub(super) use super::entropy::ExponentialWeights;
pub(super) use super::experience::{Experience, PAPER_ALONE};
pub(super) use super::roster::Roster;
pub(super) use super::rule::{Credited, Rule, Ruled, all};
pub(super) use super::tsallis::Tsallis;
pub(super) use super::{MasterSetup, Rulebook, lanes};
pub(super) use crate::omd::{LogBarrier, Losses};
pub(super) use crate::params::Bounds;
pub(super) use crate::snapshot::{counted, ensure};
pub(super) use crate::{Credit, MasterError, ParamError, Rate, SnapshotError, require};
