//! `seawall simulate`: a plan, or the load of a classic tool, in virtual time.

use super::{fio, oltp, orion, ramp, ranread};
use crate::memory::Memory;
use crate::play::{self, Options};
use crate::{Answer, catalogue};
use anyhow::{Result, bail};
use block::Bytes;
use std::path::PathBuf;

/// Run a plan, or the load of a classic tool, in virtual time on a simulated device
///
/// The same workloads, commands and QoS gate as in `seawall run`, on the device that the plan's
/// table `device` describes. The same plan gives the same result, to the last digit, in seconds.
/// `seawall simulate fio` does so with fio's command lines and job files, `seawall simulate ramp`
/// with a database's write cycles, `seawall simulate ranread` with its random reads, `seawall
/// simulate orion` with a calibration, `seawall simulate oltp` with order entry.
#[derive(clap::Args)]
#[command(args_conflicts_with_subcommands = true, subcommand_negates_reqs = true)]
pub struct Simulate {
    /// The plan file
    #[arg(required = true)]
    plan: Option<PathBuf>,
    /// An array of `seawall arrays list`, or one that a file describes, instead of the plan's
    /// device
    #[arg(long, value_name = "NAME|FILE")]
    array: Option<String>,
    /// Seed of all random choices [default: the plan's]
    #[arg(long, value_name = "NUMBER")]
    seed: Option<u64>,
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
    Oltp(Orders),
}

/// fio's command line or job files in virtual time
///
/// Every file, device or export that a job names is a range of one simulated device. What needs
/// data (verify) or other programs (exec_prerun) is refused; everything else, including the
/// outputs, is as with `seawall fio`.
#[derive(clap::Args)]
struct Jobs {
    /// The device: one of cloud-volume, disk, flash, host with its usual figures, an array of
    /// `seawall arrays list`, or a TOML file with a table `device` as plans have it, such as a plan
    #[arg(long, visible_alias = "array", value_name = "KIND|NAME|FILE", default_value = "flash")]
    device: String,
    /// fio's options and job files
    #[arg(value_name = "OPTION|JOBFILE", trailing_var_arg = true, allow_hyphen_values = true, required = true)]
    arguments: Vec<String>,
}

/// Random reads of a database in virtual time
///
/// Takes run and sweep as `seawall ranread` does; each target that is named is a file of 100 GiB on
/// one simulated device. Its runs are kept in the results database, but not among the rows of
/// RanRead, which are for real storage.
#[derive(clap::Args)]
struct Reads {
    /// The device: one of cloud-volume, disk, flash, host with its usual figures, an array of
    /// `seawall arrays list`, or a TOML file with a table `device` as plans have it, such as a plan
    #[arg(long, visible_alias = "array", value_name = "KIND|NAME|FILE", default_value = "flash")]
    device: String,
    /// Arguments of seawall ranread
    #[arg(value_name = "WORD", trailing_var_arg = true, allow_hyphen_values = true, required = true)]
    words: Vec<String>,
}

/// A calibration in virtual time
///
/// Takes the options of `seawall orion`. No list of volumes is read: there are -num_disks volumes
/// (default 1) of 100 GiB on one simulated device, which is in its initial state at every point.
#[derive(clap::Args)]
struct Calibration {
    /// The device: one of cloud-volume, disk, flash, host with its usual figures, an array of
    /// `seawall arrays list`, or a TOML file with a table `device` as plans have it, such as a plan
    #[arg(long, visible_alias = "array", value_name = "KIND|NAME|FILE", default_value = "flash")]
    device: String,
    /// Options of seawall orion
    #[arg(value_name = "OPTION", trailing_var_arg = true, allow_hyphen_values = true, required = true)]
    words: Vec<String>,
}

/// Order entry in virtual time
///
/// Takes the options of `seawall oltp run --array`: users with the pages and commits of their
/// transactions, without a database.
#[derive(clap::Args)]
struct Orders {
    /// The device: one of cloud-volume, disk, flash, host with its usual figures, an array of
    /// `seawall arrays list`, or a TOML file with a table `device` as plans have it, such as a plan
    #[arg(long, visible_alias = "array", value_name = "KIND|NAME|FILE", default_value = "flash")]
    device: String,
    /// Options of seawall oltp run
    #[arg(value_name = "OPTION", trailing_var_arg = true, allow_hyphen_values = true)]
    words: Vec<String>,
}

/// A ramp's command line in virtual time
///
/// Data and journals are on one simulated device, whatever directories and devices are named; rows,
/// tables, page and verdict are as with `seawall ramp`.
#[derive(clap::Args)]
struct Ramp {
    /// The device: one of cloud-volume, disk, flash, host with its usual figures, an array of
    /// `seawall arrays list`, or a TOML file with a table `device` as plans have it, such as a plan
    #[arg(long, visible_alias = "array", value_name = "KIND|NAME|FILE", default_value = "flash")]
    device: String,
    /// Size of the database's data
    #[arg(long, value_name = "SIZE", default_value = "100GiB", value_parser = play::size)]
    data: Bytes,
    /// The ramp's options: at least --miniops, --maxiops and --wijfile, which takes any name here
    #[arg(value_name = "OPTION", trailing_var_arg = true, allow_hyphen_values = true, required = true)]
    words: Vec<String>,
}

impl Simulate {
    pub fn run(self, memory: &Memory) -> Result<Answer> {
        match (self.tool, self.plan) {
            (Some(Tool::Fio(Jobs { device, arguments })), _) => {
                fio::simulate(&arguments, &catalogue::device("--device", &device)?, memory)
            }
            (Some(Tool::Ramp(Ramp { device, data, words })), _) => {
                ramp::simulate(&words, &catalogue::device("--device", &device)?, data, memory)
            }
            (Some(Tool::Ranread(Reads { device, words })), _) => {
                ranread::simulate(&words, &catalogue::device("--device", &device)?, memory)
            }
            (Some(Tool::Orion(Calibration { device, words })), _) => {
                orion::simulate(&words, &catalogue::device("--device", &device)?, memory)
            }
            (Some(Tool::Oltp(Orders { device, words })), _) => {
                let run = ["run", "--array", &device].map(str::to_owned);
                oltp::load(&[run.to_vec(), words].concat(), memory)
            }
            (None, Some(plan)) => {
                let text = play::text_of(&plan)?;
                let array = self.array.map(|array| catalogue::device("--array", &array)).transpose()?;
                let mut options = self.options.kept_by("simulate", memory);
                (options.device, options.seed) = (array, self.seed);
                play::simulated(&text, &plan.display().to_string(), &options)
            }
            (None, None) => bail!("PLAN: name a plan file, or a tool: seawall simulate fio …, seawall simulate ramp …"),
        }
    }
}
