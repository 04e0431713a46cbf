//! The side information x_t that a round begins with.

use rand_core::Rng;
use serde::{Deserialize, Serialize};

/// Side information of one round: shared features, how many actions there are this round, optionally one feature
/// row per action (so that action sets may change from round to round), optionally the index of a finite context.
///
/// Rounds without side information carry [`Context::plain`]: no features, K actions.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Context {
    features: Vec<f64>,
    actions: u32,
    rows: Vec<f64>,
    row_dim: u32,
    cell: Option<u32>,
}

impl Context {
    /// No side information: `actions` arms (0 where decisions are points).
    pub fn plain(actions: usize) -> Self {
        Self { actions: actions as u32, ..Self::default() }
    }

    /// Shared features and a fixed number of actions.
    #[inline]
    pub fn shared(features: Vec<f64>, actions: usize) -> Self {
        Self { features, actions: actions as u32, rows: Vec::new(), row_dim: 0, cell: None }
    }

    /// The `cell`-th of finitely many contexts.
    pub fn tabular(cell: usize, actions: usize) -> Self {
        Self { actions: actions as u32, cell: Some(cell as u32), ..Self::default() }
    }

    /// Shared features and one row of `row_dim` features per action; the number of actions is the number of rows.
    /// Rows that do not divide evenly are cut to whole rows.
    #[inline]
    pub fn with_rows(features: Vec<f64>, mut rows: Vec<f64>, row_dim: usize) -> Self {
        let actions = rows.len().checked_div(row_dim).unwrap_or(0);
        rows.truncate(actions * row_dim);
        Self { features, actions: actions as u32, rows, row_dim: row_dim as u32, cell: None }
    }

    /// The shared features.
    #[inline]
    pub fn features(&self) -> &[f64] {
        &self.features
    }

    /// How many actions can be chosen this round.
    #[inline]
    pub fn actions(&self) -> usize {
        self.actions as usize
    }

    /// The features of one action, where this round has them.
    pub fn row(&self, action: usize) -> Option<&[f64]> {
        let dim = self.row_dim as usize;
        (dim > 0).then(|| self.rows.get(action * dim..(action + 1) * dim)).flatten()
    }

    /// All rows, one action after the other; empty where actions have no features.
    #[inline]
    pub fn rows(&self) -> &[f64] {
        &self.rows
    }

    /// Features per action row; 0 where actions have no features.
    #[inline]
    pub fn row_dim(&self) -> usize {
        self.row_dim as usize
    }

    /// Which of finitely many contexts this is, where contexts are finite.
    #[inline]
    pub fn cell(&self) -> Option<usize> {
        self.cell.map(|c| c as usize)
    }

    /// Marks this as the `cell`-th of finitely many contexts.
    #[inline]
    pub fn set_cell(&mut self, cell: Option<usize>) {
        self.cell = cell.map(|c| c as u32);
    }

    /// Refills the shared features in place, keeping the room.
    pub fn features_mut(&mut self) -> &mut Vec<f64> {
        &mut self.features
    }

    /// Refills the action rows in place through `fill`, keeping the room; sets the number of actions from them.
    pub fn refill_rows(&mut self, row_dim: usize, fill: impl FnOnce(&mut Vec<f64>)) {
        self.rows.clear();
        fill(&mut self.rows);
        self.row_dim = row_dim as u32;
        let actions = self.rows.len().checked_div(row_dim).unwrap_or(0);
        self.rows.truncate(actions * row_dim);
        self.actions = actions as u32;
    }

    /// Makes this equal to `other`, keeping the room (a `clone_from` without allocation).
    pub fn copy_from(&mut self, other: &Self) {
        self.features.clear();
        self.features.extend_from_slice(&other.features);
        self.rows.clear();
        self.rows.extend_from_slice(&other.rows);
        (self.actions, self.row_dim, self.cell) = (other.actions, other.row_dim, other.cell);
    }
}

/// What every context of an environment looks like.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ContextShape {
    /// Number of shared features.
    pub features: usize,
    /// Number of features per action row; 0 where actions have none.
    pub row_features: usize,
    /// How many contexts there are, where they are finite.
    pub cells: Option<usize>,
}

/// Draws contexts from the distribution that an environment's i.i.d. contexts come from. BISTRO+ hallucinates its
/// future with it.
pub trait ContextSampler: Send + Sync {
    /// A fresh context.
    fn sample(&self, rng: &mut dyn Rng) -> Context;

    /// As [`sample`](ContextSampler::sample), into a context whose room is used again; draws the same.
    fn sample_into(&self, rng: &mut dyn Rng, into: &mut Context) {
        *into = self.sample(rng);
    }
}
