//! `seawall fio` on NBD exports: of `seawall serve`, and of the standard servers.

use crate::fio_command::{ours, report};
use crate::requires::{find, requires};
use crate::running::Running;
use crate::scratch::{Scratch, damage};
use crate::server::{LUN, Server};
use std::path::Path;
use std::process::Command;

/// A server that somebody else wrote, on a socket in a test's folder.
pub struct Foreign {
    running: Running,
    pub uri: String,
}

impl Foreign {
    /// Starts it with these arguments, and waits until it takes connections.
    pub fn start(program: &str, arguments: &[&str], socket: &Path) -> Foreign {
        let mut command = Command::new(find(program).unwrap());
        command.args(arguments);
        let running = Running::start(command);
        // It says nothing when it is ready; the socket is there then.
        let until = std::time::Duration::from_secs(60);
        #[allow(clippy::disallowed_methods, reason = "a bound for a server that never comes up")]
        let began = std::time::Instant::now();
        while std::os::unix::net::UnixStream::connect(socket).is_err() {
            assert!(began.elapsed() < until, "{program} did not come up");
            std::thread::yield_now();
        }
        Foreign { running, uri: format!("nbd+unix:///?socket={}", socket.display()) }
    }
}

/// Random writes at depth 16, each block read back and checked; then another run checks all without
/// writing, and damage is found.
fn write_check_and_find_damage(scratch: &Scratch, uri: &str, damage: &dyn Fn()) {
    let uri = format!("--uri={uri}");
    let load = ["--name=v", "--ioengine=nbd", &uri, "--rw=randwrite", "--bs=4k", "--size=8m", "--iodepth=16"];
    let check = ["--verify=crc32c", "--fsync=64"];
    let json = report(scratch, &[&load[..], &check].concat());
    let job = &json["jobs"][0];
    // 8 MiB in blocks of 4 KiB.
    assert_eq!(job["write"]["total_ios"].as_u64(), Some(2048), "{job}");
    assert_eq!(job["seawall"]["verify"]["blocks"].as_u64(), Some(2048), "{job}");
    assert_eq!(job["seawall"]["verify"]["wrong"].as_u64(), Some(0), "{job}");
    // One between each 64 writes.
    assert_eq!(job["sync"]["total_ios"].as_u64(), Some(31), "{job}");
    let again = ours(scratch, &[&load[..], &check, &["--verify_only"]].concat());
    assert_eq!(again.code, Some(0), "{again:?}");
    damage();
    let found = ours(scratch, &[&load[..], &check, &["--verify_only"]].concat());
    assert_eq!(found.code, Some(1), "{found:?}");
    assert!(found.err.contains("at 40960: expected a block of offset 40960"), "{}", found.err);
}

/// Two jobs with two clones each, every one on its own part of the export, at depth 8.
fn several_jobs(scratch: &Scratch, uri: &str) {
    let uri = format!("--uri={uri}");
    let shared = ["--ioengine=nbd", &uri, "--bs=8k", "--size=1m", "--iodepth=8", "--numjobs=2", "--group_reporting"];
    let writer = ["--offset_increment=1m", "--name=w", "--rw=write", "--verify=xxhash"];
    let reader = ["--name=r", "--rw=randread", "--offset=4m", "--new_group"];
    let json = report(scratch, &[&shared[..], &writer, &reader].concat());
    let jobs = json["jobs"].as_array().unwrap();
    assert_eq!(jobs.len(), 2, "{json}");
    // Two clones with 128 blocks each, written and read back; two that read 128 each.
    assert_eq!((jobs[0]["write"]["total_ios"].as_u64(), jobs[0]["read"]["total_ios"].as_u64()), (Some(256), Some(256)));
    assert_eq!(jobs[0]["seawall"]["verify"]["wrong"].as_u64(), Some(0));
    assert_eq!(jobs[1]["read"]["total_ios"].as_u64(), Some(256));
}

#[test]
fn on_our_own_server() {
    let scratch = Scratch::new();
    let server = Server::start(&scratch);
    server.make_lun("16MiB");
    for uri in [server.uri(LUN), server.tcp_uri(LUN)] {
        let damage = || {
            // A write of another job in the middle.
            let uri = format!("--uri={uri}");
            let line = ["--name=d", "--ioengine=nbd", &uri, "--rw=write", "--bs=4k", "--offset=40k", "--size=4k"];
            report(&scratch, &line);
        };
        write_check_and_find_damage(&scratch, &uri, &damage);
        several_jobs(&scratch, &uri);
    }
}

