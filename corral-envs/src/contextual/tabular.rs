//! Finitely many contexts, a finite class of policies, and one of them planted.

use crate::prelude::*;
use corral_core::memory::Budget;

/// How the losses of a [`Tabular`] world follow its planted policy.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TabularLosses {
    /// P(loss = 1) is 1/2 - gap for the planted action, else 1/2, independently.
    Stochastic,
    /// Adversarial: the loss is 1/2 - gap for the planted action, else 1/2 + gap/5, without noise; the planted policy
    /// changes at T/3 (rounded down).
    Hybrid,
}

params! {
    /// Parameters of `planted` and `hybrid`.
    pub struct PlantedParams {
        /// The number of contexts.
        contexts: usize = 8, CELLS;
        /// The number of actions.
        arms: usize = 3, Bounds::between(1.0, 65_536.0);
        /// The number of policies, drawn at random; the planted one is the last (hybrid: the last but one, then the last).
        policies: usize = 64, CELLS;
        /// How much better the planted action is.
        gap: f64 = 0.3, Bounds::between(0.0, 0.5);
        /// Probability of each context, up to a factor; empty: all the same.
        weights: Vec<f64> = Vec::new(), Bounds::NON_NEGATIVE;
        /// Whether contexts also carry their index as one-hot features, for bases that want features.
        one_hot: bool = false;
    }
}

/// How many contexts or policies there may be: 2^20.
pub(super) const CELLS: Bounds = Bounds::between(1.0, 1_048_576.0);

impl Builds for PlantedParams {
    fn build(self, ask: Ask<'_>) -> Result<AnyEnvironment, EnvError> {
        let losses = match ask.name {
            "hybrid" => TabularLosses::Hybrid,
            _ => TabularLosses::Stochastic,
        };
        let class = random_tables(self.contexts, self.arms, self.policies, ask.rng, &ask.budget)?;
        let last = self.policies - 1;
        let cells = Cells::new(self.contexts, self.arms, self.weights, self.one_hot)?;
        let planted = [last.saturating_sub(1), last];
        ask.game(Tabular::new(cells, class, planted, self.gap, losses, ask.rounds)?)
    }
}

/// A class of tables drawn at random.
///
/// # Errors
/// They take more memory than is allowed.
pub(super) fn random_tables(
    contexts: usize,
    arms: usize,
    policies: usize,
    rng: &mut dyn Rng,
    budget: &Budget,
) -> Result<Arc<[Policy]>, ParamError> {
    let numbers = contexts as u128 * (policies as u128 / 4 + arms as u128);
    budget.claim("contexts", contexts, numbers)?;
    let mut stream = Draw::new(rng).stream(0);
    let mut policy = || Policy::Table((0..contexts).map(|_| stream.index(arms) as u16).collect());
    Ok((0..policies).map(|_| policy()).collect())
}

/// The law of the contexts.
#[derive(Debug)]
pub(super) struct Cells {
    cells: usize,
    arms: usize,
    // Cumulative probabilities; empty: uniform.
    cumulative: Vec<f64>,
    one_hot: bool,
}

impl Cells {
    pub fn new(cells: usize, arms: usize, weights: Vec<f64>, one_hot: bool) -> Result<Self, ParamError> {
        let found = format_args!("{} numbers", weights.len());
        require(weights.is_empty() || weights.len() == cells, "weights", found, "one number per context")?;
        let total: f64 = weights.iter().sum();
        let sound = weights.is_empty() || ParamError::positive("weights", total).is_ok();
        require(sound, "weights", total, "of a positive and finite sum")?;
        let mut sum = 0.0;
        let cumulative = weights.iter().map(|w| {
            sum += w / total;
            sum
        });
        Ok(Self { cells, arms, cumulative: cumulative.collect(), one_hot })
    }

    /// The number of actions.
    pub fn arms(&self) -> usize {
        self.arms
    }

