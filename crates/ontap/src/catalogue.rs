//! The tables of commands: every command with its parameters, written once. One entry makes the
//! struct that the caller receives, the row that the parser reads, and the text that help shows.
//!
//! A new command is a new entry in one of the files below, and a new area a new file and a line in
//! `areas!`.

mod adaptive;
mod aggregate;
mod area;
mod cache;
mod chart;
mod clone;
mod event;
mod fairness;
mod file;
mod history;
mod lun;
mod network;
mod policy_group;
mod privilege;
mod qtree;
mod question;
mod security;
mod selection;
mod session;
mod snapshot;
mod statistics;
mod volume;
mod vserver;
mod workload;

pub use crate::value::Output;
pub use adaptive::*;
pub use aggregate::*;
pub(crate) use area::about;
pub use cache::*;
pub use chart::*;
pub use clone::*;
pub use event::*;
pub use fairness::*;
pub use file::*;
pub use history::*;
pub use lun::*;
pub use network::*;
pub use policy_group::*;
pub use qtree::*;
pub use security::*;
pub(crate) use selection::OUTPUT;
pub use selection::{Filter, Form, Selection};
pub use session::*;
pub use snapshot::*;
pub use statistics::*;
pub use volume::*;
pub use vserver::*;
pub use workload::*;

use crate::grammar::{CommandSpec, Topic};
use std::sync::LazyLock;

