//! Methods that ask another value of the same trait.

/// Writes methods that ask another value: inside an `impl` of a trait for what stands around something that has it already.
///
/// ```
/// use corral_core::{Base, BaseError, Feedback, Order, Proposal, Rng, forward};
///
/// /// A base that counts its losses.
/// struct Counted<B>(B, u64);
///
/// impl<D, B: Base<(), D>> Base<(), D> for Counted<B> {
///     forward! { (self.0):
///         fn propose(&mut self, x: &(), rng: &mut dyn Rng) -> Result<Proposal<D>, BaseError>;
///         fn apply_order(&mut self, order: Order) -> Result<(), BaseError>;
///         fn save(&self) -> Vec<u8>;
///         fn load(&mut self, state: &[u8]) -> Result<(), BaseError>;
///     }
///     fn learn(&mut self, x: &(), made: &Proposal<D>, feedback: Feedback) -> Result<(), BaseError> {
///         self.1 += 1;
///         self.0.learn(x, made, feedback)
///     }
/// }
/// ```
#[macro_export]
macro_rules! forward {
    ($to:tt: $( fn $name:ident $args:tt $(-> $answer:ty)?; )*) => {
        $( $crate::forward!(@ $to $name $args $($answer)?); )*
    };
    (@ $to:tt $name:ident (&mut $self:ident $(, $arg:ident: $type:ty)*) $($answer:ty)?) => {
        fn $name(&mut $self $(, $arg: $type)*) $(-> $answer)? {
            $to.$name($($arg),*)
        }
    };
    (@ $to:tt $name:ident (&$self:ident $(, $arg:ident: $type:ty)*) $($answer:ty)?) => {
        fn $name(&$self $(, $arg: $type)*) $(-> $answer)? {
            $to.$name($($arg),*)
        }
    };
}
