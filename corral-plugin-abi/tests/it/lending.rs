//! What the host lends to a plugin is the host's again after the call: the generator, and the thread's floating-point
//! state. The table is one of this program, so that Miri sees all of it.

// One of its bases is enough here.
#[allow(dead_code)]
use std::ffi::c_void;
use std::sync::Arc;
use std::sync::atomic::{AtomicPtr, AtomicU64, Ordering::SeqCst};

use corral_plugin_abi::abi::{
    CORRAL_OK, CorralBaseV1, CorralContext, CorralDecision, CorralProposal, CorralRng, CorralText,
};
use corral_plugin_abi::exported;
use corral_plugin_abi::host::{ForeignBase, Table};
use corral_plugin_abi::prelude::*;
use rand::SeedableRng;
use rand_pcg::Pcg64Dxsm;

type Propose = unsafe extern "C" fn(
    *mut c_void,
    *const CorralContext,
    *const CorralRng,
    *mut CorralProposal,
    *mut CorralText,
) -> i32;

type Learn = unsafe extern "C" fn(
    *mut c_void,
    *const CorralContext,
    *const CorralDecision,
    f64,
    f64,
    *mut CorralText,
) -> i32;

fn table(propose: Propose, learn: Learn) -> Arc<Table> {
    let table = CorralBaseV1 { propose, learn, ..exported::<crate::faults::Faulty>("it", "1.0.0") };
    // SAFETY: the functions and texts of the table are those of this program.
    Arc::new(unsafe { Table::read(&table) }.unwrap())
}

fn build(table: &Arc<Table>) -> ForeignBase<Arm> {
    ForeignBase::build(table.clone(), "fault = ''", &Setup::arms(3, None)).unwrap()
}

/// Draws from the generator that it was lent, or that it remembers.
unsafe fn draw(rng: *const CorralRng) -> [u64; 3] {
    // SAFETY: the host's call-backs with the state that came with them.
    unsafe {
        let mut bytes = [0; 8];
        ((*rng).fill_bytes)((*rng).state, bytes.as_mut_ptr(), 8);
        [((*rng).next_u64)((*rng).state), ((*rng).next_u32)((*rng).state).into(), u64::from_le_bytes(bytes)]
    }
}

unsafe extern "C" fn quiet(
    _: *mut c_void,
    _: *const CorralContext,
    _: *const CorralDecision,
    _: f64,
    _: f64,
    _: *mut CorralText,
) -> i32 {
    CORRAL_OK
}

const MISUSED: &str = "the generator was used after the call that it was lent to, or by another thread";

#[test]
fn a_generator_that_was_kept_is_dead_after_the_call() {
    static KEPT: AtomicPtr<CorralRng> = AtomicPtr::new(std::ptr::null_mut());
    static STALE: AtomicU64 = AtomicU64::new(9);
    unsafe extern "C" fn keep(
        _: *mut c_void,
        _: *const CorralContext,
        rng: *const CorralRng,
        out: *mut CorralProposal,
        _: *mut CorralText,
    ) -> i32 {
        KEPT.store(rng.cast_mut(), SeqCst);
        // SAFETY: the host's memory, valid during the call.
        unsafe {
            assert!(draw(rng).iter().all(|n| *n != 0), "it is alive during the call");
            (*out).arm = 0;
        }
        CORRAL_OK
    }
    unsafe extern "C" fn use_again(
        _: *mut c_void,
        _: *const CorralContext,
        _: *const CorralDecision,
        _: f64,
        _: f64,
        _: *mut CorralText,
    ) -> i32 {
        // SAFETY: none is needed of the host: that is the point.
        STALE.store(unsafe { draw(KEPT.load(SeqCst)) }.iter().sum(), SeqCst);
        CORRAL_OK
    }
    let table = table(keep, use_again);
    let mut base = build(&table);
    let (x, mut rng) = (Context::plain(3), Pcg64Dxsm::seed_from_u64(1));
    let made = base.propose(&x, &mut rng).unwrap();
    let before = rng.clone();
    let told = base.learn(&x, &made, Feedback::plain(0.5)).unwrap_err().to_string();
    assert_eq!((told, STALE.load(SeqCst)), (format!("it: learn: {MISUSED}"), 0));
    assert_eq!(rng, before, "the generator was not touched");
    // Said once for each use; during a call it works again.
    base.propose(&x, &mut rng).unwrap();

    // Also when the base is gone, and when the next one has been built.
    drop(base);
    // SAFETY: as in `use_again`.
    assert_eq!(unsafe { draw(KEPT.load(SeqCst)) }, [0; 3]);
    let next = ForeignBase::<Arm>::build(table.clone(), "fault = ''", &Setup::arms(3, None));
    assert_eq!(
        next.err().unwrap().to_string(),
        format!("it: create: {MISUSED}"),
        "said at the next occasion"
    );
    build(&table).propose(&x, &mut rng).unwrap();
}

