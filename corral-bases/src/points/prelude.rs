//! What the file of a base over points needs.

pub(super) use corral_core::set::SetError;

pub(super) use super::frame::{PointBase, PointRule, check_direction, doubled, horizon_or_doubling};
pub(super) use super::oful::{confidence, parameter_norm};
pub(super) use super::optimism::{Ellipsoid, Optimist, Search};
pub(super) use super::restricted::{self, Width};
pub(super) use super::{fill_sphere, point_set};
pub(super) use crate::prelude::*;
pub(super) use crate::regression::{Regressor, Ridge, dot};
