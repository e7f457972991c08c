//! `qos statistics`: eleven commands of one kind. They differ in what a row stands for and in which
//! figures it shows. One struct carries both, and the rows of the table share their parameters.

use super::selection::OUTPUT;
use super::{Command, Output};
use crate::grammar::{Arguments, CommandSpec, Parameter, Problem};
use crate::value::{Count, ObjectName, Query, RowCount};

/// Shows statistics repeatedly.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StatisticsShow {
    /// What a row stands for.
    pub scope: StatisticsScope,
    /// Which figures a row shows.
    pub figures: StatisticsFigures,
    /// Only this node.
    pub node: Option<ObjectName>,
    /// The number of iterations; without it until interrupted.
    pub iterations: Option<Count>,
    /// Whether to clear the screen between two iterations.
    pub refresh_display: bool,
    /// Most rows, not counting the total.
    pub rows: Option<RowCount>,
    /// Only volumes of this SVM ([`StatisticsScope::Volume`] alone).
    pub vserver: Option<ObjectName>,
    /// Only these volumes ([`StatisticsScope::Volume`] alone).
    pub volume: Option<Query>,
    /// The form of the output.
    pub output: Output,
}

/// What a row of a statistics table stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StatisticsScope {
    /// A policy group with all its members.
    PolicyGroup,
    /// A workload: one object's I/O.
    Workload,
    /// A volume's I/O.
    Volume,
}

/// The figures of a statistics table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StatisticsFigures {
    /// IOPS, throughput, latency.
    Performance,
    /// Where the latency comes from.
    Latency,
    /// Request size, share of reads, concurrency.
    Characteristics,
    /// What held it back, and whether its floor was met. ONTAP has no such table.
    Held,
}

/// Rows when `-rows` is not given.
pub const ROWS_DEFAULT: usize = 10;

const NODE: Parameter = Parameter::new::<Option<ObjectName>>("node", "Only this node", None);
const ITERATIONS: Parameter =
    Parameter::new::<Option<Count>>("iterations", "How often to show it; without it until interrupted", None);
const REFRESH: Parameter = Parameter::new::<bool>("refresh-display", "Clear the screen in between", Some("false"));
const ROWS: Parameter = Parameter::new::<Option<RowCount>>("rows", "How many rows at most; 10 without it", None);
const VSERVER: Parameter = Parameter::new::<Option<ObjectName>>("vserver", "Only volumes of this SVM", None);
const VOLUME: Parameter = Parameter::new::<Option<Query>>("volume", "Only these volumes", None);

/// One table row; `volume` commands have two more parameters, which exclude `-rows`.
macro_rules! row {
    ($path:literal, $help:literal, $scope:ident, $figures:ident, [$($own:ident),*], [$($apart:expr),*]) => {
        CommandSpec {
            path: $path,
            help: $help,
            parameters: &[$($own,)* NODE, ITERATIONS, REFRESH, ROWS, OUTPUT],
            apart: &[$($apart),*],
            refused: &[],
            keys: &[],
            build: |arguments| build(arguments, StatisticsScope::$scope, StatisticsFigures::$figures),
        }
    };
    ($path:literal, $help:literal, $scope:ident, $figures:ident) => {
        row!($path, $help, $scope, $figures, [], [])
    };
    (volume $path:literal, $help:literal, $figures:ident) => {
        row!($path, $help, Volume, $figures, [VOLUME, VSERVER], [("rows", "vserver"), ("rows", "volume")])
    };
}

impl StatisticsShow {
    /// Always: the command changes nothing.
    pub fn shows(&self) -> bool {
        true
    }

    pub(crate) const SPECS: &'static [CommandSpec] = &[
        row!("qos statistics performance show", "Display the work of policy groups", PolicyGroup, Performance),
        row!("qos statistics latency show", "Display where policy groups wait", PolicyGroup, Latency),
        row!(
            "qos statistics characteristics show",
            "Display the shape of policy groups' work",
            PolicyGroup,
            Characteristics
        ),
        row!("qos statistics workload performance show", "Display the work of workloads", Workload, Performance),
        row!("qos statistics workload latency show", "Display where workloads wait", Workload, Latency),
        row!(
            "qos statistics workload characteristics show",
            "Display the shape of workloads' work",
            Workload,
            Characteristics
        ),
        row!(volume "qos statistics volume performance show", "Display the work of volumes", Performance),
        row!(volume "qos statistics volume latency show", "Display where volumes wait", Latency),
        row!(volume "qos statistics volume characteristics show", "Display the shape of volumes' work", Characteristics),
        row!(
            "qos statistics workload held show",
            "Display what holds workloads back, and their floors",
            Workload,
            Held
        ),
        row!(volume "qos statistics volume held show", "Display what holds volumes back, and their floors", Held),
    ];
}

fn build(arguments: &Arguments, scope: StatisticsScope, figures: StatisticsFigures) -> Result<Command, Vec<Problem>> {
    Ok(Command::Statistics(StatisticsShow {
        scope,
        figures,
        node: arguments.read("node", None)?,
        iterations: arguments.read("iterations", None)?,
        refresh_display: arguments.read("refresh-display", REFRESH.default)?,
        rows: arguments.read("rows", None)?,
        vserver: arguments.read("vserver", None)?,
        volume: arguments.read("volume", None)?,
        output: arguments.read("output", OUTPUT.default)?,
    }))
}
