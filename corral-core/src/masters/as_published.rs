//! Corral by the rules of public programs, which are not the paper's: so that published figures can be reproduced, and
//! the difference shown in one run. Never the default. [`Corral`](crate::Corral) is the paper's.
//!
//! | `rules` | follows | leaves the paper by |
//! |---|---|---|
//! | `as-modelselection` | github.com/pacchiano/modelselection, the Corral baseline of the D3RB papers | p replaced by pbar each round; ranges cut to integers; lambda by bisection to 1e-5, then renormalised; losses of Gaussian rewards not clipped (it takes losses outside [0, 1]); use with feed raw |
//! | `as-coba` | github.com/VowpalWabbit/coba | rates *shrink* by beta; a sum of p within 5e-5 of 1 is accepted; T not known means gamma = 0 and beta = 1; rate 0.075. Its feed of importance-weighted *rewards* to the bases is not reproduced; use with credit likelihood |
//! | `as-smpybandits` | github.com/SMPyBandits/SMPyBandits | lambda minimises the squared residual over [min l, max l], which finds spurious roots; negative results are shifted until they are not; rate sqrt(M/T); use with feed raw |
//! | `as-adversarial-master-h` | a C++ header for smoothed bases (repository not identified) | *gains* fed as losses; p replaced by pbar; lambda minimises the squared residual (where that gives a negative probability the true root is taken, which is ours) |
//!
//! Guarantees: none. The paper's theorem is about the paper's algorithm.

use super::prelude::*;
use super::{CorralProgram, CorralSpec, HorizonSpec};
use crate::Master;

crate::params! {
    /// Parameters of Corral by the rules of a public program.
    pub struct AsPublishedParams {
        /// Whose rules to follow; not the paper's.
        rules: CorralProgram = CorralProgram::Paper;
        /// The learning rate; unset: the program's own default.
        rate: Option<f64> = None, Bounds::POSITIVE;
    }
}

impl CorralSpec {
    /// By the rules of a public program.
    pub(super) fn as_published(
        &self,
        horizon: HorizonSpec,
        setup: &MasterSetup,
    ) -> Result<Box<dyn Master>, ParamError> {
        let must = "the paper's where prior, baseline, audit or step is set";
        require(self.is_plain(), "rules", "a public program's", must)?;
        let rounds = match horizon {
            HorizonSpec::Known(rounds) => Some(rounds),
            HorizonSpec::Restart | HorizonSpec::Unknown => None,
        };
        let rate = self.rate.map(|rate| rate.given(setup.bases, rounds)).transpose()?;
        let params = AsPublishedParams { rules: self.rules, rate };
        let setup = MasterSetup { horizon: rounds, ..setup.clone() };
        Ok(Box::new(Ruled::<AsPublishedRule>::new(params, &setup)?))
    }
}

/// The rule of Corral as published by others.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct AsPublishedRule {
    program: CorralProgram,
    gamma: f64,
    beta: f64,
    /// p_t; 0 for a retired base.
    plain: Vec<f64>,
    rates: Vec<f64>,
    ranges: Vec<f64>,
    #[serde(skip)]
    estimates: Vec<f64>,
    #[serde(skip)]
    next: Vec<f64>,
}

impl AsPublishedRule {
    /// The ranges rho in force.
    pub fn ranges(&self) -> &[f64] {
        &self.ranges
    }

    /// sum_i 1/(1/p_i + eta_i (l_i - lambda))
    fn sum(&self, roster: &Roster, lambda: f64) -> f64 {
        roster.iter().map(|i| self.stepped(i, lambda)).sum()
    }

    /// 1/(1/p_i + eta_i (l_i - lambda)); 0 where p_i is.
    fn stepped(&self, i: usize, lambda: f64) -> f64 {
        1.0 / (1.0 / self.plain[i] + self.rates[i] * (self.estimates[i] - lambda))
    }

    /// Least and largest estimate, and the first pole.
    fn interval(&self, roster: &Roster) -> (f64, f64, f64) {
        roster.iter().fold((f64::INFINITY, f64::NEG_INFINITY, f64::INFINITY), |(low, high, pole), i| {
            let l = self.estimates[i];
            (low.min(l), high.max(l), pole.min(l + 1.0 / (self.plain[i] * self.rates[i])))
        })
    }

    /// Bisection left of the first pole, until `done(width of the bracket, sum)`.
    fn bisect(&self, roster: &Roster, done: impl Fn(f64, f64) -> bool) -> f64 {
        let (mut low, high, pole) = self.interval(roster);
        let mut high = high.min(pole);
        for _ in 0..2_000 {
            let middle = 0.5 * (low + high);
            let sum = self.sum(roster, middle);
            if done(high - low, sum) || middle == low || middle == high {
                return middle;
            }
            if sum > 1.0 { high = middle } else { low = middle }
        }
        0.5 * (low + high)
    }

