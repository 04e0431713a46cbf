//! Corral over pairs of rounds, for smoothed bases (Pacchiano, Phan, Abbasi-Yadkori, Rao, Zimmert, Lattimore, Szepesvari
//! 2020, "Model selection in contextual stochastic bandit problems", NeurIPS, arXiv 2003.01704).
//!
//! ```text
//! round 2s - 1:  i_s ~ pbar_s;  base i_s plays its current policy, and learns            (first step)
//! round 2s:      base i_s again, with a policy of its past; it does not learn           (second step)
//! Corral learns the loss f of the second step as l_i = f 1{i = i_s}/pbar_{s,i}: it has T/2 rounds, of two losses each
//! ```
//!
//! The loss of a second step has a conditional mean that only falls with the plays of its base, so a base cannot look good
//! early and be starved, and a high-probability regret bound is enough: no stability. The bases must alternate in the same
//! way: `smoothed = true` in a spec (`corral-bases/src/smoothed.rs`). Without it this is a Corral that judges every second
//! round.
//!
//! Feed: raw. The loss of a pair is counted as f; twice as much is the unit of the rate. Credit to several bases does not
//! say which base is followed: it is learned at once, as a pair of its own. What comes late, of another base than the one
//! whose second step is due or with the weight of a first step, is checked and dropped: pairs need losses without delay. **Experimental**: from memory.

use super::{Listed, MasterSetup, Roster};
use crate::snapshot::ensure;
use crate::{
    Corral, CorralParams, Credit, Horizon, Limits, LossDomain, Master, MasterError, MasterExtra, Order,
    ParamError, Rate, Telemetry, snapshot,
};

crate::params! {
    /// Parameters of [`TwoStep`].
    pub struct TwoStepParams {
        /// The learning rate of Corral over T/2 pairs of rounds.
        rate: Rate = Rate::Balanced;
    }
}

/// Corral over pairs of rounds.
pub struct TwoStep {
    inner: Corral,
    roster: Roster,
    losses: LossDomain,
    /// The largest weight that losses carry from outside.
    outer: f64,
    /// Whose second step is due.
    second: Option<usize>,
    /// All on that base.
    point: Vec<f64>,
}

const VERSION: u16 = 1;
/// Rounding of a weight.
const SLACK: f64 = 1.0 + 1e-9;

/// T/2, rounded up.
fn pairs(rounds: u64) -> u64 {
    rounds.div_ceil(2)
}

impl Listed for TwoStep {
    type Params = TwoStepParams;

    const NAME: &'static str = "two-step";

    fn build(params: TwoStepParams, setup: &MasterSetup) -> Result<Box<dyn Master>, ParamError> {
        Ok(Box::new(Self::new(params, setup)?))
    }
}

impl TwoStep {
    /// A master over the bases of `setup`.
    ///
    /// # Errors
    /// A parameter that Corral is not defined for.
    pub fn new(params: TwoStepParams, setup: &MasterSetup) -> Result<Self, ParamError> {
        setup.check()?;
        let rounds = pairs(setup.known_horizon("known")?);
        let params =
            CorralParams { rate: params.rate, ..CorralParams::new(setup.bases, Horizon::Known(rounds)) };
        let inner = setup.experienced_corral(params, Some(rounds))?;
        let (roster, point) = (Roster::new(setup.bases), vec![0.0; setup.bases]);
        Ok(Self { inner, roster, losses: setup.losses, outer: setup.range, second: None, point })
    }

    /// Whose second step is due.
    pub fn second(&self) -> Option<usize> {
        self.second
    }

    fn turn(&mut self, second: Option<usize>) {
        if let Some(base) = self.second {
            self.point[base] = 0.0;
        }
        if let Some(base) = second {
            self.point[base] = 1.0;
        }
        self.second = second;
    }
}

/// The base and weight of credit that is for one base; `None` where it is for several or none.
fn alone(credit: Credit<'_>) -> Option<(usize, f64)> {
    match credit {
        Credit::Chosen { base, weight } => Some((base, weight)).filter(|(_, weight)| *weight > 0.0),
        Credit::Shared(weights) => {
            let mut positive = weights.iter().enumerate().filter(|(_, w)| **w > 0.0);
            positive.next().filter(|_| positive.next().is_none()).map(|(base, weight)| (base, *weight))
        }
    }
}

impl Master for TwoStep {
    fn probabilities(&self) -> &[f64] {
        if self.second.is_some() { &self.point } else { self.inner.probabilities() }
    }

    fn update(&mut self, loss: f64, credit: Credit<'_>) -> Result<&[(usize, Order)], MasterError> {
        self.roster.check(loss, credit, self.losses)?;
        match (self.second, alone(credit)) {
            (None, Some((base, _))) => {
                if self.roster.has(base) {
                    self.turn(Some(base));
                }
                Ok(&[])
            }
            (Some(due), Some((base, weight))) if base == due && weight <= self.outer * SLACK => {
                // The base was drawn with pbar_s, which is the same in both rounds of the pair.
                let weight = weight / self.inner.probability(base);
                let credit = Credit::Chosen { base, weight };
                self.point[due] = 0.0;
                self.second = None;
                let learned = self.inner.update(loss, credit);
                if learned.is_err() {
                    self.point[due] = 1.0;
                    self.second = Some(due);
                }
                learned
            }
            (None, None) => match self.inner.update(loss, credit) {
                // Late, and of a second step: those that could not be drawn then have weights beyond their ranges.
                Err(MasterError::Weight { .. }) => Ok(&[]),
                learned => learned,
            },
            (Some(_), _) => Ok(&[]),
        }
    }

    fn retire(&mut self, base: usize) -> Result<(), MasterError> {
        self.inner.retire(base)?;
        self.roster.retire(base)?;
        if self.second == Some(base) {
            self.turn(None);
        }
        Ok(())
    }

    fn limits(&self, base: usize) -> Limits {
        let Limits { range, remaining } = self.inner.limits(base);
        Limits { range, remaining: remaining.map(|pairs| pairs.saturating_mul(2)) }
    }

    fn telemetry(&self) -> Telemetry<'_> {
        Telemetry { name: "two-step over corral", ..self.inner.telemetry() }
    }

    fn save(&self) -> Vec<u8> {
        snapshot::seal(Self::NAME, VERSION, &(self.second, self.outer, &self.roster, self.inner.save()))
    }

    fn load(&mut self, state: &[u8]) -> Result<(), MasterError> {
        let (second, outer, roster, inner): (Option<usize>, f64, Roster, Vec<u8>) =
            snapshot::open(Self::NAME, VERSION, state)?;
        roster.validate(self.roster.bases())?;
        let plays = second.is_none_or(|base| base < roster.bases() && roster.has(base));
        ensure(plays, format_args!("the second step of base {second:?} is due"))?;
        ensure((1.0..f64::INFINITY).contains(&outer), format_args!("weights up to {outer} from outside"))?;
        self.inner.load(&inner)?;
        (self.roster, self.outer) = (roster, outer);
        self.turn(second);
        Ok(())
    }

    fn extra(&mut self) -> Option<&mut dyn MasterExtra> {
        Some(self)
    }
}

impl MasterExtra for TwoStep {
    fn start_over(&mut self, range: f64, remaining: Option<u64>) -> Result<(), MasterError> {
        self.inner.start_over(range, remaining.map(pairs))?;
        self.roster = Roster::new(self.roster.bases());
        self.outer = range;
        self.turn(None);
        Ok(())
    }
}
