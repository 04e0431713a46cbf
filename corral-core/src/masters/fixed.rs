//! Fixed: always the same base, for scale.
//!
//! pbar = e_i for ever; when base i is retired, the lowest index that is left. Expects any feed; the weight is 1.
//! Guarantees the regret of that base and nothing else.

use serde::{Deserialize, Serialize};

use super::rule::{Rule, Ruled};
use super::{MasterSetup, Roster};
use crate::registry::{Entry, Kind, Status};
use crate::{Credit, MasterError, ParamError, SnapshotError};

crate::params! {
    /// Parameters of [`Fixed`].
    pub struct FixedParams {
        /// The base that is followed, counted from 0.
        base: usize = 0;
    }
}

/// Always the same base.
pub type Fixed = Ruled<FixedRule>;

/// The rule of [`Fixed`].
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct FixedRule {
    base: usize,
}

impl Rule for FixedRule {
    type Params = FixedParams;

    const ENTRY: Entry = Entry {
        name: "fixed",
        summary: "always the same base, for scale",
        source: "folklore",
        regret: "that base's",
        alpha: None,
        fits: "any feed",
        cost: "O(M)",
        kind: Kind::Any,
        status: Status::Standard,
    };

    fn new(params: &FixedParams, setup: &MasterSetup) -> Result<Self, ParamError> {
        if params.base < setup.bases {
            Ok(Self { base: params.base })
        } else {
            Err(ParamError::new("base", params.base, "below the number of bases"))
        }
    }

    fn takes_real_losses(_: &FixedParams) -> bool {
        true
    }

    fn learn(&mut self, _: f64, _: Credit<'_>, _: &Roster, _: &[f64]) -> Result<(), MasterError> {
        Ok(())
    }

    fn distribute(&mut self, roster: &Roster, out: &mut [f64]) {
        let base = if roster.has(self.base) { self.base } else { roster.least(|_| 0.0) };
        out.fill(0.0);
        out[base] = 1.0;
    }

    fn weight_range(&self) -> Option<f64> {
        Some(1.0)
    }

    fn admits(&self, state: &Self) -> Result<(), SnapshotError> {
        if self == state {
            Ok(())
        } else {
            Err(SnapshotError::state(format!("it follows base {}", state.base)))
        }
    }
}
