//! The core from outside.

#[path = "../common/mod.rs"]
mod common;
#[path = "../counting/mod.rs"]
mod counting;
#[path = "../reference/mod.rs"]
mod reference;
#[path = "../masters/table.rs"]
mod table;

mod bad_input;
mod best_of_both;
mod callers;
mod contract;
mod corral_allocation;
mod ensemble;
mod ensemble_allocation;
mod failing;
mod hedged;
mod laws;
mod master_bounds;
mod master_values;
mod masters;
mod masters_allocation;
mod nested_credit;
mod nesting;
mod omd;
mod paper;
mod pending;
mod practical;
mod reframed;
mod sequences;
mod service;
mod snapshots;
mod tickets;
