//! `seawall advise`: the adaptive policy that protects a database.

mod cache;

use crate::demand::{self, Recorded};
use crate::outputs::{Kind, Output, check_all};
use crate::{Answer, amount, terminal};
use anyhow::{Context as _, Result, bail};
use block::{Bytes, Iops, Span};
use ontap::value::PolicyName;
use ramp::{Advice, Demand, PolicyNeed, advice_chart, advice_page, advice_text, iops_of_references, space};
use report::Page;
use report::text::{count, thousands, wrap};
use std::path::{Path, PathBuf};

/// Work out the adaptive policy that protects a database
///
/// From the IOPS and the space that the database needs, or from a recording of it: the published
/// rule, and a safer one that leaves enough time to write every burst. Prints the commands that
/// create the policy and attach it, and its floor and ceiling as the used space grows. Exit code 0:
/// the policy meets the need; 1: a warning says why it may not; 2: there is not enough to go by.
#[derive(clap::Args)]
#[command(args_conflicts_with_subcommands = true, subcommand_negates_reqs = true)]
#[command(group(clap::ArgGroup::new("from").args(["iops", "global_references", "recording"]).required(true)))]
#[command(override_usage = "\
seawall advise --iops N --used-space SPACE [OPTIONS]\n       \
seawall advise --global-references N --used-space SPACE [OPTIONS]\n       \
seawall advise --recording PATH [OPTIONS]\n       \
seawall advise cache --trace FILE [OPTIONS]\n       \
seawall advise cache --recording PATH [OPTIONS]")]
pub struct Advise {
    #[command(subcommand)]
    of: Option<Of>,
    /// Total IOPS that the database needs, as a ramp counts them
    ///
    /// 75000, or 75k; 1.5M is a million and a half.
    #[arg(long, value_name = "N", value_parser = amount::count)]
    iops: Option<u64>,
    /// Size by the database's own measure instead: global references a second
    #[arg(long, value_name = "N", value_parser = amount::count)]
    global_references: Option<u64>,
    /// Size by a recording instead: a ramp's folder of outputs, or a results database
    #[arg(long, value_name = "PATH")]
    recording: Option<PathBuf>,
    /// Which run of the recording, by number or as for results [default: a ramp's all, a database's
    /// last]
    #[arg(long, value_name = "RUN", requires = "recording", conflicts_with_all = ["iops", "global_references"])]
    run: Option<String>,
    /// Which workload of a results database; may be given several times [default: all]
    #[arg(long, value_name = "NAME", requires = "recording", conflicts_with_all = ["iops", "global_references"])]
    workload: Vec<String>,
    /// The required rate of a recording: its 95th percentile or its peak, of means over a write
    /// cycle
    #[arg(long, value_name = "WHAT", default_value = "p95", value_parser = ["p95", "peak"], requires = "recording", conflicts_with_all = ["iops", "global_references"])]
    demand: String,
    /// Used space: TB, or with a unit (500GB, 64MiB) [default: the recording's]
    #[arg(long, value_name = "SPACE", value_parser = amount::space, required_unless_present = "recording")]
    used_space: Option<Bytes>,
    /// Time in which a burst has to be written, in seconds
    #[arg(long, value_name = "S", default_value_t = 45)]
    cycle_limit: u64,
    /// Number of volumes that the policy is attached to: an absolute minimum counts for each and is
    /// divided by them [default: the recording's, else 1]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..=100_000))]
    volumes: Option<u64>,
    /// Name of the policy group
    #[arg(long, value_name = "NAME", default_value = "AqosProd", value_parser = policy_name)]
    policy_group: String,
    /// The SVM
    #[arg(long, value_name = "NAME", default_value = "svm01", value_parser = svm)]
    vserver: String,
    /// The volumes to attach it to, by name or pattern [default: no command attaches it]
    #[arg(long, value_name = "NAME", value_parser = volumes)]
    volume: Option<String>,
    /// Write the advice with its chart as an HTML page
    #[arg(long, value_name = "FILE")]
    page: Option<PathBuf>,
}

/// The percentage of a database's operations that the rules take to be reads.
const READS_PERCENT: u64 = 75;
/// Up to this many percentage points below are noise, or due to the last, incomplete second.
const READS_CHANCE: u64 = 5;

/// Other kinds of advice.
#[derive(clap::Subcommand)]
enum Of {
    Cache(cache::AdviseCache),
}

