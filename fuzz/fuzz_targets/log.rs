#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| corral_fuzz::log(bytes));
