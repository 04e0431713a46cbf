//! How long a run will take, about.

use std::cell::Cell;
use std::time::{Duration, Instant};

use corral_core::memory::Budget;

use super::CellSpec;
use super::cell::run_cell_within;
use super::{Plugins, Resources};
use crate::spec::{RunSpec, Spec};

/// All that is played to find out how long a run takes.
const PILOT: Duration = Duration::from_millis(200);
/// Of one cell.
const OF_A_CELL: Duration = Duration::from_millis(20);
/// All that is played to find out what every learner costs.
const ALL_COSTS: Duration = Duration::from_secs(3);

/// Seconds a round of the first cell of a run, from its first rounds, and from building it where they are all; `None`
/// where no round was played.
fn pilot(spec: &Spec, plugins: &Plugins, resources: Resources, run: usize) -> Option<f64> {
    let cell = CellSpec::of(spec, run as u64 * spec.seeds);
    let (begun, rounds) = (Cell::new(None), Cell::new(0u64));
    let started = Instant::now();
    // It is asked after every round.
    let stop = || {
        rounds.set(rounds.get() + 1);
        let since = begun.get().unwrap_or_else(Instant::now);
        begun.set(Some(since));
        // A clock costs as much as a fast round: it is read seldom, but early enough where rounds are slow.
        (rounds.get() % 16 == 0 || rounds.get().is_power_of_two()) && since.elapsed() > OF_A_CELL
    };
    let budget = Budget::of(resources.memory_of_a_cell());
    run_cell_within(spec, &cell, plugins, &stop, &|_| (), &budget);
    let since = begun.get().filter(|_| rounds.get() > 1).unwrap_or(started);
    (rounds.get() > 0).then(|| since.elapsed().as_secs_f64() / rounds.get() as f64)
}

/// About how long `share` (in [0, 1]) of the cells of `spec` take, from the first rounds of some of them; `None` where
/// no round was played.
pub fn estimate(spec: &Spec, plugins: &Plugins, resources: Resources, share: f64) -> Option<Duration> {
    let started = Instant::now();
    let runs = spec.runs.len();
    // Every so manieth run, so that the sample is spread over the spec.
    let step = runs.div_ceil((PILOT.as_millis() / OF_A_CELL.as_millis()) as usize).max(1);
    // Seconds that the cells of the sample take, and their rounds.
    let (mut seconds, mut sampled) = (0.0, 0.0);
    for run in (0..runs).step_by(step) {
        if started.elapsed() > PILOT {
            break;
        }
        if let Some(round) = pilot(spec, plugins, resources, run) {
            let rounds = spec.rounds[spec.runs[run].horizon] as f64;
            seconds += rounds * round;
            sampled += rounds;
        }
    }
    if sampled == 0.0 {
        return None;
    }
    let all: f64 = spec.runs.iter().map(|r| spec.rounds[r.horizon] as f64 * spec.seeds as f64).sum();
    Duration::try_from_secs_f64(seconds * (all / sampled) * share / resources.jobs.max(1) as f64).ok()
}

/// Seconds a round of every run of the first horizon, from its first rounds; `None` for those that the time did not
/// suffice for.
pub fn costs(spec: &Spec, plugins: &Plugins, resources: Resources) -> Vec<(RunSpec, Option<f64>)> {
    let started = Instant::now();
    let first = spec.runs.iter().enumerate().filter(|(_, r)| r.horizon == 0);
    let cost = |run| (started.elapsed() < ALL_COSTS).then(|| pilot(spec, plugins, resources, run)).flatten();
    first.map(|(run, of)| (*of, cost(run))).collect()
}

/// About how long, in words.
pub fn about(duration: Duration) -> String {
    let words = in_words(duration);
    if duration < Duration::from_secs(1) { words } else { format!("about {words}") }
}

/// In words, to about one digit: "3 s", "20 min", "5 h", "12 days".
pub fn in_words(duration: Duration) -> String {
    let seconds = duration.as_secs_f64();
    let (amount, unit) = match seconds {
        s if s < 1.0 => return "less than a second".to_owned(),
        s if s < 90.0 => (s, "s"),
        s if s < 5400.0 => (s / 60.0, "min"),
        s if s < 172_800.0 => (s / 3600.0, "h"),
        s => (s / 86_400.0, "days"),
    };
    let digit = 10f64.powf(amount.log10().floor());
    let rounded = if amount < 20.0 { amount.round() } else { (amount / digit).round() * digit };
    format!("{rounded} {unit}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_are_said_with_a_digit_or_two() {
        for (seconds, words) in [
            (0.3, "less than a second"),
            (3.4, "3 s"),
            (47.0, "50 s"),
            (95.0, "2 min"),
            (1500.0, "30 min"),
            (86_000.0, "20 h"),
            (2e6, "20 days"),
            (1e9, "10000 days"),
        ] {
            assert_eq!(in_words(Duration::from_secs_f64(seconds)), words);
        }
    }
}
