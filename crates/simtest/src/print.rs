//! Fingerprints of recordings, to compare two builds scene by scene. With `SIMTEST_PRINTS` in the
//! environment every scene that is played adds a line to that file: a number for the scene, one for
//! all that was recorded of it, and how many requests ended.
//!
//! ```text
//!   SIMTEST_PRINTS=/tmp/before cargo test -p simtest        the same after a change, then
//!   diff <(sort -u /tmp/before) <(sort -u /tmp/after)       prints those in which anything differs
//! ```

use std::fs::OpenOptions;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::io::Write;

use crate::recording::Recording;
use crate::scene::Scene;

/// Adds a scene's line, if the variable is set.
pub(crate) fn note(scene: &Scene, shield: &str, recording: &Recording) {
    let Some(path) = std::env::var_os("SIMTEST_PRINTS") else { return };
    let mut hasher = DefaultHasher::new();
    (format!("{scene:?}"), shield).hash(&mut hasher);
    let ends: usize = recording.tracks.iter().map(|track| track.ends.len()).sum();
    let line = format!("{:016x} {:016x} {ends}\n", hasher.finish(), of(recording));
    let file = OpenOptions::new().create(true).append(true).open(path);
    // One write a line: scenes are played in parallel.
    file.and_then(|mut file| file.write_all(line.as_bytes())).expect("SIMTEST_PRINTS names a file to add to");
}

/// A number for everything that was recorded.
fn of(recording: &Recording) -> u64 {
    let mut hasher = DefaultHasher::new();
    for seen in &recording.dispatches {
        (seen.at.as_nanos(), seen.object.0, seen.len).hash(&mut hasher);
    }
    for ended in recording.tracks.iter().flat_map(|track| &track.ends) {
        let spans = (ended.at.as_nanos(), ended.response.as_nanos(), ended.service.as_nanos());
        (spans, ended.len, std::mem::discriminant(&ended.cause), ended.result.is_ok()).hash(&mut hasher);
    }
    hasher.finish()
}
