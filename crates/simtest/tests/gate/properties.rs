//! Random trees, policies, clients and edits. Whatever they are, no limit is broken, nobody
//! starves, nothing idles without a reason, feasible floors are met, and the same seed gives the
//! same trace.
//!
//! Each world follows from its seed, which every failure names.
//! `SIMTEST_SEEDS=1000..2000 cargo test -p simtest` looks for more.

use std::collections::BTreeMap;
use std::ops::Range;

use block::{ObjectId, Span, Time};
use qos::{Edit, GroupId, Limits};
use rand_core::{Rng, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;
use simtest::{Client, Mix, Recording, Scene, Shape, Tree, ceiling, floor, throughput};

use crate::criterion::{Limit, floor_held, never_above};
use crate::devices::{Bench, all, second};
use crate::seeds::for_seeds;

const SECONDS: u64 = 6;
const LARGEST: u64 = 64 << 10;

/// A source of choices.
struct Chance(Xoshiro256PlusPlus);

impl Chance {
    fn within(&mut self, range: Range<u64>) -> u64 {
        range.start + self.0.next_u64() % (range.end - range.start)
    }

    fn percent(&mut self, percent: u64) -> bool {
        self.within(0..100) < percent
    }
}

/// The owner of a budget.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Owner {
    Object(u32),
    Group(u32),
}

/// A world: its scene, and who is under which budget.
struct World {
    scene: Scene,
    bench: &'static str,
    steady: u64,
    parents: Vec<Option<u32>>,
    groups: BTreeMap<u32, u32>,
}

impl World {
    /// SVMs, volumes and LUNs with limits on any of them, two shared groups over LUNs anywhere, a
    /// client on each LUN.
    fn random(seed: u64, edits: bool) -> World {
        let mut chance = Chance(Xoshiro256PlusPlus::seed_from_u64(seed));
        let mut benches = all();
        let Bench { name, device, steady } = benches.remove(chance.within(0..benches.len() as u64) as usize);
        let (parents, leaves) = random_tree(&mut chance);
        let mut tree = parents.iter().zip(0..).fold(Tree::new(), |tree, (&parent, n)| tree.object(n, parent));
        let mut groups = BTreeMap::new();
        for group in 0..2 {
            let members: Vec<u32> = leaves.iter().filter(|_| chance.percent(25)).copied().collect();
            let members: Vec<u32> = members.into_iter().filter(|member| !groups.contains_key(member)).collect();
            groups.extend(members.iter().map(|&member| (member, group)));
            tree = tree.group(group, random_limits(&mut chance, steady), members);
        }
        for number in 0..parents.len() as u32 {
            if chance.percent(40) {
                tree = tree.limits(number, random_limits(&mut chance, steady));
            }
        }
        if edits {
            tree = random_edits(&mut chance, tree, parents.len() as u64, steady);
        }
        let clients = leaves.iter().map(|&leaf| random_client(&mut chance, leaf)).collect();
        let scene = Scene { device, clients, edits: tree.edits(), until: second(SECONDS), seed };
        World { scene, bench: name, steady, parents, groups }
    }

    fn what(&self) -> String {
        format!("seed {} on {}", self.scene.seed, self.bench)
    }

    /// The budgets over a leaf.
    fn over(&self, leaf: u32) -> Vec<Owner> {
        let path = std::iter::successors(Some(leaf), |&number| self.parents[number as usize]).map(Owner::Object);
        path.chain(self.groups.get(&leaf).map(|&group| Owner::Group(group))).collect()
    }

    /// The clients' objects under a budget.
    fn under(&self, owner: Owner) -> Vec<ObjectId> {
        let leaves = self.scene.clients.iter().map(|client| client.object);
        leaves.filter(|leaf| self.over(leaf.0).contains(&owner)).collect()
    }

    /// Each limit that each budget ever has, and the time during which it has it.
    fn budgets(&self) -> Vec<(Owner, Limits, Range<Time>)> {
        let mut now: BTreeMap<Owner, (Limits, Time)> = BTreeMap::new();
        let mut budgets = Vec::new();
        for (at, edit) in &self.scene.edits {
            let (owner, limits) = match edit {
                Edit::SetLimits { object, limits } => (Owner::Object(object.0), *limits),
                Edit::AddGroup { group, limits } | Edit::SetGroup { group, limits } => (Owner::Group(group.0), *limits),
                _ => continue,
            };
            if let Some((before, since)) = now.insert(owner, (limits, *at)) {
                budgets.push((owner, before, since..*at));
            }
        }
        let until = self.scene.until;
        budgets.extend(now.into_iter().map(|(owner, (limits, since))| (owner, limits, since..until)));
        budgets
    }
}

