//! How long administrators' orders occupy the data thread: the processor time of the longest turn
//! that each was part of.
//!
//! `cargo run --release -p server --example orders -- FOLDER [LUNS] [GIB]` makes a pool in FOLDER
//! with that many LUNs in one volume (10 000 by default), each in one policy group, 10 000 further
//! policy groups without members, and one LUN of that many GiB (1024) whose blocks are all
//! allocated. It removes the pool at the end. A turn is what the data thread does between two
//! passes over its ring; requests move between turns.

#![allow(clippy::print_stdout, reason = "it is a program")]

use block::{Bytes, Driver, ObjectId, Op, Request, Span, Submitted, Target, Wakeup};
use map::{Agreed, What};
use server::{Control, Listen, ServerLimits, Shard};
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::time::Duration;
use store::{
    Cache, Contents, Kind, MapSettings, MappedPool, MappedVolumes, ObjectRow, PolicyRow, Pool, StoreError,
    VolumesSettings,
};
use uring::{Clock, Io, IoSettings};

const GIB: u64 = 1 << 30;
const MIB: u64 = 1 << 20;
/// Numbers of the SVM, its volumes, the policy group and the LUNs; the many LUNs follow.
const SVM: u32 = 1;
const MANY: u32 = 2;
const BIG: u32 = 3;
const MIDDLE: u32 = 4;
const BIG_LUN: u32 = 5;
const MIDDLE_LUN: u32 = 6;
const FIRST: u32 = 10;
const GROUP: u32 = 1 << 20;
/// Policy groups without members: `p1` and so on.
const EMPTY_GROUPS: u32 = 10_000;
/// Bytes of the LUN that becomes smaller.
const MIDDLE_SIZE: u64 = 64 * GIB;

fn main() {
    let mut words = std::env::args().skip(1);
    let parent = words.next().map_or_else(std::env::temp_dir, PathBuf::from);
    let mut number = |or: u64| words.next().map_or(or, |word| word.parse().expect("a number"));
    let (luns, size) = (number(10_000) as u32, number(1024) * GIB);
    let dir = parent.join(format!("seawall-orders-{}", std::process::id()));
    std::fs::create_dir_all(&dir).expect("make the folder");
    std::fs::write(dir.join("seawall.toml"), "cache = \"page\"\n").expect("write the settings");
    make(&dir, luns, size);
    allocate(&dir, size);
    measure(&dir, luns, size);
    std::fs::remove_dir_all(&dir).expect("remove the folder");
}

/// Makes the pool directly, without a command for each LUN.
fn make(dir: &Path, luns: u32, size: u64) {
    let mut pool = Pool::create(dir).expect("make a pool");
    let maps = pool.take_maps().expect("a pool with maps");
    let mut io = Io::open(&IoSettings::default()).expect("open a ring");
    let Ok(mut volumes) = MappedVolumes::new(&io, maps, VolumesSettings::default()) else {
        panic!("the slab is small")
    };
    let leaves: BTreeSet<u32> = [BIG_LUN, MIDDLE_LUN].into_iter().chain(FIRST..FIRST + luns).collect();
    let keep = |volumes: &mut MappedVolumes, io: &mut Io, agreed: Agreed| -> Result<(), StoreError> {
        let number = volumes.agree(agreed);
        until(io, volumes, number);
        Ok(())
    };
    pool.announce(&leaves, &mut |agreed| keep(&mut volumes, &mut io, agreed)).expect("announce");
    let size_of = |leaf: u32| match leaf {
        BIG_LUN => size,
        MIDDLE_LUN => MIDDLE_SIZE,
        _ => MIB,
    };
    let mut last = 0;
    for &leaf in &leaves {
        last = volumes.administer(ObjectId(leaf), What::Create { size: size_of(leaf) });
    }
    until(&mut io, &mut volumes, last);
    pool.keep(contents(&leaves, &size_of)).expect("keep the catalogue");
    pool.confirm(&BTreeSet::new(), &mut |agreed| keep(&mut volumes, &mut io, agreed)).expect("confirm");
}

/// Allocates blocks for the large LUNs without writing data: more than fit on the disk.
fn allocate(dir: &Path, size: u64) {
    let capacity = Some(4 * (size + MIDDLE_SIZE));
    let settings = MapSettings { cache: Cache::Page, capacity, ..MapSettings::default() };
    let maps = MappedPool::open(dir, settings).expect("open the maps");
    let mut io = Io::open(&IoSettings::default()).expect("open a ring");
    let Ok(mut volumes) = MappedVolumes::new(&io, maps, VolumesSettings::default()) else {
        panic!("the slab is small")
    };
    for (leaf, size) in [(BIG_LUN, size), (MIDDLE_LUN, MIDDLE_SIZE)] {
        volumes.open(ObjectId(leaf));
        (0..size).step_by(32 * GIB as usize).for_each(|at| fill(&mut io, &mut volumes, leaf, at, size));
    }
    let checkpoint = volumes.administer(ObjectId(0), What::Checkpoint);
    until(&mut io, &mut volumes, checkpoint);
}

