//! The tests of the decision log.

#[path = "../../examples/coverage.rs"]
#[expect(dead_code, reason = "its main is the example's")]
mod band;
mod chain;
mod common;
mod converted;
mod coverage;
mod doors;
mod estimators;
mod faulty;
mod records;
mod schema;
mod simulate;
mod watch;
