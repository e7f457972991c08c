//! Streams of requests: what they request, when, and how a running stream is reshaped.

use block::{Bytes, Iops, OpKind, Span, Time};
use proptest::prelude::*;
use workload::{Arrival, BlockShare, Blocks, Draft, Next, Pattern, Range, Spacing, Spec, SpecError, Stream};

const TARGET: Bytes = Bytes::mib(1);

/// 4 KiB random, half reads, one connection, depth 4, over 1 MiB (256 blocks).
fn closed() -> Spec {
    Spec {
        pattern: Pattern::Random,
        read_percent: 50,
        flush_every: None,
        pace: None,
        blocks: Blocks::of(Bytes::kib(4)),
        range: Range::default(),
        arrival: Arrival::Closed { depth: 4 },
        connections: 1,
        requests: None,
        seed: 1,
    }
}

/// With a flush after every third write, a quarter of the requests of a load that only writes are
/// flushes, of length 0.
#[test]
fn flushes_come_after_so_many_writes() {
    let spec = Spec { read_percent: 0, flush_every: Some(3), ..closed() };
    let mut stream = stream(&spec);
    let mut kinds = Vec::new();
    for _ in 0..100 {
        if let Next::Issue(draft) = stream.next(Time::ZERO) {
            assert_eq!(draft.len == 0, draft.kind == OpKind::Flush);
            kinds.push(draft.kind);
        }
        stream.completed(Time::ZERO);
    }
    assert_eq!(kinds.len(), 100);
    for (index, kind) in kinds.iter().enumerate() {
        assert_eq!(*kind == OpKind::Flush, index % 4 == 3, "{index}");
    }
}

fn open(rate: u64, outstanding: u32) -> Spec {
    Spec { arrival: Arrival::Open { rate: Iops(rate), spacing: Spacing::Uniform, outstanding }, ..closed() }
}

fn stream(spec: &Spec) -> Stream {
    Stream::new(spec, TARGET, 0, Time::ZERO).unwrap()
}

fn ms(ms: u64) -> Time {
    Time::ZERO + Span::from_millis(ms)
}

/// The next request, which completes at once.
fn draw(stream: &mut Stream) -> Draft {
    match stream.next(Time::ZERO) {
        Next::Issue(draft) => {
            stream.completed(Time::ZERO);
            draft
        }
        other => panic!("{other:?} where a request was expected"),
    }
}

/// All requests that can be made now.
fn burst(stream: &mut Stream, now: Time) -> (Vec<Draft>, Next) {
    let mut drafts = Vec::new();
    loop {
        match stream.next(now) {
            Next::Issue(draft) => drafts.push(draft),
            other => return (drafts, other),
        }
    }
}

#[test]
fn a_closed_loop_keeps_its_depth() {
    let mut stream = stream(&closed());
    let (drafts, then) = burst(&mut stream, ms(1));
    assert_eq!((drafts.len(), then, stream.outstanding()), (4, Next::WaitForCompletion, 4));
    assert!(drafts.iter().all(|draft| draft.due == ms(1)), "a closed loop's request is due when it is made");
    stream.completed(ms(2));
    stream.completed(ms(2));
    let (drafts, then) = burst(&mut stream, ms(2));
    assert_eq!((drafts.len(), then), (2, Next::WaitForCompletion));
    assert!(!stream.cap_met() && !stream.is_scheduled());
}

#[test]
fn the_same_seed_and_lane_make_the_same_requests_and_others_do_not() {
    let spec = Spec { connections: 2, ..closed() };
    let requests = |seed, lane| -> Vec<Draft> {
        let mut stream = Stream::new(&Spec { seed, ..spec.clone() }, TARGET, lane, Time::ZERO).unwrap();
        (0..1000).map(|_| draw(&mut stream)).collect()
    };
    assert_eq!(requests(1, 0), requests(1, 0));
    assert_ne!(requests(1, 0), requests(1, 1));
    assert_ne!(requests(1, 0), requests(2, 0));
}

#[test]
fn the_first_requests_of_a_seed_never_change() {
    // A repetition years later must get the same requests. Computed independently: SplitMix64 of
    // the seed fills xoshiro256++, and a request takes two draws. It reads if ⌊draw × 100 / 2^64⌋ <
    // 50, and ⌊draw × 256 / 2^64⌋ is the block.
    let mut stream = stream(&closed());
    let first: Vec<_> = (0..4).map(|_| draw(&mut stream)).map(|draft| (draft.kind, draft.at / 4096)).collect();
    assert_eq!(first, [(OpKind::Write, 191), (OpKind::Read, 191), (OpKind::Read, 151), (OpKind::Write, 133)]);
}

