//! The frozen surface: what crosses the boundary, byte for byte, and nothing else. `include/corral_plugin.h` says the
//! same to C and C++.
//!
//! Rules of its growth: a field never moves, changes or goes away; new entries go below the last one, with the version
//! from which they exist, and the host tells by [`CorralBaseV1::struct_size`] which are there. Everything that a
//! pointer reaches belongs to the side that made it and is only read (or, where it is a buffer, written) during the
//! call; no allocation crosses.
// abi_stable's derive writes accessors that are not documented.
#![allow(missing_docs, non_camel_case_types)]

use std::ffi::c_void;

use abi_stable::StableAbi;
use abi_stable::library::RootModule;
use abi_stable::sabi_types::VersionStrings;
use abi_stable::std_types::RSlice;

/// First field of every table: "CRRLBAS1" as a little-endian number.
pub const CORRAL_MAGIC: u64 = u64::from_le_bytes(*b"CRRLBAS1");
/// Which entries of the table this version knows.
pub const CORRAL_ABI_MINOR: u32 = 0;
/// The symbol through which a C library hands out its tables, of type [`CorralEntryV1`].
pub const CORRAL_ENTRY: &str = "corral_plugin_v1";

/// Decides on arms and looks at no context.
pub const CORRAL_KIND_ARMS: u32 = 1;
/// Decides on arms and looks at the context.
pub const CORRAL_KIND_CONTEXTUAL: u32 = 2;
/// Decides on points.
pub const CORRAL_KIND_POINTS: u32 = 3;

/// It went well.
pub const CORRAL_OK: i32 = 0;
/// It did not; the reason is in the error buffer.
pub const CORRAL_ERROR: i32 = 1;
/// The code behind the entry panicked; the instance is unusable until `rerange`.
pub const CORRAL_PANICKED: i32 = 2;
/// There is no answer (`likelihood` only).
pub const CORRAL_NONE: i32 = 3;

/// A number of rounds that is not known.
pub const CORRAL_UNKNOWN: u64 = u64::MAX;

/// An extension: its answer is not null where the base cannot be built without a number of rounds.
pub const CORRAL_NEEDS_HORIZON: u64 = 1;

/// Decisions are arms: there is no set.
pub const CORRAL_SET_NONE: u32 = 0;
/// The unit ball.
pub const CORRAL_SET_BALL: u32 = 1;
/// The cube [-1, 1]^dim.
pub const CORRAL_SET_BOX: u32 = 2;
/// The probability simplex.
pub const CORRAL_SET_SIMPLEX: u32 = 3;
/// A set that only the text describes.
pub const CORRAL_SET_OTHER: u32 = 255;

/// Text to be read: UTF-8, not terminated.
#[repr(C)]
#[derive(StableAbi, Clone, Copy)]
pub struct CorralStr {
    /// First byte; may be null when `len` is 0.
    pub ptr: *const u8,
    /// Number of bytes.
    pub len: usize,
}

// SAFETY: it is only ever read.
unsafe impl Sync for CorralStr {}
// SAFETY: as above.
unsafe impl Send for CorralStr {}

/// A buffer of the host for text: the plugin writes at most `capacity` bytes of UTF-8 and sets `len`.
#[repr(C)]
#[derive(StableAbi)]
pub struct CorralText {
    /// First byte.
    pub ptr: *mut u8,
    /// Size of the buffer.
    pub capacity: usize,
    /// Bytes written.
    pub len: usize,
}

/// The side information of a round, in the host's memory. Neither pointer is null, whatever the lengths.
#[repr(C)]
#[derive(StableAbi, Clone, Copy)]
pub struct CorralContext {
    /// The shared features.
    pub features: *const f64,
    /// Number of shared features.
    pub features_len: usize,
    /// The features of the actions, one row after the other.
    pub rows: *const f64,
    /// Numbers in `rows`: `actions * row_dim`, or 0.
    pub rows_len: usize,
    /// Features per row; 0 where actions have none.
    pub row_dim: u32,
    /// Number of actions this round; 0 where decisions are points.
    pub actions: u32,
    /// Which of finitely many contexts this is; -1 where they are not finite.
    pub cell: i64,
}

