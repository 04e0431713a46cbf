//! What a band is built from: enough to build it again.

use std::sync::Arc;

use corral_bases::band::{self, Assembler, Band, MasterRecipe, Spend};
use corral_core::memory::{self, Budget};
use corral_core::registry::Unknown;
use corral_core::{
    Arm, ContextShape, Decision, EnsembleParams, FeatureRange, Learner, Point, Propensities, Scale, Setup,
    Space,
};
use corral_lab::run::{FromPlugins, plugins_used};
use corral_lab::spec::LearnerSpec;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyString};
use serde::{Deserialize, Serialize};

use crate::actions::Actions;
use crate::base::{BandInfo, Proposed, PyBase, Raised, loads};
use crate::convert;
use crate::errors::{Answer, Error};
use crate::members::Members;
use crate::shelf::Shelf;

/// How a band is put together.
#[derive(Clone, Serialize, Deserialize)]
pub struct Plan {
    pub space: Space,
    /// The names of the actions; empty where they are numbered. There may be more numbers than names, for actions that join.
    pub names: Arc<[Arc<str>]>,
    /// The numbers of the actions that were retired.
    pub retired: Vec<u32>,
    pub features: usize,
    pub row_features: usize,
    pub range: FeatureRange,
    pub rewards: Scale,
    pub horizon: Option<u64>,
    master: String,
    /// The master's keys, as TOML.
    keys: String,
    pub params: EnsembleParams,
    pub members: Vec<Member>,
    /// What its bases may claim of memory while they are built.
    #[serde(skip)]
    pub budget: Budget,
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
    /// Of a registry or a plugin, or a master over such: its table as TOML, and the digests of the plugins that it uses.
    Spec { text: String, plugins: Vec<(String, String)> },
    /// A pickled object, as it was when it joined; empty where it cannot be pickled.
    Python(Vec<u8>),
}

impl Member {
    /// Its table, as the log keeps it; none where it is a Python object.
    pub fn params(&self) -> Answer<Option<serde_json::Value>> {
        let Recipe::Spec { text, .. } = &self.recipe else { return Ok(None) };
        let table: toml::Table = text.parse().map_err(Error::value)?;
        Ok(Some(serde_json::to_value(table).map_err(Error::value)?))
    }
}

/// What says how a band is mastered.
pub struct Style<'a, 'py> {
    pub preset: &'a str,
    pub master: Option<&'a Bound<'py, PyAny>>,
    pub horizon: Option<u64>,
    pub propensities: Propensities,
    pub budget: Option<Spend>,
}

impl Plan {
    /// A plan without members, and the masters of the bands that stand in the place of its bases, where it is of bands.
    pub fn new(
        (space, names): (Space, Arc<[Arc<str>]>),
        (features, row_features): (usize, usize),
        range: FeatureRange,
        rewards: Scale,
        style: &Style<'_, '_>,
    ) -> Answer<(Self, Option<Vec<MasterRecipe>>)> {
        let described = row_features == 0 || matches!(space, Space::Arms(_));
        Error::unless(described, "row_features describe actions, and this band decides on points")?;
        let rewards = rewards.check().map_err(|e| Error::value(e).of("reward_range"))?;
        let (master, keys) = match (style.master, style.preset) {
            (Some(given), "practical") => convert::named("master", given)?,
            (Some(_), _) => return Err(Error::value("give preset or master, not both")),
            (None, "practical") => (MasterRecipe::default().name, toml::Table::new()),
            (None, "paper") => {
                // Epochs that double, where the horizon is not known: the theorem's way.
                let restart = ("horizon".to_owned(), toml::Value::from("restart"));
                ("corral".to_owned(), style.horizon.is_none().then_some(restart).into_iter().collect())
            }
            (None, "safe") => ("safe".to_owned(), toml::Table::new()),
            (None, other) => return Err(Unknown::new("preset", other, ["practical", "paper", "safe"]).into()),
        };
        let mut given = keys;
        given.insert("name".to_owned(), master.into());
        let mastering = MasterRecipe::try_from(toml::Value::Table(given))?;
        let mastering = MasterRecipe { budget: style.budget.or(mastering.budget), ..mastering };
        let (mastering, below) =
            mastering.bands()?.map_or((mastering, None), |(outer, all)| (outer, Some(all)));
        let kind = if matches!(space, Space::Arms(_)) { Arm::KIND } else { Point::KIND };
        let params = EnsembleParams {
            propensities: style.propensities,
            scale: rewards.learned.then_some(rewards),
            ..mastering.ensemble_params(kind, &Setup::new(space.clone(), style.horizon))
        };
        let (keys, master) = (mastering.keys().to_string(), mastering.name);
        let (horizon, members) = (style.horizon, Vec::new());
        let budget = Budget::default();
        let plan = Self {
            space,
            names,
            retired: Vec::new(),
            features,
            row_features,
            range,
            rewards,
            horizon,
            master,
            keys,
            params,
            members,
            budget,
        };
        Ok((plan, below))
    }

