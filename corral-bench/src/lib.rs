//! The runner behind the `corral` program: specs, cells, results, reports.

#![forbid(unsafe_code)]

pub mod advice;
pub mod chart;
pub mod claims;
pub mod cli;
pub mod curves;
pub mod duels;
pub mod experiments;
pub mod figures;
pub mod overall;
pub mod ranks;
pub mod report;
pub mod run;
pub mod spec;
pub mod stability;
pub mod standing;
pub mod store;
pub mod streams;
pub mod summary;

/// The README's example is compiled and run.
#[doc = include_str!("../../README.md")]
#[cfg(doctest)]
pub struct Readme;
