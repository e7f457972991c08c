//! A file system that fills up under the server.

use crate::requires::{client, requires, skip};
use crate::running::{Running, run, seawall, succeed, succeed_with};
use crate::scratch::Scratch;
use std::process::Command;

/// A thin LUN of 64 MiB on a file system of 24 MiB, a small one beside it. Writing 32 MiB fails with "No space left on
/// device"; what was written before reads back, the other LUN goes on, and a LUN can be deleted with nothing free at
/// all, which gives its space to the next.
///
/// The file system is mounted where only the server sees it, so it goes with the server whatever happens.
#[test]
fn a_full_file_system_fails_one_write_and_nothing_else() {
    requires!("qemu-io", "unshare", "nsenter");
    let scratch = Scratch::new();
    if run(Command::new("unshare").args(["--mount", "true"])).code != Some(0) {
        skip("not allowed to mount a file system");
        return;
    }
    std::fs::create_dir(scratch.join("disk")).unwrap();
    let seawall_serve = seawall(scratch.path());
    let script = "mount -t tmpfs -o size=24m none disk && mkdir disk/pool && echo 'cache = \"page\"' > disk/pool/seawall.toml \
                  && exec \"$0\" serve --pool disk/pool --create --listen unix:nbd.sock";
    let mut command = Command::new("unshare");
    command.current_dir(scratch.path()).args(["--mount", "sh", "-c", script]).arg(seawall_serve.get_program());
    let mut server = Running::start(command);
    server.wait_for("commands: ");
    let tell = |line: &str| {
        let mut command = Command::new("nsenter");
        command
            .args(["--mount", "--target", &server.id().to_string()])
            .arg(format!("--wdns={}", scratch.path().display()));
        succeed(command.arg(seawall_serve.get_program()).args(["shell", "--pool", "disk/pool", "-c", line]))
    };
    tell("vserver create -vserver svm01");
    tell("volume create -vserver svm01 -volume vol1 -size 1GB");
    tell("lun create -vserver svm01 -path /vol/vol1/big -size 64MiB");
    tell("lun create -vserver svm01 -path /vol/vol1/small -size 4MiB");
    let uri =
        |lun: &str| format!("nbd+unix:///svm01:%2Fvol%2Fvol1%2F{lun}?socket={}", scratch.join("nbd.sock").display());
    let io = |lun: &str, commands: &[&str]| {
        let mut command = client("qemu-io");
        command.args(["-f", "raw", "-t", "none"]);
        commands.iter().for_each(|line| {
            command.args(["-c", line]);
        });
        run(command.arg(uri(lun)))
    };
    assert_eq!(io("big", &["write -P 0x11 0 1M"]).code, Some(0));
    assert_eq!(io("small", &["write -P 0x22 0 4M", "flush"]).code, Some(0));
    let full = io("big", &["write -P 0x33 1M 32M"]);
    assert!(format!("{}{}", full.out, full.err).contains("No space left on device"), "{full:?}");
    for (lun, check) in [("big", "read -P 0x11 0 1M"), ("small", "read -P 0x22 0 4M"), ("small", "write -P 0x44 0 4M")]
    {
        let ended = io(lun, &[check]);
        assert!(ended.code == Some(0) && !ended.out.contains("failed"), "{lun}: {ended:?}");
    }
    // Whatever is left of the file system is taken too, before a deletion has to be written down.
    let fill = ["--mount", "--target", &server.id().to_string(), &format!("--wdns={}", scratch.path().display())];
    let filled = run(Command::new("nsenter").args(fill).args(["sh", "-c", "cat /dev/zero > disk/rest"]));
    assert_ne!(filled.code, Some(0), "{filled:?}");
    tell("lun delete -vserver svm01 -path /vol/vol1/big");
    succeed(Command::new("nsenter").args(fill).args(["rm", "disk/rest"]));
    tell("lun create -vserver svm01 -path /vol/vol1/next -size 16MiB");
    let said = succeed_with(client("qemu-io"), ["-f", "raw", "-c", "write -P 0x55 0 16M", "-c", "flush", &uri("next")]);
    assert!(!said.contains("failed"), "{said}");
}
