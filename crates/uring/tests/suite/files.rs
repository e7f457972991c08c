//! Reading and writing files on every backend.

use std::fs::File;
use std::io::{Read, Write};
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::fs::FileExt;

use crate::backends::{on_each, reap, run};
use block::Driver;
use uring::disk::{self, Caching, Create, OpenError, Opening};
use uring::{Backend, Errno, Failure, Io, Job};

fn temporary(size: u64) -> File {
    let file = tempfile::tempfile().unwrap();
    file.set_len(size).unwrap();
    file
}

/// A pattern that differs by position and by `seed`.
fn pattern(bytes: &mut [u8], seed: u64) {
    for (at, byte) in bytes.iter_mut().enumerate() {
        *byte = (at as u64).wrapping_mul(31).wrapping_add(seed * 7) as u8 ^ (at >> 8) as u8;
    }
}

fn filled(io: &Io, len: u32, seed: u64) -> block::Buf {
    let mut buf = io.take(len).unwrap();
    io.with_mut(&mut buf, |bytes| pattern(bytes, seed));
    buf
}

#[test]
fn what_is_written_is_read_again() {
    on_each(|io| {
        let port = io.port();
        let file = io.register(temporary(1 << 20));
        for (seed, len) in [4096u32, 512, 65536, 300 << 10].into_iter().enumerate() {
            let durable = seed % 2 == 0;
            let write = Job::Write { file, at: 4096, buf: filled(io, len, seed as u64), durable };
            let done = run(io, &port, write);
            assert_eq!(done.result, Ok(len));
            io.give(done.buf.unwrap());
            let done = run(io, &port, Job::Read { file, at: 4096, buf: io.take(len).unwrap() });
            assert_eq!(done.result, Ok(len));
            let buf = done.buf.unwrap();
            let mut expected = vec![0; len as usize];
            pattern(&mut expected, seed as u64);
            assert!(io.with(&buf, |bytes| bytes == expected));
            io.give(buf);
        }
        io.close(file);
    });
}

/// Past the page cache if the file system supports that: aligned blocks at many depths, each of
/// which is found again at its place.
#[test]
fn direct_writes_are_read_again() {
    on_each(|io| {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("disk");
        let opening = Opening { create: Create::New, ..Opening::default() };
        let disk = match disk::open(&path, opening) {
            Err(OpenError::NoDirect(_)) => disk::open(&path, Opening { cache: Caching::Page, ..opening }).unwrap(),
            opened => opened.unwrap(),
        };
        let (port, file) = (io.port(), io.register(disk.file));
        // 48 blocks of 16 KiB in a permuted order: 7 and 48 have no common divisor.
        let block = 16 << 10;
        let place = |token: u64| token * 7 % 48 * u64::from(block);
        for token in 0..48 {
            let buf = filled(io, block, token);
            port.push(token, Job::Write { file, at: place(token), buf, durable: token % 16 == 0 }).unwrap();
        }
        for done in reap(io, &port, 48) {
            assert_eq!(done.result, Ok(block));
            io.give(done.buf.unwrap());
        }
        for token in 0..48 {
            port.push(token, Job::Read { file, at: place(token), buf: io.take(block).unwrap() }).unwrap();
        }
        let mut expected = vec![0; block as usize];
        for done in reap(io, &port, 48) {
            assert_eq!(done.result, Ok(block));
            pattern(&mut expected, done.token);
            let buf = done.buf.unwrap();
            assert!(io.with(&buf, |bytes| bytes == expected), "block {}", done.token);
            io.give(buf);
        }
    });
}

