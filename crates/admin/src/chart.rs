//! `qos adaptive-policy-group chart`: floor and ceiling of a policy as used space grows, and over
//! the years.
//!
//! ```text
//!   IOPS │            ╱ ceiling = max(P, E, M)      Between its knees each is a straight line, so that the points at the
//!        │         ╱   ╱ floor = max(E, M)          knees and at a few round parts are all of it. The knee of the floor is
//!      M │────────╱──╱                              where E reaches the absolute minimum M; that of the ceiling where P
//!        └──────────┴──────► used space             reaches the floor.
//! ```

use crate::{AdminError, Answer, Errand, Obstacle};
use block::{Bytes, Iops};
use ontap::catalogue::AdaptiveChart;
use ontap::value::ChartFormat;
use qos::{AdaptivePolicy, Allocation, Group, PeakMode, Size, SizeUnit, Units};
use report::chart::{Axis, Chart, LevelKind, Mark, Threshold};
use report::growth::{self, Step};
use report::section::{Charts, Fact, Facts, Figure};
use report::table::COLUMNS;
use report::{Page, picture, text};

/// The parts of the volume's size, or else of the space used today, at which the policy is
/// evaluated, in percent.
const PARTS: [u64; 6] = [25, 50, 75, 100, 150, 200];
/// If no used space is given, it is this many times the space up to which the absolute minimum
/// applies.
const KNEES: u64 = 10;
/// Volumes and charts end at one exbibyte.
const SPACE_MAX: u64 = 1 << 60;

impl Errand<'_> {
    pub(super) fn chart(&self, chart: &AdaptiveChart) -> Result<Answer, AdminError> {
        let name = chart.policy_group.as_str();
        self.is_of_kind(name, true)?;
        let group = self.registry.known_group(name)?;
        let policy = group.policy().adaptive().expect("it is an adaptive group");
        let units = self.registry.settings().units;
        let space = |given: Option<ontap::value::UnitSize>| given.map(|given| self.charted(given)).transpose();
        let (used, size) = (space(chart.used_space)?, space(chart.size)?);
        let used = used.unwrap_or_else(|| {
            let knees = policy.knee(units).0.saturating_mul(KNEES).clamp(1, SPACE_MAX);
            size.map_or(knees, |size| knees.min(size))
        });
        if let (Some(size), Some(given)) = (size.filter(|size| *size < used), chart.used_space) {
            let text =
                format!("used space {given}: a volume of {size} bytes holds no more than that; make -size larger");
            return Err(Obstacle::SizeRange.told(text).given(given).about(name).into());
        }
        let drawing = Drawing { group, policy, units, used, size, is_credit: self.is_credit(policy) };
        let (growth, years) = (chart.growth.0, chart.years.get());
        Ok(Answer::Text(match chart.format {
            ChartFormat::Text => drawing.text(growth, years),
            ChartFormat::Svg => picture::of(&drawing.by_space()),
            ChartFormat::Page => drawing.page(growth, years).render(),
        }))
    }

    fn charted(&self, given: ontap::value::UnitSize) -> Result<u64, AdminError> {
        let bytes = given.bytes(self.units).filter(|bytes| (1..=SPACE_MAX).contains(bytes));
        let text = format!("size {given}: a chart is of 1 byte to 1 EiB ({SPACE_MAX} bytes)");
        bytes.ok_or_else(|| Obstacle::SizeRange.told(text).given(given).into())
    }

    fn is_credit(&self, policy: &AdaptivePolicy) -> bool {
        policy.peak_mode(self.registry.settings()) == PeakMode::Credits
    }
}

struct Drawing<'a> {
    group: &'a Group,
    policy: &'a AdaptivePolicy,
    units: Units,
    /// Bytes used today.
    used: u64,
    /// The volume's size in bytes, unless it grows with the used space.
    size: Option<u64>,
    is_credit: bool,
}

