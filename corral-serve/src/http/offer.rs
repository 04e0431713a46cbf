//! The actions that a request offers.

use corral_core::Context;
use serde::Deserialize;

use crate::error::ServeError;
use crate::spec::{ServedSpec, offering};

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

/// One of them, as the band knows it: its number, where the request says which it is.
struct Known {
    number: Option<u32>,
    row: Vec<f64>,
}

impl Offered {
    fn known(self, spec: &ServedSpec) -> Result<Known, String> {
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
        let Some(name) = name else { return Ok(Known { number, row }) };
        match spec.actions.names() {
            // By its place in the request, what was learned of one action would be taken for another.
            [] => Err(format!(
                "{name:?} is a name, where the spec says how many actions there are: write actions = [{name:?}, ...] there, \
                 or offer {}",
                if spec.action_features > 0 { "features without names" } else { "numbers" }
            )),
            names => match names.iter().position(|known| *known == name) {
                Some(number) => Ok(Known { number: Some(number as u32), row }),
                None => Err(format!("there is no action {name:?}; there are: {}", names.join(", "))),
            },
        }
    }
}

/// The context that offers these actions. An action that is named or numbered is that of the spec, wherever it stands in the
/// request; rows without a name are those of all actions, or of the first ones where the spec has no names.
pub(super) fn context(
    spec: &ServedSpec,
    features: Vec<f64>,
    offered: Option<Vec<Offered>>,
) -> Result<Context, ServeError> {
    let Some(offered) = offered else {
        // Without rows of features the band says what is missing.
        return Ok(Context::shared(features, spec.actions.len()));
    };
    let wrong = |i: usize, why: &str| ServeError::Asked(format!("actions[{i}]: {why}"));
    let mut known = Vec::with_capacity(offered.len());
    for (i, action) in offered.into_iter().enumerate() {
        known.push(action.known(spec).map_err(|why| wrong(i, &why))?);
    }
    if known.is_empty() {
        return Err(ServeError::Asked("actions: there must be at least one".into()));
    }
    let named = known[0].number.is_some();
    if let Some(i) = known.iter().position(|action| action.number.is_some() != named) {
        return Err(wrong(i, "either all actions are named or none is"));
    }
    if !named && spec.action_features == 0 {
        let what = if spec.actions.names().is_empty() { "number" } else { "name" };
        return Err(wrong(
            0,
            &format!("the actions of this band have no features: offer each by its {what}"),
        ));
    }
    let (found, all) = (known.len(), spec.actions.len());
    if !named && !spec.actions.names().is_empty() && found != all {
        let why = format!(
            "actions: {found} rows without names, where the band has {all} actions: offer some as {{\"name\", \"features\"}}"
        );
        return Err(ServeError::Asked(why));
    }
    known.sort_by_key(|action| action.number);
    if named && let Some(pair) = known.windows(2).find(|pair| pair[0].number == pair[1].number) {
        let number = pair[0].number.unwrap_or_default();
        let action = spec.actions.name(number as usize).map_or_else(|| number.to_string(), str::to_owned);
        return Err(ServeError::Asked(format!("actions: {action} is offered twice")));
    }
    let (mut numbers, mut rows) = (Vec::new(), Vec::new());
    for action in known {
        numbers.extend(action.number);
        rows.extend(action.row);
    }
    let context = match spec.action_features {
        0 => Context::shared(features, found),
        dim => Context::with_rows(features, rows, dim),
    };
    Ok(offering(context, numbers))
}
