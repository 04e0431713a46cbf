//! The ensemble behind a band: over actions or over points.

use corral_core::{
    Arm, Benched, Context, Ensemble, EnsembleError, Learner, Master, Metrics, Point, Refused, Rng, Tally,
    Ticket, TicketId,
};
use serde::{Deserialize, Serialize};

use crate::decision::Label;

/// An ensemble over decisions of one kind.
pub type Of<D> = Ensemble<Context, D, Box<dyn Master>>;

/// An ensemble over decisions of either kind.
pub enum Members {
    Arms(Of<Arm>),
    Points(Of<Point>),
}

/// A decision of either kind that is out.
#[derive(Serialize, Deserialize)]
pub enum Flying {
    Arm(Ticket<Arm>),
    Point(Ticket<Point>),
}

macro_rules! members {
    ($members:expr, $own:ident => $answer:expr) => {
        match $members {
            Members::Arms($own) => $answer,
            Members::Points($own) => $answer,
        }
    };
}

macro_rules! flying {
    ($flying:expr, $own:ident => $answer:expr) => {
        match $flying {
            Flying::Arm($own) => $answer,
            Flying::Point($own) => $answer,
        }
    };
}

impl Flying {
    pub fn id(&self) -> TicketId {
        flying!(self, t => t.id())
    }

    pub fn base(&self) -> usize {
        flying!(self, t => t.base())
    }

    pub fn probability(&self) -> f64 {
        flying!(self, t => t.probability())
    }

    pub fn propensity(&self) -> Option<f64> {
        flying!(self, t => t.propensity())
    }

    /// What Python plays: a point, or the number of an action.
    pub fn played(&self) -> Label {
        match self {
            Self::Arm(t) => Label::Number(t.decision.index()),
            Self::Point(t) => Label::Point(t.decision.coordinates().into()),
        }
    }
}

/// A decision that was not learned, as it was, and why.
type NotLearned = Box<(Flying, EnsembleError)>;

fn not_learned<D>(refused: Refused<D>, kind: fn(Ticket<D>) -> Flying) -> NotLearned {
    Box::new((kind(refused.ticket), refused.error))
}

impl Members {
    pub fn choose(&mut self, x: &Context, rng: &mut dyn Rng) -> Result<Flying, EnsembleError> {
        match self {
            Self::Arms(own) => own.choose(x, rng).map(Flying::Arm),
            Self::Points(own) => own.choose(x, rng).map(Flying::Point),
        }
    }

    pub fn learn(&mut self, x: &Context, made: Flying, loss: f64) -> Result<(), NotLearned> {
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

    pub fn add(&mut self, name: &str, base: Learner, share: f64) -> Result<(), EnsembleError> {
        match (self, base) {
            (Self::Arms(own), Learner::Arms(base)) => own.add(name, base, share).map(drop),
            (Self::Points(own), Learner::Points(base)) => own.add(name, base, share).map(drop),
            // A plan builds bases of its own kind alone.
            _ => Err(EnsembleError::Empty),
        }
    }

    pub fn retire(&mut self, base: usize) -> Result<(), EnsembleError> {
        members!(self, own => own.retire(base))
    }

    pub fn reinstate(&mut self, base: usize, share: f64) -> Result<(), EnsembleError> {
        members!(self, own => own.reinstate(base, share))
    }

    pub fn save(&self) -> Vec<u8> {
        members!(self, own => own.save())
    }

    pub fn load(&mut self, state: &[u8]) -> Result<(), EnsembleError> {
        members!(self, own => own.load(state))
    }

    pub fn id(&self) -> u64 {
        members!(self, own => own.id())
    }

    pub fn has_learned(&self, id: TicketId) -> bool {
        members!(self, own => own.has_learned(id))
    }

    pub fn len(&self) -> usize {
        members!(self, own => own.len())
    }

    pub fn rounds(&self) -> u64 {
        members!(self, own => own.rounds())
    }

    pub fn probabilities(&self) -> &[f64] {
        members!(self, own => own.probabilities())
    }

    pub fn benched(&self) -> &[Benched] {
        members!(self, own => own.benched())
    }

    pub fn tallies(&self) -> Vec<&Tally> {
        members!(self, own => own.tallies().collect())
    }

    pub fn metrics(&self) -> Metrics {
        members!(self, own => own.metrics())
    }
}
