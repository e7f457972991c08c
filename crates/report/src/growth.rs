//! Floor and ceiling as a function of something that grows, used space or years: as bars for the
//! terminal and as a chart.

use crate::chart::{Axis, Chart, Look, Mark};
use crate::text::thousands;

/// Length of the longest bar in columns.
const BAR: u64 = 40;

/// The limits at one size.
#[derive(Clone, Debug, PartialEq)]
pub struct Step {
    /// Its label: `5.000 TB`, `2028`.
    pub name: String,
    /// Its position on the horizontal axis.
    pub at: f64,
    /// The floor in IOPS.
    pub floor: u64,
    /// The ceiling in IOPS.
    pub ceiling: u64,
}

/// A line for each step, in 80 columns; `what` is the heading of the first column.
pub fn bars(what: &str, steps: &[Step]) -> String {
    let most = steps.iter().map(|step| step.ceiling).max().unwrap_or(1).max(1);
    let columns = |iops: u64| (u128::from(iops) * u128::from(BAR) / u128::from(most)) as usize;
    let mut text = format!("{what:>12}{:>12}{:>14}  # floor, - up to the ceiling\n", "floor IOPS", "ceiling IOPS");
    for Step { name, floor, ceiling, .. } in steps {
        let bar = "#".repeat(columns(*floor)) + &"-".repeat(columns(*ceiling).saturating_sub(columns(*floor)));
        let (floor, ceiling) = (thousands(*floor), thousands(*ceiling));
        text += format!("{name:>12}{floor:>12}{ceiling:>14}  {bar}").trim_end();
        text += "\n";
    }
    text
}

/// A chart with the ceiling as its first line and the floor as its second. Its vertical axis
/// reaches at least to `most`.
pub fn chart(title: &str, across: Axis, steps: &[Step], most: f64) -> Chart {
    let line = |index, name: &str, of: &dyn Fn(&Step) -> u64| Mark::Line {
        name: name.into(),
        points: steps.iter().map(|step| (step.at, of(step) as f64)).collect(),
        look: Look::Alone(index),
        dots: true,
        on_right: false,
    };
    let most = steps.iter().map(|step| step.ceiling as f64).fold(most, f64::max);
    let mut chart = Chart::new(title, across, Axis::from_zero(most).unit("IOPS"));
    let said = |step: &Step| {
        format!("{}: floor {}, ceiling {} IOPS.", step.name, thousands(step.floor), thousands(step.ceiling))
    };
    chart.description = steps.iter().map(said).collect::<Vec<_>>().join(" ");
    chart.marks = vec![line(0, "ceiling", &|step| step.ceiling), line(1, "floor", &|step| step.floor)];
    chart
}
