//! What Ctrl-C does.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

/// How long a run may take to end when it is told to, before it is ended.
const PATIENCE: Duration = Duration::from_millis(1500);

/// Signals to this process, and those that its parent passes on: a terminal sends Ctrl-C to both, which is one.
static OWN: AtomicUsize = AtomicUsize::new(0);
static PASSED: AtomicUsize = AtomicUsize::new(0);
static CANCEL: OnceLock<Arc<AtomicBool>> = OnceLock::new();

/// A flag that Ctrl-C and SIGTERM set, for cells to end at their next round. What takes longer than that is ended where
/// it is, and so is everything at the second signal: files are whole at any moment.
pub fn interruptible() -> Arc<AtomicBool> {
    let cancel = Arc::clone(CANCEL.get_or_init(Arc::default));
    let _ = ctrlc::set_handler(|| {
        OWN.fetch_add(1, Ordering::SeqCst);
        end();
    });
    cancel
}

/// A signal that the parent of this process had (see `supervise`).
pub fn passed() {
    PASSED.fetch_add(1, Ordering::SeqCst);
    end();
}

fn end() {
    let times = OWN.load(Ordering::SeqCst).max(PASSED.load(Ordering::SeqCst));
    match CANCEL.get() {
        Some(cancel) if times < 2 => {
            if !cancel.swap(true, Ordering::Relaxed) {
                std::thread::spawn(|| {
                    std::thread::sleep(PATIENCE);
                    eprintln!("error: interrupted; the same command goes on from the cells that are done");
                    std::process::exit(130);
                });
            }
        }
        _ => std::process::exit(130),
    }
}