#[test]
fn on_qemu_nbd() {
    requires!("qemu-nbd", "qemu-img");
    let scratch = Scratch::new();
    let (image, socket) = (scratch.join("image"), scratch.join("q.sock"));
    std::fs::File::create(&image).and_then(|file| file.set_len(16 << 20)).unwrap();
    let (image_name, socket_name) = (image.display().to_string(), socket.display().to_string());
    let arguments = ["-f", "raw", "--persistent", "--shared=16", "-k", &socket_name, &image_name];
    let server = Foreign::start("qemu-nbd", &arguments, &socket);
    write_check_and_find_damage(&scratch, &server.uri, &|| damage(&image));
    several_jobs(&scratch, &server.uri);
}

/// nbdkit, and its filter that fails every read: counted by kind, exit code 1; the server that ends
/// in the middle too.
#[test]
fn on_nbdkit_that_fails_and_goes_away() {
    requires!("nbdkit");
    let scratch = Scratch::new();
    let socket = scratch.join("n.sock");
    let socket_name = socket.display().to_string();
    let arguments = ["--foreground", "--exit-with-parent", "-U", &socket_name, "memory", "16M"];
    let server = Foreign::start("nbdkit", &arguments, &socket);
    several_jobs(&scratch, &server.uri);
    let uri = format!("--uri={}", server.uri);
    let endless =
        ["--name=e", "--ioengine=nbd", &uri, "--rw=randread", "--time_based", "--runtime=3600", "--eta=always"];
    let mut command = crate::running::seawall(scratch.path());
    command.arg("fio").args(endless).args(["--output-format=json", "--output=gone.json"]);
    let mut load = Running::start(command);
    load.wait_for("IOPS");
    server.running.signal("KILL");
    let (status, lines) = load.end();
    assert_eq!(status.code(), Some(1), "{lines:?}");
    let json: serde_json::Value =
        serde_json::from_str(&std::fs::read_to_string(scratch.join("gone.json")).unwrap()).unwrap();
    let job = &json["jobs"][0];
    assert!(job["seawall"]["errors"]["gone"].as_u64() >= Some(1), "{}", job["seawall"]);
    assert!(job["read"]["total_ios"].as_u64() > Some(0), "what was done before is there");

    let socket = scratch.join("f.sock");
    let socket_name = socket.display().to_string();
    let failing = ["--foreground", "--exit-with-parent", "-U", &socket_name, "--filter=error", "memory", "16M"];
    let failing = [&failing[..], &["error-pread=EIO", "error-pread-rate=100%"]].concat();
    let server = Foreign::start("nbdkit", &failing, &socket);
    let uri = format!("--uri={}", server.uri);
    let reads = ["--name=x", "--ioengine=nbd", &uri, "--rw=randread", "--size=1m", "--output-format=json"];
    let ended = ours(&scratch, &reads);
    assert_eq!(ended.code, Some(1), "{ended:?}");
    let json: serde_json::Value = serde_json::from_str(&ended.out).unwrap();
    assert_eq!(json["jobs"][0]["seawall"]["errors"]["io"].as_u64(), Some(1), "{}", json["jobs"][0]["seawall"]);
    assert_eq!(json["jobs"][0]["error"].as_i64(), Some(5));
    // Going on after it, all 256 are asked and all fail; the job did what it was told.
    for forgiving in ["--continue_on_error=io", "--ignore_error=EIO"] {
        let ended = ours(&scratch, &[&reads[..], &[forgiving]].concat());
        assert_eq!(ended.code, Some(0), "{ended:?}");
        let json: serde_json::Value = serde_json::from_str(&ended.out).unwrap();
        let job = &json["jobs"][0];
        assert_eq!(job["seawall"]["errors"]["io"].as_u64(), Some(256), "{}", job["seawall"]);
        let numbers = ["error", "total_err", "first_error"].map(|key| job[key].as_i64());
        assert_eq!(numbers, [Some(5), Some(256), Some(5)], "{job}");
    }
}

/// What is full stays so: that ends the job unless the number is named, whatever it goes on after.
#[test]
fn no_space_is_not_gone_on_after_unless_named() {
    requires!("nbdkit");
    let scratch = Scratch::new();
    let socket = scratch.join("s.sock");
    let socket_name = socket.display().to_string();
    let full = ["--foreground", "--exit-with-parent", "-U", &socket_name, "--filter=error", "memory", "16M"];
    let full = [&full[..], &["error-pwrite=ENOSPC", "error-pwrite-rate=100%"]].concat();
    let server = Foreign::start("nbdkit", &full, &socket);
    let uri = format!("--uri={}", server.uri);
    let writes = ["--name=x", "--ioengine=nbd", &uri, "--rw=write", "--size=1m", "--continue_on_error=io"];
    let ended = ours(&scratch, &writes);
    assert_eq!(ended.code, Some(1), "{ended:?}");
    assert!(ended.err.contains("no space left (ENOSPC)"), "{}", ended.err);
    let ended = ours(&scratch, &[&writes[..], &["--ignore_error=,ENOSPC"]].concat());
    assert_eq!(ended.code, Some(0), "{ended:?}");
    for line in ["err=28 (went on after it)", "total=0,256,0,0", "total=256, first_error=28/<No space left on device>"]
    {
        assert!(ended.out.contains(line), "{line}: {}", ended.out);
    }
}

