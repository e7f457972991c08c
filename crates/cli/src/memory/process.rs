//! Whether the process that writes a run is still there. Process numbers are reused, so a run has
//! the identity of the process: its number, when it began, and the boot.

use database::process_identity;
use results::RunLine;

/// Whether a process is still there; those of other machines and earlier boots are not.
pub use database::process_lives as is_there;

/// What happened to a run whose process is gone.
pub const GONE: &str = "ended without a word";

/// This process.
pub fn own() -> String {
    process_identity(std::process::id()).unwrap_or_default()
}

/// Whether a run goes on.
pub fn goes_on(run: &RunLine) -> bool {
    run.running && run.process.as_deref().is_some_and(is_there)
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
        let mark = process_identity(child.id()).unwrap();
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
