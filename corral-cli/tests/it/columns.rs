//! What `corral run --check` tells of the columns of a data set.

use std::fs;

use crate::launch::{folder_with, refused, run, succeeded};

const SPEC: &str = r#"
name = "columns"
rounds = 20
seeds = 1

[[environment]]
name = "dataset"
file = "people.csv"
missing = { age = "median", colour = "category" }

[[learner]]
label = "alone"
base = { name = "exp3" }
"#;

#[test]
fn check_prints_a_table_of_columns() {
    let dir = folder_with(SPEC);
    let file = dir.path().join("people.csv");
    fs::write(&file, "age,colour,name,y\n30,red,A,0\n?,NA,B,1\n50,blue,C,1\n").unwrap();
    let spec = SPEC.replace("people.csv", &file.display().to_string());
    fs::write(dir.path().join("spec.toml"), spec).unwrap();
    let told = succeeded(&run(&dir, &["--check"]));
    for part in [
        "people.csv: 3 rows, 2 actions, 8 features",
        "column  type      range           missing  values  features",
        "age     number    30.00 to 50.00        1       2         1",
        "colour  category  -                     1       2         3",
        "name    category  -                     0       3         3",
        "y       class     -                     0       2         0",
    ] {
        assert!(told.contains(part), "{part:?} is not in:\n{told}");
    }
    // What each learner costs, and the run.
    let cost = told.lines().find(|l| l.starts_with("dataset      alone")).unwrap_or_else(|| panic!("{told}"));
    assert!(
        cost.ends_with("less than a second") && (cost.contains(" ns ") || cost.contains(" µs ")),
        "{told}"
    );
    let last = told.trim_end().lines().last().unwrap();
    assert!(last.ends_with("fine; 1 cell of 20 rounds, less than a second"), "{told}");
    fs::write(&file, "age,age,y\n30,1,0\n").unwrap();
    refused(&run(&dir, &["--check"]), 2, &["line 6", "people.csv:1", "\"age\" twice, in columns 1 and 2"]);
}

#[test]
fn check_warns_of_a_thousand_features_before_it_refuses_them() {
    let dir = folder_with(
        &SPEC.replace("missing = { age = \"median\", colour = \"category\" }", "categorical = [\"id\"]"),
    );
    let rows: String = (0..1200).map(|i| format!("r{i},{}\n", i % 2)).collect();
    fs::write(dir.path().join("people.csv"), format!("id,y\n{rows}")).unwrap();
    let warning = "warning: people.csv has 1201 features, 1200 of them from the category \"id\"";
    assert!(succeeded(&run(&dir, &["--check"])).contains(warning));
    // A learner that cannot take them is refused; the columns that are to blame were named.
    let spec = fs::read_to_string(dir.path().join("spec.toml")).unwrap().replace("exp3", "linucb");
    fs::write(dir.path().join("spec.toml"), spec).unwrap();
    let output = run(&dir, &["--check", "--memory", "2MB"]);
    refused(&output, 2, &["line 13", "1201, which takes"]);
    assert!(String::from_utf8_lossy(&output.stdout).contains(warning));
}

#[test]
fn a_number_column_with_words_in_it_is_an_error_that_says_so() {
    let dir = folder_with(&SPEC.replace("missing = { age = \"median\", colour = \"category\" }\n", ""));
    let rows: String = (0..60).map(|i| format!("{i},{}\n", i % 2)).collect();
    fs::write(dir.path().join("people.csv"), format!("age,y\n{rows}unknown,1\n")).unwrap();
    refused(
        &run(&dir, &["--check"]),
        2,
        &["line 6", "column \"age\": 1 of 61 cells are words", "\"unknown\" on line 62"],
    );
}
