//! What a table leaves open, and what would answer it.

use std::path::Path;

use super::columns::Missing;
use super::source::at;
use crate::EnvError;

/// Why a table is not played.
#[derive(Debug)]
pub enum Trouble {
    /// It cannot be.
    Error(EnvError),
    /// It can be read in more than one way, or probably not as it was meant.
    Asks(Vec<Question>),
}

/// Something that the spec must say.
#[derive(Debug)]
pub struct Question {
    /// Where it came up.
    pub line: Option<u64>,
    /// What is asked, and which key answers.
    pub what: String,
    /// The answer that is most often right.
    pub fix: Fix,
}

/// An answer: a key of the data set.
#[derive(Debug, Clone, PartialEq)]
pub enum Fix {
    /// `separator`.
    Separator(char),
    /// `header`.
    Header(bool),
    /// `decimal`.
    Decimal(char),
    /// One more column for `ignore`.
    Ignore(String),
    /// One more column for `categorical`.
    Categorical(String),
    /// `missing` for a column.
    Missing(String, Missing),
    /// `levels`.
    Levels(usize),
    /// None is most often right.
    Nothing,
}

impl From<EnvError> for Trouble {
    fn from(error: EnvError) -> Self {
        Self::Error(error)
    }
}

impl From<corral_core::ParamError> for Trouble {
    fn from(error: corral_core::ParamError) -> Self {
        Self::Error(error.into())
    }
}

impl From<Question> for Trouble {
    fn from(question: Question) -> Self {
        Self::Asks(vec![question])
    }
}

impl Trouble {
    /// As an error at a line of the file: the first question stands for all.
    pub fn into_error(self, path: &Path) -> EnvError {
        match self {
            Self::Error(error) => error,
            Self::Asks(mut questions) => {
                let others = questions.len().saturating_sub(1);
                let more = match others {
                    0 => String::new(),
                    n => format!(
                        " ({n} more such question{}: `corral new data FILE` answers most)",
                        if n == 1 { "" } else { "s" }
                    ),
                };
                let first = questions.drain(..).next();
                let (line, what) = first.map_or((None, String::new()), |q| (q.line, q.what));
                at(path, line, what + &more)
            }
        }
    }
}
