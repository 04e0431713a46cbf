//! UCB by the rules of the program behind the published figures (`rules = "published-code"`): its ties, and its bases without a play
//! (scale 2; its greedy master is scale 0):
//!
//! ```text
//! a random base in the first two rounds; then a random one of those with the highest
//! min(1, u_i/n_i + c sqrt(ln((t+1)/delta)/(n_i + 1e-10))),  where u_i/n_i = 0 without a play
//! ```

use super::*;

impl UcbRule {
    /// Evenly over the bases with the highest index, cut at 1; over all of them in the first two rounds.
    pub(super) fn distribute_as_published(&self, roster: &Roster, out: &mut [f64]) {
        let log = ((self.round + 1) as f64 / self.delta).ln();
        let (mut highest, mut equals) = (f64::NEG_INFINITY, 0.0);
        for i in roster.iter() {
            // min(1, u_i/n_i + c sqrt(ln((t+1)/delta)/(n_i + 1e-10)))
            let index = if self.round <= 1 {
                1.0
            } else {
                (self.means[i] + self.scale * (log / (self.earned.plays[i] + 1e-10)).sqrt()).min(1.0)
            };
            out[i] = index;
            if index > highest {
                (highest, equals) = (index, 1.0);
            } else if index == highest {
                equals += 1.0;
            }
        }
        for (i, p) in out.iter_mut().enumerate() {
            *p = if roster.has(i) && *p == highest { 1.0 / equals } else { 0.0 };
        }
    }
}
