//! The side information x_t that a round begins with.

use std::borrow::Cow;

use rand_core::Rng;
use serde::{Deserialize, Serialize};

/// Side information of one round: shared features, how many actions there are this round, optionally one feature
/// row per action (so that action sets may change from round to round), optionally the index of a finite context.
///
/// Rounds without side information carry [`Context::plain`]: no features, K actions.
///
/// ```
/// use corral_core::Context;
/// let arms = Context::plain(3);                                            // a multi-armed bandit
/// let user = Context::shared(vec![1.0, 0.3], 3);                           // what is known of the user
/// let items = Context::with_rows(vec![1.0], vec![0.1, 0.9, 0.5, 0.5], 2);  // two items with two features each
/// let cell = Context::tabular(4, 3);                                       // the fifth of finitely many contexts
/// assert_eq!((arms.actions(), user.features().len(), cell.cell()), (3, 2, Some(4)));
/// assert_eq!((items.actions(), items.row(1)), (2, Some(&[0.5, 0.5][..])));
/// let stock = Context::shared(vec![1.0, 0.3], 3).offering(vec![0, 2]);     // actions 0 and 2 of the band's three
/// assert_eq!((stock.actions(), stock.number(1), stock.place(2)), (2, 2, Some(1)));
/// ```
///
/// A round that offers fewer actions than the band has offers the first ones, or those whose numbers it has
/// ([`offering`](Context::offering)). A decision is a place among the offered actions either way.
///
/// Its numbers are its own, or [lent](Context::lent). They are handed out for as long as the context itself is borrowed,
/// and a clone owns a copy: whoever lends for less than ever needs no more than keep the context from outliving the loan.
#[derive(Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Context {
    features: Cow<'static, [f64]>,
    actions: u32,
    rows: Cow<'static, [f64]>,
    row_dim: u32,
    cell: Option<u32>,
    /// Which of the band's actions are offered; empty: the first ones.
    #[serde(default)]
    offer: Cow<'static, [u32]>,
}

impl Clone for Context {
    fn clone(&self) -> Self {
        Self {
            features: Cow::Owned(self.features.to_vec()),
            rows: Cow::Owned(self.rows.to_vec()),
            offer: Cow::Owned(self.offer.to_vec()),
            ..*self
        }
    }

    /// Keeps the memory.
    fn clone_from(&mut self, other: &Self) {
        self.copy_from(other);
    }
}

impl Context {
    /// No side information: `actions` arms (0 where decisions are points).
    pub fn plain(actions: usize) -> Self {
        Self { actions: actions as u32, ..Self::default() }
    }

    /// Shared features and a fixed number of actions.
    #[inline]
    pub fn shared(features: Vec<f64>, actions: usize) -> Self {
        Self { features: features.into(), actions: actions as u32, ..Self::default() }
    }

    /// Features and rows that live elsewhere, without a copy: `actions` rows of `row_dim` features, or none.
    /// Rows beyond that number are left out; where there are fewer, the context has no rows.
    #[inline]
    pub fn lent(features: &'static [f64], actions: usize, rows: &'static [f64], row_dim: usize) -> Self {
        let rows = rows.get(..actions.saturating_mul(row_dim)).unwrap_or_default();
        let row_dim = if rows.is_empty() { 0 } else { row_dim as u32 };
        let (features, rows) = (Cow::Borrowed(features), Cow::Borrowed(rows));
        Self { features, actions: actions as u32, rows, row_dim, ..Self::default() }
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
        let (features, rows) = (features.into(), rows.into());
        Self { features, actions: actions as u32, rows, row_dim: row_dim as u32, ..Self::default() }
    }

    /// The same round, offering the band's actions with these numbers, which increase. Rows, where there are some, are those of
    /// these actions, in this order.
    #[must_use]
    pub fn offering(self, numbers: Vec<u32>) -> Self {
        Self { actions: numbers.len() as u32, offer: Cow::Owned(numbers), ..self }
    }

    /// The numbers of the offered actions; `None`: the first ones are offered.
    #[inline]
    pub fn offer(&self) -> Option<&[u32]> {
        (!self.offer.is_empty()).then_some(&*self.offer)
    }

