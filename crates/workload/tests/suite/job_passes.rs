//! Passes of a job: how they follow each other, and where each goes on.

use super::job_stream::{REGION, all, spec};
use block::{Bytes, Time};
use proptest::prelude::*;
use workload::job::*;

#[test]
fn loops_repeat_and_a_time_based_job_goes_on() {
    assert_eq!(all(&spec(|spec| spec.ending.loops = 3), &[REGION], 5000).len(), 768);
    let endless = spec(|spec| {
        spec.ending.time_based = true;
        spec.ending.runtime = Some(block::Span::SECOND);
    });
    assert_eq!(all(&endless, &[REGION], 5000).len(), 5000);
}

/// The blocks of 4 KiB that a job asks for in a region of `len` bytes, at most `most`.
fn blocks(spec: &JobSpec, len: u64, most: usize) -> Vec<u64> {
    all(spec, &[Region { start: 0, len, beyond: 0 }], most).iter().map(|draft| draft.at >> 12).collect()
}

/// A pass that ends by bytes or requests, before the region does, is followed by one that goes on
/// behind it; at the region's end the way begins anew, within a pass too. fio 3.33 read blocks 0 to
/// 15 and 0 to 4 with `size=64k loops=3` and `number_ios=7` or `io_size=28k`, and each of 256
/// random blocks with `size=1m loops=3 number_ios=100`.
#[test]
fn a_pass_goes_on_where_the_one_before_stopped() {
    let requests = |spec: &mut JobSpec| spec.ending.requests = Some(7);
    let amount = |spec: &mut JobSpec| spec.ending.amount = Some(Amount::Bytes(Bytes::kib(28)));
    let expected: Vec<u64> = (0..16).chain(0..5).collect();
    for ends in [requests, amount] {
        let three = spec(|spec| {
            ends(spec);
            spec.ending.loops = 3;
        });
        assert_eq!(blocks(&three, 64 << 10, 100), expected);
        let endless = spec(|spec| {
            ends(spec);
            (spec.ending.time_based, spec.ending.runtime) = (true, Some(block::Span::SECOND));
        });
        assert_eq!(blocks(&endless, 64 << 10, 21), expected);
    }
    let random = spec(|spec| {
        spec.reach.order = Order::RANDOM;
        (spec.ending.requests, spec.ending.loops) = (Some(100), 3);
    });
    let mut places = blocks(&random, 1 << 20, 1000);
    assert_eq!(places.len(), 300);
    places.truncate(256);
    places.sort_unstable();
    assert_eq!(places, (0..256).collect::<Vec<_>>());
}

/// Reads and writes go in order each on their own, so a pass of the region's bytes has about half
/// of its blocks of each, and the next has the other half.
#[test]
fn passes_of_a_mix_in_order_come_to_the_end() {
    let mix = spec(|spec| {
        spec.reach.mix = Mix::ReadWrite { read_percent: 50 };
        spec.ending.loops = 2;
    });
    let places = blocks(&mix, 1 << 20, 1000);
    assert_eq!(places.len(), 512);
    // 256 ± 11 of each direction.
    assert!(places.iter().any(|block| *block > 200));
}

#[test]
fn a_pass_through_new_files_begins_at_their_start() {
    let renewed = spec(|spec| {
        (spec.ending.requests, spec.ending.loops, spec.layout.renew) = (Some(7), 2, true);
    });
    let mut stream = JobStream::new(&renewed, &[REGION], Time::ZERO);
    for pass in [1, 2] {
        for block in 0..7 {
            let JobNext::Issue(draft) = stream.next(Time::ZERO) else { panic!("pass {pass}, block {block}") };
            assert_eq!(draft.at, REGION.start + block * 4096);
        }
        assert_eq!(stream.next_pass(), pass == 1);
    }
}

proptest! {
    /// Whatever the sizes and the order: requests stay inside their regions. If each block is
    /// visited once, no byte is repeated and all whole blocks are visited.
    #[test]
    fn requests_stay_inside_and_cover(
        seed: u64, len in 16_384u64..600_000, least in 1u32..4, factor in 1u32..5, random: bool, files in 1usize..4,
    ) {
        let (least, most) = (least * 512, least * 512 * factor);
        let spec = JobSpec {
            seed,
            reach: Reach {
                order: if random { Order::RANDOM } else { Order::Sequential { hole: 0 } },
                blocks: PerDirection::all(BlockSizes::Range { least, most, step: least }),
                ..Reach::default()
            },
            ..JobSpec::default()
        };
        let regions: Vec<Region> = (0..files as u64).map(|file| Region { start: file * 4096, len: len + file, beyond: 0 }).collect();
        let drafts = all(&spec, &regions, 1 << 20);
        let mut covered: Vec<Vec<(u64, u64)>> = vec![Vec::new(); files];
        for draft in &drafts {
            let region = regions[draft.file as usize];
            prop_assert!(draft.at >= region.start && draft.at + u64::from(draft.len) <= region.start + region.len);
            prop_assert!(draft.len > 0);
            covered[draft.file as usize].push((draft.at, u64::from(draft.len)));
        }
        for (file, ranges) in covered.iter_mut().enumerate() {
            ranges.sort_unstable();
            prop_assert!(ranges.windows(2).all(|pair| pair[0].0 + pair[0].1 <= pair[1].0), "twice");
            let bytes: u64 = ranges.iter().map(|range| range.1).sum();
            prop_assert_eq!(bytes, regions[file].len / u64::from(least) * u64::from(least));
        }
    }

    /// Every distribution stays inside, even if the length is not a multiple of the alignment.
    #[test]
    fn distributions_stay_inside(seed: u64, which in 0usize..6, len in 70_000u64..1 << 30) {
        let zone = |access_percent, percent| Zone { access_percent, length: Amount::Percent(percent) };
        let distribution = [
            Distribution::Zipf { theta: 1.2, center: None },
            Distribution::Zipf { theta: 0.9, center: Some(0.7) },
            Distribution::Pareto { h: 0.9, center: None },
            Distribution::Normal { width_percent: 20.0, center: None },
            Distribution::Zoned(vec![zone(60, 10), zone(30, 20), zone(10, 70)]),
            Distribution::Uniform,
        ][which].clone();
        let spec = JobSpec {
            seed,
            reach: Reach {
                order: Order::RANDOM,
                distribution: PerDirection::all(distribution),
                coverage: BlockCoverage::Free,
                blocks: PerDirection::all(BlockSizes::Range { least: 4096, most: 65536, step: 4096 }),
                ..Reach::default()
            },
            ..JobSpec::default()
        };
        for draft in all(&spec, &[Region { start: 0, len, beyond: 0 }], 500) {
            prop_assert!(draft.at % 4096 == 0 && draft.at + u64::from(draft.len) <= len, "{:?}", draft);
        }
    }
}
