//! What is proved of every run of the practical preset, checked while it goes on (docs/practical.md#the-theorem).
//!
//! With u_t = (1 - M phi_t) e_i + phi_t (1, ..., 1) and R(p) = -sum_j ln(M p_j), for every base i:
//!
//! ```text
//! sum_t <p_t - u_t, l_t> <= R(u_T)/eta_T + (M - 1) sum_t (1 - phi_t/phi_{t-1})/eta_{t-1} + kappa sum_t eta_{t-1} q_t
//!                         + sum_t (1/eta_{t-1} - 1/eta_t)^+ R(p^_{t+1})
//!                         + sum over alarms (s + sum_j ln(p_{t+1,j}/p^_j)^+)/eta_t
//! q_t = sum_j p_j^2 (l_j - c)^2,   kappa = (-reach - ln(1 - reach))/reach^2
//! p^: the step without a floor,    s: what is added to 1/p^ of those above the floor
//! ```
//!
//! The auditor shares no code with the rule: it finds each step by bisection, and compares.

use super::{Fall, PracticalParams};
use crate::audit::{Audit, Sides};

/// A round as the auditor sees it.
pub(super) struct Seen<'a> {
    /// 1/p_{t+1}
    pub next: &'a [f64],
    /// l_t
    pub estimates: &'a [f64],
    /// eta_t
    pub rate: f64,
    /// Whether the floor is 1/(4 M) in this round.
    pub rings: bool,
}

/// Checks a run, round by round, from what can be seen of it.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Auditor {
    params: PracticalParams,
    /// 1/p_t, eta_{t-1} and phi_{t-1}
    inverse: Vec<f64>,
    rate: f64,
    floor: f64,
    rounds: u64,
    /// sum_t <p_t - u_t, l_t>, less the part of base i; sum_t (1 - M phi_t) l_{t,i}
    paid: f64,
    totals: Vec<f64>,
    /// The sums of the right side
    drift: f64,
    stability: f64,
    risen: f64,
    alarms: f64,
    size: f64,
    /// Q_t, and the least scale sqrt(M ln(s + t0)/Q_s)
    spread: f64,
    fall: f64,
    /// The distances of the last step
    places: Vec<f64>,
    worst_step: f64,
    worst_sum: f64,
    worst_floor: f64,
    worst_rate: f64,
    worst_reach: f64,
}

/// The larger, or NaN.
fn worse(a: f64, b: f64) -> f64 {
    if b <= a { a } else { b }
}

/// The number s with sum_j max(1/(a_j - s), floor) = 1, left of every place, by bisection.
fn root(places: &[f64], floor: f64) -> f64 {
    let least = places.iter().copied().fold(f64::INFINITY, f64::min);
    // At the right end the nearest place alone gives 1; at the left end no sum exceeds it, as M phi is below 1.
    let (mut low, mut high) = (least - 2.0 * places.len() as f64, least - 1.0);
    for _ in 0..200 {
        let middle = 0.5 * (low + high);
        let sum: f64 = places.iter().map(|a| (1.0 / (a - middle)).max(floor)).sum();
        if sum > 1.0 { high = middle } else { low = middle }
    }
    0.5 * (low + high)
}

/// phi_t = min(1/2, floor/sqrt(t + t0))/M
fn floor(params: &PracticalParams, bases: usize, rounds: u64) -> f64 {
    (params.floor / (rounds as f64 + params.offset).sqrt()).min(0.5) / bases as f64
}

impl Auditor {
    /// An auditor before the first round, with the rate eta_0.
    pub fn new(bases: usize, rate: f64, params: &PracticalParams) -> Self {
        Self {
            params: params.clone(),
            inverse: vec![bases as f64; bases],
            rate,
            floor: floor(params, bases, 0),
            rounds: 0,
            paid: 0.0,
            totals: vec![0.0; bases],
            drift: 0.0,
            stability: 0.0,
            risen: 0.0,
            alarms: 0.0,
            size: 0.0,
            spread: 0.0,
            fall: f64::INFINITY,
            places: vec![0.0; bases],
            worst_step: 0.0,
            worst_sum: 0.0,
            worst_floor: 0.0,
            worst_rate: 0.0,
            worst_reach: 0.0,
        }
    }

    /// R(u) where u is nearly all on one base, and `floor` on the others.
    fn penalty(&self, floor: f64) -> f64 {
        let m = self.totals.len() as f64;
        -(m - 1.0) * (m * floor).ln() - (m * (1.0 - (m - 1.0) * floor)).ln()
    }

