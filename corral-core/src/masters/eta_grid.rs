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
//! where probabilities fall (beta = 1). A copy whose step has no root in f64 stays where it is in that round.
//!
//! Feed: raw or weighted. **Heuristic: there is no theorem.** The negative term of Corral's analysis is about p^g, while
//! the bases live under p. In simulations it came near the best fixed rate on stationary problems; it inherits the
//! starvation of slow starters, because the hedge is as short-sighted as its best member.

use super::prelude::*;

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
    /// p^g
    copies: Vec<LogBarrier>,
    hedge: ExponentialWeights,
    /// Everyone, of the copies.
    everyone: Roster,
    /// q_g
    shares: Vec<f64>,
    #[serde(skip)]
    estimates: Vec<f64>,
}

impl EtaGridRule {
    /// The weight q_g of each rate.
    pub fn shares(&self) -> &[f64] {
        &self.shares
    }
}

impl Rule for EtaGridRule {
    type Params = EtaGridParams;

    const NAME: &'static str = "eta-grid";

    fn new(params: &EtaGridParams, setup: &MasterSetup) -> Result<Self, ParamError> {
        let horizon = setup.known_horizon("known")?;
        let (bases, copies, rounds) = (setup.bases, params.rates.len(), horizon as f64);
        require(copies != 0, "rates", "[]", "at least one rate")?;
        setup.budget.claim(
            "rates",
            format_args!("of length {copies}"),
            8 * copies as u128 * bases as u128,
        )?;
        // Losses whose own weights reach rho have second moments up to rho.
        let unit = 1.0 / (rounds * setup.range).sqrt();
        let mut rates = Vec::with_capacity(copies);
        for &c in &params.rates {
            rates.push(c * unit);
        }
        // xi = x sqrt(ln G/(T min(M, G)))
        let spread = bases.min(copies) as f64;
        let xi = params.hedge * ((copies as f64).ln() / spread).sqrt() * unit;
        let start = vec![bases as f64; bases];
        let copy = |rate: &f64| {
            LogBarrier::new(&start, &vec![*rate; bases])
                .map_err(|_| ParamError::new("rates", rate, "such that a step can be made"))
        };
        Ok(Self {
            bases,
            mixing: 1.0 / rounds,
            copies: rates.iter().map(copy).collect::<Result<_, _>>()?,
            rates,
            hedge: ExponentialWeights::new(copies, xi),
            everyone: Roster::new(copies),
            shares: vec![1.0 / copies as f64; copies],
            estimates: vec![0.0; bases],
        })
    }

    fn begin(&mut self, experience: &[Experience]) -> Result<(), ParamError> {
        for (copy, rate) in self.copies.iter_mut().zip(&self.rates) {
            let inverse = Experience::inverse(experience, self.bases, *rate)?;
            *copy = LogBarrier::new(&inverse, &vec![*rate; self.bases])
                .map_err(|_| Experience::refuse("gives numbers that no step can be made with"))?;
        }
        Ok(())
    }

    fn learn(&mut self, round: Credited<'_>) -> Result<(), MasterError> {
        let Credited { loss, credit, .. } = round;
        if loss == 0.0 {
            return Ok(());
        }
        self.estimates.fill(0.0);
        let mut chosen = None;
        round.each(|i, weight| {
            self.estimates[i] = loss * weight;
            chosen = Some(i);
        });
        let Some(last) = chosen else { return Ok(()) };
        let losses = match credit {
            Credit::Chosen { .. } => Losses::OneHot { index: last, loss: self.estimates[last] },
            Credit::Shared(_) => Losses::Dense(&self.estimates),
        };
        for (g, copy) in self.copies.iter_mut().enumerate() {
            // sum_t <p^g_t, l_t>
            let cost = match losses {
                Losses::OneHot { index, loss } => loss * copy.distribution()[index],
                Losses::Dense(l) => l.iter().zip(copy.distribution()).map(|(l, p)| l * p).sum(),
            };
            self.hedge.add(g, cost);
            // On error it stays where it is.
            copy.step(losses).ok();
        }
        Ok(())
    }

    fn retired(&mut self, base: usize, _: &Roster) {
        self.copies.iter_mut().for_each(|copy| copy.retire(base));
    }

    fn distribute(&mut self, roster: &Roster, out: &mut [f64]) {
        self.hedge.distribute(&self.everyone, 0.0, &mut self.shares);
        out.fill(0.0);
        // p = sum_g q_g p^g
        for (copy, share) in self.copies.iter().zip(&self.shares) {
            for (p, own) in out.iter_mut().zip(copy.distribution()) {
                *p += share * own;
            }
        }
        // pbar = (1 - gamma) p + gamma/M
        roster.mix(self.mixing, out);
    }

    fn resize_buffers(&mut self) {
        self.estimates.resize(self.bases, 0.0);
    }

    fn constants(&self) -> impl Serialize {
        let rates: Vec<&[f64]> = self.copies.iter().map(LogBarrier::rates).collect();
        (self.bases, self.mixing, &self.rates, &self.everyone, rates)
    }

    fn admits(&self, state: &Self) -> Result<(), SnapshotError> {
        let copies = self.copies.len();
        state.hedge.validate(copies)?;
        all("shares", &state.shares, copies, |q| (0.0..=1.0 + 1e-9).contains(&q))
    }
}
