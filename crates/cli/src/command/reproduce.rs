//! `seawall reproduce`: published tables beside simulated ones.

mod genio;
mod tiers;
mod walk;
mod workshop;

pub use genio::array_of;

use crate::outputs::check_out;
use crate::play::{now_unix_ms, stamp, write_page};
use crate::{Answer, catalogue, machine, terminal};
use anyhow::{Context as _, Result, bail};
use block::Span;
use capacity::{Cells, Comparison};
use report::Page;
use std::collections::{HashMap, HashSet};
use std::path::{Path, PathBuf};
use workload::plan::Device;

/// Simulate published tables and compare both
///
/// Prints for every cell the published figure, the simulated one and the error, whether and how
/// many numbers were fitted to it, and the targets of the comparison. Without a name all tables are
/// simulated. Published figures never reach a simulation; exit code 1 says that a target was
/// missed.
#[derive(clap::Args)]
pub struct Reproduce {
    /// The tables: a300, a700, aqos, fsx-qos, fsx-workshop, uspv
    #[arg(value_name = "NAME")]
    names: Vec<String>,
    /// The folder for the pages
    #[arg(long, value_name = "DIR", default_value = ".")]
    out: PathBuf,
    /// A folder with files that replace published ones of the same name
    #[arg(long, value_name = "DIR")]
    published: Option<PathBuf>,
    /// An array in place of the published one: a name of `seawall arrays list`, or a file
    #[arg(long, value_name = "NAME|FILE")]
    array: Option<String>,
    /// For a300, a700 and aqos: the interval of write cycles
    #[arg(long, value_name = "TIME", value_parser = cycle)]
    cycle: Option<Span>,
    /// For a300, a700 and aqos: the ends of the last host's ramp, in place of the published ones
    #[arg(long, value_name = "MIN-MAX", value_parser = ends)]
    last_host: Option<(u64, u64)>,
    /// For aqos: leave the policies out
    #[arg(long)]
    no_policies: bool,
}

/// Deviations from what was published.
struct Setting {
    /// Texts that replace published ones.
    others: HashMap<String, String>,
    /// The word that was given, and the array that it names.
    array: Option<(String, Device)>,
    cycle: Option<Span>,
    last_host: Option<(u64, u64)>,
    no_policies: bool,
}

impl Setting {
    /// The array to simulate: the given one, otherwise the published one.
    fn array(&self, published: &str) -> Result<Device> {
        match &self.array {
            Some((_, device)) => Ok(device.clone()),
            None => catalogue::device("--array", published),
        }
    }

    /// The given options that only some tables have.
    fn own_options(&self) -> impl Iterator<Item = &'static str> {
        let given = [self.cycle.is_some(), self.last_host.is_some(), self.no_policies];
        [CYCLE, LAST_HOST, NO_POLICIES].into_iter().zip(given).filter_map(|(option, given)| given.then_some(option))
    }

    /// A note on the deviations from what was published for a table.
    fn differences(&self, table: &Table) -> Option<String> {
        let cycle = self.cycle.filter(|_| table.takes(CYCLE)).map(|cycle| format!("a cycle every {cycle}"));
        let ends = self.last_host.filter(|_| table.takes(LAST_HOST));
        let ends = ends.map(|(min, max)| format!("the last host from {min} to {max} IOPS"));
        let policies = (self.no_policies && table.takes(NO_POLICIES)).then(|| "no policies".to_string());
        let array = self.array.as_ref().map(|(given, _)| {
            format!("the array is {given}, to which none of the numbers that are called fitted was fitted")
        });
        let all: Vec<String> = [cycle, ends, policies, array].into_iter().flatten().collect();
        (!all.is_empty())
            .then(|| format!("Not as published: {}. Errors say how far this is from what was.", all.join(", ")))
    }
}

type Play = fn(&Setting) -> Result<Comparison>;

