//! Uniform: every base with the same probability, for scale.
//!
//! pbar_i = 1/M for ever. Expects any feed; the weights are M. Guarantees that every base gets a 1/M share of the
//! rounds, and nothing else: the regret is the mean of the bases'.

use super::prelude::*;

crate::params! {
    /// Parameters of [`Uniform`]: none.
    pub struct UniformParams {}
}

/// Every base with the same probability.
pub type Uniform = Ruled<UniformRule>;

/// The rule of [`Uniform`].
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct UniformRule {
    bases: usize,
}

impl Rule for UniformRule {
    type Params = UniformParams;

    const NAME: &'static str = "uniform";

    fn new(_params: &UniformParams, setup: &MasterSetup) -> Result<Self, ParamError> {
        Ok(Self { bases: setup.bases })
    }

    fn begin(&mut self, _: &[Experience]) -> Result<(), ParamError> {
        Err(Experience::refuse("means nothing to a master that plays every base alike, whatever is known"))
    }

    fn learn(&mut self, _: Credited<'_>) -> Result<(), MasterError> {
        Ok(())
    }

    fn distribute(&mut self, roster: &Roster, out: &mut [f64]) {
        out.fill(0.0);
        roster.mix(1.0, out);
    }

    fn weight_range(&self) -> Option<f64> {
        Some(self.bases as f64)
    }

    fn constants(&self) -> impl Serialize {
        self.bases
    }
}
