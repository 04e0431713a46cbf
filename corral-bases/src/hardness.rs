//! The two bases of the hardness theorem: each has constant regret alone in its own environment, and no master can
//! combine them with less than linear regret.
//!
//! The paper, proof of its lower bound. The first base plays a_1 in the first round. If it then observes 0.1 or 0.3 it
//! keeps a_1 for ever; if it observes 0.2 or 0.4 it goes over to a_2 for ever; anything else (nothing at all, or a loss
//! that carries an importance weight) makes it choose between the two at random for ever. The second base does the
//! same with a_3 and a_4. They are not stable: that is their point. With feed `raw` only the base that was not followed
//! in the first round breaks, as in the proof; with feed `weighted` the one that was followed mostly breaks too.

use corral_core::registry::{Entry, Kind, Row, Status};
use corral_core::{
    Arm, Base, BaseError, Feedback, Memo, Order, ParamError, Proposal, Rng, Setup, SnapshotError, uniform,
};
use serde::{Deserialize, Serialize};

use crate::built::{BaseParams, Build, arms};
use crate::common::{Clock, RangeChange, check_arm, reopen, seal};

const FIRST: &str = "hardness-first";
const SECOND: &str = "hardness-second";

/// The rows of the registry.
pub(crate) const ROWS: &[Row<Build>] = &[arms::<HardnessFirstParams>(), arms::<HardnessSecondParams>()];

corral_core::params! {
    /// Parameters of the base for arms 0 and 1: none.
    pub struct HardnessFirstParams {}
}

corral_core::params! {
    /// Parameters of the base for arms 2 and 3: none.
    pub struct HardnessSecondParams {}
}

impl BaseParams for HardnessFirstParams {
    type Base = Hardness;

    const ENTRY: Entry = Entry {
        name: FIRST,
        summary: "The hardness theorem's base for arms 0 and 1.",
        source: "Agarwal, Luo, Neyshabur, Schapire 2017, hardness theorem",
        regret: "constant alone in its environment, linear under importance weighting",
        alpha: None,
        fits: "the environment \"hardness\"",
        cost: "O(1)",
        kind: Kind::Arms,
        status: Status::Paper,
    };

    fn build(self, setup: &Setup) -> Result<Hardness, BaseError> {
        Hardness::new(FIRST, 0, setup)
    }
}

impl BaseParams for HardnessSecondParams {
    type Base = Hardness;

    const ENTRY: Entry = Entry {
        name: SECOND,
        summary: "The hardness theorem's base for arms 2 and 3.",
        ..HardnessFirstParams::ENTRY
    };

    fn build(self, setup: &Setup) -> Result<Hardness, BaseError> {
        Hardness::new(SECOND, 2, setup)
    }
}

/// What the first round led to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
enum Verdict {
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
}

/// A base of the hardness theorem.
#[derive(Debug, Clone)]
pub struct Hardness {
    name: &'static str,
    // Its first arm; the other is the next.
    arm: u32,
    clock: Clock,
    verdict: Verdict,
}

impl Hardness {
    fn new(name: &'static str, arm: u32, setup: &Setup) -> Result<Self, BaseError> {
        if setup.actions() != 4 {
            return Err(ParamError::new("the number of actions", setup.actions(), "4").into());
        }
        let clock = Clock { horizon: None, ..Clock::new(setup) };
        Ok(Self { name, arm, clock, verdict: Verdict::Unknown })
    }

    /// The arm that is certain, and whether it is the first round's; `None`: one of the two at random.
    fn certain(&self) -> Option<(u32, bool)> {
        match self.verdict {
            Verdict::Unknown if self.clock.rounds == 0 => Some((self.arm, true)),
            Verdict::First => Some((self.arm, false)),
            Verdict::Second => Some((self.arm + 1, false)),
            Verdict::Unknown | Verdict::Nonsense => None,
        }
    }
}

impl<X: ?Sized> Base<X, Arm> for Hardness {
    fn propose(&mut self, _x: &X, rng: &mut dyn Rng) -> Result<Proposal<Arm>, BaseError> {
        Ok(match self.certain() {
            // The memo marks the proposal that will be judged.
            Some((arm, true)) => Proposal::with_memo(Arm(arm), Memo::one(1.0)),
            Some((arm, false)) => Proposal::new(Arm(arm)),
            None => Proposal::new(Arm(self.arm + u32::from(uniform(rng) < 0.5))),
        })
    }

    fn learn(&mut self, _x: &X, made: &Proposal<Arm>, feedback: Feedback) -> Result<(), BaseError> {
        let feedback = feedback.check(self.clock.range)?;
        let arm = check_arm(made.decision, 4)?;
        if arm / 2 != self.arm as usize / 2 {
            return Err(BaseError::Proposal(format!(
                "arm {arm} of a base for arms {} and {}",
                self.arm,
                self.arm + 1
            )));
        }
        if made.memo.get(0) == Some(1.0) && feedback.observed().is_some() {
            self.verdict = Verdict::of(feedback.estimate());
        }
        self.clock.tick();
        Ok(())
    }

