//! `corral serve`: the real program.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

pub const SPEC: &str = r#"
name = "shop"
actions = ["a", "b", "c"]
features = 2
bases = ["linucb", "squarecb", "epsilon-greedy"]
reward_range = [0, 10]
"#;

/// The program, and where it listens.
pub struct Running {
    child: Child,
    pub address: String,
}

pub fn command(folder: &Path, more: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_corral"));
    command.arg("serve").arg(folder.join("band.toml"));
    if !more.contains(&"--store") {
        command.arg("--store").arg(folder.join("data"));
    }
    command.args(["--listen", "127.0.0.1:0", "--snapshot", "200"]).args(more);
    command
}

impl Running {
    pub fn start(folder: &Path, more: &[&str]) -> Self {
        Self::of(command(folder, more))
    }

    pub fn of(mut command: Command) -> Self {
        let mut child = command.stderr(Stdio::piped()).spawn().unwrap();
        let mut said = BufReader::new(child.stderr.take().unwrap());
        let (mut line, mut all) = (String::new(), String::new());
        while !line.starts_with("listening on http://") {
            line.clear();
            assert!(said.read_line(&mut line).unwrap() > 0, "{all}");
            all += &line;
        }
        let address = line.trim().trim_start_matches("listening on http://").to_owned();
        // What it says later is not read: it may not wait for it.
        std::thread::spawn(move || std::io::copy(&mut said, &mut std::io::sink()));
        Self { child, address }
    }

