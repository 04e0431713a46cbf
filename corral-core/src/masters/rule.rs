//! A master from its rule: everything that all masters do alike, once.

use serde::{Deserialize, Serialize, de::DeserializeOwned};

use super::{Experience, MasterSetup, Roster};
use crate::audit::Audit;
use crate::master::check_share;
use crate::memory::Budget;
use crate::params::Params;
use crate::snapshot::ensure;
use crate::{
    Credit, Limits, LossDomain, Master, MasterError, MasterExtra, Order, ParamError, SnapshotError, Spending,
    Telemetry, require, snapshot,
};

/// How losses become a distribution over bases: what distinguishes one master from the next. [`Ruled`] makes a
/// [`Master`] of it, with the checks, retirement and snapshots that all share.
///
/// # What an implementation owes
/// - `learn` either succeeds or leaves the rule as it was. Loss, indices and weights were checked before.
/// - `distribute` fills a distribution over the bases of the roster, 0 for the others, as a function of its state.
/// - Neither allocates.
pub trait Rule: Clone + Send + Serialize + DeserializeOwned {
    /// Its parameters, as a spec file writes them.
    type Params: Params + PartialEq + Send;

    /// Its name in specs and snapshots.
    const NAME: &'static str;

    /// The version of its snapshots.
    const FORM: u16 = 2;

    /// A snapshot of an older version as it is written now; `None` where it is not one.
    fn upgrade(_state: &[u8]) -> Option<Vec<u8>> {
        None
    }

    /// The state before the first round.
    ///
    /// # Errors
    /// A parameter that the rule is not defined for.
    fn new(params: &Self::Params, setup: &MasterSetup) -> Result<Self, ParamError>;

    /// Goes from the state before the first round to where the plays behind `experience`, which was checked, would have brought it.
    ///
    /// # Errors
    /// It means nothing to the rule: which it does unless the rule says what it means.
    fn begin(&mut self, _experience: &[Experience]) -> Result<(), ParamError> {
        Err(Experience::refuse("means nothing to this master"))
    }

    /// Takes the experience that it began with again, after a snapshot was read: what of it is no part of the state.
    fn recall(&mut self, _experience: &[Experience]) {}

    /// Whether the rule is defined for losses outside [0, 1]. What it guarantees is about losses inside.
    fn takes_real_losses(_params: &Self::Params) -> bool {
        true
    }

    /// Learns a loss.
    ///
    /// # Errors
    /// The step could not be solved.
    fn learn(&mut self, round: Credited<'_>) -> Result<(), MasterError>;

    /// A base left the roster.
    fn retired(&mut self, _base: usize, _roster: &Roster) {}

    /// A base joins those of `roster` with probability `share`, behind them or in the place that it had: they keep their
    /// ratios, before any mixing. `fresh` is a new rule over them all, with the constants of so many. `false`: the rule
    /// takes no base in while it runs, and changed nothing.
    fn admitted(&mut self, _base: usize, _share: f64, _roster: &Roster, _fresh: Self) -> bool {
        false
    }

    /// Whether each round has one base that is followed for certain: weights are 1 then.
    const CERTAIN: bool = false;

    /// Writes the distribution of the next round.
    fn distribute(&mut self, roster: &Roster, out: &mut [f64]);

    /// Whether it has to know what every decision cost in money.
    const NEEDS_COST: bool = false;

    /// A decision for this action was made; a new distribution is asked for after it.
    fn chose(&mut self, _action: usize) {}

    /// A decision for this action cost this much (`None`: no cost of it will be known); a new distribution is asked for after it.
    fn paid(&mut self, _action: usize, _cost: Option<f64>) {}

    /// What was spent, where the rule keeps a budget.
    fn spending(&self) -> Option<Spending> {
        None
    }

    /// The largest weight, per unit of outer range, that feedback to a base can carry at present. `None` where there is
    /// none, or where it is so large (M T) that a base tuned for it would not learn: ranges then grow as they are needed.
    fn weight_range(&self) -> Option<f64> {
        Self::CERTAIN.then_some(1.0)
    }

    /// The same of one base, where bases differ.
    fn range_of(&self, _base: usize) -> Option<f64> {
        self.weight_range()
    }

    /// The bases whose range grew in the last round: each is ordered to widen it.
    fn widened(&self) -> &[usize] {
        &[]
    }

    /// The rounds that are left, where the rule counts them.
    fn remaining(&self) -> Option<u64> {
        None
    }

    /// The learning rate per base, where there is one.
    fn rates(&self) -> &[f64] {
        &[]
    }

    /// What is proved of every run, checked on this one, where that was asked for.
    fn audit(&self) -> Option<Audit> {
        None
    }

    /// Makes the buffers to work in that is no part of the state: called after a snapshot was read.
    fn resize_buffers(&mut self) {}

    /// What follows from the parameters, and holds in every round: a snapshot has the same.
    fn constants(&self) -> impl Serialize;

    /// Whether `state`, read from a snapshot, can be a state of this fresh rule, whose constants it has.
    ///
    /// # Errors
    /// Says what cannot be.
    fn admits(&self, _state: &Self) -> Result<(), SnapshotError> {
        Ok(())
    }
}

/// A loss, and the bases that it is credited to.
#[derive(Debug, Clone, Copy)]
pub struct Credited<'a> {
    /// The loss.
    pub loss: f64,
    /// Which bases are credited, with which weights.
    pub credit: Credit<'a>,
    /// The bases that are still in the band.
    pub roster: &'a Roster,
    /// The distribution in force now, which under delay is not that of the decision.
    pub current: &'a [f64],
}

