//! `corral schema`: what a spec may say, for editors that complete and check.

use clap::ValueEnum;
use corral_core::registry::Registry;
use serde_json::{Value, json};

use crate::{Failure, print, reference};

/// How a schema is printed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Form {
    /// A JSON Schema
    Json,
    /// A page for people: docs/spec.md
    Markdown,
}

/// `corral schema`.
///
/// # Errors
/// Standard output is closed.
pub fn schema(form: Form) -> Result<(), Failure> {
    let schema = spec_schema();
    print(&match form {
        Form::Json => format!("{schema:#}\n"),
        Form::Markdown => reference::page(&schema),
    })
}

/// The JSON Schema of a spec. Names, sentences, defaults and bounds of parameters are those of the registries.
pub fn spec_schema() -> Value {
    let mut schema = corral_lab::spec::schema().clone();
    let defs = &mut schema["$defs"];
    expand(&mut defs["environment"], &corral_envs::REGISTRY);
    expand(&mut defs["base"]["anyOf"][1], &corral_bases::REGISTRY);
    expand(&mut defs["master"]["anyOf"][1], &corral_core::masters::REGISTRY);
    schema
}

/// Turns a table of keys that everything in `registry` takes into one table for each name, which has its own keys too.
fn expand<B>(table: &mut Value, registry: &Registry<B>) {
    let named = registry.rows().map(|row| {
        let (own, mut properties) = ((row.schema)(), table["properties"].clone());
        for (key, property) in own["properties"].as_object().into_iter().flatten() {
            properties[key] = property.clone();
        }
        properties["name"] = json!({ "const": row.entry.name, "description": row.entry.summary });
        let mut required = vec![json!("name")];
        required.extend(own["required"].as_array().into_iter().flatten().cloned());
        json!({ "type": "object", "title": row.entry.name, "properties": properties, "required": required })
    });
    *table = json!({ "anyOf": named.collect::<Vec<_>>() });
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_registered_name_is_in_the_schema_with_its_parameters() {
        let schema = spec_schema();
        let variant = |def: &Value, name: &str| -> Option<Value> {
            let list = def["anyOf"].as_array()?;
            let flat = list.iter().flat_map(|v| v["anyOf"].as_array().into_iter().flatten().chain([v]));
            flat.into_iter().find(|v| v["title"] == name).cloned()
        };
        let exp3 = variant(&schema["$defs"]["base"], "exp3").unwrap();
        assert!(exp3["properties"]["rate"]["description"].is_string(), "{exp3:#}");
        for entry in corral_envs::REGISTRY.entries() {
            assert!(variant(&schema["$defs"]["environment"], entry.name).is_some(), "{}", entry.name);
        }
        for entry in corral_core::masters::REGISTRY.entries() {
            assert!(variant(&schema["$defs"]["master"], entry.name).is_some(), "{}", entry.name);
        }
        let bernoulli = variant(&schema["$defs"]["environment"], "bernoulli").unwrap();
        assert_eq!(bernoulli["required"], json!(["name", "means"]));
    }

    #[test]
    fn every_key_has_a_sentence() {
        let schema = spec_schema();
        let defs = &schema["$defs"];
        for (table, count) in [(&schema, 13), (&defs["learner"], 6), (&defs["claim"], 14)] {
            let properties = table["properties"].as_object().unwrap();
            assert!(properties.values().all(|p| p["description"].is_string()), "{properties:?}");
            assert_eq!(properties.len(), count);
        }
    }
}
