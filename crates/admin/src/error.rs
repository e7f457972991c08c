//! Why a command was refused: one line for people, and code, kind, field, value and target for
//! programs.

use ontap::{CommandError, Problem};
use qos::{RateName, Refusal, RefusalKind, Rule};
use std::fmt;

/// Why a command was refused. Nothing has changed.
#[derive(Debug, thiserror::Error)]
pub enum AdminError {
    /// The line is not a valid command.
    #[error("{0}")]
    Grammar(Box<CommandError>),
    /// A rule of policies or objects refused it.
    #[error("{0} (code {code})", code = .0.code())]
    Refused(#[from] Refusal),
    /// Something that it names does not exist, or is in the way.
    #[error("{0}")]
    Command(Box<Objection>),
}

/// An obstacle to a command that is valid and breaks no rule of the registry.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{text}")]
pub struct Objection {
    /// What is in the way.
    pub obstacle: Obstacle,
    /// The value that was given, as typed.
    pub value: Option<String>,
    /// The object that it concerns: a path, or a name.
    pub target: Option<String>,
    text: String,
}

/// The machine-readable part of an error, from which an interface makes its status and its
/// envelope.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Detail {
    /// ONTAP's code, or ours if ONTAP's is not published: see [`Rule`] and [`Obstacle`].
    pub code: u32,
    /// What is in the way.
    pub kind: RefusalKind,
    /// The parameter that it concerns, if any.
    pub field: Option<&'static str>,
    /// The value that was given.
    pub value: Option<String>,
    /// The object or policy group.
    pub target: Option<String>,
}

