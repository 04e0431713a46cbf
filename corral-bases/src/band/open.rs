//! What a band needs so that its tickets may leave the process.

use std::num::NonZeroU64;

use corral_core::EnsembleParams;

/// Draws what tells the tickets of this band from those of all others, where the caller gave none: a
/// [secret](EnsembleParams::secret) and a [copy number](EnsembleParams::copy). They come from the operating system and
/// not from a seeded generator, and no choice depends on them. Where the system has no entropy the tickets stay in the process.
pub fn open(params: EnsembleParams) -> EnsembleParams {
    let secret = params.secret.or_else(|| NonZeroU64::new(random()?));
    let copy = params.copy.or_else(random);
    match copy {
        Some(_) => EnsembleParams { secret, copy, ..params },
        None => params,
    }
}

#[cfg(not(all(target_family = "wasm", target_os = "unknown")))]
fn random() -> Option<u64> {
    getrandom::u64().ok()
}

#[cfg(all(target_family = "wasm", target_os = "unknown"))]
fn random() -> Option<u64> {
    None
}