    /// The actions that a round offers where it does not say which.
    pub fn actions(&self) -> Actions {
        let (names, all) = (Arc::clone(&self.names), self.setup().actions());
        let live = (0..names.len() as u32).filter(|number| !self.retired.contains(number));
        let offer: Vec<u32> = live.collect();
        let whole = names.is_empty() || offer.len() == all;
        Actions { names, offer: if whole { Arc::new([]) } else { offer.into() } }
    }

    /// Gives the next free number to an action, or puts a retired one back.
    pub fn add_action(&mut self, name: &str) -> Answer<()> {
        Error::unless(
            !self.names.is_empty(),
            "this band has numbered actions: give their names when it is built",
        )?;
        if let Some(number) = self.names.iter().position(|known| **known == *name) {
            let retired = self.retired.iter().position(|of| *of as usize == number);
            let at = retired.ok_or_else(|| Error::value(format!("there is an action {name:?} already")))?;
            self.retired.remove(at);
            return Ok(());
        }
        let all = self.setup().actions();
        let full =
            format!("the band was built for {all} actions, and all have names: give a larger max_actions");
        Error::unless(self.names.len() < all, full)?;
        self.names = self.names.iter().cloned().chain([Arc::from(name)]).collect();
        Ok(())
    }

    /// Takes an action out of what rounds offer.
    pub fn retire_action(&mut self, name: &str) -> Answer<()> {
        let live = self.actions().live();
        let found = live.iter().find(|number| *self.names[**number as usize] == *name);
        let number = *found.ok_or_else(|| {
            Error::from(Unknown::new("action", name, live.iter().map(|of| &*self.names[*of as usize])))
        })?;
        Error::unless(live.len() > 1, format_args!("{name:?} is the last action"))?;
        self.retired.push(number);
        Ok(())
    }

    /// What the bases are told of the world.
    pub fn setup(&self) -> Setup {
        let context = ContextShape { features: self.features, row_features: self.row_features, cells: None };
        let (range, budget) = (self.range.clone(), self.budget.clone());
        Setup { context, range, budget, ..Setup::new(self.space.clone(), self.horizon) }
    }

