//! The requests of a job's stream, seen from outside.

use block::{Bytes, Iops, Time};
use workload::Spacing;
use workload::job::*;

pub(crate) const REGION: Region = Region { start: 4096, len: 1 << 20, beyond: 0 };

pub(crate) fn spec(change: impl FnOnce(&mut JobSpec)) -> JobSpec {
    let mut spec = JobSpec { seed: 11, ..JobSpec::default() };
    change(&mut spec);
    spec
}

/// All requests until the stream stops, at most `most`.
pub(crate) fn all(spec: &JobSpec, regions: &[Region], most: usize) -> Vec<JobDraft> {
    let mut stream = JobStream::new(spec, regions, Time::ZERO);
    let next = || match stream.next(Time::ZERO) {
        JobNext::Issue(draft) => Some(draft),
        _ => None,
    };
    std::iter::from_fn(next).take(most).collect()
}

/// The first bytes of all requests of a job.
pub(crate) fn blocks_of(spec: &JobSpec, region: Region) -> Vec<u64> {
    all(spec, &[region], 1000).iter().map(|draft| draft.at).collect()
}

#[test]
fn a_sequential_job_goes_through_its_region_once() {
    let drafts = all(&spec(|_| ()), &[REGION], 1000);
    let expected: Vec<u64> = (0..256).map(|block| 4096 + block * 4096).collect();
    assert_eq!(drafts.iter().map(|draft| draft.at).collect::<Vec<_>>(), expected);
}

#[test]
fn a_hole_is_left_out_and_a_negative_one_goes_backwards() {
    let ahead = spec(|spec| spec.reach.order = Order::Sequential { hole: 4096 });
    let places: Vec<u64> = all(&ahead, &[REGION], 3).iter().map(|draft| draft.at - 4096).collect();
    assert_eq!(places, [0, 8192, 16384]);
    // 4 KiB forward by the request, 8 KiB back: each is before the last. The first is at the start
    // of a file, or near the end of a region within it, as in fio.
    let back = spec(|spec| spec.reach.order = Order::Sequential { hole: -8192 });
    let end = 1 << 20;
    for (start, [first, second, third, last]) in
        [(0, [0, end - 8192, end - 12288, 0]), (4096, [end - 12288, end - 16384, end - 20480, end - 12288])]
    {
        let region = Region { start, ..REGION };
        let places: Vec<u64> = all(&back, &[region], 1000).iter().map(|draft| draft.at - start).collect();
        assert_eq!(places.len(), 256);
        assert_eq!([places[0], places[1], places[2], places[255]], [first, second, third, last]);
    }
}

/// The region's size in KiB, and where fio 3.33 read with an `io_size` of 4 MiB: the number of 4
/// KiB blocks in each stretch of 64 KiB. Without an `io_size` fio ends at a last piece that the
/// file's end cuts short.
#[test]
fn the_last_piece_may_be_cut_short_as_in_fio() {
    for (size, last) in [(1024, 16), (1000, 10), (984, 6)] {
        let spec = spec(|spec| {
            spec.reach.strides = Some(Strides { range: 128 << 10, bytes: 64 << 10, skip: 64 << 10 });
            spec.ending.amount = Some(Amount::Bytes(Bytes::mib(4)));
        });
        let mut found: Vec<(u64, u32)> = Vec::new();
        for draft in all(&spec, &[Region { start: 0, len: size << 10, beyond: 0 }], 110) {
            match found.last_mut() {
                Some((stretch, blocks)) if *stretch == draft.at >> 16 => *blocks += 1,
                _ => found.push((draft.at >> 16, 1)),
            }
        }
        assert_eq!(found[..7], [(0, 16), (3, 16), (6, 16), (9, 16), (12, 16), (15, last), (0, found[6].1)], "{size}");
        let once = JobSpec { ending: Ending::default(), ..spec };
        // A whole last piece is followed by the first one, until the region's bytes were read.
        let blocks = if last == 16 { 256 } else { 80 + last };
        assert_eq!(blocks_of(&once, Region { len: size << 10, ..Region::default() }).len(), blocks as usize, "{size}");
    }
}

