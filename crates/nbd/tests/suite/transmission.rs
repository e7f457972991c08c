//! Requests and replies, byte by byte, against the protocol text.

use crate::support::*;
use nbd::*;

const COOKIE: u64 = 0x1122_3344_5566_7788;
const TO: ReplyTo = ReplyTo { cookie: COOKIE, offset: 0x1000 };

/// Parses a complete request, and checks that every shorter piece of it asks for more.
#[track_caller]
fn request(text: &str, framing: Framing) -> NbdRequest {
    let bytes = hex(text);
    for len in 0..bytes.len() {
        assert_eq!(NbdRequest::parse(&bytes[..len], framing, u32::MAX), Ok(Parsed::NeedMore(bytes.len())));
    }
    match NbdRequest::parse(&bytes, framing, u32::MAX) {
        Ok(Parsed::Message(request, size)) if size == bytes.len() => request,
        other => panic!("not one whole request but {other:?}"),
    }
}

/// Parses a complete reply, and checks that every shorter piece asks for more. Data follows the
/// header.
#[track_caller]
fn reply(bytes: &[u8], header: usize, framing: Framing) -> Reply<'_> {
    let parser = ReplyParser::new(framing, 1 << 20);
    for len in 0..header {
        match parser.parse(&bytes[..len]) {
            Ok(Parsed::NeedMore(n)) => assert!(n > len && n <= header, "{n} of {header} wanted at {len}"),
            other => panic!("at {len} of {header}: {other:?}"),
        }
    }
    match parser.parse(bytes) {
        Ok(Parsed::Message(reply, size)) if size == header => reply,
        other => panic!("no header of {header} bytes but {other:?}"),
    }
}

/// What `write` appends.
fn written(write: impl FnOnce(&mut Vec<u8>)) -> Vec<u8> {
    let mut out = Vec::new();
    write(&mut out);
    out
}

#[test]
fn compact_requests() {
    // Magic, flags FUA (bit 0), type 1, cookie, offset 4096, length 512.
    let bytes = "25609513 0001 0001 1122334455667788 0000000000001000 00000200";
    let write = NbdRequest::write(COOKIE, 4096, 512).with(CommandFlags::FUA);
    assert_eq!(request(bytes, Framing::Simple), write);
    assert_eq!(request(bytes, Framing::Structured).payload, 512);
    assert_bytes(&written(|out| write.put(Framing::Simple, out).unwrap()), bytes);
    // A read has no payload; an unknown type is a request like any other.
    let bytes = "25609513 0004 0000 1122334455667788 0000000000001000 00000200";
    let read = NbdRequest::new(COOKIE, Command::Read, 4096, 512).with(CommandFlags::DF);
    assert_eq!(request(bytes, Framing::Structured), read);
    assert_bytes(&written(|out| read.put(Framing::Structured, out).unwrap()), bytes);
    let bytes = "25609513 0000 0063 1122334455667788 0000000000001000 00000200";
    assert_eq!(request(bytes, Framing::Simple).command, Command::Other(99));
    // 2^32 bytes do not fit.
    let long = NbdRequest::new(1, Command::Trim, 0, 1 << 32);
    assert_eq!(long.put(Framing::Structured, &mut Vec::new()), Err(StreamError::LengthTooLong(1 << 32)));
}

