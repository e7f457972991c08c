//! What each device can do, against figures worked out by hand.

mod load;

use array::{Absence, Change, Collection, DeviceSpec, Model, Pause};
use block::{Bytes, Completion, Span, Time};
use load::{Ask, closed_loop, scattered};
use qos::CreditLimit;

fn second(s: u64) -> Time {
    Time::ZERO + Span::from_secs(s)
}

fn small_reads(tag: u64) -> Ask {
    Ask::Read { at: tag % 1000 * 4096, len: 4096 }
}

fn ended_within(done: &[Completion], from: Time, until: Time) -> usize {
    done.iter().filter(|c| from < c.end && c.end <= until).count()
}

#[test]
fn parallel_servers_do_servers_over_service_and_keep_littles_law() {
    let spec = DeviceSpec::named("parallel-servers").unwrap();
    // 8 servers of 100 µs: 80 000 a second from depth 8 on, exactly; below, depth / 100 µs.
    for (depth, per_second) in [(1, 10_000), (4, 40_000), (8, 80_000), (100, 80_000)] {
        let done = closed_loop(&spec, 0, depth, second(2), small_reads);
        assert_eq!(ended_within(&done, second(1), second(2)), per_second, "depth {depth}");
        // Little: latency = depth / throughput. 100 / 80 000 s = 1250 µs. In whole rounds of 8 a
        // request waits 11.5 rounds on average: half of them 12 rounds in the queue and in service
        // 13.
        let late: Vec<&Completion> = done.iter().filter(|c| c.end > second(1)).collect();
        let mean = late.iter().map(|c| c.service).sum::<Span>().as_nanos() / late.len() as u64;
        let expected = depth as u64 * 1_000_000_000 / per_second as u64;
        assert!(mean.abs_diff(expected) <= expected / 1000, "depth {depth}: {mean} ns, not {expected}");
    }
}

#[test]
fn size_holds_a_server_in_proportion_where_the_plan_says_so() {
    let mut spec = DeviceSpec::named("parallel-servers").unwrap();
    let Model::ParallelServers(servers) = &mut spec.model else { unreachable!() };
    servers.size_unit = Some(Bytes::kib(64));
    // 1 MiB = 16 units: 17 × 100 µs on each of 8 servers, 8 / 1.7 ms; over 1.7 s exactly 8000.
    let done = closed_loop(&spec, 0, 16, Time::ZERO + Span::from_millis(1700), |_| Ask::Write { at: 0, len: 1 << 20 });
    assert_eq!(done.len(), 8000);
}

#[test]
fn half_of_the_servers_go_and_come_back() {
    let mut spec = DeviceSpec::named("parallel-servers").unwrap();
    spec.changes = vec![Change { at: second(1), percent: 50 }, Change { at: second(2), percent: 100 }];
    let done = closed_loop(&spec, 0, 64, second(3), small_reads);
    let counts: Vec<usize> = (0..3).map(|s| ended_within(&done, second(s), second(s + 1))).collect();
    // The rounds end with the second, so nothing is in between: 4 servers for the middle one.
    assert_eq!(counts, [80_000, 40_000, 80_000]);
}

#[test]
fn a_standstill_holds_everything_until_it_ends() {
    for name in Model::NAMES {
        let mut spec = DeviceSpec::named(name).unwrap();
        spec.changes = vec![Change { at: Time::ZERO, percent: 0 }, Change { at: second(1), percent: 100 }];
        let done = closed_loop(&spec, 3, 4, second(2), small_reads);
        assert!(!done.is_empty(), "{name} came back");
        // A cloud volume's first request needs no credit. Of an array only the log answers
        // meanwhile, and it has no reads.
        let early = done.iter().filter(|c| c.end <= second(1)).count();
        assert!(early <= 1, "{name}: {early} ended while it stood still");
    }
}

