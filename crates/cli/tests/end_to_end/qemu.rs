//! qemu's tools against `seawall serve`: qemu-img and qemu-io.

use crate::requires::{client, requires};
use crate::running::{run, succeed_with};
use crate::scratch::Scratch;
use crate::server::{LUN, Server, pattern};

/// qemu-img converts a file into a LUN, finds both equal, and converts the LUN into a qcow2 file
/// that it finds equal too; after one byte of the file is changed it finds them different (exit
/// code 1), so the comparison sees something.
#[test]
fn qemu_img_converts_there_and_back_and_compares() {
    requires!("qemu-img");
    let scratch = Scratch::new();
    let server = Server::start(&scratch);
    server.make_lun("16MiB");
    let (file, uri) = (scratch.join("file").display().to_string(), server.uri(LUN));
    let image = scratch.join("image").display().to_string();
    let mut bytes = [pattern(8 << 20), vec![0; 4 << 20], pattern(4 << 20)].concat();
    std::fs::write(&file, &bytes).unwrap();
    succeed_with(client("qemu-img"), ["convert", "-n", "-f", "raw", "-O", "raw", &file, &uri]);
    succeed_with(client("qemu-img"), ["compare", "-f", "raw", "-F", "raw", &file, &uri]);
    succeed_with(client("qemu-img"), ["convert", "-f", "raw", "-O", "qcow2", &uri, &image]);
    succeed_with(client("qemu-img"), ["compare", "-f", "raw", "-F", "qcow2", &file, &image]);
    bytes[9 << 20] ^= 1;
    std::fs::write(&file, &bytes).unwrap();
    let differ = run(client("qemu-img").args(["compare", "-f", "raw", "-F", "raw", &file, &uri]));
    assert_eq!(differ.code, Some(1), "{differ:?}");
}

/// qemu-img's map and bench: 4 KiB reads and writes at depth 32 end without error, and what they
/// wrote is data.
#[test]
fn qemu_img_maps_and_benchmarks() {
    requires!("qemu-img");
    let scratch = Scratch::new();
    let server = Server::start(&scratch);
    server.make_lun("8MiB");
    let uri = server.uri(LUN);
    let map = || -> serde_json::Value {
        let json = succeed_with(client("qemu-img"), ["map", "--output=json", "-f", "raw", &uri]);
        serde_json::from_str(&json).expect("JSON")
    };
    assert_eq!(map()[0]["data"], false, "nothing is written yet");
    // 2048 writes of 4 KiB are the whole 8 MiB.
    let bench = ["bench", "-f", "raw", "-c", "2048", "-d", "32", "-s", "4096", "-t", "none"];
    succeed_with(client("qemu-img"), [&bench[..], &["-w", "--flush-interval=256", &uri]].concat());
    succeed_with(client("qemu-img"), [&bench[..], &[&uri]].concat());
    let map = map();
    assert_eq!((&map[0]["data"], &map[0]["length"]), (&true.into(), &(8 << 20).into()), "{map}");
}

/// qemu-io writes patterns, with and without FUA, overwrites, writes zeroes, discards and flushes;
/// each read verifies the pattern that must be there.
#[test]
fn qemu_io_reads_what_it_wrote() {
    requires!("qemu-io");
    let scratch = Scratch::new();
    let server = Server::start(&scratch);
    server.make_lun("16MiB");
    let mut arguments = vec!["-f", "raw", "-t", "none"];
    let commands = [
        "write -P 0x11 0 1M",
        "write -f -P 0x22 1M 64k",
        "read -P 0x11 0 1M",
        "read -P 0x22 1M 64k",
        // Inside what is there: the bytes on either side stay.
        "write -P 0x33 512k 4k",
        "read -P 0x11 508k 4k",
        "read -P 0x33 512k 4k",
        "read -P 0x11 516k 4k",
        "write -z 4k 8k",
        "read -P 0 4k 8k",
        "write -z -u 64k 64k",
        "read -P 0 64k 64k",
        "discard 1M 64k",
        "flush",
        "aio_write -P 0x44 2M 1M",
        "aio_write -P 0x55 3M 1M",
        "aio_flush",
        "read -P 0x44 2M 1M",
        "read -P 0x55 3M 1M",
        // Never written.
        "read -P 0 8M 1M",
    ];
    commands.iter().for_each(|command| arguments.extend(["-c", command]));
    let uri = server.uri(LUN);
    arguments.push(&uri);
    let said = succeed_with(client("qemu-io"), arguments);
    assert!(!said.contains("verification failed") && !said.contains("failed:"), "{said}");
}
