//! A request's query and body, a newline between them: whatever they are, they are read or refused
//! without a panic.

#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| {
    let (query, body) = data.split_at(data.iter().position(|byte| *byte == b'\n').unwrap_or(data.len()));
    let _ = api::can_be_read(&String::from_utf8_lossy(query), body);
});
