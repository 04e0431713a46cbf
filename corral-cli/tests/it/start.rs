//! What a newcomer starts with: specs to change, lists that fit the page, help with examples, completions, documents.

use std::fs;
use std::path::Path;
use std::process::Command;

use crate::launch::{corral, refused, succeeded};
use tempfile::TempDir;

const KINDS: [&str; 5] = ["arms", "contexts", "points", "data", "plugin-test"];

#[test]
fn every_spec_to_start_from_runs_with_and_without_its_comments() {
    let dir = TempDir::new().unwrap();
    let rows: String =
        (0..300).map(|i| format!("{},{},{}\n", i % 7, i % 11, ["a", "b", "c"][i % 3])).collect();
    fs::write(dir.path().join("data.csv"), format!("x,y,target\n{rows}")).unwrap();
    for kind in KINDS {
        let said = succeeded(&corral(dir.path(), &["new", kind]));
        let file = format!("{kind}.toml");
        assert!(said.starts_with(&format!("wrote {file}\n")), "{said}");
        let text = fs::read_to_string(dir.path().join(&file)).unwrap();
        assert_eq!(succeeded(&corral(dir.path(), &["new", kind, "--out", "-"])), text);
        // A base of a plugin is not there; a built-in one stands for it.
        let text = text.replace("my-base/my-base", "ucb1");
        let run = |name: &str, text: &str| {
            fs::write(dir.path().join(name), text).unwrap();
            let args = [
                "run",
                name,
                "--fast",
                "--quiet",
                "--format",
                "json",
                "--out",
                name.trim_end_matches(".toml"),
            ];
            serde_json::from_str::<serde_json::Value>(&succeeded(&corral(dir.path(), &args))).unwrap()
        };
        let plain = run(&format!("plain-{file}"), &text);
        assert!(plain["learners"].as_array().unwrap().len() >= 3, "{kind}");
        // What is commented out below a heading that is, too, can be used.
        if let Some((before, after)) = text.split_once("# [sweep]") {
            let after: String = after.lines().map(|l| l.trim_start_matches("# ").to_owned() + "\n").collect();
            let swept = run(&format!("swept-{file}"), &format!("{before}[sweep]{after}"));
            assert!(
                swept["learners"].as_array().unwrap().len() > plain["learners"].as_array().unwrap().len()
            );
        }
        if let Some((before, after)) = text.split_once("# [delay]") {
            let after: String = after.lines().map(|l| l.trim_start_matches("# ").to_owned() + "\n").collect();
            run(&format!("late-{file}"), &format!("{before}[delay]{after}"));
        }
    }
    // The keys of data that are commented out.
    let text = succeeded(&corral(dir.path(), &["new", "data", "--out", "-"]));
    for key in ["class   =", "categorical =", "encoding =", "buckets  =", "bins     =", "interactions ="] {
        assert!(text.contains(&format!("# {key}")), "{key}");
        let text = text.replace(&format!("# {key}"), key).replace("[\"zip\"]", "[\"x\"]");
        fs::write(dir.path().join("key.toml"), text).unwrap();
        succeeded(&corral(dir.path(), &["run", "key.toml", "--check"]));
    }
}

#[test]
fn a_spec_that_is_there_is_never_written_over() {
    let dir = TempDir::new().unwrap();
    fs::write(dir.path().join("arms.toml"), "mine").unwrap();
    refused(&corral(dir.path(), &["new"]), 2, &["arms.toml", "already", "--out"]);
    assert_eq!(fs::read_to_string(dir.path().join("arms.toml")).unwrap(), "mine");
    refused(&corral(dir.path(), &["new", "arms", "--out", "no/where.toml"]), 2, &["no/where.toml"]);
    refused(&corral(dir.path(), &["new", "arm"]), 2, &["arms"]);
}

#[test]
fn lists_fit_the_page() {
    let dir = TempDir::new().unwrap();
    for width in [80, 120] {
        for args in [
            &["list"][..],
            &["list", "masters"],
            &["list", "bases"],
            &["list", "environments"],
            &["list", "experiments"],
            &["list", "masters", "corral"],
            &["list", "environments", "dataset"],
            &["list", "bases", "lints"],
        ] {
            let output = Command::new(env!("CARGO_BIN_EXE_corral"))
                .args(args)
                .current_dir(dir.path())
                .env("COLUMNS", width.to_string())
                .output()
                .unwrap();
            for line in succeeded(&output).lines() {
                assert!(line.chars().count() <= width, "{args:?} at {width}: {line}");
            }
        }
    }
}

