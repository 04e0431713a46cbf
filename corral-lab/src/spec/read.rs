//! From TOML to a [`Spec`].

use std::collections::{HashMap, HashSet};

use corral_bases::band::{BaseRecipe, Copies, MasterRecipe, Spend};
use corral_core::registry::Unknown;
use serde::de::value::{Error as ValueError, StrDeserializer};
use serde::de::{DeserializeOwned, IntoDeserializer};

use super::claim::claims;
use super::located::{Node, Place, Table};
use super::schema::{keys, words};
use super::sweep::{Sweep, changing, grid, label};
use super::{
    BandSpec, BaseSpec, EnvironmentSpec, LearnerSpec, NamedLearner, Origin, Result, RunSpec, Spec, SpecError,
    SpecText, Surrounding, Swept, distinct,
};

pub(super) fn spec(source: &SpecText) -> Result<Spec> {
    let table = &source.table;
    table.only(&keys(""))?;
    let sweep = Sweep::read(table)?;
    let horizons = match sweep.rounds() {
        Some(nodes) => nodes,
        None => given(table, "rounds", "how many rounds to play")?.one_or_many(),
    };
    let mut rounds = Vec::with_capacity(horizons.len());
    for node in horizons {
        let horizon = node.count("rounds", 1)?;
        node.place.ensure(!rounds.contains(&horizon), format_args!("rounds has {horizon} twice"))?;
        rounds.push(horizon);
    }
    if rounds.is_empty() {
        return Err(SpecError::whole("rounds is an empty list"));
    }
    let (first_seed, seeds) = seeds(given(table, "seeds", "how many times to repeat each run")?)?;
    let bands = Bands::read(table)?;
    let environments = environments(table, &bands, &sweep)?;
    let learners = learners(table, &sweep, &environments)?;
    let claims = claims(table, &environments, &learners, rounds.len())?;
    let runs = runs(&rounds, &sweep, seeds, &environments, &learners)?;
    let name = table.text("name")?.unwrap_or_else(|| "unnamed".to_owned());
    Ok(Spec {
        name,
        asks: table.text("asks")?,
        rounds,
        seeds,
        first_seed,
        environments,
        learners,
        runs,
        claims,
        rank_from_memory: table.flag("rank-from-memory")?.unwrap_or(false),
        text: source.text().to_owned(),
    })
}

/// What a spec cannot be without: `what` says what `key` is.
fn given<'a>(spec: &'a Table, key: &str, what: &str) -> Result<&'a Node> {
    spec.get(key).ok_or_else(|| SpecError::whole(format_args!("{key} is missing: {what}")))
}

/// The first seed and how many: of a count, from 0 on, or of a range "FIRST..END" without its end.
fn seeds(node: &Node) -> Result<(u64, u64), SpecError> {
    let Some(text) = node.as_str() else { return Ok((0, node.count("seeds", 1)?)) };
    let must = "a whole number of at least 1, or a range FIRST..END with FIRST below END";
    text.split_once("..")
        .and_then(|(first, end)| Some((first.parse().ok()?, end.parse().ok()?)))
        .filter(|(first, end): &(u64, u64)| first < end)
        .map(|(first, end)| (first, end - first))
        .ok_or_else(|| node.wrong("seeds", must))
}

/// The most combinations of horizon, environment and learner: the table of results has a row for each.
const MOST_RUNS: usize = 1_000_000;

