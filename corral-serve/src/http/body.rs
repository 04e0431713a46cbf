//! What requests and answers look like. `openapi.rs` writes the document of the service from these types, in a test.

use serde::{Deserialize, Serialize};

#[cfg(test)]
use schemars::JsonSchema;

use crate::error::ServeError;
use crate::serving::{Answer, Question};
use crate::spec::ServedSpec;

use super::offer::{self, Offered};

/// A request for a decision.
#[derive(Debug, Default, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(deny_unknown_fields, default)]
pub(super) struct Choose {
    /// What is known before deciding.
    features: Vec<f64>,
    /// The actions that are offered, in any order; all where it is left out. A name or a number is that of the spec; where actions
    /// have features, each brings them. Features without names are those of all actions, or of the first ones of a band without names.
    #[cfg_attr(test, schemars(length(min = 1)))]
    actions: Option<Vec<Offered>>,
    /// For whom: a user, a session.
    #[cfg_attr(test, schemars(length(max = LONGEST)))]
    unit: Option<String>,
    /// A request with the same key is given the same answer.
    #[cfg_attr(test, schemars(length(max = LONGEST)))]
    key: Option<String>,
    /// Whether the service keeps the ticket, so that the reward can be brought by the id.
    pub store: bool,
}

/// The longest text that a client may name something by.
const LONGEST: usize = 256;

impl Choose {
    pub fn question(self, spec: &ServedSpec) -> Result<Question, ServeError> {
        for (what, text) in [("unit", &self.unit), ("key", &self.key)] {
            if text.as_ref().is_some_and(|text| text.len() > LONGEST) {
                return Err(ServeError::Asked(format!("{what} has more than {LONGEST} bytes")));
            }
        }
        let context = offer::context(spec, self.features, self.actions)?;
        Ok(Question { context, unit: self.unit, key: self.key })
    }
}

/// A decision.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(JsonSchema))]
pub(super) struct Chosen {
    /// Its name, or its index where it has none.
    action: Action,
    /// Its number in the spec.
    index: u32,
    /// The probability with which it was chosen.
    propensity: Option<f64>,
    /// What the reward is brought with.
    token: String,
    /// Which decision it is: of which band, by which front end, and its number there.
    id: String,
    /// Whether this is the default action, and not a decision of the band.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    default: bool,
    /// For how long a reward has waited that was taken here and is not yet learned.
    stale_ms: u64,
}

/// An action.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(JsonSchema), schemars(inline))]
#[serde(untagged)]
enum Action {
    Name(String),
    Index(u32),
}

impl Chosen {
    pub fn of(answer: Answer, spec: &ServedSpec, stale_ms: u64) -> Self {
        let Answer { chosen, action: index, default } = answer;
        let name = spec.actions.name(index as usize).map(str::to_owned);
        Self {
            action: name.map_or(Action::Index(index), Action::Name),
            index,
            propensity: chosen.propensity,
            token: chosen.token,
            id: chosen.id.to_string(),
            default,
            stale_ms,
        }
    }
}

/// A reward.
#[derive(Debug, Deserialize)]
#[cfg_attr(test, derive(JsonSchema), schemars(transform = super::openapi::token_or_id))]
#[serde(deny_unknown_fields)]
pub(super) struct Reward {
    /// The token of the decision,
    #[serde(default)]
    pub token: Option<String>,
    /// or its id, where the service keeps the ticket.
    #[serde(default)]
    pub id: Option<String>,
    /// What the decision has earned, in the range of the spec.
    pub reward: f64,
}

/// A change of bases.
#[derive(Debug, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
#[serde(deny_unknown_fields)]
pub(super) struct ChangeBase {
    /// What is to happen.
    #[cfg_attr(test, schemars(schema_with = "super::openapi::changes"))]
    pub change: corral_log::Change,
    /// The name of the base.
    #[cfg_attr(test, schemars(length(min = 1)))]
    pub name: String,
    /// With which probability it is followed at first.
    #[serde(default)]
    pub share: Option<f64>,
    /// The base, as in a spec; unset: of this name, without keys.
    #[serde(default)]
    pub params: Option<serde_json::Value>,
}

/// The process answers.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(JsonSchema))]
pub(super) struct Health {
    /// `ok`.
    pub status: &'static str,
}

/// Whether every band is ready.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(JsonSchema))]
pub(super) struct Readiness<'a> {
    /// All are.
    pub ready: bool,
    /// Those that are not.
    pub bands: Vec<Unready<'a>>,
}

/// A band that is not ready.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(JsonSchema), schemars(inline))]
pub(super) struct Unready<'a> {
    /// Its name.
    pub band: &'a str,
    /// What it waits for.
    pub why: String,
}

/// The bands of the service.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(JsonSchema))]
pub(super) struct Bands<'a> {
    /// Their names.
    pub bands: Vec<&'a str>,
}

/// It is done.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(JsonSchema))]
pub(super) struct Done {
    /// 200.
    pub status: u16,
}

/// It is written, and does not hold yet.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(JsonSchema))]
pub(super) struct Accepted {
    /// 202.
    pub status: u16,
    /// What it waits for.
    pub note: &'static str,
}

/// The bases of a band.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(JsonSchema))]
pub(super) struct Bases {
    /// Each, in order.
    pub bases: Vec<corral_core::BaseMetrics>,
}

/// The bases after a change.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(JsonSchema))]
pub(super) struct Changed {
    /// 200.
    pub status: u16,
    /// Each, in order.
    pub bases: Vec<corral_core::BaseMetrics>,
}

/// Why it was not done: nothing has changed.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(JsonSchema))]
pub(super) struct Error {
    /// The status of the answer, or in a batch that of this request.
    pub status: u16,
    /// What is wrong.
    pub error: String,
}

impl From<&ServeError> for Error {
    fn from(error: &ServeError) -> Self {
        Self { status: status(error), error: error.to_string() }
    }
}

/// What became of one request of a batch.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(JsonSchema), schemars(inline))]
#[serde(untagged)]
pub(super) enum Each<T> {
    Done(T),
    Refused(Error),
}

impl<T> From<Result<T, ServeError>> for Each<T> {
    fn from(result: Result<T, ServeError>) -> Self {
        result.map_or_else(|error| Self::Refused((&error).into()), Self::Done)
    }
}

/// The status that answers an error.
pub(super) fn status(error: &ServeError) -> u16 {
    match error {
        ServeError::AlreadyRewarded(_) => 409,
        ServeError::Late(_) => 410,
        ServeError::UnknownId(_) => 404,
        ServeError::Quota(_) => 429,
        ServeError::Full { .. }
        | ServeError::Stale(_)
        | ServeError::Store(_)
        | ServeError::Damaged { .. }
        | ServeError::Model(_) => 503,
        _ => 422,
    }
}
