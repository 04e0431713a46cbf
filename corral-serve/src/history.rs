//! What the bases of a band were over time: so many points that a page can show them, however long a process runs.

use std::collections::VecDeque;

use corral_core::Metrics;
use corral_log::{Bounds, Scale, Watched};

/// How many points are kept at most.
const MOST: usize = 600;
/// At first there is a point after so many milliseconds.
const EVERY: u64 = 2_000;

/// The bases at one time.
#[derive(Debug, Clone, PartialEq)]
pub struct Point {
    /// When, in milliseconds since 1970.
    pub at: u64,
    /// With which probability each base was followed.
    pub probabilities: Vec<f64>,
    /// What was known of the value of each; empty where they are not followed.
    pub values: Vec<Option<Bounds>>,
}

impl Point {
    pub(crate) fn of(at: u64, metrics: &Metrics, watched: Option<&Watched>) -> Self {
        Self {
            at,
            probabilities: metrics.bases.iter().map(|base| base.probability).collect(),
            values: watched.map(|watched| watched.values.clone()).unwrap_or_default(),
        }
    }

    pub(crate) fn scaled(&self, scale: &Scale) -> Self {
        let on = |value: f64| scale.low + value * (scale.high - scale.low);
        let values = self
            .values
            .iter()
            .map(|bounds| bounds.map(|b| Bounds { value: on(b.value), low: on(b.low), high: on(b.high) }));
        Self { values: values.collect(), ..self.clone() }
    }
}

/// Points since the begin. Where there are too many every second one goes, and the next ones are twice as far apart.
#[derive(Debug)]
pub(crate) struct History {
    points: VecDeque<Point>,
    every: u64,
}

impl Default for History {
    fn default() -> Self {
        Self { points: VecDeque::new(), every: EVERY }
    }
}

impl History {
    /// Whether a point is due. A clock that goes back does not stop it.
    pub fn is_due(&self, now: u64) -> bool {
        self.points.back().is_none_or(|last| now.checked_sub(last.at).is_none_or(|since| since >= self.every))
    }

    pub fn put(&mut self, point: Point) {
        // They are in the order of their times, also where the clock went back.
        self.points.retain(|before| before.at < point.at);
        self.points.push_back(point);
        if self.points.len() > MOST {
            let mut odd = false;
            self.points.retain(|_| {
                odd = !odd;
                odd
            });
            self.every *= 2;
        }
    }

    /// Those after a time.
    pub fn since(&self, at: u64) -> impl Iterator<Item = &Point> {
        self.points.iter().filter(move |point| point.at > at)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn point(at: u64) -> Point {
        Point { at, probabilities: vec![1.0], values: Vec::new() }
    }

    #[test]
    fn a_history_is_bounded_and_reaches_back_to_its_begin() {
        let mut history = History::default();
        for second in 1..1_000_000 {
            let now = second * 1_000;
            if history.is_due(now) {
                history.put(point(now));
            }
        }
        let at: Vec<u64> = history.since(0).map(|point| point.at).collect();
        assert!((MOST / 2..=MOST).contains(&at.len()), "{}", at.len());
        assert!(at[0] < 5_000_000 && at.windows(2).all(|pair| pair[0] < pair[1]), "{:?}", &at[..3]);
        assert!(at[at.len() - 1] > 990_000_000);
        assert_eq!(history.since(at[100]).count(), at.len() - 101);
        // The clock goes back: what lies behind it now is shown again when its time comes.
        history.put(point(500_000_000));
        assert_eq!(history.since(0).last(), Some(&point(500_000_000)));
        assert!(!history.is_due(500_000_001) && history.is_due(499_999_999));
    }
}
