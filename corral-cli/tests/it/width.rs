//! What is printed on a terminal fits it, and what goes into a pipe is not broken.

use std::fs;
use std::path::Path;
use std::process::Command;

use crate::launch::{corral, succeeded};
use tempfile::TempDir;

const SWEEP: &str = r#"
name   = "swept"
asks   = "Which of the learners is the best one here, and how much does it depend on the scale of its confidence bounds?"
rounds = 200
seeds  = 3

[[environment]]
label = "two arms with a gap and a name that says more than it must"
name  = "gap"
arms  = 3
gap   = 0.2

[[learner]]
label  = "a band with a label that is longer than labels should be"
master = "corral"
bases  = ["ucb1", "exp3"]

[[learner]]
label  = "another master"
master = "exp3"
bases  = ["ucb1", "exp3"]

[[learner]]
base = { name = "ucb1" }

[[learner]]
base = "exp3"

[[claim]]
text    = "a band is no worse than a hundred rounds of the worst arm, which is claimed of every learner there is"
learner = "another master"
measure = "regret"
at-most = 20.0

[sweep]
learner.ucb1.base.scale = [0.1, 1.0]
environment.0.gap  = [0.1, 0.3]
"#;

const STABILITY: &str = r#"
name   = "exponents"
asks   = "Are the claimed exponents what is measured under importance weighting, for these two bases and at these ranges?"
rounds = 300
seeds  = 3
ranges = [1, 2, 4]

[[stability]]
base = "exp3"

[[stability]]
base = { name = "ucb1", label = "ucb1 with a wide bound and a long label", scale = 2.0 }
"#;

/// A folder with a spec of each kind and what they need.
fn folder() -> TempDir {
    let dir = TempDir::new().unwrap();
    let write = |name: &str, text: &str| fs::write(dir.path().join(name), text).unwrap();
    let row = |i: usize| format!("{},{},{}\n", i % 7, i % 11, ["a", "b", "c"][i % 3]);
    write(
        "data.csv",
        &("a_column_with_a_name_that_is_rather_long,another_one_that_is_no_shorter_than_it,target\n"
            .to_owned()
            + &(0..300).map(row).collect::<String>()),
    );
    succeeded(&corral(dir.path(), &["new", "data", "data.csv"]));
    let spec = fs::read_to_string(dir.path().join("data.toml")).unwrap();
    let second = "[[environment]]\nlabel = \"the same table, shuffled, with a long label\"\nname = \"dataset\"\nfile = \"data.csv\"\n\
                  class = \"target\"\nshuffle = true\n\n[[environment]]";
    write("data.toml", &spec.replacen("[[environment]]", second, 1));
    write("swept.toml", SWEEP);
    write("exponents.toml", STABILITY);
    crate::log::lines(dir.path(), 300);
    dir
}

fn printed(dir: &Path, args: &[&str], columns: Option<usize>) -> String {
    let mut command = Command::new(env!("CARGO_BIN_EXE_corral"));
    command.args(args).current_dir(dir).env_remove("CORRAL_PLUGINS").env_remove("COLUMNS");
    columns.map(|columns| command.env("COLUMNS", columns.to_string()));
    succeeded(&command.output().unwrap())
}

/// Every table of every command keeps to 80 columns, and says through a pipe what it says without a page.
#[test]
fn every_table_fits_a_terminal() {
    let dir = folder();
    let commands: &[&[&str]] = &[
        &["run", "quickstart", "--fast", "-q", "--out", "a"],
        &["run", "quickstart", "--check"],
        &["run", "data.toml", "--check"],
        &["run", "data.toml", "-q", "--out", "b"],
        &["run", "swept.toml", "-q", "--out", "c"],
        &["run", "swept.toml", "--check"],
        &["run", "exponents.toml", "-q", "--out", "d"],
        &["stability", "ucb1", "--rounds", "200", "--seeds", "3", "-q"],
        &["log", "evaluate", "log.jsonl", "--policy", "uniform", "--policy", "mix:wide=0.25,narrow=0.75"],
    ];
    for args in commands {
        let [narrow, piped] = [Some(80), None].map(|columns| printed(dir.path(), args, columns));
        for line in narrow.lines() {
            assert!(line.chars().count() <= 80, "{args:?}: {line}\n{narrow}");
        }
        // Through a pipe nothing is broken.
        let longest = |text: &str| text.lines().map(|line| line.chars().count()).max().unwrap_or(0);
        let wide = printed(dir.path(), args, Some(200));
        assert!(longest(&piped) >= longest(&wide).min(81), "{args:?}: {piped}");
    }
}
