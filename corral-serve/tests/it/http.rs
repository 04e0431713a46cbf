//! The service over HTTP, on loopback.

use std::time::Duration;

use corral_serve::http::{self, Clients, Limits};
use serde_json::{Value, json};

use crate::common::SPEC;
use crate::web::Running;

const CHOOSE: &str = "/v1/bands/shop/choose";
const REWARD: &str = "/v1/bands/shop/reward";

#[test]
fn choose_and_reward_answer_as_other_programs_expect() {
    let folder = tempfile::tempdir().unwrap();
    let mut running = Running::start(SPEC, folder.path(), "", Limits::default());
    let mut client = running.client();
    let (status, chosen) = client.post(CHOOSE, &json!({ "features": [], "unit": "u1" }));
    assert_eq!(status, 200, "{chosen}");
    assert!(["a", "b", "c"].contains(&chosen["action"].as_str().unwrap()));
    assert!(chosen["propensity"].as_f64().unwrap() > 0.0 && chosen["id"].is_string());
    let token = &chosen["token"];
    assert_eq!(client.post(REWARD, &json!({ "token": token, "reward": 5 })).0, 200);
    assert_eq!(client.post(REWARD, &json!({ "token": token, "reward": 5 })).0, 409);
    for (path, body, expected) in [
        ("/v1/bands/nowhere/choose", json!({}), 404),
        (CHOOSE, json!({ "features": [1.0] }), 422),
        (CHOOSE, json!({ "feature": [] }), 422),
        (CHOOSE, json!([]), 422),
        (CHOOSE, json!({ "actions": ["b"] }), 200),
        (CHOOSE, json!({ "actions": ["c", "a"] }), 200),
        (CHOOSE, json!({ "actions": [2, 0] }), 200),
        (CHOOSE, json!({ "actions": [] }), 422),
        (CHOOSE, json!({ "actions": ["b", "z"] }), 422),
        (CHOOSE, json!({ "actions": ["b", "b"] }), 422),
        (CHOOSE, json!({ "actions": [3] }), 422),
        (CHOOSE, json!({ "actions": [[1.0]] }), 422),
        (CHOOSE, json!({ "actions": [[]] }), 422),
        (CHOOSE, json!({ "actions": [1.5] }), 422),
        (CHOOSE, json!({ "unit": "x".repeat(1000) }), 422),
        (REWARD, json!({ "token": "c2.AAAA.AA.AA", "reward": 5 }), 422),
        (REWARD, json!({ "token": token, "id": "x", "reward": 5 }), 422),
        (REWARD, json!({ "id": "0000000000000007-1-1", "reward": 5 }), 404),
        (REWARD, json!({ "reward": 5 }), 422),
        ("/v1/bands/shop/bases", json!({ "change": "add", "name": "nonsense", "share": 0.1 }), 422),
    ] {
        let (status, answer) = client.post(path, &body);
        assert_eq!(status, expected, "{path} {body}: {answer}");
        assert!(status == 200 || answer["error"].is_string(), "{answer}");
    }
    // A reward that is out of range leaves the decision open.
    let (_, chosen) = client.post(CHOOSE, &json!({}));
    assert_eq!(client.post(REWARD, &json!({ "token": chosen["token"], "reward": 11 })).0, 422);
    assert_eq!(client.post(REWARD, &json!({ "token": chosen["token"], "reward": 10 })).0, 200);
    assert_eq!(client.raw("POST", CHOOSE, "", "{\"features\": [").unwrap().0, 422);
    assert_eq!(client.raw("DELETE", CHOOSE, "", "").unwrap().0, 405);
    assert_eq!(client.get("/nothing").0, 404);
    assert_eq!(client.get("/health").0, 200);
    assert_eq!(client.get("/ready").0, 200);
    drop(client);
    running.stop();
}

