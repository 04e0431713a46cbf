//! One seed gives named streams, so that every learner of a seed faces the same world, and results do not depend on
//! threads, shards or order.

use corral_core::split_mix;
use rand::SeedableRng;
use rand_pcg::Pcg64Dxsm;

/// The generator of a run's `name`d purpose ("environment", "learner", "delay") under `seed`.
pub fn stream(seed: u64, name: &str) -> Pcg64Dxsm {
    let mut bytes = [0; 32];
    let mut state = seed;
    for (chunk, salt) in bytes.chunks_exact_mut(8).zip(0u8..) {
        for byte in name.bytes().chain([salt]) {
            state = split_mix(&mut (state ^ u64::from(byte)));
        }
        chunk.copy_from_slice(&state.to_le_bytes());
    }
    Pcg64Dxsm::from_seed(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand::Rng;

    #[test]
    fn streams_are_stable_and_apart() {
        let first = |seed, name: &str| stream(seed, name).next_u64();
        assert_eq!(first(0, "environment"), first(0, "environment"));
        let drawn =
            [first(0, "environment"), first(1, "environment"), first(0, "learner"), first(1, "learner")];
        for (i, a) in drawn.iter().enumerate() {
            assert!(drawn[..i].iter().all(|b| a != b));
        }
    }
}