/// The host's random numbers, for the call and its thread only: later, or on another thread, they are zeros and the base
/// fails. All randomness comes from here.
#[repr(C)]
#[derive(StableAbi, Clone, Copy)]
pub struct CorralRng {
    /// First argument of the call-backs.
    pub state: *mut c_void,
    /// 32 random bits.
    pub next_u32: unsafe extern "C" fn(state: *mut c_void) -> u32,
    /// 64 random bits.
    pub next_u64: unsafe extern "C" fn(state: *mut c_void) -> u64,
    /// `len` random bytes.
    pub fill_bytes: unsafe extern "C" fn(state: *mut c_void, bytes: *mut u8, len: usize),
}

/// What a base is told about the world before the first round.
#[repr(C)]
#[derive(StableAbi, Clone, Copy)]
pub struct CorralSetup {
    /// Bytes of this struct as the host knows it.
    pub struct_size: usize,
    /// Number of arms; 0 where decisions are points.
    pub actions: u32,
    /// Which set of points: one of `CORRAL_SET_*`.
    pub set: u32,
    /// Coordinates of a point; 0 where decisions are arms.
    pub dim: usize,
    /// The set as TOML text (`box.dim = 2`); empty where decisions are arms.
    pub set_text: CorralStr,
    /// Number of shared features.
    pub features: usize,
    /// Number of features per action row.
    pub row_features: usize,
    /// How many contexts there are; -1 where they are not finite.
    pub cells: i64,
    /// The number of rounds, or `CORRAL_UNKNOWN`.
    pub horizon: u64,
}

/// Buffers of the host for a proposal.
#[repr(C)]
#[derive(StableAbi)]
pub struct CorralProposal {
    /// The arm, where decisions are arms.
    pub arm: u32,
    /// Not used: 0.
    pub reserved: u32,
    /// A buffer for `dim` coordinates, where decisions are points; all of them are written.
    pub point: *mut f64,
    /// Number of coordinates.
    pub dim: usize,
    /// A buffer for what the base wants back with the loss.
    pub memo: *mut f64,
    /// Numbers that fit into `memo`.
    pub memo_capacity: usize,
    /// Numbers written to `memo`.
    pub memo_len: usize,
}

/// A decision to be read, with the memo that its proposal carried.
#[repr(C)]
#[derive(StableAbi, Clone, Copy)]
pub struct CorralDecision {
    /// The arm, where decisions are arms.
    pub arm: u32,
    /// Not used: 0.
    pub reserved: u32,
    /// The coordinates, where decisions are points.
    pub point: *const f64,
    /// Number of coordinates.
    pub dim: usize,
    /// The memo.
    pub memo: *const f64,
    /// Numbers in the memo.
    pub memo_len: usize,
}