    pub fn kill(&mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

pub struct Client(BufReader<TcpStream>);

impl Client {
    pub fn new(address: &str) -> Option<Self> {
        let stream = TcpStream::connect(address).ok()?;
        stream.set_nodelay(true).ok()?;
        stream.set_read_timeout(Some(Duration::from_secs(20))).ok()?;
        Some(Self(BufReader::new(stream)))
    }

    /// `None`: the service is gone.
    pub fn ask(&mut self, method: &str, path: &str, body: &str) -> Option<(u16, String)> {
        let length = body.len();
        let request =
            format!("{method} {path} HTTP/1.1\r\nHost: x\r\nContent-Length: {length}\r\n\r\n{body}");
        self.0.get_mut().write_all(request.as_bytes()).ok()?;
        let (mut line, mut length) = (String::new(), 0);
        self.0.read_line(&mut line).ok().filter(|n| *n > 0)?;
        let status = line.split(' ').nth(1)?.parse().ok()?;
        loop {
            line.clear();
            self.0.read_line(&mut line).ok().filter(|n| *n > 0)?;
            if let Some(n) = line.to_ascii_lowercase().strip_prefix("content-length:") {
                length = n.trim().parse().ok()?;
            }
            if line == "\r\n" {
                break;
            }
        }
        let mut answer = vec![0; length];
        self.0.read_exact(&mut answer).ok()?;
        Some((status, String::from_utf8(answer).ok()?))
    }

    pub fn reward(&mut self, token: &str, reward: f64) -> Option<(u16, String)> {
        let body = format!(r#"{{"token":"{token}","reward":{reward}}}"#);
        self.ask("POST", "/v1/bands/shop/reward", &body)
    }
}

pub fn report(address: &str) -> serde_json::Value {
    let (status, text) = Client::new(address).unwrap().ask("GET", "/v1/bands/shop/report", "").unwrap();
    assert_eq!(status, 200, "{text}");
    serde_json::from_str(&text).unwrap()
}

/// The report when everything that was acknowledged is served.
pub fn settled(address: &str) -> serde_json::Value {
    for _ in 0..500 {
        let report = report(address);
        if report["stale_ms"] == 0 && report["served_fold"] == report["folds"] {
            return report;
        }
        std::thread::sleep(Duration::from_millis(20));
    }
    panic!("rewards are not learned: {}", report(address));
}

#[test]
fn a_front_end_and_a_learner_run_apart_on_a_directory() {
    let folder = tempfile::tempdir().unwrap();
    let data = folder.path().join("data");
    run_apart(data.to_str().unwrap());
}

/// The buckets that `CORRAL_BUCKETS` names: `.ci/bucket` starts some.
#[cfg(feature = "bucket")]
#[test]
fn a_front_end_and_a_learner_run_apart_on_a_bucket() {
    let buckets = std::env::var("CORRAL_BUCKETS").unwrap_or_default();
    if buckets.is_empty() {
        eprintln!("SKIPPED: no real bucket is tested: see .ci/bucket");
    }
    for bucket in buckets.split_whitespace() {
        run_apart(&format!("{bucket}/apart-{}", std::process::id()));
    }
}

/// Two front ends and a learner in processes of their own; the learner and a front end are killed between.
fn run_apart(store: &str) {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("band.toml"), SPEC).unwrap();
    let start = |role: &str| Running::start(folder.path(), &["--store", store, "--role", role]);
    let (mut front, mut crashes, mut learner) = (start("front"), start("front"), start("learner"));
    let mut doomed = Client::new(&crashes.address).unwrap();
    let mut client = Client::new(&front.address).unwrap();
    let body = r#"{"features":[0.5,0.5]}"#;
    let mut tokens = Vec::new();
    for round in 0..60 {
        let (_, answer) = client.ask("POST", "/v1/bands/shop/choose", body).unwrap();
        let answer: serde_json::Value = serde_json::from_str(&answer).unwrap();
        let token = answer["token"].as_str().unwrap().to_owned();
        // Any front end takes the reward of any decision.
        let taker = if round < 20 { &mut doomed } else { &mut client };
        assert_eq!(taker.reward(&token, 5.0).unwrap().0, 200);
        tokens.push(token);
        if round == 19 {
            crashes.kill();
        }
        if round == 30 {
            learner.kill();
            learner = start("learner");
        }
    }
    let served = (0..500).find(|_| {
        std::thread::sleep(Duration::from_millis(20));
        report(&front.address)["learned"] == 60
    });
    assert!(served.is_some(), "{}", report(&front.address));
    for token in &tokens {
        assert_eq!(client.reward(token, 5.0).unwrap().0, 409);
    }
    let (status, answer) =
        Client::new(&learner.address).unwrap().ask("POST", "/v1/bands/shop/choose", body).unwrap();
    assert_eq!(status, 422, "{answer}");
    front.kill();
    learner.kill();
}

#[test]
fn what_cannot_be_served_is_said() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("band.toml");
    for (text, expected) in [
        (SPEC.replace("linucb", "linuxb"), "bases[0]"),
        (SPEC.replace("features = 2", "features = \"two\""), "features"),
        (SPEC.replace("name = \"shop\"\n", ""), "name"),
    ] {
        std::fs::write(&file, text).unwrap();
        let output = command(folder.path(), &[]).output().unwrap();
        let said = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{said}");
        assert!(said.contains("band.toml") && said.contains(expected), "{said}");
    }
    std::fs::write(&file, SPEC).unwrap();
    let mut open = Command::new(env!("CARGO_BIN_EXE_corral"));
    open.arg("serve")
        .arg(&file)
        .arg("--store")
        .arg(folder.path().join("data"))
        .args(["--listen", "0.0.0.0:0"]);
    let output = open.output().unwrap();
    assert!(String::from_utf8_lossy(&output.stderr).contains("--clients"), "{output:?}");
    let (place, expected) =
        if cfg!(feature = "bucket") { ("ftp://x/y", "s3://") } else { ("s3://x/y", "feature `bucket`") };
    let output = command(folder.path(), &["--store", place]).output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.code() == Some(2) && said.contains(place) && said.contains(expected), "{said}");

