//! Tests in virtual time: on devices with figures known from theory, and every file as text.
//!
//! `c` servers that are busy with each request for `s` milliseconds do at most `c / s` requests per
//! millisecond. With `S` requests always in flight their mean response time is, by Little's law,
//! `s` up to `S = c` and `S × s / c` beyond.

use array::{DeviceSpec, Flash, Model, ParallelServers, VirtualClock};
use block::{Bytes, Span};
use engine::job::Simulation;
use orion::{LoadPoint, MeasuredPoint, OrionCommand, OrionVolume, Question, Test, VolumeKind};
use stats::{Direction, Outcome};

/// Four servers of 1 ms, whatever the size.
fn servers() -> Model {
    Model::ParallelServers(ParallelServers {
        servers: 4,
        service: Span::from_millis(1),
        size_unit: None,
        ..ParallelServers::default()
    })
}

/// Runs a test on these volumes (in MiB), all on one device with servers.
fn played(words: &str, volumes: &[u64]) -> (Test, Vec<MeasuredPoint>) {
    played_on(&servers(), 0, words, volumes)
}

/// The same on any device, with its own random numbers.
fn played_on(model: &Model, seed: u64, words: &str, volumes: &[u64]) -> (Test, Vec<MeasuredPoint>) {
    let words: Vec<String> = words.split_whitespace().map(str::to_owned).collect();
    let Ok(OrionCommand::Run(mut settings)) = orion::parse(&words) else { panic!("{words:?}") };
    let volume = |(n, mib): (usize, &u64)| OrionVolume {
        name: format!("/dev/lun{n}"),
        size: Bytes::mib(*mib).0,
        at: VolumeKind::Simulated,
    };
    let volumes: Vec<OrionVolume> = volumes.iter().enumerate().map(volume).collect();
    let disks = settings.disks.unwrap_or(volumes.len() as u32);
    let grid = orion::grid(&mut settings, disks).expect("it has points");
    orion::check(&settings.load, &volumes, &grid.spots).expect("they can be loaded");
    let mut points: Vec<MeasuredPoint> = Vec::new();
    for (number, spot) in (0..).zip(&grid.spots) {
        let (roles, specs): (Vec<_>, Vec<_>) = orion::jobs(&settings.load, &volumes, *spot, number).into_iter().unzip();
        let simulation = Simulation::of(&specs).expect("it can be simulated");
        let device = DeviceSpec { size: simulation.size(), ..DeviceSpec::of(model.clone()) };
        let device = device.build((seed << 16) + number + 1).expect("it is a device");
        let outcomes = simulation.run(device, &VirtualClock::new(), &mut || false, &mut |_, _| Ok(None));
        let start = points.last().map_or(Span::ZERO, |last| last.start + last.elapsed);
        points.push(MeasuredPoint::of(*spot, start, roles.into_iter().zip(outcomes).collect(), false));
    }
    // 2016-05-23 13:33:59 UTC.
    let (started_unix_s, version) = (1_464_010_439, "0.0.0".into());
    (Test { settings: *settings, volumes, grid, started_unix_s, version, earlier: 0, simulated: true }, points)
}

fn file(test: &Test, points: &[MeasuredPoint], kind: &str) -> String {
    let files = orion::files(test, points);
    files.into_iter().find(|(known, _)| *known == kind).expect("it is a file").1
}

fn near(found: f64, right: f64, part: f64) -> bool {
    (found / right - 1.0).abs() < part
}

/// S small requests alone do min(S, 4) per millisecond and take S / min(S, 4) ms; large ones of 1
/// MiB do as many MB per second. Those in flight at the edges of 10 s are up to 3 of 10 000
/// milliseconds.
#[test]
fn single_loads_have_the_figures_of_theory() {
    let (test, points) = played("-run simple -duration 10", &[64, 64]);
    assert_eq!(points.len(), 14);
    for point in &points {
        let LoadPoint { small, large } = point.spot;
        let level = f64::from(small.max(large));
        let busy = level.min(4.0);
        let rate = if small > 0 { point.iops() } else { point.mbps() }.unwrap();
        assert!(near(rate, busy * 1000.0, 0.001), "{:?}: {rate}", point.spot);
        if let Some(lat) = point.small_lat() {
            assert!(near(lat.mean().as_millis_f64(), level / busy, 0.001), "{:?}: {}", point.spot, lat.mean());
        }
    }
    let proofs = test.proofs(&points);
    assert!(proofs.iter().all(|proof| proof.outcome == Outcome::Pass), "{proofs:#?}");
    assert_eq!(proofs.iter().filter(|proof| proof.question == Question::Even).count(), 14);
    // The best is the first point with all servers busy, and the last one within 2 ms has twice as
    // many requests as servers.
    let results = orion::results(&points);
    assert!(results.contains("@ Small=4 and Large=0\n") && results.contains("@ Small=0 and Large=4\n"), "{results}");
}

