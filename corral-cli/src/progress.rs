//! A bar on a terminal, plain lines elsewhere, nothing when quiet.

use std::io::IsTerminal;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use corral_lab::run::{CellRecord, Progress, about};
use corral_lab::spec::{RunSpec, Spec};
use corral_lab::store::Shard;
use indicatif::{ProgressBar, ProgressStyle};

use crate::say;

const LINE_EVERY: Duration = Duration::from_secs(5);

/// Shows how far a run is.
pub struct Reporter {
    bar: Option<ProgressBar>,
    quiet: bool,
    total: u64,
    done: AtomicU64,
    started: Instant,
    last_line: Mutex<Instant>,
}

impl Reporter {
    /// For a run of `spec`.
    pub fn new(spec: &Spec, shard: Shard, quiet: bool) -> Self {
        let of_run = |(i, run): (u64, &RunSpec)| {
            let cells = shard.count((i + 1) * spec.seeds) - shard.count(i * spec.seeds);
            cells.saturating_mul(spec.rounds[run.horizon])
        };
        let total = (0..).zip(&spec.runs).map(of_run).fold(0, u64::saturating_add);
        let terminal = std::io::stderr().is_terminal();
        let bar = (!quiet && terminal).then(|| {
            let bar = ProgressBar::new(total);
            if let Ok(style) = ProgressStyle::with_template(
                "{bar:32} {percent:>3}%  {human_pos} of {human_len} rounds  {per_sec}  {eta} left",
            ) {
                bar.set_style(style);
            }
            bar
        });
        let now = Instant::now();
        Self { bar, quiet, total, done: AtomicU64::new(0), started: now, last_line: Mutex::new(now) }
    }

    /// Takes the bar away.
    pub fn finish(&self) {
        if let Some(bar) = &self.bar {
            bar.finish_and_clear();
        }
    }
}

impl Progress for Reporter {
    fn advance(&self, rounds: u64) {
        let done = self.done.fetch_add(rounds, Ordering::Relaxed) + rounds;
        if let Some(bar) = &self.bar {
            bar.inc(rounds);
        } else if !self.quiet
            && let Ok(mut last) = self.last_line.try_lock()
            && last.elapsed() > LINE_EVERY
        {
            *last = Instant::now();
            let speed = done as f64 / self.started.elapsed().as_secs_f64();
            let left = (self.total.saturating_sub(done)) as f64 / speed.max(1.0);
            let percent = 100.0 * done as f64 / self.total.max(1) as f64;
            eprintln!(
                "{percent:3.0}%  {done} of {} rounds, {:.2e} a second, {left:.0} s left",
                self.total, speed
            );
        }
    }

    fn plan(&self, left: u64, cells: u64, estimate: &dyn Fn() -> Option<Duration>) {
        if self.quiet {
            return;
        }
        let cells =
            if left < cells { format!("{left} of {cells} cells are left") } else { format!("{cells} cells") };
        let time = estimate().map_or(String::new(), |time| format!(", {}", about(time)));
        eprintln!("{cells}{time}");
    }

    fn note(&self, text: &str) {
        let tell = || say(&format!("note: {text}"));
        self.bar.as_ref().map_or_else(tell, |bar| bar.suspend(tell));
    }

    fn cell(&self, cell: &CellRecord) {
        if let (Some(why), Some(bar)) = (&cell.failed, &self.bar) {
            let told = format!("{} in {}, seed {}: {why}", cell.learner, cell.environment, cell.seed);
            bar.suspend(|| say(&told));
        }
    }
}