/// More requests than the ring has entries, with 8 in each call of the kernel: all end, each with
/// its own data.
#[test]
fn a_full_table_hands_the_job_back_and_all_taken_end() {
    on_each(|io| {
        let plain = temporary(0);
        let mut block = vec![0; 4096];
        for number in 0..64 {
            pattern(&mut block, number);
            plain.write_all_at(&block, number * 4096).unwrap();
        }
        let port = io.port();
        let file = io.register(plain);
        for token in 0..64 {
            port.push(token, Job::Read { file, at: token * 4096, buf: io.take(4096).unwrap() }).unwrap();
        }
        assert_eq!(port.in_flight(), 64);
        let back = port.push(64, Job::Read { file, at: 0, buf: io.take(4096).unwrap() });
        let Err(Job::Read { buf, .. }) = back else { panic!("65 requests where 64 are allowed") };
        io.give(buf);
        for done in reap(io, &port, 64) {
            assert_eq!(done.result, Ok(4096));
            pattern(&mut block, done.token);
            let buf = done.buf.unwrap();
            assert!(io.with(&buf, |bytes| bytes == block));
            io.give(buf);
        }
        assert_eq!(port.in_flight(), 0);
        assert!(!port.is_ready());
    });
}

#[test]
fn the_end_of_a_file_is_an_error_of_its_own() {
    on_each(|io| {
        let port = io.port();
        let file = io.register(temporary(5000));
        for at in [4096, 5000, 8192] {
            let done = run(io, &port, Job::Read { file, at, buf: io.take(4096).unwrap() });
            assert_eq!(done.result, Err(Failure::UnexpectedEnd));
            io.give(done.buf.unwrap());
        }
    });
}

#[test]
fn a_window_of_a_buffer_moves_its_bytes_alone() {
    on_each(|io| {
        let port = io.port();
        let plain = temporary(4096);
        let file = io.register(plain.try_clone().unwrap());
        let mut buf = io.take(4096).unwrap();
        io.with_mut(&mut buf, |bytes| pattern(bytes, 1));
        let expected = io.with(&buf, |bytes| bytes[1000..1500].to_vec());
        let done = run(io, &port, Job::Write { file, at: 200, buf: buf.window(1000, 500), durable: false });
        assert_eq!(done.result, Ok(500));
        io.give(done.buf.unwrap());
        let mut got = vec![0; 500];
        plain.read_exact_at(&mut got, 200).unwrap();
        assert_eq!(got, expected);
    });
}

#[test]
fn sync_punch_and_zero() {
    on_each(|io| {
        let port = io.port();
        let plain = temporary(0);
        plain.write_all_at(&[1; 64 << 10], 0).unwrap();
        let file = io.register(plain.try_clone().unwrap());
        assert_eq!(run(io, &port, Job::Sync { file }).result, Ok(0));
        let cleared = |at: u64, len: usize| {
            let mut bytes = vec![9; len];
            plain.read_exact_at(&mut bytes, at).unwrap();
            bytes.iter().all(|&byte| byte == 0)
        };
        // A file system without holes answers EOPNOTSUPP; then nothing may have changed.
        let unsupported = Err(Failure::Os(Errno(libc::EOPNOTSUPP)));
        for (job, at, len) in [
            (Job::Punch { file, at: 8192, len: 8192 }, 8192, 8192),
            (Job::Zero { file, at: 20480, len: 4096, keep: true }, 20480, 4096),
            (Job::Zero { file, at: 40960, len: 4096, keep: false }, 40960, 4096),
        ] {
            let result = run(io, &port, job).result;
            assert!(result == Ok(0) || result == unsupported, "{result:?}");
            assert_eq!(cleared(at, len), result.is_ok());
            assert!(!cleared(at - 1, 1) && !cleared(at + len as u64, 1));
        }
        assert_eq!(plain.metadata().unwrap().len(), 64 << 10);
    });
}

