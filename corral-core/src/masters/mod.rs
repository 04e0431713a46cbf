//! The masters beside Corral: what came before and after, behind the same trait, by name.
//!
//! ```
//! use corral_core::masters::{self, MasterSetup};
//! use serde::de::value::{Error, MapDeserializer};
//!
//! let params = MapDeserializer::<_, Error>::new([("mixing", 0.1)].into_iter());
//! let master = masters::build("exp3", params, &MasterSetup::new(3, Some(1000))).unwrap();
//! assert_eq!(master.probabilities(), [1.0 / 3.0; 3]);
//! ```
//!
//! What the masters share:
//! - A weight of credit that is 0 tells nothing. Masters that keep plain means (confidence bounds, balancing) count
//!   a weight of at least 1 as one observation of the raw loss, and a smaller weight as that fraction of one.
//! - Credit that comes late to a base that was retired meanwhile is checked, and dropped.
//! - `start_over` begins anew with the new range, with all bases back.
//! - Deterministic masters put probability 1 on one base. Against losses that depend on that distribution their
//!   regret is linear; each says so.
//!
//! M bases, T rounds, R_i the regret of base i; `docs/masters.md` says more of each. Status: see [`Status`](crate::registry::Status).
//!
#![doc = include_str!("masters.md")]

mod arbe;
#[cfg(feature = "published")]
mod as_published;
mod black_box;
mod bound;
mod clipped;
mod corral_spec;
mod d3rb;
mod dynamic_balancing;
mod earned;
mod entropy;
mod eta_grid;
mod exp3;
mod exp3_p;
mod exp4_mix;
mod experience;
mod fixed;
mod hedged;
mod lanes;
mod pacer;
mod practical;
mod prelude;
mod r_ed_ucb;
mod r_sr;
mod rbbe;
mod regret_balancing;
mod rising;
mod roster;
mod rule;
mod trim;
mod tsallis;
mod tsallis_inf;
mod two_step;
mod ucb;
mod uniform;

use std::sync::LazyLock;

use serde::{Deserialize, Deserializer, Serialize};

pub use arbe::{Arbe, ArbeParams, ArbeRule};
#[cfg(feature = "published")]
pub use as_published::{AsPublishedParams, AsPublishedRule};
pub use black_box::{BlackBox, BlackBoxParams, BlackBoxRule, share_beside_candidate};
pub use bound::RegretBound;
pub use corral_spec::{CorralProgram, CorralSpec, HorizonSpec};
pub use d3rb::{BalanceDraw, D3rb, D3rbParams, D3rbRule, Ed2rb, Ed2rbRule};
pub use dynamic_balancing::{DynamicBalancing, DynamicBalancingParams, DynamicBalancingRule};
pub use eta_grid::{EtaGrid, EtaGridParams, EtaGridRule};
pub use exp3::{Exp3, Exp3Params, Exp3Rule};
pub use exp3_p::{Exp3P, Exp3PParams, Exp3PRule};
pub use exp4_mix::{Exp4Mix, Exp4MixParams, Exp4MixRule};
pub use experience::Experience;
pub use fixed::{Fixed, FixedParams, FixedRule};
pub use hedged::{Hedged, HedgedParams, HedgedRule};
pub use pacer::{Pacer, PacerParams, PacerRule};
pub use practical::{Fall, Practical, PracticalParams, PracticalRule};
pub use r_ed_ucb::{REdUcb, REdUcbParams, REdUcbRule, RUcbe, RUcbeParams, RUcbeRule};
pub use r_sr::{RSr, RSrParams, RSrRule};
#[cfg(feature = "published")]
pub use rbbe::copies_of_grid;
pub use rbbe::{Rbbe, RbbeParams, RbbeRule};
pub use regret_balancing::{RegretBalancing, RegretBalancingParams, RegretBalancingRule};
pub(crate) use roster::LARGEST_WEIGHT;
pub use roster::Roster;
pub use rule::{Credited, Rule, Ruled};
pub use trim::{Schedule, Trim, TrimParams, TrimRule};
pub use tsallis_inf::{Estimator, TsallisInf, TsallisInfParams, TsallisInfRule};
pub use two_step::{TwoStep, TwoStepParams};
pub use ucb::{Ucb, UcbParams, UcbRule};
pub use uniform::{Uniform, UniformParams, UniformRule};

use crate::memory::Budget;
use crate::params::Params;
use crate::registry::{BuildError, Entry, Registry, RegistryRow, table};
use crate::{Corral, CorralParams, LossDomain, Master, MasterExtra, ParamError, require};

crate::params! {
    /// Whose rules a master follows.
    #[cfg_attr(feature = "published", doc = "")]
    #[cfg_attr(feature = "published", doc = "Its paper's, or those of the program behind published figures, so that these can be")]
    #[cfg_attr(feature = "published", doc = "reproduced (github.com/pacchiano/modelselection, of Pacchiano, Dann, Gentile 2024).")]
    pub enum Rulebook {
        /// The paper's formulas.
        #[default]
        Paper,
        /// The published program's.
        #[cfg(feature = "published")]
        PublishedCode,
    }
}

