//! The ensemble behind a band: over actions or over points.

use corral_bases::band::Band;
use corral_core::{
    Arm, Benched, Context, EnsembleError, Feedback, Learner, Metrics, Point, Refused, Rng, Scale, Tally,
    Ticket, TicketId, TokenError,
};
use serde::{Deserialize, Serialize};

/// An ensemble over decisions of either kind.
pub enum Members {
    /// Over actions.
    Arms(Band<Arm>),
    /// Over points.
    Points(Band<Point>),
}

/// A decision of either kind that is out.
#[derive(Serialize, Deserialize)]
pub enum Flying {
    /// An action.
    Arm(Ticket<Arm>),
    /// A point.
    Point(Ticket<Point>),
}

/// Methods of either kind that are those of the kind itself.
macro_rules! forward {
    ($me:ident, $one:ident, $other:ident: $([$($own:tt)+] $name:ident($($arg:ident: $kind:ty),*) -> $answer:ty;)*) => {$(
        #[doc = concat!("`", stringify!($name), "` of the kind.")]
        ///
        /// # Errors
        /// As the kind has it.
        pub fn $name($($own)+ $(, $arg: $kind)*) -> $answer {
            match $me {
                Self::$one(own) => own.$name($($arg),*),
                Self::$other(own) => own.$name($($arg),*),
            }
        }
    )*};
}

impl Flying {
    forward! { self, Arm, Point:
        [&self] id() -> TicketId;
        [&self] base() -> usize;
        [&self] probability() -> f64;
        [&self] propensity() -> Option<f64>;
    }

    /// What the log says of it; `pbar` are the probabilities of the bases when it was made.
    pub fn record(&self, pbar: &[f64], x: &Context) -> corral_log::Decided {
        match self {
            Self::Arm(ticket) => corral_log::Decided::of(ticket, pbar, x),
            Self::Point(ticket) => corral_log::Decided::of(ticket, pbar, x),
        }
    }

    /// Shows the decision and its reward in [0, 1] to whoever follows the values of bases.
    pub fn watched(&self, watch: &mut corral_log::Watch, reward: f64) {
        match self {
            Self::Arm(ticket) => watch.see(ticket, reward),
            Self::Point(ticket) => watch.see(ticket, reward),
        }
    }
}

/// A decision that was not learned, as it was, and why.
pub type NotLearned = Box<(Flying, EnsembleError)>;

fn not_learned<D>(refused: Refused<D>, kind: fn(Ticket<D>) -> Flying) -> NotLearned {
    Box::new((kind(refused.ticket), refused.error))
}

impl Flying {
    /// The decision as a token, with what was known when it was made.
    ///
    /// # Errors
    /// It cannot be sealed.
    pub fn token(&self, x: &Context) -> Result<String, TokenError> {
        match self {
            Self::Arm(ticket) => ticket.token_with(x),
            Self::Point(ticket) => ticket.token_with(x),
        }
    }
}

impl Members {
    forward! { self, Arms, Points:
        [&mut self] retire(base: usize) -> Result<(), EnsembleError>;
        [&mut self] reinstate(base: usize, share: f64) -> Result<(), EnsembleError>;
        [&self] save() -> Vec<u8>;
        [&mut self] load(state: &[u8]) -> Result<(), EnsembleError>;
        [&self] id() -> u64;
        [&self] next_id() -> TicketId;
        [&mut self] set_copy(copy: u64) -> ();
        [&self] has_learned(id: TicketId) -> bool;
        [&self] len() -> usize;
        [&self] is_empty() -> bool;
        [&self] rounds() -> u64;
        [&self] probabilities() -> &[f64];
        [&self] benched() -> &[Benched];
        [&self] metrics() -> Metrics;
        [&self] scale() -> Option<Scale>;
        [&self] remarks(scale: Option<Scale>) -> Vec<String>;
        [&self] distribution(x: &Context) -> Result<Vec<f64>, EnsembleError>;
    }

    /// Reads a token back.
    ///
    /// # Errors
    /// It is not one of this kind.
    pub fn flying(&self, token: &str) -> Result<(Context, Flying), TokenError> {
        Ok(match self {
            Self::Arms(_) => Ticket::from_token_with(token).map(|(x, ticket)| (x, Flying::Arm(ticket)))?,
            Self::Points(_) => {
                Ticket::from_token_with(token).map(|(x, ticket)| (x, Flying::Point(ticket)))?
            }
        })
    }

    /// Chooses for `x`.
    ///
    /// # Errors
    /// As `Ensemble::choose`.
    pub fn choose(&mut self, x: &Context, rng: &mut dyn Rng) -> Result<Flying, EnsembleError> {
        match self {
            Self::Arms(own) => own.choose(x, rng).map(Flying::Arm),
            Self::Points(own) => own.choose(x, rng).map(Flying::Point),
        }
    }

    /// Whether `learn` would take it.
    ///
    /// # Errors
    /// Why not.
    pub fn check(&self, x: &Context, made: &Flying, heard: Feedback) -> Result<(), EnsembleError> {
        match (self, made) {
            (Self::Arms(own), Flying::Arm(ticket)) => own.check(x, ticket, heard),
            (Self::Points(own), Flying::Point(ticket)) => own.check(x, ticket, heard),
            (own, made) => Err(EnsembleError::Foreign { found: made.id().band, expected: own.id() }),
        }
    }

    /// Learns what came of a decision.
    ///
    /// # Errors
    /// As `Ensemble::learn`, with the decision.
    pub fn learn(&mut self, x: &Context, made: Flying, loss: Feedback) -> Result<(), NotLearned> {
        match (self, made) {
            (Self::Arms(own), Flying::Arm(t)) => {
                own.learn(x, t, loss).map(drop).map_err(|r| not_learned(*r, Flying::Arm))
            }
            (Self::Points(own), Flying::Point(t)) => {
                own.learn(x, t, loss).map(drop).map_err(|r| not_learned(*r, Flying::Point))
            }
            (own, made) => {
                let foreign = EnsembleError::Foreign { found: made.id().band, expected: own.id() };
                Err(Box::new((made, foreign)))
            }
        }
    }

    /// Adds a base.
    ///
    /// # Errors
    /// As `Ensemble::add`.
    pub fn add(&mut self, name: &str, base: Learner, share: f64) -> Result<(), EnsembleError> {
        match (self, base) {
            (Self::Arms(own), Learner::Arms(base)) => own.add(name, base, share).map(drop),
            (Self::Points(own), Learner::Points(base)) => own.add(name, base, share).map(drop),
            // A plan builds bases of its own kind alone.
            _ => Err(EnsembleError::Empty),
        }
    }

    /// What each base did.
    pub fn tallies(&self) -> Vec<&Tally> {
        match self {
            Self::Arms(own) => own.tallies().collect(),
            Self::Points(own) => own.tallies().collect(),
        }
    }
}
