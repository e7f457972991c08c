//! Bills: the volumes of a period with what each costs.
//!
//! ```text
//!   price = (price of a TB × TB + price of an IOPS × promised IOPS) × hours / hours of a month
//! ```
//! TB and promised IOPS are means over the time in which a server ran and knew the volume; those of
//! several lines together are over the time in which one ran. Each line is rounded to a hundredth
//! once, and prices together are sums of what is printed.

use crate::class::{Class, Classes, Space};
use crate::line::{Hour, Line, covered_seconds, lines};

/// A period, in seconds since 1970.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Period {
    /// Its start.
    pub from: u64,
    /// Its end.
    pub to: u64,
}

impl Period {
    /// The hours that begin in it, counted from 1970.
    pub fn hours(self) -> std::ops::Range<u64> {
        self.from.div_ceil(3600)..self.to.div_ceil(3600)
    }

    /// Its length in hours.
    pub fn length_hours(self) -> f64 {
        self.to.saturating_sub(self.from) as f64 / 3600.0
    }
}

/// A provider's bill.
#[derive(Clone, Debug, PartialEq)]
pub struct Bill {
    /// The period.
    pub period: Period,
    /// The currency of prices.
    pub currency: String,
    /// Hours of a month.
    pub month_hours: f64,
    /// Seconds of the period for which there are figures of any volume.
    pub covered_seconds: u64,
    /// The lines, by SVM, volume and policy.
    pub lines: Vec<Billed>,
}

/// A line of a bill.
#[derive(Clone, Debug, PartialEq)]
pub struct Billed {
    /// What was promised and done.
    pub line: Line,
    /// The name of its class; empty if its policy is of no class, or if it has none.
    pub class: String,
    /// Whether its class is one of the provider's.
    pub has_price: bool,
    /// What it costs, in hundredths.
    pub hundredths: u64,
    /// The latency that its class promises, in milliseconds, and the number of hours whose mean was
    /// longer.
    pub late: Option<(f64, u64)>,
}

impl Bill {
    /// The bill for the hours that begin in a period.
    pub fn of(classes: &Classes, period: Period, hours: impl IntoIterator<Item = Hour>) -> Bill {
        let within = period.hours();
        let hours: Vec<Hour> = hours.into_iter().filter(|hour| within.contains(&hour.hour)).collect();
        Bill {
            period,
            currency: classes.currency.clone(),
            month_hours: classes.month_hours,
            covered_seconds: covered_seconds(&hours),
            lines: lines(hours).into_iter().map(|line| billed(classes, line)).collect(),
        }
    }

    /// Its SVMs, in order, with their lines.
    pub fn svms(&self) -> Vec<(&str, &[Billed])> {
        self.lines.chunk_by(|one, other| one.line.svm == other.line.svm).map(|own| (&*own[0].line.svm, own)).collect()
    }

    /// What several of its lines come to over the time in which a server ran. A volume counts for
    /// as long as it was there, and one that has a line under each of its classes counts once. So
    /// does the space of a LUN that has a line beside its volume's.
    pub fn together(&self, lines: &[Billed]) -> Line {
        let mut together = Line { seconds: self.covered_seconds, ..Line::default() };
        lines.iter().for_each(|billed| together.sums.add_line(&billed.line));
        together
    }
}

impl Billed {
    /// Its policy group, if it is of none of the classes.
    pub(crate) fn policy_of_no_class(&self) -> Option<&str> {
        (!self.has_price && !self.line.policy.is_empty()).then_some(&*self.line.policy)
    }
}

/// The sum of lines, in hundredths.
pub fn sum(lines: &[Billed]) -> u64 {
    lines.iter().map(|billed| billed.hundredths).fold(0, u64::saturating_add)
}

fn billed(classes: &Classes, line: Line) -> Billed {
    let class = classes.of_policy(&line.policy, &line.svm);
    let late = class.and_then(|class| class.latency_ms).map(|goal| {
        let hours = line.latencies_us.iter().filter(|latency| **latency as f64 > goal * 1000.0);
        (goal, hours.count() as u64)
    });
    Billed {
        class: class.map_or_else(String::new, |class| class.name.clone()),
        has_price: class.is_some(),
        hundredths: class.map_or(0, |class| price(class, classes.month_hours, &line)),
        late,
        line,
    }
}

