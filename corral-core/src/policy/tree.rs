//! Decision trees.

use rand_core::Rng;
use serde::{Deserialize, Serialize};

use crate::{ParamError, require, uniform};

/// The deepest tree that is accepted.
pub const MAX_DEPTH: usize = 64;

/// A node of a tree. A tree is written as its nodes in preorder: a split, then all of its left, then all of its right.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Node {
    /// Take this action.
    Leaf(u16),
    /// Left where feature number `.0` is at most `.1`, else right.
    Split(u32, f64),
}

/// A decision tree over shared features, in canonical form: no split that its ancestors have already decided, no
/// split with equal sides, -0 written as 0. Trees that are equal in this form are equal and hash alike; trees that ask
/// the same questions in another order are not.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(try_from = "Vec<Node>", into = "Vec<Node>")]
pub struct Tree(Vec<Packed>);

/// A node as it is walked: `feature` is `LEAF` at leaves, where `next` is the action; else `next` is the right side,
/// and the left side follows. The threshold is kept by its bits, so that equality and hash are derived.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
struct Packed {
    feature: u32,
    next: u32,
    threshold: u64,
}

const LEAF: u32 = u32::MAX;

impl Tree {
    /// The tree that always takes `action`.
    pub fn leaf(action: u16) -> Self {
        Self(vec![Packed { feature: LEAF, next: u32::from(action), threshold: 0 }])
    }

    /// `left` where feature number `feature` is at most `threshold`, else `right`; pruned to canonical form.
    ///
    /// # Errors
    /// The threshold is not finite, or the tree is too deep.
    pub fn split(feature: usize, threshold: f64, left: Self, right: Self) -> Result<Self, ParamError> {
        let feature = u32::try_from(feature).ok().filter(|f| *f != LEAF);
        let feature = feature.ok_or_else(|| ParamError::new("feature", "too large", "below 2^32 - 1"))?;
        let mut nodes = vec![Node::Split(feature, threshold)];
        nodes.extend(left.nodes());
        nodes.extend(right.nodes());
        Self::from_nodes(&nodes)
    }

    /// The tree of these nodes in preorder, pruned to canonical form.
    ///
    /// # Errors
    /// The nodes are not one whole tree, a threshold is not finite, or the tree is deeper than [`MAX_DEPTH`].
    pub fn from_nodes(nodes: &[Node]) -> Result<Self, ParamError> {
        require(nodes.len() <= LEAF as usize, "tree", nodes.len(), "of fewer than 2^32 nodes")?;
        let mut builder = Builder { nodes, at: 0, path: Vec::new(), out: Vec::with_capacity(nodes.len()) };
        builder.subtree(0)?;
        require(
            builder.at == nodes.len(),
            "tree",
            nodes.len() - builder.at,
            "one whole tree, with no node left over",
        )?;
        Ok(Self(builder.out))
    }

    /// The nodes in preorder.
    pub fn nodes(&self) -> impl Iterator<Item = Node> {
        self.0.iter().map(|n| match n.feature {
            LEAF => Node::Leaf(n.next as u16),
            feature => Node::Split(feature, f64::from_bits(n.threshold)),
        })
    }

    /// The action at these features; `None` when a feature that is asked for is missing or not a number.
    #[inline]
    pub fn act(&self, features: &[f64]) -> Option<usize> {
        let mut at = 0;
        loop {
            let node = self.0.get(at)?;
            if node.feature == LEAF {
                return Some(node.next as usize);
            }
            let x = *features.get(node.feature as usize)?;
            if x.is_nan() {
                return None;
            }
            at = if x <= f64::from_bits(node.threshold) { at + 1 } else { node.next as usize };
        }
    }

    /// The longest path from the root to a leaf, in splits.
    pub fn depth(&self) -> usize {
        self.depth_from(0)
    }

    fn depth_from(&self, at: usize) -> usize {
        match self.0[at] {
            Packed { feature: LEAF, .. } => 0,
            Packed { next, .. } => 1 + self.depth_from(at + 1).max(self.depth_from(next as usize)),
        }
    }

    /// One more than the largest feature that is asked for; 0 for a leaf.
    pub fn features(&self) -> usize {
        self.0.iter().filter(|n| n.feature != LEAF).map(|n| n.feature as usize + 1).max().unwrap_or(0)
    }

