//! LUNs that are deleted or taken offline beneath a standard client's writes, over the program's
//! own doors.

use crate::requires::{client, requires};
use crate::running::{Running, run, seawall, succeed_with};
use crate::scratch::Scratch;
use crate::server::{LUN, Server};

/// Writes that the client has under way.
const ASKED: usize = 40;

/// A server with a LUN of 16 MiB and a ceiling of 20 IOPS.
fn server(scratch: &Scratch) -> Server {
    let server = Server::start(scratch);
    server.make_lun("16MiB");
    server.tell(&[
        "qos policy-group create slow -vserver svm01 -max-throughput 20IOPS -is-shared false",
        "volume modify -volume vol1 -vserver svm01 -qos-policy-group slow",
    ]);
    server
}

/// A client in libnbd's shell that writes [`ASKED`] blocks at once, says so when the first is
/// answered, and at the end says `carried out:` and which were, and `errors:` and which there were.
fn writer(server: &Server) -> Running {
    let script = format!(
        "
import errno, nbd
h = nbd.NBD()
h.connect_uri('{}')
data = nbd.Buffer.from_bytearray(bytearray(b'w' * 4096))
cookies = [h.aio_pwrite(data, at * 4096) for at in range({ASKED})]
while h.aio_in_flight() == {ASKED}:
    h.poll(-1)
print('writing', flush=True)
def outcome(cookie):
    while True:
        try:
            if h.aio_command_completed(cookie):
                return None
        except nbd.Error as error:
            return errno.errorcode.get(error.errnum, error.errnum)
        h.poll(-1)
outcomes = [outcome(cookie) for cookie in cookies]
print('carried out:', [at for at, error in enumerate(outcomes) if error is None], flush=True)
print('errors:', sorted(set(error for error in outcomes if error is not None)), flush=True)
",
        server.uri(LUN)
    );
    let mut command = client("python3");
    command.arg("-c").arg(script);
    Running::start(command)
}

/// Which of those blocks a client reads as written.
fn written(server: &Server) -> String {
    let script = format!(
        "
import nbd
h = nbd.NBD()
h.connect_uri('{}')
print('carried out:', [at for at in range({ASKED}) if h.pread(4096, at * 4096) == b'w' * 4096])
",
        server.uri(LUN)
    );
    succeed_with(client("python3"), ["-c", &script]).trim_end().to_owned()
}

/// A delete beneath a client's writes is refused with what to do, and the writes go on. Forced, the
/// client hears ESHUTDOWN for what is not carried out.
#[test]
fn a_delete_beneath_a_client_has_to_be_forced() {
    requires!("nbdsh");
    let scratch = Scratch::new();
    let server = server(&scratch);
    let mut client = writer(&server);
    client.wait_for("writing");
    let delete = format!("lun delete -vserver svm01 -path {LUN}");
    let refused = server.ask(&[&delete]);
    assert_eq!(refused.code, Some(1));
    assert!(refused.err.contains(&format!("svm01:{LUN}: is mapped (1 connection); ")), "{}", refused.err);
    assert!(refused.err.contains("`lun offline`") && refused.err.contains("-force"), "{}", refused.err);
    assert!(server.tell(&["lun show"]).contains(" mapped "));
    let answer = server.tell(&[&format!("{delete} -force")]);
    assert!(answer.contains(&format!("svm01:{LUN}: 1 connection ended with an error")), "{answer}");
    assert_eq!(client.wait_for("errors:"), "errors: ['ESHUTDOWN']");
    assert!(!server.tell(&["lun show"]).contains(LUN));
}

/// Offline beneath a client's writes, stopped, killed, online again: exactly what the client was
/// told is there, and while it is offline nobody gets in.
#[test]
fn offline_keeps_what_was_answered_and_survives_a_kill() {
    requires!("nbdsh");
    let scratch = Scratch::new();
    let server = server(&scratch);
    let mut client = writer(&server);
    client.wait_for("writing");
    server.tell(&[&format!("lun offline -vserver svm01 -path {LUN}")]);
    let told = client.wait_for("carried out:");
    assert_eq!(client.wait_for("errors:"), "errors: ['ESHUTDOWN']");
    let (status, lines) = server.stop();
    assert_eq!(status.code(), Some(0), "{lines:?}");
    assert!(lines.iter().any(|line| line.contains("taken away from clients") && line.contains(LUN)), "{lines:?}");
    // Stopped once, so that what was not flushed is kept; then killed.
    let server = Server::start(&scratch);
    server.kill();
    let server = Server::start(&scratch);
    assert!(server.tell(&["lun show"]).contains(" offline unmapped "));
    let mut fio = seawall(scratch.path());
    fio.args(["fio", "--name=j", "--ioengine=nbd", "--rw=read", "--size=4k", &format!("--uri={}", server.uri(LUN))]);
    let refused = run(&mut fio);
    assert!(refused.code != Some(0) && refused.err.contains("it is offline"), "{}", refused.err);
    server.tell(&[
        "volume modify -volume vol1 -vserver svm01 -qos-policy-group none",
        &format!("lun online -vserver svm01 -path {LUN}"),
    ]);
    assert_eq!(written(&server), told);
}
