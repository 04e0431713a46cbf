//! From our errors to Python's, in one place.
//!
//! | ours | Python's |
//! |---|---|
//! | a name, value, decision, snapshot or spec that cannot be used | `ValueError` |
//! | of another type than asked for | `TypeError` |
//! | no base is left, a step that cannot be solved, a band that is called from inside one of its bases | `RuntimeError` |
//! | files | `OSError`, `FileNotFoundError` |
//! | a base that failed and plays no more | the warning `corral.BenchedWarning`, caused by the base's own exception |
//!
//! All but the warning are a `corral.CorralError` too: `python/corral/_errors.py`.

use corral_bases::band::BandError;
use corral_core::registry::{BuildError, Unknown};
use corral_core::{BaseError, EnsembleError, MasterError, ParamError, SnapshotError};
use corral_envs::EnvError;
use corral_lab::run::RunError;
use corral_lab::saved::SavedError;
use corral_lab::spec::SpecError;
use corral_lab::store::StoreError;
use pyo3::exceptions::PyUserWarning;
use pyo3::prelude::*;
use pyo3::{CastError, create_exception};

use crate::exit;

create_exception!(
    corral,
    BenchedWarning,
    PyUserWarning,
    "A base failed and plays no more; the band goes on over the others. Its cause is the exception of the base."
);

/// What goes wrong on our side of the boundary.
pub enum Error {
    /// Cannot be used.
    Value(String),
    /// A round that leaves actions out, and a base that must see all.
    LeftOut(String),
    /// Of another type.
    Type(String),
    /// Cannot go on.
    Failed(String),
    /// A file that cannot be read or written.
    File(String, std::io::Error),
    /// The same, in words.
    Files(String),
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

    /// A file that cannot be read or written.
    pub fn file(path: &std::path::Path) -> impl FnOnce(std::io::Error) -> Self {
        move |why| Self::File(path.display().to_string(), why)
    }

    /// The same error, of the thing called `what`.
    pub fn of(self, what: impl std::fmt::Display) -> Self {
        match self {
            Self::Value(why) => Self::Value(format!("{what}: {why}")),
            Self::LeftOut(why) => Self::LeftOut(format!("{what}: {why}")),
            Self::Type(why) => Self::Type(format!("{what}: {why}")),
            Self::Failed(why) => Self::Failed(format!("{what}: {why}")),
            other => other,
        }
    }
}

impl From<Error> for PyErr {
    fn from(error: Error) -> Self {
        exit::attach(|py| match error {
            Error::Value(why) => raised(py, "InvalidValue", (why,)),
            Error::LeftOut(why) => raised(py, "ActionsLeftOut", (why,)),
            Error::Type(why) => raised(py, "InvalidType", (why,)),
            Error::Failed(why) => raised(py, "CannotGoOn", (why,)),
            Error::File(path, why) => {
                let missing = why.kind() == std::io::ErrorKind::NotFound;
                let class = if missing { "FileMissing" } else { "FileFailed" };
                // Python says what the system's number means.
                let said = why.to_string();
                let said = said.split(" (os error").next().unwrap_or_default().to_owned();
                match why.raw_os_error() {
                    Some(number) => raised(py, class, (number, said, path)),
                    None => raised(py, class, (format!("{path}: {said}"),)),
                }
            }
            Error::Files(why) => raised(py, "FileFailed", (why,)),
            Error::Python(error) => error,
        })
    }
}

/// An exception of `corral._errors`.
fn raised<'py>(py: Python<'py>, class: &str, args: impl pyo3::call::PyCallArgs<'py>) -> PyErr {
    let made = py.import("corral._errors").and_then(|module| module.getattr(class)?.call1(args));
    made.map_or_else(|error| error, PyErr::from_value)
}

impl From<BandError> for Error {
    fn from(error: BandError) -> Self {
        error.path.iter().rev().fold(error.why.into(), |e: Self, i| e.of(format_args!("bases[{i}]")))
    }
}

impl From<EnsembleError> for Error {
    fn from(error: EnsembleError) -> Self {
        match error {
            EnsembleError::NoneLeft { .. } | EnsembleError::Master(MasterError::Step { .. }) => {
                Self::Failed(error.to_string())
            }
            EnsembleError::Context(BaseError::LeftOut { .. }) => Self::LeftOut(error.to_string()),
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

impl From<SavedError> for Error {
    fn from(error: SavedError) -> Self {
        match error {
            SavedError::Value(why) => Self::Value(why),
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
    StoreError => |e: StoreError| Error::Files(e.to_string());
    Unknown => Error::value;
    BuildError => Error::value;
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
