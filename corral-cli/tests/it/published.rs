//! The published experiments that have no spec of their own can be written as one: every ingredient, and what it gives.

use crate::launch::{folder_with, run, succeeded};

const MASTERS: &str = r#"
learner = [
  { label = "formula", master = { name = "corral", rate = { scaled = 3.0 }, feed = "raw" }, bases = "mine" },
  { label = "as published", master = { name = "corral", rules = "as-modelselection", rate = "fast", feed = "everyone" }, bases = "mine" },
  { label = "exp3 master", master = { name = "exp3", rules = "published-code", mixing = 0.1, rate = { scaled = 0.5 }, feed = "raw" }, bases = "mine" },
  { label = "d3rb", master = { name = "d3rb", rules = "published-code", draw = "stochastic", feed = "raw" }, bases = "mine" },
  { label = "ed2rb", master = { name = "ed2rb", rules = "published-code", draw = "stochastic", feed = "everyone" }, bases = "mine" },
  { alone = "mine" },
]
"#;

/// What it is, the world, and its band.
const WORLDS: &[(&str, &str, &str)] = &[
    (
        "the unit sphere of R^100, a ramp over 30 coordinates, noise without bounds",
        r#"{ name = "normal-linear", set = "unit-sphere", dim = 100, support = 30, sd = 1.0 }"#,
        r#"[{ name = "lints-points", coordinates = 10, offset = 1.0, label = "10" }, { name = "lints-points", offset = 1.0, label = "100" }]"#,
    ),
    (
        "the hypercube of R^100, whose 2^100 corners are not listed",
        r#"{ name = "normal-linear", set = "hypercube", dim = 100 }"#,
        r#"[{ name = "lints-points", scale = 2.5, offset = 1.0 }, { name = "lints-points", coordinates = 30, scale = 0.0, offset = 1.0, label = "30" }]"#,
    ),
    (
        "Bernoulli arms with a scale",
        r#"{ name = "bernoulli", means = [0.9, 0.8], scale = 30.0, offset = -29.0 }"#,
        r#"[{ name = "ucb1", width = "published", ties = "random", scale = 1.0 }, { name = "ucb1", width = "published", ties = "random", scale = 0.1, label = "narrow" }]"#,
    ),
    (
        "the same sphere, rescaled so that masters see [0, 1]",
        r#"{ name = "normal-linear", set = "unit-sphere", dim = 5, rescale = [-10.0, 10.0] }"#,
        r#"[{ name = "lints-points", scale = 0.16 }, { name = "lints-points", scale = 5.0, label = "wide" }]"#,
    ),
    (
        "Gaussian arms, rescaled",
        r#"{ name = "gaussian", means = [0.0, 2.0, -1.0], rescale = [-6.0, 7.0] }"#,
        r#"[{ name = "ucb1" }, { name = "exp3" }]"#,
    ),
];

#[test]
fn every_ingredient_can_be_said_in_a_spec() {
    for (what, environment, band) in WORLDS {
        let spec = format!(
            "rounds = 60\nseeds = 2\nenvironment = {environment}\n{MASTERS}\n[bands]\nmine = {band}\n"
        );
        let dir = folder_with(&spec);
        let printed = succeeded(&run(&dir, &["--out", "o", "--format", "json"]));
        let result: serde_json::Value = serde_json::from_str(&printed).unwrap();
        let learners = result["learners"].as_array().unwrap();
        assert_eq!(learners.len(), 7, "{what}");
        for learner in learners {
            let regret = learner["regret"]["mean"].as_f64().unwrap();
            // No learner beats the least mean loss, which is computed and not listed.
            assert!(regret.is_finite() && regret > -1e-9, "{what}: {learner}");
            assert!(learner["failed"].as_array().is_none_or(Vec::is_empty), "{what}: {learner}");
        }
    }
}