impl Credited<'_> {
    /// Calls `learn(base, weight)` for every base left that is credited with a positive weight.
    #[inline]
    pub fn each(self, learn: impl FnMut(usize, f64)) {
        self.roster.credited(self.credit, learn);
    }
}

/// A snapshot of a state, with the experience that it began with.
pub(super) fn seal<R: Rule>(state: &impl Serialize, experience: &[Experience]) -> Vec<u8> {
    match experience {
        [] => snapshot::seal(R::NAME, R::FORM, state),
        _ => snapshot::seal(R::NAME, R::FORM | EXPERIENCED, &(state, experience)),
    }
}

/// Added to the version of a snapshot that has experience too.
const EXPERIENCED: u16 = 1 << 15;
const OTHER_EXPERIENCE: &str = "its experience is another than this master's";

/// A master that follows the rule `R`.
#[derive(Debug, Clone, PartialEq)]
pub struct Ruled<R: Rule> {
    now: State<R>,
    orders: Vec<(usize, Order)>,
}

/// What a snapshot keeps.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(bound = "")]
struct State<R: Rule> {
    params: R::Params,
    setup: MasterSetup,
    roster: Roster,
    rule: R,
    probabilities: Vec<f64>,
}

impl<R: Rule> State<R> {
    /// Ranges multiply. A weight is at least 1: what is below is rounding.
    fn range_of(&self, base: usize) -> Option<f64> {
        self.rule.range_of(base).map(|range| self.setup.range * range.max(1.0))
    }
}

impl<R: Rule> Ruled<R> {
    /// A master over the bases of `setup`.
    ///
    /// # Errors
    /// A parameter that the algorithm is not defined for.
    pub fn new(params: R::Params, setup: &MasterSetup) -> Result<Self, ParamError> {
        setup.check()?;
        params.check()?;
        require(
            setup.losses != LossDomain::Real || R::takes_real_losses(&params),
            "losses",
            "unbounded",
            "in [0, 1]: this master is not defined elsewhere",
        )?;
        let mut rule = R::new(&params, setup)?;
        if !setup.experience.is_empty() {
            rule.begin(&setup.experience)?;
        }
        let roster = Roster::new(setup.bases);
        let mut probabilities = vec![0.0; setup.bases];
        rule.distribute(&roster, &mut probabilities);
        // What it does later is claimed of no budget.
        let setup = MasterSetup { budget: Budget::default(), ..setup.clone() };
        // No more than all can be told to widen at once, and few are.
        let orders = Vec::with_capacity(setup.bases.min(64));
        Ok(Self { now: State { params, setup, roster, rule, probabilities }, orders })
    }

    /// Its parameters.
    pub fn params(&self) -> &R::Params {
        &self.now.params
    }

