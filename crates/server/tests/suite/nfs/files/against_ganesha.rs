//! The same calls, by the same users, to our server and to nfs-ganesha on a local file system.
//! Statuses and resulting attributes must be the same, except where the rules below allow a
//! difference.

use super::history::Chance;
use super::*;
use crate::support::ganesha::Ganesha;
use server::{Squash, Squashed};
use std::time::Duration;

/// Number of histories (`SEAWALL_HISTORIES` overrides it), and of calls in each.
const SEEDS: u64 = 6;
const STEPS: u64 = 1500;

/// Set when the test runs itself again, in ganesha's network namespace: the exported folder.
const EXPORT: &str = "SEAWALL_TEST_GANESHA";

/// Users, each with a connection of its own; the first is root, whose identity is trusted.
const USERS: [(u32, &[u32]); 4] = [(0, &[0]), (1000, &[1000, 2000]), (1001, &[1001, 1000]), (1002, &[1002])];

/// Folders that are made and removed, by their paths.
const FOLDERS: [&str; 4] = ["", "d0", "d1", "d0/d1"];

/// A server with a connection for each user.
struct Side {
    clients: Vec<Client>,
    top: FileHandle,
}

/// A difference of statuses for which both are right; the resulting state does not differ.
struct Allowed {
    rule: &'static str,
    calls: &'static [&'static str],
    ours: &'static [&'static str],
    theirs: &'static [&'static str],
}

const ALLOWED: [Allowed; 11] = [
    Allowed {
        rule: "RENAME onto what does not fit is EXIST by RFC 1813; ganesha has the error of rename(2)",
        calls: &["rename"],
        ours: &["Exists", "NotEmpty"],
        theirs: &["NotDirectory", "IsDirectory", "NotEmpty", "Invalid"],
    },
    Allowed {
        rule: "a name that is not there in a folder that may not be changed: either comes first",
        calls: &["rename", "remove", "rmdir"],
        ours: &["Access"],
        theirs: &["NoEntry"],
    },
    Allowed {
        rule: "what neither can be nor is allowed: either comes first",
        calls: &["rename", "rmdir", "remove", "link"],
        ours: &["Access"],
        theirs: &["Invalid", "NotEmpty", "NotDirectory", "IsDirectory", "Exists", "BadType"],
    },
    Allowed {
        rule: "the same the other way round",
        calls: &["rename", "rmdir", "remove", "link", "create", "mkdir", "symlink"],
        ours: &["Invalid", "NotEmpty", "NotDirectory", "IsDirectory", "Exists", "NoEntry"],
        theirs: &["Access"],
    },
    Allowed {
        rule: "what a sticky folder keeps is ACCES: RENAME, REMOVE and RMDIR know no PERM (RFC 1813)",
        calls: &["rename", "remove", "rmdir"],
        ours: &["Access"],
        theirs: &["NotOwner"],
    },
    Allowed {
        rule: "a name onto itself changes nothing: by RFC 1813 it is done, whether leave is asked for is open",
        calls: &["rename"],
        ours: &["Access"],
        theirs: &["done"],
    },
    Allowed {
        rule: "names of a folder are changed by who may search it, too: ACCESS says so, ganesha's does not",
        calls: &["access"],
        ours: &["Ok(0) Ok(())", "Ok(1) Ok(())", "Ok(0) Err(Access)", "Ok(1) Err(Access)"],
        theirs: &["Ok(28) Ok(())", "Ok(29) Ok(())", "Ok(28) Err(Access)", "Ok(29) Err(Access)"],
    },
    Allowed {
        rule: "data and size of what is no file: RFC 1813 has INVAL and ISDIR, ganesha BADTYPE",
        calls: &["resize", "write", "read"],
        ours: &["Invalid", "IsDirectory", "Access"],
        theirs: &["BadType", "Invalid", "IsDirectory", "Access"],
    },
    Allowed {
        rule: "an unchecked CREATE of what is no file is EXIST, as with Linux' server; ganesha says what it is",
        calls: &["create unchecked"],
        ours: &["Exists"],
        theirs: &["IsDirectory", "BadType"],
    },
    Allowed {
        rule: "a LINK to a folder is ISDIR, if the name is not taken; ganesha has BADTYPE",
        calls: &["link"],
        ours: &["IsDirectory", "Exists"],
        theirs: &["BadType"],
    },
    Allowed {
        rule: "an unchecked CREATE of a file that is there opens it, as with Linux' server; ganesha asks for leave to write",
        calls: &["create unchecked"],
        ours: &["done"],
        theirs: &["Access"],
    },
];

