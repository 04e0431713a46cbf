//! Bases whose decisions are points of R^d.

use crate::registry::Row;

/// The rows of the registry.
pub(crate) const ROWS: &[Row] = &[];
