//! The bases that are still in the band, and the checks that every master makes before it learns.

use serde::{Deserialize, Serialize};

use crate::snapshot::ensure;
use crate::{Credit, LossDomain, MasterError, SnapshotError};

/// Weights beyond this are refused: sums of their squares would leave the range of f64.
pub(crate) const LARGEST_WEIGHT: f64 = 1e100;

/// The bases that are still in the band.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Roster {
    present: Vec<bool>,
    left: usize,
}

impl Roster {
    pub(super) fn new(bases: usize) -> Self {
        Self { present: vec![true; bases], left: bases }
    }

    /// How many bases there were at the beginning.
    pub fn bases(&self) -> usize {
        self.present.len()
    }

    /// How many are left; at least 1.
    pub fn left(&self) -> usize {
        self.left
    }

    /// Whether `base` has not been retired.
    #[inline]
    pub fn has(&self, base: usize) -> bool {
        self.left == self.present.len() || self.present[base]
    }

    /// The bases that are left, in order.
    pub fn iter(&self) -> impl Iterator<Item = usize> + '_ {
        (0..self.present.len()).filter(|&i| self.present[i])
    }

    /// The base left for which `score` is least; the lowest index among equals. Scores are numbers.
    pub fn least(&self, mut score: impl FnMut(usize) -> f64) -> usize {
        let (mut best, mut least) = (usize::MAX, f64::INFINITY);
        for (i, present) in self.present.iter().enumerate() {
            let value = if *present { score(i) } else { f64::NAN };
            // The first of those present counts whatever its score.
            if value < least || best == usize::MAX && *present {
                (best, least) = (i, value);
            }
        }
        best
    }

    /// One more, behind the others.
    /// Moves the distribution `p` over the bases a part `gamma` of its way to the even one over those that are left.
    pub(super) fn mix(&self, gamma: f64, p: &mut [f64]) {
        let floor = gamma / self.left as f64;
        for (i, p) in p.iter_mut().enumerate() {
            *p = if self.has(i) { (1.0 - gamma) * *p + floor } else { 0.0 };
        }
    }

    pub(super) fn add(&mut self) {
        self.present.push(true);
        self.left += 1;
    }

    /// A base that was retired is back.
    pub(super) fn reinstate(&mut self, base: usize) {
        self.left += usize::from(!std::mem::replace(&mut self.present[base], true));
    }

    pub(super) fn retire(&mut self, base: usize) -> Result<(), MasterError> {
        match self.present.get(base) {
            None => Err(MasterError::Index { base, bases: self.bases() }),
            Some(false) => Err(MasterError::Retired(base)),
            Some(true) if self.left == 1 => Err(MasterError::LastBase(base)),
            Some(true) => {
                self.present[base] = false;
                self.left -= 1;
                Ok(())
            }
        }
    }

    /// A loss of `domain`, known bases, weights that are numbers. Written so that NaN fails.
    pub(super) fn check(&self, loss: f64, credit: Credit<'_>, domain: LossDomain) -> Result<(), MasterError> {
        if !domain.contains(loss) {
            return Err(MasterError::Loss(loss));
        }
        let bases = self.bases();
        let check = |base: usize, weight: f64| {
            if (0.0..=LARGEST_WEIGHT).contains(&weight) {
                Ok(())
            } else {
                Err(MasterError::Weight { base, weight, range: LARGEST_WEIGHT })
            }
        };
        match credit {
            Credit::Chosen { base, .. } if base >= bases => Err(MasterError::Index { base, bases }),
            Credit::Chosen { base, weight } => check(base, weight),
            Credit::Shared(weights) if weights.len() != bases => {
                Err(MasterError::Length { found: weights.len(), bases })
            }
            Credit::Shared(weights) => weights.iter().enumerate().try_for_each(|(i, &w)| check(i, w)),
        }
    }

    /// Calls `learn(base, weight)` for every base left that `credit` gives a positive weight. Credit that comes late
    /// to a base that was retired meanwhile is dropped.
    #[inline]
    pub fn credited(&self, credit: Credit<'_>, mut learn: impl FnMut(usize, f64)) {
        match credit {
            Credit::Chosen { base, weight } => {
                if weight > 0.0 && self.has(base) {
                    learn(base, weight);
                }
            }
            Credit::Shared(weights) => {
                for (i, &weight) in weights.iter().enumerate() {
                    if weight > 0.0 && self.has(i) {
                        learn(i, weight);
                    }
                }
            }
        }
    }

    pub(super) fn validate(&self, bases: usize) -> Result<(), SnapshotError> {
        let left = self.present.iter().filter(|p| **p).count();
        ensure(self.present.len() == bases, format_args!("{} bases, not {bases}", self.present.len()))?;
        ensure(
            left == self.left && left != 0,
            format_args!("{left} bases are left, but {} were counted", self.left),
        )
    }
}