impl Advise {
    pub fn run(self) -> Result<Answer> {
        if let Some(Of::Cache(of)) = self.of {
            return of.run();
        }
        let page_file = Output::of("--page", self.page.as_ref(), Kind::Page);
        check_all(&[page_file])?;
        let (need, about, warnings) = self.need()?;
        let advice = Advice::on(need.clone())?;
        let commands = advice.safe.commands(&self.policy_group, &self.vserver, self.volume.as_deref());
        for line in &commands {
            ontap::parse(line).with_context(|| format!("the advised line {line:?}"))?;
        }
        let answer = if warnings.is_empty() { Answer::Yes } else { Answer::No };
        wrapped(&about);
        terminal::print(&advice_text(&advice));
        // A sufficient group also lets a burst be written in time.
        wrapped(&built_in(advice.safe.at(need.used, 1).0, need.used));
        for warning in &warnings {
            wrapped(&format!("warning: {warning}"));
        }
        terminal::line("");
        commands.iter().for_each(|line| terminal::line(line));
        if self.volume.is_none() {
            wrapped("It is attached to no volume yet; --volume NAME, or a pattern, prints the line that does it.");
        }
        terminal::print(&format!("\n{}", advice_chart(&advice)));
        if let Some(output) = page_file {
            let page = Page {
                version: env!("CARGO_PKG_VERSION").into(),
                ..advice_page(&advice, &about, &warnings, &commands)
            };
            output.write(page.render())?;
            terminal::line(&format!("\npage {}", output.path.display()));
        }
        Ok(answer)
    }

    /// The need, its source, and warnings about it.
    fn need(&self) -> Result<(PolicyNeed, String, Vec<String>)> {
        let cycle_limit = Span::from_secs(self.cycle_limit);
        let Some(path) = &self.recording else {
            let references = || iops_of_references(self.global_references.unwrap_or_default());
            let iops = self.iops.unwrap_or_else(references);
            let (used, volumes) = (self.used_space.unwrap_or_default(), self.volumes.unwrap_or(1));
            return Ok((PolicyNeed { iops, used, cycle_limit, volumes }, String::new(), Vec::new()));
        };
        let recorded = demand::read(path, self.run.as_deref(), &self.workload)?;
        let Some(demand) = Demand::of(&recorded.runs, recorded.cycle) else {
            bail!("--recording {}: holds no second of load", path.display());
        };
        let iops = if self.demand == "peak" { demand.peak } else { demand.p95 };
        if iops == 0 {
            bail!("--recording {}: nothing was read or written in it", path.display());
        }
        let Some(used) = self.used_space.or(recorded.used_bytes.map(Bytes)) else {
            bail!("--recording {}: does not say how much space was used; give --used-space, too", path.display());
        };
        let mut warnings = recorded.doubts.clone();
        let reads = recorded.reads_percent();
        if reads + READS_CHANCE < READS_PERCENT {
            warnings.push(format!(
                "{reads} % of what was recorded are reads; the advice is for {READS_PERCENT} %, and more writes make longer bursts"
            ));
        }
        if !demand.covers(recorded.cycle) {
            warnings.push(format!(
                "the recording is shorter than a write cycle of {}; a burst may be missing in it, or counted too often",
                recorded.cycle
            ));
        }
        let about = about(path, &recorded, &demand, &self.demand);
        let volumes = self.volumes.or(recorded.volumes).unwrap_or(1);
        Ok((PolicyNeed { iops, used, cycle_limit, volumes }, about, warnings))
    }
}

/// The smallest built-in policy group that suffices for `iops`, in a sentence.
fn built_in(iops: u64, used: Bytes) -> String {
    let size = qos::Size { allocated: used, used };
    let (group, found) = qos::smallest_built_in(Iops(iops), size, qos::Units::Decimal);
    let (name, floor, of) = (group.name(), found.floor.0, space(used));
    if floor >= iops {
        let floor = thousands(floor);
        return format!("Of the built-in policy groups {name} is the smallest that suffices: {floor} IOPS on {of}.");
    }
    let (floor, iops) = (thousands(floor), thousands(iops));
    format!("No built-in policy group suffices: {name}, the largest, has {floor} IOPS on {of}, and {iops} are needed.")
}

