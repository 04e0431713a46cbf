//! Contextual bases that regress the loss on features.
//!
//! Where actions have features, one parameter vector is shared by all actions; where only the context has features, every
//! action has a vector of its own. Rounds may offer fewer actions than were announced: the first ones.
//!
//! | how they explore | bases |
//! |---|---|
//! | by confidence bounds | [`LinUcb`], [`RegCb`], [`GlmUcb`] |
//! | by draws around the regression | [`LinTs`] |
//! | by the inverse of the predicted gap | [`SquareCb`] |
//! | by random actions | [`LinearEpsilonGreedy`] |
//! | not at all | [`Greedy`], [`Nlms`] |
//!
//! The features are part of the world that a base is built for:
//!
//! ```
//! use corral_bases::BaseParams;
//! use corral_bases::linear::LinUcbParams;
//! use corral_core::{Base, Context, Setup};
//! # use rand::SeedableRng;
//! # let mut rng = rand_pcg::Pcg64Dxsm::seed_from_u64(1);
//! let mut world = Setup::arms(2, Some(500));
//! world.context.features = 2;
//! let mut base = LinUcbParams { scale: 0.2, ..LinUcbParams::default() }.build(&world)?;
//! let mut late = 0.0;
//! for round in 0..500 {
//!     let side = if round % 2 == 0 { 1.0 } else { -1.0 };
//!     let x = Context::shared(vec![1.0, side], 2);
//!     let made = base.propose(&x, &mut rng)?;
//!     let loss = 0.5 + 0.3 * side * [1.0, -1.0][made.decision.index()];
//!     base.learn(&x, &made, loss.into())?;
//!     late += if round >= 400 { loss } else { 0.0 };
//! }
//! assert!(late < 30.0, "{late}"); // 20 is the least
//! # Ok::<(), corral_core::BaseError>(())
//! ```

use corral_core::registry::{BuildError, RegistryRow};
use corral_core::{Arm, Base, Context, Learner, Setup};

use crate::built::{Build, build, read_for, refused, row};
pub use crate::regression::{Glm, Link, Regressor, Ridge};

mod epsilon_greedy;
mod features;
mod glm_ucb;
mod greedy;
mod held;
mod layout;
mod learner;
mod lints;
mod linucb;
mod nlms;
mod plain_greedy;
mod prelude;
mod regcb;
mod squarecb;

pub use epsilon_greedy::{EpsilonGreedyParams, LinearEpsilonGreedy};
pub use features::{Features, Featurize};
pub use glm_ucb::{GlmUcb, GlmUcbParams};
pub use greedy::{Greedy, GreedyParams};
pub use layout::{Parameters, RidgeParams};
pub(crate) use learner::by_ridge;
pub use learner::{ActionRule, Linear, OverFeatures, Regression, View};
pub use lints::{Draw, LinTs, LinTsParams};
pub use linucb::{LinUcb, LinUcbParams};
pub use nlms::{Lms, Nlms, NlmsParams};
pub use plain_greedy::PlainEpsilonGreedy;
pub use regcb::{RegCb, RegCbParams};
pub use squarecb::{Forecast, SquareCb, SquareCbParams};

/// The rows of the registry.
pub(crate) fn rows() -> Vec<RegistryRow<Build>> {
    vec![
        epsilon_greedy::row(),
        over_features::<GreedyParams>(),
        over_features::<LinUcbParams>(),
        over_features::<LinTsParams>(),
        over_features::<GlmUcbParams>(),
        over_features::<SquareCbParams>(),
        over_features::<RegCbParams>(),
        over_features::<NlmsParams>(),
    ]
}

/// The row of a base over features, behind its representation of the context.
fn over_features<P: Regression>() -> RegistryRow<Build>
where
    P::Base: Base<Context, Arm> + 'static,
{
    row::<P>(build_over_features::<P>)
}

fn build_over_features<P: Regression>(table: &toml::Table, setup: &Setup) -> Result<Learner, BuildError>
where
    P::Base: Base<Context, Arm> + 'static,
{
    let params = read_for::<P>(table, setup)?;
    let features = params.features().clone();
    let shape = setup.context;
    let makes_some = matches!(features, Features::Bias | Features::Polynomial | Features::OneHot);
    if shape.features + shape.row_features == 0 && !makes_some {
        let needs = "an environment with features, or features = \"one-hot\"";
        return Err(BuildError::unfit("base", P::NAME, needs));
    }
    // One model of rows alone could not tell two contexts apart, and shared features alone not two actions.
    let both = shape.features > 0 && shape.row_features > 0;
    let crossed = both && params.parameters() == Parameters::Auto;
    if features == Features::Raw && !crossed {
        return Ok(Learner::Arms(Box::new(build(params, setup)?)));
    }
    let base = Featurize::new(&features, setup, crossed, |seen| params.build(seen)).map_err(refused::<P>)?;
    Ok(Learner::Arms(Box::new(base)))
}
