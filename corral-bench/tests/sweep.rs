//! Sweeps: many values of a key, one results folder.

mod launch;

use std::fs;

use launch::{corral, folder_with, records, refused, run, succeeded};

const SPEC: &str = r#"rounds = 200
seeds  = 2

[[environment]]
name = "gap"
arms = 3
gap  = 0.2

[[learner]]
label  = "band"
master = "corral"
bases  = ["ucb1", { name = "exp3" }]

[[learner]]
base = { name = "ucb1" }

[sweep]
"#;

/// The labels of learners and environments that were run, in order.
fn run_pairs(spec: &str) -> Vec<(String, String, u64)> {
    let dir = folder_with(spec);
    succeeded(&run(&dir, &["--out", "o"]));
    let mut pairs: Vec<(String, String, u64)> = records(&dir.path().join("o"))
        .iter()
        .map(|r| serde_json::from_str::<serde_json::Value>(&format!("{{{r}")).unwrap())
        .map(|r| {
            let text = |key: &str| r[key].as_str().unwrap().to_owned();
            (text("environment"), text("learner"), r["rounds"].as_u64().unwrap())
        })
        .collect();
    pairs.dedup();
    pairs
}

#[test]
fn a_grid_has_every_combination_of_what_concerns_each() {
    let spec = format!("{SPEC}environment.gap.gap = [0.1, 0.3]\nlearner.ucb1.base.scale = [0.1, 1.0, 2.0]\n");
    let pairs = run_pairs(&spec);
    assert_eq!(
        pairs,
        run_pairs(&spec.replace("learner.ucb1", "learner.1").replace("environment.gap.", "environment.0."))
    );
    let expected: Vec<(String, String, u64)> = ["gap gap=0.1", "gap gap=0.3"]
        .iter()
        .flat_map(|e| {
            ["band", "ucb1 scale=0.1", "ucb1 scale=1.0", "ucb1 scale=2.0"]
                .iter()
                .map(move |l| ((*e).to_owned(), (*l).to_owned(), 200))
        })
        .collect();
    assert_eq!(pairs, expected);
}

#[test]
fn a_variant_is_what_the_spec_with_that_value_would_be() {
    let dir = folder_with(&format!(
        "{SPEC}learner.band.master.rate = [\"fast\", \"eager\"]\nlearner.band.bases.0.scale = [0.5]\n"
    ));
    succeeded(&run(&dir, &["--out", "swept"]));
    let plain = SPEC.replace("[sweep]\n", "");
    for (variant, rate) in [(0, "fast"), (1, "eager")] {
        fs::write(dir.path().join("spec.toml"), &plain).unwrap();
        let set = [&format!("learner.band.master.rate={rate}"), "learner.band.bases.0.scale=0.5"];
        succeeded(&run(&dir, &["--out", rate, "--set", set[0], "--set", set[1]]));
        let figures = |r: &String| r.split_once("\"seed\"").unwrap().1.to_owned();
        let swept: Vec<String> =
            records(&dir.path().join("swept"))[2 * variant..2 * variant + 2].iter().map(figures).collect();
        let alone: Vec<String> = records(&dir.path().join(rate))[..2].iter().map(figures).collect();
        assert_eq!(swept, alone, "{rate}");
    }
}

#[test]
fn zipped_values_go_together_and_rounds_may_be_swept() {
    let zipped = "zip = true\nrounds = [100, 400]\nenvironment.0.gap = [0.1, 0.2]\nlearner.1.base.scale = [1.0, 2.0]\n";
    let own = |e: &str, l: &str, t| (e.to_owned(), l.to_owned(), t);
    assert_eq!(
        run_pairs(&format!("{SPEC}{zipped}")),
        [
            own("gap gap=0.1", "band", 100),
            own("gap gap=0.1", "ucb1 scale=1.0", 100),
            own("gap gap=0.2", "band", 400),
            own("gap gap=0.2", "ucb1 scale=2.0", 400),
        ]
    );
    let pairs = run_pairs(&format!("{SPEC}rounds = {{ from = 10, to = 1000, points = 3 }}\n"));
    assert_eq!(pairs.iter().map(|p| p.2).collect::<Vec<_>>(), [10, 10, 100, 100, 1000, 1000]);
}

#[test]
fn a_band_that_is_swept_concerns_the_learners_over_it() {
    let spec = "rounds = 50\nseeds = 1\nenvironment = { name = \"bernoulli\", means = [0.5, 0.3] }\n\
                [bands]\npair = [{ name = \"ucb1\" }, \"exp3\"]\n[[learner]]\nmaster = \"corral\"\nbases = \"pair\"\n\
                [[learner]]\nbase = { name = \"random\" }\n[sweep]\nbands.pair.0.scale = [0.1, 1.0]\n";
    let labels: Vec<String> = run_pairs(spec).into_iter().map(|p| p.1).collect();
    assert_eq!(labels, ["corral scale=0.1", "corral scale=1.0", "random"]);
}

