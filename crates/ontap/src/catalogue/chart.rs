//! `qos adaptive-policy-group chart`: a policy's limits by used space and over the years. ONTAP has
//! no such command.

use super::Command;
use crate::grammar::{CommandSpec, Parameter};
use crate::value::{ChartFormat, Count, PolicyName, UnitSize, Years};

/// Draws the floor and the ceiling of an adaptive policy group.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AdaptiveChart {
    /// The policy group.
    pub policy_group: PolicyName,
    /// Used space today; by default ten times the space up to which the absolute minimum applies.
    pub used_space: Option<UnitSize>,
    /// Size of the volume; by default the used space.
    pub size: Option<UnitSize>,
    /// Growth of the used space in a year, in percent.
    pub growth: Count,
    /// The number of years.
    pub years: Years,
    /// The form of the chart.
    pub format: ChartFormat,
}

const POLICY_GROUP: Parameter = Parameter::new::<PolicyName>("policy-group", "Policy group", None);
const USED_SPACE: Parameter =
    Parameter::new::<Option<UnitSize>>("used-space", "Used space today; ten times the knee without it", None);
const SIZE: Parameter =
    Parameter::new::<Option<UnitSize>>("size", "Size of the volume; as large as what is used without it", None);
const GROWTH: Parameter =
    Parameter::new::<Count>("growth", "Percent by which the used space grows in a year", Some("20"));
const YEARS: Parameter = Parameter::new::<Years>("years", "How many years", Some("5"));
const FORMAT: Parameter =
    Parameter::new::<ChartFormat>("format", "Text for the terminal, a picture, or a page", Some("text"));

impl AdaptiveChart {
    /// Always: the command changes nothing.
    pub fn shows(&self) -> bool {
        true
    }

    pub(crate) const SPECS: &'static [CommandSpec] = &[CommandSpec {
        path: "qos adaptive-policy-group chart",
        help: "Draw the floor and the ceiling of an adaptive policy group over used space and years",
        parameters: &[POLICY_GROUP, USED_SPACE, SIZE, GROWTH, YEARS, FORMAT],
        apart: &[],
        refused: &[],
        keys: &[],
        build: |arguments| {
            Ok(Command::Chart(AdaptiveChart {
                policy_group: arguments.read("policy-group", None)?,
                used_space: arguments.read("used-space", None)?,
                size: arguments.read("size", None)?,
                growth: arguments.read("growth", GROWTH.default)?,
                years: arguments.read("years", YEARS.default)?,
                format: arguments.read("format", FORMAT.default)?,
            }))
        },
    }];
}
