//! A master from its rule: everything that all masters do alike, once.

use serde::{Deserialize, Serialize, de::DeserializeOwned};

use super::{MasterSetup, Roster};
use crate::params::Params;
use crate::{
    Credit, LossDomain, Master, MasterError, Order, ParamError, SnapshotError, Telemetry,
    registry::{Described, Entry},
    snapshot,
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
    type Params: Described + PartialEq + Send;

    /// What the registry says of it.
    const ENTRY: Entry;

    /// The state before the first round.
    ///
    /// # Errors
    /// A parameter that the rule is not defined for.
    fn new(params: &Self::Params, setup: &MasterSetup) -> Result<Self, ParamError>;

    /// Whether the rule is defined for losses outside [0, 1]. What it guarantees is about losses inside.
    fn takes_real_losses(_params: &Self::Params) -> bool {
        false
    }

    /// Learns a loss. `current` is the distribution in force now, which under delay is not that of the decision.
    ///
    /// # Errors
    /// The step could not be solved.
    fn learn(
        &mut self,
        loss: f64,
        credit: Credit<'_>,
        roster: &Roster,
        current: &[f64],
    ) -> Result<(), MasterError>;

    /// A base left the roster.
    fn retired(&mut self, _base: usize, _roster: &Roster) {}

    /// A base joined with probability `share`, behind the others or in the place that it had: the others keep their
    /// ratios. `false`: the rule takes nobody in while it runs, and changed nothing.
    fn admitted(&mut self, _base: usize, _share: f64) -> bool {
        false
    }

    /// Writes the distribution of the next round.
    fn distribute(&mut self, roster: &Roster, out: &mut [f64]);

    /// The largest weight, per unit of outer range, that feedback to a base can carry at present. `None` where there is
    /// none, or where it is so large (M T) that a base tuned for it would not learn: ranges then grow as they are needed.
    fn weight_range(&self) -> Option<f64> {
        None
    }

    /// The learning rate per base, where there is one.
    fn rates(&self) -> &[f64] {
        &[]
    }

    /// Makes the room to work in that is no part of the state: called after a snapshot was read.
    fn make_room(&mut self) {}

    /// Whether `state`, read from a snapshot, can be a state of this fresh rule.
    ///
    /// # Errors
    /// Says what cannot be.
    fn admits(&self, state: &Self) -> Result<(), SnapshotError>;
}

/// A master that follows the rule `R`.
#[derive(Debug, Clone, PartialEq)]
pub struct Ruled<R: Rule> {
    params: R::Params,
    setup: MasterSetup,
    roster: Roster,
    rule: R,
    probabilities: Vec<f64>,
}

#[derive(Serialize, Deserialize)]
#[serde(bound = "")]
struct State<R: Rule> {
    params: R::Params,
    setup: MasterSetup,
    roster: Roster,
    rule: R,
    probabilities: Vec<f64>,
}

const VERSION: u16 = 2;

impl<R: Rule> Ruled<R> {
    /// A master over the bases of `setup`.
    ///
    /// # Errors
    /// A parameter that the algorithm is not defined for.
    pub fn new(params: R::Params, setup: &MasterSetup) -> Result<Self, ParamError> {
        setup.check()?;
        params.check()?;
        if setup.losses == LossDomain::Real && !R::takes_real_losses(&params) {
            return Err(ParamError::new(
                "losses",
                "unbounded",
                "in [0, 1]: this master is not defined elsewhere",
            ));
        }
        let mut rule = R::new(&params, setup)?;
        let roster = Roster::new(setup.bases);
        let mut probabilities = vec![0.0; setup.bases];
        rule.distribute(&roster, &mut probabilities);
        Ok(Self { params, setup: setup.clone(), roster, rule, probabilities })
    }

    /// Its parameters.
    pub fn params(&self) -> &R::Params {
        &self.params
    }

    /// Its state.
    pub fn rule(&self) -> &R {
        &self.rule
    }

    /// Who is left.
    pub fn roster(&self) -> &Roster {
        &self.roster
    }
}

impl<R: Rule> Master for Ruled<R> {
    fn probabilities(&self) -> &[f64] {
        &self.probabilities
    }

    fn update(&mut self, loss: f64, credit: Credit<'_>) -> Result<&[(usize, Order)], MasterError> {
        self.roster.check(loss, credit, self.setup.losses)?;
        self.rule.learn(loss, credit, &self.roster, &self.probabilities)?;
        self.rule.distribute(&self.roster, &mut self.probabilities);
        Ok(&[])
    }

