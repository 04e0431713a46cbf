//! The pool of threads, progress, interruption, and the folder that results go to.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use corral_core::memory::Budget;
use corral_envs::data::Table;

use super::cell::run_cell_within;
use super::estimate::estimate;
use super::{CellRecord, CellSpec, Plugins, build, in_threads, plugins_used};
use crate::spec::{Spec, SpecError};
use crate::store::{Manifest, Shard, Store, StoreError};

/// Told how far a run is.
pub trait Progress: Sync {
    /// `rounds` more rounds were played.
    fn advance(&self, rounds: u64);
    /// A cell ended.
    fn cell(&self, cell: &CellRecord);
    /// `left` of `cells` cells are to be run, which takes about as long as the function says, if it can.
    fn plan(&self, left: u64, cells: u64, estimate: &dyn Fn() -> Option<Duration>);
    /// Something the user should know.
    fn note(&self, text: &str);
}

/// Seconds and rounds spent per (horizon, environment, learner) in this process.
#[derive(Debug, Clone, Default)]
pub struct Timings(BTreeMap<(u64, String, String), (u64, Duration)>);

impl Timings {
    fn add(&mut self, cell: &CellRecord, spent: Duration) {
        let key = (cell.rounds, cell.environment.clone(), cell.learner.clone());
        let entry = self.0.entry(key).or_default();
        entry.0 += cell.played;
        entry.1 += spent;
    }

    /// Rounds a second on one core.
    pub fn speed(&self, rounds: u64, environment: &str, learner: &str) -> Option<f64> {
        let (played, spent) = self.0.get(&(rounds, environment.to_owned(), learner.to_owned()))?;
        Some(*played as f64 / spent.as_secs_f64().max(1e-9))
    }
}

/// Why a run did not end well.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RunError {
    /// The spec cannot be run.
    #[error(transparent)]
    Spec(#[from] SpecError),
    /// The results folder cannot be used: nothing was run.
    #[error(transparent)]
    Folder(StoreError),
    /// The results folder failed while running.
    #[error("{0}; what was finished is kept: run the same command to resume")]
    Store(StoreError),
    /// The pool of threads could not be started.
    #[error("the threads could not be started: {0}")]
    Threads(String),
    /// The user stopped it.
    #[error("interrupted with {done} of {cells} cells done; run the same command to resume")]
    Interrupted {
        /// Cells that are safe.
        done: u64,
        /// Cells of the run.
        cells: u64,
    },
}

/// Builds every environment and every learner once, each pair within `memory` bytes, so that what is wrong is said
/// before anything runs.
///
/// # Errors
/// The line of the spec, and what is wrong there.
pub fn check(spec: &Spec, plugins: &Plugins, memory: u64) -> Result<(), SpecError> {
    check_telling(spec, plugins, memory, &mut |_, _| ())
}

/// As [`check`]; the columns of every data set are told before its learners are built, with the longest horizon.
///
/// # Errors
/// The line of the spec, and what is wrong there.
pub fn check_telling(
    spec: &Spec,
    plugins: &Plugins,
    memory: u64,
    tell: &mut dyn FnMut(&Table, u64),
) -> Result<(), SpecError> {
    let longest = spec.rounds.iter().max().copied().unwrap_or(0);
    for environment in &spec.environments {
        if let Some(delay) = &environment.delay {
            corral_envs::delay(&delay.params).map_err(|e| SpecError::built(&delay.origin, &e))?;
        }
        let mut kept = None;
        for &rounds in &spec.rounds {
            let budget = Budget::of(memory);
            let world = match kept.take() {
                Some(world) => world,
                None => {
                    let world = build::world(environment, rounds, 0, &budget)?;
                    world.table().into_iter().for_each(|table| tell(table, longest));
                    world
                }
            };
            for learner in spec.learners.iter().filter(|l| l.plays_in(environment)) {
                build::probe(&world, &learner.learner, rounds, plugins, &budget.part(memory))?;
            }
            // A world of a file comes from it whatever the rounds are.
            kept = world.table().is_some().then_some(world);
        }
    }
    Ok(())
}

/// What a run may use of the machine.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Resources {
    /// Cells that run at once.
    pub jobs: usize,
    /// Bytes that all of them together may ask for when they are built.
    pub memory: u64,
}

impl Resources {
    /// As many cells as the machine has cores.
    pub fn cores() -> usize {
        std::thread::available_parallelism().map_or(1, Into::into)
    }

    /// Of one cell, when as many run as may.
    pub fn memory_of_a_cell(self) -> u64 {
        self.memory / self.jobs.max(1) as u64
    }
}

/// Runs the cells of `spec` that belong to `shard` and are not yet in `dir`, and returns all cells that are there then,
/// in order.
///
/// # Errors
/// The spec cannot be built, the folder fails, or the user interrupts. What was finished is kept.
pub fn run(
    spec: &Spec,
    plugins: &Plugins,
    dir: &Path,
    shard: Shard,
    resources: Resources,
    cancel: &AtomicBool,
    progress: &dyn Progress,
) -> Result<(Vec<CellRecord>, Timings), RunError> {
    let memory = resources.memory_of_a_cell();
    check_telling(spec, plugins, memory, &mut |table, rounds| {
        table.warnings().into_iter().chain(table.shorter_than(rounds)).for_each(|what| progress.note(&what));
    })?;
    let used = plugins_used(plugins, spec.learners.iter().map(|l| &l.learner));
    let manifest = Manifest::new(spec, shard, used);
    let store = Store::open(dir, manifest, spec).map_err(RunError::Folder)?;
    store.changed().iter().for_each(|why| progress.note(&format!("{why}; this cell is computed again")));
    progress.advance(store.played());
    let (before, total) = (store.done().clone(), shard.count(spec.cells()));
    let left = total - before.len();
    if left > 0 {
        let share = left as f64 / spec.cells() as f64;
        progress.plan(left, total, &|| estimate(spec, plugins, resources, share));
    }
    // In order: neighbours in the spec take about equally long.
    let store = Mutex::new((store, Timings::default(), None));
    let stop = || cancel.load(Ordering::Relaxed);
    let jobs = left.min(resources.jobs as u64) as usize;
    in_threads(jobs, before.missing(total), |place| {
        let started = Instant::now();
        let cell = CellSpec::of(spec, shard.cell(place));
        let (budget, advance) = (Budget::of(memory), |n| progress.advance(n));
        let played = run_cell_within(spec, &cell, plugins, &stop, &advance, &budget);
        let Some(record) = played else { return false };
        progress.cell(&record);
        if let Ok(mut guard) = store.lock() {
            let (store, timings, failed) = &mut *guard;
            timings.add(&record, started.elapsed());
            if let Err(e) = store.append(&record) {
                cancel.store(true, Ordering::Relaxed);
                failed.get_or_insert(e);
            }
        }
        !stop()
    })
    .map_err(|e| RunError::Threads(e.to_string()))?;
    let (store, timings, failed) = store.into_inner().unwrap_or_else(PoisonError::into_inner);
    if let Some(e) = failed {
        return Err(RunError::Store(e));
    }
    let done = store.done().len();
    if done < total {
        return Err(RunError::Interrupted { done, cells: total });
    }
    Ok((store.finish().map_err(RunError::Store)?, timings))
}
