//! An adversary that answers what was played, context by context.

use super::tabular::{CELLS, Cells, random_tables};
use crate::arms::{AntiGreedy, WINDOW};
use crate::prelude::*;

params! {
    /// Parameters of [`Contrary`].
    pub struct ContraryParams {
        /// The number of contexts.
        contexts: usize = 4, CELLS;
        /// The number of actions.
        arms: usize = 3, Bounds::between(2.0, 65_536.0);
        /// The number of policies, drawn at random.
        policies: usize = 16, CELLS;
        /// Over how many past rounds of its context plays are counted.
        window: usize = 100, WINDOW;
        /// In which order contexts come.
        order: Order = Order::default();
        /// Whether contexts also carry their index as one-hot features, for bases that want features.
        one_hot: bool = false;
    }

    /// In which order contexts come.
    pub enum Order {
        /// Adversarial: one after the other, each for an equal part of the run.
        #[default]
        Sorted,
        /// i.i.d., all with the same probability.
        Uniform,
    }
}

impl Builds for ContraryParams {
    fn build(self, ask: Ask<'_>) -> Result<AnyEnvironment, EnvError> {
        let class = random_tables(self.contexts, self.arms, self.policies, ask.rng, &ask.budget)?;
        ask.budget.claim("window", self.window, self.contexts as u128 * self.window as u128 / 2)?;
        let cells = Cells::new(self.contexts, self.arms, Vec::new(), self.one_hot)?;
        ask.game(Contrary {
            answers: vec![AntiGreedy::new(self.arms, self.window); self.contexts],
            cell: 0,
            order: self.order,
            rounds: ask.rounds.max(1),
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
        self.answers[self.cell].means(round.means);
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
