//! Floors by latency: half of the owner's requests are answered within a span, in every second in
//! which the device could do that for the owner alone. Where it could not, the account says so, and
//! the others lose little.
//!
//! The owners are users of a database: closed loops that wait for a read, think, and ask again.
//! Their latency decides their rate, so a floor by IOPS above what they ask for protects them
//! little.

use array::{Absence, DeviceSpec, Host, Model, ParallelServers};
use block::{Bytes, Iops, ObjectId, Span, Time};
use qos::{FloorState, Limits, RegistrySettings, Shortage, Size, Units, smallest_built_in};
use simtest::{Client, Load, Recording, Scene, Tree, latency};

use crate::devices::second;
use crate::reported::floor_by_second;
use crate::seeds::{chosen, for_seeds};
use crate::trials::{sliced, slow_for_a_while};

const SECONDS: u64 = 12;
const SEEDS: std::ops::Range<u64> = 1..3;

/// 8 users with a millisecond between an answer and the next read.
fn users(least_us: u64, most_us: u64) -> Client {
    let load = Load::Thinking { depth: 8, least: Span::from_micros(least_us), most: Span::from_micros(most_us) };
    Client { load, ..Client::closed(ObjectId(0), 8) }
}

fn servers() -> DeviceSpec {
    let (servers, service) = (8, Span::from_micros(400));
    DeviceSpec::of(Model::ParallelServers(ParallelServers { servers, service, ..ParallelServers::default() }))
}

fn host() -> DeviceSpec {
    let absence = Some(Absence { every: Span::from_millis(200), length: Span::from_millis(1) });
    let (turn, request) = (Span::from_micros(386), Span::from_nanos(6_600));
    DeviceSpec::of(Model::Host(Host { turn, request, absence, ..Host::default() }))
}

struct Arms {
    alone: Recording,
    beside: Recording,
    protected: Recording,
}

/// The users alone, beside a client at depth 128, and with a floor by latency.
fn play(device: &DeviceSpec, users: &Client, most: Span, seed: u64) -> Arms {
    play_with(device, users, latency(most), seed)
}

fn play_with(device: &DeviceSpec, users: &Client, limits: Limits, seed: u64) -> Arms {
    let arm = |bully: u32, edits| {
        let clients = [users.clone()].into_iter().chain((bully > 0).then(|| Client::closed(ObjectId(1), bully)));
        Scene { device: device.clone(), clients: clients.collect(), edits, until: second(SECONDS), seed }.run()
    };
    let edits = || Tree::flat(2).edits();
    let limits = Tree::flat(2).limits(0, limits).edits();
    Arms { alone: arm(0, edits()), beside: arm(128, edits()), protected: arm(128, limits) }
}

/// The median of each second from the third on.
fn medians(recording: &Recording) -> Vec<Span> {
    (2..SECONDS).map(|s| recording.tracks[0].percentile(50.0, second(s), second(s + 1))).collect()
}

fn rate(recording: &Recording, client: usize) -> f64 {
    recording.tracks[client].rate(second(2), second(SECONDS))
}

/// Nine tenths of what they do alone where the bully unhindered leaves them less than seven, and
/// the median holds in every second.
fn protects(what: &str, device: &DeviceSpec, users: &Client, most: Span) {
    for seed in chosen(SEEDS) {
        let arms = play(device, users, most, seed);
        let (alone, beside, protected) = (rate(&arms.alone, 0), rate(&arms.beside, 0), rate(&arms.protected, 0));
        let worst = medians(&arms.protected).into_iter().max().unwrap();
        let bully = rate(&arms.protected, 1);
        println!(
            "{what}, seed {seed}: alone {alone:.0} (p50 {}), beside {beside:.0} (p50 {}), protected {protected:.0}, \
             worst p50 {worst}; bully {bully:.0} of {:.0}",
            medians(&arms.alone)[0],
            medians(&arms.beside)[0],
            rate(&arms.beside, 1),
        );
        assert!(beside < 0.7 * alone, "{what}, seed {seed}: {beside:.0} of {alone:.0}: it needs no floor");
        assert!(protected >= 0.9 * alone, "{what}, seed {seed}: {protected:.0} of {alone:.0}");
        assert!(worst <= most, "{what}, seed {seed}: {:?} with at most {most}", medians(&arms.protected));
    }
}

/// Alone a read takes 0.4 ms, beside the bully 6.8 ms.
#[test]
fn users_of_a_database_keep_nine_tenths_beside_a_bully() {
    protects("servers", &servers(), &users(500, 1_500), Span::from_micros(520));
}

/// Alone a turn takes 0.4 ms and a read half of one more, beside the bully 1.9 ms.
#[test]
fn users_keep_nine_tenths_on_a_device_whose_speed_needs_depth() {
    protects("host", &host(), &users(500, 1_500), Span::from_micros(700));
}

