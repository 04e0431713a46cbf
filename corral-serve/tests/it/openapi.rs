//! The document of the service, held against the routes, and every answer of every test against the document.

use std::collections::BTreeSet;
use std::sync::LazyLock;

use corral_serve::http::Limits;
use serde_json::{Value, json};

use crate::common::SPEC;
use crate::web::Running;

const ROUTES: &str = include_str!("../../src/http/mod.rs");
const DOCUMENT: &str = include_str!("../../src/http/openapi.json");
const PAGE: &str = include_str!("../../src/http/page.html");

static READ: LazyLock<Value> = LazyLock::new(|| serde_json::from_str(DOCUMENT).unwrap());

/// What a reference leads to.
fn followed(value: &'static Value) -> &'static Value {
    match value["$ref"].as_str() {
        Some(place) => READ.pointer(place.strip_prefix('#').unwrap()).unwrap_or_else(|| panic!("{place}")),
        None => value,
    }
}

/// The documented path that a request is for.
fn documented(asked: &str) -> Option<(&'static str, &'static Value)> {
    let asked: Vec<_> = asked.split('?').next().unwrap().split('/').collect();
    let fits = |path: &str| {
        let path: Vec<_> = path.split('/').collect();
        path.len() == asked.len() && path.iter().zip(&asked).all(|(p, a)| p == a || *p == "{name}")
    };
    READ["paths"].as_object().unwrap().iter().find(|(path, _)| fits(path)).map(|(path, of)| (&**path, of))
}

/// Passes over an answer that the document describes: its status, its kind and, where it is JSON, every field of it.
pub fn check(method: &str, asked: &str, status: u16, kind: &str, body: &[u8]) {
    let Some((path, methods)) = documented(asked) else {
        return assert_eq!(status, 404, "{method} {asked}");
    };
    let operation = &methods[method.to_ascii_lowercase()];
    if operation.is_null() {
        return assert_eq!(status, 405, "{method} {path}");
    }
    let answer = &operation["responses"][status.to_string()];
    assert!(!answer.is_null(), "{method} {path} answers {status}, which is not documented");
    let kind = kind.split(';').next().unwrap();
    let content = &followed(answer)["content"][kind];
    assert!(!content.is_null(), "{method} {path} answers {status} as {kind:?}, which is not documented");
    if kind == "application/json" {
        let body: Value = serde_json::from_slice(body).unwrap();
        if let Err(why) = fits(&content["schema"], &body) {
            panic!("{method} {path} answers {status} with {body}: {why}");
        }
    }
}

/// Whether a value is what a schema says. Of an object that lists its properties there may be no others.
fn fits(schema: &'static Value, value: &Value) -> Result<(), String> {
    let Some(rules) = followed(schema).as_object() else { return Ok(()) };
    for (rule, says) in rules {
        let number = |holds: fn(f64, f64) -> bool, found: Option<f64>| {
            found.is_none_or(|found| holds(found, says.as_f64().unwrap()))
        };
        let size = value.as_array().map(|list| list.len() as f64);
        let holds = match &**rule {
            "type" => {
                let is = |name: &Value| match name.as_str().unwrap() {
                    "null" => value.is_null(),
                    "boolean" => value.is_boolean(),
                    "string" => value.is_string(),
                    "number" => value.is_number(),
                    "integer" => value.is_i64() || value.is_u64(),
                    "array" => value.is_array(),
                    "object" => value.is_object(),
                    other => panic!("type {other}"),
                };
                says.as_array().map_or_else(|| is(says), |names| names.iter().any(is))
            }
            "enum" => says.as_array().unwrap().contains(value),
            "const" => says == value,
            "anyOf" => says.as_array().unwrap().iter().any(|one| fits(one, value).is_ok()),
            "oneOf" => says.as_array().unwrap().iter().filter(|one| fits(one, value).is_ok()).count() == 1,
            "items" => {
                value.as_array().into_iter().flatten().try_for_each(|item| fits(says, item))?;
                true
            }
            "minItems" => number(|found, least| found >= least, size),
            "maxItems" => number(|found, most| found <= most, size),
            "minimum" => number(|found, least| found >= least, value.as_f64()),
            "required" => {
                says.as_array().unwrap().iter().all(|key| {
                    value.as_object().is_none_or(|object| object.contains_key(key.as_str().unwrap()))
                })
            }
            "properties" => {
                for (key, value) in value.as_object().into_iter().flatten() {
                    let schema = says.get(key).ok_or_else(|| format!("{key:?} is not documented"))?;
                    fits(schema, value).map_err(|why| format!("{key}: {why}"))?;
                }
                true
            }
            // They say nothing of a value.
            "description" | "format" | "title" => true,
            other => panic!("the rule {other:?} of a schema is not checked"),
        };
        if !holds {
            return Err(format!("it breaks {rule}: {says}"));
        }
    }
    Ok(())
}

#[test]
fn an_answer_that_is_not_documented_is_noticed() {
    let answer = |status, kind: &str, body: Value| {
        let body = body.to_string();
        let checked = || check("POST", "/v1/bands/x/reward", status, kind, body.as_bytes());
        std::panic::catch_unwind(std::panic::AssertUnwindSafe(checked)).is_ok()
    };
    let json = "application/json";
    assert!(answer(200, json, json!({ "status": 200 })));
    assert!(!answer(201, json, json!({ "status": 200 })), "another status");
    assert!(!answer(200, "text/plain", json!({ "status": 200 })), "another kind");
    assert!(!answer(200, json, json!({ "status": "200" })), "another type");
    assert!(!answer(200, json, json!({})), "a field is missing");
    assert!(!answer(200, json, json!({ "status": 200, "more": 1 })), "a field too many");
    assert!(!answer(409, json, json!({ "status": 409 })), "no reason");
}

#[test]
fn every_route_is_documented_and_every_documented_path_is_a_route() {
    let paths = READ["paths"].as_object().unwrap().iter();
    let documented: BTreeSet<(String, String)> = paths
        .flat_map(|(path, of)| of.as_object().unwrap().keys().map(|m| (path.clone(), m.clone())))
        .collect();
    let mut routes = BTreeSet::new();
    for route in ROUTES.split(".route(\"").skip(1) {
        let (path, handlers) = route.split_once('"').unwrap();
        let handlers = handlers.lines().next().unwrap();
        for method in ["get", "post", "put", "patch", "delete"] {
            if handlers.contains(&format!("{method}(")) {
                routes.insert((path.to_owned(), method.to_owned()));
            }
        }
    }
    assert!(routes.len() > 10, "{routes:?}");
    assert_eq!(routes, documented);
}

/// Each status of each path is met: nothing is documented that does not happen.
#[test]
fn what_is_documented_happens() {
    // Without a learner, after five seconds.
    const SLOW: &[(&str, u16)] = &[("/v1/bands/{name}/bases", 202)];
    let folder = tempfile::tempdir().unwrap();
    let clients = ["decide", "reward", "read", "admin"].map(|role| {
        format!("[[client]]\nname = \"{role}\"\nsecret = \"a client who may {role}\"\nroles = [\"{role}\"]\n")
    });
    let limits = Limits { body: 2_000, ..Limits::default() };
    let hasty = SPEC.replace("\"shop\"", "\"hasty\"");
    let spec = format!("[[band]]{SPEC}quota = 20\nlog_decisions = true\n[[band]]{hasty}patience = 0\n");
    let mut running = Running::start(&spec, folder.path(), &clients.concat(), limits);
    let mut met = BTreeSet::new();
    let mut client = running.client();
    let mut ask = |method: &str, asked: &str, role: &str, body: &str| {
        let bearer = format!("Authorization: Bearer a client who may {role}\r\n");
        let (status, answer) = client.raw(method, asked, &bearer, body).unwrap();
        met.insert((documented(asked).unwrap().0, method.to_ascii_lowercase(), status));
        (status, serde_json::from_str(&answer).unwrap_or(Value::Null))
    };
    let choose = "/v1/bands/shop/choose";
    let reward = "/v1/bands/shop/reward";
    let (_, chosen) = ask("POST", choose, "decide", "{}");
    let given = json!({ "token": chosen["token"], "reward": 1 }).to_string();
    assert_eq!(ask("POST", reward, "reward", &given).0, 200);
    assert_eq!(ask("POST", reward, "reward", &given).0, 409);
    let (_, old) = ask("POST", "/v1/bands/hasty/choose", "decide", "{}");
    std::thread::sleep(std::time::Duration::from_millis(5));
    let late = json!({ "token": old["token"], "reward": 1 }).to_string();
    assert_eq!(ask("POST", "/v1/bands/hasty/reward", "reward", &late).0, 410);
    assert_eq!(ask("POST", reward, "reward", r#"{"id": "0000000000000007-1-1", "reward": 1}"#).0, 404);
    for path in ["/", "/health", "/ready", "/openapi.json", "/metrics", "/v1/bands"] {
        ask("GET", path, "read", "");
    }
    for path in ["report", "bases", "log", "log?of=decisions", "report?format=text", "report?format=html"] {
        assert_eq!(ask("GET", &format!("/v1/bands/shop/{path}"), "read", "").0, 200);
    }
    assert_eq!(ask("GET", "/v1/bands/shop/report?format=pdf", "read", "").0, 422);
    assert_eq!(ask("GET", "/v1/bands/shop/log?of=pdf", "read", "").0, 422);
    assert_eq!(ask("POST", "/v1/bands/shop/choose/batch", "decide", "[{}, {\"unit\": 1}]").0, 422);
    assert_eq!(ask("POST", "/v1/bands/shop/choose/batch", "decide", "[{}, {\"features\": [1]}]").0, 200);
    assert_eq!(ask("POST", "/v1/bands/shop/reward/batch", "reward", &format!("[{given}]")).0, 200);
    let change = r#"{"change": "add", "name": "moss", "share": 0.1}"#;
    assert_eq!(ask("POST", "/v1/bands/shop/bases", "admin", change).0, 200);
    assert_eq!(ask("POST", "/v1/bands/shop/bases", "admin", change).0, 422, "it is there");
    // Every path refuses alike.
    for (path, of) in READ["paths"].as_object().unwrap().iter().filter(|(path, _)| path.contains("/v1/")) {
        for method in of.as_object().unwrap().keys().map(|method| method.to_uppercase()) {
            let here = path.replace("{name}", "shop");
            let other = if path.contains("reward") || method == "GET" { "decide" } else { "reward" };
            let body = if method == "POST" { "{" } else { "" };
            assert_eq!(ask(&method, &here, "nothing", body).0, 401, "{method} {path}");
            assert_eq!(ask(&method, &here, other, body).0, 403, "{method} {path}");
            if path.contains("{name}") {
                for nowhere in ["nowhere", "%FF", "a%2Fb", "%C3%A4%20%F0%9F%98%80"] {
                    let nowhere = path.replace("{name}", nowhere);
                    assert_eq!(ask(&method, &nowhere, "admin", body).0, 404, "{method} {nowhere}");
                }
            }
            if method == "POST" {
                assert_eq!(ask(&method, &here, "admin", body).0, 422, "{path}");
                assert_eq!(ask(&method, &here, "admin", &" ".repeat(5_000)).0, 413, "{path}");
            }
        }
    }
    for (path, role) in [("/metrics", "nothing"), ("/metrics", "decide")] {
        ask("GET", path, role, "");
    }
    let many = format!("[{}]", vec!["{\"reward\": 1}"; 21].join(","));
    while ask("POST", reward, "reward", "{\"token\": \"c2.\", \"reward\": 1}").0 != 429 {}
    assert_eq!(ask("POST", "/v1/bands/shop/reward/batch", "reward", &many).0, 429);
    drop(client);
    running.stop();
    // More connections than there may be, and more requests: every path is answered alike.
    let busy = Limits { connections: 0, ..Limits::default() };
    let hurried = Limits { rate: Some(0), ..Limits::default() };
    for (limits, status) in [(busy, 503), (hurried, 429)] {
        let mut running = Running::start(&spec, folder.path(), "", limits);
        for (path, of) in READ["paths"].as_object().unwrap() {
            for method in of.as_object().unwrap().keys() {
                let asked = path.replace("{name}", "shop");
                let (found, _) = running.client().raw(&method.to_uppercase(), &asked, "", "").unwrap();
                let open = !path.contains("/v1/") && path != "/metrics";
                assert_eq!(found, if open && status == 429 { 200 } else { status }, "{method} {path}");
                met.insert((path.as_str(), method.clone(), found));
            }
        }
        running.stop();
    }
    for (path, of) in READ["paths"].as_object().unwrap() {
        for (method, operation) in of.as_object().unwrap() {
            for status in operation["responses"].as_object().unwrap().keys() {
                let status = status.parse().unwrap();
                let slow = SLOW.contains(&(path.as_str(), status));
                assert!(
                    met.contains(&(path.as_str(), method.clone(), status)) != slow,
                    "{method} {path} {status}"
                );
            }
        }
    }
}

/// The page has nothing from elsewhere, and asks for paths that are there.
#[test]
fn the_page_stands_alone() {
    assert!(!PAGE.contains("src=") && !PAGE.contains("<link") && !PAGE.contains("@import"));
    assert!(PAGE.contains("width=device-width"));
    for path in ["\"/v1/bands\"", "/report?history="] {
        assert!(PAGE.contains(path), "{path}");
    }
}