    /// One more than the largest action that is taken.
    pub fn actions(&self) -> usize {
        self.0.iter().filter(|n| n.feature == LEAF).map(|n| n.next as usize + 1).max().unwrap_or(0)
    }

    /// A random full tree of `depth`: every split takes a uniform feature and a threshold uniform in what is left of
    /// `[low, high]` there, so that every leaf can be reached; sibling leaves differ where there are two actions. With
    /// no feature it is a leaf. Draws the same amount for every value of the generator.
    ///
    /// # Errors
    /// A depth above 20, no action, more than 2^16 actions, or an empty or infinite interval.
    pub fn draw(
        depth: usize,
        features: usize,
        actions: usize,
        (low, high): (f64, f64),
        rng: &mut dyn Rng,
    ) -> Result<Self, ParamError> {
        require(depth <= 20, "depth", depth, "at most 20 to be drawn at random")?;
        require(actions != 0 && actions <= 1 << 16, "actions", actions, "between 1 and 65536")?;
        let sound = low < high && (high - low).is_finite();
        require(sound, "interval", format_args!("[{low}, {high}]"), "finite and not empty")?;
        let mut nodes = Vec::with_capacity((2 << depth) - 1);
        let depth = if features == 0 { 0 } else { depth };
        let mut cell = vec![(low, high); features];
        grow(depth, actions, None, &mut cell, &mut nodes, rng);
        Self::from_nodes(&nodes)
    }
}

/// Appends a random full subtree.
fn grow(
    depth: usize,
    actions: usize,
    avoid: Option<u16>,
    cell: &mut [(f64, f64)],
    nodes: &mut Vec<Node>,
    rng: &mut dyn Rng,
) -> u16 {
    if depth == 0 {
        let pick = |n: usize, rng: &mut dyn Rng| ((uniform(rng) * n as f64) as usize).min(n - 1) as u16;
        let action = match avoid {
            // Uniform over the actions that the sibling does not take.
            Some(taken) if actions > 1 => {
                let a = pick(actions - 1, rng);
                a + u16::from(a >= taken)
            }
            _ => pick(actions, rng),
        };
        nodes.push(Node::Leaf(action));
        return action;
    }
    let feature = ((uniform(rng) * cell.len() as f64) as usize).min(cell.len() - 1);
    let (low, high) = cell[feature];
    // Strictly inside while floats allow it; where they do not, the split is pruned.
    let threshold = low + (high - low) * (0.1 + 0.8 * uniform(rng));
    nodes.push(Node::Split(feature as u32, threshold));
    cell[feature] = (low, threshold);
    let left = grow(depth - 1, actions, None, cell, nodes, rng);
    cell[feature] = (threshold, high);
    grow(depth - 1, actions, (depth == 1).then_some(left), cell, nodes, rng);
    cell[feature] = (low, high);
    left
}

/// Reads nodes in preorder and writes the canonical form.
struct Builder<'a> {
    nodes: &'a [Node],
    at: usize,
    /// The splits above: feature, threshold, whether we are on its left.
    path: Vec<(u32, f64, bool)>,
    out: Vec<Packed>,
}

