//! What the server tells an NBD client in words, beside the number of the error: libnbd receives
//! the text and passes it on to its log alone.

use crate::requires::{client, requires};
use crate::running::{Running, seawall, succeed_with};
use crate::scratch::Scratch;

/// The texts of errors that libnbd receives when it connects to `uri` and then calls `call` (such
/// as `pwrite(bytes(512), 0)`), which fails, or the connection before it.
pub fn told(uri: &str, call: &str) -> String {
    let script = format!(
        "
import nbd
h = nbd.NBD()
# It is the server that is asked, not the library.
h.set_strict_mode(0)
def told(context, text):
    _, is_told, message = text.partition('error message: ')
    if not is_told:
        _, is_told, message = text.partition('error server message: ')
    if is_told:
        print(message)
h.set_debug_callback(told)
h.set_debug(True)
try:
    h.connect_uri('{uri}')
    h.{call}
except nbd.Error:
    print('failed')
"
    );
    succeed_with(client("python3"), ["-c", &script])
}

/// A write to what a rule lets the client only read, and a read beyond the end, are refused by what
/// was asked for; a name is refused by what became of it.
#[test]
fn refusals_say_what_was_asked_and_why_not() {
    requires!("nbdsh");
    let scratch = Scratch::new();
    let config = "listen = [\"unix:nbd.sock\"]\n[pool]\nfolder = \"pool\"\ncreate = true\n\
                  [[access]]\nexports = [\"svm01:/vol/vol1/read\"]\nread_only = true\n\
                  [[access]]\nexports = [\"svm01:/vol/vol1/off\"]\n";
    std::fs::write(scratch.join("seawall.toml"), config).unwrap();
    let mut command = seawall(scratch.path());
    command.args(["serve", "--config", "seawall.toml"]);
    let mut server = Running::start(command);
    server.wait_for("commands: ");
    for line in [
        "vserver create -vserver svm01",
        "volume create -vserver svm01 -volume vol1 -size 16MiB",
        "lun create -vserver svm01 -path /vol/vol1/read -size 8MiB",
        "lun create -vserver svm01 -path /vol/vol1/off -size 8MiB",
        "lun offline -vserver svm01 -path /vol/vol1/off",
    ] {
        succeed_with(seawall(scratch.path()), ["shell", "--pool", "pool", "-c", line]);
    }
    let socket = scratch.join("nbd.sock");
    let uri = |lun: &str| format!("nbd+unix:///%2Fvol/vol1/{lun}?socket={}", socket.display());
    let read_only = told(&uri("read"), "pwrite(bytes(4096), 8192)");
    assert_eq!(read_only, "write at 8192 of 4096 bytes: operation not permitted (EPERM)\nfailed\n");
    let beyond = told(&uri("read"), "pread(4096, 8 << 20)");
    assert_eq!(beyond, "read at 8388608 of 4096 bytes: invalid argument (EINVAL)\nfailed\n");
    let offline = "GO: export \"/vol/vol1/off\": it is offline; an administrator of the server can bring it online\n";
    assert_eq!(told(&uri("off"), "flush()"), format!("{offline}failed\n"));
    let unknown = "GO: export \"/vol/vol1/none\": there is no such export\n";
    assert_eq!(told(&uri("none"), "flush()"), format!("{unknown}failed\n"));
}
