//! E' from the `induced` table of a spec.

use std::sync::LazyLock;

use corral_core::params::{Bounds, Params};
use corral_core::registry::{Entry, Registry, RegistryRow};
use corral_core::{ParamError, params, require};

use super::{Announce, Induced, Schedule, Substitute};
use crate::data::{matrix, resolve};
use crate::world::{Make, named};
use crate::{AnyEnvironment, BuildError, EnvError};

/// What schedules can be built.
pub static SCHEDULES: LazyLock<Registry<Make<Around>>> = LazyLock::new(|| {
    Registry::new(
        "schedule",
        vec![
            row::<RangeParams>("constant", "p = 1/range"),
            row::<RangeParams>("decay", "p = range^(-t/T)"),
            row::<RangeParams>("half", "p = 1/range in the first half, then 1"),
            row::<RangeParams>("staircase", "p = 1/2, 1/4, ..., 1/range in steps of equal length"),
            row::<RangeParams>("starve-good", "p = 1/range after an optimal proposal, else 1"),
            row::<RangeParams>("starve-bad", "p = 1/range after a proposal that was not optimal, else 1"),
            row::<BurstsParams>(
                "bursts",
                "p = 1 in the first `length` rounds of every `period`, else 1/range",
            ),
            row::<RecordedParams>("recorded", "the probabilities of a real run"),
        ],
    )
});

/// A schedule, what E plays unseen, and what the learner is told of the range.
pub type Around = (Schedule, Substitute, Announce);

fn row<P: Schedules>(name: &'static str, summary: &'static str) -> RegistryRow<Make<Around>> {
    let source = "the paper's definition of E'";
    let entry = Entry { name, summary, source, fits: "any environment", cost: "O(1)", ..Entry::EMPTY };
    RegistryRow::of::<P>(entry, make::<P>)
}

fn make<P: Schedules>(name: &'static str, params: toml::Table) -> Result<Around, BuildError> {
    let params: P = SCHEDULES.read(name, params)?;
    params.schedule(name).map_err(|e| BuildError::refused(SCHEDULES.what(), name, &e).about(e.key()))
}

/// Parameters of a schedule.
trait Schedules: Params {
    fn schedule(self, name: &str) -> Result<Around, EnvError>;
}

params! {
    /// Parameters of the schedules that have a range and nothing else.
    pub struct RangeParams {
        /// rho, the largest 1/p.
        range: f64, Bounds::at_least(1.0);
        /// What the environment plays unseen.
        substitute: Substitute = Substitute::default();
        /// What the learner is told of the range. Unset: known; of the staircase, which does as Corral does, doubling.
        announce: Option<Announce> = None;
    }
}

impl Schedules for RangeParams {
    fn schedule(self, name: &str) -> Result<Around, EnvError> {
        let Self { range, substitute, announce } = self;
        let schedule = match name {
            "decay" => Schedule::decay(range),
            "half" => Schedule::half(range),
            "staircase" => Schedule::staircase(range),
            "starve-good" => Schedule::starve(range, true),
            "starve-bad" => Schedule::starve(range, false),
            _ => Schedule::constant(range),
        };
        let usual = if name == "staircase" { Announce::Doubling } else { Announce::default() };
        Ok((schedule, substitute, announce.unwrap_or(usual)))
    }
}

params! {
    /// Parameters of [`Schedule::bursts`].
    pub struct BurstsParams {
        /// rho, the largest 1/p.
        range: f64, Bounds::at_least(1.0);
        /// Rounds from one burst to the next.
        period: u64 = 100, Bounds::at_least(1.0);
        /// Rounds of a burst.
        length: u64 = 10;
        /// What the environment plays unseen.
        substitute: Substitute = Substitute::default();
        /// What the learner is told of the range.
        announce: Announce = Announce::default();
    }
}

impl Schedules for BurstsParams {
    fn schedule(self, _: &str) -> Result<Around, EnvError> {
        let Self { range, period, length, .. } = self;
        require(length <= period, "length", length, format!("at most the period, {period}"))?;
        Ok((Schedule::bursts(range, period, length), self.substitute, self.announce))
    }
}

params! {
    /// Parameters of [`Schedule::recorded`].
    pub struct RecordedParams {
        /// p per round; when they are over the last one stays.
        probabilities: Vec<f64> = Vec::new();
        /// Instead: a file with one number per line.
        file: String = String::new();
        /// What the environment plays unseen.
        substitute: Substitute = Substitute::default();
        /// What the learner is told of the range.
        announce: Announce = Announce::default();
    }
}

impl Schedules for RecordedParams {
    fn schedule(self, _: &str) -> Result<Around, EnvError> {
        let probabilities = match (self.file.is_empty(), self.probabilities.is_empty()) {
            (true, _) => self.probabilities,
            (false, false) => {
                return Err(ParamError::choice("probabilities", "give a list or a file, not both").into());
            }
            (false, true) => {
                let probability = |p: f64| p > 0.0 && p <= 1.0;
                matrix(&resolve(&self.file), "probability in (0, 1]", probability)?.concat()
            }
        };
        Ok((Schedule::recorded(probabilities)?, self.substitute, self.announce))
    }
}

/// Wraps `world` into E' by the `induced` table of a spec, for a run of `rounds` rounds:
/// `{ schedule = "constant", range = 8 }`.
///
/// # Errors
/// An unknown schedule or key, or a value that cannot be used.
pub fn induce(
    world: AnyEnvironment,
    params: &toml::Table,
    rounds: u64,
) -> Result<AnyEnvironment, BuildError> {
    let (row, own) = named(&SCHEDULES, "schedule", params)?;
    let name = row.entry.name;
    let (schedule, substitute, announce) = (row.build)(name, own)?;
    let refuse = |e: EnvError| BuildError::refused(SCHEDULES.what(), name, &e).about(e.key());
    Ok(match world {
        AnyEnvironment::Arms(world) => AnyEnvironment::Arms(Box::new(
            Induced::new(world, schedule, substitute, announce, rounds).map_err(refuse)?,
        )),
        AnyEnvironment::Points(world) => AnyEnvironment::Points(Box::new(
            Induced::new(world, schedule, substitute, announce, rounds).map_err(refuse)?,
        )),
    })
}
