//! The practical preset: the log barrier without a horizon, no base restarted.
//!
//! Follow the regularised leader with W_i = 1/p_i, estimates l_i = (f - m) w_i around the running mean m of the
//! last losses (any m that is known before the round leaves them unbiased up to a number that all share), mbar the mean of
//! all losses so far:
//!
//! ```text
//! w_i    = min(weight of base i, reach W_i/(eta_{t-1} m)): no estimate takes more than that part of W_i away
//! eta_t  = min(cap, 1/mbar_t, scale sqrt(M ln(t + t0)/Q_t)),   Q_t = Q_{t-1} + sum_i p_i^2 (l_i - c)^2,
//!          c = sum p^2 l/sum p^2                                                           rate "adaptive"
//! eta_t  = scale/sqrt(t + t0)                                                               rate "falling"
//! W_i   <- (eta_t/eta_{t-1}) W_i + eta_t (l_i - lambda),   sum_i 1/W_i = 1, left of the first pole
//! p_i   >= min(1/2, floor/sqrt(t + t0))/M, renormalised; what was cut is forgotten
//! pbar   = p, or without a floor (1 - gamma_t) p + gamma_t/M with gamma_t = 1/(t + t0)
//! ```
//!
//! It is the step of Algorithm 2 with one rate for all, whose fall is part of the step (docs/practical.md has where the
//! constants come from and what was measured). No theorem: it is meant for likelihood credit and feed `everyone`, and for
//! losses that do not react to the choices. Where they do, take the paper's preset.

use super::prelude::*;
use crate::omd::{OmdParams, settle};

crate::params! {
    /// Parameters of [`Practical`].
    pub struct PracticalParams {
        /// How the rate falls.
        rate: Fall = Fall::Adaptive;
        /// The factor of the rate: 1.4, about sqrt(2), minimises M ln t/eta + eta Q/2 for the adaptive one; 30 is eager for the falling one.
        scale: f64 = 1.4, Bounds::POSITIVE;
        /// The largest rate, where losses are small; else it is one over their mean.
        cap: f64 = 8.0, Bounds::POSITIVE;
        /// The largest part of 1/p that one lucky round may take from a base: at one half its probability doubles at most.
        reach: f64 = 0.5, Bounds::POSITIVE;
        /// The floor phi under every probability, in units of 1/(M sqrt(t + t0)): 0 suits an environment that stands still,
        /// 1 follows changes better.
        floor: f64 = 0.5, Bounds::NON_NEGATIVE;
        /// The rounds t0 by which the count of rounds is ahead.
        offset: f64 = 256.0, Bounds::at_least(1.0);
        /// Whether losses are estimated around their running mean.
        baseline: bool = true;
        /// How many of the last rounds the running mean remembers: few follow losses that swing all at once.
        memory: f64 = 20.0, Bounds::at_least(1.0);
    }

    /// How the rate of [`Practical`] falls.
    pub enum Fall {
        /// With what the estimates have varied so far.
        #[default]
        Adaptive,
        /// With the square root of the rounds.
        Falling,
    }
}

/// The practical preset of Corral.
pub type Practical = Ruled<PracticalRule>;

/// The rule of [`Practical`].
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct PracticalRule {
    params: PracticalParams,
    /// The largest weight that losses carry from outside.
    outer: f64,
    /// W_i = 1/p_i; infinite for retired bases.
    inverse: Vec<f64>,
    /// Q_t
    spread: f64,
    /// eta_{t-1}
    rate: f64,
    /// t + t0
    time: f64,
    /// Sum and number of the losses that are remembered, with one pseudo-observation of 1/2.
    losses: (f64, f64),
    /// Sum of all losses.
    total: f64,
    #[serde(skip)]
    estimates: Vec<f64>,
    #[serde(skip)]
    places: Vec<f64>,
    #[serde(skip)]
    rates: Vec<f64>,
}

impl PracticalRule {
    /// eta_t, given Q_t.
    fn next_rate(&self, spread: f64, left: f64) -> f64 {
        let PracticalParams { scale, cap, .. } = self.params;
        match self.params.rate {
            Fall::Adaptive => {
                let fall = scale * (left * self.time.ln() / spread).sqrt();
                // With t0 pseudo-observations of 1/2; real losses may have a mean below 0.
                let mean = (self.total + 0.5 * self.params.offset) / self.time;
                let most = cap.min(1.0 / mean.max(0.0));
                // Q = 0: nothing has varied yet. Written so that NaN is the largest.
                if fall < most { fall } else { most }
            }
            Fall::Falling => scale / (self.time * self.outer).sqrt(),
        }
    }

    /// The floor under every probability; 0 where there is none.
    fn least(&self, left: f64) -> f64 {
        (self.params.floor / self.time.sqrt()).min(0.5) / left
    }

    /// Lifts every probability to the floor and renormalises. One pass is enough to keep each above half the floor.
    fn lift(&mut self, left: f64) {
        let floor = self.least(left);
        if floor == 0.0 {
            return;
        }
        let lifted = |w: f64| if w.is_finite() { (1.0 / w).max(floor) } else { 0.0 };
        let total: f64 = self.inverse.iter().map(|w| lifted(*w)).sum();
        if total > 1.0 {
            for w in self.inverse.iter_mut().filter(|w| w.is_finite()) {
                *w = total / lifted(*w);
            }
        }
    }
}

