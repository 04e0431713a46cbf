//! Every built-in experiment runs in its fast preset, and none of its claims is refuted.
//!
//! A claim is refuted when its whole 95% interval lies on the wrong side of the bound: for a claim that is true at the
//! bound itself that happens with probability 0.025. Seeds are fixed, so a run that passed once passes again.

use std::path::Path;

use crate::launch::corral;

/// What an experiment found, run below `dir`.
fn results(dir: &Path, name: &str, args: &[&str]) -> serde_json::Value {
    let output = corral(dir, &[&["run", name, "--quiet", "--format", "json"], args].concat());
    assert!(output.status.success(), "{name}: {}", String::from_utf8_lossy(&output.stderr));
    serde_json::from_slice(&output.stdout).unwrap()
}

#[test]
fn every_experiment_runs_fast_and_refutes_none_of_its_claims() {
    let dir = tempfile::TempDir::new().unwrap();
    for (name, _) in corral_lab::experiments::ALL {
        // Real data are not in the repository, and are no matter of seconds.
        if name.starts_with("data/") {
            continue;
        }
        let json = results(dir.path(), name, &["--fast"]);
        for claim in json["claims"].as_array().unwrap() {
            let expected = claim["unlikely"].is_null();
            assert!(claim["verdict"] != "unmeasured", "{name}: {claim}");
            assert!(!(expected && claim["verdict"] == "fails"), "{name}: {claim}");
        }
        assert!(
            !corral_lab::experiments::asks(corral_lab::experiments::text(name).unwrap()).is_empty(),
            "{name}"
        );
    }
}

/// Experiments 1, 2 and 12 at T = 1,000 with all seeds, and experiment 7 at its full length with 30 of 100: what follows the
/// published code agrees with the published means. Of the sixty-one comparisons one fails by chance with probability 0.15;
/// seeds are fixed.
#[test]
fn masters_by_the_published_rules_agree_with_published_means() {
    for (name, args, comparisons) in [
        ("published/experiment-1", ["--rounds", "1000"], 3),
        ("published/experiment-2", ["--rounds", "1000"], 2),
        ("published/experiment-7", ["--seeds", "30"], 12),
        ("published/experiment-12", ["--rounds", "1000"], 44),
    ] {
        let dir = tempfile::TempDir::new().unwrap();
        let json = results(dir.path(), name, &args);
        let claims = json["claims"].as_array().unwrap();
        // Experiment 12 has no others.
        let all = name.ends_with("-12");
        let ours =
            |c: &&serde_json::Value| all || c["learner"].as_str().unwrap().ends_with("published rules");
        assert_eq!(claims.iter().filter(ours).count(), comparisons, "{name}");
        for claim in claims.iter().filter(ours) {
            assert_eq!(claim["verdict"], "holds", "{name}: {claim}");
        }
    }
}
