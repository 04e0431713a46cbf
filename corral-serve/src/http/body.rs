//! What requests and answers look like.

use serde::{Deserialize, Serialize};

use crate::error::ServeError;
use crate::serving::{Answer, Question};
use crate::spec::{Actions, BandSpec};

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

/// An action that is offered: its features, its name, or both.
#[derive(Debug, Deserialize)]
#[serde(
    untagged,
    expecting = "an action is a list of features, a name, or {\"name\": ..., \"features\": [...]}"
)]
enum Offered {
    Features(Vec<f64>),
    Name(String),
    Both { name: Option<String>, features: Vec<f64> },
}

/// The longest text that a client may name something by.
const LONGEST: usize = 256;

impl Choose {
    /// What is asked, and the names of the actions that are offered, where the request names them.
    pub fn question(self, spec: &BandSpec) -> Result<(Question, Option<Vec<String>>), ServeError> {
        for (what, text) in [("unit", &self.unit), ("key", &self.key)] {
            if text.as_ref().is_some_and(|text| text.len() > LONGEST) {
                return Err(ServeError::Asked(format!("{what} has more than {LONGEST} bytes")));
            }
        }
        let (context, names) = match self.actions {
            None => (spec.context(self.features, None)?, None),
            Some(offered) if spec.action_features == 0 => {
                let first = first_actions(spec, offered)?;
                (corral_core::Context::shared(self.features, first), None)
            }
            Some(offered) => {
                let (mut rows, mut names) = (Vec::with_capacity(offered.len()), Vec::new());
                for action in offered {
                    match action {
                        Offered::Features(row) => rows.push(row),
                        Offered::Both { name, features } => {
                            names.extend(name);
                            rows.push(features);
                        }
                        Offered::Name(name) => {
                            return Err(ServeError::Asked(format!(
                                "action {name:?} comes without its features"
                            )));
                        }
                    }
                }
                let named = names.len() == rows.len();
                (spec.context(self.features, Some(rows))?, named.then_some(names))
            }
        };
        Ok((Question { context, unit: self.unit, key: self.key }, names))
    }
}

/// How many of the first actions of a spec are offered: by their names, in the order of the spec.
fn first_actions(spec: &BandSpec, offered: Vec<Offered>) -> Result<usize, ServeError> {
    let Actions::Names(names) = &spec.actions else {
        return Err(ServeError::Asked("actions: this band has neither names nor features of actions".into()));
    };
    for (i, action) in offered.iter().enumerate() {
        let Offered::Name(name) = action else {
            return Err(ServeError::Asked("actions: this band has no features of actions, but names".into()));
        };
        if names.get(i) != Some(name) {
            return Err(ServeError::Asked(format!(
                "actions[{i}] is {name:?}: a band without features of actions is offered the first actions of its spec, in order"
            )));
        }
    }
    Ok(offered.len())
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
    pub fn of(answer: Answer, spec: &BandSpec, names: Option<Vec<String>>, stale_ms: u64) -> Self {
        let Answer { chosen, default } = answer;
        let index = chosen.decision.0;
        let offered = names.and_then(|mut names| {
            ((index as usize) < names.len()).then(|| names.swap_remove(index as usize))
        });
        let name = offered.or_else(|| spec.actions.name(index as usize).map(str::to_owned));
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
