//! The command line of a ramp, in the forms of published ones: one dash, two, or an en dash,
//! `--option value` or `--option=value`, a comment of any number of words, and the classic
//! program's name in front.

mod rate;

use crate::ladder::Ladder;
use crate::settings::{Accounting, Constants, RampSettings, SettingsError, Steps};
use block::{Bytes, Span};

/// An option: its name, the name of its value (none for a switch), its default, and its
/// description.
struct Known {
    name: &'static str,
    value: Option<&'static str>,
    default: &'static str,
    help: &'static str,
}

const fn known(name: &'static str, value: Option<&'static str>, default: &'static str, help: &'static str) -> Known {
    Known { name, value, default, help }
}

/// Every option. The first nine are the published ones.
const OPTIONS: [Known; 32] = [
    known("miniops", Some("IOPS"), "", "Lower end of the ramp, in total IOPS (75000 or 75k)"),
    known("maxiops", Some("IOPS"), "", "Target of the last run, in total IOPS"),
    known("numruns", Some("N"), "10", "How many runs"),
    known("runtime", Some("T"), "30", "Length of a run: minutes, or with a unit (90s, 30m, 1h)"),
    known("wijfile", Some("FILE"), "", "The write image journal: a file, which is made; a device or an NBD export"),
    known("system", Some("NAME"), "the host's name", "Label of this host in the tables"),
    known("comment", Some("WORDS"), "", "Free text; all words up to the next option"),
    known("background", None, "", "Run detached from the terminal; see --status and --stop"),
    known("disable-warmup", None, "", "Do without the load before the first run"),
    known(
        "directory",
        Some("DIR"),
        "the WIJ's folder or the nearest above",
        "A directory filled by seawall dgen; may be given again",
    ),
    known("device", Some("TARGET"), "", "A device or NBD export filled by seawall dgen; may be given again"),
    known("destroy-data", Some("NAME"), "", "This target may be overwritten, whatever it holds; may be given again"),
    known("even-in-use", Some("NAME"), "", "This target may be written even while it is mounted, swapped to or held"),
    known("output", Some("DIR"), "./ramp", "Where summary.csv, cycles.csv and the page go"),
    known("results", Some("FILE"), "", "Keep the ramp in this results database"),
    known("criteria", Some("WHAT"), "2021", "2021, read-percentile, or a file of criteria"),
    known("published-accounting", None, "", "Divide by 20 s more than a run took, as published tables do"),
    known("ramp", Some("KIND"), "above-minimum", "above-minimum: first run a step above --miniops; inclusive: at it"),
    known("cycle", Some("T"), "80s", "Period of the write cycles; the 45 s limit scales with it"),
    known("warmup", Some("T"), "60s", "Length of the load before the first run, at least one cycle"),
    known("read-percent", Some("P"), "75", "Share of reads"),
    known("writers", Some("N"), "8", "Synchronous writers of a cycle's random phase"),
    known("readers", Some("N"), "128", "Reads in flight at most"),
    known("wij-write", Some("SIZE"), "256k", "Size of a write to the journal"),
    known("journal-rate", Some("SIZE"), "0", "Write a transaction journal of so many bytes a second beside the cycles"),
    known("journal-file", Some("FILE"), "beside the WIJ", "Where that goes: a file, a device or an NBD export"),
    known("seed", Some("N"), "1", "Seed of every random choice"),
    known("page-cache", None, "", "Go through the page cache; the figures are then not the storage's"),
    known("quiet", None, "", "No live view"),
    known("status", None, "", "Say how the ramp in the output directory stands, and end"),
    known("stop", None, "", "Ask the ramp in the output directory to end, and end"),
    known("help", None, "", "Print this"),
];

/// Options that may be repeated.
const REPEATED: [&str; 4] = ["directory", "device", "destroy-data", "even-in-use"];

/// A parsed command line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RampInvocation {
    /// The ramp itself; `None` for --status, --stop and --help, which need none.
    pub settings: Option<RampSettings>,
    /// Run detached.
    pub background: bool,
    /// Directories to load; empty to look for them beside the journal.
    pub directories: Vec<String>,
    /// Devices and NBD exports to load.
    pub devices: Vec<String>,
    /// Targets that may be overwritten, whatever they hold.
    pub destroy: Vec<String>,
    /// Targets that may be written even while they are in use.
    pub even_in_use: Vec<String>,
    /// Where the transaction journal goes; `None` for beside the write image journal.
    pub journal_file: Option<String>,
    /// Where outputs go.
    pub output: String,
    /// A results database.
    pub results: Option<String>,
    /// A preset's name or a file.
    pub criteria: String,
    /// Through the page cache.
    pub page_cache: bool,
    /// No live view.
    pub quiet: bool,
    /// Only print the status.
    pub status: bool,
    /// Only ask a running ramp to stop.
    pub stop: bool,
    /// Only print the help.
    pub help: bool,
}

