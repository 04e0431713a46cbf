//! The program as a user meets it: exit codes, messages, and results that do not depend on how they were made.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use crate::launch::{corral, folder_with, records, refused, run, succeeded};
use tempfile::TempDir;

const SPEC: &str = r#"
name   = "small"
rounds = 1_500
seeds  = 6

[[environment]]
label = "stochastic"
name  = "bernoulli"
means = [0.5, 0.3, 0.6]

[[environment]]
label = "switching"
name  = "switching"
means = [[0.2, 0.5, 0.6], [0.8, 0.5, 0.3]]

[[learner]]
label  = "band"
master = { name = "corral", rate = "fast" }
bases  = [ { name = "ucb1", scale = 0.1 }, { name = "exp3" }, "random" ]

[[learner]]
label  = "nested"
master = { name = "corral" }
bases  = [ { name = "exp3" }, { master = "exp3", bases = ["ucb1", "random"] } ]

[[learner]]
label = "exp3 alone"
base  = { name = "exp3" }
"#;

fn bytes(dir: &Path) -> Vec<(PathBuf, Vec<u8>)> {
    ["manifest.json", "results.csv", "cells.jsonl", "report.html"]
        .iter()
        .map(|name| (PathBuf::from(name), fs::read(dir.join(name)).unwrap_or_else(|e| panic!("{name}: {e}"))))
        .collect()
}

#[test]
fn jobs_and_shards_do_not_change_a_byte() {
    let dir = folder_with(SPEC);
    succeeded(&run(&dir, &["--jobs", "1", "--out", "one"]));
    succeeded(&run(&dir, &["--jobs", "3", "--out", "three"]));
    let one = bytes(&dir.path().join("one"));
    assert!(one == bytes(&dir.path().join("three")));
    for i in 1..=3 {
        succeeded(&run(&dir, &["--shard", &format!("{i}/3"), "--out", &format!("part-{i}")]));
    }
    succeeded(&corral(dir.path(), &["merge", "part-2", "part-3", "part-1", "--out", "joined"]));
    assert!(one == bytes(&dir.path().join("joined")));
}

#[test]
fn a_merge_with_a_part_missing_says_which() {
    let dir = folder_with(SPEC);
    succeeded(&run(&dir, &["--shard", "1/2", "--out", "part-1"]));
    refused(
        &corral(dir.path(), &["merge", "part-1", "--out", "joined"]),
        2,
        &["18 cells are missing", "cell 1"],
    );
    assert!(!dir.path().join("joined/results.csv").exists());
}

#[test]
fn a_killed_run_resumes_to_the_same_bytes() {
    let dir = folder_with(&SPEC.replace("rounds = 1_500", "rounds = 30_000"));
    succeeded(&run(&dir, &["--out", "whole"]));
    let mut child = Command::new(env!("CARGO_BIN_EXE_corral"))
        .args(["run", "spec.toml", "--quiet", "--jobs", "1", "--out", "killed"])
        .current_dir(dir.path())
        .stdout(Stdio::null())
        .spawn()
        .unwrap();
    let log = dir.path().join("killed/cells.partial.jsonl");
    // Wait for the first cells, then pull the plug.
    for _ in 0..2_000 {
        if fs::metadata(&log).is_ok_and(|m| m.len() > 0) {
            break;
        }
        std::thread::sleep(Duration::from_millis(5));
    }
    child.kill().unwrap();
    child.wait().unwrap();
    assert!(!dir.path().join("killed/results.csv").exists());
    // A kill in the middle of a line leaves half of it.
    let mut cut = fs::read(&log).unwrap();
    cut.extend_from_slice(b"{\"cell\":35,\"rounds\":30000,\"envir");
    fs::write(&log, cut).unwrap();
    succeeded(&run(&dir, &["--out", "killed"]));
    assert!(bytes(&dir.path().join("whole")) == bytes(&dir.path().join("killed")));
    // Once more: nothing is left to do, and nothing changes.
    succeeded(&run(&dir, &["--out", "killed"]));
    assert!(bytes(&dir.path().join("whole")) == bytes(&dir.path().join("killed")));
}

