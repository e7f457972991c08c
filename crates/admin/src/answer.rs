//! The answers of commands.

use block::{Iops, ObjectId};
use ontap::show::{Listing, Statistics, entries, lun_created};
use ontap::value::UnitSize;
use std::fmt;

/// The answer of a command that succeeded.
#[derive(Clone, Debug)]
pub enum Answer {
    /// The command changed something.
    Done {
        /// The result that is reported.
        report: Report,
        /// Side effects and warnings.
        notes: Vec<Note>,
    },
    /// The rows of a `show` command.
    Rows(Listing),
    /// Statistics.
    Statistics(Box<Statistics>),
    /// Help, which is plain text.
    Text(String),
}

/// What a command did, if it reports more than success.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Report {
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
    /// This many volumes were changed.
    VolumesModified(usize),
    /// This many LUNs matched a pattern.
    LunsActedOn(usize),
}

/// A side effect of a command, or a warning.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Note {
    /// About policies.
    Policy(qos::Note),
    /// Clients were disconnected.
    Disconnected {
        /// The LUN or file.
        object: ObjectId,
        /// Its path.
        path: String,
        /// Connections that ended with an error.
        connections: u64,
    },
    /// A restore deleted an object that the snapshot does not contain under that name.
    DeletedByRestore {
        /// Its path.
        path: String,
        /// The policy group that it was attached to itself.
        group: Option<String>,
    },
    /// A restore made an object that did not exist under that name; it is in no policy group of its
    /// own.
    MadeByRestore {
        /// Its path.
        path: String,
    },
    /// A volume of another SVM has had its junction path before.
    PathElsewhere {
        /// The SVM of the volume that is mounted now.
        svm: String,
        /// The path.
        path: String,
    },
    /// More is promised than the pool's goal allows.
    BeyondGoal {
        /// The sum of all floors.
        promised: Iops,
        /// The goal.
        goal: qos::Goal,
    },
}

impl Default for Answer {
    fn default() -> Answer {
        Answer::from(Report::Silent)
    }
}

impl From<Report> for Answer {
    fn from(report: Report) -> Answer {
        Answer::Done { report, notes: Vec::new() }
    }
}

impl Answer {
    /// The same answer with more notes; answers that only show something have none.
    #[must_use]
    pub fn with(mut self, more: impl IntoIterator<Item = Note>) -> Answer {
        if let Answer::Done { notes, .. } = &mut self {
            notes.extend(more);
        }
        self
    }

    /// The answer in ONTAP's layout, ready to print; empty if there is nothing to report.
    pub fn text(&self) -> String {
        match self {
            Answer::Done { report, notes } => {
                report.text() + &notes.iter().map(|note| format!("Note: {note}.\n")).collect::<String>()
            }
            Answer::Rows(listing) => listing.text(),
            Answer::Statistics(statistics) => statistics.text(),
            Answer::Text(text) => text.clone(),
        }
    }
}

impl Report {
    fn text(&self) -> String {
        match *self {
            Report::Silent => String::new(),
            Report::LunCreated { size, bytes } => lun_created(size, bytes),
            Report::VolumesModified(count) => format!("Volume modify successful: {}", entries(count, "modified")),
            Report::LunsActedOn(count) => entries(count, "acted on"),
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
            Note::PathElsewhere { svm, path } => write!(
                f,
                "clients mount it as {svm}:{path}; without `{svm}:` they get a volume of another SVM, which had {path} \
                 first"
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
