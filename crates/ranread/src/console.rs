//! The original's console output, byte for byte, including its non-breaking spaces, its quotation
//! marks and its double slash.

use crate::batch::Batch;
use crate::grammar::Effort;
use crate::row::ProcessState;
use block::{Span, date};
use std::fmt::Write as _;

/// The non-breaking space in the published text.
const NBSP: char = '\u{a0}';
const TITLE: &str = "InterSystems Random Read IO Performance Tool\n--------------------------------------------\n";

/// What Help prints.
pub fn help() -> String {
    let calls = [
        (
            "Setup(Directory,DatabaseName,SizeGB,LogLevel)",
            "Creates database and namespace with the same name. The log level must be in the range of 0 to 3, where 0 is \
             “none” and 3 is “verbose”.",
        ),
        ("Run(Directory,Processes,Iterations)", "Run the random read IO test."),
        ("Stop()", "Terminates all background jobs."),
        ("Reset()", "Deletes all random read history stored in ^PerfTools.RanRead*"),
        ("Export(directory)", "Exports a summary of all random read test history to tab delimited text file."),
    ];
    calls.iter().fold(format!("{NBSP}\n{TITLE}"), |mut text, (call, about)| {
        let _ = write!(text, "do ##class(PerfTools.RanRead).{call}\n{NBSP} {NBSP} - {about}\n");
        text
    })
}

/// Usage of the program, beyond the original's.
pub fn usage() -> &'static str {
    "
seawall ranread setup DIRECTORY [NAME [SIZE_GB [LOGLEVEL]]] [--array-cache SIZE]
seawall ranread run TARGET[,TARGET…] [PROCESSES [ITERATIONS]] [options]
seawall ranread sweep TARGET[,TARGET…] [--from 1] [--to 200] [options]
seawall ranread export DIRECTORY [--csv] [--xlsx FILE] [--sheet NAME=WORDS]
seawall ranread stop | reset | purge DIRECTORY [NAME]
seawall ranread 'do ##class(PerfTools.RanRead).Run(\"DIRECTORY\",20,10000)'

A TARGET is a directory that setup made, a device, an NBD export or null:SIZE.
of run and sweep:
  --iterations N       requests of each process (10000; 100000 on flash)
  --seconds S          in place of it: as many as it can in S seconds
  --block 8k|64k       size of a request (8k)
  --read-percent P     reads of a hundred requests (100); --write is 0
  --seed N             seed of all chance (1)
  --page-cache         through the host's page cache
  --destroy-data NAME  NAME may be overwritten although setup did not make it
  --even-in-use NAME   this device may be written even while it is in use
  --average-ms MS      limit of the average response time (2)
  --max-ms MS|off      limit of every response time (5)
of sweep:
  --step N|published   processes from point to point (10, 20, 40, 80 …)
  --stop-ms MS         stops where the average is beyond it (10)
  --target-iops N --target-ms MS   asks for N IOPS at an average up to MS (5)
  --precision P        repeats a point until its average is known to P % (2)
  --repeats N          but at most so often (8)
  --page FILE          writes a page with the chart
  --xlsx FILE          writes a workbook with it, as export does of all rows
  --sheet NAME=WORDS   a line of the specification sheet, as array=\"AFF A300\"
In virtual time: seawall simulate ranread --device flash sweep /db …
"
}

/// What setup prints before the database exists; `directory` ends in a slash.
pub fn setup_begins(directory: &str, size_said: &str) -> String {
    format!("{NBSP}\nCreating {size_said} database in {directory}\n")
}

/// The values printed for an installation.
#[derive(Clone, Copy, Debug)]
pub struct Installation<'a> {
    /// Where; ends in a slash.
    pub directory: &'a str,
    /// The database's name.
    pub name: &'a str,
    /// Log level, 0 to 3.
    pub log_level: u32,
    /// When the installation began, in seconds since 1970.
    pub began: u64,
    /// When it ended.
    pub ended: u64,
    /// How long it took.
    pub elapsed: Span,
}

