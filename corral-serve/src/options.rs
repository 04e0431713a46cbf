//! How a band is served.

use std::time::Duration;

use crate::front::FrontOptions;
use crate::learner::LearnerOptions;

/// What a process does.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Role {
    /// It chooses, takes rewards, and learns.
    #[default]
    All,
    /// It chooses and takes rewards; a learner runs elsewhere.
    Front,
    /// It learns what front ends elsewhere have taken.
    Learner,
}

/// How a band is served.
#[derive(Debug, Clone, PartialEq)]
pub struct ServingOptions {
    /// What this process does.
    pub role: Role,
    /// How it learns.
    pub learner: LearnerOptions,
    /// How it takes rewards.
    pub front: FrontOptions,
    /// A front end waits so long for more rewards before it writes those that it has: fewer writes, and later answers.
    pub group: Duration,
    /// Rewards are learned together that come within so much time.
    pub fold: Duration,
    /// A front end serves a newer state after so many rewards, or so much time; where the learner is elsewhere, it looks for one
    /// after so many decisions, or so much time.
    pub refresh: (usize, Duration),
    /// The state is written for front ends in other processes after so many rewards, or so much time. A process that has a front
    /// end of its own goes by the time.
    pub publish: (usize, Duration),
    /// From which staleness on the service is not ready.
    pub stale: Duration,
    /// From which staleness on no decision is made; unset: whatever it is.
    pub max_stale: Option<Duration>,
}

impl ServingOptions {
    /// For a store whose calls take long and are paid for one by one.
    pub fn for_bucket() -> Self {
        let second = Duration::from_secs(1);
        Self {
            group: Duration::from_millis(100),
            fold: Duration::from_millis(500),
            refresh: (usize::MAX, second),
            publish: (usize::MAX, second),
            ..Self::default()
        }
    }
}

impl Default for ServingOptions {
    fn default() -> Self {
        Self {
            role: Role::All,
            learner: LearnerOptions::default(),
            front: FrontOptions::default(),
            group: Duration::ZERO,
            fold: Duration::from_millis(10),
            refresh: (100, Duration::from_millis(50)),
            publish: (1_000, Duration::from_millis(500)),
            stale: Duration::from_secs(60),
            max_stale: None,
        }
    }
}
