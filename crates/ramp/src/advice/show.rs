//! An advice as text of at most 80 columns (but for the command lines, which are to be copied), and as a page.

use super::{Advice, Need, Policy, TB, references_of};
use crate::page::graph::{Graph, Line};
use crate::page::{STYLE, escape};
use block::{Bytes, Span};

/// Columns of the bars of the chart.
const BAR: u64 = 40;

/// The advice in words, without its command lines.
pub fn advice_text(advice: &Advice) -> String {
    let Need { iops, used, .. } = advice.need;
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
    text += &rule("published", &advice.published, advice.published_cycle, used);
    let safe = format!("cycle-safe, {:.3} x", advice.factor);
    text += &rule(&safe, &advice.safe, advice.safe_cycle, used);
    text
}

fn rule(name: &str, policy: &Policy, cycle: Span, used: Bytes) -> String {
    let Policy { expected, peak, absolute_min } = policy;
    let takes = format!("{:.1} s", cycle.as_secs_f64());
    format!("{name:<21}{expected:>12}{peak:>11}{absolute_min:>10}{:>12}{takes:>14}\n", policy.at(used).0)
}

/// What to beware of.
pub fn advice_warnings(advice: &Advice, volumes: u64) -> Vec<String> {
    let mut found = Vec::new();
    let limit = advice.need.cycle_limit.as_secs_f64();
    if advice.published_misses() {
        found.push(format!(
            "at the floor of the published rule a burst takes longer than {limit:.0} s; use the cycle-safe one"
        ));
    }
    let minima = advice.safe.absolute_min.saturating_mul(volumes);
    let floor = advice.safe.at(advice.need.used).0;
    if volumes > 1 && minima > floor {
        found.push(format!(
            "the absolute minimum counts for each of {volumes} volumes: {minima} IOPS together, more than the floor of \
             {floor}; it rules, and space does not"
        ));
    }
    found
}

/// Floor and ceiling of the cycle-safe policy as the used space grows, as bars.
pub fn advice_chart(advice: &Advice) -> String {
    let growth = advice.growth();
    let most = growth.iter().map(|(.., ceiling)| *ceiling).max().unwrap_or(1).max(1);
    let columns = |iops: u64| (u128::from(iops) * u128::from(BAR) / u128::from(most)) as usize;
    let mut text =
        format!("{:>12}{:>12}{:>14}  # floor, - up to the ceiling\n", "used space", "floor IOPS", "ceiling IOPS");
    for (used, floor, ceiling) in growth {
        let bar = "#".repeat(columns(floor)) + &"-".repeat(columns(ceiling).saturating_sub(columns(floor)));
        text += &format!("{:>12}{floor:>12}{ceiling:>14}  {bar}\n", space(used));
    }
    text
}

/// The table keeps its columns and the commands wrap.
const WIDE: &str = "pre{overflow-x:auto}.lines{white-space:pre-wrap}@media(max-width:640px){pre{font-size:11.5px}}";

/// The advice as a page with the chart of floor and ceiling; `about` says where the need is from.
pub fn advice_page(advice: &Advice, about: &str, warnings: &[String], commands: &[String]) -> String {
    let Need { iops, used, .. } = advice.need;
    let growth = advice.growth();
    // In the unit that the space is said in.
    let (unit, name) = unit(used);
    let at = |of: fn(&(Bytes, u64, u64)) -> u64| {
        growth.iter().map(|point| (point.0.0 as f64 / unit as f64, of(point) as f64)).collect::<Vec<_>>()
    };
    let published = growth.iter().map(|point| (point.0.0 as f64 / unit as f64, advice.published.at(point.0).0 as f64));
    let need = iops as f64 * advice.factor;
    let graph = Graph {
        x: &format!("used space in {name}"),
        y: "IOPS",
        lines: vec![
            Line { name: "ceiling", points: at(|point| point.2), dots: true },
            Line { name: "floor", points: at(|point| point.1), dots: true },
            Line { name: "published floor", points: published.collect(), dots: true },
        ],
        limit: Some((need, format!("needed to write a burst within {:.0} s", advice.need.cycle_limit.as_secs_f64()))),
        room: 0.0,
    };
    let list = |items: &[String], tag: &str| -> String {
        items.iter().map(|item| format!("<p class=stamp><{tag}>{}</{tag}></p>\n", escape(item))).collect()
    };
    format!(
        "<!doctype html>\n<html lang=en><meta charset=utf-8><meta name=viewport content=\"width=device-width\">\
         <title>A policy for {iops} IOPS</title><style>{STYLE}{WIDE}</style>\n\
         <h1>A policy for {iops} IOPS on {}</h1>\n<p>{}</p>\n<pre>{}</pre>\n{}\
         <h2>Floor and ceiling as the used space grows</h2>\n{}\n<h2>Commands</h2>\n<pre class=lines>{}</pre>\n</html>\n",
        space(used),
        escape(about),
        escape(&advice_text(advice)),
        list(warnings, "span"),
        graph.svg(),
        escape(&commands.join("\n")),
    )
}

/// Used space as policies count it: `5.000 TB`, `16.777 MB`.
pub fn space(used: Bytes) -> String {
    let (unit, name) = unit(used);
    format!("{:.3} {name}", used.0 as f64 / unit as f64)
}

/// The decimal unit that a space is best said in.
fn unit(used: Bytes) -> (u64, &'static str) {
    let units = [(TB, "TB"), (TB / 1000, "GB"), (TB / 1_000_000, "MB")];
    units.into_iter().find(|(unit, _)| used.0 >= *unit).unwrap_or((TB / 1_000_000, "MB"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn advice() -> Advice {
        Advice::on(Need { iops: 75_000, used: Bytes(5 * TB), cycle_limit: Span::from_secs(45) }).unwrap()
    }

    #[test]
    fn an_advice_is_this_text() {
        let wanted = "\
75000 IOPS (20156250 global references/s) on 5.000 TB:
56250 reads/s, and a burst of 1500000 blocks every 80 s

rule                  expected/TB    peak/TB  abs. min  floor IOPS a burst takes
published                   15000      30000      7500       75000        80.0 s
cycle-safe, 1.194 x         17917      35834      8959       89585        45.0 s
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

    /// 16 volumes of 8 959 are 143 344, more than the floor of 89 585; four are less.
    #[test]
    fn an_absolute_minimum_counts_for_each_volume() {
        assert_eq!(advice_warnings(&advice(), 4).len(), 1);
        let warnings = advice_warnings(&advice(), 16);
        assert!(warnings[1].contains("143344 IOPS together, more than the floor of 89585"), "{warnings:?}");
    }

    #[test]
    fn a_page_has_the_chart_and_the_commands() {
        let page = advice_page(&advice(), "a & b", &["careful".into()], &["volume modify -volume <v>".into()]);
        assert_eq!((page.matches("<svg").count(), page.matches("<polyline").count()), (1, 3));
        assert!(page.contains("a &amp; b") && page.contains("&lt;v&gt;") && page.contains("careful"));
        assert!(page.contains("needed to write a burst within 45 s") && !page.contains("NaN"));
    }
}
