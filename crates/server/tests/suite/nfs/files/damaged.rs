//! Damage to the files of a volume: it is reported, they are not served, nothing is written over
//! what is left, and LUNs go on.

use super::*;
use crate::support::open_behind;
use crate::support::pools::{change, copy, troubles};
use std::path::Path;
use store::Pool;

impl Client {
    fn listed(&mut self, handle: FileHandle) -> Result<(), Status> {
        let plus = Call::ReadDirPlus { handle, cookie: 0, verifier: [0; 8], names: 4096, count: 4096 };
        let plain = Call::ReadDir { handle, cookie: 0, verifier: [0; 8], count: 4096 };
        let results = [plus, plain].map(|call| {
            self.call(&call, &[], |reply| match reply {
                Reply::Listing(_, result) => result.map(drop),
                other => panic!("{other:?}"),
            })
        });
        assert_eq!(results[0], results[1]);
        results[0]
    }
}

/// Five files are made and committed. One bit of the record of one changes, with the server dead (a
/// copy of the pool while it runs) or stopped: then the last record, too, is covered.
#[test]
fn a_damaged_record_hides_no_file() {
    let server = start(BACKENDS[0], limits());
    let mut client = Client::connect(&server);
    let (top, lun) = (client.mount("/vol1").unwrap(), client.lun());
    for number in 0..5 {
        let file = client.create(top, format!("file{number}").as_bytes()).unwrap();
        client.write_all(file, 0, &[7; 10_000], Stable::Unstable).unwrap();
        client.commit(file).unwrap();
    }
    let (stopped, killed) = (server.dir.path().join("pool"), server.dir.path().join("killed"));
    copy(&stopped, &killed);
    drop(client);
    let Server { control, socket, dir } = server;
    drop(control);
    for (from, name, at) in [(&killed, "file0", 138), (&stopped, "file4", 138), (&stopped, "file0", 2)] {
        let place = tempfile::tempdir().unwrap();
        let pool = place.path().join("pool");
        copy(from, &pool);
        change(&pool.join("maps/blocks"), |bytes| {
            let is_it =
                |page: &[u8]| page.starts_with(b"SWTR") && page.windows(5).any(|found| found == name.as_bytes());
            let page = bytes.chunks(4096).position(is_it).expect("the record is there");
            bytes[page * 4096 + at] ^= 1;
        });
        let found = troubles(&pool);
        let record = "the files of svm01:/vol/vol1: record ";
        let is_told = found.iter().all(|line| line.starts_with(record) && line.contains(" of the log is damaged"));
        assert!(found.len() == 1 && is_told, "{found:?}");
        let log = log_of(&pool);
        let opened = Pool::open(&pool).unwrap();
        let control = open_behind(opened, &socket, BACKENDS[0], limits(), front(Access::default()));
        let mut server = Server { control, socket: socket.clone(), dir: place };
        let mut client = Client::connect(&server);
        assert_eq!(client.mount("/vol1"), Ok(top));
        assert_eq!((client.listed(top), client.space(top).map(drop)), (Err(Status::Io), Err(Status::Io)));
        assert_eq!((client.look_up(top, b"file1"), client.create(top, b"new")), (Err(Status::Io), Err(Status::Io)));
        client.write(lun, 0, &[9; 4096], Stable::File).unwrap();
        assert_eq!(client.read(lun, 0, 4096).unwrap().0, [9; 4096]);
        let others = client.mount("/vol2").unwrap();
        assert_eq!((client.listed(others), client.create(others, b"new").is_ok()), (Ok(()), true));
        server.account();
        let shown = server.control.execute("event log show -fields event").unwrap();
        assert!(shown.contains("volume.files.damaged: svm01:/vol/vol1: the files of clients are damaged"), "{shown}");
        drop(client);
        let Server { control, dir: place, .. } = server;
        drop(control);
        let after = log_of(&pool);
        assert!(log.iter().all(|page| after.contains(page)), "the log was overwritten");
        assert_eq!(troubles(&pool), found);
        drop(place);
    }
    drop(dir);
}

/// The records of the files' logs, without the marks of their ends.
fn log_of(pool: &Path) -> Vec<Vec<u8>> {
    let blocks = std::fs::read(pool.join("maps/blocks")).unwrap();
    blocks.chunks(4096).filter(|page| page.starts_with(b"SWTR")).map(<[u8]>::to_vec).collect()
}
