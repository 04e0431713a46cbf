//! What a host is willing to load, and where it runs it.

use std::collections::BTreeSet;

use super::isolated::Isolation;
use super::portable::OpenModule;

/// What a host is willing to load, and where it runs it. The default refuses files that others may change, and runs
/// nothing of a plugin in this process.
#[derive(Debug, Clone, Default)]
pub struct LoadPolicy {
    /// Also load files, and from folders, that everybody may write.
    pub allow_world_writable: bool,
    /// Also load files, and from folders, that belong to somebody other than the user and root.
    pub allow_other_owners: bool,
    /// Load only files with these SHA-256 digests (64 hexadecimal digits). `None`: any.
    pub allowed: Option<BTreeSet<String>>,
    /// Where plugins run.
    pub run_in: RunIn,
    /// How children are started and how long they may take.
    pub isolation: Isolation,
    /// What opens WebAssembly modules, `corral_plugin_wasm::open`: they run in this process, of which they reach nothing.
    pub wasm: Option<OpenModule>,
}

/// Which process runs the foreign code of a plugin. By default, children only.
///
/// Native code is trusted as linked code is: no check makes it harmless. Whoever lets it run in this process gives that trust,
/// and gives it here: by [`this_process`](RunIn::this_process), which is `unsafe`, or in the name of the program's user by
/// [`user_vouches`](RunIn::user_vouches). What loads, builds and examines under a policy rests on it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct RunIn(pub(super) Process);

/// Where a plugin is opened.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) enum Process {
    #[default]
    Children,
    ChildrenUnlessUsed,
    This,
}

impl RunIn {
    /// Children only: nothing of a plugin runs in this process, not even to look at it.
    pub const CHILDREN: Self = Self(Process::Children);

    /// For programs whose user says which plugins are used: a child looks at the library. Its bases run in this process, where
    /// it is opened when the first of them is built; those that a spec isolates run in children.
    ///
    /// It is safe as starting another program is: the user chose the folder, named the base, and could as well have run the
    /// file. Use it only where that is so, and never where the folder or the name of a base comes from somebody else. The other
    /// fields of [`LoadPolicy`] refuse files that others may have changed.
    pub fn user_vouches() -> Self {
        Self(Process::ChildrenUnlessUsed)
    }

    /// This process opens the library to look at it, and runs its bases: for programs that cannot start themselves again.
    ///
    /// # Safety
    /// Every library that is loaded under this policy is as trustworthy as code that is linked: its initialisers, its entry and
    /// every call of its bases keep to the interface and to Rust's rules for memory and threads.
    pub unsafe fn this_process() -> Self {
        Self(Process::This)
    }
}

impl LoadPolicy {
    /// Everything in this process.
    ///
    /// # Safety
    /// As for [`RunIn::this_process`].
    pub unsafe fn in_this_process() -> Self {
        // SAFETY: the caller's promise.
        Self { run_in: unsafe { RunIn::this_process() }, ..Self::default() }
    }

    /// Whether a file with this digest may be loaded.
    pub(super) fn allows(&self, sha256: &str) -> bool {
        self.allowed.as_ref().is_none_or(|list| list.iter().any(|one| one.eq_ignore_ascii_case(sha256)))
    }
}
