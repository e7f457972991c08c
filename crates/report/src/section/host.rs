//! Host statistics: processor time by kind, utilisation of devices, and how long work was stalled
//! for lack of them.

use super::{Charts, Figure};
use crate::chart::{Axis, Chart, Look, Mark, Merge, Stretch, thinned};
use crate::text;

/// A section of host figures.
#[derive(Clone, Debug, Default)]
pub struct Host {
    /// The heading.
    pub heading: String,
    /// Introduction.
    pub lead: String,
    /// The hosts, or the same host in several runs.
    pub hosts: Vec<HostFigures>,
}

/// The figures of a host, all in percent.
#[derive(Clone, Debug, Default)]
pub struct HostFigures {
    /// Its name.
    pub name: String,
    /// Processor time by kind, together at most 100. The series are stacked, the first at the
    /// bottom.
    pub processor: Vec<Series>,
    /// Utilisation of each device.
    pub devices: Vec<Series>,
    /// How much of the time something was stalled, by resource.
    pub pressure: Vec<Series>,
}

/// A figure over time.
#[derive(Clone, Debug, Default)]
pub struct Series {
    /// Its name.
    pub name: String,
    /// The figure, second by second.
    pub stretches: Vec<Stretch>,
}

/// Maximum number of points in a line.
const POINTS_MOST: usize = 600;

impl Host {
    pub(super) fn charts(&self) -> Charts {
        let all = self.hosts.iter().flat_map(|host| [&host.processor, &host.devices, &host.pressure]).flatten();
        // The frames of the charts align.
        let room = all.map(|series| text::width(&series.name)).max().unwrap_or(0);
        let figures = self.hosts.iter().flat_map(|host| {
            let kinds =
                [("Processors", &host.processor), ("Devices, busy", &host.devices), ("Waiting for", &host.pressure)];
            kinds.into_iter().enumerate().filter(|(_, (_, series))| !series.is_empty()).map(
                move |(kind, (what, series))| {
                    let heading = format!("{}: {}", host.name, what.to_lowercase());
                    Figure::of(Chart { room, ..chart(&heading, series, kind == 0) }).headed(heading)
                },
            )
        });
        Charts { heading: self.heading.clone(), lead: self.lead.clone(), figures: figures.collect(), small: false }
    }
}

/// Stacked areas, or lines.
fn chart(title: &str, series: &[Series], stacked: bool) -> Chart {
    let end = series.iter().filter_map(|one| one.stretches.last()).map(|last| last.to).fold(0.0, f64::max);
    let y = Axis::from_zero(100.0).said(|percent| format!("{percent} %"));
    let mut chart = Chart::new(format!("{title} over time, in percent"), Axis::seconds(end), y);
    chart.height = 200.0;
    let mean = |one: &Series| {
        let known = || one.stretches.iter().filter_map(|stretch| stretch.figure);
        format!("{} {:.0} %", one.name, known().sum::<f64>() / known().count().max(1) as f64)
    };
    chart.description = format!("Means: {}.", series.iter().map(mean).collect::<Vec<_>>().join(", "));
    let mut below: Option<Vec<Stretch>> = None;
    for (index, one) in series.iter().enumerate() {
        let (stretches, _) = thinned(&one.stretches, POINTS_MOST, Merge::Mean);
        let name = one.name.clone();
        if !stacked {
            chart.marks.push(Mark::Steps { name, stretches, look: Look::Alone(index) });
            continue;
        }
        let lower = below.take().unwrap_or_else(|| grounds(&stretches));
        let sum = |(own, below): (&Stretch, &Stretch)| {
            let figure = own.figure.zip(below.figure).map(|(own, below)| (own + below).min(100.0));
            Stretch { figure, ..*own }
        };
        let upper: Vec<Stretch> = stretches.iter().zip(&lower).map(sum).collect();
        chart.marks.push(Mark::Area { lower, upper: upper.clone(), name, look: Look::Series(index) });
        below = Some(upper);
    }
    chart
}

/// Zero wherever a figure is known.
fn grounds(stretches: &[Stretch]) -> Vec<Stretch> {
    stretches.iter().map(|stretch| Stretch { figure: stretch.figure.map(|_| 0.0), ..*stretch }).collect()
}