#[cfg(unix)]
#[test]
fn an_interrupt_ends_cleanly_and_the_run_goes_on_later() {
    let dir = folder_with(&SPEC.replace("rounds = 1_500", "rounds = 60_000"));
    let child = Command::new(env!("CARGO_BIN_EXE_corral"))
        .args(["run", "spec.toml", "--quiet", "--jobs", "1", "--out", "o"])
        .current_dir(dir.path())
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    for _ in 0..2_000 {
        if fs::metadata(dir.path().join("o/cells.partial.jsonl")).is_ok_and(|m| m.len() > 0) {
            break;
        }
        std::thread::sleep(Duration::from_millis(5));
    }
    assert!(Command::new("kill").args(["-INT", &child.id().to_string()]).status().unwrap().success());
    refused(&child.wait_with_output().unwrap(), 130, &["interrupted with", "of 36 cells done"]);
    assert!(!dir.path().join("o/results.csv").exists());
    succeeded(&run(&dir, &["--out", "o"]));
    assert_eq!(fs::read_to_string(dir.path().join("o/results.csv")).unwrap().lines().count(), 37);
}

#[test]
fn json_has_one_object_with_the_promised_keys() {
    let dir = folder_with(SPEC);
    let text = succeeded(&run(&dir, &["--format", "json", "--rounds", "200", "--seeds", "2"]));
    let json: serde_json::Value = serde_json::from_str(&text).unwrap();
    assert_eq!((&json["name"], &json["rounds"], &json["seeds"]), (&"small".into(), &200.into(), &2.into()));
    let learners = json["learners"].as_array().unwrap();
    assert_eq!(learners.len(), 6);
    for learner in learners {
        for figure in ["regret", "loss"] {
            for key in ["mean", "se", "sd", "min", "max"] {
                assert!(learner[figure][key].is_f64(), "{figure}.{key}: {learner}");
            }
        }
        assert!(learner["rounds_per_second"].as_f64().unwrap() > 0.0);
    }
}

/// Seeds 4 and 5 by name are those of a run with six, whole or in parts; `cell` alone counts from the range's first seed.
#[test]
fn a_range_of_seeds_is_a_part_of_a_longer_run() {
    let dir = folder_with(SPEC);
    succeeded(&run(&dir, &["--out", "six"]));
    let text = succeeded(&run(&dir, &["--seeds", "4..6", "--out", "two"]));
    assert!(text.contains("1500 rounds, 2 seeds from 4 on"), "{text}");
    let of = |folder: &str| -> Vec<String> {
        let of_range = |r: &String| r.contains("\"seed\":4,") || r.contains("\"seed\":5,");
        let all = records(&dir.path().join(folder)).into_iter().filter(of_range);
        all.map(|r| r.split_once(',').unwrap().1.to_owned()).collect()
    };
    let two = of("two");
    assert_eq!(two.len(), 12);
    assert_eq!(two, of("six"));
    for i in ["1/2", "2/2"] {
        let part = format!("part-{}", &i[..1]);
        let set = ["--set", "seeds=\"4..6\"", "--shard", i, "--out", &part];
        succeeded(&run(&dir, &set));
        succeeded(&run(&dir, &set));
    }
    succeeded(&corral(dir.path(), &["merge", "part-1", "part-2", "--out", "joined"]));
    assert_eq!(of("joined"), two);
    for range in ["4..4", "6..4", "4..", "..6", "4..=6", "a..b", "0", "six"] {
        refused(&run(&dir, &["--seeds", range]), 2, &["seeds must be a whole number of at least 1", range]);
    }
}

#[test]
fn overrides_reach_the_spec() {
    let dir = folder_with(SPEC);
    let set = [
        "--set",
        "seeds=1",
        "--set",
        "environment.0.means=[0.1, 0.9]",
        "--set",
        "learner.0.master.rate=eager",
    ];
    let text = succeeded(&run(&dir, &[&set[..], &["--rounds", "50", "--out", "o"]].concat()));
    assert!(text.contains("50 rounds, 1 seed"), "{text}");
    let manifest = fs::read_to_string(dir.path().join("o/manifest.json")).unwrap();
    assert!(manifest.contains("[0.1, 0.9]") && manifest.contains("eager"), "{manifest}");
    refused(&run(&dir, &["--set", "rounds"]), 2, &["key=value"]);
    refused(&run(&dir, &["--set", "environment.7.name=x"]), 2, &["\"7\""]);
}

