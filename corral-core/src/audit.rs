//! What the paper proves of every run, checked while it goes on.
//!
//! With h(y) = y - 1 - ln y and D_t(u, v) = sum_j h(u_j/v_j)/eta_{t,j}, for any u > 0 that sums to 1:
//!
//! ```text
//! one step   <p_t - u, l_t> = D_t(u, p_t) - D_t(u, p_{t+1}) + D_t(p_t, p_{t+1})
//! whole run  sum_t <p_t - u, l_t> = D_1(u, p_1) + sum_{t<T} sum_j (1/eta_{t+1,j} - 1/eta_{t,j}) h(u_j/p_{t+1,j})
//!                                   - D_T(u, p_{T+1}) + sum_t D_t(p_t, p_{t+1})
//! theorem    sum_t <pbar_t - e_i, l_t> + rho_{T,i}/(8 G eta ln T) <= D_1(u, p_1) + C0/(eta ln T)
//!                                   + (1/2) sum_t sum_j eta_{t,j} p_{t,j}^2 l_{t,j}^2 + (2/(TM)) sum_t sum_j l_{t,j}
//! ```
//!
//! the last for u = (1 - 1/T) e_i + 1/(TM), every base i and losses that are not negative, with G the largest factor by
//! which the rate of base i grows: 5 as the paper rounds it, or e^(log2(T M pbar_{1,i})/ln T) where a prior makes that
//! more (docs/step.md, "Rates grow, and by how much"). All of its right side is positive. The first two are equalities: they catch a wrong root, sign, rate or normalisation that the inequality
//! forgives. The auditor shares no code with the algorithm, and takes p_t to be what the round before ended with.

use serde::{Deserialize, Serialize};

use crate::omd::Losses;

/// Two sides of an equality, or of an inequality left <= right.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
pub struct Sides {
    /// The left side.
    pub left: f64,
    /// The right side.
    pub right: f64,
    /// The size of the terms that were added and subtracted: rounding is relative to it.
    pub scale: f64,
}

impl Sides {
    /// |left - right| relative to the terms.
    pub fn gap(&self) -> f64 {
        if self.scale > 0.0 { (self.left - self.right).abs() / self.scale } else { 0.0 }
    }

    /// left - right relative to the terms, where that is positive.
    pub fn excess(&self) -> f64 {
        if self.scale > 0.0 { ((self.left - self.right) / self.scale).max(0.0) } else { 0.0 }
    }

    /// left/right: how much of the right side is used.
    pub fn share(&self) -> f64 {
        self.left / self.right
    }
}

/// What is checked.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Check {
    /// The identity of one step, in the worst round.
    Step,
    /// The identity of the whole run.
    Run,
    /// The pathwise theorem.
    Theorem,
    /// sum p = 1, in the worst round.
    Sum,
    /// pbar = (1 - gamma) p + gamma/M, in the worst round.
    Mixing,
    /// eta_{t,i} = eta beta^(n_i), in the worst round.
    Rates,
    /// rho = 2/pbar at a change, and else as before, in the worst round.
    Ranges,
}

/// What an audit found.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Audit {
    /// The base to compete with.
    pub comparator: usize,
    /// Rounds seen.
    pub rounds: u64,
    /// The identity of the last step.
    pub step: Sides,
    /// The identity of the whole run.
    pub run: Sides,
    /// The pathwise theorem against the comparator; `None` where it says nothing (T or M below 2, more than T rounds,
    /// negative losses).
    pub theorem: Option<Sides>,
    /// The pathwise theorem against the base for which it is tightest.
    pub tightest: Option<Sides>,
    /// The largest relative gap of a step.
    pub worst_step: f64,
    /// The largest |sum p - 1|.
    pub worst_sum: f64,
    /// The largest relative error of a pbar.
    pub worst_mixing: f64,
    /// The largest relative error of a rate.
    pub worst_rate: f64,
    /// The largest relative error of a range.
    pub worst_range: f64,
}

impl Audit {
    /// The checks that fail by more than `tolerance`. Written so that NaN fails.
    pub fn failures(&self, tolerance: f64) -> Vec<Check> {
        let found = [
            (Check::Step, self.worst_step),
            (Check::Run, self.run.gap()),
            (Check::Theorem, self.tightest.map_or(0.0, |t| t.excess())),
            (Check::Sum, self.worst_sum),
            (Check::Mixing, self.worst_mixing),
            (Check::Rates, self.worst_rate),
            (Check::Ranges, self.worst_range),
        ];
        found.into_iter().filter(|(_, error)| !(*error <= tolerance)).map(|(check, _)| check).collect()
    }
}

