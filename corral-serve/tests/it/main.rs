//! The engine and the service.

mod common;
mod directory;
mod engine;
mod laws;
mod spec;
