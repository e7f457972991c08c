//! `seawall simulate`: a plan, or what a classic tool does, in virtual time.

use super::{fio, orion, ramp, ranread};
use crate::Answer;
use crate::memory::Memory;
use crate::play::{self, Options};
use anyhow::{Context as _, Result, anyhow, bail};
use block::Bytes;
use std::path::{Path, PathBuf};
use workload::plan::Device;

/// Run a plan, or what a classic tool does, in virtual time over a simulated device
///
/// The same workloads, commands and QoS gate as in `seawall run`, over the device that the plan's table `device`
/// describes. The same plan gives the same result, to the last digit, in seconds. `seawall simulate fio` does so with
/// fio's command lines and job files, `seawall simulate ramp` with a database's write cycles, `seawall simulate ranread`
/// with its random reads, `seawall simulate orion` with a calibration.
#[derive(clap::Args)]
#[command(args_conflicts_with_subcommands = true, subcommand_negates_reqs = true)]
pub struct Simulate {
    /// The plan file
    #[arg(required = true)]
    plan: Option<PathBuf>,
    #[command(flatten)]
    options: Options,
    #[command(subcommand)]
    tool: Option<Tool>,
}

#[derive(clap::Subcommand)]
enum Tool {
    Fio(Jobs),
    Ramp(Ramp),
    Ranread(Reads),
    Orion(Calibration),
}

/// fio's command line or job files in virtual time
///
/// Every file, device or export that a job names is a range of one simulated device. What needs data (verify) or other
/// programs (exec_prerun) is refused; all else, and the outputs, are as with `seawall fio`.
#[derive(clap::Args)]
struct Jobs {
    /// The device: one of cloud-volume, disk, flash, host with its usual figures, or a TOML file with a table `device`
    /// as plans have it, such as a plan
    #[arg(long, value_name = "KIND|FILE", default_value = "flash")]
    device: String,
    /// fio's options and job files
    #[arg(value_name = "OPTION|JOBFILE", trailing_var_arg = true, allow_hyphen_values = true, required = true)]
    arguments: Vec<String>,
}

/// Random reads of a database in virtual time
///
/// Takes run and sweep as `seawall ranread` does; each target that is named is a file of 100 GiB on one simulated device. Its
/// runs are kept in the results database, and not among the rows of RanRead, which are of storage.
#[derive(clap::Args)]
struct Reads {
    /// The device: one of cloud-volume, disk, flash, host with its usual figures, or a TOML file with a table `device`
    /// as plans have it, such as a plan
    #[arg(long, value_name = "KIND|FILE", default_value = "flash")]
    device: String,
    /// What seawall ranread takes
    #[arg(value_name = "WORD", trailing_var_arg = true, allow_hyphen_values = true, required = true)]
    words: Vec<String>,
}

/// A calibration in virtual time
///
/// Takes what `seawall orion` takes. No list of volumes is read: as many of 100 GiB as -num_disks says (1) lie on
/// one simulated device, which every point finds as it was made.
#[derive(clap::Args)]
struct Calibration {
    /// The device: one of cloud-volume, disk, flash, host with its usual figures, or a TOML file with a table `device`
    /// as plans have it, such as a plan
    #[arg(long, value_name = "KIND|FILE", default_value = "flash")]
    device: String,
    /// What seawall orion takes
    #[arg(value_name = "OPTION", trailing_var_arg = true, allow_hyphen_values = true, required = true)]
    words: Vec<String>,
}

/// A ramp's command line in virtual time
///
/// Data and journals lie on one simulated device, whatever directories and devices the line names; rows, tables, page and
/// verdict are as with `seawall ramp`.
#[derive(clap::Args)]
struct Ramp {
    /// The device: one of cloud-volume, disk, flash, host with its usual figures, or a TOML file with a table `device`
    /// as plans have it, such as a plan
    #[arg(long, value_name = "KIND|FILE", default_value = "flash")]
    device: String,
    /// How much data the database has
    #[arg(long, value_name = "SIZE", default_value = "100GiB", value_parser = play::size)]
    data: Bytes,
    /// The ramp's options
    #[arg(value_name = "OPTION", trailing_var_arg = true, allow_hyphen_values = true, required = true)]
    words: Vec<String>,
}

impl Simulate {
    pub fn run(self, memory: &Memory) -> Result<Answer> {
        match (self.tool, self.plan) {
            (Some(Tool::Fio(Jobs { device, arguments })), _) => fio::simulate(&arguments, &named(&device)?, memory),
            (Some(Tool::Ramp(Ramp { device, data, words })), _) => {
                ramp::simulate(&words, &named(&device)?, data, memory)
            }
            (Some(Tool::Ranread(Reads { device, words })), _) => ranread::simulate(&words, &named(&device)?, memory),
            (Some(Tool::Orion(Calibration { device, words })), _) => orion::simulate(&words, &named(&device)?, memory),
            (None, Some(plan)) => {
                let text = read("PLAN", &plan)?;
                play::simulated(&text, &plan.display().to_string(), &self.options.kept_by("simulate", memory))
            }
            (None, None) => bail!("PLAN: name a plan file, or a tool: seawall simulate fio …, seawall simulate ramp …"),
        }
    }
}

fn read(what: &str, path: &Path) -> Result<String> {
    std::fs::read_to_string(path).with_context(|| format!("{what} {}: cannot be read", path.display()))
}

/// The device of that kind, or the one that a file describes.
fn named(word: &str) -> Result<Device> {
    let kind = Device::kinds().any(|kind| kind == word);
    let path = Path::new(word);
    if !kind && !path.is_file() {
        let kinds = Device::kinds().collect::<Vec<_>>().join(", ");
        bail!("--device: must be one of {kinds}, or a file with a table [device], got {word:?}");
    }
    let (text, file) = match kind {
        true => (format!("[device]\nkind = \"{word}\"\n"), "--device"),
        false => (read("--device", path)?, word),
    };
    Device::read(&text, file).map_err(|errors| anyhow!("{errors}"))
}
