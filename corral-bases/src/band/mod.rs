//! One way to build a band: names or tables in, an [`Ensemble`] out. Specs, Python and Rust users call it.
//!
//! ```
//! use corral_bases::band::{Assembler, BandRecipe, Copies, MasterRecipe, Recipe};
//! use corral_core::{Arm, Context, Setup};
//! # use rand::SeedableRng;
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let setup = Setup::arms(3, Some(10_000));
//! let mut band = corral_bases::band(["ucb1", "exp3", "thompson"], &setup)?; // the practical preset
//!
//! let slow: toml::Table = r#"name = "ucb1"
//!     scale = 2.0"#.parse()?;
//! let bases = vec![Recipe::from("exp3"), Recipe::try_from(slow)?];
//! let recipe = BandRecipe { master: MasterRecipe::named("paper"), bases, copies: Copies::Count(1) };
//! let mut paper = Assembler::new(&setup).band::<Arm>(&recipe)?; // Algorithm 1
//!
//! let (x, mut rng) = (Context::plain(3), rand_pcg::Pcg64Dxsm::seed_from_u64(1));
//! for band in [&mut band, &mut paper] {
//!     let ticket = band.choose(&x, &mut rng)?;
//!     band.learn(&x, ticket, 0.5)?;
//! }
//! # Ok(())
//! # }
//! ```

mod open;
mod recipe;

use corral_core::masters::{self, MasterSetup, RegretBound};
use corral_core::registry::{BuildError, Kind};
use corral_core::{
    Arm, Base, Context, Decision, Ensemble, EnsembleParams, Learner, LossDomain, Master, ParamError, Point,
    Setup, require,
};

pub use open::open;
pub use recipe::{BandRecipe, BaseRecipe, Copies, Known, MasterRecipe, Recipe, Spend};

use crate::{Cheapest, Priced, Rescaled, Smoothed};

/// An ensemble whose master was built by name.
pub type Band<D> = Ensemble<Context, D, Box<dyn Master>>;

/// Where bases come from that this crate does not have: plugins, for one. Their names have a slash.
pub trait OtherBases {
    /// The base of a recipe, for the world of `setup`.
    ///
    /// # Errors
    /// There is no such base, or it cannot be built.
    fn build(&self, base: &BaseRecipe, setup: &Setup) -> Result<Learner, BuildError>;

    /// Whether the base of a recipe cannot be built without a known horizon.
    fn needs_horizon(&self, _base: &BaseRecipe) -> bool {
        false
    }
}

/// There are no others.
impl OtherBases for () {
    fn build(&self, base: &BaseRecipe, _: &Setup) -> Result<Learner, BuildError> {
        Err(BuildError::unfit("base", &base.name, "a folder of plugins"))
    }
}

/// A band over arms under the practical preset.
///
/// # Errors
/// What is wrong with which base.
pub fn band<R>(bases: impl IntoIterator<Item = R>, setup: &Setup) -> Result<Band<Arm>, BandError>
where
    R: TryInto<Recipe, Error: Into<BuildError>>,
{
    practical(bases, setup)
}

/// A band over points under the practical preset.
///
/// # Errors
/// What is wrong with which base.
pub fn band_over_points<R>(
    bases: impl IntoIterator<Item = R>,
    setup: &Setup,
) -> Result<Band<Point>, BandError>
where
    R: TryInto<Recipe, Error: Into<BuildError>>,
{
    practical(bases, setup)
}

fn practical<R, D: Decision>(bases: impl IntoIterator<Item = R>, setup: &Setup) -> Result<Band<D>, BandError>
where
    R: TryInto<Recipe, Error: Into<BuildError>>,
{
    let bases = bases
        .into_iter()
        .enumerate()
        .map(|(i, base)| base.try_into().map_err(|why| BandError { path: vec![i], why: why.into() }));
    let (master, copies) = (MasterRecipe::default(), Copies::Count(1));
    Assembler::new(setup).band(&BandRecipe { master, bases: bases.collect::<Result<_, _>>()?, copies })
}

/// What is wrong with a band, and with which of its members.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{}{why}", path.iter().map(|i| format!("bases[{i}]: ")).collect::<String>())]
pub struct BandError {
    /// The member, from outside to inside; empty: the band itself.
    pub path: Vec<usize>,
    /// What is wrong with it.
    pub why: BuildError,
}

impl BandError {
    /// The same error, of the member `i` of a band.
    fn of(mut self, i: usize) -> Self {
        self.path.insert(0, i);
        self
    }
}

impl From<BuildError> for BandError {
    fn from(why: BuildError) -> Self {
        Self { path: Vec::new(), why }
    }
}

