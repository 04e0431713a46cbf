//! Policies as plain data: evaluation and no learning. Oracles over classes of policies live in `corral-bases`.

use serde::{Deserialize, Serialize};

use crate::Context;

/// A map from contexts to actions. `Eq` and `Hash` are those of a canonical form.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum Policy {
    /// One action per finite context, by [`Context::cell`].
    Table(Vec<u16>),
}

impl Policy {
    /// The action this policy takes at `x`; `None` where it is not defined there.
    pub fn act(&self, x: &Context) -> Option<usize> {
        match self {
            Self::Table(actions) => actions.get(x.cell()?).map(|a| *a as usize),
        }
    }
}
