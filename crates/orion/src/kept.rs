//! A test as a kept run: each point of the matrix is a point, and small and large loads are its two
//! actors.

use crate::grammar::Pattern;
use crate::jobs::{VolumeKind, depth_of};
use crate::ladder::LoadPoint;
use crate::point::MeasuredPoint;
use crate::test::Test;
use stats::run::{Event, Point, Run, RunPlace, Setting, Value};

/// A test before its first point, without its identity.
pub fn begun(test: &Test) -> Run {
    let mut run = Run::default();
    for volume in &test.volumes {
        let kind = match volume.at {
            VolumeKind::File => "file",
            VolumeKind::Export if volume.name.starts_with("nfs://") => "nfs",
            VolumeKind::Export => "nbd",
            VolumeKind::Concatenated => "concatenated",
            VolumeKind::Striped => "striped",
            VolumeKind::Nothing => "null",
            VolumeKind::Simulated => "volume",
        };
        run.place(RunPlace { kind: kind.into(), name: volume.name.clone(), size: Some(volume.size) });
    }
    // With several volumes there is no single place.
    let place = (test.volumes.len() == 1).then_some(0);
    for name in ["small", "large"] {
        let actor = run.add_actor(name, place);
        settings(&mut run, actor, test);
    }
    run.notes = test.stamps();
    run
}

fn settings(run: &mut Run, actor: u32, test: &Test) {
    let load = &test.settings.load;
    let block = if actor == 0 { load.small } else { load.large };
    let streams = actor == 1 && load.pattern != Pattern::Random;
    run.set(Some(actor), "block_bytes", f64::from(block));
    run.set(Some(actor), "read_percent", f64::from(100 - load.write_percent));
    run.set(Some(actor), "order", if streams { "sequential" } else { "random" });
    run.set(Some(actor), "direct", if load.page_cache { "no" } else { "yes" });
}

/// The point of a spot.
pub fn point(spot: LoadPoint) -> Point {
    Point {
        name: format!("small {}, large {}", spot.small, spot.large),
        about: format!("{} small and {} large outstanding", spot.small, spot.large),
        ..Point::default()
    }
}

/// Adds the measurement of the last point.
pub fn add(run: &mut Run, test: &Test, point: &MeasuredPoint) {
    let (spot, number) = (point.spot, (run.points.len() as u32).saturating_sub(1));
    let Some(last) = run.points.last_mut() else { return };
    (last.start, last.end) = (point.start, point.start + point.elapsed);
    let depths = [spot.small, spot.large * depth_of(test.settings.load.pattern)];
    for (actor, (work, depth)) in (0..).zip([&point.small, &point.large].into_iter().zip(depths)) {
        let Some(work) = work else { continue };
        let mut work = work.clone();
        work.start += point.start;
        run.add_outcome(number, actor, &work);
        let value = Value::Number(depth.into());
        run.settings.push(Setting { point: Some(number), actor: Some(actor), key: "depth".into(), value });
    }
    if let Some(trouble) = point.trouble() {
        let (kind, at) = (Event::INCOMPLETE.into(), point.start + point.elapsed);
        run.events.push(Event { point: Some(number), actor: None, at, kind, name: trouble, number: None });
    }
    if let Some((bytes, took)) = point.warmed {
        run.events.push(Event {
            point: Some(number),
            actor: None,
            at: point.start + took,
            kind: "cache_warmed".into(),
            name: "bytes moved before the point, so that a cache forgets".into(),
            number: Some(bytes as f64),
        });
    }
}