    // A damaged segment is named; with --cut it ends before the damage.
    let mut running = Running::start(folder.path(), &[]);
    let mut client = Client::new(&running.address).unwrap();
    for _ in 0..5 {
        let (_, answer) = client.ask("POST", "/v1/bands/shop/choose", r#"{"features":[0.5,0.5]}"#).unwrap();
        let answer: serde_json::Value = serde_json::from_str(&answer).unwrap();
        client.reward(answer["token"].as_str().unwrap(), 5.0).unwrap();
    }
    running.kill();
    let data = folder.path().join("data/bands/shop");
    let segment = data.join("segments/00000001.jsonl");
    let mut bytes = std::fs::read(&segment).unwrap();
    let third = bytes.iter().enumerate().filter(|(_, b)| **b == b'\n').nth(2).unwrap().0;
    bytes[third + 50] ^= 1;
    std::fs::write(&segment, bytes).unwrap();
    // As if no fold had taken it.
    for folder in ["folds", "snapshots", "states"] {
        let _ = std::fs::remove_dir_all(data.join(folder));
    }
    let output = command(folder.path(), &[]).output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(said.contains("segments/00000001.jsonl is damaged at byte"), "{said}");
    let mut cut = Running::start(folder.path(), &["--cut"]);
    assert_eq!(settled(&cut.address)["learned"], 2);
    cut.kill();
}

/// The log of a service is played again to the same state; a line that was changed is named, although its chain is right.
#[test]
fn the_log_of_a_service_is_played_again() {
    use corral_log::{Reader, Record, Writer};
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("band.toml"), SPEC).unwrap();
    let mut running = Running::start(folder.path(), &[]);
    let mut client = Client::new(&running.address).unwrap();
    for i in 0..40 {
        let body = format!(r#"{{"features":[{},0.5]}}"#, f64::from(i % 3) / 2.0);
        let (_, answer) = client.ask("POST", "/v1/bands/shop/choose", &body).unwrap();
        let answer: serde_json::Value = serde_json::from_str(&answer).unwrap();
        assert_eq!(client.reward(answer["token"].as_str().unwrap(), f64::from(i % 5)).unwrap().0, 200);
    }
    assert_eq!(settled(&running.address)["learned"], 40);
    running.kill();
    let data = folder.path().join("data/bands/shop");
    let log = data.join("segments/00000001.jsonl");
    let verify_with = |log: &Path, more: &[&str]| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_corral"));
        let command = command.args(["log", "verify"]).arg(log).arg("--from").arg(data.join("origin"));
        let output = command.args(more).output().unwrap();
        let said = [output.stdout, output.stderr].concat();
        (output.status.code(), String::from_utf8(said).unwrap())
    };
    let verify = |log: &Path| verify_with(log, &[]);
    let (code, said) = verify(&log);
    assert!(code == Some(0) && said.contains("40 decisions") && said.contains("to the last bit"), "{said}");
    // From inside the folder too.
    let inside = Command::new(env!("CARGO_BIN_EXE_corral"))
        .current_dir(&data)
        .args(["log", "verify", "segments/00000001.jsonl", "--from", "origin"])
        .output()
        .unwrap();
    assert!(inside.status.success(), "{}", String::from_utf8_lossy(&inside.stderr));
    let mut records = Vec::new();
    let mut reader = Reader::new(BufReader::new(std::fs::File::open(&log).unwrap()));
    while let Some(record) = reader.read().unwrap() {
        records.push(record);
    }
    let changed = folder.path().join("changed.jsonl");
    let write = |change: &dyn Fn(&mut Vec<Record>)| {
        let mut all = records.clone();
        change(&mut all);
        let mut writer = Writer::new(std::fs::File::create(&changed).unwrap());
        all.iter().for_each(|record| writer.write(record).unwrap());
        verify(&changed)
    };
    let both = |record: &mut Record, change: &dyn Fn(&mut corral_log::Both)| match record {
        Record::Both(both) => change(both),
        other => panic!("{other:?}"),
    };
    let (code, said) = write(&|all| both(&mut all[5], &|b| b.decision.propensity = Some(0.5)));
    assert!(
        code == Some(1) && said.contains("line 6") && said.contains("its ticket was sealed for"),
        "{said}"
    );
    // Whatever is done to the lines is found out and named, although the chain is right: nothing less than the whole log passes.
    let (code, said) = write(&|all| both(&mut all[7], &|b| b.given.reward = Some(4.5)));
    assert!(code == Some(1) && said.contains("line 8") && said.contains("with 4.5 stands where"), "{said}");
    for removed in [1, 9, records.len() - 1] {
        let (code, said) = write(&|all| drop(all.remove(removed)));
        let expected = if removed == records.len() - 1 { "1 more lines" } else { "stands where" };
        assert!(code == Some(1) && said.contains(expected) && said.contains("--partial"), "{said}");
    }
    let (code, said) = write(&|all| all.truncate(1));
    assert!(code == Some(1) && said.contains("40 more lines"), "{said}");
    let (code, said) = write(&|all| all.push(all[3].clone()));
    assert!(code == Some(1) && said.contains("line 42") && said.contains("in no segment"), "{said}");
    let (code, said) = write(&|all| all.insert(4, all[3].clone()));
    assert!(code == Some(1) && said.contains("line 5"), "{said}");
    let (code, said) = write(&|all| all.swap(4, 8));
    assert!(code == Some(1) && said.contains("line 5"), "{said}");
    // A part of a log is one where that is said; a line that is there twice is in none.
    write(&|all| drop(all.drain(1..10)));
    let (code, said) = verify_with(&changed, &["--partial"]);
    assert!(code == Some(0) && said.contains("31 decisions") && said.contains("a part of a log"), "{said}");
    write(&|all| all.push(all[3].clone()));
    let (code, said) = verify_with(&changed, &["--partial"]);
    assert!(code == Some(1) && said.contains("a second time"), "{said}");
}