    /// The least squared residual over [low, high] that a local search finds.
    fn least_squares(&self, roster: &Roster, low: f64, high: f64) -> f64 {
        minimise(|lambda| (self.sum(roster, lambda) - 1.0).powi(2), low, high)
    }

    /// Line "Log-Barrier-OMD", by the program's own way, into `next`.
    fn descend(&mut self, roster: &Roster) {
        let (low, high, _) = self.interval(roster);
        let lambda = if !(high > low) {
            low
        } else {
            match self.program {
                CorralProgram::AsModelselection => self.bisect(roster, |width, _| width <= 1e-5),
                CorralProgram::AsCoba => self.bisect(roster, |_, sum| (sum - 1.0).abs() < 5e-5),
                CorralProgram::AsSmpybandits => self.least_squares(roster, low.max(0.0), high),
                CorralProgram::AsAdversarialMasterH => {
                    let lambda = self.least_squares(roster, low, high);
                    let legal = roster.iter().all(|i| self.stepped(i, lambda) > 0.0);
                    if legal { lambda } else { self.bisect(roster, |_, _| false) }
                }
                CorralProgram::Paper => self.bisect(roster, |_, _| false),
            }
        };
        let normalise = self.program != CorralProgram::AsCoba;
        self.next.fill(0.0);
        let mut total = 0.0;
        for i in roster.iter() {
            let p = self.stepped(i, lambda);
            self.next[i] = p;
            total += p;
        }
        if normalise {
            self.next.iter_mut().for_each(|p| *p /= total);
        }
        let least = self.next.iter().copied().fold(0.0, f64::min);
        if least < 0.0 {
            // Shifted until none is negative.
            let total: f64 = roster.iter().map(|i| self.next[i] / -least + 1.0).sum();
            for i in roster.iter() {
                self.next[i] = (self.next[i] / -least + 1.0) / total;
            }
        }
    }
}

/// A local minimum of `f` over [low, high]: golden sections with parabolic steps (Brent 1973), to 1e-5.
fn minimise(f: impl Fn(f64) -> f64, mut low: f64, mut high: f64) -> f64 {
    const GOLDEN: f64 = 0.381_966_011_250_105_1;
    let mut x = low + GOLDEN * (high - low);
    let (mut second, mut third) = (x, x);
    let mut fx = f(x);
    let (mut f_second, mut f_third) = (fx, fx);
    let (mut step, mut before) = (0.0f64, 0.0f64);
    for _ in 0..500 {
        let middle = 0.5 * (low + high);
        let tolerance = f64::EPSILON.sqrt() * x.abs() + 1e-5 / 3.0;
        if (x - middle).abs() <= 2.0 * tolerance - 0.5 * (high - low) {
            break;
        }
        let mut golden = true;
        if before.abs() > tolerance {
            // The parabola through the three best points.
            let r = (x - second) * (fx - f_third);
            let q = (x - third) * (fx - f_second);
            let top = (x - third) * q - (x - second) * r;
            let bottom = 2.0 * (q - r);
            let (top, bottom) = if bottom > 0.0 { (-top, bottom) } else { (top, -bottom) };
            let last = std::mem::replace(&mut before, step);
            if top.abs() < (0.5 * bottom * last).abs()
                && top > bottom * (low - x)
                && top < bottom * (high - x)
            {
                step = top / bottom;
                golden = false;
                let trial = x + step;
                if trial - low < 2.0 * tolerance || high - trial < 2.0 * tolerance {
                    step = tolerance.copysign(middle - x);
                }
            }
        }
        if golden {
            before = if x >= middle { low - x } else { high - x };
            step = GOLDEN * before;
        }
        let trial = x + if step.abs() >= tolerance { step } else { tolerance.copysign(step) };
        let value = f(trial);
        if value <= fx {
            if trial >= x {
                low = x
            } else {
                high = x
            }
            (third, f_third) = (second, f_second);
            (second, f_second) = (x, fx);
            (x, fx) = (trial, value);
        } else {
            if trial < x {
                low = trial
            } else {
                high = trial
            }
            if value <= f_second || second == x {
                (third, f_third) = (second, f_second);
                (second, f_second) = (trial, value);
            } else if value <= f_third || third == x || third == second {
                (third, f_third) = (trial, value);
            }
        }
    }
    x
}

impl Rule for AsPublishedRule {
    type Params = AsPublishedParams;

