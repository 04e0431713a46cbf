//! TRIM: trimmed log-barrier descent with a baseline per base, an adaptive rate and an explicit patience budget.
//! **Experimental**, of this project.
//!
//! ```text
//! w_i = 1/p_i (M at first), m_i running mean, n_i plays, spent_i = 0, Q = 0, eta = .34;   round t = 1, 2, ...
//! A      = { i : spent_i < B/(M-1) }                           the patience set; empty for B = 0
//! pbar_i = (1-th)/w_i + th 1{i in A}/|A|                       th = 1/2 while A is not empty, else 0
//! k ~ pbar;  observe f
//! ref    = min over n_j >= 2 of m_j;  spent_k = max(0, spent_k + f - ref)            (skipped while there is no such j)
//! l_i    = m_i + (f - m_i) 1{i=k}/pbar_k                       m_i is the overall mean while n_i = 0
//! n_k += 1;  m_k += max(1/n_k, 1/h) (f - m_k)
//! c      = sum p^2 l/sum p^2;  q = sum p_i^2 (l_i - c)^2
//! halving:    if a sqrt(M ln T/Q) < eta/2:  eta /= 2, w_i = M, Q = 0
//! continuous: eta = min(.34, a sqrt(M ln T/Q))
//! Q     += q
//! delta  = min(.5, 2/sqrt(t))/M
//! p_i    = max(delta, 1/(w_i + eta (l_i - lambda))),  lambda left of the first pole with sum p = 1;   w_i = 1/p_i
//! ```
//!
//! The overall mean before the first loss is 0. Where T is not known, ln t stands for ln T, and ln T is at least 1 (both
//! ours). Under delay the weight is that of the decision, while A and the baselines are those of now.
//!
//! Feed: raw or weighted. Derived on paper, for halving and against each base's *actual* run:
//! O(M ln T + sqrt(M ln T Q_T)) + 4 sqrt(T), plus the patience. The continuous schedule has no proof. **Not covered by
//! Corral's theorem**: rates fall instead of growing, so the negative term is lost, and a base that learns from weighted
//! losses pays up to (M sqrt(T))^alpha R. It follows changes; without patience it starves slow starters.
//!
//! Patience is a budget B of loss that you accept to pay so that slow bases get their chance: a base is discovered only
//! if (plays it needs) x (its gap) < B/(M-1). There is no default but 0: the constant is
//! a threshold that cannot be set without knowing the bases, and it did not help with ten bases. On problems held out from
//! tuning TRIM was comparable to Corral with 10 to 30/sqrt(T), and behind UCB.

use std::array;

use super::prelude::*;

crate::params! {
    /// Parameters of [`Trim`].
    pub struct TrimParams {
        /// How the rate falls.
        schedule: Schedule = Schedule::Continuous;
        /// The factor a of the rate; unset: 1 for the continuous schedule, 1/2 for halving.
        scale: Option<f64> = None, Bounds::POSITIVE;
        /// The patience budget B, in units of loss: finds bases whose plays needed, times their gap, are below B/(M-1).
        patience: f64 = 0.0, Bounds::NON_NEGATIVE;
        /// The memory h of the running means, in plays.
        memory: f64 = 200.0, Bounds::at_least(1.0);
    }

    /// How the rate falls.
    pub enum Schedule {
        /// eta = min(.34, a sqrt(M ln T/Q)), no proof.
        #[default]
        Continuous,
        /// eta halves, and everything but the means starts over.
        Halving,
    }
}

/// Trimmed log-barrier descent.
pub type Trim = Ruled<TrimRule>;

/// The rule of [`Trim`].
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct TrimRule {
    halving: bool,
    scale: f64,
    memory: f64,
    /// B/(M-1)
    budget: f64,
    /// The largest rate.
    cap: f64,
    horizon: Option<u64>,
    round: u64,
    rate: f64,
    /// Q
    moment: f64,
    /// w_i; infinite for a retired base.
    inverse: Vec<f64>,
    means: Vec<f64>,
    plays: Vec<f64>,
    spent: Vec<f64>,
    /// Sum and number of all losses.
    total: (f64, f64),
    /// p_i = 1/w_i
    #[serde(skip)]
    plain: Vec<f64>,
    /// Buffers for a step that may fail.
    #[serde(skip)]
    next: Vec<f64>,
    #[serde(skip)]
    shown: Vec<f64>,
    #[serde(skip)]
    fresh: Vec<f64>,
    #[serde(skip)]
    estimates: Vec<f64>,
}