#[test]
fn what_is_wrong_with_a_spec_is_named_with_its_line() {
    let cases: &[(&str, &str, &[&str])] = &[
        (
            "rounds = 1_500",
            "rounds = -5",
            &["line 3", "rounds must be a whole number of at least 1, but is -5"],
        ),
        ("rounds = 1_500", "rounds = 0", &["line 3", "at least 1, but is 0"]),
        ("rounds = 1_500", "roundz = 10", &["line 3", "unknown key of the spec \"roundz\"", "rounds"]),
        ("rounds = 1_500", "", &["rounds is missing"]),
        ("seeds  = 6", "seeds = 2.5", &["line 4", "but is 2.5"]),
        ("name  = \"bernoulli\"", "name = \"bernouli\"", &["line 8", "did you mean \"bernoulli\"?"]),
        ("means = [0.5, 0.3, 0.6]", "means = [0.5, 1.3]", &["line 9", "1.3"]),
        ("means = [0.5, 0.3, 0.6]", "meens = [0.5]", &["line 9", "means"]),
        (
            "{ name = \"exp3\" }, \"random\"",
            "{ name = \"exp\" }, \"random\"",
            &["line 19", "unknown base", "exp3"],
        ),
        ("scale = 0.1", "scael = 0.1", &["line 19", "scale"]),
        ("name = \"corral\", rate = \"fast\"", "name = \"coral\"", &["line 18", "corral"]),
        ("rate = \"fast\"", "feed = \"evryone\"", &["line 18", "everyone"]),
        ("base  = { name = \"exp3\" }", "base  = { name = \"scrible\" }", &["line 28", "scrible"]),
        ("base  = { name = \"exp3\" }", "", &["line 26", "needs a base, or a master"]),
        ("label = \"exp3 alone\"", "label = \"band\"", &["line 26", "two learners are labelled \"band\""]),
        ("name   = \"small\"", "name = ", &["line 2"]),
        (
            "name  = \"bernoulli\"\nmeans = [0.5, 0.3, 0.6]",
            "name = \"dataset\"\nfile = \"no/where.csv\"",
            &["line 6", "no/where.csv"],
        ),
    ];
    for (old, new, parts) in cases {
        assert!(SPEC.contains(old), "{old}");
        let dir = folder_with(&SPEC.replacen(old, new, 1));
        refused(&run(&dir, &["--out", "o"]), 2, parts);
        assert!(!dir.path().join("o").exists(), "{new}: a folder was made");
        refused(&run(&dir, &["--check"]), 2, parts);
    }
}

#[test]
fn a_named_band_is_its_list_and_its_members_alone() {
    let head = "rounds = 200\nseeds = 2\nenvironment = { name = \"bernoulli\", means = [0.5, 0.3] }\n";
    let pair = "[{ name = \"ucb1\", scale = 0.1 }, \"exp3\", \"exp3\"]";
    let named = format!(
        "{head}[bands]\npair = {pair}\n[[learner]]\nmaster = \"corral\"\nbases = \"pair\"\n[[learner]]\nalone = \"pair\"\n"
    );
    let written = format!(
        "{head}[[learner]]\nmaster = \"corral\"\nbases = {pair}\n[[learner]]\nbase = {{ name = \"ucb1\", scale = 0.1 }}\n\
         [[learner]]\nlabel = \"exp3 #1\"\nbase = {{ name = \"exp3\" }}\n[[learner]]\nlabel = \"exp3 #2\"\nbase = {{ name = \"exp3\" }}\n"
    );
    let cells = |spec: &str| {
        let dir = folder_with(spec);
        succeeded(&run(&dir, &["--out", "o"]));
        let mut lines = records(&dir.path().join("o"));
        lines.sort();
        lines
    };
    assert_eq!(cells(&named), cells(&written));
    let wrong = named.replace("alone = \"pair\"", "alone = \"pear\"");
    refused(&run(&folder_with(&wrong), &[]), 2, &["line 9", "unknown band \"pear\"", "pair"]);
    let none = named.replace(pair, "[]");
    refused(&run(&folder_with(&none), &[]), 2, &["line 5", "the band \"pair\" has no bases"]);
    let both = named.replace("alone = \"pair\"", "alone = \"pair\"\nbase = { name = \"exp3\" }");
    refused(&run(&folder_with(&both), &[]), 2, &["line 9", "cannot be given with base"]);
}

