//! What is served: a TOML file with one band, or several as `[[band]]`.

use corral_bases::band::{self, Assembler, Band, BandRecipe, Copies, MasterRecipe, Recipe, open};
use corral_core::registry::Kind;
use corral_core::{
    Arm, Base, Context, ContextShape, EnsembleParams, FeatureRange, Propensities, Scale, Setup,
};
use corral_log::Member;
use serde::{Deserialize, Serialize};

use crate::error::ServeError;
use crate::model::Model;

/// One band, as its file says it.
#[derive(Debug, Clone, PartialEq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct ServedSpec {
    /// Its name in paths: letters, digits, `-`, `_` and `.`.
    pub name: String,
    /// The names of its actions, or how many there are.
    pub actions: Actions,
    /// How many features a context has.
    #[serde(default)]
    pub features: usize,
    /// How many features each action has.
    #[serde(default)]
    pub action_features: usize,
    /// Its bases: names, or tables as in a spec of an experiment.
    pub bases: Vec<toml::Value>,
    /// Its master: a name, or a table. Unset: the practical preset.
    #[serde(default)]
    pub master: Option<toml::Value>,
    /// Where rewards lie. Unset: in [0, 1].
    #[serde(default)]
    pub reward_range: Option<[f64; 2]>,
    /// Whether rewards outside the range are cut to it, and counted; else they are refused.
    #[serde(default)]
    pub clip: bool,
    /// After how many seconds a reward is no longer taken. Unset: a week.
    #[serde(default)]
    pub patience: Option<u64>,
    /// Whether the log has the probabilities of every base, so that each can be evaluated from it.
    #[serde(default = "yes")]
    pub log_bases: bool,
    /// Whether every decision is logged when it is made, and not only with its reward.
    #[serde(default)]
    pub log_decisions: bool,
    /// Whether the value of every base is followed while the band runs, with bounds that hold at any time.
    #[serde(default)]
    pub watch: bool,
    /// The action that is given to those who are held out: a name, or an index.
    #[serde(default)]
    pub default_action: Option<toml::Value>,
    /// The share of units, or of decisions without a unit, that always gets the default action.
    #[serde(default)]
    pub holdout: f64,
    /// What the band may cost at most, compared to the default action, as a share of the reward's range per decision: it gets
    /// no more traffic than that allows.
    #[serde(default)]
    pub gate: Option<f64>,
    /// For how many seconds a unit is given the same decision again.
    #[serde(default)]
    pub sticky: Option<u64>,
    /// How many rewards a client may give in a minute.
    #[serde(default)]
    pub quota: Option<u64>,
}

fn yes() -> bool {
    true
}

/// The actions of a band.
#[derive(Debug, Clone, PartialEq, Deserialize, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema), schemars(inline))]
#[serde(untagged, expecting = "actions are a list of names, or how many there are")]
pub enum Actions {
    /// So many, counted from 0.
    Count(usize),
    /// These.
    Names(Vec<String>),
}

impl Actions {
    /// How many there are.
    pub fn len(&self) -> usize {
        match self {
            Self::Count(count) => *count,
            Self::Names(names) => names.len(),
        }
    }

    /// Whether it is empty.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Their names; empty where they have none.
    pub fn names(&self) -> &[String] {
        match self {
            Self::Count(_) => &[],
            Self::Names(names) => names,
        }
    }

    /// The name of an action, where it has one.
    pub fn name(&self, index: usize) -> Option<&str> {
        self.names().get(index).map(String::as_str)
    }
}

/// The bands of a file.
///
/// # Errors
/// The text is not TOML, a key is missing, unknown or of another type, or a value cannot be used: the key is named.
pub fn read(text: &str) -> Result<Vec<ServedSpec>, ServeError> {
    #[derive(Deserialize)]
    #[serde(deny_unknown_fields)]
    struct Several {
        band: Vec<ServedSpec>,
    }
    let wrong = |e: toml::de::Error| ServeError::Model(e.to_string().trim_end().to_owned());
    let table: toml::Table = toml::from_str(text).map_err(wrong)?;
    let bands = if table.contains_key("band") {
        toml::from_str::<Several>(text).map_err(wrong)?.band
    } else {
        vec![toml::from_str(text).map_err(wrong)?]
    };
    for (i, band) in bands.iter().enumerate() {
        band.check()?;
        if bands[..i].iter().any(|other| other.name == band.name) {
            return Err(ServeError::Model(format!("name: two bands are called {:?}", band.name)));
        }
    }
    Ok(bands)
}

