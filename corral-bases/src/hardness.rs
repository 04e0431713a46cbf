//! The two bases of the hardness theorem: each has constant regret alone in its own environment, and no master can
//! combine them with less than linear regret.
//!
//! The paper, proof of its lower bound. The first base plays a_1 in the first round. If it then observes 0.1 or 0.3 it
//! keeps a_1 for ever; if it observes 0.2 or 0.4 it goes over to a_2 for ever; anything else (nothing at all, or a loss
//! that carries an importance weight) makes it choose between the two at random for ever. The second base does the
//! same with a_3 and a_4. They are not stable: that is their point. With feed `raw` only the base that was not followed
//! in the first round breaks, as in the proof; with feed `weighted` the one that was followed mostly breaks too.

use corral_core::registry::RegistryRow;

use crate::arms::{ArmBase, ArmRule, Now, Round};
use crate::built::{Build, arms};
use crate::prelude::*;

/// The rows of the registry.
pub(crate) fn rows() -> Vec<RegistryRow<Build>> {
    vec![arms::<HardnessFirstParams>(), arms::<HardnessSecondParams>()]
}

/// What the first round led to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Verdict {
    /// Nothing was observed of it so far.
    Unknown,
    /// 0.1 or 0.3: the first arm is the better one.
    First,
    /// 0.2 or 0.4: the second is.
    Second,
    /// A number that these environments do not hold.
    Nonsense,
}

impl Verdict {
    /// Of the loss that the base is fed: f', the product of loss and weight, compared as the proof's base compares.
    fn of(value: f64) -> Self {
        let near = |losses: [f64; 2]| losses.iter().any(|l| (value - l).abs() < 1e-9);
        if near([0.1, 0.3]) {
            Self::First
        } else if near([0.2, 0.4]) {
            Self::Second
        } else {
            Self::Nonsense
        }
    }
    /// The two arms from `first` on, as far as they are offered: the last that is stands for one that is not.
    fn pair(first: usize, now: &Now) -> [usize; 2] {
        [first, first + 1].map(|arm| arm.min(now.offered - 1))
    }

    /// The arm that is certain, with a mark where it is the first round's and will be judged; `None`: one of the two at
    /// random.
    fn certain(self, [one, other]: [usize; 2], now: &Now) -> Option<(usize, Memo)> {
        match self {
            Self::Unknown if now.clock.rounds == 0 => Some((one, Memo::one(1.0))),
            Self::First => Some((one, Memo::empty())),
            Self::Second => Some((other, Memo::empty())),
            Self::Unknown | Self::Nonsense => None,
        }
    }
}

