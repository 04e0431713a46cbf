//! A spec's text with other values in it.

use super::SpecError;
use super::located::Table;

/// The spec's text after overrides: its `fast` table if asked for, then `key=value` pairs, whose keys are dotted
/// paths (`environment.means=[0.1,0.2]`, `learner.0.master.rate="fast"`) and whose values are TOML.
///
/// # Errors
/// A pair without `=`, a value that is not TOML, a path that leads nowhere.
pub fn overridden(text: &str, fast: bool, pairs: &[(String, String)]) -> Result<String, SpecError> {
    if !fast && pairs.is_empty() {
        return Ok(text.to_owned());
    }
    Table::parse(text)?; // For its line numbers.
    let mut root: toml::Table = toml::from_str(text).map_err(|e| SpecError::whole(e.message()))?;
    if fast && let Some(toml::Value::Table(faster)) = root.remove("fast") {
        root.extend(faster);
    }
    for (key, value) in pairs {
        let new = value_of(key, value)?;
        let mut steps = key.split('.').peekable();
        let mut at =
            root.entry(steps.next().unwrap_or_default()).or_insert(toml::Value::Table(toml::Table::new()));
        for step in steps {
            at = descend(at, step)
                .ok_or_else(|| SpecError::whole(format!("--set {key}: there is no {step:?} on this path")))?;
        }
        *at = new;
    }
    toml::to_string(&root).map_err(SpecError::whole)
}

/// The value of a `key=value` pair: TOML, or else the text itself.
///
/// # Errors
/// Neither.
pub fn value_of(key: &str, value: &str) -> Result<toml::Value, SpecError> {
    let parsed: Option<toml::Table> =
        toml::from_str(&format!("v = {value}")).or_else(|_| toml::from_str(&format!("v = {value:?}"))).ok();
    parsed
        .and_then(|mut table| table.remove("v"))
        .ok_or_else(|| SpecError::whole(format!("--set {key}={value}: the value is not TOML")))
}

fn descend<'a>(at: &'a mut toml::Value, step: &str) -> Option<&'a mut toml::Value> {
    match at {
        toml::Value::Array(items) => items.get_mut(step.parse::<usize>().ok()?),
        toml::Value::Table(table) => {
            Some(table.entry(step).or_insert(toml::Value::Table(toml::Table::new())))
        }
        _ => None,
    }
}
