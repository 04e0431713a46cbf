//! D3RB and ED2RB by the rules of the authors' program (`rules = "published-code"`), which differ from the formulas, so that the
//! published tables can be reproduced: with s_i = sqrt(n_i ln((n_i + 1)/delta)),
//!
//! ```text
//! gap_i = max_j (u_j - c s_j)/sqrt(max(n_j, 1)) - (u_i + c s_i)/sqrt(n_i)
//! D3RB:   if n_i gap_i > d_i sqrt(n_i): d_i = min(2 d_i, 10000);   phi_i = d_i sqrt(n_i)
//! ED2RB:  phi_i = max(min(n_i gap_i, 2 phi_i), phi_i, d_min sqrt(n_i))
//! ```
//!
//! Before a play the lower bound is 0. With `draw = "stochastic"` ("Stoch" in the published tables) ED2RB has
//! d_i = phi_i/sqrt(n_i), at least d_min.

use super::*;

/// The program's largest rate.
const LARGEST_RATE: f64 = 1e4;

impl<const ESTIMATED: bool> Balance<ESTIMATED> {
    pub(super) fn learn_as_published(&mut self, round: Credited<'_>) {
        let Self { params, earned, rates, potential, lower } = self;
        let roster = round.roster;
        earned.count(round, |earned, i| {
            let (plays, reward) = (earned.plays[i], earned.rewards[i]);
            let width = params.scale * (plays * ((plays + 1.0) / params.delta).ln()).sqrt();
            lower[i] = (reward - width) / plays.max(1.0).sqrt();
            let gap = best(lower, roster) - (reward + width) / plays.sqrt();
            let (rate, potential) = (&mut rates[i], &mut potential[i]);
            let (root, before) = (plays.sqrt(), *potential);
            if ESTIMATED {
                *potential = (plays * gap).min(2.0 * before).max(before).max(params.least_rate * root);
                *rate = (*potential / root).max(params.least_rate);
            } else {
                if plays * gap > *rate * root {
                    *rate = (2.0 * *rate).min(LARGEST_RATE);
                }
                *potential = *rate * root;
            }
        });
    }
}
