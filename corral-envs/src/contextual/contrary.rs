//! An adversary that answers what was played, context by context.

use std::sync::Arc;

use corral_core::{Context, ContextSampler, ParamError, Policy, Rng, Setup};
use serde::Deserialize;

use super::tabular::{Cells, random_tables};
use crate::arms::{AntiGreedy, AntiGreedyParams, Path};
use crate::bandit::{Game, Round};
use crate::registry::{Row, entry, field};
use crate::regret::CellSums;
use crate::{Draw, EnvError};

/// In which order contexts come.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Order {
    /// Adversarial: one after the other, each for an equal part of the run.
    #[default]
    Sorted,
    /// i.i.d., all with the same probability.
    Uniform,
}

/// Parameters of [`Contrary`].
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ContraryParams {
    /// The number of contexts.
    #[serde(default = "four")]
    pub contexts: usize,
    /// The number of actions.
    #[serde(default = "three")]
    pub arms: usize,
    /// The number of policies, drawn at random.
    #[serde(default = "policies")]
    pub policies: usize,
    /// Over how many past rounds of its context plays are counted.
    #[serde(default = "hundred")]
    pub window: usize,
    /// In which order contexts come.
    #[serde(default)]
    pub order: Order,
}

fn four() -> usize {
    4
}

fn three() -> usize {
    3
}

fn policies() -> usize {
    16
}

fn hundred() -> usize {
    100
}

impl ContraryParams {
    /// Draws the class, and builds the world for a run of `rounds` rounds.
    ///
    /// # Errors
    /// A size is 0 or too large, or there are fewer than two actions.
    pub fn draw(self, rounds: u64, rng: &mut dyn Rng) -> Result<Contrary, ParamError> {
        let class = random_tables(self.contexts, self.arms, self.policies, rng)?;
        if self.contexts.saturating_mul(self.window) > 1 << 24 {
            return Err(ParamError::new("window", self.window, "smaller for so many contexts"));
        }
        let answer = AntiGreedyParams { arms: self.arms, window: self.window }.check()?;
        let cells = Cells::new(self.contexts, self.arms, Vec::new(), false)?;
        Ok(Contrary {
            answers: vec![answer; self.contexts],
            cell: 0,
            order: self.order,
            rounds: rounds.max(1),
            sums: CellSums::new(self.contexts, self.arms, Arc::clone(&class)),
            cells: Arc::new(cells),
            class,
        })
    }
}

/// In each context the action that was played most in it over its last rounds costs 1, the others 0. The class offered to
/// bases is one of random tables; regret is against the best of them for the losses that were realised.
#[derive(Debug, Clone)]
pub struct Contrary {
    cells: Arc<Cells>,
    class: Arc<[Policy]>,
    answers: Vec<AntiGreedy>,
    cell: usize,
    order: Order,
    rounds: u64,
    sums: CellSums,
}

impl Game for Contrary {
    const SUMS_LEAST: bool = false;

    fn setup(&self) -> Setup {
        let iid = self.order == Order::Uniform;
        Setup {
            context: self.cells.shape(),
            policies: Some(Arc::clone(&self.class)),
            sampler: iid.then(|| Arc::clone(&self.cells) as Arc<dyn ContextSampler>),
            ..Setup::arms(self.cells.arms(), None)
        }
    }

    fn next(&mut self, round: Round<'_>) -> Result<(), EnvError> {
        self.cell = self.cells.cell(match self.order {
            Order::Sorted => (round.number as f64 / self.rounds as f64).min(1.0),
            Order::Uniform => round.draw.uniform(0),
        });
        self.cells.write(self.cell, round.context);
        self.answers[self.cell].means(round.number, round.draw, round.means);
        self.sums.add(self.cell, round.means);
        Ok(())
    }

    fn loss(&self, _arm: usize, mean: f64, _draw: Draw) -> f64 {
        mean
    }

    fn played(&mut self, arm: usize, _context: &Context) {
        self.answers[self.cell].played(arm);
    }

    fn best(&self, _rounds: u64, _least: f64) -> f64 {
        self.sums.best()
    }
}

pub(super) const CONTRARY: Row = Row {
    entry: entry(
        "contrary",
        "contextual",
        "in each context the action that was played most in it costs 1, the others 0",
        "the paper's contextual example, adversarial contexts and losses, adaptive adversary",
        "adaptive adversary; regret against its policy class, for the losses that were realised",
        "O(K)",
        &[
            field("contexts", "4", "number of contexts"),
            field("arms", "3", "number of actions, at least 2"),
            field("policies", "16", "number of policies of the class, drawn at random"),
            field("window", "100", "over how many past rounds of its context plays are counted"),
            field("order", "\"sorted\"", "sorted: one context after the other, or uniform: i.i.d."),
        ],
    ),
    example: "contexts = 3\nwindow = 5\norder = \"uniform\"",
    build: |request, rng| {
        let params: ContraryParams = request.read()?;
        request.game(params.draw(request.rounds, rng))
    },
};
