//! Data sets for oracles: the contexts as sites, and what actions cost there.

use std::borrow::Cow;

use corral_core::policy::Policy;

use crate::prelude::*;

/// What a class of policies reads of a context.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Reads {
    /// How many actions a round may offer.
    pub actions: usize,
    /// How many finite contexts there are, where policies look at the cell.
    pub cells: Option<usize>,
    /// How many shared features there are, where policies look at them.
    pub features: Option<usize>,
}

impl Reads {
    /// How many actions `x` offers, when it has what is read: the first ones, at most as many as announced.
    ///
    /// # Errors
    /// Names what is missing, or the feature that is not finite.
    #[inline]
    pub fn check(&self, x: &Context) -> Result<usize> {
        check_first(x.offer(), "a base over policies")?;
        let offered = check_offered(Some(x.actions()), self.actions)?;
        if let Some(cells) = self.cells {
            let found = x.cell().map_or(0, |cell| cell + 1);
            if !(1..=cells).contains(&found) {
                return Err(BaseError::Context { what: "cells", found, expected: cells });
            }
        }
        if let Some(expected) = self.features {
            BaseError::check_count("features", x.features().len(), expected)?;
            if let Some(index) = x.features().iter().position(|v| !v.is_finite()) {
                return Err(BaseError::Feature { index, value: x.features()[index] });
            }
        }
        Ok(offered)
    }

    /// Whether contexts are finite as far as policies can see, so that costs are kept per context and not per round.
    pub fn is_tabular(&self) -> bool {
        self.features.is_none()
    }
}

/// The contexts of a data set. Where policies look at nothing but the cell, sites are cells (and where they look at
/// nothing at all, there is one); else every context is a site of its own.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Sites {
    reads: Reads,
    len: usize,
    features: Vec<f64>,
    cells: Vec<u32>,
}

impl Sites {
    /// No context yet (tabular: all of them).
    pub fn new(reads: Reads) -> Self {
        let len = if reads.is_tabular() { reads.cells.unwrap_or(1) } else { 0 };
        Self { reads, len, features: Vec::new(), cells: Vec::new() }
    }

    /// What is read of a context.
    pub fn reads(&self) -> &Reads {
        &self.reads
    }

    /// How many sites there are.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether there is no site.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Features per site; 0 where none are read.
    pub fn dim(&self) -> usize {
        self.reads.features.unwrap_or(0)
    }

    /// The site of `x`: its cell, or a new one.
    ///
    /// # Errors
    /// The context does not have what is read.
    pub fn enter(&mut self, x: &Context) -> Result<usize> {
        self.reads.check(x)?;
        if self.reads.is_tabular() {
            return Ok(if self.reads.cells.is_some() { x.cell().unwrap_or(0) } else { 0 });
        }
        self.features.extend_from_slice(x.features());
        if self.reads.cells.is_some() {
            self.cells.push(x.cell().unwrap_or(0) as u32);
        }
        self.len += 1;
        Ok(self.len - 1)
    }

    /// Forgets the sites from `len` on (tabular: none).
    pub fn truncate(&mut self, len: usize) {
        if !self.reads.is_tabular() && len < self.len {
            self.features.truncate(len * self.dim());
            self.cells.truncate(len);
            self.len = len;
        }
    }

    /// The features of a site; empty where none are read.
    #[inline]
    pub fn row(&self, site: usize) -> &[f64] {
        let dim = self.dim();
        &self.features[site * dim..(site + 1) * dim]
    }

    /// The action of `policy` at a site.
    #[inline]
    pub fn act(&self, policy: &Policy, site: usize) -> Option<usize> {
        match policy {
            Policy::Table(table) => {
                let cell = if self.reads.is_tabular() { site } else { *self.cells.get(site)? as usize };
                table.get(cell).map(|a| usize::from(*a))
            }
            Policy::Tree(tree) => tree.act(if self.reads.is_tabular() { &[] } else { self.row(site) }),
            Policy::Linear(linear) => linear.act(if self.reads.is_tabular() { &[] } else { self.row(site) }),
            _ => None,
        }
    }

