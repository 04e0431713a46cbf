//! The practical preset: the log barrier without a horizon, no base restarted.
//!
//! W_i = 1/p_i, estimates l_i = (f - m') w_i around a baseline m' that is known before the round (it leaves them unbiased up
//! to a number that all share), m the running mean of the last losses, mbar the mean of all losses so far:
//!
//! ```text
//! m'     = min(m, reach/eta_{t-1}): no estimate takes more than that part of W_i away, eta p_i l_i >= -reach
//! eta_t  = min(cap, 1/mbar_t, min_{s <= t} scale sqrt(M ln(s + t0)/Q_s)),   Q_t = Q_{t-1} + sum_i p_i^2 (l_i - c)^2,
//!          c = sum p^2 l/sum p^2, or 0 where eta p_i (l_i - c) < -reach for some i          rate "adaptive"
//! eta_t  = scale/sqrt(t + t0)                                                               rate "falling"
//! W_i   <- min((eta_t/eta_{t-1}) W_i + eta_t (l_i - lambda), 1/phi_t),   sum_i 1/W_i = 1
//! phi_t  = min(1/2, floor/sqrt(t + t0))/M: the floor under every p_i; what is cut is forgotten. It is 1/(4 M) in a round in
//!          which the losses of the band are found to have risen
//! pbar   = p, or without a floor (1 - gamma_t) p + gamma_t/M with gamma_t = 1/(t + t0)
//! ```
//!
//! With experience (docs/experience.md) W_i begins at M - eta M n0_i rel_i - lambda in place of M.
//!
//! It is the step of Algorithm 2 with one rate for all, whose fall is part of the step, onto the simplex above the floor.
//! docs/practical.md#the-theorem has what is proved of it, [`Practical::bound`] that as a number, and `audit` checks it in a run.
//! It is meant for likelihood credit and feed `everyone`, and for losses that do not react to the choices. Where they do,
//! take the paper's preset.

mod alarm;
mod audit;
mod bound;
mod older;

use super::prelude::*;
use crate::LossDomain;
use crate::audit::Audit;
use crate::omd::{OmdParams, settle};
use alarm::Alarm;
use audit::{Auditor, Seen};

