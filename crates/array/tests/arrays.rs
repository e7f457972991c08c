//! What arrays do, against figures worked out by hand: the penalties of RAID, links and their
//! flows, the log of writes, and objects with places of their own.

mod load;

use array::{
    Array, ArrayStage, ControlGroup, Controller, DeviceError, DeviceSpec, Disk, Flow, HostAdapters, Level, Link, Model,
    ParallelServers, Raid, ReadCache, WriteLog,
};
use block::{Bytes, ObjectId, OpKind, Span, Submitted, Time, Wakeup};
use load::{Ask, closed_loop, request, scattered};

fn second(s: u64) -> Time {
    Time::ZERO + Span::from_secs(s)
}

/// One server of 1 ms: 1000 requests a second, whatever they are.
fn thousand() -> Model {
    let each = Span::from_millis(1);
    Model::ParallelServers(ParallelServers { servers: 1, service: each, size_unit: None, flush: each, trim: each })
}

fn array(stages: Vec<ArrayStage>, media: Model) -> DeviceSpec {
    DeviceSpec::of(Model::Array(Array { stages, media: Box::new(media) }))
}

fn raid(level: Level, members: u32) -> ArrayStage {
    ArrayStage::Raid(Raid { level, members, unit: Bytes::kib(64) })
}

/// How many random requests of 4 KiB end per second, over ten seconds; `reads` of every hundred are
/// reads.
fn random_iops(spec: &DeviceSpec, reads: u64, depth: usize) -> f64 {
    let mut place = scattered(11, 4096, 1 << 27);
    let ask = move |tag: u64| match tag * 37 % 100 < reads {
        true => Ask::Read { at: place(), len: 4096 },
        false => Ask::Write { at: place(), len: 4096 },
    };
    let done = closed_loop(spec, 1, depth, second(12), ask);
    done.iter().filter(|c| c.end > second(2)).count() as f64 / 10.0
}

/// members × 1000 / (f + (1 - f) × penalty). A queue of 400 keeps all members busy but for chance:
/// within 3 %.
#[test]
fn small_writes_cost_what_their_level_says() {
    for (level, members, penalty) in
        [(Level::Zero, 8, 1.0), (Level::Ten, 8, 2.0), (Level::Five, 8, 4.0), (Level::Six, 9, 6.0), (Level::Dp, 9, 6.0)]
    {
        let spec = array(vec![raid(level, members)], thousand());
        for reads in [0, 70] {
            let share = reads as f64 / 100.0;
            // DP's parities stand on members of their own: reads go to the others alone, and with
            // writes alone each small write costs each parity two of its thousand a second.
            let expected = match (level, reads) {
                (Level::Dp, 0) => 500.0,
                (Level::Dp, _) => continue,
                _ => f64::from(members) * 1000.0 / (share + (1.0 - share) * penalty),
            };
            // DP's parities serve reads and writes in rounds of the depth, and a count begins and
            // ends within one.
            let iops = random_iops(&spec, reads, if level == Level::Dp { 100 } else { 400 });
            assert!((iops / expected - 1.0).abs() < 0.03, "{level:?} with {reads} % reads: {iops}, not {expected}");
        }
    }
}

#[test]
fn full_stripes_are_written_without_reading() {
    // 7 data units of 64 KiB: one write on each of 8 members, 1 ms each, so 1000 stripes a second;
    // partial ones that cover 6 of 7 read the seventh first and take two rounds.
    let spec = array(vec![raid(Level::Five, 8)], thousand());
    let stripe = 7 * 65_536;
    let whole = closed_loop(&spec, 1, 1, second(1), |tag| Ask::Write { at: tag * stripe, len: stripe });
    assert_eq!(whole.len(), 1000);
    let partial = closed_loop(&spec, 1, 1, second(1), |tag| Ask::Write { at: tag * stripe, len: stripe - 65_536 });
    assert_eq!(partial.len(), 500);
}

#[test]
fn mirrored_reads_use_both_copies() {
    let one = random_iops(&array(vec![raid(Level::One, 2)], thousand()), 100, 64);
    assert!((one - 2000.0).abs() < 20.0, "{one}");
}

