//! Contextual bases that regress the loss on features.
//!
//! Where actions have features, one parameter vector is shared by all actions and rounds may offer fewer actions than
//! were announced; where only the context has features, every action has a vector of its own.

use corral_core::catalog::Entry;
use corral_core::{Arm, Base, BaseError, Context, Learner, Setup, Space};
use serde::de::DeserializeOwned;

use crate::registry::{BuildError, Row};

mod epsilon_greedy;
mod features;
mod glm;
mod glm_ucb;
mod greedy;
mod held;
mod learner;
mod lints;
mod linucb;
mod nlms;
mod packed;
mod regcb;
mod regressor;
mod ridge;
mod squarecb;

pub use epsilon_greedy::{EpsilonGreedyParams, LinearEpsilonGreedy};
pub use features::{Features, Featurize};
pub use glm::{Glm, Link};
pub use glm_ucb::{GlmUcb, GlmUcbParams};
pub use greedy::{Greedy, GreedyParams};
pub use learner::{Choice, Linear, View};
pub use lints::{Draw, LinTs, LinTsParams};
pub use linucb::{LinUcb, LinUcbParams};
pub use nlms::{Lms, Nlms, NlmsParams};
pub use regcb::{RegCb, RegCbParams};
pub use regressor::Regressor;
pub use ridge::{Parameters, Ridge, RidgeParams};
pub use squarecb::{Forecast, SquareCb, SquareCbParams};

/// The rows of the registry.
pub(crate) const ROWS: &[Row] = &[
    epsilon_greedy::ROW,
    greedy::ROW,
    linucb::ROW,
    lints::ROW,
    glm_ucb::ROW,
    squarecb::ROW,
    regcb::ROW,
    nlms::ROW,
];

/// Builds a base over features, behind its representation of the context.
fn build<P, B>(
    entry: &Entry,
    table: &toml::Table,
    setup: &Setup,
    features: fn(&P) -> Features,
    check: fn(P, &Setup) -> Result<B, BaseError>,
) -> Result<Learner, BuildError>
where
    P: DeserializeOwned,
    B: Base<Context, Arm> + 'static,
{
    let params: P = crate::registry::params(entry, table)?;
    if !matches!(setup.space, Space::Arms(_)) {
        return Err(crate::registry::unfit(entry, "an environment with arms"));
    }
    let features = features(&params);
    let shape = setup.context;
    let makes_some = matches!(features, Features::Bias | Features::Polynomial | Features::OneHot);
    if shape.features + shape.row_features == 0 && !makes_some {
        return Err(crate::registry::unfit(entry, "an environment with features, or features = \"one-hot\""));
    }
    let built: Result<Box<dyn Base<Context, Arm>>, BaseError> = match features {
        Features::Raw => check(params, setup).map(|base| Box::new(base) as Box<dyn Base<Context, Arm>>),
        other => {
            Featurize::new(&other, setup, |seen| check(params, seen)).map(|base| Box::new(base) as Box<_>)
        }
    };
    match built {
        Ok(base) => Ok(Learner::Arms(base)),
        Err(source) => Err(BuildError::Base { name: entry.name.to_owned(), source }),
    }
}
