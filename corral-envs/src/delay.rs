//! Feedback that comes late, in another order, or never: outside the environment, for the runner to use.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use corral_core::params::{Bounds, Params};
use corral_core::registry::{Entry, Registry, RegistryRow};
use corral_core::{Rng, params};

use crate::world::{Make, named};
use crate::{BuildError, Draw};

/// When the feedback of a round arrives.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Arrival {
    /// The round at whose end it arrives: that of the decision when there is no delay.
    pub round: u64,
    /// Among those of one round, smaller ones first.
    pub rank: u64,
}

/// How late feedback is. Each round draws one number, so that the delays of a seed do not depend on the learner.
#[derive(Debug, Clone, PartialEq)]
pub struct Delay {
    kind: Kind,
    // The probability that feedback never comes.
    lost: f64,
}

#[derive(Debug, Clone, PartialEq)]
enum Kind {
    Fixed(u64),
    // q of P(d = k) = (1 - q) q^k.
    Geometric(f64),
    HeavyTailed { scale: f64, exponent: f64 },
    Reordered(u64),
}

impl Delay {
    /// When the feedback of round `round` arrives; `None`: never. Draws one number.
    pub fn arrival(&self, round: u64, rng: &mut dyn Rng) -> Option<Arrival> {
        let draw = Draw::new(rng);
        if draw.uniform(0) < self.lost {
            return None;
        }
        let late = |rounds: f64| {
            // `as` saturates: a delay beyond every horizon stays beyond it.
            Arrival { round: round.saturating_add(rounds as u64), rank: round }
        };
        // 1 - u is in (0, 1].
        let tail = 1.0 - draw.uniform(1);
        Some(match self.kind {
            Kind::Fixed(rounds) => Arrival { round: round.saturating_add(rounds), rank: round },
            // P(d >= k) = q^k.
            Kind::Geometric(0.0) => late(0.0),
            Kind::Geometric(q) => late(libm::floor(libm::log(tail) / libm::log(q))),
            Kind::HeavyTailed { scale, exponent } => {
                late(libm::floor(scale * (libm::pow(tail, -1.0 / exponent) - 1.0)))
            }
            Kind::Reordered(block) => {
                let end = (round / block).saturating_mul(block).saturating_add(block - 1);
                Arrival { round: end, rank: draw.bits(2) }
            }
        })
    }
}

/// Feedback on its way, delivered in order of arrival; of equal arrivals the one that was sent first.
#[derive(Debug, Clone)]
pub struct Mailbox<T> {
    letters: BTreeMap<(Arrival, u64), T>,
    sent: u64,
}

impl<T> Default for Mailbox<T> {
    fn default() -> Self {
        Self { letters: BTreeMap::new(), sent: 0 }
    }
}

impl<T> Mailbox<T> {
    /// Nothing is on its way.
    pub fn new() -> Self {
        Self::default()
    }

    /// Sends `content`, to arrive at `arrival`.
    pub fn send(&mut self, arrival: Arrival, content: T) {
        self.letters.insert((arrival, self.sent), content);
        self.sent += 1;
    }

    /// The next one that has arrived by the end of `round`.
    pub fn receive(&mut self, round: u64) -> Option<T> {
        let first = self.letters.first_entry()?;
        (first.key().0.round <= round).then(|| first.remove())
    }

    /// How many are on their way.
    pub fn len(&self) -> usize {
        self.letters.len()
    }

    /// Whether none is on its way.
    pub fn is_empty(&self) -> bool {
        self.letters.is_empty()
    }
}

/// What delays can be built.
pub static DELAYS: LazyLock<Registry<Make<Delay>>> = LazyLock::new(|| {
    Registry::new(
        "delay",
        vec![
            row::<FixedParams>("fixed", "feedback comes a fixed number of rounds late"),
            row::<GeometricParams>("geometric", "late by a geometric number of rounds"),
            row::<HeavyTailedParams>(
                "heavy-tailed",
                "late by d rounds with P(d > x) = (1 + x/scale)^(-exponent)",
            ),
            row::<ReorderedParams>(
                "reordered",
                "the feedback of a block of rounds comes at its end, in random order",
            ),
            row::<LostParams>("lost", "feedback comes at once or never"),
        ],
    )
});

fn row<P: Late>(name: &'static str, summary: &'static str) -> RegistryRow<Make<Delay>> {
    let fits = "any environment; the paper's theorem does not cover delays";
    RegistryRow::of::<P>(Entry { name, summary, fits, cost: "O(1)", ..Entry::EMPTY }, make::<P>)
}

fn make<P: Late>(name: &'static str, params: toml::Table) -> Result<Delay, BuildError> {
    let (kind, lost) = DELAYS.read::<P, _>(name, params)?.law();
    Ok(Delay { kind, lost })
}

/// Parameters of a delay.
trait Late: Params {
    /// How late feedback is, and the probability that it never comes.
    fn law(self) -> (Kind, f64);
}

params! {
    /// Parameters of a delay that is always the same.
    pub struct FixedParams {
        /// How many rounds late.
        rounds: u64;
        /// Probability that feedback never comes.
        lost: f64 = 0.0, Bounds::UNIT;
    }
}

impl Late for FixedParams {
    fn law(self) -> (Kind, f64) {
        (Kind::Fixed(self.rounds), self.lost)
    }
}

params! {
    /// Parameters of a geometric delay, from 0 rounds on.
    pub struct GeometricParams {
        /// Mean number of rounds.
        mean: f64, Bounds::NON_NEGATIVE;
        /// Probability that feedback never comes.
        lost: f64 = 0.0, Bounds::UNIT;
    }
}

impl Late for GeometricParams {
    fn law(self) -> (Kind, f64) {
        (Kind::Geometric(self.mean / (1.0 + self.mean)), self.lost)
    }
}

params! {
    /// Parameters of a delay of floor(d) rounds, with P(d > x) = (1 + x/scale)^(-exponent).
    pub struct HeavyTailedParams {
        /// Scale in rounds.
        scale: f64 = 10.0, Bounds::POSITIVE;
        /// Exponent of the tail; up to 1 the mean is infinite.
        exponent: f64 = 1.5, Bounds::POSITIVE;
        /// Probability that feedback never comes.
        lost: f64 = 0.0, Bounds::UNIT;
    }
}

impl Late for HeavyTailedParams {
    fn law(self) -> (Kind, f64) {
        (Kind::HeavyTailed { scale: self.scale, exponent: self.exponent }, self.lost)
    }
}

params! {
    /// Parameters of blocks of rounds whose feedback comes at the end of the last of them, in random order.
    pub struct ReorderedParams {
        /// Rounds of a block.
        block: u64 = 10, Bounds::at_least(1.0);
        /// Probability that feedback never comes.
        lost: f64 = 0.0, Bounds::UNIT;
    }
}

impl Late for ReorderedParams {
    fn law(self) -> (Kind, f64) {
        (Kind::Reordered(self.block), self.lost)
    }
}

params! {
    /// Parameters of no delay, or an endless one.
    pub struct LostParams {
        /// Probability that feedback never comes.
        probability: f64, Bounds::UNIT;
    }
}

impl Late for LostParams {
    fn law(self) -> (Kind, f64) {
        (Kind::Fixed(0), self.probability)
    }
}

/// Builds a delay from the `delay` table of a spec: `{ name = "geometric", mean = 50 }`.
///
/// # Errors
/// An unknown name or key, or a value that cannot be used.
pub fn delay(params: &toml::Table) -> Result<Delay, BuildError> {
    let (row, own) = named(&DELAYS, "name", params)?;
    (row.build)(row.entry.name, own)
}
