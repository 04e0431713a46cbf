//! What Corral is told before the first round.

use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::{LossDomain, ParamError};

/// Parameters of [`Corral`](crate::Corral).
///
/// ```
/// use corral_core::{Corral, CorralParams, Horizon, Rate};
/// let paper = CorralParams::new(3, Horizon::Known(10_000));
/// let fast = CorralParams { rate: Rate::Fast, prior: Some(vec![2.0, 1.0, 1.0]), ..paper.clone() };
/// assert_eq!(Corral::new(fast)?.distribution(), [0.5, 0.25, 0.25]);
/// // Is the guarantee worth anything at this horizon, against a base with regret sqrt(rho T) at range rho?
/// let bound = Corral::new(paper)?.bound(0.5, 100.0);
/// assert!(bound.is_some_and(|regret| regret > 10_000.0));      // no: it exceeds T
/// let bad = CorralParams { rate: Rate::Fixed(-1.0), ..CorralParams::new(3, Horizon::Restart) };
/// assert_eq!(Corral::new(bad).unwrap_err().to_string(), "rate must be positive and finite, but is -1");
/// # Ok::<(), corral_core::ParamError>(())
/// ```
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct CorralParams {
    /// The number of bases M.
    pub bases: usize,
    /// The number of rounds T.
    #[serde(default)]
    pub horizon: Horizon,
    /// The learning rate eta.
    #[serde(default)]
    pub rate: Rate,
    /// The distribution p_1 (it need not be normalised); uniform when absent.
    #[serde(default)]
    pub prior: Option<Vec<f64>>,
    /// Whether losses are estimated around their running mean m, by m + (f - m) weight_i: estimates are signed then,
    /// and the theorem does not cover them.
    #[serde(default)]
    pub baseline: bool,
    /// Where losses lie. Outside [0, 1] the step is defined, and the theorem is not about it.
    #[serde(default)]
    pub losses: LossDomain,
    /// How a round is made.
    #[serde(default)]
    pub step: Step,
}

impl CorralParams {
    /// The paper's algorithm over `bases` bases, with the default rate.
    pub fn new(bases: usize, horizon: Horizon) -> Self {
        Self {
            bases,
            horizon,
            rate: Rate::default(),
            prior: None,
            baseline: false,
            losses: LossDomain::Unit,
            step: Step::Auto,
        }
    }

    /// Passes the parameters on when the algorithm is defined for them.
    ///
    /// # Errors
    /// Names the parameter and its value.
    pub fn check(self) -> Result<Self, ParamError> {
        if self.bases == 0 || self.bases > u32::MAX as usize {
            return Err(ParamError::new("bases", self.bases, "at least 1 (and below 2^32)"));
        }
        if self.horizon == Horizon::Known(0) {
            return Err(ParamError::new("horizon", 0, "at least 1"));
        }
        self.rate.check()?;
        if let Some(prior) = &self.prior {
            if prior.len() != self.bases {
                return Err(ParamError::new(
                    "prior",
                    format!("of length {}", prior.len()),
                    "one weight per base",
                ));
            }
            for weight in prior {
                ParamError::positive("prior", *weight)?;
            }
            let (total, least) = prior.iter().fold((0.0, f64::INFINITY), |(s, m), w| (s + w, w.min(m)));
            if !(total.is_finite() && least / total >= 1e-15) {
                return Err(ParamError::new(
                    "prior",
                    least / total,
                    "at least 1e-15 of the total for every base",
                ));
            }
        }
        Ok(self)
    }
}

/// How a round is made: two ways of the same trajectory given the same estimates, up to rounding. They draw differently from the generator.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "describe", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Step {
    /// The faster one, by the number of bases and the rate.
    #[default]
    Auto,
    /// One or two passes over all bases ([`LogBarrier`](crate::omd::LogBarrier)).
    Dense,
    /// Over clusters of bases, in a time that does not grow with their number ([`FlatBarrier`](crate::omd::FlatBarrier)).
    /// Credit to several bases at once makes it the dense one.
    Flat,
}

impl Step {
    /// Whether rounds over `bases` bases that begin with `rate` are flat. Where the cheaper step changes was measured
    /// (docs/flat-step.md, "What it costs").
    pub(super) fn is_flat(self, bases: usize, rate: f64) -> bool {
        match self {
            Self::Auto => rate <= 1.0 && bases as f64 >= 256.0 * (1.0 + 5.0 * rate),
            Self::Dense => false,
            Self::Flat => true,
        }
    }
}

/// How long the game is. In text: a number of rounds or `"restart"`. Algorithm 1 needs one of the two;
/// [`Practical`](crate::masters::Practical) needs neither.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", expecting = "a horizon must be a number of rounds or \"restart\"")]
pub enum Horizon {
    /// Epochs of 64, 128, 256, ... rounds; everything starts over with each, the bases too. Where the regret of one
    /// epoch is of order sqrt(T), this costs a factor of sqrt(2)/(sqrt(2) - 1) = 3.41.
    #[default]
    Restart,
    /// T rounds. Rounds beyond are played with the same gamma and beta and with rates that fall as if twice as long a game had
    /// been given, by bases over arms that take the game to be twice as long too, and by others that keep the rates of their last
    /// round; the theorem says nothing of them.
    #[serde(untagged)]
    Known(u64),
}

