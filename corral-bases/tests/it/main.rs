//! The bases from outside.

#[path = "../common/mod.rs"]
mod common;
#[path = "../../../corral-core/tests/counting/mod.rs"]
mod counting;

mod arm_figures;
mod band;
mod bounds;
mod budget;
mod contract;
mod every_base;
mod experience;
mod extremes;
mod front_page;
mod guard;
mod linear_worlds;
mod membership;
mod membership_points;
mod offers;
mod passes;
mod points_allocation;
mod policy_contract;
mod policy_figures;
mod presets;
mod propensity;
mod reward_range;
mod shared_regression;
mod sleeping;
mod unbiased;
