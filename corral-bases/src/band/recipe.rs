//! What a band is built from, as words say it.

use corral_core::masters::{Experience, PacerRule, PracticalRule, Rule};
use corral_core::registry::{BuildError, Kind};
use corral_core::{Crediting, EnsembleParams, Feed, ParamError, Setup};
use serde::{Deserialize, Serialize};

use crate::Cheapest;

/// A learner: a base, or a master over learners.
#[derive(Debug, Clone, PartialEq)]
pub enum Recipe {
    /// A base alone.
    Base(BaseRecipe),
    /// A master over a band.
    Band(BandRecipe),
}

/// A base by name: built in, or one of [`OtherBases`](super::OtherBases).
#[derive(Debug, Clone, PartialEq, Default)]
pub struct BaseRecipe {
    /// Its name in the registry.
    pub name: String,
    /// Its keys.
    pub params: toml::Table,
    /// Whether a plugin runs in a process of its own.
    pub isolate: bool,
    /// Whether every second round of its own is played as it used to play: [`Smoothed`](crate::Smoothed).
    pub smoothed: bool,
    /// Whether it learns losses divided by the range of their weights: [`Rescaled`](crate::Rescaled).
    pub rescaled: bool,
}

/// A master over learners.
#[derive(Debug, Clone, PartialEq)]
pub struct BandRecipe {
    /// The master.
    pub master: MasterRecipe,
    /// The learners.
    pub bases: Vec<Recipe>,
    /// How many of each there are, side by side.
    pub copies: Copies,
}

/// A master by name, and how it credits and feeds its bases; `None`: as its preset does.
#[derive(Debug, Clone, PartialEq)]
pub struct MasterRecipe {
    /// Its name in the registry.
    pub name: String,
    /// Its keys.
    pub params: toml::Table,
    /// How it credits a loss.
    pub credit: Option<Crediting>,
    /// What its bases are fed.
    pub feed: Option<Feed>,
    /// Where weights are cut.
    pub cut: Option<f64>,
    /// Whether arms that no base looks at are played now and then. `None`: as the preset does where nothing is known of the bases;
    /// where they have [`experience`](MasterRecipe::experience), not.
    pub guard: Option<bool>,
    /// What decisions may cost on average: then it stands for bands of these bases at rising prices, under `pacer`.
    pub budget: Option<Spend>,
    /// What earlier runs say of the bases, one entry per base; empty: nothing.
    pub experience: Vec<Known>,
    /// Whether it is corralled, with its experience, against itself without it: a wrong prior is paid for once.
    pub doubt: bool,
    /// What a cost of 1 is worth in losses, in a band below `pacer`; see [`Priced`](crate::Priced).
    pub price: Option<f64>,
}

/// A budget in money.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Spend {
    /// What a decision may cost on average.
    pub per_round: f64,
}

/// What earlier runs say of a base.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Known {
    /// The base, to hold against the band; `None`: the one in this place.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub base: Option<String>,
    /// Its mean reward less that of all bases.
    pub relative: f64,
    /// How many plays of the base this is worth.
    pub plays: f64,
}

/// The prices of the bands below `pacer`, in losses for one budget.
const PRICES: [f64; 7] = [0.0, 0.03, 0.1, 0.3, 1.0, 3.0, 10.0];

/// How many copies of each base a band holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Copies {
    /// So many.
    Count(usize),
    /// ln T, rounded down and at least 1: the grid of published experiments.
    LogRounds,
}

impl Copies {
    /// How many there are in a run of `rounds` rounds.
    pub fn of(self, rounds: u64) -> usize {
        match self {
            Self::Count(copies) => copies,
            Self::LogRounds => ((rounds.max(1) as f64).ln() as usize).max(1),
        }
    }
}

impl BandRecipe {
    /// The safe preset over `bases`: a band of two bands that have these bases each.
    pub fn safe(bases: &[Recipe]) -> Self {
        Self::of_bands((MasterRecipe::safe(), MasterRecipe::safe_inner().to_vec()), bases)
    }

    /// Bands of `bases` under `master` at rising prices, behind them the cheapest action, and over them a master that keeps the mean
    /// cost at `per_round`.
    pub fn paced(master: MasterRecipe, per_round: f64, bases: &[Recipe]) -> Self {
        Self::of_bands(master.paced(Spend { per_round }), bases)
    }

