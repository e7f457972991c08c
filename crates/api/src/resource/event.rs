//! `/api/support/ems/events`: the log of events, latest first.

use super::job::moment;
use super::{Resource, View};
use crate::record::{Field, Kind, key, known};
use admin::{Event, NODE};
use block::ObjectId;

/// The events, by number.
pub(crate) struct EmsEvents;

const FIELDS: &[Field<u64>] = &[
    key("node.name", |_, _| Some(NODE.into())),
    key("node.uuid", |view, _| Some(view.cluster.uuid.as_str().into())),
    key("index", |_, number: u64| Some(number.into())).of(Kind::Number),
    key("time", |view, number| Some(moment(event(view, number)?.time))).of(Kind::Moment),
    key("message.name", |view, number| Some(event(view, number)?.name.as_str().into())),
    key("message.severity", |view, number| Some(event(view, number)?.severity.word().to_lowercase().into()))
        .of(Kind::Word(&["emergency", "alert", "error", "notice", "informational", "debug"])),
    key("log_message", |view, number| {
        let event = event(view, number)?;
        Some(format!("{}: {}", event.name, event.text).into())
    }),
    known("source", |_, _| Some("seawall".into())),
];

/// Numbers ascend, but some may be missing.
fn event<'a>(view: &'a View<'_>, number: u64) -> Option<&'a Event> {
    let events = view.events();
    events.binary_search_by_key(&number, |event| event.number).ok().map(|at| &*events[at])
}

impl Resource for EmsEvents {
    type Item = u64;

    const NAME: &'static str = "event";
    const CHANGES: &'static [&'static str] = &[];

    fn path(&self) -> String {
        "/api/support/ems/events".into()
    }

    fn fields(&self) -> &'static [Field<u64>] {
        FIELDS
    }

    fn items(&self, view: &View<'_>) -> Vec<u64> {
        let mut events: Vec<_> = view.events().iter().map(|event| (event.time, event.number)).collect();
        events.sort_unstable();
        events.into_iter().rev().map(|(_, number)| number).collect()
    }

    fn find(&self, view: &View<'_>, key: &str) -> Option<u64> {
        let (node, number) = key.split_once('/')?;
        let number = number.parse().ok().filter(|_| node == NODE)?;
        event(view, number).map(|event| event.number)
    }

    fn key(&self, _: &View<'_>, item: u64) -> String {
        format!("{NODE}/{item}")
    }

    fn svm(&self, _: &View<'_>, _: u64) -> Option<ObjectId> {
        None
    }

    /// Events name clients and volumes of all SVMs.
    fn is_seen(&self, view: &View<'_>, _: u64) -> bool {
        view.sees_all()
    }
}