/// Parents by number, and the leaves.
fn random_tree(chance: &mut Chance) -> (Vec<Option<u32>>, Vec<u32>) {
    let (mut parents, mut leaves) = (Vec::new(), Vec::new());
    let mut add = |parent| {
        parents.push(parent);
        parents.len() as u32 - 1
    };
    for _ in 0..chance.within(1..3) {
        let svm = add(None);
        for _ in 0..chance.within(1..4) {
            let volume = add(Some(svm));
            for _ in 0..chance.within(1..4) {
                leaves.push(add(Some(volume)));
            }
        }
    }
    (parents, leaves)
}

/// A ceiling of 2 % to 60 % of the device in operations, sometimes in bytes, sometimes in both.
fn random_limits(chance: &mut Chance, steady: u64) -> Limits {
    let rate = (steady * chance.within(2..60) / 100).max(1);
    let bytes = throughput(rate * chance.within(4096..32768));
    match chance.within(0..4) {
        0 => bytes,
        1 => Limits { ceiling: qos::Ceiling { bytes: bytes.ceiling.bytes, ..ceiling(rate).ceiling }, ..bytes },
        _ => ceiling(rate),
    }
}

fn random_edits(chance: &mut Chance, tree: Tree, objects: u64, steady: u64) -> Tree {
    let mut times: Vec<u64> = (0..chance.within(1..12)).map(|_| chance.within(100..SECONDS * 1000)).collect();
    times.sort_unstable();
    times.into_iter().fold(tree, |tree, ms| {
        let limits = if chance.percent(20) { Limits::default() } else { random_limits(chance, steady) };
        let edit = match chance.within(0..objects + 2) {
            group @ 0..2 => Edit::SetGroup { group: GroupId(group as u32), limits },
            object => Edit::SetLimits { object: ObjectId(object as u32 - 2), limits },
        };
        tree.at(Time::ZERO + Span::from_millis(ms), edit)
    })
}

fn random_client(chance: &mut Chance, leaf: u32) -> Client {
    let client = Client::closed(ObjectId(leaf), chance.within(1..65) as u32);
    match chance.within(0..3) {
        0 => client.asking(Mix::Any(vec![Shape::Read(4096), Shape::Write(LARGEST as u32), Shape::Read(16384)])),
        1 => client.asking(Mix::Cycle(vec![Shape::Write(8192), Shape::Flush, Shape::Read(4096), Shape::Trim(65536)])),
        _ => client,
    }
}

fn limits_hold(world: &World, recording: &Recording) {
    for (owner, limits, within) in world.budgets() {
        let seen = recording.of(&world.under(owner));
        let what = format!("{}, {owner:?}", world.what());
        if let Some(iops) = limits.ceiling.iops {
            never_above(&what, &seen, Limit::Iops(iops.0), within.clone());
        }
        if let Some(bytes) = limits.ceiling.bytes {
            never_above(&what, &seen, Limit::Bytes { rate: bytes.0, largest: LARGEST }, within);
        }
    }
}

#[test]
fn no_limit_is_broken_and_nobody_starves_whatever_is_edited() {
    // Seed 1036: a limit set while an object beneath it had an appointment.
    for_seeds(1000..1040, |seed| {
        let world = World::random(seed, true);
        let recording = world.scene.run();
        limits_hold(&world, &recording);
        for (client, track) in world.scene.clients.iter().zip(&recording.tracks) {
            // The tightest limit is 2 % of the disk, an operation a second or 4 KiB/s, and 64 KiB
            // take 16 s of that: so within the run every object got an answer, unless a budget of
            // its own could not pay for one.
            let slow = world.budgets().into_iter().any(|(owner, limits, _)| {
                world.over(client.object.0).contains(&owner)
                    && limits.ceiling.bytes.is_some_and(|bytes| bytes.0 < LARGEST * world.scene.clients.len() as u64)
            });
            let few = world.steady < 1000;
            assert!(!track.ends.is_empty() || slow || few, "{}: {:?} starves", world.what(), client.object);
            assert!(track.ends.iter().all(|end| end.result.is_ok()), "{}: {:?}", world.what(), client.object);
        }
    });
}

/// What passed a budget, for counting within a span.
struct Passed {
    iops: Option<u64>,
    bytes: Option<u64>,
    /// When each passed, and the bytes until then.
    times: Vec<(Time, u64)>,
}