/// Pieces of 16 KiB, 16 KiB apart, in blocks of 4 KiB, as fio 3.33 wrote them. They go on behind
/// the region in a longer file. A hole may lead out of a piece, and one that leads out of the file
/// ends the job.
#[test]
fn pieces_and_holes_as_in_fio() {
    let spec = |hole: i64, bytes: u64, skip: u64| {
        spec(|spec| {
            spec.reach.order = Order::Sequential { hole: hole << 10 };
            spec.reach.strides = Some(Strides { range: 16 << 10, bytes: bytes << 10, skip: skip << 10 });
        })
    };
    let region = Region { len: 64 << 10, ..Region::default() };
    let longer = Region { beyond: 64 << 10, ..region };
    let from_16 = Region { start: 16 << 10, beyond: 48 << 10, ..region };
    for (spec, region, expected) in [
        (spec(0, 16, 16), longer, vec![0, 4, 8, 12, 32, 36, 40, 44, 64, 68, 72, 76, 96, 100, 104, 108]),
        (spec(0, 16, 20), from_16, vec![16, 20, 24, 28, 52, 56, 60, 64, 88, 92, 96, 100, 124]),
        (spec(4, 16, 16), region, vec![0, 8, 16, 0, 32, 40, 48, 32, 0, 8, 16, 0, 32, 40, 48, 32]),
        (spec(12, 8, 8), region, vec![0, 16, 24, 40, 48]),
    ] {
        let places: Vec<u64> = blocks_of(&spec, region).iter().map(|at| at >> 10).collect();
        assert_eq!(places, expected);
    }
}

/// With a check of what was written, a pass ends at the end of the region, and passes follow until
/// the bytes written and read back are those of the region, or `io_size`, as in fio 3.33. Holes of
/// 12 KiB in 64 KiB from 16 KiB on make passes of 16 KiB.
#[test]
fn reading_back_counts_as_in_fio() {
    for (hole, amount, passes) in
        [(12, None, 2), (12, Some(128), 4), (4, None, 1), (4, Some(128), 2), (0, Some(128), 1), (0, Some(32), 1)]
    {
        let spec = spec(|spec| {
            spec.reach.mix = Mix::Only(Direction::Write);
            spec.reach.order = Order::Sequential { hole: hole << 10 };
            spec.ending.amount = amount.map(|kib| Amount::Bytes(Bytes::kib(kib)));
            spec.verify = Some(Verify::default());
        });
        let region = Region { start: 16 << 10, len: 64 << 10, beyond: 0 };
        let mut stream = JobStream::new(&spec, &[region], Time::ZERO);
        let (mut found, mut written) = (1, 0);
        loop {
            match stream.next(Time::ZERO) {
                JobNext::Issue(draft) => written += u64::from(draft.len),
                JobNext::PassOver => {
                    stream.count_read_back(std::mem::take(&mut written));
                    if !stream.next_pass() {
                        break;
                    }
                    found += 1;
                }
                JobNext::Done => break,
                next => panic!("{next:?}"),
            }
        }
        assert_eq!(found, passes, "hole {hole}, amount {amount:?}");
    }
}

/// The file's size, the region's start and length, the hole (all in KiB), and where fio 3.33 read
/// in blocks of 4 KiB. A hole that leads beyond the end wraps until as many bytes were read as the
/// region has; a request at the end of the file, or of a region before it, ends the job.
#[test]
fn holes_go_around_the_end_as_in_fio() {
    let again = |places: &[u64], requests: usize| places.iter().copied().cycle().take(requests).collect::<Vec<u64>>();
    for (file, start, len, hole, expected) in [
        (64, 0, 64, 8, vec![0, 12, 24, 36, 48, 60]),
        (64, 0, 60, 8, vec![0, 12, 24, 36, 48]),
        (64, 16, 48, 8, vec![16, 28, 40, 52]),
        (128, 0, 64, 8, vec![0, 12, 24, 36, 48, 60]),
        (64, 0, 64, 12, again(&[0, 16, 32, 48], 16)),
        (64, 0, 64, 20, again(&[0, 24, 48], 16)),
        (64, 0, 60, 12, again(&[0, 16, 32, 48], 15)),
        (80, 16, 64, 100, [vec![16], vec![32; 15]].concat()),
        (64, 0, 64, 4, again(&[0, 8, 16, 24, 32, 40, 48, 56], 16)),
        (64, 0, 32, -12, vec![0, 20, 12, 4, 20, 12, 4, 20]),
        (64, 32, 32, -8, vec![32, 56, 52, 48, 44, 40, 36, 32]),
        (96, 64, 32, -8, vec![88, 84, 80, 76, 72, 68, 64, 88]),
    ] {
        let spec = spec(|spec| spec.reach.order = Order::Sequential { hole: hole * 1024 });
        let region = Region { start: start << 10, len: len << 10, beyond: (file - start - len) << 10 };
        let places: Vec<u64> = all(&spec, &[region], 100).iter().map(|draft| draft.at >> 10).collect();
        assert_eq!(places, expected, "file {file}, {len} from {start}, hole {hole}");
    }
}

