//! A candidate beside any base over arms that is stable under importance weights: the reduction of Dann, Wei, Zimmert 2023 ("A
//! blackbox approach to best of both worlds in bandits and beyond", COLT), which turns sqrt(T) into sqrt(T) and log T/gap.
//!
//! ```text
//! with q_1 play the candidate, with q_2 what the base over the other K - 1 arms proposes; q as of the master `black-box`
//! Z_1 += (1 + f) 1{candidate}/q_1,   Z_2 += (1 + f) 1{another}/q_2,   B = sqrt(c_1 S),   S = sum 1/q_2
//! the base learns f with weight 1/q_2, nothing where the candidate was played
//! where t >= 2 (rounds of the epoch before) and another arm was played in t/2 rounds of this one: it is the candidate, all else anew
//! ```
//!
//! Where one arm is better than all others by a gap it becomes the candidate, q_2 falls like 1/t, and the regret is that of log T rounds.
//! A base with regret c sqrt(T) that is stable with alpha = 1/2 has c_1 = c^2: its own bound gives the constant (EXP3 without a horizon: 4 m ln m,
//! m = K - 1). It is given no horizon, because the end of an epoch is not known in advance: with a rate for all T rounds EXP3 would take sqrt(T) of them to find the
//! first candidate. It is told a range that is twice 1/q_2, and another one when q_2 has halved: what it does then is its own
//! affair, as under Corral.
//!
//! **Experimental**: the algorithm is from memory, as that of `corral_core::masters::BlackBox` is; only the paper's abstract could
//! be read again. Ours are the first candidate (arm 0, where the paper draws one), the epoch before the first (sqrt(c_1) ln T rounds) and weights
//! from outside. Candidates are arms: a base over policies would have to name its policies, and to leave one out.

use std::sync::LazyLock;

use corral_core::masters::share_beside_candidate;
use corral_core::registry::{Registry, RegistryRow};
use corral_core::{Learner, Observation};

use crate::arms;
use crate::built::{self, Build};
use crate::prelude::*;

base! {
    /// A candidate arm beside a base over the others: log T/gap and sqrt(T) from any stable base.
    "candidate": Candidate from CandidateParams;
    bound |self, setup| inner_bound(&self.base, setup);
    params {
        /// The base over the other arms, by its name and with its defaults: any base over arms that has a regret bound.
        base: String = String::from("exp3");
        /// Multiplies c_1, the constant in which that base is stable.
        scale: f64 = 1.0, Bounds::POSITIVE;
    } with only_restarts
}

/// The rows of the registry.
pub(crate) fn rows() -> Vec<RegistryRow<Build>> {
    vec![built::arms::<CandidateParams>()]
}

/// Who may stand beside a candidate.
static OTHERS: LazyLock<Registry<Build>> = LazyLock::new(|| Registry::new("base", arms::rows()));

fn inner_bound(name: &str, setup: &Setup) -> Option<RegretBound> {
    (OTHERS.find(name).ok()?.build.bound)(&toml::Table::new(), setup)
}

/// A candidate beside a base. See the [module](self).
pub struct Candidate {
    params: CandidateParams,
    actions: usize,
    /// c_1
    stability: f64,
    clock: Clock,
    state: State,
    /// The base over the other arms; none where there are no others.
    base: Option<Box<dyn Base<Context, Arm>>>,
}

#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
struct State {
    candidate: usize,
    /// How many candidates there were before.
    epoch: u64,
    /// t, and the rounds of the epoch before.
    round: u64,
    before: f64,
    /// Z_1 - Z_2
    lead: f64,
    /// S
    stretch: f64,
    /// How often each arm was played in this epoch.
    plays: Vec<u64>,
    /// The range that the base was told.
    range: f64,
}

impl Make<CandidateParams> for Candidate {
    const KIND: Kind = Kind::Arms;