/// Losses outside [0, 1] are asked for by the environment; who is not defined there is refused with its line.
#[test]
fn losses_outside_the_unit_interval_are_for_learners_that_take_them() {
    let spec = |learner: &str| {
        format!(
            "rounds = 300\nseeds = 2\n\
             environment = {{ name = \"gaussian\", means = [0.5, 0.0], sd = 1.0, clip = false }}\n[[learner]]\n{learner}\n"
        )
    };
    let band =
        "label = \"band\"\nmaster = { name = \"corral\", feed = \"raw\" }\nbases = [\"ucb1\", \"random\"]";
    let dir = folder_with(&spec(band));
    succeeded(&run(&dir, &["--out", "o"]));
    let cells = fs::read_to_string(dir.path().join("o/cells.jsonl")).unwrap();
    assert!(!cells.contains("\"benched\":[["), "{cells}");
    let cases = [
        ("base = { name = \"exp3\" }", ["line 5", "base \"exp3\" needs losses in [0, 1]"]),
        (
            "master = \"trim\"\nbases = [\"ucb1\", \"random\"]",
            ["master \"trim\"", "losses must be in [0, 1]"],
        ),
        (
            "base = { name = \"ucb1\", smoothed = true }",
            ["line 5", "is smoothed, which needs losses in [0, 1]"],
        ),
    ];
    for (learner, parts) in cases {
        refused(&run(&folder_with(&spec(learner)), &[]), 2, &parts);
    }
}

#[test]
fn bases_are_smoothed_and_copied_on_request() {
    let spec = |keys: &str, copies: &str| {
        format!(
            "rounds = 300\nseeds = 2\nenvironment = {{ name = \"bernoulli\", means = [0.5, 0.3, 0.6] }}\n[[learner]]\n\
             master = {{ name = \"exp3-p\", feed = \"raw\" }}\nbases = [{{ name = \"ucb1\"{keys} }}, \"exp3\"]\n{copies}\n"
        )
    };
    let cells = |spec: &str| {
        let dir = folder_with(spec);
        succeeded(&run(&dir, &["--out", "o"]));
        records(&dir.path().join("o")).concat()
    };
    let plain = cells(&spec("", ""));
    assert_ne!(cells(&spec(", smoothed = true", "")), plain);
    assert_eq!(cells(&spec(", smoothed = false", "copies = 1")), plain);
    // ln 300 = 5.7
    let many = cells(&spec("", "copies = \"log-rounds\""));
    assert!(many.contains("\"ucb1 (5)\",\"exp3 (1)\"") && !many.contains("(6)"), "{many}");
    for copies in ["copies = 0", "copies = \"many\""] {
        refused(&run(&folder_with(&spec("", copies)), &[]), 2, &["line 7", "copies must be"]);
    }
}

/// A claim that names a horizon is not held where that is not run: no full preset has such a claim.
#[test]
fn claims_of_full_presets_are_about_horizons_that_are_run() {
    for (name, text) in corral_lab::experiments::ALL {
        // A table of stability claims nothing of a horizon.
        if text.contains("[[stability]]") {
            continue;
        }
        let spec = corral_lab::spec::Spec::parse(text).unwrap_or_else(|e| panic!("{name}: {e}"));
        for claim in &spec.claims {
            assert!(claim.rounds.is_none_or(|t| spec.rounds.contains(&t)), "{name}: {claim:?}");
        }
    }
}

#[test]
fn what_is_no_spec_is_refused() {
    let dir = folder_with("");
    refused(&run(&dir, &[]), 2, &["spec.toml", "empty"]);
    fs::write(dir.path().join("spec.toml"), b"name = \"\xff\xfe\"").unwrap();
    refused(&run(&dir, &[]), 2, &["not UTF-8", "byte 8"]);
    let large = fs::File::create(dir.path().join("spec.toml")).unwrap();
    large.set_len(100 << 20).unwrap();
    refused(&run(&dir, &[]), 2, &["104857600 bytes"]);
    refused(&corral(dir.path(), &["run", "missing.toml"]), 2, &["missing.toml", "No such file"]);
    refused(&corral(dir.path(), &["run", "quikstart"]), 2, &["unknown experiment", "quickstart"]);
    refused(&corral(dir.path(), &["run", "."]), 2, &["not a regular file"]);
    fs::write(
        dir.path().join("spec.toml"),
        "rounds = 10\nseeds = 1\nenvironment = { name = \"bernoulli\", means = [0.1] }",
    )
    .unwrap();
    refused(&run(&dir, &[]), 2, &["there is no learner"]);
}