/// What is wrong with a command line.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum GrammarError {
    /// There is a space within an option's name.
    #[error("{typed}: there is no option --{first}; --{meant} is written without the space")]
    Parted {
        /// Both words as typed.
        typed: String,
        /// The first word's option.
        first: String,
        /// The option that they make together.
        meant: &'static str,
    },
    /// There is no such option.
    #[error("{typed}: there is no such option{hint} --help lists all", hint = hint(.near))]
    Unknown {
        /// As typed.
        typed: String,
        /// The option it resembles.
        near: Option<&'static str>,
    },
    /// A word that is not part of any option.
    #[error("{0:?}: stands alone; options begin with --, and only --comment takes several words")]
    Stray(String),
    /// An option without its value.
    #[error("--{option}: needs {value} behind it")]
    NoValue {
        /// The option.
        option: &'static str,
        /// The name of its value.
        value: &'static str,
    },
    /// A switch with a value.
    #[error("--{0}: takes no value")]
    NoSwitch(&'static str),
    /// An option is given twice.
    #[error("--{0}: is given twice; keep one")]
    Twice(&'static str),
    /// A required option is missing.
    #[error("--{0}: is needed; --help shows how it is written")]
    Missing(&'static str),
    /// An invalid value.
    #[error("--{option}: must be {rule}, got {given:?}")]
    Value {
        /// The option.
        option: &'static str,
        /// What it must be.
        rule: &'static str,
        /// What was given.
        given: String,
    },
    /// Values that contradict each other.
    #[error(transparent)]
    Settings(#[from] SettingsError),
}

fn hint(near: &Option<&'static str>) -> String {
    near.map_or(";".to_owned(), |name| format!("; did you mean --{name}?"))
}

/// The help, in 80 columns.
pub fn help() -> String {
    let mut text = String::from(
        "Ramp the load of a database run by run and judge its write cycles\n\nUsage: seawall ramp --miniops IOPS \
         --maxiops IOPS --wijfile FILE [options]\n\nOne dash or two. Exit codes: 0 passed, 1 failed, 2 cannot say or \
         could not.\n\n",
    );
    for Known { name, value, default, help } in &OPTIONS {
        let option = value.map_or(format!("--{name}"), |value| format!("--{name} {value}"));
        let default = if default.is_empty() { String::new() } else { format!(" [{default}]") };
        text += &two_columns(&option, &format!("{help}{default}"));
    }
    text
}

/// An option with its description beside it, wrapped with indentation.
fn two_columns(option: &str, about: &str) -> String {
    const SECOND: usize = 27;
    const WIDTH: usize = 80;
    let mut text = format!("  {option:<24}");
    let mut column = text.chars().count();
    for word in about.split(' ') {
        let columns = word.chars().count();
        if column + 1 + columns > WIDTH {
            text += &format!("\n{:1$}", "", SECOND - 1);
            column = SECOND - 1;
        }
        text += &format!(" {word}");
        column += 1 + columns;
    }
    text + "\n"
}

impl RampInvocation {
    /// Parses the words of a command line; `host` is the default label of this host.
    ///
    /// # Errors
    /// The first error, with a suggestion.
    pub fn parse(words: &[String], host: &str) -> Result<RampInvocation, GrammarError> {
        let given = Given::collect(words)?;
        let [help, status, stop] = ["help", "status", "stop"].map(|name| given.has(name));
        let settings = if help || status || stop { None } else { Some(given.settings(host)?) };
        let text = |name, default: &str| given.one(name).unwrap_or(default).to_owned();
        Ok(RampInvocation {
            settings,
            background: given.has("background"),
            directories: given.all("directory").map(str::to_owned).collect(),
            devices: given.all("device").map(str::to_owned).collect(),
            destroy: given.all("destroy-data").map(str::to_owned).collect(),
            even_in_use: given.all("even-in-use").map(str::to_owned).collect(),
            journal_file: given.one("journal-file").map(str::to_owned),
            output: text("output", "ramp"),
            results: given.one("results").map(str::to_owned),
            criteria: text("criteria", "2021"),
            page_cache: given.has("page-cache"),
            quiet: given.has("quiet"),
            status,
            stop,
            help,
        })
    }
}

/// The options that were given, with their values.
struct Given(Vec<(&'static str, String)>);

impl Given {
    fn collect(words: &[String]) -> Result<Given, GrammarError> {
        let mut given = Given(Vec::new());
        let mut rest = words;
        // A copied command line begins with the classic program's name.
        if let [first, behind @ ..] = rest
            && first.to_ascii_lowercase().ends_with("ramprun.pl")
        {
            rest = behind;
        }
        while let [word, behind @ ..] = rest {
            let Some(typed) = undashed(word) else { return Err(GrammarError::Stray(word.clone())) };
            let (name, attached) = match typed.split_once('=') {
                Some((name, value)) => (name, Some(value.to_owned())),
                None => (typed, None),
            };
            let option = find(name).ok_or_else(|| unknown(word, name, behind))?;
            let taken = match (option.name, attached) {
                ("comment", None) => given.comment(behind),
                (_, attached) => given.plain(option, attached, behind)?,
            };
            rest = &behind[taken..];
        }
        Ok(given)
    }

    /// Takes all words up to the next option; returns how many.
    fn comment(&mut self, behind: &[String]) -> usize {
        let ends = |word: &String| {
            let name = undashed(word).map(|typed| typed.split('=').next().unwrap_or(typed));
            // A single dash is common in free text, so it must be followed by the name of an
            // option.
            name.is_some_and(|name| word.starts_with("--") || word.starts_with('–') || find(name).is_some())
        };
        let taken = behind.iter().position(ends).unwrap_or(behind.len());
        self.0.push(("comment", behind[..taken].join(" ")));
        taken
    }

    /// Takes an option's value, if it has one; returns how many words that were.
    fn plain(
        &mut self,
        option: &'static Known,
        attached: Option<String>,
        behind: &[String],
    ) -> Result<usize, GrammarError> {
        let name = option.name;
        if self.has(name) && !REPEATED.contains(&name) {
            return Err(GrammarError::Twice(name));
        }
        let (value, taken) = match (option.value, attached) {
            (None, None) => (String::new(), 0),
            (None, Some(_)) => return Err(GrammarError::NoSwitch(name)),
            (Some(_), Some(value)) => (value, 0),
            (Some(value), None) => match behind.first() {
                Some(word) if undashed(word).is_none() => (word.clone(), 1),
                _ => return Err(GrammarError::NoValue { option: name, value }),
            },
        };
        self.0.push((name, value));
        Ok(taken)
    }

    fn has(&self, name: &str) -> bool {
        self.0.iter().any(|(given, _)| *given == name)
    }

    fn all(&self, name: &'static str) -> impl Iterator<Item = &str> {
        self.0.iter().filter(move |(given, _)| *given == name).map(|(_, value)| value.as_str())
    }

    fn one(&self, name: &'static str) -> Option<&str> {
        self.all(name).next()
    }

    fn number<N: std::str::FromStr>(&self, option: &'static str) -> Result<Option<N>, GrammarError> {
        let wrong = |given: &str| GrammarError::Value { option, rule: "a whole number", given: given.into() };
        self.one(option).map(|given| given.parse().map_err(|_| wrong(given))).transpose()
    }

    fn rate(&self, option: &'static str) -> Result<Option<u64>, GrammarError> {
        let rule = "a whole number above 0, such as 75000, 75k or 1.5M";
        let wrong = |given: &str| GrammarError::Value { option, rule, given: given.into() };
        self.one(option).map(|given| rate::rate(given).ok_or_else(|| wrong(given))).transpose()
    }

    fn span(&self, option: &'static str, unit_s: u64) -> Result<Option<Span>, GrammarError> {
        let rule = if unit_s == 60 {
            "a time: minutes, or with a unit, such as 90s, 30m or 1h"
        } else {
            "a time: seconds, or with a unit, such as 8s, 2m or 1h"
        };
        let wrong = |given: &str| GrammarError::Value { option, rule, given: given.into() };
        self.one(option).map(|given| span(given, unit_s).ok_or_else(|| wrong(given))).transpose()
    }

    fn settings(&self, host: &str) -> Result<RampSettings, GrammarError> {
        let usual = Constants::default();
        let constants = Constants {
            cycle: self.span("cycle", 1)?.unwrap_or(usual.cycle),
            read_percent: self.number("read-percent")?.unwrap_or(usual.read_percent),
            writers: self.number("writers")?.unwrap_or(usual.writers),
            readers: self.number("readers")?.unwrap_or(usual.readers),
            wij_write: self.size("wij-write")?.unwrap_or(usual.wij_write),
            warmup: self.span("warmup", 1)?.unwrap_or(usual.warmup),
            journal: self.size("journal-rate")?.unwrap_or(usual.journal),
        };
        let ladder = Ladder {
            min: self.rate("miniops")?.ok_or(GrammarError::Missing("miniops"))?,
            max: self.rate("maxiops")?.ok_or(GrammarError::Missing("maxiops"))?,
            runs: self.number("numruns")?.unwrap_or(10),
            steps: self.steps()?,
        };
        let accounting = if self.has("published-accounting") { Accounting::Published } else { Accounting::True };
        let settings = RampSettings {
            ladder,
            runtime: self.span("runtime", 60)?.unwrap_or(Span::from_secs(1800)),
            wij_file: self.one("wijfile").ok_or(GrammarError::Missing("wijfile"))?.to_owned(),
            system: self.one("system").unwrap_or(host).to_owned(),
            comment: self.all("comment").collect::<Vec<_>>().join(" "),
            warm_up: !self.has("disable-warmup"),
            accounting,
            constants,
            seed: self.number("seed")?.unwrap_or(1),
        };
        settings.check().map_err(|error| self.as_typed(error))?;
        Ok(settings)
    }

    /// The error with the value as it was typed, in the user's own unit.
    fn as_typed(&self, error: SettingsError) -> SettingsError {
        match error {
            SettingsError::Range { option, rule, given } => {
                let typed = self.one(option.trim_start_matches('-')).map(str::to_owned);
                SettingsError::Range { option, rule, given: typed.unwrap_or(given) }
            }
            SettingsError::Ends { .. } => error,
        }
    }

    fn steps(&self) -> Result<Steps, GrammarError> {
        match self.one("ramp") {
            None | Some("above-minimum") => Ok(Steps::AboveMinimum),
            Some("inclusive") => Ok(Steps::Inclusive),
            Some(given) => {
                let rule = "above-minimum or inclusive";
                Err(GrammarError::Value { option: "ramp", rule, given: given.into() })
            }
        }
    }

    fn size(&self, option: &'static str) -> Result<Option<Bytes>, GrammarError> {
        let wrong = |given: &str| GrammarError::Value { option, rule: "a size, such as 256k", given: given.into() };
        self.one(option).map(|given| given.parse().map_err(|_| wrong(given))).transpose()
    }
}

/// Characters that begin an option: word processors insert en and em dashes.
pub const DASHES: [char; 3] = ['-', '–', '—'];

/// The word without its dashes: `--x`, `-x`, or with an en or em dash from a word processor. `None`
/// for a word that is not an option: a negative number is a value.
fn undashed(word: &str) -> Option<&str> {
    let bare = word.strip_prefix("--").or(word.strip_prefix(DASHES))?;
    let bare = bare.strip_prefix(['-', '–']).unwrap_or(bare);
    bare.starts_with(|c: char| c.is_ascii_alphabetic()).then_some(bare)
}

fn find(name: &str) -> Option<&'static Known> {
    OPTIONS.iter().find(|option| option.name == name)
}

/// The error for an unknown option `typed`: the next word may belong to its name, or it resembles
/// another one.
fn unknown(typed: &str, name: &str, behind: &[String]) -> GrammarError {
    let next = behind.first().map(|word| word.trim_start_matches(DASHES));
    let joined = next.and_then(|next| find(&format!("{name}-{next}")).or_else(|| find(&format!("{name}{next}"))));
    match (joined, behind.first()) {
        (Some(option), Some(word)) => {
            GrammarError::Parted { typed: format!("{typed} {word}"), first: name.into(), meant: option.name }
        }
        _ => {
            let near = nearest::to(name, OPTIONS.iter().map(|option| option.name));
            GrammarError::Unknown { typed: typed.into(), near }
        }
    }
}

/// A time: a whole number in units of `unit_s` seconds, or with its own unit.
fn span(given: &str, unit_s: u64) -> Option<Span> {
    let digits = given.len() - given.trim_start_matches(|c: char| c.is_ascii_digit()).len();
    let (number, unit) = given.split_at(digits);
    let unit_ns: u64 = match unit {
        "" => unit_s * 1_000_000_000,
        "ms" => 1_000_000,
        "s" => 1_000_000_000,
        "m" | "min" => 60_000_000_000,
        "h" => 3_600_000_000_000,
        _ => return None,
    };
    Some(Span::from_nanos(number.parse::<u64>().ok()?.checked_mul(unit_ns)?))
}

#[cfg(test)]
mod tests;