/// Joins the areas to one enum.
macro_rules! areas {
    ($( $(#[$doc:meta])* $area:ident($enum:ident), )+) => {
        /// A command that was read: its area, and there the command itself.
        #[derive(Clone, Debug, PartialEq, Eq)]
        pub enum Command {
            $( $(#[$doc])* $area($enum), )+
            /// `help …` and `… ?`: the text is all there is to do.
            Help(Topic),
        }

        impl Command {
            /// Whether it only shows something, and never changes anything.
            pub fn shows(&self) -> bool {
                match self {
                    $( Command::$area(command) => command.shows(), )+
                    Command::Help(_) => true,
                }
            }
        }

        /// All commands, area by area, and those of snapshots again under their shorter name.
        pub fn specs() -> impl Iterator<Item = &'static CommandSpec> {
            [$( $enum::SPECS ),+].into_iter().flatten().chain(SHORTER.iter())
        }
    };
}

/// `snapshot …` for `volume snapshot …`, as ONTAP has had it since 9.16.
static SHORTER: LazyLock<Vec<CommandSpec>> = LazyLock::new(|| {
    let shorter = |spec: &CommandSpec| Some(CommandSpec { path: spec.path.strip_prefix("volume ")?, ..*spec });
    SnapshotCommand::SPECS.iter().filter_map(shorter).collect()
});

areas! {
    /// `vserver …`
    Vserver(VserverCommand),
    /// `volume …`
    Volume(VolumeCommand),
    /// `network …`
    Network(NetworkCommand),
    /// `storage aggregate …`
    Aggregate(AggregateCommand),
    /// `volume qtree …`
    Qtree(QtreeCommand),
    /// `volume file …`
    File(FileCommand),
    /// `volume snapshot …`
    Snapshot(SnapshotCommand),
    /// `volume clone …` and `volume file clone …`
    Clone(CloneCommand),
    /// `lun …`
    Lun(LunCommand),
    /// `qos policy-group …`
    PolicyGroup(PolicyGroupCommand),
    /// `qos adaptive-policy-group …`
    Adaptive(AdaptiveCommand),
    /// `qos adaptive-policy-group chart`
    Chart(AdaptiveChart),
    /// `qos fairness …`
    Fairness(FairnessCommand),
    /// `qos workload …` and `qos settings …`
    Workload(WorkloadCommand),
    /// `qos statistics …`
    Statistics(StatisticsShow),
    /// `cache …`
    Cache(CacheCommand),
    /// `security …`
    Security(SecurityCommand),
    /// `event log …`
    Event(EventCommand),
    /// `qos statistics history show`
    History(HistoryShow),
    /// `set` and `rows`
    Session(SessionCommand),
}

/// Turns a table into an enum, a struct for every command that changes something, and the rows for
/// the parser.
///
/// An entry has: help, the words, the variant, the struct, and the parameters, each with help,
/// name, field and type. The first parameter may be given without its name. `Option` marks a
/// parameter that may be left out, `= "…"` gives a default, `apart` lists pairs that exclude one
/// another, `refused` lists names that are no parameters here, with what to write instead. A
/// `shows` entry has no struct: after `by` come the keys that together identify an object, then the
/// fields that can be shown and filtered by, each with its kind unless it is text.
macro_rules! commands {
    (
        $(#[doc = $about:literal])+
        $enum:ident in $area:ident
        $(
            $(#[doc = $help:literal])+
            $path:literal => $variant:ident($struct:ident) {
                $( $(#[doc = $field_help:literal])+ $name:literal $field:ident: $type:ty $(= $default:literal)?, )*
            } $(apart { $($one:literal $other:literal,)* })? $(refused { $($odd:literal $instead:literal,)* })?
        )*
        $(shows
            $(#[doc = $show_help:literal])+
            $show_path:literal => $show:ident by { $($key:literal),* } {
                $( $(#[doc = $column_help:literal])+ $column:literal $(: $kind:ident)?, )*
            }
        )*
    ) => {
        $(#[doc = $about])+
        #[derive(Clone, Debug, PartialEq, Eq)]
        pub enum $enum {
            $( $(#[doc = $help])+ $variant($struct), )*
            $( $(#[doc = $show_help])+ $show($crate::catalogue::Selection), )*
        }

        $(
            $(#[doc = $help])+
            #[derive(Clone, Debug, PartialEq, Eq)]
            pub struct $struct {
                $( $(#[doc = $field_help])+ pub $field: $type, )*
            }
        )*

        impl $enum {
            /// Whether it only shows something.
            pub fn shows(&self) -> bool {
                [$( matches!(self, $enum::$show(_)) ),*].contains(&true)
            }

            pub(crate) const SPECS: &'static [$crate::grammar::CommandSpec] = &[
                $( $crate::grammar::CommandSpec {
                    path: $path,
                    help: concat!($($help),+),
                    parameters: &[$( $crate::grammar::Parameter::new::<$type>(
                        $name,
                        concat!($($field_help),+),
                        $crate::catalogue::commands!(@default $($default)?),
                    ), )*],
                    apart: &[$($( ($one, $other), )*)?],
                    refused: &[$($( ($odd, $instead), )*)?],
                    keys: &[],
                    build: |arguments| Ok($crate::catalogue::Command::$area($enum::$variant($struct {
                        $( $field: arguments.read($name, $crate::catalogue::commands!(@default $($default)?))?, )*
                    }))),
                }, )*
                $( $crate::grammar::CommandSpec {
                    path: $show_path,
                    help: concat!($($show_help),+),
                    parameters: &[
                        $( $crate::grammar::Parameter::new::<Option<$crate::value::Query>>(
                            $column, concat!($($column_help),+), None,
                        ), )*
                        $crate::catalogue::selection::FIELDS,
                        $crate::catalogue::selection::INSTANCE,
                        $crate::catalogue::selection::OUTPUT,
                    ],
                    apart: &[("fields", "instance")],
                    refused: &[],
                    keys: &[$($key),*],
                    build: |arguments| {
                        let columns = [$( ($column, $crate::catalogue::commands!(@kind $($kind)?)) ),*];
                        let selection = $crate::catalogue::Selection::read(arguments, &columns, &[$($key),*])?;
                        Ok($crate::catalogue::Command::$area($enum::$show(selection)))
                    },
                }, )*
            ];
        }
    };
    (@kind) => { $crate::value::FieldKind::Text };
    (@kind $kind:ident) => { $crate::value::FieldKind::$kind };
    (@default) => { None };
    (@default $default:literal) => { Some($default) };
}
use commands;