    /// The context of a uniform number.
    pub fn cell(&self, u: f64) -> usize {
        let cell = if self.cumulative.is_empty() {
            (u * self.cells as f64) as usize
        } else {
            // Contexts of probability 0 have the cumulative probability of the one before, and are passed over.
            self.cumulative.partition_point(|c| *c <= u)
        };
        cell.min(self.cells - 1)
    }

    pub fn shape(&self) -> ContextShape {
        ContextShape {
            features: if self.one_hot { self.cells } else { 0 },
            row_features: 0,
            cells: Some(self.cells),
        }
    }

    pub fn write(&self, cell: usize, context: &mut Context) {
        context.set_cell(Some(cell));
        if self.one_hot {
            let features = context.features_mut();
            features.clear();
            features.resize(self.cells, 0.0);
            features[cell] = 1.0;
        }
    }
}

impl ContextSampler for Cells {
    fn sample(&self, rng: &mut dyn Rng) -> Context {
        let mut context = Context::plain(self.arms);
        self.write(self.cell(Draw::new(rng).uniform(0)), &mut context);
        context
    }

    fn probabilities(&self) -> Option<Vec<f64>> {
        if self.cumulative.is_empty() {
            return Some(vec![1.0 / self.cells as f64; self.cells]);
        }
        let before = std::iter::once(&0.0).chain(&self.cumulative);
        Some(self.cumulative.iter().zip(before).map(|(upto, before)| upto - before).collect())
    }
}

/// Finitely many i.i.d. contexts with a planted policy.
#[derive(Debug, Clone)]
pub struct Tabular {
    cells: Arc<Cells>,
    class: Arc<[Policy]>,
    planted: [Vec<u16>; 2],
    losses: TabularLosses,
    gap: f64,
    switch: u64,
    sums: CellSums,
}

impl Tabular {
    pub(super) fn new(
        cells: Cells,
        class: Arc<[Policy]>,
        planted: [usize; 2],
        gap: f64,
        losses: TabularLosses,
        rounds: u64,
    ) -> Result<Self, ParamError> {
        let table = |index: usize| match class.get(index) {
            Some(Policy::Table(table)) => Ok(table.clone()),
            _ => Err(ParamError::new("policies", index, "tables that hold the planted ones")),
        };
        let planted = [table(planted[0])?, table(planted[1])?];
        Ok(Self {
            planted,
            losses,
            gap,
            switch: if losses == TabularLosses::Hybrid { rounds / 3 } else { 0 },
            sums: CellSums::new(cells.cells, cells.arms, Arc::clone(&class)),
            cells: Arc::new(cells),
            class,
        })
    }
}

impl Game for Tabular {
    const SUMS_LEAST: bool = false;

    fn setup(&self) -> Setup {
        Setup {
            context: self.cells.shape(),
            policies: Some(Arc::clone(&self.class)),
            sampler: Some(Arc::clone(&self.cells) as Arc<dyn ContextSampler>),
            ..Setup::arms(self.cells.arms, None)
        }
    }

    fn next(&mut self, round: Round<'_>) -> Result<(), EnvError> {
        let cell = self.cells.cell(round.draw.uniform(0));
        self.cells.write(cell, round.context);
        let planted = usize::from(self.planted[usize::from(round.number >= self.switch)][cell]);
        round.means.fill(match self.losses {
            TabularLosses::Stochastic => 0.5,
            TabularLosses::Hybrid => 0.5 + 0.2 * self.gap,
        });
        round.means[planted] = 0.5 - self.gap;
        self.sums.add(cell, round.means);
        Ok(())
    }

    fn loss(&self, arm: usize, mean: f64, draw: Draw) -> f64 {
        match self.losses {
            TabularLosses::Stochastic => coin(mean, draw, 1 + arm as u64),
            TabularLosses::Hybrid => mean,
        }
    }

    fn best(&self, _rounds: u64, _least: f64) -> f64 {
        self.sums.best()
    }
}