    fn retire(&mut self, base: usize) -> Result<(), MasterError> {
        self.roster.retire(base)?;
        self.rule.retired(base, &self.roster);
        self.rule.distribute(&self.roster, &mut self.probabilities);
        Ok(())
    }

    fn admit(&mut self, share: f64) -> Result<(), MasterError> {
        check_share(share)?;
        let base = self.roster.bases();
        if !self.rule.admitted(base, share) {
            return Err(MasterError::Fixed);
        }
        self.setup.bases += 1;
        if !self.setup.bounds.is_empty() {
            self.setup.bounds.push(None);
        }
        self.roster.add();
        self.probabilities.push(0.0);
        self.rule.distribute(&self.roster, &mut self.probabilities);
        Ok(())
    }

    fn reinstate(&mut self, base: usize, share: f64) -> Result<(), MasterError> {
        check_share(share)?;
        if base >= self.roster.bases() {
            return Err(MasterError::Index { base, bases: self.roster.bases() });
        }
        if self.roster.has(base) {
            return Err(MasterError::Present(base));
        }
        if !self.rule.admitted(base, share) {
            return Err(MasterError::Fixed);
        }
        self.roster.reinstate(base);
        self.rule.distribute(&self.roster, &mut self.probabilities);
        Ok(())
    }

    fn start_over(&mut self, range: f64, remaining: Option<u64>) -> Result<(), MasterError> {
        if !(1.0..f64::INFINITY).contains(&range) {
            return Err(MasterError::Range(range));
        }
        let setup = MasterSetup { range, horizon: remaining, ..self.setup.clone() };
        *self = Self::new(self.params.clone(), &setup)?;
        Ok(())
    }

    fn range(&self, _base: usize) -> Option<f64> {
        self.rule.weight_range().map(|range| self.setup.range * range)
    }

    fn telemetry(&self) -> Telemetry<'_> {
        Telemetry { rates: self.rule.rates(), audit: None }
    }

    fn save(&self) -> Vec<u8> {
        let Self { params, setup, roster, rule, probabilities } = self.clone();
        snapshot::seal(R::ENTRY.name, VERSION, &State { params, setup, roster, rule, probabilities })
    }

    fn load(&mut self, state: &[u8]) -> Result<(), MasterError> {
        let mut read: State<R> = snapshot::open(R::ENTRY.name, VERSION, state)?;
        if read.params != self.params {
            return Err(SnapshotError::state("its parameters are others than this master's").into());
        }
        let band = |s: &MasterSetup| (s.bases, s.bounds.clone(), s.losses);
        if band(&read.setup) != band(&self.setup) {
            return Err(SnapshotError::state("it is of another band of bases").into());
        }
        let fresh = Self::new(read.params, &read.setup).map_err(SnapshotError::state)?;
        read.roster.validate(fresh.setup.bases)?;
        fresh.rule.admits(&read.rule)?;
        distribution(&read.probabilities, &read.roster)?;
        read.rule.make_room();
        *self = Self { roster: read.roster, rule: read.rule, probabilities: read.probabilities, ..fresh };
        Ok(())
    }
}

/// Passes over a share in (0, 1). Written so that NaN fails.
pub(crate) fn check_share(share: f64) -> Result<(), MasterError> {
    if share > 0.0 && share < 1.0 { Ok(()) } else { Err(MasterError::Share(share)) }
}

/// Whether `p` is a distribution over the bases of `roster`.
fn distribution(p: &[f64], roster: &Roster) -> Result<(), SnapshotError> {
    if p.len() != roster.bases() {
        return Err(SnapshotError::state(format!("{} probabilities for {} bases", p.len(), roster.bases())));
    }
    for (i, &x) in p.iter().enumerate() {
        if !((0.0..=1.0 + 1e-9).contains(&x) && (x == 0.0 || roster.has(i))) {
            return Err(SnapshotError::state(format!("base {i} has probability {x}")));
        }
    }
    let sum: f64 = p.iter().sum();
    if !((sum - 1.0).abs() <= 1e-6) {
        return Err(SnapshotError::state(format!("probabilities sum to {sum}")));
    }
    Ok(())
}

/// `Ok` when `numbers` are as many as `bases`, and each satisfies `good`; else says which does not.
pub(super) fn all(
    what: &str,
    numbers: &[f64],
    bases: usize,
    good: impl Fn(f64) -> bool,
) -> Result<(), SnapshotError> {
    if numbers.len() != bases {
        return Err(SnapshotError::state(format!("{} {what} for {bases} bases", numbers.len())));
    }
    match numbers.iter().position(|&x| !good(x)) {
        Some(i) => Err(SnapshotError::state(format!("{what} of base {i} is {}", numbers[i]))),
        None => Ok(()),
    }
}
