//! Results are protected, and a run ends when it is told to.
#![cfg(unix)]

use std::fs;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use crate::launch::{corral, folder_with, refused, run, succeeded};

const SPEC: &str = r#"
rounds = 300
seeds  = 3
environment = { name = "bernoulli", means = [0.5, 0.3] }
[[learner]]
master = "corral"
bases  = ["ucb1", "exp3"]
[[learner]]
base = { name = "ucb1" }
"#;

fn read(path: &Path) -> String {
    fs::read_to_string(path).unwrap_or_else(|e| panic!("{}: {e}", path.display()))
}

#[test]
fn a_changed_record_is_named_and_computed_again() {
    let dir = folder_with(SPEC);
    succeeded(&run(&dir, &["--out", "o"]));
    let path = dir.path().join("o/cells.jsonl");
    let whole = read(&path);
    for (old, new, says) in [
        ("\"seed\":1", "\"seed\":2", "o/cells.jsonl, line 2: cell 1: it does not have its digest"),
        ("{\"digest\":\"", "{\"digest\":\"0", "o/cells.jsonl, line 1: it has no digest"),
        ("\"rounds\":300", "\"rounds\":300 ", "o/cells.jsonl, line 1: cell 0: it does not have its digest"),
        ("\"cell\":0,", "", "o/cells.jsonl, line 1: it does not have its digest"),
    ] {
        assert!(whole.contains(old), "{old}");
        fs::write(&path, whole.replacen(old, new, 1)).unwrap();
        refused(&corral(dir.path(), &["report", "o"]), 2, &[says, "run the spec again"]);
        refused(&corral(dir.path(), &["merge", "o", "--out", "joined"]), 2, &[says]);
        let again = run(&dir, &["--out", "o"]);
        succeeded(&again);
        let said = String::from_utf8_lossy(&again.stderr);
        assert!(said.contains(says) && said.contains("computed again"), "{said}");
        assert_eq!(read(&path), whole);
    }
    // Records of another spec are not results of this one, however alike.
    succeeded(&run(&dir, &["--out", "other", "--set", "environment.means=[0.5, 0.4]"]));
    fs::copy(dir.path().join("other/cells.jsonl"), &path).unwrap();
    refused(&corral(dir.path(), &["report", "o"]), 2, &["line 1: cell 0: it does not have its digest"]);
    for command in [
        &["export", "o", "--what", "cells", "--to", "csv"][..],
        &["plot", "o", "--kind", "regret", "--out", "f.svg"],
    ] {
        refused(&corral(dir.path(), command), 2, &["line 1: cell 0: it does not have its digest"]);
    }
    refused(
        &run(&dir, &["--out", "o"]),
        2,
        &["none of its 6 records is of this run", "choose another folder"],
    );
    // Nor is a manifest that was changed one of its records.
    fs::write(&path, &whole).unwrap();
    let manifest = dir.path().join("o/manifest.json");
    let own = read(&manifest);
    for (old, new, says) in [
        ("\"seeds\": 3", "\"seeds\": 4", "o/manifest.json: its number of seeds is 4"),
        ("\"corral\": \"", "\"corral\": \"9", "line 1: cell 0: it does not have its digest"),
        ("\"of\": 1", "\"of\": 2", "cell 1: it does not belong to shard 1/2"),
    ] {
        assert!(own.contains(old), "{old}: {own}");
        fs::write(&manifest, own.replacen(old, new, 1)).unwrap();
        refused(&corral(dir.path(), &["report", "o"]), 2, &[says]);
        refused(&corral(dir.path(), &["merge", "o", "--out", "joined"]), 2, &[says]);
        refused(&run(&dir, &["--out", "o"]), 2, &["holds results of"]);
    }
    fs::write(&manifest, own).unwrap();
    succeeded(&corral(dir.path(), &["report", "o"]));
}

#[test]
fn a_folder_without_results_is_said_to_be_one() {
    let dir = folder_with(SPEC);
    succeeded(&run(&dir, &["--out", "all/o"]));
    fs::create_dir(dir.path().join("empty")).unwrap();
    let about: [(&str, &[&str]); 4] = [
        ("empty", &["empty: not a folder of results", "no manifest.json", "corral run SPEC --out DIR"]),
        ("none", &["none: there is no such folder of results"]),
        ("spec.toml", &["spec.toml: a file, and not a folder of results"]),
        ("all", &["all: not a folder of results, but these in it are: all/o"]),
    ];
    for (folder, says) in about {
        for args in [
            &["report", folder][..],
            &["export", folder, "--out", "t.csv"],
            &["plot", folder, "--kind", "regret", "--out", "f.svg"],
            &["merge", folder, "--out", "joined"],
        ] {
            refused(&corral(dir.path(), args), 2, says);
        }
    }
    for file in ["t.csv", "f.svg", "f.vl.json", "joined", "empty/report.html"] {
        assert!(!dir.path().join(file).exists(), "{file} was written");
    }
}

