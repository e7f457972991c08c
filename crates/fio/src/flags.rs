//! Options of the whole run, which belong to no job: outputs, status line, sections, limits. Some
//! are fio's and some are seawall's.

use crate::dialect::Dialect;
use crate::duration::{self, Bare};
use crate::error::Problem;
use block::Span;

/// The options of the whole run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Flags {
    /// The action.
    pub action: Action,
    /// `--output`: a file instead of the standard output.
    pub output: Option<String>,
    /// `--output-format`, `--minimal`: the outputs, in the order in which fio writes them.
    pub formats: Vec<Format>,
    /// `--terse-version`.
    pub terse_version: u32,
    /// `--eta`.
    pub eta: Eta,
    /// `--eta-interval`.
    pub eta_interval: Span,
    /// `--eta-newline`: how often the status goes to a new line.
    pub eta_newline: Option<Span>,
    /// `--status-interval`: how often all outputs are written, counted from the start of the run.
    pub status_interval: Option<Span>,
    /// `--bandwidth-log`.
    pub bandwidth_log: bool,
    /// `--readonly`: jobs that write are refused.
    pub readonly: bool,
    /// `--section`: only these sections of job files.
    pub sections: Vec<String>,
    /// `--max-jobs`.
    pub max_jobs: u32,
    /// `--aux-path`: the folder for the states of verified runs.
    pub aux_path: Option<String>,
    /// `--strict-fio`: behaves like fio even where that is surprising.
    pub strict_fio: bool,
    /// `--destroy-data`: names, patterns and folders that may be overwritten whatever they hold.
    pub destroy_data: Vec<String>,
    /// `--even-in-use`: devices that may be written while they are in use.
    pub even_in_use: Vec<String>,
    /// Notes for the user on flags that have no effect here.
    pub notes: Vec<String>,
}

/// The action of a call.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Action {
    /// Run the jobs.
    #[default]
    Run,
    /// `--parse-only`.
    ParseOnly,
    /// `--showcmd`.
    ShowCommand,
    /// `--version`.
    Version,
    /// `--help`.
    Help,
    /// `--cmdhelp`: for one option, or for all.
    CommandHelp(Option<String>),
    /// `--enghelp`: for one engine, or for all.
    EngineHelp(Option<String>),
}

/// An output format, in the order in which fio writes them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Format {
    /// Fields separated by semicolons.
    Terse,
    /// JSON.
    Json,
    /// JSON with all bins of the histograms.
    JsonPlus,
    /// Text for people.
    Normal,
}

impl Format {
    /// Whether it is JSON.
    pub fn is_json(self) -> bool {
        matches!(self, Format::Json | Format::JsonPlus)
    }
}

/// When the status line is shown.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Eta {
    /// On a terminal.
    #[default]
    Auto,
    /// Always.
    Always,
    /// Never.
    Never,
}

impl Default for Flags {
    fn default() -> Flags {
        Flags {
            action: Action::Run,
            output: None,
            formats: vec![Format::Normal],
            terse_version: 3,
            eta: Eta::Auto,
            eta_interval: Span::SECOND,
            eta_newline: None,
            status_interval: None,
            bandwidth_log: false,
            readonly: false,
            sections: Vec::new(),
            max_jobs: MAX_JOBS_LEAST,
            aux_path: None,
            strict_fio: false,
            destroy_data: Vec::new(),
            even_in_use: Vec::new(),
            notes: Vec::new(),
        }
    }
}

/// An option of the run.
#[derive(Clone, Copy, Debug)]
pub struct Flag {
    /// Its name.
    pub name: &'static str,
    /// An example value. `None` if it takes no value, empty if the value is optional.
    pub example: Option<&'static str>,
    /// Its meaning.
    pub about: &'static str,
    set: fn(&mut Flags, &str) -> Result<(), String>,
}

const fn flag(
    name: &'static str,
    example: Option<&'static str>,
    about: &'static str,
    set: fn(&mut Flags, &str) -> Result<(), String>,
) -> Flag {
    Flag { name, example, about, set }
}

