//! Parameters, each written once: its name, its sentence, its default and its bounds stand beside the field.
//!
//! ```
//! use corral_core::params::{Bounds, Params};
//!
//! corral_core::params! {
//!     /// Parameters of MOSS.
//!     pub struct MossParams {
//!         /// Multiplies the width.
//!         scale: f64 = 1.0, Bounds::NON_NEGATIVE;
//!         /// Which arms there are. It has no default, and must be given.
//!         arms: Vec<String>;
//!     }
//! }
//!
//! assert_eq!(MossParams::default().scale, 1.0);
//! assert_eq!(MossParams::REQUIRED, ["arms"]);
//! let negative = MossParams { scale: -1.0, ..Default::default() };
//! assert_eq!(negative.check().unwrap_err().to_string(), "scale must be non-negative and finite, but is -1");
//! ```
//!
//! What is said of a parameter elsewhere (the tables of `corral list`, the JSON Schema of a spec) follows from this one
//! place: with the feature `describe`, [`fields`](describe::fields) and [`schema`](describe::schema) read it.

use std::borrow::Cow;
use std::fmt::Debug;

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use crate::ParamError;

/// Parameters that [`params!`](crate::params!) wrote.
pub trait Params: Clone + Debug + Default + Serialize + DeserializeOwned {
    /// The keys without a default: they must be given.
    const REQUIRED: &'static [&'static str];
    /// The bounds of the keys that have some.
    const BOUNDS: &'static [(&'static str, Bounds)];

    /// Whether every value lies within its bounds.
    ///
    /// # Errors
    /// Names the first one that does not.
    fn check(&self) -> Result<(), ParamError>;

    /// Their JSON Schema. Empty where the crate that they are of lacks its own feature `describe`.
    #[cfg(feature = "describe")]
    fn schema() -> serde_json::Value {
        serde_json::Value::Null
    }
}

/// Where the numbers of a parameter may lie.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Bounds {
    /// The smallest value, itself allowed unless `above`.
    pub low: f64,
    /// The largest value, itself allowed unless `below`.
    pub high: f64,
    /// Whether `low` itself is not allowed.
    pub above: bool,
    /// Whether `high` itself is not allowed.
    pub below: bool,
}

impl Bounds {
    /// Any finite number.
    pub const FINITE: Self = Self { low: f64::NEG_INFINITY, high: f64::INFINITY, above: true, below: true };
    /// Positive and finite.
    pub const POSITIVE: Self = Self { low: 0.0, ..Self::FINITE };
    /// At least 0 and finite.
    pub const NON_NEGATIVE: Self = Self::at_least(0.0);
    /// In [0, 1].
    pub const UNIT: Self = Self::between(0.0, 1.0);
    /// In (0, 1).
    pub const INSIDE_UNIT: Self = Self { low: 0.0, high: 1.0, above: true, below: true };
    /// In (0, 1].
    pub const POSITIVE_UNIT: Self = Self { low: 0.0, high: 1.0, above: true, below: false };

    /// At least `low`, and finite.
    pub const fn at_least(low: f64) -> Self {
        Self { low, high: f64::INFINITY, above: false, below: true }
    }

    /// Above `low`, and finite.
    pub const fn above(low: f64) -> Self {
        Self { low, high: f64::INFINITY, above: true, below: true }
    }

    /// In [low, high].
    pub const fn between(low: f64, high: f64) -> Self {
        Self { low, high, above: false, below: false }
    }

    /// Whether `value` is within. Written so that NaN is not.
    pub fn contain(&self, value: f64) -> bool {
        let from = if self.above { value > self.low } else { value >= self.low };
        let to = if self.below { value < self.high } else { value <= self.high };
        from && to
    }

    /// In words: "positive and finite", "in [0, 1]".
    pub fn words(&self) -> Cow<'static, str> {
        let Self { low, high, above, below } = *self;
        if high == f64::INFINITY {
            return match (low, above) {
                (f64::NEG_INFINITY, _) => "finite".into(),
                (0.0, true) => "positive and finite".into(),
                (0.0, false) => "non-negative and finite".into(),
                (low, true) => format!("above {} and finite", short(low)).into(),
                (low, false) => format!("at least {}", short(low)).into(),
            };
        }
        let (open, close) = (if above { '(' } else { '[' }, if below { ')' } else { ']' });
        format!("in {open}{}, {}{close}", short(low), short(high)).into()
    }

    /// Whether every number of `value` is within.
    ///
    /// # Errors
    /// Names the first one that is not.
    pub fn check(&self, name: &'static str, value: &(impl Bounded + ?Sized)) -> Result<(), ParamError> {
        let mut wrong = None;
        value.numbers(&mut |number| {
            if wrong.is_none() && !self.contain(number) {
                wrong = Some(number);
            }
        });
        match wrong {
            Some(number) => Err(ParamError::new(name, short(number), self.words())),
            None => Ok(()),
        }
    }
}

