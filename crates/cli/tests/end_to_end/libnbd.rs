//! libnbd's tools against `seawall serve`: nbdinfo, nbdcopy, nbdsh.

use crate::requires::{client, requires};
use crate::running::{run, succeed, succeed_with};
use crate::scratch::Scratch;
use crate::server::{LUN, Server, pattern, read};

/// nbdinfo sees the size in bytes (16 MiB = 16777216), the abilities and the block sizes, under
/// both names of the LUN.
#[test]
fn nbdinfo_sees_size_and_abilities() {
    requires!("nbdinfo");
    let scratch = Scratch::new();
    let server = Server::start(&scratch);
    server.make_lun("16MiB");
    let short = succeed_with(client("nbdinfo"), ["--size", &server.uri(LUN)]);
    let long = succeed_with(client("nbdinfo"), ["--size", &server.uri("svm01:/vol/vol1/lun1")]);
    assert_eq!((short.trim(), long.trim()), ("16777216", "16777216"));
    let told = succeed_with(client("nbdinfo"), [server.uri(LUN)]);
    for ability in ["can_flush", "can_fua", "can_trim", "can_zero", "can_fast_zero", "can_multi_conn", "can_df"] {
        assert!(told.contains(&format!("{ability}: true")), "{ability}\n{told}");
    }
    assert!(told.contains("is_read_only: false") && told.contains("base:allocation"), "{told}");
    // 32 MiB, the most that clients expect.
    assert!(told.contains("block_size_preferred: 4096") && told.contains("block_size_maximum: 33554432"), "{told}");
    let refused = run(client("nbdinfo").arg(server.uri("/vol/vol1/lun9")));
    assert_eq!(refused.code, Some(1), "there is no such LUN: {refused:?}");
}

/// nbdinfo --list shows every LUN: by its short name while only one SVM has that path, by both
/// SVMs' names otherwise.
#[test]
fn exports_are_listed_and_a_path_of_two_svms_needs_its_svm() {
    requires!("nbdinfo");
    let scratch = Scratch::new();
    let server = Server::start(&scratch);
    server.make_lun("8MiB");
    server.tell(&[
        "vserver create -vserver svm02",
        "volume create -vserver svm02 -volume vol1 -size 8MiB",
        "lun create -vserver svm02 -path /vol/vol1/lun1 -size 4MiB",
    ]);
    let listed = succeed_with(client("nbdinfo"), ["--list", "--json", &server.uri("")]);
    let listed: serde_json::Value = serde_json::from_str(&listed).expect("JSON");
    let exports = listed["exports"].as_array().expect("a list");
    let mut names: Vec<_> = exports.iter().filter_map(|export| export["export-name"].as_str()).collect();
    names.sort_unstable();
    assert_eq!(names, ["svm01:/vol/vol1/lun1", "svm02:/vol/vol1/lun1"]);
    let size = |name| succeed_with(client("nbdinfo"), ["--size", &server.uri(name)]).trim().to_owned();
    assert_eq!(size("svm01:/vol/vol1/lun1"), (8 << 20).to_string());
    assert_eq!(size("svm02:/vol/vol1/lun1"), (4 << 20).to_string());
    assert_eq!(run(client("nbdinfo").arg(server.uri(LUN))).code, Some(1), "the short name would be a guess");
}

/// nbdinfo asks about every export twice on the connection that lists them: 40 are more than 64
/// options.
#[test]
fn many_exports_are_listed_with_their_sizes() {
    requires!("nbdinfo");
    let scratch = Scratch::new();
    let server = Server::start(&scratch);
    server.tell(&["vserver create -vserver svm01", "volume create -volume vol1 -size 1GB"]);
    let luns: Vec<String> = (0..40).map(|lun| format!("lun create -path /vol/vol1/lun{lun} -size 1MiB")).collect();
    server.tell(&luns.iter().map(String::as_str).collect::<Vec<_>>());
    let listed = succeed_with(client("nbdinfo"), ["--list", "--json", &server.uri("")]);
    let listed: serde_json::Value = serde_json::from_str(&listed).expect("JSON");
    let sizes = listed["exports"].as_array().expect("a list").iter().map(|export| export["export-size"].as_u64());
    assert_eq!(sizes.collect::<Vec<_>>(), [Some(1 << 20); 40]);
}

/// nbdinfo --map sees what is allocated: nothing of a new LUN, then the one MiB that was written in
/// its middle.
#[test]
fn the_map_follows_what_is_written() {
    requires!("nbdinfo", "nbdcopy");
    let scratch = Scratch::new();
    let server = Server::start(&scratch);
    server.make_lun("8MiB");
    let map = || {
        let json = succeed_with(client("nbdinfo"), ["--map", "--json", &server.uri(LUN)]);
        let json: serde_json::Value = serde_json::from_str(&json).expect("JSON");
        let extents = json.as_array().expect("a list").clone();
        extents.iter().map(|e| (e["offset"].as_u64(), e["length"].as_u64(), e["type"].as_u64())).collect::<Vec<_>>()
    };
    let extent = |offset: u64, length: u64, kind: u64| (Some(offset << 20), Some(length << 20), Some(kind));
    // Type 3 is a hole that reads as zeroes, type 0 is data.
    assert_eq!(map(), [extent(0, 8, 3)]);
    // Sparse copy: three MiB of zeroes, one of data, four of zeroes; nbdcopy writes the data and
    // zeroes the rest.
    let file = scratch.join("sparse");
    std::fs::write(&file, [vec![0; 3 << 20], pattern(1 << 20), vec![0; 4 << 20]].concat()).unwrap();
    succeed(client("nbdcopy").args(["--destination-is-zero"]).arg(&file).arg(server.uri(LUN)));
    assert_eq!(map(), [extent(0, 3, 3), extent(3, 1, 0), extent(4, 4, 3)]);
}

/// nbdcopy writes 16 MiB over four connections with a flush at the end and reads them back over
/// TCP: the same bytes.
#[test]
fn nbdcopy_there_and_back_gives_the_same_bytes() {
    requires!("nbdcopy");
    let scratch = Scratch::new();
    let server = Server::start(&scratch);
    server.make_lun("16MiB");
    let (there, back) = (scratch.join("there"), scratch.join("back"));
    std::fs::write(&there, pattern(16 << 20)).unwrap();
    succeed(client("nbdcopy").args(["--connections=4", "--flush"]).arg(&there).arg(server.uri(LUN)));
    succeed(client("nbdcopy").arg(server.tcp_uri(LUN)).arg(&back));
    assert!(read(&there) == read(&back), "what came back is not what went there");
}

/// A script with libnbd's Python module asks what the tools do not: see `conversation.py` beside
/// this file.
#[test]
fn a_conversation_with_libnbd_itself() {
    requires!("nbdsh");
    let scratch = Scratch::new();
    let server = Server::start(&scratch);
    server.make_lun("16MiB");
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/end_to_end/conversation.py");
    let said = succeed_with(client("python3"), [script, &server.uri(LUN)]);
    assert_eq!(said, "the conversation is over\n");
}

/// What libnbd's own interoperation checks and nbd-server's tester look at, none of which is
/// packaged: see `interop.py`. The seed is one of its history's; a failure names it.
#[test]
fn the_properties_of_other_peoples_suites_hold() {
    requires!("nbdsh");
    let scratch = Scratch::new();
    let server = Server::start(&scratch);
    server.make_lun("16MiB");
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/end_to_end/interop.py");
    let socket = server.socket().display().to_string();
    let said = succeed_with(client("python3"), [script, &socket, LUN, "20261122"]);
    assert_eq!(said, "all as it should be\n");
}
