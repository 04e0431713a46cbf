//! What a band is built from.

use corral_bases::band::Band;
use corral_core::{Base, Context, Decision, Ticket};
use corral_log::Member;
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::error::ServeError;

/// A decision that can be served and logged.
pub trait Served: Decision + Serialize + DeserializeOwned {
    /// What the log says of a ticket for it; `pbar` is the distribution over the bases when it was made.
    fn logged(ticket: &Ticket<Self>, pbar: &[f64], x: &Context) -> corral_log::Decided;
}

impl<D: Decision + Serialize + DeserializeOwned> Served for D
where
    for<'a> corral_log::Played: From<&'a D>,
{
    fn logged(ticket: &Ticket<Self>, pbar: &[f64], x: &Context) -> corral_log::Decided {
        corral_log::Decided::of(ticket, pbar, x)
    }
}

/// What a band is built from, in every process alike.
pub trait Model<D>: Send + Sync {
    /// The band as it is before anything is learned. Its [id and secret](corral_core::EnsembleParams) may be drawn: those of
    /// the first process to build it are kept in the store.
    ///
    /// # Errors
    /// It cannot be built.
    fn band(&self) -> Result<Band<D>, ServeError>;

    /// The base of a line `add` or `replace`, from the name and the parameters that it was added with.
    ///
    /// # Errors
    /// It cannot be built.
    fn base(&self, member: &Member) -> Result<Box<dyn Base<Context, D>>, ServeError>;

    /// A text that says what the band is built from. A store that holds another is refused.
    fn describe(&self) -> String;

    /// Whether the values of the bases are followed while the band runs.
    fn watch(&self) -> bool {
        false
    }

    /// The names of the actions, for the log; empty where they have none.
    fn actions(&self) -> Vec<String> {
        Vec::new()
    }
}
