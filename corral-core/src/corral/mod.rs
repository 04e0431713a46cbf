//! Algorithm 1: Corral.
//!
//! ```text
//! gamma = 1/T, beta = e^(1/ln T), eta_{1,i} = eta, rho_{1,i} = 2M, p_1 = pbar_1 = 1/M
//! for t = 1 .. T:
//!     i_t ~ pbar_t; observe the loss f of its decision
//!     p_{t+1}    = Log-Barrier-OMD(p_t, (f/pbar_{t,i_t}) e_{i_t}, eta_t)
//!     pbar_{t+1} = (1 - gamma) p_{t+1} + gamma/M
//!     where 1/pbar_{t+1,i} > rho_{t,i}: rho_{t+1,i} = 2/pbar_{t+1,i}, eta_{t+1,i} = beta eta_{t,i}
//! ```
//!
//! p and pbar are two vectors. T = 1 has ln T = 0: beta is 1 there.
//!
//! Feed: weighted, which is the theorem's: against a base that is (alpha, R)-stable the regret is that of the base run alone,
//! up to the master's M ln T/eta + T eta ([`Corral::bound`]). Raw feed suits stochastic bases, and is outside the theorem; so
//! are bases that are not stable, delayed feedback, rounds beyond T, and losses outside [0, 1].

mod bound;
mod engine;
mod members;
mod mixture;
mod params;
mod round;
mod state;

use rand_core::Rng;

pub use bound::restart_factor;
pub use params::{CorralParams, Horizon, Rate, Step};

use self::engine::{Engine, Lazy};
use self::state::State;
use crate::audit::{Audit, Auditor};
use crate::memory::Budget;
use crate::{Credit, Limits, LossDomain, Master, MasterError, MasterExtra, Order, ParamError, Telemetry};

/// Length of the first epoch when the horizon is unknown.
const FIRST_EPOCH: u64 = 64;
/// A weight is 1/pbar computed elsewhere, a range 2/pbar computed here: allow their rounding.
const SLACK: f64 = 1.0 + 1e-9;

/// The paper's master: mirror descent with the log barrier, and a rate per base that grows where its probability falls.
///
/// ```
/// use corral_core::{Corral, CorralParams, Credit, Horizon, Master};
/// let mut corral = Corral::new(CorralParams::new(3, Horizon::Known(1_000)))?;
/// let weight = 1.0 / corral.probabilities()[0];
/// let changes = corral.update(1.0, Credit::Chosen { base: 0, weight })?;
/// assert!(changes.is_empty());
/// assert!(corral.probabilities()[0] < corral.probabilities()[1]);
/// # Ok::<(), corral_core::MasterError>(())
/// ```
#[derive(Debug, Clone)]
pub struct Corral {
    params: CorralParams,
    /// p_t, pbar_t and eta_t, these but for [`Epoch::fall`].
    engine: Engine,
    /// eta_t
    rates: Lazy,
    /// rho_t
    ranges: Vec<f64>,
    /// The largest weight ever promised: credit may come late, from before a restart.
    promised: Vec<f64>,
    /// Range changes n_i.
    changes: Vec<u32>,
    epoch: Epoch,
    auditor: Option<Box<Auditor>>,
    /// Buffers for the estimates of a shared credit.
    estimates: Vec<f64>,
    /// Buffers for the bases that a gain of another may have moved out of their ranges.
    fallen: Vec<u32>,
    orders: Vec<(usize, Order)>,
}

/// Where the game is, and what follows from its length.
#[derive(Debug, Clone, Copy)]
struct Epoch {
    /// T: of the epoch when the horizon is unknown.
    length: u64,
    /// Rounds played of it.
    round: u64,
    /// eta of its first round.
    rate: f64,
    /// The largest weight that losses carry from outside: 1 but for a nested master.
    outer: f64,
    /// Sum and number of losses, with one pseudo-observation of 1/2.
    losses: (f64, f64),
}

