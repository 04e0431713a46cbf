//! The actions that a request offers.

use corral_core::Context;
use serde::Deserialize;

use crate::error::ServeError;
use crate::spec::{BandSpec, offering};

/// An action that is offered: its name or number, its features, or both.
#[derive(Debug, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema), schemars(inline))]
#[serde(
    untagged,
    expecting = "an action is a name, a number, a list of features, or {\"name\": ..., \"features\": [...]}"
)]
pub(super) enum Offered {
    Number(u32),
    Name(String),
    Features(Vec<f64>),
    Both { name: Option<String>, features: Vec<f64> },
}

/// One of them, as the band knows it: its number, where the request says which it is, and its name, where only the request
/// has one.
struct Known {
    number: Option<u32>,
    name: Option<String>,
    row: Vec<f64>,
}

impl Offered {
    fn known(self, spec: &BandSpec) -> Result<Known, String> {
        let (name, number, row) = match self {
            Self::Number(number) => (None, Some(number), Vec::new()),
            Self::Name(name) => (Some(name), None, Vec::new()),
            Self::Features(row) => (None, None, row),
            Self::Both { name, features } => (name, None, features),
        };
        if row.len() != spec.action_features {
            let (given, asked) = (row.len(), spec.action_features);
            return Err(format!("it has {given} features, where the spec says action_features = {asked}"));
        }
        if let Some(number) = number.filter(|n| *n as usize >= spec.actions.len()) {
            return Err(format!("there is no action {number}: the band has {}", spec.actions.len()));
        }
        let Some(name) = name else { return Ok(Known { number, name, row }) };
        match spec.actions.names() {
            // The request knows what its rows are called.
            [] => Ok(Known { number: None, name: Some(name), row }),
            names => match names.iter().position(|known| *known == name) {
                Some(number) => Ok(Known { number: Some(number as u32), name: None, row }),
                None => Err(format!("there is no action {name:?}; there are: {}", names.join(", "))),
            },
        }
    }
}

/// The context that offers these actions, and their names where only the request has them. An action that is named or numbered
/// is that of the spec, wherever it stands in the request; rows without a name are the first actions.
pub(super) fn context(
    spec: &BandSpec,
    features: Vec<f64>,
    offered: Option<Vec<Offered>>,
) -> Result<(Context, Vec<String>), ServeError> {
    let Some(offered) = offered else {
        // Without rows of features the band says what is missing.
        return Ok((Context::shared(features, spec.actions.len()), Vec::new()));
    };
    let wrong = |i: usize, why: &str| ServeError::Asked(format!("actions[{i}]: {why}"));
    let mut known = Vec::with_capacity(offered.len());
    for (i, action) in offered.into_iter().enumerate() {
        known.push(action.known(spec).map_err(|why| wrong(i, &why))?);
    }
    if known.is_empty() {
        return Err(ServeError::Asked("actions: there must be at least one".into()));
    }
    let kind = |action: &Known| (action.number.is_some(), action.name.is_some());
    if let Some(i) = known.iter().position(|action| kind(action) != kind(&known[0])) {
        return Err(wrong(i, "either all actions are named or none is"));
    }
    let named = known[0].number.is_some();
    if !named && spec.action_features == 0 {
        let what = if spec.actions.names().is_empty() { "number" } else { "name" };
        return Err(wrong(
            0,
            &format!("the actions of this band have no features: offer each by its {what}"),
        ));
    }
    known.sort_by_key(|action| action.number);
    if named && let Some(pair) = known.windows(2).find(|pair| pair[0].number == pair[1].number) {
        let number = pair[0].number.unwrap_or_default();
        let action = spec.actions.name(number as usize).map_or_else(|| number.to_string(), str::to_owned);
        return Err(ServeError::Asked(format!("actions: {action} is offered twice")));
    }
    let (mut numbers, mut names, mut rows) = (Vec::new(), Vec::new(), Vec::new());
    let count = known.len();
    for action in known {
        numbers.extend(action.number);
        names.extend(action.name);
        rows.extend(action.row);
    }
    let context = match spec.action_features {
        0 => Context::shared(features, count),
        dim => Context::with_rows(features, rows, dim),
    };
    Ok((offering(context, numbers), names))
}
