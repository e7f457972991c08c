//! What a point proves about itself: that its load was constant, that its requests were of the
//! right kind and evenly spread, and that they reached storage rather than a cache.
//!
//! By Little's law requests per second times their mean response time is the number in flight.
//! Requests in flight when measuring began or ended are counted with too much or too little of
//! their time, at most one response time for each request in flight: if the slowest one takes more
//! than half of the tolerance, a larger deviation says nothing.

use crate::grammar::{Load, Pattern};
use crate::jobs::{depth_of, writers};
use crate::ladder::LoadPoint;
use crate::point::{MeasuredPoint, lat, ops};
use report::text;
use stats::job::{DiskUse, JobOutcome};
use stats::{Direction, Outcome, Verdict};

/// Tolerance of Little's law, as a fraction.
const LITTLE: f64 = 0.02;
/// Tolerance of the share of writes, in standard deviations.
const SHARE_DEVIATIONS: f64 = 5.0;
/// From this fraction of the requested bytes on the device delivered all; below the other fraction
/// the rest came from a cache. Between the two the device's counters are not exact enough to say.
const DEVICE_LEAST: f64 = 0.98;
const CACHE_MOST: f64 = 0.95;
/// Above this fraction other programs used the device too.
const OTHERS: f64 = 1.05;

/// The properties that are checked of a point.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Question {
    /// The requested number of requests was in flight.
    Little,
    /// The requested share were writes.
    Writes,
    /// Offsets were spread evenly.
    Even,
    /// The device transferred the requested bytes.
    Device,
}

/// A result for a point.
#[derive(Clone, Debug, PartialEq)]
pub struct Proof {
    /// The property.
    pub question: Question,
    /// The point.
    pub spot: LoadPoint,
    /// The requests that it concerns: `small` or `large`; empty for both.
    pub load: &'static str,
    /// The outcome.
    pub outcome: Outcome,
    /// The deviation, in a unit that depends on the property: the larger, the worse.
    pub off: f64,
    /// The figures behind it.
    pub because: String,
}

impl Question {
    /// All of them.
    pub const ALL: [Question; 4] = [Question::Little, Question::Writes, Question::Even, Question::Device];

    /// The property as a question.
    pub fn words(self) -> &'static str {
        match self {
            Question::Little => "the load was outstanding all the time (Little's law within 2 %)",
            Question::Writes => "as many requests or streams wrote as asked",
            Question::Even => "offsets are spread as evenly as chance spreads them",
            Question::Device => "the devices moved what was asked, and no cache of this host",
        }
    }
}

/// The results for a point.
pub fn proofs(point: &MeasuredPoint, load: &Load) -> Vec<Proof> {
    let mut found = Vec::new();
    let mut add = |question, load, (outcome, off, because): Answer| {
        found.push(Proof { question, spot: point.spot, load, outcome, off, because });
    };
    let large = point.spot.large * depth_of(load.pattern);
    for (name, work, depth) in [("small", &point.small, point.spot.small), ("large", &point.large, large)] {
        let Some(work) = work else { continue };
        add(Question::Little, name, little(name, work, depth));
        if name == "large" && load.pattern != Pattern::Random {
            let asked = writers(load, point.spot.large);
            add(Question::Writes, name, streams(point.writers, asked, point.spot.large));
            continue;
        }
        add(Question::Writes, name, share(name, work, load.write_percent));
        if let Some(coverage) = &work.coverage {
            add(Question::Even, name, even(name, coverage));
        }
    }
    if let Some(disks) = &point.disks {
        add(Question::Device, "", device(point, disks));
    }
    found
}

