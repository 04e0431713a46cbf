//! The host's memory as the types that a base takes.

use std::convert::Infallible;
use std::mem::ManuallyDrop;
use std::ops::Deref;

use corral_core::set::Set;
use corral_core::{BaseError, Context, ContextShape, Setup, Space};
use rand_core::TryRng;

use crate::abi::{
    CORRAL_SET_NONE, CORRAL_UNKNOWN, CorralContext, CorralRng, CorralSetup, CorralStr, CorralText,
};

/// A slice of the host.
///
/// # Safety
/// `ptr` is null, or valid for `len` reads of `T` during `'a`, in which nothing writes there.
#[inline]
pub(super) unsafe fn slice<'a, T>(ptr: *const T, len: usize) -> &'a [T] {
    if ptr.is_null() {
        &[]
    } else {
        // SAFETY: the caller's promise.
        unsafe { std::slice::from_raw_parts(ptr, len) }
    }
}

/// Text of the host.
///
/// # Safety
/// As for [`slice`].
pub(super) unsafe fn text<'a>(text: CorralStr) -> Result<&'a str, BaseError> {
    // SAFETY: the caller's promise.
    let bytes = unsafe { slice(text.ptr, text.len) };
    std::str::from_utf8(bytes)
        .map_err(|e| BaseError::Failed(format!("the host sent text that is not UTF-8: {e}")))
}

/// Writes `message` to the host's buffer, cut where it does not fit.
///
/// # Safety
/// `out` is null or a buffer of the host.
#[cold]
pub(super) unsafe fn write_error(out: *mut CorralText, message: &str) {
    // SAFETY: the caller's promise.
    let Some(out) = (unsafe { out.as_mut() }) else { return };
    let mut len = message.len().min(out.capacity);
    while !message.is_char_boundary(len) {
        len -= 1;
    }
    if !out.ptr.is_null() {
        // SAFETY: `len` bytes fit.
        unsafe { std::ptr::copy_nonoverlapping(message.as_ptr(), out.ptr, len) };
        out.len = len;
    }
}

/// A context whose numbers stay in the host's memory. It has nothing to drop.
pub(super) struct Borrowed(ManuallyDrop<Context>);

impl Borrowed {
    /// Looks at the host's context without a copy.
    ///
    /// # Safety
    /// `context` and what it points to are valid for reads as long as the result lives, and nothing writes them; no
    /// pointer in it is null.
    #[inline]
    pub(super) unsafe fn new(context: *const CorralContext) -> Self {
        // SAFETY: the caller's promise.
        let c = unsafe { &*context };
        // The slices are not really for ever, but for as long as the result lives. That is enough: only references to
        // the context leave it, a context hands its numbers out for no longer than it is borrowed itself, and its
        // clones own copies (`Context::lent`).
        // SAFETY: the caller's promise, and the above.
        let features = unsafe { std::slice::from_raw_parts(c.features, c.features_len) };
        let mut x = if c.rows_len == 0 {
            Context::lent(features, c.actions as usize, &[], 0)
        } else {
            // SAFETY: as above.
            let rows = unsafe { std::slice::from_raw_parts(c.rows, c.rows_len) };
            Context::lent(features, c.actions as usize, rows, c.row_dim as usize)
        };
        x.set_cell(usize::try_from(c.cell).ok());
        Self(ManuallyDrop::new(x))
    }
}

impl Deref for Borrowed {
    type Target = Context;
    #[inline]
    fn deref(&self) -> &Context {
        &self.0
    }
}

/// The host's generator.
pub(super) struct HostRng(*const CorralRng);

impl HostRng {
    /// # Safety
    /// `rng` is the host's table of call-backs, valid as long as the result lives.
    #[inline]
    pub(super) unsafe fn new(rng: *const CorralRng) -> Self {
        Self(rng)
    }
}

impl TryRng for HostRng {
    type Error = Infallible;
    #[inline]
    fn try_next_u32(&mut self) -> Result<u32, Infallible> {
        // SAFETY: promised to `new`.
        Ok(unsafe { ((*self.0).next_u32)((*self.0).state) })
    }
    #[inline]
    fn try_next_u64(&mut self) -> Result<u64, Infallible> {
        // SAFETY: promised to `new`.
        Ok(unsafe { ((*self.0).next_u64)((*self.0).state) })
    }
    #[inline]
    fn try_fill_bytes(&mut self, dst: &mut [u8]) -> Result<(), Infallible> {
        // SAFETY: promised to `new`; the host writes `len` bytes.
        unsafe { ((*self.0).fill_bytes)((*self.0).state, dst.as_mut_ptr(), dst.len()) };
        Ok(())
    }
}

/// The world as the host described it.
///
/// # Safety
/// `setup` and its text are valid for reads during the call.
pub(super) unsafe fn read_setup(setup: *const CorralSetup) -> Result<Setup, BaseError> {
    // SAFETY: the caller's promise.
    let s = unsafe { &*setup };
    let space = if s.set == CORRAL_SET_NONE {
        Space::Arms(s.actions as usize)
    } else {
        // SAFETY: the caller's promise.
        let described = unsafe { text(s.set_text) }?;
        let set: Set = toml::from_str(described).map_err(|e| {
            BaseError::Failed(format!("this plugin does not know the set {described:?}: {e}"))
        })?;
        Space::Points(set)
    };
    let mut out = Setup::new(space, (s.horizon != CORRAL_UNKNOWN).then_some(s.horizon));
    out.context = ContextShape {
        features: s.features,
        row_features: s.row_features,
        cells: usize::try_from(s.cells).ok(),
    };
    Ok(out)
}