#[test]
fn a_generator_answers_only_the_thread_of_the_call() {
    unsafe extern "C" fn elsewhere(
        _: *mut c_void,
        _: *const CorralContext,
        rng: *const CorralRng,
        out: *mut CorralProposal,
        _: *mut CorralText,
    ) -> i32 {
        let rng = rng.expose_provenance();
        // SAFETY: lenders live for ever.
        let drawn = std::thread::spawn(move || unsafe { draw(std::ptr::with_exposed_provenance(rng)) });
        assert_eq!(drawn.join().unwrap(), [0; 3]);
        // SAFETY: the host's memory, valid during the call.
        unsafe { (*out).arm = 0 };
        CORRAL_OK
    }
    let mut base = build(&table(elsewhere, quiet));
    let mut rng = Pcg64Dxsm::seed_from_u64(1);
    let told = base.propose(&Context::plain(3), &mut rng).unwrap_err().to_string();
    assert_eq!(told, format!("it: propose: {MISUSED}"));
    assert_eq!(rng, Pcg64Dxsm::seed_from_u64(1));
}

/// Panics instead of giving its third number.
struct Third(u32);

impl corral_plugin_abi::rand_core::TryRng for Third {
    type Error = std::convert::Infallible;
    fn try_next_u32(&mut self) -> Result<u32, Self::Error> {
        self.0 += 1;
        if self.0 == 3 {
            panic!("the third number");
        }
        Ok(self.0)
    }
    fn try_next_u64(&mut self) -> Result<u64, Self::Error> {
        self.try_next_u32().map(u64::from)
    }
    fn try_fill_bytes(&mut self, _: &mut [u8]) -> Result<(), Self::Error> {
        Ok(())
    }
}

/// A panic cannot go through a foreign frame: it waits until the plugin has returned.
#[test]
fn a_generator_that_panics_ends_in_the_hosts_hands() {
    unsafe extern "C" fn five(
        _: *mut c_void,
        _: *const CorralContext,
        rng: *const CorralRng,
        out: *mut CorralProposal,
        _: *mut CorralText,
    ) -> i32 {
        // SAFETY: the host's memory and call-backs, valid during the call.
        unsafe {
            let drawn: Vec<u32> = (0..5).map(|_| ((*rng).next_u32)((*rng).state)).collect();
            assert_eq!(drawn, [1, 2, 0, 0, 0]);
            (*out).arm = 0;
        }
        CORRAL_OK
    }
    let mut base = build(&table(five, quiet));
    let x = Context::plain(3);
    let mut rng = Third(0);
    let panicked = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| base.propose(&x, &mut rng)));
    assert_eq!(panicked.unwrap_err().downcast_ref::<&str>(), Some(&"the third number"));
    // The base is as it was: the fault was the caller's.
    base.pass(&x).unwrap();
}

#[cfg(all(target_arch = "x86_64", not(miri)))]
#[test]
fn the_floating_point_state_is_the_hosts_again_after_every_call() {
    /// Flush to zero, denormals are zero, and rounding towards zero, in both units.
    fn spoil() {
        let (mxcsr, x87) = (0xffc0u32, 0x0f7fu16);
        // SAFETY: every exception stays masked.
        unsafe {
            std::arch::asm!("ldmxcsr [{}]", "fldcw [{}]", in(reg) &raw const mxcsr, in(reg) &raw const x87);
        }
    }
    unsafe extern "C" fn propose(
        _: *mut c_void,
        _: *const CorralContext,
        _: *const CorralRng,
        out: *mut CorralProposal,
        _: *mut CorralText,
    ) -> i32 {
        spoil();
        // SAFETY: the host's memory, valid during the call.
        unsafe { (*out).arm = 0 };
        CORRAL_OK
    }
    unsafe extern "C" fn learn(
        _: *mut c_void,
        _: *const CorralContext,
        _: *const CorralDecision,
        _: f64,
        _: f64,
        _: *mut CorralText,
    ) -> i32 {
        spoil();
        CORRAL_OK
    }
    unsafe extern "C" fn asked(_: *mut c_void) -> u32 {
        spoil();
        1
    }
    let computed = || {
        let (one, three, small) =
            (std::hint::black_box(1.0f64), std::hint::black_box(3.0f64), std::hint::black_box(5e-324f64));
        // Rounded up where rounding is to the nearest; 0 where denormals are flushed.
        ((2.0 * one / three).to_bits(), (small * one).to_bits())
    };
    let right = computed();
    let mut spoiling = exported::<crate::faults::Faulty>("it", "1.0.0");
    (spoiling.propose, spoiling.learn) = (propose, learn);
    spoiling.learns_from_others = Some(asked);
    spoiling.heeds_passes = Some(asked);
    // SAFETY: as in `table`.
    let mut base = build(&Arc::new(unsafe { Table::read(&spoiling) }.unwrap()));
    let (x, mut rng) = (Context::plain(3), Pcg64Dxsm::seed_from_u64(1));
    let made = base.propose(&x, &mut rng).unwrap();
    assert_eq!(computed(), right, "propose");
    base.learn(&x, &made, Feedback::plain(0.5)).unwrap();
    assert_eq!(computed(), right, "learn");
    let _ = base.abilities();
    assert_eq!(computed(), right, "questions");
    spoil();
    assert_ne!(computed(), right, "the test can tell");
}
