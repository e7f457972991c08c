//! Whoever writes, wherever to, whatever is there: one table, the same for all front ends.
//!
//! What cannot occur: `run` loads volumes of a pool that it makes itself, in a folder that must not
//! be there yet, so every place that exists is refused as one; it cannot name an export. `serve`
//! lays a pool's data on files and devices and cannot name an export. A client does not see who
//! uses what an export is on; what it carries it sees.

use crate::fio_nbd::Foreign;
use crate::fio_safety::{is_there, tool};
use crate::loop_device::LoopDevice;
use crate::requires::{requires, skip};
use crate::running::{Ended, RESULTS, Running, run, seawall, succeed};
use crate::scratch::Scratch;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::PathBuf;
use std::process::Command;

/// Bytes of every place.
const SIZE: u64 = 48 << 20;

#[derive(Clone, Copy, Debug, PartialEq)]
enum State {
    Empty,
    Ours,
    Ext4,
    Partitioned,
    Mounted,
    Member,
}
use State::{Empty, Ext4, Member, Mounted, Ours, Partitioned};
const STATES: [State; 6] = [Empty, Ours, Ext4, Partitioned, Mounted, Member];

#[derive(Clone, Copy, Debug, PartialEq)]
enum Kind {
    File,
    Device,
    Export,
}

/// An image in a state, and what of it is attached, mounted and served; all of that ends with it.
struct Site {
    scratch: Scratch,
    device: Option<String>,
    mounted: bool,
    server: Option<Foreign>,
    /// As it is named to the program.
    name: String,
}

impl Site {
    /// `None` where the machine does not let it be made.
    fn new(kind: Kind, state: State) -> Option<Site> {
        let mut site =
            Site { scratch: Scratch::new(), device: None, mounted: false, server: None, name: String::new() };
        let image = site.image();
        let path = image.to_str().unwrap().to_owned();
        // Files that carry something are ones that seawall made: by itself such a file might be
        // overwritten.
        if kind == Kind::File && state == Empty {
            std::fs::File::create(&image).unwrap();
        } else {
            let size = format!("--size={SIZE}");
            let filename = format!("--filename={path}");
            let lay_out =
                ["fio", "--name=l", "--rw=write", "--create_only=1", "--fallocate=truncate", &filename, &size];
            succeed(seawall(site.scratch.path()).args(lay_out));
        }
        let is_done = match state {
            Empty => true,
            Ours if kind == Kind::File => true,
            Ours => {
                run(seawall(site.scratch.path()).args(["dgen", "--quiet", "--pctfull=20", "--device", &path])).code
                    == Some(0)
            }
            Ext4 | Mounted => run(tool("mkfs.ext4").args(["-q", "-F", &path])).code == Some(0),
            Partitioned => {
                let script = format!("echo size=8M | {} -q --label gpt {path}", tool("sfdisk").get_program().display());
                run(Command::new("sh").args(["-c", &script])).code == Some(0)
            }
            Member => {
                site.attach()?;
                let made = run(tool("pvcreate").args(["-ff", "-y", site.device.as_deref().unwrap()]));
                site.detach();
                made.code == Some(0)
            }
        };
        if !is_done {
            return None;
        }
        if kind == Kind::Device || state == Mounted {
            site.attach()?;
        }
        if state == Mounted {
            let point = site.scratch.join("mount");
            std::fs::create_dir(&point).unwrap();
            let device = site.device.clone().unwrap();
            site.mounted = run(tool("mount").args(["-o", "ro,noload", &device]).arg(&point)).code == Some(0);
            if !site.mounted {
                return None;
            }
        }
        site.name = match kind {
            Kind::File => path,
            Kind::Device => site.device.clone().unwrap(),
            Kind::Export => {
                let socket = site.scratch.join("s");
                let words = ["--foreground", "--exit-with-parent", "--unix", socket.to_str().unwrap(), "file", &path];
                site.server.insert(Foreign::start("nbdkit", &words, &socket)).uri.clone()
            }
        };
        Some(site)
    }

