//! Regret bound balancing by the rules of the program behind the published figures (`rules = "published-code"`): its grid (scale 1),
//! where every base stands k times in the band (`copies` of a spec) and its copies are given the bounds d = 1, 2, 4, ..., 2^(k-1):
//!
//! ```text
//! play argmin_i phi_i, at first d_i;  then for the played base, with s_i = c sqrt(n_i ln((n_i + 1)/delta)),
//! phi_i = d_i sqrt(n_i ln(n_i/delta)), but for ever infinite once
//! (u_i + s_i)/sqrt(n_i) + d_i sqrt(n_i ln(n_i/delta)) < max_j (u_j - s_j)/sqrt(max(n_j, 1))
//! ```

use super::*;

/// d = 2^0, ..., 2^(k-1) for the k copies of each base, which stand side by side.
fn grid(params: &RbbeParams, setup: &MasterSetup) -> Result<Vec<RegretBound>, ParamError> {
    let copies = match (params.copies, setup.horizon) {
        (Some(copies), _) => copies,
        (None, Some(rounds)) => copies_of_grid(rounds),
        (None, None) => return Err(ParamError::new("horizon", "not known", "known, or copies given")),
    };
    let bound = |i: usize| RegretBound::new(f64::from(i as u32 % copies).exp2(), 0.5);
    Ok((0..setup.bases).map(bound).collect())
}

/// The number of copies of each base in the published grid: ln T, rounded down, and at least 1.
pub fn copies_of_grid(rounds: u64) -> u32 {
    ((rounds.max(1) as f64).ln() as u32).max(1)
}

impl RbbeRule {
    pub(super) fn as_published(params: &RbbeParams, setup: &MasterSetup) -> Result<Self, ParamError> {
        let bases = setup.bases;
        let bounds = match &params.bounds {
            Some(given) => setup.bounds_or(Some(given))?,
            None => grid(params, setup)?,
        };
        Ok(Self {
            earned: Earned::new(bases),
            potential: bounds.iter().map(|b| b.scale).collect(),
            bounds,
            scale: params.scale,
            delta: params.delta,
            rules: params.rules,
            active: vec![true; bases],
            upper: vec![f64::INFINITY; bases],
            lower: vec![0.0; bases],
        })
    }

    pub(super) fn learn_as_published(&mut self, round: Credited<'_>) {
        let Self { earned, bounds, scale, delta, active, potential, upper, lower, .. } = self;
        earned.count(round, |earned, i| {
            let (plays, reward) = (earned.plays[i], earned.rewards[i]);
            let width = *scale * (plays * ((plays + 1.0) / *delta).ln()).sqrt();
            lower[i] = (reward - width) / plays.max(1.0).sqrt();
            // A fraction of a play, which other credit rules count, may be below delta.
            potential[i] = bounds[i].scale * (plays * (plays / *delta).ln().max(0.0)).sqrt();
            upper[i] = (reward + width) / plays.sqrt() + potential[i];
            let best = lower.iter().copied().fold(f64::NEG_INFINITY, f64::max);
            active[i] = !(upper[i] < best);
        });
    }
}