#[test]
fn a_random_job_visits_each_block_once_and_then_begins_anew_if_told_to() {
    let once = spec(|spec| spec.reach.order = Order::RANDOM);
    let mut places: Vec<u64> = all(&once, &[REGION], 1000).iter().map(|draft| draft.at).collect();
    assert_ne!(places[..16], (0..16).map(|block| 4096 + block * 4096).collect::<Vec<_>>()[..]);
    places.sort_unstable();
    assert_eq!(places, (0..256).map(|block| 4096 + block * 4096).collect::<Vec<_>>());
    let twice = spec(|spec| {
        spec.reach.order = Order::RANDOM;
        spec.ending.amount = Some(Amount::Bytes(Bytes::mib(2)));
    });
    assert_eq!(all(&twice, &[REGION], 1000).len(), 512);
}

#[test]
fn runs_follow_a_random_place() {
    let runs = spec(|spec| {
        spec.reach.order = Order::Random { run: 8, same: false };
        spec.reach.coverage = BlockCoverage::Free;
    });
    for run in all(&runs, &[REGION], 1000).chunks(8) {
        for pair in run.windows(2) {
            assert!(pair[1].at == pair[0].at + 4096 || pair[0].at + 8192 > REGION.start + REGION.len, "{run:?}");
        }
    }
    let same = spec(|spec| spec.reach.order = Order::Random { run: 4, same: true });
    assert!(all(&same, &[REGION], 64).chunks(4).all(|run| run.iter().all(|draft| draft.at == run[0].at)));
}

/// Runs begin at any block, each at another one, and overlap. A block is left out if none of 64
/// runs begins at it or at one of the three before it: 256 × (1 − 0.75⁴) = 175 are visited; fio
/// 3.33 had 165.
#[test]
fn runs_begin_at_any_block_and_overlap() {
    let runs = spec(|spec| spec.reach.order = Order::Random { run: 4, same: false });
    let drafts = all(&runs, &[REGION], 1000);
    assert_eq!(drafts.len(), 256, "a pass has as many bytes as the region");
    let mut blocks: Vec<u64> = drafts.iter().map(|draft| (draft.at - REGION.start) / 4096).collect();
    let begins = drafts.iter().step_by(4).map(|draft| (draft.at - REGION.start) / 4096);
    let begins: std::collections::BTreeSet<u64> = begins.collect();
    assert_eq!(begins.len(), 64);
    assert!(begins.iter().any(|block| block % 4 != 0), "{begins:?}");
    blocks.sort_unstable();
    blocks.dedup();
    assert!((150..200).contains(&blocks.len()), "{}", blocks.len());
}

/// Where most requests go is drawn from the seed, for blocks and for files; a centre is a given
/// place.
#[test]
fn the_hottest_place_depends_on_the_seed() {
    let hottest = |seed: u64, change: &dyn Fn(&mut JobSpec), of: &dyn Fn(&JobDraft) -> u64| {
        let mut spec = spec(|spec| {
            spec.reach.order = Order::RANDOM;
            spec.reach.coverage = BlockCoverage::Free;
            spec.ending.requests = Some(2000);
            spec.ending.amount = Some(Amount::Bytes(Bytes::gib(1)));
        });
        change(&mut spec);
        spec.seed = seed;
        let mut counts = std::collections::BTreeMap::new();
        all(&spec, &[REGION; 16], 2000).iter().for_each(|draft| *counts.entry(of(draft)).or_insert(0) += 1);
        counts.into_iter().max_by_key(|(_, count)| *count).unwrap()
    };
    let zipf = |center| {
        move |spec: &mut JobSpec| {
            spec.reach.distribution = PerDirection::all(Distribution::Zipf { theta: 1.2, center });
            spec.file_order = FileOrder { turns: Turns::Sequential, requests_each: 1 };
        }
    };
    let block = |draft: &JobDraft| (draft.at - REGION.start) / 4096;
    let places =
        |center| (0..8).map(|seed| hottest(seed, &zipf(center), &block).0).collect::<std::collections::BTreeSet<_>>();
    assert!(places(None).len() >= 6, "{:?}", places(None));
    assert_eq!(places(Some(0.5)).into_iter().collect::<Vec<_>>(), [128]);
    // 16 files of 1024 places: the first 1024 ranks have 98 % of the weight, in one file or, if
    // they begin within it, in two; fio 3.33 gave the hottest file 193 of 200.
    let files = |spec: &mut JobSpec| {
        spec.file_order = FileOrder { turns: Turns::Zipf { theta: 1.5 }, requests_each: 1 };
    };
    let hot: Vec<(u64, i32)> = (0..8).map(|seed| hottest(seed, &files, &|draft| u64::from(draft.file))).collect();
    assert!(hot.iter().filter(|(_, count)| *count > 1700).count() >= 6, "{hot:?}");
    assert!(hot.iter().map(|(file, _)| file).collect::<std::collections::BTreeSet<_>>().len() >= 4, "{hot:?}");
}

