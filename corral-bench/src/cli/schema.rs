//! `corral schema`: what a spec may say, for editors that complete and check.

use corral_core::registry::Registry;
use serde_json::{Map, Value, json};

use super::{Failure, print};

/// `corral schema`.
///
/// # Errors
/// Standard output is closed.
pub fn schema() -> Result<(), Failure> {
    print(&format!("{:#}\n", spec_schema()))
}

/// The JSON Schema of a spec. Names, sentences, defaults and bounds of parameters are those of the registries.
pub fn spec_schema() -> Value {
    let common = json!({
        "label": { "type": "string", "description": "Its name in reports." },
    });
    let base_keys = json!({
        "label": { "type": "string", "description": "Its name in reports." },
        "smoothed": { "type": "boolean", "description": "Every second round of its own it plays a past policy." },
        "isolate": { "type": "boolean", "description": "A plugin runs in a process of its own." },
        "master": { "$ref": "#/$defs/master" },
        "bases": { "$ref": "#/$defs/bases" },
    });
    let master_keys = json!({
        "credit": { "enum": ["chosen", "same-decision", "likelihood"], "description": "How the master credits a loss." },
        "feed": { "enum": ["weighted", "raw", "everyone"], "description": "What the bases learn." },
        "cut": { "type": "number", "minimum": 1, "description": "Weights above this are cut before bases learn." },
    });
    let world_keys = json!({
        "label": { "type": "string", "description": "Its name in reports." },
        "band": { "type": "string", "description": "The band that masters without bases are over here." },
        "induced": { "type": "object", "description": "E' around it." },
        "delay": { "type": "object", "description": "When losses arrive." },
        "rescale": { "type": "array", "items": { "type": "number" }, "description": "[low, high] of its losses." },
    });
    let any_base =
        json!({ "type": "string", "description": "A base by name, a band, or `file/base` of a plugin." });
    json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "A spec of corral",
        "type": "object",
        "properties": {
            "name": { "type": "string", "description": "What the report calls it." },
            "asks": { "type": "string", "description": "The question, in a sentence." },
            "rounds": { "description": "How many rounds to play; a list runs each.",
                        "anyOf": [{ "type": "integer", "minimum": 1 }, { "type": "array", "items": { "type": "integer", "minimum": 1 } }] },
            "seeds": { "type": "integer", "minimum": 1, "description": "How many seeds, from 0 on." },
            "environment": { "anyOf": [{ "$ref": "#/$defs/environment" }, { "type": "array", "items": { "$ref": "#/$defs/environment" } }] },
            "learner": { "type": "array", "items": { "$ref": "#/$defs/learner" } },
            "bands": { "type": "object", "description": "Lists of bases by name.", "additionalProperties": { "$ref": "#/$defs/bases" } },
        },
        "required": ["rounds"],
        "$defs": {
            "environment": one_of(&corral_envs::REGISTRY, &world_keys),
            "base": { "anyOf": [any_base, one_of(&corral_bases::REGISTRY, &base_keys)] },
            "bases": { "anyOf": [{ "type": "string" }, { "type": "array", "items": { "$ref": "#/$defs/base" } }] },
            "master": { "anyOf": [{ "type": "string" }, one_of(&corral_core::masters::REGISTRY, &master_keys)] },
            "learner": {
                "type": "object",
                "properties": merged(&common, json!({
                    "base": { "$ref": "#/$defs/base" },
                    "master": { "$ref": "#/$defs/master" },
                    "bases": { "$ref": "#/$defs/bases" },
                    "alone": { "type": "string", "description": "Each base of this band by itself." },
                    "copies": { "description": "How many of each base, or \"log-rounds\"." },
                })),
            },
        },
    })
}

/// A table with a name of `registry`, its own keys, and those that all of them take.
fn one_of<B>(registry: &Registry<B>, common: &Value) -> Value {
    let variants: Vec<Value> = registry
        .rows()
        .map(|row| {
            let own = (row.schema)();
            let mut properties = merged(common, own.get("properties").cloned().unwrap_or_else(|| json!({})));
            let mut required = vec![json!("name")];
            required.extend(own.get("required").and_then(Value::as_array).into_iter().flatten().cloned());
            properties["name"] = json!({ "const": row.entry.name, "description": row.entry.summary });
            json!({ "type": "object", "title": row.entry.name, "properties": properties, "required": required })
        })
        .collect();
    json!({ "anyOf": variants })
}

fn merged(common: &Value, own: Value) -> Value {
    let mut all: Map<String, Value> = common.as_object().cloned().unwrap_or_default();
    if let Value::Object(own) = own {
        all.extend(own);
    }
    Value::Object(all)
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
}
