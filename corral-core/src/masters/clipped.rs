//! Corral over the clipped simplex: `clipped = true` of `corral`, after Lee, Luo, Wei, Zhang 2020, "Bias no more:
//! high-probability data-dependent regret bounds for adversarial bandits and MDPs", NeurIPS.
//!
//! ```text
//! p_{t+1} = argmin over p_i >= 1/(T M) of <p, l_t> + D_t(p, p_t):   1/p_i = min(T M, 1/p_{t,i} + eta_i (l_i - lambda)),  sum p = 1
//! if 1/p_{t+1,i} > rho_i:  rho_i = 2/p_{t+1,i},  eta_i = beta eta_i,  beta = e^(1/ln T)
//! ```
//!
//! The step, the rates and the ranges are Corral's, but bases are drawn from p itself: there is no mixing, hence no bias
//! of the estimates, and the term -rho_i/(eta ln T) of the analysis pays for the deviation of the estimates too, so that the
//! regret bound holds with high probability. **Experimental**: after memory of the paper, whose bound is for its own
//! bandit algorithm; for bases it is not stated there.

use super::prelude::*;

crate::params! {
    /// Parameters of the clipped Corral.
    pub struct ClippedParams {
        /// The learning rate.
        rate: Rate = Rate::Balanced;
    }
}

/// Corral over the clipped simplex.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct ClippedRule {
    horizon: u64,
    round: u64,
    /// 1/(T M)
    floor: f64,
    /// p_t and eta_t
    barrier: LogBarrier,
    /// rho_i
    ranges: Vec<f64>,
    #[serde(skip)]
    widened: Vec<usize>,
    #[serde(skip)]
    estimates: Vec<f64>,
    #[serde(skip)]
    next: Vec<f64>,
}

/// Bisections after which the floor has all the digits that f64 has.
const HALVINGS: usize = 200;

impl ClippedRule {
    /// Lifts p to the floor: every 1/p moves by the same multiple of its rate until the sum is 1 again, which is the step over
    /// the clipped simplex, begun where the step without the floor ended.
    #[cold]
    fn lift(&mut self) {
        let Self { barrier, floor, next, .. } = self;
        let ceiling = 1.0 / *floor;
        let (w, rates) = (barrier.inverse(), barrier.rates());
        // No 1/p is beyond the ceiling when all have moved by this.
        let far = w.iter().zip(rates).filter(|(w, _)| w.is_finite());
        let (mut low, mut high) = (0.0, far.map(|(w, e)| (ceiling - w).max(0.0) / e).fold(0.0, f64::max));
        let p = |move_by: f64, i: usize| {
            if w[i].is_finite() { 1.0 / (w[i] + rates[i] * move_by).min(ceiling) } else { 0.0 }
        };
        let sum = |move_by: f64| (0..w.len()).map(|i| p(move_by, i)).sum::<f64>();
        for _ in 0..HALVINGS {
            let middle = low + 0.5 * (high - low);
            if middle == low || middle == high {
                break;
            }
            if sum(middle) > 1.0 { low = middle } else { high = middle }
        }
        for (i, next) in next.iter_mut().enumerate() {
            *next = p(high, i);
        }
        self.barrier.overwrite(&self.next);
    }
}

impl Rule for ClippedRule {
    type Params = ClippedParams;

    const NAME: &'static str = "corral-clipped";

    fn new(params: &ClippedParams, setup: &MasterSetup) -> Result<Self, ParamError> {
        let horizon = setup.known_horizon("known where p is clipped")?;
        let bases = setup.bases;
        let rate = params.rate.value(bases, horizon) / setup.range.sqrt();
        let barrier = LogBarrier::new(&vec![bases as f64; bases], &vec![rate; bases])
            .map_err(|_| ParamError::new("rate", rate, "such that a step can be made"))?;
        let mut rule = Self {
            horizon,
            round: 0,
            floor: 1.0 / (horizon as f64 * bases as f64),
            barrier,
            ranges: vec![2.0 * bases as f64; bases],
            widened: Vec::new(),
            estimates: Vec::new(),
            next: Vec::new(),
        };
        rule.resize_buffers();
        Ok(rule)
    }

    fn begin(&mut self, experience: &[Experience]) -> Result<(), ParamError> {
        let rates = self.barrier.rates().to_vec();
        let inverse = Experience::inverse(experience, rates.len(), rates[0])?;
        self.barrier = LogBarrier::new(&inverse, &rates)
            .map_err(|_| Experience::refuse("gives numbers that no step can be made with"))?;
        if inverse.iter().any(|w| *w > 1.0 / self.floor) {
            self.lift();
        }
        for (range, w) in self.ranges.iter_mut().zip(self.barrier.inverse()) {
            *range = 2.0 * w;
        }
        Ok(())
    }

    fn learn(&mut self, round: Credited<'_>) -> Result<(), MasterError> {
        let Credited { loss, credit, roster, .. } = round;
        self.estimates.fill(0.0);
        let mut last = None;
        round.each(|i, weight| {
            self.estimates[i] = loss * weight;
            last = Some(i);
        });
        let losses = match (credit, last) {
            (Credit::Chosen { .. }, Some(index)) => Losses::OneHot { index, loss: self.estimates[index] },
            _ => Losses::Dense(&self.estimates),
        };
        if last.is_some() {
            self.barrier.step(losses)?;
        }
        let ceiling = 1.0 / self.floor;
        if self.barrier.inverse().iter().any(|w| *w > ceiling * (1.0 + 1e-12) && w.is_finite()) {
            self.lift();
        }
        self.round += 1;
        self.widened.clear();
        for i in roster.iter() {
            let inverse = self.barrier.inverse()[i];
            if inverse > self.ranges[i] * (1.0 + 1e-12) {
                // rho_{t+1,i} = 2/p_{t+1,i}, eta_{t+1,i} = beta eta_{t,i}
                self.ranges[i] = 2.0 * inverse;
                let beta = if self.horizon > 1 { (1.0 / (self.horizon as f64).ln()).exp() } else { 1.0 };
                self.barrier.set_rate(i, beta * self.barrier.rates()[i]);
                self.widened.push(i);
            }
        }
        Ok(())
    }

    fn retired(&mut self, base: usize, _: &Roster) {
        self.widened.clear();
        self.barrier.retire(base);
    }

    fn distribute(&mut self, _: &Roster, out: &mut [f64]) {
        out.copy_from_slice(self.barrier.distribution());
    }

    fn range_of(&self, base: usize) -> Option<f64> {
        self.ranges.get(base).copied()
    }

    fn widened(&self) -> &[usize] {
        &self.widened
    }

    fn remaining(&self) -> Option<u64> {
        Some(self.horizon.saturating_sub(self.round))
    }

    fn rates(&self) -> &[f64] {
        self.barrier.rates()
    }

    fn resize_buffers(&mut self) {
        let bases = self.ranges.len();
        self.estimates.resize(bases, 0.0);
        self.next.resize(bases, 0.0);
        self.widened.reserve(bases);
    }

    fn constants(&self) -> impl Serialize {
        (self.horizon, self.floor)
    }

    fn admits(&self, state: &Self) -> Result<(), SnapshotError> {
        let bases = self.ranges.len();
        counted(state.round)?;
        all("ranges", &state.ranges, bases, |r| (2.0..f64::INFINITY).contains(&r))?;
        let least = self.barrier.rates().first().copied().unwrap_or(0.0);
        all("rates", state.barrier.rates(), bases, |r| r >= least)
    }
}