    fn make(params: CandidateParams, setup: &Setup) -> Result<Self> {
        let actions = arm_count(setup)?;
        let others = Setup::arms(actions.max(2) - 1, None);
        let refused = |e: &dyn std::fmt::Display| BaseError::Failed(format!("beside a candidate: {e}"));
        let row = OTHERS.find(&params.base).map_err(|e| refused(&e))?;
        let base = match (row.build.learner)(&toml::Table::new(), &others).map_err(|e| refused(&e))? {
            Learner::Arms(base) => base,
            Learner::Points(_) => return Err(refused(&"a base over points")),
        };
        let Some(RegretBound { scale, exponent: 0.5, .. }) = inner_bound(&params.base, &others) else {
            let must = "a base over arms with a regret bound c sqrt(T)";
            return Err(ParamError::new("base", &params.base, must).into());
        };
        let mut candidate = Self {
            actions,
            stability: params.scale * scale * scale,
            clock: Clock::new(setup),
            state: State::new(actions),
            base: (actions > 1).then_some(base),
            params,
        };
        candidate.start()?;
        Ok(candidate)
    }
}

impl State {
    fn new(actions: usize) -> Self {
        Self { plays: vec![0; actions], range: 1.0, ..Self::default() }
    }
}

impl Candidate {
    /// The arm that is the candidate.
    pub fn candidate(&self) -> Arm {
        Arm::at(self.state.candidate)
    }

    fn start(&mut self) -> Result {
        let log = self.clock.tuned().map_or(1.0, |rounds| rounds.ln().max(1.0));
        self.state = State { before: self.stability.sqrt() * log, ..State::new(self.actions) };
        self.begin()
    }

    /// The base starts over beside the candidate of a new epoch.
    fn begin(&mut self) -> Result {
        self.state.range = 2.0 * self.clock.range / self.other();
        let order = Order::StartOver { range: self.state.range, remaining: None };
        self.base.as_mut().map_or(Ok(()), |base| base.apply_order(order))
    }

    /// q_2
    fn other(&self) -> f64 {
        let State { round, lead, stretch, .. } = self.state;
        share_beside_candidate((round + 1) as f64, self.clock.range, self.stability, lead, stretch)
    }

    /// How many other arms a round offers, and q_2 among what it offers.
    fn split<X: Observation + ?Sized>(&self, x: &X) -> Result<(usize, f64)> {
        check_first(x.offer(), CandidateParams::NAME)?;
        let offered = check_offered(x.offered(), self.actions)?;
        Ok(match (self.state.candidate < offered, offered) {
            (true, 1) => (0, 0.0),
            (true, _) => (offered - 1, self.other()),
            (false, _) => (offered, 1.0),
        })
    }

    /// What comes back with a proposal: the memo of the base, q_2 and the epoch.
    fn memo_of(&self, mut own: Memo, share: f64) -> Memo {
        own.push(share);
        own.push(self.state.epoch as f64);
        own
    }

    /// The place of `arm` among the others.
    fn place(&self, arm: usize) -> Arm {
        Arm::at(arm - usize::from(arm > self.state.candidate))
    }
}

impl<X: Observation + ?Sized> Base<X, Arm> for Candidate {
    fn propose(&mut self, x: &X, rng: &mut dyn Rng) -> Result<Proposal<Arm>> {
        let (others, share) = self.split(x)?;
        let drawn = uniform(rng);
        match &mut self.base {
            Some(base) if drawn < share => {
                let made = base.propose(&Context::plain(others), rng)?;
                let place = check_arm(made.decision, others)?;
                let arm = place + usize::from(place >= self.state.candidate);
                Ok(Proposal::with_memo(Arm::at(arm), self.memo_of(made.memo, share)))
            }
            _ => Ok(Proposal::with_memo(self.candidate(), self.memo_of(Memo::empty(), share))),
        }
    }

