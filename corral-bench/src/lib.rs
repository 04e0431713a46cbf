//! The runner behind the `corral` program.

#![forbid(unsafe_code)]
