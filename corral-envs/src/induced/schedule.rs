//! The probabilities p_t of the induced environment.

/// What a schedule may know when it chooses p_t: the past, never the present decision.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Moment {
    /// t, counted from 0.
    pub round: u64,
    /// T.
    pub horizon: u64,
    /// Whether the proposal of the round before was optimal; `None` in the first round and for schedules that do not
    /// watch.
    pub good: Option<bool>,
}

impl Moment {
    /// The part of the horizon that is over, in [0, 1).
    fn part(self) -> f64 {
        if self.horizon == 0 { 0.0 } else { (self.round as f64 / self.horizon as f64).min(1.0) }
    }
}

/// How E' chooses p_t.
///
/// # What an implementation owes
/// Probabilities in [1/range, 1].
pub trait Schedule: Send {
    /// p_t for the round of `moment`. Called once per round, in order.
    fn probability(&mut self, moment: Moment) -> f64;

    /// rho, the largest 1/p_t that can occur.
    fn range(&self) -> f64;

    /// Whether it wants to be told if proposals were good.
    fn watches(&self) -> bool {
        false
    }
}

impl<S: Schedule + ?Sized> Schedule for Box<S> {
    fn probability(&mut self, moment: Moment) -> f64 {
        (**self).probability(moment)
    }
    fn range(&self) -> f64 {
        (**self).range()
    }
    fn watches(&self) -> bool {
        (**self).watches()
    }
}

/// p_t = 1/rho.
#[derive(Debug, Clone)]
pub struct Constant(pub f64);

impl Schedule for Constant {
    fn probability(&mut self, _moment: Moment) -> f64 {
        1.0 / self.0
    }
    fn range(&self) -> f64 {
        self.0
    }
}

/// p_t = rho^(-t/T).
#[derive(Debug, Clone)]
pub struct Decay(pub f64);

impl Schedule for Decay {
    fn probability(&mut self, moment: Moment) -> f64 {
        libm::pow(self.0, -moment.part()).clamp(1.0 / self.0, 1.0)
    }
    fn range(&self) -> f64 {
        self.0
    }
}

/// p_t = 1/rho in the first half, then 1.
#[derive(Debug, Clone)]
pub struct Half(pub f64);

impl Schedule for Half {
    fn probability(&mut self, moment: Moment) -> f64 {
        if moment.round < moment.horizon / 2 { 1.0 / self.0 } else { 1.0 }
    }
    fn range(&self) -> f64 {
        self.0
    }
}

/// p_t = 1/2, 1/4, ..., 1/rho in steps of equal length: what a base meets that Corral trusts less and less.
#[derive(Debug, Clone)]
pub struct Staircase(pub f64);

impl Schedule for Staircase {
    fn probability(&mut self, moment: Moment) -> f64 {
        let steps = libm::ceil(libm::log2(self.0)).max(1.0);
        let step = libm::floor(moment.part() * steps).min(steps - 1.0);
        1.0 / libm::exp2(step + 1.0).min(self.0)
    }
    fn range(&self) -> f64 {
        self.0
    }
}

/// Which proposals a [`Starve`] schedule punishes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StarveWhat {
    /// The optimal ones.
    Good,
    /// The others: worst for lazy confidence bounds.
    Bad,
}

/// p_t = 1/rho after a round whose proposal was good (or bad), else 1.
#[derive(Debug, Clone)]
pub struct Starve {
    /// rho.
    pub range: f64,
    /// Which proposals.
    pub what: StarveWhat,
}

impl Schedule for Starve {
    fn probability(&mut self, moment: Moment) -> f64 {
        match moment.good {
            Some(good) if good == (self.what == StarveWhat::Good) => 1.0 / self.range,
            _ => 1.0,
        }
    }
    fn range(&self) -> f64 {
        self.range
    }
    fn watches(&self) -> bool {
        true
    }
}

/// p_t = 1 in the first `length` rounds of every `period`, else 1/rho.
#[derive(Debug, Clone)]
pub struct Bursts {
    /// rho.
    pub range: f64,
    /// Rounds from one burst to the next, at least 1.
    pub period: u64,
    /// Rounds of a burst.
    pub length: u64,
}

impl Schedule for Bursts {
    fn probability(&mut self, moment: Moment) -> f64 {
        if moment.round % self.period.max(1) < self.length { 1.0 } else { 1.0 / self.range }
    }
    fn range(&self) -> f64 {
        self.range
    }
}

/// The probabilities pbar_{t,i} of a real run; when they are over the last one stays.
#[derive(Debug, Clone)]
pub struct Recorded {
    probabilities: Vec<f64>,
    range: f64,
}

impl Recorded {
    /// The schedule of these probabilities.
    ///
    /// # Errors
    /// There is none, or one is not in (0, 1]: it is named by its index.
    pub fn new(probabilities: Vec<f64>) -> Result<Self, corral_core::ParamError> {
        let refuse =
            |value: String| corral_core::ParamError::new("probabilities", value, "numbers in (0, 1]");
        if probabilities.is_empty() {
            return Err(refuse("an empty list".to_owned()));
        }
        if let Some(t) = probabilities.iter().position(|p| !(*p > 0.0 && *p <= 1.0)) {
            return Err(refuse(format!("{} at index {t}", probabilities[t])));
        }
        let least = probabilities.iter().copied().fold(1.0, f64::min);
        Ok(Self { probabilities, range: 1.0 / least })
    }
}

impl Schedule for Recorded {
    fn probability(&mut self, moment: Moment) -> f64 {
        let last = self.probabilities.len() - 1;
        self.probabilities[(moment.round as usize).min(last)]
    }
    fn range(&self) -> f64 {
        self.range
    }
}