#[test]
fn tables_and_json_have_the_swept_keys() {
    let dir = folder_with(&format!("{SPEC}learner.1.base.scale = {{ from = 0.1, to = 10.0, points = 3 }}\n"));
    let table = succeeded(&run(&dir, &["--out", "o"]));
    let by = table.split("by learner.1.base.scale").nth(1).unwrap_or_else(|| panic!("{table}"));
    let values: Vec<&str> =
        by.lines().skip(3).take(3).map(|l| l.split_whitespace().next().unwrap()).collect();
    assert_eq!(values, ["0.1", "1.0", "10.0"], "{table}");
    let json = succeeded(&run(&dir, &["--out", "o", "--format", "json"]));
    let json: serde_json::Value = serde_json::from_str(&json).unwrap();
    let learner = &json["sweep"]["learners"][2];
    assert_eq!((&learner["family"], &learner["swept"][0]["value"]), (&"ucb1".into(), &10.0.into()), "{json}");
    // The report reads the folder again.
    succeeded(&corral(dir.path(), &["report", "o"]));
    // A claim about the family is about every variant.
    let claim = "\n[[claim]]\nlearner = \"ucb1\"\nat-least = 0.0\n";
    fs::write(dir.path().join("spec.toml"), format!("{SPEC}learner.1.base.scale = [0.1, 1.0]\n{claim}"))
        .unwrap();
    let json = succeeded(&run(&dir, &["--out", "claimed", "--format", "json"]));
    let json: serde_json::Value = serde_json::from_str(&json).unwrap();
    assert_eq!(json["claims"].as_array().unwrap().len(), 2, "{json}");
}

#[test]
fn what_is_wrong_with_a_sweep_is_named_with_its_line() {
    for (sweep, parts) in [
        ("lerner.0.base.scale = [1.0]", &["line 18", "unknown key to sweep \"lerner\"", "learner"][..]),
        ("learner.bnd.master.rate = [1.0]", &["line 18", "unknown learner \"bnd\"", "band"]),
        ("learner.band.master.raet = [0.1]", &["line 18", "raet", "rate"]),
        ("learner.1.base.scael = [0.1]", &["line 18", "scael", "scale"]),
        ("learner.1.base.scale = [-1.0]", &["line 18", "scale", "-1"]),
        ("environment.0.gaap = [0.1]", &["line 18", "gaap", "gap"]),
        ("learner.1.bose.scale = [0.1]", &["line 18", "bose", "base"]),
        ("learner.1.base.scale = []", &["line 18", "empty list"]),
        ("learner.1.base.scale = 3", &["line 18", "a list of values"]),
        ("learner.1 = [3]", &["line 18", "name a key of it"]),
        ("seeds = [3]", &["line 18", "unknown key to sweep \"seeds\""]),
        ("rounds = [30, 30]", &["line 18", "30 twice"]),
        ("learner.1.base.scale = { from = 0.0, to = 1.0, points = 3 }", &["line 18", "positive ends"]),
        ("learner.1.base.scale = { from = 0.1, to = 1.0 }", &["line 18", "has no points"]),
        (
            "learner.1.base.scale = { from = 0.1, to = 1.0, points = 10000000 }",
            &["line 18", "10000000 points"],
        ),
        (
            "learner.1.base.scale = { from = 0.1, to = 1.0, points = 5000 }\nlearner.1.base.width = { from = 0.1, to = 1.0, points = 2000 }",
            &["line 18", "5000 x 2000 variants"],
        ),
        (
            "zip = true\nlearner.1.base.scale = [1.0, 2.0]\nenvironment.0.gap = [0.1]",
            &["zip pairs values", "has 1", "has 2"],
        ),
    ] {
        let dir = folder_with(&format!("{SPEC}{sweep}\n"));
        refused(&run(&dir, &["--out", "o"]), 2, parts);
        assert!(!dir.path().join("o").exists(), "{sweep}: something was written");
    }
}

#[test]
fn a_run_says_how_many_cells_and_how_long_before_it_starts() {
    let dir = folder_with(&format!("{SPEC}learner.1.base.scale = [0.1, 1.0]\n"));
    let output = corral(dir.path(), &["run", "spec.toml", "--out", "o"]);
    succeeded(&output);
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(said.contains("6 cells, about "), "{said}");
}
