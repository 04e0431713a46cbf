//! Any base as a table: each entry reads the host's memory, calls the base, and turns errors and panics into values.

use std::ffi::c_void;
use std::mem::ManuallyDrop;

use corral_core::{Base, BaseError, Context, Feedback, Order, Proposal, Setup};

use super::panic::{catch, install_hook};
use super::plugin::{Crosses, Plugin, kind_code, points};
use super::view::{Borrowed, HostRng, read_setup, slice, text, write_error};
use crate::abi::*;

/// The table of `B` under `name`, for the plugin of `version`. Used by [`corral_plugin!`](crate::corral_plugin), and by
/// tests that run a table without a library.
pub const fn exported<B: Plugin>(name: &'static str, version: &'static str) -> CorralBaseV1 {
    const {
        assert!(
            kind_code(B::KIND) != 0 && matches!(B::KIND, crate::Kind::Points) == points::<B::Decision>(),
            "KIND and Decision disagree: Kind::Points goes with Point, Kind::Arms and Kind::Contextual with Arm"
        );
    }
    CorralBaseV1 {
        magic: CORRAL_MAGIC,
        struct_size: size_of::<CorralBaseV1>(),
        abi_minor: CORRAL_ABI_MINOR,
        kind: kind_code(B::KIND),
        alpha: match B::ALPHA {
            Some(alpha) => alpha,
            None => f64::NAN,
        },
        name: borrowed(name),
        description: borrowed(B::DESCRIPTION),
        version: borrowed(version),
        create: create::<B>,
        destroy: destroy::<B>,
        propose: propose::<B>,
        learn: learn::<B>,
        rerange: rerange::<B>,
        save: save::<B>,
        load: load::<B>,
        pass: Some(pass::<B>),
        likelihood: Some(likelihood::<B>),
        learns_from_others: Some(learns_from_others::<B>),
        heeds_passes: Some(heeds_passes::<B>),
        extension: Some(extension::<B>),
    }
}

const fn borrowed(text: &'static str) -> CorralStr {
    CorralStr { ptr: text.as_ptr(), len: text.len() }
}

