//! A band as the Python package saves it: what it is built from, its state, and its log played again.
//!
//! Of a base that is an object of Python the file holds the pickled object: whoever can run it builds it ([`Objects`]).

mod members;
mod plan;
mod replay;

use corral_bases::band::BandError;
use corral_core::registry::{BuildError, Unknown};
use corral_core::{
    EnsembleError, Learner, MasterError, ParamError, Propensities, Quota, SnapshotError, TicketId, snapshot,
};
use corral_log::Watch;
use rand_pcg::Pcg64Dxsm;
use serde::{Deserialize, Serialize};

use crate::run::Plugins;

pub use members::{Flying, Members, NotLearned};
pub use plan::{Actions, Member, Plan, Recipe};
pub use replay::{Replayed, verify};

const NAME: &str = "corral band";
const VERSION: u16 = 6;

/// What a file holds.
#[derive(Serialize, Deserialize)]
pub struct SavedBand {
    /// What it is built from.
    pub plan: Plan,
    /// The state of its members.
    pub members: Vec<u8>,
    /// The generator of its decisions.
    pub rng: Pcg64Dxsm,
    /// How much one client may say.
    pub quota: Option<Quota>,
    /// The decisions that wait for their rewards.
    pub waiting: Option<SavedWaiting>,
    /// The values of its bases, where they are followed.
    pub watch: Option<Watch>,
}

/// Decisions that wait for their rewards.
#[derive(Serialize, Deserialize)]
pub struct SavedWaiting {
    /// The most that may wait.
    pub most: u64,
    /// Since when each waits, and what Python holds of it.
    pub open: Vec<(u64, Vec<u8>)>,
    /// Those that expired last.
    pub expired: Vec<TicketId>,
    /// How many expired.
    pub count: u64,
}

impl SavedBand {
    /// Whether a file is of such a band, in whatever state.
    pub fn is(bytes: &[u8]) -> bool {
        let other = |e| {
            matches!(e, SnapshotError::Algorithm { .. } | SnapshotError::Magic | SnapshotError::Format { .. })
        };
        !snapshot::open::<()>(NAME, VERSION, bytes).is_err_and(other)
    }

    /// The bytes of a file.
    pub fn seal(&self) -> Vec<u8> {
        snapshot::seal(NAME, VERSION, self)
    }

    /// Reads a file.
    ///
    /// # Errors
    /// It is not of a band, of another version, or damaged.
    pub fn open(bytes: &[u8]) -> Answer<Self> {
        Ok(snapshot::open(NAME, VERSION, bytes)?)
    }

    /// The members as they were when the band was saved; decisions know as much of probabilities as `level` says.
    ///
    /// # Errors
    /// A base cannot be built here, or does not take its state.
    pub fn members(
        &mut self,
        level: Propensities,
        plugins: &Plugins,
        objects: &mut dyn Objects,
    ) -> Answer<Members> {
        self.plan.params.propensities = level;
        let mut members = self.plan.rebuild(plugins, objects)?;
        members.load(&self.members)?;
        Ok(members)
    }
}

/// Whoever can build the bases that are objects of Python.
pub trait Objects {
    /// Builds the base at this place of a plan from what was pickled of it.
    ///
    /// # Errors
    /// It cannot be built.
    fn build(&mut self, plan: &Plan, at: usize, pickled: &[u8]) -> Answer<Learner>;

    /// Whether something came up inside one of them that is the caller's.
    ///
    /// # Errors
    /// What it is.
    fn check(&mut self) -> Answer<()> {
        Ok(())
    }
}

/// Where there is no Python.
impl Objects for () {
    fn build(&mut self, plan: &Plan, at: usize, _: &[u8]) -> Answer<Learner> {
        let name = plan.members.get(at).map_or("", |member| &member.name);
        Err(SavedError::value(format!(
            "the base {name:?} is an object of Python, which this program does not run: corral.log.verify does, in Python"
        )))
    }
}

/// What goes wrong with a saved band.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum SavedError {
    /// Something cannot be used.
    #[error("{0}")]
    Value(String),
    /// The band cannot go on.
    #[error("{0}")]
    Failed(String),
}

/// The result of what is done with a saved band.
pub type Answer<T> = Result<T, SavedError>;

impl SavedError {
    /// Something that cannot be used.
    pub fn value(why: impl std::fmt::Display) -> Self {
        Self::Value(why.to_string())
    }

    /// An error about it, unless it `holds`.
    ///
    /// # Errors
    /// `why`.
    pub fn unless(holds: bool, why: impl std::fmt::Display) -> Answer<()> {
        if holds { Ok(()) } else { Err(Self::value(why)) }
    }

    /// The same error, of the thing called `what`.
    #[must_use]
    pub fn of(self, what: impl std::fmt::Display) -> Self {
        match self {
            Self::Value(why) => Self::Value(format!("{what}: {why}")),
            Self::Failed(why) => Self::Failed(format!("{what}: {why}")),
        }
    }
}

impl From<EnsembleError> for SavedError {
    fn from(error: EnsembleError) -> Self {
        match error {
            EnsembleError::NoneLeft { .. } | EnsembleError::Master(MasterError::Step { .. }) => {
                Self::Failed(error.to_string())
            }
            // The last base cannot go, a share is invalid, a master takes no base: what the caller asked cannot be done.
            _ => Self::value(error),
        }
    }
}

macro_rules! from {
    ($($error:ty)*) => {$(
        impl From<$error> for SavedError {
            fn from(error: $error) -> Self {
                Self::value(error)
            }
        }
    )*};
}
from! { BandError BuildError ParamError SnapshotError Unknown }