impl Epoch {
    fn start(params: &CorralParams, length: u64, outer: f64) -> Self {
        // A nested master's estimates are up to `outer` times larger: eta/sqrt(rho).
        let rate = params.rate.value(params.bases, length) / outer.sqrt();
        Self { length, round: 0, rate, outer, losses: (0.5, 1.0) }
    }

    /// gamma = 1/T
    fn gamma(&self) -> f64 {
        1.0 / self.length as f64
    }

    /// beta = e^(1/ln T); 1 for T = 1.
    fn beta(&self) -> f64 {
        if self.length > 1 { (1.0 / (self.length as f64).ln()).exp() } else { 1.0 }
    }

    fn remaining(&self) -> u64 {
        self.length.saturating_sub(self.round)
    }

    /// What rates are multiplied by beyond a horizon that was told: after one round more than T, 2T, 4T, ... they are those of
    /// twice as long a game, and no base is restarted (docs/why.md). 1 up to T.
    fn fall(&self) -> f64 {
        if self.round <= self.length { 1.0 } else { self.fallen() }
    }

    #[cold]
    fn fallen(&self) -> f64 {
        let doublings = ((self.round - 1) / self.length).ilog2() + 1;
        0.5_f64.powi(doublings as i32).sqrt()
    }
}

impl Corral {
    /// Corral before its first round.
    ///
    /// # Errors
    /// Names the parameter that the algorithm is not defined for.
    pub fn new(params: CorralParams) -> Result<Self, ParamError> {
        Self::within(params, &Budget::default())
    }

    /// The same, where what it takes is claimed of `budget`.
    ///
    /// # Errors
    /// As [`new`](Corral::new), or it takes more than is left.
    pub fn within(params: CorralParams, budget: &Budget) -> Result<Self, ParamError> {
        let params = params.check()?;
        let m = params.bases;
        budget.claim("bases", m, 12 * m as u128)?;
        let length = match params.horizon {
            Horizon::Known(rounds) => rounds,
            Horizon::Restart => FIRST_EPOCH,
        };
        let epoch = Epoch::start(&params, length, 1.0);
        let flat = params.step.is_flat(m, epoch.rate);
        let engine = Engine::new(flat, &vec![m as f64; m], &vec![epoch.rate; m], epoch.gamma())
            .map_err(|_| ParamError::new("rate", epoch.rate, "positive and finite"))?;
        let mut corral = Self {
            params,
            engine,
            rates: Lazy::default(),
            ranges: vec![0.0; m],
            promised: vec![0.0; m],
            changes: vec![0; m],
            epoch,
            auditor: None,
            estimates: vec![0.0; if flat { 0 } else { m }],
            fallen: Vec::new(),
            orders: Vec::with_capacity(m),
        };
        corral.begin(epoch, |_| false).map_err(|e| ParamError::choice("rate", e.to_string()))?;
        Ok(corral)
    }

    /// The distribution pbar_t from which bases are drawn. The flat step has it written out on the first call of a round.
    #[inline]
    pub fn probabilities(&self) -> &[f64] {
        self.engine.probabilities()
    }

    /// Draws a base, and says with which probability: one number of the generator; for the flat step two or three, as it draws by
    /// rejection.
    #[inline]
    pub fn draw(&self, rng: &mut dyn Rng) -> (usize, f64) {
        let base = self.engine.sample(rng);
        (base, self.engine.probability(base))
    }

    /// The largest weight that feedback to `base` may carry at present; `None` where there is no such base.
    pub fn range(&self, base: usize) -> Option<f64> {
        self.ranges.get(base).map(|r| r * self.epoch.outer)
    }

    /// The probability of one base, without writing out those of all.
    #[inline]
    pub fn probability(&self, base: usize) -> f64 {
        self.engine.probability(base)
    }

    /// The distribution p_t of the mirror descent, written out as [`probabilities`](Self::probabilities) are.
    pub fn distribution(&self) -> &[f64] {
        self.engine.distribution()
    }