impl ServedSpec {
    /// Passes over a spec that can be used: the band is built once.
    ///
    /// # Errors
    /// Names the key whose value cannot be used.
    pub fn check(&self) -> Result<(), ServeError> {
        let ensure = |holds: bool, key: &str, why: String| {
            if holds { Ok(()) } else { Err(ServeError::Model(format!("{key}: {why}"))) }
        };
        let plain = |c: char| c.is_ascii_alphanumeric() || "-_.".contains(c);
        let named = !self.name.is_empty() && self.name.chars().all(plain) && !self.name.starts_with('.');
        let what = "a name has letters, digits, \"-\", \"_\" and \".\"";
        ensure(named, "name", format!("{what}, and does not begin with \".\", but is {:?}", self.name))?;
        ensure(!self.actions.is_empty(), "actions", "there must be at least one".into())?;
        let names = self.actions.names();
        if let Some(twice) = (1..names.len()).find(|i| names[..*i].contains(&names[*i])) {
            ensure(false, "actions", format!("{:?} is there twice", names[twice]))?;
        }
        ensure(!self.bases.is_empty(), "bases", "there must be at least one".into())?;
        if let Some([low, high]) = self.reward_range {
            Scale::rewards(low, high).check().map_err(|e| ServeError::Model(format!("reward_range: {e}")))?;
        }
        if let Some(default) = &self.default_action {
            let what = "the name of an action, or its index";
            ensure(self.default_index().is_some(), "default_action", format!("{what}, but is {default}"))?;
        }
        let share = |value: f64| (0.0..1.0).contains(&value);
        ensure(share(self.holdout), "holdout", format!("a share in [0, 1), but is {}", self.holdout))?;
        if let Some(gate) = self.gate {
            ensure(share(gate) && gate > 0.0, "gate", format!("a share in (0, 1), but is {gate}"))?;
            ensure(
                self.holdout > 0.0,
                "gate",
                "needs a holdout, which says what the default action earns".into(),
            )?;
        }
        let needs = self.holdout == 0.0 || self.default_action.is_some();
        ensure(needs, "holdout", "needs a default_action".into())?;
        self.band().map(drop)
    }

    /// The index of the default action.
    pub fn default_index(&self) -> Option<usize> {
        match (self.default_action.as_ref()?, &self.actions) {
            (toml::Value::Integer(index), _) => {
                usize::try_from(*index).ok().filter(|i| *i < self.actions.len())
            }
            (toml::Value::String(name), actions) => actions.names().iter().position(|n| n == name),
            _ => None,
        }
    }

    fn setup(&self) -> Setup {
        let context =
            ContextShape { features: self.features, row_features: self.action_features, cells: None };
        let range =
            if self.features + self.action_features > 0 { FeatureRange::Learned } else { FeatureRange::Any };
        Setup { context, range, ..Setup::arms(self.actions.len(), None) }
    }

    fn recipe(&self) -> Result<BandRecipe, ServeError> {
        let bases = self.bases.iter().enumerate().map(|(i, base)| {
            Recipe::try_from(base.clone()).map_err(|e| ServeError::Model(format!("bases[{i}]: {e}")))
        });
        let bases = bases.collect::<Result<Vec<_>, _>>()?;
        let wrong = |e: corral_core::registry::BuildError| ServeError::Model(format!("master: {e}"));
        let master = match &self.master {
            Some(master) => MasterRecipe::try_from(master.clone()).map_err(wrong)?,
            None => MasterRecipe::default(),
        };
        if master.budget.is_some() || master.name == "pacer" {
            return Err(ServeError::Model(
                "master: a budget needs costs, which a service is not told".into(),
            ));
        }
        if master.is_safe().map_err(wrong)? {
            return Ok(BandRecipe::safe(&bases));
        }
        Ok(BandRecipe { master, bases, copies: Copies::Count(1) })
    }