/// A round as the auditor sees it.
#[derive(Debug, Clone, Copy)]
pub struct AuditedRound<'a> {
    /// The estimated losses l_t.
    pub losses: Losses<'a>,
    /// p_{t+1}
    pub distribution: &'a [f64],
    /// pbar_{t+1}
    pub probabilities: &'a [f64],
    /// eta_{t+1}
    pub rates: &'a [f64],
    /// rho_{t+1}
    pub ranges: &'a [f64],
}

/// Checks a run of Algorithm 1, round by round, from what can be seen of it.
#[derive(Debug, Clone, Default)]
pub struct Auditor {
    length: u64,
    comparator: usize,
    eta: f64,
    gamma: f64,
    beta: f64,
    /// u = (1 - 1/T) e_i + 1/(TM)
    target: Vec<f64>,
    /// p_t, pbar_t and eta_t as they were reported
    p: Vec<f64>,
    mixed: Vec<f64>,
    rates: Vec<f64>,
    /// eta_{t-1}, which the last step used
    used: Vec<f64>,
    /// n_i and rho_t as they should be; rho_{t-1,i}
    changes: Vec<u32>,
    ranges: Vec<f64>,
    ranges_before: Vec<f64>,
    first_ranges: Vec<f64>,
    /// D_1(u, p_1) for each base i that u may be close to
    starts: Vec<f64>,
    rounds: u64,
    step: Sides,
    /// sum_t <p_t - u, l_t>, sum_t D_t(p_t, p_{t+1}), and the sums over changes of rates before and in the last round
    left: f64,
    moves: f64,
    regained: f64,
    regained_last: f64,
    /// sum_t <pbar_t, l_t>, sum_t l_{t,i}, and the stability term
    paid: f64,
    totals: Vec<f64>,
    stability: f64,
    signed: bool,
    worst: [f64; 5],
}

/// h(y) = y - 1 - ln y at y = 1 + x.
fn h(x: f64) -> f64 {
    x - x.ln_1p()
}

fn relative(found: f64, expected: f64) -> f64 {
    (found - expected).abs() / expected.abs()
}

/// The larger, or NaN.
fn worse(a: f64, b: f64) -> f64 {
    if b <= a { a } else { b }
}

impl Auditor {
    /// An auditor before the first of `length` rounds, with the distribution p_1, the rate eta and the ranges rho_1.
    pub fn new(length: u64, comparator: usize, distribution: &[f64], eta: f64, ranges: &[f64]) -> Self {
        let (t, m) = (length as f64, distribution.len());
        let gamma = 1.0 / t;
        let target = |i: usize, j: usize| gamma / m as f64 + if j == i { 1.0 - gamma } else { 0.0 };
        let start =
            |i| distribution.iter().enumerate().map(|(j, p)| h((target(i, j) - p) / p) / eta).sum::<f64>();
        Self {
            length,
            comparator,
            eta,
            gamma,
            beta: if length > 1 { (1.0 / t.ln()).exp() } else { 1.0 },
            target: (0..m).map(|j| target(comparator, j)).collect(),
            p: distribution.to_vec(),
            mixed: distribution.iter().map(|p| (1.0 - gamma) * p + gamma / m as f64).collect(),
            rates: vec![eta; m],
            used: vec![eta; m],
            changes: vec![0; m],
            ranges: ranges.to_vec(),
            ranges_before: ranges.to_vec(),
            first_ranges: ranges.to_vec(),
            starts: (0..m).map(start).collect(),
            totals: vec![0.0; m],
            ..Self::default()
        }
    }

    /// The base to compete with.
    pub fn comparator(&self) -> usize {
        self.comparator
    }