impl Allowed {
    fn allows(&self, call: &str, ours: &str, theirs: &str) -> bool {
        let (Some((one, after)), Some((two, other))) = (ours.split_once(" → "), theirs.split_once(" → ")) else {
            return false;
        };
        self.calls.contains(&call) && self.ours.contains(&one) && self.theirs.contains(&two) && after == other
    }
}

impl Side {
    fn new(mut connect: impl FnMut() -> Client, top: FileHandle) -> Side {
        let users = USERS.iter().map(|(uid, groups)| Client { uid: *uid, groups: groups.to_vec(), ..connect() });
        Side { clients: users.collect(), top }
    }

    /// The node at a path, as root finds it.
    fn find(&mut self, path: &str) -> Option<FileHandle> {
        let (root, mut at) = (&mut self.clients[0], self.top);
        for name in path.split('/').filter(|name| !name.is_empty()) {
            at = root.look_up(at, name.as_bytes()).ok()?;
        }
        Some(at)
    }

    /// What root sees of a node.
    fn seen(&mut self, path: &str) -> String {
        let Some(handle) = self.find(path) else { return "nothing".into() };
        let Ok(found) = self.clients[0].attributes(handle) else { return "stale".into() };
        let size = if found.kind == FileKind::Directory { 0 } else { found.size };
        let Attributes { kind, mode, links, uid, gid, .. } = found;
        format!("{kind:?} {mode:o} {links} {uid}:{gid} {size}")
    }
}

