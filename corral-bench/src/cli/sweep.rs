//! Regret by swept key.

use super::table::aligned;
use crate::spec::{Spec, Swept};
use crate::summary::{Row, number};

/// For every swept key a table of mean regret per value and learner, over all else that was run.
pub fn by_key(spec: &Spec, rows: &[Row]) -> String {
    let mut out = String::new();
    for key in spec.swept() {
        // Value, learner, sum of regrets, rows.
        let mut groups: Vec<(String, &str, f64, u32)> = Vec::new();
        for row in rows.iter().filter(|r| r.regret.mean.is_finite()) {
            let Some(setting) = spec.setting(&row.environment, &row.label) else { continue };
            let Some(level) = setting.value(key) else { continue };
            let learner = setting.learner.name;
            match groups.iter_mut().find(|(v, l, ..)| *v == level.text && *l == learner) {
                Some((.., sum, n)) => (*sum, *n) = (*sum + row.regret.mean, *n + 1),
                None => groups.push((level.text.clone(), learner, row.regret.mean, 1)),
            }
        }
        let lines = groups.into_iter().map(|(value, learner, sum, n)| {
            vec![value, learner.to_owned(), number(sum / f64::from(n)), n.to_string()]
        });
        out.push_str(&format!("\nby {key}\n"));
        out.push_str(&aligned(&[key, "learner", "mean regret", "rows"], "rlrr", lines));
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
