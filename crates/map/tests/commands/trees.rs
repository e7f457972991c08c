//! Shared trees: atomic groups, and clones of any depth.

use super::*;

/// A write of tree 1 is at the disk when trees 1 and 2 are shared in a group. A later write of tree
/// 2 waits for both copies. So neither copy includes the later write, even though tree 2 was idle.
#[test]
fn trees_that_are_shared_together_are_shared_at_one_moment() {
    let mut bench = Bench::new();
    bench.ask(2, 0, 0, What::Create { size: 1 << 20 }, false);
    bench.run();
    bench.answers();
    bench.write(0, 4096, false);
    let first = bench.commands();
    assert_eq!(first.len(), 1);
    let share = |from: u32| (from + 10, What::Share { from, frozen: true });
    bench.core.submit_together(100, vec![share(1), share(2)]);
    bench.work();
    let later = bench.ask(2, 0, 4096, What::Write, false);
    assert_eq!(bench.commands().len(), 0, "all wait for the write that is at the disk");
    assert_eq!((bench.core.tree(11), bench.core.tree(12)), (None, None));
    first.into_iter().for_each(|(_, command)| bench.end(command, Ok(())));
    bench.run();
    let answered: Vec<u64> = bench.answers().into_iter().map(|(id, result)| result.map(|()| id).unwrap()).collect();
    assert!([100, later].iter().all(|id| answered.contains(id)), "{answered:?}");
    let mut runs = Vec::new();
    for tree in [11, 12] {
        let pin = bench.core.read(tree, 0, 4096, &mut runs).unwrap();
        bench.core.unpin(pin);
    }
    assert!(runs[0].at.is_some() && runs[1].at.is_none(), "{runs:?}");
    // What each owns alone: nothing, until its blocks are overwritten.
    assert_eq!((bench.core.own(1), bench.core.own(11)), (0, 0));
    bench.write(0, 4096, true);
    bench.run();
    assert_eq!((bench.core.own(1), bench.core.own(11), bench.core.own(12)), (65536, 65536, 0));
    assert_eq!(bench.core.audit(), []);
}

/// A tree of the group is deleted while the group waits for it: none is shared, as the answer says,
/// and nothing remains held.
#[test]
fn a_group_that_cannot_be_done_whole_is_not_done() {
    let mut bench = Bench::new();
    bench.ask(2, 0, 0, What::Create { size: 1 << 20 }, false);
    bench.run();
    bench.answers();
    bench.ask(2, 0, 4096, What::Write, false);
    let write = bench.commands();
    let deleted = bench.ask(2, 0, 0, What::Delete, false);
    let share = |from: u32| (from + 10, What::Share { from, frozen: true });
    bench.core.submit_together(100, vec![share(1), share(2)]);
    bench.work();
    write.into_iter().for_each(|(_, command)| bench.end(command, Ok(())));
    bench.run();
    let answers: BTreeMap<_, _> = bench.answers().into_iter().collect();
    assert_eq!(answers[&deleted], Ok(()));
    assert_eq!(answers[&100], Err(MapRefusal::NoTree(2)));
    let after = bench.write(0, 4096, true);
    bench.run();
    assert_eq!(bench.answers(), [(after, Ok(()))], "tree 1 is not held");
    assert_eq!(bench.core.trees(), [(1, false)]);
    // A group that is refused immediately: tree 9 does not exist.
    bench.core.submit_together(102, vec![share(1), share(9)]);
    bench.run();
    assert_eq!(bench.answers(), [(102, Err(MapRefusal::NoTree(9)))]);
    assert_eq!(bench.core.trees(), [(1, false)]);
}

/// Clones of clones to any depth: the last of a thousand has the contents of the first, in the same
/// block, and takes no space; they can be deleted in any order. The limit is the number of trees of
/// a pool, which the refusal says.
#[test]
fn clones_go_as_deep_as_there_may_be_trees() {
    const DEEP: u32 = 1000;
    let mut bench = Bench::new();
    bench.write(0, 65536, false);
    bench.run();
    let (used, nodes) = (bench.core.usage().used, bench.core.usage().nodes);
    let place = |bench: &mut Bench, tree: u32| {
        let mut runs = Vec::new();
        let pin = bench.core.read(tree, 0, 4096, &mut runs).unwrap();
        bench.core.unpin(pin);
        runs
    };
    let first = place(&mut bench, 1);
    for tree in 2..=DEEP {
        bench.ask(tree, 0, 0, What::Share { from: tree - 1, frozen: tree % 2 == 0 }, false);
    }
    bench.run();
    assert_eq!((bench.core.usage().used, bench.core.usage().nodes, place(&mut bench, DEEP)), (used, nodes, first));
    // 7 and 1000 have no common factor: each is deleted once, in an order that is neither ascending
    // nor descending; the last one stays.
    for step in 1..DEEP {
        bench.ask(step * 7 % DEEP, 0, 0, What::Delete, false);
    }
    bench.run();
    assert_eq!((bench.core.trees(), bench.core.usage().used), (vec![(DEEP, true)], used));
    bench.answers();
    for tree in 1..map::TREES_MAX as u32 {
        bench.ask(if tree < DEEP { tree } else { tree + 1 }, 0, 0, What::Share { from: DEEP, frozen: true }, false);
    }
    bench.run();
    assert!(bench.answers().iter().all(|(_, result)| result.is_ok()));
    let more = bench.ask(200_000, 0, 0, What::Share { from: DEEP, frozen: true }, false);
    assert_eq!(bench.answers(), [(more, Err(MapRefusal::TooMany(65_536)))]);
    assert_eq!((bench.core.trees().len(), bench.core.audit()), (65_536, vec![]));
}

/// A leaf covers 32 MiB. Three nodes are enough for a tree of two leaves and their parent. A third
/// leaf has no memory, nor has the copy of a shared one, but blocks of the two existing leaves do.
/// A leaf that is released makes room for another.
#[test]
fn the_maps_have_a_bound() {
    const LEAF: u64 = 32 << 20;
    let mut bench = Bench::with(Settings { capacity: 100, nodes_max: 3, ..Settings::default() });
    bench.ask(2, 0, 0, What::Create { size: 8 * LEAF }, false);
    bench.run();
    bench.answers();
    let write = |bench: &mut Bench, at: u64| {
        bench.ask(2, at, 65536, What::Write, false);
        bench.run();
        bench.answers()[0].1
    };
    assert_eq!(
        [0, LEAF, 65536, 2 * LEAF].map(|at| write(&mut bench, at)),
        [Ok(()), Ok(()), Ok(()), Err(MapRefusal::Crowded)]
    );
    assert_eq!((bench.core.usage().nodes, bench.core.usage().nodes_max), (3 * 4096, 3 * 4096));
    bench.ask(2, LEAF, LEAF, What::Trim, false);
    bench.run();
    bench.ask(2, 0, 0, What::Flush, false);
    bench.run();
    bench.answers();
    assert_eq!([2 * LEAF, LEAF, 0].map(|at| write(&mut bench, at)), [Ok(()), Err(MapRefusal::Crowded), Ok(())]);
    bench.ask(3, 0, 0, What::Share { from: 2, frozen: true }, false);
    bench.run();
    bench.answers();
    assert_eq!(write(&mut bench, 0), Err(MapRefusal::Crowded), "its nodes would be copied");
    assert_eq!(bench.core.audit(), vec![]);
}
