//! What clients are told of a volume's space and limits.

use super::*;
use ::nfs::FsStat;

impl Client {
    pub fn space(&mut self, handle: FileHandle) -> Result<FsStat, Status> {
        self.call(&Call::FsStat(handle), &[], |reply| match reply {
            Reply::FsStat(_, result) => result,
            other => panic!("{other:?}"),
        })
    }

    fn longest_file(&mut self, handle: FileHandle) -> u64 {
        self.call(&Call::FsInfo(handle), &[], |reply| match reply {
            Reply::FsInfo(_, Ok(info)) => info.file_most,
            other => panic!("{other:?}"),
        })
    }
}

/// A volume larger than its pool has the space that the pool has, as `df` shows.
#[test]
fn no_space_is_told_that_the_pool_does_not_have() {
    let mut server = start(BACKENDS[0], limits());
    server.control.execute("volume create huge -size 300TiB").unwrap();
    let mut client = Client::connect(&server);
    let top = client.mount("/huge").unwrap();
    let space = client.space(top).unwrap();
    assert_eq!(space.bytes, 300 << 40);
    let told = server.control.execute("df -volume huge").unwrap();
    assert!(told.contains(&format!(" {} ", space.free / 1024)), "{told}: {space:?}");
    assert!(space.free < 300 << 40 && space.available == space.free, "{space:?}");
    drop(client);
    server.until_empty();
}

/// The longest file is one of 16 TiB, or a longer LUN beside them. One byte more is refused.
#[test]
fn the_longest_file_is_told() {
    let mut server = start(BACKENDS[0], limits());
    let mut client = Client::connect(&server);
    let top = client.mount("/vol1").unwrap();
    assert_eq!(client.longest_file(top), 16 << 40);
    let file = client.create(top, b"file").unwrap();
    assert_eq!((client.longest_file(file), client.resize(file, 16 << 40)), (16 << 40, Ok(())));
    assert_eq!(client.resize(file, (16 << 40) + 1), Err(Status::TooBig));
    server.control.execute("volume create huge -size 100TiB").unwrap();
    server.control.execute("lun create /vol/huge/lun -size 20TiB").unwrap();
    let huge = client.mount("/huge").unwrap();
    assert_eq!(client.longest_file(huge), 20 << 40);
    drop(client);
    server.until_empty();
}
