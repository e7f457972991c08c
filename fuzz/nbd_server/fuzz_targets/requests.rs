//! A client's requests: see `nbd::fuzz::requests`.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    nbd::fuzz::requests(bytes);
});
