//! The laboratory from outside.

mod charts;
mod corpora;
mod hardness;
mod harness;
mod healthy;
mod offers;
mod pitfalls;
mod points;
mod points_linear;
mod saved;
mod soak;