/// What setup prints when the database exists. The log lines are the original's; its namespace and
/// configuration mean nothing here, where a database has only a name.
pub fn setup_ends(installation: &Installation<'_>) -> String {
    let Installation { directory, name, log_level, began, ended, elapsed } = *installation;
    let begun = date_time(began);
    let log = [
        (began, 0, format!("PerfTools.RanRead: Installation starting at {begun}, LogLevel={log_level}")),
        (began, 1, format!("CreateDatabase: Creating database {name} in {directory}/ with resource")),
        (began, 1, format!("CreateNamespace: Creating namespace {name} using {name}/{name}")),
        (began, 1, "ActivateConfiguration: Activating Configuration".into()),
        (ended, 1, format!("EnableEnsemble: Enabling {name}")),
        (ended, 1, "ActivateConfiguration: Activating Configuration".into()),
        (ended, 0, format!("PerfTools.RanRead: Installation succeeded at {}", date_time(ended))),
        (ended, 0, format!("%Installer: Elapsed time {:.6}s", elapsed.as_secs_f64())),
    ];
    let mut text = format!("Database created in {directory}\nRun %Installer Manifest...\n");
    for (when, level, line) in log.iter().filter(|(_, level, _)| *level <= log_level) {
        let _ = writeln!(text, "{} {level} {line}", date_time(*when));
    }
    let _ = write!(
        text,
        "Database {directory} ready for testing.\n\
         do ##class(PerfTools.RanRead).Run(directory,processes,iterations) e.g.\n\
         do ##class(PerfTools.RanRead).Run(\"{directory}\",1,10000)\n"
    );
    text
}

/// What Run prints before it waits; a dot follows for each second.
pub fn run_begins(processes: u32) -> String {
    format!(
        "{NBSP}\n{TITLE}Starting {processes} jobs in the background.\n\
         To terminate jobs run: {NBSP}do ##class(PerfTools.RanRead).Stop()\n\
         Waiting for jobs to finish"
    )
}

/// What Run prints after the dots.
pub fn run_ends(batch: &Batch) -> String {
    let effort = match batch.any().effort {
        Effort::Iterations(_) => format!("{} iterations", batch.iterations()),
        Effort::Seconds(seconds) if batch.state() == ProcessState::Whole => format!("{seconds} seconds"),
        Effort::Seconds(_) => format!("{} seconds", report::text::seconds(batch.elapsed())),
    };
    format!(
        "\nRandom read background jobs finished.\n\
         {} processes ({effort}) average response time = {:.2}ms\n\
         Calculated IOPS = {:.0}\n",
        batch.any().processes,
        batch.response_ms().unwrap_or(0.0),
        batch.console_iops()
    )
}

/// What Export prints before the file exists.
pub fn exporting(path: &str) -> String {
    format!("{NBSP}\nExporting summary of all random read statistics to {path}\n")
}

/// What it prints afterwards.
pub const EXPORT_DONE: &str = "Done.\n";

/// A time such as `2016-05-23 13:33:59`.
fn date_time(unix_s: u64) -> String {
    date(unix_s, "%Y-%m-%d %H:%M:%S")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::batch::tests::batch;
    use crate::export::export_name;

    /// A part of the published console output, without the typed line.
    fn published(part: &str) -> &'static str {
        let text = include_str!("../fixtures/ranread_console.txt");
        let (_, rest) = text.split_once(&format!("# {part}\n")).expect("the part is there");
        let whole = rest.split_once("\n\n# ").map_or(rest, |(part, _)| part);
        let (typed, rest) = whole.split_once('\n').expect("a call and its answer");
        assert!(typed.starts_with("USER> do ##class(PerfTools.RanRead)."), "{typed}");
        rest.trim_end_matches('\n')
    }

    #[test]
    fn help_is_the_published_one() {
        assert_eq!(help().trim_end_matches('\n'), published("help"));
    }

    /// Made on 2016-05-23 at 13:33:59 UTC (1464010439) and ready a second later.
    #[test]
    fn setup_is_the_published_one() {
        let directory = "/usr/iris/db/zranread/";
        let told = Installation {
            directory,
            name: "ZRANREAD",
            log_level: 1,
            began: 1_464_010_439,
            ended: 1_464_010_440,
            elapsed: Span::from_micros(1_066_633),
        };
        let text = setup_begins(directory, "100GB") + &setup_ends(&told);
        assert_eq!(text.trim_end_matches('\n'), published("setup"));
        let quiet = setup_ends(&Installation { log_level: 0, ..told });
        assert_eq!(quiet.lines().filter(|line| line.starts_with("2016")).count(), 3);
    }

    /// 20 processes, 1000 requests each in 7.176 s, waited for 25 s.
    #[test]
    fn run_is_the_published_one() {
        let text = run_begins(20) + &".".repeat(25) + &run_ends(&batch(&[7176; 20]));
        assert_eq!(text.trim_end_matches('\n'), published("run"));
        let sample = include_str!("../fixtures/ranread_sample.csv").lines().nth(1).unwrap();
        assert!(sample.ends_with(",7.18,2787") && text.contains("7.18ms\nCalculated IOPS = 2787\n"));
    }

    /// At 14:08 of the same day.
    #[test]
    fn export_is_the_published_one() {
        let path = format!("/usr/iris/db/zranread/{}", export_name(1_464_012_480));
        assert_eq!((exporting(&path) + EXPORT_DONE).trim_end_matches('\n'), published("export"));
    }
}
