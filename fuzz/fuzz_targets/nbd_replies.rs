//! A hostile server's bytes into the client's transmission phase; what must hold is asserted in
//! `nbd::fuzz`.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| {
    nbd::fuzz::replies(data);
});
