//! What is made of a results folder: reports, tables and figures.

mod launch;

use std::fs;
use std::path::Path;

use launch::{corral, folder_with, refused, run, succeeded};
use tempfile::TempDir;

const SPEC: &str = r#"
name   = "small"
rounds = 600
seeds  = 5

[[environment]]
label = "still"
name  = "bernoulli"
means = [0.5, 0.2]

[[environment]]
label = "switching"
name  = "switching"
means = [[0.2, 0.5], [0.8, 0.3]]

[[learner]]
label  = "band, one"
master = { name = "corral", rate = "fast" }
bases  = [ { name = "ucb1", scale = 0.1 }, "exp3" ]

[[learner]]
base  = { name = "exp3" }

[[claim]]
text     = "a band learns \"something\", that is certain"
learner  = "band, one"
measure  = "per-round"
at-most  = 0.5
"#;

/// A folder with the results of the spec in `o`, and half of them in `half`.
fn folder() -> TempDir {
    let dir = folder_with(SPEC);
    succeeded(&run(&dir, &["--out", "o"]));
    fs::create_dir(dir.path().join("half")).unwrap();
    fs::copy(dir.path().join("o/manifest.json"), dir.path().join("half/manifest.json")).unwrap();
    let cells = fs::read_to_string(dir.path().join("o/cells.jsonl")).unwrap();
    let half: String = cells.lines().take(13).map(|l| format!("{l}\n")).collect();
    fs::write(dir.path().join("half/cells.partial.jsonl"), half).unwrap();
    dir
}

fn files(dir: &Path) -> Vec<String> {
    let mut names: Vec<String> =
        fs::read_dir(dir).unwrap().map(|e| e.unwrap().file_name().to_string_lossy().into_owned()).collect();
    names.sort();
    names
}

#[test]
fn an_unfinished_run_is_reported_when_asked_for() {
    let dir = folder();
    refused(&corral(dir.path(), &["report", "half"]), 2, &["unfinished, 13 of 20 cells", "--partial"]);
    assert_eq!(files(&dir.path().join("half")), ["cells.partial.jsonl", "manifest.json"]);
    succeeded(&corral(dir.path(), &["report", "half", "--partial"]));
    let html = fs::read_to_string(dir.path().join("half/report.html")).unwrap();
    assert!(html.contains("Unfinished. ") && html.contains("13 of 20 cells"), "{}", &html[..2000]);
    assert!(!fs::read_to_string(dir.path().join("o/report.html")).unwrap().contains("Unfinished. "));
}

#[test]
fn a_report_answers_in_words_and_has_a_table_of_contents() {
    let dir = folder();
    let html = fs::read_to_string(dir.path().join("o/report.html")).unwrap();
    assert!(html.contains("still, 600 rounds: ") && html.contains("all 2 worlds, 600 rounds: "));
    let anchors: Vec<&str> = html.split("<a href=\"#").skip(1).filter_map(|a| a.split('"').next()).collect();
    assert!(anchors.len() >= 2 * 6, "{anchors:?}");
    for anchor in anchors {
        assert_eq!(html.matches(&format!("id=\"{anchor}\"")).count(), 1, "{anchor}");
    }
    // The base alone has the colour that it has inside the band.
    let style_before = |name: &str| -> &str {
        let (before, _) = html.split_once(name).unwrap();
        before.rsplit("class=\"line ").next().unwrap().split('"').next().unwrap()
    };
    assert_eq!(style_before("</svg>exp3 (alone)"), style_before("</svg>exp3</li>"));
}
