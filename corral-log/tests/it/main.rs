//! The tests of the decision log.

mod chain;
mod common;
mod records;
