//! What a run is: environments, learners, rounds and seeds, read from TOML.

mod claim;
mod located;
mod origin;
mod overrides;
mod read;
mod schema;
mod stability;
mod sweep;

use std::fmt;

use corral_bases::band::{BandRecipe, BaseRecipe, Copies, MasterRecipe, Recipe};
use corral_core::registry::BuildError;
use serde::Serialize;

pub use located::Place;
pub use origin::Origin;
pub use overrides::{SpecText, value_of};
pub use schema::schema;
pub use stability::{StabilityRow, StabilitySpec};

/// A run, as its file says it.
#[derive(Debug, Clone)]
pub struct Spec {
    /// The title of the report.
    pub name: String,
    /// The question it asks, for the list of experiments.
    pub asks: Option<String>,
    /// Horizons; each is run on its own.
    pub rounds: Vec<u64>,
    /// How many seeds.
    pub seeds: u64,
    /// The first of them; the others follow it.
    pub first_seed: u64,
    /// The worlds.
    pub environments: Vec<EnvironmentSpec>,
    /// Who is run in each of them.
    pub learners: Vec<NamedLearner>,
    /// Who is run where and how long: horizons first, then environments, then learners. Together with the seeds these
    /// are the cells.
    pub runs: Vec<RunSpec>,
    /// What is claimed of the outcome.
    pub claims: Vec<ClaimSpec>,
    /// Whether masters are ranked too whose constants are from memory.
    pub rank_from_memory: bool,
    /// The text it was read from, after every override: what a results folder is tied to.
    pub text: String,
}

/// One learner in one environment for so many rounds, by their indices in the spec.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RunSpec {
    /// Index of the horizon.
    pub horizon: usize,
    /// Index of the environment.
    pub environment: usize,
    /// Index of the learner.
    pub learner: usize,
}

/// One world, with what surrounds it.
#[derive(Debug, Clone)]
pub struct EnvironmentSpec {
    /// What the report calls it.
    pub label: String,
    /// What it would be called without a sweep: all variants of one environment share it.
    pub family: String,
    /// Its name in the registry.
    pub name: String,
    /// Its keys.
    pub params: toml::Table,
    /// E' around it, if any.
    pub induced: Option<Surrounding>,
    /// When losses arrive, if not at once.
    pub delay: Option<Surrounding>,
    /// The band that masters without bases of their own are over here.
    pub band: Option<String>,
    /// What a sweep set in it.
    pub swept: Vec<Swept>,
    /// Which values of a zipped sweep it has.
    pub turn: Option<usize>,
    /// Where it stands.
    pub origin: Origin,
}

/// One value of a key that is swept.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Swept {
    /// The key as a path from the root of the spec: `learner.0.master.rate`.
    pub key: String,
    /// The key in labels and headings: its end, as far as that tells it from the others.
    pub name: String,
    /// The value.
    pub value: toml::Value,
}

impl Swept {
    /// The value as labels and charts have it.
    pub fn level(&self) -> Level {
        let number = self.value.as_float().or_else(|| self.value.as_integer().map(|n| n as f64));
        let text = self.value.as_str().map_or_else(|| self.value.to_string(), str::to_owned);
        Level { text, number }
    }
}

/// A value of a swept key.
#[derive(Debug, Clone, PartialEq)]
pub struct Level {
    /// As it stands in labels.
    pub text: String,
    /// Where it is one.
    pub number: Option<f64>,
}

/// An environment or a learner without what was swept in it, and what was.
#[derive(Debug, Clone, PartialEq)]
pub struct Side<'a> {
    /// What it would be called without a sweep.
    pub name: &'a str,
    /// Its swept keys by their names in charts and tables, with their values here.
    pub swept: Vec<(&'a str, Level)>,
}

impl Side<'_> {
    /// The name, with what was swept but for the keys along the axes.
    pub fn without(&self, axes: &[&str]) -> String {
        let others = self.swept.iter().filter(|(key, _)| !axes.contains(key));
        others.fold(self.name.to_owned(), |text, (key, level)| format!("{text} {key}={}", level.text))
    }
}

/// An environment and a learner in it.
#[derive(Debug, Clone, PartialEq)]
pub struct Setting<'a> {
    /// The environment.
    pub environment: Side<'a>,
    /// The learner.
    pub learner: Side<'a>,
}

impl<'a> Setting<'a> {
    /// The swept keys with their values.
    pub fn keys(&self) -> impl Iterator<Item = &(&'a str, Level)> {
        self.environment.swept.iter().chain(&self.learner.swept)
    }

    /// The value of a swept key.
    pub fn value(&self, key: &str) -> Option<&Level> {
        self.keys().find(|(name, _)| *name == key).map(|(_, level)| level)
    }
}

/// The name of a swept key as a column of tables.
pub fn sweep_column(key: &str) -> String {
    let word: String = key.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '_' }).collect();
    format!("sweep_{word}")
}