#[test]
fn a_mix_has_its_share_of_reads() {
    let mix = spec(|spec| {
        spec.reach.mix = Mix::ReadWrite { read_percent: 70 };
        spec.reach.order = Order::RANDOM;
        spec.reach.coverage = BlockCoverage::Free;
        spec.ending.requests = Some(100_000);
        spec.ending.amount = Some(Amount::Bytes(Bytes::gib(1)));
    });
    // 70 000 of 100 000 with a deviation of √(100 000 × 0.7 × 0.3) = 145; five of them.
    let reads = all(&mix, &[REGION], 200_000).iter().filter(|draft| draft.direction == Direction::Read).count();
    assert!(reads.abs_diff(70_000) < 725, "{reads}");
}

#[test]
fn sizes_keep_their_shares() {
    let split = spec(|spec| {
        let share = |size, weight| SplitShare { size, weight };
        spec.reach.blocks =
            PerDirection::all(BlockSizes::Split(vec![share(4096, 10), share(65536, 50), share(32768, 40)]));
        spec.reach.order = Order::RANDOM;
        spec.reach.coverage = BlockCoverage::Free;
        spec.ending.requests = Some(10_000);
        spec.ending.amount = Some(Amount::Bytes(Bytes::gib(100)));
    });
    let drafts = all(&split, &[REGION], 20_000);
    for (size, expected) in [(4096, 1000), (65536, 5000), (32768, 4000)] {
        let count = drafts.iter().filter(|draft| draft.len == size).count();
        // The deviation is at most √(10 000 / 4) = 50; five of them.
        assert!(count.abs_diff(expected) < 250, "{size}: {count}");
    }
}

/// Reads of 4 KiB beside writes of 16: both keep whole blocks, as in fio, and each direction visits
/// a place once. 1 MiB is transferred. Half of the requests have four fifths of the bytes, so there
/// are some 51 of each.
#[test]
fn blocks_of_a_mix_stay_whole_where_their_sizes_differ() {
    let mix = spec(|spec| {
        spec.reach.mix = Mix::ReadWrite { read_percent: 50 };
        spec.reach.order = Order::RANDOM;
        spec.reach.blocks.write = BlockSizes::Fixed(16384);
    });
    let drafts = all(&mix, &[REGION], 1000);
    let moved: u64 = drafts.iter().map(|draft| u64::from(draft.len)).sum();
    assert!((1 << 20..(1 << 20) + 16384).contains(&moved), "{moved}");
    for (direction, len) in [(Direction::Read, 4096), (Direction::Write, 16384)] {
        let of_one: Vec<&JobDraft> = drafts.iter().filter(|draft| draft.direction == direction).collect();
        assert!(of_one.iter().all(|draft| draft.len == len && (draft.at - 4096).is_multiple_of(u64::from(len))));
        let places: std::collections::BTreeSet<u64> = of_one.iter().map(|draft| draft.at).collect();
        assert!(places.len() == of_one.len() && (35..=64).contains(&places.len()), "{direction:?}: {}", places.len());
    }
}

#[test]
fn a_trim_is_followed_by_a_write_of_the_same_place() {
    let both = spec(|spec| {
        spec.reach.mix = Mix::TrimThenWrite;
        spec.reach.order = Order::RANDOM;
    });
    let drafts = all(&both, &[REGION], 1000);
    assert_eq!(drafts.len(), 512);
    for pair in drafts.chunks(2) {
        assert_eq!((pair[0].direction, pair[1].direction), (Direction::Trim, Direction::Write));
        assert_eq!((pair[0].at, pair[0].len), (pair[1].at, pair[1].len));
    }
}