    /// Builds a base that joins with `share` (none: from the start), and puts it into the plan.
    pub fn join(
        &mut self,
        given: &Bound<'_, PyAny>,
        name: Option<String>,
        share: Option<f64>,
        raised: &Raised,
        shelf: &Shelf,
    ) -> Answer<Learner> {
        let (own, recipe, base) = if given.is_instance_of::<PyString>() || given.is_instance_of::<PyDict>() {
            let mut keys = convert::base_table(given)?;
            let label = word::<String>(&mut keys, "label")?;
            let text = keys.to_string();
            let spec = LearnerSpec::parse(&text).map_err(|e| Error::value(e.why).of("base"))?;
            let base = self.specified(&spec, shelf)?;
            let plugins = plugins_used(&shelf.plugins, [&spec]);
            (label.unwrap_or_else(|| spec.label().to_owned()), Recipe::Spec { text, plugins }, base)
        } else {
            let base = PyBase::new(given, self.place(raised))?;
            (given.get_type().name()?.to_string(), Recipe::Python(base.first()), self.python(base))
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

    fn place(&self, raised: &Raised) -> BandInfo {
        BandInfo { names: Arc::clone(&self.names), rows: self.row_features > 0, raised: raised.clone() }
    }

    /// The master, without what `params` has of it.
    fn mastering(&self) -> Answer<MasterRecipe> {
        let params = self.keys.parse().map_err(Error::value)?;
        let mut mastering = MasterRecipe { params, ..MasterRecipe::named(&*self.master) };
        mastering.take_experience()?;
        Ok(mastering)
    }

    fn specified(&self, spec: &LearnerSpec, shelf: &Shelf) -> Answer<Learner> {
        if let LearnerSpec::Base(base) = spec {
            shelf.hint(&base.recipe.name)?;
        }
        let (setup, others, master) = (self.setup(), FromPlugins(&shelf.plugins), self.mastering()?);
        // What a base keeps of an action: a count, a sum, a weight, a probability.
        setup.budget.claim("the number of actions", setup.actions(), 4 * setup.actions() as u128)?;
        let build = Assembler::new(&setup).with(&others);
        Ok(match self.space {
            Space::Arms(_) => Learner::Arms(build.member(&master, &spec.recipe())?.base),
            Space::Points(_) => Learner::Points(build.member(&master, &spec.recipe())?.base),
        })
    }

    fn python(&self, base: PyBase) -> Learner {
        match self.space {
            Space::Arms(_) => Learner::Arms(Box::new(base)),
            Space::Points(_) => Learner::Points(Box::new(base)),
        }
    }

    /// The ensemble of bases that were there from the start.
    pub fn ensemble(&self, bases: Vec<Learner>) -> Answer<Members> {
        Ok(match self.space {
            Space::Arms(_) => Members::Arms(self.of::<Arm>(bases)?),
            Space::Points(_) => Members::Points(self.of::<Point>(bases)?),
        })
    }

    fn of<D: Proposed>(&self, bases: Vec<Learner>) -> Answer<Band<D>> {
        let (setup, master) = (self.setup(), self.mastering()?);
        let build = Assembler::new(&setup);
        let bound = |member: &Member| match &member.recipe {
            Recipe::Spec { text, .. } => build.bound(&master, &LearnerSpec::parse(text).ok()?.recipe()),
            Recipe::Python(_) => None,
        };
        let bases = bases.into_iter().filter_map(D::pick).zip(&self.members);
        let members: Vec<_> = bases
            .map(|(base, member)| band::Member { name: member.name.clone(), base, bound: bound(member) })
            .collect();
        let names: Vec<&str> = self.members.iter().map(|m| &*m.name).take(members.len()).collect();
        Ok(build.ensemble(&master, members, band::open(self.params))?.with_names(names))
    }

    /// A base of a file that was saved, with the very plugins that it was saved with.
    fn again(&self, text: &str, plugins: &[(String, String)], shelf: &Shelf) -> Answer<Learner> {
        let spec = LearnerSpec::parse(text)?;
        for (key, digest) in plugins_used(&shelf.plugins, [&spec]) {
            let same = plugins.iter().any(|(own, saved)| *own == key && *saved == digest);
            let other = format_args!("plugin {key:?} is another file than the band was saved with");
            Error::unless(same, other)?;
        }
        self.specified(&spec, shelf)
    }

    /// Builds everything again: the ensemble as it was before its first round, and the exceptions of each base.
    pub fn rebuild(&self, py: Python<'_>, shelf: &Shelf) -> Answer<(Members, Vec<Raised>)> {
        let shared = Raised::default();
        let (mut bases, mut later, mut raised) = (Vec::new(), Vec::new(), Vec::new());
        let plan = Self { budget: Budget::of(memory::DEFAULT), ..self.clone() };
        for member in &self.members {
            let own = shared.sibling();
            let base = match &member.recipe {
                Recipe::Spec { text, plugins } => plan.again(text, plugins, shelf)?,
                Recipe::Python(first) => plan.python(PyBase::new(&loads(py, first)?, plan.place(&own))?),
            };
            raised.push(own);
            match member.share {
                None => bases.push(base),
                Some(share) => later.push((member.name.clone(), base, share)),
            }
        }
        let mut ensemble = plan.ensemble(bases)?;
        for (name, base, share) in later {
            ensemble.add(&name, base, share)?;
        }
        Ok((ensemble, raised))
    }
}

/// Takes a key out of a table.
fn word<T: serde::de::DeserializeOwned>(table: &mut toml::Table, key: &str) -> Answer<Option<T>> {
    let Some(value) = table.remove(key) else { return Ok(None) };
    T::deserialize(value).map(Some).map_err(|e| Error::value(format!("{key}: {}", e.to_string().trim())))
}
