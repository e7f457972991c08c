//! What a test needs of the machine, and how it skips where that is missing.

use std::fs::OpenOptions;
use std::io::Write as _;
use std::path::PathBuf;
use std::process::Command;

/// Ends the test here, as skipped, unless every program named is there.
macro_rules! requires {
    ($($program:literal),+ $(,)?) => {
        $(
            if $crate::requires::find($program).is_none() {
                $crate::requires::skip(concat!($program, " is not installed"));
                return;
            }
        )+
    };
}
pub(crate) use requires;

/// The environment's variable with the file in which `cargo xtask test` gathers what was skipped.
const SKIPPED_VARIABLE: &str = "SEAWALL_TESTS_SKIPPED";

/// Where a program of that name is. The system's folders come first: a Python of one's own lacks
/// the system's modules.
pub fn find(program: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let system = ["/usr/bin", "/bin"].map(PathBuf::from);
    system
        .into_iter()
        .chain(std::env::split_paths(&path))
        .map(|folder| folder.join(program))
        .find(|file| file.is_file())
}

/// A standard client, given two minutes: a server that does not answer fails the test instead of
/// stopping it for good.
pub fn client(program: &str) -> Command {
    let mut command = Command::new("timeout");
    command.args(["--kill-after=5", "120"]).arg(find(program).unwrap_or_else(|| program.into()));
    let path = std::env::var("PATH").unwrap_or_default();
    command.env("PATH", format!("/usr/bin:/bin:{path}"));
    command
}

/// Says that the test which runs now skips itself, and why. Where `CI` is set nothing may be
/// skipped.
pub fn skip(reason: &str) {
    let thread = std::thread::current();
    let line = format!("{}: {reason}", thread.name().unwrap_or("a test"));
    println!("skipped: {line}");
    assert!(!is_ci(), "nothing may be skipped here: {line}");
    if let Some(file) = std::env::var_os(SKIPPED_VARIABLE) {
        let written = OpenOptions::new().append(true).create(true).open(file).and_then(|mut f| writeln!(f, "{line}"));
        written.expect("the file of skipped tests can be written");
    }
}

fn is_ci() -> bool {
    std::env::var("CI").is_ok_and(|value| matches!(value.as_str(), "true" | "1"))
}