#[test]
fn extended_requests() {
    // Flags FUA | PAYLOAD_LEN (bit 5) and 64 bits of length.
    let bytes = "21e41c71 0021 0001 1122334455667788 0000000000001000 0000000000000200";
    let write = NbdRequest::write(COOKIE, 4096, 512).with(CommandFlags::FUA);
    assert_eq!(request(bytes, Framing::Extended), write);
    assert_bytes(&written(|out| write.put(Framing::Extended, out).unwrap()), bytes);
    // A trim of 2^33 bytes: no payload.
    let bytes = "21e41c71 0000 0004 1122334455667788 0000000000001000 0000000200000000";
    let trim = NbdRequest::new(COOKIE, Command::Trim, 4096, 1 << 33);
    assert_eq!(request(bytes, Framing::Extended), trim);
    assert_bytes(&written(|out| trim.put(Framing::Extended, out).unwrap()), bytes);
    // A payload where none belongs is announced, so that it can be consumed.
    let bytes = "21e41c71 0020 0000 1122334455667788 0000000000001000 0000000000000010";
    let odd = request(bytes, Framing::Extended);
    assert_eq!((odd.payload, odd.flags), (16, CommandFlags::PAYLOAD_LEN));
    // A write without the flag, as qemu 10 sends it, is still followed by its data.
    let bytes = "21e41c71 0000 0001 1122334455667788 0000000000001000 0000000000000200";
    assert_eq!(request(bytes, Framing::Extended), NbdRequest::write(COOKIE, 4096, 512));
}

#[test]
fn a_stream_that_cannot_be_followed_ends() {
    // An extended request with compact framing, and vice versa.
    for (magic, framing) in
        [("21e41c71", Framing::Structured), ("25609513", Framing::Extended), ("00000000", Framing::Simple)]
    {
        let bytes = hex(&format!("{magic} {}", "00".repeat(28)));
        assert!(matches!(NbdRequest::parse(&bytes, framing, 1), Err(StreamError::Magic { .. })));
    }
    // A write of 2^25 + 1 bytes is not received, one of 2^25 is; the export takes 2^20.
    let rules = rules(Framing::Simple);
    let write = |len: u32| written(|out| NbdRequest::write(1, 0, len).put(Framing::Simple, out).unwrap());
    assert_eq!(
        rules.parse(&write((1 << 25) + 1)),
        Err(StreamError::PayloadTooLong { len: (1 << 25) + 1, limit: 1 << 25 })
    );
    assert!(matches!(rules.parse(&write(1 << 25)), Ok(Parsed::Message(..))));
    // With extended headers, a payload of 2^63 bytes is too long just the same.
    let bytes = hex("21e41c71 0020 0001 1122334455667788 0000000000001000 8000000000000000");
    assert!(matches!(NbdRequest::parse(&bytes, Framing::Extended, u32::MAX), Err(StreamError::PayloadTooLong { .. })));
}

#[test]
fn simple_replies() {
    let ok = written(|out| Framing::Simple.ok(out, TO));
    assert_bytes(&ok, "67446698 00000000 1122334455667788");
    assert_eq!(written(|out| Framing::Simple.read(out, TO, 512)), ok);
    let parsed = Reply { cookie: COOKIE, done: true, simple: true, offset: None, body: Body::Success };
    assert_eq!(reply(&ok, 16, Framing::Simple), parsed);
    // ENOSPC is 28; the message has no place.
    let error = written(|out| Framing::Simple.error(out, TO, NbdErrno::NoSpace, "full"));
    assert_bytes(&error, "67446698 0000001c 1122334455667788");
    let body = Body::Error { errno: NbdErrno::NoSpace, at: None, message: &[] };
    assert_eq!(reply(&error, 16, Framing::Simple), Reply { body, ..parsed });
}