/// th, while anyone is waited for.
const SHARE: f64 = 0.5;
/// The largest rate: eta p_i (l_i - c) >= -.68 then.
const LARGEST_RATE: f64 = 0.34;
/// Evaluations of the sum after which a step gives up.
const STEPS: usize = 200;
/// |sum p - 1| that ends the search, and that a step may end with.
const TOLERANCE: f64 = 1e-14;
const ACCEPTABLE: f64 = 1e-9;
/// Independent sums, which the compiler turns into vector code.
const LANES: usize = 4;

/// sum_i p_i, p_i = max(floor, 1/(w_i + eta (l_i - lambda))), its derivative and half its second derivative; leaves p in
/// `out`. Infinite w count as the floor.
fn evaluate(w: &[f64], l: &[f64], eta: f64, lambda: f64, floor: f64, out: &mut [f64]) -> (f64, f64, f64) {
    let (mut sum, mut slope, mut curve) = ([0.0; LANES], [0.0; LANES], [0.0; LANES]);
    let mut add = |j: usize, p: f64| {
        let p = if p > floor { p } else { floor };
        let kept = if p > floor { p } else { 0.0 };
        sum[j] += p;
        slope[j] += kept * kept;
        curve[j] += kept * kept * kept;
        p
    };
    let (whole, rest) = w.as_chunks::<LANES>();
    let (whole_l, rest_l) = l.as_chunks::<LANES>();
    let (whole_p, rest_p) = out.as_chunks_mut::<LANES>();
    for ((w, l), p) in whole.iter().zip(whole_l).zip(whole_p) {
        let q: [f64; LANES] = array::from_fn(|j| 1.0 / (w[j] + eta * (l[j] - lambda)));
        *p = array::from_fn(|j| add(j, q[j]));
    }
    for ((w, l), p) in rest.iter().zip(rest_l).zip(rest_p) {
        *p = add(0, 1.0 / (w + eta * (l - lambda)));
    }
    let total = |x: [f64; LANES]| (x[0] + x[2]) + (x[1] + x[3]);
    (total(sum), eta * total(slope), eta * eta * total(curve))
}

impl TrimRule {
    /// What of the patience for `base` is spent.
    pub fn spent(&self, base: usize) -> Option<f64> {
        self.spent.get(base).copied()
    }

    fn waits_for(&self, base: usize) -> bool {
        self.spent[base] < self.budget
    }

    /// delta = min(.5, 2/sqrt(t))/M
    fn floor(&self, roster: &Roster) -> f64 {
        (2.0 / (self.round as f64).sqrt()).min(0.5) / roster.bases() as f64
    }