/// Each item once, where it was first.
pub fn distinct<T: PartialEq>(items: impl IntoIterator<Item = T>) -> Vec<T> {
    let mut out = Vec::new();
    for item in items {
        if !out.contains(&item) {
            out.push(item);
        }
    }
    out
}

/// What is put around a world: E', or a delay.
#[derive(Debug, Clone)]
pub struct Surrounding {
    /// Its keys.
    pub params: toml::Table,
    /// Where it stands.
    pub origin: Origin,
}

impl Surrounding {
    fn of(table: &located::Table) -> Self {
        Self { params: table.params(&[]), origin: Origin::of(table) }
    }
}

/// A learner and what the report calls it.
#[derive(Debug, Clone)]
pub struct NamedLearner {
    /// What the report calls it.
    pub label: String,
    /// What it is.
    pub learner: LearnerSpec,
    /// What it would be called without a sweep: all variants of one learner share it.
    pub family: String,
    /// What a sweep set in it.
    pub swept: Vec<Swept>,
    /// Which values of a zipped sweep it has.
    pub turn: Option<usize>,
    /// Where it is run: only in worlds with this band; none: in all.
    pub band: Option<String>,
}

impl NamedLearner {
    /// Whether it is run in `world`.
    pub fn plays_in(&self, world: &EnvironmentSpec) -> bool {
        let together = self.turn.zip(world.turn).is_none_or(|(mine, its)| mine == its);
        (self.band.is_none() || self.band == world.band) && together
    }
}

/// A base, or a master over learners.
#[derive(Debug, Clone, PartialEq)]
pub enum LearnerSpec {
    /// A base alone.
    Base(BaseSpec),
    /// A master over a band.
    Band(BandSpec),
}

/// A base of a spec.
#[derive(Debug, Clone, PartialEq)]
pub struct BaseSpec {
    /// What the report calls it.
    pub label: String,
    /// What it is.
    pub recipe: BaseRecipe,
    /// Where it stands.
    pub origin: Origin,
}

impl BaseSpec {
    /// The base of this name, as it is without any keys.
    pub fn named(name: &str, place: Place) -> Self {
        Self { label: name.to_owned(), recipe: BaseRecipe::named(name), origin: Origin::at(place) }
    }
}

/// A master over a band of learners.
#[derive(Debug, Clone, PartialEq)]
pub struct BandSpec {
    /// The master.
    pub master: MasterRecipe,
    /// The band.
    pub bases: Vec<LearnerSpec>,
    /// How many of each there are, side by side.
    pub copies: Copies,
    /// Where the master stands.
    pub origin: Origin,
}

/// A claim about learners, to be held against what was measured.
#[derive(Debug, Clone, PartialEq)]
pub struct ClaimSpec {
    /// In words, with its place in the source.
    pub text: String,
    /// What is measured.
    pub measure: Measure,
    /// The learners it is about; each is held to it.
    pub learners: Vec<String>,
    /// The learner to compare with.
    pub than: Option<String>,
    /// The environment of that learner, where it is another one.
    pub than_environment: Option<String>,
    /// What regret is divided by first.
    pub unit: Option<Unit>,
    /// The environments it is about; none: all.
    pub environments: Vec<String>,
    /// The measured figure is at most this.
    pub at_most: Option<f64>,
    /// The measured figure is at least this.
    pub at_least: Option<f64>,
    /// For an exponent: regret is divided by (ln T) to this power first.
    pub logarithms: f64,
    /// The measured figure agrees with a published mean and its standard error (one's own, where none was published):
    /// it is within 3 combined standard errors.
    pub published: Option<(f64, Option<f64>)>,
    /// The horizon it is about, where it is not the longest; not held in runs without that horizon.
    pub rounds: Option<u64>,
    /// Why it is not expected to show at this length, if so.
    pub unlikely: Option<String>,
}

/// What Corral pays where M - 1 of its M bases lose `gap` a round more than the best one: base i is played with probability
/// 1/(M + eta gap t), so that all of them cost (M - 1)/eta ln(1 + eta gap T/M) (docs/claims.md#the-unit).
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Unit {
    /// M.
    pub bases: u64,
    /// What the others lose more, per round.
    pub gap: f64,
    /// eta sqrt(T).
    pub rate: f64,
}

impl Unit {
    /// (M - 1)/eta ln(1 + eta gap T/M) at `rounds`.
    pub fn at(&self, rounds: f64) -> f64 {
        let (bases, eta) = (self.bases as f64, self.rate / rounds.sqrt());
        (bases - 1.0) / eta * (eta * self.gap * rounds / bases).ln_1p()
    }
}

/// What a claim measures, of mean regret over seeds at the longest horizon.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Deserialize, Default)]
#[serde(rename_all = "kebab-case")]
pub enum Measure {
    /// The regret itself.
    #[default]
    Regret,
    /// The regret divided by the horizon.
    PerRound,
    /// The regret over another learner's.
    Ratio,
    /// The regret less another learner's.
    Difference,
    /// The slope of log regret against log horizon, over all horizons; of regret over (ln T)^p where the claim says so.
    Exponent,
    /// Not of regret: the largest left side over right side of the pathwise theorem, in any audited run.
    Audit,
    /// The loss per round above the best base alone, mean over worlds.
    MeanGap,
    /// The loss per round above the best base alone, in the world where it is largest.
    WorstGap,
}

