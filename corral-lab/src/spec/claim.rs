//! What a spec claims of its outcome.

use corral_core::registry::Unknown;

use super::located::{Node, Table};
use super::read::named;
use super::schema::keys;
use super::{ClaimSpec, EnvironmentSpec, Measure, NamedLearner, Result, Unit};

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

/// Where the schema has the keys of a claim.
const KEYS: &str = "/$defs/claim";

/// A label, and what it would be without a sweep.
type Name<'a> = (&'a str, &'a str);

fn claim(table: &Table, worlds: &[Name<'_>], players: &[Name<'_>], horizons: usize) -> Result<ClaimSpec> {
    table.only(&keys(KEYS))?;
    // A label means itself, and without what was swept all of its variants.
    let known = |what: &str, label: &str, among: &[Name<'_>], node: &Node| {
        let exact = among.iter().any(|(l, _)| *l == label);
        let mut found: Vec<String> = among
            .iter()
            .filter(|(l, family)| if exact { *l == label } else { *family == label })
            .map(|(l, _)| (*l).to_owned())
            .collect();
        found.dedup();
        let unknown = Unknown::new(what, label, among.iter().map(|(l, _)| *l));
        node.place.ensure(!found.is_empty(), unknown).map(|()| found)
    };
    let labels = |key: &str, among: &[Name<'_>]| -> Result<Vec<String>> {
        let mut all = Vec::new();
        for node in table.list(key) {
            let label = node.as_str().ok_or_else(|| node.wrong(key, "a label"))?;
            all.extend(known(key, label, among, node)?);
        }
        Ok(all)
    };
    let bound = |key: &str| table.number(key, "a number", |_| true);
    let measure: Measure = named(table, KEYS, "measure")?.unwrap_or_default();
    let one = |key: &str, among: &[Name<'_>]| -> Result<Option<String>> {
        let Some(node) = table.get(key) else { return Ok(None) };
        let label = node.text(key)?;
        let mut found = known(key, &label, among, node)?;
        let why = format!("{label:?} is swept: compare with one of {}", found.join(", "));
        node.place.ensure(found.len() == 1, why)?;
        Ok(Some(found.remove(0)))
    };
    let than = one("than", players)?;
    let than_environment = one("than-environment", worlds)?;
    let ensure = |holds: bool, why: &str| table.place.ensure(holds, why);
    let compares = matches!(measure, Measure::Ratio | Measure::Difference);
    ensure(than.is_some() || !compares, "a claim that compares needs `than`, the learner to compare with")?;
    let why = "than-environment belongs to a claim that compares";
    ensure(than_environment.is_none() || compares, why)?;
    let exponent = measure == Measure::Exponent;
    ensure(horizons >= 2 || !exponent, "an exponent needs at least two horizons: rounds = [1000, 4000]")?;
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
    ensure(rounds.is_none() || !exponent, "an exponent is about all horizons")?;
    let logarithms = bound("logarithms")?;
    let why = "logarithms belong to an exponent: regret is divided by (ln T) to this power first";
    ensure(logarithms.is_none_or(|power| exponent && power.is_finite()), why)?;
    let unit = table.table("unit")?.map(unit).transpose()?;
    let why = "a unit belongs to regret or to an exponent without logarithms";
    let measurable = measure == Measure::Regret || (exponent && logarithms.is_none());
    ensure(unit.is_none() || (measurable && published.is_none()), why)?;
    let claim = ClaimSpec {
        text: table.text("text")?.unwrap_or_default(),
        measure,
        learners: labels("learner", players)?,
        than,
        than_environment,
        unit,
        environments: labels("environment", worlds)?,
        at_most: bound("at-most")?,
        at_least: bound("at-least")?,
        logarithms: logarithms.unwrap_or(0.0),
        published,
        rounds,
        unlikely: table.text("unlikely")?,
    };
    let (bounded, published) = (claim.at_most.or(claim.at_least).is_some(), claim.published.is_some());
    ensure(!claim.learners.is_empty(), "a claim needs a learner")?;
    ensure(bounded || published, "a claim needs at-most, at-least or published")?;
    ensure(!(bounded && published), "published cannot be given with at-most or at-least")?;
    Ok(claim)
}

fn unit(table: &Table) -> Result<Unit> {
    table.only(&keys("/$defs/claim/properties/unit"))?;
    let positive = |key: &str| table.number(key, "a positive number", |x| x > 0.0 && x.is_finite());
    let missing = "a unit has bases, gap and rate: unit = { bases = 4, gap = 0.2, rate = 1 }";
    match (table.count("bases", 2)?, positive("gap")?, positive("rate")?) {
        (Some(bases), Some(gap), Some(rate)) => Ok(Unit { bases, gap, rate }),
        _ => Err(table.error(missing)),
    }
}
