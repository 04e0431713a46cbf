//! What a band is built from: enough to build it again.

use std::sync::Arc;

use corral_core::masters::{self, MasterSetup, PracticalRule, Rule};
use corral_core::registry::{Kind, Unknown};
use corral_core::{
    Arm, Base, Context, ContextShape, Crediting, Ensemble, EnsembleParams, Feed, Master, Propensities, Scale,
    Setup,
};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyString};
use serde::{Deserialize, Serialize};

use crate::base::{Place, PyBase, Raised, loads};
use crate::convert;
use crate::errors::{Answer, Error};

/// The ensemble behind a band.
pub type Members = Ensemble<Context, Arm, Box<dyn Master>>;

/// How a band is put together.
#[derive(Clone, Serialize, Deserialize)]
pub struct Plan {
    pub actions: usize,
    /// The names of the actions; empty where they are numbered.
    pub names: Arc<[Arc<str>]>,
    pub features: usize,
    pub row_features: usize,
    pub rewards: Scale,
    pub horizon: Option<u64>,
    master: String,
    /// The master's keys, as TOML.
    keys: String,
    pub params: EnsembleParams,
    pub members: Vec<Member>,
}

/// One base of the plan.
#[derive(Clone, Serialize, Deserialize)]
pub struct Member {
    pub name: String,
    recipe: Recipe,
    /// What it was added with, where it came later.
    share: Option<f64>,
}

#[derive(Clone, Serialize, Deserialize)]
enum Recipe {
    /// Of the registry, with its keys as TOML.
    Named { name: String, keys: String },
    /// A pickled object, as it was when it joined; empty where it cannot be pickled.
    Python(Vec<u8>),
}

/// What says how a band is mastered.
pub struct Style<'a, 'py> {
    pub preset: &'a str,
    pub master: Option<&'a Bound<'py, PyAny>>,
    pub horizon: Option<u64>,
    pub propensities: bool,
}

impl Plan {
    /// A plan without members.
    pub fn new(
        (actions, names): (usize, Arc<[Arc<str>]>),
        (features, row_features): (usize, usize),
        rewards: (f64, f64),
        style: &Style<'_, '_>,
    ) -> Answer<Self> {
        if actions == 0 {
            return Err(Error::value("actions: at least one is needed"));
        }
        if u32::try_from(actions).is_err() {
            return Err(Error::value(format!("actions: {actions} are more than 2^32")));
        }
        let rewards =
            Scale::rewards(rewards.0, rewards.1).check().map_err(|e| Error::value(e).of("reward_range"))?;
        let (master, mut keys) = match (style.master, style.preset) {
            (Some(given), "practical") => convert::named("master", given)?,
            (Some(_), _) => return Err(Error::value("give preset or master, not both")),
            (None, "practical") => (PracticalRule::ENTRY.name.to_owned(), toml::Table::new()),
            (None, "paper") => {
                // Epochs that double, where nobody knows the horizon: the theorem's way.
                let restart = ("horizon".to_owned(), toml::Value::from("restart"));
                ("corral".to_owned(), style.horizon.is_none().then_some(restart).into_iter().collect())
            }
            (None, other) => return Err(Unknown::new("preset", other, ["practical", "paper"]).into()),
        };
        let preset = if master == PracticalRule::ENTRY.name {
            EnsembleParams::practical(Kind::Arms)
        } else {
            EnsembleParams::default()
        };
        let params = EnsembleParams {
            credit: word::<Crediting>(&mut keys, "credit")?.unwrap_or(preset.credit),
            feed: word::<Feed>(&mut keys, "feed")?.unwrap_or(preset.feed),
            cut: word::<f64>(&mut keys, "cut")?.or(preset.cut),
            horizon: style.horizon,
            propensities: if style.propensities { Propensities::Decision } else { Propensities::None },
            ..preset
        };
        let (horizon, keys, members) = (style.horizon, keys.to_string(), Vec::new());
        Ok(Self { actions, names, features, row_features, rewards, horizon, master, keys, params, members })
    }

    /// What the bases are told of the world.
    pub fn setup(&self) -> Setup {
        let context = ContextShape { features: self.features, row_features: self.row_features, cells: None };
        Setup { context, ..Setup::arms(self.actions, self.horizon) }
    }