impl LearnerSpec {
    /// What the report calls it inside a band.
    pub fn label(&self) -> &str {
        match self {
            Self::Base(base) => &base.label,
            Self::Band(band) => &band.master.name,
        }
    }

    /// What it is, without labels and places.
    pub fn recipe(&self) -> Recipe {
        match self {
            Self::Base(base) => base.recipe.clone().into(),
            Self::Band(band) => band.recipe().into(),
        }
    }

    /// Where the member at the end of a path stands: see [`BandError`](corral_bases::band::BandError).
    pub fn origin(&self, path: &[usize]) -> &Origin {
        match (self, path) {
            (Self::Band(band), [i, inner @ ..]) if *i < band.bases.len() => band.bases[*i].origin(inner),
            (Self::Band(band), _) => &band.origin,
            (Self::Base(base), _) => &base.origin,
        }
    }
}

impl BandSpec {
    /// What it is, without labels and places.
    pub fn recipe(&self) -> BandRecipe {
        let (master, copies) = (self.master.clone(), self.copies);
        BandRecipe { master, bases: self.bases.iter().map(LearnerSpec::recipe).collect(), copies }
    }
}

impl Spec {
    /// Reads a spec.
    ///
    /// # Errors
    /// Names the line and what is wrong there.
    pub fn parse(text: &str) -> Result<Self> {
        Self::of(&SpecText::parse(text)?)
    }

    /// Reads a spec with what the command line says instead.
    ///
    /// # Errors
    /// Names the line or the argument, and what is wrong there.
    pub fn of(source: &SpecText) -> Result<Self> {
        read::spec(source)
    }

    /// What was swept in the environment and the learner of these labels.
    pub fn setting<'a>(&'a self, environment: &str, learner: &str) -> Option<Setting<'a>> {
        let world = self.environments.iter().find(|e| e.label == environment)?;
        let learner = self.learners.iter().find(|l| l.label == learner && l.plays_in(world))?;
        let side = |name: &'a str, swept: &'a [Swept]| Side {
            name,
            swept: swept.iter().map(|s| (self.named(s), s.level())).collect(),
        };
        Some(Setting {
            environment: side(&world.family, &world.swept),
            learner: side(&learner.family, &learner.swept),
        })
    }

    /// The keys that were swept, by their names in charts and tables. The same parameter of two learners is one key.
    pub fn swept(&self) -> Vec<&str> {
        let learners = self.learners.iter().flat_map(|l| &l.swept);
        let all = self.environments.iter().flat_map(|e| &e.swept).chain(learners);
        distinct(all.map(|swept| self.named(swept)))
    }

    /// The name of a swept key; its whole path, where an environment and a learner have it both.
    fn named<'a>(&self, swept: &'a Swept) -> &'a str {
        let is = |s: &Swept| s.name == swept.name;
        let of_world = self.environments.iter().any(|e| e.swept.iter().any(is));
        let of_learner = self.learners.iter().any(|l| l.swept.iter().any(is));
        if of_world && of_learner { &swept.key } else { &swept.name }
    }

    /// " from FIRST on" where the seeds do not begin with 0, to stand behind their number.
    pub(crate) fn seeds_begin(&self) -> String {
        if self.first_seed == 0 { String::new() } else { format!(" from {} on", self.first_seed) }
    }

    /// Every horizon in every environment.
    pub fn worlds(&self) -> impl Iterator<Item = (u64, &EnvironmentSpec)> {
        self.rounds.iter().flat_map(|rounds| self.environments.iter().map(|world| (*rounds, world)))
    }

    /// How many (horizon, environment, learner, seed) there are.
    pub fn cells(&self) -> u64 {
        self.runs.len() as u64 * self.seeds
    }
}

/// What is wrong with a spec, and where.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{}{why}", place.as_ref().map(|place| format!("{place}: ")).unwrap_or_default())]
pub struct SpecError {
    /// Where, if a part of it is to blame.
    pub place: Option<Place>,
    /// What is wrong.
    pub why: String,
}

/// What is read of a spec, or what is wrong with it.
pub type Result<T = (), E = SpecError> = std::result::Result<T, E>;

impl SpecError {
    /// `why` at `place`.
    pub fn at(place: &Place, why: impl fmt::Display) -> Self {
        Self { place: Some(place.clone()), why: why.to_string() }
    }

    /// `why`, about the spec as a whole.
    pub fn whole(why: impl fmt::Display) -> Self {
        Self { place: None, why: why.to_string() }
    }

    /// What could not be built, of what came from `origin`.
    pub fn built(origin: &Origin, why: &BuildError) -> Self {
        Self::at(origin.blamed(why), why)
    }
}