fn about(path: &Path, recorded: &Recorded, demand: &Demand, taken: &str) -> String {
    let space = recorded.used_bytes.map_or(String::new(), |bytes| format!(", {} of data", space(Bytes(bytes))));
    format!(
        "{}: {}{space}. Means over {}: p95 {} IOPS, peak {} IOPS; the busiest second had {}. Required is the {taken}. {} % \
         of what was recorded are reads; what follows assumes {READS_PERCENT} %, and that all writes come in bursts.",
        path.display(),
        count(demand.seconds as usize, "second", "seconds"),
        demand.window,
        thousands(demand.p95),
        thousands(demand.peak),
        thousands(demand.second),
        recorded.reads_percent(),
    )
}

/// The name of a policy group, which commands accept without quotes.
fn policy_name(given: &str) -> Result<String, String> {
    given.parse::<PolicyName>().map(|_| given.to_owned()).map_err(|error| error.rule)
}

/// The name of an SVM, which commands accept without quotes.
fn svm(given: &str) -> Result<String, String> {
    let fits = |c: char| c.is_ascii_alphanumeric() || "_-.".contains(c);
    let begins = given.starts_with(|c: char| c.is_ascii_alphanumeric() || c == '_');
    if !begins || given.len() > 203 || !given.chars().all(fits) {
        return Err("must be 1 to 203 letters, digits, _, - and dots, the first a letter, digit or _".into());
    }
    Ok(given.to_owned())
}

/// Names or patterns of volumes, as in `db1|log*`, so that commands accept them without quotes.
fn volumes(given: &str) -> Result<String, String> {
    let fits = |c: char| c.is_ascii_alphanumeric() || "_-.*|!".contains(c);
    if given.is_empty() || !given.chars().all(fits) || given.starts_with('-') {
        return Err(
            "must be a volume's name or a pattern such as epic_*, of letters, digits, _, -, dots, *, | and !".into()
        );
    }
    Ok(given.to_owned())
}

fn wrapped(text: &str) {
    wrap(text, 80).iter().filter(|line| !line.is_empty()).for_each(|line| terminal::line(line));
}

#[cfg(test)]
mod tests {
    use super::*;
    use ramp::TB;

    #[test]
    fn names_that_need_quotes_are_refused() {
        assert_eq!(policy_name("Aqos-1"), Ok("Aqos-1".into()));
        assert!(policy_name("a b;c").unwrap_err().starts_with("is not a policy group's name: 1 to 127"));
        assert!(svm("a b").unwrap_err().starts_with("must be 1 to 203") && svm("svm_1.a").is_ok());
        assert_eq!(volumes("epic_*|!log1"), Ok("epic_*|!log1".into()));
        for wrong in ["", "a b", "a;b", "-v", "\"a\""] {
            assert!(volumes(wrong).unwrap_err().starts_with("must be a volume's name"), "{wrong}");
        }
    }

    /// 5 TB have 10 240 IOPS with `performance`, and 30 720 with `extreme`.
    #[test]
    fn the_smallest_built_in_group_is_named() {
        let said = |iops| built_in(iops, Bytes(5 * TB));
        assert!(said(10_000).contains(" performance is the smallest that suffices: 10,240 IOPS on 5.000 TB."));
        assert!(
            said(75_000).starts_with("No built-in policy group suffices: extreme, the largest, has 30,720 IOPS on")
        );
    }

    /// The server's administration accepts the commands, and the resulting floor is the advised
    /// one: 17 917 IOPS/TB on 5 TB, 89 585.
    #[test]
    fn the_lines_set_the_floor_that_was_advised() {
        let need = PolicyNeed { iops: 75_000, used: Bytes(5 * TB), cycle_limit: Span::from_secs(45), volumes: 1 };
        let advice = Advice::on(need).unwrap();
        let mut administration = admin::Administration::new(qos::RegistrySettings::default());
        // The LUN and files of clients.
        let used = |_| 2_500_000_000_000;
        let mut run = |line: &str| administration.execute(line, block::Time::ZERO, &used).map(|_| ()).unwrap();
        run("vserver create -vserver epic");
        run("volume create -vserver epic -volume epic_rhel1_db1 -size 6TB");
        run("lun create -vserver epic -path /vol/epic_rhel1_db1/lun1 -size 6TB");
        advice.safe.commands("AqosEpicProd", "epic", Some("epic_rhel1_*")).iter().for_each(|line| run(line));
        let limits = administration.limits();
        let (_, limits) = limits.iter().find(|(path, _)| path == "epic:/vol/epic_rhel1_db1").unwrap();
        assert_eq!((limits.floor_iops, limits.ceiling_iops), (Some(89_585), Some(179_170)));
    }
}
