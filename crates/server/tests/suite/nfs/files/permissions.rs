//! Permissions of clients' files: by owner, group and mode, root squash unless a rule disables it,
//! and the top folder of a volume.

use super::*;
use server::{NOBODY, Squash, Squashed};

const NONE: SetAttributes = SetAttributes {
    mode: None,
    uid: None,
    gid: None,
    size: None,
    accessed: SetMoment::Keep,
    modified: SetMoment::Keep,
};

fn mode(mode: u32) -> SetAttributes {
    SetAttributes { mode: Some(mode), ..NONE }
}

impl Client {
    fn set(&mut self, handle: FileHandle, set: SetAttributes) -> Result<(), Status> {
        self.done(&Call::SetAttr { handle, set, guard: None })
    }

    fn make(&mut self, directory: FileHandle, name: &[u8], set: SetAttributes) -> Result<FileHandle, Status> {
        self.made(&Call::Create { entry: Entry { directory, name }, how: CreateHow::Guarded(set) })
    }

    fn folder(&mut self, directory: FileHandle, name: &[u8], bits: u32) -> FileHandle {
        self.made(&Call::MakeDir { entry: Entry { directory, name }, set: mode(bits) }).unwrap()
    }

    /// Mode, owner and group.
    fn owned(&mut self, handle: FileHandle) -> (u32, u32, u32) {
        let found = self.attributes(handle).unwrap();
        (found.mode, found.uid, found.gid)
    }

    fn may(&mut self, handle: FileHandle) -> u32 {
        self.call(&Call::Access { handle, wanted: 63 }, &[], |reply| match reply {
            Reply::Access(_, given) => given.unwrap(),
            other => panic!("{other:?}"),
        })
    }

    fn list(&mut self, handle: FileHandle) -> Result<(), Status> {
        let call = Call::ReadDir { handle, cookie: 0, verifier: [0; 8], count: 4096 };
        self.call(&call, &[], |reply| match reply {
            Reply::Listing(_, page) => page.map(drop),
            other => panic!("{other:?}"),
        })
    }
}

/// Bits of ACCESS: read, look up, modify and extend, delete, execute.
const R: u32 = 1;
const L: u32 = 2;
const M: u32 = 12;
const D: u32 = 16;
const X: u32 = 32;

/// Owner, group (also a supplementary one) and others have the rights of the mode. The owner can
/// continue with an open file, and attributes can be set by those who may.
#[test]
fn users_may_what_modes_say() {
    let server = start(BACKENDS[0], limits());
    let mut owner = Client::of(&server, 1000, &[1000, 7]);
    let groups: Vec<u32> = (100..116).chain([1000]).collect();
    let (mut member, mut other) = (Client::of(&server, 1001, &groups), Client::of(&server, 1002, &[1002]));
    let top = owner.mount("/vol1").unwrap();
    let folder = owner.folder(top, b"folder", 0o750);
    let file = owner.make(folder, b"file", mode(0o640)).unwrap();
    owner.write_all(file, 0, b"text", Stable::File).unwrap();
    assert_eq!([owner.may(folder), member.may(folder), other.may(folder)], [R | L | M | D, R | L, 0]);
    assert_eq!([owner.may(file), member.may(file), other.may(file)], [R | M, R, 0]);
    assert_eq!(member.look_up(folder, b"file"), Ok(file));
    assert_eq!(
        (other.look_up(folder, b"file"), other.look_up(folder, b"none")),
        (Err(Status::Access), Err(Status::Access))
    );
    assert_eq!((member.list(folder), other.list(folder)), (Ok(()), Err(Status::Access)));
    assert_eq!((member.read_all(file), other.read(file, 0, 4)), (b"text".to_vec(), Err(Status::Access)));
    assert_eq!(member.write_all(file, 0, b"x", Stable::File), Err(Status::Access));
    for client in [&mut member, &mut other] {
        assert_eq!(client.make(folder, b"new", NONE), Err(Status::Access));
        assert_eq!(client.remove(folder, b"file"), Err(Status::Access));
        assert_eq!(client.rename((folder, b"file"), (top, b"file")), Err(Status::Access));
        assert_eq!(client.link(file, folder, b"new"), Err(Status::Access));
        assert_eq!(client.resize(file, 0), Err(Status::Access));
        assert_eq!(client.set(file, mode(0o777)), Err(Status::NotOwner));
        assert_eq!(client.set(file, SetAttributes { modified: SetMoment::Now, ..NONE }), Err(Status::Access));
    }
    // An existing file is reported as such to those who may search the folder, rather than a lack
    // of permission.
    assert_eq!(member.make(folder, b"file", NONE), Err(Status::Exists));
    let unchecked = |size| Call::Create {
        entry: Entry { directory: folder, name: b"file" },
        how: CreateHow::Unchecked(SetAttributes { size, ..NONE }),
    };
    assert_eq!((member.made(&unchecked(None)), member.made(&unchecked(Some(0)))), (Ok(file), Err(Status::Access)));
    // The owner can continue with a file that is open.
    owner.set(file, mode(0)).unwrap();
    owner.write_all(file, 4, b"more", Stable::File).unwrap();
    assert_eq!((owner.read_all(file), owner.may(file)), (b"textmore".to_vec(), 0));
    // An executable file can be read, and loses its set-user bit when it is written.
    owner.set(file, mode(0o6711)).unwrap();
    assert_eq!((other.read_all(file), other.may(file)), (b"textmore".to_vec(), X));
    owner.write_all(file, 0, b"T", Stable::File).unwrap();
    assert_eq!(owner.owned(file), (0o711, 1000, 1000));
    // It can be given to a group of its owner, and not to another user.
    assert_eq!(owner.set(file, SetAttributes { uid: Some(1001), ..NONE }), Err(Status::NotOwner));
    assert_eq!(owner.set(file, SetAttributes { gid: Some(1001), ..NONE }), Err(Status::NotOwner));
    owner.set(file, SetAttributes { gid: Some(7), ..NONE }).unwrap();
    assert_eq!(owner.owned(file), (0o711, 1000, 7));
    // Moving a folder changes its `..` entry.
    let below = owner.folder(folder, b"below", 0o555);
    let open = owner.folder(top, b"open", 0o777);
    assert_eq!(owner.rename((folder, b"below"), (open, b"below")), Err(Status::Access));
    owner.set(below, mode(0o755)).unwrap();
    owner.rename((folder, b"below"), (open, b"below")).unwrap();
    drop((owner, member, other));
    server.until_empty();
}