/// What a master is told before the first round.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct MasterSetup {
    /// How many bases there are.
    pub bases: usize,
    /// The number of rounds, where it is known.
    pub horizon: Option<u64>,
    /// What is known of each base's regret: empty, or one entry per base. Where nothing is known, sqrt(n) is assumed
    /// by the masters that need a bound, unless their parameters give one.
    pub bounds: Vec<Option<RegretBound>>,
    /// What earlier runs say of each base: empty, or up to one entry per base. Masters begin where so many plays would have
    /// brought them (docs/experience.md); those for which that means nothing refuse it.
    #[serde(skip)]
    pub experience: Vec<Experience>,
    /// The largest weight that the losses themselves carry: 1, but for a master that is a base of another.
    pub range: f64,
    /// Where losses lie. Masters that are not defined outside [0, 1] refuse to be built for more.
    pub losses: LossDomain,
    /// What the master may claim of memory.
    #[serde(skip)]
    pub budget: Budget,
}

impl MasterSetup {
    /// `bases` bases of which nothing is known, for `horizon` rounds.
    pub fn new(bases: usize, horizon: Option<u64>) -> Self {
        Self {
            bases,
            horizon,
            bounds: Vec::new(),
            experience: Vec::new(),
            range: 1.0,
            losses: LossDomain::Unit,
            budget: Budget::default(),
        }
    }

    /// The same, with what is known of each base's regret.
    pub fn with_bounds(self, bounds: Vec<Option<RegretBound>>) -> Self {
        Self { bounds, ..self }
    }

    /// The same, with what earlier runs say of each base.
    #[must_use]
    pub fn with_experience(self, experience: Vec<Experience>) -> Self {
        Self { experience, ..self }
    }

    /// The same, with what may be claimed of memory.
    #[must_use]
    pub fn with_budget(self, budget: Budget) -> Self {
        Self { budget, ..self }
    }

    /// The same, for losses that lie in `losses`.
    pub fn with_losses(self, losses: LossDomain) -> Self {
        Self { losses, ..self }
    }

    fn check(&self) -> Result<(), ParamError> {
        require(self.bases != 0, "bases", self.bases, "at least 1")?;
        require(self.horizon != Some(0), "horizon", 0, "at least 1")?;
        let told = self.bounds.is_empty() || self.bounds.len() == self.bases;
        require(told, "bounds", self.bounds.len(), "as many as there are bases")?;
        Experience::check(&self.experience, self)?;
        require((1.0..f64::INFINITY).contains(&self.range), "range", self.range, "finite and at least 1")?;
        self.budget.claim("the number of bases", self.bases, 8 * self.bases as u128)
    }

    /// The horizon, for masters that cannot do without.
    fn known_horizon(&self, must: &'static str) -> Result<u64, ParamError> {
        self.horizon.ok_or_else(|| ParamError::new("horizon", "not known", must))
    }

    /// Corral over these bases, for losses with these weights and `rounds` rounds.
    fn corral(&self, params: CorralParams, rounds: Option<u64>) -> Result<Corral, ParamError> {
        let corral = CorralParams { losses: self.losses, ..params };
        let mut corral = Corral::within(corral, &self.budget)?;
        if self.range > 1.0 {
            corral
                .start_over(self.range, rounds)
                .map_err(|_| ParamError::new("range", self.range, "finite and at least 1"))?;
        }
        Ok(corral)
    }

    /// Corral from the distribution that the plays behind the experience would have brought it to, by the rate in use: its
    /// theorem and its audit hold from any first distribution.
    fn experienced_corral(&self, params: CorralParams, rounds: Option<u64>) -> Result<Corral, ParamError> {
        if self.experience.is_empty() {
            return self.corral(params, rounds);
        }
        Experience::check(&self.experience, self)?;
        if params.prior.is_some() {
            return Err(Experience::refuse("goes without a prior: both say where to begin"));
        }
        let rate = self.corral(params.clone(), rounds)?.rates()[0];
        let inverse = Experience::inverse(&self.experience, self.bases, rate)?;
        let prior = Some(inverse.iter().map(|w| 1.0 / w).collect());
        self.corral(CorralParams { prior, ..params }, rounds)
    }

    /// The bound of each base: of the parameters, else of the setup, else sqrt(n).
    fn bounds_or(&self, given: Option<&[RegretBound]>) -> Result<Vec<RegretBound>, ParamError> {
        let known = |i: usize| self.bounds.get(i).copied().flatten().unwrap_or_default();
        let bounds = given.map_or_else(|| (0..self.bases).map(known).collect(), <[_]>::to_vec);
        require(bounds.len() == self.bases, "bounds", bounds.len(), "as many as there are bases")?;
        bounds.into_iter().map(RegretBound::check).collect()
    }
}

/// What a spec can name.
trait Listed {
    type Params: Params;

    const NAME: &'static str;

    fn build(params: Self::Params, setup: &MasterSetup) -> Result<Box<dyn Master>, ParamError>;
}