#[test]
fn kept_tickets_keys_and_batches() {
    let folder = tempfile::tempdir().unwrap();
    let mut running = Running::start(SPEC, folder.path(), "", Limits::default());
    let mut client = running.client();
    let (_, kept) = client.post(CHOOSE, &json!({ "store": true }));
    let (_, left) = client.post(CHOOSE, &json!({ "store": true }));
    assert_eq!(client.post(REWARD, &json!({ "id": kept["id"], "reward": 5 })).0, 200);
    assert_eq!(client.post(REWARD, &json!({ "id": kept["id"], "reward": 5 })).0, 409);
    let (_, first) = client.post(CHOOSE, &json!({ "key": "order 7" }));
    let (_, again) = client.post(CHOOSE, &json!({ "key": "order 7" }));
    assert_eq!(first["token"], again["token"], "the same key, the same decision");
    assert_eq!(client.post(CHOOSE, &json!({ "key": "order 7", "actions": ["a"] })).0, 422);

    let (status, chosen) = client.post("/v1/bands/shop/choose/batch", &json!([{}, { "features": [1] }, {}]));
    assert_eq!((status, chosen[1]["status"].as_u64()), (200, Some(422)), "{chosen}");
    let given = json!([
        { "token": chosen[0]["token"], "reward": 1 },
        { "token": chosen[2]["token"], "reward": 99 },
        { "token": chosen[0]["token"], "reward": 1 },
        { "token": chosen[2]["token"], "reward": 2 },
    ]);
    let (status, answers) = client.post("/v1/bands/shop/reward/batch", &given);
    let statuses: Vec<_> =
        answers.as_array().unwrap().iter().map(|a| a["status"].as_u64().unwrap()).collect();
    assert_eq!((status, &statuses[..]), (200, &[200, 422, 409, 200][..]), "{answers}");
    drop(client);
    running.stop();

    // A ticket that was kept outlasts the process.
    let mut running = Running::start(SPEC, folder.path(), "", Limits::default());
    let mut client = running.client();
    assert_eq!(client.post(REWARD, &json!({ "id": left["id"], "reward": 5 })).0, 200);
    assert_eq!(client.post(REWARD, &json!({ "id": kept["id"], "reward": 5 })).0, 409);
    drop(client);
    running.stop();
}

#[test]
fn what_is_learned_is_reported_and_exported() {
    let folder = tempfile::tempdir().unwrap();
    let two = format!("[[band]]{SPEC}[[band]]{}", SPEC.replace("\"shop\"", "\"other\""));
    let mut running = Running::start(&two, folder.path(), "", Limits::default());
    let mut client = running.client();
    for i in 0..50 {
        let (_, chosen) = client.post(CHOOSE, &json!({ "unit": format!("u{i}") }));
        client.post(REWARD, &json!({ "token": chosen["token"], "reward": 5 }));
    }
    let (status, changed) =
        client.post("/v1/bands/shop/bases", &json!({ "change": "add", "name": "moss", "share": 0.1 }));
    assert_eq!((status, changed["bases"].as_array().unwrap().len()), (200, 5), "{changed}");
    let report: Value = serde_json::from_str(&client.get("/v1/bands/shop/report").1).unwrap();
    assert_eq!((report["learned"].as_u64(), report["band"]["mean_reward"].as_f64()), (Some(50), Some(5.0)));
    let html = client.raw("GET", "/v1/bands/shop/report", "Accept: text/html\r\n", "").unwrap().1;
    assert!(html.starts_with("<!doctype html>") && html.contains("ucb1"));
    assert!(client.get("/v1/bands/shop/report?format=text").1.starts_with("master: "));
    assert_eq!(client.get("/v1/bands/shop/report?format=pdf").0, 422);
    let metrics = client.get("/metrics").1;
    for line in ["corral_learned_total{band=\"shop\"} 50", "corral_learned_total{band=\"other\"} 0"] {
        assert!(metrics.contains(line), "{metrics}");
    }
    assert_eq!(metrics.matches("# HELP corral_learned_total").count(), 1, "each family once");
    let log = client.get("/v1/bands/shop/log").1;
    let mut reader = corral_log::Reader::new(log.as_bytes()).checked(0).strict(true);
    let mut kinds = Vec::new();
    while let Some(record) = reader.read().unwrap() {
        kinds.push(record.kind());
    }
    assert_eq!((kinds.len(), kinds[0], kinds[51]), (52, "start", "member"));
    drop(client);
    running.stop();
}

