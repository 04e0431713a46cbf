//! What earlier runs say of the bases: a prior for the masters that take one (docs/experience.md).

use serde::{Deserialize, Serialize};

use super::MasterSetup;
use crate::{ParamError, require};

/// What is known of a base before the first round.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "describe", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Experience {
    /// Its mean reward less that of all bases, in [-1, 1].
    pub relative: f64,
    /// How many plays of the base this is worth; 0: nothing is known of it.
    pub plays: f64,
}

impl Experience {
    /// Checks what is given: one for each base; nothing is known of bases that joined later.
    pub(super) fn check(given: &[Self], setup: &MasterSetup) -> Result<(), ParamError> {
        let length = format_args!("of length {}", given.len());
        require(given.len() <= setup.bases, "experience", length, "one entry per base")?;
        for Self { relative, plays } in given {
            require((-1.0..=1.0).contains(relative), "experience.relative", relative, "in [-1, 1]")?;
            require((0.0..=1e9).contains(plays), "experience.plays", plays, "in [0, 10^9]")?;
        }
        Ok(())
    }

    /// Of base `i`, where `given` is what was given.
    #[inline]
    pub(super) fn of(given: &[Self], i: usize) -> Self {
        given.get(i).copied().unwrap_or(Self { relative: 0.0, plays: 0.0 })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::masters::{Practical, PracticalParams, Ucb, UcbParams};
    use crate::sample::split_mix;
    use crate::{Credit, Master};

    const KNOWN: [Experience; 3] = [
        Experience { relative: 0.1, plays: 12.0 },
        Experience { relative: -0.3, plays: 5.0 },
        Experience { relative: 0.2, plays: 0.5 },
    ];

    #[test]
    fn the_index_is_that_of_more_plays_at_the_level_of_the_run() {
        let params = UcbParams { scale: 0.3, experience: KNOWN.to_vec(), ..UcbParams::default() };
        let mut master = Ucb::new(params, &MasterSetup::new(4, None)).unwrap();
        let (mut n, mut u, mut state) = ([0.0; 4], [0.0; 4], 7);
        let mut followed = [0; 4];
        for t in 0..400 {
            let known = |i: usize| KNOWN.get(i).map_or((0.0, 0.0), |e| (e.relative, e.plays));
            let sum: f64 = (0..4).map(|i| u[i] - n[i] * known(i).0).sum();
            let level = (0.5 + sum) / (1.0 + n.iter().sum::<f64>());
            let index = |i: usize| {
                let (relative, plays) = known(i);
                let all = n[i] + plays;
                let width = 0.3 * (f64::from(t + 1) / 0.1).ln().sqrt() / all.sqrt();
                if all > 0.0 { (u[i] + plays * (level + relative)) / all + width } else { f64::INFINITY }
            };
            let best = (0..4).max_by(|a, b| index(*a).total_cmp(&index(*b)).then(b.cmp(a))).unwrap();
            assert_eq!(master.probabilities()[best], 1.0, "round {t}");
            followed[best] += 1;
            let loss = f64::from(split_mix(&mut state) % 10 < [6, 8, 3, 5][best]);
            master.update(loss, Credit::Chosen { base: best, weight: 1.0 }).unwrap();
            (n[best], u[best]) = (n[best] + 1.0, u[best] + 1.0 - loss);
        }
        assert!(followed[2] > 250, "{followed:?}");
    }

    #[test]
    fn the_barrier_begins_where_the_losses_of_the_plays_would_have_brought_it() {
        let params = PracticalParams { experience: KNOWN.to_vec(), ..PracticalParams::default() };
        let master = Practical::new(params, &MasterSetup::new(4, None)).unwrap();
        let p = master.probabilities();
        // 1/p_i + eta n0_i rel_i is the same for all, with eta = 1/mbar = 2.
        let same = |i: usize| 1.0 / p[i] + KNOWN.get(i).map_or(0.0, |e| 2.0 * e.plays * e.relative);
        for i in 0..4 {
            assert!((same(i) - same(3)).abs() < 1e-9, "{p:?}");
        }
        assert!((p.iter().sum::<f64>() - 1.0).abs() < 1e-9);
        assert_eq!(master.bound(1_000), None);
    }

    #[test]
    fn what_cannot_be_experience_is_refused() {
        let setup = MasterSetup::new(2, None);
        let built = |experience: &[Experience]| {
            let params = UcbParams { experience: experience.to_vec(), ..UcbParams::default() };
            Ucb::new(params, &setup).err().map(|e| e.to_string())
        };
        let one = |relative, plays| Experience { relative, plays };
        assert_eq!(
            built(&KNOWN).as_deref(),
            Some("experience must be one entry per base, but is of length 3")
        );
        let why = "experience.relative must be in [-1, 1], but is 2";
        assert_eq!(built(&[one(2.0, 1.0)]).as_deref(), Some(why));
        let why = "experience.plays must be in [0, 10^9], but is NaN";
        assert_eq!(built(&[one(0.0, f64::NAN)]).as_deref(), Some(why));
    }
}