fn contents(leaves: &BTreeSet<u32>, size_of: &dyn Fn(u32) -> u64) -> Contents {
    let object = |id, kind, parent, name: &str, size| ObjectRow { size, ..ObjectRow::new(id, kind, parent, name) };
    let mut contents = Contents::default();
    let mut add = |row: ObjectRow| drop(contents.objects.insert(row.id, row));
    add(object(SVM, Kind::Svm, None, "s", 0));
    for (id, name) in [(MANY, "many"), (BIG, "big"), (MIDDLE, "middle")] {
        add(object(id, Kind::Volume, Some(SVM), name, 200 << 40));
    }
    for &leaf in leaves {
        let (parent, name, policy) = match leaf {
            BIG_LUN => (BIG, "l".into(), None),
            MIDDLE_LUN => (MIDDLE, "l".into(), None),
            number => (MANY, format!("lun{number}"), Some(GROUP)),
        };
        add(ObjectRow { policy, ..object(leaf, Kind::Lun, Some(parent), &name, size_of(leaf)) });
    }
    let settings = r#"{"kind":"fixed","max_iops":1000,"max_bytes":null,"min_iops":null,"min_bytes":null,"shared":false,
        "burst":{"percent":null,"duration_ns":null,"iops":null}}"#;
    for number in 0..=EMPTY_GROUPS {
        let name = if number == 0 { "p".into() } else { format!("p{number}") };
        let uuid = format!("63ab2b0a-0000-4000-8000-{number:012x}");
        let id = GROUP + number;
        contents.policies.insert(id, PolicyRow { id, svm: SVM, name, uuid, settings: settings.into() });
    }
    contents
}

/// Polls until the change of that number and all before it are answered.
fn until(io: &mut Io, volumes: &mut MappedVolumes, number: u64) {
    let (mut answers, mut out) = (Vec::new(), Vec::new());
    loop {
        let now = io.now();
        volumes.poll(now, &mut out);
        volumes.take_answers(&mut answers);
        if answers.iter().any(|ended| ended.id == number) {
            return;
        }
        turn(io, volumes);
    }
}

fn turn(io: &mut Io, volumes: &MappedVolumes) {
    let until = match volumes.next_wakeup() {
        Wakeup::Now => Some(io.now()),
        Wakeup::At(at) => Some(at),
        Wakeup::External | Wakeup::Idle => None,
    };
    io.turn(until);
}

/// Allocates blocks for 32 GiB of a LUN.
fn fill(io: &mut Io, volumes: &mut MappedVolumes, leaf: u32, at: u64, size: u64) {
    for (op, at, len) in
        [(Op::Zero { no_hole: true, fast_only: false }, at, (size - at).min(32 * GIB)), (Op::Flush, 0, 0)]
    {
        let (now, mut out) = (io.now(), Vec::new());
        let request = Request { tag: 0, object: ObjectId(leaf), at, len, op, fua: false, due: now };
        assert!(matches!(volumes.submit(now, request), Submitted::Taken(_)));
        while out.is_empty() {
            let now = io.now();
            volumes.poll(now, &mut out);
            if out.is_empty() {
                turn(io, volumes);
            }
        }
        assert_eq!(out[0].result, Ok(()));
    }
}

/// Gives every order once, and prints its row.
fn measure(dir: &Path, luns: u32, size: u64) {
    let limits = ServerLimits::default();
    let settings = IoSettings { slab: Bytes(limits.memory.0), ..IoSettings::default() };
    let shard = Shard::start(&[Listen::Unix(dir.join("nbd"))], limits, settings).expect("start the data thread");
    let pool = Pool::open(dir).expect("open the pool");
    let mut control = Control::open(pool, shard, qos::RegistrySettings::default()).expect("serve the pool");
    println!(
        "{luns} LUNs in one volume and policy group, {EMPTY_GROUPS} policy groups more, {} GiB allocated in one LUN",
        size / GIB
    );
    println!("{:58} {:>12} {:>10}", "", "longest turn", "answered");
    println!("{:58} {:>12} {:>10}", "order", "us", "ms");
    settled(&control);
    for line in [
        "help",
        "lun show",
        "volume show",
        "qos policy-group modify p -max-throughput 2000iops",
        "qos policy-group modify p7 -max-throughput 2000iops",
        "volume rename many -newname lots",
        "volume snapshot create lots -snapshot s",
        "volume snapshot show -volume lots",
        "volume snapshot restore lots -snapshot s",
        "volume clone create copy -parent-volume lots",
        "volume snapshot delete lots -snapshot s",
        "volume snapshot create big -snapshot s",
        "lun delete /vol/big/l",
        "volume snapshot show -volume big",
        "volume snapshot delete big -snapshot s",
        "lun modify /vol/middle/l -size 32GiB",
        "lun delete /vol/middle/l",
    ] {
        let clock = Clock::new();
        let began = clock.now();
        if let Err(error) = control.execute(line) {
            println!("{line}: {error}");
            continue;
        }
        let took = clock.now().since(began);
        let longest = settled(&control);
        row(line, longest, took);
    }
    let clock = Clock::new();
    let began = clock.now();
    control.follow_sizes().expect("the data thread lives");
    let took = clock.now().since(began);
    row("(sizes for adaptive policies, each half minute)", settled(&control), took);
}

fn row(order: &str, longest: Span, took: Span) {
    let verdict = if longest < Span::from_millis(1) { "" } else { "  above 1 ms" };
    println!("{order:58} {:>12.0} {:>10.1}{verdict}", longest.as_secs_f64() * 1e6, took.as_secs_f64() * 1e3);
}

/// Waits until an order has no further effects; returns the longest turn until then.
fn settled(control: &Control) -> Span {
    let mut longest = Span::ZERO;
    loop {
        let account = control.account().expect("the data thread lives");
        longest = longest.max(account.longest_turn);
        // The account itself takes a turn or two, and so does the end of a flush.
        if account.turns < 8 {
            return longest;
        }
        std::thread::park_timeout(Duration::from_millis(20));
    }
}