/// A base that is ready to join, and the bound that it claims for its regret.
pub struct Member<D: 'static> {
    /// What it is called, to hold experience against.
    pub name: String,
    /// The base.
    pub base: Box<dyn Base<Context, D>>,
    /// See [`regret_bound`](crate::regret_bound).
    pub bound: Option<RegretBound>,
}

/// Builds learners for one world.
#[derive(Clone, Copy)]
pub struct Assembler<'a> {
    setup: &'a Setup,
    others: &'a dyn OtherBases,
}

impl<'a> Assembler<'a> {
    /// Builds learners for the world of `setup`.
    pub fn new(setup: &'a Setup) -> Self {
        Self { setup, others: &() }
    }

    /// The same, with bases of another source too.
    #[must_use]
    pub fn with(self, others: &'a dyn OtherBases) -> Self {
        Self { others, ..self }
    }

    /// A base, or a band as a base.
    ///
    /// # Errors
    /// What is wrong with which member.
    pub fn learner<D: Decision>(&self, recipe: &Recipe) -> Result<Box<dyn Base<Context, D>>, BandError> {
        match recipe {
            Recipe::Base(base) => Ok(self.base(base)?),
            Recipe::Band(band) if band.master.name == Cheapest::NAME => self.cheapest(band),
            // Its tickets travel in those of the band around it.
            Recipe::Band(band) => {
                let inner = self.band_with(band, Ok)?;
                Ok(match band.master.price {
                    None => Box::new(inner),
                    Some(price) => Box::new(Priced::new(inner, self.price(price, &band.master)?)),
                })
            }
        }
    }

    /// A band, with a secret and a copy number that the system draws: see [`open`].
    ///
    /// # Errors
    /// What is wrong with which member, or the system has no entropy.
    pub fn band<D: Decision>(&self, recipe: &BandRecipe) -> Result<Band<D>, BandError> {
        self.band_with(recipe, open)
    }

    fn band_with<D: Decision>(
        &self,
        recipe: &BandRecipe,
        params: impl FnOnce(EnsembleParams) -> Result<EnsembleParams, BuildError>,
    ) -> Result<Band<D>, BandError> {
        if let Some(bands) = recipe.master.bands()? {
            return self.band_with(&BandRecipe::of_bands(bands, &recipe.bases), params);
        }
        let BandRecipe { master, bases, copies } = recipe;
        let copies = copies.of(master.bases_setup(self.setup).horizon.unwrap_or(1));
        let mut members = Vec::with_capacity(bases.len() * copies);
        for (i, base) in bases.iter().enumerate() {
            for _ in 0..copies {
                members.push(self.member(master, base).map_err(|e| e.of(i))?);
            }
        }
        Ok(self.ensemble(master, members, params(master.ensemble_params(D::KIND, self.setup))?)?)
    }

    /// A learner as a member of a band under `master`. A base that cannot do without a horizon is given it where the master
    /// withholds it from the others.
    ///
    /// # Errors
    /// What is wrong with it.
    pub fn member<D: Decision>(
        &self,
        master: &MasterRecipe,
        recipe: &Recipe,
    ) -> Result<Member<D>, BandError> {
        let given = master.bases_setup(self.setup);
        let needed = match recipe {
            Recipe::Base(base) => {
                crate::needs_horizon(&base.name, &base.params) || self.others.needs_horizon(base)
            }
            Recipe::Band(_) => false,
        };
        let setup = if needed { self.setup } else { &given };
        let base = Assembler { setup, ..*self }.learner(recipe)?;
        let name = match recipe {
            Recipe::Base(base) => &base.name,
            Recipe::Band(band) => &band.master.name,
        };
        Ok(Member { name: name.clone(), base, bound: self.bound(master, recipe) })
    }

    /// The bound that a member of a band under `master` claims for its regret.
    pub fn bound(&self, master: &MasterRecipe, recipe: &Recipe) -> Option<RegretBound> {
        match recipe {
            Recipe::Base(base) => {
                crate::regret_bound(&base.name, &base.params, &master.bases_setup(self.setup))
            }
            Recipe::Band(_) => None,
        }
    }

    /// The ensemble of `members` under `master`: begin with [`MasterRecipe::ensemble_params`].
    ///
    /// # Errors
    /// An unknown master or key, or a value that cannot be used.
    pub fn ensemble<D: Decision>(
        &self,
        master: &MasterRecipe,
        members: Vec<Member<D>>,
        params: EnsembleParams,
    ) -> Result<Band<D>, BuildError> {
        let names: Vec<String> = members.iter().map(|m| m.name.clone()).collect();
        let (bases, bounds): (Vec<_>, Vec<_>) = members.into_iter().map(|m| (m.base, m.bound)).unzip();
        let built = self.master(master, &names, bounds)?;
        let ensemble = Ensemble::with_params(built, bases, params)
            .map_err(|e| BuildError::refused("master", &master.name, e))?;
        Ok(ensemble.with_setup(&master.bases_setup(self.setup)))
    }