/// One base: what it is, and what it does. Immutable, and alive as long as the process.
///
/// Calls on one instance never overlap; they may come from different threads one after the other. An entry that
/// returns anything but `CORRAL_OK` (or, `likelihood`, `CORRAL_NONE`) says why in `error`.
#[repr(C)]
#[derive(StableAbi, Clone, Copy)]
#[sabi(kind(Prefix(prefix_ref = CorralBaseV1Ref, prefix_fields = CorralBaseV1Prefix)))]
#[sabi(missing_field(option))]
pub struct CorralBaseV1 {
    /// `CORRAL_MAGIC`.
    pub magic: u64,
    /// Bytes of this struct as the plugin knows it.
    pub struct_size: usize,
    /// `CORRAL_ABI_MINOR` of the plugin.
    pub abi_minor: u32,
    /// One of `CORRAL_KIND_*`.
    pub kind: u32,
    /// The stability exponent alpha in [0, 1]; NaN where none is known.
    pub alpha: f64,
    /// Name of the base within its library: letters, digits, `-` and `_`.
    pub name: CorralStr,
    /// One sentence.
    pub description: CorralStr,
    /// Version of the plugin; snapshots of another version are refused.
    pub version: CorralStr,
    /// Builds an instance with range 1 from TOML text.
    pub create: unsafe extern "C" fn(
        setup: *const CorralSetup,
        params: CorralStr,
        instance: *mut *mut c_void,
        error: *mut CorralText,
    ) -> i32,
    /// Frees an instance. Called once.
    pub destroy: unsafe extern "C" fn(instance: *mut c_void, error: *mut CorralText) -> i32,
    /// Proposes a decision.
    pub propose: unsafe extern "C" fn(
        instance: *mut c_void,
        context: *const CorralContext,
        rng: *const CorralRng,
        proposal: *mut CorralProposal,
        error: *mut CorralText,
    ) -> i32,
    /// Learns what a decision cost: the loss in [0, 1] and its importance weight (0: not seen).
    pub learn: unsafe extern "C" fn(
        instance: *mut c_void,
        context: *const CorralContext,
        made: *const CorralDecision,
        loss: f64,
        weight: f64,
        error: *mut CorralText,
    ) -> i32,
    /// Weights are at most `range` from now on, with `remaining` rounds left (or `CORRAL_UNKNOWN`).
    pub rerange: unsafe extern "C" fn(
        instance: *mut c_void,
        range: f64,
        remaining: u64,
        error: *mut CorralText,
    ) -> i32,
    /// Writes a snapshot of `needed` bytes when `capacity` is at least that, and only says how many otherwise.
    pub save: unsafe extern "C" fn(
        instance: *mut c_void,
        bytes: *mut u8,
        capacity: usize,
        needed: *mut usize,
        error: *mut CorralText,
    ) -> i32,
    /// Continues from a snapshot; on error nothing changed.
    #[sabi(last_prefix_field)]
    pub load: unsafe extern "C" fn(
        instance: *mut c_void,
        bytes: *const u8,
        len: usize,
        error: *mut CorralText,
    ) -> i32,
    /// A round went by without this base. Null: nothing to do.
    pub pass: Option<
        unsafe extern "C" fn(
            instance: *mut c_void,
            context: *const CorralContext,
            error: *mut CorralText,
        ) -> i32,
    >,
    /// The probability of proposing a decision now, and the memo it would carry (into `memo` of `out`). Null: no
    /// such thing.
    pub likelihood: Option<
        unsafe extern "C" fn(
            instance: *mut c_void,
            context: *const CorralContext,
            decision: *const CorralDecision,
            probability: *mut f64,
            out: *mut CorralProposal,
            error: *mut CorralText,
        ) -> i32,
    >,
    /// Whether it can learn from decisions of others: 0 or 1. Null: it cannot.
    pub learns_from_others: Option<unsafe extern "C" fn(instance: *mut c_void) -> u32>,
    /// Whether `pass` does anything: 0 or 1. Null: it does, where there is one.
    pub heeds_passes: Option<unsafe extern "C" fn(instance: *mut c_void) -> u32>,
    /// What a later version may ask for by number; null for numbers that are not known. Null: nothing.
    pub extension: Option<unsafe extern "C" fn(id: u64) -> *const c_void>,
}

/// The C door: the `index`-th table of the library, null past the last.
pub type CorralEntryV1 = unsafe extern "C" fn(index: u32) -> *const CorralBaseV1;

/// The Rust door: what a library built by [`corral_plugin!`](crate::corral_plugin) exports, with its layout.
#[repr(C)]
#[derive(StableAbi)]
#[sabi(kind(Prefix(prefix_ref = CorralRootV1Ref, prefix_fields = CorralRootV1Prefix)))]
#[sabi(missing_field(option))]
pub struct CorralRootV1 {
    /// The tables.
    #[sabi(last_prefix_field)]
    pub bases: RSlice<'static, CorralBaseV1Ref>,
}

impl RootModule for CorralRootV1Ref {
    abi_stable::declare_root_module_statics! {CorralRootV1Ref}
    const BASE_NAME: &'static str = "corral_plugin";
    const NAME: &'static str = "corral plugin";
    /// The version of this crate, not of the plugin.
    const VERSION_STRINGS: VersionStrings = abi_stable::package_version_strings!();
}
