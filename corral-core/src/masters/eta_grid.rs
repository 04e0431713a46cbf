//! A grid of learning rates over the same bases and the same loss estimates: one Corral per rate, and a hedge over
//! them.
//!
//! ```text
//! w^g     log-barrier descent with eta_g = c_g/sqrt(T) on the common estimate l_i = f w_i      (Algorithm 2, per g)
//! q_g     ~ exp(-xi sum_t <p^g_t, l_t>),   xi = x sqrt(ln G/(T min(M, G)))
//! p       = sum_g q_g p^g,   pbar = (1 - 1/T) p + 1/(T M)
//! ```
//!
//! Choosing among G rates needs no extra plays, because every copy is judged by the same estimate. Rates do not grow
//! where probabilities fall (beta = 1).
//!
//! Feed: raw or weighted. **Heuristic: there is no theorem.** The negative term of Corral's analysis is about p^g, while
//! the bases live under p. In simulations it came near the best fixed rate on stationary problems; it inherits the
//! starvation of slow starters, because the hedge is as short-sighted as its best member.

use serde::{Deserialize, Serialize};

use super::entropy::ExponentialWeights;
use super::rule::{Rule, Ruled, all};
use super::{MasterSetup, Roster};
use crate::omd::{LogBarrier, Losses, OmdError};
use crate::params::Bounds;
use crate::registry::{Entry, Kind, Status};
use crate::{Credit, MasterError, ParamError, SnapshotError};

crate::params! {
    /// Parameters of [`EtaGrid`].
    pub struct EtaGridParams {
        /// The rates c_g, in units of 1/sqrt(T).
        rates: Vec<f64> = vec![0.1, 0.5, 2.0, 10.0, 50.0], Bounds::POSITIVE;
        /// The factor x of the hedge's rate.
        hedge: f64 = 1.0, Bounds::POSITIVE;
    }
}

/// A grid of learning rates.
pub type EtaGrid = Ruled<EtaGridRule>;

/// The rule of [`EtaGrid`].
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct EtaGridRule {
    bases: usize,
    mixing: f64,
    /// eta_g
    rates: Vec<f64>,
    /// 1/p^g_i and p^g_i, one copy after the other, and what else a barrier continues from.
    inverse: Vec<f64>,
    plain: Vec<f64>,
    sums: Vec<(f64, f64, f64)>,
    hedge: ExponentialWeights,
    /// Everyone, of the copies.
    copies: Roster,
    /// q_g
    shares: Vec<f64>,
    /// What makes the steps; the state is what they left behind.
    #[serde(skip)]
    barriers: Vec<LogBarrier>,
    #[serde(skip)]
    estimates: Vec<f64>,
}

impl EtaGridRule {
    /// The weight q_g of each rate.
    pub fn shares(&self) -> &[f64] {
        &self.shares
    }

    /// Writes down what the barriers left behind.
    fn record(&mut self) {
        let rows =
            self.inverse.chunks_mut(self.bases).zip(self.plain.chunks_mut(self.bases)).zip(&mut self.sums);
        for (barrier, ((w, p), sums)) in self.barriers.iter().zip(rows) {
            w.copy_from_slice(barrier.inverse());
            p.copy_from_slice(barrier.distribution());
            *sums = barrier.sums();
        }
    }

    /// Puts the barriers back where the state was written down.
    #[cold]
    fn restore(&mut self) {
        let rows = self.inverse.chunks(self.bases).zip(self.plain.chunks(self.bases)).zip(&self.sums);
        for ((barrier, rate), ((w, p), sums)) in self.barriers.iter_mut().zip(&self.rates).zip(rows) {
            barrier.reset(|i| w[i], *rate);
            barrier.resume(p, *sums);
        }
    }
}

impl Rule for EtaGridRule {
    type Params = EtaGridParams;

    const ENTRY: Entry = Entry {
        name: "eta-grid",
        summary: "log-barrier descents with several learning rates on the same estimates, and a hedge over them",
        source: "a heuristic of this project, after Agarwal, Luo, Neyshabur, Schapire 2017",
        regret: "no theorem",
        alpha: None,
        fits: "feed raw or weighted; known horizon; bases that learn fast",
        cost: "O(G M)",
        kind: Kind::Any,
        status: Status::Experimental,
    };