/// A size beyond the end of an export is cut to what is there, as fio does, and said.
#[test]
fn what_an_export_has_is_used() {
    let scratch = Scratch::new();
    let server = Server::start(&scratch);
    server.make_lun("16MiB");
    let uri = format!("--uri={}", server.uri(LUN));
    for (rw, place, mib, said) in [
        ("read", &["--size=32m"][..], 16, "32 MiB from 0 B on"),
        ("write", &["--size=16m", "--offset=8m"], 8, "16 MiB from 8 MiB on"),
    ] {
        let way = format!("--rw={rw}");
        let json = report(&scratch, &[&["--name=t", "--ioengine=nbd", &uri, &way, "--bs=64k"], place].concat());
        let job = &json["jobs"][0];
        assert_eq!(job[rw]["io_bytes"].as_u64(), Some(mib << 20), "{job}");
        let notes = job["seawall"]["notes"].to_string();
        assert!(notes.contains(said) && notes.contains(&format!("{mib} MiB are used")), "{notes}");
    }
    // Nothing is there to be used.
    let ended = ours(&scratch, &["--name=t", "--ioengine=nbd", &uri, "--rw=read", "--size=1m", "--offset=32m"]);
    assert_eq!(ended.code, Some(2), "{ended:?}");
    assert!(ended.err.contains("offset: must lie before the end at 16 MiB"), "{}", ended.err);
}

/// An export that is not there, and a URI that is none: one line each before anything runs.
#[test]
fn what_is_not_there_is_said() {
    let scratch = Scratch::new();
    let ended = ours(&scratch, &["--name=n", "--ioengine=nbd", "--uri=nbd+unix:///x?socket=none.sock", "--rw=read"]);
    assert_eq!((ended.code, ended.out.as_str()), (Some(2), ""), "{ended:?}");
    assert!(ended.err.contains("none.sock"), "{}", ended.err);
    let ended = ours(&scratch, &["--name=n", "--ioengine=nbd", "--uri=http://x", "--rw=read"]);
    assert_eq!(ended.code, Some(2), "{ended:?}");
    assert!(ended.err.contains("n: uri: http://x: unknown kind of place http://; known: "), "{ended:?}");
    let ended = ours(&scratch, &["--name=n", "--ioengine=nbd", "--uri=x", "--rw=read"]);
    assert!(ended.err.contains("must begin with nbd://, nbds://, nbd+unix:// or nbds+unix://"), "{ended:?}");
}

/// A server without FUA and without flushes cannot make writes durable: a job that asks for that is
/// refused with what to leave out, and nothing is written. Without it the job runs.
#[test]
fn what_a_server_cannot_make_durable_is_refused_before_the_run() {
    requires!("nbdkit");
    let scratch = Scratch::new();
    let (socket, log) = (scratch.join("s"), scratch.join("log"));
    let write = format!("pwrite=echo w >> {}; cat > /dev/null", log.display());
    let socket_name = socket.to_str().unwrap();
    let offers = ["get_size=echo 1M", "pread=head -c $3 /dev/zero", "can_write=exit 0", "can_flush=exit 3"];
    let arguments = ["--foreground", "--exit-with-parent", "--unix", socket_name, "eval"];
    let arguments = [&arguments[..], &offers, &["can_fua=echo none", &write]].concat();
    let server = Foreign::start("nbdkit", &arguments, &socket);
    let uri = format!("--uri={}", server.uri);
    let job = ["--name=d", "--ioengine=nbd", &uri, "--rw=write", "--bs=64k", "--size=128k"];
    for (option, advice) in [
        ("--sync=1", "offers neither FUA nor a flush, so it cannot be asked to make writes durable; leave sync out"),
        ("--fsync=1", "offers no flush, so it cannot be asked to make writes durable; leave out fsync, fdatasync"),
    ] {
        let refused = ours(&scratch, &[&job[..], &[option]].concat());
        assert!(refused.code != Some(0) && refused.err.contains(advice), "{refused:?}");
        assert!(!log.exists(), "{option}: nothing is written");
    }
    let json = report(&scratch, &job);
    assert_eq!(json["jobs"][0]["write"]["total_ios"].as_u64(), Some(2), "{json}");
    assert_eq!(std::fs::read_to_string(&log).unwrap(), "w\nw\n");
    drop(server);
}