/// A call, whose result includes the state of its places afterwards.
struct Deed {
    user: usize,
    what: u64,
    /// Folder and name, for each of two places.
    places: [(&'static str, String); 2],
    mode: u32,
    number: u64,
}

impl Deed {
    fn new(chance: &mut Chance) -> Deed {
        let mut place = || {
            let folder = FOLDERS[chance.next(FOLDERS.len() as u64) as usize];
            let names = ["d0", "d1", "a", "b", "c", "d"];
            (folder, names[chance.next(names.len() as u64) as usize].to_owned())
        };
        let places = [place(), place()];
        let modes = [0o777, 0o755, 0o700, 0o640, 0o1777, 0o2775, 0o6755, 0o000, 0o444, 0o311];
        let mode = modes[chance.next(modes.len() as u64) as usize];
        let (user, what) = (chance.next(USERS.len() as u64) as usize, chance.next(17));
        Deed { user, what, places, mode, number: chance.next(1 << 32) }
    }

    fn name(&self) -> &'static str {
        match self.what {
            0 | 1 => "create",
            2 => "create unchecked",
            3 | 4 => "mkdir",
            5 => "symlink",
            6 => "remove",
            7 => "rmdir",
            8 | 9 => "rename",
            10 => "link",
            11 => "chmod",
            12 => "chown",
            13 => "resize",
            14 => "write",
            15 => "read",
            _ => "access",
        }
    }

    fn path(&self, which: usize) -> String {
        let (folder, name) = &self.places[which];
        format!("{folder}/{name}")
    }

    /// Executes it; `None` if a folder that it needs does not exist.
    fn run(&self, side: &mut Side) -> Option<String> {
        let folders = [side.find(self.places[0].0)?, side.find(self.places[1].0)?];
        let entry = |which: usize| Entry { directory: folders[which], name: self.places[which].1.as_bytes() };
        let there = side.find(&self.path(0));
        // With these bits ganesha differs from Linux: it keeps them when a file is truncated, and
        // removes them from folders that change owner.
        let is_privileged = there.is_some_and(|node| side.clients[0].attributes(node).unwrap().mode & 0o6000 != 0);
        let client = &mut side.clients[self.user];
        let mode = SetAttributes { mode: Some(self.mode), ..SetAttributes::default() };
        let set = |set: SetAttributes| there.map(|handle| Call::SetAttr { handle, set, guard: None });
        let made = |client: &mut Client, call: &Call<'_>| told(client.made(call).map(drop));
        let (number, none) = (self.number, SetAttributes::default());
        let told = match self.what {
            0 | 1 => made(client, &Call::Create { entry: entry(0), how: CreateHow::Guarded(mode) }),
            2 => {
                // Ganesha truncates an existing file although it answers ACCES.
                let size = (number % 2 == 0 && there.is_none()).then_some(number % 5000);
                made(
                    client,
                    &Call::Create { entry: entry(0), how: CreateHow::Unchecked(SetAttributes { size, ..mode }) },
                )
            }
            3 | 4 => made(client, &Call::MakeDir { entry: entry(0), set: mode }),
            5 => made(client, &Call::SymLink { entry: entry(0), set: none, path: b"somewhere" }),
            6 => told(client.done(&Call::Remove(entry(0)))),
            7 => told(client.done(&Call::RemoveDir(entry(0)))),
            8 | 9 => told(client.done(&Call::Rename { from: entry(0), to: entry(1) })),
            10 => told(client.done(&Call::Link { handle: there?, to: entry(1) })),
            11 => told(client.done(&set(mode)?)),
            12 | 13 if is_privileged => return None,
            12 => {
                let ids = [None, Some(1000), Some(1001), Some(2000)];
                let id = |shift: u64| ids[(number >> shift) as usize % ids.len()];
                told(client.done(&set(SetAttributes { uid: id(3), gid: id(5), ..none })?))
            }
            13 => told(client.done(&set(set_size(number % 20_000))?)),
            14 => {
                let data = vec![7; 1 + number as usize % 9000];
                told(client.write_all(there?, number % 30_000, &data, Stable::File))
            }
            15 => {
                let (from, mut all) = (number % 40_000, Vec::new());
                // Either server may return a short read.
                let ended = loop {
                    match client.read(there?, from + all.len() as u64, 5000 - all.len() as u32) {
                        Ok((data, eof)) => {
                            all.extend(data);
                            if eof || all.len() == 5000 {
                                break Ok(eof);
                            }
                        }
                        Err(status) => break Err(status),
                    }
                };
                let sum: u64 = all.iter().map(|byte| u64::from(*byte)).sum();
                ended.map_or_else(|status| format!("{status:?}"), |eof| format!("{} {sum} {eof}", all.len()))
            }
            _ => {
                let access = client.call(&Call::Access { handle: there?, wanted: 63 }, &[], |reply| match reply {
                    Reply::Access(_, given) => given,
                    other => panic!("{other:?}"),
                });
                let found = client.look_up(folders[0], self.places[0].1.as_bytes()).map(drop);
                format!("{access:?} {found:?}")
            }
        };
        let (one, two) = (side.seen(&self.path(0)), side.seen(&self.path(1)));
        Some(format!("{told} → {one} | {two} in {} and {}", side.seen(self.places[0].0), side.seen(self.places[1].0)))
    }
}

fn told(result: Result<(), Status>) -> String {
    match result {
        Ok(()) => "done".into(),
        Err(status) => format!("{status:?}"),
    }
}

impl std::fmt::Display for Deed {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let (uid, one, two) = (USERS[self.user].0, self.path(0), self.path(1));
        write!(f, "{uid}: {} {one} ({two}) {:o} {}", self.name(), self.mode, self.number)
    }
}