/// Who is run where and how long, when all of it can be counted.
fn runs(
    rounds: &[u64],
    sweep: &Sweep,
    seeds: u64,
    environments: &[EnvironmentSpec],
    learners: &[NamedLearner],
) -> Result<Vec<RunSpec>> {
    let mut runs = Vec::new();
    let mut total = 0u64;
    for (horizon, t) in rounds.iter().enumerate() {
        for (environment, world) in environments.iter().enumerate() {
            let turn = sweep.zips_rounds().then_some(horizon);
            let now = |its: Option<usize>| turn.zip(its).is_none_or(|(a, b)| a == b);
            let here = |l: &NamedLearner| l.plays_in(world) && now(l.turn) && now(world.turn);
            for (learner, _) in learners.iter().enumerate().filter(|(_, l)| here(l)) {
                if runs.len() == MOST_RUNS {
                    let why = format!(
                        "{} horizons, {} environments and {} learners are more than {MOST_RUNS} combinations",
                        rounds.len(),
                        environments.len(),
                        learners.len()
                    );
                    return Err(SpecError { place: sweep.place(), why });
                }
                total = t.checked_mul(seeds).and_then(|n| n.checked_add(total)).ok_or_else(|| {
                    SpecError::whole(format!(
                        "{t} rounds and {seeds} seeds of every learner are more than 2^64 rounds altogether"
                    ))
                })?;
                runs.push(RunSpec { horizon, environment, learner });
            }
        }
    }
    Ok(runs)
}

fn environments(spec: &Table, bands: &Bands, sweep: &Sweep) -> Result<Vec<EnvironmentSpec>> {
    let node = given(spec, "environment", "a table with a name, or [[environment]] tables")?;
    let mut found = Vec::new();
    for number in 0..node.one_or_many().len() {
        for variant in sweep.environments(spec, number)? {
            let Some(node) = variant.table.list("environment").get(number) else { continue };
            let table = &*node.named("environment")?;
            let around = |key: &str| table.get(key).or_else(|| variant.table.get(key));
            let name = required_name(table, "environment")?;
            let family = table.text("label")?.unwrap_or_else(|| name.clone());
            found.push(EnvironmentSpec {
                label: label(&family, &variant.swept),
                family,
                name,
                params: table.params(&["name", "label", "band", "induced", "delay"]),
                band: table
                    .get("band")
                    .map(|_| bands.find(table, "band").map(|(name, _)| name))
                    .transpose()?,
                induced: around("induced")
                    .map(|node| node.table("induced").map(Surrounding::of))
                    .transpose()?,
                delay: around("delay")
                    .map(|node| node.named("delay").map(|t| Surrounding::of(&t)))
                    .transpose()?,
                origin: Origin::of(table),
                turn: variant.turn,
                swept: variant.swept,
            });
        }
    }
    if found.is_empty() {
        return Err(SpecError::whole("environment is an empty list"));
    }
    labelled_once("environment", found.iter().map(|e| (e.label.as_str(), e.origin.place())))?;
    Ok(found)
}

/// The lists of bases that a spec names, so that several learners can be built over the same band.
struct Bands(Vec<(String, Vec<LearnerSpec>)>);

impl Bands {
    fn read(spec: &Table) -> Result<Self> {
        let (mut bands, none) = (Vec::new(), Self(Vec::new()));
        for (name, node) in spec.table("bands")?.map(Table::nodes).into_iter().flatten() {
            let bases = none.expand(node.one_or_many())?;
            node.place.ensure(!bases.is_empty(), format_args!("the band {name:?} has no bases"))?;
            bands.push((name.to_owned(), bases));
        }
        Ok(Self(bands))
    }

    fn get(&self, name: &str) -> Option<&[LearnerSpec]> {
        self.0.iter().find(|(n, _)| n == name).map(|(_, bases)| bases.as_slice())
    }

    /// The bases that a list stands for: tables, grids, names of bases, names of bands.
    fn expand(&self, nodes: &[Node]) -> Result<Vec<LearnerSpec>> {
        let mut bases = Vec::new();
        for node in nodes {
            if let Some(band) = node.as_str().and_then(|name| self.get(name)) {
                bases.extend_from_slice(band);
                continue;
            }
            for (table, set) in grid(&*node.named("bases")?)? {
                let mut base = learner(&table, self)?;
                if let LearnerSpec::Base(base) = &mut base {
                    base.label += &set;
                }
                bases.push(base);
            }
        }
        Ok(bases)
    }

