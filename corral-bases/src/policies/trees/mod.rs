//! Depth-limited decision trees over shared features.
//!
//! Splits are quantile thresholds: where contexts can be sampled beforehand they are fixed at the start, so that the
//! class is literally finite; else they follow the data, and change when the data double.

mod bins;
mod search;

use std::collections::HashSet;
use std::sync::Arc;

use corral_core::memory::Budget;
use corral_core::policy::{Node, Policy, Tree};
use corral_core::{BaseError, Setup, require};

pub use bins::Bins;
use search::{Dense, Examples, Search, Sparse};

use super::class::{Erm, ErmOracle};
use super::data::{Costs, Reads, Sites};
use super::workspace::Workspace;
use crate::common::Setting;
use crate::seeded::Seeded;
use corral_core::params::{Bounds, Params};

corral_core::params! {
    /// How a tree is searched for.
    pub enum TreeSearch {
        /// Split by split, each the best by itself: time linear in the data.
        #[default]
        Greedy,
        /// As greedy, but every split is the first of the best two levels: finds XOR-like targets.
        LookAhead,
        /// The cheapest tree: depth at most 3, and data small enough (else look-ahead, and the answer says so).
        Exact,
    }
}

corral_core::params! {
    /// Parameters of [`TreeClass`].
    pub struct TreeParams {
        /// Splits from the root to a leaf, at most (1 to 20).
        depth: usize = 5, Bounds::between(1.0, 20.0);
        /// Bins per feature, at most (2 to 256): one threshold fewer.
        bins: usize = 32, Bounds::between(2.0, 256.0);
        /// How a tree is searched for.
        search: TreeSearch = TreeSearch::Greedy;
        /// A node with fewer examples is not split (greedy and look-ahead).
        min_examples: usize = 8;
        /// What tuning formulas take for ln N; auto: counted with at most 64 leaves.
        ln_size: Setting = Setting::Auto, Bounds::POSITIVE;
        /// How many trees the sub-class for EXP4 has, the constant ones among them.
        sample: usize = 1000, Bounds::between(1.0, 16_777_216.0);
        /// The seed that states the sub-class for EXP4.
        seed: u64 = 0;
        /// Where thresholds of the sub-class lie when contexts cannot be sampled.
        interval: [f64; 2] = [-1.0, 1.0];
    }
}

/// Leaves that ln N is counted with at most: at depth 20 the whole class has ln N > 10^6, and every schedule that
/// uses it would explore for ever (docs/bases.md#policy-classes-and-oracles).
const COUNTED_LEAVES: f64 = 64.0;

/// Steps that an exact search may take.
const EXACT_WORK: f64 = 1e9;

/// Contexts that fixed thresholds are made from.
const DRAWN: usize = 1024;

/// All trees of at most a depth, with splits at quantile thresholds.
#[derive(Debug, Clone)]
pub struct TreeClass {
    params: TreeParams,
    reads: Reads,
    /// Thresholds from sampled contexts, where there is a sampler.
    fixed: Option<Vec<Vec<f64>>>,
    /// The features of the sampled contexts, each sorted.
    sorted: Option<Vec<Vec<f64>>>,
    budget: Budget,
}

impl TreeClass {
    /// The class in the world of `setup`.
    ///
    /// # Errors
    /// A parameter is out of bounds, or there are no features.
    pub fn new(params: &TreeParams, setup: &Setup) -> Result<Self, BaseError> {
        params.check()?;
        let shallow = params.search != TreeSearch::Exact || params.depth <= 3;
        require(shallow, "depth", params.depth, "1 to 3 for an exact search")?;
        let dim = setup.context.features;
        require((1..=1 << 20).contains(&dim), "features", dim, "1 to 2^20 for trees")?;
        let [low, high] = params.interval;
        let sound = low < high && (high - low).is_finite();
        require(sound, "interval", format_args!("[{low}, {high}]"), "finite and not empty")?;
        let reads = Reads { actions: setup.actions(), cells: None, features: Some(dim) };
        // The thresholds and the drawn values of every feature, and the costs of a node by threshold and action.
        let cells = dim as u128 * params.bins as u128;
        setup.budget.claim(
            "bins",
            params.bins,
            cells * (1 + setup.actions() as u128) + (dim * DRAWN) as u128,
        )?;
        let budget = setup.budget.clone();
        let mut class = Self { params: params.clone(), reads, fixed: None, sorted: None, budget };
        if let Some(sampler) = &setup.sampler {
            let mut rng = Seeded(params.seed);
            let mut sites = Sites::new(reads);
            for _ in 0..DRAWN {
                sites.enter(&sampler.sample(&mut rng))?;
            }
            let thresholds = bins::quantiles(dim, params.bins, sites.len(), |row, j| sites.row(row)[j]);
            let column = |j: usize| {
                let mut values: Vec<f64> = (0..sites.len()).map(|row| sites.row(row)[j]).collect();
                values.sort_unstable_by(f64::total_cmp);
                values
            };
            (class.fixed, class.sorted) = (Some(thresholds), Some((0..dim).map(column).collect()));
        }
        Ok(class)
    }

