//! A hostile server's bytes into the client's handshake; what must hold is asserted in `nbd::fuzz`.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| {
    nbd::fuzz::client_handshake(data);
});
