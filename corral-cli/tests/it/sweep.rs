//! Sweeps: many values of a key, one results folder.

use std::fs;

use crate::launch::{corral, folder_with, records, refused, run, succeeded};

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

/// Bases that a learner takes from a band are swept in the band, and whoever goes through the learner is told the key.
#[test]
fn a_path_through_a_learner_into_a_band_is_told_the_key_of_the_band() {
    let spec = |key: &str| {
        format!(
            "rounds = 20\nseeds = 1\nenvironment = {{ name = \"gap\", arms = 3, gap = 0.2 }}\nbands.mine = [{{ name = \"ucb1\" }}, \"exp3\"]\n\
             [[learner]]\nmaster = \"practical\"\nbases = \"mine\"\n[sweep]\n{key} = [0.5, 1.0]\n"
        )
    };
    for base in ["0", "ucb1"] {
        let through = folder_with(&spec(&format!("learner.practical.bases.{base}.scale")));
        let meant = format!("bands.mine.{base}.scale");
        refused(&run(&through, &["--check"]), 2, &["line 9", &format!("{meant} is the key")]);
        succeeded(&run(&folder_with(&spec(&meant)), &["--check"]));
    }
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
    // The same with tables that are the only ones, by number, by label or by neither.
    let alone = "rounds = 200\nseeds = 2\nenvironment = { name = \"gap\", arms = 3, gap = 0.2 }\n\
                 learner = { base = { name = \"ucb1\" } }\n[sweep]\n";
    for (environment, learner) in [("environment", "learner"), ("environment.0", "learner.0")] {
        let sweep = format!("{alone}{environment}.gap = [0.1, 0.3]\n{learner}.base.scale = [0.1, 1.0]\n");
        let labels: Vec<String> = run_pairs(&sweep).into_iter().map(|(e, l, _)| e + ", " + &l).collect();
        let both =
            ["gap gap=0.1", "gap gap=0.3"].map(|e| ["0.1", "1.0"].map(|s| format!("{e}, ucb1 scale={s}")));
        assert_eq!(labels, both.as_flattened());
    }
}

/// A member of a band that has none of the swept keys is run once, as it is.
#[test]
fn a_key_of_one_base_leaves_the_others_alone() {
    let spec = r#"rounds = 50
seeds = 2
environment = { name = "gap", arms = 3, gap = 0.2 }
bands.mine = [{ name = "ucb1" }, "exp3", { name = "epsilon-greedy" }]
learner = [{ label = "band", master = "corral", bases = "mine" }, { alone = "mine" }]
[sweep]
bands.mine.0.scale = [0.5, 1.0]
bands.mine.2.epsilon = [0.1, 0.2]
"#;
    let labels = |spec: &str| -> Vec<String> { run_pairs(spec).into_iter().map(|(_, l, _)| l).collect() };
    let bands = ["0.5", "1.0"].map(|s| ["0.1", "0.2"].map(|e| format!("band scale={s} epsilon={e}")));
    let alone = [
        "ucb1 scale=0.5",
        "exp3",
        "epsilon-greedy epsilon=0.1",
        "epsilon-greedy epsilon=0.2",
        "ucb1 scale=1.0",
    ];
    let mut expected: Vec<String> = bands.as_flattened().to_vec();
    expected.extend(alone.map(String::from));
    assert_eq!(labels(spec), expected);
    let zipped = labels(&format!("{spec}zip = true\n"));
    let bands = ["band scale=0.5 epsilon=0.1", "band scale=1.0 epsilon=0.2"];
    assert_eq!(zipped[..2], bands);
    assert_eq!(zipped.iter().filter(|l| *l == "exp3").count(), 1);
}

/// What a run of `spec` recorded, but for the labels of bases.
fn figures(spec: &str) -> Vec<serde_json::Value> {
    let dir = folder_with(spec);
    succeeded(&run(&dir, &["--out", "o"]));
    let read = |r: &String| serde_json::from_str::<serde_json::Value>(&format!("{{{r}")).unwrap();
    records(&dir.path().join("o")).iter().map(read).collect()
}

#[test]
fn a_grid_of_bases_is_the_list_written_out() {
    let spec = |bases: &str| SPEC.replace("[sweep]\n", "").replace(r#"["ucb1", { name = "exp3" }]"#, bases);
    let grid = r#"[{ name = "ucb1", grid = [
        { zip = true, scale = [0.5, 2.0], ties = ["lowest", "random"] },
        { range_change = ["keep", "restart"] },
    ] }, { name = "exp3", grid = { rate = { from = 0.01, to = 1.0, points = 3 } } }, "random"]"#;
    let list = r#"[
        { name = "ucb1", scale = 0.5, ties = "lowest", range_change = "keep" },
        { name = "ucb1", scale = 0.5, ties = "lowest", range_change = "restart" },
        { name = "ucb1", scale = 2.0, ties = "random", range_change = "keep" },
        { name = "ucb1", scale = 2.0, ties = "random", range_change = "restart" },
        { name = "exp3", rate = 0.01 }, { name = "exp3", rate = 0.1 }, { name = "exp3", rate = 1.0 }, "random",
    ]"#;
    let (short, long) = (figures(&spec(grid)), figures(&spec(list)));
    let labels = &short[0]["band"]["bases"];
    assert_eq!(labels[1], "ucb1 scale=0.5 ties=lowest range_change=restart");
    assert_eq!((&labels[5], &labels[7]), (&"exp3 rate=0.1".into(), &"random".into()));
    for (a, b) in short.iter().zip(&long) {
        assert_eq!((&a["curve"], &a["band"]["plays"]), (&b["curve"], &b["band"]["plays"]));
    }
}