impl Passed {
    fn of(world: &World, recording: &Recording, owner: Owner, limits: Limits) -> Passed {
        let mut bytes = 0;
        let times = recording.of(&world.under(owner)).into_iter().map(|dispatch| {
            bytes += if dispatch.kind.moves_data() { dispatch.len } else { 0 };
            (dispatch.at, bytes)
        });
        let times = times.collect();
        let ceiling = limits.ceiling;
        Passed { iops: ceiling.iops.map(|l| l.0), bytes: ceiling.bytes.map(|l| l.0), times }
    }

    /// Whether at least four fifths of a limit passed within the span, give or take two requests.
    /// While a request waits, the budget that binds may change; if none binds it would be far less.
    fn was_used_up(&self, span: Range<Time>) -> bool {
        let place = |at| self.times.partition_point(|&(time, _)| time < at);
        let (first, last) = (place(span.start), place(span.end));
        let before = |place: usize| if place == 0 { 0 } else { self.times[place - 1].1 };
        let (operations, bytes) = ((last - first) as u64, before(last) - before(first));
        let ms = span.end.since(span.start).as_nanos() / 1_000_000;
        let most = |rate: u64| rate * ms / 1000 * 4 / 5;
        self.iops.is_some_and(|rate| operations + 2 >= most(rate))
            || self.bytes.is_some_and(|rate| bytes + 2 * LARGEST >= most(rate))
    }
}

/// While a request waits in the gate, one of its budgets is used up.
#[test]
fn nothing_waits_without_a_budget_that_binds() {
    for_seeds(100..130, |seed| {
        let world = World::random(seed, false);
        let recording = world.scene.run();
        limits_hold(&world, &recording);
        let budgets: Vec<(Owner, Passed)> = world
            .budgets()
            .into_iter()
            .map(|(owner, limits, _)| (owner, Passed::of(&world, &recording, owner, limits)))
            .collect();
        for (client, track) in world.scene.clients.iter().zip(&recording.tracks) {
            let over = world.over(client.object.0);
            let held = |span: Range<Time>| {
                budgets.iter().any(|(owner, passed)| over.contains(owner) && passed.was_used_up(span.clone()))
            };
            for end in &track.ends {
                let waited = end.response.saturating_sub(end.service);
                let went = end.at - end.service;
                let span = went - waited..went;
                let what = format!("{}: {:?} waited {waited} until {went:?}", world.what(), client.object);
                assert!(waited <= Span::from_millis(1) || held(span), "{what} and no budget of its was used up");
            }
        }
    });
}

#[test]
fn the_same_seed_gives_the_same_trace_byte_for_byte() {
    for_seeds(200..210, |seed| {
        let mut world = World::random(seed, true);
        let leaf = world.scene.clients[0].object;
        // With a floor too, so that the window moves.
        world.scene.edits.push((second(SECONDS), Edit::SetLimits { object: leaf, limits: floor(world.steady / 5) }));
        world.scene.until = second(SECONDS + 2);
        assert!(world.scene.run().trace() == world.scene.run().trace(), "{}: two runs differ", world.what());
    });
}

/// Floors that add up to at most 60 % of the device, on clients deep enough for them, beside
/// bullies.
#[test]
fn feasible_floors_are_all_met() {
    for_seeds(300..320, |seed| {
        let mut chance = Chance(Xoshiro256PlusPlus::seed_from_u64(seed));
        let mut benches = all();
        let Bench { name, device, steady } = benches.remove(chance.within(0..benches.len() as u64) as usize);
        let count = chance.within(1..6) as u32;
        let shares: Vec<u64> = (0..count).map(|_| chance.within(1..100)).collect();
        let whole = chance.within(20..60);
        let floors: Vec<u64> =
            shares.iter().map(|share| steady * whole * share / shares.iter().sum::<u64>() / 100).collect();
        // Outstanding in proportion to the floor, 80 for the whole device: at least the device's
        // own parallelism.
        let depth = |floor: u64| (80 * floor / steady + 1) as u32;
        let mut clients: Vec<Client> =
            floors.iter().zip(0..).map(|(&floor, n)| Client::closed(ObjectId(n), depth(floor))).collect();
        let bullies = chance.within(1..4) as u32;
        clients.extend((count..count + bullies).map(|n| Client::closed(ObjectId(n), 64)));
        let flat = Tree::flat(count + bullies);
        let with_floors =
            |(tree, n): (Tree, u32), &rate: &u64| (if rate > 0 { tree.floor(n, rate) } else { tree }, n + 1);
        let tree = floors.iter().fold((flat, 0), with_floors).0;
        let scene = Scene { device, clients, edits: tree.edits(), until: second(12), seed };
        let recording = scene.run();
        for (client, &floor) in floors.iter().enumerate() {
            floor_held(&format!("seed {seed} on {name}, of {floors:?}"), &recording.tracks[client], floor, 1..12);
        }
    });
}