/// One result for each property over all points: the worst, with its point.
pub fn verdicts(proofs: &[Proof]) -> Vec<Verdict> {
    let verdict = |question: Question| {
        let own: Vec<&Proof> = proofs.iter().filter(|proof| proof.question == question).collect();
        let by_badness =
            |one: &&&Proof, other: &&&Proof| one.outcome.cmp(&other.outcome).then(one.off.total_cmp(&other.off));
        let worst = own.iter().max_by(by_badness)?;
        let same = own.iter().filter(|proof| proof.outcome == worst.outcome).count();
        let LoadPoint { small, large } = worst.spot;
        let of = match worst.outcome {
            Outcome::Pass => format!("{same} of {}; the furthest off", own.len()),
            _ => format!("{same} of {}; the worst", own.len()),
        };
        let because = format!("{of} @ Small={small} and Large={large}: {}", worst.because);
        Some(Verdict { question: question.words().into(), outcome: worst.outcome, because, measured: None })
    };
    Question::ALL.into_iter().filter_map(verdict).collect()
}

/// An outcome, the deviation, and the reason.
type Answer = (Outcome, f64, String);

fn little(name: &str, work: &JobOutcome, depth: u32) -> Answer {
    let lat = lat(work);
    let measured = work.measured.as_secs_f64();
    if lat.count() == 0 || measured <= 0.0 {
        return (Outcome::CannotSay, 0.0, format!("no {name} request ended"));
    }
    let outstanding = lat.sum().as_secs_f64() / measured;
    let off = (outstanding / f64::from(depth) - 1.0).abs();
    let edge = lat.max().as_secs_f64() / measured;
    let said = format!("{} {name} requests outstanding of {depth}", text::significant(outstanding));
    if off > LITTLE && edge > LITTLE / 2.0 {
        let part = edge * 100.0;
        return (
            Outcome::CannotSay,
            off,
            format!("{said}, but the slowest takes {part:.1} % of the time; raise -duration"),
        );
    }
    (held(off <= LITTLE), off, said)
}

fn share(name: &str, work: &JobOutcome, percent: u32) -> Answer {
    let (all, wrote) = (ops(work), work.tape[Direction::Write].ops);
    if all == 0 {
        return (Outcome::CannotSay, 0.0, format!("no {name} request ended"));
    }
    let (asked, share) = (f64::from(percent) / 100.0, wrote as f64 / all as f64);
    let off = (share - asked).abs();
    let chance = SHARE_DEVIATIONS * (asked * (1.0 - asked) / all as f64).sqrt();
    (
        held(off <= chance),
        off,
        format!("{:.2} % of {} {name} requests wrote, {percent} % asked", share * 100.0, text::thousands(all)),
    )
}

fn streams(wrote: u32, asked: u32, streams: u32) -> Answer {
    let off = f64::from(wrote.abs_diff(asked));
    (held(wrote == asked), off, format!("{wrote} of {streams} streams wrote, {asked} asked"))
}

fn even(name: &str, coverage: &stats::job::Coverage) -> Answer {
    match coverage.evenness() {
        None => (Outcome::CannotSay, 0.0, format!("too few {name} requests to tell")),
        Some(even) => {
            let said = format!(
                "{name}: chi-square {} over {} slices, {:.1} deviations above chance",
                text::significant(even.chi_square),
                even.degrees + 1,
                even.deviations
            );
            (held(even.is_even()), even.deviations, said)
        }
    }
}