    /// Its state.
    pub fn rule(&self) -> &R {
        &self.now.rule
    }

    /// The bases that are left.
    pub fn roster(&self) -> &Roster {
        &self.now.roster
    }

    /// Reads a state, with the experience that it began with.
    fn read(&self, state: &[u8]) -> Result<State<R>, SnapshotError> {
        let upgraded = R::upgrade(state);
        let state = upgraded.as_deref().unwrap_or(state);
        let (mine, other) = match self.now.setup.experience.is_empty() {
            true => (R::FORM, R::FORM | EXPERIENCED),
            false => (R::FORM | EXPERIENCED, R::FORM),
        };
        let read = if mine == R::FORM {
            snapshot::open(R::NAME, mine, state)
        } else {
            let read: Result<(State<R>, Vec<Experience>), _> = snapshot::open(R::NAME, mine, state);
            read.map(|(state, experience)| State {
                setup: MasterSetup { experience, ..state.setup.clone() },
                ..state
            })
        };
        let read = read.map_err(|e| match e {
            SnapshotError::Version { found, .. } if found == other => SnapshotError::state(OTHER_EXPERIENCE),
            e => e,
        })?;
        ensure(read.setup.experience == self.now.setup.experience, OTHER_EXPERIENCE)?;
        Ok(read)
    }

    /// Has a base join the rule, over the bases of `setup` from then on.
    fn join(&mut self, base: usize, share: f64, setup: &MasterSetup) -> Result<(), MasterError> {
        check_share(share)?;
        let fresh = R::new(&self.now.params, setup)?;
        if self.now.rule.admitted(base, share, &self.now.roster, fresh) {
            Ok(())
        } else {
            Err(MasterError::Fixed)
        }
    }
}

impl<R: Rule> Master for Ruled<R> {
    fn probabilities(&self) -> &[f64] {
        &self.now.probabilities
    }

    fn update(&mut self, loss: f64, credit: Credit<'_>) -> Result<&[(usize, Order)], MasterError> {
        self.now.roster.check(loss, credit, self.now.setup.losses)?;
        let (roster, current) = (&self.now.roster, &self.now.probabilities[..]);
        self.now.rule.learn(Credited { loss, credit, roster, current })?;
        self.now.rule.distribute(&self.now.roster, &mut self.now.probabilities);
        self.orders.clear();
        for &base in self.now.rule.widened() {
            let range = self.now.range_of(base).unwrap_or(self.now.setup.range);
            self.orders.push((base, Order::Widen { range, remaining: self.now.rule.remaining() }));
        }
        Ok(&self.orders)
    }

    fn retire(&mut self, base: usize) -> Result<(), MasterError> {
        self.now.roster.retire(base)?;
        self.now.rule.retired(base, &self.now.roster);
        self.now.rule.distribute(&self.now.roster, &mut self.now.probabilities);
        Ok(())
    }

    fn limits(&self, base: usize) -> Limits {
        Limits { range: self.now.range_of(base), remaining: self.now.rule.remaining() }
    }

    fn telemetry(&self) -> Telemetry<'_> {
        let rule = &self.now.rule;
        let (params, audit) = (Some(&self.now.params as &dyn std::fmt::Debug), rule.audit());
        Telemetry { name: R::NAME, params, rates: rule.rates(), audit, spending: rule.spending() }
    }

    fn save(&self) -> Vec<u8> {
        seal::<R>(&self.now, &self.now.setup.experience)
    }

    fn load(&mut self, state: &[u8]) -> Result<(), MasterError> {
        self.load_of(state, self.now.setup.bases)
    }

    fn extra(&mut self) -> Option<&mut dyn MasterExtra> {
        Some(self)
    }
}

impl<R: Rule> MasterExtra for Ruled<R> {
    fn start_over(&mut self, range: f64, remaining: Option<u64>) -> Result<(), MasterError> {
        if !(1.0..f64::INFINITY).contains(&range) {
            return Err(MasterError::Range(range));
        }
        let setup = MasterSetup { range, horizon: remaining, ..self.now.setup.clone() };
        *self = Self::new(self.now.params.clone(), &setup)?;
        Ok(())
    }