#[test]
fn errors_of_the_file_reach_the_caller_with_the_buffer() {
    on_each(|io| {
        let port = io.port();
        let read_only = File::open("/dev/null").unwrap();
        let file = io.register(read_only);
        let done = run(io, &port, Job::Write { file, at: 0, buf: filled(io, 4096, 1), durable: false });
        assert_eq!(done.result, Err(Failure::Os(Errno(libc::EBADF))));
        io.give(done.buf.unwrap());
        let done = run(io, &port, Job::Read { file, at: 0, buf: block::Buf::nothing(4096) });
        assert_eq!(done.result, Err(Failure::Os(Errno(libc::EFAULT))));
        assert!(done.buf.unwrap().is_nothing());
        io.close(file);
        assert_eq!(run(io, &port, Job::Sync { file }).result, Err(Failure::Closed));
    });
}

#[test]
fn an_empty_buffer_is_done_at_once() {
    on_each(|io| {
        let port = io.port();
        let file = io.register(temporary(0));
        let done = run(io, &port, Job::Read { file, at: 0, buf: io.take(0).unwrap() });
        assert_eq!(done.result, Ok(0));
        io.give(done.buf.unwrap());
    });
}

/// More files than the ring registers: the others work too.
#[test]
fn files_beyond_the_registered_ones_work() {
    on_each(|io| {
        let port = io.port();
        let files: Vec<_> = (0..40).map(|_| io.register(temporary(4096))).collect();
        for (token, &file) in files.iter().enumerate() {
            port.push(token as u64, Job::Read { file, at: 0, buf: io.take(4096).unwrap() }).unwrap();
        }
        for done in reap(io, &port, 40) {
            assert_eq!(done.result, Ok(4096));
            io.give(done.buf.unwrap());
        }
        files.into_iter().for_each(|file| io.close(file));
    });
}

/// Cancelling disk requests is best effort: each ends once, successfully or cancelled, and gives
/// its buffer back.
#[test]
fn cancelled_disk_requests_end_once() {
    on_each(|io| {
        let port = io.port();
        let file = io.register(temporary(1 << 20));
        for token in 0..60 {
            port.push(token, Job::Read { file, at: token * 4096, buf: io.take(4096).unwrap() }).unwrap();
        }
        io.turn(Some(io.now()));
        (0..60).for_each(|token| port.cancel(token));
        io.close(file);
        let done = reap(io, &port, 60);
        for (token, done) in done.into_iter().enumerate() {
            assert_eq!(done.token, token as u64);
            assert!(matches!(done.result, Ok(4096) | Err(Failure::Canceled)), "{:?}", done.result);
            io.give(done.buf.unwrap());
        }
        assert_eq!(port.in_flight(), 0);
    });
}

/// A request that has not started, or waits without end, is ended by its cancellation and by
/// nothing else. With threads it is one that no thread has taken yet. With a ring it is a write to
/// a full pipe. The pipe is emptied after the cancellation, so a write that was not cancelled would
/// succeed.
#[test]
fn a_disk_request_that_waits_is_cancelled() {
    on_each(|io| {
        let (mut reader, mut writer) = std::io::pipe().unwrap();
        // SAFETY: it concerns this pipe's descriptor alone.
        let room = unsafe { libc::fcntl(writer.as_raw_fd(), libc::F_GETPIPE_SZ) };
        writer.write_all(&vec![0; room as usize]).unwrap();
        let port = io.port();
        let file = io.register(File::from(OwnedFd::from(writer)));
        for token in 0..3 {
            port.push(token, Job::Write { file, at: 0, buf: filled(io, 4096, 1), durable: false }).unwrap();
        }
        let threads = matches!(io.backend(), Backend::Threads { .. });
        if !threads {
            io.turn(Some(io.now()));
            assert_eq!(port.in_flight(), 3, "they wait");
        }
        (0..3).for_each(|token| port.cancel(token));
        io.turn(Some(io.now()));
        reader.read_exact(&mut vec![0; room as usize]).unwrap();
        for done in reap(io, &port, 3) {
            assert_eq!(done.result, Err(Failure::Canceled), "on {}", io.backend());
            io.give(done.buf.unwrap());
        }
        io.close(file);
    });
}
