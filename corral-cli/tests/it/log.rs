//! `corral log` as other programs call it.

use std::path::Path;
use std::process::Output;

use crate::launch::corral;

fn log(args: &[&str]) -> Output {
    corral(Path::new("."), &[&["log"], args].concat())
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// A table of a logger that plays action 1 of two with probability 0.75, of which action 1 always pays.
fn table(dir: &Path) -> String {
    let mut csv = "action,propensity,reward,new\n".to_owned();
    for t in 0..2_000 {
        csv.push_str(if t % 4 == 0 { "0,0.25,0,0.1\n" } else { "1,0.75,1,0.9\n" });
    }
    let path = dir.join("log.csv");
    std::fs::write(&path, csv).unwrap();
    path.display().to_string()
}

#[test]
fn an_evaluation_has_the_shape_that_it_promises() {
    let dir = tempfile::tempdir().unwrap();
    let path = table(dir.path());
    let out = log(&[
        "evaluate",
        &path,
        "--policy",
        "uniform",
        "--policy",
        "action:1",
        "--policy",
        "column:new",
        "--format",
        "json",
    ]);
    assert!(out.status.success(), "{}", text(&out.stderr));
    let json: serde_json::Value = serde_json::from_slice(&out.stdout).unwrap();
    assert_eq!((json["rows"].as_u64(), json["used"].as_u64()), (Some(2_000), Some(2_000)));
    assert_eq!(json["alarms"], serde_json::json!([]));
    let values = json["values"].as_array().unwrap();
    for value in values {
        let keys: Vec<&str> = value.as_object().unwrap().keys().map(String::as_str).collect();
        let mut wanted = ["policy", "estimator", "value", "low", "high", "kind", "assumes"];
        wanted.sort_unstable();
        let mut keys = keys;
        keys.sort_unstable();
        assert_eq!(keys, wanted);
        assert!(["fixed-time", "any-time"].contains(&value["kind"].as_str().unwrap()), "{value}");
    }
    let of = |policy: &str, estimator: &str, kind: &str| {
        let found =
            values.iter().find(|v| v["policy"] == policy && v["estimator"] == estimator && v["kind"] == kind);
        found.unwrap_or_else(|| panic!("{policy} {estimator} {kind}")).clone()
    };
    for (policy, truth) in [("uniform", 0.5), ("action:1", 1.0), ("column:new", 0.9)] {
        for kind in ["fixed-time", "any-time"] {
            let found = of(policy, "ips", kind);
            let number = |key: &str| found[key].as_f64().unwrap();
            assert!((number("value") - truth).abs() < 1e-9, "{found}");
            assert!(number("low") <= truth + 1e-9 && truth - 1e-9 <= number("high"), "{found}");
        }
    }
    let differences = json["differences"].as_array().unwrap();
    assert_eq!(differences.len(), 3);
    let first = &differences[0];
    assert_eq!((first["a"].as_str(), first["b"].as_str()), (Some("uniform"), Some("action:1")));
    assert!(first["high"].as_f64().unwrap() < 0.0, "{first}");
    assert!(json["verdict"].as_str().unwrap().starts_with("action:1 is best"), "{}", json["verdict"]);
}

#[test]
fn an_evaluation_is_a_table_or_a_page() {
    let dir = tempfile::tempdir().unwrap();
    let path = table(dir.path());
    let page = dir.path().join("report.html").display().to_string();
    let args = ["evaluate", &path, "--policy", "uniform", "--policy", "learner:ucb1"];
    let out = log(&args);
    assert!(out.status.success(), "{}", text(&out.stderr));
    let said = text(&out.stdout);
    assert!(said.contains("2000 decisions, 2000 used") && said.contains("any-time"), "{said}");
    let out = log(&[&args[..], &["--format", "html", "--out", &page]].concat());
    assert!(out.status.success(), "{}", text(&out.stderr));
    let html = std::fs::read_to_string(page).unwrap();
    assert!(html.contains("<svg") && html.contains("Values over time"), "{html}");
}

#[test]
fn what_cannot_be_valued_is_refused_with_its_reason() {
    let dir = tempfile::tempdir().unwrap();
    let path = table(dir.path());
    for (policy, why) in [
        ("action:x", "the log has no action \"x\"; it has: 0, 1"),
        ("column:none", "no column none; the columns are: action, propensity, reward, new"),
        ("best", "a policy is uniform, logger, base:NAME"),
        ("learner:exp3", "learns from its own decisions alone"),
        ("learner:none", "none"),
        ("snapshot:band.bin", "has seen the rewards that it is valued by"),
    ] {
        let out = log(&["evaluate", &path, "--policy", policy]);
        assert_eq!(out.status.code(), Some(2), "{policy}");
        assert!(text(&out.stderr).contains(why), "{policy}: {}", text(&out.stderr));
    }
}

const DECISIONS: &str = "\
{\"kind\":\"decision\",\"id\":\"0000000000000001-0-0\",\"action\":0,\"offered\":2,\"propensity\":0.5}
{\"kind\":\"decision\",\"id\":\"0000000000000001-0-1\",\"action\":1,\"offered\":2,\"propensity\":0.5}
";

#[test]
fn a_joined_log_is_verified_and_a_changed_one_is_not() {
    let dir = tempfile::tempdir().unwrap();
    let file = |name: &str| dir.path().join(name).display().to_string();
    std::fs::write(file("decisions"), DECISIONS).unwrap();
    std::fs::write(file("outcomes"), "{\"id\":\"0000000000000001-0-1\",\"reward\":1}\n").unwrap();
    let out =
        log(&["join", &file("decisions"), &file("outcomes"), "--default-reward", "0", "--out", &file("log")]);
    assert!(out.status.success(), "{}", text(&out.stderr));
    assert!(text(&out.stderr).contains("1 decisions have an outcome, 1 have none"), "{}", text(&out.stderr));
    let out = log(&["verify", &file("log")]);
    assert_eq!(text(&out.stdout), "2 lines, each follows from the one before\n");
    let out = log(&["evaluate", &file("log"), "--policy", "uniform", "--format", "json"]);
    let json: serde_json::Value = serde_json::from_slice(&out.stdout).unwrap();
    assert_eq!((json["used"].as_u64(), json["values"][0]["value"].as_f64()), (Some(2), Some(0.5)));

    let changed = std::fs::read_to_string(file("log")).unwrap().replacen("0.5", "0.6", 1);
    std::fs::write(file("log"), changed).unwrap();
    let out = log(&["verify", &file("log")]);
    assert_eq!(out.status.code(), Some(1));
    assert!(
        text(&out.stderr).contains("line 1: it does not follow the line before it"),
        "{}",
        text(&out.stderr)
    );
}

/// The women's file of the Open Bandit Data has a propensity of 1e-6: one click decides.
#[test]
fn the_open_bandit_data_raise_their_alarm() {
    let Some(folder) = std::env::var_os("CORRAL_DATA") else { return };
    let evaluate = |name: &str| {
        let path = Path::new(&folder).join("obd").join(name);
        let path = path.display().to_string();
        let out = log(&["evaluate", &path, "--policy", "uniform", "--policy", "logger", "--format", "json"]);
        assert!(out.status.success(), "{}", text(&out.stderr));
        serde_json::from_slice::<serde_json::Value>(&out.stdout).unwrap()
    };
    let alarms = evaluate("bts_women.csv.gz")["alarms"].to_string();
    for wanted in ["the effective sample size is", "the mean weight is", "the least is 0.000001"] {
        assert!(alarms.contains(wanted), "{alarms}");
    }
    let random = evaluate("random_men.csv.gz");
    assert_eq!(random["alarms"], serde_json::json!([]));
    assert!((random["values"][0]["value"].as_f64().unwrap() - 0.0046).abs() < 1e-12);
}
