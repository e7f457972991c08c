//! libFuzzer's way to the target function of the same name.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| fuzz_qos::scheduler(data));