#[test]
fn a_disk_streams_at_the_track_rate_and_scatters_far_below() {
    let spec = DeviceSpec::named("disk").unwrap();
    // One track of 1 MiB in 8 333 333 ns; each 256 KiB transfer takes 2 083 333 ns, and only the
    // first seeks.
    let done = closed_loop(&spec, 5, 2, second(2), |tag| Ask::Read { at: tag << 18, len: 1 << 18 });
    let streamed = ended_within(&done, second(1), second(2));
    assert!(streamed.abs_diff(480) <= 1, "{streamed} × 256 KiB in a second, not 120 MiB");

    // Random 4 KiB at depth 1: mean seek 0.5 + 17.5 × (8/15 + 1/3) / 2 = 8.08 ms, half a turn
    // 4.17 ms, transfer 0.03 ms: 12.28 ms, 81.4 a second; over 60 s 4885 with a deviation of about
    // 0.5 %.
    let random = |seed: u64, depth| {
        let mut place = scattered(seed, 4096, 1 << 28);
        closed_loop(&spec, seed, depth, second(60), move |_| Ask::Read { at: place(), len: 4096 }).len()
    };
    let alone = random(9, 1);
    assert!((4885 - 100..=4885 + 100).contains(&alone), "{alone} in 60 s");
    // Choosing among 32 must pay well and still turn the platter: every request waits for its
    // sector.
    let chosen = random(9, 32);
    assert!(chosen > alone * 3 / 2 && chosen < alone * 4, "{chosen} of 32 against {alone} alone");
}

/// Tracks of 1 MiB outside and of half a MiB inside: the first bytes stream at 120 MiB/s, the last
/// at 60, and what lies between at what the tracks of its zone hold.
#[test]
fn a_disk_streams_faster_outside_than_inside() {
    let mut spec = DeviceSpec::named("disk").unwrap();
    spec.size = Bytes::gib(120);
    let Model::Disk(disk) = &mut spec.model else { panic!("the name says disk") };
    disk.track_inner = Some(Bytes::kib(512));
    let streamed = |from: u64| {
        let done = closed_loop(&spec, 5, 2, second(3), |tag| Ask::Read { at: from + (tag << 18), len: 1 << 18 });
        ended_within(&done, second(1), second(3)) as f64 / 2.0
    };
    let (outside, inside) = (streamed(0), streamed(Bytes::gib(119).0));
    assert!((outside - 480.0).abs() <= 1.0 && (inside - 240.0).abs() <= 1.0, "{outside} and {inside} in a second");
    // Zones of equally many tracks, each zone's a thirtieth shorter than the last one's: the eighth
    // holds the bytes from 63 GiB to 70.7.
    let middle = streamed(Bytes::gib(70).0);
    assert!((middle / 480.0 - 23.0 / 30.0).abs() < 0.01, "{middle} in a second");
}

#[test]
fn a_window_of_one_serves_in_order_and_patience_bounds_the_wait() {
    let mut spec = DeviceSpec::named("disk").unwrap();
    let Model::Disk(disk) = &mut spec.model else { unreachable!() };
    disk.window = 1;
    let mut place = scattered(4, 4096, 1 << 28);
    let done = closed_loop(&spec, 1, 16, second(20), |_| Ask::Read { at: place(), len: 4096 });
    assert!(done.windows(2).all(|pair| pair[0].tag < pair[1].tag), "out of order");

    let Model::Disk(disk) = &mut spec.model else { unreachable!() };
    disk.window = 64;
    // One request far away, all others near the start: the soonest first would leave it for as long
    // as they come.
    let far = |tag: u64| if tag == 0 { 1 << 39 } else { tag % 1000 * 4096 };
    let mut longest = |patience| {
        let Model::Disk(disk) = &mut spec.model else { unreachable!() };
        disk.patience = patience;
        // Two near ones first, so that the far one is not alone when the arm is free.
        let done = closed_loop(&spec, 1, 8, second(20), |tag| Ask::Read { at: far(tag ^ 2), len: 4096 });
        done.iter().find(|c| c.tag == 2).map(|c| c.service)
    };
    assert_eq!(longest(u32::MAX), None, "it was not starved, so this shows nothing");
    // Passed over by 100, each at most 27 ms (longest seek and a turn), and behind the two that
    // were there before it. 100 near ones take 100 transfers of 33 µs at the very least.
    let waited = longest(100).expect("starved");
    assert!((Span::from_micros(3_300)..=Span::from_millis(27 * 103)).contains(&waited), "{waited}");
}

