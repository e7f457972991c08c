//! A server that does not answer: the run says so, ends when it is told to, and counts what was not
//! answered.

use block::{Bytes, Span};
use engine::job::{JobProgress, RunSettings, Watch, run};
use stats::job::ErrorKind;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use workload::job::*;

/// Ends the run as soon as it is told that it waits.
#[derive(Default)]
struct Impatient {
    told: Vec<String>,
}

impl Watch for Impatient {
    fn laying_out(&mut self, _: &Path, _: u64) {}
    fn progress(&mut self, _: Span, _: &[JobProgress]) {}
    fn waiting(&mut self, line: &str) {
        self.told.push(line.into());
    }
    fn wants_stop(&mut self) -> bool {
        !self.told.is_empty()
    }
}

/// An nbdkit whose reads take ten minutes.
struct Stalled(Child);

impl Stalled {
    /// `None` where it is not installed.
    fn start(socket: &Path) -> Option<Stalled> {
        let mut command = Command::new("nbdkit");
        command.args(["--foreground", "--exit-with-parent", "--unix"]).arg(socket);
        command.args(["--filter=delay", "memory", "2M", "rdelay=600"]);
        let server = Stalled(command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().ok()?);
        while std::os::unix::net::UnixStream::connect(socket).is_err() {
            std::thread::yield_now();
        }
        Some(server)
    }
}

impl Drop for Stalled {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[test]
fn requests_without_an_answer_are_told_and_counted() {
    let folder = tempfile::tempdir().unwrap();
    let socket = folder.path().join("s");
    let Some(_server) = Stalled::start(&socket) else {
        return println!("skipped: nbdkit is not installed");
    };
    let size = Some(Amount::Bytes(Bytes::mib(1)));
    let name = format!("nbd+unix:///?socket={}", socket.display());
    let mut spec = JobSpec {
        name: "job".into(),
        place: JobPlace::Named { name, region: FileSpec { size, ..FileSpec::default() } },
        ..JobSpec::default()
    };
    spec.pacing.depth = 8;
    spec.ending = Ending { runtime: Some(Span::from_millis(500)), ..Ending::default() };
    let mut user = Impatient::default();
    let [outcome] = &run(&[spec], &RunSettings::default(), &mut user).unwrap()[..] else { panic!("one job") };
    // Said two seconds after the end of the runtime of half a second.
    let [told] = &user.told[..] else { panic!("{:?}", user.told) };
    assert!(told.starts_with("8 requests outstanding for "), "{told}");
    assert!(told.ends_with(" s; waiting for the storage (Ctrl-C ends now)"), "{told}");
    assert_eq!((outcome.errors.of(ErrorKind::Unanswered), outcome.errors.total()), (8, 8));
    assert_eq!(outcome.tape[Direction::Read].ops, 0);
    let error = outcome.error.as_ref().unwrap();
    assert_eq!(error.number, 110);
    assert!(error.text.starts_with("8 requests were not answered when the run was ended"), "{}", error.text);
    assert!(outcome.measured >= Span::from_millis(2500) && outcome.interrupted, "{outcome:?}");
}
