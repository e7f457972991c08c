//! `/api/storage/aggregates`: the pool, which is the one aggregate.

use super::{Resource, View};
use crate::body::Body;
use crate::problem::Problem;
use crate::record::{Field, Kind, key, known};
use admin::NODE;
use block::ObjectId;
use serde_json::{Value, json};

/// The pool.
pub(crate) struct Aggregates;

const FIELDS: &[Field<()>] = &[
    key("uuid", |view, ()| Some(view.cluster.uuid.as_str().into())),
    key("name", |view, ()| Some(view.cluster.name.as_str().into())),
    known("node.name", |_, ()| Some(NODE.into())),
    known("state", |_, ()| Some("online".into())).of(Kind::Word(&["online", "offline", "unknown"])),
    known("space.block_storage.size", |view, ()| Some(space(view)?.size.into())).of(Kind::Number),
    known("space.block_storage.available", |view, ()| Some(space(view)?.available.into())).of(Kind::Number),
    known("space.block_storage.used", |view, ()| {
        let space = space(view)?;
        Some(space.size.saturating_sub(space.available).into())
    })
    .of(Kind::Number),
];

fn space(view: &View<'_>) -> Option<admin::Aggregate> {
    view.at.world.aggregate()
}

impl Resource for Aggregates {
    type Item = ();

    const NAME: &'static str = "aggregate";
    const CHANGES: &'static [&'static str] = &[];

    fn path(&self) -> String {
        "/api/storage/aggregates".into()
    }

    fn fields(&self) -> &'static [Field<()>] {
        FIELDS
    }

    fn items(&self, _: &View<'_>) -> Vec<()> {
        vec![()]
    }

    fn find(&self, view: &View<'_>, key: &str) -> Option<()> {
        (key == view.cluster.uuid).then_some(())
    }

    fn key(&self, view: &View<'_>, (): ()) -> String {
        view.cluster.uuid.clone()
    }

    fn svm(&self, _: &View<'_>, (): ()) -> Option<ObjectId> {
        None
    }
}

impl super::Cluster {
    /// The list of aggregates in other records.
    pub(crate) fn aggregates(&self) -> Value {
        json!([{ "name": self.name, "uuid": self.uuid }])
    }
}

impl View<'_> {
    /// Takes the aggregates that a body names. Any name is accepted, as on the command line: the
    /// pool is the only aggregate, whatever scripts call theirs.
    pub fn any_aggregate(&self, body: &mut Body) -> Result<(), Problem> {
        for mut aggregate in body.list("aggregates")?.unwrap_or_default() {
            aggregate.text("name")?;
            aggregate.text("uuid")?;
            aggregate.end()?;
        }
        Ok(())
    }
}
