//! Every message is parsed as it was written, and is incomplete at every cut; any input is
//! survived.

use nfs::limits::{DATA_BYTES_MAX, NAME_BYTES_MAX};
use nfs::listing::{Listed, Pager};
use nfs::rpc::{self, CallHead, CallOutcome, Credential, Groups, SysCredential};
use nfs::{
    Attributes, Call, CreateHow, Entry, FileHandle, FileKind, FsInfo, FsStat, Moment, Node, PathConf, Procedure,
    ReadDone, Reader, Reply, SetAttributes, SetMoment, Stable, Status, Wcc, WccAttributes, Written, XdrError, record,
};
use proptest::prelude::*;

fn moment() -> impl Strategy<Value = Moment> {
    (any::<u32>(), any::<u32>()).prop_map(|(seconds, nanos)| Moment { seconds, nanos })
}

fn handle() -> impl Strategy<Value = FileHandle> {
    proptest::collection::vec(any::<u8>(), 0..=64).prop_map(|bytes| FileHandle::new(&bytes).unwrap())
}

fn kind() -> impl Strategy<Value = FileKind> {
    use FileKind::{Block, Character, Directory, Link, Pipe, Regular, Socket};
    proptest::sample::select(vec![Regular, Directory, Block, Character, Link, Socket, Pipe])
}

fn stable() -> impl Strategy<Value = Stable> {
    proptest::sample::select(vec![Stable::Unstable, Stable::Data, Stable::File])
}

fn set() -> impl Strategy<Value = SetAttributes> {
    let time = || prop_oneof![Just(SetMoment::Keep), Just(SetMoment::Now), moment().prop_map(SetMoment::To)];
    (any::<Option<u32>>(), any::<Option<u32>>(), any::<Option<u32>>(), any::<Option<u64>>(), time(), time()).prop_map(
        |(mode, uid, gid, size, accessed, modified)| SetAttributes { mode, uid, gid, size, accessed, modified },
    )
}

fn attributes() -> impl Strategy<Value = Attributes> {
    let words = (any::<[u32; 4]>(), any::<[u64; 4]>(), any::<(u32, u32)>());
    (kind(), words, [moment(), moment(), moment()]).prop_map(|(kind, (words, longs, device), moments)| {
        let ([mode, links, uid, gid], [size, used, fsid, fileid]) = (words, longs);
        let [accessed, modified, changed] = moments;
        Attributes { kind, mode, links, uid, gid, size, used, device, fsid, fileid, accessed, modified, changed }
    })
}

fn wcc() -> impl Strategy<Value = Wcc> {
    let before = (any::<u64>(), moment(), moment()).prop_map(|(size, modified, changed)| WccAttributes {
        size,
        modified,
        changed,
    });
    (proptest::option::of(before), proptest::option::of(attributes())).prop_map(|(before, after)| Wcc { before, after })
}

fn status() -> impl Strategy<Value = Status> {
    proptest::sample::select(Status::ALL)
}

/// The owned parts that a call borrows.
type Parts =
    (Procedure, [FileHandle; 2], [Vec<u8>; 2], (u64, u32, u32), [u8; 8], SetAttributes, (Stable, FileKind, u8));

fn parts() -> impl Strategy<Value = Parts> {
    let name = || proptest::collection::vec(any::<u8>(), 0..=NAME_BYTES_MAX as usize);
    (
        proptest::sample::select(Procedure::ALL),
        [handle(), handle()],
        [name(), name()],
        any::<(u64, u32, u32)>(),
        any::<[u8; 8]>(),
        set(),
        (stable(), kind(), any::<u8>()),
    )
}

