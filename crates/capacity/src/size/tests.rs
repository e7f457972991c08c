//! Sizing by hand, and who is chosen.

use super::*;
use array::{Controller, Link, Model, ParallelServers, ReadCache};
use block::Span;

fn candidate(name: &str, cores: u32) -> Candidate {
    let link = Link { bandwidth: Bytes(100_000_000_000), latency: Span::ZERO, flow: None, flows: 1 };
    let each = Span::from_micros(100);
    let controller = Controller { cores, read: each, write: each, ..Controller::default() };
    let media = ParallelServers { servers: 10_000, service: each, ..ParallelServers::default() };
    let stages = vec![ArrayStage::Link(link), ArrayStage::Controller(controller)];
    Candidate {
        name: name.into(),
        array: Array { stages, media: Box::new(Model::ParallelServers(media)) },
        price: None,
    }
}

fn need(iops: f64, instances: u32) -> Need {
    Need {
        iops,
        instances,
        most: 0.7,
        most_one_down: 1.0,
        response: [2e-3, 1e-3],
        growth: 0.25,
        years: 3,
        spread: None,
        constants: Constants::default(),
    }
}

/// 10 000 IOPS are 7500 reads and 2500 × 80 / 45 × (1 + 1/32) = 4583 writes of 100 us: 1.208
/// cores.
#[test]
fn utilisation_is_by_hand() {
    let found = &size(&need(10_000.0, 1), &[candidate("a", 4)])[0];
    let (resource, used) = found.all.fullest();
    assert_eq!(resource, "controller");
    assert!((used - 1.208_33 / 4.0).abs() < 1e-4, "{used}");
    assert!((found.one_down.fullest().1 / used - 2.0).abs() < 1e-6);
    // A load without bursts is limited only by the resource.
    let reads = Constants { read_percent: 99, ..Constants::default() };
    let found = &size(&Need { constants: reads, ..need(10_000.0, 1) }, &[candidate("a", 4)])[0];
    let used = found.all.fullest().1;
    assert_eq!((found.all.limit.as_str(), found.all.limit_used), ("controller", used));
    assert!((found.all.full_at - 10_000.0 / used).abs() < 1.0);
    assert!((found.years[1].used / used - 1.25).abs() < 1e-6 && found.years.len() == 4);
}

/// 10 000 IOPS at 80 s are a burst of 200 000 blocks. Large and small writes take 100 us in the
/// controller and 100 us in the media, and 7500 reads a second leave most of the four cores
/// free. So one stream of 32 blocks in 200 us does 160 000 blocks a second, and eight writers
/// 40 000.
#[test]
fn a_burst_is_by_hand() {
    let fast = candidate("fast", 1000);
    let found = &size(&need(10_000.0, 1), std::slice::from_ref(&fast))[0];
    assert!((found.all.cycle - (200.0 / 160.0 + 200.0 / 40.0)).abs() < 2e-2, "{}", found.all.cycle);
    // The controller is saturated at millions of IOPS, and bursts take 45 s at 72 000.
    assert_eq!(found.all.limit, WRITE_CYCLE);
    assert!((found.all.full_at - 72_000.0).abs() < 300.0, "{}", found.all.full_at);
    assert_eq!(choice(&need(10_000.0, 1), std::slice::from_ref(found)), Some(0));
    // Two instances have two streams and sixteen writers.
    let two = &size(&need(10_000.0, 2), std::slice::from_ref(&fast))[0];
    assert!((two.all.cycle / found.all.cycle - 1.0).abs() < 1e-2, "{}", two.all.cycle);
    let beyond = &size(&need(75_000.0, 1), &[fast])[0];
    assert_eq!(beyond.why_not.as_deref(), Some("a burst takes 47.0 s, at most 45 s"));
    assert!(choice(&need(75_000.0, 1), std::slice::from_ref(beyond)).is_none());
}

/// The smallest that carries it: two instances need the larger one, and none carries ten.
#[test]
fn the_smallest_that_carries_it_is_chosen() {
    let both = [candidate("small", 4), candidate("large", 16)];
    let chosen = |instances| {
        let need = need(15_000.0, instances);
        choice(&need, &size(&need, &both))
    };
    assert_eq!(chosen(1), Some(0));
    assert_eq!(chosen(3), Some(1));
    assert_eq!(chosen(20), None);
    let refused = size(&need(15_000.0, 20), &both);
    assert!(
        refused[0].why_not.as_deref().is_some_and(|why| why.starts_with("controller 906 % used")),
        "{:?}",
        refused[0].why_not
    );
}

