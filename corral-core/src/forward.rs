//! Methods that ask another value of the same trait.

/// Writes every method of [`Base`](crate::Base), [`BaseExtra`](crate::BaseExtra) or [`Master`](crate::Master) as one that asks
/// another value, but for those that are named: inside an `impl` of the trait for what stands around something that has it
/// already. A method that the trait gains is passed on by itself.
///
/// What writes `extra` by itself, because it proposes in another way or must not [share](crate::BaseExtra::share), passes the rest
/// of `BaseExtra` on: a base inside that wants passes would not get them otherwise.
///
/// ```
/// use corral_core::{Base, BaseError, Feedback, Proposal, forward};
///
/// /// A base that counts its losses.
/// struct Counted<B>(B, u64);
///
/// impl<D, B: Base<(), D>> Base<(), D> for Counted<B> {
///     forward!(Base<(), D>: self => self.0, except learn);
///
///     fn learn(&mut self, x: &(), made: &Proposal<D>, feedback: Feedback) -> Result<(), BaseError> {
///         self.1 += 1;
///         self.0.learn(x, made, feedback)
///     }
/// }
/// ```
///
/// ```
/// use corral_core::{Base, BaseExtra, forward};
///
/// /// A base that shares nothing.
/// struct Apart<B>(B);
///
/// impl<D, B: Base<(), D>> Base<(), D> for Apart<B> {
///     forward!(Base<(), D>: self => self.0, except extra);
///
///     fn extra(&mut self) -> Option<&mut dyn BaseExtra<(), D>> {
///         Some(self)
///     }
/// }
///
/// impl<D, B: Base<(), D>> BaseExtra<(), D> for Apart<B> {
///     forward!(BaseExtra<(), D>: self => self.0, except share);
/// }
/// ```
#[macro_export]
macro_rules! forward {
    (Base<$x:ty, $d:ty>: $self:ident => $to:expr $(, except $($except:ident),+)?) => {
        $crate::forward! { @all [$($($except)+)?] $self ($to)
            fn propose(&mut self, x: &$x, rng: &mut dyn $crate::Rng) -> Result<$crate::Proposal<$d>, $crate::BaseError>;
            fn learn(&mut self, x: &$x, made: &$crate::Proposal<$d>, feedback: $crate::Feedback)
                -> Result<(), $crate::BaseError>;
            fn likelihood(&self, x: &$x, decision: &$d) -> Option<(f64, $crate::Memo)>;
            fn abilities(&self) -> $crate::Abilities;
            fn apply_order(&mut self, order: $crate::Order) -> Result<(), $crate::BaseError>;
            fn save(&self) -> Vec<u8>;
            fn load(&mut self, state: &[u8]) -> Result<(), $crate::BaseError>;
            fn extra(&mut self) -> Option<&mut dyn $crate::BaseExtra<$x, $d>>;
        }
    };
    (BaseExtra<$x:ty, $d:ty>: $self:ident => $to:expr $(, except $($except:ident),+)?) => {
        $crate::forward! { @every [$($($except)+)?] $self ($crate::Base::<$x, $d>::extra(&mut $to))
            fn pass(&mut self, x: &$x) -> Result<(), $crate::BaseError> = Ok(());
            fn share(&mut self, commons: &mut $crate::Commons) -> () = ();
            fn takes_cost(&mut self) -> bool = false;
            fn is_band(&mut self) -> bool = false;
            fn benched_inside(&mut self) -> Vec<$crate::Benched> = Vec::new();
        }
        $crate::forward!(@unless [$($($except)+)?] propose_into [$self ($to) refill $x, $d]);
    };
    (Master: $self:ident => $to:expr $(, except $($except:ident),+)?) => {
        $crate::forward! { @all [$($($except)+)?] $self ($to)
            fn probabilities(&self) -> &[f64];
            fn update(&mut self, loss: f64, credit: $crate::Credit<'_>)
                -> Result<&[(usize, $crate::Order)], $crate::MasterError>;
            fn retire(&mut self, base: usize) -> Result<(), $crate::MasterError>;
            fn limits(&self, base: usize) -> $crate::Limits;
            fn telemetry(&self) -> $crate::Telemetry<'_>;
            fn save(&self) -> Vec<u8>;
            fn load(&mut self, state: &[u8]) -> Result<(), $crate::MasterError>;
            fn extra(&mut self) -> Option<&mut dyn $crate::MasterExtra>;
        }
    };
    // All methods of a list, but for those in the brackets. (`self` of a method must be the caller's, to be that of the value.)
    (@all $except:tt $self:ident $to:tt $( fn $name:ident $args:tt -> $answer:ty; )*) => {
        $( $crate::forward!(@unless $except $name [$self $to $args $answer]); )*
    };
    // The same of what may not be there, each with the answer for then.
    (@every $except:tt $self:ident $to:tt $( fn $name:ident $args:tt -> $answer:ty = $none:expr; )*) => {
        $( $crate::forward!(@unless $except $name [$self $to $args $answer, $none]); )*
    };
    (@unless [] $name:ident [$self:ident ($to:expr) refill $x:ty, $d:ty]) => {
        fn $name(&mut $self, x: &$x, rng: &mut dyn $crate::Rng, made: &mut $crate::Proposal<$d>)
            -> Result<(), $crate::BaseError>
        {
            made.refill(&mut $to, x, rng)
        }
    };
    (@unless [] $name:ident [$self:ident ($to:expr) (&mut self $(, $arg:ident: $type:ty)*) $answer:ty, $none:expr]) => {
        fn $name(&mut $self $(, $arg: $type)*) -> $answer {
            match $to {
                Some(extra) => extra.$name($($arg),*),
                None => $none,
            }
        }
    };
    (@unless [] $name:ident [$self:ident ($to:expr) (&mut self $(, $arg:ident: $type:ty)*) $answer:ty]) => {
        fn $name(&mut $self $(, $arg: $type)*) -> $answer {
            $to.$name($($arg),*)
        }
    };
    (@unless [] $name:ident [$self:ident ($to:expr) (&self $(, $arg:ident: $type:ty)*) $answer:ty]) => {
        fn $name(&$self $(, $arg: $type)*) -> $answer {
            $to.$name($($arg),*)
        }
    };
    (@unless [propose $($_:ident)*] propose $method:tt) => {};
    (@unless [learn $($_:ident)*] learn $method:tt) => {};
    (@unless [pass $($_:ident)*] pass $method:tt) => {};
    (@unless [likelihood $($_:ident)*] likelihood $method:tt) => {};
    (@unless [abilities $($_:ident)*] abilities $method:tt) => {};
    (@unless [apply_order $($_:ident)*] apply_order $method:tt) => {};
    (@unless [save $($_:ident)*] save $method:tt) => {};
    (@unless [load $($_:ident)*] load $method:tt) => {};
    (@unless [propose_into $($_:ident)*] propose_into $method:tt) => {};
    (@unless [share $($_:ident)*] share $method:tt) => {};
    (@unless [takes_cost $($_:ident)*] takes_cost $method:tt) => {};
    (@unless [is_band $($_:ident)*] is_band $method:tt) => {};
    (@unless [benched_inside $($_:ident)*] benched_inside $method:tt) => {};
    (@unless [extra $($_:ident)*] extra $method:tt) => {};
    (@unless [probabilities $($_:ident)*] probabilities $method:tt) => {};
    (@unless [update $($_:ident)*] update $method:tt) => {};
    (@unless [retire $($_:ident)*] retire $method:tt) => {};
    (@unless [limits $($_:ident)*] limits $method:tt) => {};
    (@unless [telemetry $($_:ident)*] telemetry $method:tt) => {};
    (@unless [setup $($_:ident)*] setup $method:tt) => {};
    (@unless [next $($_:ident)*] next $method:tt) => {};
    (@unless [context $($_:ident)*] context $method:tt) => {};
    (@unless [loss $($_:ident)*] loss $method:tt) => {};
    (@unless [mean_loss $($_:ident)*] mean_loss $method:tt) => {};
    (@unless [play $($_:ident)*] play $method:tt) => {};
    (@unless [best_so_far $($_:ident)*] best_so_far $method:tt) => {};
    (@unless [about $($_:ident)*] about $method:tt) => {};
    (@unless [$other:ident $($rest:ident)*] $name:ident $method:tt) => {
        $crate::forward!(@unless [$($rest)*] $name $method);
    };
}