    /// p_i = max(delta, 1/(w_i + eta (l_i - lambda))) into `shown`, and 1/p_i into `next`. lambda is near `start`, and not above
    /// `centre`, which is sum p^2 l/sum p^2.
    fn descend(
        &mut self,
        roster: &Roster,
        eta: f64,
        (start, centre): (f64, f64),
        restart: bool,
    ) -> Result<(), MasterError> {
        let ceiling = 1.0 / self.floor(roster);
        // What is kept is 1/p: the floor is what 1/p gives back.
        let floor = 1.0 / ceiling;
        // A retired base counts as the floor in the sum below.
        let missing = (roster.bases() - roster.left()) as f64 * floor;
        let Self { inverse, fresh, estimates, next, shown, .. } = self;
        let (w, start, centre) = if restart {
            let (mut sum, left) = (0.0, roster.left() as f64);
            for (i, w) in fresh.iter_mut().enumerate() {
                *w = if roster.has(i) { left } else { f64::INFINITY };
                sum += if roster.has(i) { estimates[i] } else { 0.0 };
            }
            (&*fresh, sum / left, sum / left)
        } else {
            (&*inverse, start, centre)
        };
        // [min l, min(mu, min_j(l_j + (w_j - 1)/eta))], the sum being at most 1 on the left and at least 1 on the right.
        let unit = 1.0 / eta;
        let [mut low, cap] = lanes::least(w, estimates, |w, l| [l, l + (w - 1.0) * unit]);
        let mut high = centre.min(cap).max(low);
        let mut lambda = if start > low && start < high { start } else { high };
        let (mut best, mut residual, mut last) = (lambda, f64::INFINITY, lambda);
        let mut steps = 0;
        while steps < STEPS {
            steps += 1;
            last = lambda;
            let (sum, slope, curve) = evaluate(w, estimates, eta, lambda, floor, shown);
            let off = sum - missing - 1.0;
            if off.abs() < residual {
                (best, residual) = (lambda, off.abs());
            }
            if residual <= TOLERANCE {
                break;
            }
            if off > 0.0 {
                high = lambda
            } else {
                low = lambda
            }
            // Halley's step; the sum is convex and increasing in lambda.
            let halley = lambda - off * slope / (slope * slope - curve * off);
            let next = if halley > low && halley < high { halley } else { low + 0.5 * (high - low) };
            if next == low || next == high {
                break;
            }
            lambda = next;
        }
        if !(residual <= ACCEPTABLE) {
            return Err(MasterError::Step { residual, iterations: steps });
        }
        if last != best {
            evaluate(w, estimates, eta, best, floor, shown);
        }
        for (((next, p), w), l) in next.iter_mut().zip(shown).zip(w).zip(&*estimates) {
            let (inverse, shown) = (w + eta * (l - best), *p);
            let present = inverse < f64::INFINITY;
            let clipped = if inverse > ceiling { ceiling } else { inverse };
            *next = if present { clipped } else { inverse };
            *p = if present { shown } else { 0.0 };
        }
        Ok(())
    }
}

impl Rule for TrimRule {
    type Params = TrimParams;

    const NAME: &'static str = "trim";

    fn new(params: &TrimParams, setup: &MasterSetup) -> Result<Self, ParamError> {
        let halving = params.schedule == Schedule::Halving;
        let bases = setup.bases;
        // Losses whose own weights reach rho: the condition on the rate scales with them.
        let cap = LARGEST_RATE / setup.range;
        let mut rule = Self {
            halving,
            scale: params.scale.unwrap_or(if halving { 0.5 } else { 1.0 }),
            memory: params.memory,
            budget: params.patience / (bases.max(2) - 1) as f64,
            cap,
            horizon: setup.horizon,
            round: 1,
            rate: cap,
            inverse: vec![bases as f64; bases],
            means: vec![0.0; bases],
            plays: vec![0.0; bases],
            spent: vec![0.0; bases],
            ..Self::default()
        };
        rule.resize_buffers();
        Ok(rule)
    }

    fn takes_real_losses(_: &TrimParams) -> bool {
        false
    }

    fn begin(&mut self, experience: &[Experience]) -> Result<(), ParamError> {
        let bases = self.inverse.len();
        self.estimates.clear();
        self.estimates.extend(Experience::estimates(experience, bases));
        let centre = self.estimates.iter().sum::<f64>() / bases as f64;
        self.descend(&Roster::new(bases), self.rate, (centre, centre), false)
            .map_err(|_| Experience::refuse("gives numbers that no step can be made with"))?;
        std::mem::swap(&mut self.inverse, &mut self.next);
        std::mem::swap(&mut self.plain, &mut self.shown);
        Ok(())
    }

