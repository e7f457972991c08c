//! What an object did over a period: the last day from memory, longer periods from the pool's
//! hourly totals.

use crate::errand::Errand;
use crate::{AdminError, Administration, Answer, At, HourDone, Named, ObjectDetails, Obstacle, workload_name};
use ::history::{HOUR, Point, points};
use block::{ObjectId, Span, Time};
use ontap::catalogue::{Form, HistoryShow, Output, Selection};
use ontap::show::HistoryRow;
use ontap::value::ObjectName;
use qos::{ObjectKind, Registry};
use std::collections::BTreeMap;

/// The period that memory covers, in seconds.
const DAY: u64 = 24 * HOUR;

/// A period up to now and the length of its steps, both in seconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stretch {
    /// Start of the period, before now.
    pub since: u64,
    /// Length of a step.
    pub width: u64,
}

/// What an object did in one step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Done {
    /// The end of the step, in seconds since 1970.
    pub date: u64,
    /// The figures, and the time that they cover.
    pub point: Point,
}

impl Administration {
    /// What an object and everything in it did, oldest step first. Up to a day has the resolution
    /// of memory, longer periods have that of whole hours.
    ///
    /// # Errors
    /// The pool's totals cannot be read; a sentence.
    pub fn history(&self, object: ObjectId, stretch: Stretch, at: &At<'_>) -> Result<Vec<Done>, String> {
        of((&self.registry, &self.details), object, stretch, at)
    }
}

impl Errand<'_> {
    /// `qos statistics history show`
    pub(super) fn history(&mut self, show: &HistoryShow) -> Result<Answer, AdminError> {
        let object = match (&show.volume, &show.workload) {
            (Some(volume), _) => {
                self.known_volume(self.svm_of_volume(show.vserver.as_ref(), volume.as_str())?, volume.as_str())?
            }
            (None, Some(workload)) => self.known_workload(workload)?,
            (None, None) => {
                return Err(Obstacle::WhichWorkload.told("say of what: -volume NAME or -workload NAME").into());
            }
        };
        let (since, width) = show.interval.seconds();
        let done = of((self.registry, self.details), object, Stretch { since, width }, &self.at);
        let done = done.map_err(|error| Obstacle::NoHours.told(error).given(show.interval))?;
        let form = if show.output == Output::Json { Form::Instance } else { Form::Summary };
        let selection = Selection { form, output: show.output, ..Selection::default() };
        self.listed(done.into_iter().map(|done| row(done, since <= DAY)), &selection)
    }

    fn known_workload(&self, name: &ObjectName) -> Result<ObjectId, AdminError> {
        let found = self.registry.objects().find(|object| workload_name(object) == name.as_str());
        found.map(qos::Object::id).ok_or_else(|| {
            let text = format!("there is no workload {name}; `qos statistics workload performance show` lists them");
            Obstacle::NoWorkload.told(text).given(name).into()
        })
    }
}

fn row(Done { date, point }: Done, is_of_a_day: bool) -> HistoryRow {
    let (figures, mean) = (point.figures, point.figures.latency());
    HistoryRow {
        time: date,
        duration: (point.length.as_nanos() + Span::SECOND.as_nanos() / 2) / Span::SECOND.as_nanos(),
        is_of_a_day,
        iops: point.rate(figures.ops()),
        read_iops: point.rate(figures.read_ops),
        bytes_per_second: point.rate(figures.bytes()),
        latency_ns: mean.total().as_nanos(),
        network_ns: mean.network.as_nanos(),
        qos_max_ns: mean.qos_max.as_nanos(),
        qos_min_ns: mean.qos_min.as_nanos(),
        data_ns: mean.store.as_nanos(),
        disk_ns: mean.disk.as_nanos(),
    }
}

/// The registry, and the details of its objects.
type There<'a> = (&'a Registry, &'a BTreeMap<ObjectId, ObjectDetails>);

/// Reports nothing from before the object's volume was made.
fn of((registry, details): There<'_>, object: ObjectId, stretch: Stretch, at: &At<'_>) -> Result<Vec<Done>, String> {
    let volume = registry.path(object).find(|above| above.kind() == ObjectKind::Volume).map_or(object, |v| v.id());
    let mut found = match stretch.since <= DAY {
        true => of_day(object, stretch, at),
        false => of_hours(registry, (object, volume), stretch, at)?,
    };
    let made = details.get(&volume).map_or(0, |details| details.created);
    found.retain(|done| done.date > made);
    Ok(found)
}