/// In a sticky folder everybody keeps their own entries; in one with the set-group bit everything
/// belongs to the group.
#[test]
fn sticky_and_group_folders_are_what_they_are_for() {
    let server = start(BACKENDS[0], limits());
    let (mut one, mut two) = (Client::of(&server, 1000, &[1000, 7]), Client::of(&server, 1001, &[1001]));
    let top = one.mount("/vol1").unwrap();
    let shared = one.folder(top, b"shared", 0o1777);
    let (mine, _) = (two.make(shared, b"mine", NONE).unwrap(), one.make(shared, b"other", NONE).unwrap());
    assert_eq!(two.remove(shared, b"other"), Err(Status::Access));
    assert_eq!(two.rename((shared, b"other"), (shared, b"x")), Err(Status::Access));
    assert_eq!(two.rename((shared, b"mine"), (shared, b"other")), Err(Status::Access));
    two.rename((shared, b"mine"), (shared, b"moved")).unwrap();
    assert_eq!(two.look_up(shared, b"moved"), Ok(mine));
    // The folder belongs to them, so they may.
    one.remove(shared, b"moved").unwrap();
    let group = one.folder(top, b"group", 0o777);
    one.set(group, SetAttributes { gid: Some(7), mode: Some(0o2777), ..NONE }).unwrap();
    assert_eq!(one.owned(group), (0o2777, 1000, 7));
    let file = two.make(group, b"file", mode(0o2664)).unwrap();
    let below = two.folder(group, b"below", 0o755);
    assert_eq!((two.owned(file), two.owned(below)), ((0o664, 1001, 7), (0o2755, 1001, 7)));
    let entry = Entry { directory: group, name: b"link" };
    let link = two.made(&Call::SymLink { entry, set: mode(0o600), path: b"file" }).unwrap();
    assert_eq!(two.owned(link), (0o777, 1001, 7));
    drop((one, two));
    server.until_empty();
}