fn call(parts: &Parts) -> Call<'_> {
    let (procedure, [handle, other], [name, path], (at, count, more), verifier, set, (stable, kind, choice)) = parts;
    let (handle, at, count, set, stable) = (*handle, *at, *count, *set, *stable);
    let entry = Entry { directory: handle, name };
    let to = Entry { directory: *other, name: path };
    match procedure {
        Procedure::Null => Call::Null,
        Procedure::GetAttr => Call::GetAttr(handle),
        Procedure::SetAttr => {
            Call::SetAttr { handle, set, guard: (choice % 2 == 0).then_some(Moment { seconds: count, nanos: *more }) }
        }
        Procedure::Lookup => Call::Lookup(entry),
        Procedure::Access => Call::Access { handle, wanted: count },
        Procedure::ReadLink => Call::ReadLink(handle),
        Procedure::Read => Call::Read { handle, at, count },
        Procedure::Write => Call::Write { handle, at, count, stable, len: more % (DATA_BYTES_MAX + 1) },
        Procedure::Create => {
            let how = [CreateHow::Unchecked(set), CreateHow::Guarded(set), CreateHow::Exclusive(*verifier)];
            Call::Create { entry, how: how[usize::from(choice % 3)] }
        }
        Procedure::MakeDir => Call::MakeDir { entry, set },
        Procedure::SymLink => Call::SymLink { entry, set, path },
        Procedure::MakeNode => {
            let node = match kind {
                FileKind::Block | FileKind::Character => Node::Device(*kind, set, (count, *more)),
                FileKind::Socket | FileKind::Pipe => Node::Plain(*kind, set),
                _ => Node::Other(*kind),
            };
            Call::MakeNode { entry, node }
        }
        Procedure::Remove => Call::Remove(entry),
        Procedure::RemoveDir => Call::RemoveDir(entry),
        Procedure::Rename => Call::Rename { from: entry, to },
        Procedure::Link => Call::Link { handle, to },
        Procedure::ReadDir => Call::ReadDir { handle, cookie: at, verifier: *verifier, count },
        Procedure::ReadDirPlus => {
            Call::ReadDirPlus { handle, cookie: at, verifier: *verifier, names: count, count: *more }
        }
        Procedure::FsStat => Call::FsStat(handle),
        Procedure::FsInfo => Call::FsInfo(handle),
        Procedure::PathConf => Call::PathConf(handle),
        Procedure::Commit => Call::Commit { handle, at, count },
    }
}

type Results =
    (Procedure, Option<Attributes>, [Wcc; 2], Option<Status>, FileHandle, ([u32; 4], [u64; 4]), Vec<u8>, Stable);

fn results() -> impl Strategy<Value = Results> {
    (
        proptest::sample::select(Procedure::ALL),
        proptest::option::of(attributes()),
        [wcc(), wcc()],
        proptest::option::of(status()),
        handle(),
        any::<([u32; 4], [u64; 4])>(),
        proptest::collection::vec(any::<u8>(), 0..=255),
        stable(),
    )
}

