//! What is made of a results folder: reports, tables and figures.

use std::fs;
use std::path::Path;

use crate::launch::{corral, folder_with, refused, run, succeeded};
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

/// The rows of a CSV table, by column.
fn table(text: &str) -> Vec<std::collections::BTreeMap<String, String>> {
    csv::Reader::from_reader(text.as_bytes()).deserialize().map(Result::unwrap).collect()
}

#[test]
fn tables_have_a_row_for_every_observation() {
    let dir = folder();
    let export = |what: &str| succeeded(&corral(dir.path(), &["export", "o", "--what", what]));
    let cells = table(&export("cells"));
    assert_eq!(cells.len(), 2 * 2 * 5);
    assert!(cells.iter().all(|c| (c["alone"] == "true") == (c["learner"] == "exp3") && c["played"] == "600"));
    let curves = table(&export("curves"));
    let first: Vec<u64> =
        curves.iter().filter(|c| c["cell"] == "0").map(|c| c["round"].parse().unwrap()).collect();
    assert!(
        first.windows(2).all(|w| w[0] < w[1]) && first[0] == 1 && first.last() == Some(&600),
        "{first:?}"
    );
    let ends: Vec<&String> = curves.iter().filter(|c| c["round"] == "600").map(|c| &c["regret"]).collect();
    assert_eq!(ends, cells.iter().map(|c| &c["regret"]).collect::<Vec<_>>());
    let bases = table(&export("bases"));
    assert_eq!(bases.len(), 2 * 5 * 2);
    for pair in bases.chunks(2) {
        let plays: u64 = pair.iter().map(|b| b["plays"].parse::<u64>().unwrap()).sum();
        assert_eq!(plays, 600);
    }
    let traces = table(&export("traces"));
    assert_eq!(traces.len(), first.len() * bases.len());
    let claims = table(&export("claims"));
    assert_eq!(claims.len(), 2);
    assert_eq!((claims[0]["verdict"].as_str(), claims[0]["bound"].as_str()), ("holds", "<= 0.5"));
    assert_eq!(claims[0]["claim"], "a band learns \"something\", that is certain");
    // The same in JSON, with its version.
    let json = succeeded(&corral(dir.path(), &["export", "o", "--what", "curves", "--to", "json"]));
    let json: serde_json::Value = serde_json::from_str(&json).unwrap();
    assert_eq!((&json["version"], &json["what"]), (&serde_json::json!(1), &serde_json::json!("curves")));
    assert_eq!(json["rows"].as_array().unwrap().len(), curves.len());
    assert_eq!(json["rows"][0]["regret"].to_string(), curves[0]["regret"]);
}

#[test]
fn what_cannot_be_exported_leaves_nothing_behind() {
    let dir = folder();
    let before = files(dir.path());
    refused(&corral(dir.path(), &["export", "nowhere", "--out", "t.csv"]), 2, &["nowhere", "no such folder"]);
    refused(&corral(dir.path(), &["export", "half", "--out", "t.csv"]), 2, &["unfinished, 13 of 20 cells"]);
    refused(&corral(dir.path(), &["export", "o", "--out", "no/t.csv"]), 1, &["no/t.csv"]);
    refused(&corral(dir.path(), &["export", "o", "--to", "parquet"]), 2, &["--out"]);
    if !cfg!(feature = "parquet") {
        let args = ["export", "o", "--to", "parquet", "--out", "t.parquet"];
        refused(&corral(dir.path(), &args), 2, &["--features parquet"]);
    }
    assert_eq!(files(dir.path()), before);
    let partial = succeeded(&corral(dir.path(), &["export", "half", "--partial"]));
    assert_eq!(table(&partial).len(), 13);
    succeeded(&corral(dir.path(), &["export", "o", "--what", "claims", "--out", "t.csv"]));
    assert_eq!(table(&fs::read_to_string(dir.path().join("t.csv")).unwrap()).len(), 2);
}