    fn image(&self) -> PathBuf {
        self.scratch.join("image")
    }

    fn attach(&mut self) -> Option<()> {
        let made = run(tool("losetup").args(["--find", "--show"]).arg(self.image()));
        self.device = (made.code == Some(0)).then(|| made.out.trim().to_owned());
        self.device.as_ref().map(|_| ())
    }

    fn detach(&mut self) {
        if let Some(device) = self.device.take() {
            run(tool("losetup").args(["--detach", &device]));
        }
    }

    /// What one front end makes of it.
    fn outcome(&self, front: Front, more: &[&str]) -> Ended {
        let mut command = seawall(self.scratch.path());
        match front {
            Front::Fio => {
                command.args(["fio", "--name=w", "--rw=write", "--bs=64k", "--size=1m"]);
                match &self.server {
                    None => command.arg(format!("--filename={}", self.name)),
                    Some(server) => command.arg("--ioengine=nbd").arg(format!("--uri={}", server.uri)),
                };
            }
            Front::Ramp => {
                let load = "ramp --miniops 100 --maxiops 100 --numruns 1 --runtime 1s --cycle 1s --disable-warmup \
                            --device null:8GiB --output out --quiet --wijfile";
                command.args(load.split_whitespace()).arg(&self.name);
            }
            Front::Dgen => {
                command.args(["dgen", "--quiet", "--pctfull=40", "--device", &self.name]);
            }
            Front::Serve => return self.serve(),
            Front::Run => {
                std::fs::write(self.scratch.join("plan.toml"), PLAN).unwrap();
                command.args(["run", "plan.toml", "--dir", &self.name]);
            }
        }
        run(command.args(more))
    }

    /// A server that makes a pool with its data there, ended as soon as it listens.
    fn serve(&self) -> Ended {
        let pool = self.scratch.join("pool");
        std::fs::create_dir_all(&pool).unwrap();
        std::fs::write(pool.join("seawall.toml"), format!("cache = \"page\"\n[pool]\ndata = {:?}\n", self.name))
            .unwrap();
        let mut command = seawall(self.scratch.path());
        command.args(["serve", "--pool", "pool", "--create", "--listen", "unix:p.sock"]);
        let mut server = Running::start(command);
        let listens = server.listens();
        if listens {
            server.signal("INT");
        }
        let (status, lines) = server.end();
        Ended { code: status.code(), out: String::new(), err: lines.join("\n") }
    }

    /// The beginning and the end of what is behind it.
    fn bytes(&self) -> Vec<u8> {
        let mut bytes = std::fs::read(self.image()).unwrap();
        let rest = bytes.split_off(bytes.len().min(2 << 20));
        bytes.extend(&rest[rest.len().saturating_sub(1 << 20)..]);
        bytes
    }
}

