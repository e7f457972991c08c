//! A test as any run is kept: each point of the matrix is a point, small and large loads are its two actors.

use crate::grammar::Pattern;
use crate::jobs::{Where, depth_of};
use crate::point::Measured;
use crate::test::Test;
use stats::run::{Actor, Event, Place, Point, Run, Setting, Value};

/// What the points so far are, without where they come from.
pub fn kept(test: &Test, points: &[Measured]) -> Run {
    let mut run = Run::default();
    for volume in &test.volumes {
        let kind = match volume.at {
            Where::File => "file",
            Where::Export if volume.name.starts_with("nfs://") => "nfs",
            Where::Export => "nbd",
            Where::Concatenated => "concatenated",
            Where::Striped => "striped",
            Where::Nothing => "null",
            Where::Simulated => "volume",
        };
        run.place(Place { kind: kind.into(), name: volume.name.clone(), size: Some(volume.size) });
    }
    // Of several volumes no single one is what was loaded.
    let place = (test.volumes.len() == 1).then_some(0);
    for (actor, name) in (0..).zip(["small", "large"]) {
        run.actors.push(Actor { name: name.into(), place, ..Actor::default() });
        settings(&mut run, actor, test);
    }
    for (number, point) in (0..).zip(points) {
        add(&mut run, number, point, test);
    }
    run.verdicts = crate::verdicts(&test.proofs(points));
    run.notes = test.stamps();
    run
}

fn settings(run: &mut Run, actor: u32, test: &Test) {
    let load = &test.ask.load;
    let block = if actor == 0 { load.small } else { load.large };
    let streams = actor == 1 && load.pattern != Pattern::Random;
    run.set(Some(actor), "block_bytes", f64::from(block));
    run.set(Some(actor), "read_percent", f64::from(100 - load.write_percent));
    run.set(Some(actor), "order", if streams { "sequential" } else { "random" });
    run.set(Some(actor), "direct", if load.page_cache { "no" } else { "yes" });
}

fn add(run: &mut Run, number: u32, point: &Measured, test: &Test) {
    let spot = point.spot;
    run.points.push(Point {
        name: format!("small {}, large {}", spot.small, spot.large),
        about: format!("{} small and {} large outstanding", spot.small, spot.large),
        start: point.start,
        end: point.start + point.elapsed,
        ..Point::default()
    });
    let depths = [spot.small, spot.large * depth_of(test.ask.load.pattern)];
    for (actor, (work, depth)) in (0..).zip([&point.small, &point.large].into_iter().zip(depths)) {
        let Some(work) = work else { continue };
        let mut work = work.clone();
        work.start += point.start;
        run.add_outcome(number, actor, &work);
        let value = Value::Number(depth.into());
        run.settings.push(Setting { point: Some(number), actor: Some(actor), key: "depth".into(), value });
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
