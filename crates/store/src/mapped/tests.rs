//! Cases that a whole pool cannot show.

use super::*;
use block::Driver as _;
use uring::IoSettings;

/// The blocks' file is a pipe, which nothing can flush: the next start is told, and the log, once
/// each and by the file's name.
#[test]
fn a_flush_that_fails_is_remembered() {
    let dir = tempfile::tempdir().unwrap();
    let settings = MapSettings { cache: crate::Cache::Page, log: 64 << 10, ..MapSettings::default() };
    let mut pool = MappedPool::create(dir.path(), 7, settings).unwrap();
    let (reader, _writer) = std::io::pipe().unwrap();
    pool.files[0] = std::os::fd::OwnedFd::from(reader).into();
    let mut io = Io::open(&IoSettings { slab: Bytes::mib(4), ..IoSettings::default() }).unwrap();
    let mut volumes = MappedVolumes::new(&io, pool, VolumesSettings::default()).expect("the slab is large enough");
    let mut done = Vec::new();
    for tree in [What::Create { size: 1 << 20 }, What::Flush] {
        let ask = volumes.administer(ObjectId(1), tree);
        let mut answers = Vec::new();
        while answers.is_empty() {
            let now = io.now();
            volumes.poll(now, &mut done);
            volumes.take_answers(&mut answers);
            if answers.is_empty() {
                io.turn(Some(Time::ZERO));
            }
        }
        assert!(answers[0].result.is_err() && answers[0].id == ask, "{answers:?}");
    }
    assert!(volumes.core.has_failed());
    let failed = volumes.take_stopped().unwrap();
    assert_eq!((failed.path.clone(), failed.work), (dir.path().join("maps/blocks"), "a flush"));
    assert_eq!((failed.failure.to_string().as_str(), volumes.take_stopped()), ("Invalid argument", None));
    let now = io.now();
    assert_eq!((volumes.take_failures(now), volumes.take_failures(now)), (Some((failed, 1)), None));
    drop(volumes);
    assert!(crate::doubt::is_marked(dir.path()));
}

/// Polls until there are answers to changes of structure, or a request has ended.
fn until_ended(volumes: &mut MappedVolumes, io: &mut Io) -> (Vec<Ended>, Vec<Completion>) {
    let (mut answers, mut done) = (Vec::new(), Vec::new());
    while answers.is_empty() && done.is_empty() {
        let now = io.now();
        volumes.poll(now, &mut done);
        volumes.take_answers(&mut answers);
        if answers.is_empty() && done.is_empty() {
            io.turn(Some(Time::ZERO));
        }
    }
    (answers, done)
}

/// A LUN is served whose log cannot be flushed. What was read before is answered from memory. After
/// the flush has failed, the same read goes to the disk, and so does the next one: memory may have
/// what the disk lost.
#[test]
fn after_a_failed_flush_nothing_is_answered_from_memory() {
    let dir = tempfile::tempdir().unwrap();
    let settings = MapSettings { cache: crate::Cache::Page, log: 64 << 10, ..MapSettings::default() };
    let mut io = Io::open(&IoSettings { slab: Bytes::mib(8), ..IoSettings::default() }).unwrap();
    let cache = Some(CacheSettings { memory: Bytes::mib(1), page: 4096, policy: cache::Eviction::default() });
    let open = |io: &Io, pool| {
        let settings = VolumesSettings { cache, ..VolumesSettings::default() };
        MappedVolumes::new(io, pool, settings).expect("the slab is large enough")
    };
    let mut volumes = open(&io, MappedPool::create(dir.path(), 7, settings.clone()).unwrap());
    for what in [What::Create { size: 1 << 20 }, What::Flush] {
        volumes.administer(ObjectId(1), what);
        assert!(until_ended(&mut volumes, &mut io).0[0].result.is_ok());
    }
    drop(volumes);
    let mut pool = MappedPool::open(dir.path(), settings).unwrap();
    let (reader, _writer) = std::io::pipe().unwrap();
    pool.files[files::index_of(map::Region::Log)] = std::os::fd::OwnedFd::from(reader).into();
    let mut volumes = open(&io, pool);
    volumes.open(ObjectId(1));
    let default = cache::PartitionId::default();
    let read = |volumes: &mut MappedVolumes, io: &mut Io| {
        let (object, now) = (ObjectId(1), io.now());
        let request = Request { tag: 0, object, at: 4096, len: 4096, op: Op::Read, fua: false, due: now };
        assert!(matches!(volumes.submit(now, request), Submitted::Taken(_)));
        let (_, mut done) = until_ended(volumes, io);
        io.give(done[0].buf.take().expect("it was read"));
        volumes.partition(default).unwrap().counts
    };
    let counts = [read(&mut volumes, &mut io), read(&mut volumes, &mut io)].map(|counts| (counts.hits, counts.misses));
    assert_eq!(counts, [(0, 1), (1, 1)]);
    volumes.administer(ObjectId(2), What::Create { size: 1 << 20 });
    assert!(until_ended(&mut volumes, &mut io).0[0].result.is_err() && volumes.core.has_failed());
    let counts = [read(&mut volumes, &mut io), read(&mut volumes, &mut io)].map(|counts| counts.hits);
    assert_eq!(counts, [1, 1], "nobody was answered from memory");
    while volumes.has_work() {
        let now = io.now();
        volumes.poll(now, &mut Vec::new());
    }
    assert_eq!(volumes.partition(default).unwrap().resident, Bytes(0), "it is given back");
}
