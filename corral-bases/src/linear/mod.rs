//! Contextual bases that regress the loss on features.

use crate::registry::Row;

/// The rows of the registry.
pub(crate) const ROWS: &[Row] = &[];
