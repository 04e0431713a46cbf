//! Regret by swept key.

use super::table::aligned;
use crate::spec::{Spec, Swept};
use crate::summary::{Row, number};

/// For every swept key a table of mean regret per value and learner, over all else that was run.
pub fn by_key(spec: &Spec, rows: &[Row]) -> String {
    let mut out = String::new();
    let mut keys: Vec<&Swept> = Vec::new();
    let learners = spec.learners.iter().flat_map(|l| &l.swept);
    for swept in learners.chain(spec.environments.iter().flat_map(|e| &e.swept)) {
        if !keys.iter().any(|k| k.key == swept.key) {
            keys.push(swept);
        }
    }
    for Swept { key, name, .. } in keys {
        // Value, learner, sum of regrets, rows.
        let mut groups: Vec<(String, &str, f64, u32)> = Vec::new();
        for row in rows.iter().filter(|r| r.regret.mean.is_finite()) {
            let Some(learner) = spec.learners.iter().find(|l| l.label == row.label) else { continue };
            let Some(world) = spec.environments.iter().find(|e| e.label == row.environment) else { continue };
            let mut set = learner.swept.iter().chain(&world.swept);
            let Some(value) = set.find(|s| s.key == *key).map(Swept::value_text) else { continue };
            match groups.iter_mut().find(|(v, l, ..)| *v == value && *l == learner.family) {
                Some((.., sum, n)) => (*sum, *n) = (*sum + row.regret.mean, *n + 1),
                None => groups.push((value, &learner.family, row.regret.mean, 1)),
            }
        }
        let lines: Vec<Vec<String>> = groups
            .into_iter()
            .map(|(value, learner, sum, n)| {
                vec![value, learner.to_owned(), number(sum / f64::from(n)), n.to_string()]
            })
            .collect();
        out.push_str(&format!("\nby {key}\n"));
        out.push_str(&aligned(&[name, "learner", "mean regret", "rows"], "rlrr", &lines));
    }
    out
}

/// What was swept in each learner and environment, for JSON.
pub fn json(spec: &Spec) -> serde_json::Value {
    let of = |label: &str, family: &str, swept: &[Swept]| {
        (!swept.is_empty()).then(|| serde_json::json!({ "label": label, "family": family, "swept": swept }))
    };
    let learners: Vec<_> = spec.learners.iter().filter_map(|l| of(&l.label, &l.family, &l.swept)).collect();
    let environments: Vec<_> =
        spec.environments.iter().filter_map(|e| of(&e.label, &e.family, &e.swept)).collect();
    serde_json::json!({ "learners": learners, "environments": environments })
}
