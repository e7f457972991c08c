//! Readers who leave: `seawall … | true`, and the same with what it complains of.

use crate::running::seawall;
use crate::scratch::Scratch;
use std::os::unix::process::ExitStatusExt as _;
use std::process::Stdio;

/// The signal that ends a program whose reader left; signal(7).
pub const SIGPIPE: i32 = 13;

/// Every way to print is met by a pipe that nobody reads, and each time the program ends by SIGPIPE
/// and not by a panic or a code of its own: reports, help, refusals, notes, verdicts.
#[test]
fn a_program_whose_reader_left_ends_by_the_signal_for_it() {
    let scratch = Scratch::new();
    let printing: [&[&str]; 8] = [
        &["--help"],
        &["ramp", "--help"],
        &["fio", "--cmdhelp"],
        &["fio", "--name=a", "--ioengine=null", "--size=1m", "--output-format=json"],
        &["fio", "nosuch"],
        &["nosuch"],
        &["check", "--pool", "nosuch"],
        &["advise", "--iops", "75000", "--used-space", "5TB", "--vserver", "epic", "--volume", "v"],
    ];
    for arguments in printing {
        let (reader, writer) = std::io::pipe().unwrap();
        drop(reader);
        let mut command = seawall(scratch.path());
        command.args(arguments).stdout(writer.try_clone().unwrap()).stderr(writer);
        let status = command.status().unwrap();
        assert_eq!(status.signal(), Some(SIGPIPE), "{arguments:?}: {status}");
    }
}

/// Where nobody listens to complaints, the report is whole; what it is to a shell is the signal's
/// number behind 128.
#[test]
fn complaints_that_nobody_reads_do_not_cost_the_report() {
    let scratch = Scratch::new();
    let (reader, writer) = std::io::pipe().unwrap();
    drop(reader);
    let mut command = seawall(scratch.path());
    command.args(["ranread", "run", "null:1GiB", "1", "--seconds", "1"]);
    let ended = command.stdout(Stdio::piped()).stderr(writer).output().unwrap();
    assert_eq!(ended.status.signal(), Some(SIGPIPE));
    assert!(String::from_utf8_lossy(&ended.stdout).contains("Waiting for jobs to finish"), "{ended:?}");
}

/// Output that a full disk does not take is no success: who exports and then deletes would lose it.
#[test]
fn output_that_cannot_be_written_is_a_failure() {
    let scratch = Scratch::new();
    let full = std::fs::OpenOptions::new().write(true).open("/dev/full").unwrap();
    let mut command = seawall(scratch.path());
    let ended = command.args(["arrays", "list"]).stdout(full).stderr(Stdio::piped()).output().unwrap();
    let said = String::from_utf8_lossy(&ended.stderr);
    assert_eq!(ended.status.code(), Some(2), "{said}");
    assert_eq!(said, "seawall: standard output: No space left on device; what was printed is not complete\n");
}
