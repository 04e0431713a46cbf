//! The tests of stores with buckets among them: a program of its own, so that nothing else is built for it.
#![allow(dead_code, missing_docs)]

#[path = "it/common.rs"]
mod common;
#[path = "it/stores.rs"]
mod stores;
