//! `qos statistics history show`: what an object did over time. ONTAP has no such command, but
//! keeps the same for its web interface.

use super::selection::OUTPUT;
use super::{Command, Output};
use crate::grammar::{CommandSpec, Parameter};
use crate::value::{Interval, ObjectName};

/// Shows what an object and everything in it did, step by step.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HistoryShow {
    /// A volume.
    pub volume: Option<ObjectName>,
    /// Or any object, by its name in statistics: `vol1-wid7`.
    pub workload: Option<ObjectName>,
    /// The volume's SVM, if there are several SVMs.
    pub vserver: Option<ObjectName>,
    /// The period up to now.
    pub interval: Interval,
    /// The form of the output.
    pub output: Output,
}

const VOLUME: Parameter = Parameter::new::<Option<ObjectName>>("volume", "Volume", None);
const WORKLOAD: Parameter =
    Parameter::new::<Option<ObjectName>>("workload", "Workload, as `qos statistics` names it", None);
const VSERVER: Parameter = Parameter::new::<Option<ObjectName>>("vserver", "SVM of the volume", None);
const INTERVAL: Parameter = Parameter::new::<Interval>("interval", "How far back", Some("1h"));

impl HistoryShow {
    /// Always: the command changes nothing.
    pub fn shows(&self) -> bool {
        true
    }

    pub(crate) const SPECS: &'static [CommandSpec] = &[CommandSpec {
        path: "qos statistics history show",
        help: "Display what a volume or workload did over a time, and where its requests waited",
        parameters: &[VOLUME, WORKLOAD, VSERVER, INTERVAL, OUTPUT],
        apart: &[("volume", "workload"), ("vserver", "workload")],
        refused: &[],
        keys: &[],
        build: |arguments| {
            Ok(Command::History(HistoryShow {
                volume: arguments.read("volume", None)?,
                workload: arguments.read("workload", None)?,
                vserver: arguments.read("vserver", None)?,
                interval: arguments.read("interval", INTERVAL.default)?,
                output: arguments.read("output", OUTPUT.default)?,
            }))
        },
    }];
}