/// A number as it is read best: `1e-12` and not twelve zeros.
fn short(number: f64) -> String {
    let size = number.abs();
    if size != 0.0 && !(1e-6..1e9).contains(&size) { format!("{number:e}") } else { number.to_string() }
}

/// What can have bounds: numbers, and what holds numbers.
pub trait Bounded {
    /// Shows every number that the bounds are about.
    fn numbers(&self, see: &mut dyn FnMut(f64));
}

macro_rules! bounded {
    ($($number:ty),*) => {$(
        impl Bounded for $number {
            fn numbers(&self, see: &mut dyn FnMut(f64)) {
                see(*self as f64);
            }
        }
    )*};
}
bounded!(f64, u16, u32, u64, usize, i64);

impl<T: Bounded> Bounded for Option<T> {
    fn numbers(&self, see: &mut dyn FnMut(f64)) {
        self.iter().for_each(|value| value.numbers(see));
    }
}

impl<T: Bounded> Bounded for [T] {
    fn numbers(&self, see: &mut dyn FnMut(f64)) {
        self.iter().for_each(|value| value.numbers(see));
    }
}

impl<T: Bounded> Bounded for Vec<T> {
    fn numbers(&self, see: &mut dyn FnMut(f64)) {
        self.as_slice().numbers(see);
    }
}