    /// The band that `key` names, and its members.
    fn find(&self, table: &Table, key: &str) -> Result<(String, Vec<LearnerSpec>)> {
        let name = table.text(key)?.unwrap_or_default();
        let Some(band) = self.get(&name) else {
            let known = self.0.iter().map(|(n, _)| n.as_str());
            return Err(table.error(Unknown::new("band", &name, known)));
        };
        let mut band = band.to_vec();
        number_repeated_labels(&mut band);
        Ok((name, band))
    }
}

fn learners(spec: &Table, sweep: &Sweep, environments: &[EnvironmentSpec]) -> Result<Vec<NamedLearner>> {
    // The bands of the worlds, each once.
    let worlds = distinct(environments.iter().filter_map(|e| e.band.as_deref()));
    let nodes = spec.list("learner");
    if nodes.is_empty() {
        return Err(SpecError::whole("there is no learner: add at least one [[learner]]"));
    }
    let mut found = Vec::new();
    for (number, node) in nodes.iter().enumerate() {
        let table = node.table("learner")?;
        let over = |band: &str| {
            let mentioned =
                ["bases", "alone"].iter().filter_map(|key| table.get(key)).any(|n| n.mentions(band));
            mentioned
                || (table.get("master").is_some() && table.get("bases").is_none() && worlds.contains(&band))
        };
        let variants = sweep.learners(spec, number, over)?;
        let unbanded = environments.iter().any(|e| e.band.is_none());
        let tables = variants.iter().map(|variant| {
            let table = variant.table.list("learner").get(number).unwrap_or(node).table("learner")?;
            let made = members(table, &Bands::read(&variant.table)?, &worlds, unbanded)?;
            Ok((made, table.place.clone()))
        });
        let made = tables.collect::<Result<Vec<_>>>()?;
        let (first, _) = &made[0];
        let alike = made.iter().all(|(members, _)| members.len() == first.len());
        // A member that has none of the swept keys is run once.
        let own: Vec<Option<Vec<bool>>> = (0..first.len())
            .map(|j| alike.then(|| changing(&variants, &made.iter().map(|(m, _)| &m[j]).collect::<Vec<_>>())))
            .collect();
        for (variant, (members, place)) in variants.iter().zip(made) {
            for (j, (family, learner, band)) in members.into_iter().enumerate() {
                let has = |i: usize| own.get(j).and_then(|own| own.as_ref()).is_none_or(|own| own[i]);
                let all = variant.swept.iter().enumerate().filter(|(i, _)| has(*i));
                let swept: Vec<Swept> = all.map(|(_, swept)| swept.clone()).collect();
                let label = label(&family, &swept);
                let again = swept.len() < variant.swept.len()
                    && found.iter().any(|(l, _): &(NamedLearner, _)| (&l.label, &l.band) == (&label, &band));
                if !again {
                    let turn = variant.turn.filter(|_| !swept.is_empty());
                    found.push((NamedLearner { label, family, learner, band, swept, turn }, place.clone()));
                }
            }
        }
    }
    for environment in environments {
        let here = found.iter().filter(|(l, _)| l.plays_in(environment));
        labelled_once("learner", here.map(|(l, place)| (l.label.as_str(), place)))?;
    }
    Ok(found.into_iter().map(|(l, _)| l).collect())
}

