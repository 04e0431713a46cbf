//! The pre-flight of plugins answers, whatever a file holds.
#![no_main]

use corral_plugin_abi::host::preflight_bytes;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    if let Ok(seen) = preflight_bytes(bytes) {
        assert_eq!((seen.bytes, seen.sha256.len()), (bytes.len() as u64, 64));
    }
});