/// All flags.
pub const FLAGS: &[Flag] = &[
    flag("output", Some("FILE"), "writes the outputs to a file", |f, v| {
        f.output = Some(v.to_owned());
        Ok(())
    }),
    flag("output-format", Some("normal"), "normal, json, json+, terse, or several with commas", |f, v| {
        f.formats = v.split(',').map(format).collect::<Result<_, _>>()?;
        f.tidy_formats();
        Ok(())
    }),
    flag("minimal", None, "the same as --output-format=terse", |f, _| {
        f.formats = vec![Format::Terse];
        Ok(())
    }),
    flag("append-terse", None, "terse in addition to the other outputs", |f, _| {
        f.formats.push(Format::Terse);
        f.tidy_formats();
        Ok(())
    }),
    flag("terse-version", Some("3"), "version of the terse output; only 3 is there", |f, v| match v {
        "3" => {
            f.terse_version = 3;
            Ok(())
        }
        _ => Err("only version 3 is there, fio's default".into()),
    }),
    flag("eta", Some("auto"), "when the status line is shown: always, never, auto", |f, v| {
        f.eta = match v {
            "always" => Eta::Always,
            "never" => Eta::Never,
            "auto" => Eta::Auto,
            _ => return Err("must be one of always, never, auto".into()),
        };
        Ok(())
    }),
    flag("eta-newline", Some("10s"), "how often the status goes to a new line; a bare number is seconds", |f, v| {
        f.eta_newline = Some(seconds(f, v)?).filter(|span| *span > Span::ZERO);
        Ok(())
    }),
    flag("eta-interval", Some("1000"), "how often the status changes; a bare number is milliseconds", |f, v| {
        let interval = duration::span(v, Bare::Millis, f.dialect())?;
        f.eta_interval = interval;
        if interval < Span::from_millis(250) { Err("must be at least 250 ms".into()) } else { Ok(()) }
    }),
    flag(
        "status-interval",
        Some("10s"),
        "how often an interim report is made; JSON has all of them in one document",
        |f, v| {
            f.status_interval = Some(seconds(f, v)?).filter(|span| *span > Span::ZERO);
            if f.status_interval.is_some() { Ok(()) } else { Err("must be above 0".into()) }
        },
    ),
    flag("bandwidth-log", None, "logs of the total bandwidth of all jobs: agg-read_bw.log and others", |f, _| {
        f.bandwidth_log = true;
        Ok(())
    }),
    flag("readonly", None, "refuses jobs that write", |f, _| {
        f.readonly = true;
        Ok(())
    }),
    flag("section", Some("NAME"), "only this section of the job files; may be repeated", |f, v| {
        f.sections.push(v.to_owned());
        Ok(())
    }),
    flag("max-jobs", Some("4096"), "maximum number of jobs with their clones; at least 4096", |f, v| {
        let jobs: u32 = v.parse().ok().filter(|jobs| (1..=MAX_JOBS).contains(jobs)).ok_or_else(max_jobs_rule)?;
        // A smaller value is accepted and has no effect, as in fio.
        f.max_jobs = jobs.max(MAX_JOBS_LEAST);
        Ok(())
    }),
    flag("aux-path", Some("FOLDER"), "where the states of verified runs are kept", |f, v| {
        f.aux_path = Some(v.to_owned());
        Ok(())
    }),
    flag("showcmd", None, "prints the jobs as a command line and ends", |f, _| {
        f.action = Action::ShowCommand;
        Ok(())
    }),
    flag("parse-only", None, "checks everything and ends", |f, _| {
        f.action = Action::ParseOnly;
        Ok(())
    }),
    flag("version", None, "prints the version", |f, _| {
        f.action = Action::Version;
        Ok(())
    }),
    flag("help", None, "prints a summary", |f, _| {
        f.action = Action::Help;
        Ok(())
    }),
    flag("cmdhelp", Some(""), "describes one option, or all", |f, v| {
        f.action = Action::CommandHelp(Some(v).filter(|v| !v.is_empty() && *v != "all").map(str::to_owned));
        Ok(())
    }),
    flag("enghelp", Some(""), "describes one engine, or all", |f, v| {
        f.action = Action::EngineHelp(Some(v).filter(|v| !v.is_empty()).map(str::to_owned));
        Ok(())
    }),
    flag("warnings-fatal", None, "fio's warnings become errors; here they always are", |_, _| Ok(())),
    flag("alloc-size", Some("16384"), "fio's shared memory; there is none here", |f, _| {
        f.notes.push("--alloc-size has no effect: there is no shared memory to size".into());
        Ok(())
    }),
    flag("strict-fio", None, "behaves like fio even where that is surprising: 1.5M is 1 byte", |f, _| {
        f.strict_fio = true;
        Ok(())
    }),
    flag(
        "destroy-data",
        Some("NAME"),
        "this may be overwritten, whatever it holds: a file, device or export, a pattern, a folder of files, a job's name",
        |f, v| {
            f.destroy_data.push(v.to_owned());
            Ok(())
        },
    ),
    flag(
        "even-in-use",
        Some("NAME"),
        "this device may be written even while it is mounted, swapped to or held",
        |f, v| {
            f.even_in_use.push(v.to_owned());
            Ok(())
        },
    ),
];

