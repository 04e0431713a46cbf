//! The decision log: what was decided, with which probability, and what came of it.
//!
//! A log is text, one JSON object per line ([`Record`]). Every line ends with a value of a [`Chain`], by which a line that
//! was removed, changed, doubled or reordered is found. [`Writer`] writes it, [`Reader`] reads it and counts what it cannot
//! read. `docs/log-format.md` has every field.
//!
//! ```
//! use corral_core::TicketId;
//! use corral_log::{Decided, Given, RewardLine, Played, Reader, Record, Start, Writer};
//!
//! let mut log = Vec::new();
//! let mut writer = Writer::new(&mut log);
//! let id = TicketId { band: 7, copy: 0, round: 0 };
//! let names = |names: &[&str]| names.iter().map(|n| n.to_string()).collect();
//! writer.write(&Record::Start(Start { bases: names(&["ucb1", "exp3"]), actions: names(&["a", "b"]), ..Start::new(7) }))?;
//! let decision = Decided { propensity: Some(0.25), ..Decided::new(id, Played::Arm(1), 2) };
//! writer.write(&Record::Decision(decision))?;
//! writer.write(&Record::Outcome(RewardLine::new(id, Given::reward(1.0))))?;
//!
//! let mut reader = Reader::new(&log[..]).checked(0);
//! while let Some(record) = reader.read()? {
//!     if let Record::Outcome(outcome) = record {
//!         assert_eq!((outcome.id, outcome.given.reward), (id, Some(1.0)));
//!     }
//! }
//! assert_eq!((reader.lines(), reader.faults().count()), (3, 0));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

#![forbid(unsafe_code)]

mod alarms;
mod bernstein;
mod betting;
mod blocks;
mod calendar;
mod chain;
mod convert;
mod dsjson;
mod evaluate;
mod faults;
mod fixed_time;
mod id;
mod join;
mod ours;
#[cfg(feature = "parquet")]
pub mod parquet;
mod read;
mod record;
mod report;
mod robust;
mod row;
mod scan;
mod seen;
mod sequence;
mod source;
mod sums;
mod table;
mod target;
mod units;
mod verdict;
mod watch;
mod window;
mod write;

pub use bernstein::MixtureBernstein;
pub use betting::Betting;
pub use chain::{Broken, Chain};
pub use convert::{CsvOut, DsjsonOut, OursOut, Sink};
pub use corral_core::Scale;
pub use dsjson::Dsjson;
pub use evaluate::{BINS, Counts, Estimator, Evaluation, Look, Options};
pub use faults::{Fault, FaultKind, Faults};
pub use fixed_time::Estimate;
pub use id::parse_id;
pub use join::{JoinError, JoinOptions, Joined, join};
pub use ours::Ours;
pub use read::{ReadError, Reader};
pub use record::{
    Both, Change, Decided, Expire, Given, Member, Offered, Played, Record, RecordError, RewardLine, Start,
    VERSION,
};
pub use report::{Difference, Report, Validity, Value, Weights};
pub use robust::Model;
pub use row::{Header, Row};
pub use sequence::{Motion, Sequence};
pub use source::{RowSource, Wants};
pub use sums::Sums;
pub use table::{Csv, TableError, actions_of};
pub use target::{Named, Target};
pub use watch::{Bounds, MOST_COMPARED, WATCH_ERROR, Watch, Watched};
pub use window::{Aggregate, WindowCounts};
pub use write::Writer;

/// The JSON Schema of a line.
pub const SCHEMA: &str = include_str!("schema.json");