impl Drawing<'_> {
    /// Floor and ceiling when this much is used.
    fn at(&self, used: u64) -> (u64, u64) {
        let size = Size { allocated: Bytes(self.size.unwrap_or(used)), used: Bytes(used) };
        let found = self.policy.evaluate(size, self.units);
        (found.floor.0, found.ceiling.0)
    }

    fn step(&self, name: String, at: f64, used: u64) -> Step {
        let (floor, ceiling) = self.at(used);
        Step { name, at, floor, ceiling }
    }

    /// The used space at which the expected rate reaches the absolute minimum; `None` if the rate
    /// does not depend on used space.
    fn knee(&self) -> Option<u64> {
        let follows = self.policy.expected_allocation == Allocation::Used || self.size.is_none();
        follows.then(|| self.policy.knee(self.units).0).filter(|knee| *knee < self.most())
    }

    /// The end of the chart.
    fn most(&self) -> u64 {
        self.size.unwrap_or(self.used.saturating_mul(2).min(SPACE_MAX))
    }

    fn over_space(&self) -> Vec<Step> {
        let whole = self.size.unwrap_or(self.used);
        let parts = PARTS.map(|percent| (u128::from(whole) * u128::from(percent) / 100) as u64);
        // The ceiling leaves the floor where the peak reaches it. Up to there the floor is the same
        // as at zero.
        let peak =
            AdaptivePolicy { expected: self.policy.peak, absolute_min: Some(Iops(self.at(0).0)), ..*self.policy };
        let follows = self.policy.peak_allocation == Allocation::Used || self.size.is_none();
        let knee_of_peak = follows.then_some(peak.knee(self.units).0);
        let knees = self.knee().into_iter().chain(knee_of_peak);
        let mut spaces: Vec<u64> = [0, self.used, self.most()].into_iter().chain(parts).chain(knees).collect();
        spaces.retain(|space| *space <= self.most());
        spaces.sort_unstable();
        spaces.dedup();
        let unit = self.unit();
        spaces.into_iter().map(|space| self.step(self.space(space), space as f64 / unit.0 as f64, space)).collect()
    }

    fn over_years(&self, percent: u32, years: u32) -> Vec<Step> {
        let mut used = self.used as f64;
        let mut steps = Vec::new();
        for year in 0..=years {
            let bytes = (used.round() as u64).min(self.size.unwrap_or(SPACE_MAX));
            let name = if year == 0 { "today".to_owned() } else { format!("year {year}") };
            steps.push(self.step(name, f64::from(year), bytes));
            used *= 1.0 + f64::from(percent) / 100.0;
        }
        steps
    }

    fn text(&self, percent: u32, years: u32) -> String {
        let mut said = text::wrap(&self.about(), COLUMNS);
        said.push(String::new());
        said.extend(growth::bars("used space", &self.over_space()).lines().map(str::to_owned));
        said.push(String::new());
        for line in self.remarks() {
            said.extend(text::wrap(&line, COLUMNS));
        }
        said.push(String::new());
        said.extend(text::wrap(&self.years_lead(percent), COLUMNS));
        said.push(String::new());
        said.extend(growth::bars("", &self.over_years(percent, years)).lines().map(str::to_owned));
        said.join("\n") + "\n"
    }

    fn page(&self, percent: u32, years: u32) -> Page {
        let mut page = Page::new(format!("Policy group {}", self.group.name()), env!("CARGO_PKG_VERSION"));
        page.about = self.about();
        let by_space = Figure::of(self.by_space()).captioned(self.remarks().join(" "));
        page.add(Charts {
            heading: "Floor and ceiling as the used space grows".into(),
            figures: vec![by_space],
            ..Charts::default()
        });
        let steps = self.over_years(percent, years);
        let across = Axis::around(0.0, f64::from(years)).unit("years");
        let by_year = growth::chart("Floor and ceiling by years of growth", across, &steps, 0.0);
        page.add(Charts {
            heading: "And as years pass".into(),
            lead: self.years_lead(percent),
            figures: vec![Figure::of(by_year)],
            ..Charts::default()
        });
        let facts = self.over_space().into_iter().map(|step| ("at ".to_owned() + &step.name, step));
        let facts = facts.chain(steps.into_iter().map(|step| (step.name.clone(), step)));
        let fact = |(name, step): (String, Step)| {
            let [floor, ceiling] = [step.floor, step.ceiling].map(text::thousands);
            Fact::of(name, format!("at least {floor}, at most {ceiling} IOPS"))
        };
        page.add(Facts { heading: "The figures".into(), facts: facts.map(fact).collect() });
        page
    }

    fn by_space(&self) -> Chart {
        let steps = self.over_space();
        let end = steps.iter().map(|step| step.at).fold(0.0, f64::max);
        let across = Axis::around(0.0, end).unit(format!("used space in {}", self.unit().1));
        let title = format!("Floor and ceiling of {} by used space", self.group.name());
        let mut chart = growth::chart(&title, across, &steps, 0.0);
        if let Some(knee) = self.knee() {
            let minimum = self.policy.minimum(self.units).0;
            let says = vec![format!("absolute minimum {}, up to {}", text::thousands(minimum), self.space(knee))];
            let (to, figure) = (chart.x.high(), minimum as f64);
            chart.marks.push(Mark::Level(Threshold { from: 0.0, to, figure, says, kind: LevelKind::Limit }));
        }
        chart
    }

    fn about(&self) -> String {
        let policy = self.policy;
        let rate = |density: qos::Density| {
            let per = if density.per == qos::Per::Tb { "TB" } else { "GB" };
            format!("{} IOPS/{per}", text::thousands(density.iops.0))
        };
        let of = |allocation| if allocation == Allocation::Used { "used" } else { "allocated" };
        let minimum = text::thousands(policy.minimum(self.units).0);
        let size = self.size.map_or(String::new(), |size| format!(", on a volume of {}", self.space(size)));
        format!(
            "Policy group {}: {} expected of {} space, {} at most of {} space, {minimum} IOPS in any case{size}.",
            self.group.name(),
            rate(policy.expected),
            of(policy.expected_allocation),
            rate(policy.peak),
            of(policy.peak_allocation),
        )
    }

    fn remarks(&self) -> Vec<String> {
        let minimum = text::thousands(self.policy.minimum(self.units).0);
        let mut remarks = vec![match self.knee() {
            Some(knee) => format!("Up to {} the absolute minimum of {minimum} IOPS rules.", self.space(knee)),
            None if self.at(0).0 == self.policy.minimum(self.units).0 => {
                format!("The absolute minimum of {minimum} IOPS rules all along.")
            }
            None => {
                format!("The floor goes by the allocated space; the absolute minimum of {minimum} IOPS is below it.")
            }
        }];
        if let Some(block) = self.policy.block_size.bytes() {
            let (floor, ceiling) = self.at(self.used);
            let [floor, ceiling] = [floor, ceiling].map(|iops| text::megabytes(iops as f64 * block as f64));
            remarks.push(format!(
                "Blocks of {} KiB make limits in bytes of them: at {} at least {floor} and at most {ceiling} MB/s.",
                block >> 10,
                self.space(self.used),
            ));
        }
        if self.is_credit {
            remarks.push("What lies above the floor is reached on saved credit alone.".into());
        }
        remarks
    }

    fn years_lead(&self, percent: u32) -> String {
        let full =
            self.size.map_or(String::new(), |size| format!(", until the volume of {} is full", self.space(size)));
        format!("With {percent} % more used space each year, {} today{full}:", self.space(self.used))
    }

    fn space(&self, bytes: u64) -> String {
        let (unit, name) = self.unit();
        format!("{:.3} {name}", bytes as f64 / unit as f64)
    }

    /// The unit for all spaces: that of the volume's size, or of the space used today.
    fn unit(&self) -> (u64, &'static str) {
        let units = [(SizeUnit::Tb, "TB"), (SizeUnit::Gb, "GB"), (SizeUnit::Mb, "MB"), (SizeUnit::Kb, "KB")];
        let sized = units.map(|(unit, name)| (self.units.bytes(unit), name));
        let whole = self.size.unwrap_or(self.used);
        sized.into_iter().find(|(unit, _)| whole >= *unit).unwrap_or((1, "bytes"))
    }
}

#[cfg(test)]
mod tests;
