//! What Ctrl-C does.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// How long a run may take to end when it is told to, before it is ended.
const PATIENCE: Duration = Duration::from_millis(1500);

/// A flag that Ctrl-C and SIGTERM set, for cells to end at their next round. What takes longer than that is ended where
/// it is, and so is everything at the second signal: files are whole at any moment.
pub fn interruptible() -> Arc<AtomicBool> {
    let cancel = Arc::new(AtomicBool::new(false));
    let handler = Arc::clone(&cancel);
    let _ = ctrlc::set_handler(move || {
        if handler.swap(true, Ordering::Relaxed) {
            std::process::exit(130);
        }
        std::thread::spawn(|| {
            std::thread::sleep(PATIENCE);
            eprintln!("error: interrupted; the same command goes on from the cells that are done");
            std::process::exit(130);
        });
    });
    cancel
}
