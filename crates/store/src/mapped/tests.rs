//! What no whole pool shows.

use super::*;
use block::Driver as _;
use uring::IoSettings;

/// The blocks' file is a pipe, which nothing can flush: the next start is told.
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
    drop(volumes);
    assert!(crate::doubt::is_marked(dir.path()));
}
