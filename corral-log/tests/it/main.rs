//! The tests of the decision log.

mod chain;
mod common;
mod coverage;
mod doors;
mod estimators;
mod records;
mod schema;
mod simulate;
mod watch;