    /// Checks one round more.
    pub fn observe(&mut self, round: &AuditedRound<'_>) {
        let m = self.p.len();
        self.rounds += 1;
        self.regained += std::mem::take(&mut self.regained_last);
        let (mut left, mut fall, mut moved, mut scale, mut sum) = (0.0, 0.0, 0.0, 0.0, 0.0);
        for j in 0..m {
            let (l, p, u, eta) = (round.losses.get(j), self.p[j], self.target[j], self.rates[j]);
            let next = round.distribution[j];
            // p_t/p_{t+1} = 1 + r, so that D_t(u,p_t) - D_t(u,p_{t+1}) = sum (ln(1+r) - u r/p_t)/eta
            let r = (p - next) / next;
            left += (p - u) * l;
            fall += (r.ln_1p() - u * r / p) / eta;
            moved += h(r) / eta;
            scale += (1.0 + u / p) / eta + (p + u) * l.abs();
            sum += next;
            self.paid += self.mixed[j] * l;
            self.totals[j] += l;
            self.stability += 0.5 * eta * (p * l).powi(2);
            self.signed |= l < 0.0;
        }
        self.step = Sides { left, right: fall + moved, scale };
        self.left += left;
        self.moves += moved;
        self.ranges_before.copy_from_slice(&self.ranges);
        let (mut mixing, mut rates, mut ranges) = (0.0, 0.0, 0.0);
        for j in 0..m {
            let (p, mixed) = (round.distribution[j], round.probabilities[j]);
            mixing = worse(mixing, relative(mixed, (1.0 - self.gamma) * p + self.gamma / m as f64));
            // if 1/pbar_{t+1,i} > rho_{t,i}: rho_{t+1,i} = 2/pbar_{t+1,i}, eta_{t+1,i} = beta eta_{t,i}
            if 1.0 / mixed > self.ranges[j] {
                self.ranges[j] = 2.0 / mixed;
                self.changes[j] += 1;
            }
            ranges = worse(ranges, relative(round.ranges[j], self.ranges[j]));
            rates = worse(rates, relative(round.rates[j], self.eta * self.beta.powi(self.changes[j] as i32)));
            if round.rates[j] != self.rates[j] {
                let u = self.target[j];
                self.regained_last += (1.0 / round.rates[j] - 1.0 / self.rates[j]) * h((u - p) / p);
            }
        }
        for (worst, found) in
            self.worst.iter_mut().zip([self.step.gap(), (sum - 1.0).abs(), mixing, rates, ranges])
        {
            *worst = worse(*worst, found);
        }
        self.used.copy_from_slice(&self.rates);
        self.p.copy_from_slice(round.distribution);
        self.mixed.copy_from_slice(round.probabilities);
        self.rates.copy_from_slice(round.rates);
    }

    /// What was found so far.
    pub fn report(&self) -> Audit {
        let end: f64 =
            self.target.iter().zip(&self.p).zip(&self.used).map(|((u, p), eta)| h((u - p) / p) / eta).sum();
        let start = self.starts[self.comparator];
        let run = Sides {
            left: self.left,
            right: start + self.regained - end + self.moves,
            scale: start + self.regained.abs() + end + self.moves + self.left.abs(),
        };
        let theorems = (0..self.p.len()).filter_map(|i| self.theorem(i));
        let [worst_step, worst_sum, worst_mixing, worst_rate, worst_range] = self.worst;
        Audit {
            comparator: self.comparator,
            rounds: self.rounds,
            step: self.step,
            run,
            theorem: self.theorem(self.comparator),
            tightest: theorems.reduce(|a, b| if b.share() <= a.share() { a } else { b }),
            worst_step,
            worst_sum,
            worst_mixing,
            worst_rate,
            worst_range,
        }
    }

    /// The lemma behind the main theorem (the paper, appendix C), with its constants, against base `i`.
    fn theorem(&self, i: usize) -> Option<Sides> {
        let (t, m) = (self.length as f64, self.p.len() as f64);
        if self.length < 2 || m < 2.0 || self.rounds > self.length || self.signed {
            return None;
        }
        let scale = 1.0 / (self.eta * t.ln());
        // rho_{1,i} = 2/pbar_{1,i}
        let growth = ((2.0 * t * m / self.first_ranges[i]).log2() / t.ln()).exp().max(5.0);
        let c0 = (1.0 + (t * m / 4.0).ln()).max(self.first_ranges[i] / 8.0) / growth;
        // rho_{T,i} is in force during round T; before that rounds without loss can be thought to follow.
        let ranges = if self.rounds == self.length { &self.ranges_before } else { &self.ranges };
        let total: f64 = self.totals.iter().sum();
        let left = self.paid - self.totals[i] + ranges[i] / (8.0 * growth) * scale;
        let right = self.starts[i] + c0 * scale + self.stability + 2.0 / (t * m) * total;
        Some(Sides { left, right, scale: left.abs() + right })
    }
}
