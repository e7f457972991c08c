//! Kinds of work, and kinds of times.

use std::borrow::Cow;

/// A class of work.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Class(Cow<'static, str>);

impl Class {
    /// All classes of an actor together.
    pub const ALL: Class = Class(Cow::Borrowed("all"));
    /// From storage.
    pub const READ: Class = Class(Cow::Borrowed("read"));
    /// To storage.
    pub const WRITE: Class = Class(Cow::Borrowed("write"));
    /// Releases space.
    pub const TRIM: Class = Class(Cow::Borrowed("trim"));
    /// Makes writes durable.
    pub const FLUSH: Class = Class(Cow::Borrowed("flush"));
    /// Neither reads nor writes, and not distinguished further.
    pub const OTHER: Class = Class(Cow::Borrowed("other"));
    /// Writes to a write image journal.
    pub const JOURNAL: Class = Class(Cow::Borrowed("journal"));
    /// Writes of a transaction journal.
    pub const LOG: Class = Class(Cow::Borrowed("log"));

    /// A class with any name.
    pub fn named(name: impl Into<Cow<'static, str>>) -> Class {
        Class(name.into())
    }

    /// Its name.
    pub fn name(&self) -> &str {
        &self.0
    }

    /// Whether its requests transfer bytes.
    pub fn moves_data(&self) -> bool {
        ![Class::FLUSH, Class::OTHER].contains(self)
    }

    /// Whether it is a part of the whole: neither the whole itself nor kept beside it.
    pub fn is_part(&self) -> bool {
        ![Class::ALL, Class::FLUSH, Class::JOURNAL, Class::LOG].contains(self)
    }
}

/// The kind of a latency.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Kind {
    /// From due to end.
    Response,
    /// From hand-over to end.
    Service,
    /// From made to hand-over.
    Submission,
    /// From due to hand-over.
    Lateness,
    /// In a QoS gate.
    Gate,
    /// In the device, as the server reports it.
    Device,
}

impl Kind {
    /// All kinds.
    pub const ALL: [Kind; 6] =
        [Kind::Response, Kind::Service, Kind::Submission, Kind::Lateness, Kind::Gate, Kind::Device];

    /// Its key in files.
    pub const fn key(self) -> &'static str {
        match self {
            Kind::Response => "response",
            Kind::Service => "service",
            Kind::Submission => "submission",
            Kind::Lateness => "lateness",
            Kind::Gate => "gate",
            Kind::Device => "device",
        }
    }

    /// The kind with this key.
    pub fn from_key(key: &str) -> Option<Kind> {
        Kind::ALL.into_iter().find(|kind| kind.key() == key)
    }
}