/// A RAID over one member is that member, with all its figures: the RAID adds nothing.
#[test]
fn a_stripe_of_one_member_is_the_member() {
    let trace = |spec: DeviceSpec| {
        let mut place = scattered(3, 4096, 1 << 20);
        let done = closed_loop(&spec, 5, 8, second(3), |_| Ask::Read { at: place(), len: 4096 });
        done.iter().map(|c| (c.tag, c.end)).collect::<Vec<_>>()
    };
    let slow = Model::Disk(Disk::default());
    // The member's chance is seeded by its number, so one that has none: parallel servers.
    assert_eq!(trace(array(vec![raid(Level::Zero, 1)], thousand())), trace(DeviceSpec::of(thousand())));
    assert_eq!(trace(array(Vec::new(), slow.clone())), trace(DeviceSpec::of(slow)));
}

#[test]
fn one_flow_is_its_own_limit_and_sixteen_reach_the_links() {
    // 5 Gb/s a flow, 1250 MB/s the link; 1 MiB reads from media that cost nothing to speak of.
    let quick = Model::ParallelServers(ParallelServers {
        servers: 64,
        service: Span::from_micros(10),
        size_unit: None,
        flush: Span::ZERO,
        trim: Span::ZERO,
    });
    for (flows, expected) in [(1, 625.0), (2, 1250.0), (16, 1250.0)] {
        let flow = Some(Bytes(625_000_000));
        let link = Link { bandwidth: Bytes(1_250_000_000), latency: Span::from_micros(50), flow, flows };
        let spec = array(vec![ArrayStage::Link(link)], quick.clone());
        let done = closed_loop(&spec, 1, 128, second(2), |tag| Ask::Read { at: (tag % 100) << 20, len: 1 << 20 });
        let bytes = done.iter().filter(|c| c.end > second(1)).count() as f64 * f64::from(1 << 20);
        assert!((bytes / 1e6 / expected - 1.0).abs() < 0.01, "{flows} flows: {} MB/s", bytes / 1e6);
    }
}

/// However requests and answers follow one another, data use every flow, whether their number is
/// even or odd.
#[test]
fn all_flows_carry_data() {
    let each = Span::from_micros(500);
    let media = ParallelServers { servers: 64, service: each, size_unit: None, flush: each, trim: each };
    for flows in 1..=16 {
        let flow = Some(Bytes(625_000_000));
        let link = Link { bandwidth: Bytes(1 << 40), latency: Span::from_micros(150), flow, flows };
        let spec = array(vec![ArrayStage::Link(link)], Model::ParallelServers(media.clone()));
        for depth in [3 * flows / 2 + 1, 2 * flows] {
            let read = |tag| Ask::Read { at: (tag % 100) << 20, len: 1 << 20 };
            let done = closed_loop(&spec, 1, depth as usize, second(2), read);
            let bytes = done.iter().filter(|c| c.end > second(1)).count() as f64 * f64::from(1 << 20);
            let part = bytes / (f64::from(flows) * 625e6);
            assert!((0.97..1.01).contains(&part), "{flows} flows, depth {depth}: {part}");
        }
    }
}

#[test]
fn both_directions_of_a_link_carry_at_once() {
    let link = Link { bandwidth: Bytes(1 << 30), latency: Span::ZERO, flow: None, flows: 1 };
    let quick = Model::ParallelServers(ParallelServers { service: Span::from_nanos(1), ..ParallelServers::default() });
    let spec = array(vec![ArrayStage::Link(link)], quick);
    let ask = |tag: u64| match tag % 2 {
        0 => Ask::Read { at: 0, len: 1 << 20 },
        _ => Ask::Write { at: 0, len: 1 << 20 },
    };
    let done = closed_loop(&spec, 1, 64, second(2), ask);
    let count = |kind| done.iter().filter(|c| c.kind == kind && c.end > second(1)).count();
    // 1 GiB a second each way: 1024 of each.
    assert!(count(OpKind::Read).abs_diff(1024) <= 1 && count(OpKind::Write).abs_diff(1024) <= 1, "not both ways");
}