#[test]
fn files_take_turns_by_their_rule() {
    let regions = [Region { start: 0, len: 16384, beyond: 0 }; 3];
    let files = |turns, requests_each| {
        let spec = spec(|spec| spec.file_order = FileOrder { turns, requests_each });
        all(&spec, &regions, 100).iter().map(|draft| draft.file).collect::<Vec<_>>()
    };
    assert_eq!(files(Turns::Sequential, 1), [0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 2, 2]);
    assert_eq!(files(Turns::RoundRobin, 2)[..8], [0, 0, 1, 1, 2, 2, 0, 0]);
    assert_eq!(files(Turns::Random, 1).len(), 12, "every block of every file, whatever the order");
}

/// 1 and 3 blocks of four: weighted by size, every block of both files is requested equally often,
/// 2500 times of 10 000. The deviation is √(10 000 × 3 / 16) = 43; five of them.
#[test]
fn files_by_size_make_every_block_as_likely() {
    let regions = [4096, 3 * 4096].map(|len| Region { start: 4096, len, beyond: 0 });
    let spec = spec(|spec| {
        spec.file_order = FileOrder { turns: Turns::BySize, requests_each: 1 };
        spec.reach.order = Order::RANDOM;
        spec.reach.coverage = BlockCoverage::Free;
        spec.ending.requests = Some(10_000);
        spec.ending.amount = Some(Amount::Bytes(Bytes::gib(1)));
    });
    let drafts = all(&spec, &regions, 20_000);
    for (file, at) in [(0, 4096), (1, 4096), (1, 8192), (1, 12_288)] {
        let count = drafts.iter().filter(|draft| (draft.file, draft.at) == (file, at)).count();
        assert!(count.abs_diff(2500) < 215, "{file} {at}: {count}");
    }
    assert_eq!(drafts.len(), 10_000);
}

#[test]
fn a_rate_sets_when_requests_are_due() {
    let rated = spec(|spec| {
        spec.pacing.rate.read = Some(Pace::Iops(Iops(1000)));
        spec.pacing.spacing = Spacing::Uniform;
    });
    let mut stream = JobStream::new(&rated, &[REGION], Time::ZERO);
    let now = Time::from_nanos(2_500_000);
    let dues: Vec<u64> = std::iter::from_fn(|| match stream.next(now) {
        JobNext::Issue(draft) => Some(draft.due.as_nanos()),
        _ => None,
    })
    .collect();
    assert_eq!(dues, [0, 1_000_000, 2_000_000]);
    assert_eq!(stream.next(now), JobNext::NotBefore(Time::from_nanos(3_000_000)));
    // At 10 ms eleven are due, three of which were made.
    assert_eq!(stream.overdue(Time::from_nanos(10_000_000)), 8);
}

#[test]
fn a_recording_runs_again_at_its_times_or_at_once() {
    let us = block::Span::from_micros;
    let row = |at, ask, file, offset, len| ReplayRow { at: us(at), ask, file, offset, len };
    let rows = [
        row(0, ReplayAsk::Move(Direction::Read), 0, 0, 4096),
        row(1000, ReplayAsk::Move(Direction::Write), 1, 8192, 512),
        row(1000, ReplayAsk::Flush { whole: true }, 0, 0, 0),
        row(3000, ReplayAsk::Move(Direction::Trim), 0, 0, 4096),
    ];
    let replay = |at_once| Replay { rows: rows.into(), at_once };
    assert_eq!((replay(true).extent(1), replay(true).lengths(Direction::Read)), (8704, Some((4096, 4096))));
    let stream =
        |at_once| JobStream::new(&spec(|spec| spec.replay = Some(replay(at_once))), &[REGION, REGION], Time::ZERO);
    let at = |at| Time::ZERO + us(at);
    let mut own = stream(false);
    let first = JobDraft { direction: Direction::Read, file: 0, at: 0, len: 4096, due: at(0) };
    assert_eq!(own.next(at(5)), JobNext::Issue(first));
    assert_eq!(own.next(at(5)), JobNext::NotBefore(at(1000)));
    let second = JobDraft { direction: Direction::Write, file: 1, at: 8192, len: 512, due: at(1000) };
    assert_eq!(own.next(at(2000)), JobNext::Issue(second));
    assert_eq!(own.next(at(2000)), JobNext::Flush { file: 0, whole: true });
    assert_eq!((own.next(at(2000)), own.overdue(at(3000))), (JobNext::NotBefore(at(3000)), 1));
    assert!(matches!(own.next(at(3000)), JobNext::Issue(_)));
    assert_eq!(own.next(at(3000)), JobNext::Done);
    let mut at_once = stream(true);
    at_once.next(at(0));
    assert_eq!(at_once.next(at(7)), JobNext::Issue(JobDraft { due: at(7), ..second }));
}
