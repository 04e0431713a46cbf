//! What a band is built from: enough to build it again.

use std::sync::Arc;

use corral_bases::band::{self, Assembler, Band, MasterRecipe};
use corral_core::memory::{self, Budget};
use corral_core::registry::Unknown;
use corral_core::{
    Arm, ContextShape, Decision, EnsembleParams, FeatureRange, Learner, Point, Propensities, Scale, Setup,
    Space,
};
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use super::{Answer, Members, Objects, SavedError};
use crate::run::{FromPlugins, Plugins, plugins_used};
use crate::spec::LearnerSpec;

/// How a band is put together.
#[derive(Clone, Serialize, Deserialize)]
pub struct Plan {
    /// What is played.
    pub space: Space,
    /// The names of the actions; empty where they are numbered. There may be more numbers than names, for actions that join.
    pub names: Arc<[Arc<str>]>,
    /// The numbers of the actions that were retired.
    pub retired: Vec<u32>,
    /// How many numbers describe a round.
    pub features: usize,
    /// How many numbers describe each action of a round.
    pub row_features: usize,
    /// Where features lie.
    pub range: FeatureRange,
    /// Where rewards lie.
    pub rewards: Scale,
    /// How many rounds there will be, where that is known.
    pub horizon: Option<u64>,
    master: String,
    /// The master's keys, as TOML.
    keys: String,
    /// Of the ensemble.
    pub params: EnsembleParams,
    /// The bases.
    pub members: Vec<Member>,
    /// What its bases may claim of memory while they are built.
    #[serde(skip)]
    pub budget: Budget,
}

/// One base of the plan.
#[derive(Clone, Serialize, Deserialize)]
pub struct Member {
    /// What the band calls it.
    pub name: String,
    recipe: Recipe,
    /// What it was added with, where it came later.
    share: Option<f64>,
}

/// What a base is built from.
#[derive(Clone, Serialize, Deserialize)]
pub enum Recipe {
    /// Of a registry or a plugin, or a master over such.
    Spec {
        /// Its table as TOML.
        text: String,
        /// The digests of the plugins that it uses.
        plugins: Vec<(String, String)>,
    },
    /// A pickled object of Python, as it was when it joined; empty where it cannot be pickled.
    Python(Vec<u8>),
}

/// Which actions a band has, and which it offers.
#[derive(Clone)]
pub struct Actions {
    /// Their names by number; empty where actions are numbered.
    pub names: Arc<[Arc<str>]>,
    /// The numbers of those that are offered; empty: all.
    pub offer: Arc<[u32]>,
}

impl Actions {
    /// The numbers of the actions that can be offered; empty where they are numbered.
    pub fn live(&self) -> Vec<u32> {
        if self.offer.is_empty() { (0..self.names.len() as u32).collect() } else { self.offer.to_vec() }
    }
}

impl Member {
    /// A base that joins with `share` (none: from the start).
    pub fn new(name: String, recipe: Recipe, share: Option<f64>) -> Self {
        Self { name, recipe, share }
    }

    /// Its table, as the log keeps it; none where it is a Python object.
    ///
    /// # Errors
    /// Its table cannot be read.
    pub fn params(&self) -> Answer<Option<serde_json::Value>> {
        let Recipe::Spec { text, .. } = &self.recipe else { return Ok(None) };
        let table: toml::Table = text.parse().map_err(SavedError::value)?;
        Ok(Some(serde_json::to_value(table).map_err(SavedError::value)?))
    }
}

impl Plan {
    /// A plan without members, under this master.
    ///
    /// # Errors
    /// Features describe points, or the range of rewards is empty.
    pub fn new(
        (space, names): (Space, Arc<[Arc<str>]>),
        (features, row_features): (usize, usize),
        range: FeatureRange,
        rewards: Scale,
        mastering: MasterRecipe,
        (horizon, propensities): (Option<u64>, Propensities),
    ) -> Answer<Self> {
        let described = row_features == 0 || matches!(space, Space::Arms(_));
        SavedError::unless(described, "row_features describe actions, and this band decides on points")?;
        let rewards = rewards.check().map_err(|e| SavedError::value(e).of("reward_range"))?;
        let kind = if matches!(space, Space::Arms(_)) { Arm::KIND } else { Point::KIND };
        let params = EnsembleParams {
            propensities,
            scale: rewards.learned.then_some(rewards),
            ..mastering.ensemble_params(kind, &Setup::new(space.clone(), horizon))
        };
        let (keys, master) = (mastering.keys().to_string(), mastering.name);
        Ok(Self {
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
            members: Vec::new(),
            budget: Budget::default(),
        })
    }

