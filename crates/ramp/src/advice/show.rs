//! An advice as text of at most 80 columns (except the command lines, which are to be copied), and
//! as a page.

use super::{Advice, Policy, PolicyNeed, TB, references_of};
use block::{Bytes, Span};
use report::Page;
use report::chart::{Axis, LevelKind, Look, Mark, Threshold};
use report::growth::{self, Step};
use report::section::{Charts, Figure, Group, Notes, Preformatted, Table, TableCell, TableRow, Tables};

/// The advice in words, without its command lines.
pub fn advice_text(advice: &Advice) -> String {
    let PolicyNeed { iops, used, volumes, .. } = advice.need;
    let mut text = format!(
        "{iops} IOPS ({:.0} global references/s) on {}:\n{:.0} reads/s, and a burst of {} blocks every 80 s\n\n",
        references_of(iops),
        space(used),
        iops as f64 * 0.75,
        iops * 20,
    );
    text += &format!(
        "{:<21}{:>12}{:>11}{:>10}{:>12}{:>14}\n",
        "rule", "expected/TB", "peak/TB", "abs. min", "floor IOPS", "a burst takes"
    );
    text += &rule("published", &advice.published, advice.published_cycle, (used, volumes));
    let safe = format!("cycle-safe, {:.3} x", advice.factor);
    text += &rule(&safe, &advice.safe, advice.safe_cycle, (used, volumes));
    if advice.published_misses() {
        let limit = advice.need.cycle_limit.as_secs_f64();
        text += &format!(
            "\nAt the floor of the published rule a burst takes longer than {limit:.0} s; the lines\nbelow are of the \
             cycle-safe one.\n"
        );
    }
    text
}

fn rule(name: &str, policy: &Policy, cycle: Span, (used, volumes): (Bytes, u64)) -> String {
    let Policy { expected, peak, absolute_min } = policy;
    let takes = format!("{:.1} s", cycle.as_secs_f64());
    format!("{name:<21}{expected:>12}{peak:>11}{absolute_min:>10}{:>12}{takes:>14}\n", policy.at(used, volumes).0)
}

/// Warnings about the advice.
pub fn advice_warnings(advice: &Advice) -> Vec<String> {
    let PolicyNeed { used, volumes, .. } = advice.need;
    let mut found = Vec::new();
    let minima = advice.safe.absolute_min.saturating_mul(volumes);
    let floor = advice.safe.at(used, 1).0;
    if volumes > 1 && minima > floor {
        found.push(format!(
            "the absolute minimum counts for each of {volumes} volumes: {minima} IOPS together, more than the {floor} \
             of its space; the table and the chart have the minimum where it is more"
        ));
    }
    found
}

/// Floor and ceiling of the cycle-safe policy as the used space grows, as bars.
pub fn advice_chart(advice: &Advice) -> String {
    growth::bars("used space", &steps(advice))
}

/// In the unit in which the used space is printed.
fn steps(advice: &Advice) -> Vec<Step> {
    let unit = unit(advice.need.used).0;
    let step = |(used, floor, ceiling): (Bytes, u64, u64)| {
        let at = used.0 as f64 / unit as f64;
        Step { name: space(used), at, floor, ceiling }
    };
    advice.growth().into_iter().map(step).collect()
}

/// The advice as a page with the chart of floor and ceiling; `about` is the source of the need.
pub fn advice_page(advice: &Advice, about: &str, warnings: &[String], commands: &[String]) -> Page {
    let PolicyNeed { iops, used, .. } = advice.need;
    let mut page = Page::new(format!("A policy for {iops} IOPS on {}", space(used)), "");
    let (reads, burst) = (iops as f64 * 0.75, iops * 20);
    let need = format!(
        "{iops} IOPS ({:.0} global references/s): {reads:.0} reads/s, and a burst of {burst} blocks every 80 s.",
        references_of(iops)
    );
    page.about = [about, &need].into_iter().filter(|text| !text.is_empty()).collect::<Vec<_>>().join(" ");
    page.add(Notes { lines: warnings.to_vec() });
    page.add(rules(advice));
    page.add(charts(advice));
    let lead = if commands.len() > 1 {
        "They create the policy and attach it."
    } else {
        "It creates the policy and attaches it to no volume; --volume has the line that does."
    };
    page.add(Preformatted {
        heading: "The commands".into(),
        lead: lead.into(),
        text: commands.join("\n"),
        wraps: true,
    });
    page
}

fn rules(advice: &Advice) -> Tables {
    let PolicyNeed { used, volumes, .. } = advice.need;
    let row = |name: String, policy: &Policy, cycle: Span| {
        let takes = format!("{:.1} s", cycle.as_secs_f64());
        let rates = [policy.expected, policy.peak, policy.absolute_min, policy.at(used, volumes).0]
            .map(|rate| rate.to_string());
        TableRow { name, remarks: Vec::new(), cells: rates.into_iter().chain([takes]).map(TableCell::from).collect() }
    };
    let columns = ["Rule", "Expected/TB", "Peak/TB", "Absolute minimum", "Floor IOPS", "A burst takes"];
    let rows = vec![
        row("published".into(), &advice.published, advice.published_cycle),
        row(format!("cycle-safe, {:.3} times", advice.factor), &advice.safe, advice.safe_cycle),
    ];
    let groups = vec![Group { rows, ..Group::default() }];
    let limit = advice.need.cycle_limit.as_secs_f64();
    let misses = format!(
        "At the floor of the published rule a burst takes longer than {limit:.0} s; the commands below are of the cycle-safe one."
    );
    Tables {
        heading: "The rules".into(),
        tables: vec![Table { columns: columns.map(String::from).to_vec(), groups, ..Table::default() }],
        note: if advice.published_misses() { misses } else { String::new() },
        ..Tables::default()
    }
}

