//! What requests and answers look like.

use serde::{Deserialize, Serialize};

use crate::error::ServeError;
use crate::serving::{Answer, Question};
use crate::spec::BandSpec;

use super::offer::{self, Offered};

/// A request for a decision.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(super) struct Choose {
    features: Vec<f64>,
    actions: Option<Vec<Offered>>,
    unit: Option<String>,
    key: Option<String>,
    pub store: bool,
}

/// The longest text that a client may name something by.
const LONGEST: usize = 256;

impl Choose {
    pub fn question(self, spec: &BandSpec) -> Result<Question, ServeError> {
        for (what, text) in [("unit", &self.unit), ("key", &self.key)] {
            if text.as_ref().is_some_and(|text| text.len() > LONGEST) {
                return Err(ServeError::Asked(format!("{what} has more than {LONGEST} bytes")));
            }
        }
        let (context, names) = offer::context(spec, self.features, self.actions)?;
        Ok(Question { context, names, unit: self.unit, key: self.key })
    }
}

/// A decision.
#[derive(Debug, Serialize)]
pub(super) struct Chosen {
    action: serde_json::Value,
    index: u32,
    propensity: Option<f64>,
    token: String,
    id: String,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    default: bool,
    stale_ms: u64,
}

impl Chosen {
    pub fn of(answer: Answer, spec: &BandSpec, stale_ms: u64) -> Self {
        let Answer { chosen, action: index, name, default } = answer;
        let name = name.or_else(|| spec.actions.name(index as usize).map(str::to_owned));
        Self {
            action: name.map_or_else(|| index.into(), Into::into),
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
#[serde(deny_unknown_fields)]
pub(super) struct Reward {
    #[serde(default)]
    pub token: Option<String>,
    #[serde(default)]
    pub id: Option<String>,
    pub reward: f64,
}

/// A change of bases.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct ChangeBase {
    pub change: corral_log::Change,
    pub name: String,
    #[serde(default)]
    pub share: Option<f64>,
    #[serde(default)]
    pub params: Option<serde_json::Value>,
}

/// The status that answers an error.
pub(super) fn status(error: &ServeError) -> u16 {
    match error {
        ServeError::AlreadyRewarded(_) => 409,
        ServeError::Late(_) => 410,
        ServeError::UnknownId(_) => 404,
        ServeError::Quota(_) => 429,
        ServeError::Full { .. }
        | ServeError::Store(_)
        | ServeError::Damaged { .. }
        | ServeError::Model(_) => 503,
        _ => 422,
    }
}