/// The message names what is exhausted first, even if another limit is exceeded too.
#[test]
fn what_is_told_is_what_gives_out_first() {
    let both = |limit: &str| {
        let mut standing = size(&need(10_000.0, 1), &[candidate("one", 4)])[0].all.clone();
        (standing.limit, standing.cycle) = (limit.into(), 60.0);
        standing.means.used = vec![("controller".into(), 1.02)];
        beyond(&standing, 1.0, "", &need(10_000.0, 1))
    };
    assert_eq!(both(WRITE_CYCLE).as_deref(), Some("a burst takes 60.0 s, at most 45 s"));
    assert_eq!(both("controller").as_deref(), Some("controller 102 % used, at most 100 %"));
}

/// A limit that is broken by little is told with the digits that show it.
#[test]
fn what_is_just_beyond_is_seen_beyond() {
    assert_eq!([seconds_beside(45.02, 45.0), seconds_beside(47.04, 45.0)], ["45.02", "47.0"]);
    assert_eq!([whole_percent_beside(1.0004, 1.0), whole_percent_beside(1.02, 1.0)], ["100.04", "102"]);
    let array = candidate("cores", 4);
    let full_at = size(&need(1000.0, 1), std::slice::from_ref(&array))[0].all.full_at;
    let need = Need { most: 1.0, growth: 0.0, ..need(0.99 * full_at / 1.0, 1) };
    let text = size_text(&need, &size(&need, &[array]));
    assert!(!text.contains("1.0 times"), "{text}");
}

/// One core is one controller: nothing is left without it. Reads wait without end where a resource
/// is beyond its capacity.
#[test]
fn a_single_core_is_no_pair_of_controllers() {
    let single = candidate("single", 1);
    let need = Need { growth: 0.1, most: 1.0, ..need(2000.0, 1) };
    let sized = size(&need, std::slice::from_ref(&single));
    let text = size_text(&need, &sized);
    let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(text.contains("with one core it has no second controller."), "{text}");
    assert!(text.contains("array now year 1 year 2 year 3 single 24/– 27/–"), "{text}");
    let much = Need { iops: 20_000.0, ..need };
    let text = size_text(&much, &size(&much, &[single]));
    assert!(text.lines().any(|line| line.starts_with("single") && line.matches(" –").count() == 4), "{text}");
}

#[test]
fn years_beyond_the_scale_say_so() {
    let need = Need { growth: 9.0, ..need(10_000.0, 1) };
    let text = size_text(&need, &size(&need, &[candidate("grown", 100)]));
    assert!(text.lines().any(|line| line.starts_with("grown ") && line.contains("/>999")), "{text}");
    assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
}

/// Four instances of 1 TB are like one with four times the operations on 4 TB.
#[test]
fn several_instances_share_a_cache() {
    let mut array = candidate("cached", 4);
    let cache = ReadCache { size: Bytes(1_000_000_000_000), ..ReadCache::default() };
    array.array.stages.push(ArrayStage::Cache(cache));
    let full_at = |iops, instances, spread| {
        let need = Need { spread: Some(Bytes(spread)), ..need(iops, instances) };
        size(&need, std::slice::from_ref(&array))[0].all.means.used.clone()
    };
    assert_eq!(full_at(1000.0, 4, 1_000_000_000_000), full_at(4000.0, 1, 4_000_000_000_000));
}

#[test]
fn the_cheaper_of_two_is_chosen_where_prices_are_known() {
    let both = [
        Candidate { price: Some(9.0), ..candidate("small", 4) },
        Candidate { price: Some(5.0), ..candidate("large", 16) },
    ];
    let sized = size(&need(10_000.0, 2), &both);
    assert_eq!(choice(&need(10_000.0, 2), &sized).map(|index| sized[index].name.as_str()), Some("large"));
    let text = size_text(&need(10_000.0, 2), &sized);
    let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(text.contains("large carries it for 5. By means, what is used up first is: write cycle, at"), "{text}");
    assert!(text.contains("2 × large, 32 cores and 2 media, for 10."), "{text}");
    assert!(text.contains("16 cores fewer and 1 media fewer, and 5 less to pay."), "{text}");
}

