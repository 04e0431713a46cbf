//! `corral log` as other programs call it.

use std::io::Write;
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
        ("base:nope", "the log has no base \"nope\"; it names none"),
        ("mix:nope=1", "the log has no base \"nope\"; it names none"),
    ] {
        let out = log(&["evaluate", &path, "--policy", policy]);
        assert_eq!(out.status.code(), Some(2), "{policy}");
        assert!(text(&out.stderr).contains(why), "{policy}: {}", text(&out.stderr));
        assert_eq!(text(&out.stderr).matches(&path).count(), 1, "{policy}: {}", text(&out.stderr));
    }
}

/// A name that is misspelt is an error in every format, not a value of nothing: lines of JSON have no header that says so at once.
#[test]
fn a_field_or_a_base_that_no_line_has_is_an_error() {
    let dir = tempfile::tempdir().unwrap();
    let (path, csv) = (lines(dir.path(), 300), table(dir.path()));
    let dsjson = dir.path().join("log.dsjson").display().to_string();
    let out = log(&["convert", &path, "--to", "dsjson", "--out", &dsjson]);
    assert!(out.status.success(), "{}", text(&out.stderr));
    let refused = |path: &str, more: &[&str], why: &str| {
        let out = log(&[&["evaluate", path, "--policy", "uniform"], more].concat());
        assert_eq!(out.status.code(), Some(2), "{path} {more:?}: {}", text(&out.stdout));
        assert!(text(&out.stderr).contains(why), "{path} {more:?}: {}", text(&out.stderr));
    };
    for path in [&path, &dsjson] {
        refused(path, &["--unit", "usr"], "no decision has the field \"usr\"; there are: ");
        refused(path, &["--policy", "column:nwe"], "no decision has the field \"nwe\"; there are: ");
    }
    refused(&csv, &["--unit", "usr"], "no column usr");
    refused(&path, &["--policy", "base:nope"], "the log has no base \"nope\"; it has: wide, narrow");
    refused(&path, &["--policy", "mix:wide=0.5,nope=0.5"], "the log has no base \"nope\"");
    // A third of the decisions says its unit, and all say the same.
    let out = text(&log(&["evaluate", &path, "--policy", "uniform", "--unit", "unit"]).stdout);
    assert!(out.contains("ALARM: 200 of 300 decisions have no unit: they are left out"), "{out}");
    assert!(out.contains("ALARM: all decisions are of one unit") && out.contains("[-, -]"), "{out}");
    // Every decision is its own unit.
    let more = ["--policy", "base:wide", "--unit", "id", "--format", "json"];
    let out = log(&[&["evaluate", &path, "--policy", "base:narrow"], &more[..]].concat());
    let json: serde_json::Value = serde_json::from_slice(&out.stdout).unwrap();
    assert_eq!(json["differences"][0]["kind"], "fixed-time");
    assert!(json["differences"][0]["low"].is_number() && json["verdict"] != "", "{json}");
}