/// A published table.
#[derive(Clone, Copy)]
struct Table {
    name: &'static str,
    play: Play,
    /// Options that not every table has.
    options: &'static [&'static str],
}

impl Table {
    fn takes(&self, option: &str) -> bool {
        self.options.contains(&option)
    }
}

const CYCLE: &str = "--cycle";
const LAST_HOST: &str = "--last-host";
const NO_POLICIES: &str = "--no-policies";

/// All tables.
const ALL: [Table; 6] = [
    Table { name: "a300", play: genio::a300, options: &[CYCLE, LAST_HOST] },
    Table { name: "a700", play: genio::a700, options: &[CYCLE, LAST_HOST] },
    Table { name: "aqos", play: genio::aqos, options: &[CYCLE, LAST_HOST, NO_POLICIES] },
    Table { name: "fsx-qos", play: walk::walk, options: &[] },
    Table { name: "fsx-workshop", play: workshop::workshop, options: &[] },
    Table { name: "uspv", play: tiers::uspv, options: &[] },
];

impl Reproduce {
    pub fn run(self) -> Result<Answer> {
        let wanted = wanted(&self.names)?;
        let is_named = !self.names.is_empty();
        check_out(&self.out)?;
        let named = |given: String| catalogue::device("--array", &given).map(|device| (given, device));
        let array = self.array.map(named).transpose()?;
        let others = self.published.as_deref().map(stand_ins).transpose()?.unwrap_or_default();
        let Reproduce { cycle, last_host, no_policies, .. } = self;
        let setting = Setting { others, array, cycle, last_host, no_policies };
        if is_named {
            must_be_taken(&wanted, setting.own_options())?;
        }
        let mut holds = true;
        for (index, table) in wanted.into_iter().enumerate() {
            let name = table.name;
            let mut comparison = (table.play)(&setting).with_context(|| format!("reproduce {name}"))?;
            assert!(comparison.is_honest(), "{name}: a column uses fitted numbers that are not named");
            comparison.notes.splice(0..0, setting.differences(&table));
            terminal::print(&format!("{}{}", if index == 0 { "" } else { "\n" }, comparison.text()));
            let page = write(&self.out, &comparison)?;
            terminal::line(&format!("\npage      {}", page.display()));
            holds &= comparison.holds();
        }
        Ok(if holds { Answer::Yes } else { Answer::No })
    }
}

/// `80s`: the interval of write cycles, as the ramp takes it.
fn cycle(given: &str) -> Result<Span, String> {
    const RULE: &str = "must be between 1s and 7 days";
    let span = workload::plan::parse_duration(given).map_err(|why| why.to_string())?;
    let range = Span::SECOND..=ramp::RampSettings::RUNTIME_MAX;
    if range.contains(&span) { Ok(span) } else { Err(RULE.into()) }
}

/// Refuses options that have no effect on a table that was named.
fn must_be_taken(wanted: &[Table], mut given: impl Iterator<Item = &'static str>) -> Result<()> {
    let idle = given.find_map(|option| Some((option, wanted.iter().find(|table| !table.takes(option))?)));
    let Some((option, table)) = idle else { return Ok(()) };
    let takes: Vec<&str> = ALL.iter().filter(|table| table.takes(option)).map(|table| table.name).collect();
    bail!("{option}: is for {} alone, and {} has nothing like it; leave it out", takes.join(", "), table.name)
}

fn wanted(names: &[String]) -> Result<Vec<Table>> {
    if names.is_empty() {
        return Ok(ALL.to_vec());
    }
    let find = |name: &String| match ALL.iter().find(|table| table.name == name) {
        Some(found) => Ok(*found),
        None => {
            let known = ALL.map(|table| table.name);
            let meant =
                nearest::to(name, known.into_iter()).map(|near| format!("; did you mean {near}?")).unwrap_or_default();
            bail!("NAME: must be one of {}, got {name:?}{meant}", known.join(", "))
        }
    };
    let mut tables: Vec<Table> = names.iter().map(find).collect::<Result<_>>()?;
    let mut seen = HashSet::new();
    // A table that is named twice is simulated once.
    tables.retain(|table| seen.insert(table.name));
    Ok(tables)
}

