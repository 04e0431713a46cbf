//! `corral schema`: what a spec may say, for editors that complete and check.

use clap::ValueEnum;
use corral_core::registry::Registry;
use serde_json::{Map, Value, json};

use super::{Failure, print, reference};

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
    let common = json!({
        "label": { "type": "string", "description": "Its name in reports." },
    });
    let base_keys = json!({
        "label": { "type": "string", "description": "Its name in reports." },
        "rescaled": { "type": "boolean", "description": "It learns losses divided by the range of their weights, 0 where it was not played." },
        "smoothed": { "type": "boolean", "description": "Every second round of its own it plays a past policy." },
        "isolate": { "type": "boolean", "description": "A plugin runs in a process of its own." },
        "grid": { "type": ["object", "array"], "description": "Keys with lists of values or { from, to, points, scale }: a base for each combination." },
        "master": { "$ref": "#/$defs/master" },
        "bases": { "$ref": "#/$defs/bases" },
    });
    let master_keys = json!({
        "credit": { "enum": ["chosen", "same-decision", "likelihood"], "description": "How the master credits a loss." },
        "feed": { "enum": ["weighted", "raw", "everyone"], "description": "What the bases learn." },
        "cut": { "type": "number", "minimum": 1, "description": "Weights above this are cut before bases learn." },
        "guard": { "type": "boolean", "description": "Whether arms that nobody looks at are played now and then: under likelihood credit, where there are no contexts." },
    });
    let world_keys = json!({
        "label": { "type": "string", "description": "Its name in reports." },
        "band": { "type": "string", "description": "The band that masters without bases are over here." },
        "induced": { "type": "object", "description": "E' around it." },
        "delay": { "type": "object", "description": "When losses arrive." },
        "rescale": { "type": ["array", "object"], "items": { "type": "number" }, "description": "[low, high] of its losses, clipped; or { low, high, clip, rewards }." },
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
            "seeds": { "description": "How many seeds, from 0 on; or which, as in \"400..408\": 400 to 407.",
                       "anyOf": [{ "type": "integer", "minimum": 1 }, { "type": "string", "pattern": "^[0-9]+\\.\\.[0-9]+$" }] },
            "environment": { "description": "The worlds: a name, one table, or [[environment]] tables.", "anyOf": [{ "type": "string" }, { "$ref": "#/$defs/environment" }, { "type": "array", "items": { "$ref": "#/$defs/environment" } }] },
            "induced": { "type": "object", "description": "E' around every environment: `schedule` and its keys." },
            "delay": { "type": ["string", "object"], "description": "When losses arrive, in every environment: `name` and its keys, or a name alone." },
            "learner": { "type": "array", "description": "Who is run: [[learner]] tables.", "items": { "$ref": "#/$defs/learner" } },
            "claim": { "type": "array", "description": "What is expected: [[claim]] tables, held against the results.",
                       "items": { "$ref": "#/$defs/claim" } },
            "sweep": { "type": "object", "description": "Keys with many values: paths of keys, each with a list or { from, to, points }.",
                       "properties": { "zip": { "type": "boolean", "default": false,
                           "description": "The first values go together, and the second ones; else all combinations are run." } } },
            "fast": { "type": "object", "description": "Keys that `--fast` sets instead." },
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
                    "base": { "$ref": "#/$defs/base", "description": "A base alone." },
                    "master": { "$ref": "#/$defs/master", "description": "A master over `bases`, by name or with its keys." },
                    "bases": { "$ref": "#/$defs/bases", "description": "The name of a band, or a list of bases; none: the band of each environment." },
                    "alone": { "type": "string", "description": "Each base of this band by itself." },
                    "copies": { "default": 1, "description": "How many of each base, or \"log-rounds\"." },
                })),
            },
            "claim": { "type": "object", "properties": claim_keys() },
        },
    })
}

/// What a claim may say (docs/claims.md).
fn claim_keys() -> Value {
    let labels = |what: &str| json!({ "anyOf": [{ "type": "string" }, { "type": "array", "items": { "type": "string" } }], "description": what });
    json!({
        "text": { "type": "string", "description": "The claim in words." },
        "learner": labels("A label or a list of labels; each is held to the claim."),
        "measure": { "description": "What is measured.", "default": "regret", "oneOf": [
            { "const": "regret", "description": "mean regret over seeds" },
            { "const": "per-round", "description": "mean regret divided by the horizon" },
            { "const": "ratio", "description": "mean regret over that of `than`" },
            { "const": "difference", "description": "mean regret less that of `than`" },
            { "const": "exponent", "description": "slope of log regret against log horizon" },
            { "const": "mean-gap", "description": "loss per round above the best base alone, mean over environments" },
            { "const": "worst-gap", "description": "loss per round above the best base alone, where it is largest" },
            { "const": "audit", "description": "largest left side over right side of the pathwise theorem" },
        ] },
        "than": { "type": "string", "description": "The learner to compare with." },
        "environment": labels("A label or a list of labels; unset: every environment."),
        "rounds": { "type": "integer", "description": "The horizon that it is about; unset: the longest." },
        "at-most": { "type": "number", "description": "The figure is at most this." },
        "at-least": { "type": "number", "description": "The figure is at least this." },
        "logarithms": { "type": "number", "description": "For an exponent: regret is divided by (ln T) to this power first." },
        "published": { "type": "number", "description": "A published mean of the same figure, in place of a bound." },
        "error": { "type": "number", "description": "Its standard error; unset: one's own." },
        "unlikely": { "type": "string", "description": "Why it is not expected to show at this length." },
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

    #[test]
    fn every_key_that_is_read_is_in_the_schema() {
        use crate::spec::{CLAIM_KEYS, LEARNER_KEYS, SPEC_KEYS};
        let schema = spec_schema();
        let defs = &schema["$defs"];
        for (keys, table) in
            [(SPEC_KEYS, &schema), (LEARNER_KEYS, &defs["learner"]), (CLAIM_KEYS, &defs["claim"])]
        {
            let described: Vec<&String> = table["properties"].as_object().unwrap().keys().collect();
            assert!(keys.iter().all(|k| table["properties"][k]["description"].is_string()), "{described:?}");
            assert_eq!(described.len(), keys.len(), "{described:?}");
        }
    }
}