/// What is used of a limit is the part of the load at which it is reached, for bursts too, whose
/// time grows faster near it; and where a core is full, it is the core that is told.
#[test]
fn what_is_used_says_how_near_the_limit_is() {
    for array in [candidate("controller", 4), candidate("write cycle", 1000)] {
        let at = |iops: f64| size(&need(iops / 2.0, 2), std::slice::from_ref(&array))[0].all.clone();
        let full_at = at(1000.0).full_at;
        for part in [0.1, 0.5, 0.95] {
            let standing = at(part * full_at);
            assert_eq!(standing.limit, array.name);
            assert!((standing.limit_used - part).abs() < 2e-3, "{}: {} of {part}", array.name, standing.limit_used);
        }
    }
}

/// Four cores carry 33 103 IOPS. With writes of 400 us a thousand write 64 000 blocks a second to
/// the journal and 16 000 to their places, in 15.6 s of 45 at 10 000 IOPS: nearer to its limit,
/// with hardly a core in use.
#[test]
fn the_nearest_to_its_limit_is_chosen_by_any_limit() {
    let mut late = candidate("late", 1000);
    if let ArrayStage::Controller(controller) = &mut late.array.stages[1] {
        controller.write = Span::from_micros(400);
    }
    let sized = size(&need(10_000.0, 1), &[candidate("busy", 4), late]);
    assert!(sized[1].all.fullest().1 < 0.1 && sized[0].all.fullest().1 > 0.25);
    assert_eq!(choice(&need(10_000.0, 1), &sized).map(|index| sized[index].name.as_str()), Some("late"));
}

const HOLDS: Played = Played { read: 1e-3, write: 1e-4, burst: Some(20.0) };

fn by_play(need: &Need, candidates: &[Candidate], play: impl Fn(&Play) -> Played) -> (Vec<Sized>, Vec<String>) {
    let mut sized = size(need, candidates);
    let mut names = Vec::new();
    let seen = played(need, candidates, &mut sized, |of| {
        names.push(format!("{} {} × {:.0}", of.name, of.instances, of.iops));
        Ok::<Played, String>(play(&of))
    });
    assert_eq!(seen, Ok(()));
    (sized, names)
}

/// The one that means choose is played, refused for its reads, and the next is played and holds. A
/// third is not asked.
#[test]
fn what_does_not_hold_as_played_is_not_chosen() {
    let all = [candidate("small", 4), candidate("middle", 6), candidate("large", 32)];
    let need = Need { growth: 0.0, ..need(10_000.0, 1) };
    let slow = |of: &Play| if of.name == "small" { Played { read: 5e-3, ..HOLDS } } else { HOLDS };
    let (sized, names) = by_play(&need, &all, slow);
    assert_eq!(names, ["small 1 × 10000", "middle 1 × 10000"]);
    assert_eq!(sized[0].why_not.as_deref(), Some("as played, a read takes 5.00 ms, at most 2.00 ms"));
    assert_eq!(choice(&need, &sized).map(|index| sized[index].name.as_str()), Some("middle"));
    let text = size_text(&need, &sized);
    assert!(text.contains("  no: as played, a read takes 5.00 ms, at most 2.00 ms\n"), "{text}");
    assert!(text.contains("  played: burst 20.0 s, read 1.00 ms, write 0.10 ms\n"), "{text}");
    let page = size_page(&need, &sized).render();
    assert!(page.contains("As played") && page.contains(">5.00</td>"), "both arrays have a row of their own");
    // Bursts that do not end, or too late.
    let (sized, _) = by_play(&need, &all[..1], |_| Played { read: 37.8, burst: None, ..HOLDS });
    let text = size_text(&need, &sized);
    assert!(text.contains("  played: burst – s, read – ms, write 0.10 ms\n"), "{text}");
    for (burst, why) in [(None, "more than 80 s"), (Some(50.0), "50.0 s")] {
        let (sized, _) = by_play(&need, &all[..1], |_| Played { burst, ..HOLDS });
        assert_eq!(sized[0].why_not, Some(format!("as played, a burst takes {why}, at most 45 s")));
        let page = size_page(&need, &sized).render();
        assert!(choice(&need, &sized).is_none() && page.contains("No array of these carries 10,000 IOPS."));
    }
    let (sized, _) = by_play(&need, &all[..1], |_| Played { burst: None, write: 0.0, ..HOLDS });
    let text = size_text(&need, &sized);
    assert!(text.contains("  played: burst – s, read 1.00 ms, write – ms\n"), "{text}");
}