    /// The master of the bases of these names, with as many `bounds`. Apart from what is generic over decisions, so that all masters are
    /// compiled in this crate alone.
    fn master(
        &self,
        master: &MasterRecipe,
        names: &[String],
        bounds: Vec<Option<RegretBound>>,
    ) -> Result<Box<dyn Master>, BuildError> {
        let refuse = |e: ParamError| BuildError::param("master", &master.name, &e);
        // Also where the master is not given it.
        require(self.setup.horizon != Some(0), "horizon", 0, "at least 1").map_err(refuse)?;
        self.setup.range.check(&self.setup.context).map_err(refuse)?;
        let given = master.bases_setup(self.setup);
        let setup = MasterSetup::new(bounds.len(), given.horizon).with_bounds(bounds);
        let setup = setup.with_losses(given.losses).with_budget(given.budget.clone());
        let setup = setup.with_experience(master.experience_over(names)?);
        masters::build(&master.name, master.params.clone(), &setup)
    }

    /// What a band with a budget falls back on: the cheapest action. Points have none, and their band at the highest price stands in.
    fn cheapest<D: Decision>(&self, band: &BandRecipe) -> Result<Box<dyn Base<Context, D>>, BandError> {
        let per_round = band.master.per_round()?;
        let built = |e| BuildError::refused("master", Cheapest::NAME, e);
        if D::KIND == Kind::Points {
            let dearest = MasterRecipe {
                price: Some(MasterRecipe::highest_price() / per_round),
                ..MasterRecipe::default()
            };
            return self.learner(&Recipe::Band(BandRecipe { master: dearest, ..band.clone() }));
        }
        let base = Cheapest::new(per_round, self.setup).map_err(built)?;
        let needs =
            || BuildError::refused("master", Cheapest::NAME, format!("does not decide on {}", D::KIND));
        Ok(D::pick(Learner::Arms(Box::new(base))).ok_or_else(needs)?)
    }

    /// Passes a price on that a band may have.
    fn price(&self, price: f64, master: &MasterRecipe) -> Result<f64, BuildError> {
        require(price >= 0.0 && price.is_finite(), "price", price, "a number of at least 0")
            .map_err(|e| BuildError::param("master", &master.name, &e))?;
        let unit = self.setup.losses == LossDomain::Unit;
        let refused =
            || BuildError::refused("master", &master.name, "has a price, which needs losses in [0, 1]");
        unit.then_some(price).ok_or_else(refused)
    }

    /// A base alone.
    ///
    /// # Errors
    /// An unknown name or key, a value that cannot be used, or a world that the base is not for.
    pub fn base<D: Decision>(&self, recipe: &BaseRecipe) -> Result<Box<dyn Base<Context, D>>, BuildError> {
        let BaseRecipe { name, smoothed, rescaled, .. } = recipe;
        if (*smoothed || *rescaled) && self.setup.losses == LossDomain::Real {
            let how = if *smoothed { "smoothed" } else { "rescaled" };
            return Err(BuildError::refused("base", name, format!("is {how}, which needs losses in [0, 1]")));
        }
        let one = || -> Result<Box<dyn Base<Context, D>>, BuildError> {
            let base = self.plain_base(recipe)?;
            Ok(if *rescaled { Box::new(Rescaled::new(base)) } else { base })
        };
        Ok(if *smoothed { Box::new(Smoothed::new(one()?, one()?)) } else { one()? })
    }

    fn plain_base<D: Decision>(&self, recipe: &BaseRecipe) -> Result<Box<dyn Base<Context, D>>, BuildError> {
        let BaseRecipe { name, params, isolate, .. } = recipe;
        let learner = if name.contains('/') {
            if self.setup.losses == LossDomain::Real {
                return Err(BuildError::unfit("base", name, "losses in [0, 1]: plugins take no others"));
            }
            self.others.build(recipe, self.setup)?
        } else if *isolate {
            return Err(BuildError::refused("base", name, "is built in: only plugins can be isolated"));
        } else {
            crate::build(name, params, self.setup)?
        };
        let needs = || BuildError::refused("base", name, format!("does not decide on {}", D::KIND));
        D::pick(learner).ok_or_else(needs)
    }
}