#[test]
fn structured_reads() {
    // Flags DONE, type 1, length 8 + 512; offset of the data. The data follows.
    let read = written(|out| Framing::Structured.read(out, TO, 512));
    assert_bytes(&read, "668e33ef 0001 0001 1122334455667788 00000208 0000000000001000");
    let body = Body::Data { offset: 4096, len: 512 };
    let whole = Reply { cookie: COOKIE, done: true, simple: false, offset: None, body };
    assert_eq!(reply(&read, 28, Framing::Structured), whole);
    // In pieces: data, a hole, the end.
    let chunks = Framing::Structured.chunks().unwrap();
    let data = written(|out| chunks.data(out, TO, 0x1200, 1, Last::No));
    assert_bytes(&data, "668e33ef 0000 0001 1122334455667788 00000009 0000000000001200");
    let body = Body::Data { offset: 0x1200, len: 1 };
    assert_eq!(reply(&data, 28, Framing::Structured), Reply { body, done: false, ..whole });
    let hole = written(|out| chunks.hole(out, TO, 0x1400, 512, Last::No));
    assert_bytes(&hole, "668e33ef 0000 0002 1122334455667788 0000000c 0000000000001400 00000200");
    let body = Body::Hole { offset: 0x1400, len: 512 };
    assert_eq!(reply(&hole, 32, Framing::Structured), Reply { body, done: false, ..whole });
    let done = written(|out| chunks.done(out, TO));
    assert_bytes(&done, "668e33ef 0001 0000 1122334455667788 00000000");
    assert_eq!(reply(&done, 20, Framing::Structured), Reply { body: Body::Success, ..whole });
    // Anything but a read may have a simple reply.
    assert_bytes(&written(|out| Framing::Structured.ok(out, TO)), "67446698 00000000 1122334455667788");
}

#[test]
fn structured_errors() {
    // EIO is 5; 6 + 3 bytes: error, message length, message.
    let error = written(|out| Framing::Structured.error(out, TO, NbdErrno::Io, "bad"));
    assert_bytes(&error, "668e33ef 0001 8001 1122334455667788 00000009 00000005 0003 'bad'");
    let parsed = reply(&error, 29, Framing::Structured);
    assert_eq!((parsed.done, parsed.body.message().as_deref()), (true, Some("bad")));
    assert_eq!(parsed.body, Body::Error { errno: NbdErrno::Io, at: None, message: b"bad" });
    // With an offset, 14 + 3 bytes.
    let chunks = Chunks::Structured;
    let error = written(|out| chunks.error_at(out, TO, NbdErrno::Io, "bad", 0x1234, Last::No));
    assert_bytes(&error, "668e33ef 0000 8002 1122334455667788 00000011 00000005 0003 'bad' 0000000000001234");
    let body = Body::Error { errno: NbdErrno::Io, at: Some(0x1234), message: b"bad" };
    assert_eq!(reply(&error, 37, Framing::Structured).body, body);
    // Messages are cut at 4096 bytes.
    let error = written(|out| Framing::Structured.error(out, TO, NbdErrno::Io, &"x".repeat(5000)));
    assert_eq!(error.len(), 20 + 6 + 4096);
    // An unknown error type begins like the others; unknown numbers count as EINVAL.
    let error = hex("668e33ef 0001 8077 1122334455667788 0000000a 000003e7 0002 'hm' ffff");
    let body = Body::Error { errno: NbdErrno::Invalid, at: None, message: b"hm" };
    assert_eq!(reply(&error, 30, Framing::Structured).body, body);
}

#[test]
fn block_status() {
    let extents = [StatusExtent::allocation(4096, false, false), StatusExtent::allocation(8192, true, true)];
    // Context 1, then 4096 bytes of data (flags 0) and 8192 of hole (1) that read as zeroes (2).
    let status = written(|out| Chunks::Structured.status(out, TO, 1, &extents, Last::Yes));
    assert_bytes(&status, "668e33ef 0001 0005 1122334455667788 00000014 00000001  00001000 00000000 00002000 00000003");
    let Body::Status { context: 1, extents: found } = reply(&status, 24, Framing::Structured).body else {
        panic!("no status")
    };
    assert_eq!((found, found.bytes()), (Extents { count: 2, wide: false }, 16));
    assert_eq!(found.decode(&status[24..]).collect::<Result<Vec<_>, _>>().unwrap(), extents);
    // Half a descriptor is left for the next piece.
    assert_eq!(found.decode(&status[24..36]).count(), 1);

    // Extended: 64 bits each, and the count.
    let status = written(|out| Chunks::Extended.status(out, TO, 1, &extents, Last::Yes));
    assert_bytes(
        &status,
        "6e8a278c 0001 0006 1122334455667788 0000000000001000 0000000000000028  00000001 00000002
         0000000000001000 0000000000000000 0000000000002000 0000000000000003",
    );
    let Body::Status { context: 1, extents: found } = reply(&status, 40, Framing::Extended).body else {
        panic!("no status")
    };
    assert_eq!(found, Extents { count: 2, wide: true });
    assert_eq!(found.decode(&status[40..]).collect::<Result<Vec<_>, _>>().unwrap(), extents);
}