#[test]
fn controllers_do_cores_over_cost() {
    let controller =
        Controller { cores: 4, read: Span::from_micros(50), write: Span::from_micros(100), ..Controller::default() };
    let quick = Model::ParallelServers(ParallelServers {
        servers: 64,
        service: Span::from_micros(1),
        ..ParallelServers::default()
    });
    let spec = array(vec![ArrayStage::Controller(controller)], quick);
    // 4 / 50 µs reads, 4 / 100 µs writes.
    assert!((random_iops(&spec, 100, 64) - 80_000.0).abs() < 80.0);
    assert!((random_iops(&spec, 0, 64) - 40_000.0).abs() < 40.0);
}

fn logged(half: Bytes, anywhere: bool) -> DeviceSpec {
    let log = WriteLog { half, depth: 64, anywhere, ..WriteLog::default() };
    array(vec![ArrayStage::WriteLog(log)], thousand())
}

#[test]
fn a_log_answers_at_once_until_it_is_full_and_then_at_the_medias_rate() {
    // 1000 writes of 4 KiB a half. The first half fills and its point begins, the second fills
    // while the first is written, in 1 s; from then on nothing is answered faster than the media
    // write: 1000 a second.
    let spec = logged(Bytes(4096 * 1000), false);
    let mut place = scattered(5, 8192, 1 << 26);
    let done = closed_loop(&spec, 1, 16, second(20), |_| Ask::Write { at: place(), len: 4096 });
    let quick = done.iter().take(1990).all(|c| c.service == Span::from_micros(100));
    assert!(quick, "the log's own latency while there is room");
    let late = done.iter().filter(|c| c.end > second(10)).count();
    assert!(late.abs_diff(10_000) <= 1000, "{late} in ten seconds at 1000 a second");
    // A half at a time: a stall lasts nearly a half's second.
    let longest = done.iter().map(|c| c.service).max();
    assert!(longest.is_some_and(|l| l > Span::from_millis(900) && l < Span::from_millis(1100)), "{longest:?}");
}

#[test]
fn what_is_written_twice_before_its_point_goes_down_once() {
    // Ten places written over and over fill no half: media write ten blocks every ten seconds.
    let spec = logged(Bytes::mib(1), false);
    let done = closed_loop(&spec, 1, 8, second(30), |tag| Ask::Write { at: tag % 10 * 8192, len: 4096 });
    assert!(done.iter().all(|c| c.service == Span::from_micros(100)), "it stalled");
}

#[test]
fn an_array_that_writes_anywhere_writes_full_stripes() {
    // RAID 5 of 8: in place a small write costs 4 of 8000 a second; anywhere, a piece of 7 × 64 KiB
    // takes one from each.
    let group = || raid(Level::Five, 8);
    let rate = |anywhere| {
        let unit = Bytes(7 * 65_536);
        let log = WriteLog { half: Bytes::mib(16), depth: 64, unit, anywhere, ..WriteLog::default() };
        random_iops(&array(vec![ArrayStage::WriteLog(log), group()], thousand()), 0, 64)
    };
    let (in_place, anywhere) = (rate(false), rate(true));
    assert!((in_place - 2000.0).abs() < 400.0, "in place {in_place}");
    // 1000 pieces of 448 KiB a second are 112 000 writes of 4 KiB: the log's 64 / 100 µs are far
    // more.
    assert!((anywhere - 112_000.0).abs() < 12_000.0, "anywhere {anywhere}");
}

#[test]
fn a_read_of_what_is_in_the_log_is_answered_from_it() {
    let spec = logged(Bytes::gib(1), false);
    let ask = |tag: u64| match tag % 2 {
        0 => Ask::Write { at: tag / 2 * 8192, len: 4096 },
        _ => Ask::Read { at: tag / 2 * 8192, len: 4096 },
    };
    let done = closed_loop(&spec, 1, 1, Time::ZERO + Span::from_millis(100), ask);
    assert!(done.iter().all(|c| c.service == Span::from_micros(100)), "the media were asked");
}