fn reply(results: &Results) -> Reply<'_> {
    let (procedure, post, [wcc, other], status, handle, ([a, b, c, d], [x, y, z, u]), bytes, stable) = results;
    let (post, wcc, other) = (*post, *wcc, *other);
    let (a, b, c, d, x, y, z, u) = (*a, *b, *c, *d, *x, *y, *z, *u);
    let done = |status: &Option<Status>| status.map_or(Ok(()), Err);
    let (done, verifier) = (done(status), x.to_be_bytes());
    match procedure {
        Procedure::Null => Reply::Null,
        Procedure::GetAttr => Reply::GetAttr(match (done, post) {
            (Ok(()), Some(attributes)) => Ok(attributes),
            (done, _) => Err(done.err().unwrap_or(Status::Io)),
        }),
        Procedure::SetAttr | Procedure::Remove | Procedure::RemoveDir => Reply::Done(wcc, done),
        Procedure::Lookup => Reply::Lookup(post, done.map(|()| (*handle, wcc.after))),
        Procedure::Access => Reply::Access(post, done.map(|()| a)),
        Procedure::ReadLink => Reply::ReadLink(post, done.map(|()| &bytes[..])),
        Procedure::Read => {
            Reply::Read(post, done.map(|()| ReadDone { count: a, eof: b % 2 == 0, len: c % (DATA_BYTES_MAX + 1) }))
        }
        Procedure::Write => Reply::Write(wcc, done.map(|()| Written { count: a, stable: *stable, verifier })),
        Procedure::Create | Procedure::MakeDir | Procedure::SymLink | Procedure::MakeNode => {
            Reply::Made(wcc, done.map(|()| ((a % 2 == 0).then_some(*handle), post)))
        }
        Procedure::Rename => Reply::Rename(wcc, other, done),
        Procedure::Link => Reply::Link(post, wcc, done),
        Procedure::ReadDir | Procedure::ReadDirPlus => {
            let plus = *procedure == Procedure::ReadDirPlus;
            let mut pager = if plus { Pager::plus(1 << 16, 1 << 16) } else { Pager::names(1 << 16) };
            for number in 0..a % 8 {
                let (attributes, handle) = if plus { (post, Some(*handle)) } else { (None, None) };
                let (fileid, cookie) = (y, z.wrapping_add(number.into()));
                assert!(pager.add(&Listed { fileid, name: bytes, cookie, attributes, handle }));
            }
            Reply::Listing(post, done.map(|()| pager.finish(verifier, b % 2 == 0)))
        }
        Procedure::FsStat => Reply::FsStat(
            post,
            done.map(|()| FsStat {
                bytes: x,
                free: y,
                available: z,
                files: u,
                files_free: y,
                files_available: x,
                steady_seconds: a,
            }),
        ),
        Procedure::FsInfo => Reply::FsInfo(
            post,
            done.map(|()| FsInfo {
                read_most: a,
                read_best: b,
                read_multiple: c,
                write_most: d,
                write_best: a,
                write_multiple: b,
                listing_best: c,
                file_most: x,
                time_step: Moment { seconds: a, nanos: b },
                properties: FsInfo::LINKS | FsInfo::SETS_TIMES,
            }),
        ),
        Procedure::PathConf => Reply::PathConf(
            post,
            done.map(|()| PathConf {
                links_most: a,
                name_most: b,
                no_truncation: c % 2 == 0,
                owner_restricted: d % 2 == 0,
                case_insensitive: a % 2 == 0,
                case_preserving: b % 2 == 0,
            }),
        ),
        Procedure::Commit => Reply::Commit(wcc, done.map(|()| verifier)),
    }
}

