//! Bases by name: a table of rows, assembled from one constant per module.

use std::sync::LazyLock;

use corral_core::catalog::{Entry, Unknown};
use corral_core::{Arm, Base, BaseError, Context, Learner, LossDomain, Point, Setup, Space, memory};
use serde::Serialize;
use serde::de::DeserializeOwned;

/// Why a base could not be built.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum BuildError {
    /// A name or key that is not known.
    #[error(transparent)]
    Unknown(#[from] Unknown),
    /// A value that the base is not defined for.
    #[error("base {name:?}: {source}")]
    Base {
        /// The base.
        name: String,
        /// Why.
        source: BaseError,
    },
    /// A value of another type than the key's.
    #[error("base {name:?}: {why}")]
    Value {
        /// The base.
        name: String,
        /// What serde said.
        why: String,
    },
    /// The base does not fit the environment.
    #[error("base {name:?} needs {needs}")]
    Unfit {
        /// The base.
        name: String,
        /// What is missing: "an environment with points", "a known horizon", "a context sampler".
        needs: &'static str,
    },
}

/// What the registry knows of one base. Every module of bases has a constant `ROWS`, listed in [`GROUPS`].
pub(crate) struct Row {
    /// What is said of it.
    pub entry: Entry,
    /// Builds it, through [`arms`] or [`points`].
    pub build: fn(&toml::Table, &Setup) -> Result<Learner, BuildError>,
    /// Its bound, see [`regret_bound`].
    pub bound: fn(&Setup) -> Option<(f64, f64, f64)>,
    /// Its parameters when none are given, through [`defaults`].
    pub defaults: fn() -> Result<toml::Table, toml::ser::Error>,
}

/// All rows, module by module.
const GROUPS: &[&[Row]] = &[
    crate::arms::ROWS,
    crate::linear::ROWS,
    crate::policies::ROWS,
    crate::points::ROWS,
    crate::hardness::ROWS,
];

/// The bases that take losses outside [0, 1] too: they only keep means, or regress.
const DEFINED_FOR_REAL_LOSSES: &[&str] = &["ucb1", "random", "fixed", "greedy", "linucb", "lints"];

fn rows() -> impl Iterator<Item = &'static Row> {
    GROUPS.iter().flat_map(|group| group.iter())
}

fn find(name: &str) -> Result<&'static Row, Unknown> {
    rows()
        .find(|row| row.entry.name == name)
        .ok_or_else(|| Unknown::new("base", name, rows().map(|row| row.entry.name)))
}

/// What can be built.
pub fn entries() -> &'static [Entry] {
    static ENTRIES: LazyLock<Vec<Entry>> = LazyLock::new(|| rows().map(|row| row.entry).collect());
    &ENTRIES
}

/// Builds the base `name` with the keys of `params` for the world of `setup`, with range 1.
///
/// # Errors
/// An unknown name or key (with the nearest known ones), a value that cannot be used, or a world that the base does
/// not fit.
pub fn build(name: &str, params: &toml::Table, setup: &Setup) -> Result<Learner, BuildError> {
    let row = find(name)?;
    if setup.losses == LossDomain::Real && !DEFINED_FOR_REAL_LOSSES.contains(&name) {
        return Err(unfit(&row.entry, "losses in [0, 1]: it is not defined for losses outside"));
    }
    (row.build)(params, setup)
}

/// The base's regret bound R(n) = scale * n^exponent at range 1 in the world of `setup`, with its stability
/// exponent alpha, where it has one: `(scale, exponent, alpha)`. Masters that balance bounds start from these.
/// The scale is the order of the bound, without hidden constants; logarithms of n are taken at the horizon (10,000
/// where it is not known).
pub fn regret_bound(name: &str, setup: &Setup) -> Option<(f64, f64, f64)> {
    (find(name).ok()?.bound)(setup)
}

/// The parameters of the base `name` when none are given, as a spec file writes them.
///
/// # Errors
/// An unknown name.
pub fn default_params(name: &str) -> Result<toml::Table, BuildError> {
    let row = find(name)?;
    (row.defaults)().map_err(|e| BuildError::Value { name: name.to_owned(), why: e.to_string() })
}

/// Reads the keys of `table` as the parameters of `entry`; keys that it does not have get the nearest ones that it
/// has.
pub(crate) fn params<P: DeserializeOwned>(entry: &Entry, table: &toml::Table) -> Result<P, BuildError> {
    for key in table.keys() {
        if !entry.fields.iter().any(|field| field.name == key) {
            let known = entry.fields.iter().map(|field| field.name);
            return Err(Unknown::new(format!("key of {}", entry.name), key, known).into());
        }
    }
    P::deserialize(table.clone())
        .map_err(|e| BuildError::Value { name: entry.name.to_owned(), why: e.message().to_owned() })
}

/// Builds a base over arms: reads its parameters and hands them to `check`.
pub(crate) fn arms<P, B>(
    entry: &Entry,
    table: &toml::Table,
    setup: &Setup,
    check: fn(P, &Setup) -> Result<B, BaseError>,
) -> Result<Learner, BuildError>
where
    P: DeserializeOwned,
    B: Base<Context, Arm> + 'static,
{
    let params = params(entry, table)?;
    if !matches!(setup.space, Space::Arms(_)) {
        return Err(unfit(entry, "an environment with arms"));
    }
    match check(params, setup) {
        Ok(base) => Ok(Learner::Arms(Box::new(base))),
        Err(source) => Err(BuildError::Base { name: entry.name.to_owned(), source }),
    }
}

/// Bases over points whose room grows as the dimension, and not as its square.
const WITHOUT_MATRICES: &[&str] = &["bgd", "scrible"];