    fn new(params: &EtaGridParams, setup: &MasterSetup) -> Result<Self, ParamError> {
        let Some(horizon) = setup.horizon else {
            return Err(ParamError::new("horizon", "not known", "known"));
        };
        let (bases, copies, rounds) = (setup.bases, params.rates.len(), horizon as f64);
        if copies == 0 {
            return Err(ParamError::new("rates", "[]", "at least one rate"));
        }
        // Losses whose own weights reach rho have second moments up to rho.
        let unit = 1.0 / (rounds * setup.range).sqrt();
        let mut rates = Vec::with_capacity(copies);
        for &c in &params.rates {
            rates.push(c * unit);
        }
        // xi = x sqrt(ln G/(T min(M, G)))
        let spread = bases.min(copies) as f64;
        let xi = params.hedge * ((copies as f64).ln() / spread).sqrt() * unit;
        let mut rule = Self {
            bases,
            mixing: 1.0 / rounds,
            rates,
            inverse: vec![bases as f64; copies * bases],
            plain: vec![0.0; copies * bases],
            sums: vec![(0.0, 0.0, 0.0); copies],
            hedge: ExponentialWeights::new(copies, xi),
            copies: Roster::new(copies),
            shares: vec![1.0 / copies as f64; copies],
            barriers: Vec::new(),
            estimates: vec![0.0; bases],
        };
        for (rate, w) in rule.rates.iter().zip(rule.inverse.chunks(bases)) {
            let barrier = LogBarrier::new(w, &vec![*rate; bases]);
            rule.barriers
                .push(barrier.map_err(|_| ParamError::new("rates", rate, "such that a step can be made"))?);
        }
        rule.record();
        Ok(rule)
    }

    fn takes_real_losses(_: &EtaGridParams) -> bool {
        true
    }

    fn learn(
        &mut self,
        loss: f64,
        credit: Credit<'_>,
        roster: &Roster,
        _: &[f64],
    ) -> Result<(), MasterError> {
        if loss == 0.0 {
            return Ok(());
        }
        self.estimates.fill(0.0);
        let mut chosen = None;
        roster.credited(credit, |i, weight| {
            self.estimates[i] = loss * weight;
            chosen = Some(i);
        });
        let Some(last) = chosen else { return Ok(()) };
        let losses = match credit {
            Credit::Chosen { .. } => Losses::OneHot { index: last, loss: self.estimates[last] },
            Credit::Shared(_) => Losses::Dense(&self.estimates),
        };
        for i in 0..self.barriers.len() {
            if let Err(e) = self.barriers[i].step(losses) {
                self.restore();
                return Err(match e {
                    OmdError::Residual { residual, iterations } => MasterError::Step { residual, iterations },
                    _ => MasterError::Step { residual: f64::NAN, iterations: 0 },
                });
            }
        }
        for (g, p) in self.plain.chunks(self.bases).enumerate() {
            // sum_t <p^g_t, l_t>
            let cost = match losses {
                Losses::OneHot { index, loss } => loss * p[index],
                Losses::Dense(l) => l.iter().zip(p).map(|(l, p)| l * p).sum(),
            };
            self.hedge.add(g, cost);
        }
        self.record();
        Ok(())
    }

    fn retired(&mut self, base: usize, _: &Roster) {
        self.barriers.iter_mut().for_each(|barrier| barrier.retire(base));
        self.record();
    }

    fn distribute(&mut self, roster: &Roster, out: &mut [f64]) {
        self.hedge.distribute(&self.copies, 0.0, &mut self.shares);
        out.fill(0.0);
        // p = sum_g q_g p^g
        for (copy, share) in self.plain.chunks(self.bases).zip(&self.shares) {
            for (p, own) in out.iter_mut().zip(copy) {
                *p += share * own;
            }
        }
        // pbar = (1 - gamma) p + gamma/M
        let floor = self.mixing / roster.left() as f64;
        for (i, p) in out.iter_mut().enumerate() {
            *p = if roster.has(i) { (1.0 - self.mixing) * *p + floor } else { 0.0 };
        }
    }

    fn make_room(&mut self) {
        self.estimates.resize(self.bases, 0.0);
        let rows = self.rates.iter().zip(self.inverse.chunks(self.bases));
        self.barriers =
            rows.filter_map(|(rate, w)| LogBarrier::new(w, &vec![*rate; self.bases]).ok()).collect();
        self.restore();
    }

    fn admits(&self, state: &Self) -> Result<(), SnapshotError> {
        let (copies, cells) = (self.shares.len(), self.inverse.len());
        let finite = |s: &(f64, f64, f64)| [s.0, s.1, s.2].iter().all(|x| (0.0..f64::INFINITY).contains(x));
        if state.sums.len() != copies || !state.sums.iter().all(finite) {
            return Err(SnapshotError::state("the sums of its rates are not numbers"));
        }
        all("probabilities", &state.plain, cells, |p| (0.0..=1.0 + 1e-9).contains(&p))?;
        state.hedge.validate(copies)?;
        all("inverse probabilities", &state.inverse, cells, |w| w >= 1.0 - 1e-9)?;
        all("shares", &state.shares, copies, |q| (0.0..=1.0 + 1e-9).contains(&q))?;
        let constants = |r: &Self| (r.bases, r.mixing, r.rates.clone(), r.copies.clone());
        if constants(state) != constants(self) {
            return Err(SnapshotError::state("its constants do not follow from its parameters"));
        }
        for (g, w) in state.inverse.chunks(self.bases).enumerate() {
            let sum: f64 = w.iter().map(|w| 1.0 / w).sum();
            if !((sum - 1.0).abs() <= 1e-9) {
                return Err(SnapshotError::state(format!("the distribution of rate {g} sums to {sum}")));
            }
        }
        Ok(())
    }
}
