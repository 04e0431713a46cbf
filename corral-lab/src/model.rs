//! A learner that is kept: trained on a table, it decides for the rows of other files.

use corral_core::{Arm, Base, Context, ContextShape, Setup, snapshot};
use corral_envs::data::{Counts, DataSetParams, Reading};
use serde::{Deserialize, Serialize};

use crate::run::{CellSpec, Plugins, Runner, runner, train};
use crate::spec::{EnvironmentSpec, Spec};

const NAME: &str = "model";
const VERSION: u16 = 2;

/// A trained learner, and how rows become its contexts.
#[derive(Serialize, Deserialize)]
pub struct Model {
    /// The spec that it comes from.
    spec: String,
    /// Its label there.
    pub learner: String,
    /// The rows that it has seen.
    pub rows: u64,
    /// The share of them that it got wrong, or its loss per row.
    pub loss: f64,
    /// Which of the two.
    pub counts: Counts,
    reading: Reading,
    state: Vec<u8>,
}

/// Why a model cannot be kept or used.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ModelError {
    /// The spec has no such learner on a table.
    #[error("{0}")]
    Spec(String),
    /// The run failed.
    #[error("the run of {0} failed: {1}")]
    Run(String, String),
    /// The file is not a model, or is damaged.
    #[error("not a model: {0}")]
    File(String),
    /// A row cannot be read.
    #[error(transparent)]
    Row(#[from] corral_envs::EnvError),
    /// The learner cannot be built or asked.
    #[error("{0}")]
    Learner(String),
}

/// What a model says of one row.
#[derive(Debug, Clone, PartialEq)]
pub struct Answer<'a> {
    /// The line of the row.
    pub line: u64,
    /// The action that the learner most probably takes.
    pub action: &'a str,
    /// With which probability.
    pub probability: f64,
}

impl Model {
    /// The tables of a spec that a model can be of.
    pub fn tables(spec: &Spec) -> Vec<&EnvironmentSpec> {
        spec.environments.iter().filter(|e| e.name == "dataset" && e.induced.is_none()).collect()
    }

    /// Whether there is a table for a model, and on the first one this learner, or any where none is named. Nothing is read.
    ///
    /// # Errors
    /// There is no such learner or table.
    pub fn check(spec: &Spec, learner: Option<&str>) -> Result<(), ModelError> {
        let none = || ModelError::Spec("a model is kept of a learner on a table (`dataset`)".into());
        let tables = Self::tables(spec);
        let world = *tables.first().ok_or_else(none)?;
        let here = spec.learners.iter().filter(|l| l.plays_in(world)).map(|l| l.label.as_str());
        match learner {
            Some(label) if !here.clone().any(|known| known == label) => {
                let unknown = corral_core::registry::Unknown::new("learner", label, here);
                Err(ModelError::Spec(format!("{unknown} (on {:?})", world.label)))
            }
            _ => Ok(()),
        }
    }

    /// Trains a learner of a spec, by its label, on a table of it: the first environment named `environment`, or the first of all.
    ///
    /// # Errors
    /// There is no such learner or table, or the run fails.
    pub fn train(
        spec: &Spec,
        environment: Option<&str>,
        learner: &str,
        plugins: &Plugins,
    ) -> Result<Self, ModelError> {
        let mut tables = Self::tables(spec).into_iter();
        let world = tables.find(|e| environment.is_none_or(|label| e.label == label));
        let world = world
            .ok_or_else(|| ModelError::Spec("a model is kept of a learner on a table (`dataset`)".into()))?;
        let chosen = spec.learners.iter().position(|l| l.label == learner && l.plays_in(world));
        let chosen =
            chosen.ok_or_else(|| ModelError::Spec(format!("no learner {learner:?} on {:?}", world.label)))?;
        let cell = CellSpec {
            cell: 0,
            rounds: spec.rounds.iter().copied().max().unwrap_or(1),
            environment: spec.environments.iter().position(|e| e.label == world.label).unwrap_or(0),
            learner: chosen,
            seed: spec.first_seed,
        };
        let params =
            DataSetParams::deserialize(world.params.clone()).map_err(|e| ModelError::Spec(e.to_string()))?;
        let reading = params.reading()?;
        let (record, state) = train(spec, &cell, plugins);
        if let Some(why) = record.failed {
            return Err(ModelError::Run(learner.to_owned(), why));
        }
        let loss = record.loss / record.seen.max(1) as f64;
        Ok(Self {
            spec: spec.text.clone(),
            learner: learner.to_owned(),
            rows: record.seen,
            loss,
            counts: record.chance.map_or(Counts::Losses, |chance| chance.counts),
            reading,
            state,
        })
    }

