//! Expert advice without structure: every expert recommends at random, one of them is a little better.

use corral_core::policy::Tree;

use crate::prelude::*;

params! {
    /// Parameters of [`Advice`].
    pub struct AdviceParams {
        /// N, the number of experts.
        experts: usize = 16, Bounds::between(2.0, 65_536.0);
        /// K, the number of actions.
        arms: usize = 4, Bounds::between(2.0, 1_024.0);
        /// Of the gap scale * sqrt(K ln N / T).
        scale: f64 = 0.25, Bounds::POSITIVE;
    }
}

impl Builds for AdviceParams {
    fn build(self, ask: Ask<'_>) -> Result<AnyEnvironment, EnvError> {
        ask.budget.claim("experts", self.experts, self.experts as u128 * (4 * self.arms as u128 + 4))?;
        let (k, n) = (self.arms as f64, self.experts as f64);
        let gap = (self.scale * libm::sqrt(k * libm::log(n) / ask.rounds.max(1) as f64)).min(0.5);
        let good = Draw::new(ask.rng).stream(0).index(self.experts);
        let class: Result<Arc<[Policy]>, ParamError> =
            (0..self.experts).map(|i| follow(i, 0, self.arms).map(Policy::Tree)).collect();
        ask.game(Advice {
            class: class?,
            arms: self.arms,
            good,
            gap,
            facts: [("gap", gap)],
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
    facts: [(&'static str, f64); 1],
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

    fn facts(&self) -> &[(&'static str, f64)] {
        &self.facts
    }
}