/// Sends both the same calls, one history after the other.
fn compare(export: &str) {
    let rule = AccessRule {
        exports: vec!["*".into()],
        squash: Squash { whom: Squashed::Nobody, ..Squash::default() },
        ..AccessRule::default()
    };
    let mut server = Server::start_behind(BACKENDS[0], limits(), front(Access::by_rules(vec![rule])));
    let mut allowed = vec![0; ALLOWED.len()];
    let mut differ = Vec::new();
    let seeds = std::env::var("SEAWALL_HISTORIES").ok().and_then(|text| text.parse().ok()).unwrap_or(SEEDS);
    for seed in 0..seeds {
        server.control.execute(&format!("volume create history{seed} -size 100MB -unix-permissions 777")).unwrap();
        let folder = format!("{export}/history{seed}");
        let top = Client::connect(&server).mount(&format!("/history{seed}")).unwrap();
        let mut ours = Side::new(|| Client::connect(&server), top);
        let top = Client::to(("127.0.0.1", 20048)).mount(export).unwrap();
        let mut theirs = Side::new(|| Client::to(("127.0.0.1", 2049)), top);
        let entry = Entry { directory: theirs.top, name: folder.rsplit('/').next().unwrap().as_bytes() };
        let set = SetAttributes { mode: Some(0o777), ..SetAttributes::default() };
        theirs.top = theirs.clients[0].made(&Call::MakeDir { entry, set }).unwrap();
        let (mut chance, mut done) = (Chance(seed), 0);
        for number in 0..STEPS {
            let deed = Deed::new(&mut chance);
            let (one, two) = (deed.run(&mut ours), deed.run(&mut theirs));
            done += u64::from(one.as_ref().is_some_and(|told| told.starts_with("done")));
            if one == two {
                continue;
            }
            let text = |told: &Option<String>| told.clone().unwrap_or_default();
            let (one, two) = (text(&one), text(&two));
            match ALLOWED.iter().position(|rule| rule.allows(deed.name(), &one, &two)) {
                Some(rule) => allowed[rule] += 1,
                None => {
                    differ.push(format!("seed {seed}, call {number}: {deed}\n  ours: {one}\n  ganesha: {two}"));
                    break;
                }
            }
        }
        println!("seed {seed}: {STEPS} calls, {done} changes");
        drop(ours);
        server.until_empty();
    }
    assert!(differ.is_empty(), "{}", differ.join("\n"));
    ALLOWED.iter().zip(allowed).for_each(|(allowed, count)| println!("{count} times: {}", allowed.rule));
}

/// Starts ganesha, and runs itself again in ganesha's network namespace.
#[test]
fn ganesha_answers_the_same() {
    if let Ok(export) = std::env::var(EXPORT) {
        return compare(&export);
    }
    let folder = tempfile::Builder::new().prefix("sw").tempdir_in("/var/tmp").unwrap();
    let mut ganesha = match Ganesha::start(folder) {
        Ok(ganesha) => ganesha,
        Err(reason) => return skip(reason),
    };
    let export = ganesha.export();
    let answers = |ganesha: &Ganesha| {
        let uri = format!("nfs://127.0.0.1{}?version=3", export.display());
        ganesha.inside("nfs-ls").arg(uri).output().is_ok_and(|ended| ended.status.success())
    };
    #[allow(clippy::disallowed_methods, reason = "a bound for a server that never comes up")]
    let began = std::time::Instant::now();
    while !answers(&ganesha) {
        assert!(ganesha.ended().is_none() && began.elapsed() < Duration::from_secs(60), "{:?}", ganesha.ended());
    }
    let mut inside = ganesha.inside(std::env::current_exe().unwrap());
    inside.args(["nfs::files::against_ganesha::ganesha_answers_the_same", "--exact", "--nocapture"]);
    let ended = inside.env(EXPORT, &export).output().unwrap();
    let said = String::from_utf8_lossy(&ended.stdout);
    assert!(ended.status.success() && said.contains("1 passed"), "{said}{}", String::from_utf8_lossy(&ended.stderr));
    println!("{said}");
}