impl Drop for Site {
    fn drop(&mut self) {
        self.server = None;
        if self.mounted {
            run(tool("umount").arg(self.scratch.join("mount")));
        }
        self.detach();
    }
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Front {
    Fio,
    Ramp,
    Dgen,
    Serve,
    Run,
}

const PLAN: &str = "title = \"t\"\n[server]\nsvm = \"s\"\n[[volume]]\nname = \"v\"\nsize = \"8MiB\"\nlun = \"l\"\n[[workload]]\n\
                    name = \"w\"\nlun = \"/vol/v/l\"\ndepth = 1\n[[phase]]\nname = \"p\"\nseconds = 2\n";

/// The table's word for how it ended: that it went, or what spoke against it.
fn word(front: Front, ended: &Ended) -> String {
    const REASONS: [&str; 8] = [
        "is mounted on",
        "is the backing file of",
        "carries an ext2, ext3 or ext4 file system",
        "carries a GPT partition table",
        "carries an LVM physical volume",
        "not even a block",
        "exists already",
        "seawall did not lay out",
    ];
    // A ramp as short as these has a verdict that says nothing.
    let went = ended.code == Some(0) || (front == Front::Ramp && ended.out.contains("verdict "));
    let reason = REASONS.iter().find(|reason| ended.err.contains(*reason));
    match (went, reason) {
        (true, _) => "goes".into(),
        (false, Some(reason)) if ended.code == Some(2) => (*reason).into(),
        _ => format!("{ended:?}"),
    }
}

fn table(kind: Kind, fronts: &[Front], expected: impl Fn(State, Front) -> &'static str) {
    for program in ["losetup", "mount", "mkfs.ext4", "sfdisk", "pvcreate"] {
        if !is_there(program) {
            return skip(&format!("{program} is not installed"));
        }
    }
    let mut wrong = Vec::new();
    for state in STATES {
        for &front in fronts {
            let Some(site) = Site::new(kind, state) else {
                return skip(&format!(
                    "{kind:?} that is {state:?} cannot be made here (that needs root and loop devices)"
                ));
            };
            let before = site.bytes();
            let ended = site.outcome(front, &[]);
            let (is, wanted) = (word(front, &ended), expected(state, front));
            if is != wanted {
                wrong.push(format!("{kind:?}, {state:?}, {front:?}: {is}, and not: {wanted}"));
            }
            if wanted != "goes" && site.bytes() != before {
                wrong.push(format!("{kind:?}, {state:?}, {front:?}: something was written"));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

const ALL: [Front; 5] = [Front::Fio, Front::Ramp, Front::Dgen, Front::Serve, Front::Run];

/// What every front end says of a place that carries something.
fn carried(state: State) -> &'static str {
    match state {
        Empty | Ours => "goes",
        Ext4 | Mounted => "carries an ext2, ext3 or ext4 file system",
        Partitioned => "carries a GPT partition table",
        Member => "carries an LVM physical volume",
    }
}

#[test]
fn devices_are_left_alone_alike() {
    table(Kind::Device, &ALL, |state, front| match (state, front) {
        (_, Front::Run) => "exists already",
        (Mounted, _) => "is mounted on",
        _ => carried(state),
    });
}

#[test]
fn files_are_left_alone_alike() {
    table(Kind::File, &ALL, |state, front| match (state, front) {
        (_, Front::Run) => "exists already",
        // A file that is to be used as a device has a size already.
        (Empty, Front::Dgen) => "not even a block",
        (Mounted, _) => "is the backing file of",
        _ => carried(state),
    });
}

#[test]
fn exports_are_left_alone_alike() {
    requires!("nbdkit");
    table(Kind::Export, &ALL[..3], |state, _| carried(state));
}

/// A device in use needs a word of its own: `--destroy-data` is not enough, the advice is to end
/// the use, and that word alone is not enough either.
#[test]
fn a_device_in_use_needs_a_second_word() {
    if !is_there("losetup") || !is_there("mkfs.ext4") {
        return skip("losetup or mkfs.ext4 is not installed");
    }
    let Some(site) = Site::new(Kind::Device, Mounted) else {
        return skip("no file system can be mounted here (that needs root and loop devices)");
    };
    let (destroy, in_use) = (format!("--destroy-data={}", site.name), format!("--even-in-use={}", site.name));
    let point = site.scratch.join("mount").display().to_string();
    for front in [Front::Fio, Front::Ramp, Front::Dgen] {
        let before = site.bytes();
        let bare = site.outcome(front, &[]);
        assert!(bare.err.contains(&format!("unmount it first (umount {point})")), "{front:?}: {}", bare.err);
        assert!(!bare.err.contains("--destroy-data"), "{front:?}: {}", bare.err);
        let first = site.outcome(front, &[&destroy]);
        assert_eq!((first.code, word(front, &first).as_str()), (Some(2), "is mounted on"), "{front:?}: {first:?}");
        assert!(first.err.contains("--destroy-data says nothing of a device in use"), "{front:?}: {}", first.err);
        let second = site.outcome(front, &[&in_use]);
        assert_eq!(second.code, Some(2), "{front:?}: {second:?}");
        assert!(second.err.contains(&format!("{destroy} overwrites it all the same")), "{front:?}: {}", second.err);
        assert!(site.bytes() == before, "{front:?}");
    }
    let both = site.outcome(Front::Fio, &[&destroy, &in_use]);
    assert_eq!(both.code, Some(0), "{both:?}");
}

/// What nobody lists is found all the same: a program that opened the device for itself, or the
/// device mapper above it.
#[test]
fn a_device_that_is_held_is_found_in_use() {
    if !is_there("losetup") {
        return skip("losetup is not installed");
    }
    let Some(site) = Site::new(Kind::Device, Empty) else {
        return skip("there is no loop device to be had here (that needs root)");
    };
    /// Of a block device: for oneself alone (`O_EXCL`, open(2)).
    const ALONE: i32 = 0o200;
    let held = std::fs::OpenOptions::new().read(true).custom_flags(ALONE).open(&site.name).unwrap();
    let refused = site.outcome(Front::Fio, &[]);
    assert_eq!(refused.code, Some(2), "{refused:?}");
    assert!(refused.err.contains("it is held by something"), "{}", refused.err);
    drop(held);
    let mapped = format!("seawall-test-{}", std::process::id());
    let rule = format!("0 {} linear {} 0", SIZE / 512, site.name);
    if is_there("dmsetup") && run(tool("dmsetup").args(["create", &mapped, "--table", &rule])).code == Some(0) {
        let refused = site.outcome(Front::Dgen, &[&format!("--destroy-data={}", site.name)]);
        run(tool("dmsetup").args(["remove", "--retry", &mapped]));
        assert_eq!(refused.code, Some(2), "{refused:?}");
        assert!(refused.err.contains("it is part of the device dm-"), "{}", refused.err);
    }
    assert_eq!(site.outcome(Front::Fio, &[]).code, Some(0), "nobody holds it any more");
}

/// Patterns and folders say what may go; one that names nothing is told.
#[test]
fn patterns_and_folders_name_what_may_go() {
    let scratch = Scratch::new();
    let files = ["a.0", "a.1", "sub/b.0"];
    std::fs::create_dir(scratch.join("sub")).unwrap();
    files.iter().for_each(|name| std::fs::write(scratch.join(name), vec![7; 1 << 20]).unwrap());
    let write = |name: &str, destroy: &[&str]| {
        let job =
            ["fio", "--output-format=json", "--name=w", "--rw=write", "--bs=64k", "--size=1m", "--filename", name];
        run(seawall(scratch.path()).args(job).args(destroy))
    };
    for (name, destroy) in [("a.0", "a.*"), ("a.1", "./a.[1-3]"), ("sub/b.0", "sub"), ("sub/b.0", "w")] {
        assert_eq!(write(name, &[]).code, Some(2), "{name}");
        let wrong = write(name, &["--destroy-data=a?0.x", "--destroy-data=elsewhere"]);
        assert_eq!(wrong.code, Some(2), "{wrong:?}");
        assert!(wrong.err.contains("--destroy-data=elsewhere: names nothing that is written here"), "{}", wrong.err);
        let went = write(name, &[&format!("--destroy-data={destroy}"), "--destroy-data=elsewhere"]);
        assert_eq!(went.code, Some(0), "{went:?}");
        assert!(went.out.contains("\"--destroy-data=elsewhere: names nothing"), "{}", went.out);
        assert_eq!(went.err, "");
    }
}

/// What cannot be opened is told apart: not there, a folder, no size, not allowed.
#[test]
fn what_cannot_be_opened_says_why() {
    let scratch = Scratch::new();
    let said = |arguments: &[&str]| {
        let ended = run(seawall(scratch.path()).args(arguments));
        assert_eq!((ended.code, ended.out.as_str()), (Some(2), ""), "{arguments:?}: {ended:?}");
        ended.err
    };
    let fio = |name: &str| said(&["fio", "--name=j", "--rw=read", "--filename", name]);
    assert!(fio("/dev/seawall-has-none").contains("/dev/seawall-has-none: is not there; no files are made in /dev"));
    assert!(fio("/dev").contains("/dev: is a folder; name a file in it"));
    assert!(fio("/dev/full").contains("/dev/full: is neither a file nor a block device"));
    assert!(fio("/dev/zero").contains("/dev/zero: has no size of its own; set size="));
    assert!(fio("new").contains("needs size=…"));
    let dgen = |name: &str| said(&["dgen", "--device", name]);
    assert!(dgen("gone").contains("gone: is not there; check its name, or make it first"));
    // On a file of nothing, and ours: one without a file may become another test's meanwhile.
    if let Some(device) = LoopDevice::new(0) {
        let name = &device.name();
        for line in [fio(name), dgen(name)] {
            assert!(line.contains(&format!("{name}: its size is not known")), "{line}");
        }
    }
    not_allowed(&scratch);
}

/// As another user, where this one may do everything.
fn not_allowed(scratch: &Scratch) {
    use std::os::unix::fs::PermissionsExt as _;
    if !is_there("setpriv") {
        return skip("setpriv is not installed");
    }
    std::fs::write(scratch.join("secret"), vec![0; 1 << 20]).unwrap();
    std::fs::set_permissions(scratch.join("secret"), std::fs::Permissions::from_mode(0o600)).unwrap();
    std::fs::set_permissions(scratch.path(), std::fs::Permissions::from_mode(0o755)).unwrap();
    let program = seawall(scratch.path());
    // Where the program itself is may be closed to others.
    let copy = scratch.join("seawall");
    std::fs::copy(program.get_program(), &copy).unwrap();
    let mut other = tool("setpriv");
    other.args(["--reuid=65534", "--regid=65534", "--clear-groups"]).arg(&copy).current_dir(scratch.path());
    other.env(RESULTS, "none");
    let ended = run(other.args(["fio", "--name=j", "--rw=read", "--filename=secret"]));
    if ended.err.starts_with("setpriv") {
        return skip("this user cannot become another");
    }
    assert_eq!(ended.code, Some(2), "{ended:?}");
    assert!(ended.err.contains("secret: may not be opened (Permission denied"), "{}", ended.err);
}

/// Pieces that direct I/O cannot take are refused before a file is made; and so is what the file
/// system has no room for.
#[test]
fn what_cannot_work_is_refused_before_anything_is_made() {
    let scratch = Scratch::new();
    let fio = |arguments: &[&str]| {
        let ended = run(seawall(scratch.path()).args(["fio", "--name=j", "--filename=f"]).args(arguments));
        assert_eq!((ended.code, ended.out.as_str()), (Some(2), ""), "{arguments:?}: {ended:?}");
        assert_eq!(scratch.listing(), Vec::<String>::new(), "{arguments:?}");
        ended.err
    };
    let odd = fio(&["--rw=read", "--bs=3000", "--direct=1", "--size=1m"]);
    assert!(odd.contains("bs and offset: must be multiples of"), "{odd}");
    // More than any disk has.
    for rw in ["--rw=read", "--rw=write"] {
        let large = fio(&[rw, "--bs=4k", "--size=4096t"]);
        assert!(large.contains("4 PiB are needed for the jobs' files, ") && large.contains("fill_device=1"), "{large}");
    }
    let several = fio(&["--rw=read", "--bs=4k", "--size=4096t", "--nrfiles=2", "--filename=f:g"]);
    assert_eq!(several.matches("are needed").count(), 1, "{several}");
}
