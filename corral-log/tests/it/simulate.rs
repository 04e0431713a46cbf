//! Loggers that learn, and the truth beside them.

use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64Dxsm;

use corral_core::TicketId;
use corral_log::{Header, Offered, Row};

/// Actions.
pub const K: usize = 4;

/// Mean rewards at round t of T.
pub type Means = fn(usize, usize) -> [f64; K];

pub fn still(_: usize, _: usize) -> [f64; K] {
    [0.3, 0.5, 0.45, 0.6]
}

/// The first half is not like the second.
pub fn moving(t: usize, rounds: usize) -> [f64; K] {
    if 2 * t < rounds { [0.2, 0.1, 0.3, 0.2] } else { [0.8, 0.9, 0.7, 0.6] }
}

/// An epsilon-greedy logger over two bases: `greedy` learns, `fixed` does not. Every row has whole distributions.
pub struct Logger {
    rng: Pcg64Dxsm,
    means: Means,
    rounds: usize,
    t: usize,
    sums: [(f64, f64); K],
    /// The mean reward of the learning base in each round so far, summed.
    pub greedy: f64,
    /// The same of every action.
    pub actions: [f64; K],
    pub row: Row,
}

impl Logger {
    pub fn new(seed: u64, means: Means, rounds: usize) -> Self {
        let rng = Pcg64Dxsm::seed_from_u64(seed);
        let row = Row::default();
        Self { rng, means, rounds, t: 0, sums: [(0.0, 0.0); K], greedy: 0.0, actions: [0.0; K], row }
    }

    pub fn header() -> Header {
        let bases = vec!["greedy".to_owned(), "fixed".to_owned()];
        Header { bases, ..Header::default() }
    }

    /// Plays a round; `self.row` is its row.
    pub fn play(&mut self) {
        let means = (self.means)(self.t, self.rounds);
        let estimate = |(sum, n): (f64, f64)| (sum + 0.5) / (n + 1.0);
        let best = (0..K).max_by(|a, b| estimate(self.sums[*a]).total_cmp(&estimate(self.sums[*b])));
        let greedy: [f64; K] = std::array::from_fn(|a| if Some(a) == best { 1.0 } else { 0.0 });
        let fixed = [0.1, 0.2, 0.3, 0.4];
        let follow = (1.0 / (self.t as f64 + 1.0).sqrt()).clamp(0.1, 0.5);
        let p: [f64; K] = std::array::from_fn(|a| (1.0 - follow) * greedy[a] + follow * fixed[a]);
        let mut u = self.rng.random::<f64>();
        let mut action = K - 1;
        for (a, p) in p.iter().enumerate() {
            if u < *p {
                action = a;
                break;
            }
            u -= p;
        }
        let reward = f64::from(u8::from(self.rng.random::<f64>() < means[action]));
        self.sums[action].0 += reward;
        self.sums[action].1 += 1.0;
        self.greedy += greedy.iter().zip(&means).map(|(p, m)| p * m).sum::<f64>();
        self.actions.iter_mut().zip(means).for_each(|(sum, m)| *sum += m);
        self.row = Row {
            id: Some(TicketId { band: 1, copy: 0, round: self.t as u64 }),
            action: action as u32,
            offered: Offered::First(K as u32),
            propensity: Some(p[action]),
            reward: Some(reward),
            pbar: vec![1.0 - follow, follow],
            q: vec![greedy[action], fixed[action]],
            full: greedy.iter().chain(&fixed).copied().collect(),
            logger: p.to_vec(),
            ..Row::default()
        };
        self.t += 1;
    }
}

/// A model that predicts the running mean of each action.
#[derive(Default)]
pub struct Means4([(f64, f64); K]);

impl corral_log::Model for Means4 {
    fn predict(&mut self, _: &Row, into: &mut Vec<f64>) {
        into.extend(self.0.iter().map(|(sum, n)| (sum + 0.5) / (n + 1.0)));
    }

    fn learn(&mut self, row: &Row) {
        let arm = &mut self.0[row.action as usize];
        arm.0 += row.reward.unwrap_or(0.0);
        arm.1 += 1.0;
    }
}