/// Eight channels of flash; each page goes to a random one. The maxima of a matrix are compared
/// with those of a run 15 times as long, in which hardly any randomness is left.
#[test]
fn the_maxima_are_found_within_five_percent_in_95_of_100_seeds() {
    let flash = Flash {
        channels: 8,
        page: Bytes::kib(8),
        read: Span::from_millis(5),
        collection: None,
        pause: None,
        ..Flash::default()
    };
    let best = |seed: u64, seconds: u64| {
        let words = format!("-run simple -num_disks 2 -size_large 128 -duration {seconds} --seed {seed}");
        let (_, points) = played_on(&Model::Flash(flash.clone()), seed, &words, &[1024]);
        let most = |of: fn(&MeasuredPoint) -> Option<f64>| points.iter().filter_map(of).fold(0.0, f64::max);
        (most(MeasuredPoint::iops), most(MeasuredPoint::mbps))
    };
    let (iops, mbps) = best(1000, 30);
    // Ten requests over eight channels: above the rate with exponential service, c S / (S + c - 1),
    // and below that of all channels.
    assert!((8.0 * 10.0 / 17.0 * 200.0..1600.0).contains(&iops), "{iops}");
    let hits = (1..=100).filter(|&seed| {
        let found = best(seed, 2);
        near(found.0, iops, 0.05) && near(found.1, mbps, 0.05)
    });
    let hits = hits.count();
    assert!(hits >= 95, "{hits} of 100 around {iops} IOPS and {mbps} MBPS");
}

/// In a mixed point requests queue: 6 small and 2 large ones on 4 servers take two rounds, so each
/// takes 2 ms, and by Little's law 6 / 2 and 2 / 2 end per millisecond.
#[test]
fn mixed_loads_share_as_they_are_outstanding() {
    let (test, points) = played("-run advanced -matrix point -num_small 6 -num_large 2 -duration 10", &[64]);
    let [point] = &points[..] else { panic!("{points:?}") };
    let (iops, mbps) = (point.iops().unwrap(), point.mbps().unwrap());
    assert!(near(iops, 3000.0, 0.001) && near(mbps, 1000.0, 0.001), "{iops} {mbps}");
    assert!(test.proofs(&points).iter().all(|proof| proof.outcome == Outcome::Pass));
}

/// 8, 40 and 16 MiB concatenated, and the same in stripes of the shortest: both are loaded evenly.
#[test]
fn volumes_of_unequal_size_are_loaded_evenly() {
    for array in ["concat", "raid0"] {
        let words = format!("-run advanced -matrix point -num_small 8 -num_large 0 -duration 20 -simulate {array}");
        let (test, points) = played(&words, &[8, 40, 16]);
        let coverage = points[0].small.as_ref().and_then(|work| work.coverage.clone()).expect("it was asked for");
        assert_eq!(coverage.places, if array == "concat" { 64 * 128 } else { 3 * 8 * 128 });
        assert!(test.proofs(&points).iter().all(|proof| proof.outcome == Outcome::Pass), "{array}");
    }
}

/// A stream keeps its requests in flight, and the transfers before it are not measured.
#[test]
fn streams_are_warmed_up_for_and_hold_their_load() {
    let words = "-run advanced -matrix point -num_small 0 -num_large 2 -type seq -num_streamIO 3 -write 50";
    let (test, points) = played(&format!("{words} -cache_size 100 -duration 10"), &[64, 64]);
    let [point] = &points[..] else { panic!("{points:?}") };
    // Six in flight on four servers: 4000 MB per second. The 100 requests before, 25 at a time,
    // take 25 ms.
    assert!(near(point.mbps().unwrap(), 4000.0, 0.001), "{:?}", point.mbps());
    assert_eq!((point.warmed, point.writers), (Some((100 << 20, Span::from_millis(25))), 1));
    assert!(test.proofs(&points).iter().all(|proof| proof.outcome == Outcome::Pass));
    insta::assert_snapshot!("streams_summary", file(&test, &points, "summary.txt"));
}

/// The files of a simple run on one disk have the size of the published ones: 128 bytes for IOPS
/// and latencies, 100 for MBPS.
#[test]
fn the_matrices_of_a_simple_run_have_the_published_shape() {
    let (test, points) = played("-run simple -testname gold -duration 2", &[64]);
    let sizes = ["iops.csv", "lat.csv", "mbps.csv"].map(|kind| file(&test, &points, kind).len());
    assert_eq!(sizes, [128, 128, 100]);
    assert_eq!(test.stem(), "gold_20160523_1333");
    insta::assert_snapshot!("simple_iops", file(&test, &points, "iops.csv"));
    insta::assert_snapshot!("simple_mbps", file(&test, &points, "mbps.csv"));
    insta::assert_snapshot!("simple_summary", file(&test, &points, "summary.txt"));
    insta::assert_snapshot!("banner", orion::banner(&test));
    // A run that was stopped has the points that it measured.
    insta::assert_snapshot!("stopped_iops", file(&test, &points[..2], "iops.csv"));
    assert!(file(&test, &points[..2], "summary.txt").ends_with("\n2 of 7 points were measured\n"));
}

