//! What the program says of a bad spec or a bad argument names the place that the user wrote.

use crate::launch::{corral, folder_with, refused, run, succeeded};
use tempfile::TempDir;

const SPEC: &str = r#"rounds = 100
seeds  = 2
environment = { name = "bernoulli", means = [0.5, 0.3] }

# The lines of this file are not those of the same table printed anew.

[[learner]]
label  = "band"
bases  = ["ucb1", "exp3"]
master = { name = "corral", rate = "fast" }

[[learner]]
label = "alone"
base  = { name = "exp3" }

[fast]
rounds = 10
"#;

#[test]
fn errors_name_the_line_of_the_file_whatever_is_overridden() {
    let dir = folder_with(&SPEC.replace("{ name = \"exp3\" }", "{ name = \"exp33\" }"));
    let arguments: [&[&str]; 5] =
        [&[], &["--set", "name=other"], &["--rounds", "50"], &["--seeds", "1"], &["--fast"]];
    for more in arguments {
        refused(
            &run(&dir, &[more, &["--check"]].concat()),
            2,
            &["spec.toml: line 14: unknown base \"exp33\""],
        );
    }
    let dir = folder_with(&SPEC.replace("rounds = 10\n", "rounds = 0\n"));
    refused(&run(&dir, &["--fast"]), 2, &["line 17: rounds must be a whole number of at least 1, but is 0"]);
}

#[test]
fn errors_in_an_argument_name_the_argument() {
    let dir = folder_with(SPEC);
    for (pair, part) in [
        ("seeds=0", "spec.toml: --set seeds=0: seeds must be a whole number"),
        ("learner.1.base=3", "--set learner.1.base=3: base must be a name or a table, but is 3"),
        ("learner.1.base={ name = 'ucb1', width = 3 }", "key \"width\" must be one of its words, in quotes"),
        (
            "learner.alone.base={ name = 'exp33' }",
            "--set learner.alone.base={ name = 'exp33' }: unknown base",
        ),
        ("learner.nobody.base=3", "--set learner.nobody.base=3: there is no \"nobody\" on this path"),
        ("rounds.0.x=3", "--set rounds.0.x=3: there is no \"0\" on this path"),
        ("roundz=3", "--set roundz=3: unknown key of the spec \"roundz\"; did you mean \"rounds\"?"),
    ] {
        refused(&run(&dir, &["--check", "--set", pair]), 2, &[part]);
    }
    // A learner is found by its label too.
    succeeded(&run(&dir, &["--check", "--set", "learner.alone.base.name=ucb1"]));
    // A name may stand for a table that has nothing else.
    succeeded(&run(&dir, &["--check", "--set", "learner.alone.base=ucb1"]));
}

#[test]
fn errors_in_a_master_name_its_own_line() {
    for (old, new, part) in [
        ("name = \"corral\"", "name = \"coral\"", "line 10: unknown master \"coral\""),
        ("rate = \"fast\"", "rade = 1", "line 10: unknown key"),
        (
            "\"ucb1\", ",
            "{ name = \"ucb1\", scale = [0.1, 1.0] }, ",
            "key \"scale\" takes one value (f64), not a list; a spec tries several by [sweep]",
        ),
        ("rate = \"fast\"", "feed = \"raws\"", "line 10: unknown feed \"raws\""),
        (
            "master = { name = \"corral\", rate = \"fast\" }",
            "master = { rate = 1 }",
            "line 10: the master has no name",
        ),
    ] {
        assert!(SPEC.contains(old), "{old}");
        refused(&run(&folder_with(&SPEC.replace(old, new)), &["--check"]), 2, &[part]);
    }
}

#[test]
fn every_listing_takes_every_format() {
    let dir = TempDir::new().unwrap();
    let json = succeeded(&corral(dir.path(), &["list", "--format", "json"]));
    let json: serde_json::Value = serde_json::from_str(&json).unwrap();
    for kind in ["masters", "bases", "environments", "experiments"] {
        assert!(!json[kind].as_array().unwrap().is_empty(), "{kind}");
    }
    let csv = succeeded(&corral(dir.path(), &["list", "--format", "csv"]));
    assert!(csv.starts_with("kind,name\n") && csv.contains("\nbases,exp3\n"), "{csv}");
    let one = succeeded(&corral(dir.path(), &["list", "experiments", "paper/convex", "--format", "csv"]));
    assert_eq!(one.lines().count(), 2, "{one}");
    refused(
        &corral(dir.path(), &["list", "experiments", "paper/convx"]),
        2,
        &["unknown experiment \"paper/convx\"", "paper/convex"],
    );
    refused(&corral(dir.path(), &["list", "plugins", "mine/own"]), 2, &["unknown plugin \"mine/own\""]);
    let stability = ["stability", "exp3", "-q", "--rounds", "200", "--seeds", "2", "--ranges", "1,4"];
    let csv = succeeded(&corral(dir.path(), &[&stability[..], &["--format", "csv"]].concat()));
    assert!(
        csv.starts_with("schedule,rho,regret,se,gap,share_of_blind_play,saturated\nconstant,1,"),
        "{csv}"
    );
    assert_eq!(csv.lines().count(), 1 + 3 * 2, "{csv}");
}

#[test]
fn a_script_of_all_parts_is_not_for_one_part() {
    let dir = folder_with(SPEC);
    refused(&run(&dir, &["--emit", "slurm", "--shard", "1/4"]), 2, &["--emit", "--shard", "cannot be used"]);
}

#[test]
fn folders_that_help_names_exist() {
    let dir = TempDir::new().unwrap();
    succeeded(&corral(dir.path(), &["run", "quickstart", "--fast", "--rounds", "20", "--seeds", "1", "-q"]));
    let help = succeeded(&corral(dir.path(), &["--help"]));
    for path in
        help.split_whitespace().filter(|w| w.starts_with("corral-out/") && w.len() > "corral-out/".len())
    {
        assert!(dir.path().join(path).exists(), "{path} in: {help}");
    }
}

/// A plugin that was refused is no unknown base: the reason is said, quiet or not.
#[test]
fn a_spec_that_names_a_refused_plugin_is_told_why() {
    let dir = folder_with(&SPEC.replace("{ name = \"exp3\" }", "{ name = \"mine/own\" }"));
    std::fs::create_dir(dir.path().join("plugins")).unwrap();
    std::fs::write(dir.path().join("plugins/libmine.so"), "hello").unwrap();
    refused(
        &run(&dir, &["--check"]),
        2,
        &["line 14: base \"mine/own\": plugin refused: plugins/libmine.so: not a library"],
    );
}

#[test]
fn a_built_in_spec_is_shown_as_it_is() {
    let dir = TempDir::new().unwrap();
    for (name, text) in corral_lab::experiments::ALL {
        assert_eq!(succeeded(&corral(dir.path(), &["show", name])), *text, "{name}");
    }
    refused(&corral(dir.path(), &["show", "quikstart"]), 2, &["unknown experiment", "quickstart"]);
}
