//! Which thread this is.

use std::sync::atomic::{AtomicU32, Ordering};

/// A number, not 0, that no other thread of this process has or had.
pub fn here() -> u32 {
    static LAST: AtomicU32 = AtomicU32::new(0);
    thread_local!(static HERE: u32 = LAST.fetch_add(1, Ordering::Relaxed) + 1);
    HERE.with(|own| *own)
}
