//! fio's NBD engine against `seawall serve`.

use crate::requires::{client, requires};
use crate::running::run;
use crate::scratch::Scratch;
use crate::server::{LUN, Server};
use serde_json::Value;

/// What fio did in a run.
#[derive(Debug)]
pub struct Done {
    pub operations: u64,
    pub seconds: f64,
}

impl Done {
    pub fn per_second(&self) -> f64 {
        self.operations as f64 / self.seconds
    }
}

/// Random reads of 4 KiB at depth 32 for so many seconds.
pub fn read_rate(scratch: &Scratch, uri: &str, seconds: u64) -> Done {
    let runtime = format!("--runtime={seconds}");
    let arguments = ["--rw=randread", "--bs=4k", "--iodepth=32", "--time_based", &runtime, "--size=16m"];
    let read = &fio(scratch, uri, &arguments)["jobs"][0]["read"];
    let milliseconds = read["runtime"].as_f64().expect("fio tells how long it ran");
    Done { operations: read["total_ios"].as_u64().expect("fio counts"), seconds: milliseconds / 1000.0 }
}

/// Runs one job of fio, which must succeed; returns its JSON.
fn fio(scratch: &Scratch, uri: &str, arguments: &[&str]) -> Value {
    let mut command = client("fio");
    // fio leaves the state of a verification in the current folder.
    command.current_dir(scratch.path()).args(["--name=job", "--ioengine=nbd", "--output-format=json"]);
    command.arg(format!("--uri={uri}")).args(arguments);
    let ended = run(&mut command);
    assert_eq!(ended.code, Some(0), "{ended:?}");
    let json = &ended.out[ended.out.find('{').unwrap_or_else(|| panic!("no JSON: {ended:?}"))..];
    let json: Value = serde_json::from_str(json).unwrap_or_else(|error| panic!("{error}: {}", ended.out));
    assert_eq!(json["jobs"][0]["error"], 0, "{json}");
    json
}

/// Random writes of 4 to 64 KiB at depth 16 over the whole LUN, some overwriting others, each block
/// with a checksum that fio verifies afterwards; 16 MiB are read back.
#[test]
fn what_fio_wrote_it_reads_back() {
    requires!("fio");
    let scratch = Scratch::new();
    let server = Server::start(&scratch);
    server.make_lun("16MiB");
    let load = ["--rw=randwrite", "--bsrange=4k-64k", "--bs_unaligned=0", "--iodepth=16", "--size=16m"];
    let check = ["--verify=crc32c", "--verify_fatal=1", "--do_verify=1", "--fsync=64"];
    let json = fio(&scratch, &server.uri(LUN), &[&load[..], &check].concat());
    let (read, written) = (&json["jobs"][0]["read"]["io_bytes"], &json["jobs"][0]["write"]["io_bytes"]);
    assert_eq!(read.as_u64(), Some(16 << 20), "{json}");
    assert_eq!(written.as_u64(), Some(16 << 20), "{json}");
}

/// Two fio processes at once, each with its own LUN in the same volume, both verifying: neither
/// disturbs the other.
#[test]
fn two_clients_at_once_do_not_disturb_each_other() {
    requires!("fio");
    let scratch = Scratch::new();
    let server = Server::start(&scratch);
    server.tell(&[
        "vserver create -vserver svm01",
        "volume create -vserver svm01 -volume vol1 -size 32MiB",
        "lun create -vserver svm01 -path /vol/vol1/lun1 -size 16MiB",
        "lun create -vserver svm01 -path /vol/vol1/lun2 -size 16MiB",
    ]);
    let load = ["--rw=randwrite", "--bs=8k", "--iodepth=16", "--size=16m", "--verify=crc32c", "--verify_fatal=1"];
    std::thread::scope(|scope| {
        for lun in ["/vol/vol1/lun1", "/vol/vol1/lun2"] {
            let (scratch, uri) = (&scratch, server.uri(lun));
            scope.spawn(move || fio(scratch, &uri, &[&load[..], &["--verify_state_save=0"]].concat()));
        }
    });
}
