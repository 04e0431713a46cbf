//! Panics become error texts with their place.

use std::any::Any;
use std::cell::RefCell;
use std::panic::{self, AssertUnwindSafe};
use std::sync::Once;

thread_local! {
    static LAST: RefCell<Option<String>> = const { RefCell::new(None) };
}

/// Puts a hook before the one in force that keeps text and place of a panic for [`catch`]. A library has a standard
/// library of its own, so this is the plugin's hook and not the host's; the message still goes to stderr, with a
/// backtrace where one is asked for.
pub(super) fn install_hook() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        let before = panic::take_hook();
        panic::set_hook(Box::new(move |info| {
            let text = text_of(info.payload());
            let place = info.location().map(|l| format!(" at {}:{}", l.file(), l.line())).unwrap_or_default();
            let _ = LAST.try_with(|last| {
                last.try_borrow_mut().map(|mut last| *last = Some(format!("{text}{place}")))
            });
            before(info);
        }));
    });
}

/// Runs `body`; a panic becomes its text and place.
#[inline]
pub(super) fn catch<T>(body: impl FnOnce() -> T) -> Result<T, String> {
    panic::catch_unwind(AssertUnwindSafe(body)).map_err(told)
}

#[cold]
fn told(payload: Box<dyn Any + Send>) -> String {
    let kept =
        LAST.try_with(|last| last.try_borrow_mut().ok().and_then(|mut last| last.take())).ok().flatten();
    let text = kept.unwrap_or_else(|| text_of(&*payload).to_owned());
    // The Drop of a payload that is not text may panic in turn: leaked, it cannot.
    if !payload.is::<String>() && !payload.is::<&str>() {
        std::mem::forget(payload);
    }
    text
}

fn text_of(payload: &(dyn Any + Send)) -> &str {
    match payload.downcast_ref::<String>() {
        Some(text) => text,
        None => payload.downcast_ref::<&str>().unwrap_or(&"a panic whose payload is not text"),
    }
}