crate::params! {
    /// Parameters of [`Practical`].
    pub struct PracticalParams {
        /// How the rate falls.
        rate: Fall = Fall::Adaptive;
        /// The factor of the rate: 1.4, about sqrt(2), minimises M ln t/eta + eta Q/2, what is lost at most for the adaptive one where
        /// estimates are not negative; 30 is eager for the falling one.
        scale: f64 = 1.4, Bounds::POSITIVE;
        /// The largest rate, where losses are small; else it is one over their mean.
        cap: f64 = 8.0, Bounds::POSITIVE;
        /// The largest part of 1/p that one lucky round may take from a base: at one half its probability doubles at most.
        reach: f64 = 0.5, Bounds::POSITIVE;
        /// The floor phi under every probability, in units of 1/(M sqrt(t + t0)): 0 suits an environment that stands still,
        /// 1 follows changes better.
        floor: f64 = 0.5, Bounds::NON_NEGATIVE;
        /// Whether every base comes back when the losses of the band have risen.
        alarm: bool = true;
        /// The rounds t0 by which the count of rounds is ahead.
        offset: f64 = 256.0, Bounds::at_least(1.0);
        /// Whether losses are estimated around their running mean.
        baseline: bool = true;
        /// How many of the last rounds the running mean remembers: few follow losses that swing all at once.
        memory: f64 = 20.0, Bounds::at_least(1.0);
        /// Whether every round is checked against what is proved, for claims that measure it.
        audit: bool = false;
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

/// What is left for all bases alike when losses have risen: each has at least 1/(4 M).
const BACK: f64 = 0.25;

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
    /// min_s scale sqrt(M ln(s + t0)/Q_s)
    fall: f64,
    /// eta_{t-1}
    rate: f64,
    /// t + t0
    time: f64,
    /// Sum and number of the losses that are remembered, with one pseudo-observation of 1/2.
    losses: (f64, f64),
    /// Sum of all losses.
    total: f64,
    /// Where losses lie: [0, 1], or between the least and the largest so far.
    ends: (f64, f64),
    /// Whether the ends are known beforehand.
    unit: bool,
    /// Whether no base left or joined, and all began with the same probability.
    whole: bool,
    /// Whether losses have risen, where they lie in [0, 1].
    alarm: Alarm,
    /// How often it rang.
    alarms: u64,
    #[serde(skip)]
    estimates: Vec<f64>,
    #[serde(skip)]
    places: Vec<f64>,
    #[serde(skip)]
    rates: Vec<f64>,
    #[serde(skip)]
    auditor: Option<Box<Auditor>>,
}

impl PracticalRule {
    /// eta_t, given min_s scale sqrt(M ln(s + t0)/Q_s).
    fn rate_below(&self, fall: f64) -> f64 {
        let (low, high) = self.ends;
        match self.params.rate {
            Fall::Adaptive => {
                // mbar with t0 pseudo-observations of 1/2; all relative to where losses lie.
                let t0 = self.params.offset;
                let mean = (self.total - low * (self.time - t0) + 0.5 * (high - low) * t0) / self.time;
                fall.min(self.params.cap / (high - low)).min(1.0 / mean)
            }
            Fall::Falling => self.params.scale / (self.time * self.outer).sqrt(),
        }
    }

    /// The floor phi_t under every probability; 0 where there is none.
    fn least(&self, left: f64) -> f64 {
        (self.params.floor / self.time.sqrt()).min(0.5) / left
    }

    /// Q_t - Q_{t-1}. Around the weighted mean of the estimates, where that keeps eta p_i (l_i - c) >= -reach.
    fn variation(&self) -> f64 {
        let pairs = || self.inverse.iter().zip(&self.estimates);
        let (total, sum) = pairs().fold((0.0, 0.0), |(t, s), (w, l)| (t + 1.0 / (w * w), s + l / (w * w)));
        let centre = sum / total;
        let within = pairs().all(|(w, l)| self.rate * (l - centre) >= -self.params.reach * w);
        let centre = if within { centre } else { 0.0 };
        pairs().map(|(w, l)| ((l - centre) / w).powi(2)).sum()
    }

    /// Projects onto the distributions above the floor: W_i <- min(W_i + s, 1/phi) with sum_i 1/W_i = 1. The sum falls with s
    /// and is convex, so that Newton's method comes from the left and never passes the root.
    fn lift(&mut self, floor: f64) {
        if floor == 0.0 {
            return;
        }
        let mut shift = 0.0;
        for _ in 0..OmdParams::default().iterations {
            let (sum, slope) = self.places.iter().filter(|w| w.is_finite()).fold((-1.0, 0.0), |(s, d), w| {
                let p = 1.0 / (w + shift);
                if p > floor { (s + p, d + p * p) } else { (s + floor, d) }
            });
            if !(sum > 1e-13) {
                break;
            }
            shift += sum / slope;
        }
        for w in self.places.iter_mut().filter(|w| w.is_finite()) {
            *w = (*w + shift).min(1.0 / floor);
        }
    }

    /// m <- m + (f - m)/(memory + 1), a mean of all losses at first.
    fn remember(&mut self, loss: f64) {
        let keep = (self.params.memory / self.losses.1).min(1.0);
        self.losses = (keep * self.losses.0 + loss, keep * self.losses.1 + 1.0);
        (self.time, self.total) = (self.time + 1.0, self.total + loss);
        if !self.unit {
            self.ends = (self.ends.0.min(loss), self.ends.1.max(loss));
        }
    }
}

impl Rule for PracticalRule {
    type Params = PracticalParams;

    const NAME: &'static str = "practical";

    const FORM: u16 = 4;

    fn upgrade(state: &[u8]) -> Option<Vec<u8>> {
        older::upgrade(state)
    }

    fn new(params: &PracticalParams, setup: &MasterSetup) -> Result<Self, ParamError> {
        let unit = setup.losses != LossDomain::Real;
        let mut rule = Self {
            params: params.clone(),
            outer: setup.range,
            inverse: vec![setup.bases as f64; setup.bases],
            spread: 0.0,
            fall: f64::INFINITY,
            rate: f64::INFINITY,
            time: params.offset,
            losses: if unit { (0.5, 1.0) } else { (0.0, 0.0) },
            total: 0.0,
            ends: if unit { (0.0, 1.0) } else { (f64::INFINITY, f64::NEG_INFINITY) },
            unit,
            whole: true,
            alarm: Alarm::default(),
            alarms: 0,
            estimates: Vec::new(),
            places: Vec::new(),
            rates: Vec::new(),
            auditor: None,
        };
        if unit {
            rule.rate = rule.rate_below(f64::INFINITY);
        }
        rule.resize_buffers();
        if params.audit {
            rule.auditor = Some(Box::new(Auditor::new(setup.bases, rule.rate, params)));
        }
        Ok(rule)
    }

    fn begin(&mut self, experience: &[Experience]) -> Result<(), ParamError> {
        if self.params.audit {
            return Err(Experience::refuse(
                "goes without an audit: what is proved begins with equal probabilities",
            ));
        }
        self.places = Experience::inverse(experience, self.inverse.len(), self.rate)?;
        self.lift(self.least(self.inverse.len() as f64));
        self.inverse.copy_from_slice(&self.places);
        self.whole = false;
        Ok(())
    }

    fn learn(&mut self, round: Credited<'_>) -> Result<(), MasterError> {
        let Credited { loss, roster, current, .. } = round;
        let (low, high) = self.ends;
        if !(low < high) {
            // Until two losses differ nothing is known of their size.
            self.remember(loss);
            return Ok(());
        }
        if !self.rate.is_finite() {
            self.rate = self.rate_below(self.fall);
        }
        // sum_i pbar_i w_i is 1, but for losses that come late or carry weights from outside.
        let mut weights = 0.0;
        round.each(|i, weight| weights += weight * current[i]);
        // l_i = (f - m') w_i,  m' = min(m, reach/eta)
        let most = low + self.params.reach / (self.rate * weights.max(1.0));
        let mean = if self.params.baseline { (self.losses.0 / self.losses.1).min(most) } else { 0.0 };
        self.estimates.fill(0.0);
        round.each(|i, weight| self.estimates[i] = (loss - mean) * weight);
        let spread = self.spread + self.variation();
        let before = (self.time, self.total, self.losses, self.ends);
        self.remember(loss);
        let left = roster.left() as f64;
        // Q = 0: nothing has varied yet. `min` passes NaN over.
        let fall = self.fall.min(self.params.scale * (left * self.time.ln() / spread).sqrt());
        let rate = self.rate_below(fall);
        // W_i <- (eta_t/eta_{t-1}) W_i + eta_t (l_i - lambda)
        let keep = rate / self.rate;
        for ((place, w), l) in self.places.iter_mut().zip(&self.inverse).zip(&self.estimates) {
            *place = keep * w + rate * l;
        }
        settle(&mut self.places, &OmdParams::default())
            .inspect_err(|_| (self.time, self.total, self.losses, self.ends) = before)?;
        let rings = self.params.alarm && self.unit && self.alarm.hear(loss, self.params.offset);
        self.alarms += u64::from(rings);
        let least = self.least(left);
        self.lift(if rings { least.max(BACK / left) } else { least });
        if let Some(auditor) = &mut self.auditor {
            auditor.observe(&Seen { next: &self.places, estimates: &self.estimates, rate, rings });
        }
        self.inverse.copy_from_slice(&self.places);
        (self.spread, self.fall, self.rate) = (spread, fall, rate);
        self.rates.fill(rate);
        Ok(())
    }

    fn retired(&mut self, base: usize, _: &Roster) {
        self.inverse[base] = f64::INFINITY;
        // Not 1 - p, which is 0 by rounding where the others have next to nothing.
        let rest: f64 = self.inverse.iter().map(|w| 1.0 / w).sum();
        self.inverse.iter_mut().for_each(|w| *w *= rest);
        (self.whole, self.auditor) = (false, None);
    }

    fn admitted(&mut self, base: usize, share: f64, _: &Roster, _: Self) -> bool {
        self.inverse.resize(self.inverse.len().max(base + 1), f64::INFINITY);
        self.inverse.iter_mut().for_each(|w| *w /= 1.0 - share);
        self.inverse[base] = 1.0 / share;
        (self.whole, self.auditor) = (false, None);
        self.resize_buffers();
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

    fn audit(&self) -> Option<Audit> {
        self.auditor.as_ref().map(|auditor| auditor.report())
    }

    fn resize_buffers(&mut self) {
        let bases = self.inverse.len();
        self.estimates.resize(bases, 0.0);
        self.places.resize(bases, 0.0);
        self.rates = vec![self.rate; bases];
    }

    fn constants(&self) -> impl Serialize {
        (&self.params, self.outer, self.unit)
    }

    fn admits(&self, state: &Self) -> Result<(), SnapshotError> {
        all("inverse probabilities", &state.inverse, self.inverse.len(), |w| w >= 1.0 - 1e-9)?;
        let sum: f64 = state.inverse.iter().map(|w| 1.0 / w).sum();
        let numbers = [state.spread, state.losses.1, state.time];
        let sound = numbers.iter().all(|x| (0.0..f64::INFINITY).contains(x)) && state.rate > 0.0;
        let falls = state.fall > 0.0 && (state.rate.is_finite() || !state.unit);
        let sums = state.losses.0.is_finite() && state.total.is_finite();
        let ends = if state.unit {
            state.ends == (0.0, 1.0)
        } else {
            !state.ends.0.is_nan() && !state.ends.1.is_nan()
        };
        if !(sound
            && falls
            && sums
            && ends
            && state.alarm.is_sound()
            && counted(state.alarms).is_ok()
            && state.time >= self.time
            && (sum - 1.0).abs() <= 1e-6)
        {
            return Err(SnapshotError::state("numbers that no run can give"));
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Credit;
    use crate::audit::Check;

    /// A run of 500 rounds over three bases, of which the first is right, after `tamper` in round 250; what the audit found.
    fn audited(tamper: fn(&mut PracticalRule)) -> Vec<Check> {
        let setup = MasterSetup::new(3, None);
        let params = PracticalParams { audit: true, ..Default::default() };
        let (mut rule, roster) = (PracticalRule::new(&params, &setup).unwrap(), Roster::new(3));
        let mut current = [0.0; 3];
        for t in 0..500usize {
            rule.distribute(&roster, &mut current);
            let base = t % 3;
            let credit = Credit::Chosen { base, weight: 1.0 / current[base] };
            if t == 250 {
                tamper(&mut rule);
            }
            let loss = if base == 0 { 0.0 } else { 0.9 };
            rule.learn(Credited { loss, credit, roster: &roster, current: &current }).unwrap();
        }
        rule.audit().unwrap().failures(1e-9)
    }

    #[test]
    fn retiring_a_base_that_has_everything_leaves_a_distribution() {
        let params = PracticalParams { floor: 0.0, ..Default::default() };
        let mut rule = PracticalRule::new(&params, &MasterSetup::new(3, None)).unwrap();
        rule.inverse = vec![1.0, 4e17, 4e17];
        rule.retired(0, &Roster::new(3));
        assert_eq!(rule.inverse, [f64::INFINITY, 2.0, 2.0]);
    }

    #[test]
    fn deviations_are_seen_by_the_audit() {
        assert_eq!(audited(|_| ()), []);
        let found = |check, tamper| assert!(audited(tamper).contains(&check), "{check:?}");
        found(Check::Step, |rule| rule.inverse = vec![3.0; 3]);
        found(Check::Step, |rule| rule.rate *= 2.0);
        found(Check::Rates, |rule| (rule.spread, rule.fall) = (0.0, f64::INFINITY));
        found(Check::Mixing, |rule| rule.params.floor = 1e-3);
        found(Check::Ranges, |rule| rule.params.reach = 1000.0);
    }
}
