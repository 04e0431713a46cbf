//! Feedback that comes late, in another order, or never: outside the environment, for the runner to use.

use std::cmp::Ordering;
use std::collections::BinaryHeap;

use corral_core::catalog::{Entry, Field};
use corral_core::registry::Unknown;
use corral_core::{ParamError, Rng};
use serde::Deserialize;

use crate::registry::read;
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
    /// Always `rounds` rounds late.
    pub fn fixed(rounds: u64) -> Self {
        Self { kind: Kind::Fixed(rounds), lost: 0.0 }
    }

    /// Late by a geometric number of rounds, from 0, with this mean.
    ///
    /// # Errors
    /// The mean is negative or not finite.
    pub fn geometric(mean: f64) -> Result<Self, ParamError> {
        if !(0.0..f64::INFINITY).contains(&mean) {
            return Err(ParamError::new("mean", mean, "finite and not negative"));
        }
        Ok(Self { kind: Kind::Geometric(mean / (1.0 + mean)), lost: 0.0 })
    }

    /// Late by floor(d) rounds, with P(d > x) = (1 + x/scale)^(-exponent): the mean is infinite for exponents up to 1.
    ///
    /// # Errors
    /// The scale or the exponent is not positive and finite.
    pub fn heavy_tailed(scale: f64, exponent: f64) -> Result<Self, ParamError> {
        let (scale, exponent) =
            (ParamError::positive("scale", scale)?, ParamError::positive("exponent", exponent)?);
        Ok(Self { kind: Kind::HeavyTailed { scale, exponent }, lost: 0.0 })
    }

    /// The feedback of `block` consecutive rounds comes at the end of the last of them, in random order.
    ///
    /// # Errors
    /// The block is empty.
    pub fn reordered(block: u64) -> Result<Self, ParamError> {
        if block == 0 {
            return Err(ParamError::new("block", block, "at least 1"));
        }
        Ok(Self { kind: Kind::Reordered(block), lost: 0.0 })
    }

    /// The same, but feedback is lost with this probability.
    ///
    /// # Errors
    /// It is no probability.
    pub fn losing(mut self, probability: f64) -> Result<Self, ParamError> {
        self.lost = ParamError::unit("lost", probability)?;
        Ok(self)
    }

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
    heap: BinaryHeap<Letter<T>>,
    sent: u64,
}

#[derive(Debug, Clone)]
struct Letter<T> {
    key: (Arrival, u64),
    content: T,
}

impl<T> PartialEq for Letter<T> {
    fn eq(&self, other: &Self) -> bool {
        self.key == other.key
    }
}

impl<T> Eq for Letter<T> {}

impl<T> PartialOrd for Letter<T> {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl<T> Ord for Letter<T> {
    // Reversed: the heap's greatest is the first to arrive.
    fn cmp(&self, other: &Self) -> Ordering {
        other.key.cmp(&self.key)
    }
}

impl<T> Default for Mailbox<T> {
    fn default() -> Self {
        Self { heap: BinaryHeap::new(), sent: 0 }
    }
}

impl<T> Mailbox<T> {
    /// Nothing is on its way.
    pub fn new() -> Self {
        Self::default()
    }

    /// Sends `content`, to arrive at `arrival`.
    pub fn send(&mut self, arrival: Arrival, content: T) {
        self.heap.push(Letter { key: (arrival, self.sent), content });
        self.sent += 1;
    }

    /// The next one that has arrived by the end of `round`.
    pub fn receive(&mut self, round: u64) -> Option<T> {
        (self.heap.peek()?.key.0.round <= round).then(|| self.heap.pop())?.map(|letter| letter.content)
    }

    /// How many are on their way.
    pub fn len(&self) -> usize {
        self.heap.len()
    }

    /// Whether none is on its way.
    pub fn is_empty(&self) -> bool {
        self.heap.is_empty()
    }
}

const NAME: Field = Field { name: "name", default: "", doc: "which delay" };
const LOST: Field = Field { name: "lost", default: "0.0", doc: "probability that feedback never comes" };

const fn entry(name: &'static str, summary: &'static str, fields: &'static [Field]) -> Entry {
    Entry {
        name,
        summary,
        source: "",
        regret: "",
        alpha: None,
        fits: "any environment",
        cost: "O(1)",
        kind: "any",
        status: "standard; the paper's theorem does not cover delays",
        fields,
    }
}

static DELAYS: &[Entry] = &[
    entry(
        "fixed",
        "feedback comes a fixed number of rounds late",
        &[NAME, LOST, Field { name: "rounds", default: "", doc: "how many rounds late" }],
    ),
    entry(
        "geometric",
        "late by a geometric number of rounds",
        &[NAME, LOST, Field { name: "mean", default: "", doc: "mean number of rounds" }],
    ),
    entry(
        "heavy-tailed",
        "late by d rounds with P(d > x) = (1 + x/scale)^(-exponent)",
        &[
            NAME,
            LOST,
            Field { name: "scale", default: "10.0", doc: "scale in rounds" },
            Field {
                name: "exponent",
                default: "1.5",
                doc: "exponent of the tail; up to 1 the mean is infinite",
            },
        ],
    ),
    entry(
        "reordered",
        "the feedback of a block of rounds comes at its end, in random order",
        &[NAME, LOST, Field { name: "block", default: "10", doc: "rounds of a block" }],
    ),
    entry(
        "lost",
        "feedback comes at once or never",
        &[NAME, Field { name: "probability", default: "", doc: "probability that it never comes" }],
    ),
];

/// The delays that [`delay`] knows.
pub fn delays() -> &'static [Entry] {
    DELAYS
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct DelayParams {
    name: String,
    #[serde(default)]
    lost: f64,
    rounds: Option<u64>,
    mean: Option<f64>,
    #[serde(default = "ten")]
    scale: f64,
    #[serde(default = "three_halves")]
    exponent: f64,
    block: Option<u64>,
    probability: Option<f64>,
}

fn ten() -> f64 {
    10.0
}

fn three_halves() -> f64 {
    1.5
}

/// Builds a delay from the `delay` table of a spec: `{ name = "geometric", mean = 50 }`.
///
/// # Errors
/// An unknown name or key, or a value that cannot be used.
pub fn delay(params: &toml::Table) -> Result<Delay, BuildError> {
    let value = |why: String| BuildError::refused("environment", "delay", why);
    let name = match params.get("name") {
        Some(toml::Value::String(name)) => name.as_str(),
        Some(other) => return Err(value(format!("name must be a name, but is {other}"))),
        None => return Err(value("missing field `name`".to_owned())),
    };
    let known = DELAYS
        .iter()
        .find(|e| e.name == name)
        .ok_or_else(|| Unknown::new("delay", name, DELAYS.iter().map(|e| e.name)))?;
    let params: DelayParams = read(&format!("delay {name}"), known.fields.iter().map(|f| f.name), params)?;
    let missing = |key: &str| value(format!("{}: missing field `{key}`", params.name));
    match name {
        "fixed" => Ok(Delay::fixed(params.rounds.ok_or_else(|| missing("rounds"))?)),
        "geometric" => Delay::geometric(params.mean.ok_or_else(|| missing("mean"))?),
        "heavy-tailed" => Delay::heavy_tailed(params.scale, params.exponent),
        "reordered" => Delay::reordered(params.block.unwrap_or(10)),
        _ => Delay::fixed(0).losing(params.probability.ok_or_else(|| missing("probability"))?),
    }
    .and_then(|delay| if name == "lost" { Ok(delay) } else { delay.losing(params.lost) })
    .map_err(|e| BuildError::refused("environment", format!("delay {name}"), e))
}