#[test]
fn an_extent_beyond_32_bits_ends_a_compact_answer() {
    let huge = [StatusExtent { length: 1 << 40, flags: 3 }, StatusExtent { length: 4096, flags: 0 }];
    // 2^32 - 2^16, a multiple of every block size; the second extent would leave a gap.
    let status = written(|out| Chunks::Structured.status(out, TO, 1, &huge, Last::Yes));
    assert_bytes(&status, "668e33ef 0001 0005 1122334455667788 0000000c 00000001  ffff0000 00000003");
}

#[test]
fn extended_replies_are_all_chunks_with_the_requests_offset() {
    let ok = written(|out| Framing::Extended.ok(out, TO));
    assert_bytes(&ok, "6e8a278c 0001 0000 1122334455667788 0000000000001000 0000000000000000");
    let parsed = Reply { cookie: COOKIE, done: true, simple: false, offset: Some(4096), body: Body::Success };
    assert_eq!(reply(&ok, 32, Framing::Extended), parsed);
    let read = written(|out| Framing::Extended.read(out, TO, 512));
    assert_bytes(&read, "6e8a278c 0001 0001 1122334455667788 0000000000001000 0000000000000208 0000000000001000");
    let body = Body::Data { offset: 4096, len: 512 };
    assert_eq!(reply(&read, 40, Framing::Extended), Reply { body, ..parsed });
    let error = written(|out| Framing::Extended.error(out, TO, NbdErrno::Permission, ""));
    assert_bytes(&error, "6e8a278c 0001 8001 1122334455667788 0000000000001000 0000000000000006 00000001 0000");
    let body = Body::Error { errno: NbdErrno::Permission, at: None, message: &[] };
    assert_eq!(reply(&error, 38, Framing::Extended), Reply { body, ..parsed });
}

#[test]
fn a_server_that_contradicts_itself_is_left() {
    let head = "1122334455667788";
    let wrong = [
        // Type 0 with a payload, or not the last; data without a byte; a hole of 11 bytes of
        // payload, or of no bytes.
        format!("0001 0000 {head} 00000001 00"),
        format!("0000 0000 {head} 00000000"),
        format!("0001 0001 {head} 00000008 0000000000001000"),
        format!("0001 0002 {head} 0000000b 0000000000001000 000002"),
        format!("0001 0002 {head} 0000000c 0000000000001000 00000000"),
        // Status without a descriptor, with half a one, with 2^20 + 1 of them; the wide type
        // without extended headers.
        format!("0001 0005 {head} 00000004 00000001"),
        format!("0001 0005 {head} 00000010 00000001"),
        format!("0001 0005 {head} 0080000c 00000001"),
        format!("0001 0006 {head} 00000018 00000001 00000001"),
        // Errors: number 0, a message longer than the chunk, a message over the offset, too long to
        // wait for, too short.
        format!("0001 8001 {head} 00000006 00000000 0000"),
        format!("0001 8001 {head} 00000007 00000005 0002 00"),
        format!("0001 8002 {head} 0000000e 00000005 0001 0000000000001000"),
        format!("0001 8001 {head} 00002001 00000005 0000"),
        format!("0001 8001 {head} 00000005 00000005 00"),
        // An unknown type.
        format!("0001 0003 {head} 00000000"),
    ];
    let parser = ReplyParser::new(Framing::Structured, 1 << 20);
    for text in wrong {
        let bytes = hex(&format!("668e33ef {text}"));
        let result = parser.parse(&bytes);
        assert!(matches!(result, Err(StreamError::Chunk { .. })), "{text}: {result:?}");
    }
    // Data beyond the longest read: 2^20 + 1 bytes.
    let bytes = hex(&format!("668e33ef 0001 0001 {head} 00100009 0000000000001000"));
    assert_eq!(parser.parse(&bytes), Err(StreamError::PayloadTooLong { len: (1 << 20) + 1, limit: 1 << 20 }));
    // A descriptor count that is neither 0 nor correct; 0 is allowed.
    let status =
        |count: u32| hex(&format!("6e8a278c 0001 0006 {head} {:016x} {:016x} 00000001 {count:08x}", 0x1000, 24));
    let parser = ReplyParser::new(Framing::Extended, 1 << 20);
    assert!(matches!(parser.parse(&status(2)), Err(StreamError::Chunk { .. })));
    assert!(matches!(parser.parse(&status(1)), Ok(Parsed::Message(..))));
    assert!(matches!(parser.parse(&status(0)), Ok(Parsed::Message(..))));
    // Framings are not mixed: no simple replies with extended headers, no chunks unless agreed.
    for (magic, framing) in
        [("67446698", Framing::Extended), ("668e33ef", Framing::Simple), ("6e8a278c", Framing::Structured)]
    {
        let bytes = hex(&format!("{magic} {}", "00".repeat(28)));
        assert!(matches!(ReplyParser::new(framing, 1).parse(&bytes), Err(StreamError::Magic { .. })));
    }
    // An empty extent.
    let extents = Extents { count: 1, wide: false };
    assert!(extents.decode(&[0; 8]).next().unwrap().is_err());
}

