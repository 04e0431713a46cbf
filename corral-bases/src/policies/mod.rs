//! Bases over classes of policies.

use crate::registry::Row;

/// The rows of the registry.
pub(crate) const ROWS: &[Row] = &[];
