//! Bases by name: every module of bases has its `rows`, listed here.

use std::sync::LazyLock;

use corral_core::masters::RegretBound;
use corral_core::registry::{BuildError, Entry, Registry};
use corral_core::{Learner, Setup};

use crate::built::Build;
use crate::{arms, candidate, hardness, linear, points, policies};

/// What can be built.
pub static REGISTRY: LazyLock<Registry<Build>> = LazyLock::new(|| {
    let groups =
        [arms::rows(), candidate::rows(), linear::rows(), policies::rows(), points::rows(), hardness::rows()];
    Registry::new("base", groups.into_iter().flatten().collect())
});

/// What is said of everything that can be built.
pub fn entries() -> impl Iterator<Item = &'static Entry> + Clone {
    REGISTRY.entries()
}

/// Builds the base `name` with the keys of `params` for the world of `setup`, with range 1.
///
/// # Errors
/// An unknown name or key (with the nearest known ones), a value that cannot be used, or a world that the base does
/// not fit.
pub fn build(name: &str, params: &toml::Table, setup: &Setup) -> Result<Learner, BuildError> {
    (REGISTRY.find(name)?.build.learner)(params, setup)
}

/// The regret bound of the base `name` with the keys of `params` in the world of `setup`, where it has one. Masters that
/// balance bounds start from these.
pub fn regret_bound(name: &str, params: &toml::Table, setup: &Setup) -> Option<RegretBound> {
    (REGISTRY.find(name).ok()?.build.bound)(params, setup)
}

/// Whether the base `name` with the keys of `params` cannot be built without a known horizon.
pub fn needs_horizon(name: &str, params: &toml::Table) -> bool {
    REGISTRY.find(name).is_ok_and(|row| (row.build.needs_horizon)(params))
}

/// The base `name` over arms with its defaults.
#[cfg(test)]
pub(crate) fn over_arms(
    name: &str,
    setup: &Setup,
) -> Box<dyn corral_core::Base<corral_core::Context, corral_core::Arm>> {
    match build(name, &toml::Table::new(), setup) {
        Ok(Learner::Arms(base)) => base,
        _ => panic!("{name} is a base over arms"),
    }
}

#[cfg(test)]
mod tests {
    use corral_core::{BaseError, Context, Feedback, LossDomain, Space};
    use rand::SeedableRng;

    use super::*;

    fn table(text: &str) -> toml::Table {
        text.parse().unwrap()
    }

    #[test]
    fn names_are_unique_and_kebab_case() {
        let mut names: Vec<&str> = entries().map(|e| e.name).collect();
        assert!(
            names.iter().all(|n| n.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-'))
        );
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), entries().count());
    }

    #[cfg(feature = "describe")]
    #[test]
    fn every_parameter_and_every_entry_has_its_sentence_and_a_default() {
        for row in REGISTRY.rows() {
            let name = row.entry.name;
            for field in row.fields() {
                assert!(field.doc.ends_with('.'), "{name}.{}: a sentence", field.name);
                assert!(field.default.is_some(), "{name}.{}: a default", field.name);
            }
            assert!(row.entry.summary.ends_with('.'), "{name}: a sentence");
        }
    }

    #[test]
    fn a_bound_is_that_of_the_base_with_its_parameters() {
        let mut setup = Setup::arms(4, Some(1_000));
        setup.context.features = 3;
        let scale = |name: &str, params: &str| regret_bound(name, &table(params), &setup).unwrap().scale;
        // sqrt(2 K ln N) over the policies that are enumerated
        let few = scale("exp4", "policies = { trees = { sample = 50 } }");
        assert!((few - (8.0 * 50f64.ln()).sqrt()).abs() < 1e-12, "{few}");
        assert!(few < scale("exp4", "policies = { trees = { sample = 500 } }"));
        for name in ["iltcb", "epoch-greedy"] {
            let of = |depth: u32| scale(name, &format!("policies = {{ trees = {{ depth = {depth} }} }}"));
            assert!(of(2) < of(4) && of(4) < of(6), "{name}");
        }
        assert!(regret_bound("exp3", &table("rte = 1.0"), &setup).is_none());
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
        assert!(
            matches!(refused, Err(BuildError::Unfit { needs, .. }) if needs == "an environment with arms")
        );
    }

    #[test]
    fn losses_outside_the_unit_interval_are_taken_or_refused_when_built() {
        let mut setup = Setup::arms(3, Some(100));
        setup.context.row_features = 2;
        setup.losses = LossDomain::Real;
        let x = Context::with_rows(vec![], vec![1.0, 0.0, 0.0, 1.0, 0.6, -0.8], 2);
        let mut rng = rand_pcg::Pcg64Dxsm::seed_from_u64(1);
        let taken = ["ucb1", "random", "fixed", "greedy", "linucb", "lints"];
        for entry in entries() {
            let built = build(entry.name, &toml::Table::new(), &setup);
            // It takes them, over points.
            if entry.name == "lints-points" {
                assert!(built.is_err());
                continue;
            }
            if !taken.contains(&entry.name) {
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
