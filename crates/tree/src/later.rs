//! What proves that a record had become durable that a start cannot read.
//!
//! ```text
//!   log   … │ record 6 │ damaged │ record 8 │ …      8 was started when 7 was durable: 7 is lost
//!         … │ record 6 │ damaged │ end 7 │ …         written when 7 was durable: the same
//!         … │ record 6 │ damaged │ older records …   7 may have been under way when the power failed
//! ```
//! Sequences rise for good, and a number is given again only to a record that was never durable. So
//! what a log had before shows smaller numbers, and there is no false alarm.

use crate::limits::{LOG_BYTES, LOGS, PAGE_BYTES, RECORD_BYTES_MAX};
use crate::record::{read_end, sequence_of};
use crate::recover::{TreeError, TreeMedia, read, record_at};

/// So many bytes of zeroes are behind everything that was written to a log. A log is written from
/// its beginning on, and four of the longest records are not damaged to zeroes by one fault.
const BLANK_BYTES: u64 = 4 * RECORD_BYTES_MAX as u64;

/// The latest record that was started or durable, if that proves that `record` was durable.
pub(crate) fn latest_proof(media: &mut dyn TreeMedia, record: u64) -> Result<Option<u64>, TreeError> {
    let mut latest = None;
    for (log, base) in LOGS.into_iter().enumerate() {
        let (mut at, mut blank) = (0, 0);
        while at < LOG_BYTES && blank < BLANK_BYTES {
            let chunk = read(media, base + at, RECORD_BYTES_MAX)?;
            for page in chunk.chunks(PAGE_BYTES as usize) {
                blank = if page.iter().all(|byte| *byte == 0) { blank + PAGE_BYTES } else { 0 };
                latest = latest.max(read_end(page).filter(|durable| *durable >= record));
                if sequence_of(page).is_some_and(|sequence| sequence > record) {
                    let found = record_at(media, log, at)?.map(|(found, _)| found.sequence);
                    latest = latest.max(found.filter(|sequence| *sequence > record));
                }
                at += PAGE_BYTES;
            }
        }
    }
    Ok(latest)
}