#[test]
fn a_folder_that_cannot_be_used_is_left_alone() {
    let dir = folder_with(SPEC);
    let small = ["--rounds", "20", "--seeds", "1", "--out", "o"];
    succeeded(&run(&dir, &small));
    let before = bytes(&dir.path().join("o"));
    refused(&run(&dir, &["--rounds", "30", "--seeds", "1", "--out", "o"]), 2, &["another spec", "--out"]);
    assert!(before == bytes(&dir.path().join("o")));
    fs::write(dir.path().join("file"), "").unwrap();
    refused(&run(&dir, &["--out", "file/inside"]), 2, &["file/inside"]);
    refused(&corral(dir.path(), &["report", "nowhere"]), 2, &["nowhere", "no such folder"]);
    fs::write(dir.path().join("o/manifest.json"), "{").unwrap();
    refused(&corral(dir.path(), &["report", "o"]), 2, &["manifest.json"]);
}

#[cfg(target_os = "linux")]
#[test]
fn a_full_disk_fails_with_a_message_and_leaves_no_half_file() {
    let dir = folder_with(SPEC);
    fs::create_dir(dir.path().join("o")).unwrap();
    // Writing to /dev/full always says that the disk is full: before the run, and at its end.
    let small = ["--rounds", "20", "--seeds", "1", "--out", "o"];
    let full = |name: &str| std::os::unix::fs::symlink("/dev/full", dir.path().join("o").join(name)).unwrap();
    full("manifest.json.tmp");
    refused(&run(&dir, &small), 2, &["No space left"]);
    assert!(!dir.path().join("o/manifest.json").exists());
    full("results.csv.tmp");
    refused(&run(&dir, &small), 1, &["results.csv", "No space left"]);
    assert!(!dir.path().join("o/results.csv").exists());
    // With space again the cells that were done are still there.
    succeeded(&run(&dir, &small));
}

#[test]
fn the_report_stands_alone() {
    let dir = folder_with(SPEC);
    succeeded(&run(&dir, &["--rounds", "400", "--out", "o"]));
    let html = fs::read_to_string(dir.path().join("o/report.html")).unwrap();
    for absent in ["<script src", "http://", "https://", "<link", "@import", "url("] {
        assert!(!html.contains(absent), "{absent}");
    }
    for present in [
        "viewport",
        "prefers-color-scheme: dark",
        "@media print",
        "Inside band",
        "What failed",
        "95% interval",
    ] {
        assert!(html.contains(present), "{present}");
    }
    let again = succeeded(&corral(dir.path(), &["report", "o"]));
    assert!(again.contains("report.html"));
    assert_eq!(html, fs::read_to_string(dir.path().join("o/report.html")).unwrap());
}

#[test]
fn data_that_end_before_the_horizon_are_run_to_their_end() {
    let spec = SPEC
        .replace("name  = \"bernoulli\"\nmeans = [0.5, 0.3, 0.6]", "name = \"dataset\"\nfile = \"data.csv\"");
    let dir = folder_with(&spec);
    let rows: String = (0..200).map(|i| format!("{},{}\n", i % 7, i % 3)).collect();
    fs::write(dir.path().join("data.csv"), format!("x,y\n{rows}")).unwrap();
    let text = succeeded(&run(
        &dir,
        &["--format", "json", "--out", "o", "--set", "environment.1.means=[[0.1, 0.2, 0.3]]"],
    ));
    let json: serde_json::Value = serde_json::from_str(&text).unwrap();
    assert!(json["gaps"].as_array().unwrap().len() == 3, "{json}");
    let cells = fs::read_to_string(dir.path().join("o/cells.jsonl")).unwrap();
    assert!(cells.lines().next().unwrap().contains("\"played\":200"), "{cells}");
}

