//! What oracles remember between calls on one data set that grows.

use super::trees::Bins;

/// Buffers and intermediate results of an oracle on *one* data set that only grows at its end. Whoever cuts the data set
/// back says so with [`truncate`](Workspace::truncate) or [`clear`](Workspace::clear). Answers do not depend on it.
#[derive(Debug, Clone, Default)]
pub struct Workspace {
    /// Finite classes: the action of every policy at every site, sites one after the other.
    pub(crate) profile: Vec<u16>,
    /// How many policies there are.
    pub(crate) policies: usize,
    /// Finite classes: the cost of every policy over the single entries below `counted`.
    pub(crate) sums: Vec<f64>,
    /// How many single entries `sums` has.
    pub(crate) counted: usize,
    /// Finite classes: the cost of every policy.
    pub(crate) totals: Vec<f64>,
    /// Trees: the sites' features as bin numbers.
    pub(crate) bins: Bins,
    /// Linear policies: the regressions of each action.
    pub(crate) regressions: super::linear::Regressions,
}

impl Workspace {
    /// The data set was cut back to `sites` sites, and its single entries were dropped.
    pub fn truncate(&mut self, sites: usize) {
        self.profile.truncate(sites * self.policies);
        self.sums.clear();
        self.counted = 0;
        self.bins.truncate(sites);
        self.regressions = Default::default();
    }

    /// The data set was emptied.
    pub fn clear(&mut self) {
        self.truncate(0);
    }
}
