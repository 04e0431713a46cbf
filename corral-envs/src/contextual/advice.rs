//! Expert advice without structure: every expert recommends at random, one of them is a little better.

use std::sync::Arc;

use corral_core::policy::Tree;
use corral_core::{ContextShape, ParamError, Policy, Rng, Setup};
use serde::Deserialize;

use crate::bandit::{Game, Round};
use crate::registry::{Row, entry, field};
use crate::regret::ArmSums;
use crate::{Draw, EnvError};

/// Parameters of [`Advice`].
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AdviceParams {
    /// N, the number of experts.
    #[serde(default = "sixteen")]
    pub experts: usize,
    /// K, the number of actions.
    #[serde(default = "four")]
    pub arms: usize,
    /// Of the gap scale * sqrt(K ln N / T).
    #[serde(default = "quarter")]
    pub scale: f64,
}

fn sixteen() -> usize {
    16
}

fn four() -> usize {
    4
}

fn quarter() -> f64 {
    0.25
}

impl AdviceParams {
    /// Draws the good expert, and builds the world for a run of `rounds` rounds.
    ///
    /// # Errors
    /// There are fewer than two experts or actions or too many, or the scale is not positive.
    pub fn draw(self, rounds: u64, rng: &mut dyn Rng) -> Result<Advice, ParamError> {
        if !(2..=1 << 16).contains(&self.experts) {
            return Err(ParamError::new("experts", self.experts, "in 2..=2^16"));
        }
        if !(2..=1 << 10).contains(&self.arms) {
            return Err(ParamError::new("arms", self.arms, "in 2..=2^10"));
        }
        if self.experts * self.arms > 1 << 22 {
            return Err(ParamError::new("experts", self.experts, "fewer for so many actions"));
        }
        let scale = ParamError::positive("scale", self.scale)?;
        let (k, n) = (self.arms as f64, self.experts as f64);
        let gap = (scale * libm::sqrt(k * libm::log(n) / rounds.max(1) as f64)).min(0.5);
        let good = Draw::new(rng).stream(0).index(self.experts);
        let class: Result<Arc<[Policy]>, ParamError> =
            (0..self.experts).map(|i| follow(i, 0, self.arms).map(Policy::Tree)).collect();
        Ok(Advice {
            class: class?,
            arms: self.arms,
            good,
            gap,
            experts: vec![0.0; self.experts],
            sums: ArmSums::new(self.experts),
        })
    }
}

/// The policy that follows an expert, for recommendations in `from..to`: a search by halves of feature `expert`.
fn follow(expert: usize, from: usize, to: usize) -> Result<Tree, ParamError> {
    if to - from == 1 {
        return Ok(Tree::leaf(from as u16));
    }
    let middle = (from + to) / 2;
    Tree::split(expert, middle as f64 - 0.5, follow(expert, from, middle)?, follow(expert, middle, to)?)
}

/// Each round every expert recommends a uniform action: feature i of the context is the action of expert i. The action
/// of the good expert costs 1 with probability 1/2 - gap, every other with 1/2. The class offered to bases is "follow
/// expert i".
#[derive(Debug, Clone)]
pub struct Advice {
    class: Arc<[Policy]>,
    arms: usize,
    good: usize,
    gap: f64,
    // Mean loss of each expert's recommendation.
    experts: Vec<f64>,
    sums: ArmSums,
}

impl Game for Advice {
    const SUMS_LEAST: bool = false;

    fn setup(&self) -> Setup {
        Setup {
            context: ContextShape { features: self.class.len(), row_features: 0, cells: None },
            policies: Some(Arc::clone(&self.class)),
            ..Setup::arms(self.arms, None)
        }
    }

    fn next(&mut self, round: Round<'_>) -> Result<(), EnvError> {
        let mut stream = round.draw.stream(0);
        let advice = round.context.features_mut();
        advice.clear();
        advice.extend((0..self.class.len()).map(|_| stream.index(self.arms) as f64));
        let best = advice[self.good];
        for (mean, action) in self.experts.iter_mut().zip(advice) {
            *mean = if *action == best { 0.5 - self.gap } else { 0.5 };
        }
        self.sums.add(&self.experts);
        round.means.fill(0.5);
        round.means[best as usize] -= self.gap;
        Ok(())
    }

    fn best(&self, _rounds: u64, _least: f64) -> f64 {
        self.sums.best()
    }

    fn facts(&self) -> Vec<(&'static str, f64)> {
        vec![("gap", self.gap)]
    }
}

pub(super) const ADVICE: Row = Row {
    entry: entry(
        "expert-advice",
        "contextual",
        "every expert recommends at random each round, and one of them is better by sqrt(K ln N / T)/4",
        "the paper's contextual example, adversarial contexts and losses; the hard instance of EXP4",
        "oblivious adversary; offers the experts as its policy class",
        "O(N)",
        &[
            field("experts", "16", "N, the number of experts"),
            field("arms", "4", "K, the number of actions"),
            field("scale", "0.25", "the gap is scale * sqrt(K ln N / T)"),
        ],
    ),
    example: "",
    build: |request, rng| {
        let params: AdviceParams = request.read()?;
        request.game(params.draw(request.rounds, rng))
    },
};