#[test]
fn a_folder_has_one_writer() {
    let dir = folder_with(SPEC);
    succeeded(&run(&dir, &["--out", "o"]));
    let lock = fs::File::open(dir.path().join("o/.lock")).unwrap();
    lock.lock().unwrap();
    refused(&run(&dir, &["--out", "o"]), 2, &["o: another run is writing to this folder"]);
    drop(lock);
    succeeded(&run(&dir, &["--out", "o"]));
}

#[test]
fn sizes_are_multiplied_with_checks() {
    let dir = folder_with(SPEC);
    for (set, part) in [
        (["seeds=4611686018427387904", "rounds=4"], "more than 2^64 rounds"),
        (["seeds=9223372036854775807", "rounds=2"], "more than 2^64 rounds"),
        (["seeds=1", "rounds=9223372036854775807"], "fine"),
    ] {
        let output = run(&dir, &["--check", "--set", set[0], "--set", set[1]]);
        match part {
            // Two learners: 2^64 - 2 rounds.
            "fine" => assert!(succeeded(&output).contains("fine; 2 cells")),
            part => refused(&output, 2, &[part]),
        }
    }
}

/// Waits for the first record of a run in `o/`, however long that takes: a run that ends without one is the failure.
fn first_record(dir: &Path, child: &mut Child) {
    while !fs::metadata(dir.join("o/cells.partial.jsonl")).is_ok_and(|m| m.len() > 0) {
        assert!(child.try_wait().unwrap().is_none(), "it ended");
        std::thread::sleep(Duration::from_millis(5));
    }
}

fn signal(name: &str, child: &Child) {
    assert!(Command::new("kill").args([name, &child.id().to_string()]).status().unwrap().success());
}

/// 10^9 cells in a process that may have 1.5 GB of addresses: they are never a list.
#[test]
fn a_run_of_a_billion_cells_streams() {
    let dir = folder_with(SPEC);
    let script = format!(
        "ulimit -v 1500000; exec {} run spec.toml --quiet --jobs 2 --rounds 10 --seeds 500000000 --out o",
        env!("CARGO_BIN_EXE_corral")
    );
    let mut child = Command::new("sh")
        .args(["-c", &script])
        .current_dir(dir.path())
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    first_record(dir.path(), &mut child);
    signal("-TERM", &child);
    refused(&child.wait_with_output().unwrap(), 130, &["interrupted with", "of 1000000000 cells done"]);
}

/// A cell of 10^15 rounds never ends by itself.
#[test]
fn signals_end_a_run_inside_a_cell() {
    for name in ["-INT", "-TERM"] {
        let dir = folder_with(SPEC);
        let mut child = Command::new(env!("CARGO_BIN_EXE_corral"))
            .args(["run", "spec.toml", "--jobs", "1", "--out", "o"])
            .args(["--set", "rounds=[10, 1_000_000_000_000_000]", "--seeds", "1"])
            .current_dir(dir.path())
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        first_record(dir.path(), &mut child);
        signal(name, &child);
        refused(&child.wait_with_output().unwrap(), 130, &["interrupted with", "of 4 cells done"]);
    }
}

#[test]
fn pipes_are_refused_where_a_file_is_read() {
    let dir = folder_with(SPEC);
    assert!(Command::new("mkfifo").arg(dir.path().join("pipe")).status().unwrap().success());
    let not_a_file = &["pipe", "not a regular file"];
    refused(&corral(dir.path(), &["run", "pipe"]), 2, not_a_file);
    refused(&run(&dir, &["--set", "environment={ name = 'dataset', file = 'pipe' }"]), 2, not_a_file);
    refused(&run(&dir, &["--set", "induced={ schedule = 'recorded', file = 'pipe' }"]), 2, not_a_file);
    fs::create_dir(dir.path().join("plugins")).unwrap();
    refused(&run(&dir, &["--allow-digests", "pipe"]), 2, not_a_file);
    for name in ["manifest.json", "cells.jsonl", "cells.partial.jsonl"] {
        let _ = fs::remove_dir_all(dir.path().join("o"));
        succeeded(&run(&dir, &["--out", "o"]));
        let path = dir.path().join("o").join(name);
        let _ = fs::remove_file(&path);
        assert!(Command::new("mkfifo").arg(&path).status().unwrap().success());
        refused(&corral(dir.path(), &["report", "o"]), 2, &[name, "not a regular file"]);
        refused(&run(&dir, &["--out", "o"]), 2, &[name, "not a regular file"]);
    }
}