macro_rules! obstacles {
    ($($(#[$doc:meta])* $name:ident = $code:literal, $kind:ident, $field:expr;)*) => {
        /// What can be in the way of a command, beside the registry's rules. Codes below 8454144
        /// are ONTAP's general ones; those from 8454925 on are ours and mean nothing to ONTAP.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum Obstacle {
            $($(#[$doc])* $name,)*
        }

        impl Obstacle {
            /// Every obstacle, for documents and tests.
            pub const ALL: &[Obstacle] = &[$(Obstacle::$name),*];

            /// Its code.
            pub const fn code(self) -> u32 {
                match self {
                    $(Obstacle::$name => $code,)*
                }
            }

            /// What kind of refusal it is.
            pub const fn kind(self) -> RefusalKind {
                match self {
                    $(Obstacle::$name => RefusalKind::$kind,)*
                }
            }

            /// The parameter that it is about.
            pub const fn field(self) -> Option<&'static str> {
                match self {
                    $(Obstacle::$name => $field,)*
                }
            }
        }
    };
}

obstacles! {
    /// There is no SVM of that name, or none at all.
    NoSvm = 4, Missing, Some("vserver");
    /// There is no volume of that name, or none that a pattern fits.
    NoVolume = 4, Missing, Some("volume");
    /// There is no such qtree.
    NoQtree = 4, Missing, Some("qtree");
    /// There is no such LUN, or none that a pattern fits.
    NoLun = 4, Missing, Some("path");
    /// There is no such file.
    NoFile = 4, Missing, Some("file");
    /// There is no such snapshot.
    NoSnapshot = 4, Missing, Some("snapshot");
    /// The source has no such LUN or file.
    NoSource = 4, Missing, Some("path");
    /// There is no such partition of the cache.
    NoPartition = 4, Missing, Some("partition");
    /// There is no workload of that name.
    NoWorkload = 4, Missing, Some("workload");
    /// There is no such node.
    NoNode = 4, Missing, Some("node");
    /// The volume has a snapshot of that name.
    SnapshotTaken = 1, Exists, Some("snapshot");
    /// Another volume has that place in the name space.
    JunctionTaken = 1, Exists, Some("junction-path");
    /// There is a partition of that name.
    PartitionTaken = 1, Exists, Some("partition");
    /// The server has no cache.
    NoCache = 3, Unsupported, None;
    /// The default partition is what the others leave.
    PartitionDefault = 3, Unsupported, Some("partition");
    /// Floors cannot be switched off.
    FloorsAlwaysKept = 3, Unsupported, Some("enable");
    /// It contains something that would be lost.
    NotEmpty = 8, InUse, None;
    /// It has snapshots that would be lost.
    HasSnapshots = 8, InUse, None;
    /// Clients made files there that would be lost, or hidden.
    FilesOfClients = 8, InUse, None;
    /// It has another place in the name space.
    Mounted = 8, InUse, Some("junction-path");
    /// Clients are connected to it.
    Connected = 8, InUse, None;
    /// Users have their role by its name.
    LoginsOfSvm = 8, InUse, Some("vserver");
    /// It has volumes.
    PartitionInUse = 8, InUse, Some("partition");
    /// There are several SVMs, and none was named.
    WhichSvm = 8454925, Invalid, Some("vserver");
    /// A qtree without its volume.
    WhichVolume = 8454926, Invalid, Some("volume");
    /// A fixed group by the parameter or command of adaptive ones.
    GroupIsFixed = 8454927, Invalid, Some("qos-adaptive-policy-group");
    /// An adaptive group by the parameter or command of fixed ones.
    GroupIsAdaptive = 8454928, Invalid, Some("qos-policy-group");
    /// A size that no volume, LUN or file may have.
    SizeRange = 8454929, Invalid, Some("size");
    /// A volume is to be smaller than what is in it.
    BelowContents = 8454930, Full, Some("size");
    /// The volume has no room for so much.
    NoRoom = 8454931, Full, Some("size");
    /// The volume has as many snapshots as it may have.
    SnapshotsMax = 8454932, Full, Some("snapshot");
    /// Numbers for snapshots are used up.
    SnapshotNumbers = 8454933, Full, Some("snapshot");
    /// The store refuses it: there is data beyond a smaller size, or it is full.
    Store = 8454934, Full, Some("size");
    /// The floors together would be beyond the pool's goal of utilisation.
    BeyondGoal = 8454935, Full, None;
    /// The partitions would be more than the memory of the cache.
    BeyondMemory = 8454936, Full, Some("size");
    /// A partition that would hold nothing.
    PartitionSize = 8454937, Invalid, Some("size");
    /// There are as many partitions as there may be.
    PartitionsMax = 8454938, Full, Some("partition");
    /// A volume is in another partition, or is named twice.
    VolumeTwice = 8454939, InUse, Some("volumes");
    /// A volume is not in the partition.
    NotInPartition = 8454940, Invalid, Some("volumes");
    /// Neither a volume nor a workload was named.
    WhichWorkload = 8454941, Invalid, Some("volume");
    /// What was kept by the hour cannot be read.
    NoHours = 8454942, Invalid, Some("interval");
    /// A user cannot be read or changed.
    NoLogins = 8454943, Invalid, None;
    /// A role that does not go with an SVM.
    WhichRole = 8454944, Invalid, Some("role");
}

impl Obstacle {
    /// An objection with its line of text: the value given, the rule, and what to do.
    pub fn told(self, text: impl fmt::Display) -> Objection {
        Objection { obstacle: self, value: None, target: None, text: text.to_string() }
    }
}

impl Objection {
    /// Adds the value that was given.
    #[must_use]
    pub fn given(self, value: impl fmt::Display) -> Objection {
        Objection { value: Some(value.to_string()), ..self }
    }

    /// Adds the object that it concerns.
    #[must_use]
    pub fn about(self, target: impl fmt::Display) -> Objection {
        Objection { target: Some(target.to_string()), ..self }
    }
}

impl AdminError {
    /// The error as JSON, on one line, for a command that asks for JSON output.
    pub fn json(&self) -> String {
        let detail = self.detail();
        ontap::show::refusal(Some(detail.code), &self.to_string(), detail.target.as_deref())
    }

    /// The machine-readable part.
    pub fn detail(&self) -> Detail {
        match self {
            AdminError::Grammar(error) => of_line(error),
            AdminError::Refused(Refusal { rule, subject, given, rate }) => Detail {
                code: rule.code(),
                kind: rule.kind(),
                field: rate.map_or_else(|| field_of(*rule), |rate| Some(field_of_rate(rate))),
                value: Some(given.clone()),
                target: Some(subject.clone()),
            },
            AdminError::Command(objection) => {
                let Objection { obstacle, value, target, .. } = &**objection;
                let (code, kind, field) = (obstacle.code(), obstacle.kind(), obstacle.field());
                Detail { code, kind, field, value: value.clone(), target: target.clone() }
            }
        }
    }
}

impl From<CommandError> for AdminError {
    fn from(error: CommandError) -> AdminError {
        AdminError::Grammar(Box::new(error))
    }
}

impl From<Objection> for AdminError {
    fn from(objection: Objection) -> AdminError {
        AdminError::Command(Box::new(objection))
    }
}

/// A field is wrong (ONTAP's general code).
const BAD_FIELD: u32 = 2;
/// The command has no such argument.
const UNEXPECTED_ARGUMENT: u32 = 262179;
/// The value is invalid.
const INVALID_VALUE: u32 = 262197;
/// The fields exclude one another.
const EXCLUSIVE: u32 = 8454389;

/// Describes the first problem of a line.
fn of_line(error: &CommandError) -> Detail {
    let (code, field, value) = match error.problems.first() {
        Some(Problem::UnknownParameter { word, .. } | Problem::RefusedParameter { word, .. })
        | Some(Problem::AmbiguousParameter { word, .. } | Problem::Unexpected { word }) => {
            (UNEXPECTED_ARGUMENT, None, Some(word.clone()))
        }
        Some(Problem::BadValue { parameter, error }) => (INVALID_VALUE, Some(*parameter), Some(error.given.clone())),
        Some(Problem::SplitValue { parameter, value, .. }) => (INVALID_VALUE, Some(*parameter), Some(value.clone())),
        Some(Problem::Repeated { parameter, second, .. }) => (BAD_FIELD, Some(*parameter), Some(second.clone())),
        Some(Problem::MissingValue { parameter, .. } | Problem::MissingParameter { parameter, .. })
        | Some(Problem::SplitParameter { parameter, .. }) => (BAD_FIELD, Some(*parameter), None),
        Some(Problem::Apart { first, .. }) => (EXCLUSIVE, Some(*first), None),
        _ => (BAD_FIELD, None, None),
    };
    Detail { code, kind: RefusalKind::Invalid, field, value, target: None }
}

/// The parameter of a rate.
fn field_of_rate(rate: RateName) -> &'static str {
    match rate {
        RateName::Ceiling => "max-throughput",
        RateName::Floor => "min-throughput",
        RateName::Expected => "expected-iops",
        RateName::Peak => "peak-iops",
        RateName::AbsoluteMin => "absolute-min-iops",
    }
}

/// The parameter that a rule concerns, if it was given.
fn field_of(rule: Rule) -> Option<&'static str> {
    Some(match rule {
        Rule::NoGroup | Rule::GroupName | Rule::Preset | Rule::GroupInUse => "policy-group",
        Rule::NameOfFixed | Rule::NameOfAdaptive | Rule::FixedTaken | Rule::AdaptiveTaken => "policy-group",
        Rule::FixedToAdaptive | Rule::AdaptiveToFixed => "policy-group",
        Rule::NameTaken => "new-name",
        Rule::FloorAboveCeiling => "min-throughput",
        Rule::AdaptiveZero | Rule::ExpectedAbovePeak => "expected-iops",
        Rule::BurstExclusive | Rule::BurstRange | Rule::BurstWithCredits => "burst-percent",
        Rule::BurstNeedsIops => "burst-iops",
        Rule::RateRange => "max-throughput",
        Rule::LatencyRange => "expected-latency",
        Rule::SharedImmutable | Rule::SharedFloor => "is-shared",
        Rule::FloorOnSvm | Rule::OtherSvm | Rule::Nested | Rule::TemplateAndPolicy => "qos-policy-group",
        Rule::AdaptiveKind => "qos-adaptive-policy-group",
        Rule::TemplateKind => "qos-adaptive-policy-group-template",
        Rule::LunPath | Rule::FilePath => "path",
        Rule::ObjectTaken | Rule::NoObject | Rule::ObjectName | Rule::ObjectInUse | Rule::Moves => return None,
        Rule::GroupsMax | Rule::WorkloadsMax | Rule::ObjectsMax | Rule::WrongKind | Rule::Catalogue => return None,
    })
}