impl<R: Rule + 'static> Listed for Ruled<R> {
    type Params = R::Params;

    const NAME: &'static str = R::NAME;

    fn build(params: R::Params, setup: &MasterSetup) -> Result<Box<dyn Master>, ParamError> {
        Ok(Box::new(Self::new(params, setup)?))
    }
}

/// The table above.
const PAGE: &str = include_str!("masters.md");

/// What the table says of the master `name`.
fn entry(name: &'static str) -> Option<Entry> {
    let [summary, source, regret, fits, cost, status] = table::cells(PAGE, name)?;
    Some(Entry { name, summary, source, regret, fits, cost, status: table::status(status)?, ..Entry::EMPTY })
}

fn row<M: Listed>() -> RegistryRow<()> {
    // A test holds that each has its row.
    RegistryRow::of::<M::Params>(entry(M::NAME).unwrap_or(Entry { name: M::NAME, ..Entry::EMPTY }), ())
}

/// Masters by name: each is listed once.
macro_rules! masters {
    ($($master:ty),* $(,)?) => {
        /// What can be built.
        pub static REGISTRY: LazyLock<Registry<()>> =
            LazyLock::new(|| Registry::new("master", vec![$( row::<$master>() ),*]));

        /// Builds the master `name` with the keys of `params`, a map (a TOML table, say) that holds nothing but the
        /// master's own keys.
        ///
        /// # Errors
        /// An unknown name or key (with the nearest known ones), or a value that cannot be used.
        pub fn build<'de, D: Deserializer<'de>>(
            name: &str,
            params: D,
            setup: &MasterSetup,
        ) -> Result<Box<dyn Master>, BuildError> {
            let refuse = |why: ParamError| BuildError::param("master", name, &why);
            $( if name == <$master as Listed>::NAME {
                return <$master as Listed>::build(REGISTRY.read(name, params)?, setup).map_err(refuse);
            } )*
            Err(REGISTRY.find(name).err().unwrap_or_else(|| BuildError::refused("master", name, "cannot be built")))
        }
    };
}

masters!(
    CorralSpec,
    TwoStep,
    Practical,
    Exp3,
    Exp3P,
    Exp4Mix,
    Ucb,
    RegretBalancing,
    Rbbe,
    DynamicBalancing,
    D3rb,
    Ed2rb,
    Hedged,
    Arbe,
    BlackBox,
    REdUcb,
    RUcbe,
    RSr,
    TsallisInf,
    EtaGrid,
    Trim,
    Pacer,
    Uniform,
    Fixed,
);

#[cfg(test)]
mod tests {
    use serde::de::value::{Error, MapDeserializer};

    use super::*;

    fn with(keys: &'static [(&'static str, f64)]) -> impl serde::Deserializer<'static, Error = Error> {
        MapDeserializer::new(keys.iter().copied())
    }

    #[test]
    fn the_table_lists_the_masters() {
        let of = |entry: &Entry| {
            let Entry { name, summary, source, regret, fits, cost, status, .. } = entry;
            format!("| `{name}` | {summary} | {source} | {regret} | {fits} | {cost} | {status} |")
        };
        let rows = PAGE.lines().filter(|line| line.starts_with("| `"));
        assert_eq!(rows.collect::<Vec<_>>(), REGISTRY.entries().map(of).collect::<Vec<_>>());
    }

    #[test]
    fn every_entry_builds_by_its_name_with_its_defaults() {
        for entry in REGISTRY.entries() {
            let built = build(entry.name, with(&[]), &MasterSetup::new(3, Some(100)));
            assert!(built.is_ok(), "{}: {:?}", entry.name, built.err());
        }
    }

    #[test]
    fn no_master_asks_for_more_memory_than_there_is() {
        for entry in REGISTRY.entries() {
            let e = build(entry.name, with(&[]), &MasterSetup::new(1 << 31, Some(100))).err();
            let e = e.map(|e| e.to_string()).unwrap_or_default();
            assert!(e.contains("must be smaller, but is 2147483648"), "{}: {e:?}", entry.name);
        }
    }

    #[test]
    fn unknown_names_and_keys_are_reported_with_the_nearest() {
        let setup = MasterSetup::new(2, None);
        let e = build("unifrom", with(&[]), &setup).err().map(|e| e.to_string());
        assert_eq!(e.as_deref(), Some(r#"unknown master "unifrom"; did you mean "uniform"?"#));
        let e = build("exp3", with(&[("mixin", 0.1)]), &setup).err().map(|e| e.to_string());
        assert_eq!(e.as_deref(), Some(r#"unknown key of exp3 "mixin"; did you mean "mixing"?"#));
        let e = build("exp3", with(&[("mixing", 1.5)]), &setup).err().map(|e| e.to_string());
        assert_eq!(e.as_deref(), Some(r#"master "exp3": mixing must be in [0, 1], but is 1.5"#));
        let e = build("fixed", with(&[("base", 0.5)]), &setup).err().map(|e| e.to_string());
        assert!(e.as_deref().is_some_and(|e| e.starts_with(r#"master "fixed": key "base":"#)), "{e:?}");
    }
}