    /// Its bases as they are before they have learned anything, each for itself.
    pub(crate) fn bases(&self) -> Result<Vec<Box<dyn Base<Context, Arm>>>, ServeError> {
        let (recipe, setup) = (self.recipe()?, self.setup());
        let members = members(&Assembler::new(&setup), &recipe)?;
        Ok(members.into_iter().map(|member| member.base).collect())
    }

    /// How rewards become losses.
    pub fn scale(&self) -> Scale {
        let [low, high] = self.reward_range.unwrap_or([0.0, 1.0]);
        Scale { clip: self.clip, ..Scale::rewards(low, high) }
    }
}

/// The bases of a recipe.
fn members(assembler: &Assembler<'_>, recipe: &BandRecipe) -> Result<Vec<band::Member<Arm>>, ServeError> {
    let built = recipe.bases.iter().enumerate().map(|(i, base)| {
        let member = assembler.member(&recipe.master, base);
        member.map_err(|e| ServeError::Model(format!("bases[{i}]: {e}")))
    });
    built.collect()
}

/// Names of bases, each once: what is there before gets a number.
fn names(bases: &[Recipe]) -> Vec<String> {
    let mut names: Vec<String> = Vec::with_capacity(bases.len());
    for base in bases {
        let name = match base {
            Recipe::Base(base) => base.name.clone(),
            Recipe::Band(band) => format!("band of {}", band.master.name),
        };
        let same = names.iter().filter(|n| **n == name || n.starts_with(&format!("{name} "))).count();
        names.push(if same == 0 { name } else { format!("{name} {}", same + 1) });
    }
    names
}

impl Model<Arm> for ServedSpec {
    fn band(&self) -> Result<Band<Arm>, ServeError> {
        let (recipe, setup) = (self.recipe()?, self.setup());
        let assembler = Assembler::new(&setup);
        let members = members(&assembler, &recipe)?;
        let propensities = match (self.watch, self.log_bases) {
            // Which base is best is a question of differences, which need whole distributions.
            (true, _) => Propensities::Full,
            (false, true) => Propensities::EveryBase,
            (false, false) => Propensities::Decision,
        };
        let params = EnsembleParams {
            // Services that are built alike do not take each other's tokens.
            id: getrandom::u64().ok(),
            scale: Some(self.scale()),
            propensities,
            ..recipe.master.ensemble_params(Kind::Arms, &setup)
        };
        let band = open(params).and_then(|params| assembler.ensemble(&recipe.master, members, params));
        let band = band.map_err(|e| ServeError::Model(format!("master: {e}")))?;
        Ok(band.with_names(names(&recipe.bases)))
    }

    fn base(&self, member: &Member) -> Result<Box<dyn Base<Context, Arm>>, ServeError> {
        let wrong = |why: String| ServeError::Asked(format!("base {:?}: {why}", member.name));
        let params = member.params.clone().unwrap_or_else(|| member.name.clone().into());
        let value = toml::Value::try_from(params).map_err(|e| wrong(e.to_string()))?;
        let recipe = Recipe::try_from(value).map_err(|e| wrong(e.to_string()))?;
        let setup = self.setup();
        let built = Assembler::new(&setup).member(&self.recipe()?.master, &recipe);
        built.map(|member| member.base).map_err(|e| wrong(e.to_string()))
    }

    fn describe(&self) -> String {
        let Self { name, actions, features, action_features, bases, master, reward_range, clip, .. } = self;
        serde_json::json!({
            "name": name, "actions": actions, "features": features, "action_features": action_features,
            "bases": bases, "master": master, "reward_range": reward_range, "clip": clip,
        })
        .to_string()
    }

    fn watch(&self) -> bool {
        self.watch
    }

    fn actions(&self) -> Vec<String> {
        self.actions.names().to_vec()
    }
}

/// The context with the numbers of the actions that it offers; the first ones need none.
pub(crate) fn offering(context: Context, numbers: Vec<u32>) -> Context {
    let first = numbers.iter().zip(0..).all(|(number, place)| *number == place);
    if first { context } else { context.offering(numbers) }
}