/// The learners that one `learner` table stands for: label, what it is, and the band of the worlds where it is run.
/// `worlds` are the bands of the worlds, and `unbanded` says that some world has none.
fn members(
    table: &Table,
    bands: &Bands,
    worlds: &[&str],
    unbanded: bool,
) -> Result<Vec<(String, LearnerSpec, Option<String>)>> {
    table.only(&keys("/$defs/learner"))?;
    let has = |key: &str| table.get(key).is_some();
    if has("alone") {
        let other = ["label", "base", "master", "bases", "copies"].into_iter().find(|key| has(key));
        let why = format!("alone names a band, and cannot be given with {}", other.unwrap_or_default());
        table.place.ensure(other.is_none(), why)?;
        let (name, members) = bands.find(table, "alone")?;
        let band = (!worlds.is_empty()).then_some(name);
        return Ok(members
            .into_iter()
            .map(|learner| (learner.label().to_owned(), learner, band.clone()))
            .collect());
    }
    let labelled = |learner: LearnerSpec, band: Option<String>| -> Result<_> {
        Ok((table.text("label")?.unwrap_or_else(|| learner.label().to_owned()), learner, band))
    };
    if has("master") && !has("base") && !has("bases") {
        table.place.ensure(!unbanded, "a master needs bases: its own, or a band in every environment")?;
        return worlds
            .iter()
            .map(|world| {
                let mut bases = bands.get(world).unwrap_or_default().to_vec();
                number_repeated_labels(&mut bases);
                labelled(LearnerSpec::Band(band_over(table, bases)?), Some((*world).to_owned()))
            })
            .collect();
    }
    let learner = match (table.get("base"), table.get("master")) {
        (Some(base), None) => {
            if let Some((key, node)) = table.nodes().find(|(key, _)| ["bases", "copies"].contains(key)) {
                return Err(node.error(format_args!("{key} needs a master; a learner with base has none")));
            }
            learner(&*base.named("base")?, bands)?
        }
        (None, Some(_)) => LearnerSpec::Band(band(table, bands)?),
        (Some(_), Some(master)) => {
            return Err(master.error("a learner is a base or a master over bases, not both"));
        }
        (None, None) => return Err(table.error("a learner needs a base, or a master with bases")),
    };
    Ok(vec![labelled(learner, None)?])
}

impl LearnerSpec {
    /// A base, or a master over bases, whose table is all of `text`.
    ///
    /// # Errors
    /// What is wrong with it.
    pub fn parse(text: &str) -> Result<Self> {
        learner(&SpecText::parse(text)?.table, &Bands(Vec::new()))
    }
}

/// One base, by its name or as a table.
pub(super) fn one_base(node: &Node) -> Result<BaseSpec> {
    let mut found = Bands(Vec::new()).expand(std::slice::from_ref(node))?;
    match found.pop() {
        Some(LearnerSpec::Base(base)) => Ok(base),
        _ => Err(node.error("this must be a base, not a master over bases")),
    }
}

/// A base by name, or a nested band.
fn learner(table: &Table, bands: &Bands) -> Result<LearnerSpec> {
    if table.get("master").is_some() {
        return Ok(LearnerSpec::Band(band(table, bands)?));
    }
    if let Some(grid) = table.get("grid") {
        return Err(grid.error("a grid stands for many bases: it belongs into a list of bases"));
    }
    let name = required_name(table, "base")?;
    Ok(LearnerSpec::Base(BaseSpec {
        label: table.text("label")?.unwrap_or_else(|| name.clone()),
        recipe: BaseRecipe {
            name,
            isolate: table.flag("isolate")?.unwrap_or(false),
            smoothed: table.flag("smoothed")?.unwrap_or(false),
            rescaled: table.flag("rescaled")?.unwrap_or(false),
            params: table.params(&["name", "label", "isolate", "smoothed", "rescaled"]),
        },
        origin: Origin::of(table),
    }))
}

fn band(table: &Table, bands: &Bands) -> Result<BandSpec> {
    let mut bases = bands.expand(table.list("bases"))?;
    number_repeated_labels(&mut bases);
    band_over(table, bases)
}