/// The flags that fio has and seawall lacks, each with its replacement.
pub const MISSING: &[(&str, &str)] = &[
    ("debug", "set the log level of seawall instead"),
    ("latency-log", "the nearest is write_lat_log"),
    ("merge-blktrace-only", "there is no nearest one"),
    ("cpuclock-test", "there is no nearest one"),
    ("crctest", "there is no nearest one"),
    ("idle-prof", "processor time is in every report"),
    ("inflate-log", "logs are never compressed"),
    ("server", "the nearest is to run seawall on each host"),
    ("daemonize", "start seawall under your service manager"),
    ("client", "the nearest is to run seawall on each host"),
    ("remote-config", "the nearest is to run seawall on each host"),
    ("trigger-file", "there is no nearest one"),
    ("trigger-timeout", "the nearest is runtime"),
    ("trigger", "there is no nearest one"),
    ("trigger-remote", "there is no nearest one"),
];

/// How many jobs are allowed whatever `--max-jobs` is; the same limit as in fio.
const MAX_JOBS_LEAST: u32 = 4096;

/// Maximum of `--max-jobs`, since each job is a thread.
const MAX_JOBS: u32 = 65_536;

fn max_jobs_rule() -> String {
    format!("must be between 1 and {MAX_JOBS}")
}

impl Flag {
    /// The flag with this name.
    pub fn find(name: &str) -> Option<&'static Flag> {
        FLAGS.iter().find(|flag| flag.name == name)
    }

    /// Stores the value in `flags`.
    pub(crate) fn take(&self, flags: &mut Flags, value: &str) -> Result<(), Problem> {
        (self.set)(flags, value).map_err(|rule| Problem::Value {
            option: format!("--{}", self.name),
            value: value.to_owned(),
            rule: rule.into(),
        })
    }
}

impl Flags {
    /// How numbers are read unless a job says otherwise.
    pub fn dialect(&self) -> Dialect {
        Dialect { strict_fio: self.strict_fio, ..Dialect::default() }
    }

    /// In fio's order, each once. json+ includes all that json has.
    fn tidy_formats(&mut self) {
        self.formats.sort_unstable();
        self.formats.dedup();
        if self.formats.contains(&Format::JsonPlus) {
            self.formats.retain(|format| *format != Format::Json);
        }
    }
}

fn seconds(flags: &Flags, value: &str) -> Result<Span, String> {
    duration::span(value, Bare::Seconds, flags.dialect())
}

fn format(word: &str) -> Result<Format, String> {
    match word.trim() {
        "normal" => Ok(Format::Normal),
        "json" => Ok(Format::Json),
        "json+" => Ok(Format::JsonPlus),
        "terse" | "minimal" => Ok(Format::Terse),
        _ => Err("must be one of normal, json, json+, terse, or several with commas".into()),
    }
}
