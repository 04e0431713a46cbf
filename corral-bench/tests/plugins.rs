//! Plugins as a user of the program meets them. The libraries are C, which a compiler makes in no time; where there is
//! none, the tests say so and pass.
#![cfg(unix)]

#[path = "../../corral-plugin-abi/tests/common/mod.rs"]
mod common;
mod launch;

use std::fs;
use std::process::{Command, Output};

use common::{SHARED, c, compile, folder, workspace};
use launch::corral;
use tempfile::TempDir;

fn out(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).into_owned()
}

fn err(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

/// A folder with the C example and the faulty fixture in `plugins/`.
fn user() -> Option<TempDir> {
    let dir = folder();
    let plugins = dir.path().join("plugins");
    fs::create_dir(&plugins).unwrap();
    let source = workspace().join("examples/plugins/c-epsilon-greedy/epsilon_greedy.c");
    compile("cc", &workspace().join("corral-plugin-abi"), &source, &plugins.join("greedy.so"), SHARED)?;
    c("faulty.c", &plugins.join("faulty.so"), SHARED)?;
    fs::write(plugins.join("text.so"), "hello").unwrap();
    Some(dir)
}

fn spec(bases: &str) -> String {
    format!(
        "rounds = 400\nseeds = 2\nenvironment = {{ name = \"bernoulli\", means = [0.9, 0.5, 0.2] }}\n\
         [[learner]]\nlabel = \"band\"\nmaster = \"corral\"\nbases = [ \"ucb1\", {bases} ]\n"
    )
}

#[test]
fn plugins_are_found_listed_and_examined() {
    let Some(dir) = user() else { return };
    let listed = corral(dir.path(), &["list", "plugins"]);
    assert!(listed.status.success(), "{}", err(&listed));
    for key in ["faulty/faulty", "faulty/points", "greedy/epsilon-greedy"] {
        assert!(out(&listed).contains(key), "{}", out(&listed));
    }
    assert!(err(&listed).contains("plugin refused: plugins/text.so: not a library"), "{}", err(&listed));

    let elsewhere = folder();
    let plugins = dir.path().join("plugins");
    let plugins = plugins.to_str().unwrap();
    assert!(out(&corral(elsewhere.path(), &["list", "plugins"])).contains("no plugins"));
    assert!(out(&corral(elsewhere.path(), &["list", "plugins", "--plugins", plugins])).contains("greedy/"));
    let by_variable = Command::new(env!("CARGO_BIN_EXE_corral"))
        .args(["list", "plugins"])
        .current_dir(elsewhere.path())
        .env("CORRAL_PLUGINS", plugins)
        .output()
        .unwrap();
    assert!(out(&by_variable).contains("greedy/"));

    let fine = corral(dir.path(), &["plugin", "check", "plugins/greedy.so"]);
    assert!(fine.status.success() && !out(&fine).contains("FAILED"), "{}{}", out(&fine), err(&fine));
    assert!(out(&fine).contains("ok      continuation"), "{}", out(&fine));
    let refused = corral(dir.path(), &["plugin", "check", "plugins/text.so"]);
    assert_eq!((refused.status.code(), &*out(&refused)), (Some(2), "FAILED  pre-flight\n"));
}

#[test]
fn a_base_in_its_own_process_gives_the_same_run() {
    let Some(dir) = user() else { return };
    let cells = |base: &str| {
        fs::write(dir.path().join("spec.toml"), spec(base)).unwrap();
        let ran = corral(dir.path(), &["run", "spec.toml", "--quiet", "--format", "csv"]);
        assert!(ran.status.success(), "{}", err(&ran));
        out(&ran)
    };
    let here = cells("{ name = \"greedy/epsilon-greedy\", epsilon = 0.2 }");
    assert_eq!(here, cells("{ name = \"greedy/epsilon-greedy\", epsilon = 0.2, isolate = true }"));
    assert_ne!(here, cells("{ name = \"greedy/epsilon-greedy\", epsilon = 0.9 }"));
}

#[test]
fn a_base_that_dies_is_benched_and_the_run_goes_on_and_says_so() {
    let Some(dir) = user() else { return };
    for (fault, why) in [
        ("null-write", "ended by signal 11 (segmentation fault)"),
        ("abort", "ended by signal 6 (abort)"),
        ("exit", "ended with exit code 42"),
        ("nan", "number 0 of the memo is NaN"),
    ] {
        let base = format!("{{ name = \"faulty/faulty\", fault = {fault:?}, isolate = true }}");
        fs::write(dir.path().join("spec.toml"), spec(&base)).unwrap();
        let ran = corral(dir.path(), &["run", "spec.toml", "--quiet", "--out", fault]);
        assert!(ran.status.success(), "{}", err(&ran));
        let said = "band: 2 times a base was benched and the run continued with the others; seed 0, round ";
        assert!(out(&ran).contains(said) && out(&ran).contains(why), "{}", out(&ran));
        let again = corral(dir.path(), &["run", "spec.toml", "--quiet", "--out", fault, "--format", "json"]);
        let answer: serde_json::Value = serde_json::from_str(&out(&again)).unwrap();
        let benched = answer["learners"][0]["benched"].as_array().unwrap();
        assert!(benched.len() == 2 && benched[1].as_str().unwrap().contains(why), "{benched:?}");
        assert!(fs::read_to_string(dir.path().join(fault).join("report.html")).unwrap().contains(why));
    }
}

#[test]
fn a_new_plugin_is_written_with_the_commands_that_build_it() {
    let dir = folder();
    let wrote = corral(dir.path(), &["plugin", "new", "my-base"]);
    assert!(wrote.status.success(), "{}", err(&wrote));
    assert!(out(&wrote).contains("corral plugin check target/release/libmy_base.so"), "{}", out(&wrote));
    assert!(dir.path().join("my-base/src/lib.rs").exists());
    assert_eq!(corral(dir.path(), &["plugin", "new", "my-base"]).status.code(), Some(2));
    assert_eq!(corral(dir.path(), &["plugin", "new", "My Base"]).status.code(), Some(2));
}