    fn learn(&mut self, x: &X, made: &Proposal<Arm>, feedback: Feedback) -> Result {
        let arm = check_arm(made.decision, self.actions)?;
        let feedback = feedback.check(self.clock.range)?;
        check_first(x.offer(), CandidateParams::NAME)?;
        let [own @ .., share, epoch] = made.memo.numbers() else {
            return Err(BaseError::Proposal(String::from("its memo has no share")));
        };
        if !((0.0..=1.0).contains(share) && *epoch >= 0.0) {
            return Err(BaseError::Proposal(format!("its memo has the share {share}")));
        }
        let others = x.offered().unwrap_or(self.actions);
        let others = Context::plain(others.saturating_sub(usize::from(self.state.candidate < others)));
        self.clock.tick();
        // A loss from before the candidate changed tells nothing of this epoch.
        let Some(loss) = feedback.observed().filter(|_| *epoch == self.state.epoch as f64) else {
            return self.pass_on(&others);
        };
        // Z_1 += (1 + f) 1{candidate}/q_1,   Z_2 += (1 + f) 1{another}/q_2
        if arm == self.state.candidate {
            self.state.lead += (1.0 + loss) * feedback.weight() / (1.0 - share).max(1e-300);
            self.pass_on(&others)?;
        } else {
            let weight = feedback.weight() / share.max(1e-300);
            self.state.lead -= (1.0 + loss) * weight;
            let theirs = Proposal::with_memo(self.place(arm), Memo::from(own));
            let seen = Feedback::new(loss, weight.min(self.state.range));
            if let Some(base) = &mut self.base {
                base.learn(&others, &theirs, seen)?;
            }
        }
        if *share > 0.0 {
            self.state.stretch += self.clock.range / share;
        }
        self.state.plays[arm] += 1;
        self.state.round += 1;
        self.turn()
    }

    fn likelihood(&self, x: &X, decision: &Arm) -> Option<(f64, Memo)> {
        let (others, share) = self.split(x).ok()?;
        if decision.index() == self.state.candidate {
            return Some((1.0 - share, self.memo_of(Memo::empty(), share)));
        }
        if decision.index() >= x.offered().unwrap_or(self.actions) {
            return Some((0.0, Memo::empty()));
        }
        let place = self.place(decision.index());
        let (probability, memo) = self.base.as_ref()?.likelihood(&Context::plain(others), &place)?;
        Some((share * probability, self.memo_of(memo, share)))
    }

    fn abilities(&self) -> Abilities {
        Abilities::OWN
    }

    fn apply_order(&mut self, order: Order) -> Result {
        if self.clock.apply_order(order, RangeChange::Restart)? {
            self.start()?;
        }
        Ok(())
    }

    fn save(&self) -> Vec<u8> {
        let base = self.base.as_ref().map(|base| base.save());
        seal(CandidateParams::NAME, &self.params, &(&self.clock, &self.state, base))
    }

    fn load(&mut self, state: &[u8]) -> Result {
        let (clock, state, base): (Clock, State, Option<Vec<u8>>) =
            reopen(CandidateParams::NAME, &self.params, state)?;
        clock.valid()?;
        let numbers = [state.before, state.stretch, state.lead.abs(), state.range];
        ensure(
            state.plays.len() == self.actions
                && state.candidate < self.actions
                && state.range >= 1.0
                && numbers.iter().all(|x| (0.0..f64::INFINITY).contains(x)),
            "an epoch that cannot be",
        )?;
        match (&mut self.base, base) {
            (Some(mine), Some(theirs)) => mine.load(&theirs)?,
            (None, None) => {}
            _ => return Err(SnapshotError::state("a base too many or too few").into()),
        }
        (self.clock, self.state) = (clock, state);
        Ok(())
    }
}

impl Candidate {
    /// A round goes by without the base.
    fn pass_on(&mut self, others: &Context) -> Result {
        match &mut self.base {
            Some(base) if others.actions() > 0 => base.pass(others),
            _ => Ok(()),
        }
    }

