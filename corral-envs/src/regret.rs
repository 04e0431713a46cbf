//! The best fixed decision in hindsight: sums of mean losses, kept as rounds go by.

use std::sync::Arc;

use corral_core::Policy;

/// Cumulative mean losses per arm.
#[derive(Debug, Clone, PartialEq)]
pub struct ArmSums(Vec<f64>);

impl ArmSums {
    /// No round so far.
    pub fn new(arms: usize) -> Self {
        Self(vec![0.0; arms])
    }

    /// A round with these mean losses, one per arm.
    #[inline]
    pub fn add(&mut self, means: &[f64]) {
        for (sum, mean) in self.0.iter_mut().zip(means) {
            *sum += mean;
        }
    }

    /// The smallest sum; 0 where there are no arms.
    pub fn best(&self) -> f64 {
        self.0.iter().copied().reduce(f64::min).unwrap_or(0.0)
    }
}

/// Cumulative mean losses per finite context and action, and the class of policies that competes: a round costs O(K),
/// whatever the size of the class.
#[derive(Debug, Clone)]
pub struct CellSums {
    sums: Vec<f64>,
    actions: usize,
    policies: Arc<[Policy]>,
}

impl CellSums {
    /// No round so far. Policies other than tables, and tables of other sizes, do not compete.
    pub fn new(cells: usize, actions: usize, policies: Arc<[Policy]>) -> Self {
        Self { sums: vec![0.0; cells * actions], actions, policies }
    }

    /// A round in context `cell`, where actions have these mean losses.
    #[inline]
    pub fn add(&mut self, cell: usize, means: &[f64]) {
        let row = cell * self.actions;
        for (sum, mean) in self.sums[row..row + self.actions].iter_mut().zip(means) {
            *sum += mean;
        }
    }

    /// The cumulative mean loss of a policy: sum over contexts x of `G[x][pi(x)]`.
    pub fn of(&self, policy: &Policy) -> Option<f64> {
        match policy {
            Policy::Table(table) if table.len() * self.actions == self.sums.len() => {
                let cells = self.sums.chunks_exact(self.actions).zip(table);
                cells.map(|(row, action)| row.get(usize::from(*action)).copied()).sum()
            }
            _ => None,
        }
    }

    /// The smallest sum of a policy of the class; infinite where none competes.
    pub fn best(&self) -> f64 {
        self.policies.iter().filter_map(|policy| self.of(policy)).fold(f64::INFINITY, f64::min)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_best_arm_is_the_smallest_sum() {
        let mut sums = ArmSums::new(2);
        assert_eq!(sums.best(), 0.0);
        sums.add(&[0.25, 1.0]);
        sums.add(&[0.5, 0.0]);
        sums.add(&[0.5, 0.0]);
        assert_eq!(sums.best(), 1.0);
        assert_eq!(ArmSums::new(0).best(), 0.0);
    }

    #[test]
    fn the_best_policy_is_found_over_contexts() {
        let class: Arc<[Policy]> =
            vec![Policy::Table(vec![0, 0]), Policy::Table(vec![1, 0]), Policy::Table(vec![0])].into();
        let mut sums = CellSums::new(2, 2, Arc::clone(&class));
        sums.add(0, &[1.0, 0.25]);
        sums.add(0, &[0.0, 0.25]);
        sums.add(1, &[0.5, 0.0]);
        assert_eq!(sums.of(&class[0]), Some(1.5));
        assert_eq!(sums.of(&class[1]), Some(1.0));
        assert_eq!(sums.of(&class[2]), None, "it does not know the second context");
        assert_eq!(sums.best(), 1.0);
    }
}