macro_rules! hardness {
    ($(#[doc = $doc:literal])+ $name:literal: $base:ident, $params:ident, $first:literal) => {
        base! {
            $(#[doc = $doc])+
            $name: pub type $base = ArmBase<$params>;
            params {}
        }

        impl ArmRule for $params {
            type State = Verdict;
            const HORIZON: bool = false;

            fn fresh(&self, now: &Now) -> Result<Verdict> {
                match now.actions {
                    4 => Ok(Verdict::Unknown),
                    found => Err(ParamError::new("the number of actions", found, "4").into()),
                }
            }

            fn propose(&self, verdict: &mut Verdict, now: &Now, rng: &mut dyn Rng) -> Result<Proposal<Arm>> {
                let pair = Verdict::pair($first, now);
                let random = || (pair[usize::from(uniform(rng) < 0.5)], Memo::empty());
                let (arm, memo) = verdict.certain(pair, now).unwrap_or_else(random);
                Ok(Proposal::with_memo(Arm::at(arm), memo))
            }

            fn likelihood(&self, verdict: &Verdict, now: &Now, arm: usize) -> Option<(f64, Memo)> {
                let pair = Verdict::pair($first, now);
                Some(match verdict.certain(pair, now) {
                    Some((sure, memo)) => (f64::from(arm == sure), memo),
                    None => (pair.map(|a| 0.5 * f64::from(a == arm)).iter().sum(), Memo::empty()),
                })
            }

            fn learn(&self, verdict: &mut Verdict, now: &Now, round: Round<'_>) -> Result {
                let Played { arm, memo, feedback } = round.played;
                if !Verdict::pair($first, now).contains(&arm) {
                    let why = format!("arm {arm} of a base for arms {} and {}", $first, $first + 1);
                    return Err(BaseError::Proposal(why));
                }
                if memo.get(0) == Some(1.0) && feedback.observed().is_some() {
                    *verdict = Verdict::of(feedback.estimate());
                }
                Ok(())
            }

            /// In the first round a pass is the observation "none of the four".
            fn abilities(&self, _: &Clock) -> Abilities {
                Abilities { wants_passes: true, ..Abilities::OWN }
            }

            fn restore(&self, verdict: &mut Verdict, now: &Now) -> Result<(), SnapshotError> {
                let sound = now.clock.rounds > 0 || *verdict == Verdict::Unknown;
                ensure(sound, "a verdict before the first round")
            }
        }
    };
}

hardness! {
    /// The hardness theorem's base for arms 0 and 1.
    "hardness-first": HardnessFirst, HardnessFirstParams, 0
}
hardness! {
    /// The hardness theorem's base for arms 2 and 3.
    "hardness-second": HardnessSecond, HardnessSecondParams, 2
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand::SeedableRng;

    /// Which arms `base` plays in 64 rounds after the first round was answered by `feedback`.
    fn after(mut base: impl Base<(), Arm>, first_arm: u32, feedback: Option<Feedback>) -> Vec<u32> {
        let mut rng = rand_pcg::Pcg64Dxsm::seed_from_u64(1);
        base.apply_order(Order::Widen { range: 4.0, remaining: None }).unwrap();
        let made = base.propose(&(), &mut rng).unwrap();
        assert_eq!(made.decision, Arm(first_arm));
        match feedback {
            Some(feedback) => base.learn(&(), &made, feedback).unwrap(),
            None => base.extra().unwrap().pass(&()).unwrap(),
        }
        let mut arms: Vec<u32> = (0..64)
            .map(|_| {
                let made = base.propose(&(), &mut rng).unwrap();
                base.learn(&(), &made, Feedback::plain(0.1)).unwrap();
                made.decision.0
            })
            .collect();
        arms.sort_unstable();
        arms.dedup();
        arms
    }

    #[test]
    fn the_first_observation_decides_for_ever() {
        let setup = Setup::arms(4, Some(100));
        for (second, first_arm) in [(false, 0), (true, 2)] {
            let after = |feedback| match second {
                false => after(HardnessFirstParams {}.build(&setup).unwrap(), 0, feedback),
                true => after(HardnessSecondParams {}.build(&setup).unwrap(), 2, feedback),
            };
            assert_eq!(after(Some(Feedback::plain(0.1))), [first_arm]);
            assert_eq!(after(Some(Feedback::plain(0.3))), [first_arm]);
            assert_eq!(after(Some(Feedback::plain(0.2))), [first_arm + 1]);
            assert_eq!(after(Some(Feedback::plain(0.4))), [first_arm + 1]);
            let both = [first_arm, first_arm + 1];
            assert_eq!(after(Some(Feedback::plain(0.25))), both);
            assert_eq!(after(Some(Feedback::unseen())), both);
            assert_eq!(after(None), both);
            // 0.1 with weight 2 is taken for 0.2: the wrong arm; 0.3 with weight 2 is nothing it knows.
            assert_eq!(after(Some(Feedback::new(0.1, 2.0))), [first_arm + 1]);
            assert_eq!(after(Some(Feedback::new(0.3, 2.0))), both);
        }
    }

    #[test]
    fn it_needs_four_arms_and_its_own_proposals() {
        let error = HardnessFirstParams {}.build(&Setup::arms(3, None)).unwrap_err().to_string();
        assert_eq!(error, "the number of actions must be 4, but is 3");
        let mut base = HardnessFirstParams {}.build(&Setup::arms(4, None)).unwrap();
        let foreign = Proposal::new(Arm(2));
        assert!(Base::<(), Arm>::learn(&mut base, &(), &foreign, Feedback::plain(0.1)).is_err());
    }
}