#[test]
fn a_grid_that_cannot_be_is_refused() {
    let dir = |base: &str| folder_with(&SPEC.replace("[sweep]\n", "").replace("\"ucb1\", ", base));
    let refuse = |base: &str, why: &str| refused(&run(&dir(base), &["--out", "o"]), 2, &[why]);
    refuse("{ name = \"ucb1\", grid = { scale = [] } }, ", "empty list");
    refuse("{ name = \"ucb1\", grid = { scale = 1.0 } }, ", "a list of values");
    refuse("{ name = \"ucb1\", grid = { scal = [1.0] } }, ", "scal");
    refuse(
        "{ name = \"ucb1\", grid = [{ scale = { from = 1.0, to = 2.0, points = 9000 } }, { ties = { from = 1, to = 9999, points = 9999 } }] }, ",
        "more than 1000000 bases",
    );
    let alone = SPEC
        .replace("[sweep]\n", "")
        .replace("base = { name = \"ucb1\" }", "base = { name = \"ucb1\", grid = { scale = [1.0] } }");
    refused(&run(&folder_with(&alone), &["--out", "o"]), 2, &["a list of bases"]);
}

/// A record does not grow with the band: 128 lines of bases and no traces.
#[test]
fn a_large_band_leaves_a_short_record() {
    let band = r#"[{ name = "ucb1", grid = { scale = { from = 0.01, to = 10.0, points = 2000 } } }]"#;
    let spec = SPEC.replace("[sweep]\n", "").replace(r#"["ucb1", { name = "exp3" }]"#, band);
    let records = figures(&spec);
    let record = &records[0]["band"];
    let names = record["bases"].as_array().unwrap();
    assert_eq!((names.len(), &names[127]), (128, &"the other 1873".into()));
    let plays: u64 = record["plays"].as_array().unwrap().iter().map(|n| n.as_u64().unwrap()).sum();
    assert_eq!((plays, record["probabilities"].as_array().map(Vec::len)), (200, Some(0)));
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
    let by = table.split("\nby scale\n").nth(1).unwrap_or_else(|| panic!("{table}"));
    let values: Vec<&str> =
        by.lines().skip(2).take(3).map(|l| l.split_whitespace().next().unwrap()).collect();
    assert_eq!(values, ["0.1", "1.0", "10.0"], "{table}");
    let json = succeeded(&run(&dir, &["--out", "o", "--format", "json"]));
    let json: serde_json::Value = serde_json::from_str(&json).unwrap();
    let learner = &json["sweep"]["learners"][2];
    assert_eq!((&learner["family"], &learner["swept"][0]["value"]), (&"ucb1".into(), &10.0.into()), "{json}");
    // Exported cells have a column for the key, a number where there is one.
    let exported = succeeded(&corral(dir.path(), &["export", "o"]));
    let mut lines = exported.lines();
    assert!(lines.next().unwrap().ends_with(",failed,sweep_scale"), "{exported}");
    let ends: Vec<&str> = lines.map(|l| l.rsplit(',').next().unwrap()).collect();
    assert_eq!(ends, ["", "", "0.1", "0.1", "1", "1", "10", "10"]);
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
fn swept_keys_have_charts_and_two_of_them_a_map() {
    let dir = folder_with(&format!(
        "{SPEC}learner.1.base.scale = [0.1, 1.0, 10.0]\nlearner.band.bases.0.scale = [0.5, 1.0]\nenvironment.0.gap = [0.1, 0.3]\n"
    ));
    succeeded(&run(&dir, &["--out", "o"]));
    let html = fs::read_to_string(dir.path().join("o/report.html")).unwrap();
    for title in ["Regret against scale", "Regret against gap", "Regret by gap and scale"] {
        assert!(html.contains(title), "{title}");
    }
    let plot = |key: &[&str]| {
        let args = [&["plot", "o", "--kind", "sweep", "--out", "f.svg"], key].concat();
        corral(dir.path(), &args)
    };
    refused(&plot(&[]), 2, &["several keys", "gap, scale, gap+scale"]);
    refused(&plot(&["--key", "scael"]), 2, &["unknown swept key \"scael\"", "scale"]);
    assert!(!dir.path().join("f.svg").exists());
    let drawn = |key: &str| {
        succeeded(&plot(&["--key", key]));
        let read = |name: &str| fs::read_to_string(dir.path().join(name)).unwrap();
        let vega: serde_json::Value = serde_json::from_str(&read("f.vl.json")).unwrap();
        (read("f.svg"), vega["data"]["values"].as_array().unwrap().clone())
    };
    // Two learners at two gaps; three scales and two.
    let (svg, values) = drawn("scale");
    assert!(svg.contains("scale, log scale") && svg.contains("pseudo-regret"), "{svg}");
    assert_eq!(values.len(), 2 * (3 + 2));
    let (_, values) = drawn("gap+scale");
    assert_eq!(values.len(), 2 * (3 + 2));
    let (_, values) = drawn("gap");
    assert_eq!(values.len(), 2 * (3 + 2));
    // Words have a place each.
    let dir = folder_with(&format!("{SPEC}learner.band.master.rate = [\"fast\", \"eager\", \"balanced\"]\n"));
    succeeded(&run(&dir, &["--out", "o"]));
    let args = ["plot", "o", "--kind", "sweep", "--out", "f.svg"];
    succeeded(&corral(dir.path(), &args));
    let vega = fs::read_to_string(dir.path().join("f.vl.json")).unwrap();
    let vega: serde_json::Value = serde_json::from_str(&vega).unwrap();
    // The other learner does not have the key, and is level.
    let level = |v: &&serde_json::Value| v["series"] == "ucb1";
    let level: Vec<String> =
        vega["data"]["values"].as_array().unwrap().iter().filter(level).map(|v| v["y"].to_string()).collect();
    assert!(level.len() == 2 && level[0] == level[1], "{level:?}");
    let svg = fs::read_to_string(dir.path().join("f.svg")).unwrap();
    assert!(["fast", "eager", "balanced"].iter().all(|w| svg.contains(w)), "{svg}");
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
            "learner.1.base.scale = { from = 0.1, to = 1.0, points = 5000 }\nenvironment.0.gap = { from = 0.1, to = 0.2, points = 2000 }",
            &["line 19", "more than 1000000 combinations"],
        ),
        (
            "learner.1.base.scale = { from = 0.1, to = 1.0, steps = 3 }",
            &["line 18", "\"steps\"", "a range has from, to, points and scale"],
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
fn a_sweep_is_not_blamed_for_another_key_whose_error_names_its_own() {
    let spec = SPEC.replace("{ name = \"ucb1\" }\n\n[sweep]", "{ name = \"ucb1\", scal = 1.0 }\n\n[sweep]");
    let dir = folder_with(&format!("{spec}learner.1.base.scale = [0.1, 1.0]\n"));
    refused(&run(&dir, &["--out", "o"]), 2, &["line 15", "\"scal\"", "did you mean \"scale\""]);
}

/// Two bases have the key: the error goes to the line of the one that is wrong, and to the argument that made it so.
#[test]
fn an_error_goes_to_the_base_it_is_about() {
    let spec = |first: &str, sweep: &str| {
        let bases = format!("[\n  {{ name = \"ucb1\", scale = {first} }},\n  {{ name = \"ucb1\" }},\n]");
        SPEC.replace(r#"["ucb1", { name = "exp3" }]"#, &bases)
            + &format!("learner.band.bases.1.scale = [{sweep}]\n")
    };
    for (first, sweep, line) in [("-1.0", "0.1, 1.0", 13), ("1.0", "0.1, -1.0", 21), ("-1.0", "-2.0", 13)] {
        let dir = folder_with(&spec(first, sweep));
        refused(&run(&dir, &["--out", "o"]), 2, &[&format!("line {line}: "), "scale"]);
    }
    let dir = folder_with(&spec("1.0", "0.1"));
    let set = "learner.band.bases.0.scale=-1";
    refused(&run(&dir, &["--out", "o", "--set", set]), 2, &[&format!("--set {set}: "), "scale"]);
    // A base of a named band, behind the bases that a grid stands for.
    let named = SPEC
        .replace(
            "[[environment]]",
            "bands.both = [{ name = \"exp3\", grid.rate = [0.1, 0.2] }, \"ucb1\"]\n\n[[environment]]",
        )
        .replace(r#"["ucb1", { name = "exp3" }]"#, "[\n\"both\"]");
    let dir = folder_with(&format!("{named}bands.both.1.scale = [-1.0]\n"));
    refused(&run(&dir, &["--out", "o"]), 2, &["line 21: ", "scale"]);
}

#[test]
fn a_run_says_how_many_cells_and_how_long_before_it_starts() {
    let dir = folder_with(&format!("{SPEC}learner.1.base.scale = [0.1, 1.0]\n"));
    let output = corral(dir.path(), &["run", "spec.toml", "--out", "o"]);
    succeeded(&output);
    let said = String::from_utf8_lossy(&output.stderr);
    let said = said.lines().find_map(|l| l.strip_prefix("6 cells, ")).unwrap_or_else(|| panic!("{said}"));
    assert!(said == "less than a second" || said.starts_with("about "), "{said}");
}
