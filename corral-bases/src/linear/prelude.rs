//! What the file of a base over features needs.

pub(super) use super::features::Features;
pub(super) use super::layout::{Parameters, RidgeParams};
pub(super) use super::learner::{ActionRule, Linear, Regression, View, put_on_lowest};
pub(super) use crate::arms::index::all_lowest;
pub(super) use crate::prelude::*;
pub(super) use crate::regression::{Regressor, Ridge, packed, usable};