    fn learn(&mut self, round: Credited<'_>) -> Result<(), MasterError> {
        let Credited { loss, roster, .. } = round;
        // l_i = m_i + (f - m_i) w_i, with w_i = 1{i=k}/pbar_k
        let overall = if self.total.1 > 0.0 { self.total.0 / self.total.1 } else { 0.0 };
        for ((l, &m), &n) in self.estimates.iter_mut().zip(&self.means).zip(&self.plays) {
            *l = if n > 0.0 { m } else { overall };
        }
        let mut seen = false;
        round.each(|i, weight| {
            self.estimates[i] += (loss - self.estimates[i]) * weight;
            seen = true;
        });
        if !seen {
            return Ok(());
        }
        // c = sum p^2 l/sum p^2;  q = sum p_i^2 (l_i - c)^2;  p is 0 for retired bases
        let (plain, estimates) = (&self.plain, &self.estimates);
        let [bottom, top] = lanes::sums(plain, estimates, |p, l| [p * p, p * p * l]);
        let centre = top / bottom;
        let [moment, cubes] = lanes::sums(plain, estimates, |p, l| {
            let off = p * (l - centre);
            [off * off, p * off * off]
        });
        // a sqrt(M ln T/Q), with Q before this round is added
        let rounds = self.horizon.unwrap_or(self.round) as f64;
        let rate = self.scale * (roster.bases() as f64 * rounds.ln().max(1.0) / self.moment).sqrt();
        let restart = self.halving && rate < self.rate / 2.0;
        let eta = match (self.halving, restart) {
            (true, true) => self.rate / 2.0,
            (true, false) => self.rate,
            (false, _) => rate.min(self.cap),
        };
        // Around c the sum is 1 + eta^2 sum p^3 (l - c)^2 - ..., and its slope eta sum p^2: a first step for free.
        let start = centre - eta * cubes / bottom;
        self.descend(roster, eta, (start, centre), restart)?;

        // Nothing fails from here.
        std::mem::swap(&mut self.inverse, &mut self.next);
        std::mem::swap(&mut self.plain, &mut self.shown);
        self.rate = eta;
        self.moment = if restart { moment } else { self.moment + moment };
        // ref = min over n_j >= 2 of m_j
        let [reference] =
            lanes::least(&self.means, &self.plays, |m, n| [if n >= 2.0 { m } else { f64::INFINITY }]);
        let Self { means, plays, spent, memory, total, .. } = self;
        round.each(|k, weight| {
            let share = weight.min(1.0);
            if reference < f64::INFINITY {
                spent[k] = (spent[k] + share * (loss - reference)).max(0.0);
            }
            plays[k] += share;
            // m_k += max(1/n_k, 1/h) (f - m_k)
            means[k] += (share * (1.0 / plays[k]).max(1.0 / *memory)).min(1.0) * (loss - means[k]);
        });
        *total = (total.0 + loss, total.1 + 1.0);
        self.round += 1;
        Ok(())
    }

    fn retired(&mut self, base: usize, _: &Roster) {
        // Who never played is no reference.
        self.plays[base] = 0.0;
        self.inverse[base] = f64::INFINITY;
        let rest: f64 = self.inverse.iter().map(|w| 1.0 / w).sum();
        for (p, w) in self.plain.iter_mut().zip(&mut self.inverse) {
            *w *= rest;
            *p = 1.0 / *w;
        }
    }

    fn distribute(&mut self, roster: &Roster, out: &mut [f64]) {
        // A = { i : spent_i < B/(M-1) }
        let waiting =
            if self.budget > 0.0 { roster.iter().filter(|&i| self.waits_for(i)).count() } else { 0 };
        if waiting == 0 {
            out.copy_from_slice(&self.plain);
            return;
        }
        let give = SHARE / waiting as f64;
        for (i, (p, own)) in out.iter_mut().zip(&self.plain).enumerate() {
            let waited = roster.has(i) && self.waits_for(i);
            *p = (1.0 - SHARE) * own + if waited { give } else { 0.0 };
        }
    }

    fn resize_buffers(&mut self) {
        let bases = self.inverse.len();
        self.plain = self.inverse.iter().map(|w| 1.0 / w).collect();
        self.next.resize(bases, 0.0);
        self.shown.resize(bases, 0.0);
        self.fresh.resize(bases, 0.0);
        self.estimates.resize(bases, 0.0);
    }

    fn constants(&self) -> impl Serialize {
        (self.halving, self.scale, self.memory, self.budget, self.cap, self.horizon, self.round > 0)
    }

    fn admits(&self, state: &Self) -> Result<(), SnapshotError> {
        let bases = self.means.len();
        counted(state.round)?;
        let finite = |x: f64| (0.0..f64::INFINITY).contains(&x);
        all("inverse probabilities", &state.inverse, bases, |w| w >= 1.0 - 1e-9)?;
        all("means", &state.means, bases, |x| (0.0..=1.0).contains(&x))?;
        all("plays", &state.plays, bases, finite)?;
        all("patience", &state.spent, bases, finite)?;
        let sound = state.rate > 0.0 && state.rate <= self.cap && finite(state.moment);
        ensure(sound, format_args!("rate {}, moment {}", state.rate, state.moment))
    }
}
