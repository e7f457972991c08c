//! `seawall levels`: classes of storage, their policies on a server, and what a provider bills.

mod report;
mod server;

use crate::{Answer, terminal};
use anyhow::{Context as _, Result, bail};
use block::Iops;
use levels::Classes;
use qos::{AdaptivePolicy, Density, Per, Units};
use server::Server;
use std::path::{Path, PathBuf};

/// Define classes of storage, create their policies on a server, and bill what was promised and
/// used
///
/// A file (TOML) has the classes: what each promises for every TB, and what it costs a month.
/// `apply` creates an adaptive policy group of each in every SVM, with the commands of the shell.
/// `report` lists for each SVM and volume over a period what was promised, used, held back and
/// missed, and what it costs. docs/levels.md describes the file and the figures.
#[derive(clap::Args)]
pub struct Levels {
    #[command(subcommand)]
    what: What,
}

#[derive(clap::Subcommand)]
enum What {
    /// Show the classes of a file
    Show {
        /// The file of classes
        file: PathBuf,
    },
    /// Create or change the policy group of each class, named CLASS-SVM, on a running server
    Apply {
        /// The file of classes
        file: PathBuf,
        /// The pool's folder
        #[arg(long, value_name = "DIR")]
        pool: PathBuf,
        /// Only in this SVM; may be given several times [default: all]
        #[arg(long, value_name = "SVM")]
        vserver: Vec<String>,
        /// Print the commands without running them
        #[arg(long)]
        dry_run: bool,
    },
    Report(report::Report),
    Hours(report::Hours),
}

impl Levels {
    pub fn run(self) -> Result<Answer> {
        match self.what {
            What::Show { file } => {
                terminal::print(&levels::list(&read(&file)?));
                Ok(Answer::Yes)
            }
            What::Apply { file, pool, vserver, dry_run } => apply(&read(&file)?, &pool, &vserver, dry_run),
            What::Report(report) => report.run(),
            What::Hours(hours) => hours.run(),
        }
    }
}

fn read(file: &Path) -> Result<Classes> {
    let text =
        std::fs::read_to_string(file).with_context(|| format!("{}: read the file of classes", file.display()))?;
    Classes::read(&text).with_context(|| format!("{}", file.display()))
}

fn apply(classes: &Classes, pool: &Path, svms: &[String], dry_run: bool) -> Result<Answer> {
    let mut server = Server::connect(pool)?;
    let known = server.svms()?;
    if let Some(unknown) = svms.iter().find(|svm| !known.contains(svm)) {
        bail!("--vserver {unknown}: the server has no such SVM; it has: {}", known.join(", "));
    }
    if known.is_empty() {
        bail!("--pool {}: the server has no SVM yet; `vserver create NAME` in its shell makes one", pool.display());
    }
    let existing = server.policies()?;
    let wanted = known.iter().filter(|svm| svms.is_empty() || svms.contains(svm));
    for step in wanted.flat_map(|svm| levels::steps(classes, svm, &existing, least)) {
        let Some(line) = step.line() else {
            if let levels::ClassStep::Keep(name) = &step {
                terminal::line(&format!("{name}: is as it should be"));
            }
            continue;
        };
        terminal::line(line);
        if dry_run {
            continue;
        }
        match server.run(line)? {
            Ok(said) => terminal::print(&said),
            Err(refusal) => {
                terminal::aside(&format!("Error: {refusal}\n"));
                return Ok(Answer::No);
            }
        }
    }
    Ok(Answer::Yes)
}

/// The default absolute minimum of a policy.
fn least(expected_per_tb: u64) -> u64 {
    let density = Density { iops: Iops(expected_per_tb), per: Per::Tb };
    AdaptivePolicy::new(density, density).minimum(Units::default()).0
}