/// The built-in classes as applied to an object of 1 TB, ceilings and floors by IOPS included, each
/// on 8 servers that have its latency alone but not beside the bully.
#[test]
fn the_built_in_classes_keep_their_latencies() {
    let size = Bytes(1_000_000_000_000);
    // IOPS that select the class, its latency in ms; a server's time in us; users, and their think
    // time.
    for (iops, name, most, service, depth, think) in [
        (6_000, "extreme", 1, 600, 6, 2_000),
        (2_000, "performance", 2, 1_400, 6, 3_000),
        (100, "value", 17, 10_000, 4, 20_000),
    ] {
        let (group, comes_to) = smallest_built_in(Iops(iops), Size { allocated: size, used: size }, Units::Decimal);
        let limits = group.policy().own(comes_to, &RegistrySettings::default());
        let most = Span::from_millis(most);
        assert_eq!((group.name(), limits.floor.latency), (name, Some(most)));
        let servers = ParallelServers { servers: 8, service: Span::from_micros(service), ..ParallelServers::default() };
        let device = DeviceSpec::of(Model::ParallelServers(servers));
        let load =
            Load::Thinking { depth, least: Span::from_micros(think / 2), most: Span::from_micros(think * 3 / 2) };
        let users = Client { load, ..Client::closed(ObjectId(0), depth) };
        // Seed 3 had a second that missed it, because of a look at what an unused rate cost.
        for_seeds(1..4, |seed| {
            let arms = play_with(&device, &users, limits, seed);
            let [alone, beside, protected] = [&arms.alone, &arms.beside, &arms.protected].map(medians);
            println!("{name}, seed {seed}: {protected:?}, alone {}, beside {}", alone[0], beside[0]);
            assert!(
                alone.iter().all(|p50| *p50 <= most) && beside.iter().all(|p50| *p50 > most),
                "{alone:?} {beside:?}"
            );
            assert!(protected.iter().all(|p50| *p50 <= most), "{name}, seed {seed}: {protected:?}");
        });
    }
}

/// What the floor leaves room for is the bully's: 8 servers answer within 1 ms with some 18 in
/// flight.
#[test]
fn a_latency_takes_no_more_than_it_needs() {
    for seed in chosen(SEEDS) {
        let arms = play(&servers(), &users(500, 1_500), Span::from_millis(1), seed);
        let total = |recording: &Recording| rate(recording, 0) + rate(recording, 1);
        let (with, without) = (total(&arms.protected), total(&arms.beside));
        println!("seed {seed}: {with:.0} of {without:.0}, {:?}", medians(&arms.protected));
        assert!(with >= 0.98 * without, "seed {seed}: {with:.0} of {without:.0}");
        assert!(
            medians(&arms.protected).iter().all(|&p50| p50 <= Span::from_millis(1)),
            "{:?}",
            medians(&arms.protected)
        );
    }
}

/// Alone a read takes 0.4 ms: 0.3 ms is impossible, and the bully keeps nine tenths of what it has
/// without the floor.
#[test]
fn a_latency_out_of_reach_costs_no_more_than_trying() {
    for device in [servers(), host()] {
        for seed in chosen(205..207) {
            let arms = play(&device, &users(500, 1_500), Span::from_micros(300), seed);
            let total = |recording: &Recording| recording.total_rate(Time::ZERO, second(SECONDS));
            let (with, without) = (total(&arms.protected), total(&arms.beside));
            println!("seed {seed}: {with:.0} of {without:.0}");
            assert!(with >= 0.9 * without, "seed {seed}: {with:.0} of {without:.0}");
        }
    }
}

/// Alone a read takes 0.4 ms. So the account of a floor of 0.3 ms says that about 0.4 is the best
/// there is, or that holding others back did not help; nothing is known only while it is tried
/// again. A floor of 1 ms is met.
#[test]
fn why_a_latency_cannot_be_had_is_reported() {
    for (most, seed) in [(300, 1), (300, 2), (1_000, 1)] {
        let clients = vec![users(500, 1_500), Client::closed(ObjectId(1), 128)];
        let edits = Tree::flat(2).limits(0, latency(Span::from_micros(most))).edits();
        let scene = Scene { device: servers(), clients, edits, until: second(SECONDS), seed };
        let states = floor_by_second(&scene, ObjectId(0));
        let known = |state: &&FloorState| match **state {
            FloorState::Slow { median, wanted, why: Shortage::TakesAtBest(best) } => {
                // As near as bins of an eighth of an octave allow.
                let is_best = (Span::from_micros(370)..=Span::from_micros(430)).contains(&best);
                most == 300 && wanted == Span::from_micros(300) && median > wanted && is_best
            }
            FloorState::Slow { why: Shortage::NotHelped, .. } => most == 300,
            FloorState::Met => most == 1_000,
            _ => false,
        };
        let tried = |state: &&FloorState| matches!(state, FloorState::Slow { why: Shortage::Adjusting, .. });
        let (settled, tries) = (states[2..].iter().filter(known).count(), states[2..].iter().filter(tried).count());
        println!("{most} us, seed {seed}: {states:?}");
        assert!(
            states.len() as u64 >= SECONDS - 1 && settled + tries == states.len() - 2,
            "{most} us, seed {seed}: {states:?}"
        );
        assert!(tries <= 2 && (most == 300 || tries == 0), "{most} us, seed {seed}: {states:?}");
    }
}

