//! An advice as text of at most 80 columns (except the command lines, which are to be copied), and
//! as a page.

use super::{Advice, Policy, PolicyNeed, TB, references_of};
use block::{Bytes, Span};
use report::Page;
use report::chart::{Axis, LevelKind, Look, Mark, Threshold};
use report::growth::{self, Step};
use report::section::{Charts, Figure, Group, Notes, Preformatted, Table, TableCell, TableRow, Tables};
use report::text::{self, thousands};

/// The advice in words, without its command lines.
pub fn advice_text(advice: &Advice) -> String {
    let PolicyNeed { iops, used, volumes, .. } = advice.need;
    let mut said = format!("{} on {}:\n{}\n\n", rates(iops), space(used), load(iops));
    said += &format!(
        "{:<21}{:>12}{:>11}{:>10}{:>12}{:>14}\n",
        "rule", "expected/TB", "peak/TB", "abs. min", "floor IOPS", "a burst takes"
    );
    said += &rule("published", &advice.published, advice.published_cycle, (used, volumes));
    let safe = format!("cycle-safe, {:.3} x", advice.factor);
    said += &rule(&safe, &advice.safe, advice.safe_cycle, (used, volumes));
    if let Some(divided) = divided(advice) {
        said += &format!("\n{}\n", text::wrap(&divided, 80).join("\n"));
    }
    if advice.published_misses() {
        let limit = advice.need.cycle_limit.as_secs_f64();
        said += &format!(
            "\nAt the floor of the published rule a burst takes longer than {limit:.0} s; the lines\nbelow are of the \
             cycle-safe one.\n"
        );
    }
    said
}

/// The need in both measures: `75,000 IOPS (20,156,250 global references/s)`.
fn rates(iops: u64) -> String {
    format!("{} IOPS ({} global references/s)", thousands(iops), thousands(references_of(iops).round() as u64))
}

/// What the need consists of.
fn load(iops: u64) -> String {
    let reads = text::iops(iops as f64 * 0.75);
    format!("{reads} reads/s, and a burst of {} blocks every 80 s", thousands(iops * 20))
}

/// Says that the published minimum was divided by the volumes; `None` if it was not.
fn divided(advice: &Advice) -> Option<String> {
    let PolicyNeed { iops, volumes, .. } = advice.need;
    let (published, safe) = (advice.published.absolute_min, advice.safe.absolute_min);
    let all = published.saturating_mul(volumes);
    (volumes > 1 && all > iops && safe < published).then(|| {
        format!(
            "An absolute minimum counts for each of {volumes} volumes: the published one would be {} IOPS in all. The \
             cycle-safe one is divided by the volumes, rounded up.",
            thousands(all)
        )
    })
}

fn rule(name: &str, policy: &Policy, cycle: Span, (used, volumes): (Bytes, u64)) -> String {
    let Policy { expected, peak, absolute_min } = *policy;
    let takes = format!("{:.1} s", cycle.as_secs_f64());
    let [expected, peak, least, floor] = [expected, peak, absolute_min, policy.at(used, volumes).0].map(thousands);
    format!("{name:<21}{expected:>12}{peak:>11}{least:>10}{floor:>12}{takes:>14}\n")
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
    let mut page = Page::new(format!("A policy for {} IOPS on {}", thousands(iops), space(used)), "");
    let need = format!("{}: {}.", rates(iops), load(iops));
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
        let rates = [policy.expected, policy.peak, policy.absolute_min, policy.at(used, volumes).0].map(thousands);
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
        note: divided(advice)
            .into_iter()
            .chain(advice.published_misses().then_some(misses))
            .collect::<Vec<_>>()
            .join(" "),
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
75,000 IOPS (20,156,250 global references/s) on 5.000 TB:
56,250 reads/s, and a burst of 1,500,000 blocks every 80 s

rule                  expected/TB    peak/TB  abs. min  floor IOPS a burst takes
published                  15,000     30,000     7,500      75,000        80.0 s
cycle-safe, 1.194 x        17,917     35,834     8,959      89,585        45.0 s

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
        assert!(last.starts_with("   10.000 TB     179,170       358,340  "), "{chart}");
    }

    #[test]
    fn a_space_is_said_in_its_unit() {
        let said = [5 * TB, 500_000_000_000, 16_777_216, 1000].map(|used| space(Bytes(used)));
        assert_eq!(said, ["5.000 TB", "500.000 GB", "16.777 MB", "0.001 MB"]);
    }

    /// 16 volumes of the published 7 500 are 120 000, more than 75 000; the 89 584 that are needed
    /// are 5 599 for each. Four are 30 000, and nothing is divided.
    #[test]
    fn an_absolute_minimum_counts_for_each_volume() {
        assert_eq!(advice_text(&on_volumes(4)), advice_text(&advice()));
        let many = on_volumes(16);
        let said = advice_text(&many);
        assert!(said.contains("each of 16 volumes: the published one would be\n120,000 IOPS in all."), "{said}");
        assert!(said.contains("  5,599      89,585        45.0 s\n"), "{said}");
        assert!(said.lines().all(|line| line.chars().count() <= 80), "{said}");
        assert!(advice_page(&many, "", &[], &[]).render().contains("would be 120,000 IOPS in all"));
    }

    #[test]
    fn less_than_a_read_a_second_is_no_read() {
        let need = PolicyNeed { iops: 1, used: Bytes(TB), cycle_limit: Span::from_secs(45), volumes: 1 };
        let said = advice_text(&Advice::on(need).unwrap());
        assert!(said.contains("\n0.8 reads/s, and a burst of 20 blocks"), "{said}");
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
        assert!(html.contains("<td>89,585</td><td>45.0 s</td>") || html.contains("<td>89,585</td>\n<td>45.0 s</td>"));
    }
}