    /// A digest of what the band is built from: the same for bands that were built alike.
    ///
    /// # Errors
    /// It cannot be written.
    pub fn digest(&self) -> Answer<String> {
        // What tells one band from another that was built alike, and what logs know of decisions.
        let params = EnsembleParams { id: None, copy: None, propensities: Propensities::None, ..self.params };
        let alike = Self { params, ..self.clone() };
        let bytes = serde_json::to_vec(&alike).map_err(SavedError::value)?;
        Ok(Sha256::digest(bytes).iter().take(16).map(|byte| format!("{byte:02x}")).collect())
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
    ///
    /// # Errors
    /// Actions have no names, or all numbers are taken.
    pub fn add_action(&mut self, name: &str) -> Answer<()> {
        SavedError::unless(
            !self.names.is_empty(),
            "this band has numbered actions: give their names when it is built",
        )?;
        if let Some(number) = self.names.iter().position(|known| **known == *name) {
            let retired = self.retired.iter().position(|of| *of as usize == number);
            let at =
                retired.ok_or_else(|| SavedError::value(format!("there is an action {name:?} already")))?;
            self.retired.remove(at);
            return Ok(());
        }
        let all = self.setup().actions();
        let full =
            format!("the band was built for {all} actions, and all have names: give a larger max_actions");
        SavedError::unless(self.names.len() < all, full)?;
        self.names = self.names.iter().cloned().chain([Arc::from(name)]).collect();
        Ok(())
    }

    /// Takes an action out of what rounds offer.
    ///
    /// # Errors
    /// There is no such action, or no other.
    pub fn retire_action(&mut self, name: &str) -> Answer<()> {
        let live = self.actions().live();
        let found = live.iter().find(|number| *self.names[**number as usize] == *name);
        let number = *found.ok_or_else(|| {
            SavedError::from(Unknown::new("action", name, live.iter().map(|of| &*self.names[*of as usize])))
        })?;
        SavedError::unless(live.len() > 1, format_args!("{name:?} is the last action"))?;
        self.retired.push(number);
        Ok(())
    }

    /// What the bases are told of the world.
    pub fn setup(&self) -> Setup {
        let context = ContextShape { features: self.features, row_features: self.row_features, cells: None };
        let (range, budget) = (self.range.clone(), self.budget.clone());
        Setup { context, range, budget, ..Setup::new(self.space.clone(), self.horizon) }
    }

    /// Builds a base from its table; puts it into the plan under `name`, or its own.
    ///
    /// # Errors
    /// The table does not say a base, or it cannot be built here.
    pub fn join(
        &mut self,
        mut table: toml::Table,
        name: Option<String>,
        share: Option<f64>,
        plugins: &Plugins,
    ) -> Answer<Learner> {
        let label = word::<String>(&mut table, "label")?;
        let text = table.to_string();
        let spec = LearnerSpec::parse(&text).map_err(|e| SavedError::value(e.why).of("base"))?;
        let base = self.specified(&spec, plugins)?;
        let own = label.unwrap_or_else(|| spec.label().to_owned());
        let recipe = Recipe::Spec { text, plugins: plugins_used(plugins, [&spec]) };
        self.enter(name.unwrap_or(own), recipe, share);
        Ok(base)
    }

    /// Puts a base into the plan; a name that another has gets a number.
    pub fn enter(&mut self, name: String, recipe: Recipe, share: Option<f64>) {
        let taken = |name: &str| self.members.iter().any(|m| m.name == name);
        let numbered = (2..).map(|n| format!("{name} ({n})"));
        let name = std::iter::once(name.clone()).chain(numbered).find(|n| !taken(n)).unwrap_or(name.clone());
        self.members.push(Member { name, recipe, share });
    }

    /// The master, without what `params` has of it.
    fn mastering(&self) -> Answer<MasterRecipe> {
        let params = self.keys.parse().map_err(SavedError::value)?;
        let mut mastering = MasterRecipe { params, ..MasterRecipe::named(&*self.master) };
        mastering.take_experience()?;
        Ok(mastering)
    }

    fn specified(&self, spec: &LearnerSpec, plugins: &Plugins) -> Answer<Learner> {
        if let LearnerSpec::Base(base) = spec {
            let (name, none) =
                (&base.recipe.name, plugins.folders().is_empty() && plugins.plugins().is_empty());
            let why = format_args!("base {name:?} is a plugin's: name the folder with plugins=");
            SavedError::unless(!(none && name.contains('/')), why)?;
        }
        let (setup, others, master) = (self.setup(), FromPlugins(plugins), self.mastering()?);
        // What a base keeps of an action: a count, a sum, a weight, a probability.
        setup.budget.claim("the number of actions", setup.actions(), 4 * setup.actions() as u128)?;
        let build = Assembler::new(&setup).with(&others);
        Ok(match self.space {
            Space::Arms(_) => Learner::Arms(build.member(&master, &spec.recipe())?.base),
            Space::Points(_) => Learner::Points(build.member(&master, &spec.recipe())?.base),
        })
    }

    /// The ensemble of bases that were there from the start.
    ///
    /// # Errors
    /// The master does not take them.
    pub fn ensemble(&self, bases: Vec<Learner>) -> Answer<Members> {
        Ok(match self.space {
            Space::Arms(_) => Members::Arms(self.of::<Arm>(bases)?),
            Space::Points(_) => Members::Points(self.of::<Point>(bases)?),
        })
    }

    fn of<D: Decision>(&self, bases: Vec<Learner>) -> Answer<Band<D>> {
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
        Ok(build.ensemble(&master, members, band::open(self.params)?)?.with_names(names))
    }

    /// A base of a file that was saved, with the very plugins that it was saved with.
    fn again(&self, text: &str, saved: &[(String, String)], plugins: &Plugins) -> Answer<Learner> {
        let spec = LearnerSpec::parse(text).map_err(SavedError::value)?;
        for (key, digest) in plugins_used(plugins, [&spec]) {
            let same = saved.iter().any(|(own, saved)| *own == key && *saved == digest);
            let other = format_args!("plugin {key:?} is another file than the band was saved with");
            SavedError::unless(same, other)?;
        }
        self.specified(&spec, plugins)
    }

    /// Builds everything again: the ensemble as it was before its first round.
    ///
    /// # Errors
    /// A base cannot be built here: the first is named.
    pub fn rebuild(&self, plugins: &Plugins, objects: &mut dyn Objects) -> Answer<Members> {
        let (mut bases, mut later) = (Vec::new(), Vec::new());
        let plan = Self { budget: Budget::of(memory::DEFAULT), ..self.clone() };
        for (at, member) in self.members.iter().enumerate() {
            let base = match &member.recipe {
                Recipe::Spec { text, plugins: saved } => plan.again(text, saved, plugins)?,
                Recipe::Python(first) => objects.build(&plan, at, first)?,
            };
            match member.share {
                None => bases.push(base),
                Some(share) => later.push((member.name.clone(), base, share)),
            }
        }
        let mut ensemble = plan.ensemble(bases)?;
        for (name, base, share) in later {
            ensemble.add(&name, base, share)?;
        }
        Ok(ensemble)
    }
}

/// Takes a key out of a table.
fn word<T: serde::de::DeserializeOwned>(table: &mut toml::Table, key: &str) -> Answer<Option<T>> {
    let Some(value) = table.remove(key) else { return Ok(None) };
    T::deserialize(value).map(Some).map_err(|e| SavedError::value(format!("{key}: {}", e.to_string().trim())))
}