impl Rule for PracticalRule {
    type Params = PracticalParams;

    const NAME: &'static str = "practical";

    fn new(params: &PracticalParams, setup: &MasterSetup) -> Result<Self, ParamError> {
        let mut rule = Self {
            params: params.clone(),
            outer: setup.range,
            inverse: vec![setup.bases as f64; setup.bases],
            spread: 0.0,
            rate: f64::INFINITY,
            time: params.offset,
            losses: (0.5, 1.0),
            total: 0.0,
            estimates: Vec::new(),
            places: Vec::new(),
            rates: Vec::new(),
        };
        rule.rate = rule.next_rate(0.0, setup.bases as f64);
        rule.make_room();
        Ok(rule)
    }

    fn learn(&mut self, round: Credited<'_>) -> Result<(), MasterError> {
        let Credited { loss, roster, .. } = round;
        // l_i = (f - m) w_i,  w_i <= reach W_i/(eta m)
        let mean = if self.params.baseline { self.losses.0 / self.losses.1 } else { 0.0 };
        let most = self.params.reach / (self.rate * mean.max(0.0));
        self.estimates.fill(0.0);
        round.each(|i, weight| self.estimates[i] = (loss - mean) * weight.min(most * self.inverse[i]));
        // Q += sum_i p_i^2 (l_i - c)^2,  c = sum p^2 l/sum p^2
        let squares = || self.inverse.iter().map(|w| 1.0 / (w * w)).zip(&self.estimates);
        let (total, sum) = squares().fold((0.0, 0.0), |(t, s), (p2, l)| (t + p2, s + p2 * l));
        let centre = sum / total;
        let spread = self.spread + squares().map(|(p2, l)| p2 * (l - centre) * (l - centre)).sum::<f64>();
        let before = (self.time, self.total);
        (self.time, self.total) = (self.time + 1.0, self.total + loss);
        let left = roster.left() as f64;
        let rate = self.next_rate(spread, left);
        let fall = rate / self.rate;
        // W_i <- (eta_t/eta_{t-1}) W_i + eta_t (l_i - lambda)
        for ((place, w), l) in self.places.iter_mut().zip(&self.inverse).zip(&self.estimates) {
            *place = fall * w + rate * l;
        }
        settle(&mut self.places, &OmdParams::default()).inspect_err(|_| (self.time, self.total) = before)?;
        self.inverse.copy_from_slice(&self.places);
        (self.spread, self.rate) = (spread, rate);
        // m is a mean of all losses at first, then m <- m + (f - m)/(memory + 1).
        let keep = (self.params.memory / self.losses.1).min(1.0);
        self.losses = (keep * self.losses.0 + loss, keep * self.losses.1 + 1.0);
        self.rates.fill(rate);
        self.lift(left);
        Ok(())
    }

    fn retired(&mut self, base: usize, _: &Roster) {
        let rest = 1.0 - 1.0 / self.inverse[base];
        self.inverse[base] = f64::INFINITY;
        self.inverse.iter_mut().for_each(|w| *w *= rest);
    }

    fn admitted(&mut self, base: usize, share: f64, _: &Roster, _: Self) -> bool {
        self.inverse.resize(self.inverse.len().max(base + 1), f64::INFINITY);
        self.inverse.iter_mut().for_each(|w| *w /= 1.0 - share);
        self.inverse[base] = 1.0 / share;
        self.make_room();
        true
    }

    fn distribute(&mut self, roster: &Roster, out: &mut [f64]) {
        let mixing = if self.params.floor > 0.0 { 0.0 } else { 1.0 / self.time };
        let share = mixing / roster.left() as f64;
        for (i, (p, w)) in out.iter_mut().zip(&self.inverse).enumerate() {
            *p = if roster.has(i) { (1.0 - mixing) / w + share } else { 0.0 };
        }
    }

    fn rates(&self) -> &[f64] {
        &self.rates
    }

    fn make_room(&mut self) {
        let bases = self.inverse.len();
        self.estimates.resize(bases, 0.0);
        self.places.resize(bases, 0.0);
        self.rates = vec![self.rate; bases];
    }

    fn constants(&self) -> impl Serialize {
        (&self.params, self.outer)
    }

    fn admits(&self, state: &Self) -> Result<(), SnapshotError> {
        all("inverse probabilities", &state.inverse, self.inverse.len(), |w| w >= 1.0 - 1e-9)?;
        let sum: f64 = state.inverse.iter().map(|w| 1.0 / w).sum();
        let numbers = [state.spread, state.rate, state.losses.1, state.time];
        let sound = numbers.iter().all(|x| (0.0..f64::INFINITY).contains(x)) && state.rate > 0.0;
        let sums = state.losses.0.is_finite() && state.total.is_finite();
        if !(sound && sums && state.time >= self.time && (sum - 1.0).abs() <= 1e-6) {
            return Err(SnapshotError::state("numbers that no run can give"));
        }
        Ok(())
    }
}
