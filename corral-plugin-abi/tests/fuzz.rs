//! Bytes from outside: the pre-flight and the snapshot reader answer, whatever they are given.

mod common;
#[path = "fixtures/bases/draws.rs"]
mod draws;

use std::sync::{Arc, OnceLock};

use common::rust;
use corral_plugin_abi::exported;
use corral_plugin_abi::host::{Door, ForeignBase, LoadError, Table, preflight_bytes};
use corral_plugin_abi::prelude::*;
use proptest::prelude::*;

/// A real plugin's bytes.
fn library() -> &'static [u8] {
    static BYTES: OnceLock<Vec<u8>> = OnceLock::new();
    BYTES.get_or_init(|| std::fs::read(rust("draws")).unwrap())
}

fn base() -> ForeignBase<Arm> {
    let mut setup = Setup::arms(2, None);
    setup.context.features = 2;
    // SAFETY: the functions and texts of the table are those of this program.
    let table = unsafe { Table::read(&exported::<draws::Draws>("it", "0.1.0")) }.unwrap();
    ForeignBase::build(Arc::new(table), "", &setup).unwrap()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, ..ProptestConfig::default() })]

    #[test]
    fn the_preflight_survives_any_bytes(mut bytes in proptest::collection::vec(any::<u8>(), 0..300), magic: bool) {
        if magic && bytes.len() >= 20 {
            // An ELF file of 64 bits for this machine, up to here.
            bytes[..20].copy_from_slice(&library()[..20]);
        }
        prop_assert!(preflight_bytes(&bytes).is_err());
    }

    #[test]
    fn the_preflight_survives_damaged_headers(
        flips in proptest::collection::vec((0usize..64, any::<u8>()), 1..5),
        deep in proptest::collection::vec((0usize..4096, any::<u8>()), 0..5),
    ) {
        let mut bytes = library().to_vec();
        for (at, byte) in flips.into_iter().chain(deep) {
            bytes[at] = byte;
        }
        let _ = preflight_bytes(&bytes);
    }

    /// A library that lost its end is never taken for a whole one.
    #[test]
    fn the_preflight_refuses_every_cut(part in 0.0..1.0f64) {
        let bytes = library();
        let cut = &bytes[..((bytes.len() - 1) as f64 * part) as usize];
        let refused = preflight_bytes(cut);
        prop_assert!(
            matches!(refused, Err(LoadError::CutShort { .. } | LoadError::NotALibrary(_))),
            "{refused:?}"
        );
    }

    #[test]
    fn the_snapshot_reader_survives_any_bytes(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
        let mut base = base();
        let before = base.save();
        prop_assert!(base.load(&bytes).is_err());
        prop_assert_eq!(base.save(), before, "on error nothing changed");
    }

    /// Within a frame whose checksum is right, what the plugin is given is still anything at all.
    #[test]
    fn the_snapshot_reader_survives_any_state(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
        let mut base = base();
        let before = base.save();
        let framed = snapshot::seal("plugin base it version 0.1.0", 1, &bytes);
        prop_assert!(base.load(&framed).is_err());
        prop_assert_eq!(base.save(), before, "on error nothing changed");
    }

    #[test]
    fn a_snapshot_with_a_byte_changed_is_refused(at in 0usize..60, flip in 1u8..) {
        let mut base = base();
        let mut state = base.save();
        let at = at % state.len();
        state[at] ^= flip;
        prop_assert!(base.load(&state).is_err());
    }
}

#[test]
fn the_whole_library_passes() {
    assert_eq!(preflight_bytes(library()).unwrap().door, Door::Rust);
}
