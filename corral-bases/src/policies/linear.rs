//! Linear argmax policies, by ridge regression of the costs: cost-sensitive one against all.
//!
//! Exact cost-sensitive minimisation over linear policies is hard; the policy takes the action whose predicted cost
//! is least. Single entries are regressed with their importance weight on their loss (far less variance than the
//! weighted estimate as a target), a dense block with all its costs.

use std::collections::HashSet;
use std::sync::Arc;

use corral_core::memory;
use corral_core::policy::{Linear, Policy};

use super::class::{Erm, ErmOracle};
use super::data::{Costs, Reads, Sites};
use super::seeded::Seeded;
use super::workspace::Workspace;
use crate::points::cholesky;
use crate::prelude::*;

corral_core::params! {
    /// Parameters of [`LinearClass`].
    pub struct LinearParams {
        /// The ridge: how strongly weights are pulled to 0.
        ridge: f64 = 1.0, SIZE;
        /// What tuning formulas take for ln N; auto: K (d + 1) ln T, a covering number.
        ln_size: Setting = Setting::Auto, Bounds::POSITIVE;
        /// How many policies the sub-class for EXP4 has, the constant ones among them.
        sample: usize = 1000, Bounds::between(1.0, 16_777_216.0);
        /// The seed that states the sub-class for EXP4.
        seed: u64 = 0;
    }
}

/// theta(x) = argmin_a of the predicted costs <w_a, (x, 1)>.
#[derive(Debug, Clone)]
pub struct LinearClass {
    params: LinearParams,
    reads: Reads,
}

impl LinearClass {
    /// The class in the world of `setup`.
    ///
    /// # Errors
    /// A parameter is out of bounds, or there are no features.
    pub fn new(params: &LinearParams, setup: &Setup) -> Result<Self, BaseError> {
        params.check()?;
        let features = setup.context.features;
        if !(1..=1 << 12).contains(&features) {
            return Err(ParamError::new("features", features, "1 to 4096 for linear policies").into());
        }
        let reads = Reads { actions: setup.actions(), cells: None, features: Some(features) };
        Ok(Self { params: params.clone(), reads })
    }

    /// What its policies read of a context.
    pub fn reads(&self) -> Reads {
        self.reads
    }

    fn dim(&self) -> usize {
        self.reads.features.unwrap_or(0)
    }

    /// The policy that takes the action of least predicted cost, given one row (weights, intercept) per action.
    fn policy(&self, rows: &[f64]) -> Result<Policy, BaseError> {
        let d = self.dim();
        let mut weights = Vec::with_capacity(self.reads.actions * d);
        let mut intercepts = Vec::with_capacity(self.reads.actions);
        for row in rows.chunks_exact(d + 1) {
            weights.extend(row[..d].iter().map(|w| -w));
            intercepts.push(-row[d]);
        }
        Ok(Linear::new(d, intercepts, weights)?.into())
    }
}

/// The regressions of each action: Cholesky factors that grow by rank one.
#[derive(Debug, Clone, Default)]
pub struct Ridge {
    /// Entries (or, with a dense block, sites) that are in.
    counted: usize,
    /// Lower triangles L with L L^T = ridge I + sum of w z z^T, one of n x n per action (one in all with a dense block).
    factors: Vec<f64>,
    /// sum of w v z, one row per action.
    targets: Vec<f64>,
    dense: bool,
    room: Vec<f64>,
}

impl Ridge {
    /// Forgets the data.
    pub(crate) fn clear(&mut self) {
        *self = Self::default();
    }

    fn start(&mut self, dense: bool, blocks: usize, n: usize, actions: usize, ridge: f64) {
        self.dense = dense;
        self.counted = 0;
        self.factors.clear();
        self.factors.resize(blocks * n * n, 0.0);
        for block in self.factors.chunks_exact_mut(n * n) {
            block.iter_mut().step_by(n + 1).for_each(|v| *v = ridge.sqrt());
        }
        self.targets.clear();
        self.targets.resize(actions * n, 0.0);
    }

    /// L L^T += weight z z^T for the block `block`, z = (row, 1).
    fn update(&mut self, block: usize, n: usize, row: &[f64], weight: f64) {
        let root = weight.sqrt();
        self.room.clear();
        self.room.extend(row.iter().chain(&[1.0]).map(|v| v * root));
        cholesky::update(&mut self.factors[block * n * n..(block + 1) * n * n], n, &mut self.room);
    }