/// The worst reward is the best loss, so that a default is of the kind of the outcomes.
#[test]
fn a_join_of_losses_has_a_default_loss() {
    let dir = tempfile::tempdir().unwrap();
    let file = |name: &str| dir.path().join(name).display().to_string();
    std::fs::write(file("decisions"), DECISIONS).unwrap();
    std::fs::write(file("outcomes"), "{\"id\":\"0000000000000001-0-1\",\"loss\":1}\n").unwrap();
    let join = |more: &[&str]| {
        log(&[&["join", &file("decisions"), &file("outcomes"), "--out", &file("log")], more].concat())
    };
    let out = join(&["--default-reward", "0"]);
    assert_eq!(out.status.code(), Some(1));
    let why = "the outcomes are losses, so say what it loses (--default-loss)";
    assert!(text(&out.stderr).contains(why) && !dir.path().join("log").exists(), "{}", text(&out.stderr));
    assert!(join(&["--default-loss", "0.25"]).status.success());
    assert!(std::fs::read_to_string(file("log")).unwrap().contains("\"loss\":0.25"));
    assert_eq!(join(&["--default-loss", "0", "--default-reward", "0"]).status.code(), Some(2));
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

/// Lines may come from a pipe, where a table is read twice.
#[test]
#[cfg(unix)]
fn lines_are_read_from_a_pipe() {
    let dir = tempfile::tempdir().unwrap();
    let (lines, csv) = (lines(dir.path(), 300), table(dir.path()));
    let piped = |path: &str| {
        std::process::Command::new(env!("CARGO_BIN_EXE_corral"))
            .args(["log", "evaluate", "/dev/stdin", "--policy", "uniform", "--format", "json"])
            .stdin(std::process::Stdio::from(cat(path)))
            .output()
            .unwrap()
    };
    let file = log(&["evaluate", &lines, "--policy", "uniform", "--format", "json"]);
    let pipe = piped(&lines);
    assert!(pipe.status.success() && pipe.stdout == file.stdout, "{}", text(&pipe.stderr));
    let garbage = dir.path().join("garbage").display().to_string();
    std::fs::write(&garbage, "rubbish\n".to_owned() + &std::fs::read_to_string(&lines).unwrap()).unwrap();
    let out = text(&log(&["evaluate", &garbage, "--policy", "uniform"]).stdout);
    assert!(out.contains("ALARM: 1 lines: not a record; the first is line 1"), "{out}");
    let refused = piped(&csv);
    assert_eq!(refused.status.code(), Some(2));
    assert!(text(&refused.stderr).contains("a table is read twice"), "{}", text(&refused.stderr));
}

/// The bytes of a file in a pipe.
#[cfg(unix)]
fn cat(path: &str) -> std::process::ChildStdout {
    let child = std::process::Command::new("cat").arg(path).stdout(std::process::Stdio::piped()).spawn();
    child.unwrap().stdout.unwrap()
}

/// A log of a band of two bases over three actions, of which one always pays, with all that a record can say.
pub fn lines(dir: &Path, rounds: u32) -> String {
    let mut log =
        "{\"kind\":\"start\",\"version\":1,\"band\":\"0000000000000001\",\"bases\":[\"wide\",\"narrow\"],\
                   \"actions\":[\"a\",\"b\",\"c\"],\"first\":\"00000000000000000000000000000000\"}\n"
            .to_owned();
    for t in 0..rounds {
        let played = t * 7 % 4 % 3;
        let offered = if t % 5 == 0 { "[0,1,2]" } else { "3" };
        let more = match t % 3 {
            0 => "\"exact\":false,\"key\":\"k\\\"ü\",\"base\":1,\"digest\":\"9f\",\"weight\":2.0,",
            1 => "\"unit\":\"u\",\"keep\":1.0,",
            _ => "",
        };
        let wide = if t % 50 == 9 { "null" } else { "0.3333333333333333" };
        let narrow = [0.6666666666666667, 0.16666666666666666, 0.16666666666666666];
        log.push_str(&format!(
            "{{\"kind\":\"both\",\"id\":\"0000000000000001-0-{t}\",\"at\":{},\"action\":{played},\"offered\":{offered},\
             \"propensity\":{},{more}\"pbar\":[0.5,0.5],\"q\":[{wide},{}],\
             \"full\":[0.3333333333333333,0.3333333333333333,0.3333333333333333,{},{},{}],\
             \"context\":{{\"features\":[{},1.5],\"actions\":3,\"rows\":[],\"row_dim\":0,\"cell\":null}},\"reward\":{}}}\n",
            1_700_000_000_000u64 + u64::from(t),
            [0.5, 0.25, 0.25][played as usize],
            narrow[played as usize],
            narrow[0],
            narrow[1],
            narrow[2],
            t % 2,
            u8::from(played == 2),
        ));
    }
    let path = dir.join("log.jsonl");
    std::fs::write(&path, log).unwrap();
    path.display().to_string()
}

/// What an evaluation looks like: on a desk and on a phone, light and dark.
#[test]
fn the_page_of_an_evaluation_is_fine_in_a_browser() {
    let Some(chromium) = crate::browser::chromium() else {
        let _ =
            writeln!(std::io::stderr(), "SKIPPED: no Chromium is installed, the evaluation was not opened");
        return;
    };
    let dir = tempfile::TempDir::new().unwrap();
    let path = lines(dir.path(), 3_000);
    let page = dir.path().join("evaluation.html").display().to_string();
    let policies = ["uniform", "action:c", "base:wide", "base:narrow", "mix:wide=0.25,narrow=0.75", "logger"];
    let mut args = vec!["evaluate", &path, "--format", "html", "--out", &page];
    policies.iter().for_each(|policy| args.extend(["--policy", policy]));
    let out = log(&args);
    assert!(out.status.success(), "{}", text(&out.stderr));
    crate::browser::look_at(&chromium, &dir, "evaluation.html");
}

#[cfg(feature = "parquet")]
#[test]
fn a_log_in_parquet_says_the_same() {
    let dir = tempfile::tempdir().unwrap();
    let path = lines(dir.path(), 400);
    let file = |name: &str| dir.path().join(name).display().to_string();
    let convert = |from: &str, to: &str, name: &str| {
        let out = log(&["convert", from, "--to", to, "--out", &file(name), "--strict"]);
        assert!(out.status.success(), "{}", text(&out.stderr));
    };
    convert(&path, "corral", "once.jsonl");
    convert(&path, "parquet", "log.parquet");
    convert(&file("log.parquet"), "corral", "twice.jsonl");
    let read = |name: &str| std::fs::read_to_string(file(name)).unwrap();
    assert_eq!(read("once.jsonl").lines().count(), 401);
    for (once, twice) in read("once.jsonl").lines().zip(read("twice.jsonl").lines()) {
        assert_eq!(once, twice);
    }
    for wanted in
        ["\"key\":\"k\\\"ü\"", "\"unit\":\"u\"", "\"q\":[null,", "\"exact\":false", "[0,1,2]", "\"at\":17"]
    {
        assert!(read("twice.jsonl").contains(wanted), "{wanted}");
    }
    let evaluate = |path: &str| {
        let args = ["evaluate", path, "--policy", "base:narrow", "--policy", "action:c", "--unit", "unit"];
        let out = log(&[&args[..], &["--format", "json"]].concat());
        assert!(out.status.success(), "{}", text(&out.stderr));
        text(&out.stdout)
    };
    assert_eq!(evaluate(&path), evaluate(&file("log.parquet")));
    std::fs::write(file("broken.parquet"), "PAR1 and then nothing").unwrap();
    let out = log(&["evaluate", &file("broken.parquet"), "--policy", "uniform"]);
    assert_eq!(out.status.code(), Some(2));
    assert!(text(&out.stderr).contains("not a log in Parquet"), "{}", text(&out.stderr));
}

#[test]
fn parquet_is_not_printed_and_said_to_be_missing() {
    let dir = tempfile::tempdir().unwrap();
    let path = lines(dir.path(), 5);
    let out = log(&["convert", &path, "--to", "parquet"]);
    assert!(out.status.code() == Some(2) && text(&out.stderr).contains("--out"), "{}", text(&out.stderr));
    if !cfg!(feature = "parquet") {
        let out =
            log(&["convert", &path, "--to", "parquet", "--out", &dir.path().join("p").display().to_string()]);
        assert!(
            out.status.code() == Some(2) && text(&out.stderr).contains("--features parquet"),
            "{}",
            text(&out.stderr)
        );
        assert!(!dir.path().join("p").exists());
    }
}

/// The folder of the Open Bandit Data, or a word about what is not tested.
fn open_bandit_data() -> Option<std::path::PathBuf> {
    let folder = std::env::var_os("CORRAL_DATA");
    if folder.is_none() {
        let why = "SKIPPED: CORRAL_DATA is not set, the Open Bandit Data were not evaluated";
        let _ = writeln!(std::io::stderr(), "{why}");
    }
    folder.map(|folder| Path::new(&folder).join("obd"))
}

/// Both policies of the men's campaign, valued from the log of the uniform one. The Bernoulli-TS policy learned while it played,
/// and a log has its probability of the played item alone; how often it played an item at a position, in its own log, is an
/// unbiased estimate of its mean probability of it. That mixture is valued; its own error is not in the interval.
#[test]
fn the_open_bandit_data_are_valued_as_their_policies_earned() {
    let Some(folder) = open_bandit_data() else { return };
    type Shown = (String, String, f64, f64);
    let read = |name: &str| -> Vec<Shown> {
        let from = corral_lab::valuation::bytes(&folder.join(name)).unwrap();
        let mut reader = csv::Reader::from_reader(from);
        let names = reader.headers().unwrap().clone();
        let at = |name: &str| names.iter().position(|n| n == name).unwrap();
        let [item, position, click, p] = ["item_id", "position", "click", "propensity_score"].map(at);
        let row = |row: csv::StringRecord| {
            (
                row[item].to_owned(),
                row[position].to_owned(),
                row[click].parse().unwrap(),
                row[p].parse().unwrap(),
            )
        };
        reader.records().map(|record| row(record.unwrap())).collect()
    };
    let (uniform, learner) = (read("random_men.csv.gz"), read("bts_men.csv.gz"));
    let mean = |rows: &[Shown]| rows.iter().map(|row| row.2).sum::<f64>() / rows.len() as f64;
    let mut played = std::collections::HashMap::new();
    for (item, position, ..) in &learner {
        *played.entry((item, position)).or_insert(0.0) += 1.0;
    }
    let mut table = "action,propensity,reward,bernoulli_ts\n".to_owned();
    for (item, position, click, p) in &uniform {
        let all: f64 = played.iter().filter(|(key, _)| key.1 == position).map(|(_, n)| n).sum();
        let own = played.get(&(item, position)).unwrap_or(&0.0) / all;
        table.push_str(&format!("{item},{p},{click},{own}\n"));
    }
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("men.csv").display().to_string();
    std::fs::write(&path, table).unwrap();
    let policies = ["--policy", "uniform", "--policy", "column:bernoulli_ts"];
    let out = log(&[&["evaluate", &path, "--format", "json"], &policies[..]].concat());
    assert!(out.status.success(), "{}", text(&out.stderr));
    let json: serde_json::Value = serde_json::from_slice(&out.stdout).unwrap();
    assert_eq!(json["alarms"], serde_json::json!([]));
    let mut inside = 0;
    for (policy, truth) in [("uniform", mean(&uniform)), ("column:bernoulli_ts", mean(&learner))] {
        println!("{policy}: earned {truth}");
        for value in json["values"].as_array().unwrap().iter().filter(|v| v["policy"] == policy) {
            println!(
                "{} {}: {} [{}, {}]",
                value["estimator"], value["kind"], value["value"], value["low"], value["high"]
            );
            let (Some(low), Some(high)) = (value["low"].as_f64(), value["high"].as_f64()) else { continue };
            assert!((low..=high).contains(&truth), "{policy} earned {truth}: {value}");
            inside += 1;
        }
    }
    assert!(inside >= 6, "{inside} intervals");
}

/// The women's file of the Open Bandit Data has a propensity of 1e-6: one click decides.
#[test]
fn the_open_bandit_data_raise_their_alarm() {
    let Some(folder) = open_bandit_data() else { return };
    let evaluate = |name: &str| {
        let path = folder.join(name).display().to_string();
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

/// A log that is written over itself is read first, and one that cannot be read is left as it was.
#[test]
fn a_log_may_be_converted_in_its_place() {
    let dir = tempfile::tempdir().unwrap();
    let path = table(dir.path());
    let beside = dir.path().join("beside.jsonl").display().to_string();
    for to in [&beside, &path] {
        let out = log(&["convert", &path, "--to", "corral", "--out", to]);
        assert!(out.status.success(), "{}", text(&out.stderr));
    }
    let [beside, own] = [&beside, &path].map(|path| std::fs::read(path).unwrap());
    assert!(own == beside && own.iter().filter(|byte| **byte == b'\n').count() > 2_000);
    std::fs::write(&path, "neither,a\nlog,of ours\n").unwrap();
    let out = log(&["convert", &path, "--to", "corral", "--out", &path]);
    assert_eq!(out.status.code(), Some(2), "{}", text(&out.stderr));
    assert_eq!(std::fs::read_to_string(&path).unwrap(), "neither,a\nlog,of ours\n");
}
