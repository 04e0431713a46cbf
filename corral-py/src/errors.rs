//! From our errors to Python's, in one place.
//!
//! | ours | Python's |
//! |---|---|
//! | a name or key that is not known | `KeyError`, with the nearest known ones |
//! | a value, a decision, a snapshot or a spec that cannot be used | `ValueError` |
//! | of another type than asked for | `TypeError` |
//! | no base is left, a step that cannot be solved, a band that is called from inside one of its bases | `RuntimeError` |
//! | files | `OSError` |
//! | a base that failed and plays no more | the warning `corral.BenchedWarning`, caused by the base's own exception |

use corral_bases::band::BandError;
use corral_core::registry::{BuildError, Unknown};
use corral_core::{EnsembleError, MasterError, ParamError, SnapshotError};
use corral_envs::EnvError;
use corral_lab::run::RunError;
use corral_lab::spec::SpecError;
use corral_lab::store::StoreError;
use pyo3::exceptions::{PyKeyError, PyOSError, PyRuntimeError, PyTypeError, PyUserWarning, PyValueError};
use pyo3::prelude::*;
use pyo3::{CastError, create_exception};

create_exception!(
    corral,
    BenchedWarning,
    PyUserWarning,
    "A base failed and plays no more; the band goes on over the others. Its cause is the exception of the base."
);

/// What goes wrong on our side of the boundary.
pub enum Error {
    /// Not known.
    Key(String),
    /// Cannot be used.
    Value(String),
    /// Of another type.
    Type(String),
    /// Cannot go on.
    Failed(String),
    /// An exception that comes from Python, or is to go there.
    Python(PyErr),
}

/// The result of everything that Python calls.
pub type Answer<T> = Result<T, Error>;

impl Error {
    /// A value that cannot be used.
    pub fn value(why: impl std::fmt::Display) -> Self {
        Self::Value(why.to_string())
    }

    /// An error about a value, unless it `holds`.
    pub fn unless(holds: bool, why: impl std::fmt::Display) -> Answer<()> {
        if holds { Ok(()) } else { Err(Self::value(why)) }
    }

    /// The same error, of the thing called `what`.
    pub fn of(self, what: impl std::fmt::Display) -> Self {
        match self {
            Self::Value(why) => Self::Value(format!("{what}: {why}")),
            Self::Type(why) => Self::Type(format!("{what}: {why}")),
            Self::Failed(why) => Self::Failed(format!("{what}: {why}")),
            other => other,
        }
    }
}

impl From<Error> for PyErr {
    fn from(error: Error) -> Self {
        match error {
            Error::Key(why) => PyKeyError::new_err(why),
            Error::Value(why) => PyValueError::new_err(why),
            Error::Type(why) => PyTypeError::new_err(why),
            Error::Failed(why) => PyRuntimeError::new_err(why),
            Error::Python(error) => error,
        }
    }
}

impl From<BuildError> for Error {
    fn from(error: BuildError) -> Self {
        match error {
            BuildError::Unknown(unknown) => unknown.into(),
            other => Self::value(other),
        }
    }
}

impl From<BandError> for Error {
    fn from(error: BandError) -> Self {
        error.path.iter().rev().fold(error.why.into(), |e: Self, i| e.of(format_args!("bases[{i}]")))
    }
}

impl From<EnsembleError> for Error {
    fn from(error: EnsembleError) -> Self {
        match error {
            EnsembleError::NoSuchBase(_) => Self::Key(error.to_string()),
            EnsembleError::NoneLeft { .. } | EnsembleError::Master(MasterError::Step { .. }) => {
                Self::Failed(error.to_string())
            }
            // The last base cannot go, a share is invalid, a master takes no base: what the caller asked cannot be done.
            _ => Self::value(error),
        }
    }
}

impl From<RunError> for Error {
    fn from(error: RunError) -> Self {
        match error {
            RunError::Spec(error) => Self::value(error),
            other => Self::Failed(other.to_string()),
        }
    }
}

macro_rules! from {
    ($($error:ty => $make:expr;)*) => {$(
        impl From<$error> for Error {
            fn from(error: $error) -> Self {
                $make(error)
            }
        }
    )*};
}
from! {
    PyErr => Error::Python;
    CastError<'_, '_> => |e: CastError<'_, '_>| Error::Python(e.into());
    std::io::Error => |e: std::io::Error| Error::Python(e.into());
    StoreError => |e: StoreError| Error::Python(PyOSError::new_err(e.to_string()));
    Unknown => |e: Unknown| Error::Key(e.to_string());
    SnapshotError => Error::value;
    ParamError => Error::value;
    EnvError => Error::value;
    SpecError => Error::value;
}

/// Warns as Python warns its users.
pub fn warn(py: Python<'_>, text: String) -> Answer<()> {
    py.import("warnings")?.call_method1("warn", (text, py.get_type::<PyUserWarning>()))?;
    Ok(())
}