/// Writes a struct of parameters: one line a parameter, `name: type = default, bounds;`. Without a default the parameter
/// must be given; the bounds may be left out. Every field is public. Enums behind it are parameters that are one of several words,
/// written as in `kebab-case`. See [`params`](mod@crate::params).
#[macro_export]
macro_rules! params {
    ($( $(#[$meta:meta])* pub enum $word:ident { $($variants:tt)* } )*) => {$(
        $(#[$meta])*
        #[derive(Debug, Clone, Copy, Default, PartialEq, Eq, ::serde::Serialize, ::serde::Deserialize)]
        #[cfg_attr(feature = "describe", derive(::schemars::JsonSchema))]
        #[serde(rename_all = "kebab-case")]
        pub enum $word { $($variants)* }
    )*};
    (
        $(#[$meta:meta])*
        pub struct $name:ident {
            $( $(#[$field_meta:meta])* $field:ident : $type:ty $(= $default:expr)? $(, $bounds:expr)? ; )*
        }
        $($words:tt)*
    ) => {
        $crate::params! { $($words)* }

        $(#[$meta])*
        #[derive(Debug, Clone, PartialEq, ::serde::Serialize, ::serde::Deserialize)]
        #[cfg_attr(feature = "describe", derive(::schemars::JsonSchema))]
        #[serde(default, deny_unknown_fields)]
        pub struct $name {
            $( $(#[$field_meta])* pub $field: $type, )*
        }

        impl Default for $name {
            fn default() -> Self {
                Self { $( $field: $crate::default_of!($($default)?), )* }
            }
        }

        impl $crate::params::Params for $name {
            const REQUIRED: &'static [&'static str] =
                $crate::keys_without_default!([] $( $field $(= $default)?; )*);
            const BOUNDS: &'static [(&'static str, $crate::params::Bounds)] =
                &[$( $( (stringify!($field), $bounds), )? )*];

            fn check(&self) -> Result<(), $crate::ParamError> {
                $( $( $crate::params::Bounds::check(&$bounds, stringify!($field), &self.$field)?; )? )*
                Ok(())
            }

            #[cfg(feature = "describe")]
            fn schema() -> $crate::params::describe::Value {
                $crate::params::describe::schema::<Self>()
            }
        }
    };
}

/// The default that was written, or that of the type where none was.
#[doc(hidden)]
#[macro_export]
macro_rules! default_of {
    () => {
        Default::default()
    };
    ($default:expr) => {
        $default
    };
}

/// The names that have no default, as a constant.
#[doc(hidden)]
#[macro_export]
macro_rules! keys_without_default {
    ([$($done:expr,)*]) => { &[$($done,)*] };
    ([$($done:expr,)*] $field:ident = $default:expr; $($rest:tt)*) => {
        $crate::keys_without_default!([$($done,)*] $($rest)*)
    };
    ([$($done:expr,)*] $field:ident; $($rest:tt)*) => {
        $crate::keys_without_default!([$($done,)* stringify!($field),] $($rest)*)
    };
}

/// What follows from parameters for tables and editors (feature `describe`).
#[cfg(feature = "describe")]
pub mod describe {
    use schemars::JsonSchema;
    pub use serde_json::Value;
    use serde_json::{Map, json};

    use super::Params;

    /// One parameter, as a table shows it.
    #[derive(Debug, Clone, PartialEq, serde::Serialize)]
    pub struct Field {
        /// Its key in a spec file.
        pub name: String,
        /// Its default; `None` where it must be given.
        pub default: Option<Value>,
        /// Its sentence.
        pub doc: String,
        /// The bounds of its numbers, in words.
        pub bounds: Option<String>,
        /// The words it may be, where it is one of several.
        pub choices: Vec<String>,
    }

    /// The JSON Schema of `P`: sentences, defaults, bounds and what must be given.
    pub fn schema<P: Params + JsonSchema>() -> Value {
        let mut settings = schemars::generate::SchemaSettings::draft2020_12();
        settings.inline_subschemas = true;
        settings.meta_schema = None;
        let mut schema = Value::from(settings.into_generator().into_root_schema_for::<P>());
        if let Some(properties) = schema.get_mut("properties").and_then(Value::as_object_mut) {
            for key in P::REQUIRED {
                if let Some(property) = properties.get_mut(*key).and_then(Value::as_object_mut) {
                    property.remove("default");
                }
            }
            for (key, bounds) in P::BOUNDS {
                if let Some(property) = properties.get_mut(*key).and_then(Value::as_object_mut) {
                    limit(property, bounds);
                }
            }
        }
        if !P::REQUIRED.is_empty() {
            schema["required"] = json!(P::REQUIRED);
        }
        schema
    }

    /// Writes bounds where the numbers are: in the property itself, or in the items of a list.
    fn limit(property: &mut Map<String, Value>, bounds: &super::Bounds) {
        property.insert("x-bounds".into(), json!(bounds.words()));
        let target = match property.get_mut("items").and_then(Value::as_object_mut) {
            Some(items) => items,
            None => property,
        };
        let low = if bounds.above { "exclusiveMinimum" } else { "minimum" };
        let high = if bounds.below { "exclusiveMaximum" } else { "maximum" };
        for (key, value) in [(low, bounds.low), (high, bounds.high)] {
            if value.is_finite() {
                target.insert(key.into(), json!(value));
            }
        }
    }

    /// The parameters of `P`, in the order in which they are written.
    pub fn fields<P: Params + JsonSchema>() -> Vec<Field> {
        fields_of(&schema::<P>())
    }

    /// The parameters of a schema that [`schema`] made.
    pub fn fields_of(schema: &Value) -> Vec<Field> {
        let Some(properties) = schema.get("properties").and_then(Value::as_object) else { return Vec::new() };
        let required = schema.get("required").and_then(Value::as_array);
        let must = |name: &str| required.is_some_and(|keys| keys.iter().any(|key| key == name));
        let text = |value: Option<&Value>| value.and_then(Value::as_str).unwrap_or_default().to_owned();
        properties
            .iter()
            .map(|(name, property)| Field {
                name: name.clone(),
                default: property.get("default").filter(|_| !must(name)).cloned(),
                doc: text(property.get("description")).replace('\n', " "),
                bounds: property.get("x-bounds").and_then(Value::as_str).map(str::to_owned),
                choices: choices(property),
            })
            .collect()
    }

    /// The words that a value may be.
    fn choices(property: &Value) -> Vec<String> {
        let words = |list: &Value| -> Vec<String> {
            list.as_array().into_iter().flatten().filter_map(|v| Some(v.as_str()?.to_owned())).collect()
        };
        let mut found = property.get("enum").map(words).unwrap_or_default();
        for variant in property.get("oneOf").and_then(Value::as_array).into_iter().flatten() {
            found.extend(variant.get("const").and_then(Value::as_str).map(str::to_owned));
            found.extend(variant.get("enum").map(words).unwrap_or_default());
        }
        found
    }
}
