//! The engine and the service.

mod bounds;
mod common;
#[cfg(feature = "http")]
mod connections;
mod decisions;
mod engine;
mod full;
#[cfg(feature = "http")]
mod http;
mod laws;
#[cfg(feature = "http")]
mod offers;
#[cfg(feature = "http")]
mod openapi;
mod recovery;
mod serving;
mod simulate;
mod spec;
mod stores;
mod tickets;
mod traffic;
mod verify;
mod warm;
#[cfg(feature = "http")]
mod web;