/// Compares the bytes that the devices transferred during the point with those requested, including
/// the settling time; and the bytes that this program read itself, which others on the same devices
/// cannot hide.
fn device(point: &MeasuredPoint, disks: &[DiskUse]) -> Answer {
    // Memory, or a network file system: some of those do not count what a program reads.
    if disks.is_empty() {
        return (Outcome::CannotSay, 0.0, "the kernel counts nothing for what the volumes are on".into());
    }
    let asked = |of: fn(&JobOutcome) -> u64| point.works().map(|(_, work)| of(work)).sum::<u64>() as f64;
    let read = asked(|work| work.tape[Direction::Read].bytes + work.ramp_bytes.read);
    let written = asked(|work| work.tape[Direction::Write].bytes + work.ramp_bytes.write);
    // Includes the warming, and is not split by direction.
    let own = point.fetched.filter(|_| point.warmed.is_none() && read > 0.0).map(|bytes| bytes as f64 / read);
    if let Some(own) = own.filter(|own| *own < CACHE_MOST) {
        let part = own * 100.0;
        let said = format!("this measured a cache: {part:.0} % of what was read came from below the page cache");
        return (Outcome::Fail, 1.0 - own, said);
    }
    let moved = |kind: usize| disks.iter().map(|disk| disk.sectors[kind] * 512).sum::<u64>() as f64;
    let parts = [("read", read, 0), ("written", written, 1)].into_iter().filter(|(_, asked, _)| *asked > 0.0);
    let parts = parts.map(|(name, asked, kind)| (name, moved(kind) / asked));
    let Some((name, part)) = parts.min_by(|one, other| one.1.total_cmp(&other.1)) else {
        return (Outcome::CannotSay, 0.0, "nothing was moved".into());
    };
    let names = disks.iter().map(|disk| disk.name.as_str()).collect::<Vec<_>>().join(", ");
    let said = format!("{names}: {:.0} % of what was asked was {name}", part * 100.0);
    let off = (part - 1.0).abs();
    match (part, own) {
        (part, _) if part < CACHE_MOST => (Outcome::Fail, off, format!("this measured a cache: {said} there")),
        (part, _) if part < DEVICE_LEAST => (Outcome::CannotSay, off, said),
        (part, Some(own)) if part > OTHERS && own >= DEVICE_LEAST => {
            (Outcome::Pass, off, format!("{said}: others use it too, but what this program read came from there"))
        }
        (part, _) if part > OTHERS => {
            (Outcome::CannotSay, off, format!("{said}: others use it too, and what they hide nobody can tell"))
        }
        _ => (Outcome::Pass, off, said),
    }
}

