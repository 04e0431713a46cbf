//! Placeholder, filled as the benchmark is written.

fn main() {}
