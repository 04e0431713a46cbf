//! Plugins from outside: authors and hosts. What starts processes of its own is apart (`isolation`, `hostile`).

#[path = "../common/mod.rs"]
mod common;
#[path = "../../../corral-core/tests/counting/mod.rs"]
mod counting;
#[path = "../fixtures/bases/draws.rs"]
mod draws;
#[path = "../fixtures/bases/faults.rs"]
mod faults;
#[path = "../fixtures/bases/linear.rs"]
mod linear;
#[path = "../fixtures/bases/walk.rs"]
mod walk;

mod examples;
mod fuzz;
mod header;
mod in_process;
mod lending;
mod loading;
mod no_allocation;
mod versions;
