//! The JSON Schema says what the lines are.

use corral_log::{Chain, SCHEMA};
use serde_json::{Value, json};

use crate::common::{every_kind, lines};

/// Whether `value` is what `schema` says, as far as our schema goes: an unknown keyword fails.
fn fits(schema: &Value, value: &Value) -> bool {
    let is = |name: &str| match name {
        "integer" => value.is_u64() || value.is_i64(),
        "number" => value.is_number(),
        "string" => value.is_string(),
        "boolean" => value.is_boolean(),
        "array" => value.is_array(),
        "object" => value.is_object(),
        "null" => value.is_null(),
        _ => panic!("type {name}"),
    };
    let number = |limit: &Value, holds: fn(f64, f64) -> bool| {
        value.as_f64().is_none_or(|v| holds(v, limit.as_f64().unwrap()))
    };
    schema.as_object().unwrap().iter().all(|(key, rule)| match key.as_str() {
        "$schema" | "title" | "description" | "default" => true,
        "const" => value == rule,
        "enum" => rule.as_array().unwrap().contains(value),
        "type" => match rule {
            Value::String(name) => is(name),
            names => names.as_array().unwrap().iter().any(|name| is(name.as_str().unwrap())),
        },
        "minimum" => number(rule, |v, limit| v >= limit),
        "maximum" => number(rule, |v, limit| v <= limit),
        "exclusiveMinimum" => number(rule, |v, limit| v > limit),
        "items" => value.as_array().is_none_or(|list| list.iter().all(|v| fits(rule, v))),
        "required" => rule.as_array().unwrap().iter().all(|key| value.get(key.as_str().unwrap()).is_some()),
        "properties" => {
            rule.as_object().unwrap().iter().all(|(key, rule)| value.get(key).is_none_or(|v| fits(rule, v)))
        }
        "oneOf" => rule.as_array().unwrap().iter().filter(|rule| fits(rule, value)).count() == 1,
        // Lengths and digits are enough of our patterns here: chain values, bands and ids.
        "pattern" => value.as_str().is_some_and(|t| {
            let digits = |t: &str| t.bytes().all(|c| matches!(c, b'0'..=b'9' | b'a'..=b'f'));
            let length = if rule.as_str().unwrap().contains("{32}") { 32 } else { 16 };
            t.len() >= length && digits(&t[..length])
        }),
        other => panic!("keyword {other}"),
    })
}

#[test]
fn every_kind_of_line_fits_and_has_no_further_fields() {
    let schema: Value = serde_json::from_str(SCHEMA).unwrap();
    for line in lines(&every_kind(), Chain::new(0)) {
        let value: Value = serde_json::from_str(&line).unwrap();
        assert!(fits(&schema, &value), "{line}");
        let kind = schema["oneOf"].as_array().unwrap().iter().find(|k| k["title"] == value["kind"]).unwrap();
        for key in value.as_object().unwrap().keys() {
            assert!(kind["properties"].get(key).is_some(), "{key} of {line}");
        }
    }
}

#[test]
fn what_is_no_line_does_not_fit() {
    let schema: Value = serde_json::from_str(SCHEMA).unwrap();
    let id = "fedcba9876543210-3-7";
    let fine = json!({"kind": "both", "id": id, "action": 1, "offered": 2, "reward": 1.0});
    assert!(fits(&schema, &fine));
    for (key, value) in [
        ("kind", json!("wish")),
        ("propensity", json!(0.0)),
        ("propensity", json!(1.5)),
        ("keep", json!(0)),
        ("loss", json!(0.5)),
        ("id", json!("7")),
        ("action", json!("a")),
        ("pbar", json!([2.0])),
    ] {
        let mut bad = fine.clone();
        bad[key] = value;
        assert!(!fits(&schema, &bad), "{bad}");
    }
}

/// Every field of the schema has its line in the page, and the other way round.
#[test]
fn the_page_has_every_field() {
    let page = include_str!("../../../docs/log-format.md");
    let schema: Value = serde_json::from_str(SCHEMA).unwrap();
    for kind in schema["oneOf"].as_array().unwrap() {
        for key in kind["properties"].as_object().unwrap().keys() {
            assert!(page.contains(&format!("`{key}`")), "{key}");
        }
    }
}
