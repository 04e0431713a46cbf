//! What a band needs so that its tickets may leave the process.

use std::num::NonZeroU64;

use corral_core::EnsembleParams;
use corral_core::registry::BuildError;

/// Draws what tells the tickets of this band from those of all others, where the caller gave none: a
/// [secret](EnsembleParams::secret) and a [copy number](EnsembleParams::copy). They come from the operating system and
/// not from a seeded generator, and no choice depends on them. On `wasm32-unknown-unknown`, where there is no such system, tickets
/// stay in the process unless the caller gives both.
///
/// # Errors
/// The system has no entropy.
pub fn open(params: EnsembleParams) -> Result<EnsembleParams, BuildError> {
    open_with(params, random)
}

/// The same, with numbers of `random`: `None` where there is nothing to draw them from.
fn open_with(
    params: EnsembleParams,
    random: impl Fn() -> Result<Option<u64>, String>,
) -> Result<EnsembleParams, BuildError> {
    let draw = || {
        let refuse =
            |why| format!("cannot be drawn, the system has no entropy: {why}; give one, and a copy number");
        random().map_err(|why| BuildError::refused("band", "secret", refuse(why)))
    };
    let copy = match params.copy {
        None => draw()?,
        given => given,
    };
    let secret = match params.secret {
        None => draw()?.map(|drawn| NonZeroU64::new(drawn).unwrap_or(NonZeroU64::MIN)),
        given => given,
    };
    Ok(match copy {
        Some(_) => EnsembleParams { secret, copy, ..params },
        None => params,
    })
}

#[cfg(not(all(target_family = "wasm", target_os = "unknown")))]
fn random() -> Result<Option<u64>, String> {
    getrandom::u64().map(Some).map_err(|e| e.to_string())
}

#[cfg(all(target_family = "wasm", target_os = "unknown"))]
fn random() -> Result<Option<u64>, String> {
    Ok(None)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_band_without_a_secret_is_never_made_in_silence() {
        let broken = || Err("interrupted".to_owned());
        let why = open_with(EnsembleParams::default(), broken).unwrap_err().to_string();
        assert!(why.contains("secret") && why.contains("interrupted"), "{why}");
        let given = EnsembleParams { secret: NonZeroU64::new(3), copy: Some(4), ..EnsembleParams::default() };
        let kept = open_with(given, broken).unwrap();
        assert_eq!((kept.secret, kept.copy), (given.secret, given.copy));
        let half = EnsembleParams { copy: Some(4), ..EnsembleParams::default() };
        assert!(open_with(half, broken).is_err());
        let drawn = open_with(EnsembleParams::default(), || Ok(Some(0))).unwrap();
        assert_eq!((drawn.secret, drawn.copy), (NonZeroU64::new(1), Some(0)));
        let nowhere = open_with(EnsembleParams::default(), || Ok(None)).unwrap();
        assert_eq!((nowhere.secret, nowhere.copy), (None, None));
    }
}
