//! Limits changed while requests run: in force within a second, no burst to be had by editing,
//! nothing lost.

use block::{ObjectId, Span, Time};
use qos::{Edit, GroupId};
use simtest::{Client, Scene, Tree, ceiling, floor};

use crate::criterion::{Limit, never_above, reached};
use crate::devices::{on_each, second};

fn set(number: u32, iops: u64) -> Edit {
    Edit::SetLimits { object: ObjectId(number), limits: ceiling(iops) }
}

#[test]
fn a_new_limit_holds_from_the_moment_it_is_set() {
    on_each(|bench| {
        let base = bench.steady * 20 / 100;
        let steps = [(0, base), (3, base * 2), (6, base / 2), (9, base)];
        let tree = steps.iter().fold(Tree::flat(1), |tree, &(s, limit)| tree.at(second(s), set(0, limit)));
        let clients = vec![Client::closed(ObjectId(0), 64)];
        let scene = Scene { device: bench.device.clone(), clients, edits: tree.edits(), until: second(12), seed: 4 };
        let seen = scene.run().of(&[ObjectId(0)]);
        for (s, limit) in steps {
            let what = format!("{} from second {s}", bench.name);
            never_above(&what, &seen, Limit::Iops(limit), second(s)..second(s + 3));
            reached(&what, &seen, Limit::Iops(limit), second(s)..second(s + 3));
        }
        // Windows across an edit hold no more than the larger of the two.
        never_above(bench.name, &seen, Limit::Iops(base * 2), Time::ZERO..second(12));
        never_above(bench.name, &seen, Limit::Iops(base), second(6)..second(12));
    });
}

#[test]
fn setting_a_limit_again_and_again_gives_nothing_away() {
    on_each(|bench| {
        let limit = bench.steady * 30 / 100;
        // Every 10 ms for 5 s: the same limit, one operation more, and every tenth time no limit
        // for no time at all.
        let tree = (0..500).fold(Tree::flat(1), |tree, k| {
            let at = Time::ZERO + Span::from_millis(10 * k);
            let none = Edit::SetLimits { object: ObjectId(0), limits: qos::Limits::default() };
            let tree = if k % 10 == 9 { tree.at(at, none) } else { tree };
            tree.at(at, set(0, limit + k % 2))
        });
        let clients = vec![Client::closed(ObjectId(0), 64)];
        let scene = Scene { device: bench.device.clone(), clients, edits: tree.edits(), until: second(6), seed: 4 };
        let seen = scene.run().of(&[ObjectId(0)]);
        never_above(bench.name, &seen, Limit::Iops(limit + 1), Time::ZERO..second(6));
        reached(bench.name, &seen, Limit::Iops(limit), Time::ZERO..second(6));
    });
}

#[test]
fn joining_and_leaving_a_group_moves_nothing_past_it() {
    on_each(|bench| {
        let limit = bench.steady * 30 / 100;
        let tree = Tree::flat(3).group(0, ceiling(limit), 0..3);
        // Member 2 leaves at 2 s under a limit of its own and is back at 4 s, again and again at
        // the end.
        let join = |group| Edit::Join { object: ObjectId(2), group };
        let tree = tree.at(second(2), set(2, limit / 10)).at(second(2), join(None));
        let mut tree = tree.at(second(4), join(Some(GroupId(0)))).at(second(4), set(2, limit * 10));
        for k in 0..100 {
            let at = second(5) + Span::from_millis(10 * k);
            tree = tree.at(at, join(None)).at(at, join(Some(GroupId(0))));
        }
        let clients = (0..3).map(|n| Client::closed(ObjectId(n), 32)).collect();
        let scene = Scene { device: bench.device.clone(), clients, edits: tree.edits(), until: second(7), seed: 4 };
        let recording = scene.run();
        let inside = recording.of(&[ObjectId(0), ObjectId(1)]);
        never_above(bench.name, &inside, Limit::Iops(limit), Time::ZERO..second(7));
        reached(bench.name, &inside, Limit::Iops(limit), second(2)..second(4));
        let alone = recording.of(&[ObjectId(2)]);
        never_above(bench.name, &alone, Limit::Iops(limit / 10), second(2)..second(4));
        never_above(bench.name, &recording.dispatches, Limit::Iops(limit), second(4)..second(7));
        reached(bench.name, &recording.dispatches, Limit::Iops(limit), second(4)..second(7));
    });
}

#[test]
fn objects_come_and_go_while_requests_run() {
    on_each(|bench| {
        // Under load an object is given a floor and a ceiling, goes with what it has queued, and
        // its number comes back.
        let mut tree = Tree::flat(2).ceiling(0, bench.steady * 20 / 100);
        for k in 0..20 {
            let at = second(1) + Span::from_millis(100 * k);
            let gone = at + Span::from_millis(50);
            let limits = if k % 2 == 0 { floor(bench.steady / 10) } else { ceiling(bench.steady / 50 + 1) };
            tree = tree.at(at, Edit::SetLimits { object: ObjectId(1), limits });
            tree = tree.at(gone, Edit::RemoveObject { object: ObjectId(1) });
            tree = tree.at(gone, Edit::AddObject { object: ObjectId(1), parent: None });
        }
        let clients = vec![Client::closed(ObjectId(0), 32), Client::closed(ObjectId(1), 32)];
        let scene = Scene { device: bench.device.clone(), clients, edits: tree.edits(), until: second(6), seed: 4 };
        let recording = scene.run();
        let what = format!("{}, beside one that comes and goes", bench.name);
        never_above(&what, &recording.of(&[ObjectId(0)]), Limit::Iops(bench.steady * 20 / 100), Time::ZERO..second(6));
        // Whatever was cut off, its client's threads all still run: each asked again after its
        // answer.
        assert!(recording.tracks[1].rate(second(4), second(6)) > bench.steady as f64 / 10.0, "{what}: it starves");
        let gone = recording.tracks[1].ends.iter().filter(|end| end.result.is_err()).count();
        assert!(gone > 0, "{what}: nothing was queued when it went, so this shows nothing");
    });
}
