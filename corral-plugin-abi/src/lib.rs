//! The binary surface of Corral plugins: the frozen table, the author's macro, and (feature `host`) what a program needs
//! to run them.
pub mod abi;
mod author;
mod export_macro;
#[cfg(feature = "host")]
pub mod host;

pub use author::{Decision, Kind, Plugin, exported};
pub use corral_core;
pub use rand_core;
pub use serde;

/// What a plugin's file usually needs.
pub mod prelude {
    pub use crate::{Kind, Plugin, corral_plugin};
    pub use corral_core::{
        Arm, Base, BaseError, Context, Feedback, Memo, ParamError, Point, Proposal, Rng, Set, Setup,
        SnapshotError, Space, sample_index, snapshot, uniform,
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
