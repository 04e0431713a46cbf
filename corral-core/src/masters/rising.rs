//! The last plays of each base, for masters of bases whose rewards rise as they learn: rewards r = 1 - f of plays 1, ..., n of a base,
//! and two windows of h = min(floor(epsilon n), longest) plays each, the last one and the one before it.
//!
//! ```text
//! mean        1/h sum_{l = n-h+1..n} X_l                                     where rewards rise, below what comes
//! at play s   1/h sum_{l = n-h+1..n} (X_l + (s - l) (X_l - X_{l-h})/h)       the slope carried on: above it, where they are concave too
//! ```
//!
//! Stochastic Rising Bandits (Metelli, Trovo, Pirola, Restelli 2022) and Best Arm Identification for Stochastic Rising Bandits (Mussi,
//! Montenegro, Trovo, Restelli, Metelli 2024, section 3). `longest` is ours: without it every play is remembered.

use serde::{Deserialize, Serialize};

use super::MasterSetup;
use super::rule::{Credited, all};
use crate::snapshot::ensure;
use crate::{ParamError, SnapshotError};

/// A weight that counts as a play: a part of one has no place in a window.
const PLAY: f64 = 1.0 - 1e-9;

/// The last plays of each base.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct Rising {
    window: f64,
    longest: u64,
    /// How many plays of a base are kept.
    kept: usize,
    /// X_l at (l - 1) mod kept, base by base.
    rewards: Vec<f64>,
    bases: Vec<Windows>,
}

/// The two windows of a base.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
struct Windows {
    /// n and h
    plays: u64,
    width: u64,
    /// sum X_l and sum l X_l over the last window, and over the one before.
    last: (f64, f64),
    before: (f64, f64),
}

impl Rising {
    pub(super) fn new(window: f64, longest: u32, setup: &MasterSetup) -> Result<Self, ParamError> {
        let longest = u64::from(longest);
        let most = setup.horizon.map_or(longest, |rounds| longest.min((window * rounds as f64) as u64));
        let kept = 2 * most as usize + 2;
        setup.budget.claim("longest", longest, 8 * kept as u128 * setup.bases as u128)?;
        let (rewards, bases) = (vec![0.0; kept * setup.bases], vec![Windows::default(); setup.bases]);
        Ok(Self { window, longest: most, kept, rewards, bases })
    }

    /// n
    pub(super) fn plays(&self, base: usize) -> u64 {
        self.bases[base].plays
    }

    /// h
    pub(super) fn width(&self, base: usize) -> f64 {
        self.bases[base].width as f64
    }

    /// X_l, which is kept.
    fn reward(&self, base: usize, play: u64) -> f64 {
        self.rewards[base * self.kept + ((play - 1) % self.kept as u64) as usize]
    }

    pub(super) fn count(&mut self, round: Credited<'_>) {
        round.each(|i, weight| {
            if weight >= PLAY {
                self.play(i, 1.0 - round.loss);
            }
        });
    }

    fn play(&mut self, base: usize, reward: f64) {
        let Windows { plays, width: h, mut last, mut before } = self.bases[base];
        let n = plays + 1;
        self.rewards[base * self.kept + (plays % self.kept as u64) as usize] = reward;
        let width = ((self.window * n as f64) as u64).min(self.longest);
        let moment = |play: u64, sums: (f64, f64), sign: f64| {
            let x = sign * self.reward(base, play);
            (sums.0 + x, sums.1 + play as f64 * x)
        };
        if width > h {
            // h is one more: the last window keeps all of its plays, the one before gains one at its beginning.
            last = moment(n, last, 1.0);
            before = moment(n - 2 * h - 1, before, 1.0);
        } else if h > 0 {
            last = moment(n - h, moment(n, last, 1.0), -1.0);
            before = moment(n - 2 * h, moment(n - h, before, 1.0), -1.0);
        }
        self.bases[base] = Windows { plays: n, width, last, before };
    }

    /// The mean of the last window; of the last play where it is empty.
    pub(super) fn mean(&self, base: usize) -> f64 {
        match self.bases[base] {
            Windows { plays: 0, .. } => f64::INFINITY,
            Windows { plays, width: 0, .. } => self.reward(base, plays),
            Windows { width, last, .. } => last.0 / width as f64,
        }
    }

    /// The slope carried on to play `at`; infinite while the window is empty.
    pub(super) fn carried_on(&self, base: usize, at: f64) -> f64 {
        let Windows { width, last: (a, c), before: (b, d), .. } = self.bases[base];
        if width == 0 {
            return f64::INFINITY;
        }
        // sum_l l X_{l-h} = d + h b
        let h = width as f64;
        (h * (a + b) + at * (a - b) - c + d) / (h * h)
    }

    pub(super) fn constants(&self) -> impl Serialize {
        (self.window, self.longest, self.kept)
    }

    pub(super) fn validate(&self, state: &Self) -> Result<(), SnapshotError> {
        ensure(state.bases.len() == self.bases.len(), "windows of other bases")?;
        all("rewards", &state.rewards, self.rewards.len(), f64::is_finite)?;
        for one in &state.bases {
            crate::snapshot::counted(one.plays)?;
            let width = ((self.window * one.plays as f64) as u64).min(self.longest);
            let sums = [one.last.0, one.last.1, one.before.0, one.before.1];
            ensure(one.width == width && sums.iter().all(|x| x.is_finite()), "windows that cannot be")?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sample::split_mix;

    /// Both estimates against their sums, written out, over all plays.
    #[test]
    fn windows_are_those_of_the_plays() {
        for (window, longest) in [(0.25, 1_000), (0.5, 1_000), (0.3, 7)] {
            let mut rising = Rising::new(window, longest, &MasterSetup::new(2, None)).unwrap();
            let (mut x, mut state) = (vec![0.0], 5);
            for n in 1..=200usize {
                x.push((split_mix(&mut state) % 1000) as f64 / 1000.0);
                rising.play(1, x[n]);
                let h = ((window * n as f64) as usize).min(longest as usize);
                if h == 0 {
                    assert_eq!((rising.mean(1), rising.carried_on(1, 300.0)), (x[n], f64::INFINITY));
                    continue;
                }
                let of = |term: &dyn Fn(usize) -> f64| (n - h + 1..=n).map(term).sum::<f64>() / h as f64;
                let mean = of(&|l| x[l]);
                let ahead = of(&|l| x[l] + (300.0 - l as f64) * (x[l] - x[l - h]) / h as f64);
                assert!((rising.mean(1) - mean).abs() < 1e-9, "{n}");
                assert!((rising.carried_on(1, 300.0) - ahead).abs() < 1e-7 * ahead.abs().max(1.0), "{n}");
            }
            assert_eq!((rising.plays(0), rising.mean(0)), (0, f64::INFINITY));
        }
    }
}
