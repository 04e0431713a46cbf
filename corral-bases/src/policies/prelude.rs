//! What the file of a base over policies needs.

pub(super) use std::sync::Arc;

pub(super) use corral_core::policy::Policy;

pub(super) use super::class::{Policies, PolicyClass};
pub(super) use super::data::{Costs, Sites};
pub(super) use super::frame::{Offer, PolicyBase, PolicyRule, undefined};
pub(super) use super::workspace::Workspace;
pub(super) use crate::prelude::*;
