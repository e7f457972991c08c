//! The clients that people have: libnbd's tools, qemu's tools and fio, against `seawall serve`.

use crate::requires::{client, requires};
use crate::running::{succeed, succeed_with};
use crate::scratch::Scratch;
use crate::server::{LUN, Server, read};

/// nbdcopy writes a file of 16 MiB into a LUN and reads it back over TCP: the same bytes.
#[test]
fn nbdcopy_there_and_back_gives_the_same_bytes() {
    requires!("nbdcopy");
    let scratch = Scratch::new();
    let server = Server::start(&scratch);
    server.make_lun("16MiB");
    let (there, back) = (scratch.join("there"), scratch.join("back"));
    std::fs::write(&there, pattern(16 << 20)).unwrap();
    succeed(client("nbdcopy").arg(&there).arg(server.uri(LUN)));
    succeed(client("nbdcopy").arg(server.tcp_uri(LUN)).arg(&back));
    assert!(read(&there) == read(&back), "what came back is not what went there");
}

/// nbdinfo sees the size in bytes (16 MiB = 16777216), the abilities and both names of the LUN.
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
    for ability in ["can_flush", "can_fua", "can_trim", "can_zero", "can_multi_conn", "can_df"] {
        assert!(told.contains(&format!("{ability}: true")), "{ability}\n{told}");
    }
    assert!(told.contains("is_read_only: false") && told.contains("base:allocation"), "{told}");
}

/// Bytes that repeat nowhere soon, so that a block in the wrong place shows: each eight hold their own offset, mixed.
pub fn pattern(length: usize) -> Vec<u8> {
    (0..length as u64 / 8).flat_map(|at| at.wrapping_mul(0x9e37_79b9_7f4a_7c15).to_le_bytes()).collect()
}