/// Requests that offer some of the actions leave a log in which each action is valued under its own name.
#[test]
fn the_log_of_some_actions_is_valued_by_their_names() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("band.toml"), SPEC).unwrap();
    let mut running = Running::start(folder.path(), &[]);
    let mut client = Client::new(&running.address).unwrap();
    let offers = [r#"["c","b"]"#, r#"["b","a"]"#, r#"["c","a"]"#, r#"["b","c","a"]"#];
    for i in 0..200 {
        let body = format!(r#"{{"features":[0.5,0.5],"actions":{}}}"#, offers[i % 4]);
        let (_, answer) = client.ask("POST", "/v1/bands/shop/choose", &body).unwrap();
        let answer: serde_json::Value = serde_json::from_str(&answer).unwrap();
        let reward = match answer["action"].as_str().unwrap() {
            "a" => 9.0,
            "b" => 2.0,
            _ => 6.0,
        };
        assert_eq!(client.reward(answer["token"].as_str().unwrap(), reward).unwrap().0, 200);
    }
    assert_eq!(settled(&running.address)["learned"], 200);
    running.kill();
    let data = folder.path().join("data/bands/shop");
    let log = data.join("segments/00000001.jsonl");
    let run = |command: &str, more: &[&str]| {
        let mut program = Command::new(env!("CARGO_BIN_EXE_corral"));
        let output = program.args(["log", command]).arg(&log).args(more).output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).unwrap()
    };
    let from = data.join("origin");
    assert!(run("verify", &["--from", from.to_str().unwrap()]).contains("to the last bit"));
    let policies =
        ["--policy", "action:a", "--policy", "action:b", "--policy", "action:c", "--format", "json"];
    let found: serde_json::Value = serde_json::from_str(&run("evaluate", &policies)).unwrap();
    // Rewards follow from the action, so that the self-normalised estimate is exact.
    for (policy, expected) in [("action:a", 9.0), ("action:b", 2.0), ("action:c", 6.0)] {
        let values = found["values"].as_array().unwrap();
        let value = values.iter().find(|v| v["policy"] == policy && v["estimator"] == "snips").unwrap();
        assert!((value["value"].as_f64().unwrap() - expected).abs() < 1e-9, "{value}");
    }
}

