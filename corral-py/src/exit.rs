//! What becomes of other threads when the interpreter ends.
//!
//! A thread must not go on in Python then. Before 3.14 the interpreter unwinds a thread that does, and where Rust called that
//! Python, the unwinding meets Rust's frames and the process aborts; once the interpreter is gone, attaching to it is an error.
//! So every way back into Python goes through here: at exit, ways that are open are waited for, and a thread that would open
//! one stays where it is, as 3.14 has it stay where it attaches.

use std::cell::Cell;
use std::sync::atomic::{AtomicU32, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use pyo3::prelude::*;

use crate::thread::here;

/// How long open ways are waited for. A call of a base that takes longer may still end in an abort.
const PATIENCE: Duration = Duration::from_secs(10);

/// The thread that ends the interpreter, by [`here`]; 0 before that.
static ENDS: AtomicU32 = AtomicU32::new(0);
/// How many ways into Python are open.
static OPEN: AtomicUsize = AtomicUsize::new(0);

thread_local! {
    /// How many of them are this thread's: a base may ask a band that has Python bases too.
    static OWN: Cell<usize> = const { Cell::new(0) };
    /// Whether this thread has let go of the interpreter.
    static AWAY: Cell<bool> = const { Cell::new(false) };
}

/// Whether this thread ends the interpreter, and has closed it to others.
pub fn has_ended() -> bool {
    ENDS.load(Ordering::SeqCst) == here()
}

/// Opens `more` ways; `false` where another thread has ended the interpreter: then none of this thread's is open any more.
fn open(more: usize) -> bool {
    OWN.set(OWN.get() + more);
    // Counted before it is asked: whoever ends the interpreter asks first and counts afterwards.
    OPEN.fetch_add(more, Ordering::SeqCst);
    let going = [0, here()].contains(&ENDS.load(Ordering::SeqCst));
    if !going {
        OPEN.fetch_sub(OWN.replace(0), Ordering::SeqCst);
    }
    going
}

fn close(fewer: usize) {
    OWN.set(OWN.get() - fewer);
    OPEN.fetch_sub(fewer, Ordering::SeqCst);
}

/// A way into Python that is open.
struct Way;

impl Drop for Way {
    fn drop(&mut self) {
        close(1);
    }
}

/// Stays here for good, and keeps the interpreter from no other thread.
fn stay() -> ! {
    let park = || {
        loop {
            std::thread::park();
        }
    };
    if !AWAY.get() {
        Python::try_attach(|py| py.detach(park));
    }
    park()
}

/// Runs Python code from Rust: a base, or a function of numpy that is written in Python.
pub fn call<T>(_: Python<'_>, work: impl FnOnce() -> T) -> T {
    if !open(1) {
        stay();
    }
    let _way = Way;
    work()
}

/// Attaches to the interpreter.
pub fn attach<T>(work: impl FnOnce(Python<'_>) -> T) -> T {
    if !open(1) {
        stay();
    }
    let _way = Way;
    let away = AWAY.replace(false);
    let done = Python::attach(work);
    AWAY.set(away);
    done
}

/// Lets other threads have the interpreter while `work` is done.
pub fn detach<T: Send>(py: Python<'_>, work: impl Send + FnOnce() -> T) -> T {
    let done = py.detach(|| {
        let own = OWN.get();
        close(own);
        AWAY.set(true);
        let done = work();
        // One more, for the way back.
        if !open(own + 1) {
            stay();
        }
        AWAY.set(false);
        done
    });
    close(1);
    done
}

/// Called by `atexit`.
#[pyfunction]
pub fn end(py: Python<'_>) {
    ENDS.store(here(), Ordering::SeqCst);
    py.detach(|| {
        let start = Instant::now();
        while OPEN.load(Ordering::SeqCst) > OWN.get() && start.elapsed() < PATIENCE {
            std::thread::sleep(Duration::from_millis(1));
        }
    });
}
