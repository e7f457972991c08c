//! The requests of a point's jobs.

use super::*;
use block::Time;
use workload::job::{JobNext, JobStream, Region};

fn load() -> Load {
    Load {
        small: 8192,
        large: 1 << 20,
        pattern: Pattern::Random,
        array: Array::Concat,
        write_percent: 0,
        warm: Some(0),
        duration: Span::from_secs(60),
        settle: Span::ZERO,
        seed: 1,
        page_cache: false,
    }
}

fn volumes(mib: &[u64]) -> Vec<OrionVolume> {
    let volume =
        |(n, mib): (usize, &u64)| OrionVolume { name: format!("v{n}"), size: mib << 20, at: VolumeKind::Simulated };
    mib.iter().enumerate().map(volume).collect()
}

/// The first requests of a job, with volume and offset.
fn asked(job: &JobSpec, volumes: &[OrionVolume], count: usize) -> Vec<(String, u64)> {
    let JobPlace::Files(files) = &job.place else { panic!("{:?}", job.place) };
    let region = |file: &FileSpec| {
        let whole = volumes.iter().find(|volume| file.path.as_os_str() == volume.name.as_str()).unwrap().size;
        let start = file.offset.of(Bytes(whole)).0;
        let len = file.size.map_or(whole - start, |size| size.of(Bytes(whole)).0);
        Region { start, len, beyond: whole - start - len }
    };
    let regions: Vec<Region> = files.iter().map(region).collect();
    let mut stream = JobStream::new(job, &regions, Time::ZERO);
    let mut next = || match stream.next(Time::ZERO) {
        JobNext::Issue(draft) => (files[draft.file as usize].path.display().to_string(), draft.at),
        other => panic!("{other:?}"),
    };
    (0..count).map(|_| next()).collect()
}

fn roles(jobs: &[(JobRole, JobSpec)]) -> Vec<(JobRole, u32)> {
    jobs.iter().map(|(role, job)| (*role, job.pacing.depth)).collect()
}

#[test]
fn a_point_keeps_its_requests_outstanding_for_the_whole_run() {
    let volumes = volumes(&[64, 64]);
    let of = |small, large| roles(&jobs(&load(), &volumes, LoadPoint { small, large }, 0));
    assert_eq!(of(5, 0), [(JobRole::Small, 5)]);
    assert_eq!(of(5, 2), [(JobRole::Small, 5), (JobRole::Large, 2)]);
    let one = |number| jobs(&load(), &volumes, LoadPoint { small: 5, large: 0 }, number).remove(0).1;
    assert_ne!(asked(&one(0), &volumes, 20), asked(&one(1), &volumes, 20), "no point asks what the one before asked");
    assert!(asked(&one(0), &volumes, 1000).iter().all(|(_, at)| at % 8192 == 0 && *at < 64 << 20));
}

/// 10 and 30 MiB concatenated: a quarter of 4000 requests goes to the first. The standard deviation
/// is √(4000 × 3 / 16) = 27; five of them are allowed. As stripes both have 10 MiB and get half.
#[test]
fn random_requests_are_as_the_volumes_are_put_together() {
    let volumes = volumes(&[10, 30]);
    let first = |array| {
        let load = Load { array, ..load() };
        let job = jobs(&load, &volumes, LoadPoint { small: 0, large: 1 }, 0).remove(0).1;
        let asked = asked(&job, &volumes, 4000);
        let highest = asked.iter().filter(|(name, _)| name == "v1").map(|(_, at)| *at).max().unwrap();
        (asked.iter().filter(|(name, _)| name == "v0").count(), highest >> 20)
    };
    let (concat, highest) = first(Array::Concat);
    assert!(concat.abs_diff(1000) < 140 && highest == 29, "{concat} {highest}");
    let (raid, highest) = first(Array::Raid0 { stripe: 1 << 20 });
    assert!(raid.abs_diff(2000) < 160 && highest == 9, "{raid} {highest}");
}

/// Two streams through 2 and 4 MiB: three large requests each; the last one of the first stream is
/// on the second volume.
#[test]
fn streams_have_a_part_each_volume_after_volume() {
    let volumes = volumes(&[2, 4]);
    let streams = Load { pattern: Pattern::Streams { depth: 4 }, ..load() };
    let jobs = jobs(&streams, &volumes, LoadPoint { small: 0, large: 2 }, 0);
    assert_eq!(roles(&jobs), [(JobRole::Large, 4), (JobRole::Large, 4)]);
    let mib = |job: &JobSpec, count| {
        asked(job, &volumes, count).iter().map(|(name, at)| format!("{name}:{}", at >> 20)).collect::<Vec<_>>()
    };
    assert_eq!(mib(&jobs[0].1, 4), ["v0:0", "v0:1", "v1:0", "v0:0"]);
    assert_eq!(mib(&jobs[1].1, 4), ["v1:1", "v1:2", "v1:3", "v1:1"]);
}