/// Passes `name` on when it can be the name of a base: refuses the others at compile time.
pub const fn named(name: &'static str) -> &'static str {
    let bytes = name.as_bytes();
    assert!(!bytes.is_empty(), "a base needs a name");
    let mut i = 0;
    while i < bytes.len() {
        assert!(
            bytes[i].is_ascii_alphanumeric() || bytes[i] == b'-' || bytes[i] == b'_',
            "the name of a base is made of letters, digits, `-` and `_`"
        );
        i += 1;
    }
    name
}

/// An instance: the base, and what a rebuild and a reused buffer need.
struct Instance<B: Plugin> {
    base: B,
    /// Text of the panic that made the base unusable.
    poison: Option<String>,
    params: String,
    setup: Setup,
    made: Proposal<B::Decision>,
    /// The snapshot between the two calls of `save`.
    snapshot: Option<Vec<u8>>,
}

fn build<B: Plugin>(params: &str, setup: &Setup) -> Result<B, BaseError> {
    let params =
        toml::from_str(params).map_err(|e| BaseError::Failed(format!("parameters: {}", e.message())))?;
    B::build(params, setup)
}

/// Runs one entry on an instance.
///
/// # Safety
/// `instance` came from `create::<B>` and was not destroyed, no other call on it is under way; `error` is the host's.
#[inline]
unsafe fn enter<B: Plugin>(
    instance: *mut c_void,
    error: *mut CorralText,
    body: impl FnOnce(&mut Instance<B>) -> i32,
) -> i32 {
    // SAFETY: the caller's promise.
    let Some(instance) = (unsafe { instance.cast::<Instance<B>>().as_mut() }) else {
        // SAFETY: the caller's promise.
        unsafe { write_error(error, "the host passed no instance") };
        return CORRAL_ERROR;
    };
    if let Some(text) = &instance.poison {
        // SAFETY: the caller's promise.
        return unsafe { unusable(error, text) };
    }
    match catch(|| body(instance)) {
        Ok(status) => status,
        Err(text) => {
            // SAFETY: the caller's promise.
            let status = unsafe { panicked(error, &text) };
            instance.poison = Some(text);
            status
        }
    }
}

/// # Safety
/// `error` is the host's.
#[cold]
unsafe fn unusable(error: *mut CorralText, text: &str) -> i32 {
    let message = format!("unusable since it panicked ({text}), until its range changes");
    // SAFETY: the caller's promise.
    unsafe { write_error(error, &message) };
    CORRAL_PANICKED
}

/// # Safety
/// `error` is the host's.
#[cold]
unsafe fn panicked(error: *mut CorralText, text: &str) -> i32 {
    // SAFETY: the caller's promise.
    unsafe { write_error(error, &format!("panicked: {text}")) };
    CORRAL_PANICKED
}

/// The status of `done`, whose error is written where it arises: only a number leaves an entry.
///
/// # Safety
/// `error` is the host's.
#[inline]
unsafe fn told(error: *mut CorralText, done: Result<(), BaseError>) -> i32 {
    match done {
        Ok(()) => CORRAL_OK,
        // SAFETY: the caller's promise.
        Err(why) => unsafe { failed(error, why) },
    }
}

/// # Safety
/// `error` is the host's.
#[cold]
unsafe fn failed(error: *mut CorralText, why: BaseError) -> i32 {
    // A Display implementation is the author's code as well, where an error carries one.
    let message =
        catch(|| why.to_string()).unwrap_or_else(|text| format!("an error whose text panicked: {text}"));
    // SAFETY: the caller's promise.
    unsafe { write_error(error, &message) };
    CORRAL_ERROR
}

unsafe extern "C" fn create<B: Plugin>(
    setup: *const CorralSetup,
    params: CorralStr,
    instance: *mut *mut c_void,
    error: *mut CorralText,
) -> i32 {
    install_hook();
    let made = catch(|| {
        // SAFETY: the host's memory, valid during the call.
        let (setup, params) = unsafe { (read_setup(setup)?, text(params)?.to_owned()) };
        let base = build::<B>(&params, &setup)?;
        let made = Proposal::new(B::Decision::default());
        Ok(Box::new(Instance { base, poison: None, params, setup, made, snapshot: None }))
    });
    match made {
        Ok(Ok(made)) => {
            // SAFETY: the host gave a place for the pointer.
            unsafe { *instance = Box::into_raw(made).cast() };
            CORRAL_OK
        }
        // SAFETY: the host's buffer.
        Ok(Err(why)) => unsafe { failed(error, why) },
        // SAFETY: the host's buffer.
        Err(text) => unsafe { panicked(error, &text) },
    }
}

unsafe extern "C" fn destroy<B: Plugin>(instance: *mut c_void, error: *mut CorralText) -> i32 {
    if instance.is_null() {
        return CORRAL_OK;
    }
    // SAFETY: `instance` came from `create::<B>`, and this is the last call on it.
    match catch(|| drop(unsafe { Box::from_raw(instance.cast::<Instance<B>>()) })) {
        Ok(()) => CORRAL_OK,
        // SAFETY: the host's buffer.
        Err(text) => unsafe { panicked(error, &text) },
    }
}

unsafe extern "C" fn propose<B: Plugin>(
    instance: *mut c_void,
    context: *const CorralContext,
    rng: *const CorralRng,
    proposal: *mut CorralProposal,
    error: *mut CorralText,
) -> i32 {
    // SAFETY: the host keeps the rules of the table.
    unsafe {
        enter::<B>(instance, error, |i| {
            let (x, mut rng, out) = (Borrowed::new(context), HostRng::new(rng), &mut *proposal);
            if points::<B::Decision>() {
                // A point needs a buffer, which is used again.
                match i.made.refill(&mut i.base, &x, &mut rng) {
                    Ok(()) => told(error, put(&i.made, out)),
                    Err(why) => failed(error, why),
                }
            } else {
                // An arm does not: it is read where it was returned, since moving it costs more than the rest of this.
                let mut answer = ManuallyDrop::new(i.base.propose(&x, &mut rng));
                match &mut *answer {
                    Ok(made) => {
                        let status = told(error, put(made, out));
                        std::ptr::drop_in_place(made);
                        status
                    }
                    Err(_) => told(error, ManuallyDrop::into_inner(answer).map(|_| ())),
                }
            }
        })
    }
}

/// Writes a proposal to the host's buffer.
///
/// # Safety
/// `out` is that buffer.
#[inline]
unsafe fn put<D: Crosses>(made: &Proposal<D>, out: &mut CorralProposal) -> Result<(), BaseError> {
    made.decision.put(out)?;
    // SAFETY: the caller's promise.
    unsafe { put_memo(made.memo.numbers(), out) }
}

/// # Safety
/// `out` is the host's buffer.
#[inline]
unsafe fn put_memo(numbers: &[f64], out: &mut CorralProposal) -> Result<(), BaseError> {
    if numbers.len() > out.memo_capacity {
        return Err(too_long(numbers.len(), out.memo_capacity));
    }
    out.memo_len = numbers.len();
    match *numbers {
        // The usual memo, without a call that copies.
        // SAFETY: the host gave a buffer for `memo_capacity` numbers.
        [number] => unsafe { out.memo.write(number) },
        // SAFETY: as above.
        _ => unsafe { std::ptr::copy_nonoverlapping(numbers.as_ptr(), out.memo, numbers.len()) },
    }
    Ok(())
}

#[cold]
fn too_long(length: usize, capacity: usize) -> BaseError {
    BaseError::Proposal(format!("a memo of {length} numbers where {capacity} fit"))
}

unsafe extern "C" fn learn<B: Plugin>(
    instance: *mut c_void,
    context: *const CorralContext,
    made: *const CorralDecision,
    loss: f64,
    weight: f64,
    error: *mut CorralText,
) -> i32 {
    // SAFETY: the host keeps the rules of the table.
    unsafe {
        enter::<B>(instance, error, |i| {
            let (x, made) = (Borrowed::new(context), &*made);
            i.made.decision.take(made.arm, slice(made.point, made.dim));
            i.made.memo.set(slice(made.memo, made.memo_len));
            told(error, i.base.learn(&x, &i.made, Feedback::new(loss, weight)))
        })
    }
}

unsafe extern "C" fn pass<B: Plugin>(
    instance: *mut c_void,
    context: *const CorralContext,
    error: *mut CorralText,
) -> i32 {
    // SAFETY: the host keeps the rules of the table.
    unsafe {
        enter::<B>(instance, error, |i| {
            let x = Borrowed::new(context);
            told(error, i.base.extra().map_or(Ok(()), |extra| extra.pass(&x)))
        })
    }
}

unsafe extern "C" fn likelihood<B: Plugin>(
    instance: *mut c_void,
    context: *const CorralContext,
    decision: *const CorralDecision,
    probability: *mut f64,
    out: *mut CorralProposal,
    error: *mut CorralText,
) -> i32 {
    // SAFETY: the host keeps the rules of the table.
    unsafe {
        enter::<B>(instance, error, |i| {
            let (x, decision) = (Borrowed::new(context), &*decision);
            i.made.decision.take(decision.arm, slice(decision.point, decision.dim));
            let Some((p, memo)) = i.base.likelihood(&x, &i.made.decision) else { return CORRAL_NONE };
            *probability = p;
            told(error, put_memo(memo.numbers(), &mut *out))
        })
    }
}

unsafe extern "C" fn learns_from_others<B: Plugin>(instance: *mut c_void) -> u32 {
    // SAFETY: the host keeps the rules of the table.
    unsafe { answer::<B>(instance, false, |base| base.abilities().learns_from_others) }
}

unsafe extern "C" fn heeds_passes<B: Plugin>(instance: *mut c_void) -> u32 {
    // SAFETY: the host keeps the rules of the table.
    unsafe { answer::<B>(instance, true, |base| base.abilities().wants_passes) }
}

/// Yes or no; `otherwise` where the base panics.
///
/// # Safety
/// As for [`enter`]; there is no error buffer.
unsafe fn answer<B: Plugin>(
    instance: *mut c_void,
    otherwise: bool,
    ask: impl FnOnce(&dyn Base<Context, B::Decision>) -> bool,
) -> u32 {
    let mut answer = otherwise;
    let body = |i: &mut Instance<B>| {
        answer = ask(&i.base);
        CORRAL_OK
    };
    // SAFETY: the caller's promise.
    unsafe { enter::<B>(instance, std::ptr::null_mut(), body) };
    u32::from(answer)
}

unsafe extern "C" fn rerange<B: Plugin>(
    instance: *mut c_void,
    range: f64,
    remaining: u64,
    error: *mut CorralText,
) -> i32 {
    let remaining = (remaining != CORRAL_UNKNOWN).then_some(remaining);
    // SAFETY: the host keeps the rules of the table.
    let poisoned = unsafe { instance.cast::<Instance<B>>().as_mut() }.and_then(|i| i.poison.take());
    // SAFETY: as above.
    let status = unsafe {
        enter::<B>(instance, error, |i| {
            if poisoned.is_some() {
                let fresh = match build::<B>(&i.params, &i.setup) {
                    Ok(fresh) => fresh,
                    Err(why) => return failed(error, why),
                };
                let broken = std::mem::replace(&mut i.base, fresh);
                // What a panic left behind may well panic again when it is dropped.
                let _ = catch(|| drop(broken));
                (i.snapshot, i.made) = (None, Proposal::new(B::Decision::default()));
            }
            told(error, i.base.apply_order(Order::Widen { range, remaining }))
        })
    };
    if status != CORRAL_OK && poisoned.is_some() {
        // SAFETY: as above.
        if let Some(i) = unsafe { instance.cast::<Instance<B>>().as_mut() } {
            i.poison = i.poison.take().or(poisoned);
        }
    }
    status
}

unsafe extern "C" fn save<B: Plugin>(
    instance: *mut c_void,
    bytes: *mut u8,
    capacity: usize,
    needed: *mut usize,
    error: *mut CorralText,
) -> i32 {
    // SAFETY: the host keeps the rules of the table.
    unsafe {
        enter::<B>(instance, error, |i| {
            // The first call asks for the length; the second gets the same bytes.
            let state = match i.snapshot.take() {
                Some(state) if capacity > 0 => state,
                _ => i.base.save(),
            };
            *needed = state.len();
            if capacity >= state.len() && !bytes.is_null() {
                std::ptr::copy_nonoverlapping(state.as_ptr(), bytes, state.len());
            } else {
                i.snapshot = Some(state);
            }
            CORRAL_OK
        })
    }
}

unsafe extern "C" fn load<B: Plugin>(
    instance: *mut c_void,
    bytes: *const u8,
    len: usize,
    error: *mut CorralText,
) -> i32 {
    // SAFETY: the host keeps the rules of the table.
    unsafe { enter::<B>(instance, error, |i| told(error, i.base.load(slice(bytes, len)))) }
}

unsafe extern "C" fn extension<B: Plugin>(id: u64) -> *const c_void {
    static YES: u8 = 1;
    if id == CORRAL_NEEDS_HORIZON && B::NEEDS_HORIZON { (&raw const YES).cast() } else { std::ptr::null() }
}
