//! A parameter of any size is refused by its name when a base is built, or the base lives with it.
#![cfg(feature = "describe")]

use crate::common::worlds;
use corral_bases::{BuildError, Learner, REGISTRY, build};
use corral_core::{Base, BaseError, Context, Feedback};
use rand::SeedableRng;
use rand_pcg::Pcg64Dxsm;

/// Sixty rounds, with losses of 0 and 1.
fn live<D>(mut base: Box<dyn Base<Context, D>>, x: &Context) -> Result<(), BaseError> {
    let mut rng = Pcg64Dxsm::seed_from_u64(2);
    for round in 0..60 {
        let made = base.propose(x, &mut rng)?;
        base.learn(x, &made, Feedback::plain(f64::from(round % 2)))?;
    }
    let saved = base.save();
    base.load(&saved)
}

#[test]
fn extreme_parameters_are_refused_by_name_or_lived_with() {
    let mut wrong = Vec::new();
    for row in REGISTRY.rows() {
        let name = row.entry.name;
        for field in row.fields() {
            let numeric = field.bounds.is_some();
            for value in [5e-324, 1e-300, 1e-9, 1e9, 1e18, 1e300].iter().filter(|_| numeric) {
                let table: toml::Table = format!("{} = {value:e}", field.name).parse().unwrap();
                for (setup, x) in worlds(Some(100)) {
                    if build(name, &toml::Table::new(), &setup).is_err() {
                        continue;
                    }
                    let lived = match build(name, &table, &setup) {
                        Ok(Learner::Arms(base)) => live(base, &x),
                        Ok(Learner::Points(base)) => live(base, &x),
                        Err(BuildError::Refused { why, .. }) if why.contains(&field.name) => continue,
                        // A whole number is not asked to be 1e-300.
                        Err(error) if error.to_string().contains("invalid type") => continue,
                        Err(error) => Err(BaseError::Failed(error.to_string())),
                    };
                    if let Err(error) = lived {
                        wrong.push(format!("{name}: {} = {value:e}: {error}", field.name));
                    }
                }
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn an_extreme_bandwidth_is_refused_by_its_name() {
    for bandwidth in ["5e-324", "1e300"] {
        let text = format!("features = {{ fourier = {{ dims = 4, bandwidth = {bandwidth}, seed = 1 }} }}");
        let refused = build("linucb", &text.parse().unwrap(), &crate::common::features(None))
            .err()
            .unwrap()
            .to_string();
        assert!(refused.contains("features.fourier.bandwidth must be in"), "{refused}");
    }
}