    /// In the first round this is the observation "none of the four".
    fn pass(&mut self, _x: &X) -> Result<(), BaseError> {
        self.clock.tick();
        Ok(())
    }

    fn likelihood(&self, _x: &X, decision: &Arm) -> Option<(f64, Memo)> {
        let mine = decision.0 / 2 == self.arm / 2;
        Some(match self.certain() {
            Some((arm, judged)) => {
                let memo = if judged { Memo::one(1.0) } else { Memo::empty() };
                (f64::from(decision.0 == arm), memo)
            }
            None => (if mine { 0.5 } else { 0.0 }, Memo::empty()),
        })
    }

    /// Keeps at a wider range: "for the rest of the game".
    fn obey(&mut self, order: Order) -> Result<(), BaseError> {
        if self.clock.obey(order, RangeChange::Keep)? {
            self.verdict = Verdict::Unknown;
        }
        Ok(())
    }

    fn save(&self) -> Vec<u8> {
        seal(self.name, &(), &(self.clock, self.verdict))
    }

    fn load(&mut self, state: &[u8]) -> Result<(), BaseError> {
        let (clock, verdict): (Clock, Verdict) = reopen(self.name, &(), state)?;
        clock.valid()?;
        if clock.rounds == 0 && verdict != Verdict::Unknown {
            return Err(SnapshotError::state("a verdict before the first round").into());
        }
        (self.clock, self.verdict) = (clock, verdict);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand::SeedableRng;

    fn play(base: &mut Hardness, rng: &mut dyn Rng) -> Proposal<Arm> {
        Base::<(), Arm>::propose(base, &(), rng).unwrap()
    }

    fn learn(base: &mut Hardness, made: &Proposal<Arm>, feedback: Feedback) {
        Base::<(), Arm>::learn(base, &(), made, feedback).unwrap();
    }

    fn built(second: bool) -> Hardness {
        let setup = Setup::arms(4, Some(100));
        if second { HardnessSecondParams {}.build(&setup) } else { HardnessFirstParams {}.build(&setup) }
            .unwrap()
    }

    /// Which arms it plays in 64 rounds after the first round was answered by `feedback`.
    fn after(second: bool, feedback: Option<Feedback>) -> Vec<u32> {
        let mut rng = rand_pcg::Pcg64Dxsm::seed_from_u64(1);
        let mut base = built(second);
        Base::<(), Arm>::obey(&mut base, Order::Widen { range: 4.0, remaining: None }).unwrap();
        let made = play(&mut base, &mut rng);
        assert_eq!(made.decision, Arm(if second { 2 } else { 0 }));
        match feedback {
            Some(feedback) => learn(&mut base, &made, feedback),
            None => Base::<(), Arm>::pass(&mut base, &()).unwrap(),
        }
        let mut arms: Vec<u32> = (0..64)
            .map(|_| {
                let made = play(&mut base, &mut rng);
                learn(&mut base, &made, Feedback::plain(0.1));
                made.decision.0
            })
            .collect();
        arms.sort_unstable();
        arms.dedup();
        arms
    }

    #[test]
    fn the_first_observation_decides_for_ever() {
        for (second, first_arm) in [(false, 0), (true, 2)] {
            assert_eq!(after(second, Some(Feedback::plain(0.1))), [first_arm]);
            assert_eq!(after(second, Some(Feedback::plain(0.3))), [first_arm]);
            assert_eq!(after(second, Some(Feedback::plain(0.2))), [first_arm + 1]);
            assert_eq!(after(second, Some(Feedback::plain(0.4))), [first_arm + 1]);
            let both = [first_arm, first_arm + 1];
            assert_eq!(after(second, Some(Feedback::plain(0.25))), both);
            assert_eq!(after(second, Some(Feedback::unseen())), both);
            assert_eq!(after(second, None), both);
            // 0.1 with weight 2 is taken for 0.2: the wrong arm; 0.3 with weight 2 is nothing it knows.
            assert_eq!(after(second, Some(Feedback::new(0.1, 2.0))), [first_arm + 1]);
            assert_eq!(after(second, Some(Feedback::new(0.3, 2.0))), both);
        }
    }

    #[test]
    fn it_needs_four_arms_and_its_own_proposals() {
        let error = HardnessFirstParams {}.build(&Setup::arms(3, None)).unwrap_err().to_string();
        assert_eq!(error, "the number of actions must be 4, but is 3");
        let mut base = built(false);
        let foreign = Proposal::new(Arm(2));
        assert!(Base::<(), Arm>::learn(&mut base, &(), &foreign, Feedback::plain(0.1)).is_err());
    }

    #[test]
    fn it_keeps_the_laws_of_a_base() {
        use corral_core::contract::{OnRange, Subject, check};
        let setup = Setup::arms(4, Some(1000));
        for (name, second) in [(FIRST, false), (SECOND, true)] {
            let subject = Subject::arms(name, &setup, || Ok(Box::new(built(second))));
            check(&subject.on_range(OnRange::Keep).counts_rounds()).unwrap();
        }
    }
}
