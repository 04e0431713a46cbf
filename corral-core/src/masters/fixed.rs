//! Fixed: always the same base, for scale.
//!
//! pbar = e_i for ever; when base i is retired, the lowest index that is left. Expects any feed; the weight is 1.
//! Guarantees the regret of that base and nothing else.

use super::prelude::*;

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

    const NAME: &'static str = "fixed";

    const CERTAIN: bool = true;

    fn new(params: &FixedParams, setup: &MasterSetup) -> Result<Self, ParamError> {
        if params.base < setup.bases {
            Ok(Self { base: params.base })
        } else {
            Err(ParamError::new("base", params.base, "below the number of bases"))
        }
    }

    fn begin(&mut self, _: &[Experience]) -> Result<(), ParamError> {
        Err(Experience::refuse("means nothing to a master that plays the same base, whatever is known"))
    }

    fn learn(&mut self, _: Credited<'_>) -> Result<(), MasterError> {
        Ok(())
    }

    fn distribute(&mut self, roster: &Roster, out: &mut [f64]) {
        let base = if roster.has(self.base) { self.base } else { roster.least(|_| 0.0) };
        follow(base, out);
    }

    fn constants(&self) -> impl Serialize {
        self.base
    }
}
