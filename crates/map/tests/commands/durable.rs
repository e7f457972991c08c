//! Flushes and durable writes: what precedes them, what shares them, and the effect of a failed
//! one.

use super::*;

#[test]
fn data_is_flushed_before_the_record_that_speaks_of_it() {
    let mut bench = Bench::new();
    bench.answers();
    let write = bench.write(0, 8192, false);
    assert_eq!(bench.run(), ["write"]);
    assert_eq!(bench.answers(), [(write, Ok(()))], "a write that is not FUA waits for nothing");
    let flush = bench.ask(0, 0, 0, What::Flush, false);
    assert_eq!(bench.run(), ["flush Data", "store Log"]);
    assert_eq!(bench.answers(), [(flush, Ok(()))]);
    // Nothing has changed in the map since: one flush of the data.
    bench.write(0, 8192, false);
    bench.ask(0, 0, 0, What::Flush, false);
    assert_eq!(bench.run(), ["write", "flush Data"]);
}

#[test]
fn fua_is_one_durable_write_in_place_and_a_commit_where_the_map_changes() {
    let mut bench = Bench::new();
    bench.write(0, 4096, true);
    assert_eq!(bench.run(), ["write", "flush Data", "store Log"]);
    bench.write(0, 4096, true);
    assert_eq!(bench.run(), ["write durably"]);
    // The adjacent page was written and not committed: a durable write there relies on a map that
    // is not durable.
    bench.write(4096, 4096, false);
    bench.run();
    bench.write(4096, 4096, true);
    assert_eq!(bench.run(), ["write", "flush Data", "store Log"]);
    // A trim of what is trimmed already, and durably so, has nothing to do.
    bench.ask(1, 65536, 65536, What::Trim, true);
    assert_eq!(bench.run(), words(&[]));
}

/// Two concurrent writes of the same new page: the one with FUA ends last and changes no map, but
/// is not durable before the other one's change is.
#[test]
fn fua_waits_for_the_map_of_a_write_beside_it() {
    let mut bench = Bench::new();
    bench.write(0, 4096, true);
    bench.run();
    bench.answers();
    let (plain, fua) = (bench.write(4096, 4096, false), bench.write(4096, 4096, true));
    let commands = bench.commands();
    assert_eq!(commands.len(), 2);
    commands.into_iter().for_each(|(_, command)| bench.end(command, Ok(())));
    assert_eq!(bench.answers(), [(plain, Ok(()))]);
    assert_eq!(bench.run(), ["flush Data", "store Log"]);
    assert_eq!(bench.answers(), [(fua, Ok(()))]);
}

#[test]
fn flushes_that_come_during_a_flush_share_the_next() {
    let mut bench = Bench::new();
    bench.answers();
    let first = bench.ask(0, 0, 0, What::Flush, false);
    let (_, command) = bench.commands().remove(0);
    let later: Vec<u64> = (0..50).map(|_| bench.ask(0, 0, 0, What::Flush, false)).collect();
    assert!(bench.commands().is_empty());
    bench.end(command, Ok(()));
    assert_eq!(bench.answers(), [(first, Ok(()))]);
    assert_eq!(bench.run(), ["flush Data"]);
    assert_eq!(bench.answers(), later.iter().map(|id| (*id, Ok(()))).collect::<Vec<_>>());
}

#[test]
fn after_a_flush_that_failed_nothing_is_called_durable() {
    let mut bench = Bench::new();
    bench.answers();
    bench.write(0, 4096, false);
    bench.run();
    let flush = bench.ask(0, 0, 0, What::Flush, false);
    let (_, command) = bench.commands().remove(0);
    bench.end(command, Err(Fault::Io));
    let next = bench.ask(0, 0, 0, What::Flush, false);
    let write = bench.write(0, 4096, false);
    assert!(bench.commands().is_empty() && bench.core.has_failed());
    let expected = [(1 + 1, Ok(())), (flush, Err(MapRefusal::Failed)), (next, Err(MapRefusal::Failed))];
    assert_eq!(bench.answers(), [&expected[..], &[(write, Err(MapRefusal::Failed))]].concat());
    let mut runs = Vec::new();
    let pin = bench.core.read(1, 0, 4096, &mut runs).unwrap();
    assert_eq!(runs, [Run { at: Some(0), len: 4096 }], "reads go on");
    bench.core.unpin(pin);
}

/// A client asks for a flush after each of its 100 writes, without waiting; another writes, and
/// flushes once in the middle. While one flush is at the disk, all others wait for the next one,
/// which they share. So there are two flushes, and the second client is answered with the second.
/// No write waits for a flush.
#[test]
fn a_storm_of_flushes_is_two_flushes_and_holds_nobody_up() {
    let mut bench = Bench::new();
    bench.ask(2, 0, 0, What::Create { size: 1 << 20 }, false);
    bench.run();
    // Both have their blocks: an overwrite changes no map.
    bench.ask(1, 0, 1 << 20, What::Write, true);
    bench.ask(2, 0, 1 << 20, What::Write, true);
    bench.run();
    bench.answers();
    bench.ask(0, 0, 0, What::Flush, false);
    let first = bench.commands();
    assert_eq!(first.iter().map(|(word, _)| word.as_str()).collect::<Vec<_>>(), ["flush Data"]);
    let (mut flushes, mut second) = (Vec::new(), 0);
    for round in 0..100 {
        bench.write(round % 256 * 4096, 4096, false);
        if round == 50 {
            bench.ask(2, 0, 4096, What::Write, false);
        }
        // The write goes to the disk at once, beside the flush that is there.
        for (word, command) in bench.commands() {
            assert_eq!(word, "write");
            bench.end(command, Ok(()));
        }
        flushes.push(bench.ask(0, 0, 0, What::Flush, false));
        if round == 50 {
            second = bench.ask(0, 0, 0, What::Flush, false);
        }
        assert_eq!(bench.commands().len(), 0, "one flush is at the disk");
    }
    bench.answers();
    first.into_iter().for_each(|(_, command)| bench.end(command, Ok(())));
    assert_eq!(bench.run(), words(&["flush Data"]), "one for all that came meanwhile");
    let answered: Vec<u64> = bench.answers().into_iter().map(|(id, result)| result.map(|()| id).unwrap()).collect();
    assert!(answered.contains(&second) && flushes.iter().all(|flush| answered.contains(flush)));
    assert_eq!(answered.len(), 1 + 100 + 1, "the first flush, the storm, the second client's");
}
