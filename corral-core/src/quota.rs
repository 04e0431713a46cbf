//! How much one client may say.

use std::collections::VecDeque;

use serde::{Deserialize, Serialize};

use crate::{ParamError, require};

/// Of any `window` rewards that arrive in a row, at most `most` of one client are taken. A client that lies then spoils no
/// larger part of what a band learns; many clients that lie together still do.
///
/// A reward that is not taken is learned as [`Feedback::unseen`](crate::Feedback::unseen): its ticket is settled.
///
/// ```
/// use corral_core::Quota;
/// let mut quota = Quota::new(1, 3)?;
/// assert!(quota.admit("ann") && quota.admit("bob"));
/// assert!(!quota.admit("ann"));                     // a second one of the last three
/// assert!(quota.admit("ann"));                      // her last one that was taken is four back
/// assert_eq!(quota.refused(), 1);
/// # Ok::<(), corral_core::ParamError>(())
/// ```
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Quota {
    most: usize,
    window: usize,
    /// Of the last `window` - 1 rewards, in order: whose was taken.
    recent: VecDeque<Option<Box<str>>>,
    refused: u64,
}

impl Quota {
    /// At most `most` of any `window` rewards in a row.
    ///
    /// # Errors
    /// `most` is 0 or above `window`, or the window is above a million.
    pub fn new(most: usize, window: usize) -> Result<Self, ParamError> {
        require(window <= 1_000_000, "window of a quota", window, "at most 1000000")?;
        require((1..=window).contains(&most), "quota", most, "at least 1 and at most its window")?;
        Ok(Self { most, window, recent: VecDeque::new(), refused: 0 })
    }

    /// Passes on a quota that was read and can be one.
    ///
    /// # Errors
    /// As [`new`](Quota::new), or it remembers more than its window.
    pub fn check(self) -> Result<Self, ParamError> {
        Self::new(self.most, self.window)?;
        require(self.recent.len() < self.window, "memory of a quota", self.recent.len(), "below its window")?;
        Ok(self)
    }

    /// Whether a reward of this client would be taken now.
    pub fn allows(&self, client: &str) -> bool {
        self.recent.iter().filter(|c| c.as_deref() == Some(client)).count() < self.most
    }

    /// A reward of this client arrives; whether it is taken. It counts as arrived, taken or not.
    pub fn admit(&mut self, client: &str) -> bool {
        let taken = self.allows(client);
        self.refused += u64::from(!taken);
        self.recent.push_back(taken.then(|| client.into()));
        if self.recent.len() >= self.window {
            self.recent.pop_front();
        }
        taken
    }

    /// How many rewards were not taken.
    pub fn refused(&self) -> u64 {
        self.refused
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand::{RngExt, SeedableRng};

    #[test]
    fn of_any_window_at_most_the_quota_is_taken_and_no_client_below_it_is_refused() {
        let mut rng = rand_pcg::Pcg64Dxsm::seed_from_u64(1);
        for (most, window) in [(1, 1), (1, 2), (3, 10), (10, 10)] {
            let mut quota = Quota::new(most, window).unwrap();
            let clients = ["a", "a", "a", "a", "b", "c"];
            let mut taken: Vec<Option<&str>> = Vec::new();
            for _ in 0..500 {
                let client = clients[rng.random_range(0..clients.len())];
                let recent = &taken[taken.len().saturating_sub(window - 1)..];
                let free = recent.iter().filter(|c| **c == Some(client)).count() < most;
                let admitted = quota.admit(client);
                assert_eq!(admitted, free);
                taken.push(admitted.then_some(client));
            }
            for row in taken.windows(window) {
                assert!(row.iter().filter(|c| **c == Some("a")).count() <= most);
            }
            assert_eq!(quota.refused(), taken.iter().filter(|c| c.is_none()).count() as u64);
        }
    }

    #[test]
    fn quotas_that_cannot_be_are_refused() {
        let error = Quota::new(0, 5).unwrap_err().to_string();
        assert_eq!(error, "quota must be at least 1 and at most its window, but is 0");
        let full = Quota { recent: vec![None; 5].into(), ..Quota::new(1, 5).unwrap() };
        assert!(full.check().is_err() && Quota::new(1, 5).unwrap().check().is_ok());
        assert!(Quota::new(6, 5).is_err() && Quota::new(1, 2_000_000).is_err());
    }
}