#[test]
fn a_read_is_put_together_from_chunks_in_any_order() {
    let outside = "the chunk lies outside the read";
    let mut read = ReadAssembly::new(0x1000, 0x300);
    assert_eq!(read.place(0x1200, 0x100), Ok(0x200..0x300));
    assert_eq!(read.finish().unwrap_err().to_string(), "a read's reply has 256 of 768 bytes");
    assert_eq!(read.place(0x1000, 0x200), Ok(0..0x200));
    assert_eq!(read.finish(), Ok(Ok(())));
    // Complete: one byte more overlaps something.
    assert!(read.place(0x1000, 1).is_err());
    for (offset, len) in [(0xfff, 1), (0x12ff, 2), (0x1300, 1), (u64::MAX, 1), (0x1000, u32::MAX)] {
        let error = ReadAssembly::new(0x1000, 0x300).place(offset, len).unwrap_err();
        assert_eq!(error, StreamError::Chunk { kind: 1, rule: outside }, "{offset:#x} {len:#x}");
    }
    // The first error is the result, whatever else arrived.
    let mut read = ReadAssembly::new(0, 512);
    read.fail(NbdErrno::Io, None);
    read.fail(NbdErrno::Invalid, None);
    assert_eq!(read.finish(), Ok(Err(NbdErrno::Io)));
}

/// Contiguous bytes before the lowest failed place are valid, in whatever order they arrived. After
/// an error without a place, or with one outside the read, no bytes are.
#[test]
fn a_read_that_fails_in_the_middle_has_a_good_beginning() {
    let begun = |pieces: &[(u64, u32)], errors: &[Option<u64>]| {
        let mut read = ReadAssembly::new(0x1000, 0x300);
        for &(offset, len) in pieces {
            read.place(offset, len).unwrap();
        }
        errors.iter().for_each(|&at| read.fail(NbdErrno::Io, at));
        (read.good(), read.finish().is_ok_and(|result| result.is_err()))
    };
    assert_eq!(begun(&[(0x1000, 0x100)], &[Some(0x1100)]), (0x100, true));
    assert_eq!(begun(&[(0x1000, 0x100), (0x1100, 0x80)], &[Some(0x1180)]), (0x180, true));
    // The last bytes are behind the place; the first are missing; the place is in the data.
    assert_eq!(begun(&[(0x1000, 0x100), (0x1200, 0x100)], &[Some(0x1100)]), (0x100, true));
    assert_eq!(begun(&[(0x1200, 0x100)], &[Some(0x1100)]), (0, true));
    assert_eq!(begun(&[(0x1000, 0x200)], &[Some(0x1100)]), (0x100, true));
    // Two places: the lower one counts. One that is invalid.
    assert_eq!(begun(&[(0x1000, 0x200)], &[Some(0x1180), Some(0x1040)]), (0x40, true));
    for nowhere in [None, Some(0xfff), Some(0x1300)] {
        assert_eq!(begun(&[(0x1000, 0x200)], &[Some(0x1180), nowhere]), (0, true), "{nowhere:?}");
    }
    assert_eq!(begun(&[(0x1000, 0x300)], &[]), (0x300, false));
}

