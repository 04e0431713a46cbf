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

/// How E' chooses p_t: probabilities in [1/range, 1].
pub struct Schedule {
    /// rho, the largest 1/p_t that can occur.
    pub range: f64,
    /// Whether it wants to be told if proposals were good.
    pub watches: bool,
    law: Box<dyn Fn(Moment) -> f64 + Send>,
}

impl Schedule {
    fn new(range: f64, law: impl Fn(Moment) -> f64 + Send + 'static) -> Self {
        Self { range, watches: false, law: Box::new(law) }
    }

    /// p_t for the round of `moment`.
    pub fn probability(&self, moment: Moment) -> f64 {
        (self.law)(moment)
    }

    /// p_t = 1/rho.
    pub fn constant(range: f64) -> Self {
        Self::new(range, move |_| 1.0 / range)
    }

    /// p_t = rho^(-t/T).
    pub fn decay(range: f64) -> Self {
        Self::new(range, move |moment| libm::pow(range, -moment.part()).clamp(1.0 / range, 1.0))
    }

    /// p_t = 1/rho in the first half, then 1.
    pub fn half(range: f64) -> Self {
        Self::new(range, move |moment| if moment.round < moment.horizon / 2 { 1.0 / range } else { 1.0 })
    }

    /// p_t = 1/2, 1/4, ..., 1/rho in steps of equal length: what a base meets that Corral trusts less and less.
    pub fn staircase(range: f64) -> Self {
        Self::new(range, move |moment| {
            let steps = libm::ceil(libm::log2(range)).max(1.0);
            let step = libm::floor(moment.part() * steps).min(steps - 1.0);
            1.0 / libm::exp2(step + 1.0).min(range)
        })
    }

    /// p_t = 1/rho after a round whose proposal was good (or, if not `good`, bad: worst for lazy confidence bounds), else 1.
    pub fn starve(range: f64, good: bool) -> Self {
        let law = move |moment: Moment| if moment.good == Some(good) { 1.0 / range } else { 1.0 };
        Self { watches: true, ..Self::new(range, law) }
    }

    /// p_t = 1 in the first `length` rounds of every `period`, else 1/rho.
    pub fn bursts(range: f64, period: u64, length: u64) -> Self {
        Self::new(range, move |moment| if moment.round % period.max(1) < length { 1.0 } else { 1.0 / range })
    }

    /// The probabilities pbar_{t,i} of a real run; when they are over the last one stays.
    ///
    /// # Errors
    /// There is none, or one is not in (0, 1]: it is named by its index.
    pub fn recorded(probabilities: Vec<f64>) -> Result<Self, corral_core::ParamError> {
        let refuse =
            |value: String| corral_core::ParamError::new("probabilities", value, "numbers in (0, 1]");
        let Some(last) = probabilities.len().checked_sub(1) else {
            return Err(refuse("an empty list".to_owned()));
        };
        if let Some(t) = probabilities.iter().position(|p| !(*p > 0.0 && *p <= 1.0)) {
            return Err(refuse(format!("{} at index {t}", probabilities[t])));
        }
        let least = probabilities.iter().copied().fold(1.0, f64::min);
        Ok(Self::new(1.0 / least, move |moment| probabilities[(moment.round as usize).min(last)]))
    }
}
