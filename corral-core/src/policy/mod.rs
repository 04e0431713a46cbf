//! Policies as plain data: evaluation and no learning. Oracles over classes of policies live in `corral-bases`.
//!
//! ```
//! use corral_core::policy::{Policy, Tree};
//! use corral_core::Context;
//!
//! let tree = Tree::split(0, 0.5, Tree::leaf(2), Tree::leaf(1))?;
//! let policy = Policy::from(tree);
//! assert_eq!(policy.act(&Context::shared(vec![0.3], 3)), Some(2));
//! assert_eq!(policy.act(&Context::shared(vec![], 3)), None);
//! # Ok::<(), corral_core::ParamError>(())
//! ```

mod linear;
mod tree;

pub use linear::Linear;
pub use tree::{MAX_DEPTH, Node, Tree};

use serde::{Deserialize, Serialize};

use crate::{Context, ContextShape, ParamError, require};

/// A map from contexts to actions. `Eq` and `Hash` are those of a canonical form: tables by their entries, trees
/// pruned, linear policies by the bits of their weights.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum Policy {
    /// One action per finite context, by [`Context::cell`].
    Table(Vec<u16>),
    /// A decision tree over the shared features.
    Tree(Tree),
    /// The action whose linear score of the shared features is largest.
    Linear(Linear),
}

impl Policy {
    /// The action this policy takes at `x`; `None` where it is not defined there: no such cell, too few features, a
    /// feature that is not a number.
    #[inline]
    pub fn act(&self, x: &Context) -> Option<usize> {
        match self {
            Self::Table(actions) => actions.get(x.cell()?).map(|a| usize::from(*a)),
            Self::Tree(tree) => tree.act(x.features()),
            Self::Linear(linear) => linear.act(x.features()),
        }
    }

    /// Passes when this policy is defined on every finite context of `shape` and only takes actions below `actions`.
    ///
    /// # Errors
    /// Names what does not fit.
    pub fn check(&self, shape: &ContextShape, actions: usize) -> Result<(), ParamError> {
        let (fits, found, must, largest) = match self {
            Self::Table(table) => {
                let largest = table.iter().map(|a| usize::from(*a) + 1).max().unwrap_or(0);
                (
                    shape.cells == Some(table.len()),
                    table.len(),
                    "tables with one action per context cell",
                    largest,
                )
            }
            Self::Tree(tree) => {
                let found = tree.features();
                (found <= shape.features, found, "trees over the context's features", tree.actions())
            }
            Self::Linear(linear) => {
                let found = linear.features();
                (found == shape.features, found, "linear in exactly the context's features", linear.actions())
            }
        };
        require(fits, "policies", found, must)?;
        require(largest <= actions, "policies", largest.saturating_sub(1), "policies whose actions exist")
    }
}

impl From<Tree> for Policy {
    fn from(tree: Tree) -> Self {
        Self::Tree(tree)
    }
}

impl From<Linear> for Policy {
    fn from(linear: Linear) -> Self {
        Self::Linear(linear)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_table_acts_by_cell_and_nowhere_else() {
        let table = Policy::Table(vec![2, 0, 1]);
        assert_eq!(table.act(&Context::tabular(2, 3)), Some(1));
        assert_eq!(table.act(&Context::tabular(3, 3)), None);
        assert_eq!(table.act(&Context::plain(3)), None);
    }

    #[test]
    fn a_policy_that_does_not_fit_is_named() {
        let shape = ContextShape { features: 2, row_features: 0, cells: Some(3) };
        assert_eq!(Policy::Table(vec![2, 0, 1]).check(&shape, 3), Ok(()));
        assert!(Policy::Table(vec![2, 0]).check(&shape, 3).is_err());
        let e = Policy::Table(vec![2, 0, 3]).check(&shape, 3).unwrap_err();
        assert_eq!(e.to_string(), "policies must be policies whose actions exist, but is 3");
        let tree = |j| Policy::from(Tree::split(j, 0.0, Tree::leaf(0), Tree::leaf(1)).unwrap());
        assert_eq!(tree(1).check(&shape, 2), Ok(()));
        assert!(tree(2).check(&shape, 2).is_err());
        assert!(tree(1).check(&shape, 1).is_err());
        let linear = |d: usize| Policy::from(Linear::new(d, vec![0.0; 2], vec![0.0; 2 * d]).unwrap());
        assert_eq!(linear(2).check(&shape, 2), Ok(()));
        assert!(linear(3).check(&shape, 2).is_err());
    }
}
