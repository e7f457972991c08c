//! A client's handshake: see `nbd::fuzz::server_handshake`.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    nbd::fuzz::server_handshake(bytes);
});
