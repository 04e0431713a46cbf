//! What a spec claims of its outcome.

use corral_core::registry::Unknown;

use super::located::{Node, Table, Value};
use super::read::named;
use super::{ClaimSpec, EnvironmentSpec, Measure, NamedLearner, Result};

pub(super) fn claims(
    spec: &Table,
    environments: &[EnvironmentSpec],
    learners: &[NamedLearner],
    horizons: usize,
) -> Result<Vec<ClaimSpec>> {
    let worlds: Vec<Name<'_>> = environments.iter().map(|e| (e.label.as_str(), e.family.as_str())).collect();
    let players: Vec<Name<'_>> = learners.iter().map(|l| (l.label.as_str(), l.family.as_str())).collect();
    spec.list("claim").iter().map(|node| claim(node.table("claim")?, &worlds, &players, horizons)).collect()
}

/// What a claim may say.
pub(crate) const CLAIM_KEYS: &[&str] = &[
    "text",
    "measure",
    "learner",
    "than",
    "environment",
    "at-most",
    "at-least",
    "logarithms",
    "published",
    "error",
    "rounds",
    "unlikely",
];

/// A label, and what it would be without a sweep.
type Name<'a> = (&'a str, &'a str);

fn claim(table: &Table, worlds: &[Name<'_>], players: &[Name<'_>], horizons: usize) -> Result<ClaimSpec> {
    table.only(CLAIM_KEYS)?;
    // A label means itself, and without what was swept all of its variants.
    let known = |what: &str, label: &str, among: &[Name<'_>], node: &Node| {
        let exact = among.iter().any(|(l, _)| *l == label);
        let mut found: Vec<String> = among
            .iter()
            .filter(|(l, family)| if exact { *l == label } else { *family == label })
            .map(|(l, _)| (*l).to_owned())
            .collect();
        found.dedup();
        match found.is_empty() {
            true => Err(node.error(Unknown::new(what, label, among.iter().map(|(l, _)| *l)))),
            false => Ok(found),
        }
    };
    let labels = |key: &str, among: &[Name<'_>]| -> Result<Vec<String>> {
        let mut all = Vec::new();
        for node in table.list(key) {
            match &node.value {
                Value::Scalar(toml::Value::String(label)) => all.extend(known(key, label, among, node)?),
                _ => return Err(node.wrong(key, "a label")),
            }
        }
        Ok(all)
    };
    let bound = |key: &str| table.number(key, "a number", |_| true);
    const MEASURES: &[&str] =
        &["regret", "per-round", "ratio", "difference", "exponent", "audit", "mean-gap", "worst-gap"];
    let measure: Measure = named(table, "measure", MEASURES)?.unwrap_or_default();
    let than = match (table.text("than")?, table.get("than")) {
        (Some(label), Some(node)) => match known("than", &label, players, node)?.as_slice() {
            [one] => Some(one.clone()),
            many => {
                let why = format!("{label:?} is swept: compare with one of {}", many.join(", "));
                return Err(node.error(why));
            }
        },
        _ => None,
    };
    if matches!(measure, Measure::Ratio | Measure::Difference) && than.is_none() {
        return Err(table.error("a claim that compares needs `than`, the learner to compare with"));
    }
    if measure == Measure::Exponent && horizons < 2 {
        return Err(table.error("an exponent needs at least two horizons: rounds = [1000, 4000]"));
    }
    let publishable =
        matches!((measure, than.is_some()), (Measure::Regret, false) | (Measure::Difference, true));
    let published = match (bound("published")?, bound("error")?) {
        (Some(mean), error) if publishable && error.is_none_or(|e| e > 0.0) => Some((mean, error)),
        (None, None) => None,
        _ => {
            let why = "a published mean is one of regret, or of a difference of regrets, and may come with its standard error: published = 614, error = 10";
            return Err(table.error(why));
        }
    };
    let rounds = table.count("rounds", 1)?;
    if rounds.is_some() && measure == Measure::Exponent {
        return Err(table.error("an exponent is about all horizons"));
    }
    let logarithms = match bound("logarithms")? {
        Some(power) if measure == Measure::Exponent && power.is_finite() => power,
        None => 0.0,
        Some(_) => {
            let why = "logarithms belong to an exponent: regret is divided by (ln T) to this power first";
            return Err(table.error(why));
        }
    };
    let claim = ClaimSpec {
        text: table.text("text")?.unwrap_or_default(),
        measure,
        learners: labels("learner", players)?,
        than,
        environments: labels("environment", worlds)?,
        at_most: bound("at-most")?,
        at_least: bound("at-least")?,
        logarithms,
        published,
        rounds,
        unlikely: table.text("unlikely")?,
    };
    if claim.learners.is_empty() {
        return Err(table.error("a claim needs a learner"));
    }
    match (claim.at_most.is_some() || claim.at_least.is_some(), claim.published.is_some()) {
        (false, false) => Err(table.error("a claim needs at-most, at-least or published")),
        (true, true) => Err(table.error("published cannot be given with at-most or at-least")),
        _ => Ok(claim),
    }
}