/// A cache of `size` before one server of 1 ms, and reads of 4 KiB spread evenly over 1 GiB, 8
/// outstanding.
fn cached(size: Bytes, second: Bytes) -> (f64, f64) {
    let cache = ReadCache { size, second, page: Bytes(4096), warm: true, ..ReadCache::default() };
    let spec = DeviceSpec { size: Bytes::gib(1), ..array(vec![ArrayStage::Cache(cache)], thousand()) };
    let mut place = scattered(21, 4096, 1 << 18);
    let done = closed_loop(&spec, 1, 8, second_of(20), |_| Ask::Read { at: place(), len: 4096 });
    let counted: Vec<_> = done.iter().filter(|c| c.end > second_of(10)).collect();
    let hits = counted.iter().filter(|c| c.service < Span::from_millis(1)).count();
    (hits as f64 / counted.len() as f64, counted.len() as f64 / 10.0)
}

fn second_of(s: u64) -> Time {
    second(s)
}

/// Reads without a favourite place hit with the part of them that the cache holds, whatever its
/// policy. So the misses, 1000 a second, are 1 - C / W of all.
#[test]
fn a_cache_answers_the_part_that_it_holds() {
    let (whole, half, eighth) = (Bytes::gib(1), Bytes::mib(512), Bytes::mib(128));
    let (hits, iops) = cached(half, Bytes(0));
    assert!((hits - 0.5).abs() < 0.02 && (iops / 2000.0 - 1.0).abs() < 0.04, "half: {hits} {iops}");
    let (hits, iops) = cached(eighth, Bytes(0));
    assert!((hits - 0.125).abs() < 0.02 && (iops / 1143.0 - 1.0).abs() < 0.04, "an eighth: {hits} {iops}");
    // Both levels together hold half of it.
    let (hits, _) = cached(eighth, Bytes::mib(384));
    assert!((hits - 0.5).abs() < 0.02, "two levels: {hits}");
    // All of it: 8 outstanding at 50 us are 160 000 a second.
    let (hits, iops) = cached(whole, Bytes(0));
    assert!(hits == 1.0 && (iops / 160_000.0 - 1.0).abs() < 0.01, "all: {hits} {iops}");
}

/// A warm cache for half of two objects has half of each, whichever is asked first.
#[test]
fn a_warm_cache_holds_as_much_of_each_object() {
    let cache = ReadCache { size: Bytes::mib(64), page: Bytes(4096), warm: true, ..ReadCache::default() };
    let latency = cache.latency;
    let spec = DeviceSpec { size: Bytes::mib(64), luns: 2, ..array(vec![ArrayStage::Cache(cache)], thousand()) };
    let mut device = spec.build(1).expect("an array");
    let mut place = scattered(21, 4096, 1 << 14);
    for tag in 0..2000 {
        let ask = request(tag, Time::ZERO, Ask::Read { at: place(), len: 4096 });
        let ask = block::Request { object: ObjectId(1 - tag as u32 % 2), ..ask };
        let Submitted::Taken(_) = device.submit(Time::ZERO, ask) else { panic!("full") };
    }
    let mut done = Vec::new();
    while let Wakeup::At(at) = device.next_wakeup() {
        device.poll(at, &mut done);
    }
    for object in [0, 1] {
        let hits = done.iter().filter(|c| c.object == ObjectId(object) && c.service == latency).count();
        assert!(hits.abs_diff(500) < 70, "{hits} of 1000 of object {object}");
    }
}

/// The same at the level of means.
#[test]
fn means_know_what_a_cache_holds() {
    let rate = |size| {
        let cache = ReadCache { size, ..ReadCache::default() };
        let array = Array { stages: vec![ArrayStage::Cache(cache)], media: Box::new(thousand()) };
        let spread = Some(Bytes::gib(1));
        let flow = Flow { kind: OpKind::Read, len: Bytes(4096), rate: f64::INFINITY, outstanding: 8.0, spread };
        array.means(&[flow], true).flows[0].rate
    };
    let (half, eighth) = (rate(Bytes::mib(512)), rate(Bytes::mib(128)));
    assert!((half / 2000.0 - 1.0).abs() < 0.02 && (eighth / 1143.0 - 1.0).abs() < 0.02, "{half} {eighth}");
}

