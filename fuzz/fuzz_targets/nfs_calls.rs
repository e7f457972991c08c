//! A client's bytes, as a server of NFS reads them; what must hold is asserted in `nfs::fuzz`.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| {
    nfs::fuzz::calls(data);
});