#[cfg(feature = "parquet")]
#[test]
fn parquet_has_the_same_rows() {
    use parquet::file::reader::{FileReader, SerializedFileReader};
    use parquet::record::Field;
    let dir = folder();
    for what in ["cells", "curves", "bases", "traces", "claims"] {
        succeeded(&corral(
            dir.path(),
            &["export", "o", "--what", what, "--to", "parquet", "--out", "t.parquet"],
        ));
        let expected = table(&succeeded(&corral(dir.path(), &["export", "o", "--what", what])));
        let file = SerializedFileReader::new(fs::File::open(dir.path().join("t.parquet")).unwrap()).unwrap();
        let mut rows = 0;
        for (row, expected) in file.get_row_iter(None).unwrap().zip(&expected) {
            for (name, field) in row.unwrap().get_column_iter() {
                let text = match field {
                    Field::Null => String::new(),
                    Field::Str(text) => text.clone(),
                    Field::Double(x) => x.to_string(),
                    other => other.to_string(),
                };
                assert_eq!(text, expected[name], "{what}, {name}");
            }
            rows += 1;
        }
        assert_eq!(rows, expected.len(), "{what}");
    }
}

#[test]
fn every_column_and_every_measure_is_written_down() {
    use corral_lab::export::What;
    let docs = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs");
    let page = fs::read_to_string(docs.join("results-format.md")).unwrap();
    for what in [What::Cells, What::Curves, What::Bases, What::Traces, What::Claims] {
        let (_, section) = page.split_once(&format!("### {}: ", what.name())).unwrap();
        let section = section.split("\n##").next().unwrap();
        for (column, _) in what.columns().iter().skip(if what == What::Claims { 0 } else { 5 }) {
            assert!(section.contains(&format!("`{column}`")), "{}: {column}", what.name());
        }
    }
    let page = fs::read_to_string(docs.join("claims.md")).unwrap();
    for word in [
        "regret",
        "per-round",
        "ratio",
        "difference",
        "exponent",
        "audit",
        "mean-gap",
        "worst-gap",
        "text",
        "learner",
        "than",
        "environment",
        "rounds",
        "at-most",
        "at-least",
        "published",
        "error",
        "unlikely",
        "holds",
        "fails",
        "undecided",
        "unmeasured",
    ] {
        assert!(page.contains(&format!("`{word}`")), "{word}");
    }
}

