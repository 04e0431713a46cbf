//! SL-UCB: find the relevant coordinates with random signs, then be optimistic on them.
//!
//! Carpentier, Munos 2012, for the unit ball; from memory (docs/bases.md#sl-ucb). Regret
//! O~(s sqrt T). Noise here is added to the loss and does not shrink with the point, so that an estimate from n random
//! signs errs by noise sqrt(d/n): the threshold has the noise times sqrt(d). Lazy; alpha = 1/2, with the exploration grown by
//! sqrt(range) and started over when the range grows.

use super::prelude::*;

base! {
    /// Random signs until the relevant coordinates are found, then optimism on them.
    "sl-ucb": pub type SlUcb = PointBase<SlUcbParams>;
    params {} with restricted
}

/// What [`SlUcb`] has learned.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct SlUcbState {
    ridge: Ridge,
    /// sum x_i c over the exploration.
    signs: Vec<f64>,
    explored: u64,
    /// The relevant coordinates; empty while they are searched.
    pub(super) support: Vec<usize>,
}

impl SlUcb {
    /// After an update of the exploration: is it over, and what was found?
    fn search(&mut self) {
        let (state, clock) = (&mut self.state, &self.clock);
        let (d, n, horizon) = (state.signs.len() as f64, state.explored as f64, horizon_or_doubling(clock));
        let delta = confidence(self.rule.delta, clock, state.explored);
        // b = (S + sigma sqrt d) sqrt(2 ln(2 d/delta)); A = {i : |hat_i| >= 2 b/sqrt n}
        let b = self.rule.scale
            * (self.rule.norm + self.rule.noise * d.sqrt())
            * (2.0 * (2.0 * d / delta).ln()).sqrt();
        let hat: Vec<f64> = state.signs.iter().map(|s| d * s / n).collect();
        let found: Vec<usize> = (0..hat.len()).filter(|i| hat[*i].abs() >= 2.0 * b / n.sqrt()).collect();
        let size = found.iter().map(|i| hat[*i] * hat[*i]).sum::<f64>().sqrt();
        // Stop at n >= sqrt(T)/max(|hat_A| - b/sqrt n, 1e-3), at the latest at T^{2/3}; rounds, times sqrt(range).
        let stretch = clock.range.sqrt();
        let enough = stretch * horizon.sqrt() / (size - b / n.sqrt()).max(1e-3);
        let latest = (stretch * horizon.powf(2.0 / 3.0)).min(horizon);
        let rounds = clock.rounds as f64 + 1.0;
        if rounds >= enough.min(latest) {
            // Nothing found: every coordinate may count.
            state.support = if found.is_empty() { (0..hat.len()).collect() } else { found };
        }
    }
}

impl PointRule for SlUcbParams {
    type State = SlUcbState;
    /// The optimistic point, once the coordinates are found.
    type Work = Vec<f64>;

    fn work(&self, set: &Set) -> Result<Vec<f64>> {
        restricted::unit_ball(set, Self::NAME)
    }

    fn fresh(&self, set: &Set, _: &Vec<f64>) -> SlUcbState {
        let (dim, support) = (set.dim(), Vec::new());
        SlUcbState { ridge: Ridge::new(1.0, 0.0, 1, dim), signs: vec![0.0; dim], explored: 0, support }
    }

    fn tune(base: &mut SlUcb) -> Result {
        if base.state.support.is_empty() {
            return Ok(());
        }
        let SlUcbParams { noise, norm, scale, .. } = base.rule;
        let delta = confidence(base.rule.delta, &base.clock, base.state.ridge.updates(0));
        let width = Width { noise, norm, delta, scale };
        restricted::choose(&base.state.ridge, &base.state.support, width, &mut base.work)
    }

    fn propose(base: &mut SlUcb, rng: &mut dyn Rng, out: &mut [f64], _: &mut Memo) -> Result {
        if let Some(sure) = Self::sure(base) {
            out.copy_from_slice(sure);
            return Ok(());
        }
        let size = 1.0 / (out.len() as f64).sqrt();
        let mut bits = 0;
        for (i, v) in out.iter_mut().enumerate() {
            if i % 64 == 0 {
                bits = rng.next_u64();
            }
            *v = if bits >> (i % 64) & 1 == 1 { size } else { -size };
        }
        Ok(())
    }

    fn sure(base: &SlUcb) -> Option<&[f64]> {
        (!base.state.support.is_empty()).then_some(&base.work)
    }

    fn learn(base: &mut SlUcb, x: &[f64], loss: f64) -> Result {
        let y = loss - base.rule.offset;
        base.state.ridge.update(0, x, y, 1.0)?;
        if base.state.support.is_empty() {
            base.state.explored += 1;
            base.state.signs.iter_mut().zip(x).for_each(|(s, x)| *s += x * y);
            base.search();
        }
        Ok(())
    }

    fn restore(base: &SlUcb, state: &mut SlUcbState, _: &Clock) -> Result {
        let dim = base.set.dim();
        state.ridge.restore(&base.state.ridge)?;
        check_numbers("sums", &state.signs, dim)?;
        Ok(restricted::check_support(&state.support, dim)?)
    }
}
