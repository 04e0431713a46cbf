//! What an author says of a base beside its `Base` implementation.

use corral_core::registry::Kind;
use corral_core::{Arm, Base, BaseError, Context, Decision, Point, Setup};
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::abi;

/// The number of a kind at the boundary; there is none for [`Kind::Any`].
pub const fn kind_code(kind: Kind) -> u32 {
    match kind {
        Kind::Arms => abi::CORRAL_KIND_ARMS,
        Kind::Contextual => abi::CORRAL_KIND_CONTEXTUAL,
        Kind::Points => abi::CORRAL_KIND_POINTS,
        Kind::Any => 0,
    }
}

/// The kind of that number.
#[cfg(feature = "host")]
pub(crate) fn kind_of(code: u32) -> Option<Kind> {
    [Kind::Arms, Kind::Contextual, Kind::Points].into_iter().find(|kind| kind_code(*kind) == code)
}

/// What a base is beside a [`Base`]: how it is built from parameters, and what a catalogue says of it.
///
/// ```
/// use corral_plugin_abi::prelude::*;
///
/// /// Plays one arm for ever.
/// struct Stubborn { arm: Arm }
///
/// #[derive(Deserialize)]
/// #[serde(crate = "corral_plugin_abi::serde", deny_unknown_fields)]
/// struct StubbornParams { #[serde(default)] arm: u32 }
///
/// impl Plugin for Stubborn {
///     type Params = StubbornParams;
///     type Decision = Arm;
///     const KIND: Kind = Kind::Arms;
///     const DESCRIPTION: &'static str = "plays one arm for ever";
///     fn build(params: StubbornParams, setup: &Setup) -> Result<Self, BaseError> {
///         if (params.arm as usize) < setup.actions() {
///             Ok(Self { arm: Arm(params.arm) })
///         } else {
///             Err(BaseError::Failed(format!("arm {} of {}", params.arm, setup.actions())))
///         }
///     }
/// }
///
/// impl<X: ?Sized> Base<X, Arm> for Stubborn {
///     fn propose(&mut self, _: &X, _: &mut dyn Rng) -> Result<Proposal<Arm>, BaseError> {
///         Ok(Proposal::new(self.arm))
///     }
///     fn learn(&mut self, _: &X, _: &Proposal<Arm>, _: Feedback) -> Result<(), BaseError> { Ok(()) }
///     fn apply_order(&mut self, order: Order) -> Result<(), BaseError> {
///         order.check().map(|_| ())
///     }
///     fn save(&self) -> Vec<u8> { snapshot::seal("stubborn", 1, &self.arm) }
///     fn load(&mut self, state: &[u8]) -> Result<(), BaseError> {
///         self.arm = snapshot::open("stubborn", 1, state)?;
///         Ok(())
///     }
/// }
///
/// corral_plugin! { "stubborn" => Stubborn }
/// # fn main() {}
/// ```
pub trait Plugin: Base<Context, Self::Decision> + Sized + 'static {
    /// The parameters, as a spec file gives them. `#[serde(deny_unknown_fields)]` makes typing errors errors.
    type Params: DeserializeOwned;
    /// [`Arm`] or [`Point`].
    type Decision: Crosses;
    /// What it decides on and looks at; not [`Kind::Any`].
    const KIND: Kind;
    /// The stability exponent alpha, where one is known.
    const ALPHA: Option<f64> = None;
    /// Whether it cannot be built without a number of rounds: a band that tells its bases none tells it to this one.
    const NEEDS_HORIZON: bool = false;
    /// One sentence.
    const DESCRIPTION: &'static str;

    /// Builds the base with range 1 for the world of `setup`. Policies and context samplers do not cross the
    /// boundary: they are `None` here.
    ///
    /// # Errors
    /// A parameter that the algorithm is not defined for, or a world that it does not fit.
    fn build(params: Self::Params, setup: &Setup) -> Result<Self, BaseError>;
}

/// What crosses the boundary as a decision: [`Arm`] or [`Point`], and nothing else.
pub trait Crosses: sealed::Sealed + Decision + Serialize + DeserializeOwned {
    #[doc(hidden)]
    fn put(&self, out: &mut abi::CorralProposal) -> Result<(), BaseError>;
    #[doc(hidden)]
    fn take(&mut self, arm: u32, point: &[f64]);
    /// A buffer for `dim` coordinates, filled with NaN so that what is not written is noticed.
    #[doc(hidden)]
    fn buffer(&mut self, dim: usize) -> *mut f64;
    /// As the boundary passes it.
    #[doc(hidden)]
    fn given(&self) -> (u32, &[f64]);
}

/// Whether decisions `D` are points.
pub(crate) const fn points<D: Decision>() -> bool {
    matches!(D::KIND, Kind::Points)
}

mod sealed {
    pub trait Sealed {}
    impl Sealed for corral_core::Arm {}
    impl Sealed for corral_core::Point {}
}

impl Crosses for Arm {
    #[inline]
    fn put(&self, out: &mut abi::CorralProposal) -> Result<(), BaseError> {
        out.arm = self.0;
        Ok(())
    }
    #[inline]
    fn take(&mut self, arm: u32, _point: &[f64]) {
        self.0 = arm;
    }
    #[inline]
    fn buffer(&mut self, _dim: usize) -> *mut f64 {
        std::ptr::null_mut()
    }
    #[inline]
    fn given(&self) -> (u32, &[f64]) {
        (self.0, &[])
    }
}

impl Crosses for Point {
    fn put(&self, out: &mut abi::CorralProposal) -> Result<(), BaseError> {
        if self.0.len() != out.dim || out.point.is_null() {
            let why = format!("a point of {} coordinates where {} were announced", self.0.len(), out.dim);
            return Err(BaseError::Proposal(why));
        }
        // SAFETY: the host gave a buffer for `dim` coordinates, and the lengths agree.
        unsafe { std::ptr::copy_nonoverlapping(self.0.as_ptr(), out.point, out.dim) };
        Ok(())
    }
    fn take(&mut self, _arm: u32, point: &[f64]) {
        self.set(point);
    }
    fn buffer(&mut self, dim: usize) -> *mut f64 {
        self.0.clear();
        self.0.resize(dim, f64::NAN);
        self.0.as_mut_ptr()
    }
    fn given(&self) -> (u32, &[f64]) {
        (0, &self.0)
    }
}