const ALLOCATION: Contexts = Contexts::NONE.with(Context::Allocation, 1);
const BOTH: Contexts = ALLOCATION.with(Context::Sharing, 2);

/// The rules for a client that respects 512 bytes and payloads of 64 KiB, and an export of 1 MiB +
/// 512 bytes with all features.
fn rules(framing: Framing) -> Rules {
    let features = TransmissionFlags(0xffff).without(TransmissionFlags::READ_ONLY | TransmissionFlags::SEND_DF);
    let export = ExportInfo {
        size: (1 << 20) + 512,
        features,
        block: BlockSizes::new(512, 4096, 1 << 16).unwrap(),
        ..ExportInfo::default()
    };
    let settings = Settings { framing, contexts: BOTH, block_sizes: true, encrypted: false };
    let filters = framing == Framing::Extended;
    let flags = export.flags(framing).with(TransmissionFlags::BLOCK_STATUS_PAYLOAD, filters);
    Rules::of_server(&Admitted { requested: String::new(), export, flags, settings })
}

#[test]
fn good_requests_pass() {
    use Command as C;
    use CommandFlags as F;
    let rules = rules(Framing::Extended);
    let good = [
        NbdRequest::new(1, C::Read, 0, 512),
        NbdRequest::new(1, C::Read, 1 << 20, 512),
        NbdRequest::new(1, C::Read, 0, 1 << 16).with(F::DF),
        NbdRequest::write(1, 512, 1 << 16).with(F::FUA),
        // "in which case the server MUST accept all commands with this bit set".
        NbdRequest::new(1, C::Read, 0, 512).with(F::FUA),
        NbdRequest::new(1, C::Flush, 0, 0).with(F::FUA),
        // No payload, so it may be longer than one.
        NbdRequest::new(1, C::Trim, 0, (1 << 20) + 512),
        NbdRequest::new(1, C::WriteZeroes, 0, (1 << 20) + 512).with(F::NO_HOLE.and(F::FAST_ZERO).and(F::FUA)),
        NbdRequest::new(1, C::Cache, 0, 1 << 20),
        NbdRequest::new(1, C::BlockStatus, 0, 1 << 20).with(F::REQ_ONE),
        NbdRequest::new(1, C::Disconnect, 0, 0),
        // A disconnect has no range, so any range is accepted.
        NbdRequest::new(1, C::Disconnect, 0xf7ff, 0xffff_efff),
    ];
    for request in good {
        assert_eq!(rules.check(&request), Ok(()), "{request:?}");
    }
}

