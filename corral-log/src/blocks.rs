//! Sums over the decisions of one unit, and what they say between units.

use std::collections::BTreeMap;
use std::hash::{DefaultHasher, Hash, Hasher};

use crate::fixed_time::{Estimate, Ratio, from_below, quantile};

/// Fewer units than this are few for a normal approximation.
pub(crate) const FEW_UNITS: usize = 30;

/// What units are known by: the hash of their name. In an order that is always the same, so that sums are.
pub(crate) type ByUnit<T> = BTreeMap<u64, T>;

/// What a unit is known by.
pub(crate) fn hash(unit: &str) -> u64 {
    let mut hasher = DefaultHasher::new();
    unit.hash(&mut hasher);
    hasher.finish()
}

/// Sums over the rows of one unit, for one policy.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Block {
    /// How many decisions they stand for.
    pub rows: f64,
    /// Of w r and of w (1 - r).
    pub plain: [f64; 2],
    /// The same with weights that are cut.
    pub clipped: [f64; 2],
    /// Of the doubly robust terms around V and around 1 - V, and of what they count for.
    pub robust: [f64; 2],
    pub counted: f64,
}

impl Block {
    /// Adds a row that stands for `c` decisions: its weight and the one that is cut, its reward, and the doubly robust terms with
    /// what they count for.
    pub fn add(&mut self, c: f64, [w, cut]: [f64; 2], r: f64, robust: Option<[f64; 3]>) {
        let both = |sums: &mut [f64; 2], c: f64, terms: [f64; 2]| {
            sums.iter_mut().zip(terms).for_each(|(sum, term)| *sum += c * term);
        };
        self.rows += c;
        both(&mut self.plain, c, [w * r, w * (1.0 - r)]);
        both(&mut self.clipped, c, [cut * r, cut * (1.0 - r)]);
        if let Some([h, earned, lost]) = robust {
            self.counted += h;
            both(&mut self.robust, h, [earned, lost]);
        }
    }
}

/// Sums over the rows of one unit, for two policies.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct PairBlock {
    /// How many decisions they stand for.
    pub rows: f64,
    /// Of what has the mean V1 - V2, and of what has the mean V2 - V1.
    pub sides: [f64; 2],
}

/// The interval of a value from sums of units: `of` has those of V and of 1 - V, and what they count for. NaN for fewer than two
/// units.
pub(crate) fn interval(units: &ByUnit<Block>, of: fn(&Block) -> ([f64; 2], f64), alpha: f64) -> (f64, f64) {
    let side = |side: usize| {
        between(units.values().map(move |block| {
            let (sums, rows) = of(block);
            (sums[side], rows)
        }))
    };
    match units.len() {
        0 | 1 => (f64::NAN, f64::NAN),
        _ => from_below(side(0), side(1), quantile(alpha)),
    }
}

/// The interval of SNIPS between units.
pub(crate) fn ratio(units: &ByUnit<Block>, alpha: f64) -> (f64, f64) {
    let mut ratio = Ratio::default();
    units.values().for_each(|block| ratio.add(block.plain[0], block.plain[0] + block.plain[1]));
    if units.len() < 2 { (f64::NAN, f64::NAN) } else { ratio.interval(quantile(alpha)) }
}

/// The interval of a difference, each end a lower bound: that of V1 - V2, and that of V2 - V1.
pub(crate) fn difference(units: &ByUnit<PairBlock>, alpha: f64) -> (f64, f64) {
    if units.len() < 2 {
        return (f64::NAN, f64::NAN);
    }
    let z = quantile(alpha);
    let lower = |side: usize| {
        let Estimate { value, error } = between(units.values().map(move |b| (b.sides[side], b.rows)));
        (value - z * error).max(-1.0)
    };
    (lower(0), -lower(1))
}

/// A mean over decisions from sums over units and how many decisions each stands for, with the error that it has between units.
fn between(blocks: impl Iterator<Item = (f64, f64)> + Clone) -> Estimate {
    let rows: f64 = blocks.clone().map(|(_, rows)| rows).sum();
    let value = blocks.clone().map(|(sum, _)| sum).sum::<f64>() / rows;
    let (mut squares, mut n) = (0.0, 0.0);
    for (sum, rows) in blocks {
        squares += (sum - value * rows).powi(2);
        n += 1.0;
    }
    // The mean is that of these units: n - 1 of the residuals are free.
    Estimate { value, error: (squares * n / (n - 1.0)).sqrt() / rows }
}
