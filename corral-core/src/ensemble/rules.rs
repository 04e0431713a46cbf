//! How an ensemble is put together: which bases are credited, and what the bases learn.

use std::fmt;
use std::num::NonZeroU64;

use serde::{Deserialize, Serialize};

use crate::registry::Kind;
use crate::{LossDomain, Scale};

crate::params! {
    /// How the master credits a loss: base i's loss is estimated by `loss * weight_i`.
    pub enum Crediting {
        /// Algorithm 1: 1/pbar_i for the base that was followed, 0 for the others. Asks one base a round.
        #[default]
        Chosen,
        /// The remark after Algorithm 1: 1/sum of pbar_j over the bases that proposed the same decision, for each of them.
        /// Asks every base.
        SameDecision,
        /// pi_i(theta)/sum_j pbar_j pi_j(theta), with pi_i(theta) the probability with which base i proposes theta: lowest
        /// variance. A base that has no likelihood counts by the decision that it draws.
        Likelihood,
    }

    /// What the bases learn.
    ///
    /// Where the credit rule is not `chosen`, a base is told losses of decisions that others drew. A base that divides by its
    /// own probability of the decision (it does not [learn from others](crate::Abilities::learns_from_others)) is then fed
    /// with the credit rule's weight under every feed: with weight 1 its estimates would be biased by Q/pi_i, and all of its
    /// mass would end on one arm.
    pub enum Feed {
        /// The loss with the weight of the credit rule: inside the theorem.
        #[default]
        Weighted,
        /// The observed loss with weight 1, where the credit rule gives a weight: for stochastic bases.
        Raw,
        /// As `Raw`, and every base that learns from others sees every round, whoever proposed: outside the theorem. Bases
        /// that then have the same model of the loss keep it once ([`BaseExtra::share`](crate::BaseExtra::share)).
        Everyone,
    }

    /// Which probabilities a ticket carries beside that of its base. What is not asked for costs nothing.
    pub enum Propensities {
        /// None, but where the credit rule computes it anyway.
        #[default]
        None,
        /// That of the decision: [`Ticket::propensity`](crate::Ticket::propensity).
        Decision,
        /// That of the decision, and each base's own: [`Ticket::likelihoods`](crate::Ticket::likelihoods).
        EveryBase,
        /// Also each base's own probability of every arm that was offered: [`Ticket::whole`](crate::Ticket::whole).
        Full,
    }
}

impl Propensities {
    /// Whether each base's own probability of the decision is asked for.
    pub(super) fn every_base(self) -> bool {
        matches!(self, Self::EveryBase | Self::Full)
    }
}

/// How an ensemble is put together; the default is the paper's.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub struct EnsembleParams {
    /// How the master credits a loss.
    pub credit: Crediting,
    /// What the bases learn.
    pub feed: Feed,
    /// Weights above this are cut to it before bases learn: their estimates are then too small where the weight was
    /// larger, a bias that is paid for less variance.
    pub cut: Option<f64>,
    /// Whether arms that no base looks at are played now and then, in worlds without contexts and under likelihood credit:
    /// against copies of one greedy learner that all lock on the same wrong arm.
    pub guard: bool,
    /// Where losses lie; outside [0, 1] the master and the bases must be built for it too.
    pub losses: LossDomain,
    /// How what [`learn`](crate::Ensemble::learn) is given becomes a loss in [0, 1]; unset: it is one. An ensemble that is a
    /// base of another is told losses, and has no use for it.
    pub scale: Option<Scale>,
    /// The number of rounds, told to the bases where the master does not know it.
    pub horizon: Option<u64>,
    /// Which probabilities tickets carry.
    pub propensities: Propensities,
    /// Tells the tickets of this ensemble from those of others. By default it follows from how the ensemble is built: give
    /// ensembles that are built alike ids of their own (random ones, say), or they take each other's tickets.
    pub id: Option<u64>,
    /// What tickets that leave the process are sealed with: 64 random bits, of the system and not of a seeded generator. It
    /// is part of snapshots and of no ticket, and a snapshot brings its own. Without one tickets stay in the process, which is
    /// all that a simulation needs. `corral_bases::band` draws one.
    pub secret: Option<NonZeroU64>,
    /// Which of the copies of the band this is: tickets of different copies have different ids. It is no part of a snapshot:
    /// every process that loads one is a copy of its own, and none hands out the id of another. A band with a secret
    /// needs it: a random number, or one that the caller keeps apart from those of all other processes.
    pub copy: Option<u64>,
}

impl EnsembleParams {
    /// What we recommend to somebody who wants low loss and knows nothing else, for decisions of this kind: credit by
    /// likelihood (arms; points never coincide, and their chosen base is credited), every base sees every round, weights of
    /// those that cannot learn from others are cut at 1, no base is given a horizon, and arms that no base looks at are played
    /// now and then. Outside the theorem: where losses react to the choices, take the default.
    pub fn practical(kind: Kind) -> Self {
        let credit = if kind == Kind::Points { Crediting::Chosen } else { Crediting::Likelihood };
        Self { credit, feed: Feed::Everyone, cut: Some(1.0), guard: true, ..Self::default() }
    }
}

impl fmt::Display for EnsembleParams {
    /// What was chosen, in one line: "credit likelihood, feed everyone, weights cut at 1, guarded, no horizon".
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("credit ")?;
        self.credit.serialize(&mut *f)?;
        f.write_str(", feed ")?;
        self.feed.serialize(&mut *f)?;
        if let Some(cut) = self.cut {
            write!(f, ", weights cut at {cut}")?;
        }
        if self.guard {
            f.write_str(", guarded where there are no contexts")?;
        }
        match self.scale {
            Some(Scale { learned: true, .. }) => f.write_str(", rewards of a range that is learned")?,
            Some(Scale { low, high, clip, rewards, .. }) => {
                let what = if rewards { "rewards" } else { "losses" };
                write!(f, ", {what} in [{low}, {high}]{}", if clip { " clipped" } else { "" })?;
            }
            None => {}
        }
        match self.horizon {
            Some(rounds) => write!(f, ", horizon {rounds}"),
            None => f.write_str(", no horizon"),
        }
    }
}
