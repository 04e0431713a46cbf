//! Base algorithms for Corral: they propose decisions and learn from losses, alone or under a master.
//!
//! ```
//! use corral_bases::{Learner, build};
//! use corral_core::{Context, Feedback, Setup};
//! # use rand::SeedableRng;
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let setup = Setup::arms(3, Some(1_000));
//! let Learner::Arms(mut base) = build("ucb1", &"scale = 0.5".parse()?, &setup)? else { panic!() };
//! let (x, mut rng) = (Context::plain(3), rand_pcg::Pcg64Dxsm::seed_from_u64(1));
//! for _ in 0..1_000 {
//!     let made = base.propose(&x, &mut rng)?;
//!     let loss = [0.5, 0.2, 0.7][made.decision.index()];
//!     base.learn(&x, &made, Feedback::plain(loss))?;
//! }
//! # Ok(())
//! # }
//! ```
//!
//! [`entries`] lists what can be built by name, with every parameter. `alpha` is the exponent of weak stability: under
//! importance weights up to rho the regret is at most rho^alpha times the one below. K actions, d features, N policies,
//! T rounds. Status: `paper` is named in Table 1 or a theorem of the paper, `standard` is textbook, `from memory` has
//! constants that were not checked against the original.
//!
//! | base | paper | regret | alpha | environments | cost per round | status |
//! |---|---|---|---|---|---|---|
//! | `exp3` | Auer, Cesa-Bianchi, Freund, Schapire 2002, The nonstochastic multiarmed bandit problem | sqrt(2 K T ln K) | 1/2 | adversarial arms | O(K) | standard |
//! | `tsallis-inf` | Zimmert, Seldin 2019, An optimal algorithm for stochastic and adversarial bandits | 4 sqrt(K T); O(sum ln T/gap) when stochastic | 1/2 | stochastic and adversarial arms | O(K), about 3 passes | standard |
//! | `ucb1` | Auer, Cesa-Bianchi, Fischer 2002, Finite-time analysis of the multiarmed bandit problem | O(sqrt(K T ln T)) | 1/2 | stochastic arms | O(K) | standard |
//! | `ucb-v` | Audibert, Munos, Szepesvari 2009, Exploration-exploitation tradeoff using variance estimates | O(sqrt(K T ln T)) | 1/2 | stochastic arms | O(K) | standard |
//! | `kl-ucb` | Garivier, Cappe 2011, The KL-UCB algorithm for bounded stochastic bandits and beyond | O(sqrt(K T ln T)) | 1/2 | stochastic arms | O(K), one root per loss | standard |
//! | `moss` | Audibert, Bubeck 2009, Minimax policies for adversarial and stochastic bandits | O(sqrt(K T)) | 1/2 | stochastic arms | O(K) | standard |
//! | `thompson` | Thompson 1933, On the likelihood that one unknown probability exceeds another | O(sqrt(T K H(q))) when the prior is true | 1/2 | Bayesian stochastic arms | O(K); correlated O(K^3) per loss, finite families O(hypotheses) | paper |
//! | `fixed` | a constant | that of the arm | 0 | any | O(1) | standard |
//! | `random` | a constant | that of uniform play | 0 | any | O(1) | standard |
//! | `candidate` | Dann, Wei, Zimmert 2023, A blackbox approach to best of both worlds in bandits and beyond | that of the base, and c^2 ln T/gap where one arm is best | 1/2 | arms, adversarial or stochastic | that of the base | experimental |
//! | `epsilon-greedy` | Sutton, Barto 1998, Reinforcement learning: an introduction | O((K ln T)^(1/3) T^(2/3)) | 1/3 | stochastic arms; linear losses with contexts | O(K); with contexts O(K d) + O(d^2) per loss | standard |
//! | `greedy` | Bastani, Bayati, Khosravi 2021, Mostly exploration-free algorithms for contextual bandits | none in general | - | linear losses with diverse contexts | O(K d) + O(d^2) per loss | standard |
//! | `linucb` | Li, Chu, Langford, Schapire 2010, A contextual-bandit approach to personalized news article recommendation | O~(d sqrt T) | 1/2 | linear losses, any contexts | O(K d^2) | standard |
//! | `lints` | Agrawal, Goyal 2013, Thompson sampling for contextual bandits with linear payoffs | O~(d^(3/2) sqrt T) | 1/2 | linear losses, any contexts | O(K d^2); shared O(K d) + O(d^2) per loss | standard |
//! | `glm-ucb` | Filippi, Cappe, Garivier, Szepesvari 2010, Parametric bandits: the generalized linear case | O~(d sqrt T k/c) | 1/2 | generalised linear losses, any contexts | O(K d^2) + a fit of at most 512 examples, then O(d^3) per loss | from memory |
//! | `squarecb` | Foster, Rakhlin 2020, Beyond UCB: optimal and efficient contextual bandits with regression oracles | O(sqrt(K T RegSq)), RegSq = d ln(1 + T/d) | 1/2 | linear losses, any contexts | O(K d) + O(d^2) per loss | standard |
//! | `regcb` | Foster, Agarwal, Dudik, Luo, Schapire 2018, Practical contextual bandits with regression oracles | O~(d sqrt T) for linear classes | 1/2 | linear losses | O(K d^2) | standard |
//! | `nlms` | Nagumo, Noda 1967, A learning method for system identification | none in general | - | linear losses that drift | O(K d) | standard |
//! | `exp4` | Auer, Cesa-Bianchi, Freund, Schapire 2002, The nonstochastic multiarmed bandit problem | sqrt(2 K T ln N) | 1/2 | any contexts and losses, finitely many policies | O(N) | paper |
//! | `epoch-greedy` | Langford, Zhang 2008, The epoch-greedy algorithm for contextual multi-armed bandits | O(T^(2/3) sqrt(K ln(T N))) | 1/3 | stochastic contexts and losses, any class with an oracle | O(1), and the oracle once (first) or per epoch | paper |
//! | `iltcb` | Agarwal, Hsu, Kale, Langford, Li, Schapire 2014, Taming the monster | O~(sqrt(K T ln N)) | 1/2 | stochastic contexts and losses, any class with an oracle | O(support); (OP) at rounds 1, 2, 4, 8, .. | paper |
//! | `bistro` | Syrgkanis, Luo, Krishnamurthy, Schapire 2016, Improved regret bounds for oracle-based adversarial contextual bandits | 3.78 (K T)^(2/3) (ln N)^(1/3) | 1/3 | contexts i.i.d. from a known distribution, adversarial losses, any class with an oracle | 1 oracle call (leader), 2 (uniform) or K + 1 (water-fill) on O(T K/(L rho)) examples | paper |
//! | `scrible` | Abernethy, Hazan, Rakhlin 2012, Interior-point methods for full-information and bandit online learning | 2 d sqrt(2 nu T ln T) | 1/2 | adversarial linear losses on a convex set | O(d) on ball, box and simplex, O(m d^2 + d^3) on polytopes | paper |
//! | `scrible-arms` | Abernethy, Hazan, Rakhlin 2012, Interior-point methods for full-information and bandit online learning | 2 (K-1) sqrt(2 K T ln T) | 1/2 | adversarial arms | O(K) | paper |
//! | `bgd` | Flaxman, Kalai, McMahan 2005, Online convex optimization in the bandit setting | 2 sqrt(3 R d (L + 1/r)) T^{3/4} | 1/4 | adversarial convex Lipschitz losses on a convex set | O(d) and a projection | paper |
//! | `oful` | Abbasi-Yadkori, Pal, Szepesvari 2011, Improved algorithms for linear stochastic bandits | O~(d sqrt T) | 1/2 | stochastic linear losses on a finite set, ball, box, simplex or polytope | O(A d^2) over A points or vertices, O(d^3) on the ball | standard |
//! | `lints-points` | Agrawal, Goyal 2013, Thompson sampling for contextual bandits with linear payoffs | O~(d^(3/2) sqrt T) | 1/2 | stochastic linear losses on any set, also outside [0, 1] | O(d^2), and a linear minimum over the set | standard |
//! | `sparse-oful` | Abbasi-Yadkori, Pal, Szepesvari 2012, Online-to-confidence-set conversions and application to sparse stochastic bandits | O~(sqrt(s d T)) | 1/2 | stochastic linear losses with few relevant coordinates | O(N s^2 + d^2) with N supports, and the search of the set | standard |
//! | `sl-ucb` | Carpentier, Munos 2012, Bandit theory meets compressed sensing for high-dimensional stochastic linear bandit | O~(s sqrt T) | 1/2 | stochastic linear losses on the ball with few relevant coordinates | O(d^2), and O(s^3) on s coordinates | from memory |
//! | `group-sparse` | Johnson, Sivakumar, Banerjee 2016, Structured stochastic linear bandits | O~(s sqrt T) | 1/2 | stochastic linear losses on the ball with few relevant groups of coordinates | O(d^2), O(s^3) on s coordinates, and a group lasso at every doubling | from memory |
//! | `glm-oful` | Filippi, Cappe, Garivier, Szepesvari 2010, Parametric bandits: the generalized linear case | O~(d sqrt(T) k/c) | 1/2 | stochastic generalised linear losses on a set of points | O(n d^2) for the first 512 updates, then O(d^2), and the search of the set | standard |
//! | `hardness-first` | Agarwal, Luo, Neyshabur, Schapire 2017, hardness theorem | constant alone in its environment, linear under importance weighting | - | the environment "hardness" | O(1) | paper |
//! | `hardness-second` | Agarwal, Luo, Neyshabur, Schapire 2017, hardness theorem | constant alone in its environment, linear under importance weighting | - | the environment "hardness" | O(1) | paper |

#![forbid(unsafe_code)]

#[macro_use]
mod base;
mod built;
mod registry;
mod seeded;
mod winner;

pub mod arms;
pub mod candidate;
pub mod common;
pub mod hardness;
pub mod linear;
pub mod points;
pub mod policies;
mod prelude;
pub mod regression;
pub mod rescaled;
pub mod smoothed;

pub use built::{BaseParams, Build, Make};
pub use candidate::Candidate;
pub use corral_core::Learner;
pub use corral_core::registry::BuildError;
pub use registry::{REGISTRY, build, entries, regret_bound};
pub use rescaled::Rescaled;
pub use smoothed::Smoothed;
