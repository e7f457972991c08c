//! The course of an experiment: plays its points one after the other and builds the run from them.
//!
//! ```text
//!   Scene::next ──► point ──► its lines ──► Managed ──► limits in force ──► Scene::play ──► its cells and series
//!        ▲                                                                                        │
//!        └──────────────────────────── Run: all that was measured so far ◄────────────────────────┘
//! ```
//! A plan's phases, the runs of a ramp and of hosts, the stages of load jobs, the points of a
//! matrix and the batches of a sweep are points of a course; what differs is the scene.

use block::{Bytes, Span, Time};
use stats::LimitsInForce;
use stats::run::{PartitionRecord, Point, Run, State};
use workload::plan::unfold;

/// What takes administrators' lines: a server, or its model in virtual time.
pub trait Managed {
    /// Runs an administrator's line and returns its answer.
    ///
    /// # Errors
    /// The line was refused, in one line.
    fn command(&mut self, line: &str) -> Result<String, StageError>;

    /// The limits in force for every object with a policy and every shared group, by path.
    fn limits(&mut self) -> Vec<(String, LimitsInForce)>;

    /// The space that every volume uses now, by path; empty if it is not known.
    fn used(&mut self) -> Vec<(String, Bytes)>;

    /// What the cache's partitions did since the last call, not yet assigned to a point; empty
    /// without a cache or without its statistics.
    fn partitions(&mut self) -> Vec<PartitionRecord> {
        Vec::new()
    }
}

/// Why a stage could not go on; one line.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub struct StageError(pub String);

/// The points of a course, and what they are played on.
pub trait Scene {
    /// Why the scene could not go on.
    type Error: From<StageError>;

    /// Where the points' command lines go; `None` if nothing takes them.
    fn managed(&mut self) -> Option<&mut dyn Managed> {
        None
    }

    /// Its clock.
    fn now(&self) -> Time;

    /// The next point, which may depend on the results in `run`; `None` after the last.
    fn next(&mut self, run: &Run) -> Option<Point>;

    /// Plays the last point of `run` to its end and adds its results; the run began at `start`.
    /// Returns whether to go on with the next point.
    ///
    /// # Errors
    /// The point could not be played to its end. What was added until then is kept.
    fn play(&mut self, start: Time, run: &mut Run) -> Result<bool, Self::Error>;
}

/// Plays all points of `scene` and adds them to `run`, which already has its actors and places. The
/// run is returned with what was measured even if it was cut short or failed.
pub fn play<S: Scene>(scene: &mut S, mut run: Run) -> (Run, Result<(), S::Error>) {
    // Bins of a trace start at multiples of their length, so the run does too.
    let now = scene.now().as_nanos();
    let start = Time::from_nanos(now - now % BIN.as_nanos());
    for (path, used) in used(scene) {
        run.object(&path).used_start = Some(used);
    }
    let played = play_all(scene, start, &mut run);
    for (path, used) in used(scene) {
        run.object(&path).used_end = Some(used);
    }
    run.identity.state = if matches!(played, Ok(true)) { State::Ended } else { State::CutShort };
    (run, played.map(|_| ()))
}

/// Returns whether all points were played to their end.
fn play_all<S: Scene>(scene: &mut S, start: Time, run: &mut Run) -> Result<bool, S::Error> {
    while let Some(mut point) = scene.next(run) {
        // Cache statistics from between two points belong to neither.
        let _ = partitions(scene);
        for line in point.commands.iter().flat_map(|line| unfold(line)) {
            let done = match scene.managed() {
                Some(managed) => managed.command(&line),
                None => Err(StageError("the plan has no volume of its own server".into())),
            };
            done.map_err(|error| StageError(format!("before {:?}: {line}: {error}", point.name)))?;
        }
        point.start = passed(start, scene.now());
        point.end = point.start;
        run.points.push(point);
        run.in_force(&scene.managed().map(Managed::limits).unwrap_or_default());
        let played = scene.play(start, run);
        if played.is_err() && run.points.last().is_some_and(|point| point.end == point.start) {
            run.forget_last_point();
        } else {
            let (done, point) = (partitions(scene), run.points.len() as u32 - 1);
            run.partitions.extend(done.into_iter().map(|done| PartitionRecord { point, ..done }));
        }
        if !played? {
            return Ok(false);
        }
    }
    Ok(true)
}

fn used<S: Scene>(scene: &mut S) -> Vec<(String, Bytes)> {
    scene.managed().map(Managed::used).unwrap_or_default()
}

fn partitions<S: Scene>(scene: &mut S) -> Vec<PartitionRecord> {
    scene.managed().map(Managed::partitions).unwrap_or_default()
}

/// Time since the start of the run in whole microseconds. No time here is more exact, and
/// nanoseconds would take an eighth of a long run's storage.
pub fn passed(start: Time, time: Time) -> Span {
    Span::from_micros(time.since(start).as_nanos() / 1000)
}

/// The length of a trace's bin.
pub(crate) const BIN: Span = Span::from_millis(1000 / stats::BINS_A_SECOND as u64);