/// The published files of a folder.
fn stand_ins(folder: &Path) -> Result<HashMap<String, String>> {
    let about = || format!("--published {}", folder.display());
    let mut found = HashMap::new();
    for entry in std::fs::read_dir(folder).with_context(about)? {
        let path = entry.with_context(about)?.path();
        let name = path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
        if Cells::embedded(&name).is_some() {
            found.insert(name, std::fs::read_to_string(&path).with_context(about)?);
        }
    }
    if found.is_empty() {
        bail!("{}: has no file of the name of a published table, such as aqos_rhel1.csv", about());
    }
    Ok(found)
}

/// Writes the page of a comparison into a folder and returns its path.
///
/// # Errors
/// It cannot be written.
pub fn write(out: &Path, comparison: &Comparison) -> Result<PathBuf> {
    let now = now_unix_ms();
    let facts = report::text::facts(now, &machine::look(None, "virtual time"));
    let page = Page { facts, version: env!("CARGO_PKG_VERSION").into(), ..comparison.page() };
    write_page(out, &format!("{}-{}", comparison.name, stamp(now)), &page)
}

/// `75000-150000`
fn ends(given: &str) -> Result<(u64, u64), String> {
    let both = given.split_once('-').and_then(|(min, max)| Some((min.parse().ok()?, max.parse().ok()?)));
    both.filter(|(min, max)| 0 < *min && min <= max && *max <= 100_000_000)
        .ok_or_else(|| "must be two rates such as 75000-150000, the smaller first".into())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn setting() -> Setting {
        Setting { others: HashMap::new(), array: None, cycle: None, last_host: None, no_policies: false }
    }

    fn simulated(comparison: &Comparison) -> Vec<Option<f64>> {
        let rows = comparison.lines.iter().flat_map(|line| &line.rows);
        rows.flat_map(|row| row.cells.iter().map(|cell| cell.1)).collect()
    }

    /// Published results with every number multiplied by 1.5; the loads and the limits for the
    /// verdict stay.
    fn changed() -> HashMap<String, String> {
        let results = [
            "a300_genio.csv",
            "a700_genio.csv",
            "aqos_rhel1.csv",
            "aqos_rhel2.csv",
            "aqos_rhel3_bully.csv",
            "uspv_swingbench.csv",
        ];
        let changed = |name: &str| {
            let text = Cells::embedded(name).expect("embedded");
            let first = usize::from(text.starts_with("run,") || text.starts_with("test,"));
            let cell = |(column, cell): (usize, &str)| match cell.parse::<f64>() {
                Ok(number) if column >= first => format!("{}", 1.5 * number),
                _ => cell.to_string(),
            };
            let line = |line: &str| line.split(',').enumerate().map(cell).collect::<Vec<_>>().join(",");
            text.lines().map(line).collect::<Vec<_>>().join("\n")
        };
        results.iter().map(|name| (name.to_string(), changed(name))).collect()
    }

    #[test]
    fn what_is_named_twice_is_played_once() {
        let names = ["uspv", "aqos", "uspv"].map(String::from);
        let wanted: Vec<&str> = wanted(&names).expect("they are known").iter().map(|table| table.name).collect();
        assert_eq!(wanted, ["uspv", "aqos"]);
    }

    /// Without policies there is no result of a trial with them.
    #[test]
    fn without_policies_there_is_no_trial_with_them() {
        let says = |no_policies| {
            let notes = genio::aqos(&Setting { no_policies, ..setting() }).expect("played").notes;
            notes.iter().any(|note| note.contains("with the policies and without them"))
        };
        assert!(says(false) && !says(true));
    }

    /// Changed published cells change their errors by the same amount, and nothing that is
    /// simulated or was fitted.
    #[test]
    fn changed_cells_change_errors_and_nothing_simulated() {
        for (name, play, cells) in [
            ("aqos", genio::aqos as Play, 150),
            ("a300", genio::a300, 6),
            ("a700", genio::a700, 6),
            ("uspv", tiers::uspv, 24),
        ] {
            let as_printed = play(&setting()).expect("played");
            let other = play(&Setting { others: changed(), ..setting() }).expect("played");
            assert_eq!(simulated(&as_printed), simulated(&other), "{name}");
            assert_eq!(as_printed.fitted, other.fitted, "{name}");
            let rows = |of: &Comparison| of.lines.iter().flat_map(|line| line.rows.clone()).collect::<Vec<_>>();
            let mut compared = 0;
            for (before, after) in rows(&as_printed).iter().zip(&rows(&other)) {
                for column in 0..before.cells.len() {
                    let errors = before.error(column, false).zip(after.error(column, false));
                    if before.cells[column].1.is_none() {
                        continue;
                    }
                    let (was, is) =
                        errors.unwrap_or_else(|| panic!("{name}, {}, column {column}: no error", before.name));
                    assert!(((1.0 + was) / (1.0 + is) - 1.5).abs() < 1e-9, "{name}, {}, column {column}", before.name);
                    compared += 1;
                }
            }
            assert_eq!(compared, cells, "{name}");
        }
    }

    /// The figures in the files of arrays are the results of a fit to the published rows within
    /// half a percent, and no more than two are fitted.
    #[test]
    fn fitted_figures_are_those_of_the_fit() {
        let comparison = genio::aqos(&setting()).expect("played");
        assert_eq!(comparison.parameters(), 2);
        assert!(comparison.is_honest());
        let fit = capacity::fit(&HashMap::new()).expect("the cells are there");
        let micros = |index: usize| {
            let value = &comparison.fitted[index].value;
            value.split(' ').next().and_then(|number| number.parse::<f64>().ok()).expect("a number")
        };
        let (journal, blocks) = (micros(0), micros(1));
        assert!(
            (journal / (1e6 * fit.journal) - 1.0).abs() < 0.005,
            "{journal} us in the array, fit {:?}",
            fit.journal
        );
        let cycle = journal + blocks;
        assert!((cycle / (1e6 * fit.cycle) - 1.0).abs() < 0.005, "{cycle} us in the array, fit {:?}", fit.cycle);
    }

    /// Shorter periods make smaller bursts in the same ratio. A bully with a higher rate has longer
    /// cycles in the ratio of the rates, and the other hosts do not change while the array is not
    /// full.
    #[test]
    fn undocumented_loads_change_cycles_in_proportion() {
        let last = |setting: &Setting, host: usize| {
            let comparison = genio::aqos(setting).expect("played");
            let line = &comparison.lines[host];
            let at = line.columns.iter().position(|column| column.name.starts_with("longest cycle")).expect("a column");
            line.rows[9].cells[at].1.expect("simulated")
        };
        let published = setting();
        let minute = Setting { cycle: Some(Span::from_secs(60)), ..setting() };
        let more = Setting { last_host: Some((75_000, 170_000)), ..setting() };
        for host in 0..3 {
            let ratio = last(&minute, host) / last(&published, host);
            assert!((ratio - 0.75).abs() < 0.01, "host {host}: {ratio}");
        }
        let ratio = last(&more, 2) / last(&published, 2);
        assert!((ratio - 170.0 / 150.0).abs() < 0.02, "{ratio}");
        assert!((last(&more, 0) / last(&published, 0) - 1.0).abs() < 0.02);
    }

    /// The same for the file server's tables, whose cells are ranges and words: replacing every 7
    /// by 9 and every 2 by 4 changes errors and nothing simulated.
    #[test]
    fn changed_words_change_errors_and_nothing_simulated() {
        let changed = |name: &str| {
            let text = Cells::embedded(name).expect("embedded");
            let (head, rows) = text.split_once('\n').expect("a head");
            let swap = |cell: &str| cell.replace("~7", "~9").replace("~2", "~4").replace("~5", "~8");
            let rows: Vec<String> =
                rows.lines().map(|row| row.split(',').map(swap).collect::<Vec<_>>().join(",")).collect();
            (name.to_string(), format!("{head}\n{}\n", rows.join("\n")))
        };
        let as_printed = walk::walk(&setting()).expect("played");
        let others = HashMap::from([changed("fsx_qos_steps.csv")]);
        let other = walk::walk(&Setting { others, ..setting() }).expect("played");
        assert_eq!(simulated(&as_printed), simulated(&other));
        let errors = |of: &Comparison| -> Vec<Option<f64>> {
            of.lines.iter().flat_map(|line| &line.rows).map(|row| row.error(0, false)).collect()
        };
        let moved = errors(&as_printed).iter().zip(&errors(&other)).filter(|(was, is)| was != is).count();
        assert!(moved >= 3, "{moved}: {:?}", errors(&other));
    }

    /// If the bully's rate exceeds the capacity of the controllers, floors protect the cycles of
    /// the others: without policies these get longer with the bully's rate, with policies they do
    /// not.
    #[test]
    fn floors_matter_where_the_array_is_full() {
        let longest = |no_policies: bool, top: u64| {
            let last_host = Some((75_000, top));
            let comparison = genio::aqos(&Setting { no_policies, last_host, ..setting() }).expect("played");
            let line = &comparison.lines[0];
            let at = line.columns.iter().position(|column| column.name.starts_with("longest cycle")).expect("a column");
            line.rows[9].cells[at].1.expect("simulated")
        };
        let alone = longest(false, 150_000);
        let (floors, free) = (longest(false, 1_500_000), longest(true, 1_500_000));
        assert!((longest(true, 150_000) / alone - 1.0).abs() < 0.01, "there is room for all");
        // A floor of 120 000 is less than a burst and its reads would take if there were room.
        assert!((1.0..1.15).contains(&(floors / alone)), "{floors} s with floors, {alone} s beside a small bully");
        assert!((1.9..2.5).contains(&(free / floors)), "{free} s without, {floors} s with floors");
    }

    /// An option that a named table does not have is refused; with all tables it is noted for those
    /// that have it.
    #[test]
    fn options_without_effect_are_refused() {
        let minute = Setting { cycle: Some(Span::from_secs(60)), ..setting() };
        let refused = |names: &[&str], setting: &Setting| {
            let names: Vec<String> = names.iter().map(|name| (*name).to_owned()).collect();
            must_be_taken(&wanted(&names).expect("names"), setting.own_options()).map_err(|error| error.to_string())
        };
        let said = "--cycle: is for a300, a700, aqos alone, and fsx-qos has nothing like it; leave it out";
        assert_eq!(refused(&["aqos", "fsx-qos"], &minute), Err(said.into()));
        let free = Setting { no_policies: true, ..setting() };
        let said = "--no-policies: is for aqos alone, and a300 has nothing like it; leave it out";
        assert_eq!((refused(&["a300"], &free), refused(&["aqos"], &free)), (Err(said.into()), Ok(())));
        assert_eq!((refused(&["a300", "aqos"], &minute), refused(&["uspv"], &setting())), (Ok(()), Ok(())));
        let noted = ALL.map(|table| minute.differences(&table).is_some());
        assert_eq!(noted, [true, true, true, false, false, false]);
    }

    #[test]
    fn what_is_no_name_says_which_there_are() {
        let said = wanted(&["aqso".into()]).map(|_| ()).expect_err("no name").to_string();
        assert!(said.contains("must be one of a300, a700, aqos") && said.contains("did you mean aqos?"), "{said}");
        assert!(ends("5").is_err() && ends("9-3").is_err() && ends("75000-150000") == Ok((75_000, 150_000)));
    }
}
