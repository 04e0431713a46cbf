//! Whose turn it is in a band.

use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Condvar, Mutex, PoisonError};

use pyo3::prelude::*;

use crate::exit;
use crate::thread::here;

/// How often this process or those before it were forked: it tells a turn that was taken before from one of now.
static FORKS: AtomicU64 = AtomicU64::new(0);

/// Called in a process that was forked, by `os.register_at_fork`.
#[pyfunction]
pub fn forked() {
    FORKS.fetch_add(1, Ordering::SeqCst);
}

/// One thread at a time; those that wait do not keep the interpreter from others.
#[derive(Default)]
pub struct Turn {
    /// The thread whose turn it is, by [`me`]; 0: none.
    holder: AtomicU64,
    /// How many wait.
    waiting: AtomicUsize,
    lock: Mutex<()>,
    free: Condvar,
}

/// Why it is not this thread's turn.
pub enum Denied {
    /// It has it already.
    Again,
    /// Another thread had it when the interpreter ended.
    Ended,
    /// Another thread had it when the process was forked; the new process does not have that thread.
    Forked,
}

/// This thread, and the fork that it is of.
fn me() -> u64 {
    FORKS.load(Ordering::SeqCst) << 32 | u64::from(here())
}

/// A turn: it ends when this goes.
pub struct Held<'a>(&'a Turn);

impl Turn {
    /// Waits for the turn.
    pub fn take(&self, py: Python<'_>) -> Result<Held<'_>, Denied> {
        let me = me();
        match self.try_take(me) {
            Ok(()) => return Ok(Held(self)),
            Err(holder) if holder == me => return Err(Denied::Again),
            Err(holder) if holder >> 32 != me >> 32 => return Err(Denied::Forked),
            Err(_) => {}
        }
        // What holds it at exit may be a thread that stays where it is (see `exit`): it is not waited for in vain.
        if exit::has_ended() {
            for _ in 0..1_000 {
                py.detach(|| std::thread::sleep(std::time::Duration::from_millis(1)));
                if self.try_take(me).is_ok() {
                    return Ok(Held(self));
                }
            }
            return Err(Denied::Ended);
        }
        exit::detach(py, || {
            self.waiting.fetch_add(1, Ordering::SeqCst);
            let mut guard = self.lock.lock().unwrap_or_else(PoisonError::into_inner);
            while self.try_take(me).is_err() {
                guard = self.free.wait(guard).unwrap_or_else(PoisonError::into_inner);
            }
            self.waiting.fetch_sub(1, Ordering::SeqCst);
        });
        Ok(Held(self))
    }

    fn try_take(&self, me: u64) -> Result<(), u64> {
        self.holder.compare_exchange(0, me, Ordering::SeqCst, Ordering::SeqCst).map(drop)
    }
}

impl Drop for Held<'_> {
    fn drop(&mut self) {
        self.0.holder.store(0, Ordering::SeqCst);
        // Whoever waits has said so before it looked, and looks while it holds the lock.
        if self.0.waiting.load(Ordering::SeqCst) > 0 {
            drop(self.0.lock.lock().unwrap_or_else(PoisonError::into_inner));
            self.0.free.notify_one();
        }
    }
}
