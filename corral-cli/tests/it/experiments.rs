//! Every built-in experiment runs in its fast preset, and none of its claims is refuted.
//!
//! A claim is refuted when its whole 95% interval lies on the wrong side of the bound: for a claim that is true at the
//! bound itself that happens with probability 0.025. Seeds are fixed, so a run that passed once passes again.

use std::fs;
use std::path::Path;

use sha2::{Digest, Sha256};

use crate::launch::{corral, succeeded};

/// What an experiment found, run below `dir`.
fn results(dir: &Path, name: &str, args: &[&str]) -> serde_json::Value {
    let output = corral(dir, &[&["run", name, "--quiet", "--format", "json"], args].concat());
    assert!(output.status.success(), "{name}: {}", String::from_utf8_lossy(&output.stderr));
    serde_json::from_slice(&output.stdout).unwrap()
}

/// Where all of a run is the same to the last bit; elsewhere the last bits of a figure may differ, and all of a run with them.
const SAME_BITS: bool = cfg!(all(target_os = "linux", target_arch = "x86_64"));

/// The rows of 5,000 rounds of each master that `spec` names: what the fast preset is too short to show.
fn traces_of(spec: &str, traces: &str) -> String {
    let named = |row: &&str| row.split(',').nth(3).is_some_and(|name| spec.contains(&format!("\"{name}\"")));
    traces.lines().filter(named).map(|row| format!("{row}\n")).collect()
}

/// Every master is followed in them, but for the one that needs costs.
#[test]
fn the_traces_have_every_master() {
    let spec = include_str!("../../../corral-lab/experiments/traces.toml");
    for entry in corral_core::masters::REGISTRY.entries().filter(|e| e.name != "pacer") {
        assert!(spec.contains(&format!("master = \"{}\"\n", entry.name)), "{} has no trace", entry.name);
    }
}

/// So is every contextual base, for pages on real data.
#[test]
fn the_traces_have_every_contextual_base() {
    let spec = include_str!("../../../corral-lab/experiments/traces-contextual.toml");
    for entry in
        corral_bases::REGISTRY.entries().filter(|e| e.kind == corral_core::registry::Kind::Contextual)
    {
        assert!(spec.contains(&format!("\"{}\"", entry.name)), "{} has no trace", entry.name);
    }
}

/// Both indexes of docs/results say "stale" of a page whose digest is not that of `spec` and `figures`, and of no other:
/// `record.sh` writes it there.
fn is_marked_if_stale(name: &str, spec: &str, figures: &str) {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let read = |file: &str| fs::read_to_string(root.join(file));
    let Ok(page) = read(&format!("docs/results/{name}.md")) else { return };
    let now = Sha256::new().chain_update(spec).chain_update(figures).finalize();
    let now: String = now.iter().take(8).map(|byte| format!("{byte:02x}")).collect();
    let stale =
        !page.lines().any(|l| l.starts_with("Recorded by ") && l.ends_with(&format!(", digest {now}.")));
    for (index, entry, page) in [
        ("docs/results/README.md", "### [", format!("]({name}.md)")),
        ("RESULTS.md", "- [", format!("](docs/results/{name}.md)")),
    ] {
        let text = read(index).unwrap();
        let line = text.lines().find(|l| l.starts_with(entry) && l.contains(&page)).unwrap_or_default();
        let marked = line.contains(&format!("{page} (stale)"));
        assert!(
            line.contains(&page),
            "{index} does not list {name}: run corral-lab/experiments/record.sh --index"
        );
        assert_eq!(
            marked, stale,
            "{index}: is the page of {name} marked as stale, and is it (digest {now})? Run corral-lab/experiments/record.sh --index"
        );
    }
}

#[test]
fn every_experiment_runs_fast_and_refutes_none_of_its_claims() {
    let dir = tempfile::TempDir::new().unwrap();
    let of = |name: &str| {
        let spec = format!("{}/../corral-lab/experiments/{name}.toml", env!("CARGO_MANIFEST_DIR"));
        succeeded(&corral(dir.path(), &["run", &spec, "--quiet", "--format", "csv"]))
    };
    let (masters, contextual) = (of("traces"), of("traces-contextual"));
    for (name, spec) in corral_lab::experiments::ALL {
        let traces = traces_of(spec, &masters);
        // Real data are not in the repository, and are no matter of seconds.
        if name.starts_with("data/") {
            if SAME_BITS {
                is_marked_if_stale(name, spec, &(traces + &traces_of(spec, &contextual)));
            }
            continue;
        }
        let json = results(dir.path(), name, &["--fast"]);
        if SAME_BITS {
            let csv = succeeded(&corral(dir.path(), &["run", name, "--fast", "--quiet", "--format", "csv"]));
            is_marked_if_stale(name, spec, &(csv + &traces));
        }
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