#[test]
fn figures_are_drawn_or_refused() {
    let dir = folder();
    let plot = |args: &[&str]| corral(dir.path(), &[&["plot", "o"], args].concat());
    let still = ["--environment", "still"];
    for (kind, part) in [("regret", "pseudo-regret"), ("probabilities", "probability of each base")] {
        let printed = succeeded(&plot(&[&["--kind", kind, "--out", "f.svg"], &still[..]].concat()));
        assert_eq!(printed, "f.svg\nf.vl.json\n");
        let svg = fs::read_to_string(dir.path().join("f.svg")).unwrap();
        assert!(svg.starts_with("<svg") && svg.contains(part), "{kind}");
        let vega = fs::read_to_string(dir.path().join("f.vl.json")).unwrap();
        let vega: serde_json::Value = serde_json::from_str(&vega).unwrap();
        assert!(vega["data"]["values"].as_array().unwrap().len() > 100, "{kind}");
    }
    // As the paper wants it.
    let regret = |args: &[&str]| plot(&[&["--kind", "regret", "--out", "f.svg"], &still[..], args].concat());
    let wishes =
        ["--size", "5x3", "--title", "Figure <1>", "--label", "exp3=our rival", "--font", "Gill Sans:9"];
    succeeded(&regret(&wishes));
    let svg = fs::read_to_string(dir.path().join("f.svg")).unwrap();
    let parts = [
        "width=\"5in\" height=\"3in\"",
        ">Figure &lt;1&gt;</text>",
        ">our rival</text>",
        "'Gill Sans',",
        "font-size:12px",
    ];
    for part in parts {
        assert!(svg.contains(part), "{part}");
    }
    assert!(!svg.contains(">exp3</text>"));
    fs::remove_file(dir.path().join("f.svg")).unwrap();
    fs::remove_file(dir.path().join("f.vl.json")).unwrap();
    for (args, why) in [
        (["--size", "5"], "such as 5x3"),
        (["--size", "0x3"], "0.5 to 50 inches"),
        (["--label", "exp4=x"], "unknown label \"exp4\"; did you mean \"exp3\"?"),
        (["--font", "a';}"], "no name of a font"),
        (["--font", "Arial:900"], "2 to 72 points"),
    ] {
        refused(&regret(&args), 2, &[why]);
    }
    let before = files(dir.path());
    refused(&plot(&["--kind", "regret", "--out", "f.svg"]), 2, &["2 environments", "still, switching"]);
    refused(
        &plot(&["--kind", "regret", "--out", "f.svg", "--environment", "stil"]),
        2,
        &["unknown environment \"stil\"", "still"],
    );
    refused(
        &plot(&[&["--kind", "regret", "--out", "f.gif"], &still[..]].concat()),
        2,
        &[".svg, .pdf or .png"],
    );
    refused(
        &plot(&[&["--kind", "regret", "--out", "f.svg", "--rounds", "7"], &still[..]].concat()),
        2,
        &["[600]"],
    );
    refused(&plot(&["--kind", "ranks", "--out", "f.svg"]), 2, &["three masters and three worlds"]);
    refused(&plot(&[&["--kind", "sweep", "--out", "f.svg"], &still[..]].concat()), 2, &["swept"]);
    refused(
        &corral(dir.path(), &["plot", "half", "--kind", "regret", "--out", "f.svg"]),
        2,
        &["unfinished, 13 of 20 cells"],
    );
    let pdf = plot(&[&["--kind", "regret", "--out", "f.pdf"], &still[..]].concat());
    let png = plot(&[&["--kind", "regret", "--out", "f.png"], &still[..]].concat());
    if cfg!(feature = "figures") {
        for (output, name, magic) in [(pdf, "f.pdf", &b"%PDF"[..]), (png, "f.png", b"\x89PNG")] {
            succeeded(&output);
            assert!(fs::read(dir.path().join(name)).unwrap().starts_with(magic), "{name}");
        }
    } else {
        refused(&pdf, 2, &["PDF", "--features figures"]);
        refused(&png, 2, &["PNG", "--features figures"]);
        assert_eq!(files(dir.path()), before);
    }
}

#[test]
fn the_page_of_results_leads_to_every_experiment() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let index = fs::read_to_string(root.join("RESULTS.md")).unwrap();
    assert!(index.lines().count() < 100, "one page, but {} lines", index.lines().count());
    for (name, _) in corral_lab::experiments::ALL {
        let page = format!("docs/results/{name}.md");
        let recorded = root.join(&page).is_file();
        assert_eq!(recorded, index.contains(&format!("]({page})")), "{page}");
        if recorded {
            let text = fs::read_to_string(root.join(&page)).unwrap();
            // As a whole, or with the seeds that were run, by number or as a range.
            let command = text.lines().find_map(|l| l.strip_prefix("$ corral run ")).unwrap();
            let seeds = command.strip_prefix(name).unwrap().strip_prefix(" --seeds ");
            assert!(
                command == *name || seeds.is_some_and(|s| s.split("..").all(|n| n.parse::<u64>().is_ok())),
                "{page}: {command}"
            );
        }
    }
}

/// `corral export DIR | head`: a reader that has gone is no failure.
#[cfg(unix)]
#[test]
fn a_closed_pipe_ends_quietly() {
    use std::process::{Command, Stdio};
    let dir = folder();
    for form in ["csv", "json"] {
        let mut reader = Command::new("true").stdin(Stdio::piped()).spawn().unwrap();
        let pipe = reader.stdin.take().unwrap();
        reader.wait().unwrap();
        let output = Command::new(env!("CARGO_BIN_EXE_corral"))
            .args(["export", "o", "--what", "curves", "--to", form])
            .current_dir(dir.path())
            .stdout(pipe)
            .stderr(Stdio::piped())
            .spawn()
            .unwrap()
            .wait_with_output()
            .unwrap();
        succeeded(&output);
        assert_eq!(String::from_utf8_lossy(&output.stderr), "", "{form}");
    }
}
