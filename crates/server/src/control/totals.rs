//! Hourly totals by the names of objects: what was done, as collected by the monitor, and what was
//! promised and used meanwhile. Housekeeping adds them to the pool's `totals.db`.
//!
//! Figures get the names and policies that objects have when the figures are collected. That
//! happens at each addition and before each change, so that an object that is deleted, renamed or
//! given another policy, with its volume too, keeps its earlier figures. Promises are counted in
//! whole seconds: the one in which the change comes is the earlier policy's.

use super::Control;
use crate::shard::ShardGone;
use admin::World as _;
use block::{ObjectId, Span, Time};
use history::{Promise, Totals, hour_of};
use qos::{Object, ObjectKind};
use std::collections::{BTreeMap, BTreeSet};
use store::{Contents, HourRow, ObjectName};

/// Most rows that wait if the file cannot be written: 20 hours for 10 000 objects, or 40 MB. At the
/// limit no rows are added, but existing ones still grow.
const ROWS_MAX: usize = 200_000;

/// The totals that wait to be added to the file.
#[derive(Debug, Default)]
pub(super) struct Pending {
    rows: BTreeMap<(u64, u32, ObjectName), Totals>,
    /// Set once totals are collected: up to when promises have been counted, on the scheduler's
    /// clock, and the date of that moment.
    promised: Option<(Time, u64)>,
    /// Rows that were dropped at the limit.
    lost: u64,
}

impl Pending {
    fn add(&mut self, hour: u64, object: ObjectId, name: ObjectName, totals: &Totals) {
        let key = (hour, object.0, name);
        if self.rows.len() >= ROWS_MAX && !self.rows.contains_key(&key) {
            self.lost += 1;
            return;
        }
        self.rows.entry(key).or_default().add(totals);
    }
}

impl Control {
    /// What was done and promised since the previous call, by hour and object; the first call only
    /// starts the collection. Rows that could not be written are returned by
    /// [`Control::take_back_totals`].
    ///
    /// # Errors
    /// The shard is gone.
    pub fn take_totals(&mut self) -> Result<Vec<HourRow>, ShardGone> {
        self.name_figures(false)?;
        if self.pending.lost > 0 {
            tracing::error!(rows = self.pending.lost, limit = ROWS_MAX, "hourly totals are lost: too many wait");
            self.pending.lost = 0;
        }
        self.monitor.forget_others(&self.administration.registry);
        let rows = std::mem::take(&mut self.pending.rows).into_iter();
        Ok(rows.map(|((hour, object, name), totals)| HourRow { hour, object, name, totals }).collect())
    }

    /// Takes back rows that could not be written, to return them again later.
    pub fn take_back_totals(&mut self, rows: Vec<HourRow>) {
        for HourRow { hour, object, name, totals } in rows {
            self.pending.add(hour, ObjectId(object), name, &totals);
        }
    }

    /// Collects all figures up to now under their present names before a change, if totals are
    /// collected.
    pub(super) fn name_before_change(&mut self) {
        if self.pending.promised.is_none() {
            return;
        }
        let named = self.account().and_then(|_| {
            self.monitor.part(self.date(), &self.administration.registry);
            self.name_figures(true)
        });
        if let Err(error) = named {
            tracing::error!(%error, "hourly totals before a change");
        }
    }

    /// Gives what was done, and then what was promised meanwhile, the names of now. The second that
    /// has begun is promised already if `begun_counts`.
    fn name_figures(&mut self, begun_counts: bool) -> Result<(), ShardGone> {
        let mut active = BTreeSet::new();
        for (hour, object, totals) in self.monitor.take_hours() {
            active.insert(object);
            if let Some(name) = self.object_name(object) {
                self.pending.add(hour, object, name, &totals);
            }
        }
        self.promise(&active, begun_counts)
    }

