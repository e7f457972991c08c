//! `seawall advise`: the adaptive policy that protects a database.

use crate::demand::{self, Recorded};
use crate::{Answer, terminal};
use anyhow::{Context as _, Result, bail};
use block::Span;
use ramp::{Advice, Demand, Need, advice_chart, advice_page, advice_text, advice_warnings, iops_of_references, tb};
use record::text::wrap;
use std::path::{Path, PathBuf};

/// Work out the adaptive policy that protects a database
///
/// From the IOPS that it needs and the space that it uses, or from a recording of it: the published rule, and the one
/// that leaves every burst of writes time to be written, with the command lines that create the policy and attach it, and
/// what its floor and ceiling are as the used space grows. Exit code 1 when the limit of a write cycle would be missed
/// under the published rule.
#[derive(clap::Args)]
pub struct Advise {
    /// Total IOPS that the database needs, as a ramp asks them
    #[arg(long, value_name = "N", required_unless_present_any = ["global_references", "recording"])]
    iops: Option<u64>,
    /// Size by the database's own measure instead: global references a second
    #[arg(long, value_name = "N", conflicts_with = "iops")]
    global_references: Option<u64>,
    /// Size by a recording instead: a ramp's folder of outputs, or a results database
    #[arg(long, value_name = "PATH", conflicts_with_all = ["iops", "global_references"])]
    recording: Option<PathBuf>,
    /// Which run of the recording [default: a ramp's all, a database's last]
    #[arg(long, value_name = "N", requires = "recording")]
    run: Option<u64>,
    /// Which workload of a results database; may be given several times [default: all]
    #[arg(long, value_name = "NAME", requires = "recording")]
    workload: Vec<String>,
    /// What of a recording is required: its 95th percentile or its peak, of means over a write cycle
    #[arg(long, value_name = "WHAT", default_value = "p95", value_parser = ["p95", "peak"])]
    demand: String,
    /// Used space: TB, or with a unit (500GB, 5TB) [default: the recording's]
    #[arg(long, value_name = "SPACE", value_parser = milli_tb, required_unless_present = "recording")]
    used_space: Option<u64>,
    /// Within which a burst has to be written, in seconds
    #[arg(long, value_name = "S", default_value_t = 45)]
    cycle_limit: u64,
    /// Volumes that the policy is attached to: an absolute minimum counts for each
    #[arg(long, value_name = "N", default_value_t = 1)]
    volumes: u64,
    /// Name of the policy group
    #[arg(long, value_name = "NAME", default_value = "AqosProd")]
    policy_group: String,
    /// The SVM
    #[arg(long, value_name = "NAME", default_value = "svm01")]
    vserver: String,
    /// The volumes' name; may be a pattern
    #[arg(long, value_name = "NAME", default_value = "*")]
    volume: String,
    /// Write the advice with its chart as an HTML page
    #[arg(long, value_name = "FILE")]
    page: Option<PathBuf>,
}

impl Advise {
    pub fn run(self) -> Result<Answer> {
        let (need, about, mut warnings) = self.need()?;
        let advice = Advice::on(need)?;
        let commands = advice.safe.commands(&self.policy_group, &self.vserver, &self.volume);
        for line in &commands {
            ontap::parse(line).with_context(|| format!("the advised line {line:?}"))?;
        }
        warnings.extend(advice_warnings(&advice, self.volumes));
        wrapped(&about);
        terminal::print(&advice_text(&advice));
        for warning in &warnings {
            wrapped(&format!("warning: {warning}"));
        }
        terminal::line("");
        commands.iter().for_each(|line| terminal::line(line));
        terminal::print(&format!("\n{}", advice_chart(&advice)));
        if let Some(path) = &self.page {
            let page = advice_page(&advice, &about, &warnings, &commands);
            std::fs::write(path, page).with_context(|| format!("--page {}", path.display()))?;
            terminal::line(&format!("\npage {}", path.display()));
        }
        Ok(if advice.published_misses() { Answer::No } else { Answer::Yes })
    }