/// Two flows ask for fixed rates of a controller of 32 cores and 117 us. They get them, and beyond
/// its capacity all that there is, however much is asked.
#[test]
fn means_have_all_that_there_is_when_more_is_asked() {
    let each = Span::from_micros(117);
    let controller = Controller { cores: 32, read: each, write: each, ..Controller::default() };
    let media = ParallelServers { servers: 10_000, service: each, ..ParallelServers::default() };
    let array =
        Array { stages: vec![ArrayStage::Controller(controller)], media: Box::new(Model::ParallelServers(media)) };
    let all = 32.0 / 117e-6;
    for asked in (20_000..500_000).step_by(23_000).map(f64::from) {
        let flow = |rate, outstanding| Flow { kind: OpKind::Read, len: Bytes(8192), rate, outstanding, spread: None };
        let means = array.means(&[flow(asked, 128.0), flow(72_000.0, 128.0)], false);
        let had: f64 = means.flows.iter().map(|flow| flow.rate).sum();
        let expected = (asked + 72_000.0).min(all);
        assert!((had / expected - 1.0).abs() < 0.005, "{asked}: {had} of {expected}, {means:?}");
        assert!(means.flows.iter().all(|flow| flow.response > 234e-6), "{asked}: {means:?}");
    }
}

#[test]
fn objects_lie_one_behind_the_other() {
    // Two objects of 16 tracks on one arm: going to and fro between their first bytes is a seek
    // over 16 tracks each time, where both in one place would cost nothing but the turn.
    let mean = |luns: u32| {
        let spec = DeviceSpec { size: Bytes::mib(16), luns, ..DeviceSpec::of(Model::Disk(Disk::default())) };
        let mut device = spec.build(1).expect("a disk");
        let (mut now, mut done) = (Time::ZERO, Vec::new());
        for tag in 0..100 {
            let ask = request(tag, now, Ask::Read { at: 0, len: 4096 });
            let ask = block::Request { object: ObjectId(7 + tag as u32 % 2), ..ask };
            let Submitted::Taken(_) = device.submit(now, ask) else { panic!("full") };
            while let Wakeup::At(at) = device.next_wakeup() {
                now = at;
                device.poll(now, &mut done);
            }
            device.poll(now, &mut done);
        }
        done.iter().map(|c| c.service).sum::<Span>().as_nanos() / 100
    };
    let turn = Disk::default().rotation.as_nanos();
    assert!(mean(1).abs_diff(turn) < turn / 20, "one place: {} ns a read", mean(1));
    assert!(mean(2) > turn, "two places: {} ns a read", mean(2));
}

/// Storage that answers each request in a millisecond whatever comes: the requests that an adapter
/// lets be outstanding decide the rate, by Little's law, and means say the same.
#[test]
fn an_adapter_keeps_so_many_outstanding() {
    let each = Span::from_millis(1);
    let servers = ParallelServers { servers: 1000, service: each, size_unit: None, flush: each, trim: each };
    let held = |queue, adapter| {
        let adapters = HostAdapters { hosts: 2, luns: 2, queue, adapter };
        array(vec![ArrayStage::HostAdapters(adapters)], Model::ParallelServers(servers.clone()))
    };
    let one_lun = |spec: &DeviceSpec| closed_loop(spec, 1, 64, second(2), |_| Ask::Read { at: 0, len: 4096 });
    // 8 of one LUN, then 5 of the host's.
    for (queue, adapter, most) in [(8, 100, 8), (8, 5, 5)] {
        let ends = one_lun(&held(queue, adapter));
        assert_eq!(ends.iter().filter(|c| c.end <= second(1)).count(), most * 1000, "{queue}, {adapter}");
        // A request waits in the host for its turn among 64.
        let waited = ends[ends.len() - 1].service.as_secs_f64();
        assert!((waited - 64.0 / most as f64 * 1e-3).abs() < 1e-3, "{waited}");
    }
    // Four LUNs of two hosts: 8 of each, or 12 of each host; means have them as one flow.
    for (queue, adapter, most) in [(8, 100, 32.0), (8, 12, 24.0)] {
        let spec = DeviceSpec { luns: 4, ..held(queue, adapter) };
        let mut device = spec.build(1).expect("an array");
        for tag in 0..256 {
            let ask = request(tag, Time::ZERO, Ask::Read { at: 0, len: 4096 });
            let ask = block::Request { object: ObjectId(tag as u32 % 4), ..ask };
            let Submitted::Taken(_) = device.submit(Time::ZERO, ask) else { panic!("full") };
        }
        let (mut rounds, mut done) = (Vec::new(), Vec::new());
        while let Wakeup::At(at) = device.next_wakeup() {
            device.poll(at, &mut done);
            rounds.push(done.len() as f64);
            done.clear();
        }
        // All that is outstanding ends together, and as much follows.
        assert!(rounds[0] == most && rounds.iter().sum::<f64>() == 256.0, "{rounds:?}");
        let Model::Array(model) = spec.model else { unreachable!() };
        let flow = Flow { kind: OpKind::Read, len: Bytes(4096), rate: f64::INFINITY, outstanding: 256.0, spread: None };
        let means = model.means(&[flow], false);
        assert!((means.flows[0].rate - most * 1000.0).abs() < 1.0, "{means:?}");
        // Two flows share them by what each has outstanding.
        let two = model.means(&[Flow { outstanding: 192.0, ..flow }, Flow { outstanding: 64.0, ..flow }], false);
        let [one, other] = [two.flows[0].rate, two.flows[1].rate];
        assert!((one + other - most * 1000.0).abs() < 1.0 && (one / other - 3.0).abs() < 1e-6, "{two:?}");
    }
}

