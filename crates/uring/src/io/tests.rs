//! Reads that wait because of lockstep end like any others, whatever happens meanwhile.

use super::*;
use crate::Choice;
use crate::disk::{Opening, open};
use std::os::unix::fs::FileExt;

const READS: u32 = 40;

/// A ring, and a file of 40 blocks that contain their numbers.
struct Fixture {
    io: Io,
    port: Port,
    file: FileId,
    _folder: tempfile::TempDir,
}

impl Fixture {
    /// `None` if the kernel has no io_uring or the file system no direct I/O.
    fn new() -> Option<Fixture> {
        let settings =
            IoSettings { backend: Choice::Uring, in_flight: 128, slab: Bytes::mib(8), ..IoSettings::default() };
        let io = Io::open(&settings).inspect_err(|error| println!("skipped: {error}")).ok()?;
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("blocks");
        let blocks = std::fs::File::create(&path).unwrap();
        for block in 0..READS {
            blocks.write_all_at(&[block as u8; 4096], u64::from(block) * 4096).unwrap();
        }
        let disk = open(&path, Opening::default()).inspect_err(|error| println!("skipped: {error}")).ok()?;
        io.break_lockstep(true);
        let (port, file) = (io.port(), io.register(disk.file));
        let fixture = Fixture { io, port, file, _folder: folder };
        // The first read determines the device.
        fixture.push(&fixture.port, 0);
        assert_eq!(fixture.reap(1).len(), 1);
        Some(fixture)
    }

    fn ring<R>(&self, work: impl FnOnce(&mut crate::ring::Ring) -> R) -> R {
        match &mut self.io.0.core.borrow_mut().engine {
            Engine::Ring(ring) => work(ring),
            Engine::Pool(_) => unreachable!("it was asked for"),
        }
    }

    fn push(&self, port: &Port, block: u32) {
        let buf = self.io.take(4096).unwrap();
        let at = u64::from(block) * 4096;
        port.push(block.into(), Job::Read { file: self.file, at, buf }).unwrap();
    }

    /// Pushes all reads, 15 of which wait.
    fn push_all(&self, port: &Port) {
        self.ring(|ring| ring.limit_reads(READS));
        (0..READS).for_each(|block| self.push(port, block));
        assert_eq!(self.ring(|ring| ring.waiting_reads()), 15);
    }

    fn reap(&self, count: usize) -> Vec<u64> {
        let mut done = Vec::new();
        while done.len() < count {
            self.io.clone().turn(None);
            self.port.reap(&mut done);
        }
        let token = |done: Done| {
            assert_eq!(done.result, Ok(4096));
            let buf = done.buf.unwrap();
            self.io.with(&buf, |bytes| assert!(bytes.iter().all(|&byte| u64::from(byte) == done.token)));
            self.io.give(buf);
            done.token
        };
        done.into_iter().map(token).collect()
    }

    /// Checks that each ended once, with the file's contents.
    fn check(&self) {
        let mut tokens = self.reap(READS as usize);
        tokens.sort_unstable();
        assert!(tokens.into_iter().eq(0..u64::from(READS)));
        assert_eq!(self.io.outstanding(), 0);
    }
}

#[test]
fn reads_that_wait_end_with_what_the_file_has() {
    let Some(fixture) = Fixture::new() else { return };
    for _ in 0..20 {
        fixture.push_all(&fixture.port);
        fixture.check();
    }
}

#[test]
fn reads_that_wait_go_when_they_need_not_any_more() {
    let Some(fixture) = Fixture::new() else { return };
    fixture.push_all(&fixture.port);
    fixture.io.break_lockstep(false);
    assert_eq!(fixture.ring(|ring| ring.waiting_reads()), 0);
    fixture.check();
}

#[test]
fn reads_that_wait_end_although_their_file_is_closed() {
    let Some(fixture) = Fixture::new() else { return };
    fixture.push_all(&fixture.port);
    fixture.io.close(fixture.file);
    fixture.check();
}

#[test]
fn reads_that_wait_end_although_they_are_cancelled_and_nobody_wants_them() {
    let Some(fixture) = Fixture::new() else { return };
    let other = fixture.io.port();
    fixture.push_all(&other);
    other.cancel(u64::from(READS) - 1);
    drop(other);
    while fixture.io.outstanding() > 0 {
        fixture.io.clone().turn(None);
    }
    assert_eq!(fixture.ring(|ring| ring.waiting_reads()), 0);
}

#[test]
fn a_worker_waits_for_reads_that_wait() {
    let Some(fixture) = Fixture::new() else { return };
    let clone = fixture.io.clone();
    fixture.push_all(&fixture.port);
    let Fixture { io, port, .. } = fixture;
    drop((io, port));
    assert_eq!(clone.outstanding(), READS as usize);
    drop(clone);
}