    /// Adds what was promised since the last count: for volumes, for objects with a policy of their
    /// own, and for active objects.
    fn promise(&mut self, active: &BTreeSet<ObjectId>, begun_counts: bool) -> Result<(), ShardGone> {
        let (now, date) = (self.clock.now(), self.date());
        let (since, begun) = self.pending.promised.unwrap_or((now, date));
        let (passed, second) = (now.since(since).as_nanos(), Span::SECOND.as_nanos());
        let seconds = if begun_counts { passed.div_ceil(second) } else { passed / second };
        // A fraction of a second that is left counts the next time. After a second that was counted
        // before its end, the next one begins later than now.
        self.pending.promised = Some((since + Span::from_secs(seconds), date));
        if seconds == 0 {
            return Ok(());
        }
        let measuring = self.measuring();
        let is_told = |object: &&Object| {
            let kind = object.kind();
            kind == ObjectKind::Volume
                || kind != ObjectKind::Svm && (object.membership().is_some() || active.contains(&object.id()))
        };
        let told: Vec<(ObjectId, Promise)> = self
            .administration
            .registry
            .objects()
            .filter(is_told)
            .map(|object| {
                let used = self.administration.used_in(object.id(), &|leaf| measuring.used(leaf));
                (object.id(), self.promise_of(object, used, seconds))
            })
            .collect();
        measuring.is_whole()?;
        for (object, promise) in told {
            if let Some(name) = self.object_name(object) {
                let totals = Totals { promise, ..Totals::default() };
                self.pending.add(hour_of(begun), object, name, &totals);
            }
        }
        Ok(())
    }

    fn promise_of(&self, object: &Object, used: u64, seconds: u64) -> Promise {
        let in_force = self.administration.registry.limits_in_force(object.id()).unwrap_or_default();
        let own = in_force.levels.iter().find(|level| level.object == object.id());
        let floor = own.map(|level| level.limits.floor).unwrap_or_default();
        let ceiling = own.filter(|level| !level.shared).map(|level| level.limits.ceiling).unwrap_or_default();
        let times = |rate: Option<u64>| rate.unwrap_or(0).saturating_mul(seconds);
        let mib = |bytes: u64| ((u128::from(bytes) * u128::from(seconds)) >> 20) as u64;
        Promise {
            seconds,
            floor_ops: times(floor.iops.map(|rate| rate.0)),
            floor_bytes: times(floor.bytes.map(|rate| rate.0)),
            ceiling_ops: times(ceiling.iops.map(|rate| rate.0)),
            ceiling_bytes: times(ceiling.bytes.map(|rate| rate.0)),
            allocated_mib_s: mib(object.size().allocated.0),
            used_mib_s: mib(used),
        }
    }

    /// The present name of an object.
    fn object_name(&self, object: ObjectId) -> Option<ObjectName> {
        let registry = &self.administration.registry;
        let of_kind = |kind| registry.path(object).find(|above| above.kind() == kind).map(|above| above.name().into());
        // An SVM's policy is nothing that a volume in it is sold.
        let mut carriers = registry.path(object).take_while(|on| on.id() == object || on.kind() != ObjectKind::Svm);
        let group = carriers.find_map(Object::membership).map(|membership| membership.group);
        Some(ObjectName {
            svm: of_kind(ObjectKind::Svm)?,
            volume: of_kind(ObjectKind::Volume).unwrap_or_default(),
            path: self.path_of(object)?,
            policy: group.and_then(|group| self.group_name(group)).unwrap_or_default().into(),
        })
    }
}

/// The bytes that each object of a catalogue uses, with everything in it; `used` returns those of a
/// LUN or file.
pub(super) fn used_by(contents: &Contents, used: &dyn Fn(u32) -> u64) -> BTreeMap<u32, u64> {
    let mut sums = BTreeMap::new();
    for row in contents.objects.values().filter(|row| !matches!(row.kind, store::Kind::Svm | store::Kind::Qtree)) {
        let bytes = used(row.id);
        let mut above = Some(row.id);
        while let Some(id) = above {
            *sums.entry(id).or_default() += bytes;
            above = contents.objects.get(&id).and_then(|row| row.parent);
        }
    }
    sums
}
