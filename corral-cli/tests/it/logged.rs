//! Bands in environments of logged feedback: unseen rounds are not learned, and weights reach the bases as weights.

use crate::launch::{folder_with, run, succeeded};

/// A band of one base has nothing to decide: it is the base, to the last bit.
#[test]
fn a_band_of_one_raw_fed_base_is_the_base_alone() {
    let file = concat!(env!("CARGO_MANIFEST_DIR"), "/../corral-envs/tests/data/logged.csv");
    for replay in ["rejection", "weighted"] {
        let dir = folder_with(&format!(
            r#"
name = "log"
rounds = 3000
seeds = 4

[[environment]]
name = "logged"
file = '{file}'
action = "action"
reward = "reward"
propensity = "propensity"
repeat = true
replay = "{replay}"

[[learner]]
label = "alone"
base = {{ name = "ucb1" }}

[[learner]]
label = "band"
master = {{ name = "corral", feed = "raw" }}
bases = [{{ name = "ucb1" }}]

[[learner]]
label = "three"
master = {{ name = "corral" }}
bases = [{{ name = "ucb1" }}, {{ name = "exp3" }}, {{ name = "random" }}]
"#
        ));
        let told: serde_json::Value =
            serde_json::from_str(&succeeded(&run(&dir, &["--format", "json"]))).unwrap();
        let learners = told["learners"].as_array().unwrap();
        assert_eq!(learners.len(), 3, "{told}");
        // How many rows were used is said on the terminal and on the page, in the same words.
        let text = succeeded(&run(&dir, &["--out", "o"]));
        let used = text.lines().find(|line| line.starts_with("Rows of the log that were used")).unwrap();
        assert!(used.contains("alone ") && used.contains("three "), "{used}");
        assert!(
            std::fs::read_to_string(dir.path().join("o/report.html")).unwrap().contains(used),
            "{replay}: {used}"
        );
        assert_eq!(learners[0]["regret"], learners[1]["regret"], "{replay}");
        for learner in learners {
            assert!(learner["regret"]["mean"].as_f64().is_some_and(f64::is_finite), "{replay}: {learner}");
            assert_eq!(learner["failed"].as_u64().unwrap_or(0), 0, "{replay}: {learner}");
        }
    }
}
