//! Calls that are resent after their connection was lost: each is answered as the first time, and
//! executed once.

use super::*;

impl Client {
    /// Another connection, whose next call has the number of this one's last call.
    fn again(&self, server: &Server) -> Client {
        let (xid, uid, groups) = (self.xid.wrapping_sub(1), self.uid, self.groups.clone());
        Client { xid, uid, groups, ..Client::connect(server) }
    }

    fn status(&mut self, call: &Call<'_>) -> Result<Option<FileHandle>, Status> {
        self.call(call, &[], |reply| match reply {
            Reply::Made(_, result) => result.map(|(handle, _)| handle),
            Reply::Done(_, result) | Reply::Rename(_, _, result) | Reply::Link(_, _, result) => result.map(|()| None),
            other => panic!("{other:?}"),
        })
    }
}

/// Each call that must not be executed twice is sent, its connection is lost, and it is sent again
/// with the same number: the answer is the first one. With another number it is executed again, and
/// fails.
#[test]
fn a_call_that_is_sent_again_is_answered_as_before() {
    let server = start(BACKENDS[0], limits());
    let mut client = Client::connect(&server);
    let top = client.mount("/vol1").unwrap();
    let file = client.create(top, b"file").unwrap();
    let entry = |name: &'static str| Entry { directory: top, name: name.as_bytes() };
    let none = SetAttributes::default();
    let guard = client.attributes(file).unwrap().changed;
    let sets = SetAttributes { mode: Some(0o600), ..none };
    for (call, twice) in [
        (Call::SetAttr { handle: file, set: sets, guard: Some(guard) }, Status::NotSync),
        (Call::Create { entry: entry("a"), how: CreateHow::Guarded(none) }, Status::Exists),
        (Call::MakeDir { entry: entry("b"), set: none }, Status::Exists),
        (Call::SymLink { entry: entry("c"), set: none, path: b"a" }, Status::Exists),
        (Call::Link { handle: file, to: entry("d") }, Status::Exists),
        (Call::Rename { from: entry("a"), to: entry("e") }, Status::NoEntry),
        (Call::Remove(entry("e")), Status::NoEntry),
        (Call::RemoveDir(entry("b")), Status::NoEntry),
    ] {
        let first = client.status(&call);
        assert!(first.is_ok(), "{call:?}: {first:?}");
        let mut again = client.again(&server);
        assert_eq!(again.status(&call), first, "{call:?}");
        // The first connection is lost, and so is the second.
        client = again.again(&server);
        assert_eq!(client.status(&call), first, "{call:?}");
        assert_eq!(client.status(&call), Err(twice), "{call:?} by another number");
    }
    assert_eq!(client.names(top, 4096), [".", "..", "c", "d", "file", "lun1"]);
    // The same number with other contents is another call; so is the same call of another user.
    let mut other = client.again(&server);
    assert_eq!(other.status(&Call::Remove(entry("c"))), Ok(None));
    let mut user = Client { uid: 1001, ..other.again(&server) };
    assert_eq!(user.status(&Call::Remove(entry("c"))), Err(Status::NoEntry));
    drop((client, other, user));
    server.until_empty();
}

/// A call is resent before the first one is answered: both are answered, and it is executed once.
#[test]
fn a_call_that_is_not_answered_yet_is_done_once() {
    let mut server = start(BACKENDS[0], limits());
    let mut client = Client::connect(&server);
    let top = client.mount("/vol1").unwrap();
    // A record waits a second for its turn.
    for line in [
        "qos policy-group create slow -vserver svm01 -max-throughput 1IOPS",
        "volume modify -volume vol1 -vserver svm01 -qos-policy-group slow",
    ] {
        server.control.execute(line).unwrap();
    }
    let call = Call::MakeDir { entry: Entry { directory: top, name: b"once" }, set: SetAttributes::default() };
    client.send((::nfs::PROGRAM, 3, Procedure::MakeDir as u32), &[], |out| call.put(out));
    let mut again = client.again(&server);
    let second = again.status(&call).unwrap();
    let (xid, outcome, results) = client.receive().unwrap();
    assert_eq!((xid, outcome), (client.xid, CallOutcome::Success));
    let Reply::Made(_, first) = Reply::read(Procedure::MakeDir, &mut Reader::new(&results)).unwrap() else { panic!() };
    assert_eq!(first.unwrap().0, second);
    drop((client, again));
    server.until_empty();
}
