//! What a command answers.

use block::{Iops, ObjectId};
use ontap::show::{Listing, Statistics, entries, lun_created};
use ontap::value::UnitSize;
use std::fmt;

/// The answer of a command that was done.
#[derive(Clone, Debug)]
pub enum Answer {
    /// It changed something.
    Done {
        /// What deserves a word.
        deed: Deed,
        /// What else came of it.
        notes: Vec<Note>,
    },
    /// What it was to show.
    Rows(Listing),
    /// What was measured.
    Statistics(Box<Statistics>),
    /// Help, which is text to begin with.
    Text(String),
}

/// What a command did, where it says more than that it is done.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Deed {
    /// Nothing to say.
    #[default]
    Silent,
    /// A LUN was made.
    LunCreated {
        /// Its size as typed.
        size: UnitSize,
        /// Its size in bytes.
        bytes: u64,
    },
    /// So many volumes were changed.
    VolumesModified(usize),
    /// LUNs matched a pattern, so many of them.
    LunsActedOn(usize),
}

/// Something that a command did beyond its words, or that deserves a look.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Note {
    /// Of policies.
    Policy(qos::Note),
    /// Clients lost what they were connected to.
    Disconnected {
        /// The LUN or file.
        object: ObjectId,
        /// Its path.
        path: String,
        /// Connections that ended with an error.
        connections: u64,
    },
    /// A restore deleted what the snapshot does not have under that name.
    DeletedByRestore {
        /// Its path.
        path: String,
        /// The policy group that it was in itself.
        group: Option<String>,
    },
    /// A restore made what was not there under that name: in no policy group of its own.
    MadeByRestore {
        /// Its path.
        path: String,
    },
    /// More is promised than the pool's goal has it.
    BeyondGoal {
        /// All floors together.
        promised: Iops,
        /// The goal.
        goal: qos::Goal,
    },
}

impl Default for Answer {
    fn default() -> Answer {
        Answer::from(Deed::Silent)
    }
}

impl From<Deed> for Answer {
    fn from(deed: Deed) -> Answer {
        Answer::Done { deed, notes: Vec::new() }
    }
}

impl Answer {
    /// The same with more notes. What only shows something has none.
    #[must_use]
    pub fn with(mut self, more: impl IntoIterator<Item = Note>) -> Answer {
        if let Answer::Done { notes, .. } = &mut self {
            notes.extend(more);
        }
        self
    }

    /// As ONTAP lays it out, ready to print; empty where there is nothing to say.
    pub fn text(&self) -> String {
        match self {
            Answer::Done { deed, notes } => {
                deed.text() + &notes.iter().map(|note| format!("Note: {note}.\n")).collect::<String>()
            }
            Answer::Rows(listing) => listing.text(),
            Answer::Statistics(statistics) => statistics.text(),
            Answer::Text(text) => text.clone(),
        }
    }
}

impl Deed {
    fn text(&self) -> String {
        match *self {
            Deed::Silent => String::new(),
            Deed::LunCreated { size, bytes } => lun_created(size, bytes),
            Deed::VolumesModified(count) => format!("Volume modify successful: {}", entries(count, "modified")),
            Deed::LunsActedOn(count) => entries(count, "acted on"),
        }
    }
}

impl fmt::Display for Note {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Note::Policy(note) => note.fmt(f),
            Note::BeyondGoal { promised, goal } => write!(
                f,
                "the floors together are {} IOPS, beyond the goal of {} ({} % of {})",
                promised.0,
                goal.most().0,
                goal.percent,
                goal.capacity.0
            ),
            Note::DeletedByRestore { path, group: None } => {
                write!(f, "{path}: deleted; the snapshot has none of that name")
            }
            Note::DeletedByRestore { path, group: Some(group) } => {
                write!(f, "{path} in policy group {group}: deleted; the snapshot has none of that name")
            }
            Note::MadeByRestore { path } => {
                write!(f, "{path}: made again, in no policy group of its own; nothing of that name was left")
            }
            Note::Disconnected { path, connections: 1, .. } => write!(f, "{path}: 1 connection ended with an error"),
            Note::Disconnected { path, connections, .. } => {
                write!(f, "{path}: {connections} connections ended with an error")
            }
        }
    }
}