/// A stripe of 2 MiB on each of two volumes: two requests on the first, two on the second.
#[test]
fn streams_take_a_stripe_of_each_volume_in_turn() {
    let volumes = volumes(&[8, 9]);
    let array = Array::Raid0 { stripe: 2 << 20 };
    let streams = Load { pattern: Pattern::Streams { depth: 4 }, array, ..load() };
    let jobs = jobs(&streams, &volumes, LoadPoint { small: 0, large: 2 }, 0);
    let mib: Vec<String> =
        asked(&jobs[1].1, &volumes, 9).iter().map(|(name, at)| format!("{name}:{}", at >> 20)).collect();
    assert_eq!(mib, ["v0:4", "v0:5", "v1:4", "v1:5", "v0:6", "v0:7", "v1:6", "v1:7", "v0:4"]);
}

/// Half of the streams write: the second and the fourth.
#[test]
fn the_share_of_writes_is_of_requests_or_of_streams() {
    let volumes = volumes(&[64]);
    let writes = |load: &Load, spot| {
        let jobs = jobs(load, &volumes, spot, 0);
        jobs.iter().map(|(_, job)| job.reach.mix).collect::<Vec<_>>()
    };
    let mixed = Load { write_percent: 30, ..load() };
    assert_eq!(writes(&mixed, LoadPoint { small: 1, large: 1 }), [Mix::ReadWrite { read_percent: 70 }; 2]);
    let streams = Load { pattern: Pattern::Streams { depth: 4 }, write_percent: 50, ..load() };
    let (read, write) = (Mix::Only(Direction::Read), Mix::Only(Direction::Write));
    assert_eq!(writes(&streams, LoadPoint { small: 0, large: 4 }), [read, write, read, write]);
}

#[test]
fn warming_comes_before_streams_alone() {
    let volumes = volumes(&[64]);
    let streams = Load { pattern: Pattern::Streams { depth: 4 }, warm: Some(256 << 20), ..load() };
    let of = |load: &Load, spot| jobs(load, &volumes, spot, 0);
    let point = of(&streams, LoadPoint { small: 2, large: 2 });
    assert_eq!(roles(&point), [(JobRole::Warm, 8), (JobRole::Small, 2), (JobRole::Large, 4), (JobRole::Large, 4)]);
    let after: Vec<bool> = point.iter().map(|(_, job)| job.start.after_earlier).collect();
    assert_eq!(after, [false, true, false, false], "what is measured begins together");
    assert_eq!(point[0].1.ending.amount, Some(Amount::Bytes(Bytes(256 << 20))));
    assert_eq!(of(&streams, LoadPoint { small: 2, large: 0 }).len(), 1);
    let unset = Load { warm: None, ..streams };
    assert_eq!(of(&unset, LoadPoint { small: 0, large: 1 })[0].1.ending.runtime, Some(Span::from_secs(120)));
    assert_eq!(of(&Load { warm: None, ..load() }, LoadPoint { small: 0, large: 1 }).len(), 1, "random loads have none");
}

#[test]
fn what_cannot_be_loaded_is_said() {
    let refused = |load: &Load, volumes: &[OrionVolume], large| {
        check(load, volumes, &[LoadPoint { small: 1, large }]).unwrap_err().0
    };
    let export = OrionVolume { name: "nbd://h/x".into(), size: 1 << 30, at: VolumeKind::Export };
    let mixed = [volumes(&[64]), vec![export]].concat();
    assert!(refused(&load(), &mixed, 1).starts_with("nbd://h/x: must be the only volume"));
    let short = [OrionVolume { name: "v".into(), size: 4096, at: VolumeKind::File }];
    assert!(refused(&load(), &short, 1).starts_with("v: has 4 KiB, and a request needs 1 MiB"));
    let striped = Load { array: Array::Raid0 { stripe: 8 << 20 }, ..load() };
    assert_eq!(refused(&striped, &volumes(&[64, 4]), 1), "-stripe: must fit into every volume, got 8 MiB; lower it");
    let streams = Load { pattern: Pattern::Streams { depth: 4 }, ..load() };
    assert!(refused(&streams, &volumes(&[4]), 5).contains("5 streams need a part each, and the volumes have 4"));
    assert!(refused(&streams, &volumes(&[8000]), 2000).contains("at most 4 GiB are outstanding"));
    assert_eq!(check(&load(), &volumes(&[64]), &[LoadPoint { small: 1, large: 4000 }]), Ok(()));
}