#[test]
fn arrival_does_not_change_what_is_asked() {
    // A Poisson schedule also draws random numbers, but from its own source.
    let poisson = Arrival::Open { rate: Iops(1_000_000), spacing: Spacing::Poisson, outstanding: 2000 };
    let (mut a, mut b) = (stream(&closed()), stream(&Spec { arrival: poisson, ..closed() }));
    let (drafts, _) = burst(&mut b, ms(1));
    assert!(drafts.len() > 800, "a thousand are expected in a millisecond, got {}", drafts.len());
    for draft in drafts {
        let other = draw(&mut a);
        assert_eq!((draft.kind, draft.at, draft.len), (other.kind, other.at, other.len));
    }
}

#[test]
fn random_requests_fall_evenly_on_whole_blocks_of_the_range() {
    // A range of 200 blocks from 64 KiB on; 200 000 requests, 1000 expected on each. Chi-square has
    // 199 degrees of freedom: mean 199, deviation √398 = 20; five deviations either way are
    // allowed.
    let range = Range { offset: Bytes::kib(64), size: Some(Bytes::kib(800)) };
    let mut stream = stream(&Spec { range, ..closed() });
    let mut counts = [0u64; 200];
    for _ in 0..200_000 {
        let draft = draw(&mut stream);
        assert_eq!((draft.at % 4096, draft.len), (0, 4096));
        counts[((draft.at - 65_536) / 4096) as usize] += 1;
    }
    let chi2: f64 = counts.iter().map(|&n| (n as f64 - 1000.0).powi(2) / 1000.0).sum();
    assert!((99.0..299.0).contains(&chi2), "chi-square {chi2}");
}

#[test]
fn the_mix_is_met_in_the_long_run() {
    for percent in [0, 1, 30, 50, 99, 100] {
        let mut stream = stream(&Spec { read_percent: percent, ..closed() });
        let reads = (0..100_000).filter(|_| draw(&mut stream).kind == OpKind::Read).count();
        // n × p with deviation √(n × p × (1 − p)), five of them; none for 0 and 100.
        let p = f64::from(percent) / 100.0;
        let allowed = 5.0 * (100_000.0 * p * (1.0 - p)).sqrt();
        assert!((reads as f64 - 100_000.0 * p).abs() <= allowed, "{percent} %: {reads}");
    }
}

#[test]
fn sizes_come_by_their_weights_each_on_its_own_blocks() {
    let shares = vec![BlockShare { size: Bytes::kib(4), weight: 3 }, BlockShare { size: Bytes::kib(64), weight: 1 }];
    let mut stream = stream(&Spec { blocks: Blocks::mixed(shares).unwrap(), ..closed() });
    let mut large = 0;
    for _ in 0..40_000 {
        let draft = draw(&mut stream);
        assert_eq!(draft.at % draft.len, 0);
        assert!(draft.at + draft.len <= TARGET.0);
        large += u64::from(draft.len == 65_536);
    }
    // A quarter of 40 000 with deviation √(40 000 × 1/4 × 3/4) = 87.
    assert!(large.abs_diff(10_000) < 5 * 87, "{large}");
}

#[test]
fn sequential_lanes_start_at_their_parts_and_go_around() {
    let spec = Spec { pattern: Pattern::Sequential, connections: 4, ..closed() };
    for lane in 0..4u64 {
        let mut stream = Stream::new(&spec, TARGET, lane as u32, Time::ZERO).unwrap();
        // 256 blocks in four parts of 64.
        for k in 0..600 {
            assert_eq!(draw(&mut stream).at / 4096, (lane * 64 + k) % 256);
        }
    }
}

#[test]
fn sequential_sizes_that_do_not_fit_before_the_end_begin_again() {
    // 20 KiB hold two blocks of 8 KiB; the rest of 4 KiB is left out.
    let range = Range { offset: Bytes::kib(4), size: Some(Bytes::kib(20)) };
    let blocks = Blocks::of(Bytes::kib(8));
    let mut stream = stream(&Spec { pattern: Pattern::Sequential, range, blocks, ..closed() });
    let at: Vec<_> = (0..5).map(|_| draw(&mut stream).at >> 10).collect();
    assert_eq!(at, [4, 12, 4, 12, 4]);
}

