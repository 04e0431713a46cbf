//! E' from the `induced` table of a spec.

use corral_core::ParamError;
use corral_core::catalog::{Entry, Field};
use corral_core::registry::Unknown;
use serde::Deserialize;

use super::Substitute;
use super::{
    Announce, Bursts, Constant, Decay, Half, Induced, Recorded, Schedule, Staircase, Starve, StarveWhat,
};
use crate::data::{matrix, resolve};
use crate::registry::read;
use crate::{BuildError, EnvError, World};

const SCHEDULE: Field = Field { name: "schedule", default: "", doc: "which schedule" };
const RANGE: Field = Field { name: "range", default: "", doc: "rho, the largest 1/p, at least 1" };
const SUBSTITUTE: Field = Field {
    name: "substitute",
    default: "\"last\"",
    doc: "what the environment plays unseen: last, own, first or worst",
};
const ANNOUNCE: Field = Field {
    name: "announce",
    default: "\"known\"",
    doc: "what the learner is told of the range: known, doubling, exact or blind",
};
// The staircase mimics Corral, and so it announces as Corral does.
const DOUBLING: Field = Field { default: "\"doubling\"", ..ANNOUNCE };
const COMMON: &[Field] = &[SCHEDULE, RANGE, SUBSTITUTE, ANNOUNCE];

const fn entry(name: &'static str, summary: &'static str, fields: &'static [Field]) -> Entry {
    Entry {
        name,
        summary,
        source: "the paper's definition of E'",
        regret: "",
        alpha: None,
        fits: "any environment",
        cost: "O(1)",
        kind: "any",
        status: "standard",
        fields,
    }
}

static SCHEDULES: &[Entry] = &[
    entry("constant", "p = 1/range", COMMON),
    entry("decay", "p = range^(-t/T)", COMMON),
    entry("half", "p = 1/range in the first half, then 1", COMMON),
    entry(
        "staircase",
        "p = 1/2, 1/4, ..., 1/range in steps of equal length",
        &[SCHEDULE, RANGE, SUBSTITUTE, DOUBLING],
    ),
    entry("starve-good", "p = 1/range after an optimal proposal, else 1", COMMON),
    entry("starve-bad", "p = 1/range after a proposal that was not optimal, else 1", COMMON),
    entry(
        "bursts",
        "p = 1 in the first `length` rounds of every `period`, else 1/range",
        &[
            SCHEDULE,
            RANGE,
            SUBSTITUTE,
            ANNOUNCE,
            Field { name: "period", default: "100", doc: "rounds from one burst to the next" },
            Field { name: "length", default: "10", doc: "rounds of a burst" },
        ],
    ),
    entry(
        "recorded",
        "the probabilities of a real run",
        &[
            SCHEDULE,
            SUBSTITUTE,
            ANNOUNCE,
            Field {
                name: "probabilities",
                default: "[]",
                doc: "p per round; when they are over the last one stays",
            },
            Field { name: "file", default: "\"\"", doc: "instead: a file with one number per line" },
        ],
    ),
];

/// The schedules that [`induce`] knows.
pub fn schedules() -> &'static [Entry] {
    SCHEDULES
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct InducedParams {
    schedule: String,
    range: Option<f64>,
    #[serde(default)]
    substitute: Substitute,
    announce: Option<Announce>,
    #[serde(default = "hundred")]
    period: u64,
    #[serde(default = "ten")]
    length: u64,
    #[serde(default)]
    probabilities: Vec<f64>,
    #[serde(default)]
    file: String,
}

fn hundred() -> u64 {
    100
}

fn ten() -> u64 {
    10
}

/// Wraps `world` into E' by the `induced` table of a spec, for a run of `rounds` rounds:
/// `{ schedule = "constant", range = 8 }`.
///
/// # Errors
/// An unknown schedule or key, or a value that cannot be used.
pub fn induce(world: World, params: &toml::Table, rounds: u64) -> Result<World, BuildError> {
    let name = match params.get("schedule") {
        Some(toml::Value::String(name)) => name.as_str(),
        Some(other) => {
            let why = format!("schedule must be a name, but is {other}");
            return Err(BuildError::refused("environment", "induced", why));
        }
        None => {
            let why = "missing field `schedule`".to_owned();
            return Err(BuildError::refused("environment", "induced", why));
        }
    };
    let known = SCHEDULES
        .iter()
        .find(|e| e.name == name)
        .ok_or_else(|| Unknown::new("schedule", name, SCHEDULES.iter().map(|e| e.name)))?;
    let params: InducedParams =
        read(&format!("schedule {name}"), known.fields.iter().map(|f| f.name), params)?;
    let refuse = |e: EnvError| BuildError::refused("environment", format!("induced {name}"), e);
    let announce =
        params.announce.unwrap_or(if name == "staircase" { Announce::Doubling } else { Announce::Known });
    let substitute = params.substitute;
    let schedule = schedule(params).map_err(refuse)?;
    Ok(match world {
        World::Arms(world) => World::Arms(Box::new(
            Induced::new(world, schedule, substitute, announce, rounds).map_err(refuse)?,
        )),
        World::Points(world) => World::Points(Box::new(
            Induced::new(world, schedule, substitute, announce, rounds).map_err(refuse)?,
        )),
    })
}

fn schedule(params: InducedParams) -> Result<Box<dyn Schedule>, EnvError> {
    if params.schedule == "recorded" {
        return Ok(Box::new(Recorded::new(probabilities(params)?)?));
    }
    let Some(range) = params.range else {
        return Err(ParamError::choice("range", "give a number of at least 1").into());
    };
    if !(1.0..f64::INFINITY).contains(&range) {
        return Err(ParamError::new("range", range, "finite and at least 1").into());
    }
    if params.schedule == "bursts" && !(params.period >= 1 && params.length <= params.period) {
        let value = format!("{} of {}", params.length, params.period);
        return Err(ParamError::new("length", value, "at most the period, which is at least 1").into());
    }
    Ok(match params.schedule.as_str() {
        "decay" => Box::new(Decay(range)),
        "half" => Box::new(Half(range)),
        "staircase" => Box::new(Staircase(range)),
        "starve-good" => Box::new(Starve { range, what: StarveWhat::Good }),
        "starve-bad" => Box::new(Starve { range, what: StarveWhat::Bad }),
        "bursts" => Box::new(Bursts { range, period: params.period, length: params.length }),
        _ => Box::new(Constant(range)),
    })
}

/// The list, or the file's numbers.
fn probabilities(params: InducedParams) -> Result<Vec<f64>, EnvError> {
    if params.file.is_empty() {
        return Ok(params.probabilities);
    }
    if !params.probabilities.is_empty() {
        return Err(ParamError::choice("probabilities", "give a list or a file, not both").into());
    }
    let probability = |p: f64| p > 0.0 && p <= 1.0;
    let rows = matrix(&resolve(&params.file), "probability in (0, 1]", probability)?;
    Ok(rows.into_iter().flatten().collect())
}