    /// A master over bands of the same bases.
    pub(super) fn of_bands((master, below): (MasterRecipe, Vec<MasterRecipe>), bases: &[Recipe]) -> Self {
        let copies = Copies::Count(1);
        let inner = |master| Recipe::Band(Self { master, bases: bases.to_vec(), copies });
        Self { master, bases: below.into_iter().map(inner).collect(), copies }
    }
}

impl BaseRecipe {
    /// The base of this name, as it is without any keys.
    pub fn named(name: impl Into<String>) -> Self {
        Self { name: name.into(), ..Self::default() }
    }
}

impl Default for MasterRecipe {
    /// The practical preset.
    fn default() -> Self {
        Self::named(PracticalRule::NAME)
    }
}

impl MasterRecipe {
    /// The master of this name, as it is without any keys. "paper" is Algorithm 1.
    pub fn named(name: impl Into<String>) -> Self {
        let name = name.into();
        let name = if name == "paper" { "corral".to_owned() } else { name };
        let params = toml::Table::new();
        Self {
            name,
            params,
            credit: None,
            feed: None,
            cut: None,
            guard: None,
            budget: None,
            experience: Vec::new(),
            doubt: false,
            price: None,
        }
    }

    /// The master of the safe preset: Corral, which no adversary can mislead, over bands under [`MasterRecipe::safe_inner`].
    pub fn safe() -> Self {
        let keys = [("rate", "eager".into()), ("baseline", true.into())];
        let params =
            keys.into_iter().map(|(key, value): (&str, toml::Value)| (key.to_owned(), value)).collect();
        Self { feed: Some(Feed::Raw), params, ..Self::named("corral") }
    }

    /// The masters of the two bands of the same bases that the safe preset chooses from: the practical preset, and Corral for
    /// losses that react to the choices.
    pub fn safe_inner() -> [Self; 2] {
        [Self::default(), Self::safe()]
    }

    /// The masters of the bands that this stands for, all of the same bases, and before them the one over these: of the safe preset
    /// and of a master with a budget.
    ///
    /// # Errors
    /// The safe preset was given keys, or the budget is not positive.
    pub fn bands(&self) -> Result<Option<(Self, Vec<Self>)>, BuildError> {
        if let Some(spend) = self.budget {
            ParamError::positive("budget.per_round", spend.per_round)
                .map_err(|e| BuildError::param("master", &self.name, &e))?;
            return Ok(Some(self.clone().paced(spend)));
        }
        if self.doubt {
            return self.doubted().map(Some);
        }
        Ok(self.is_safe()?.then(|| (Self::safe(), Self::safe_inner().to_vec())))
    }

    /// The practical preset over this master with its experience, and without.
    fn doubted(&self) -> Result<(Self, Vec<Self>), BuildError> {
        if self.experience.is_empty() {
            return Err(BuildError::refused(
                "master",
                &*self.name,
                "has a doubt, but no experience to doubt",
            ));
        }
        let with = Self { doubt: false, ..self.clone() };
        let without = Self { experience: Vec::new(), ..with.clone() };
        // Without a guard: these masters look at the bases by themselves, and it would have every arm played once more.
        Ok((Self { guard: Some(false), ..Self::default() }, vec![with, without]))
    }

    /// Whether anything is known of its bases. The [guard](EnsembleParams::guard) is for bands of which nothing is known: it plays
    /// arms that no base looks at, and experience says which bases are worth looking at (docs/experience.md#the-guard).
    fn has_experience(&self) -> bool {
        self.experience.iter().any(|known| known.plays > 0.0)
    }

