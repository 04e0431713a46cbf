//! Sequences of contexts with features, i.i.d. or adversarial.

use super::LinearParams;
use crate::prelude::*;
use corral_core::memory::Budget;

/// 1/sqrt(2): rows are (1, v)/sqrt(2) with |v| <= 1, so that they have norm at most 1 and an intercept.
pub(super) const HALF: f64 = std::f64::consts::FRAC_1_SQRT_2;

params! {
    /// How the vectors v of the contexts come about.
    pub enum Contexts {
        /// i.i.d. normal with variance 1/d, cut to the unit ball.
        #[default]
        Gaussian,
        /// i.i.d. uniform in the cube [-1, 1]^d / sqrt(d).
        Cube,
        /// Adversarial: unit vectors whose first coordinate sweeps from -1 to 1 over the run.
        Sorted,
        /// Drifting: normal around a centre that goes once around a circle of radius 0.7 over the run.
        Drifting,
        /// Adversarial: the same few contexts in turn.
        Cyclic,
        /// Adversarial: one context for ever longer, then another: the k-th lasts 2^k rounds.
        Hide,
        /// Adversarial, answering the past: i.i.d. normal, less their part along the mean of the rows played so far, so
        /// that past rounds tell as little as possible.
        Evasive,
    }
}

impl Contexts {
    /// Whether contexts are i.i.d.
    pub fn iid(self) -> bool {
        matches!(self, Self::Gaussian | Self::Cube)
    }
}

params! {
    /// Where the features are.
    pub enum Features {
        /// One row per action; the number of actions may change from round to round.
        #[default]
        Rows,
        /// Shared by all actions.
        Shared,
    }
}

/// A sequence of contexts.
#[derive(Debug, Clone)]
pub struct Sequence {
    contexts: Contexts,
    features: Features,
    dim: usize,
    arms: usize,
    fewest: usize,
    horizon: u64,
    // Contexts that come again.
    pool: Vec<Context>,
    // The sum of the rows that were played, without intercept, for contexts that evade it.
    played: Vec<f64>,
}

impl Sequence {
    /// The contexts that `params` ask for, in a run of `horizon` rounds; those that come again are drawn from `stream`.
    ///
    /// # Errors
    /// There are more fewest than most actions, too large contexts come again, action sets change without rows, or shared
    /// contexts are to evade what was played.
    pub fn new(
        params: &LinearParams,
        horizon: u64,
        stream: &mut Stream,
        budget: &Budget,
    ) -> Result<Self, ParamError> {
        let LinearParams { contexts, features, dim, arms, pool, .. } = *params;
        let fewest = params.fewest.unwrap_or(arms);
        require((1..=arms).contains(&fewest), "fewest", fewest, "in 1..=arms")?;
        budget.claim("dim", dim, (dim as u128 + 1) * arms as u128 * (pool as u128 + 2))?;
        if features == Features::Shared {
            require(fewest == arms, "fewest", fewest, "the number of arms where features are shared")?;
            let evasive = contexts == Contexts::Evasive;
            require(!evasive, "contexts", "evasive", "another where features are shared")?;
        }
        let mut sequence =
            Self { contexts, features, dim, arms, fewest, horizon, pool: Vec::new(), played: vec![0.0; dim] };
        if matches!(contexts, Contexts::Cyclic | Contexts::Hide) {
            for _ in 0..pool {
                let mut context = sequence.empty();
                sequence.fresh(0, stream, &mut context);
                sequence.pool.push(context);
            }
        }
        Ok(sequence)
    }

    /// A context without features.
    pub fn empty(&self) -> Context {
        Context::plain(self.arms)
    }

    /// Numbers per row, the intercept included.
    pub fn width(&self) -> usize {
        self.dim + 1
    }

    /// Writes the context of round `round`.
    pub fn write(&self, round: u64, stream: &mut Stream, context: &mut Context) {
        let again = match self.contexts {
            Contexts::Cyclic => round % self.pool.len() as u64,
            // Round t lies in the block [2^k - 1, 2^(k+1) - 1).
            Contexts::Hide => u64::from((round + 1).ilog2()) % self.pool.len() as u64,
            _ => return self.fresh(round, stream, context),
        };
        context.copy_from(&self.pool[again as usize]);
    }

    fn fresh(&self, round: u64, stream: &mut Stream, context: &mut Context) {
        match self.features {
            Features::Shared => {
                let features = context.features_mut();
                features.clear();
                self.vector(round, stream, features);
            }
            Features::Rows => {
                let actions = self.fewest + stream.index(self.arms - self.fewest + 1);
                context.refill_rows(self.width(), |rows| {
                    (0..actions).for_each(|_| self.vector(round, stream, rows));
                });
            }
        }
    }

    /// Appends (1, v)/sqrt(2).
    fn vector(&self, round: u64, stream: &mut Stream, out: &mut Vec<f64>) {
        let start = out.len() + 1;
        out.push(HALF);
        let spread = 1.0 / libm::sqrt(self.dim as f64);
        match self.contexts {
            Contexts::Cube => out.extend((0..self.dim).map(|_| spread * (2.0 * stream.uniform() - 1.0))),
            _ => out.extend((0..self.dim).map(|_| spread * stream.normal())),
        }
        let v = &mut out[start..];
        if self.contexts == Contexts::Sorted {
            let first = (2.0 * round as f64 / self.horizon.max(1) as f64 - 1.0).clamp(-1.0, 1.0);
            v[0] = 0.0;
            let (rest, length) = (norm(v), libm::sqrt(1.0 - first * first));
            scale(v, if rest > 0.0 { length / rest } else { 0.0 });
            v[0] = first;
        }
        if self.contexts == Contexts::Drifting {
            let angle = std::f64::consts::TAU * round as f64 / self.horizon.max(1) as f64;
            scale(v, 0.7);
            v.iter_mut().zip([libm::cos(angle), libm::sin(angle)]).for_each(|(v, c)| *v += 0.7 * c);
        }
        if self.contexts == Contexts::Evasive {
            let square = dot(&self.played, &self.played);
            if square > 0.0 {
                let along = dot(v, &self.played) / square;
                v.iter_mut().zip(&self.played).for_each(|(v, g)| *v -= along * g);
            }
        }
        let length = norm(v);
        scale(v, if length > 1.0 { HALF / length } else { HALF });
    }

    /// Puts the row that was played into the history.
    pub fn played(&mut self, row: Option<&[f64]>) {
        if self.contexts == Contexts::Evasive
            && let Some(row) = row
        {
            self.played.iter_mut().zip(&row[1..]).for_each(|(sum, v)| *sum += v);
        }
    }
}

impl ContextSampler for Sequence {
    fn sample(&self, rng: &mut dyn Rng) -> Context {
        let mut context = self.empty();
        self.write(0, &mut Draw::new(rng).stream(0), &mut context);
        context
    }
}

/// A uniform unit vector of R^`dim`.
pub(super) fn unit_vector(dim: usize, stream: &mut Stream) -> Vec<f64> {
    let mut v: Vec<f64> = (0..dim).map(|_| stream.normal()).collect();
    let length = norm(&v);
    if length > 0.0 {
        scale(&mut v, 1.0 / length);
    } else {
        v[0] = 1.0;
    }
    v
}

fn norm(v: &[f64]) -> f64 {
    libm::sqrt(dot(v, v))
}

fn scale(v: &mut [f64], factor: f64) {
    v.iter_mut().for_each(|v| *v *= factor);
}
