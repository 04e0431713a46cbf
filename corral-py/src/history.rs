//! A short history of a band, for its picture.

/// The most points that are kept.
const MOST: usize = 64;

/// The probabilities of the bases now and then: when there are too many points, every other one goes.
pub struct History {
    next: u64,
    every: u64,
    pub points: Vec<(u64, Vec<f64>)>,
}

impl Default for History {
    fn default() -> Self {
        Self { next: 0, every: 1, points: Vec::new() }
    }
}

impl History {
    /// Notes where the band is after `round` rounds.
    #[inline]
    pub fn note(&mut self, round: u64, probabilities: &[f64]) {
        if round >= self.next {
            self.put(round, probabilities);
        }
    }

    fn put(&mut self, round: u64, probabilities: &[f64]) {
        if self.points.len() == MOST {
            let mut at = 0;
            self.points.retain(|_| {
                at += 1;
                at % 2 == 1
            });
            self.every *= 2;
        }
        self.points.push((round, probabilities.to_vec()));
        self.next = round - round % self.every + self.every;
    }
}
