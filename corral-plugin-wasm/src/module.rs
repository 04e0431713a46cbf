//! From bytes to bases.

use std::fmt::Display;
use std::sync::Arc;

use corral_core::{Arm, BaseError, Learner, ParamError, Point, Setup, Space};
use corral_plugin_abi::abi::CORRAL_NEEDS_HORIZON;
use corral_plugin_abi::host::{BaseInfo, LoadError, Module};
use sha2::{Digest, Sha256};

use crate::base::{Plan, Wasm, WasmBase};
use crate::calls::Entry;
use crate::instance::Instance;
use crate::shape::{self, Shape};

/// Steps of a call, where a base's table does not say `fuel`: about a second.
const FUEL: i64 = 1_000_000_000;
/// Steps of everything that is called to look at a module.
const LOOK: u64 = 10_000_000;
/// No module has more bases.
const MOST_BASES: usize = 256;

/// How a host has a module.
#[derive(Debug)]
struct Opened(Arc<Wasm>);

/// Opens a module: compiles it, runs its start and its entry with a limit of steps, and checks its tables. For the field `wasm`
/// of [`LoadPolicy`](corral_plugin_abi::host::LoadPolicy).
///
/// # Errors
/// Why it cannot be a plugin.
pub fn open(bytes: &[u8]) -> Result<Arc<dyn Module>, LoadError> {
    let shape = shape::examine(bytes).map_err(LoadError::Wasm)?;
    let entries = entries(&shape)?;
    Ok(Arc::new(Opened(Arc::new(Wasm { shape, entries, digest: Sha256::digest(bytes).into() }))))
}

fn entries(shape: &Shape) -> Result<Vec<Entry>, LoadError> {
    let failed = |why: BaseError| LoadError::Wasm(why.to_string());
    let mut instance = Instance::new(shape, "the module", LOOK).map_err(failed)?;
    let entry = instance.entry().map_err(LoadError::Wasm)?;
    let mut entries = Vec::new();
    for index in 0..=MOST_BASES {
        let at = instance.call("corral_plugin_v1", entry, None, index as u32).map_err(failed)?;
        if at == 0 {
            return if entries.is_empty() { Err(LoadError::Empty) } else { Ok(entries) };
        }
        let found = Entry::read(instance.memory(), at as u32);
        let mut found = found.map_err(|why| LoadError::Table { index, why })?;
        let calls = found.calls((&instance.store, instance.table)).map_err(LoadError::Wasm)?;
        if let Some(extension) = calls.extension {
            let answer = instance.call("extension", extension, None, CORRAL_NEEDS_HORIZON).map_err(failed)?;
            found.info.needs_horizon = answer != 0;
        }
        if entries.iter().any(|known: &Entry| known.info.name == found.info.name) {
            return Err(LoadError::SameName(found.info.name));
        }
        entries.push(found);
    }
    Err(LoadError::TooMany(MOST_BASES))
}

impl Module for Opened {
    fn bases(&self) -> Vec<BaseInfo> {
        self.0.entries.iter().map(|entry| entry.info.clone()).collect()
    }

    fn build(&self, base: &str, params: &str, setup: &Setup) -> Result<Learner, BaseError> {
        let failed = |why: &dyn Display| BaseError::Failed(format!("{base}: {why}"));
        let place = self.0.entries.iter().position(|entry| entry.info.name == base);
        let place = place.ok_or_else(|| failed(&"there is no such base"))?;
        let mut params: toml::Table = params.parse().map_err(|e| failed(&e))?;
        let fuel = params.remove("fuel").unwrap_or(FUEL.into());
        let steps = fuel.as_integer().and_then(|steps| u64::try_from(steps).ok()).filter(|steps| *steps > 0);
        let fuel = steps.ok_or_else(|| ParamError::new("fuel", fuel, "a number of steps, at least 1"))?;
        let params = toml::to_string(&params).map_err(|e| failed(&e))?;
        let setup = Setup { policies: None, sampler: None, ..setup.clone() };
        let plan = Plan { wasm: self.0.clone(), place, params, fuel, setup };
        Ok(match plan.setup.space {
            Space::Arms(_) => Learner::Arms(Box::new(WasmBase::<Arm>::build(plan)?)),
            Space::Points(_) => Learner::Points(Box::new(WasmBase::<Point>::build(plan)?)),
        })
    }
}
