//! The one pool of threads.

use std::io;
use std::sync::Mutex;

/// Does `work` on the `items` in order, as up to `jobs` threads ask for them, until it says `false`.
///
/// # Errors
/// A thread could not be started; those that were have ended.
pub fn in_threads<T: Send>(
    jobs: usize,
    items: impl Iterator<Item = T> + Send,
    work: impl Fn(T) -> bool + Sync,
) -> io::Result<()> {
    let items = Mutex::new(items);
    let next = || items.lock().ok()?.next();
    let run = || while next().is_some_and(&work) {};
    std::thread::scope(|scope| {
        for _ in 0..jobs {
            std::thread::Builder::new().spawn_scoped(scope, run)?;
        }
        Ok(())
    })
}