fn of_day(object: ObjectId, Stretch { since, width }: Stretch, at: &At<'_>) -> Vec<Done> {
    let begin = Time::from_nanos(at.now.as_nanos().saturating_sub(Span::from_secs(since).as_nanos()));
    let mut found = Vec::new();
    for point in points(&at.world.day(begin), object, Span::from_secs(width)) {
        put(&mut found, Done { date: at.date_of(point.to), point });
    }
    found
}

fn of_hours(
    registry: &Registry,
    (object, volume): (ObjectId, ObjectId),
    Stretch { since, width }: Stretch,
    at: &At<'_>,
) -> Result<Vec<Done>, String> {
    let path = |object| crate::path_of(registry, object).unwrap_or_default();
    let named = Named { path: path(object), volume: path(volume) };
    let hours = at.world.hours(&named, at.date().saturating_sub(since) / HOUR..at.date() / HOUR + 1)?;
    Ok(by_hours(&hours, (width / HOUR).max(1)))
}

/// Joins hours into steps; each step ends at a multiple of its length since 1970.
fn by_hours(hours: &[HourDone], width: u64) -> Vec<Done> {
    let mut found: Vec<Done> = Vec::new();
    for one in hours {
        let date = (one.hour / width + 1) * width * HOUR;
        // The covered time is unknown if no volume was recorded; then the whole hour counts.
        let length = Span::from_secs(if one.seconds == 0 { HOUR } else { one.seconds });
        put(&mut found, Done { date, point: Point { to: Time::ZERO, length, figures: one.figures } });
    }
    found
}

/// Appends a step. Steps that end at the same date are joined, because the date identifies them.
fn put(found: &mut Vec<Done>, done: Done) {
    match found.last_mut().filter(|last| last.date == done.date) {
        Some(Done { point, .. }) => {
            point.to = done.point.to;
            point.length += done.point.length;
            point.figures.add(&done.point.figures);
        }
        None => found.push(done),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::world::TestWorld;
    use ::history::{Figures, History, HistorySettings};

    /// The server has run for 100 s, the volume has existed for the last 40 of them.
    #[test]
    fn nothing_is_told_of_the_time_before_a_volume_was_made() {
        let after = |seconds| Time::ZERO + Span::from_secs(seconds);
        let mut history = History::new(HistorySettings::default());
        (1..=100).for_each(|second| history.add(after(second), Span::SECOND, std::iter::empty()));
        let world = TestWorld { day: Some(history), ..TestWorld::default() };
        let mut administration = Administration::new(qos::RegistrySettings::default());
        for (line, second) in
            [("vserver create s", 0), ("volume create v -size 1MB", 60), ("lun create /vol/v/l -size 64KB", 70)]
        {
            let at = At { now: after(second), began: 1000, world: &world };
            let _ = administration.run_all(vec![ontap::parse(line).unwrap()], &at).unwrap();
        }
        let at = At { now: after(100), began: 1000, world: &world };
        let first = |kind| {
            let object = administration.registry.objects().find(|object| object.kind() == kind).unwrap().id();
            let done = administration.history(object, Stretch { since: 600, width: 1 }, &at).unwrap();
            (done.len(), done[0].date)
        };
        assert_eq!([first(ObjectKind::Volume), first(ObjectKind::Lun)], [(40, 1061), (40, 1061)]);
        assert_eq!(first(ObjectKind::Svm), (100, 1001));
    }

    /// Steps of two hours, from even hours on; the second step was served for half of its one hour.
    #[test]
    fn hours_are_put_together_to_whole_stretches() {
        let hour =
            |hour, seconds, read_ops| HourDone { hour, seconds, figures: Figures { read_ops, ..Figures::default() } };
        let found = by_hours(&[hour(10, 3600, 7200), hour(11, 3600, 0), hour(13, 1800, 3600)], 2);
        let told: Vec<_> = found.iter().map(|d| (d.date / HOUR, d.point.rate(d.point.figures.read_ops))).collect();
        assert_eq!(told, [(12, 1), (14, 2)]);
    }

    /// Two samples that end within one second are one step, so that its date identifies it.
    #[test]
    fn what_ends_at_one_date_is_one_stretch() {
        let done = |date, millis, read_ops| {
            let figures = Figures { read_ops, completed: read_ops, ..Figures::default() };
            Done { date, point: Point { to: Time::ZERO, length: Span::from_millis(millis), figures } }
        };
        let mut found = Vec::new();
        [done(7, 1000, 500), done(7, 970, 485), done(8, 1010, 505)].into_iter().for_each(|one| put(&mut found, one));
        let told: Vec<_> = found.iter().map(|d| (d.date, d.point.rate(d.point.figures.read_ops))).collect();
        assert_eq!(told, [(7, 500), (8, 500)]);
    }
}