#[test]
fn flash_reads_and_programs_at_their_own_rates() {
    let mut spec = DeviceSpec::named("flash").unwrap();
    let Model::Flash(flash) = &mut spec.model else { unreachable!() };
    flash.collection = None;
    // 64 channels read a page in 75 µs: 853 333 a second when every channel is busy, as it is with
    // stripes in turn.
    let done = closed_loop(&spec, 0, 256, second(1), |tag| Ask::Read { at: tag % 4096 * 8192, len: 8192 });
    assert!(done.len().abs_diff(853_333) <= 64, "{}", done.len());
    // 8 KiB programs take 750 µs: 85 333 a second. 4 KiB are half a page: twice as many.
    for (len, per_second) in [(8192, 85_333usize), (4096, 170_666)] {
        let done = closed_loop(&spec, 0, 256, second(1), |tag| Ask::Write { at: tag % 64 * 8192, len });
        assert!(done.len().abs_diff(per_second) <= 64, "{len}: {}", done.len());
    }
    // 1 MiB is 128 pages, two on each channel: 150 µs from a free device, whole.
    let done = closed_loop(&spec, 0, 1, second(1), |_| Ask::Read { at: 0, len: 1 << 20 });
    assert_eq!(done[0].service, Span::from_micros(150));
}

#[test]
fn collections_cost_their_share_and_show_as_stalls() {
    let mut spec = DeviceSpec::named("flash").unwrap();
    let Model::Flash(flash) = &mut spec.model else { unreachable!() };
    flash.collection = Some(Collection { every: Bytes::kib(512), stall: Span::from_micros(3_800) });
    let done = closed_loop(&spec, 2, 64, second(4), |tag| Ask::Write { at: tag % 64 * 8192, len: 8192 });
    // 64 programs of 750 µs, then 3.8 ms: a channel does 64 in 51.8 ms, 64 channels 79 073 a
    // second. The writes avoid no stalled channel (its queue looks no longer), so depth 64 loses a
    // little more.
    let per_second = done.len() / 4;
    assert!((65_000..=79_100).contains(&per_second), "{per_second}");
    let longest = done.iter().map(|c| c.service).max().unwrap();
    assert!(longest >= Span::from_micros(3_800), "no stall seen: {longest}");
    // Seen by a reader too: behind a stalled channel.
    let mut place = scattered(6, 8192, 1 << 20);
    let mixed = |tag: u64| {
        if tag.is_multiple_of(2) { Ask::Write { at: 0, len: 8192 } } else { Ask::Read { at: place(), len: 8192 } }
    };
    let done = closed_loop(&spec, 2, 64, second(1), mixed);
    let reads = done.iter().filter(|c| c.kind == block::OpKind::Read).map(|c| c.service);
    assert!(reads.max().unwrap() >= Span::from_micros(3_000));
}

#[test]
fn a_pause_stops_the_whole_drive_at_regular_times() {
    let mut spec = DeviceSpec::named("flash").unwrap();
    let Model::Flash(flash) = &mut spec.model else { unreachable!() };
    flash.pause = Some(Pause { every: Span::from_millis(100), length: Span::from_millis(10) });
    let done = closed_loop(&spec, 7, 64, second(1), |tag| Ask::Read { at: tag % 64 * 8192, len: 8192 });
    // 10 of 100 ms are lost, 90 % of 853 333; up to one read of 75 µs per channel runs into each
    // pause, and one is cut where it ends.
    assert!(done.len().abs_diff(768_000) <= 20 * 64, "{}", done.len());
    let ends: Vec<Time> = done.iter().map(|c| c.end).collect();
    let gaps = ends.windows(2).filter(|pair| pair[1].since(pair[0]) >= Span::from_millis(9)).count();
    assert!((9..=11).contains(&gaps), "{gaps} pauses in a second");
}