impl Builder<'_> {
    fn subtree(&mut self, depth: usize) -> Result<(), ParamError> {
        let ends = || ParamError::new("tree", self.at, "one whole tree, but it ends");
        let node = *self.nodes.get(self.at).ok_or_else(ends)?;
        self.at += 1;
        match node {
            Node::Leaf(action) => {
                self.out.push(Packed { feature: LEAF, next: u32::from(action), threshold: 0 });
                Ok(())
            }
            Node::Split(feature, threshold) => {
                require(depth < MAX_DEPTH, "depth", depth + 1, "at most 64")?;
                require(threshold.is_finite(), "threshold", threshold, "finite")?;
                require(feature != LEAF, "feature", feature, "below 2^32 - 1")?;
                self.split(feature, threshold + 0.0, depth)
            }
        }
    }

    fn split(&mut self, feature: u32, threshold: f64, depth: usize) -> Result<(), ParamError> {
        let above = self.path.iter().filter(|(f, ..)| *f == feature);
        // x <= h' above and h' <= h: always left. x > h' above and h' >= h: always right.
        let decided = above.fold(None, |d, &(_, h, left)| match left {
            true if h <= threshold => Some(true),
            false if h >= threshold => Some(false),
            _ => d,
        });
        let start = self.out.len();
        self.out.push(Packed { feature, next: 0, threshold: threshold.to_bits() });
        self.path.push((feature, threshold, true));
        self.subtree(depth + 1)?;
        let middle = self.out.len();
        if let Some(last) = self.path.last_mut() {
            last.2 = false;
        }
        self.subtree(depth + 1)?;
        self.path.pop();

        match decided {
            Some(false) => self.remove(start, middle - start),
            None if !self.same(start + 1, middle) => self.out[start].next = middle as u32,
            _ => {
                self.out.truncate(middle);
                self.remove(start, 1);
            }
        }
        Ok(())
    }

    /// Whether the subtree `a..b` equals the subtree `b..`: right sides compared relative to their beginning.
    fn same(&self, a: usize, b: usize) -> bool {
        let relative = |n: &Packed, base: usize| match n.feature {
            LEAF => *n,
            _ => Packed { next: n.next - base as u32, ..*n },
        };
        let (left, right) = (&self.out[a..b], &self.out[b..]);
        left.len() == right.len() && left.iter().zip(right).all(|(l, r)| relative(l, a) == relative(r, b))
    }

    /// Removes `count` nodes at `start`; all that follow move down.
    fn remove(&mut self, start: usize, count: usize) {
        self.out.drain(start..start + count);
        for n in self.out[start..].iter_mut().filter(|n| n.feature != LEAF) {
            n.next -= count as u32;
        }
    }
}

impl TryFrom<Vec<Node>> for Tree {
    type Error = ParamError;
    fn try_from(nodes: Vec<Node>) -> Result<Self, ParamError> {
        Self::from_nodes(&nodes)
    }
}

impl From<Tree> for Vec<Node> {
    fn from(tree: Tree) -> Self {
        tree.nodes().collect()
    }
}

#[cfg(test)]
mod tests {
    use std::hash::{BuildHasher, RandomState};

    use proptest::prelude::*;
    use rand_pcg::Pcg64Dxsm;
    use rand_pcg::rand_core::SeedableRng;

    use super::*;

    fn split(f: usize, h: f64, l: Tree, r: Tree) -> Tree {
        Tree::split(f, h, l, r).unwrap()
    }

    fn leaves(tree: &Tree) -> usize {
        tree.nodes().filter(|node| matches!(node, Node::Leaf(_))).count()
    }

    #[test]
    fn a_split_goes_left_on_equality() {
        let t = split(1, 2.0, Tree::leaf(0), split(0, -1.0, Tree::leaf(1), Tree::leaf(2)));
        assert_eq!(t.act(&[0.0, 2.0]), Some(0));
        assert_eq!(t.act(&[-1.0, 2.5]), Some(1));
        assert_eq!(t.act(&[0.0, 2.5]), Some(2));
        assert_eq!(t.act(&[0.0]), None);
        assert_eq!(t.act(&[0.0, f64::NAN]), None);
        assert_eq!((t.depth(), leaves(&t), t.features(), t.actions()), (2, 3, 2, 3));
    }

    #[test]
    fn equal_sides_and_decided_splits_are_pruned() {
        let plain = split(0, 1.0, Tree::leaf(0), Tree::leaf(1));
        assert_eq!(split(3, 0.5, plain.clone(), plain.clone()), plain);
        // Left of x0 <= 1 the question x0 <= 2 is decided; right of it so is x0 <= 0.5.
        let left = split(0, 2.0, Tree::leaf(0), Tree::leaf(5));
        let right = split(0, 0.5, Tree::leaf(5), Tree::leaf(1));
        assert_eq!(split(0, 1.0, left, right), plain);
        assert_eq!(split(0, -0.0, Tree::leaf(0), Tree::leaf(1)), split(0, 0.0, Tree::leaf(0), Tree::leaf(1)));
        // A collapse below makes equal sides above.
        let l = split(1, 0.0, Tree::leaf(2), Tree::leaf(2));
        assert_eq!(split(0, 0.0, l, Tree::leaf(2)), Tree::leaf(2));
    }