    /// The experience, as a master over `bases` takes it.
    ///
    /// # Errors
    /// An entry that is of another base, or not one entry for each.
    pub(super) fn experience_over(&self, bases: &[String]) -> Result<Vec<Experience>, BuildError> {
        let refuse = |why: String| BuildError::refused("master", &*self.name, why).about(Some("experience"));
        let (given, all) = (self.experience.len(), bases.len());
        if given != all && given != 0 {
            return Err(refuse(format!("has experience of {given} bases, but the band has {all}")));
        }
        let known = |(i, (known, base)): (usize, (&Known, &String))| {
            let same = |named: &String| named.starts_with(&**base) || base.starts_with(&**named);
            if let Some(named) = known.base.as_ref().filter(|named| !same(named)) {
                let why = "leave `base` out where the order is right";
                return Err(refuse(format!(
                    "experience {i} is of {named:?}, but base {i} is {base:?}; {why}"
                )));
            }
            Ok(Experience { relative: known.relative, plays: known.plays })
        };
        self.experience.iter().zip(bases).enumerate().map(known).collect()
    }

    /// The master's keys, with its experience as one of them.
    pub fn keys(&self) -> toml::Table {
        let mut keys = self.params.clone();
        if let Some(experience) =
            toml::Value::try_from(&self.experience).ok().filter(|_| !self.experience.is_empty())
        {
            keys.insert("experience".to_owned(), experience);
        }
        keys
    }

    /// Takes the key `experience` out of the master's keys, where it is.
    ///
    /// # Errors
    /// It is no list of entries `{ base, relative, plays }`.
    pub fn take_experience(&mut self) -> Result<(), BuildError> {
        let mut keys = Keys { what: "master", table: &mut self.params };
        if let Some(experience) = keys.take("experience")? {
            self.experience = experience;
        }
        Ok(())
    }

    /// The master that keeps a budget, this one at each price, and what is cheapest.
    fn paced(self, spend: Spend) -> (Self, Vec<Self>) {
        let params = [("per_round".to_owned(), toml::Value::Float(spend.per_round))].into_iter().collect();
        let outer = Self {
            params,
            credit: Some(Crediting::Chosen),
            feed: Some(Feed::Everyone),
            ..Self::named(PacerRule::NAME)
        };
        let at = |price: f64| Self { budget: None, price: Some(price / spend.per_round), ..self.clone() };
        let cheapest = Self { params: outer.params.clone(), ..Self::named(Cheapest::NAME) };
        (outer, PRICES.map(at).into_iter().chain([cheapest]).collect())
    }

    /// The highest price that a band has below `pacer`, in losses for one budget.
    pub(super) fn highest_price() -> f64 {
        PRICES[PRICES.len() - 1]
    }

    /// The budget of what falls back on the cheapest action.
    pub(super) fn per_round(&self) -> Result<f64, BuildError> {
        let given = |value: &toml::Value| value.as_float().or(value.as_integer().map(|whole| whole as f64));
        let only = self.params.len() == 1;
        self.params.get("per_round").and_then(given).filter(|_| only).ok_or_else(|| {
            BuildError::refused(
                "master",
                &*self.name,
                "has one key, what a decision may cost: per_round = 0.002",
            )
        })
    }

    /// Whether this is the name of the safe preset, which stands for a band of bands and has no keys.
    ///
    /// # Errors
    /// It was given keys.
    pub fn is_safe(&self) -> Result<bool, BuildError> {
        if self.name != "safe" || *self == Self::named("safe") {
            return Ok(self.name == "safe");
        }
        Err(BuildError::refused(
            "master",
            "safe",
            "is a preset without keys: write out its two bands to change them",
        ))
    }

    fn is_practical(&self) -> bool {
        self.name == PracticalRule::NAME || self.name == PacerRule::NAME
    }

    /// What this master and its bases are given of the world: the practical preset needs no horizon, and gives none to bases
    /// that can do without.
    pub fn bases_setup(&self, setup: &Setup) -> Setup {
        let mut given = setup.clone();
        if self.is_practical() {
            given.horizon = None;
        }
        given
    }

    /// How the ensemble of this master works over decisions of `kind` in the world of `setup`.
    pub fn ensemble_params(&self, kind: Kind, setup: &Setup) -> EnsembleParams {
        let given = self.bases_setup(setup);
        let preset =
            if self.is_practical() { EnsembleParams::practical(kind) } else { EnsembleParams::default() };
        EnsembleParams {
            credit: self.credit.unwrap_or(preset.credit),
            feed: self.feed.unwrap_or(preset.feed),
            cut: self.cut.or(preset.cut),
            guard: self.guard.unwrap_or(preset.guard && !self.has_experience()),
            losses: given.losses,
            horizon: given.horizon,
            ..preset
        }
    }
}