#[test]
fn clients_have_roles() {
    let clients = r#"
        [[client]]
        name = "web"
        secret = "0123456789abcdef"
        roles = ["decide"]
        [[client]]
        name = "ops"
        secret = "fedcba9876543210"
        roles = ["admin"]
    "#;
    let folder = tempfile::tempdir().unwrap();
    let mut running = Running::start(SPEC, folder.path(), clients, Limits::default());
    let mut client = running.client();
    let mut ask = |method: &str, path: &str, secret: &str| {
        let bearer =
            if secret.is_empty() { String::new() } else { format!("Authorization: Bearer {secret}\r\n") };
        client.raw(method, path, &bearer, if method == "POST" { "{}" } else { "" }).unwrap().0
    };
    assert_eq!(ask("POST", CHOOSE, ""), 401);
    assert_eq!(ask("POST", CHOOSE, "wrong wrong wrong"), 401);
    assert_eq!(ask("POST", CHOOSE, "0123456789abcdef"), 200);
    assert_eq!(ask("POST", REWARD, "0123456789abcdef"), 403);
    assert_eq!(ask("GET", "/metrics", "0123456789abcdef"), 403);
    assert_eq!(ask("GET", "/metrics", "fedcba9876543210"), 200);
    assert_eq!(ask("GET", "/health", ""), 200);
    drop(client);
    running.stop();
    assert!(Clients::read("[[client]]\nname = \"x\"\nsecret = \"short\"\nroles = []").is_err());
    let open = "0.0.0.0:80".parse().unwrap();
    assert!(http::check_address(open, &Clients::default()).unwrap_err().to_string().contains("--clients"));
}

#[test]
fn limits_hold() {
    let folder = tempfile::tempdir().unwrap();
    let limits = Limits {
        body: 2_000,
        batch: 3,
        connections: 2,
        silence: Duration::from_millis(300),
        ..Limits::default()
    };
    let quota = format!("{SPEC}quota = 2\n");
    let mut running = Running::start(&quota, folder.path(), "", limits);
    let (mut one, mut two) = (running.client(), running.client());
    assert_eq!((one.get("/health").0, two.get("/health").0), (200, 200));
    // The third is told so, and what is open goes on.
    assert_eq!(running.client().get("/health").0, 503);
    assert_eq!(one.get("/health").0, 200);
    assert_eq!(one.post("/v1/bands/shop/choose/batch", &json!([{}, {}, {}, {}])).0, 422);
    // Whoever is silent is closed, and others have the place.
    std::thread::sleep(Duration::from_millis(700));
    let mut three = running.client();
    assert_eq!(three.get("/health").0, 200);
    assert!(two.raw("GET", "/health", "", "").is_none());
    let (_, tokens) = three.post("/v1/bands/shop/choose/batch", &json!([{}, {}, {}]));
    let statuses: Vec<_> =
        (0..3).map(|i| three.post(REWARD, &json!({ "token": tokens[i]["token"], "reward": 1 })).0).collect();
    assert_eq!(statuses, [200, 200, 429], "two rewards a minute");
    assert_eq!(three.raw("POST", CHOOSE, "", &" ".repeat(5_000)).unwrap().0, 413);
    drop((one, two, three));
    running.stop();
}

