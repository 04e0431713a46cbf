//! The search for a cheap tree: greedy, greedy with one step of look-ahead, and exact with bounding.

use std::borrow::Cow;

use corral_core::policy::Node;

use super::super::data::OneHot;
use super::bins::Bins;
use crate::common::lowest;

/// The examples of a search, each at a site: what they cost per action.
pub(crate) trait Examples {
    fn len(&self) -> usize;
    fn site(&self, example: usize) -> usize;
    /// Adds the costs of an example to a vector of K.
    fn add(&self, example: usize, to: &mut [f64]);
    /// The least that the example can cost.
    fn floor(&self, example: usize) -> f64;
}

/// One cost per example; all other actions cost nothing.
pub(crate) struct Sparse<'a> {
    pub entries: &'a [OneHot],
    pub actions: usize,
}

impl Examples for Sparse<'_> {
    fn len(&self) -> usize {
        self.entries.len()
    }
    #[inline]
    fn site(&self, example: usize) -> usize {
        self.entries[example].site as usize
    }
    #[inline]
    fn add(&self, example: usize, to: &mut [f64]) {
        let e = &self.entries[example];
        to[e.action as usize] += e.weight * e.loss;
    }
    fn floor(&self, example: usize) -> f64 {
        let e = &self.entries[example];
        let cost = e.weight * e.loss;
        if self.actions > 1 { cost.min(0.0) } else { cost }
    }
}

/// K costs per site.
pub(crate) struct Dense<'a> {
    pub costs: Cow<'a, [f64]>,
    pub actions: usize,
}

impl Dense<'_> {
    fn row(&self, example: usize) -> &[f64] {
        &self.costs[example * self.actions..(example + 1) * self.actions]
    }
}

impl Examples for Dense<'_> {
    fn len(&self) -> usize {
        self.costs.len() / self.actions
    }
    #[inline]
    fn site(&self, example: usize) -> usize {
        example
    }
    #[inline]
    fn add(&self, example: usize, to: &mut [f64]) {
        to.iter_mut().zip(self.row(example)).for_each(|(t, c)| *t += c);
    }
    fn floor(&self, example: usize) -> f64 {
        self.row(example).iter().copied().fold(f64::INFINITY, f64::min)
    }
}

/// A search over the trees whose splits are the thresholds of `bins`.
pub(crate) struct Search<'a, E> {
    examples: &'a E,
    bins: &'a Bins,
    actions: usize,
    min_examples: usize,
    /// Where each feature's histogram begins, in bins.
    offsets: Vec<usize>,
    histogram: Vec<f64>,
    totals: Vec<f64>,
    left: Vec<f64>,
    /// Buffers for a partition.
    right: Vec<u32>,
    /// What a split must gain, so that rounding is not taken for gain.
    tolerance: f64,
}

/// A split: left where the feature's bin is at most `cut`.
#[derive(Debug, Clone, Copy)]
struct Split {
    feature: usize,
    cut: usize,
}

/// The best leaf of a set of examples, and its best single split where that is better.
struct Stump {
    leaf: (f64, u16),
    split: Option<(f64, Split, u16, u16)>,
}

impl Stump {
    fn value(&self) -> f64 {
        self.split.map_or(self.leaf.0, |s| s.0)
    }
}

fn least(costs: impl Iterator<Item = f64>) -> (f64, u16) {
    let (action, cost) = lowest(costs);
    (cost, action as u16)
}

impl<'a, E: Examples> Search<'a, E> {
    pub(crate) fn new(examples: &'a E, bins: &'a Bins, actions: usize, min_examples: usize) -> Self {
        let mut offsets = vec![0];
        for cuts in bins.thresholds() {
            offsets.push(offsets[offsets.len() - 1] + cuts.len() + 1);
        }
        let cells = offsets[offsets.len() - 1];
        let mut row = vec![0.0; actions];
        let mut size = 0.0;
        for e in 0..examples.len() {
            row.fill(0.0);
            examples.add(e, &mut row);
            size += row.iter().fold(0.0, |m: f64, c| m.max(c.abs()));
        }
        Self {
            examples,
            bins,
            actions,
            min_examples: min_examples.max(1),
            offsets,
            histogram: vec![0.0; cells * actions],
            totals: vec![0.0; actions],
            left: vec![0.0; actions],
            right: Vec::new(),
            tolerance: 1e-13 * size,
        }
    }

    #[inline]
    fn bin(&self, example: u32, feature: usize) -> usize {
        let dim = self.bins.thresholds().len();
        usize::from(self.bins.numbers()[self.examples.site(example as usize) * dim + feature])
    }

    /// Costs per feature, bin and action, and in total.
    fn count(&mut self, order: &[u32]) {
        let (dim, k) = (self.bins.thresholds().len(), self.actions);
        self.histogram.fill(0.0);
        self.totals.fill(0.0);
        for &e in order {
            let e = e as usize;
            self.examples.add(e, &mut self.totals);
            let at = self.examples.site(e) * dim;
            let numbers = &self.bins.numbers()[at..at + dim];
            for (offset, bin) in self.offsets.iter().zip(numbers) {
                let cell = (offset + usize::from(*bin)) * k;
                self.examples.add(e, &mut self.histogram[cell..cell + k]);
            }
        }
    }