    /// Whether rounds are made by the flat step at present.
    pub fn is_flat(&self) -> bool {
        self.engine.is_flat()
    }

    /// The learning rates eta_t, written out on the first call after one has changed.
    pub fn rates(&self) -> &[f64] {
        let fall = self.epoch.fall();
        self.rates.get(|all| all.extend((0..self.params.bases).map(|i| fall * self.engine.rate(i))))
    }

    /// The ranges rho_t, above which 1/pbar_t never is. (For a nested master the weights of feedback go up to
    /// [`Limits::range`](crate::Limits::range), which has the outer range in it.)
    pub fn ranges(&self) -> &[f64] {
        &self.ranges
    }

    /// How often the range of `base` changed since the last restart; 0 for a base that is not there.
    pub fn range_changes(&self, base: usize) -> u32 {
        self.changes.get(base).copied().unwrap_or(0)
    }

    /// The parameters.
    pub fn params(&self) -> &CorralParams {
        &self.params
    }

    /// Rounds left of the horizon, or of the epoch when the horizon is unknown.
    pub fn remaining(&self) -> u64 {
        self.epoch.remaining()
    }

    /// From now on every round is checked against what the paper proves, with base `comparator` as the one to
    /// compete with. Costs a few logarithms per base and round; ended by `retire` and `load`, started again by whatever
    /// starts over.
    ///
    /// # Errors
    /// There is no such base, a base is retired, or rounds were played already.
    pub fn start_audit(&mut self, comparator: usize) -> Result<(), MasterError> {
        if comparator >= self.params.bases {
            return Err(MasterError::Index { base: comparator, bases: self.params.bases });
        }
        if let Some(retired) = (0..self.params.bases).find(|i| self.engine.is_retired(*i)) {
            return Err(MasterError::Retired(retired));
        }
        if self.epoch.round > 0 {
            return Err(ParamError::new("round", self.epoch.round, "0 when an audit starts").into());
        }
        self.auditor = Some(Box::new(Auditor::new(
            self.epoch.length,
            comparator,
            self.distribution(),
            self.rates()[comparator],
            &self.ranges,
        )));
        Ok(())
    }

    /// Both sides of the one-step identity, of the identity of the whole run and of the pathwise theorem, for the
    /// rounds since [`start_audit`](Self::start_audit); `None` when there is no audit.
    pub fn audit(&self) -> Option<Audit> {
        self.auditor.as_ref().map(|a| a.report())
    }

    /// Line "Initialize", over the bases that are not `retired`.
    fn begin(&mut self, epoch: Epoch, retired: impl Fn(usize) -> bool) -> Result<(), MasterError> {
        let m = self.params.bases;
        let share = |i: usize| match &self.params.prior {
            _ if retired(i) => 0.0,
            Some(prior) => prior[i],
            None => 1.0,
        };
        let total: f64 = (0..m).map(share).sum();
        // p_1 = 1/M, eta_{1,i} = eta        Algorithm 1
        let flat = self.params.step.is_flat(m, epoch.rate);
        self.engine.reset(flat, |i| total / share(i), epoch.rate, epoch.gamma())?;
        self.epoch = epoch;
        self.rates.forget();
        for i in 0..m {
            // rho_{1,i} = 2M; with a prior 2/pbar_{1,i}        Algorithm 1
            let mixed = self.engine.probability(i);
            let uniform = self.params.prior.is_none() || mixed == 0.0;
            self.ranges[i] = if uniform { 2.0 * self.engine.active() as f64 } else { 2.0 / mixed };
            self.promised[i] = self.promised[i].max(self.ranges[i] * epoch.outer);
            self.changes[i] = 0;
        }
        self.watch_all();
        if let Some(comparator) = self.auditor.take().map(|a| a.comparator()) {
            self.start_audit(comparator).ok();
        }
        Ok(())
    }

    /// Whether a step may lower the probabilities of bases that it is not about.
    fn is_signed(&self) -> bool {
        self.params.baseline || self.params.losses == LossDomain::Real
    }