#[test]
fn bad_requests_get_the_error_that_the_protocol_names() {
    use Command as C;
    use CommandFlags as F;
    let full = rules(Framing::Extended);
    let end = (1 << 20) + 512;
    let bad = [
        (NbdRequest::new(1, C::Other(8), 0, 512), NbdErrno::Invalid),
        // Unknown flags, and flags of other commands.
        (NbdRequest::new(1, C::Read, 0, 512).with(CommandFlags(1 << 6)), NbdErrno::Invalid),
        (NbdRequest::new(1, C::Read, 0, 512).with(F::NO_HOLE), NbdErrno::Invalid),
        (NbdRequest::new(1, C::Read, 0, 512).with(F::PAYLOAD_LEN), NbdErrno::Invalid),
        (NbdRequest::write(1, 0, 512).with(F::DF), NbdErrno::Invalid),
        (NbdRequest::new(1, C::Trim, 0, 512).with(F::REQ_ONE), NbdErrno::Invalid),
        // Past the end: by one block, by its start, by overflow.
        (NbdRequest::new(1, C::Read, end, 512), NbdErrno::Invalid),
        (NbdRequest::new(1, C::Trim, end - 512, 1024), NbdErrno::Invalid),
        (NbdRequest::new(1, C::Cache, 0, end + 512), NbdErrno::Invalid),
        (NbdRequest::new(1, C::BlockStatus, end, 512), NbdErrno::Invalid),
        (NbdRequest::write(1, end, 512), NbdErrno::NoSpace),
        (NbdRequest::new(1, C::WriteZeroes, end - 512, 1024), NbdErrno::NoSpace),
        (NbdRequest::new(1, C::WriteZeroes, !511, 1024), NbdErrno::NoSpace),
        // Not aligned: offset, length.
        (NbdRequest::new(1, C::Read, 1, 512), NbdErrno::Invalid),
        (NbdRequest::write(1, 512, 513), NbdErrno::Invalid),
        // Nothing to do; a flush has no range.
        (NbdRequest::new(1, C::Read, 0, 0), NbdErrno::Invalid),
        (NbdRequest::write(1, 0, 0), NbdErrno::Invalid),
        (NbdRequest::new(1, C::Flush, 0, 512), NbdErrno::Invalid),
        (NbdRequest::new(1, C::Flush, 512, 0), NbdErrno::Invalid),
        // Longer than the longest payload.
        (NbdRequest::new(1, C::Read, 0, (1 << 16) + 512), NbdErrno::Overflow),
        (NbdRequest::write(1, 0, (1 << 16) + 512), NbdErrno::Invalid),
    ];
    for (request, errno) in bad {
        assert_eq!(full.check(&request), Err(errno), "{request:?}");
    }
    // EOVERFLOW belongs to framings with DF.
    let long = NbdRequest::new(1, C::Read, 0, (1 << 16) + 512);
    assert_eq!(rules(Framing::Simple).check(&long), Err(NbdErrno::Invalid));
    assert_eq!(rules(Framing::Simple).check(&NbdRequest::new(1, C::Read, 0, 512).with(F::DF)), Err(NbdErrno::Invalid));
}

#[test]
fn what_was_not_advertised_is_not_served() {
    use Command as C;
    use CommandFlags as F;
    let bare = Rules { flags: TransmissionFlags::HAS_FLAGS, contexts: Contexts::NONE, ..rules(Framing::Structured) };
    for command in [C::Flush, C::Trim, C::Cache, C::WriteZeroes, C::BlockStatus] {
        let len = if command == C::Flush { 0 } else { 512 };
        assert_eq!(bare.check(&NbdRequest::new(1, command, 0, len)), Err(NbdErrno::Invalid), "{command:?}");
    }
    assert_eq!(bare.check(&NbdRequest::write(1, 0, 512).with(F::FUA)), Err(NbdErrno::Invalid));
    assert_eq!(bare.check(&NbdRequest::new(1, C::Read, 0, 512).with(F::DF)), Err(NbdErrno::Invalid));
    let slow = rules(Framing::Structured);
    let slow = Rules { flags: slow.flags.without(TransmissionFlags::SEND_FAST_ZERO), ..slow };
    let fast_zero = NbdRequest::new(1, C::WriteZeroes, 0, 512).with(F::FAST_ZERO);
    assert_eq!(slow.check(&fast_zero), Err(NbdErrno::Invalid));
}