#[test]
fn listings_name_everything() {
    let dir = TempDir::new().unwrap();
    for what in ["masters", "bases", "environments", "experiments"] {
        let table = succeeded(&corral(dir.path(), &["list", what]));
        let json = succeeded(&corral(dir.path(), &["list", what, "--format", "json"]));
        let items: Vec<serde_json::Value> = serde_json::from_str(&json).unwrap();
        assert!(!items.is_empty(), "{what}");
        for item in items {
            assert!(table.contains(item["name"].as_str().unwrap()), "{what}: {item}");
        }
    }
    let one = succeeded(&corral(dir.path(), &["list", "bases", "exp3"]));
    for part in ["alpha", "1/2", "range_change", "source"] {
        assert!(one.contains(part), "{part}: {one}");
    }
    refused(&corral(dir.path(), &["list", "bases", "exp33"]), 2, &["unknown base \"exp33\"", "exp3"]);
    for args in [&["list"][..], &["list", "bases"]] {
        assert!(succeeded(&corral(dir.path(), args)).contains("smoothed = true"), "{args:?}");
    }
    assert!(succeeded(&corral(dir.path(), &["list", "plugins"])).contains("no plugins"));
}

#[test]
fn job_scripts_name_every_part() {
    let dir = folder_with(SPEC);
    let slurm = succeeded(&run(&dir, &["--emit", "slurm", "--parts", "7", "--set", "name=it's"]));
    assert!(slurm.contains("--array=1-7") && slurm.contains("--shard $SLURM_ARRAY_TASK_ID/7"), "{slurm}");
    assert!(slurm.contains(r"'name=it'\''s'"), "{slurm}");
    let parallel = succeeded(&run(&dir, &["--emit", "parallel", "--parts", "3"]));
    assert!(parallel.contains("seq 1 3 | parallel") && parallel.contains("corral merge"), "{parallel}");
}

#[test]
fn stability_prints_the_fitted_alpha_beside_the_claim() {
    let dir = TempDir::new().unwrap();
    let args = [
        "stability",
        "exp3",
        "--quiet",
        "--rounds",
        "500",
        "--seeds",
        "4",
        "--ranges",
        "1,4",
        "--schedules",
        "constant",
    ];
    let text = succeeded(&corral(dir.path(), &args));
    for part in ["worst regret", "alpha, worst gap", "alpha, claimed      0.50"] {
        assert!(text.contains(part), "{part}: {text}");
    }
    refused(&corral(dir.path(), &["stability", "exp33"]), 2, &["unknown base"]);
    refused(&corral(dir.path(), &["stability", "exp3", "--set", "ratee=1"]), 2, &["rate"]);
}

#[test]
fn a_table_of_stability_is_run_and_resumed() {
    let spec = "rounds = 300\nseeds = 3\nranges = [1, 2, 4]\n[[stability]]\nbase = \"exp3\"\n\
                [[stability]]\nbase = { name = \"ucb1\", label = \"wide, ucb1\", scale = 2.0 }\n";
    let dir = folder_with(spec);
    let first = succeeded(&run(&dir, &["--out", "out"]));
    for part in ["constant", "exp3", "wide, ucb1", "<= 0.50 + 0.1"] {
        assert!(first.contains(part), "{part}: {first}");
    }
    // Each base in its own folder, a results folder like any other; a second run finds everything there.
    let cells = dir.path().join("out/exp3/cells.jsonl");
    let written = fs::metadata(&cells).unwrap().len();
    assert!(written > 0 && dir.path().join("out/wide--ucb1/manifest.json").exists());
    assert_eq!(succeeded(&run(&dir, &["--out", "out"])), first);
    let json = succeeded(&run(&dir, &["--out", "out", "--format", "json"]));
    let json: serde_json::Value = serde_json::from_str(&json).unwrap();
    assert_eq!(json["claims"].as_array().unwrap().len(), 2);
    assert_eq!(json["bases"][0]["measured"]["curve"].as_array().unwrap().len(), 3);
    assert!(succeeded(&run(&dir, &["--check"])).contains("fine"));
    refused(&run(&dir, &["--shard", "1/2"]), 2, &["not run in parts"]);
    refused(&run(&folder_with(&spec.replace("exp3", "exp33")), &[]), 2, &["line 5", "unknown base"]);
    refused(&run(&folder_with(&spec.replace("scale", "sale")), &[]), 2, &["line 7", "scale"]);
}
