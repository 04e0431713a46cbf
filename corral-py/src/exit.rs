//! What becomes of threads that are inside Python bases when the interpreter ends.
//!
//! Before 3.14 an interpreter that ends unwinds a daemon thread as soon as it wants to go on in Python. Where Rust called that
//! Python, the unwinding meets Rust's frames, and the process aborts. So nobody is there then: at exit no thread but the one
//! that ends the interpreter enters a base any more, and those inside are waited for.

use std::cell::Cell;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use pyo3::prelude::*;

use crate::thread::here;

/// How long calls of bases are waited for. One that takes longer may still end in an abort.
const PATIENCE: Duration = Duration::from_secs(10);

/// The thread that ends the interpreter, by [`here`]; 0 before that.
static ENDS: AtomicUsize = AtomicUsize::new(0);
/// How many calls of bases there are.
static CALLS: AtomicUsize = AtomicUsize::new(0);

thread_local! {
    /// How many of them are this thread's: a base may ask a band that has Python bases too.
    static OWN: Cell<usize> = const { Cell::new(0) };
}

/// Whether this thread ends the interpreter, and has closed the bases to others.
pub fn has_ended() -> bool {
    ENDS.load(Ordering::SeqCst) == here()
}

/// A call of a Python base.
struct Call;

impl Drop for Call {
    fn drop(&mut self) {
        OWN.set(OWN.get() - 1);
        CALLS.fetch_sub(1, Ordering::SeqCst);
    }
}

/// Calls a Python base. Where the interpreter ends, the thread stays here, as 3.14 has it stay where it attaches.
pub fn call<T>(py: Python<'_>, base: impl FnOnce() -> T) -> T {
    CALLS.fetch_add(1, Ordering::SeqCst);
    OWN.set(OWN.get() + 1);
    let call = Call;
    if ![0, here()].contains(&ENDS.load(Ordering::SeqCst)) {
        // Nothing of this thread unwinds any more.
        CALLS.fetch_sub(OWN.get(), Ordering::SeqCst);
        std::mem::forget(call);
        py.detach(|| {
            loop {
                std::thread::park();
            }
        });
    }
    base()
}

/// Called by `atexit`.
#[pyfunction]
pub fn end(py: Python<'_>) {
    ENDS.store(here(), Ordering::SeqCst);
    py.detach(|| {
        let start = Instant::now();
        while CALLS.load(Ordering::SeqCst) > 0 && start.elapsed() < PATIENCE {
            std::thread::sleep(Duration::from_millis(1));
        }
    });
}