#[test]
fn a_number_of_requests_is_shared_by_the_connections() {
    let spec = Spec { connections: 3, requests: Some(10), arrival: Arrival::Closed { depth: 64 }, ..closed() };
    let made: Vec<_> = (0..4)
        .map(|lane| burst(&mut Stream::new(&spec, TARGET, lane, Time::ZERO).unwrap(), Time::ZERO))
        .map(|(drafts, then)| (drafts.len(), then))
        .collect();
    assert_eq!(made, [(4, Next::Done), (3, Next::Done), (3, Next::Done), (0, Next::Done)]);
}

#[test]
fn a_stopped_stream_is_done_for_good() {
    let mut stream = stream(&closed());
    assert!(matches!(stream.next(Time::ZERO), Next::Issue(_)));
    stream.stop();
    assert_eq!((stream.next(Time::ZERO), stream.outstanding()), (Next::Done, 1));
    stream.reshape(ms(1), &Spec { connections: 2, ..closed() }).unwrap();
    assert_eq!(stream.next(ms(1)), Next::Done);
}

#[test]
fn a_lower_depth_is_reached_as_requests_end() {
    let mut stream = stream(&closed());
    assert_eq!(burst(&mut stream, Time::ZERO).0.len(), 4);
    stream.reshape(ms(1), &Spec { arrival: Arrival::Closed { depth: 2 }, ..closed() }).unwrap();
    for left in [3, 2] {
        stream.completed(ms(2));
        assert_eq!((stream.next(ms(2)), stream.outstanding()), (Next::WaitForCompletion, left));
    }
    stream.completed(ms(3));
    assert_eq!(burst(&mut stream, ms(3)).0.len(), 1);
    stream.reshape(ms(4), &Spec { arrival: Arrival::Closed { depth: 5 }, ..closed() }).unwrap();
    assert_eq!(burst(&mut stream, ms(4)).0.len(), 3);
}

#[test]
fn connections_that_a_phase_takes_away_end_and_come_back() {
    let two = Spec { connections: 2, ..closed() };
    let mut second = Stream::new(&two, TARGET, 1, Time::ZERO).unwrap();
    assert_eq!(burst(&mut second, Time::ZERO).0.len(), 4);
    second.reshape(ms(1), &closed()).unwrap();
    second.completed(ms(1));
    assert_eq!(second.next(ms(1)), Next::Done);
    second.reshape(ms(2), &two).unwrap();
    assert_eq!(burst(&mut second, ms(2)).0.len(), 1);
}

#[test]
fn a_new_rate_begins_at_once_without_catching_up() {
    // 1000/s: due at 0, 1, 2 … ms. At 10.5 ms all eleven are made; then 100/s: due 0, 10, 20 … ms
    // from there.
    let mut stream = stream(&open(1000, 64));
    let at = Time::from_nanos(10_500_000);
    assert_eq!(burst(&mut stream, at).0.len(), 11);
    stream.reshape(at, &open(100, 64)).unwrap();
    let (drafts, then) = burst(&mut stream, at);
    assert_eq!((drafts.len(), then), (1, Next::NotBefore(at + Span::from_millis(10))));
    let (drafts, then) = burst(&mut stream, at + Span::from_millis(25));
    assert_eq!((drafts.len(), then), (2, Next::NotBefore(at + Span::from_millis(30))));
}

#[test]
fn an_old_schedules_backlog_is_counted_and_not_made() {
    // Cap 1 and no completions: of 21 requests due by 20 ms one is made. The other 20 are dropped
    // by the new rate.
    let mut stream = stream(&open(1000, 1));
    let (drafts, then) = burst(&mut stream, ms(20));
    assert_eq!((drafts.len(), then), (1, Next::WaitForCompletion));
    assert_eq!(stream.overdue(ms(20)), 20);
    stream.reshape(ms(20), &open(10, 1)).unwrap();
    assert_eq!((stream.overdue(ms(20)), stream.unsent()), (1, 20), "the first of the new rate is due at once");
    stream.completed(ms(20));
    assert_eq!(burst(&mut stream, ms(20)).0.len(), 1);
    stream.completed(ms(20));
    assert_eq!(stream.next(ms(20)), Next::NotBefore(ms(120)));
}

#[test]
fn the_same_arrival_again_changes_nothing() {
    let mut stream = stream(&open(1000, 1));
    assert!(matches!(stream.next(ms(5)), Next::Issue(_)));
    stream.reshape(ms(5), &Spec { read_percent: 0, ..open(1000, 2) }).unwrap();
    // Due at 1 ms by the old schedule, under the new cap of 2 and the new mix.
    let Next::Issue(draft) = stream.next(ms(5)) else { panic!("the backlog of the same rate stays") };
    assert_eq!((draft.due, draft.kind), (ms(1), OpKind::Write));
    assert_eq!(stream.unsent(), 0);
}