fn charts(advice: &Advice) -> Charts {
    let PolicyNeed { iops, used, cycle_limit, volumes } = advice.need;
    let (steps, name) = (steps(advice), unit(used).1);
    let need = iops as f64 * advice.factor;
    let end = steps.iter().map(|step| step.at).fold(0.0, f64::max);
    let x = Axis::around(0.0, end).unit(format!("used space in {name}"));
    let mut chart = growth::chart("Floor and ceiling by used space", x, &steps, need);
    let published = |used: Bytes| advice.published.at(used, volumes).0 as f64;
    let published = advice.growth().into_iter().zip(&steps).map(|(point, step)| (step.at, published(point.0)));
    chart.marks.push(Mark::Line {
        name: "published floor".into(),
        points: published.collect(),
        look: Look::Alone(2),
        dots: true,
        on_right: false,
    });
    let says = vec![format!("needed to write a burst within {:.0} s", cycle_limit.as_secs_f64())];
    chart.marks.push(Mark::Level(Threshold {
        from: 0.0,
        to: chart.x.high(),
        figure: need,
        says,
        kind: LevelKind::Limit,
    }));
    Charts {
        heading: "Floor and ceiling as the used space grows".into(),
        figures: vec![Figure::of(chart)],
        ..Charts::default()
    }
}

/// Used space in the units of policies: `5.000 TB`, `16.777 MB`.
pub fn space(used: Bytes) -> String {
    let (unit, name) = unit(used);
    format!("{:.3} {name}", used.0 as f64 / unit as f64)
}

/// The decimal unit for a used space.
fn unit(used: Bytes) -> (u64, &'static str) {
    let units = [(TB, "TB"), (TB / 1000, "GB"), (TB / 1_000_000, "MB")];
    units.into_iter().find(|(unit, _)| used.0 >= *unit).unwrap_or((TB / 1_000_000, "MB"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn advice() -> Advice {
        on_volumes(1)
    }

    fn on_volumes(volumes: u64) -> Advice {
        let cycle_limit = Span::from_secs(45);
        Advice::on(PolicyNeed { iops: 75_000, used: Bytes(5 * TB), cycle_limit, volumes }).unwrap()
    }

    #[test]
    fn an_advice_is_this_text() {
        let wanted = "\
75000 IOPS (20156250 global references/s) on 5.000 TB:
56250 reads/s, and a burst of 1500000 blocks every 80 s

rule                  expected/TB    peak/TB  abs. min  floor IOPS a burst takes
published                   15000      30000      7500       75000        80.0 s
cycle-safe, 1.194 x         17917      35834      8959       89585        45.0 s

At the floor of the published rule a burst takes longer than 45 s; the lines
below are of the cycle-safe one.
";
        assert_eq!(advice_text(&advice()), wanted);
    }

    /// The ceiling at twice the space is the longest bar, and the floor half of its own ceiling.
    #[test]
    fn the_chart_grows_with_the_space_within_80_columns() {
        let chart = advice_chart(&advice());
        assert!(chart.lines().all(|line| line.chars().count() <= 80), "{chart}");
        let last = chart.lines().last().unwrap();
        assert_eq!((last.matches('#').count(), last.matches('-').count()), (20, 20), "{chart}");
        assert!(last.starts_with("   10.000 TB      179170        358340  "), "{chart}");
    }

    #[test]
    fn a_space_is_said_in_its_unit() {
        let said = [5 * TB, 500_000_000_000, 16_777_216, 1000].map(|used| space(Bytes(used)));
        assert_eq!(said, ["5.000 TB", "500.000 GB", "16.777 MB", "0.001 MB"]);
    }

    /// 16 volumes of 8 959 are 143 344, more than the 89 585 of 5 TB, and less than the 179 170 of
    /// 10 TB; four are less than either. A burst of 1.5 M takes 1.5 M / (143 344 − 56 250) =
    /// 17.2 s.
    #[test]
    fn an_absolute_minimum_counts_for_each_volume() {
        assert!(advice_warnings(&on_volumes(4)).is_empty());
        let many = on_volumes(16);
        let warnings = advice_warnings(&many);
        assert!(warnings[0].contains("143344 IOPS together, more than the 89585 of its space"), "{warnings:?}");
        assert!(advice_text(&many).contains("      143344        17.2 s\n"), "{}", advice_text(&many));
        let chart = advice_chart(&many);
        assert!(chart.contains(" 5.000 TB      143344 ") && chart.contains("10.000 TB      179170 "), "{chart}");
        assert!(advice_page(&many, "", &[], &[]).render().contains("143344"));
    }

    #[test]
    fn a_page_says_whether_its_commands_attach_the_policy() {
        let page = |commands: &[&str]| {
            let commands: Vec<String> = commands.iter().map(|line| line.to_string()).collect();
            advice_page(&advice(), "", &[], &commands).render()
        };
        assert!(page(&["create", "modify"]).contains("They create the policy and attach it."));
        assert!(page(&["create"]).contains("It creates the policy and attaches it to no volume"));
    }

    #[test]
    fn a_page_has_the_chart_and_the_commands() {
        let page = advice_page(&advice(), "a & b", &["careful".into()], &["volume modify -volume <v>".into()]);
        let html = page.render();
        // The one chart, wide and narrow.
        assert_eq!((html.matches("<svg").count(), html.matches(">published floor</text>").count()), (2, 2));
        assert!(html.contains("a &amp; b") && html.contains("&lt;v&gt;") && html.contains("careful"));
        assert!(html.contains("needed to write a burst within 45 s") && !html.contains("NaN"));
        assert!(html.contains("<td>89585</td><td>45.0 s</td>") || html.contains("<td>89585</td>\n<td>45.0 s</td>"));
    }
}
