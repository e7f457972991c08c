//! Job files of fio: nothing that is in one may panic the parser, and what it takes it can
//! describe, print and unfold.
//!
//! The first byte chooses the dialect; the rest is the file. An included file and a variable are
//! there to be used.

#![no_main]

use fio::{Given, Invocation};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| {
    let Some((first, text)) = data.split_first() else { return };
    let text = String::from_utf8_lossy(text);
    let world = Given::default()
        .with_text("a.fio", &text)
        .with_text("inc.fio", "rw=write\nbs=8k\n")
        .with_variable("SIZE", "4m")
        .with_file("/dev/x", 1 << 30);
    let mut arguments = vec!["a.fio".to_owned()];
    if first & 1 == 1 {
        arguments.push("--strict-fio".to_owned());
    }
    if let Ok(invocation) = Invocation::parse(&arguments, &world) {
        let _ = invocation.command();
        let _ = invocation.describe();
        let _ = invocation.entries();
        for job in invocation.jobs.iter().filter(|job| job.number == 0) {
            let _ = job.spec();
        }
    }
});
