//! Advice of setup: a database that no cache on the way can hold.

use block::Bytes;

/// Minimum size of a database, in multiples of the server's memory.
const MEMORY_TIMES: u64 = 2;
/// The same in multiples of the array's cache.
const CACHE_TIMES: u64 = 4;

/// The published advice with a machine's figures, one line each; `cache` is the array's, if given.
pub fn setup_advice(database: Bytes, memory: Bytes, cache: Option<Bytes>) -> Vec<String> {
    let mut lines = Vec::new();
    let wanted = Bytes(memory.0.saturating_mul(MEMORY_TIMES));
    if memory.0 > 0 {
        lines.push(match database >= wanted {
            true => format!("the database of {database} is at least twice this machine's memory of {memory}"),
            false => format!(
                "this machine has {memory} of memory, so a database should have {wanted} or more, and this one has \
                 {database}: set up a larger one for figures of the storage"
            ),
        });
    }
    lines.push(match cache {
        Some(cache) => {
            let wanted = Bytes(cache.0.saturating_mul(CACHE_TIMES));
            let is = if database >= wanted { "and this one is that large" } else { "and this one is smaller" };
            format!("four times the array's cache of {cache} is {wanted}, {is}")
        }
        None => "the array's cache cannot be seen from here: a database should have four times that as well; tell it \
                 with --array-cache"
            .into(),
    });
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Twice 40 GiB and four times 16 GiB: 80 and 64.
    #[test]
    fn the_advice_has_the_machines_numbers() {
        let lines = setup_advice(Bytes::gib(64), Bytes::gib(40), Some(Bytes::gib(16)));
        assert!(lines[0].contains("should have 80.0 GiB or more") || lines[0].contains("80 GiB"), "{}", lines[0]);
        assert!(lines[1].ends_with("and this one is that large"), "{}", lines[1]);
        let lines = setup_advice(Bytes::gib(80), Bytes::gib(40), None);
        assert!(lines[0].contains("at least twice") && lines[1].contains("--array-cache"), "{lines:?}");
    }
}
