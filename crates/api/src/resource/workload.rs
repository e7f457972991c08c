//! `/api/storage/qos/workloads`: the objects that policies apply to, with their present limits.

use super::policy::QOS_CLASSES;
use super::{Resource, View};
use crate::record::{Field, Kind, asked, key, known};
use admin::{uuid_of, workload_name};
use block::ObjectId;
use ontap::value::ThroughputLimits;
use qos::{Level, Object, ObjectKind};
use serde_json::Value;

/// Objects in policy groups.
pub(crate) struct Workloads;

const FIELDS: &[Field<ObjectId>] = &[
    key("uuid", |_, object| Some(uuid_of(object).into())),
    key("name", |view, object| Some(workload_name(view.registry().object(object)?).into())),
    known("wid", |_, object: ObjectId| Some(object.0.into())).of(Kind::Number),
    known("workload_class", |_, _| Some("user_defined".into())).of(Kind::Word(QOS_CLASSES)),
    known("policy.name", |view, object| view.policy_name(object)),
    known("policy.uuid", |view, object| view.policy_uuid(object)),
    known("svm", |view, object| Some(view.name_value(view.registry().svm_of(object)?))).of(Kind::Named),
    known("volume", |view, object| Some(view.name_of(view.above(object, ObjectKind::Volume)?).into())),
    known("qtree", |view, object| Some(view.name_of(view.above(object, ObjectKind::Qtree)?).into())),
    known("lun", |view, object| Some(view.path_in_svm(view.above(object, ObjectKind::Lun)?).into())),
    known("file", |view, object| {
        let file = view.registry().object(object)?;
        file.kind().is_file().then(|| file.name().into())
    }),
    known("max_throughput_iops", |view, object| Some(ceiling(view, object).iops?.into())).of(Kind::Number),
    known("min_throughput_iops", |view, object| Some(floor(view, object).iops?.into())).of(Kind::Number),
    known("max_throughput", |view, object| text(ceiling(view, object))).of(Kind::Ceiling),
    known("min_throughput", |view, object| text(floor(view, object))).of(Kind::Floor),
    asked("metric", |view, object| view.metric(object)).of(Kind::Metric),
    asked("statistics", |view, object| view.statistics(object)).of(Kind::Counters),
];

/// The limits of an object's own policy group.
fn level(view: &View<'_>, object: ObjectId) -> Option<Level> {
    let in_force = view.registry().limits_in_force(object)?;
    in_force.levels.into_iter().find(|level| level.object == object)
}

fn ceiling(view: &View<'_>, object: ObjectId) -> ThroughputLimits {
    level(view, object).map_or_else(ThroughputLimits::default, |level| {
        let ceiling = level.limits.ceiling;
        ThroughputLimits { iops: ceiling.iops.map(|rate| rate.0), bytes_per_second: ceiling.bytes.map(|rate| rate.0) }
    })
}

fn floor(view: &View<'_>, object: ObjectId) -> ThroughputLimits {
    level(view, object).map_or_else(ThroughputLimits::default, |level| {
        let floor = level.limits.floor;
        ThroughputLimits { iops: floor.iops.map(|rate| rate.0), bytes_per_second: floor.bytes.map(|rate| rate.0) }
    })
}

fn text(limits: ThroughputLimits) -> Option<Value> {
    (limits != ThroughputLimits::default()).then(|| limits.to_string().into())
}

impl Resource for Workloads {
    type Item = ObjectId;

    const NAME: &'static str = "workload";
    const CHANGES: &'static [&'static str] = &[];

    fn path(&self) -> String {
        "/api/storage/qos/workloads".into()
    }

    fn fields(&self) -> &'static [Field<ObjectId>] {
        FIELDS
    }

    fn items(&self, view: &View<'_>) -> Vec<ObjectId> {
        view.registry().objects().filter(|object| object.membership().is_some()).map(Object::id).collect()
    }

    fn find(&self, view: &View<'_>, key: &str) -> Option<ObjectId> {
        let object = view.registry().object(admin::object_of_uuid(key)?)?;
        object.membership().map(|_| object.id())
    }

    fn key(&self, _: &View<'_>, item: ObjectId) -> String {
        uuid_of(item)
    }

    fn svm(&self, view: &View<'_>, item: ObjectId) -> Option<ObjectId> {
        view.registry().svm_of(item)
    }
}