/// The banner's minutes are those of published runs with points of a minute: one disk, simple and
/// normal, and six disks, simple. Shorter points take less.
#[test]
fn the_banner_tells_the_minutes_of_the_points() {
    for (line, disks, minutes) in [
        ("-run simple", 1, "9 minutes"),
        ("-run normal", 1, "19 minutes"),
        ("-run simple", 6, "44 minutes"),
        ("-run simple -duration 30", 6, "22 minutes"),
        ("-run simple -duration 7", 1, "1 minute"),
    ] {
        let (test, _) = played(&format!("{line} -testname gold -num_disks {disks}"), &[64]);
        assert!(orion::banner(&test).contains(&format!("approximately {minutes}.\n")), "{line} {disks}");
    }
}

/// A run that was stopped in its third point, the fastest so far: the point is neither in the
/// matrices nor the best, and nothing is said to hold for the whole test.
#[test]
fn a_point_that_was_cut_is_marked_and_never_the_best() {
    let (test, mut points) = played("-run simple -testname gold -duration 2", &[64]);
    points.truncate(3);
    points[2].small.as_mut().expect("it is a small load").interrupted = true;
    assert!(orion::results(&points).contains("Maximum Small IOPS=2000 @ Small=2 and Large=0\n"));
    let rows = file(&test, &points, "iops.csv");
    assert!(rows.contains("\n          0,   1000,   2000\n"), "{rows}");
    let rows = file(&test, &points, "percentiles.csv");
    let marked: Vec<bool> = rows.lines().skip(1).map(|row| row.ends_with(",yes")).collect();
    assert_eq!(marked, [false, false, true]);
    let verdicts = test.verdicts(&points);
    let last = verdicts.last().expect("there is one");
    assert_eq!(last.outcome, Outcome::CannotSay);
    assert_eq!(last.because, "2 of 7 points were measured; stopped before its end");
    let html = orion::page(&test, &points).render();
    for part in ["Cut short: 2 of 7 points were measured", "1 of 4 cannot be said, 3 held", "incomplete: stopped"] {
        assert!(html.contains(part), "{part}");
    }
    let mut run = orion::kept::begun(&test);
    for point in &points {
        run.points.push(orion::kept::point(point.spot));
        orion::kept::add(&mut run, &test, point);
    }
    let incomplete = [0, 1, 2].map(|point| run.incomplete(point));
    assert_eq!(incomplete, [None, None, Some("stopped before its end")]);
}

/// All files of a whole matrix with writes.
#[test]
fn every_file_of_a_matrix() {
    let (test, points) = played("-run normal -testname gold -num_disks 1 -duration 2 -write 30", &[64, 32]);
    for (kind, text) in orion::files(&test, &points) {
        insta::assert_snapshot!(format!("normal_{kind}"), text);
    }
    let lines: Vec<String> = (1..).zip(&points).flat_map(|(n, point)| orion::point_lines(n, 17, point)).collect();
    assert!(lines.iter().all(|line| line.len() <= 80));
    insta::assert_snapshot!("normal_lines", lines.join("\n"));
    assert_eq!(
        played("-run normal -testname gold -num_disks 1 -duration 2 -write 30", &[64, 32]).1,
        points,
        "the same again"
    );
}

/// Summary and page of a quick run say so; both matrices and curves are there.
#[test]
fn a_quick_run_is_stamped_and_has_its_pictures() {
    let (test, points) = played("-run normal -testname gold --quick --small-levels 1,4,8 --large-levels 1,2", &[64]);
    let stamp = "Quick preset: points of 9.3 s, no cache warming.";
    assert!(file(&test, &points, "summary.txt").contains(stamp), "{}", file(&test, &points, "summary.txt"));
    let html = orion::page(&test, &points).render();
    for part in [stamp, "Small requests a second", "Large throughput", "Small response times", "Throughput against"] {
        assert!(html.contains(part), "{part}");
    }
    assert_eq!(html.matches("class=\"matrix\"").count(), 3);
}

/// A kept run: two actors, a point for each position in the matrix, whose cells have the figures of
/// the files.
#[test]
fn a_run_is_kept_with_its_points() {
    let (test, points) = played("-run normal -testname gold -num_disks 1 -duration 2", &[64]);
    let mut run = orion::kept::begun(&test);
    for point in &points {
        run.points.push(orion::kept::point(point.spot));
        orion::kept::add(&mut run, &test, point);
    }
    assert_eq!(run.actors.iter().map(|actor| actor.name.as_str()).collect::<Vec<_>>(), ["small", "large"]);
    assert_eq!((run.points.len(), run.points[16].name.as_str()), (17, "small 5, large 2"));
    let all = run.cell(16, 1, &stats::run::Class::ALL).expect("large loads were measured");
    assert_eq!(all.ops, points[16].large.as_ref().map_or(0, |work| work.tape[Direction::Read].ops));
    assert!(run.cell(0, 1, &stats::run::Class::ALL).is_none(), "the first point has no large load");
    let reads = run.series(0, &stats::run::Class::READ).expect("small loads read");
    assert!(reads.slices.is_sorted_by(|one, other| one.start <= other.start));
    assert!(run.points.is_sorted_by(|one, other| one.end <= other.start));
}