#[test]
fn a_cloud_volume_bursts_on_credit_and_then_keeps_its_base() {
    let mut spec = DeviceSpec::named("cloud-volume").unwrap();
    let Model::CloudVolume(volume) = &mut spec.model else { unreachable!() };
    volume.operations = CreditLimit { base: 3_000, peak: 10_000, credit: 14_000 };
    volume.jitter = Span::ZERO;
    let done = closed_loop(&spec, 0, 64, second(5), small_reads);
    // 14 000 / (10 000 - 3 000) = 2 s of bursts, one operation more that needed no credit, then
    // 3000 a second. What passes arrives 500 µs later: 5 operations short in the first second,
    // which the third has on top of 0.9995 × 3000.
    let counts: Vec<usize> = (0..5).map(|s| ended_within(&done, second(s), second(s + 1))).collect();
    for (counted, expected) in counts.iter().zip([9_996usize, 10_000, 3_003, 3_000, 3_000]) {
        assert!(counted.abs_diff(expected) <= 1, "{counts:?}");
    }

    let Model::CloudVolume(volume) = &mut spec.model else { unreachable!() };
    volume.bytes = CreditLimit { base: 100 << 20, peak: 100 << 20, credit: 0 };
    // 1 MiB counts as four operations of 256 KiB, but 100 MiB a second binds first: one every
    // 10 ms.
    let done = closed_loop(&spec, 0, 8, second(2), |_| Ask::Read { at: 0, len: 1 << 20 });
    assert!(done.windows(2).all(|pair| pair[1].end.since(pair[0].end) == Span::from_millis(10)));
    assert!(done.len().abs_diff(200) <= 1, "{}", done.len());
}

#[test]
fn flushes_and_trims_cost_what_the_plan_says_on_an_idle_device() {
    for (name, flush, trim) in [
        ("parallel-servers", Span::from_micros(100), Span::from_micros(100)),
        ("disk", Span::from_millis(4), Span::from_micros(200)),
        ("flash", Span::from_micros(200), Span::from_micros(50)),
    ] {
        let spec = DeviceSpec::named(name).unwrap();
        let first = |ask| closed_loop(&spec, 0, 1, second(1), move |_| ask)[0].service;
        assert_eq!(first(Ask::Flush), flush, "{name}");
        assert_eq!(first(Ask::Trim { at: 1 << 30, len: 1 << 30 }), trim, "{name}");
    }
}

#[test]
fn a_host_does_more_the_more_wait_and_bends_softly() {
    let mut spec = DeviceSpec::named("host").unwrap();
    let Model::Host(host) = &mut spec.model else { unreachable!() };
    (host.turn, host.request, host.absence) = (Span::from_micros(100), Span::from_micros(10), None);
    // N / (100 + 10 N) a microsecond: 9090 for 1, 50 000 for 10, 90 909 for 100.
    for (depth, per_second) in [(1, 9_090), (10, 50_000), (100, 90_909)] {
        let done = closed_loop(&spec, 0, depth, second(2), small_reads);
        let count = ended_within(&done, second(1), second(2));
        assert!(count.abs_diff(per_second) <= depth + 1, "depth {depth}: {count} in a second, not {per_second}");
    }
    // Away for 1 ms after every 9 ms of work: a tenth is lost, within what chance makes of 100
    // absences a second.
    let Model::Host(host) = &mut spec.model else { unreachable!() };
    host.absence = Some(Absence { every: Span::from_millis(9), length: Span::from_millis(1) });
    let done = closed_loop(&spec, 4, 100, second(21), small_reads);
    let rate = ended_within(&done, second(1), second(21)) / 20;
    assert!((80_000..=83_500).contains(&rate), "{rate} a second, not a tenth less than 90 909");
}