/// The learning rate eta: a trade-off, not a nuisance. Large rates follow the leader fast, and starve slow starters.
/// In a spec: a name, `{ scaled = 3 }`, `{ theory = { alpha = 0.5, regret = 100 } }`, `{ fixed = 0.1 }`, or a number.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "describe", derive(schemars::JsonSchema), schemars(rename = "Rate", transform = or_number))]
#[serde(remote = "Self", rename_all = "kebab-case")]
pub enum Rate {
    /// 1/sqrt(T): patient with slow starters.
    #[default]
    Balanced,
    /// 10/sqrt(T): for bases that learn fast.
    Fast,
    /// 30/sqrt(T): for bases that all learn from every round.
    Eager,
    /// This number over sqrt(T).
    Scaled(f64),
    /// sqrt((M-1) ln T/(c T)) with c = e^(1/ln 2)/2 = 2.12: optimal for the master's own regret.
    MasterOptimal,
    /// Optimal against a base whose regret is at most rho^alpha `regret` (the paper, section 4: the theorems for
    /// alpha = 1 and below 1). A base that is only weakly stable, and restarted when its range grows, has its regret
    /// multiplied by 2^alpha/(2^alpha - 1): multiply it in.
    Theory {
        /// The exponent alpha, in (0, 1].
        alpha: f64,
        /// The regret R(T).
        regret: f64,
    },
    /// This number.
    Fixed(f64),
}

/// The largest factor by which the rate of a base grows in T rounds: e^(log2(T M pbar_1)/ln T), where `share` is M times its
/// first probability pbar_1. Uniform: e^(1/ln 2) = 4.23 (docs/step.md, "Rates grow, and by how much").
pub(super) fn growth(ln_rounds: f64, share: f64) -> f64 {
    (1.0 / std::f64::consts::LN_2 + share.log2() / ln_rounds).exp()
}

impl Rate {
    fn check(self) -> Result<(), ParamError> {
        match self {
            Self::Fixed(rate) | Self::Scaled(rate) => ParamError::positive("rate", rate).map(drop),
            Self::Theory { alpha, regret } => {
                if !(alpha > 0.0 && alpha <= 1.0) {
                    return Err(ParamError::new("rate.theory.alpha", alpha, "in (0, 1]"));
                }
                ParamError::positive("rate.theory.regret", regret).map(drop)
            }
            _ => Ok(()),
        }
    }

    /// The number eta for M bases and a horizon that may not be known.
    pub(crate) fn given(self, bases: usize, horizon: Option<u64>) -> Result<f64, ParamError> {
        self.check()?;
        match (self, horizon) {
            (Self::Fixed(rate), _) => Ok(rate),
            (rate, Some(rounds)) => Ok(rate.value(bases, rounds)),
            (_, None) => Err(ParamError::new("rate", "a formula of T", "a number where T is not known")),
        }
    }

    /// The number eta for M bases and T rounds. T = 1 is taken for 2, and M = 1 for 2, where a formula would give 0.
    pub fn value(self, bases: usize, rounds: u64) -> f64 {
        let t = rounds.max(1) as f64;
        let m = bases.max(2) as f64;
        let ln = (rounds.max(2) as f64).ln();
        match self {
            Self::Balanced => 1.0 / t.sqrt(),
            Self::Fast => 10.0 / t.sqrt(),
            Self::Eager => 30.0 / t.sqrt(),
            Self::Scaled(scale) => scale / t.sqrt(),
            Self::MasterOptimal => ((m - 1.0) * ln / (0.5 * growth(ln, 1.0) * t)).sqrt(),
            // The paper, section 4, alpha = 1: min{1/(40 R ln T), sqrt(M/T)}.
            Self::Theory { alpha: 1.0, regret } => (1.0 / (40.0 * regret * ln)).min((m / t).sqrt()),
            // The paper, section 4, alpha < 1, with explicit constants: the minimum over eta of A/eta + B eta + C
            // eta^k, k = a/(1-a).
            Self::Theory { alpha, regret } => {
                let k = alpha / (1.0 - alpha);
                let (a, b) = ((m - 1.0) * ln, 0.5 * growth(ln, 1.0) * t);
                let ln_c = (1.0 - alpha).ln() + k * (40.0 * alpha * ln).ln() + regret.ln() / (1.0 - alpha);
                // B eta^2 + C k eta^(k+1) = A has one root, below sqrt(A/B): bisection of ln eta.
                let (mut low, mut high) = (-700.0, 0.5 * (a / b).ln());
                for _ in 0..100 {
                    let x = 0.5 * (low + high);
                    let left = b * (2.0 * x).exp() + (ln_c + k.ln() + (k + 1.0) * x).exp();
                    if left > a { high = x } else { low = x }
                }
                (0.5 * (low + high)).exp()
            }
            Self::Fixed(rate) => rate,
        }
    }
}

impl Serialize for Rate {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        Self::serialize(self, to)
    }
}

impl<'de> Deserialize<'de> for Rate {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        #[derive(Deserialize)]
        #[serde(untagged)]
        enum Written {
            Number(f64),
            Named(#[serde(with = "Rate")] Rate),
        }
        // A snapshot says which variant follows; a spec is recognised by what it looks like.
        let rate = if from.is_human_readable() {
            Written::deserialize(from).map(|written| match written {
                Written::Number(rate) => Self::Fixed(rate),
                Written::Named(rate) => rate,
            })
        } else {
            Self::deserialize(from)
        };
        rate.map_err(|_| {
            D::Error::custom(
                "a rate must be balanced, fast, eager, master-optimal, a number, { fixed = number }, \
                 { scaled = number } or { theory = { alpha = number, regret = number } }",
            )
        })
    }
}

/// In a spec a number stands for itself.
#[cfg(feature = "describe")]
fn or_number(schema: &mut schemars::Schema) {
    *schema = schemars::json_schema!({ "anyOf": [{ "type": "number", "format": "double" }, schema] });
}