    /// After a round: a new candidate where another arm was played most, a wider range where q_2 has fallen.
    fn turn(&mut self) -> Result {
        let State { round, before, candidate, epoch, .. } = self.state;
        if round as f64 >= 2.0 * before {
            let most = |(arm, plays): &(usize, &u64)| *arm != candidate && 2 * **plays >= round;
            if let Some((next, _)) = self.state.plays.iter().enumerate().find(most) {
                let fresh = State::new(self.actions);
                self.state = State { candidate: next, epoch: epoch + 1, before: round as f64, ..fresh };
                return self.begin();
            }
        }
        let needed = self.clock.range / self.other();
        if needed > self.state.range {
            self.state.range = 2.0 * needed;
            let order = Order::Widen { range: self.state.range, remaining: None };
            return self.base.as_mut().map_or(Ok(()), |base| base.apply_order(order));
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use rand::SeedableRng;
    use rand_pcg::Pcg64Dxsm;

    use super::*;

    fn beside(base: &str, arms: usize, horizon: u64) -> Candidate {
        let params = CandidateParams { base: base.into(), ..CandidateParams::default() };
        params.build(&Setup::arms(arms, Some(horizon))).unwrap()
    }

    /// Regret over `rounds` rounds of Bernoulli losses.
    fn regret(base: &mut dyn Base<Context, Arm>, means: &[f64], rounds: u64, seed: u64) -> f64 {
        let (x, mut rng) = (Context::plain(means.len()), Pcg64Dxsm::seed_from_u64(seed));
        let best = means.iter().copied().fold(1.0, f64::min);
        let mut regret = 0.0;
        for _ in 0..rounds {
            let made = base.propose(&x, &mut rng).unwrap();
            let mean = means[made.decision.index()];
            regret += mean - best;
            let loss = f64::from(u8::from(uniform(&mut rng) < mean));
            base.learn(&x, &made, Feedback::plain(loss)).unwrap();
        }
        regret
    }

    /// The three rounds were computed with Python's fractions and decimal from the formulas at the top, EXP3's part by hand: with
    /// K = 2 its one arm has probability 1.
    #[test]
    fn three_rounds_by_hand() {
        let mut base = beside("exp3", 2, 100);
        let x = Context::plain(2);
        let share = |base: &Candidate| base.likelihood(&x, &Arm(1)).unwrap().0;
        // c_1 = 4 m ln max(m, 2) = 4 ln 2
        assert!((base.stability - 4.0 * 2f64.ln()).abs() < 1e-14);
        let mut shares = vec![share(&base)];
        for (arm, loss) in [(1, 1.0), (0, 0.5), (1, 0.0)] {
            let (_, memo) = base.likelihood(&x, &Arm(arm)).unwrap();
            base.learn(&x, &Proposal::with_memo(Arm(arm), memo), Feedback::plain(loss)).unwrap();
            shares.push(share(&base));
        }
        let expected = [0.5, 0.465593535832605, 0.548436792054216, 0.523490969797646];
        for (t, (found, expected)) in shares.iter().zip(expected).enumerate() {
            assert!((found - expected).abs() < 1e-12, "round {t}: {found} and {expected}");
        }
    }

    /// The best arm becomes the candidate whoever stands beside it, and the regret is below half of that base's alone with EXP3.
    #[test]
    fn the_best_arm_becomes_the_candidate() {
        let means = [0.8, 0.8, 0.2, 0.8];
        for name in ["exp3", "tsallis-inf", "ucb1", "thompson"] {
            let mut base = beside(name, 4, 20_000);
            regret(&mut base, &means, 20_000, 3);
            assert_eq!(base.candidate(), Arm(2), "{name}");
            assert!(base.other() < 0.05, "{name}: {}", base.other());
        }
    }

    #[test]
    fn a_loss_from_before_the_candidate_changed_is_dropped() {
        let mut base = beside("exp3", 3, 5_000);
        let (x, mut rng) = (Context::plain(3), Pcg64Dxsm::seed_from_u64(5));
        let late = base.propose(&x, &mut rng).unwrap();
        regret(&mut base, &[0.9, 0.1, 0.9], 5_000, 6);
        assert_eq!(base.candidate(), Arm(1));
        let before = base.state.clone();
        base.learn(&x, &late, Feedback::plain(1.0)).unwrap();
        assert_eq!(base.state, before);
        let foreign = Proposal::new(Arm(0));
        assert!(matches!(base.learn(&x, &foreign, Feedback::plain(1.0)), Err(BaseError::Proposal(_))));
    }

    #[test]
    fn a_base_without_a_bound_cannot_stand_beside() {
        for name in ["random", "linucb", "no-such-base"] {
            let params = CandidateParams { base: name.into(), ..CandidateParams::default() };
            assert!(params.build(&Setup::arms(3, Some(100))).is_err(), "{name}");
        }
        let mut alone = beside("exp3", 1, 100);
        assert_eq!(regret(&mut alone, &[0.5], 100, 1), 0.0);
    }
}
