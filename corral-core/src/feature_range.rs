//! The features that a caller may send, and what becomes of others.
//!
//! A regression weighs a round by the squares of its features: a feature of size 1,000 counts as much as a million rounds with
//! features of size 1, and a handful of such rounds decides for good.

use serde::{Deserialize, Serialize};

use crate::snapshot::{self, SnapshotError, ensure};
use crate::{BaseError, ContextShape, ParamError};

/// Which features are taken: [`Setup::range`](crate::Setup::range). An ensemble holds contexts against it before any base sees them.
///
/// A list has one pair (low, high) for all features, or one for each: shared features first, then those of action rows.
///
/// ```
/// use corral_core::{ContextShape, FeatureRange, Setup};
/// let setup = Setup {
///     context: ContextShape { features: 2, ..ContextShape::default() },
///     range: FeatureRange::Clip(vec![(0.0, 1.0), (-20.0, 50.0)]),        // a share and a temperature
///     ..Setup::arms(5, None)
/// };
/// assert!(setup.range.check(&setup.context).is_ok());
/// ```
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum FeatureRange {
    /// Every finite number.
    #[default]
    Any,
    /// Those in the range; a context with another is refused.
    Refuse(Vec<(f64, f64)>),
    /// Those in the range; others become its nearest end, and are counted.
    Clip(Vec<(f64, f64)>),
    /// As `Clip`, from -b to b, with b ten times the median size of the feature: of its first 64 values that are not 0, and
    /// of 16 values of size 1 that stand for what is not yet known. So it begins with b = 10, and whoever sends fewer than 16
    /// values more than all others do not decide it. Values count when their loss is learned.
    Learned,
}

impl FeatureRange {
    /// Passes on a range that can be used for contexts of this shape.
    ///
    /// # Errors
    /// Not as many pairs as features, or a pair that is not low <= high, both finite.
    pub fn check(&self, shape: &ContextShape) -> Result<(), ParamError> {
        let (Self::Refuse(pairs) | Self::Clip(pairs)) = self else { return Ok(()) };
        let features = shape.features + shape.row_features;
        if pairs.len() != 1 && pairs.len() != features {
            return Err(ParamError::new("feature range", pairs.len(), "one pair, or one for each feature"));
        }
        // Written so that NaN fails.
        match pairs.iter().find(|(low, high)| !(low <= high && low.is_finite() && high.is_finite())) {
            None => Ok(()),
            Some((low, high)) => {
                Err(ParamError::new("feature range", format!("({low}, {high})"), "(low, high), low <= high"))
            }
        }
    }
}

/// The sizes that features begin with are taken to be 1, as strongly as this many values would say it.
const ONES: usize = 16;
/// The values of a feature that its range is learned from.
const FIRST: usize = 64;
/// A learned range is so many times the median size.
const TIMES: f64 = 10.0;

/// What an ensemble knows of its features, where their range is bounded: part of its snapshot.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct Features {
    refuse: bool,
    learned: bool,
    shared: usize,
    #[serde(deserialize_with = "snapshot::untrusted")]
    each: Vec<Feature>,
    /// Values that were clipped in rounds that were learned.
    pub clipped: u64,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
struct Feature {
    low: f64,
    high: f64,
    /// What was seen of it, clipped.
    seen: Span,
    /// The sizes that its range is learned from, in order; empty when it is learned.
    #[serde(deserialize_with = "snapshot::untrusted")]
    first: Vec<f64>,
}

/// From the least to the largest number that was seen.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub(crate) struct Span {
    pub least: f64,
    pub most: f64,
}

impl Default for Span {
    /// Nothing was seen.
    fn default() -> Self {
        Self { least: f64::INFINITY, most: f64::NEG_INFINITY }
    }
}

impl Span {
    #[inline]
    pub fn add(&mut self, value: f64) {
        self.least = self.least.min(value);
        self.most = self.most.max(value);
    }

    pub fn is_sound(&self) -> bool {
        *self == Self::default() || (self.least <= self.most && (self.most - self.least).is_finite())
    }
}

impl Feature {
    fn learn(&mut self, value: f64) {
        let size = value.abs();
        if self.first.is_empty() || size == 0.0 {
            return;
        }
        let at = self.first.partition_point(|s| *s < size);
        self.first.insert(at, size);
        // Below the largest number, so that squares of what is clipped stay finite.
        self.high = (TIMES * self.first[self.first.len() / 2]).min(1e100);
        self.low = -self.high;
        if self.first.len() == ONES + FIRST {
            self.first = Vec::new();
        }
    }
}