#[test]
fn a_read_only_export_refuses_every_write_with_eperm() {
    let rules = rules(Framing::Structured);
    let rules = Rules { flags: rules.flags | TransmissionFlags::READ_ONLY, ..rules };
    // Even one that would also be refused for another reason: beyond the end.
    for request in [
        NbdRequest::write(1, 0, 512),
        NbdRequest::write(1, 1 << 30, 512),
        NbdRequest::new(1, Command::Trim, 0, 512),
        NbdRequest::new(1, Command::WriteZeroes, 0, 512),
    ] {
        assert_eq!(rules.check(&request), Err(NbdErrno::Permission), "{request:?}");
    }
    assert_eq!(rules.check(&NbdRequest::new(1, Command::Read, 0, 512)), Ok(()));
}

/// The bytes of a filter: the flag PAYLOAD_LEN (1 << 5), the payload's length in the header, then
/// the effect length and the ids. It parses to the same request.
#[test]
fn a_block_status_can_name_the_contexts_it_wants() {
    let rules = rules(Framing::Extended);
    let sharing = Contexts::NONE.with(Context::Sharing, 2);
    let one = NbdRequest::status_only(7, 512, 4096, sharing).with(CommandFlags::REQ_ONE);
    let mut bytes = Vec::new();
    one.put(Framing::Extended, &mut bytes).unwrap();
    let header = "21e41c71 0028 0007 0000000000000007 0000000000000200 000000000000000c";
    assert_bytes(&bytes, &format!("{header} 0000000000001000 00000002"));
    assert_eq!(rules.parse(&bytes), Ok(Parsed::Message(one, 44)));
    assert_eq!(rules.check(&one), Ok(()));
    // Nothing of it is consumed before it is complete.
    assert_eq!(rules.parse(&bytes[..31]), Ok(Parsed::NeedMore(32)));
    assert_eq!(rules.parse(&bytes[..43]), Ok(Parsed::NeedMore(44)));
    let two = NbdRequest::status_only(7, 0, 1 << 20, BOTH);
    bytes.clear();
    two.put(Framing::Extended, &mut bytes).unwrap();
    assert_eq!(rules.parse(&bytes), Ok(Parsed::Message(two, 48)));
}

/// "If the server does not support the payload form, or detects duplicate or unknown metacontext
/// ids …, the server MUST gracefully consume the client's payload before failing with NBD_EINVAL".
#[test]
fn filters_that_are_none_are_refused_and_taken_off_the_stream() {
    let full = rules(Framing::Extended);
    let narrow = Rules { contexts: ALLOCATION, ..full };
    let unasked = Rules { flags: full.flags.without(TransmissionFlags::BLOCK_STATUS_PAYLOAD), ..full };
    let range = "0000000000001000";
    let bad = [
        (full, format!("{range} 00000001 00000001"), "twice"),
        (full, format!("{range} 00000003"), "unknown"),
        (full, format!("{range} 00000001 00000002 00000003"), "more than there are"),
        (full, range.into(), "none"),
        (full, format!("{range} 000001"), "half an id"),
        (full, "00001000".into(), "no length"),
        (full, String::new(), "no payload"),
        (full, "0000000000000000 00000001".into(), "nothing to tell of"),
        (full, "0000000000100400 00000001".into(), "past the end"),
        (narrow, format!("{range} 00000002"), "not selected"),
        (unasked, format!("{range} 00000001"), "not offered"),
    ];
    for (rules, payload, what) in bad {
        let payload = hex(&payload);
        let header = format!("21e41c71 0020 0007 0000000000000007 0000000000000200 {:016x}", payload.len());
        let bytes = [hex(&header), payload].concat();
        let Ok(Parsed::Message(request, taken)) = rules.parse(&bytes) else { panic!("{what}") };
        assert_eq!(taken + request.payload as usize, bytes.len(), "{what}: all of it goes off the stream");
        assert_eq!(rules.check(&request), Err(NbdErrno::Invalid), "{what}");
    }
    // A client does not send one if it was not offered.
    assert_eq!(unasked.check(&NbdRequest::status_only(1, 0, 512, ALLOCATION)), Err(NbdErrno::Invalid));
}