    /// Solves L L^T w = b in place of b.
    fn solve(&self, block: usize, n: usize, b: &mut [f64]) {
        cholesky::solve(&self.factors[block * n * n..(block + 1) * n * n], n, b);
    }
}

impl ErmOracle for LinearClass {
    /// Single entries: O(d^2) per new entry, then O(K d^2). A dense block: O(d^2) per new site, then O(n d K).
    fn minimise(&self, sites: &Sites, costs: &Costs, work: &mut Workspace) -> Result<Erm, BaseError> {
        let (d, k) = (self.dim(), self.reads.actions);
        let n = d + 1;
        let ridge = &mut work.ridge;
        let dense = !costs.dense().is_empty();
        if ridge.factors.is_empty() || ridge.dense != dense {
            ridge.start(dense, if dense { 1 } else { k }, n, k, self.params.ridge);
        }
        if dense {
            for site in ridge.counted..sites.len() {
                ridge.update(0, n, sites.row(site), 1.0);
            }
            ridge.counted = sites.len();
            ridge.targets.fill(0.0);
            let all = costs.combined(sites);
            for (site, row) in all.chunks_exact(k).enumerate() {
                for (a, v) in row.iter().enumerate().filter(|(_, v)| **v != 0.0) {
                    add(&mut ridge.targets[a * n..(a + 1) * n], sites.row(site), *v);
                }
            }
        } else {
            for e in &costs.sparse()[ridge.counted.min(costs.sparse().len())..] {
                let (a, row) = (e.action as usize, sites.row(e.site as usize));
                ridge.update(a, n, row, e.weight);
                add(&mut ridge.targets[a * n..(a + 1) * n], row, e.weight * e.loss);
            }
            ridge.counted = costs.sparse().len();
        }
        let mut rows = ridge.targets.clone();
        for (a, row) in rows.chunks_exact_mut(n).enumerate() {
            ridge.solve(if dense { 0 } else { a }, n, row);
        }
        if rows.iter().any(|w| !w.is_finite()) {
            return Err(BaseError::Failed(String::from(
                "the ridge regression of linear policies overflowed",
            )));
        }
        let policy = self.policy(&rows)?;
        let value = costs.of(sites, &policy);
        Ok(Erm { policy: Arc::new(policy), value, exact: false })
    }

    fn ln_size(&self, horizon: f64) -> f64 {
        let numbers = (self.reads.actions * (self.dim() + 1)) as f64;
        self.params.ln_size.or(|| (numbers * horizon.max(2.0).ln()).max(2f64.ln()))
    }

    fn is_exact(&self) -> bool {
        false
    }

    fn is_incremental(&self) -> bool {
        true
    }

    /// A stated sub-class: the constant policies, and random ones with weights uniform in [-1, 1].
    fn enumerate(&self) -> Result<Vec<Arc<Policy>>, BaseError> {
        let (d, k) = (self.dim(), self.reads.actions);
        let numbers = self.params.sample as u128 * (d as u128 + 1) * k as u128;
        memory::claim("sample", self.params.sample, numbers)?;
        let mut rng = Seeded(self.params.seed ^ 0x11ea);
        let mut all = Vec::with_capacity(self.params.sample);
        let mut known = HashSet::new();
        for i in 0..self.params.sample {
            let policy = if i < k {
                let intercepts = (0..k).map(|a| f64::from(u8::from(a == i))).collect();
                Linear::new(d, intercepts, vec![0.0; k * d])?
            } else {
                let mut draw = || 2.0 * uniform(&mut rng) - 1.0;
                let intercepts = (0..k).map(|_| draw()).collect();
                Linear::new(d, intercepts, (0..k * d).map(|_| draw()).collect())?
            };
            let policy = Arc::new(Policy::from(policy));
            if known.insert(Arc::clone(&policy)) {
                all.push(policy);
            }
        }
        Ok(all)
    }
}

/// to += v (row, 1)
fn add(to: &mut [f64], row: &[f64], v: f64) {
    to.iter_mut().zip(row.iter().chain(&[1.0])).for_each(|(t, x)| *t += v * x);
}
