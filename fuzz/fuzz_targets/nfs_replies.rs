//! A server's bytes, as a client of NFS reads them: the first byte says what it had called, the
//! rest is the stream.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| {
    if let Some((procedure, stream)) = data.split_first() {
        nfs::fuzz::replies(*procedure, stream);
    }
});