/// 2000 reads a second by slices of a tenth of a second: the budget of a slice goes at the servers'
/// speed, in 25 ms, and nothing goes in the other 75. Means do not know of slices.
#[test]
fn a_control_group_lets_a_slice_go_at_once() {
    let each = Span::from_millis(1);
    let servers = ParallelServers { servers: 8, service: each, size_unit: None, flush: each, trim: each };
    let group = ControlGroup { reads: 2_000, writes: 500, ..ControlGroup::default() };
    let spec = array(vec![ArrayStage::ControlGroup(group)], Model::ParallelServers(servers));
    let ask = |_| Ask::Read { at: 0, len: 4096 };
    let ends: Vec<Time> = closed_loop(&spec, 1, 16, second(4), ask).iter().map(|c| c.end).collect();
    assert_eq!(ends.iter().filter(|end| **end <= second(3)).count(), 6_000);
    let running = ends.iter().filter(|end| end.since(Time::ZERO).as_nanos() % 100_000_000 <= 26_000_000).count();
    assert!(running == ends.len(), "{running} of {}", ends.len());
    assert!((random_iops(&spec, 0, 16) - 500.0).abs() < 5.0);
}

#[test]
fn arrays_that_cannot_be_are_refused_in_one_line() {
    for (stage, words) in [
        (raid(Level::Five, 2), "raid: members: level 5 needs at least 3, got 2"),
        (raid(Level::Ten, 5), "raid: members: level 10 needs an even number, got 5"),
        (raid(Level::Six, 3), "raid: members: level 6 needs at least 4, got 3"),
        (ArrayStage::Link(Link { bandwidth: Bytes(0), ..Link::default() }), "link: bandwidth must be at least 1"),
        (
            ArrayStage::Controller(Controller { cores: 0, ..Controller::default() }),
            "controller: cores must be at least 1",
        ),
        (
            ArrayStage::HostAdapters(HostAdapters { queue: 0, ..HostAdapters::default() }),
            "hba: queue must be at least 1",
        ),
        (
            ArrayStage::ControlGroup(ControlGroup { writes: 0, ..ControlGroup::default() }),
            "control-group: writes must be at least 1",
        ),
        (
            ArrayStage::WriteLog(WriteLog { half: Bytes(0), ..WriteLog::default() }),
            "write-log: half must be at least 1",
        ),
        (
            ArrayStage::Cache(ReadCache { size: Bytes::gib(8), memory: Some(Bytes::gib(4)), ..ReadCache::default() }),
            "cache: size must not be more than memory, got 8 GiB and 4 GiB",
        ),
    ] {
        let refused: DeviceError = array(vec![stage], thousand()).check().expect_err(words);
        assert_eq!(refused.to_string(), words);
    }
    let wide = vec![raid(Level::Zero, 4096), raid(Level::One, 2)];
    assert!(array(wide, thousand()).check().is_err());
}
