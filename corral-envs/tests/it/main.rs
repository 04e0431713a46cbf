//! Environments from outside.

#[path = "../../../corral-core/tests/counting/mod.rs"]
mod counting;

mod allocation;
mod arms;
mod asked;
mod contextual;
mod data;
mod delay;
mod induced;
mod logged;
mod registry;
mod tables;
mod wrappers;
