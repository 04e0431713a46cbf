//! The `corral` program.

fn main() {}