#[test]
fn a_delay_is_examined_by_check() {
    let dir =
        folder_with(&SPEC.replace("[[learner]]\nmaster", "delay = { name = \"fixd\" }\n[[learner]]\nmaster"));
    refused(&run(&dir, &["--check"]), 2, &["line 5", "fixd", "fixed"]);
    let dir = folder_with(&SPEC.replace("0.3] }", "0.3], delay = { name = \"geometric\", mean = -1.0 } }"));
    refused(&run(&dir, &["--check"]), 2, &["line 4", "mean", "-1"]);
}

/// Every size is bounded before memory is asked for: the process may have 3 GB of addresses, and none of these abort it.
#[test]
fn sizes_that_no_machine_has_are_refused_with_what_they_take() {
    let data = "file = 'data.csv'";
    let linucb = |keys: &str| format!("{{ name = 'linucb', {keys} }}");
    let cases = [
        (
            "{ name = 'reference-simplex', arms = 9223372036854775807 }",
            "{ name = 'bgd' }",
            ["arms must be smaller", "EB"],
        ),
        (
            "{ name = 'adversarial-linear', set = { ball = { dim = 1000000000 } } }",
            "{ name = 'bgd' }",
            ["dim must be smaller", "32.0 GB"],
        ),
        (
            "{ name = 'adversarial-linear', dim = 1000000 }",
            "{ name = 'oful' }",
            ["the dimension must be smaller, but is 1000000", "8.0 TB"],
        ),
        (
            "{ name = 'stochastic-linear', set = 'sphere', dim = 1000000, points = 60000 }",
            "{ name = 'oful' }",
            ["points must be smaller", "GB"],
        ),
        (
            &format!("{{ name = 'dataset', {data}, encoding = 'hashed', buckets = 100000 }}"),
            &linucb(""),
            ["the number of features must be smaller, but is 1000", "GB"],
        ),
        (
            &format!("{{ name = 'dataset', {data} }}"),
            &linucb("features = { hashed = { dims = 100000, seed = 1 } }"),
            ["the number of features must be smaller, but is 100000", "GB"],
        ),
        (
            "{ name = 'linear', features = 'shared', dim = 6000, arms = 1000, policies = 60000 }",
            "{ name = 'exp4' }",
            ["policies must be smaller", "TB"],
        ),
        (
            "{ name = 'linear', features = 'shared', dim = 5, arms = 3 }",
            "{ name = 'exp4', policies = { trees = { depth = 20, sample = 16000000, search = 'greedy' } } }",
            ["sample must be smaller, but is 16000000", "TB"],
        ),
        (
            "{ name = 'linear', features = 'shared', dim = 500, arms = 50 }",
            "{ name = 'exp4', policies = { linear = { sample = 16000000 } } }",
            ["sample must be smaller, but is 16000000", "TB"],
        ),
    ];
    for (environment, base, parts) in cases {
        let dir = folder_with("rounds = 10\nseeds = 1\nenvironment = 0\nlearner = [{ base = 0 }]\n");
        fs::write(dir.path().join("data.csv"), "x,c,y\n1,a,0\n2,b,1\n3,a,0\n").unwrap();
        let script = format!(
            "ulimit -v 3000000; exec {} run spec.toml --memory 2GB --jobs 1 --set \"environment={environment}\" --set \"learner.0.base={base}\"",
            env!("CARGO_BIN_EXE_corral")
        );
        for more in ["--check", "--quiet"] {
            let output = Command::new("sh")
                .args(["-c", &format!("{script} {more}")])
                .current_dir(dir.path())
                .output()
                .unwrap();
            // The features of this world were claimed before its policies.
            let left = if environment.contains("policies") { "1.4 GB" } else { "2.0 GB" };
            let left = format!("where {left} may be used");
            refused(&output, 2, &[&parts[..], &[left.as_str()]].concat());
        }
    }
    let dir = folder_with(SPEC);
    refused(&run(&dir, &["--memory", "lots"]), 2, &["a size is as in 500MB or 8GB, but is \"lots\""]);
}