impl From<&str> for Recipe {
    fn from(name: &str) -> Self {
        Self::Base(BaseRecipe::named(name))
    }
}

impl From<BaseRecipe> for Recipe {
    fn from(base: BaseRecipe) -> Self {
        Self::Base(base)
    }
}

impl From<BandRecipe> for Recipe {
    fn from(band: BandRecipe) -> Self {
        Self::Band(band)
    }
}

/// `{ name = "exp3", rate = 0.1 }`, or `{ master = "corral", bases = ["ucb1", { name = "exp3" }] }`.
impl TryFrom<toml::Table> for Recipe {
    type Error = BuildError;

    fn try_from(mut table: toml::Table) -> Result<Self, BuildError> {
        let mut keys = Keys { what: "base", table: &mut table };
        let Some(master) = keys.table.remove("master") else {
            return Ok(Self::Base(BaseRecipe {
                name: keys.name()?,
                isolate: keys.take("isolate")?.unwrap_or_default(),
                smoothed: keys.take("smoothed")?.unwrap_or_default(),
                rescaled: keys.take("rescaled")?.unwrap_or_default(),
                params: table,
            }));
        };
        let bases: Vec<toml::Value> = keys.take("bases")?.unwrap_or_default();
        let copies = Copies::Count(keys.take("copies")?.unwrap_or(1));
        if let Some(key) = table.keys().next() {
            return Err(BuildError::refused("master", key, "is not a key of a band"));
        }
        let bases = bases.into_iter().map(Self::try_from).collect::<Result<Vec<_>, _>>()?;
        let master = MasterRecipe::try_from(master)?;
        if let Some(bands) = master.bands()? {
            return Ok(Self::Band(BandRecipe::of_bands(bands, &bases)));
        }
        Ok(Self::Band(BandRecipe { master, bases, copies }))
    }
}

/// A name, or a table.
impl TryFrom<toml::Value> for Recipe {
    type Error = BuildError;

    fn try_from(value: toml::Value) -> Result<Self, BuildError> {
        match value {
            toml::Value::String(name) => Ok(Self::from(&*name)),
            toml::Value::Table(table) => Self::try_from(table),
            other => Err(BuildError::refused("base", other.to_string(), "must be a name or a table")),
        }
    }
}

/// A name, or a table with the master's keys and `credit`, `feed`, `cut`, `guard`, `budget`, `experience`, `doubt` and
/// `price`.
impl TryFrom<toml::Value> for MasterRecipe {
    type Error = BuildError;

    fn try_from(value: toml::Value) -> Result<Self, BuildError> {
        match value {
            toml::Value::String(name) => Ok(Self::named(name)),
            toml::Value::Table(mut table) => {
                let mut keys = Keys { what: "master", table: &mut table };
                let (name, credit, feed) = (keys.name()?, keys.take("credit")?, keys.take("feed")?);
                let (cut, guard) = (keys.take("cut")?, keys.take("guard")?);
                let (budget, price) = (keys.take("budget")?, keys.take("price")?);
                let doubt = keys.take("doubt")?.unwrap_or_default();
                let experience = keys.take("experience")?.unwrap_or_default();
                Ok(Self {
                    credit,
                    feed,
                    cut,
                    guard,
                    budget,
                    experience,
                    doubt,
                    price,
                    params: table,
                    ..Self::named(name)
                })
            }
            other => Err(BuildError::refused("master", other.to_string(), "must be a name or a table")),
        }
    }
}

/// The keys of a table that are taken out of it one by one.
struct Keys<'a> {
    what: &'static str,
    table: &'a mut toml::Table,
}

impl Keys<'_> {
    fn take<'de, T: Deserialize<'de>>(&mut self, key: &'static str) -> Result<Option<T>, BuildError> {
        let Some(value) = self.table.remove(key) else { return Ok(None) };
        let read = T::deserialize(value).map(Some);
        read.map_err(|e| BuildError::refused(self.what, key, e.to_string().trim()).about(Some(key)))
    }

    fn name(&mut self) -> Result<String, BuildError> {
        self.take("name")?.ok_or_else(|| BuildError::refused(self.what, "name", "is missing"))
    }
}
