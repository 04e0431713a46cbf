//! Compiled bases that a user drops into a folder: the frozen table, the author's macro, and (feature `host`) the loader.
//!
//! # Writing a plugin
//!
//! Implement [`Base`](corral_core::Base) and [`Plugin`] for a type, and say so once. This crate is the only dependency; the
//! manifest has `crate-type = ["cdylib"]`. `corral plugin new NAME` writes such a crate.
//!
//! ```
//! use corral_plugin_abi::prelude::*;
//!
//! /// Plays at random.
//! struct Random { arms: usize }
//!
//! #[derive(Deserialize)]
//! #[serde(crate = "corral_plugin_abi::serde", deny_unknown_fields)]
//! struct RandomParams {}
//!
//! impl Plugin for Random {
//!     type Params = RandomParams;
//!     type Decision = Arm;
//!     const KIND: Kind = Kind::Arms;
//!     const DESCRIPTION: &'static str = "plays at random";
//!     fn build(_: RandomParams, setup: &Setup) -> Result<Self, BaseError> {
//!         Ok(Self { arms: setup.actions() })
//!     }
//! }
//!
//! impl<X: ?Sized> Base<X, Arm> for Random {
//!     fn propose(&mut self, _: &X, rng: &mut dyn Rng) -> Result<Proposal<Arm>, BaseError> {
//!         Ok(Proposal::new(Arm::at((uniform(rng) * self.arms as f64) as usize)))
//!     }
//!     fn learn(&mut self, _: &X, _: &Proposal<Arm>, _: Feedback) -> Result<(), BaseError> { Ok(()) }
//!     fn apply_order(&mut self, _: Order) -> Result<(), BaseError> { Ok(()) }
//!     fn save(&self) -> Vec<u8> { snapshot::seal("random", 1, &()) }
//!     fn load(&mut self, state: &[u8]) -> Result<(), BaseError> { Ok(snapshot::open("random", 1, state)?) }
//! }
//!
//! corral_plugin! { "random" => Random }
//! # fn main() {}
//! ```
//!
//! - Parameters arrive as the plugin's own `Params`, read from TOML; all random numbers come from the host, so that the base
//!   gives the same run linked or loaded, bit for bit.
//! - A panic becomes an error with its text and place; the instance is then unusable until its range changes, which
//!   rebuilds it. A plugin built with `panic = "abort"` takes its process with it: see isolation.
//! - What is only the host's does not cross: a `Setup` has no policies and no context sampler here.
//! - Memos may have 1024 numbers, and one more per action or four more per coordinate.
//! - C and C++ use `include/corral_plugin.h`, which has the same table; `examples/plugins` has a plugin of each kind.
//!
//! - Threads: calls on one instance never overlap, and may come from different threads one after the other; different
//!   instances are called side by side. The generator of a call answers the thread of the call, until the call ends: used
//!   later or elsewhere it gives zeros, and the base fails. A plugin may have threads of its own; they must not touch what
//!   the host lent to a call.
//!
//! # Running plugins
//!
//! With the feature `host`: `host::Plugins` examines a folder and builds bases by the key `file-stem/base`;
//! `host::load_file` and `host::Library` are the steps below it. A file that is refused says why (`host::LoadError`), and
//! never stops the others. `host::Library::examine` runs the laws of `corral_core::contract` on a base, `host::scaffold`
//! begins a new plugin. Plugins are loaded on Linux (64-bit ELF); elsewhere this crate builds, and every file is refused
//! with that reason.
//!
//! # What is checked, and what cannot be
//!
//! Before a byte of a file is run: that it is a regular file that belongs to the user or root and that not everybody may
//! write, in a folder of which the same is true; that it is an ELF library for this machine, whole, with an entry; that
//! its SHA-256 digest is on the list, where the policy has one. The bytes that pass are sealed in memory, and they are what
//! is opened: the file may be replaced, overwritten or cut meanwhile, or while it runs. (So a library finds the others that
//! it needs by the system's rules; `$ORIGIN` means nothing to it.) When it is opened: the version of this crate, and the
//! layout of the table, recursively (C libraries: magic number, size, no null functions). In every call: the status, the
//! arm or point, the memo, the probability, the snapshot and its version; texts are made harmless for a terminal. A base
//! that breaks a rule is an error, and its master benches it.
//!
//! After opening and after every call the floating-point state of the thread is what it was (rounding, flush-to-zero and
//! masks on x86_64 and aarch64; elsewhere it is not restored). Other state of the process is not watched: signal handlers,
//! the working directory, the environment, the locale, limits, open files.
//!
//! None of this makes a plugin harmless. It is native code: in the host's process it can read and write everything, end
//! the process, or never return. Which process runs it is the policy's choice, `host::RunIn`; by default it is never this
//! one. So:
//!
//! | a plugin that | in the host's process | in a child: `isolate = true` |
//! |---|---|---|
//! | returns nonsense, panics | error, benched | error, benched |
//! | crashes, aborts, exits, overflows its stack | the host dies | error, benched; the run goes on |
//! | never returns, or answers byte by byte | the host hangs | error after the time limit, benched |
//! | crashes, exits or hangs while it is opened | the host dies or hangs | refused |
//! | starts processes | they stay | they end with the base, unless they leave its process group |
//! | writes to the host's memory | anything | cannot |
//! | reads files, opens sockets, deletes your data, kills your processes | can | **can**: it is a process with your rights, no sandbox |
//! | uses up all memory or processors | can | **can**, until its time limit |
//! | pretends to be good while it is examined | can | **can** |
//!
//! `docs/promises.md` has the whole list, with what is promised against callers and data. `tests/hostile.rs` plays every
//! row.
//!
//! Isolation is a child process: the host program runs itself again, so a program that wants it calls
//! `host::isolated_main` first thing in `main`. Each call is a message there and one back (tens of microseconds instead of
//! nanoseconds), and each random number one more pair. Time limits count processor time, and sixty times as much by the
//! clock: see `host::Isolation`. What the plugin prints is not shown; the last of it is part of the error when its process
//! ends. A child whose host ends is ended with all that it started.
//!
//! A library is never unloaded.

pub mod abi;
mod author;
mod export_macro;
#[cfg(feature = "host")]
pub mod host;

pub use author::{Crosses, Plugin, exported};
pub use corral_core;
pub use corral_core::registry::Kind;
pub use rand_core;
pub use serde;

/// What a plugin's file usually needs.
pub mod prelude {
    pub use crate::{Kind, Plugin, corral_plugin};
    pub use corral_core::{
        Abilities, Arm, Base, BaseError, BaseExtra, Context, Feedback, Memo, Order, ParamError, Point,
        Proposal, Rng, Set, Setup, SnapshotError, Space, sample_index, snapshot, uniform,
    };
    pub use serde::{Deserialize, Serialize};
}

#[doc(hidden)]
pub mod __private {
    pub use crate::abi::{CorralBaseV1, CorralBaseV1Ref, CorralRootV1, CorralRootV1Ref};
    pub use crate::author::{exported, named};
    pub use abi_stable::library::{CheckTypeLayout, LibHeader, RootModuleResult};
    pub use abi_stable::prefix_type::WithMetadata;
    pub use abi_stable::std_types::RSlice;

    /// The root module with its type forgotten, as the header wants it.
    pub fn erased_root(root: CorralRootV1Ref) -> RootModuleResult {
        use abi_stable::prefix_type::PrefixRefTrait;
        // SAFETY: the header's layout is that of `CorralRootV1Ref`, to which the reader casts back.
        RootModuleResult::ROk(unsafe { root.to_prefix_ref().cast() })
    }
}