    /// The best leaf and the best split: smallest min_a C_L[a] + min_a C_R[a] by a prefix sum over bins; ties to the
    /// lowest feature and threshold.
    fn stump(&mut self, order: &[u32]) -> Stump {
        let k = self.actions;
        self.count(order);
        let leaf = least(self.totals.iter().copied());
        let mut best = Stump { leaf, split: None };
        let mut bound = leaf.0 - self.tolerance;
        for feature in 0..self.offsets.len() - 1 {
            let cells = self.offsets[feature]..self.offsets[feature + 1];
            self.left.fill(0.0);
            for (cut, cell) in cells.clone().take(cells.len() - 1).enumerate() {
                let row = &self.histogram[cell * k..(cell + 1) * k];
                self.left.iter_mut().zip(row).for_each(|(l, c)| *l += c);
                let (low, left) = least(self.left.iter().copied());
                let (high, right) = least(self.totals.iter().zip(&self.left).map(|(t, l)| t - l));
                if low + high < bound {
                    bound = low + high;
                    best.split = Some((bound, Split { feature, cut }, left, right));
                }
            }
        }
        best
    }

    /// Moves the examples on the left of `split` to the front, both sides in their order, so that memory is read
    /// forwards; returns how many there are.
    fn partition(&mut self, order: &mut [u32], split: Split) -> usize {
        let mut right = std::mem::take(&mut self.right);
        right.clear();
        let mut middle = 0;
        for i in 0..order.len() {
            let example = order[i];
            if self.bin(example, split.feature) <= split.cut {
                order[middle] = example;
                middle += 1;
            } else {
                right.push(example);
            }
        }
        order[middle..].copy_from_slice(&right);
        self.right = right;
        middle
    }

    fn node(&self, split: Split) -> Node {
        Node::Split(split.feature as u32, self.bins.thresholds()[split.feature][split.cut])
    }

    /// All splits that some example could see on either side.
    fn splits(&self) -> impl Iterator<Item = Split> + use<E> {
        let sizes: Vec<usize> = self.bins.thresholds().iter().map(Vec::len).collect();
        sizes.into_iter().enumerate().flat_map(|(feature, n)| (0..n).map(move |cut| Split { feature, cut }))
    }

    /// Grows a tree greedily on the examples of `order`: O(n d) per level. Returns its cost.
    pub(crate) fn greedy(
        &mut self,
        order: &mut [u32],
        depth: usize,
        ahead: bool,
        out: &mut Vec<Node>,
    ) -> f64 {
        let stump = if depth == 0 || order.len() < self.min_examples.max(2) {
            self.totals.fill(0.0);
            for &e in order.iter() {
                self.examples.add(e as usize, &mut self.totals);
            }
            Stump { leaf: least(self.totals.iter().copied()), split: None }
        } else {
            self.stump(order)
        };
        let mut split = stump.split.map(|s| s.1);
        if ahead && depth >= 2 && order.len() >= self.min_examples.max(2) {
            split = self.look_ahead(order, stump.value()).or(split);
        }
        let Some(split) = split else {
            out.push(Node::Leaf(stump.leaf.1));
            return stump.leaf.0;
        };
        out.push(self.node(split));
        let middle = self.partition(order, split);
        let (left, right) = order.split_at_mut(middle);
        self.greedy(left, depth - 1, ahead, out) + self.greedy(right, depth - 1, ahead, out)
    }

    /// The first split of the best tree of depth 2, where that tree costs less than `value`.
    fn look_ahead(&mut self, order: &mut [u32], value: f64) -> Option<Split> {
        let mut best = (value - self.tolerance, None);
        for split in self.splits() {
            let middle = self.partition(order, split);
            if middle == 0 || middle == order.len() {
                continue;
            }
            let (left, right) = order.split_at_mut(middle);
            let cost = self.stump(left).value() + self.stump(right).value();
            if cost < best.0 {
                best = (cost, Some(split));
            }
        }
        best.1
    }

    /// The cheapest tree of `depth` on the examples of `order`, appended to `out`, with its cost: the recursion
    /// best(depth, set) = min over splits of best(left) + best(right), where sums of per-example minima bound what a
    /// side can still cost. O(m^(depth-1) n d) for m splits.
    pub(crate) fn exact(&mut self, order: &mut [u32], depth: usize, out: &mut Vec<Node>) -> f64 {
        if depth <= 1 {
            let stump = self.stump(order);
            let split = if depth == 0 { None } else { stump.split };
            match split {
                None => {
                    out.push(Node::Leaf(stump.leaf.1));
                    return stump.leaf.0;
                }
                Some((value, split, left, right)) => {
                    out.extend([self.node(split), Node::Leaf(left), Node::Leaf(right)]);
                    return value;
                }
            }
        }
        self.count(order);
        let leaf = least(self.totals.iter().copied());
        let mut best = (leaf.0, vec![Node::Leaf(leaf.1)]);
        let floor = |search: &Self, side: &[u32]| -> f64 {
            side.iter().map(|e| search.examples.floor(*e as usize)).sum()
        };
        let lowest = floor(self, order);
        let (mut left_nodes, mut right_nodes) = (Vec::new(), Vec::new());
        for split in self.splits() {
            if best.0 <= lowest + self.tolerance {
                break; // nothing can be cheaper
            }
            let middle = self.partition(order, split);
            if middle == 0 || middle == order.len() {
                continue;
            }
            let (left, right) = order.split_at_mut(middle);
            left_nodes.clear();
            let low = self.exact(left, depth - 1, &mut left_nodes);
            if low + floor(self, right) >= best.0 - self.tolerance {
                continue;
            }
            right_nodes.clear();
            let cost = low + self.exact(right, depth - 1, &mut right_nodes);
            if cost < best.0 - self.tolerance {
                let mut nodes = vec![self.node(split)];
                nodes.append(&mut left_nodes);
                nodes.append(&mut right_nodes);
                best = (cost, nodes);
            }
        }
        out.append(&mut best.1);
        best.0
    }
}