/// Builds a base over points: reads its parameters and hands them to `check`.
pub(crate) fn points<P, B>(
    entry: &Entry,
    table: &toml::Table,
    setup: &Setup,
    check: fn(P, &Setup) -> Result<B, BaseError>,
) -> Result<Learner, BuildError>
where
    P: DeserializeOwned,
    B: Base<Context, Point> + 'static,
{
    let params = params(entry, table)?;
    let Space::Points(set) = &setup.space else {
        return Err(unfit(entry, "an environment with points"));
    };
    let base = |source: BaseError| BuildError::Base { name: entry.name.to_owned(), source };
    let (dim, matrices) = (set.dim() as u128, !WITHOUT_MATRICES.contains(&entry.name));
    memory::claim("the dimension", dim, if matrices { dim * dim } else { dim })
        .map_err(|e| base(e.into()))?;
    match check(params, setup) {
        Ok(built) => Ok(Learner::Points(Box::new(built))),
        Err(source) => Err(base(source)),
    }
}

/// `entry` cannot be used in this world: it needs `needs`.
pub(crate) fn unfit(entry: &Entry, needs: &'static str) -> BuildError {
    BuildError::Unfit { name: entry.name.to_owned(), needs }
}

/// The default parameters as a spec file writes them.
pub(crate) fn defaults<P: Default + Serialize>() -> Result<toml::Table, toml::ser::Error> {
    toml::Table::try_from(P::default())
}

/// The horizon of `setup` as formulas use it: at least 2, and 10,000 where it is not known.
pub(crate) fn bound_horizon(setup: &Setup) -> f64 {
    setup.horizon.unwrap_or(10_000).max(2) as f64
}

#[cfg(test)]
mod tests {
    use corral_core::Feedback;
    use rand::SeedableRng;

    use super::*;

    fn table(text: &str) -> toml::Table {
        text.parse().unwrap()
    }

    #[test]
    fn names_are_unique_and_kebab_case() {
        let mut names: Vec<&str> = entries().iter().map(|e| e.name).collect();
        assert!(
            names.iter().all(|n| n.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-'))
        );
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), entries().len());
    }

    #[test]
    fn every_entry_describes_the_fields_that_serde_reads_and_their_defaults() {
        for row in rows() {
            let name = row.entry.name;
            let written = (row.defaults)().unwrap_or_else(|e| panic!("{name}: {e}"));
            let described: Vec<&str> = row.entry.fields.iter().map(|f| f.name).collect();
            let keys: Vec<&str> = written.keys().map(String::as_str).collect();
            let (mut a, mut b) = (described.clone(), keys.clone());
            a.sort_unstable();
            b.sort_unstable();
            assert_eq!(a, b, "the fields of {name}");
            for field in row.entry.fields {
                let value = table(&format!("value = {}", field.default)).remove("value").unwrap();
                assert_eq!(value, written[field.name], "default of {name}.{}", field.name);
                assert!(field.doc.ends_with('.'), "{name}.{}: a sentence", field.name);
            }
            assert!(row.entry.summary.ends_with('.'), "{name}: a sentence");
        }
    }

    #[test]
    fn unknown_names_and_keys_are_answered_with_the_nearest() {
        let setup = Setup::arms(3, Some(100));
        let no = |name: &str, params: &str| match build(name, &table(params), &setup) {
            Err(e) => e.to_string(),
            Ok(_) => String::from("built"),
        };
        assert_eq!(no("tompson", ""), r#"unknown base "tompson"; did you mean "thompson"?"#);
        assert_eq!(no("ucb1", "scal = 1.0"), r#"unknown key of ucb1 "scal"; did you mean "scale"?"#);
        assert!(no("ucb1", "scale = \"wide\"").starts_with("base \"ucb1\": "));
        assert_eq!(
            no("ucb1", "scale = -1.0"),
            r#"base "ucb1": scale must be non-negative and finite, but is -1"#
        );
    }

    #[test]
    fn bases_over_arms_do_not_fit_points() {
        let setup = Setup::new(Space::Points(corral_core::Set::Ball { dim: 2 }), Some(100));
        let refused = build("exp3", &toml::Table::new(), &setup);
        assert!(matches!(refused, Err(BuildError::Unfit { needs: "an environment with arms", .. })));
    }

    #[test]
    fn losses_outside_the_unit_interval_are_taken_or_refused_when_built() {
        let mut setup = Setup::arms(3, Some(100));
        setup.context.row_features = 2;
        setup.losses = LossDomain::Real;
        let x = Context::with_rows(vec![], vec![1.0, 0.0, 0.0, 1.0, 0.6, -0.8], 2);
        let mut rng = rand_pcg::Pcg64Dxsm::seed_from_u64(1);
        for entry in entries() {
            let built = build(entry.name, &toml::Table::new(), &setup);
            if !DEFINED_FOR_REAL_LOSSES.contains(&entry.name) {
                let needs = "losses in [0, 1]: it is not defined for losses outside";
                assert!(
                    matches!(built, Err(BuildError::Unfit { needs: n, .. }) if n == needs),
                    "{}",
                    entry.name
                );
                continue;
            }
            let mut base = built.unwrap().into_arms().unwrap();
            for loss in [-3.5, 7.0, 0.4, 1e3] {
                let made = base.propose(&x, &mut rng).unwrap();
                base.learn(&x, &made, Feedback::plain(loss)).unwrap();
            }
            let (made, before) = (base.propose(&x, &mut rng).unwrap(), base.save());
            for loss in [f64::NAN, f64::NEG_INFINITY, 1e101] {
                let refused = base.learn(&x, &made, Feedback::plain(loss));
                assert!(matches!(refused, Err(BaseError::Loss(_))), "{}: {loss}", entry.name);
            }
            assert_eq!(base.save(), before, "{}", entry.name);
            base.load(&before).unwrap();
        }
    }
}