    fn needs_cost(&self) -> bool {
        R::NEEDS_COST
    }

    fn chose(&mut self, action: usize) {
        if R::NEEDS_COST {
            self.now.rule.chose(action);
            self.now.rule.distribute(&self.now.roster, &mut self.now.probabilities);
        }
    }

    fn paid(&mut self, action: usize, cost: Option<f64>) {
        if R::NEEDS_COST {
            self.now.rule.paid(action, cost);
            self.now.rule.distribute(&self.now.roster, &mut self.now.probabilities);
        }
    }

    fn admit(&mut self, share: f64) -> Result<&[(usize, Order)], MasterError> {
        let mut setup = self.now.setup.clone();
        setup.bases += 1;
        if !setup.bounds.is_empty() {
            setup.bounds.push(None);
        }
        self.join(self.now.roster.bases(), share, &setup)?;
        self.now.setup = setup;
        self.now.roster.add();
        self.now.probabilities.push(0.0);
        self.now.rule.distribute(&self.now.roster, &mut self.now.probabilities);
        Ok(&[])
    }

    fn reinstate(&mut self, base: usize, share: f64) -> Result<&[(usize, Order)], MasterError> {
        if base >= self.now.roster.bases() {
            return Err(MasterError::Index { base, bases: self.now.roster.bases() });
        }
        if self.now.roster.has(base) {
            return Err(MasterError::Present(base));
        }
        self.join(base, share, &self.now.setup.clone())?;
        self.now.roster.reinstate(base);
        self.now.rule.distribute(&self.now.roster, &mut self.now.probabilities);
        Ok(&[])
    }

    fn load_of(&mut self, state: &[u8], bases: usize) -> Result<(), MasterError> {
        let mut read = self.read(state)?;
        ensure(read.params == self.now.params, "its parameters are others than this master's")?;
        // The bounds of bases that came later are those that it was told then.
        let same = (read.setup.bases, read.setup.losses) == (bases, self.now.setup.losses);
        ensure(same, "it is of another band of bases")?;
        let fresh = Self::new(read.params.clone(), &read.setup).map_err(SnapshotError::state)?;
        read.roster.validate(read.setup.bases)?;
        let constants = |rule: &R| postcard::to_stdvec(&rule.constants()).ok();
        let follow = constants(&fresh.now.rule) == constants(&read.rule);
        ensure(follow, "its constants do not follow from its parameters")?;
        fresh.now.rule.admits(&read.rule)?;
        distribution(&read.probabilities, &read.roster)?;
        read.rule.resize_buffers();
        read.rule.recall(&read.setup.experience);
        // A rule may drop bases itself: then someone of the roster is left, or it has no distribution.
        let mut next = vec![0.0; read.setup.bases];
        read.rule.clone().distribute(&read.roster, &mut next);
        distribution(&next, &read.roster)?;
        *self = Self { now: read, orders: fresh.orders };
        Ok(())
    }
}

/// Whether `p` is a distribution over the bases of `roster`.
fn distribution(p: &[f64], roster: &Roster) -> Result<(), SnapshotError> {
    let bases = roster.bases();
    ensure(p.len() == bases, format_args!("{} probabilities for {bases} bases", p.len()))?;
    for (i, &x) in p.iter().enumerate() {
        let sound = (0.0..=1.0 + 1e-9).contains(&x) && (x == 0.0 || roster.has(i));
        ensure(sound, format_args!("base {i} has probability {x}"))?;
    }
    let sum: f64 = p.iter().sum();
    ensure((sum - 1.0).abs() <= 1e-6, format_args!("probabilities sum to {sum}"))
}

/// `Ok` when `numbers` are as many as `bases`, and each satisfies `good`; else says which does not.
pub(super) fn all(
    what: &str,
    numbers: &[f64],
    bases: usize,
    good: impl Fn(f64) -> bool,
) -> Result<(), SnapshotError> {
    ensure(numbers.len() == bases, format_args!("{} {what} for {bases} bases", numbers.len()))?;
    match numbers.iter().position(|&x| !good(x)) {
        Some(i) => Err(SnapshotError::state(format!("{what} of base {i} is {}", numbers[i]))),
        None => Ok(()),
    }
}