/// A page that is opened later is given what the bases were before.
#[test]
fn a_report_has_the_history_of_the_bases_where_that_is_asked_for() {
    let folder = tempfile::tempdir().unwrap();
    let mut running = Running::start(&format!("{SPEC}watch = true\n"), folder.path(), "", Limits::default());
    let mut client = running.client();
    let mut report = |query: &str| -> Value {
        let (status, text) = client.get(&format!("/v1/bands/shop/report{query}"));
        assert_eq!(status, if query.contains('x') { 422 } else { 200 }, "{text}");
        serde_json::from_str(&text).unwrap()
    };
    assert_eq!(report("")["history"], Value::Null);
    for query in ["?history=x", "?format=text&history=x", "?x&history=-1", "?x&history=9007199254740993"] {
        assert!(report(query)["error"].as_str().unwrap().contains("history"), "{query}");
    }
    let until = std::time::Instant::now() + std::time::Duration::from_secs(60);
    let history = loop {
        let history = report("?history=0")["history"].as_array().unwrap().clone();
        if history.len() > 1 {
            break history;
        }
        assert!(std::time::Instant::now() < until);
        std::thread::sleep(std::time::Duration::from_millis(50));
    };
    let bases = report("")["bases"].as_array().unwrap().len();
    for moment in &history {
        let sum: f64 = moment["probabilities"].as_array().unwrap().iter().map(|p| p.as_f64().unwrap()).sum();
        assert!((sum - 1.0).abs() < 1e-9 && moment["values"].as_array().unwrap().len() == bases, "{moment}");
    }
    let first = history[0]["at"].as_u64().unwrap();
    let later = report(&format!("?history={first}"))["history"].as_array().unwrap().clone();
    assert_eq!(later[0], history[1]);
    drop(client);
    running.stop();
}

/// With `watch = true` the report and the metrics have the values of the bases; "best" when it is so, and not before.
#[test]
fn values_of_bases_are_followed_where_that_is_asked_for() {
    let text = |watch: &str| {
        format!(
            "name = \"shop\"\nactions = 2\nreward_range = [0, 10]\nmaster = \"uniform\"\n{watch}\
             bases = [{{ name = \"fixed\", arm = 0 }}, {{ name = \"fixed\", arm = 1 }}]\n"
        )
    };
    let folder = tempfile::tempdir().unwrap();
    let mut running = Running::start(&text(""), folder.path(), "", Limits::default());
    let mut client = running.client();
    let report = |client: &mut crate::web::Client| -> Value {
        serde_json::from_str(&client.get("/v1/bands/shop/report").1).unwrap()
    };
    assert_eq!(report(&mut client)["watch"], Value::Null);
    assert!(!client.get("/metrics").1.contains("corral_base_value"));
    drop(client);
    running.stop();

    // It may be asked for later: it begins then.
    let mut running = Running::start(&text("watch = true\n"), folder.path(), "", Limits::default());
    let mut client = running.client();
    assert_eq!(report(&mut client)["watch"]["best"], Value::Null, "nothing is known yet");
    for _ in 0..60 {
        let (_, chosen) = client.post("/v1/bands/shop/choose/batch", &json!(vec![json!({}); 10]));
        let given: Vec<Value> = chosen.as_array().unwrap().iter().map(|chosen| {
            json!({ "token": chosen["token"], "reward": if chosen["action"] == 1 { 9 } else { 2 } })
        }).collect();
        assert_eq!(client.post("/v1/bands/shop/reward/batch", &json!(given)).0, 200);
    }
    drop(client);
    running.stop();
    let mut running = Running::start(&text("watch = true\n"), folder.path(), "", Limits::default());
    let mut client = running.client();
    let watch = report(&mut client)["watch"].clone();
    for (base, truth) in [(0, 2.0), (1, 9.0)] {
        let value = &watch["values"][base];
        let [low, high] = ["low", "high"].map(|key| value[key].as_f64().unwrap());
        assert!(low <= truth && truth <= high && high - low < 5.0, "{watch}");
    }
    assert_eq!(watch["best"]["base"], "fixed 2", "{watch}");
    assert!(watch["best"]["low"].as_f64().unwrap() > 0.0, "{watch}");
    let metrics = client.get("/metrics").1;
    assert!(metrics.contains("corral_base_best{band=\"shop\",base=\"fixed 2\"} 1"), "{metrics}");
    assert!(client.get("/v1/bands/shop/report?format=text").1.contains("fixed 2 is best, by"));
    drop(client);
    running.stop();
}
