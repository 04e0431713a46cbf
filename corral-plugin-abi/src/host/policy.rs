//! What a host is willing to load, and where it runs it.

use std::collections::BTreeSet;

use super::isolated::Isolation;

/// What a host is willing to load, and where it runs it. The default refuses files that others may change, and runs
/// nothing of a plugin in this process.
#[derive(Debug, Clone, Default)]
pub struct Policy {
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
}

/// Which process runs the foreign code of a plugin.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum RunIn {
    /// Children only: nothing of a plugin runs in this process, not even to look at it.
    #[default]
    Children,
    /// A child looks at the library. Its bases run in this process, where it is opened when the first of them is built;
    /// those that a spec isolates run in children.
    ChildrenUnlessUsed,
    /// This process opens the library to look at it, and runs its bases: for programs that cannot start themselves
    /// again.
    ThisProcess,
}

impl Policy {
    /// Everything in this process: see [`RunIn::ThisProcess`].
    pub fn in_this_process() -> Self {
        Self { run_in: RunIn::ThisProcess, ..Self::default() }
    }

    /// Whether a file with this digest may be loaded.
    pub(super) fn allows(&self, sha256: &str) -> bool {
        self.allowed.as_ref().is_none_or(|list| list.iter().any(|one| one.eq_ignore_ascii_case(sha256)))
    }
}