    /// Checks one round more.
    pub fn observe(&mut self, seen: &Seen<'_>) {
        let Seen { next, estimates, rate, rings } = *seen;
        let m = next.len() as f64;
        self.rounds += 1;
        let time = self.rounds as f64 + self.params.offset;
        let floor = floor(&self.params, next.len(), self.rounds);
        let (reach, inverse) = (self.params.reach, &self.inverse);
        let pairs = || inverse.iter().map(|w| 1.0 / w).zip(estimates);
        // <p_t - u_t, l_t>
        let sum: f64 = estimates.iter().sum();
        self.paid += pairs().map(|(p, l)| p * l).sum::<f64>() - floor * sum;
        self.totals.iter_mut().zip(estimates).for_each(|(total, l)| *total += (1.0 - m * floor) * l);
        self.size += pairs().map(|(p, l)| (p + floor) * l.abs()).sum::<f64>();
        // kappa eta q, around the centre where eta p (l - c) >= -reach
        let total: f64 = pairs().map(|(p, _)| p * p).sum();
        let centre = pairs().map(|(p, l)| p * p * l).sum::<f64>() / total;
        let within = pairs().all(|(p, l)| self.rate * p * (l - centre) >= -reach * (1.0 + 1e-12));
        let centre = if within { centre } else { 0.0 };
        let q: f64 = pairs().map(|(p, l)| (p * (l - centre)).powi(2)).sum();
        let kappa = (-reach - (-reach).ln_1p()) / (reach * reach);
        // eta p l >= -reach
        let lowest = pairs().map(|(p, l)| self.rate * p * l).fold(f64::INFINITY, f64::min);
        self.worst_reach = worse(self.worst_reach, -lowest / reach - 1.0);
        self.stability += kappa * self.rate * q;
        self.drift += (m - 1.0) * (1.0 - floor / self.floor) / self.rate;
        // The step, from W and l alone
        for ((place, w), l) in self.places.iter_mut().zip(&self.inverse).zip(estimates) {
            *place = rate / self.rate * w + rate * l;
        }
        let free = root(&self.places, 0.0);
        let spread: f64 = self.places.iter().map(|a| ((a - free) / m).ln()).sum();
        self.risen += (1.0 / self.rate - 1.0 / rate).max(0.0) * spread;
        let least = if rings { floor.max(0.25 / m) } else { floor };
        let at = root(&self.places, least);
        let mut mass = 0.0;
        let mut raised = free - at;
        for (place, w) in self.places.iter().zip(next) {
            let p = (1.0 / (place - at)).max(least);
            raised += (p * (place - free)).ln().max(0.0);
            self.worst_step = worse(self.worst_step, (p * w - 1.0).abs());
            self.worst_floor = worse(self.worst_floor, least * w - 1.0);
            mass += 1.0 / w;
        }
        if rings {
            self.alarms += raised / rate;
        }
        self.worst_sum = worse(self.worst_sum, (mass - 1.0).abs());
        // eta_t is never above what Q allows
        self.spread += q;
        if self.params.rate == Fall::Adaptive {
            self.fall = self.fall.min(self.params.scale * (m * time.ln() / self.spread).sqrt());
            self.worst_rate = worse(self.worst_rate, rate / self.fall - 1.0);
        }
        self.inverse.copy_from_slice(next);
        (self.rate, self.floor) = (rate, floor);
    }

    /// What was found so far.
    pub fn report(&self) -> Audit {
        let theorem = |i: usize| {
            let left = self.paid - self.totals[i];
            let start = self.penalty(self.floor) / self.rate;
            let right = start + self.drift + self.stability + self.risen + self.alarms;
            Sides { left, right, scale: self.size + right }
        };
        let covered = self.floor > 0.0 && self.params.reach < 1.0 && self.totals.len() > 1;
        let tightest =
            (0..self.totals.len()).map(theorem).reduce(|a, b| if b.share() <= a.share() { a } else { b });
        Audit {
            comparator: 0,
            rounds: self.rounds,
            step: Sides::default(),
            run: Sides::default(),
            theorem: covered.then(|| theorem(0)),
            tightest: tightest.filter(|_| covered),
            worst_step: self.worst_step,
            worst_sum: self.worst_sum,
            worst_mixing: self.worst_floor,
            worst_rate: self.worst_rate,
            worst_range: self.worst_reach,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::audit::Check;

    /// One base costs 1 more in every round, and p stays where it is at the rate 2: 1/2 is lost per round, kappa eta q is 1/5.
    #[test]
    fn a_run_that_does_not_learn_violates_the_theorem() {
        let mut auditor = Auditor::new(2, 2.0, &PracticalParams::default());
        for _ in 0..500 {
            auditor.observe(&Seen { next: &[2.0, 2.0], estimates: &[0.0, 1.0], rate: 2.0, rings: false });
        }
        let found = auditor.report().failures(1e-9);
        assert!(found.contains(&Check::Theorem) && found.contains(&Check::Step), "{found:?}");
    }
}