fn price(class: &Class, month_hours: f64, line: &Line) -> u64 {
    let tb = match class.expected_space {
        Space::AllocatedSpace => line.allocated_tb(),
        Space::UsedSpace => line.used_tb(),
    };
    let months = line.seconds as f64 / 3600.0 / month_hours;
    ((class.price_per_tb * tb + class.price_per_iops * line.promised_iops()) * months * 100.0).round() as u64
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use crate::line::Sums;

    pub(crate) const CLASSES: &str = "[[class]]\nname = \"gold\"\nexpected_iops_per_tb = 2000\npeak_iops_per_tb = 4000\n\
        latency_ms = 2.0\nprice_per_tb = 100.0\nprice_per_iops = 0.05\n\
        [[class]]\nname = \"bronze\"\nexpected_iops_per_tb = 250\npeak_iops_per_tb = 500\nexpected_space = \"used-space\"\n\
        price_per_tb = 20.0\n";

    /// Two SVMs for `count` hours from hour 100 on: erp in gold with 10 TB and 20 000 IOPS, web in
    /// bronze with a tenth of 10 TB used, and one volume without a class.
    pub(crate) fn hours(count: u64) -> Vec<Hour> {
        let tb_mib = 1e12 / 1_048_576.0;
        let volume = |svm: &str, volume: &str, policy: &str, number, floor: u64, used_tb: f64| Hour {
            hour: 100 + number,
            svm: svm.into(),
            volume: volume.into(),
            path: format!("{svm}:/vol/{volume}"),
            policy: policy.into(),
            is_volume: true,
            seconds: 3600,
            sums: Sums {
                floor_ops: 3600 * floor,
                allocated_mib_s: (3600.0 * 10.0 * tb_mib) as u64,
                used_mib_s: (3600.0 * used_tb * tb_mib) as u64,
                ..Sums::default()
            },
            ..Hour::default()
        };
        let lun = |number: u64| Hour {
            hour: 100 + number,
            svm: "svm01".into(),
            volume: "erp".into(),
            path: "svm01:/vol/erp/lun1".into(),
            seconds: 3600,
            sums: Sums {
                ops: 3600 * 12_000,
                bytes: 3600 * 12_000 * 8192,
                completed: 3600 * 12_000,
                latency_us: 3600 * 12_000 * (1000 + 1500 * (number % 2)),
                held_us: 3600 * 12_000 * 100,
                missed_ops: 3600 * 200,
                missed_ms: 60_000,
                ..Sums::default()
            },
            ..Hour::default()
        };
        let of = |number| {
            [
                volume("svm01", "erp", "gold-svm01", number, 20_000, 8.0),
                lun(number),
                volume("svm02", "scratch", "", number, 0, 0.5),
                volume("svm02", "web", "bronze-svm02", number, 250, 1.0),
            ]
        };
        (0..count).flat_map(of).collect()
    }

    pub(crate) fn bill(count: u64) -> Bill {
        let classes = Classes::read(CLASSES).unwrap();
        Bill::of(&classes, Period { from: 100 * 3600, to: (100 + count) * 3600 }, hours(count))
    }

    /// A whole month of 730 hours: gold 10 TB × 100 + 20 000 IOPS × 0.05 = 2000.00, bronze 1 TB
    /// used × 20 = 20.00; a volume without a class costs nothing. Half of gold's hours were late:
    /// 1.0 and 2.5 ms alternate.
    #[test]
    fn a_month_costs_what_the_prices_say() {
        let bill = bill(730);
        let told: Vec<_> =
            bill.lines.iter().map(|b| (b.line.volume.as_str(), b.class.as_str(), b.hundredths)).collect();
        assert_eq!(told, [("erp", "gold", 200_000), ("scratch", "", 0), ("web", "bronze", 2_000)]);
        assert_eq!(bill.lines[0].late, Some((2.0, 365)));
        assert_eq!(sum(&bill.lines), 202_000);
        assert_eq!(
            bill.svms().iter().map(|(svm, lines)| (*svm, lines.len())).collect::<Vec<_>>(),
            [("svm01", 1), ("svm02", 2)]
        );
        assert_eq!(bill.covered_seconds, 730 * 3600);
    }

    /// Hours outside of the period are not billed, and an hour in which a server ran for half of
    /// the time costs half.
    #[test]
    fn what_was_not_kept_is_not_billed() {
        let classes = Classes::read(CLASSES).unwrap();
        let mut kept = hours(10);
        kept.iter_mut().filter(|hour| hour.hour == 104).for_each(|hour| {
            hour.seconds /= 2;
            hour.sums.floor_ops /= 2;
            hour.sums.allocated_mib_s /= 2;
        });
        let bill = Bill::of(&classes, Period { from: 102 * 3600, to: 106 * 3600 }, kept);
        // 3.5 of 730 hours at 2000 a month: 9.589.
        assert_eq!((bill.lines[0].line.hours, bill.lines[0].hundredths), (4, 959));
        assert_eq!((bill.lines[0].line.promised_iops(), bill.covered_seconds), (20_000.0, 7 * 1800));
        assert_eq!(bill.period.length_hours(), 4.0);
    }

    /// A volume of 10 TB that does 12 000 IOPS and comes under bronze after five of ten hours is
    /// one volume: together 10 TB, the mean of both promises, and all ten hours were kept.
    #[test]
    fn a_volume_that_changes_its_class_counts_once() {
        let classes = Classes::read(CLASSES).unwrap();
        let mut kept = hours(10);
        kept.retain(|hour| hour.svm == "svm01");
        kept.iter_mut().filter(|hour| hour.hour >= 105 && hour.is_volume).for_each(|hour| {
            hour.policy = "bronze-svm01".into();
            hour.sums.floor_ops = 3600 * 2_500;
        });
        let bill = Bill::of(&classes, Period { from: 100 * 3600, to: 110 * 3600 }, kept);
        assert_eq!(
            bill.lines.iter().map(|b| (b.class.as_str(), b.line.hours)).collect::<Vec<_>>(),
            [("bronze", 5), ("gold", 5)]
        );
        assert_eq!(bill.covered_seconds, 36_000);
        let together = bill.together(&bill.lines);
        assert!((together.allocated_tb() - 10.0).abs() < 1e-6, "{}", together.allocated_tb());
        assert_eq!((together.promised_iops(), together.used_iops()), (11_250.0, 12_000.0));
    }

    /// A volume of 10 TB without a policy has a LUN of 1 TB in gold, and another volume is in a
    /// group called `gold` that `apply` did not make: the LUN has a line and a price, together they
    /// are two volumes of 10 TB, and the group's name is not taken for the class's.
    #[test]
    fn what_is_in_a_volume_counts_once() {
        let classes = Classes::read(CLASSES).unwrap();
        let mut kept = hours(1);
        kept.retain(|hour| hour.volume == "scratch" || hour.volume == "web");
        kept[1].policy = "gold".into();
        let lun = Sums { allocated_mib_s: kept[0].sums.allocated_mib_s / 10, floor_ops: 3600, ..Sums::default() };
        kept.push(Hour {
            path: "svm02:/vol/scratch/lun1".into(),
            policy: "gold-svm02".into(),
            is_volume: false,
            sums: lun,
            ..kept[0].clone()
        });
        let bill = Bill::of(&classes, Period { from: 100 * 3600, to: 101 * 3600 }, kept);
        let told = |b: &Billed| (b.line.name(), b.class.clone(), b.has_price, (b.line.allocated_tb() * 1000.0).round());
        assert_eq!(
            bill.lines.iter().map(told).collect::<Vec<_>>(),
            [
                ("scratch".into(), String::new(), false, 10_000.0),
                ("scratch/lun1".into(), "gold".into(), true, 1000.0),
                ("web".into(), String::new(), false, 10_000.0),
            ]
        );
        let together = bill.together(&bill.lines).allocated_tb();
        assert!((together - 20.0).abs() < 1e-6, "{together}");
        let text = crate::text::table(&bill);
        assert!(text.contains("\n    policy group gold is of no class and has no price\n"), "{text}");
        assert!(crate::page::page(&bill).render().contains("policy group gold is of no class"));
    }
}