    const NAME: &'static str = "corral-as-published";

    fn new(params: &AsPublishedParams, setup: &MasterSetup) -> Result<Self, ParamError> {
        require(params.rules != CorralProgram::Paper, "rules", "paper", "those of a public program")?;
        let bases = setup.bases;
        let (gamma, grow) = match setup.horizon {
            Some(rounds) => {
                let rounds = rounds as f64;
                (1.0 / rounds, if rounds > 1.0 { (1.0 / rounds.ln()).exp() } else { 1.0 })
            }
            None if params.rules == CorralProgram::AsCoba => (0.0, 1.0),
            None => return Err(ParamError::new("horizon", "not known", "known")),
        };
        let default = match (params.rules, setup.horizon) {
            (CorralProgram::AsCoba, _) => 0.075,
            (CorralProgram::AsSmpybandits, Some(rounds)) => (bases as f64 / rounds as f64).sqrt(),
            (_, rounds) => Rate::Balanced.value(bases, rounds.unwrap_or(1)),
        };
        let rate = params.rate.unwrap_or(default);
        Ok(Self {
            program: params.rules,
            gamma,
            beta: if params.rules == CorralProgram::AsCoba { 1.0 / grow } else { grow },
            plain: vec![1.0 / bases as f64; bases],
            rates: vec![rate / setup.range.sqrt(); bases],
            ranges: vec![2.0 * bases as f64; bases],
            estimates: vec![0.0; bases],
            next: vec![0.0; bases],
        })
    }

    fn takes_real_losses(params: &AsPublishedParams) -> bool {
        params.rules == CorralProgram::AsModelselection
    }

    fn begin(&mut self, _: &[Experience]) -> Result<(), ParamError> {
        Err(Experience::refuse(PAPER_ALONE))
    }

    fn learn(&mut self, round: Credited<'_>) -> Result<(), MasterError> {
        let Credited { loss, roster, .. } = round;
        let gains = self.program == CorralProgram::AsAdversarialMasterH;
        let value = if gains { 1.0 - loss } else { loss };
        self.estimates.fill(0.0);
        round.each(|i, weight| self.estimates[i] = value * weight);
        self.descend(roster);
        let total: f64 = self.next.iter().sum();
        if !((total - 1.0).abs() <= 1e-3 && self.next.iter().all(|p| (0.0..=1.0 + 1e-3).contains(p))) {
            return Err(MasterError::Step { residual: (total - 1.0).abs(), iterations: 0 });
        }
        std::mem::swap(&mut self.plain, &mut self.next);
        self.next.copy_from_slice(&self.plain);
        roster.mix(self.gamma, &mut self.next);
        for i in roster.iter() {
            if 1.0 / self.next[i] > self.ranges[i] {
                let range = 2.0 / self.next[i];
                let whole = self.program == CorralProgram::AsModelselection;
                self.ranges[i] = if whole { range.trunc() } else { range };
                self.rates[i] *= self.beta;
            }
        }
        if matches!(self.program, CorralProgram::AsModelselection | CorralProgram::AsAdversarialMasterH) {
            self.plain.copy_from_slice(&self.next);
        }
        Ok(())
    }

    fn retired(&mut self, base: usize, _: &Roster) {
        self.plain[base] = 0.0;
        let rest: f64 = self.plain.iter().sum();
        self.plain.iter_mut().for_each(|p| *p /= rest);
    }

    fn distribute(&mut self, roster: &Roster, out: &mut [f64]) {
        out.copy_from_slice(&self.plain);
        // Elsewhere p is pbar already.
        if !matches!(self.program, CorralProgram::AsModelselection | CorralProgram::AsAdversarialMasterH) {
            roster.mix(self.gamma, out);
        }
        // Draws are made from a distribution, even where p is only nearly one.
        let total: f64 = out.iter().sum();
        out.iter_mut().for_each(|p| *p /= total);
    }

    fn rates(&self) -> &[f64] {
        &self.rates
    }

    fn resize_buffers(&mut self) {
        self.next.resize(self.plain.len(), 0.0);
        self.estimates.resize(self.plain.len(), 0.0);
    }

    fn constants(&self) -> impl Serialize {
        (self.program, self.gamma, self.beta)
    }

    fn admits(&self, state: &Self) -> Result<(), SnapshotError> {
        let bases = self.plain.len();
        all("probabilities", &state.plain, bases, |p| (0.0..=1.0 + 1e-3).contains(&p))?;
        all("rates", &state.rates, bases, |r| r > 0.0 && r.is_finite())?;
        all("ranges", &state.ranges, bases, |r| r >= 1.0 && r.is_finite())
    }
}