    /// What has to be protected, where that is from, and what is doubtful about it.
    fn need(&self) -> Result<(Need, String, Vec<String>)> {
        let cycle_limit = Span::from_secs(self.cycle_limit);
        let Some(path) = &self.recording else {
            let references = || iops_of_references(self.global_references.unwrap_or_default());
            let iops = self.iops.unwrap_or_else(references);
            return Ok((
                Need { iops, used_milli_tb: self.used_space.unwrap_or_default(), cycle_limit },
                String::new(),
                Vec::new(),
            ));
        };
        let recorded = demand::read(path, self.run, &self.workload)?;
        let Some(demand) = Demand::of(&recorded.runs, recorded.cycle) else {
            bail!("--recording {}: holds no second of load", path.display());
        };
        let iops = if self.demand == "peak" { demand.peak } else { demand.p95 };
        if iops == 0 {
            bail!("--recording {}: nothing was read or written in it", path.display());
        }
        let Some(used_milli_tb) = self.used_space.or(recorded.used_bytes.map(thousandths)) else {
            bail!("--recording {}: does not say how much space was used; give --used-space, too", path.display());
        };
        let mut warnings = recorded.doubts.clone();
        if !demand.covers(recorded.cycle) {
            warnings.push(format!(
                "the recording is shorter than a write cycle of {}; a burst may be missing in it, or counted too often",
                recorded.cycle
            ));
        }
        Ok((Need { iops, used_milli_tb, cycle_limit }, about(path, &recorded, &demand, &self.demand), warnings))
    }
}

fn about(path: &Path, recorded: &Recorded, demand: &Demand, taken: &str) -> String {
    let space = recorded.used_bytes.map_or(String::new(), |bytes| format!(", {} of data", tb(thousandths(bytes))));
    format!(
        "{}: {} seconds{space}. Means over {}: p95 {} IOPS, peak {} IOPS; the busiest second had {}. Required is the {taken}.",
        path.display(),
        demand.seconds,
        demand.window,
        demand.p95,
        demand.peak,
        demand.second,
    )
}

/// Thousandths of a TB, rounded up.
fn thousandths(bytes: u64) -> u64 {
    bytes.div_ceil(1_000_000_000).max(1)
}

fn wrapped(text: &str) {
    wrap(text, 80).iter().filter(|line| !line.is_empty()).for_each(|line| terminal::line(line));
}

/// Thousandths of a TB: `5`, `5TB`, `500GB`, `2.5TB`.
fn milli_tb(given: &str) -> Result<u64, String> {
    let wrong = || "must be a space such as 5TB, 2.5TB or 500GB".to_owned();
    let text = given.trim().to_ascii_uppercase();
    let (number, milli) = match (text.strip_suffix("TB"), text.strip_suffix("GB")) {
        (Some(number), _) => (number, 1000.0),
        (_, Some(number)) => (number, 1.0),
        _ => (text.as_str(), 1000.0),
    };
    let number: f64 = number.trim().parse().map_err(|_| wrong())?;
    let milli = (number * milli).round();
    if (1.0..=1e9).contains(&milli) { Ok(milli as u64) } else { Err(wrong()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spaces_are_read() {
        for (text, milli) in [("5", 5000), ("2.5TB", 2500), ("500GB", 500), ("75 tb", 75_000)] {
            assert_eq!(milli_tb(text), Ok(milli), "{text}");
        }
        assert!(milli_tb("0").is_err() && milli_tb("lots").is_err() && milli_tb("inf").is_err());
        assert_eq!((thousandths(1), thousandths(5_000_000_000_000), thousandths(1_000_000_001)), (1, 5000, 2));
    }

    /// The lines are taken by the server's own administration, and the floor that follows is the advised one: 17 917
    /// IOPS/TB on 5 TB, 89 585.
    #[test]
    fn the_lines_set_the_floor_that_was_advised() {
        let need = Need { iops: 75_000, used_milli_tb: 5_000, cycle_limit: Span::from_secs(45) };
        let advice = Advice::on(need).unwrap();
        let mut administration = server::Administration::new(qos::RegistrySettings::default());
        let used = |_| 5_000_000_000_000;
        let mut run = |line: &str| administration.execute(line, block::Time::ZERO, &used).map(|_| ()).unwrap();
        run("vserver create -vserver epic");
        run("volume create -vserver epic -volume epic_rhel1_db1 -size 6TB");
        run("lun create -vserver epic -path /vol/epic_rhel1_db1/lun1 -size 6TB");
        advice.safe.commands("AqosEpicProd", "epic", "epic_rhel1_*").iter().for_each(|line| run(line));
        let limits = administration.limits();
        let (_, limits) = limits.iter().find(|(path, _)| path == "epic:/vol/epic_rhel1_db1").unwrap();
        assert_eq!((limits.floor_iops, limits.ceiling_iops), (Some(89_585), Some(179_170)));
    }
}