    /// The actions of `policy` at all sites, into `actions`.
    ///
    /// # Errors
    /// The policy is not defined at a site, or takes an action that there is not.
    pub fn profile(&self, policy: &Policy, actions: &mut Vec<u16>) -> Result {
        actions.clear();
        for site in 0..self.len {
            match self.act(policy, site) {
                Some(a) if a < self.reads.actions => actions.push(a as u16),
                _ => return Err(BaseError::Failed(format!("a policy is not defined at site {site}"))),
            }
        }
        Ok(())
    }

    /// Checks sites that were read back.
    ///
    /// # Errors
    /// They are not sites of `reads`.
    pub fn valid(&self, reads: &Reads) -> Result<(), SnapshotError> {
        let expected = Self::new(*reads).len;
        let shape = self.reads == *reads
            && (self.len == expected || !reads.is_tabular())
            && Some(self.features.len())
                == self.len.checked_mul(self.dim()).filter(|_| !reads.is_tabular()).or(Some(0))
            && self.cells.len() == if reads.is_tabular() || reads.cells.is_none() { 0 } else { self.len };
        let inside = |c: &u32| reads.cells.is_some_and(|cells| (*c as usize) < cells);
        ensure(
            shape && self.features.iter().all(|v| v.is_finite()) && self.cells.iter().all(inside),
            "its contexts are not of this world",
        )
    }
}

/// One action's cost at one site: an importance weight and a loss, so that regression may use them apart.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct OneHot {
    /// The site.
    pub site: u32,
    /// The action.
    pub action: u32,
    /// The importance weight, at least 0.
    pub weight: f64,
    /// The loss; the cost is `weight * loss`.
    pub loss: f64,
}

/// What actions cost at sites, of either sign: a block of K numbers per site, and single entries. The total cost of a
/// policy is the sum of both over all sites.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Costs {
    actions: usize,
    /// K numbers per site for the first sites; the rest cost nothing.
    dense: Vec<f64>,
    sparse: Vec<OneHot>,
}

impl Costs {
    /// Nothing costs anything.
    pub fn new(actions: usize) -> Self {
        Self { actions, dense: Vec::new(), sparse: Vec::new() }
    }

    /// Adds an importance-weighted loss: aggregated where contexts are finite, else an entry of its own.
    pub fn observe(&mut self, sites: &Sites, site: usize, action: usize, weight: f64, loss: f64) {
        if sites.reads().is_tabular() {
            self.block(sites)[site * sites.reads().actions + action] += weight * loss;
        } else {
            self.sparse.push(OneHot { site: site as u32, action: action as u32, weight, loss });
        }
    }

    /// The dense block, grown to all sites.
    pub fn block(&mut self, sites: &Sites) -> &mut [f64] {
        self.dense.resize(sites.len() * self.actions, 0.0);
        &mut self.dense
    }

    /// The dense block as far as it goes.
    pub fn dense(&self) -> &[f64] {
        &self.dense
    }