fn band_over(table: &Table, bases: Vec<LearnerSpec>) -> Result<BandSpec> {
    let node = table.need("master", "a band needs a master")?;
    let m = &*node.named("master")?;
    const KEYS: &str = "/$defs/master/anyOf/1";
    let (credit, feed) = (named(m, KEYS, "credit")?, named(m, KEYS, "feed")?);
    let cut = m.number("cut", "a number of at least 1", |cut| cut >= 1.0)?;
    let (guard, doubt) = (m.flag("guard")?, m.flag("doubt")?.unwrap_or_default());
    let price = m.number("price", "a number of at least 0", |price| price >= 0.0)?;
    let budget = match m.get("budget") {
        None => None,
        Some(node) => {
            let spend = node.table("budget")?;
            let must = "a positive number";
            let per_round = spend.number("per_round", must, |b| b > 0.0)?;
            let need = || node.error("a budget says what a decision may cost: { per_round = 0.002 }");
            Some(Spend { per_round: per_round.ok_or_else(need)? })
        }
    };
    let params = m.params(&["name", "credit", "feed", "cut", "guard", "budget", "doubt", "price"]);
    let name = required_name(m, "master")?;
    let mut master =
        MasterRecipe { params, credit, feed, cut, guard, budget, doubt, price, ..MasterRecipe::named(name) };
    master.take_experience().map_err(|e| node.error(e))?;
    table.place.ensure(!bases.is_empty(), "a master needs bases: at least one")?;
    if let Some((outer, below)) = master.bands().map_err(|e| node.error(e))? {
        let inner = |master| {
            LearnerSpec::Band(BandSpec {
                master,
                bases: bases.clone(),
                copies: Copies::Count(1),
                origin: Origin::of(m),
            })
        };
        let bases = below.into_iter().map(inner).collect();
        return Ok(BandSpec { master: outer, bases, copies: Copies::Count(1), origin: Origin::of(m) });
    }
    let copies = match table.get("copies") {
        None => Copies::Count(1),
        Some(node) if node.as_str() == Some("log-rounds") => Copies::LogRounds,
        Some(node) => match node.count("copies", 1) {
            Ok(copies @ 1..=1024) => Copies::Count(copies as usize),
            _ => return Err(node.error("copies must be \"log-rounds\", or from 1 to 1024")),
        },
    };
    Ok(BandSpec { master, bases, copies, origin: Origin::of(m) })
}

/// Bases of one band that share a label are told apart by what they are: `ucb1 #1`, `ucb1 #2`.
fn number_repeated_labels(bases: &mut [LearnerSpec]) {
    let mut counts: HashMap<String, (usize, usize)> = HashMap::new();
    for base in bases.iter() {
        counts.entry(base.label().to_owned()).or_default().0 += 1;
    }
    for base in bases {
        let Some((all, so_far)) = counts.get_mut(base.label()) else { continue };
        *so_far += 1;
        if let (LearnerSpec::Base(base), true) = (base, *all > 1) {
            base.label = format!("{} #{so_far}", base.label);
        }
    }
}

fn required_name(table: &Table, what: &str) -> Result<String> {
    table.need("name", format_args!("the {what} has no name"))?.text("name")
}

/// An enum by its name in a spec file: one of the words that `key` of the table at `path` of the schema may be.
pub(super) fn named<T: DeserializeOwned>(table: &Table, path: &str, key: &str) -> Result<Option<T>> {
    let Some(node) = table.get(key) else { return Ok(None) };
    let (text, known) = (node.text(key)?, words(path, key));
    let unknown = Unknown::new(key, &text, known.iter().map(String::as_str));
    node.place.ensure(known.contains(&text), unknown)?;
    let name: StrDeserializer<'_, ValueError> = text.as_str().into_deserializer();
    T::deserialize(name).map(Some).map_err(|e| node.error(e))
}

fn labelled_once<'a>(what: &str, labels: impl Iterator<Item = (&'a str, &'a Place)>) -> Result {
    let mut seen = HashSet::new();
    for (label, place) in labels {
        let why = format_args!("two {what}s are labelled {label:?}: give each its own label");
        place.ensure(seen.insert(label), why)?;
    }
    Ok(())
}