#[test]
fn a_stalled_target_makes_requests_late_and_their_due_times_stay() {
    // 1000/s, cap 4. The target stalls from the start until 500 ms, then each request ends at once.
    let mut stream = stream(&open(1000, 4));
    let (mut made, mut met) = (Vec::new(), Vec::new());
    for now in 1..=600 {
        let now = ms(now);
        let (drafts, _) = burst(&mut stream, now);
        met.push(stream.cap_met());
        made.extend(drafts.into_iter().map(|draft| (draft.due, now)));
        while now >= ms(500) && stream.outstanding() > 0 {
            (0..stream.outstanding()).for_each(|_| stream.completed(now));
            made.extend(burst(&mut stream, now).0.into_iter().map(|draft| (draft.due, now)));
        }
    }
    // Every request of the schedule was made with its original due time.
    let due: Vec<_> = made.iter().map(|&(due, _)| due).collect();
    assert_eq!(due, (0..=600).map(ms).collect::<Vec<_>>());
    let met_at = |at: Time| met[(at.as_nanos() / 1_000_000) as usize - 1];
    // The cap was reached until the backlog was made. From then on each request completed before
    // the next was due.
    assert!(met_at(ms(400)) && met_at(ms(500)) && !met_at(ms(501)) && !met_at(ms(600)));
    assert!(!stream.cap_met());
}

#[test]
fn an_open_loop_waits_for_what_is_due_and_not_for_completions() {
    let mut stream = stream(&open(1000, 4));
    let (drafts, then) = burst(&mut stream, Time::ZERO);
    assert_eq!((drafts.len(), then), (1, Next::NotBefore(ms(1))));
    assert_eq!(burst(&mut stream, ms(10)).1, Next::WaitForCompletion);
    stream.completed(ms(10));
    let Next::Issue(draft) = stream.next(ms(10)) else { panic!("one has ended, so the fifth can be made") };
    assert_eq!(draft.due, ms(4));
}

#[test]
fn a_specification_that_cannot_run_makes_no_stream() {
    let refused = |spec: Spec| Stream::new(&spec, TARGET, 0, Time::ZERO).unwrap_err();
    assert_eq!(refused(Spec { arrival: Arrival::Closed { depth: 0 }, ..closed() }), SpecError::Depth(0));
    assert_eq!(refused(open(0, 1)), SpecError::Rate(Iops(0)));
    let mut stream = stream(&closed());
    let beyond = Range { offset: TARGET, size: None };
    let error = SpecError::OffsetBeyond { offset: TARGET, target: TARGET };
    assert_eq!(stream.reshape(ms(1), &Spec { range: beyond, ..closed() }), Err(error));
    assert!(matches!(stream.next(ms(1)), Next::Issue(_)), "a refused shape leaves the old one");
}

/// Any load that can run on the target.
fn any_spec() -> impl Strategy<Value = Spec> {
    let arrival = prop_oneof![
        (1u32..70).prop_map(|depth| Arrival::Closed { depth }),
        (1u64..5_000_000, any::<bool>(), 1u32..70).prop_map(|(rate, poisson, outstanding)| Arrival::Open {
            rate: Iops(rate),
            spacing: if poisson { Spacing::Poisson } else { Spacing::Uniform },
            outstanding,
        }),
    ];
    let blocks = proptest::collection::vec((9u32..15, 1u32..9), 1..4).prop_map(|shares| {
        let share = |(shift, weight)| BlockShare { size: Bytes(1u64 << shift), weight };
        Blocks::mixed(shares.into_iter().map(share).collect()).unwrap()
    });
    let range = (0u64..1000, 32u64..1048)
        .prop_map(|(offset, size)| Range { offset: Bytes(offset * 512), size: Some(Bytes(size * 512)) });
    (any::<bool>(), 0u32..=100, blocks, range, arrival, 1u32..5, any::<u64>()).prop_map(
        |(random, read_percent, blocks, range, arrival, connections, seed)| Spec {
            pattern: if random { Pattern::Random } else { Pattern::Sequential },
            read_percent,
            flush_every: None,
            pace: None,
            blocks,
            range,
            arrival,
            connections,
            requests: None,
            seed,
        },
    )
}