#[test]
fn every_command_has_examples_completions_and_a_line_of_the_manual() {
    let dir = TempDir::new().unwrap();
    let help = succeeded(&corral(dir.path(), &["--help"]));
    let commands: Vec<&str> = help
        .split("Commands:")
        .nth(1)
        .and_then(|rest| rest.split("\nOptions:").next())
        .unwrap()
        .lines()
        .filter_map(|l| l.strip_prefix("  ").filter(|l| !l.starts_with(' '))?.split_whitespace().next())
        .filter(|name| *name != "help")
        .collect();
    assert!(commands.len() >= 13, "{commands:?}");
    let manual = succeeded(&corral(dir.path(), &["man"]));
    assert!(manual.contains(".TH corral 1"), "{manual}");
    succeeded(&corral(dir.path(), &["man", "--dir", "pages"]));
    for command in commands.iter().map(|c| format!("pages/corral-{c}.1")) {
        assert!(fs::read_to_string(dir.path().join(&command)).is_ok_and(|t| t.contains(".TH")), "{command}");
    }
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        let text = succeeded(&corral(dir.path(), &["completions", shell]));
        let named = text.contains("paper/theorem-main") && text.contains("tsallis-inf");
        // The generators of the others do not complete arguments.
        assert!(named || !["bash", "zsh"].contains(&shell), "{shell} knows no names");
        for command in &commands {
            assert!(text.contains(command), "{shell}: {command}");
        }
    }
    for command in commands {
        let help = succeeded(&corral(dir.path(), &[command, "--help"]));
        assert!(help.contains(&format!("Examples:\n  corral {}", command)), "{help}");
        // A dash is written \- in a manual.
        assert!(manual.contains(&format!("corral\\-{command}")), "{command}");
    }
}

/// What a shell offers behind words, asked as it asks.
#[test]
fn completions_know_what_is_listed() {
    let dir = TempDir::new().unwrap();
    let script = succeeded(&corral(dir.path(), &["completions", "bash"]));
    fs::write(dir.path().join("corral.bash"), script).unwrap();
    let offered = |words: &[&str]| {
        let ask = format!(
            "source corral.bash; COMP_WORDS=({}); COMP_CWORD={}; _corral corral '{}' '{}'; printf '%s\\n' \"${{COMPREPLY[@]}}\"",
            words.iter().map(|w| format!("'{w}'")).collect::<Vec<_>>().join(" "),
            words.len() - 1,
            words[words.len() - 1],
            words[words.len() - 2],
        );
        let asked = Command::new("bash").args(["-c", &ask]).current_dir(dir.path()).output();
        match asked {
            Ok(output) => Some(succeeded(&output).lines().map(str::to_owned).collect::<Vec<_>>()),
            Err(_) => None,
        }
    };
    for (words, expected, other) in [
        (&["corral", "list", ""][..], "bases", "exp3"),
        (&["corral", "list", "bases", ""], "ucb1", "practical"),
        (&["corral", "list", "masters", ""], "practical", "ucb1"),
        (&["corral", "list", "environments", ""], "dataset", "corral"),
        (&["corral", "list", "experiments", ""], "quickstart", "corral"),
        (&["corral", "list", "--f"], "--format", "exp3"),
        (&["corral", "run", ""], "quickstart", "exp3"),
    ] {
        let Some(found) = offered(words) else { return };
        let has = |word: &str| found.iter().any(|w| w == word);
        assert!(has(expected) && !has(other), "{words:?}: {found:?}");
    }
}

#[test]
fn the_page_on_specs_is_what_the_program_writes() {
    let dir = TempDir::new().unwrap();
    let written = succeeded(&corral(dir.path(), &["schema", "--format", "markdown"]));
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/spec.md");
    let page = fs::read_to_string(page).unwrap_or_default();
    assert!(page == written, "docs/spec.md is not current: corral schema --format markdown > docs/spec.md");
}
