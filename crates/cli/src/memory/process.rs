//! Whether the process that writes a run is still there.
//!
//! ```text
//!   BOOT PID TICKS    which start of the system, which process, when that began
//! ```
//! Process numbers are reused, so the number alone may be another's.

use results::RunLine;
use std::fs;

/// What happened to a run whose process is gone.
pub const GONE: &str = "ended without a word";

/// This process.
pub fn own() -> String {
    of(std::process::id()).unwrap_or_default()
}

/// Whether a run goes on.
pub fn goes_on(run: &RunLine) -> bool {
    run.running && run.process.as_deref().is_some_and(is_there)
}

/// Whether a process is still there; those of other machines and earlier boots are not.
pub fn is_there(process: &str) -> bool {
    let number = process.split(' ').nth(1).and_then(|number| number.parse().ok());
    number.and_then(of).is_some_and(|found| found == process)
}

/// The process with this number, unless it has ended (proc(5): the state is the first field after
/// the name, the start the twentieth).
fn of(number: u32) -> Option<String> {
    let boot = fs::read_to_string("/proc/sys/kernel/random/boot_id").ok()?;
    let about = fs::read_to_string(format!("/proc/{number}/stat")).ok()?;
    // The name may have blanks and brackets in it.
    let fields: Vec<&str> = about.rsplit_once(')')?.1.split_whitespace().collect();
    let ended = ["Z", "X"].contains(fields.first()?);
    (!ended).then(|| Some(format!("{} {number} {}", boot.trim(), fields.get(19)?)))?
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::process::Command;

    /// A process is there until it has ended, even if nobody has waited for it; another one with
    /// its number is not it.
    #[test]
    fn a_process_is_there_until_it_ends() {
        assert!(is_there(&own()));
        let mut child = Command::new("cat").stdin(std::process::Stdio::piped()).spawn().unwrap();
        let mark = of(child.id()).unwrap();
        assert!(is_there(&mark));
        child.kill().unwrap();
        child.wait().unwrap();
        assert!(!is_there(&mark));
        let (rest, ticks) = own().rsplit_once(' ').map(|(rest, ticks)| (rest.to_owned(), ticks.to_owned())).unwrap();
        for other in [format!("{rest} {ticks}0"), format!("0{rest} {ticks}"), String::new()] {
            assert!(!is_there(&other), "{other}");
        }
    }
}