    /// Builds a base that joins with `share` (none: from the start), and puts it into the plan.
    pub fn join(
        &mut self,
        given: &Bound<'_, PyAny>,
        name: Option<String>,
        share: Option<f64>,
        raised: &Raised,
    ) -> Answer<Box<dyn Base<Context, Arm>>> {
        let (own, recipe, base): (String, Recipe, Box<dyn Base<Context, Arm>>) =
            if given.is_instance_of::<PyString>() || given.is_instance_of::<PyDict>() {
                let (name, mut keys) = convert::named("base", given)?;
                let label = word::<String>(&mut keys, "label")?.unwrap_or_else(|| name.clone());
                let base = self.named(&name, &keys)?;
                (label, Recipe::Named { name, keys: keys.to_string() }, base)
            } else {
                let base = PyBase::new(given, self.place(raised))?;
                (given.get_type().name()?.to_string(), Recipe::Python(base.first()), Box::new(base))
            };
        let name = self.free_name(name.unwrap_or(own));
        self.members.push(Member { name, recipe, share });
        Ok(base)
    }

    /// `name`, or where a member has it the name with a number behind.
    fn free_name(&self, name: String) -> String {
        let taken = |name: &str| self.members.iter().any(|m| m.name == name);
        let numbered = (2..).map(|n| format!("{name} ({n})"));
        std::iter::once(name.clone()).chain(numbered).find(|n| !taken(n)).unwrap_or(name)
    }

    fn place(&self, raised: &Raised) -> Place {
        Place { names: Arc::clone(&self.names), raised: raised.clone() }
    }

    fn named(&self, name: &str, keys: &toml::Table) -> Answer<Box<dyn Base<Context, Arm>>> {
        let built = corral_bases::build(name, keys, &self.setup())?;
        built
            .into_arms()
            .ok_or_else(|| Error::value(format!("base {name:?} decides on points, not on actions")))
    }

    /// The ensemble of bases that were there from the start.
    pub fn ensemble(&self, bases: Vec<Box<dyn Base<Context, Arm>>>) -> Answer<Members> {
        let names: Vec<&str> = self.members.iter().map(|m| &*m.name).take(bases.len()).collect();
        let bounds = self.members.iter().map(|m| match &m.recipe {
            Recipe::Named { name, keys } => {
                corral_bases::regret_bound(name, &read(keys).ok()?, &self.setup())
            }
            Recipe::Python(_) => None,
        });
        let told =
            MasterSetup::new(bases.len(), self.horizon).with_bounds(bounds.take(bases.len()).collect());
        let master = masters::build(&self.master, read(&self.keys)?, &told)?;
        let ensemble = Ensemble::with_params(master, bases, self.params)?;
        Ok(ensemble.with_setup(&self.setup()).with_names(names))
    }

    /// Builds everything again: the ensemble as it was before its first round, and the exceptions of each base.
    pub fn rebuild(&self, py: Python<'_>) -> Answer<(Members, Vec<Raised>)> {
        let shared = Raised::default();
        let (mut bases, mut later, mut raised) = (Vec::new(), Vec::new(), Vec::new());
        for member in &self.members {
            let own = shared.sibling();
            let base: Box<dyn Base<Context, Arm>> = match &member.recipe {
                Recipe::Named { name, keys } => self.named(name, &read(keys)?)?,
                Recipe::Python(first) => Box::new(PyBase::new(&loads(py, first)?, self.place(&own))?),
            };
            raised.push(own);
            match member.share {
                None => bases.push(base),
                Some(share) => later.push((member.name.clone(), base, share)),
            }
        }
        let mut ensemble = self.ensemble(bases)?;
        for (name, base, share) in later {
            ensemble.add(name, base, share)?;
        }
        Ok((ensemble, raised))
    }
}

/// Takes a key out of a table.
fn word<T: serde::de::DeserializeOwned>(table: &mut toml::Table, key: &str) -> Answer<Option<T>> {
    let Some(value) = table.remove(key) else { return Ok(None) };
    T::deserialize(value).map(Some).map_err(|e| Error::value(format!("{key}: {}", e.to_string().trim())))
}

fn read(keys: &str) -> Answer<toml::Table> {
    keys.parse().map_err(Error::value)
}