#[test]
fn limits_are_options() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("band.toml"), SPEC).unwrap();
    // Without a learner nothing that is taken is served.
    let limits = ["--role", "front", "--body", "2000", "--tickets", "1", "--max-stale", "0.2"];
    let mut running = Running::start(folder.path(), &limits);
    let mut client = Client::new(&running.address).unwrap();
    let choose = |client: &mut Client, body: &str| client.ask("POST", "/v1/bands/shop/choose", body).unwrap();
    let kept = r#"{"features":[0.5,0.5],"store":true}"#;
    let (status, answer) = choose(&mut client, kept);
    assert_eq!((status, choose(&mut client, kept).0), (200, 503), "one ticket is kept");
    let answer: serde_json::Value = serde_json::from_str(&answer).unwrap();
    assert_eq!(client.reward(answer["token"].as_str().unwrap(), 5.0).unwrap().0, 200);
    let plain = r#"{"features":[0.5,0.5]}"#;
    let late = (0..500).map(|_| {
        std::thread::sleep(Duration::from_millis(20));
        choose(&mut client, plain)
    });
    let (_, why) = late.into_iter().find(|(status, _)| *status == 503).unwrap();
    assert!(why.contains("behind the rewards"), "{why}");
    assert_eq!(choose(&mut client, &format!("{plain}{}", " ".repeat(2000))).0, 413);
    running.kill();
}

/// With `--log json` every line is an object: what began, what was asked and what was answered.
#[test]
fn logs_are_lines_of_json_where_that_is_asked_for() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(
        folder.path().join("band.toml"),
        SPEC.replace("features = 2\n", "").replace("linucb", "ucb1").replace("squarecb", "exp3"),
    )
    .unwrap();
    let table: String = (0..60).map(|i| format!("{},0.5,{}\n", ["a", "b"][i % 2], 4 + i % 2)).collect();
    let table = format!("action,propensity,reward\n{table}c,,5\n");
    std::fs::write(folder.path().join("old.csv"), table).unwrap();
    let old = folder.path().join("old.csv");
    let mut program = command(folder.path(), &["--log", "json", "--warm-up", old.to_str().unwrap()]);
    let mut child = program.stderr(Stdio::piped()).spawn().unwrap();
    let mut said = BufReader::new(child.stderr.take().unwrap()).lines();
    let mut next = move || -> serde_json::Value {
        let line = said.next().unwrap().unwrap();
        serde_json::from_str(&line).unwrap_or_else(|e| panic!("{e}: {line}"))
    };
    let warmed = next();
    assert_eq!(
        (&warmed["event"], &warmed["rows"], &warmed["used"]),
        (&"warm-up".into(), &61.into(), &60.into()),
        "{warmed}"
    );
    assert_eq!(next()["event"], "open");
    let listening = next();
    let mut client = Client::new(listening["address"].as_str().unwrap()).unwrap();
    assert_eq!(client.ask("POST", "/v1/bands/shop/choose", "{}").unwrap().0, 200);
    assert_eq!(client.ask("GET", "/nothing", "").unwrap().0, 404);
    let (chosen, missing) = (next(), next());
    assert_eq!(
        (&chosen["path"], &chosen["status"]),
        (&"/v1/bands/shop/choose".into(), &200.into()),
        "{chosen}"
    );
    assert_eq!((&missing["event"], &missing["status"]), (&"request".into(), &404.into()), "{missing}");
    assert!(chosen["at"].as_u64() > Some(1_600_000_000_000) && chosen["micros"].is_u64(), "{chosen}");
    child.kill().unwrap();
    child.wait().unwrap();
}