    #[test]
    fn what_is_not_a_tree_is_refused() {
        assert!(Tree::from_nodes(&[]).is_err());
        assert!(Tree::from_nodes(&[Node::Split(0, 0.0), Node::Leaf(0)]).is_err());
        assert!(Tree::from_nodes(&[Node::Leaf(0), Node::Leaf(0)]).is_err());
        assert!(Tree::split(0, f64::NAN, Tree::leaf(0), Tree::leaf(1)).is_err());
        assert!(Tree::split(usize::MAX, 0.0, Tree::leaf(0), Tree::leaf(1)).is_err());
        // A chain of 10^6 splits is an error and not the end of the stack.
        let chain: Vec<Node> = (0..1_000_000).map(|i| Node::Split(i, 0.0)).collect();
        assert!(Tree::from_nodes(&chain).is_err());
        let bytes =
            postcard::to_stdvec(&[Node::Split(0, f64::INFINITY), Node::Leaf(0), Node::Leaf(1)][..]).unwrap();
        assert!(postcard::from_bytes::<Tree>(&bytes).is_err());
    }

    #[test]
    fn a_drawn_tree_is_full_and_has_a_stable_value() {
        let mut rng = Pcg64Dxsm::seed_from_u64(7);
        let t = Tree::draw(4, 3, 3, (-1.0, 1.0), &mut rng).unwrap();
        assert_eq!((t.depth(), leaves(&t)), (4, 16));
        let actions: Vec<_> =
            t.nodes().filter_map(|n| if let Node::Leaf(a) = n { Some(a) } else { None }).collect();
        assert_eq!(actions, [2, 1, 1, 2, 1, 2, 2, 0, 1, 2, 0, 2, 2, 0, 2, 1]);
        assert_eq!(leaves(&Tree::draw(3, 0, 2, (0.0, 1.0), &mut rng).unwrap()), 1);
        assert!(Tree::draw(21, 1, 2, (0.0, 1.0), &mut rng).is_err());
        assert!(Tree::draw(1, 1, 0, (0.0, 1.0), &mut rng).is_err());
        assert!(Tree::draw(1, 1, 2, (0.0, f64::NAN), &mut rng).is_err());
    }

    /// Any preorder list of a tree over two features with few thresholds, so that pruning happens often.
    fn any_nodes() -> impl Strategy<Value = Vec<Node>> {
        let leaf = (0u16..3).prop_map(|a| vec![Node::Leaf(a)]);
        leaf.prop_recursive(5, 64, 2, |inner| {
            (0u32..2, 0i8..4, inner.clone(), inner).prop_map(|(f, h, l, r)| {
                let mut nodes = vec![Node::Split(f, f64::from(h))];
                nodes.extend(l);
                nodes.extend(r);
                nodes
            })
        })
    }

    /// Walks the nodes as written.
    fn walk(nodes: &[Node], x: &[f64; 2]) -> u16 {
        fn skip(nodes: &[Node], at: usize) -> usize {
            match nodes[at] {
                Node::Leaf(_) => at + 1,
                Node::Split(..) => skip(nodes, skip(nodes, at + 1)),
            }
        }
        let mut at = 0;
        loop {
            match nodes[at] {
                Node::Leaf(a) => return a,
                Node::Split(f, h) => at = if x[f as usize] <= h { at + 1 } else { skip(nodes, at + 1) },
            }
        }
    }

    proptest! {
        #[test]
        fn pruning_keeps_the_function_and_is_idempotent(nodes in any_nodes()) {
            let tree = Tree::from_nodes(&nodes).unwrap();
            for i in 0..6 {
                for j in 0..6 {
                    let x = [f64::from(i) - 0.5, f64::from(j) - 0.5];
                    prop_assert_eq!(tree.act(&x), Some(walk(&nodes, &x) as usize));
                }
            }
            let again: Vec<Node> = tree.nodes().collect();
            prop_assert!(again.len() <= nodes.len());
            let twice = Tree::from_nodes(&again).unwrap();
            prop_assert_eq!(&twice, &tree);
            let state = RandomState::new();
            prop_assert_eq!(state.hash_one(&twice), state.hash_one(&tree));
            let bytes = postcard::to_stdvec(&tree).unwrap();
            prop_assert_eq!(postcard::from_bytes::<Tree>(&bytes).unwrap(), tree);
        }
    }
}