fn held(holds: bool) -> Outcome {
    if holds { Outcome::Pass } else { Outcome::Fail }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::grammar::{OrionCommand, parse};
    use crate::point::tests::{point, work};
    use block::Span;
    use stats::job::Coverage;

    fn load(words: &str) -> Load {
        match parse(&format!("-run simple {words}").split_whitespace().map(str::to_owned).collect::<Vec<_>>()) {
            Ok(OrionCommand::Run(settings)) => settings.load,
            other => panic!("{other:?}"),
        }
    }

    fn answer(proofs: &[Proof], question: Question) -> (Outcome, &str) {
        let proof = proofs.iter().find(|proof| proof.question == question).expect("it is asked");
        (proof.outcome, &proof.because)
    }

    /// 4 in flight of 100 µs each in 10 s: 400 000 × 100 µs / 10 s = 4. Compared with 5 requested
    /// it is 20 % off.
    #[test]
    fn littles_law_tells_what_was_outstanding() {
        let four = point(4, 0, 100, 0);
        let said = proofs(&four, &load(""));
        assert_eq!(answer(&said, Question::Little), (Outcome::Pass, "4.00 small requests outstanding of 4"));
        let five = MeasuredPoint { spot: LoadPoint { small: 5, large: 0 }, ..four };
        assert_eq!(answer(&proofs(&five, &load("")), Question::Little).0, Outcome::Fail);
        // A request of 3 s takes nearly a third of the time: 3 × 3 s of 10 s are 0.9 of a request
        // in flight.
        let slow = proofs(&point(1, 0, 3_000_000, 0), &load(""));
        let (outcome, because) = answer(&slow, Question::Little);
        assert!(outcome == Outcome::CannotSay && because.contains("raise -duration"), "{because}");
    }

    /// 30 % of 400 000: the standard deviation is 0.07 %. 30 % passes; 31 % is off by 14
    /// deviations.
    #[test]
    fn the_share_of_writes_is_known_to_chance() {
        let mut mixed = point(4, 0, 100, 0);
        mixed.small = Some(work(4, 8192, Span::from_micros(100), 30));
        assert_eq!(answer(&proofs(&mixed, &load("-write 30")), Question::Writes).0, Outcome::Pass);
        assert_eq!(answer(&proofs(&mixed, &load("-write 31")), Question::Writes).0, Outcome::Fail);
        let mut streams = point(0, 4, 0, 1000);
        streams.writers = 2;
        let said = proofs(&streams, &load("-type seq -write 50 -num_streamIO 1"));
        assert_eq!(answer(&said, Question::Writes), (Outcome::Pass, "2 of 4 streams wrote, 2 asked"));
    }

    #[test]
    fn offsets_that_come_again_and_again_are_found() {
        let mut point = point(4, 0, 100, 0);
        let small = point.small.as_mut().unwrap();
        small.coverage = Some(Coverage { places: 1000, counts: vec![4000; 100] });
        assert_eq!(answer(&proofs(&point, &load("")), Question::Even).0, Outcome::Pass);
        point.small.as_mut().unwrap().coverage = Some(Coverage { places: 1000, counts: [[8000, 0]; 50].concat() });
        assert_eq!(answer(&proofs(&point, &load("")), Question::Even).0, Outcome::Fail);
    }

    /// 400 000 reads of 8 KiB and 0.4 million bytes of settling, in sectors of 512 bytes.
    #[test]
    fn a_cache_is_told_by_what_the_device_did_not_read() {
        let with = |part: f64| {
            let mut point = point(4, 0, 100, 0);
            point.small.as_mut().unwrap().ramp_bytes.read = 40_000 * 8192;
            let sectors = [(440_000.0 * 16.0 * part) as u64, 7];
            point.disks = Some(vec![DiskUse { name: "vda".into(), sectors, ..DiskUse::default() }]);
            proofs(&point, &load(""))
        };
        assert_eq!(answer(&with(1.0), Question::Device), (Outcome::Pass, "vda: 100 % of what was asked was read"));
        let cached = with(0.25);
        let said = "this measured a cache: vda: 25 % of what was asked was read there";
        assert_eq!(answer(&cached, Question::Device), (Outcome::Fail, said));
        assert_eq!(answer(&with(0.96), Question::Device).0, Outcome::CannotSay);
        assert_eq!(answer(&with(1.5), Question::Device).0, Outcome::CannotSay);
        let mut memory = point(4, 0, 100, 0);
        assert!(proofs(&memory, &load("")).iter().all(|proof| proof.question != Question::Device), "time is virtual");
        memory.disks = Some(Vec::new());
        assert_eq!(answer(&proofs(&memory, &load("")), Question::Device).0, Outcome::CannotSay);
    }

    /// Others read half as much from the device. What this program read itself distinguishes the
    /// same load from a cached one; this is not possible if the device of the volume is unknown.
    #[test]
    fn others_on_the_device_hide_no_cache() {
        let with = |fetched: u64, sectors: Option<u64>| {
            let disk = |sectors| DiskUse { name: "vda".into(), sectors: [sectors, 0], ..DiskUse::default() };
            let disks = Some(sectors.map(disk).into_iter().collect());
            let point = MeasuredPoint { disks, fetched: Some(fetched), ..point(4, 0, 100, 0) };
            answer(&proofs(&point, &load("")), Question::Device).0
        };
        let asked = 400_000 * 8192;
        assert_eq!(with(asked, Some(asked / 512 * 3 / 2)), Outcome::Pass);
        assert_eq!(with(asked / 2, Some(asked / 512)), Outcome::Fail);
        assert_eq!(with(0, None), Outcome::CannotSay);
    }

    /// One of three failed: the property failed, and the point is named.
    #[test]
    fn a_run_is_as_good_as_its_worst_point() {
        let mut all = Vec::new();
        for (small, outstanding) in [(1, 1), (2, 2), (3, 4)] {
            let point = MeasuredPoint { spot: LoadPoint { small, large: 0 }, ..point(outstanding, 0, 100, 0) };
            all.extend(proofs(&point, &load("")));
        }
        let verdicts = verdicts(&all);
        assert_eq!(verdicts.len(), 2);
        assert_eq!(verdicts[0].outcome, Outcome::Fail);
        assert_eq!(
            verdicts[0].because,
            "1 of 3; the worst @ Small=3 and Large=0: 4.00 small requests outstanding of 3"
        );
        assert_eq!(verdicts[1].outcome, Outcome::Pass);
    }
}