    /// The number, among all actions of the band, of the action that is offered at `place`.
    #[inline]
    pub fn number(&self, place: usize) -> usize {
        self.offer.get(place).map_or(place, |number| *number as usize)
    }

    /// At which place the band's action `number` is offered, where it is.
    pub fn place(&self, number: usize) -> Option<usize> {
        match self.offer() {
            None => (number < self.actions()).then_some(number),
            Some(offer) => offer.binary_search(&u32::try_from(number).ok()?).ok(),
        }
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

    /// Refills the shared features in place, keeping the memory.
    pub fn features_mut(&mut self) -> &mut Vec<f64> {
        self.features.to_mut()
    }

    /// The shared features and the action rows, to be changed in place.
    pub(crate) fn numbers_mut(&mut self) -> [&mut [f64]; 2] {
        [self.features.to_mut(), self.rows.to_mut()]
    }

    /// Refills the action rows in place through `fill`, keeping the memory; sets the number of actions from them.
    pub fn refill_rows(&mut self, row_dim: usize, fill: impl FnOnce(&mut Vec<f64>)) {
        let rows = self.rows.to_mut();
        rows.clear();
        fill(rows);
        let actions = rows.len().checked_div(row_dim).unwrap_or(0);
        rows.truncate(actions * row_dim);
        (self.row_dim, self.actions) = (row_dim as u32, actions as u32);
    }

    /// Makes this equal to `other`, keeping the memory (a `clone_from` without allocation).
    pub fn copy_from(&mut self, other: &Self) {
        for (own, others) in [(&mut self.features, &other.features), (&mut self.rows, &other.rows)] {
            let own = own.to_mut();
            own.clear();
            own.extend_from_slice(others);
        }
        if !(self.offer.is_empty() && other.offer.is_empty()) {
            let own = self.offer.to_mut();
            own.clear();
            own.extend_from_slice(&other.offer);
        }
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

    /// The probabilities of the finite contexts, where these decide what a policy sees and every one of them offers all
    /// actions: then many contexts are drawn at once, by how often each comes.
    fn probabilities(&self) -> Option<Vec<f64>> {
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    static FEATURES: [f64; 2] = [0.5, 0.25];
    static ROWS: [f64; 6] = [1.0, 2.0, 3.0, 4.0, 5.0, 6.0];

    #[test]
    fn lent_numbers_stay_where_they_are_and_a_clone_owns_its_own() {
        let lent = Context::lent(&FEATURES, 2, &ROWS, 3);
        assert_eq!(lent, Context::with_rows(FEATURES.to_vec(), ROWS.to_vec(), 3));
        assert_eq!((lent.features().as_ptr(), lent.rows().as_ptr()), (FEATURES.as_ptr(), ROWS.as_ptr()));
        assert_eq!(lent.row(1), Some(&ROWS[3..]));

        let mut copied = Context::lent(&ROWS, 1, &[], 0);
        copied.clone_from(&lent);
        for own in [lent.clone(), copied] {
            assert_eq!(own, lent);
            assert_ne!(own.features().as_ptr(), FEATURES.as_ptr());
            assert_ne!(own.rows().as_ptr(), ROWS.as_ptr());
        }
        let mut changed = lent;
        changed.features_mut()[0] = 1.0;
        changed.refill_rows(1, |rows| rows.push(7.0));
        assert_eq!(changed, Context::with_rows(vec![1.0, 0.25], vec![7.0], 1));
        assert_eq!((FEATURES[0], ROWS[0]), (0.5, 1.0));
    }

    #[test]
    fn lent_rows_are_whole_or_none() {
        let cut = Context::lent(&[], 1, &ROWS, 4);
        assert_eq!((cut.actions(), cut.row_dim(), cut.rows()), (1, 4, &ROWS[..4]));
        let few = Context::lent(&[], 2, &ROWS, 4);
        assert_eq!((few.actions(), few.row_dim(), few.rows()), (2, 0, &[][..]));
        assert_eq!(Context::lent(&FEATURES, 3, &[], 0), Context::shared(FEATURES.to_vec(), 3));
    }
}
