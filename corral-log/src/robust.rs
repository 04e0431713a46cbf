//! Direct and doubly robust estimates.

use crate::fixed_time::Estimate;
use crate::{Motion, Row, Sequence};

/// A model of the reward. It is asked before it learns a row, so that each of its predictions is made from earlier rows: no
/// folds are needed, and the doubly robust estimate is a martingale around the value.
pub trait Model {
    /// The predicted reward of every offered action, appended to `into`.
    fn predict(&mut self, row: &Row, into: &mut Vec<f64>);

    /// Sees what came of the row.
    fn learn(&mut self, row: &Row);
}

/// How fast the weights of [`StableVar`] follow the logger.
const FOLLOW: f64 = 0.01;

/// Direct and doubly robust estimates of one policy.
#[derive(Debug, Clone)]
pub(crate) struct Robust {
    motion: Motion,
    rows: f64,
    decisions: f64,
    direct: f64,
    phi: f64,
    /// sum h, sum h^2, sum h phi.
    h: [f64; 3],
    /// A running mean of sum_a pi(a)^2/p(a) over the rows before.
    spread: f64,
    /// Of the terms around V and of those around 1 - V: sum h x, sum h^2 x, sum h^2 x^2.
    sides: [[f64; 3]; 2],
    pub sequence: Sequence,
    /// Rows of which the logger's whole distribution is not known.
    pub without_logger: u64,
}

impl Robust {
    pub fn new(motion: Motion) -> Self {
        Self {
            motion,
            rows: 0.0,
            decisions: 0.0,
            direct: 0.0,
            phi: 0.0,
            h: [0.0; 3],
            spread: 1.0,
            sides: [[0.0; 3]; 2],
            sequence: Sequence::above(motion, 1.0),
            without_logger: 0,
        }
    }

    /// Adds a row that stands for `c` decisions: the policy's distribution `pi` and the predictions `q` over the offered actions, its weight, its reward,
    /// and where its action stands among the offered. Says what the terms count for, that around V and that around 1 - V; `None`:
    /// the logger's whole distribution is not known.
    pub fn add(
        &mut self,
        row: &Row,
        c: f64,
        [pi, q]: [&[f64]; 2],
        [w, r]: [f64; 2],
        played: usize,
    ) -> Option<[f64; 3]> {
        let dot = |q: &dyn Fn(usize) -> f64| pi.iter().enumerate().map(|(a, p)| p * q(a)).sum::<f64>();
        let direct = dot(&|a| q[a]);
        let phi = w * (r - q[played]) + direct;
        self.rows += 1.0;
        self.decisions += c;
        self.direct += c * direct;
        self.phi += c * phi;
        // StableVar (Zhan, Hadad, Hirshberg, Athey 2021): h_t = c_t^(-1/2) makes the terms alike in variance. Here c_t is
        // what the rounds before had, as the policy of a logger is not in its log; it is known before round t, which
        // is all that is needed. Where the value moves, every round must count alike.
        let h = c * if self.motion == Motion::Still { self.spread.max(1e-12).powf(-0.5) } else { 1.0 };
        self.h.iter_mut().zip([h, h * h, h * phi]).for_each(|(sum, add)| *sum += add);
        let spread = match row.logger.len() == pi.len() {
            true => pi.iter().zip(&row.logger).map(|(pi, p)| if *pi > 0.0 { pi * pi / p } else { 0.0 }).sum(),
            false => w * w,
        };
        self.spread += FOLLOW.max(1.0 / (self.rows + 1.0)) * (spread - self.spread);
        if row.logger.len() != pi.len() {
            self.without_logger += 1;
            return None;
        }
        // With q(a) at most p(a)/pi(a) the term is at least -1.
        let capped = |q: f64, a: usize| if pi[a] > 0.0 { q.min(row.logger[a] / pi[a]) } else { q };
        let term = |r: f64, q: &dyn Fn(usize) -> f64| w * (r - q(played)) + dot(q);
        let first = term(r, &|a| capped(q[a], a));
        let second = term(1.0 - r, &|a| capped(1.0 - q[a], a));
        for (side, x) in self.sides.iter_mut().zip([first, second]) {
            side.iter_mut().zip([h * x, h * h * x, h * h * x * x]).for_each(|(sum, add)| *sum += add);
        }
        self.sequence.add(first, second);
        Some([h, first, second])
    }

    pub fn direct(&self) -> f64 {
        self.direct / self.decisions
    }

    /// The mean of the terms.
    pub fn doubly_robust(&self) -> f64 {
        self.phi / self.decisions
    }

    /// Their mean by the weights of StableVar, where the value stands still.
    pub fn weighted(&self) -> f64 {
        self.h[2] / self.h[0]
    }

    /// Estimates of V and of 1 - V from terms that are bounded from below.
    pub fn sides(&self) -> [Estimate; 2] {
        let [h, h2, _] = self.h;
        self.sides.map(|[hx, h2x, h2x2]| {
            let value = hx / h;
            let squares = (h2x2 - 2.0 * value * h2x + value * value * h2).max(0.0);
            Estimate { value, error: squares.sqrt() / h }
        })
    }
}
