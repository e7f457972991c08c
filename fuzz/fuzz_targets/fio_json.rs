//! fio's JSON as `seawall results import` reads it: nothing that is in a file may panic, and what
//! is taken is a whole run.

#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| {
    if let Ok(run) = fio::read_json(&String::from_utf8_lossy(data)) {
        assert_eq!(run.points.len(), 1);
        assert!(run.cells.iter().all(|cell| (cell.actor as usize) < run.actors.len()));
    }
});
