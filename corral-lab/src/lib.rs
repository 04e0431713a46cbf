//! The laboratory: specs, runs, claims, reports. The program `corral` and the Python package are doors to it.
//!
//! ```
//! use corral_lab::{claims, findings, run, spec::Spec};
//!
//! let spec = Spec::parse(
//!     r#"
//!     rounds = 1_000
//!     seeds  = 8
//!     environment = { name = "bernoulli", means = [0.8, 0.5, 0.2] }    # means of the LOSS
//!
//!     [[learner]]
//!     label  = "band"
//!     master = { name = "corral", rate = "fast" }
//!     bases  = [{ name = "ucb1" }, { name = "random" }]
//!
//!     [[learner]]
//!     base = { name = "random" }
//!
//!     [[claim]]
//!     text    = "The band does better than playing at random"
//!     learner = "band"
//!     than    = "random"
//!     measure = "ratio"
//!     at-most = 0.9
//!     "#,
//! )?;
//! let plugins = run::Plugins::default();
//! run::check(&spec, &plugins, 8 << 30)?;                                        // what is wrong, and in which line
//! let cell = |i| run::run_cell(&spec, &run::CellSpec::of(&spec, i), &plugins, &|| false, &|_| {});
//! let cells: Vec<_> = (0..spec.cells()).filter_map(cell).collect();
//! let found = findings::Findings::of(spec, cells, &run::Timings::default());
//! assert!(found.rows[0].regret.mean < found.rows[1].regret.mean);
//! assert_eq!(found.held[0].verdict, claims::Verdict::Holds);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! A *cell* is one learner in one environment with one seed: a pure function of the spec ([`run::run_cell`]), with
//! generators that follow from its seed ([`streams`]). So results do not depend on threads, shards or order, to the
//! last byte.
//!
//! | to | see |
//! |---|---|
//! | read a spec, with errors that name the line | [`spec`] |
//! | run it on all cores, and resume it | [`run::run`] |
//! | get means, intervals and gaps | [`summary`] |
//! | hold claims against results | [`claims`] |
//! | measure a base's stability | [`stability`] |
//! | write the HTML report | [`report`] |
//! | value policies from a decision log | [`valuation`] |
//! | play the log of a band again that Python saved | [`saved`] |
//! | list the experiments that come with it | [`experiments`] |

#![forbid(unsafe_code)]

pub mod advice;
pub mod answer;
pub mod chart;
pub mod choice;
pub mod claims;
pub mod curves;
pub mod duels;
pub mod experience;
pub mod experiments;
pub mod export;
pub mod figures;
pub mod findings;
mod harmless;
pub mod model;
pub mod over_rows;
pub mod ranks;
pub mod record;
pub mod report;
pub mod run;
pub mod saved;
pub mod spec;
pub mod stability;
pub mod standing;
pub mod store;
pub mod streams;
pub mod summary;
pub mod sweeps;
pub mod table;
pub mod valuation;

/// The README's example is compiled and run.
#[doc = include_str!("../../README.md")]
#[cfg(doctest)]
pub struct Readme;
