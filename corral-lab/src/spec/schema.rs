//! What a spec may say: `schema.json`, which the reader takes its keys and words from, and `corral schema` the rest.

use std::sync::LazyLock;

use corral_core::params::describe::fields_of;
use serde_json::Value;

static SCHEMA: LazyLock<Value> =
    LazyLock::new(|| serde_json::from_str(include_str!("schema.json")).unwrap_or_default());

/// The JSON Schema of a spec, without the keys that single environments, bases and masters have of their own.
pub fn schema() -> &'static Value {
    &SCHEMA
}

/// The keys of the table at `path` of the schema.
pub(super) fn keys(path: &str) -> Vec<&'static str> {
    let properties = SCHEMA.pointer(path).and_then(|table| table["properties"].as_object());
    properties.into_iter().flat_map(|p| p.keys()).map(String::as_str).collect()
}

/// The words that `key` of the table at `path` may be.
pub(super) fn words(path: &str, key: &str) -> Vec<String> {
    let fields = SCHEMA.pointer(path).map(fields_of).unwrap_or_default();
    fields.into_iter().find(|f| f.name == key).map(|f| f.choices).unwrap_or_default()
}
