//! Arms whose mean losses move: by the clock, or with what was played.

use crate::prelude::*;

/// What was before a round.
pub struct Past<'a> {
    /// How many rounds were.
    pub rounds: u64,
    /// How often each arm was played.
    pub plays: &'a [u64],
    /// The arm of the last round.
    pub last: Option<usize>,
}

params! {
    /// How a loss follows its mean.
    pub enum Noise {
        /// The loss is 1 with the mean's probability, else 0.
        #[default]
        Bernoulli,
        /// The loss is the mean.
        None,
    }
}

impl Noise {
    /// The loss of a mean, by the `index`-th number of a draw.
    #[inline]
    pub(crate) fn loss(self, mean: f64, draw: Draw, index: u64) -> f64 {
        match self {
            Self::Bernoulli => coin(mean, draw, index),
            Self::None => mean,
        }
    }
}

/// The cumulative mean loss of the best arm had it been played in all of so many rounds.
type Alone = Box<dyn Fn(u64) -> Option<f64> + Send>;

/// Writes the means of a round.
type Path = Box<dyn FnMut(&Past<'_>, &mut [f64]) + Send>;

/// A bandit whose mean losses move: `path` writes those of a round, and sees the past only.
pub struct Moving<P> {
    path: P,
    noise: Noise,
    sums: ArmSums,
    plays: Vec<u64>,
    last: Option<usize>,
    alone: Option<Alone>,
    /// What losses are drawn from in place of the means, and how it moves; empty where they follow the means.
    rated: Vec<f64>,
    ratings: Option<Path>,
}

impl<P: FnMut(&Past<'_>, &mut [f64]) + Send> Moving<P> {
    /// The bandit whose `arms` arms move along `path`.
    pub fn new(arms: usize, noise: Noise, path: P) -> Self {
        let (sums, plays) = (ArmSums::new(arms), vec![0; arms]);
        Self { path, noise, sums, plays, last: None, alone: None, rated: Vec::new(), ratings: None }
    }

    /// The same with ratings that need not tell the truth: losses are drawn from the means that `ratings` writes, and regret is
    /// counted with those of the path.
    pub fn rated(self, ratings: impl FnMut(&Past<'_>, &mut [f64]) + Send + 'static) -> Self {
        Self { rated: vec![0.0; self.plays.len()], ratings: Some(Box::new(ratings)), ..self }
    }

    /// The same, where an arm's losses depend on its own plays: the best arm is then not the one with the smallest sum of
    /// mean losses.
    pub fn alone(self, best: impl Fn(u64) -> Option<f64> + Send + 'static) -> Self {
        Self { alone: Some(Box::new(best)), ..self }
    }
}

impl<P: FnMut(&Past<'_>, &mut [f64]) + Send> Game for Moving<P> {
    const SUMS_LEAST: bool = false;

    fn setup(&self) -> Setup {
        Setup::arms(self.plays.len(), None)
    }

    fn next(&mut self, round: Round<'_>) -> Result<(), EnvError> {
        let past = Past { rounds: round.number, plays: &self.plays, last: self.last };
        (self.path)(&past, round.means);
        if let Some(ratings) = &mut self.ratings {
            ratings(&past, &mut self.rated);
        }
        self.sums.add(round.means);
        Ok(())
    }

    fn loss(&self, arm: usize, mean: f64, draw: Draw) -> f64 {
        self.noise.loss(self.rated.get(arm).copied().unwrap_or(mean), draw, arm as u64)
    }

    fn played(&mut self, arm: usize, _context: &Context) {
        self.plays[arm] += 1;
        self.last = Some(arm);
    }

    fn best(&self, rounds: u64, _least: f64) -> f64 {
        self.alone.as_ref().and_then(|best| best(rounds)).unwrap_or_else(|| self.sums.best())
    }
}