    /// As bytes of a file.
    pub fn to_bytes(&self) -> Vec<u8> {
        snapshot::seal(NAME, VERSION, self)
    }

    /// From the bytes of a file.
    ///
    /// # Errors
    /// They are not a model, or damaged.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, ModelError> {
        snapshot::open(NAME, VERSION, bytes).map_err(|e| ModelError::File(e.to_string()))
    }

    /// Decides for every row of `file`: the action that the learner most probably takes. The learner does not learn from them.
    /// Says what is worth a look: that the file is not UTF-8, or has categories that the table did not have.
    ///
    /// # Errors
    /// The file does not have the columns of the table, a cell cannot be read, or the learner cannot be built.
    pub fn decide(
        &mut self,
        file: &str,
        plugins: &Plugins,
        mut each: impl FnMut(Answer<'_>),
    ) -> Result<Vec<String>, ModelError> {
        let failed = |e: &dyn std::fmt::Display| ModelError::Learner(e.to_string());
        let spec = Spec::parse(&self.spec).map_err(|e| failed(&e))?;
        let named = spec.learners.iter().find(|l| l.label == self.learner);
        let named =
            named.ok_or_else(|| ModelError::Learner(format!("no learner {:?} in its spec", self.learner)))?;
        let actions = self.reading.actions().to_vec();
        let features = self.reading.features();
        let setup = Setup {
            context: ContextShape { features, ..ContextShape::default() },
            ..Setup::arms(actions.len(), Some(self.rows))
        };
        let mut learner = runner::<Arm>(&named.learner, &setup, plugins).map_err(|e| failed(&e))?;
        match &mut learner {
            Runner::Alone(base) => base.load(&self.state).map_err(|e| failed(&e))?,
            Runner::Band(band) => band.load(&self.state).map_err(|e| failed(&e))?,
        }
        let mut x = Context::shared(Vec::with_capacity(features), actions.len());
        let mut rows = self.reading.open(file)?;
        while rows.next(&mut x)? {
            let probabilities = match &learner {
                Runner::Alone(base) => alone(&**base, &x, actions.len()).ok_or_else(|| {
                    ModelError::Learner(format!("{:?} cannot say its probabilities", self.learner))
                })?,
                Runner::Band(band) => band.distribution(&x).map_err(|e| failed(&e))?,
            };
            let best = probabilities
                .iter()
                .enumerate()
                .fold((0, -1.0), |best: (usize, f64), (i, p)| if *p > best.1 { (i, *p) } else { best });
            each(Answer { line: rows.line(), action: &actions[best.0], probability: best.1 });
        }
        let mut notes: Vec<String> =
            rows.remark().map(|remark| format!("{file}: {remark}")).into_iter().collect();
        if rows.unknown() > 0 {
            notes.push(format!(
                "{} cells hold a category that the table did not have: they count as no category",
                rows.unknown()
            ));
        }
        Ok(notes)
    }
}

/// The probability of every action under a base.
fn alone(base: &dyn Base<Context, Arm>, x: &Context, actions: usize) -> Option<Vec<f64>> {
    (0..actions).map(|a| base.likelihood(x, &Arm::at(a)).map(|(p, _)| p)).collect()
}