    /// The dense block with the single entries added in.
    pub fn combined(&self, sites: &Sites) -> Cow<'_, [f64]> {
        let mut all = Cow::Borrowed(&self.dense[..]);
        if !self.sparse.is_empty() {
            let block = all.to_mut();
            block.resize(sites.len() * self.actions, 0.0);
            for e in &self.sparse {
                block[e.site as usize * self.actions + e.action as usize] += e.weight * e.loss;
            }
        }
        all
    }

    /// The single entries.
    pub fn sparse(&self) -> &[OneHot] {
        &self.sparse
    }

    /// How many actions there are.
    pub fn actions(&self) -> usize {
        self.actions
    }

    /// The total cost of a policy.
    pub fn of(&self, sites: &Sites, policy: &Policy) -> f64 {
        let k = self.actions;
        let block = self.dense.chunks_exact(k).enumerate();
        let block: f64 = block.filter_map(|(s, row)| row.get(sites.act(policy, s)?)).sum();
        let here = |e: &&OneHot| sites.act(policy, e.site as usize) == Some(e.action as usize);
        block + self.sparse.iter().filter(here).map(|e| e.weight * e.loss).sum::<f64>()
    }

    /// Checks costs that were read back.
    ///
    /// # Errors
    /// They are not costs at `sites`.
    pub fn valid(&self, sites: &Sites) -> Result<(), SnapshotError> {
        let k = sites.reads().actions;
        let dense = self.dense.len() <= sites.len() * k
            && self.dense.len().is_multiple_of(k)
            && self.dense.iter().all(|c| c.is_finite());
        let sparse = self.sparse.iter().all(|e| {
            (e.site as usize) < sites.len()
                && (e.action as usize) < k
                && e.weight >= 0.0
                && (e.weight * e.loss).is_finite()
        });
        ensure(self.actions == k && dense && sparse, "its costs do not lie on its contexts")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tabular() -> Reads {
        Reads { actions: 3, cells: Some(4), features: None }
    }

    #[test]
    fn finite_contexts_are_their_own_sites_and_costs_add_up_there() {
        let mut sites = Sites::new(tabular());
        let mut costs = Costs::new(3);
        for _ in 0..5 {
            let site = sites.enter(&Context::tabular(2, 3)).unwrap();
            costs.observe(&sites, site, 1, 3.0, 0.5);
        }
        assert_eq!((sites.len(), costs.dense().len(), costs.sparse().len()), (4, 12, 0));
        assert_eq!(costs.of(&sites, &Policy::Table(vec![0, 0, 1, 0])), 7.5);
        assert_eq!(costs.of(&sites, &Policy::Table(vec![1, 1, 0, 1])), 0.0);
    }

    #[test]
    fn a_context_that_does_not_fit_is_named() {
        let mut sites = Sites::new(tabular());
        for (x, message) in [
            (Context::tabular(4, 3), "the context has 5 cells, but 4 were announced"),
            (Context::plain(3), "the context has 0 cells, but 4 were announced"),
            (Context::tabular(0, 0), "the context has 0 actions, but 3 were announced"),
            (Context::tabular(0, 4), "the context has 4 actions, but 3 were announced"),
        ] {
            assert_eq!(sites.enter(&x).unwrap_err().to_string(), message);
        }
        let mut rows = Sites::new(Reads { actions: 2, cells: None, features: Some(2) });
        assert!(matches!(
            rows.enter(&Context::shared(vec![1.0], 2)),
            Err(BaseError::Context { what: "features", found: 1, expected: 2 })
        ));
        assert!(matches!(
            rows.enter(&Context::shared(vec![1.0, f64::NAN], 2)),
            Err(BaseError::Feature { index: 1, .. })
        ));
        assert!(rows.is_empty());
    }

    #[test]
    fn sites_that_were_read_back_are_checked() {
        let reads = Reads { actions: 2, cells: Some(3), features: Some(1) };
        let mut sites = Sites::new(reads);
        let mut x = Context::shared(vec![0.5], 2);
        x.set_cell(Some(1));
        sites.enter(&x).unwrap();
        assert!(sites.valid(&reads).is_ok());
        assert_eq!(sites.act(&Policy::Table(vec![0, 1, 0]), 0), Some(1));
        for break_it in [
            (|s: &mut Sites| s.len = 2) as fn(&mut Sites),
            |s| s.features[0] = f64::NAN,
            |s| s.cells[0] = 3,
            |s| s.cells.clear(),
            |s| s.len = usize::MAX,
        ] {
            let mut broken = sites.clone();
            break_it(&mut broken);
            assert!(broken.valid(&reads).is_err());
        }
        assert!(sites.valid(&tabular()).is_err());
        let mut costs = Costs::new(2);
        costs.observe(&sites, 0, 1, 2.0, 0.5);
        assert!(costs.valid(&sites).is_ok());
        costs.sparse[0].site = 1;
        assert!(costs.valid(&sites).is_err());
    }
}
