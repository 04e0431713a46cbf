//! What the file of a base over features needs.

pub(super) use super::features::Features;
pub(super) use super::learner::{Choice, Linear, Regression, View, put_on_lowest};
pub(super) use super::packed;
pub(super) use super::regressor::{Regressor, unusable};
pub(super) use super::ridge::{Parameters, Ridge, RidgeParams};
pub(super) use crate::prelude::*;
