//! `base!` writes what the files of bases would repeat: the struct of parameters, the groups of parameters that several
//! bases have, and what the registry reads of it.

/// The base of a file: its name in the table of bases, its type (or, `B from P`, the struct of the file) and the sentence
/// that is its summary, its regret bound (`sqrt_bound`: a factor of sqrt(T)) and what it needs, its own parameters, and
/// the groups of parameters that it has like others (before its own, and after them `with ..`).
macro_rules! base {
    ($(#[doc = $doc:literal])+ $name:literal: pub type $base:ident = $frame:ident<$params:ident>; $($rest:tt)*) => {
        $(#[doc = $doc])+
        pub type $base = $frame<$params>;
        base! { $(#[doc = $doc])+ $name: $base from $params; $($rest)* }
    };

    ($(#[doc = $doc:literal])+ $name:literal: $base:ident from $params:ident; $($rest:tt)*) => {
        base! { @base [$params $base] [
            const NAME: &'static str = $name;
            const SUMMARY: &'static str = concat!($($doc),+).trim_ascii_start();
        ] $($rest)* }
    };

    (@base $names:tt $items:tt sqrt_bound |$world:ident| $scale:expr; $($rest:tt)*) => {
        base! { @base $names $items bound |$world| RegretBound::new($scale, 0.5); $($rest)* }
    };

    (@base $names:tt $items:tt bound |$world:ident| $bound:expr; $($rest:tt)*) => {
        base! { @base $names $items bound |self, setup| {
            let $world = $crate::built::Size::new(setup);
            Some($bound)
        }; $($rest)* }
    };

    (@base $names:tt [$($items:tt)*] bound |$me:ident, $setup:ident| $bound:expr; $($rest:tt)*) => {
        base! { @base $names [$($items)* fn bound(&$me, $setup: &Setup) -> Option<RegretBound> { $bound }] $($rest)* }
    };

    (@base $names:tt [$($items:tt)*] needs_horizon |$me:ident| $needs:expr; $($rest:tt)*) => {
        base! { @base $names [$($items)* fn needs_horizon(&$me) -> bool { $needs }] $($rest)* }
    };

    (@base $names:tt [$($items:tt)*] needs |$me:ident, $setup:ident| $needs:expr; $($rest:tt)*) => {
        base! { @base $names [$($items)* fn needs(&$me, $setup: &Setup) -> Option<&'static str> { $needs }] $($rest)* }
    };

    (@base $names:tt $items:tt params $($before:ident)? { $($fields:tt)* } $(with $($group:tt),+)?) => {
        base! { @group $names [] $items $($before)? { $($fields)* } $($($group)+)? }
    };

    (@group $names:tt [$($done:tt)*] $items:tt { $($fields:tt)* } $($rest:tt)*) => {
        base! { @group $names [$($done)* $($fields)*] $items $($rest)* }
    };

    // Which policies a base chooses from.
    (@group [$params:ident $base:ident] [$($done:tt)*] $items:tt policies $($rest:tt)*) => {
        impl $crate::policies::OverPolicies for $params {
            fn policies(&self) -> &Policies {
                &self.policies
            }
        }
        base! { @group [$params $base] [$($done)*
            /// Which policies: "environment" (its own class; auto takes it where there is one), { trees = { depth,
            /// bins, search, .. } } or { linear = { ridge, .. } }.
            policies: Policies = Policies::Auto;
        ] $items $($rest)* }
    };

    // SCRiBLe's, over points and over arms.
    (@group $names:tt [$($done:tt)*] $items:tt scrible $($rest:tt)*) => {
        base! { @group $names [$($done)*
            /// Learning rate at range 1, divided by sqrt(range) and never above 1/(4 d range); auto: sqrt(nu ln
            /// T/(2 d^2 T)).
            rate: Setting = Setting::Auto, Bounds::POSITIVE;
            /// Learn from the loss minus 1/2: unbiased too, with less variance.
            centered: bool = false;
            /// sphere, or basis: a signed axis of the ellipsoid; auto: sphere on the ball, else basis.
            direction: Direction = Direction::Auto;
        ] $items $($rest)* }
    };

    // Which of several best arms is played, of bases without contexts.
    (@group $names:tt [$($done:tt)*] [$($items:tt)*] lowest_ties $($rest:tt)*) => {
        base! { @group $names [$($done)*
            /// Which of several best arms is played: lowest or random.
            ties: Ties = Ties::Lowest;
        ] [$($items)* fn ties(&self) -> Ties { self.ties }] $($rest)* }
    };

    // Which of several best actions is played, of bases over features.
    (@group $names:tt [$($done:tt)*] [$($items:tt)*] random_ties $($rest:tt)*) => {
        base! { @group $names [$($done)*
            /// Which of several best actions is played: random or lowest.
            ties: Ties = Ties::Random;
        ] [$($items)* fn ties(&self) -> Ties { self.ties }] $($rest)* }
    };

    // What a larger range does to a lazy base.
    (@group $names:tt [$($done:tt)*] $items:tt lazy $($rest:tt)*) => {
        base! { @group $names [$($done)*
            /// What a larger range does: keep (sound, for it is lazy), or restart (as in the theorem).
            range_change: RangeChange = RangeChange::Keep;
        ] $items [RangeChange::LAZY] $($rest)* }
    };

    // What a larger range does to a base whose rate depends on it.
    (@group $names:tt [$($done:tt)*] $items:tt restarts $($rest:tt)*) => {
        base! { @group $names [$($done)*
            /// What a larger range does: restart (the paper), or retune the rate and keep the estimates.
            range_change: RangeChange = RangeChange::Restart;
        ] $items [RangeChange::TUNED] $($rest)* }
    };

    // What is true of a base without a parameter.
    (@group $names:tt $done:tt [$($items:tt)*] only_restarts $($rest:tt)*) => {
        base! { @group $names $done [$($items)*
            const RANGE_CHANGES: &'static [RangeChange] = &[RangeChange::Restart];
        ] $($rest)* }
    };
    (@group $names:tt $done:tt [$($items:tt)*] real_losses $($rest:tt)*) => {
        base! { @group $names $done [$($items)* const REAL_LOSSES: bool = true;] $($rest)* }
    };
    (@group $names:tt $done:tt [$($items:tt)*] no_matrices $($rest:tt)*) => {
        base! { @group $names $done [$($items)* const MATRICES: bool = false;] $($rest)* }
    };

    // The confidence set of OFUL and its kin, and how its best point is searched.
    (@group $names:tt [$($done:tt)*] $items:tt optimist $($rest:tt)*) => {
        base! { @group $names [$($done)*
            /// S, a bound on the length of the parameter; auto: what losses in [0, 1] allow.
            norm: Setting = Setting::Auto, SIZE;
            /// Sub-Gaussian constant of the noise.
            noise: f64 = 0.5, FACTOR;
            /// Probability of a wrong confidence set; auto: 1/T.
            delta: Setting = Setting::Auto, CONFIDENCE;
            /// Multiplies the confidence radius.
            scale: f64 = 1.0, FACTOR;
            /// What is subtracted from losses before the regression.
            offset: f64 = 0.5, OFFSET;
            /// On polytopes and boxes: vertices (exact), relaxed (an l1 ball), or auto.
            search: Search = Search::Auto;
        ] $items $($rest)* }
    };

    // The confidence set on the coordinates of the unit ball that were found to count.
    (@group $names:tt [$($done:tt)*] $items:tt restricted $($rest:tt)*) => {
        base! { @group $names [$($done)*
            /// S, a bound on the length of the parameter.
            norm: f64 = 0.5, SIZE;
            /// Sub-Gaussian constant of the noise.
            noise: f64 = 0.5, FACTOR;
            /// Probability of a wrong confidence set; auto: 1/T.
            delta: Setting = Setting::Auto, CONFIDENCE;
            /// Multiplies the confidence radius, and the threshold or weight by which coordinates are found.
            scale: f64 = 1.0, FACTOR;
            /// What is subtracted from losses before the regression.
            offset: f64 = 0.5, OFFSET;
        ] $items only_restarts $($rest)* }
    };

    // What a larger range may do, where the parameter `range_change` has a sentence of its own.
    (@group $names:tt $done:tt [$($items:tt)*] [$changes:expr] $($rest:tt)*) => {
        base! { @group $names $done [$($items)*
            const RANGE_CHANGES: &'static [RangeChange] = $changes;
            fn range_change(&self) -> RangeChange { self.range_change }
        ] $($rest)* }
    };

    // How a base over features sees the context.
    (@group [$params:ident $base:ident] [$($done:tt)*] $items:tt features $($rest:tt)*) => {
        impl $crate::linear::OverFeatures for $params {
            fn features(&self) -> &Features {
                &self.features
            }
        }
        base! { @group [$params $base] [$($done)*
            /// How the context is seen: raw, bias, one-hot, polynomial, { block = { from, to } }, { hashed = {
            /// dims, seed } }, { hashed-pairs = { dims, seed } } or { fourier = { dims, bandwidth, seed } }.
            features: Features = Features::Raw;
        ] $items $($rest)* }
    };

    // As `features`, with a ridge regression of the loss.
    (@group [$params:ident $base:ident] [$($done:tt)*] $items:tt ridge $($rest:tt)*) => {
        $crate::linear::by_ridge!($params);
        base! { @group [$params $base] [$($done)*] $items features {
            /// The regression: ridge (strength), centre (first prediction), parameters (auto, shared: one vector
            /// over the actions' features, disjoint: one per action), weighted (count examples by importance
            /// weight).
            model: RidgeParams = RidgeParams::default();
        } $($rest)* }
    };

    (@group [$params:ident $base:ident] [$($fields:tt)*] [$($items:tt)*]) => {
        corral_core::params! {
            #[doc = concat!("Parameters of [`", stringify!($base), "`].")]
            pub struct $params { $($fields)* }
        }

        impl BaseParams for $params {
            type Base = $base;
            $($items)*
        }
    };
}
