//! The child, while a base is examined: a call that does not end is told to the host. The host sees a law as one request, of
//! thousands of calls, and cannot tell a long law from a long call.

use std::os::unix::net::UnixStream;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use rustix::process::getpid;

use super::home::processor_time;
use super::wire::{Answer, SLICE, Wire};

/// Whether a law is being run, and not answered yet.
static RUNS: AtomicBool = AtomicBool::new(false);
/// The calls into the plugin since then.
static CALLS: AtomicU64 = AtomicU64::new(0);

/// Counted only while a law runs, so that calls of several threads do not meet here.
#[inline]
pub(super) fn count_call() {
    if RUNS.load(Ordering::Relaxed) {
        CALLS.fetch_add(1, Ordering::Relaxed);
    }
}

/// Runs a law. Does not return where the host was told meanwhile that a call is late: it ends this process.
pub(super) fn run<T>(law: impl FnOnce() -> T) -> T {
    RUNS.store(true, Ordering::SeqCst);
    let verdict = law();
    if RUNS.swap(false, Ordering::SeqCst) {
        return verdict;
    }
    loop {
        std::thread::park();
    }
}

/// Watches over the calls of every law, in a thread of its own.
pub(super) fn watch(host: UnixStream, [processor, clock]: [Duration; 2]) {
    std::thread::spawn(move || {
        let used = || processor_time(getpid()).unwrap_or_default();
        let (mut calls, mut since, mut before) = (0, Instant::now(), used());
        loop {
            std::thread::sleep(SLICE);
            let now = CALLS.load(Ordering::Relaxed);
            if now != calls || !RUNS.load(Ordering::SeqCst) {
                (calls, since, before) = (now, Instant::now(), used());
            } else if (used().saturating_sub(before) > processor || since.elapsed() > clock)
                && RUNS.swap(false, Ordering::SeqCst)
            {
                let late = Answer::<()>::Failed(format!("no answer within {}", said(processor)));
                let _ = Wire::new(host, None).and_then(|mut wire| wire.send(&late, &mut || Ok(())));
                return;
            }
        }
    });
}

/// A duration in words: 1 s.
fn said(time: Duration) -> String {
    let seconds = time.as_secs_f64();
    if seconds >= 1.0 { format!("{seconds} s") } else { format!("{} ms", time.as_millis()) }
}
