//! One answer to "how sure is that?" in tables: over rows, on every page.

use std::fs;
use std::path::Path;

use crate::launch::{corral, refused, succeeded};
use tempfile::TempDir;

const LEARNERS: &str = "
[[learner]]
label = \"greedy, small\"
base = { name = \"epsilon-greedy\", epsilon = 0.05 }
[[learner]]
base = { name = \"random\" }
";

/// A table of 300 rows: a class that is no in the first 100 rows and then most often yes, a number, and two columns of losses.
fn table(dir: &Path) {
    let row = |i: usize| {
        let class = if i < 100 || i.is_multiple_of(7) { "no" } else { "yes" };
        let y = (i * 37 % 101) as f64 / 4.0;
        format!("{},{y},0.{},0.{},{class}\n", i % 5, 1 + i % 3, 4 + i % 4)
    };
    let rows: String = (0..300).map(row).collect();
    fs::write(dir.join("t.csv"), format!("x,price,a,b,class\n{rows}")).unwrap();
    let log: String =
        (0..400).map(|i| format!("{},{},{},0.5\n", i % 5, i % 2, u32::from(i % 3 == 0))).collect();
    fs::write(dir.join("log.csv"), format!("x,item_id,click,propensity_score\n{log}")).unwrap();
}

fn spec(dir: &Path, name: &str, rounds: u64, environments: &str) {
    let text = format!("rounds = {rounds}\nseeds = 5\n{environments}\n{LEARNERS}");
    fs::write(dir.join(name), text).unwrap();
}

/// What is printed, the page, and the table of tests.
fn pages(dir: &Path, name: &str) -> (String, String, String) {
    let printed = succeeded(&corral(dir, &["run", name, "--out", name.trim_end_matches(".toml")]));
    let folder = name.trim_end_matches(".toml");
    let page = fs::read_to_string(dir.join(folder).join("report.html")).unwrap();
    let tests = succeeded(&corral(dir, &["export", folder, "--what", "tests", "--to", "md"]));
    (printed, page, tests)
}

/// A law over what a loss is: words, page and export say rows, and never an interval over seeds.
#[test]
fn tables_are_tested_over_rows_whatever_a_loss_is() {
    let dir = TempDir::new().unwrap();
    table(dir.path());
    let data = |keys: &str| format!("[[environment]]\nname = \"dataset\"\nfile = \"t.csv\"\n{keys}");
    for (name, world, figure, method) in [
        ("class.toml", data("ignore = [\"price\"]"), "error rate", "contextual bandit bake-off"),
        (
            "levels.toml",
            data("class = \"price\"\nlevels = 5"),
            "loss per row",
            "aired t-tests over blocks of rows",
        ),
        ("losses.toml", data("losses = [\"a\", \"b\"]"), "loss per row", "aired t-tests over blocks of rows"),
        (
            "logged.toml",
            "[[environment]]\nname = \"logged\"\nfile = \"log.csv\"".to_owned(),
            "loss per row",
            "rows of the log that each learner used",
        ),
    ] {
        spec(dir.path(), name, 300, &world);
        let (printed, page, tests) = pages(dir.path(), name);
        for text in [&printed, &page] {
            assert!(text.contains(method) && text.contains("at random"), "{name}: {text}");
            assert!(!text.contains("t-tests over seeds"), "{name}: {text}");
            assert!(text.contains(", over rows"), "{name}: {text}");
        }
        assert!(tests.contains(&format!("| {figure} | rows |")), "{name}: {tests}");
        let folder = name.trim_end_matches(".toml");
        let json = succeeded(&corral(dir.path(), &["export", folder, "--what", "summary", "--to", "json"]));
        let json: serde_json::Value = serde_json::from_str(&json).unwrap();
        for row in json["rows"].as_array().unwrap() {
            assert!(
                row["low"].is_null() && row["loss_low"].is_number() && row["random_loss"].is_number(),
                "{row}"
            );
            assert_eq!(row["error_rate"].is_number(), name == "class.toml", "{row}");
        }
        succeeded(&corral(dir.path(), &["plot", folder, "--kind", "errors", "--out", "f.svg"]));
    }
}

/// The baseline is that of the rows that were played; that no learner beats it is said first; rows that are not there are not counted.
#[test]
fn what_is_said_of_a_table_is_about_the_rows_that_were_played() {
    let dir = TempDir::new().unwrap();
    table(dir.path());
    let data = "[[environment]]\nlabel = \"t\"\nname = \"dataset\"\nfile = \"t.csv\"\nignore = [\"price\"]\n";
    spec(dir.path(), "short.toml", 100, data);
    let (printed, page, _) = pages(dir.path(), "short.toml");
    assert!(printed.contains("t: 100 rows, 5 seeds") && printed.contains("always \"no\""), "{printed}");
    let first = "t, 100 rows: every learner is worse than always \"no\", which has 0.0 % errors; ";
    assert!(printed.contains(first), "{printed}");
    assert!(page.contains("t: 100 rows</a>"));
    // More rounds than rows: said before the run, in the run, and in what came of it.
    spec(dir.path(), "long.toml", 5000, data);
    let short = "t.csv has 300 rows: 5000 rounds were asked for, and a run ends with its last row";
    assert!(succeeded(&corral(dir.path(), &["run", "long.toml", "--check"])).contains(short));
    let run = corral(dir.path(), &["run", "long.toml", "--out", "again"]);
    assert!(String::from_utf8_lossy(&run.stderr).contains(short));
    let printed = succeeded(&run);
    assert!(printed.contains("t: 300 rows, where 5000 rounds were asked for, 5 seeds"), "{printed}");
    assert!(printed.contains("- t, 300 rows: ") && printed.contains("always \"yes\""), "{printed}");
    // Rows that are played again are no new ones.
    spec(dir.path(), "repeat.toml", 5000, &format!("{data}repeat = true\n"));
    let printed = pages(dir.path(), "repeat.toml").0;
    assert!(
        printed.contains("t: 5000 rounds over 300 rows") && printed.contains("- t, 300 rows: "),
        "{printed}"
    );
    // Several tables have one more sentence.
    spec(dir.path(), "two.toml", 300, &format!("{data}{}", data.replace("\"t\"", "\"u\"")));
    let printed = pages(dir.path(), "two.toml").0;
    assert!(
        printed.contains("- all 2 tables: ") && printed.contains("rows of all tables together"),
        "{printed}"
    );
    assert!(printed.contains("\"greedy, small\""), "{printed}");
}

#[test]
fn what_cannot_be_kept_is_said_before_the_run() {
    let dir = TempDir::new().unwrap();
    table(dir.path());
    let arms = "[[environment]]\nname = \"bernoulli\"\nmeans = [0.5, 0.2]";
    spec(dir.path(), "arms.toml", 300, arms);
    let table = "[[environment]]\nlabel = \"t\"\nname = \"dataset\"\nfile = \"t.csv\"\nclass = \"price\"\nlevels = 5\n";
    spec(dir.path(), "t.toml", 300, &(table.to_owned() + &table.replace("\"t\"", "\"u\"")));
    for (name, label, says) in [
        ("arms.toml", "best", "a model is kept of a learner on a table"),
        ("t.toml", "nosuch", "unknown learner \"nosuch\""),
    ] {
        refused(&corral(dir.path(), &["run", name, "--keep", label, "--out", "o"]), 2, &[says]);
        assert!(!dir.path().join("o").exists());
    }
    let kept = corral(dir.path(), &["run", "t.toml", "--keep", "best", "--out", "o"]);
    succeeded(&kept);
    let said = String::from_utf8_lossy(&kept.stderr);
    assert!(
        said.contains("300 rows of t, the first of 2 tables, loss 0.") && said.contains(" per row"),
        "{said}"
    );
}

/// One seed says nothing beyond what was measured.
#[test]
fn claims_and_ranks_of_few_seeds_are_not_tested() {
    let dir = TempDir::new().unwrap();
    let text = "rounds = 200\nseeds = 1\nenvironment = { name = \"bernoulli\", means = [0.5, 0.2] }\n[[learner]]\nlabel = \"a\"\n\
                base = { name = \"ucb1\" }\n[[claim]]\ntext = \"it learns\"\nlearner = \"a\"\nat-most = 1000.0\n";
    fs::write(dir.path().join("one.toml"), text).unwrap();
    let printed = succeeded(&corral(dir.path(), &["run", "one.toml", "--out", "o"]));
    assert!(
        printed.contains("not tested  bernoulli, a: regret = ") && printed.contains("1 seed\n"),
        "{printed}"
    );
    assert!(!printed.contains("holds") && !printed.contains('[') && !printed.contains("± -"), "{printed}");
    let page = fs::read_to_string(dir.path().join("o/report.html")).unwrap();
    assert!(page.contains("not tested</td>"), "{page}");
    // Small values keep their figures.
    let (text, _) = text.split_once("[[claim]]").unwrap();
    let swept = format!("{text}[sweep]\nlearner.a.base.scale = [0.0001, 0.0002]\n");
    fs::write(dir.path().join("swept.toml"), swept).unwrap();
    succeeded(&corral(dir.path(), &["run", "swept.toml", "--out", "s"]));
    for what in ["cells", "summary"] {
        let table = succeeded(&corral(dir.path(), &["export", "s", "--what", what, "--to", "md"]));
        assert!(
            table.contains(" sweep_scale |") && table.contains("| 0.0001 |") && table.contains("| 0.0002 |"),
            "{table}"
        );
    }
}