proptest! {
    /// A call is parsed as it was written; if it is cut, it is incomplete and nothing else.
    #[test]
    fn calls_are_read_as_they_were_written(parts in parts(), xid in any::<u32>(), uid in any::<u32>()) {
        let call = call(&parts);
        let groups = Groups::of(&[uid; 20][..uid as usize % 20]);
        let credential = Credential::Sys(SysCredential { stamp: xid, machine: b"host", uid, gid: uid, groups });
        let procedure = call.procedure();
        let head = CallHead { xid, program: nfs::PROGRAM, version: 3, procedure: procedure as u32, credential };
        let mut out = Vec::new();
        let start = record::begin(&mut out);
        rpc::put_call(&mut out, &head);
        call.put(&mut out);
        record::end(&mut out, start, 0);
        let mark = record::Mark::read(&out).unwrap().unwrap();
        prop_assert_eq!((mark.last, mark.len as usize), (true, out.len() - 4));
        let mut reader = Reader::new(&out[4..]);
        prop_assert_eq!(rpc::read_call(&mut reader), Ok(rpc::Called::Call(head)));
        let arguments = reader.taken();
        prop_assert_eq!(Call::read(procedure, &mut reader), Ok(call));
        prop_assert_eq!(reader.end(), Ok(()));
        for cut in 0..out.len() - 4 {
            let mut reader = Reader::new(&out[4..4 + cut]);
            match rpc::read_call(&mut reader) {
                Err(error) => prop_assert!(error == XdrError::Short && cut < arguments),
                Ok(_) => prop_assert_eq!(Call::read(procedure, &mut reader), Err(XdrError::Short)),
            }
        }
    }

    /// The same for replies.
    #[test]
    fn replies_are_read_as_they_were_written(results in results(), xid in any::<u32>()) {
        let (reply, procedure) = (reply(&results), results.0);
        let mut out = Vec::new();
        rpc::put_reply(&mut out, xid, CallOutcome::Success);
        let head = out.len();
        reply.put(&mut out);
        let mut reader = Reader::new(&out);
        prop_assert_eq!(rpc::read_reply(&mut reader), Ok((xid, CallOutcome::Success)));
        prop_assert_eq!(Reply::read(procedure, &mut reader), Ok(reply));
        prop_assert_eq!(reader.end(), Ok(()));
        for cut in head..out.len() {
            let short = Reply::read(procedure, &mut Reader::new(&out[head..cut]));
            prop_assert_eq!(short, Err(XdrError::Short));
        }
    }

    /// Random bytes and damaged ones are survived.
    #[test]
    fn any_bytes_are_survived(noise in proptest::collection::vec(any::<u8>(), 0..300), procedure in any::<u8>()) {
        nfs::fuzz::calls(&noise);
        nfs::fuzz::replies(procedure, &noise);
    }

    /// A call and a reply with some bytes changed are survived.
    #[test]
    fn damaged_messages_are_survived(
        parts in parts(),
        results in results(),
        damage in proptest::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..8),
    ) {
        let (call, reply) = (call(&parts), reply(&results));
        let head = CallHead {
            xid: 1,
            program: nfs::PROGRAM,
            version: 3,
            procedure: call.procedure() as u32,
            credential: Credential::None,
        };
        let mut asked = Vec::new();
        let start = record::begin(&mut asked);
        rpc::put_call(&mut asked, &head);
        call.put(&mut asked);
        record::end(&mut asked, start, 0);
        prop_assert_eq!(nfs::fuzz::calls(&asked), 1);
        let mut answered = Vec::new();
        let start = record::begin(&mut answered);
        rpc::put_reply(&mut answered, 1, CallOutcome::Success);
        reply.put(&mut answered);
        record::end(&mut answered, start, 0);
        prop_assert_eq!(nfs::fuzz::replies(results.0 as u8, &answered), 1);
        for (place, value) in damage {
            let at = place.index(asked.len());
            asked[at] = value;
            let at = place.index(answered.len());
            answered[at] = value;
        }
        nfs::fuzz::calls(&asked);
        nfs::fuzz::replies(results.0 as u8, &answered);
    }

    /// A page has as much as its client has room for, and its entries come back in order.
    #[test]
    fn pages_keep_to_their_size(count in 0u32..4000, names in 0u32..4000, lens in proptest::collection::vec(0usize..200, 0..60)) {
        let mut pager = Pager::plus(names, count);
        let name = [b'n'; 200];
        let entry = |number: usize, len: usize| Listed {
            fileid: number as u64,
            name: &name[..len],
            cookie: number as u64 + 1,
            attributes: None,
            handle: FileHandle::new(b"handle"),
        };
        let added = lens.iter().enumerate().take_while(|&(number, &len)| pager.add(&entry(number, len))).count();
        let page = pager.finish([7; 8], added == lens.len());
        let attributes = None;
        let mut out = Vec::new();
        Reply::Listing(attributes, Ok(page.clone())).put(&mut out);
        prop_assert!(out.len() as u32 <= count.max(4 + 4 + 8 + 4 + 4));
        let found: Vec<usize> = page.entries().map(|entry| entry.name.len()).collect();
        prop_assert_eq!(&found[..], &lens[..added]);
    }
}