/// Without a rule, root is mapped to nobody and has no more rights. A rule can trust root, or
/// nobody at all.
#[test]
fn root_is_squashed_unless_a_rule_says_otherwise() {
    let server = start(BACKENDS[0], limits());
    let (mut root, mut user) = (Client::of(&server, 0, &[0, 0]), Client::of(&server, 1000, &[1000]));
    let top = root.mount("/vol1").unwrap();
    let secret = user.make(top, b"secret", mode(0o600)).unwrap();
    let given = SetAttributes { uid: Some(0), gid: Some(0), ..NONE };
    let made = root.make(top, b"made", given).unwrap();
    assert_eq!(root.owned(made), (0o644, NOBODY, NOBODY));
    assert_eq!((root.read(secret, 0, 1), root.may(secret)), (Err(Status::Access), 0));
    assert_eq!(root.set(secret, SetAttributes { uid: Some(0), ..NONE }), Err(Status::NotOwner));
    drop((root, user));
    server.until_empty();
    let rule = |whom| AccessRule {
        exports: vec!["svm01:*".into()],
        squash: Squash { whom, uid: 77, gid: 78 },
        ..AccessRule::default()
    };
    let server = server.restart_behind(limits(), front(Access::by_rules(vec![rule(Squashed::Nobody)])));
    let mut root = Client::of(&server, 0, &[0]);
    let made = root.make(top, b"roots", SetAttributes { uid: Some(1000), ..NONE }).unwrap();
    assert_eq!(root.owned(made), (0o644, 1000, 0));
    assert_eq!((root.read(secret, 0, 1), root.may(secret)), (Ok((Vec::new(), true)), R | M));
    root.set(secret, SetAttributes { uid: Some(5), gid: Some(6), ..NONE }).unwrap();
    assert_eq!(root.owned(secret), (0o600, 5, 6));
    drop(root);
    server.until_empty();
    let server = server.restart_behind(limits(), front(Access::by_rules(vec![rule(Squashed::Everybody)])));
    let mut user = Client::of(&server, 1000, &[1000]);
    let made = user.make(top, b"anybodys", NONE).unwrap();
    assert_eq!(user.owned(made), (0o644, 77, 78));
    assert_eq!(user.write_all(secret, 0, b"x", Stable::File), Err(Status::Access));
    drop(user);
    server.until_empty();
}

/// The top folder of a volume is open to everybody until an administrator or its owner changes
/// that; LUNs in it are found by those who may search it.
#[test]
fn the_top_of_a_volume_is_whose_it_is_said_to_be() {
    let mut server = start(BACKENDS[0], limits());
    let line = "volume create own -size 10MB -user 1000 -group 7 -unix-permissions ---rwxr-x---";
    server.control.execute(line).unwrap();
    server.control.execute("lun create /vol/own/lun -size 1MB").unwrap();
    let shown = |server: &mut Server, volume: &str| {
        let line = format!("volume show -volume {volume} -fields user,group,unix-permissions");
        let text = server.control.execute(&line).unwrap();
        text.lines().last().unwrap().split_whitespace().map(str::to_owned).collect::<Vec<_>>()
    };
    assert_eq!(shown(&mut server, "own"), ["svm01", "own", "1000", "7", "---rwxr-x---"]);
    assert_eq!(shown(&mut server, "vol1"), ["svm01", "vol1", "0", "0", "---rwxrwxrwx"]);
    let (mut owner, mut other) = (Client::of(&server, 1000, &[1000]), Client::of(&server, 1001, &[1001]));
    let top = other.mount("/own").unwrap();
    assert_eq!((other.look_up(top, b"lun"), other.make(top, b"x", NONE)), (Err(Status::Access), Err(Status::Access)));
    let lun = owner.look_up(top, b"lun").unwrap();
    assert_eq!(owner.owned(lun), (0o666, 0, 0));
    other.write(lun, 0, &[1; 512], Stable::File).unwrap();
    owner.make(top, b"mine", NONE).unwrap();
    // Its owner changes that, and the change is shown and stays.
    owner.set(top, mode(0o1777)).unwrap();
    assert_eq!(shown(&mut server, "own")[4], "--trwxrwxrwx");
    drop((owner, other));
    server.until_empty();
    let mut server = server.restart_behind(limits(), front(Access::default()));
    server.control.execute("volume modify own -user 1001").unwrap();
    assert_eq!(shown(&mut server, "own"), ["svm01", "own", "1001", "7", "--trwxrwxrwx"]);
    let mut owner = Client::of(&server, 1001, &[1001]);
    owner.remove(top, b"mine").unwrap();
    assert_eq!(
        server
            .control
            .execute("volume modify own -unix-permissions 788")
            .unwrap_err()
            .to_string()
            .matches("755")
            .count(),
        1
    );
    drop(owner);
    server.until_empty();
}
