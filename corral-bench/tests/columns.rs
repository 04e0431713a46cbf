//! What `corral run --check` tells of the columns of a data set.

mod launch;

use std::fs;

use launch::{folder_with, refused, run, succeeded};

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
    assert!(told.trim_end().ends_with("fine; 1 cells of [20] rounds"), "{told}");
    fs::write(&file, "age,age,y\n30,1,0\n").unwrap();
    refused(&run(&dir, &["--check"]), 2, &["line 6", "people.csv:1", "\"age\" twice, in columns 1 and 2"]);
}