impl Features {
    /// Of contexts of this shape; `None` where every finite number is taken.
    pub fn new(range: &FeatureRange, shape: &ContextShape) -> Result<Option<Self>, ParamError> {
        range.check(shape)?;
        let count = shape.features + shape.row_features;
        let bounded = |(low, high), first| Feature { low, high, seen: Span::default(), first };
        let (pairs, refuse) = match range {
            FeatureRange::Any => return Ok(None),
            FeatureRange::Refuse(pairs) => (Some(pairs), true),
            FeatureRange::Clip(pairs) => (Some(pairs), false),
            FeatureRange::Learned => (None, false),
        };
        let each = match pairs {
            Some(pairs) => pairs.iter().cycle().take(count).map(|p| bounded(*p, Vec::new())).collect(),
            None => vec![bounded((-TIMES, TIMES), vec![1.0; ONES]); count],
        };
        let (learned, shared) = (pairs.is_none(), shape.features);
        Ok((count > 0).then_some(Self { refuse, learned, shared, each, clipped: 0 }))
    }

    /// Each number of a context with the place of its feature: shared features, then row after row.
    fn places<'a>(&self, [features, rows]: [&'a [f64]; 2]) -> impl Iterator<Item = (usize, f64)> + use<'a> {
        let (shared, width) = (self.shared, (self.each.len() - self.shared).max(1));
        let of_rows = rows.iter().enumerate().map(move |(i, v)| (shared + i % width, *v));
        features.iter().copied().enumerate().take(shared).chain(of_rows)
    }

    /// Whether all numbers lie in their ranges.
    ///
    /// # Errors
    /// One does not, and is to be refused.
    pub fn contain(&self, numbers: [&[f64]; 2]) -> Result<bool, BaseError> {
        let outside = self.places(numbers).enumerate().find(|(_, (place, value))| {
            self.each.get(*place).is_some_and(|f| !(f.low..=f.high).contains(value))
        });
        match outside {
            Some((index, (place, value))) if self.refuse => {
                let Feature { low, high, .. } = self.each[place];
                Err(BaseError::Outside { index, value, low, high })
            }
            found => Ok(found.is_none()),
        }
    }

    /// Clips the numbers of a context that has this shape.
    pub fn clip(&self, [features, rows]: [&mut [f64]; 2]) {
        let (shared, of_rows) = self.each.split_at(self.shared);
        let clip = |(value, feature): (&mut f64, &Feature)| *value = value.clamp(feature.low, feature.high);
        features.iter_mut().zip(shared).for_each(clip);
        rows.iter_mut().zip(of_rows.iter().cycle()).for_each(clip);
    }

    /// Notes the numbers of a round that was learned, as the caller sent them.
    pub fn note(&mut self, numbers: [&[f64]; 2]) {
        for (place, value) in self.places(numbers) {
            let Some(feature) = self.each.get_mut(place) else { continue };
            let within = value.clamp(feature.low, feature.high);
            self.clipped += u64::from(within != value);
            feature.seen.add(within);
            feature.learn(value);
        }
    }

    /// As strict as a constructor: whether `read` may be what this becomes. Comparisons are written so that NaN fails.
    pub fn admits(&self, read: &Self) -> Result<(), SnapshotError> {
        let kind = |f: &Self| (f.refuse, f.learned, f.shared, f.each.len());
        ensure(kind(self) == kind(read), "its features have other ranges")?;
        for (place, (own, read)) in self.each.iter().zip(&read.each).enumerate() {
            let Feature { low, high, seen, first } = read;
            let same = self.learned || (*low, *high) == (own.low, own.high);
            let sizes = first.is_empty() || (ONES..ONES + FIRST).contains(&first.len());
            let sorted = first.is_sorted() && first.iter().all(|s| *s > 0.0 && s.is_finite());
            let bounds = *low <= *high && low.is_finite() && high.is_finite();
            let sound =
                same && sizes && sorted && bounds && seen.is_sound() && (self.learned || first.is_empty());
            ensure(sound, format_args!("the range of feature {place} cannot be this"))?;
        }
        Ok(())
    }

    /// What people should know of the features after `rounds` rounds, in sentences.
    pub fn remarks(&self, rounds: u64) -> Vec<String> {
        let mut remarks = Vec::new();
        if self.learned {
            let open = self.each.iter().filter(|f| !f.first.is_empty()).count();
            let widths = self.each.iter().map(|f| f.high);
            let (least, most) =
                widths.fold((f64::INFINITY, 0.0), |(a, b), w| (f64::min(a, w), f64::max(b, w)));
            remarks.push(format!(
                "feature ranges: learned, from +-{least:.3} to +-{most:.3}{}",
                if open > 0 {
                    format!("; {open} of {} are still learned", self.each.len())
                } else {
                    String::new()
                }
            ));
        }
        if rounds < ENOUGH {
            return remarks;
        }
        if self.clipped > 0 {
            remarks.push(format!("{} feature values were clipped to their ranges", self.clipped));
        }
        let (mut narrow, mut sizes) = (Vec::new(), Vec::new());
        for (place, Feature { low, high, seen, .. }) in self.each.iter().enumerate() {
            // A constant is as good at any place; what was not seen says nothing.
            if !(seen.least < seen.most) {
                continue;
            }
            if !self.learned && seen.most - seen.least < PART * (high - low) {
                narrow.push(place);
            }
            if !(1e-3..=1e3).contains(&seen.least.abs().max(seen.most.abs())) {
                sizes.push(place);
            }
        }
        if !narrow.is_empty() {
            remarks.push(format!(
                "{} less than a tenth of {}: give the range that they have",
                listed(&narrow, "uses", "use"),
                if narrow.len() == 1 { "its range" } else { "their ranges" }
            ));
        }
        if !sizes.is_empty() {
            remarks.push(format!(
                "{} above 1000 or below 0.001 in size: bring features to about 1, as regressions expect",
                listed(&sizes, "is", "are")
            ));
        }
        remarks
    }
}

