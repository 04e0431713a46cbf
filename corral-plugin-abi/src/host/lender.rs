//! The host's generator, lent for one call. A plugin may keep the pointers that it was given: they stay readable for
//! ever, and what they lead to answers only during the call, on the thread of the call.

use std::any::Any;
use std::cell::{Cell, UnsafeCell};
use std::ffi::c_void;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::ptr::NonNull;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};

use corral_core::Rng;

use crate::abi::CorralRng;

/// What a plugin is handed as its generator. Never freed: a pointer that outlives its call still points to a lender.
pub(super) struct Lender {
    /// The call-backs; `state` is the lender itself.
    pub(super) rng: CorralRng,
    /// The thread to which a generator is lent now; 0 between calls.
    to: AtomicUsize,
    /// That generator. Touched only by the thread `to`.
    lent: UnsafeCell<Option<NonNull<&'static mut dyn Rng>>>,
    /// It was used when it was not lent, or by another thread.
    misused: AtomicBool,
    /// What the generator panicked with during the call. Touched only by the thread `to`.
    panic: UnsafeCell<Option<Box<dyn Any + Send>>>,
}

// SAFETY: the cells are touched only by the thread whose token is in `to`, which `lend` sets and takes back; the rest is
// atomic or never changes.
unsafe impl Sync for Lender {}
// SAFETY: as above; nothing is bound to the thread that made it.
unsafe impl Send for Lender {}

/// A number that no other living thread has.
#[inline]
fn thread() -> usize {
    thread_local! { static TOKEN: Cell<u8> = const { Cell::new(0) } }
    TOKEN.try_with(|token| std::ptr::from_ref(token).addr()).unwrap_or(0)
}

impl Lender {
    /// Lends `rng` during `call`. A panic of the generator goes on when the plugin has returned.
    #[inline]
    pub(super) fn lend<T>(&self, mut rng: &mut dyn Rng, call: impl FnOnce(&CorralRng) -> T) -> T {
        let place = NonNull::from(&mut rng);
        // SAFETY: nothing is lent now, so nothing else touches the cell. The lifetime is not really for ever: the cell is
        // emptied below, before `rng` ends.
        unsafe { *self.lent.get() = Some(place.cast()) };
        self.to.store(thread(), Ordering::Release);
        let out = call(&self.rng);
        self.to.store(0, Ordering::Release);
        // SAFETY: nothing is lent any more: only this thread touches the cells.
        let panic = unsafe {
            *self.lent.get() = None;
            (*self.panic.get()).take()
        };
        if let Some(panic) = panic {
            resume_unwind(panic);
        }
        out
    }

    /// Whether it was used outside of its call since this was asked last.
    #[inline]
    pub(super) fn misused(&self) -> bool {
        self.misused.load(Ordering::Relaxed) && self.misused.swap(false, Ordering::Relaxed)
    }

    /// Draws, where that is allowed; 0 otherwise, or after a panic of the generator.
    #[inline]
    fn draw<T: Default>(&self, draw: impl FnOnce(&mut dyn Rng) -> T) -> T {
        let me = thread();
        if me == 0 || self.to.load(Ordering::Acquire) != me {
            self.misused.store(true, Ordering::Relaxed);
            return T::default();
        }
        // SAFETY: this thread is in `lend`, which keeps the generator alive and does not touch it, nor the cells.
        unsafe {
            match *self.lent.get() {
                Some(mut rng) if (*self.panic.get()).is_none() => {
                    match catch_unwind(AssertUnwindSafe(|| draw(*rng.as_mut()))) {
                        Ok(drawn) => drawn,
                        Err(panic) => {
                            *self.panic.get() = Some(panic);
                            T::default()
                        }
                    }
                }
                _ => T::default(),
            }
        }
    }
}

/// The lenders of one table: a base has one as long as it lives, and the next base of the table has it then.
#[derive(Default)]
pub(super) struct Lenders(Mutex<Vec<&'static Lender>>);

impl Lenders {
    pub(super) fn take(&self) -> &'static Lender {
        let free = self.0.lock().unwrap_or_else(PoisonError::into_inner).pop();
        free.unwrap_or_else(|| {
            let lender = Box::leak(Box::new(Lender {
                rng: CorralRng { state: std::ptr::null_mut(), next_u32, next_u64, fill_bytes },
                to: AtomicUsize::new(0),
                lent: UnsafeCell::new(None),
                misused: AtomicBool::new(false),
                panic: UnsafeCell::new(None),
            }));
            let state: *mut Lender = lender;
            // SAFETY: nothing else knows of it yet; from here on it is only shared.
            unsafe {
                (*state).rng.state = state.cast();
                &*state
            }
        })
    }

    pub(super) fn give_back(&self, lender: &'static Lender) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).push(lender);
    }
}

/// The lenders of tables that are gone: a plugin may still have pointers to them, so they stay, unused.
static KEPT: Mutex<Vec<&'static Lender>> = Mutex::new(Vec::new());

impl Drop for Lenders {
    fn drop(&mut self) {
        let free = self.0.get_mut().unwrap_or_else(PoisonError::into_inner);
        KEPT.lock().unwrap_or_else(PoisonError::into_inner).append(free);
    }
}

/// # Safety
/// `state` is that of a [`CorralRng`] of a lender.
unsafe fn lender<'a>(state: *mut c_void) -> &'a Lender {
    // SAFETY: the caller's promise; lenders are never freed, and never lent mutably.
    unsafe { &*state.cast::<Lender>() }
}

unsafe extern "C" fn next_u32(state: *mut c_void) -> u32 {
    // SAFETY: the plugin passes the state that came with this call-back.
    unsafe { lender(state) }.draw(|rng| rng.next_u32())
}

unsafe extern "C" fn next_u64(state: *mut c_void) -> u64 {
    // SAFETY: as above.
    unsafe { lender(state) }.draw(|rng| rng.next_u64())
}

unsafe extern "C" fn fill_bytes(state: *mut c_void, bytes: *mut u8, len: usize) {
    if len > 0 && !bytes.is_null() {
        // The bytes may not be initialised: a C array on the stack.
        // SAFETY: the plugin gives a buffer of `len` bytes; zeroed, they are a slice.
        let bytes = unsafe {
            bytes.write_bytes(0, len);
            std::slice::from_raw_parts_mut(bytes, len)
        };
        // SAFETY: as above.
        unsafe { lender(state) }.draw(|rng| rng.fill_bytes(bytes));
    }
}
