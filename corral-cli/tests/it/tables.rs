//! From a table as it comes to a model that decides for new rows.

use std::fmt::Write;
use std::fs;

use crate::launch::{corral, refused, succeeded};
use tempfile::TempDir;

/// A table with semicolons, decimal commas, a customer, a date, spellings of yes and no; the answer follows from income and
/// region. The first column may be left out, and so may the answer.
fn customers(rows: std::ops::Range<usize>, whole: bool) -> (String, Vec<&'static str>) {
    let mut text = if whole { "Nr;Who;Day;".to_owned() } else { String::new() };
    text += if whole { "Income;Active;Region;Churn\n" } else { "Region;Income;Active\n" };
    let mut answers = Vec::new();
    for i in rows {
        let income = (i * 7919 % 4000) + 1000;
        let region = ["North", "South", "East"][i * 31 % 3];
        let active = ["TRUE", "True", "false"][i % 3];
        let answer = if income > 3000 { "yes" } else { "no" };
        answers.push(answer);
        let income = format!("{income},5 \u{20ac}");
        let row = match whole {
            true => format!("{i};c{i};{:02}.03.2024;{income};{active};{region};{answer}\n", 1 + i % 28),
            false => format!("{region};{income};{active}\n"),
        };
        text.write_str(&row).unwrap();
    }
    (text, answers)
}

#[test]
fn a_table_becomes_a_spec_a_result_and_a_model() {
    let dir = TempDir::new().unwrap();
    fs::write(dir.path().join("messy.csv"), customers(0..600, true).0).unwrap();
    refused(&corral(dir.path(), &["run", "messy.csv"]), 2, &["is a table", "corral new data messy.csv"]);
    let said = succeeded(&corral(dir.path(), &["new", "data", "messy.csv"]));
    for part in [
        "600 rows, 2 actions",
        "\"Who\" has another value",
        "\"Day\" holds dates",
        "separated by ';'",
        "\"Nr\" counts",
    ] {
        assert!(said.contains(part), "{part}: {said}");
    }
    let spec = fs::read_to_string(dir.path().join("messy.toml")).unwrap();
    assert!(spec.contains("rounds = 600") && spec.contains("class       = \"Churn\""), "{spec}");
    let told = corral(dir.path(), &["run", "messy.toml", "--keep", "best", "--out", "out"]);
    let result = succeeded(&told);
    for part in
        ["errors", "95%, over rows", "always \"yes\"", "at random", "50.0 %", "tests over rows", "error rate"]
    {
        assert!(result.contains(part), "{part}: {result}");
    }
    assert!(!result.contains("regret"), "{result}");
    let page = fs::read_to_string(dir.path().join("out/report.html")).unwrap();
    assert!(page.contains("errors so far, in per cent") && page.contains("at random"));
    let latex = succeeded(&corral(dir.path(), &["export", "out", "--what", "summary", "--to", "latex"]));
    assert!(
        latex.contains("\\toprule")
            && latex.contains(r"loss\_per\_round")
            && latex.contains(" & rows & 600 & "),
        "{latex}"
    );
    let tests = succeeded(&corral(dir.path(), &["export", "out", "--what", "tests", "--to", "md"]));
    assert!(tests.lines().count() == 2 + 10 && tests.contains("| error rate | rows |"), "{tests}");
    // New rows, without what is no feature and in another order: far better than chance.
    let (text, answers) = customers(600..900, false);
    fs::write(dir.path().join("new.csv"), &text).unwrap();
    let decided = succeeded(&corral(dir.path(), &["decide", "model.corral", "new.csv"]));
    let found: Vec<&str> = decided.lines().skip(1).map(|l| l.split(',').nth(1).unwrap()).collect();
    let right = found.iter().zip(&answers).filter(|(a, b)| a.eq_ignore_ascii_case(b)).count();
    assert!(found.len() == 300 && right > 240, "{right} of {}", found.len());
    fs::write(dir.path().join("new.csv"), text.replace("Income", "Salary")).unwrap();
    refused(&corral(dir.path(), &["decide", "model.corral", "new.csv"]), 2, &["unknown column \"Income\""]);
    fs::write(dir.path().join("new.csv"), text.replacen("North", "", 1)).unwrap();
    refused(
        &corral(dir.path(), &["decide", "model.corral", "new.csv"]),
        2,
        &["new.csv:2", "a cell is missing"],
    );
    fs::write(dir.path().join("new.csv"), text.replacen("North", "West", 2)).unwrap();
    let west = corral(dir.path(), &["decide", "model.corral", "new.csv"]);
    assert!(
        String::from_utf8_lossy(&west.stderr).contains("2 cells hold a category that the table did not have")
    );
    let mut model = fs::read(dir.path().join("model.corral")).unwrap();
    let middle = model.len() / 2;
    model[middle] ^= 1;
    fs::write(dir.path().join("model.corral"), model).unwrap();
    refused(&corral(dir.path(), &["decide", "model.corral", "new.csv"]), 2, &["model.corral", "not a model"]);
    refused(
        &corral(dir.path(), &["run", "messy.toml", "--keep", "nobody"]),
        2,
        &["unknown learner \"nobody\""],
    );
}