    /// Has the engine note when a base leaves its range.
    fn watch_all(&mut self) {
        if self.is_signed() {
            self.ranges.iter().enumerate().for_each(|(i, range)| self.engine.watch(i, *range));
        }
    }
}

/// Whether two numbers agree but for the rounding of another platform.
fn close(a: f64, b: f64) -> bool {
    (a - b).abs() <= 1e-9 * b.abs()
}

impl Master for Corral {
    fn probabilities(&self) -> &[f64] {
        self.probabilities()
    }

    /// A round is one update. Credit of a retired base moves nothing; a weight may be as large as any range that
    /// was ever promised, as credit may come late.
    #[inline]
    fn update(&mut self, loss: f64, credit: Credit<'_>) -> Result<&[(usize, Order)], MasterError> {
        // The numbers of a credit go on in registers.
        match credit {
            Credit::Chosen { base, weight } => self.update_one(loss, base, weight),
            Credit::Shared(weights) => self.update_all(loss, weights),
        }
    }

    fn retire(&mut self, base: usize) -> Result<(), MasterError> {
        if base >= self.params.bases {
            return Err(MasterError::Index { base, bases: self.params.bases });
        }
        if self.engine.is_retired(base) {
            return Err(MasterError::Retired(base));
        }
        if self.engine.active() == 1 {
            return Err(MasterError::LastBase(base));
        }
        self.auditor = None;
        self.engine.retire(base, self.epoch.gamma());
        self.watch_all();
        Ok(())
    }

    fn limits(&self, base: usize) -> Limits {
        Limits { range: self.range(base), remaining: Some(self.remaining()) }
    }

    fn telemetry(&self) -> Telemetry<'_> {
        let (rates, audit) = (self.rates(), self.audit());
        Telemetry { name: "corral", params: Some(&self.params), rates, audit, ..Telemetry::default() }
    }

    fn save(&self) -> Vec<u8> {
        State::of(self).seal()
    }

    fn load(&mut self, state: &[u8]) -> Result<(), MasterError> {
        self.load_over(state, self.params.bases)
    }

    #[inline]
    fn extra(&mut self) -> Option<&mut dyn MasterExtra> {
        Some(self)
    }
}

impl MasterExtra for Corral {
    /// Starts over, with all its bases, as a master whose own losses carry weights up to `range`: the rate is divided
    /// by sqrt(range). `remaining` becomes the horizon where one was known.
    fn start_over(&mut self, range: f64, remaining: Option<u64>) -> Result<(), MasterError> {
        if !(range >= 1.0 && range.is_finite()) {
            return Err(MasterError::Range(range));
        }
        let length = match (self.params.horizon, remaining) {
            (Horizon::Known(_), Some(rounds)) => rounds.max(1),
            (Horizon::Known(rounds), None) => rounds,
            (Horizon::Restart, _) => FIRST_EPOCH,
        };
        self.begin(Epoch::start(&self.params, length, range), |_| false)
    }

    #[inline]
    fn draw(&self, rng: &mut dyn Rng) -> (usize, f64) {
        self.draw(rng)
    }

    /// Outside the theorem. p keeps its ratios, pbar up to the mixing 1/T.
    fn admit(&mut self, share: f64) -> Result<&[(usize, Order)], MasterError> {
        self.join(self.params.bases, share)
    }

    fn reinstate(&mut self, base: usize, share: f64) -> Result<&[(usize, Order)], MasterError> {
        if base >= self.params.bases {
            return Err(MasterError::Index { base, bases: self.params.bases });
        }
        if !self.engine.is_retired(base) {
            return Err(MasterError::Present(base));
        }
        self.join(base, share)
    }

    fn load_of(&mut self, state: &[u8], bases: usize) -> Result<(), MasterError> {
        self.load_over(state, bases)
    }
}

#[cfg(test)]
mod flat_tests;
#[cfg(test)]
mod tests;
