//! Placeholder front page, replaced as the crate grows.
