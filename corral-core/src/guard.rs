//! Panics of others, as errors.

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};

/// Runs `call`; a panic becomes the text it carried.
#[inline]
pub(crate) fn guard<T>(call: impl FnOnce() -> T) -> Result<T, String> {
    catch_unwind(AssertUnwindSafe(call)).map_err(text)
}

#[cold]
fn text(payload: Box<dyn Any + Send>) -> String {
    let text = payload.downcast_ref::<&str>().copied();
    let text = text.or_else(|| payload.downcast_ref::<String>().map(String::as_str)).unwrap_or("no message");
    format!("it panicked: {text}")
}
