//! Environments by name.
//!
//! Each folder lists its worlds; a new one adds its parameters to that list.

use std::sync::LazyLock;

use corral_core::memory::Budget;
use corral_core::registry::{BuildError, Entry, Registry};
use corral_core::{Rng, Scale};
use serde::Deserialize;

use crate::rescaled::Rescaled;
use crate::world::{AnyEnvironment, Ask, Build, WHAT};
use crate::{arms, contextual, data, hardness, points};

/// What can be built.
pub static REGISTRY: LazyLock<Registry<Build>> = LazyLock::new(|| {
    let groups = [arms::rows(), contextual::rows(), data::rows(), hardness::rows(), points::rows()];
    Registry::new(WHAT, groups.into_iter().flatten().collect())
});

/// What is said of every environment.
pub fn entries() -> impl Iterator<Item = &'static Entry> + Clone {
    REGISTRY.entries()
}

/// Keys, as TOML, that build the environment `name`: what a spec may start from, and what the tests over all
/// environments use.
pub fn example(name: &str) -> Option<&'static str> {
    REGISTRY.find(name).ok().map(|row| row.build.example)
}

/// The key of every environment that shows its losses in [0, 1]: see [`Rescaled`].
const RESCALE: &str = "rescale";

/// Builds the environment `name` with the keys of `params` for a run of `rounds` rounds. Environments that are drawn
/// at random themselves (priors, planted policies) draw from `rng`. The key `rescale` of every environment shows
/// its losses in [0, 1], see [`Rescaled`]: `{ low, high, clip, rewards }`, or `[low, high]` for losses that are clipped.
///
/// # Errors
/// An unknown name or key (with the nearest known ones), or a value that cannot be used.
pub fn build(
    name: &str,
    params: &toml::Table,
    rounds: u64,
    rng: &mut dyn Rng,
) -> Result<AnyEnvironment, BuildError> {
    build_within(name, params, rounds, rng, &Budget::default())
}

/// As [`build`], where what it takes is claimed of `budget`.
///
/// # Errors
/// As [`build`], or it takes more than is left.
pub fn build_within(
    name: &str,
    params: &toml::Table,
    rounds: u64,
    rng: &mut dyn Rng,
    budget: &Budget,
) -> Result<AnyEnvironment, BuildError> {
    let row = REGISTRY.find(name)?;
    let ask = Ask { name: row.entry.name, rounds, rng, budget: budget.clone() };
    let Some(range) = params.get(RESCALE) else { return (row.build.make)(params, ask) };
    let mut others = params.clone();
    others.remove(RESCALE);
    let world = (row.build.make)(&others, ask)?;
    let refuse = |why: &dyn std::fmt::Display| BuildError::refused(WHAT, name, why).about(Some(RESCALE));
    let scale = match range {
        toml::Value::Table(_) => Scale::deserialize(range.clone()),
        _ => <[f64; 2]>::deserialize(range.clone())
            .map(|[low, high]| Scale { clip: true, ..Scale::losses(low, high) }),
    };
    let scale = scale.map_err(|e| {
        refuse(&format!(
            "{RESCALE} must be [low, high], or {{ low, high, clip, rewards }}: {}",
            e.to_string().trim()
        ))
    })?;
    Ok(match world {
        AnyEnvironment::Arms(world) => {
            AnyEnvironment::Arms(Box::new(Rescaled::new(world, scale).map_err(|e| refuse(&e))?))
        }
        AnyEnvironment::Points(world) => {
            AnyEnvironment::Points(Box::new(Rescaled::new(world, scale).map_err(|e| refuse(&e))?))
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_lists_the_environments() {
        let of = |entry: &Entry| {
            let Entry { name, summary, source, fits, cost, kind, .. } = entry;
            format!("| `{name}` | {summary} | {source} | {fits} | {cost} | {kind} |")
        };
        let rows = crate::world::PAGE.lines().filter(|line| line.starts_with("| `"));
        assert_eq!(rows.collect::<Vec<_>>(), entries().map(of).collect::<Vec<_>>());
    }
}