/// Four users of a database who think for 0.4 ms: 4 / (0.1 + 0.4) ms = 8000 reads a second alone.
/// Half of them are answered in 0.1 ms whatever the bully does, but with a mean of T they read
/// 4 / (T + 0.4 ms): within seven hundredths of that in every second, and the bully has the rest.
#[test]
fn the_mean_is_held_where_a_slice_is_soon_spent() {
    let users = Client {
        load: Load::Thinking { depth: 4, least: Span::from_micros(200), most: Span::from_micros(600) },
        ..Client::closed(ObjectId(0), 4)
    };
    for (most, seed) in [150, 300, 600, 1000].into_iter().flat_map(|most| chosen(SEEDS).map(move |seed| (most, seed))) {
        let arms = play(&sliced(), &users, Span::from_micros(most), seed);
        let due = 4e6 / (most as f64 + 400.0);
        let [alone, beside, protected] = [&arms.alone, &arms.beside, &arms.protected].map(|arm| rate(arm, 0));
        let worst = arms.protected.tracks[0].per_second(second(SECONDS))[2..].iter().copied().min().unwrap();
        let bully = rate(&arms.protected, 1);
        println!(
            "{most} us, seed {seed}: alone {alone:.0}, beside {beside:.0}, due {due:.0}, protected {protected:.0}, \
             worst {worst}; bully {bully:.0} of {:.0}",
            rate(&arms.beside, 1)
        );
        assert!(beside < 0.2 * alone, "{beside:.0} of {alone:.0}: it needs no floor");
        assert!(worst as f64 > 0.93 * due, "{most} us, seed {seed}: {worst} of {due:.0}");
        assert!(bully > 28_000.0, "{most} us, seed {seed}: {bully:.0}");
    }
}

/// Users who wait 0.15, 0.2 and 0.3 ms in the mean when alone, and are promised 5 to 9 hundredths
/// less: the mean is held to what there is. Given up, it leaves them 60 hundredths.
#[test]
fn a_mean_that_is_nearly_had_is_held_to_what_there_is() {
    for ((depth, most), seed) in
        [(14, 140), (16, 190), (20, 290)].into_iter().flat_map(|of| chosen(SEEDS).map(move |seed| (of, seed)))
    {
        let load = Load::Thinking { depth, least: Span::from_micros(100), most: Span::from_micros(300) };
        let users = Client { load, ..Client::closed(ObjectId(0), depth) };
        let arms = play(&sliced(), &users, Span::from_micros(most), seed);
        let [alone, beside, protected] = [&arms.alone, &arms.beside, &arms.protected].map(|arm| rate(arm, 0));
        println!(
            "{most} us, seed {seed}: alone {alone:.0}, beside {beside:.0}, protected {protected:.0}; bully {:.0} of {:.0}",
            rate(&arms.protected, 1),
            rate(&arms.beside, 1)
        );
        assert!(protected >= 0.9 * alone, "{most} us, seed {seed}: {protected:.0} of {alone:.0}");
    }
}

/// Eight users who do not think ask for four times the slice: alone they wait 0.4 ms in the mean. A
/// mean of 0.15 ms is impossible and is given up; the median still can be held, and is.
#[test]
fn a_mean_out_of_reach_is_given_up_alone() {
    for seed in chosen(SEEDS) {
        let arms = play(&sliced(), &Client::closed(ObjectId(0), 8), Span::from_micros(150), seed);
        let total = |recording: &Recording| recording.total_rate(Time::ZERO, second(SECONDS));
        let (with, without) = (total(&arms.protected), total(&arms.beside));
        println!("seed {seed}: {with:.0} of {without:.0}, {:?}", medians(&arms.protected));
        assert!(with >= 0.9 * without, "seed {seed}: {with:.0} of {without:.0}");
        let worst = medians(&arms.protected).into_iter().max().unwrap();
        assert!(worst <= Span::from_micros(150), "seed {seed}: {:?}", medians(&arms.protected));
    }
}

/// An owner that asks at a rate has as many requests answered while nobody is held back as with its
/// latency: the seconds before an attempt do not count in it. The device is slow from second 5 to
/// 9.
#[test]
fn a_latency_that_was_given_up_is_had_again_at_the_same_rate() {
    let most = Span::from_micros(600);
    let recording = slow_for_a_while(most, 30, 1).run();
    let median = |s: u64| recording.tracks[0].percentile(50.0, second(s), second(s + 1));
    let medians: Vec<Span> = (0..30).map(median).collect();
    println!("{medians:?}");
    assert!(medians[4] <= most && medians[10] > most, "it was not given up: {medians:?}");
    assert!(medians[16..].iter().all(|median| *median <= most), "{medians:?}");
}
