//! Processor time and reads of processes, from the kernel's counters.

use block::Span;
use std::io;
use std::str::SplitWhitespace;

/// The name and the processor time of a process, by id or `self`: from `/proc`, with a resolution
/// of 10 ms. `None` if there is no such process.
pub fn process(pid: &str) -> Option<(String, Span)> {
    parsed(&std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?)
}

/// Tells a living process from every other one, earlier or later, of this host: its id, its start
/// and the boot.
///
/// # Errors
/// There is no such process, or it has ended.
pub fn identity(pid: u32) -> io::Result<String> {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat"))?;
    let begun = begun(&stat).ok_or_else(|| io::Error::other(format!("process {pid} has ended")))?;
    let boot = std::fs::read_to_string("/proc/sys/kernel/random/boot_id")?;
    Ok(format!("{pid} {begun} {}", boot.trim()))
}

/// Whether the process with that identity still runs.
pub fn lives(of: &str) -> bool {
    let pid = of.split(' ').next().and_then(|pid| pid.parse().ok());
    pid.is_some_and(|pid| identity(pid).is_ok_and(|now| now == of))
}

/// The parent of a process, if it is still there.
pub(crate) fn parent(pid: u32) -> Option<u32> {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    fields(&stat)?.1.nth(1)?.parse().ok()
}

/// Its start in ticks since the boot; `None` if it has ended and its parent has not collected it.
fn begun(stat: &str) -> Option<u64> {
    let (_, mut fields) = fields(stat)?;
    let state = fields.next()?;
    fields.nth(18)?.parse().ok().filter(|_| !matches!(state, "Z" | "X"))
}

/// What a process has used since its start.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct ProcessUse {
    /// Processor time.
    pub cpu: Span,
    /// Bytes read from below the page cache, if this user may see that.
    pub fetched: Option<u64>,
}

/// The name of a process, and what it has used.
pub(crate) fn used(pid: i64) -> Option<(String, ProcessUse)> {
    let (name, cpu) = process(&pid.to_string())?;
    let io = std::fs::read_to_string(format!("/proc/{pid}/io")).unwrap_or_default();
    Some((name, ProcessUse { cpu, fetched: fetched(&io) }))
}

/// `read_bytes` of proc(5)'s `io`.
fn fetched(io: &str) -> Option<u64> {
    io.lines().find_map(|line| line.strip_prefix("read_bytes: ")?.trim().parse().ok())
}

fn parsed(stat: &str) -> Option<(String, Span)> {
    let (name, fields) = fields(stat)?;
    let mut times = fields.skip(11).map_while(|field| field.parse::<u64>().ok());
    let ticks = times.next()? + times.next()?;
    Some((name.to_owned(), Span::from_millis(ticks * 10)))
}

/// The name of a process and the fields after it of proc(5)'s `stat`, from the state on.
fn fields(stat: &str) -> Option<(&str, SplitWhitespace<'_>)> {
    // The name is in brackets and may contain any characters.
    let (name, behind) = stat.split_once('(')?.1.rsplit_once(')')?;
    Some((name, behind.split_whitespace()))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Fields 14 and 15 of proc(5): user and kernel time.
    #[test]
    fn a_name_with_brackets_is_a_name() {
        let line = "7 (a) b) S 1 7 7 0 -1 4194560 100 0 0 0 150 50 0 0 20 0 1 0 5 0 0";
        assert_eq!(parsed(line), Some(("a) b".to_owned(), Span::from_secs(2))));
        assert_eq!(parsed("7 a"), None);
        assert!(process("self").is_some());
        assert_eq!((begun(line), begun(&line.replace(" S ", " Z "))), (Some(5), None));
    }

    /// Another of the same number, or since another boot, is not the one that was meant.
    #[test]
    fn a_process_is_known_again() {
        let me = identity(std::process::id()).expect("a process");
        assert!(lives(&me) && !lives(&format!("{me}x")) && !lives(""));
        let (pid, others) = me.split_once(' ').expect("a number");
        assert!(!lives(&format!("{pid} 1{others}")));
    }

    #[test]
    fn reads_are_those_from_below_the_page_cache() {
        assert_eq!((fetched("rchar: 9\nread_bytes: 4096\nwrite_bytes: 7\n"), fetched("")), (Some(4096), None));
    }
}