    fn run(&self, examples: &impl Examples, bins: &Bins) -> Result<Erm, BaseError> {
        let mut order: Vec<u32> = (0..examples.len() as u32).collect();
        let mut search = Search::new(examples, bins, self.reads.actions, self.params.min_examples);
        let mut nodes: Vec<Node> = Vec::new();
        let splits: f64 = bins.thresholds().iter().map(|t| t.len() as f64).sum();
        let dim = bins.thresholds().len() as f64;
        let work = splits.powi(self.params.depth as i32 - 1) * (order.len() as f64 * dim + splits);
        let exact = self.params.search == TreeSearch::Exact && work <= EXACT_WORK;
        let value = if exact {
            search.exact(&mut order, self.params.depth, &mut nodes)
        } else {
            let ahead = self.params.search != TreeSearch::Greedy;
            search.greedy(&mut order, self.params.depth, ahead, &mut nodes)
        };
        Ok(Erm { policy: Arc::new(Tree::from_nodes(&nodes)?.into()), value, exact })
    }
}

impl ErmOracle for TreeClass {
    fn reads(&self) -> Reads {
        self.reads
    }

    /// Greedy: O(depth n d) and O(bins d K) per node. Exact: O(m^(depth-1) n d) for m thresholds.
    fn minimise(&self, sites: &Sites, costs: &Costs, work: &mut Workspace) -> Result<Erm, BaseError> {
        work.bins.update(sites, self.params.bins, self.fixed.as_deref());
        if costs.dense().is_empty() {
            self.run(&Sparse { entries: costs.sparse(), actions: self.reads.actions }, &work.bins)
        } else {
            self.run(&Dense { costs: costs.combined(sites), actions: self.reads.actions }, &work.bins)
        }
    }

    /// (2^D - 1) ln m + 2^D ln K for m thresholds, with at most 64 leaves.
    fn ln_size(&self, _horizon: f64) -> f64 {
        self.params.ln_size.or(|| {
            let leaves = 2f64.powi(self.params.depth as i32).min(COUNTED_LEAVES);
            let splits = match &self.fixed {
                Some(fixed) => fixed.iter().map(Vec::len).sum(),
                None => self.reads.features.unwrap_or(0) * (self.params.bins - 1),
            };
            let (splits, actions) = (splits.max(1) as f64, self.reads.actions as f64);
            ((leaves - 1.0) * splits.ln() + leaves * actions.ln()).max(2f64.ln())
        })
    }

    fn is_incremental(&self) -> bool {
        false
    }

    /// A stated sub-class: the constant trees, and random full trees of the depth with thresholds at random quantiles
    /// (or uniform in `interval`), without repetition. Fewer than `sample` where the draws repeat themselves.
    fn enumerate(&self) -> Result<Vec<Arc<Policy>>, BaseError> {
        let (dim, k) = (self.reads.features.unwrap_or(0), self.reads.actions);
        let nodes = 2u128 << self.params.depth;
        self.budget.claim("sample", self.params.sample, self.params.sample as u128 * 2 * nodes)?;
        let constant = (0..k.min(self.params.sample)).map(|a| Arc::new(Policy::from(Tree::leaf(a as u16))));
        let mut all: Vec<Arc<Policy>> = constant.collect();
        let mut known: HashSet<Arc<Policy>> = all.iter().cloned().collect();
        let mut rng = Seeded(self.params.seed ^ 0x7ee5);
        let [low, high] = if self.sorted.is_some() { [0.0, 1.0] } else { self.params.interval };
        for _ in 0..4 * self.params.sample {
            if all.len() >= self.params.sample {
                break;
            }
            let mut tree = Tree::draw(self.params.depth, dim, k, (low, high), &mut rng)?;
            if let Some(sorted) = &self.sorted {
                // Drawn in the unit cube: a threshold u becomes the u-quantile of its feature.
                let nodes: Vec<Node> = tree
                    .nodes()
                    .map(|node| match node {
                        Node::Split(j, u) => {
                            let values = &sorted[j as usize];
                            Node::Split(j, values[((u * values.len() as f64) as usize).min(values.len() - 1)])
                        }
                        leaf => leaf,
                    })
                    .collect();
                tree = Tree::from_nodes(&nodes)?;
            }
            let policy = Arc::new(Policy::from(tree));
            if known.insert(Arc::clone(&policy)) {
                all.push(policy);
            }
        }
        Ok(all)
    }
}