proptest! {
    /// Whatever happens (completions, reshapes, time passing), every request is within the current
    /// range, on its blocks, not made before it is due, and the cap on outstanding requests holds.
    #[test]
    fn requests_stay_within_their_bounds(
        specs in proptest::collection::vec(any_spec(), 1..4),
        steps in proptest::collection::vec((0u64..2_000_000, 0u32..9, 0u32..20), 1..200),
    ) {
        let (mut now, mut shape) = (Time::ZERO, 0);
        let mut stream = Stream::new(&specs[0], TARGET, 0, now).unwrap();
        for (nanos, ended, dice) in steps {
            now += Span::from_nanos(nanos);
            for _ in 0..ended.min(stream.outstanding()) {
                stream.completed(now);
            }
            if dice == 0 {
                shape = (shape + 1) % specs.len();
                stream.reshape(now, &specs[shape]).unwrap();
            }
            let spec = &specs[shape];
            let most = match spec.arrival {
                Arrival::Closed { depth } => depth,
                Arrival::Open { outstanding, .. } => outstanding,
            };
            let (start, end) = (spec.range.offset.0, spec.range.offset.0 + spec.range.size.unwrap().0);
            loop {
                match stream.next(now) {
                    Next::Issue(draft) => {
                        prop_assert!(draft.due <= now);
                        prop_assert!(stream.outstanding() <= most);
                        prop_assert!(start <= draft.at && draft.at + draft.len <= end);
                        prop_assert!(spec.blocks.shares().iter().any(|share| share.size.0 == draft.len));
                        let on_block = (draft.at - start) % draft.len == 0;
                        prop_assert!(on_block || spec.pattern == Pattern::Sequential);
                    }
                    Next::NotBefore(due) => { prop_assert!(due > now); break }
                    Next::WaitForCompletion => { prop_assert!(stream.outstanding() >= most); break }
                    Next::Done => prop_assert!(false, "nothing ended this stream"),
                }
            }
        }
    }

    /// Over all connections exactly ⌊rate × t⌋ + 1 requests are made within t if nothing holds them
    /// back, none of them early.
    #[test]
    fn an_open_loop_makes_what_the_rate_says(
        rate in 1u64..1_000_000, connections in 1u32..5, steps in proptest::collection::vec(0u64..3_000_000, 1..30),
    ) {
        let spec = Spec { connections, ..open(rate, 1) };
        let mut made = 0;
        let mut end = Time::ZERO;
        for lane in 0..connections {
            let mut stream = Stream::new(&spec, TARGET, lane, Time::ZERO).unwrap();
            end = Time::ZERO;
            for &step in &steps {
                end += Span::from_nanos(step);
                while let Next::Issue(draft) = stream.next(end) {
                    prop_assert!(draft.due <= end);
                    stream.completed(end);
                    made += 1;
                }
            }
            prop_assert_eq!(stream.overdue(end), 0);
        }
        let expected = (u128::from(rate) * u128::from(end.as_nanos()) / 1_000_000_000) as u64 + 1;
        prop_assert_eq!(made, expected);
    }
}

/// A client with a pace of 1000 a second keeps to it even if its requests complete at once. A phase
/// with another pace starts anew, and an open loop has its rate instead.
#[test]
fn a_paced_client_makes_no_more_than_it_can() {
    let at = |us: u64| Time::ZERO + Span::from_micros(us);
    let paced = |pace: u64| Spec { pace: Some(Iops(pace)), ..closed() };
    let mut stream = Stream::new(&paced(1000), Bytes::gib(1), 0, at(0)).unwrap();
    for ms in 0..50 {
        assert!(matches!(stream.next(at(ms * 1000)), Next::Issue(_)), "{ms} ms");
        stream.completed(at(ms * 1000));
        assert_eq!(stream.next(at(ms * 1000)), Next::NotBefore(at(ms * 1000 + 1000)));
    }
    stream.reshape(at(50_000), &paced(10)).unwrap();
    assert!(matches!(stream.next(at(50_000)), Next::Issue(_)));
    assert_eq!(stream.next(at(50_000)), Next::NotBefore(at(150_000)));
    stream.reshape(at(50_000), &closed()).unwrap();
    assert!(matches!(stream.next(at(50_000)), Next::Issue(_)), "no pace, no wait");
    let errors = Spec { pace: Some(Iops(0)), ..closed() }.check(Bytes::gib(1)).unwrap_err();
    assert_eq!(
        errors.to_string(),
        "pace: must be from 1 to 100000000, got 0; it counts requests a second of each connection"
    );
}
