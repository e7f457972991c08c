//! Short ways to write the list of edits that a scene plays.

use block::{BytesPerSecond, Iops, ObjectId, Span, Time};
use qos::{Ceiling, Edit, Floor, GroupId, Limits};

/// A list of edits being built.
#[derive(Clone, Debug, Default)]
pub struct Tree {
    edits: Vec<(Time, Edit)>,
}

impl Tree {
    /// No edits yet.
    pub fn new() -> Tree {
        Tree::default()
    }

    /// Objects directly under the backend, numbered from 0, without limits.
    pub fn flat(objects: u32) -> Tree {
        (0..objects).fold(Tree::new(), |tree, number| tree.object(number, None))
    }

    /// Adds an object under another, or under the backend, at the start.
    pub fn object(self, number: u32, parent: Option<u32>) -> Tree {
        let edit = Edit::AddObject { object: ObjectId(number), parent: parent.map(ObjectId) };
        self.at(Time::ZERO, edit)
    }

    /// Sets these limits at the start.
    pub fn limits(self, number: u32, limits: Limits) -> Tree {
        self.at(Time::ZERO, Edit::SetLimits { object: ObjectId(number), limits })
    }

    /// Sets a ceiling in operations per second at the start.
    pub fn ceiling(self, number: u32, iops: u64) -> Tree {
        self.limits(number, ceiling(iops))
    }

    /// Sets a floor in operations per second at the start.
    pub fn floor(self, number: u32, iops: u64) -> Tree {
        self.limits(number, floor(iops))
    }

    /// Adds a shared group with this budget and these members at the start.
    pub fn group(self, group: u32, limits: Limits, members: impl IntoIterator<Item = u32>) -> Tree {
        let tree = self.at(Time::ZERO, Edit::AddGroup { group: GroupId(group), limits });
        members.into_iter().fold(tree, |tree, member| {
            tree.at(Time::ZERO, Edit::Join { object: ObjectId(member), group: Some(GroupId(group)) })
        })
    }

    /// Adds any edit at its time. Times must not go back.
    pub fn at(mut self, time: Time, edit: Edit) -> Tree {
        assert!(self.edits.last().is_none_or(|last| last.0 <= time), "edits go forward in time");
        self.edits.push((time, edit));
        self
    }

    /// The list.
    pub fn edits(self) -> Vec<(Time, Edit)> {
        self.edits
    }
}

/// A ceiling in operations per second alone.
pub fn ceiling(iops: u64) -> Limits {
    Limits { ceiling: Ceiling { iops: Some(Iops(iops)), ..Ceiling::default() }, ..Limits::default() }
}

/// A ceiling in bytes per second alone.
pub fn throughput(bytes: u64) -> Limits {
    Limits { ceiling: Ceiling { bytes: Some(BytesPerSecond(bytes)), ..Ceiling::default() }, ..Limits::default() }
}

/// A floor in operations per second alone.
pub fn floor(iops: u64) -> Limits {
    Limits { floor: Floor { iops: Some(Iops(iops)), ..Floor::default() }, ..Limits::default() }
}

/// A floor by latency.
pub fn latency(most: Span) -> Limits {
    Limits { floor: Floor { latency: Some(most), ..Floor::default() }, ..Limits::default() }
}