/// Fewer losses than this say nothing of their range.
pub(crate) const ENOUGH: u64 = 100;
/// A range of which less than this part is used is too wide.
pub(crate) const PART: f64 = 0.1;

/// "feature 3 uses" or "features 1, 2, 4 use"; of many the first five.
fn listed(places: &[usize], one: &str, many: &str) -> String {
    let words: Vec<String> = places.iter().take(5).map(usize::to_string).collect();
    let more = if places.len() > 5 { " and others" } else { "" };
    match places {
        [place] => format!("feature {place} {one}"),
        _ => format!("features {}{more} {many}", words.join(", ")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn learned(features: usize) -> Features {
        let shape = ContextShape { features, ..ContextShape::default() };
        Features::new(&FeatureRange::Learned, &shape).unwrap().unwrap()
    }

    fn width(of: &Features) -> f64 {
        assert_eq!(of.each[0].low, -of.each[0].high);
        of.each[0].high
    }

    #[test]
    fn a_range_is_ten_times_the_median_of_what_was_seen_and_of_sixteen_ones() {
        let mut own = learned(1);
        assert_eq!(width(&own), 10.0);
        // Sixteen ones and n values of 50: the median is the n/2-th and 8th number, 50 as soon as there are as many.
        (0..15).for_each(|_| own.note([&[50.0], &[]]));
        assert_eq!((width(&own), own.clipped), (10.0, 15));
        own.note([&[-50.0], &[]]);
        assert_eq!((width(&own), own.clipped), (500.0, 16));
        (0..48).for_each(|_| own.note([&[50.0], &[]]));
        assert!(own.each[0].first.is_empty());
        // Learned for good, and zeros say nothing.
        (0..100).for_each(|_| own.note([&[1e6], &[]]));
        assert_eq!((width(&own), own.clipped), (500.0, 116));
        let mut sparse = learned(1);
        (0..1000).for_each(|_| sparse.note([&[0.0], &[]]));
        assert_eq!(sparse.each[0].first.len(), ONES);
    }

    #[test]
    fn those_who_come_first_do_not_decide_a_range() {
        let mut own = learned(1);
        (0..6).for_each(|_| own.note([&[1000.0], &[]]));
        assert_eq!(width(&own), 10.0);
        (0..58).for_each(|n| own.note([&[0.25 + f64::from(n) / 58.0], &[]]));
        assert!((5.0..10.1).contains(&width(&own)), "{}", width(&own));
    }

    #[test]
    fn rows_have_ranges_of_their_own_and_refusals_name_the_value() {
        let shape = ContextShape { features: 1, row_features: 2, cells: None };
        let pairs = vec![(0.0, 1.0), (-1.0, 1.0), (0.0, 9.0)];
        let clip = Features::new(&FeatureRange::Clip(pairs.clone()), &shape).unwrap().unwrap();
        let (mut x, mut rows) = ([2.0], [-3.0, -3.0, 5.0, 5.0]);
        assert_eq!(clip.contain([&x, &rows]), Ok(false));
        clip.clip([&mut x, &mut rows]);
        assert_eq!((x, rows), ([1.0], [-1.0, 0.0, 1.0, 5.0]));
        assert_eq!(clip.contain([&x, &rows]), Ok(true));
        let refuse = Features::new(&FeatureRange::Refuse(pairs), &shape).unwrap().unwrap();
        let error = refuse.contain([&[0.5], &[0.5, 8.0, 0.0, 9.5]]).unwrap_err();
        assert_eq!(error.to_string(), "feature 4 of the context must be in [0, 9], but is 9.5");
        assert!(error.is_the_callers());
    }

    #[test]
    fn ranges_that_cannot_be_used_are_refused() {
        let shape = ContextShape { features: 2, ..ContextShape::default() };
        let three = FeatureRange::Clip(vec![(0.0, 1.0); 3]).check(&shape).unwrap_err().to_string();
        assert_eq!(three, "feature range must be one pair, or one for each feature, but is 3");
        for (low, high) in [(1.0, 0.0), (f64::NAN, 1.0), (0.0, f64::INFINITY)] {
            assert!(FeatureRange::Refuse(vec![(low, high)]).check(&shape).is_err(), "({low}, {high})");
        }
        let plain = ContextShape::default();
        assert_eq!(Features::new(&FeatureRange::Learned, &plain), Ok(None));
    }
}
