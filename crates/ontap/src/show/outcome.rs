//! Messages of commands that changed something.

use crate::value::{SizeUnit, UnitSize};

/// The number of entries that a command with a pattern changed: `2 entries were modified.`
pub fn entries(count: usize, done: &str) -> String {
    match count {
        1 => format!("1 entry was {done}.\n"),
        _ => format!("{count} entries were {done}.\n"),
    }
}

/// The answer of `lun create`: the size as typed and in bytes,
/// `Created a LUN of size 10g (10737418240)`.
pub fn lun_created(size: UnitSize, bytes: u64) -> String {
    let number = size.number;
    match size.unit {
        SizeUnit::Scaled(_) => {
            let letter = size.to_string().trim_start_matches(|c: char| c.is_ascii_digit()).to_ascii_lowercase();
            format!("Created a LUN of size {number}{} ({bytes})\n", letter.trim_end_matches('b'))
        }
        SizeUnit::Bytes | SizeUnit::Binary(_) => format!("Created a LUN of size {size} ({bytes})\n"),
    }
}
