//! Space: what allocates it, what returns it to the file system, and what a full pool does.

use super::*;

#[test]
fn a_clone_takes_no_space_until_it_is_written() {
    let dir = tempfile::tempdir().unwrap();
    let mut bench = Bench::new(Choice::Auto, MappedPool::create(dir.path(), 7, PAGED).unwrap());
    bench.administer(1, What::Create { size: 10 << 20 }).unwrap();
    bench.write(1, 0, &vec![5; 1 << 20]).unwrap();
    let used = |bench: &Bench| bench.volumes.core().usage().used;
    assert_eq!(used(&bench), 1 << 20);
    for clone in 2..10 {
        bench.administer(clone, What::Share { from: clone - 1, frozen: false }).unwrap();
    }
    assert_eq!((used(&bench), bench.volumes.core().own(9)), (1 << 20, 0));
    // One page of the last clone makes a copy of one block.
    bench.write(9, 4096, &[6; 4096]).unwrap();
    assert_eq!((used(&bench), bench.volumes.core().own(9)), ((1 << 20) + 65536, 65536));
    // Deleted in any order; the last one keeps its contents.
    for gone in [1, 8, 3, 2, 5, 7, 4, 6] {
        bench.administer(gone, What::Delete).unwrap();
    }
    assert_eq!(used(&bench), 1 << 20);
    assert_eq!(bench.read(9, 0, 12288), [[5u8; 4096], [6; 4096], [5; 4096]].concat());
    bench.submit(9, 0, 10 << 20, Op::Trim, true);
    assert_eq!(bench.result(), Ok(()));
    assert_eq!(used(&bench), 0);
}

#[test]
fn a_full_pool_says_so_and_goes_on_when_there_is_space() {
    let dir = tempfile::tempdir().unwrap();
    let settings = MapSettings { capacity: Some(4 << 16), ..PAGED };
    let mut bench = Bench::new(Choice::Auto, MappedPool::create(dir.path(), 7, settings).unwrap());
    bench.administer(1, What::Create { size: 10 << 20 }).unwrap();
    bench.write(1, 0, &vec![5; 3 << 16]).unwrap();
    bench.administer(2, What::Share { from: 1, frozen: true }).unwrap();
    bench.write(1, 0, &[6; 4096]).unwrap();
    // In the middle of a copy: the block is unchanged for both.
    assert_eq!(bench.write(1, 65536, &[7; 4096]), Err(Fault::NoSpace));
    assert_eq!(bench.read(1, 65536, 4096), [5; 4096]);
    assert_eq!(bench.write(1, 4096, &[8; 4096]), Ok(()), "a block of its own is still written");
    bench.administer(2, What::Delete).unwrap();
    assert_eq!(bench.write(1, 65536, &[7; 4096]), Ok(()));
    assert_eq!(bench.volumes.core().usage().used, 3 << 16);
}

/// Space that the file of the blocks takes of its file system, in bytes.
fn taken(dir: &Path) -> u64 {
    use std::os::unix::fs::MetadataExt;
    std::fs::metadata(dir.join("maps/blocks")).unwrap().blocks() * 512
}

/// Runs until nothing is left to return, whatever the time.
fn give_back(bench: &mut Bench) {
    let mut out = Vec::new();
    let is_at_work = |core: &map::Core| core.stale() > 0 || core.is_busy() || core.has_work();
    while is_at_work(bench.volumes.core()) {
        bench.turn_early(&mut out);
    }
    assert!(out.is_empty());
}

#[test]
fn a_volume_that_is_trimmed_shrinks_on_the_disk() {
    for backend in BACKENDS {
        let dir = tempfile::tempdir().unwrap();
        let mut bench = Bench::new(backend, MappedPool::create(dir.path(), 7, PAGED).unwrap());
        let file = std::fs::File::options().read(true).write(true).open(dir.path().join("maps/blocks")).unwrap();
        if !uring::space::can_punch(&file).unwrap() {
            println!("not tested: the temporary folder's file system cannot punch holes");
            return;
        }
        bench.administer(1, What::Create { size: 16 << 20 }).unwrap();
        bench.write(1, 0, &vec![5; 4 << 20]).unwrap();
        bench.write(1, 4 << 20, &vec![6; 4 << 20]).unwrap();
        assert_eq!(bench.flush(1), Ok(()));
        assert!(taken(dir.path()) >= 8 << 20);
        bench.submit(1, 0, 6 << 20, Op::Trim, false);
        assert_eq!(bench.result(), Ok(()));
        assert!(bench.volumes.core().stale() == 0, "nothing is durable yet");
        assert_eq!(bench.flush(1), Ok(()));
        assert_eq!(bench.volumes.core().stale(), 6 << 20);
        give_back(&mut bench);
        assert_eq!(bench.volumes.counts().given_back, 6 << 20);
        assert!(taken(dir.path()) <= (2 << 20) + (256 << 10), "{}", taken(dir.path()));
        let left = [vec![0; 2 << 20], vec![6; 2 << 20]].concat();
        assert!(bench.read(1, 4 << 20, 4 << 20) == left);
        // A server dies before it returned anything: the next one does.
        bench.administer(1, What::Delete).unwrap();
        assert_eq!(bench.volumes.core().stale(), 2 << 20);
        drop(bench);
        let mut bench = Bench::new(backend, MappedPool::open(dir.path(), PAGED).unwrap());
        give_back(&mut bench);
        assert!(taken(dir.path()) <= 256 << 10, "{}", taken(dir.path()));
    }
}

#[test]
fn nothing_is_given_back_where_the_settings_say_so() {
    let dir = tempfile::tempdir().unwrap();
    let settings = MapSettings { give_back: false, ..PAGED };
    let mut bench = Bench::new(Choice::Auto, MappedPool::create(dir.path(), 7, settings).unwrap());
    bench.administer(1, What::Create { size: 16 << 20 }).unwrap();
    bench.write(1, 0, &vec![5; 4 << 20]).unwrap();
    bench.administer(1, What::Delete).unwrap();
    // The end of the log is recorded in time; after that there is nothing to do.
    let mut out = Vec::new();
    while bench.volumes.next_wakeup() != Wakeup::Idle {
        bench.turn_early(&mut out);
    }
    assert_eq!((bench.volumes.next_wakeup(), bench.volumes.core().stale()), (Wakeup::Idle, 4 << 20));
    assert!(taken(dir.path()) >= 4 << 20);
}
