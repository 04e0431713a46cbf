//! What a host is willing to load, and how.

use std::collections::BTreeSet;

/// What a host is willing to load. The default refuses files that everybody may write, and runs the rest in this
/// process.
#[derive(Debug, Clone, Default)]
pub struct Policy {
    /// Also load files, and from folders, that everybody may write.
    pub allow_world_writable: bool,
    /// Load only files with these SHA-256 digests (64 hexadecimal digits). `None`: any.
    pub allowed: Option<BTreeSet<String>>,
    /// Run every base in a process of its own; nothing of a plugin is then run in this one, not even to look at it.
    #[cfg(unix)]
    pub isolation: Option<super::Isolation>,
}

impl Policy {
    /// Whether a file with this digest may be loaded.
    pub(super) fn allows(&self, sha256: &str) -> bool {
        self.allowed.as_ref().is_none_or(|list| list.iter().any(|one| one.eq_ignore_ascii_case(sha256)))
    }
}
