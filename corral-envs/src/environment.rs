//! The role of an environment.

use corral_core::set::SetError;
use corral_core::{Arm, Feedback, ParamError, Rng, ScaleError, Setup};

use crate::table::{Table, Unlearned};

/// A world: each round it shows side information and takes a decision.
///
/// A round is `next`, then `context`, any number of `loss` and `mean_loss`, then `play`.
///
/// # What an implementation owes
/// - The loss function f_t is fixed by `next`, before the decision is seen; adaptive ones see past decisions only.
/// - `next` draws the same amount from the generator whatever was played, so that every learner of a seed faces the
///   same world (adaptive environments react to the past, but draw the same).
/// - Losses lie where `setup` says: in [0, 1], but for worlds of published experiments that did not clip them.
/// - No allocation in a round once the first rounds are over.
///
/// ```
/// use corral_core::{Arm, Context, Feedback, Rng, Setup};
/// use corral_envs::{Draw, EnvError, Environment};
/// # use rand::SeedableRng;
///
/// /// Arm 1 costs 1 with probability 1/4, arm 0 with probability 1/2.
/// struct Coins {
///     context: Context,
///     draw: Draw,
///     rounds: u64,
/// }
///
/// impl Environment<Context, Arm> for Coins {
///     fn setup(&self) -> Setup {
///         Setup::arms(2, None)
///     }
///     fn next(&mut self, rng: &mut dyn Rng) -> Result<(), EnvError> {
///         self.draw = Draw::new(rng); // everything about this round follows from it
///         self.rounds += 1;
///         Ok(())
///     }
///     fn context(&self) -> &Context {
///         &self.context
///     }
///     fn loss(&self, arm: &Arm) -> f64 {
///         f64::from(self.draw.uniform(arm.index() as u64) < self.mean_loss(arm))
///     }
///     fn mean_loss(&self, arm: &Arm) -> f64 {
///         [0.5, 0.25].get(arm.index()).copied().unwrap_or(f64::NAN)
///     }
///     fn play(&mut self, arm: &Arm) -> Result<Feedback, EnvError> {
///         Ok(Feedback::plain(self.loss(arm)))
///     }
///     fn best_so_far(&self) -> f64 {
///         0.25 * self.rounds as f64
///     }
/// }
///
/// let mut world = Coins { context: Context::plain(2), draw: Draw::none(), rounds: 0 };
/// let mut rng = rand_pcg::Pcg64Dxsm::seed_from_u64(1);
/// let (mut paid, mut regret) = (0.0, 0.0);
/// for _ in 0..1_000 {
///     world.next(&mut rng)?;
///     regret += world.mean_loss(&Arm(0));
///     paid += world.play(&Arm(0))?.estimate();
/// }
/// regret -= world.best_so_far();
/// assert!(regret == 250.0 && (paid - 500.0f64).abs() < 80.0);
/// # Ok::<(), EnvError>(())
/// ```
pub trait Environment<X: ?Sized, D>: Send {
    /// What a learner is told before the first round.
    fn setup(&self) -> Setup;

    /// Draws (x_t, f_t).
    ///
    /// # Errors
    /// The data ended or could not be read.
    fn next(&mut self, rng: &mut dyn Rng) -> Result<(), EnvError>;

    /// x_t, the side information of this round.
    fn context(&self) -> &X;

    /// f_t(decision): any decision of the space may be asked for; outside it the answer is NaN.
    fn loss(&self, decision: &D) -> f64;

    /// The conditional expectation of f_t(decision) given the past and x_t. Regret is measured with this. Outside the
    /// space the answer is NaN.
    fn mean_loss(&self, decision: &D) -> f64;

    /// Plays `decision`: puts it into the history and returns what the learner gets to see. A plain environment
    /// gives weight 1, E' gives 1/p_t or 0.
    ///
    /// # Errors
    /// The decision is outside the space.
    fn play(&mut self, decision: &D) -> Result<Feedback, EnvError>;

    /// The cumulative mean loss, over the rounds so far, of the best fixed decision (or policy of the environment's
    /// class) in hindsight. May cost a pass over the class: ask at checkpoints.
    fn best_so_far(&self) -> f64;

    /// What few environments have. May be asked in every round.
    fn about(&self) -> About<'_> {
        About::default()
    }
}

/// What else there is to say of an environment. Only the range is for learners.
#[derive(Clone, Copy)]
pub struct About<'a> {
    /// The largest weight that feedback carries from now on: 1, but for E', where a change is passed to the base by an order
    /// before the next round.
    pub range: f64,
    /// Numbers with their names, for reports: H(q) of a prior, a drawn gap.
    pub facts: &'a [(&'static str, f64)],
    /// The columns that it is made of, where it comes from a file.
    pub table: Option<&'a Table>,
    /// Who can say what learning nothing would have cost so far, in a table.
    pub unlearned: Option<&'a dyn Unlearned>,
}

impl Default for About<'_> {
    fn default() -> Self {
        Self { range: 1.0, facts: &[], table: None, unlearned: None }
    }
}

/// Writes every method of [`Environment`] as one that asks another value, but for those that are named: see
/// [`corral_core::forward!`].
macro_rules! forward {
    (Environment<$x:ty, $d:ty>: $self:ident => $to:expr $(, except $($except:ident),+)?) => {
        corral_core::forward! { @all [$($($except)+)?] $self ($to)
            fn setup(&self) -> corral_core::Setup;
            fn next(&mut self, rng: &mut dyn corral_core::Rng) -> Result<(), $crate::EnvError>;
            fn context(&self) -> &$x;
            fn loss(&self, decision: &$d) -> f64;
            fn mean_loss(&self, decision: &$d) -> f64;
            fn play(&mut self, decision: &$d) -> Result<corral_core::Feedback, $crate::EnvError>;
            fn best_so_far(&self) -> f64;
            fn about(&self) -> $crate::About<'_>;
        }
    };
}
pub(crate) use forward;

impl<X: ?Sized, D, E: Environment<X, D> + ?Sized> Environment<X, D> for Box<E> {
    forward!(Environment<X, D>: self => **self);
}

/// Why an environment could not go on.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum EnvError {
    /// A parameter that the environment is not defined for.
    #[error(transparent)]
    Param(#[from] ParamError),
    /// A set of decisions that cannot be used.
    #[error(transparent)]
    Set(#[from] SetError),
    /// A decision outside the space.
    #[error("the decision {0} is outside the space")]
    Decision(String),
    /// A loss outside the scale that it is shown by.
    #[error(transparent)]
    Scale(#[from] ScaleError),
    /// The data are over.
    #[error("the data ended after {0} rounds")]
    Ended(u64),
    /// A file that cannot be used.
    #[error("{file}{}: {why}", line.map(|l| format!(":{l}")).unwrap_or_default())]
    Data {
        /// The file.
        file: String,
        /// The line, where one is to blame.
        line: Option<u64>,
        /// What is wrong, with the value.
        why: String,
    },
}

impl EnvError {
    /// The parameter that it is about, where one is to blame.
    pub fn key(&self) -> Option<&str> {
        match self {
            Self::Param(why) => Some(why.name()),
            _ => None,
        }
    }

    /// Passes `arm` on when it is below `actions`.
    ///
    /// # Errors
    /// It is not.
    pub fn check_arm(arm: Arm, actions: usize) -> Result<Arm, Self> {
        if arm.index() < actions {
            Ok(arm)
        } else {
            Err(Self::Decision(format!("{} of {actions} arms", arm.index())))
        }
    }
}