/// 10 000 IOPS that grow by a quarter: means let the third year pass (19 531 of 23 172 are within
/// seven tenths of 33 103), played it holds up to the first.
#[test]
fn the_last_year_is_played() {
    let need = need(10_000.0, 1);
    let full = |of: &Play| Played { read: if of.iops > 13_000.0 { 3e-3 } else { 1e-3 }, ..HOLDS };
    let (sized, names) = by_play(&need, &[candidate("eight", 8)], full);
    let played = ["eight 1 × 10000", "eight 1 × 19531", "eight 1 × 15625", "eight 1 × 12500"];
    assert_eq!(names, played);
    assert_eq!(sized[0].years.iter().map(|year| year.carries).collect::<Vec<_>>(), [true, true, false, false]);
    assert!(size_text(&need, &sized).contains("It lasts for less than 2 years."));
}

/// Each instance alone is played apart from all together.
#[test]
fn instances_alone_are_played_too() {
    let need = Need { growth: 0.0, ..need(10_000.0, 2) };
    let (_, names) = by_play(&need, &[candidate("large", 16)], |_| HOLDS);
    assert_eq!(names, ["large 2 × 10000", "large 1 × 10000"]);
}

/// Eight disks do 1300 reads or writes a second by means, so that 5000 IOPS are refused by them;
/// what is played decides. Where a single read takes longer than it may nothing is played.
#[test]
fn disks_are_judged_by_what_is_played() {
    let mut disks = candidate("disks", 4);
    let raid = array::Raid { level: array::Level::Ten, members: 8, unit: Bytes::kib(64) };
    disks.array.stages.extend([ArrayStage::WriteLog(array::WriteLog::default()), ArrayStage::Raid(raid)]);
    disks.array.media = Box::new(Model::Disk(array::Disk::default()));
    let need = Need { growth: 0.0, response: [20e-3, 1e-3], ..need(5000.0, 1) };
    let by_means = &size(&need, std::slice::from_ref(&disks))[0];
    assert!(by_means.why_not.is_some());
    let (sized, names) = by_play(&need, std::slice::from_ref(&disks), |_| HOLDS);
    assert_eq!((sized[0].why_not.as_deref(), names.len()), (None, 2), "{names:?}");
    let text = size_text(&need, &sized);
    assert!(text.contains("disks carries it, as played"), "{text}");
    let (sized, names) = by_play(&Need { response: [2e-3, 1e-3], ..need }, &[disks], |_| HOLDS);
    let why = sized[0].why_not.as_deref().unwrap_or_default();
    assert!(names.is_empty() && why.ends_with("ms on the idle array, at most 2.00 ms"), "{why}");
}

/// What is played has no credit left, and caches that are full, or none where it is not known what
/// reads are spread over.
#[test]
fn what_is_played_counts_on_what_means_count_on() {
    let mut array = candidate("a", 4).array;
    array.stages.push(ArrayStage::Cache(ReadCache::default()));
    array.stages.push(ArrayStage::Credits(array::CloudVolume::default()));
    let kinds = |spread| {
        let need = Need { spread, ..need(1000.0, 1) };
        played::settled(&array, &need).stages
    };
    assert_eq!(kinds(None).len(), 3);
    let with = kinds(Some(Bytes::gib(100)));
    assert!(matches!(&with[2], ArrayStage::Cache(cache) if cache.warm));
    let spent = |of: &array::CloudVolume| of.operations.credit == 0 && of.operations.peak == of.operations.base;
    assert!(matches!(&with[3], ArrayStage::Credits(limits) if spent(limits)));
}

/// 75 000 IOPS on 5 TiB: 1.194 times of it by 5.498 TB are 16 295.4 IOPS/TB, rounded up.
#[test]
fn the_floor_leaves_bursts_their_time() {
    let need = Need { spread: Some(Bytes::gib(5 * 1024)), ..need(75_000.0, 1) };
    let text = size_text(&need, &size(&need, &[candidate("a", 4)]));
    assert!(text.contains("16296 IOPS/TB on 5.498 TB used, for bursts within 45.0 s"), "{text}");
    let page = size_page(&need, &size(&need, &[candidate("a", 4)])).render();
    for said in ["16296 IOPS/TB", "75,000", "5.498 TB", "at most 2.00 ms", "growth in a year", "30 %"] {
        assert!(page.contains(said), "{said}");
    }
}
