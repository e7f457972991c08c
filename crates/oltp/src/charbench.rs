//! charbench's options as ours, and its line for each second.

mod options;

use crate::ledger::{Ledger, Second};
use crate::transaction::Transaction;
use options::OPTIONS;
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use std::collections::BTreeMap;

/// What is wrong with a command line.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum CharbenchError {
    /// There is no such option.
    #[error("{typed}: there is no such option; {hint}", hint = near.map_or("-h lists all".into(), |near| format!("did you mean {near}?")))]
    Option {
        /// As typed.
        typed: String,
        /// The nearest option.
        near: Option<&'static str>,
    },
    /// An option has no value.
    #[error("{0}: needs a value behind it")]
    Missing(String),
    /// A value is not a time, or too long.
    #[error("{option}: must be hh:mm or hh:mm.ss, at most {most}:00, got {given:?}")]
    Time {
        /// Which option.
        option: &'static str,
        /// The limit in hours.
        most: u64,
        /// As typed.
        given: String,
    },
    /// The window is empty.
    #[error("{option}: must be later than the start of the measured window, got {given:?}")]
    Window {
        /// The option that ends it.
        option: &'static str,
        /// As typed.
        given: String,
    },
    /// A think time is no number, or too long.
    #[error("{option}: must be milliseconds up to {THINK_MOST_MS}, got {given:?}")]
    Think {
        /// Which option.
        option: &'static str,
        /// As typed.
        given: String,
    },
    /// The least think time is more than the most.
    #[error("{least}: must not be more than {most}, got {given} ms")]
    ThinkOrder {
        /// The option of the least.
        least: &'static str,
        /// The option of the most, with its value.
        most: String,
        /// As typed.
        given: i64,
    },
    /// A password that others could read.
    #[error(
        "-p: a password on the command line can be read by everybody on this host; put it into the database's own file"
    )]
    Password,
    /// A user for a database that has none.
    #[error("-u: only a server's connect string has a user, as in -cs postgres://{0}@localhost/shop; leave -u out")]
    NoServer(String),
    /// Two different users.
    #[error("-u: the connect string names another user, {named:?}, got {given:?}; leave one of them out")]
    User {
        /// The one in the connect string.
        named: String,
        /// As typed.
        given: String,
    },
    /// A configuration file.
    #[error(
        "-c: a configuration is not read here; give what it says by options, as -cs, -uc, -rt, -min and -max, and weights \
         by --weights"
    )]
    Configuration,
    /// There is no such column.
    #[error("must be columns of users, tpm, tps, errs, resp, vresp and trans, got {0:?}")]
    Column(String),
}

/// The results file of the original where `-r` names none.
const RESULTS_FILE: &str = "results.xml";

/// The longest think time, in milliseconds.
pub const THINK_MOST_MS: i64 = 3_600_000;
/// The longest runtime and the latest start of the measured window, in hours.
const RUNTIME_MOST: u64 = 168;
const START_MOST: u64 = 24;

/// What a command line of charbench means.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Charbench {
    /// Words of `seawall oltp`, and which of their options stand for which of charbench's.
    Words(Vec<String>, Vec<StandsFor>),
    /// Print this help.
    Help(String),
}

/// An option of `seawall oltp run` that stands for one of charbench's.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StandsFor {
    /// Ours.
    pub ours: &'static str,
    /// charbench's.
    pub theirs: &'static str,
}

/// The same command line as words of `seawall oltp run`.
///
/// # Errors
/// An option is unknown, or its value is invalid.
pub fn unfold(typed: &[String]) -> Result<Charbench, CharbenchError> {
    let mut out = vec!["run".to_owned()];
    let (mut value, mut names) = (BTreeMap::new(), Vec::new());
    let mut writes_results = true;
    let mut words = typed.iter();
    while let Some(word) = words.next() {
        if matches!(word.as_str(), "-h" | "--help") {
            return Ok(Charbench::Help(options::help()));
        }
        let Some(option) = options::find(word) else {
            // An option of `seawall oltp run`, or its value.
            if word.starts_with("--") || !word.starts_with('-') {
                out.push(word.clone());
                continue;
            }
            let names = || OPTIONS.iter().map(|option| option.name);
            return Err(CharbenchError::Option { typed: word.clone(), near: nearest::to(word, names()) });
        };
        if option.value.is_none() {
            writes_results &= !matches!(option.name, "-nr" | "-sr");
            continue;
        }
        let given = words.next().ok_or_else(|| CharbenchError::Missing(word.clone()))?;
        match (option.ours, option.name) {
            (Some(ours), theirs) => {
                out.extend([ours.to_owned(), given.clone()]);
                names.push(StandsFor { ours, theirs });
            }
            (None, "-p") => return Err(CharbenchError::Password),
            (None, "-c") => return Err(CharbenchError::Configuration),
            (None, name) => drop(value.insert(name, given.as_str())),
        }
    }
    out.extend(window(&value)?);
    out.extend(think_times(&value)?);
    if let Some(user) = value.get("-u") {
        let database = out.iter().position(|word| word == "--database").and_then(|at| out.get_mut(at + 1));
        let database = database.ok_or_else(|| CharbenchError::NoServer((*user).to_owned()))?;
        *database = with_user(database, user)?;
    }
    let mut preset = |ours: &'static str, theirs: &'static str, value: &str| {
        if !out.iter().any(|word| word.split('=').next() == Some(ours)) {
            out.extend([ours, value].map(str::to_owned));
            names.push(StandsFor { ours, theirs });
        }
    };
    preset("--columns", "-v", "users,tpm,tps,errs,vresp");
    if writes_results {
        preset("--xml", "-r", RESULTS_FILE);
    }
    Ok(Charbench::Words(out, names))
}

/// The measured window. As in the original, there is no warm-up before it unless `-bs` says so.
fn window(value: &BTreeMap<&str, &str>) -> Result<Vec<String>, CharbenchError> {
    let time = |option: &'static str, most| {
        let time = |given: &&str| Ok((option, seconds(option, given, most)?, (*given).to_owned()));
        value.get(option).map(time).transpose()
    };
    let begin = time("-bs", START_MOST)?.map_or(0, |(_, begin, _)| begin);
    let end = time("-be", RUNTIME_MOST)?.or(time("-rt", RUNTIME_MOST)?);
    let mut words = Vec::new();
    if let Some((option, end, given)) = end {
        let window = end.checked_sub(begin).filter(|window| *window > 0);
        let window = window.ok_or(CharbenchError::Window { option, given })?;
        words.extend(["--time".into(), window.to_string()]);
    }
    words.extend(["--warm-up".into(), begin.to_string()]);
    Ok(words)
}

fn think_times(value: &BTreeMap<&str, &str>) -> Result<Vec<String>, CharbenchError> {
    let of = |option: &'static str| {
        let Some(given) = value.get(option) else { return Ok(0) };
        let number = given.parse().ok().filter(|ms| (0..=THINK_MOST_MS).contains(ms));
        number.ok_or_else(|| CharbenchError::Think { option, given: (*given).to_owned() })
    };
    let mut words = Vec::new();
    for (least, most, ours) in [("-min", "-max", "--think"), ("-intermin", "-intermax", "--think-between")] {
        let (from, to): (i64, i64) = (of(least)?, of(most)?);
        if from > to {
            return Err(CharbenchError::ThinkOrder { least, most: format!("{most} ({to})"), given: from });
        }
        if value.contains_key(least) || value.contains_key(most) {
            words.extend([ours.into(), format!("{from}-{to}")]);
        }
    }
    Ok(words)
}

/// A connect string with that user, who may be in it already.
fn with_user(database: &str, user: &str) -> Result<String, CharbenchError> {
    let (scheme, rest) = database.split_once("://").ok_or_else(|| CharbenchError::NoServer(user.into()))?;
    let coded = percent_coded(user);
    let parameters = rest.split_once('?').map_or("", |(_, parameters)| parameters);
    let authority = rest.split(['/', '?']).next().unwrap_or_default();
    let before = authority.rsplit_once('@').map(|(user, _)| user).filter(|user| !user.is_empty());
    let named = before.or_else(|| parameters.split('&').find_map(|parameter| parameter.strip_prefix("user=")));
    match named {
        Some(named) if named == user || named == coded => Ok(database.into()),
        // After a colon follows a password, which must not be printed.
        Some(named) => {
            let named = named.split(':').next().unwrap_or_default().into();
            Err(CharbenchError::User { named, given: user.into() })
        }
        None => Ok(format!("{scheme}://{coded}@{}", rest.trim_start_matches('@'))),
    }
}

/// What is encoded in the user's name of a URL: everything but letters, digits and these four.
const RESERVED: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'.').remove(b'_').remove(b'~');

/// Encodes a name for a URL.
fn percent_coded(name: &str) -> String {
    utf8_percent_encode(name, RESERVED).to_string()
}

/// A time as seconds, at most so many hours.
fn seconds(option: &'static str, given: &str, most: u64) -> Result<u64, CharbenchError> {
    let wrong = || CharbenchError::Time { option, most, given: given.into() };
    let (hours, rest) = given.split_once(':').ok_or_else(wrong)?;
    let (minutes, seconds) = rest.split_once('.').unwrap_or((rest, "0"));
    let number = |part: &str, most| part.parse::<u64>().ok().filter(|number| *number <= most);
    let parts = (number(hours, most), number(minutes, 59), number(seconds, 59));
    let (Some(hours), Some(minutes), Some(seconds)) = parts else { return Err(wrong()) };
    Some(hours * 3600 + minutes * 60 + seconds).filter(|time| *time <= most * 3600).ok_or_else(wrong)
}

/// The columns of a line after the time.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Columns(Vec<&'static str>);

impl Columns {
    const KNOWN: [&'static str; 7] = ["users", "tpm", "tps", "errs", "resp", "vresp", "trans"];

    /// Parses names separated by commas.
    ///
    /// # Errors
    /// A column is unknown.
    pub fn parse(given: &str) -> Result<Columns, CharbenchError> {
        let known = |name: &str| Columns::KNOWN.into_iter().find(|known| known.eq_ignore_ascii_case(name.trim()));
        let column = |name: &str| known(name).ok_or_else(|| CharbenchError::Column(name.into()));
        given.split(',').map(column).collect::<Result<_, _>>().map(Columns)
    }

    /// The line of column heads.
    pub fn heads(&self) -> String {
        let head = |column: &&str| match *column {
            "users" => vec!["Users".to_owned()],
            "tpm" => vec!["TPM".into()],
            "tps" => vec!["TPS".into()],
            "errs" => vec!["Errors".into()],
            "resp" => vec!["Resp".into()],
            _ => Transaction::ALL.iter().map(|one| one.short().to_owned()).collect(),
        };
        line_of("Time", self.0.iter().flat_map(head))
    }

    /// The line of a second, with that time of day.
    pub fn line(&self, time: &str, ledger: &Ledger, second: usize, running: u32, wanted: u32) -> String {
        let done = ledger.seconds().get(second).copied().unwrap_or_default();
        let cells = |column: &&str| match *column {
            "users" => vec![format!("[{running}/{wanted}]")],
            "tpm" => vec![ledger.tpm(second).to_string()],
            "tps" => vec![done.done.to_string()],
            "errs" => vec![done.failed.to_string()],
            "resp" => vec![mean(done.took.iter().map(|span| span.as_millis_f64()).sum(), done.done)],
            "trans" => done.by.iter().map(u64::to_string).collect(),
            _ => responses(&done),
        };
        line_of(time, self.0.iter().flat_map(cells))
    }
}

fn responses(second: &Second) -> Vec<String> {
    second.by.iter().zip(second.took).map(|(count, took)| mean(took.as_millis_f64(), *count)).collect()
}

fn mean(sum_ms: f64, count: u64) -> String {
    if count == 0 { "0".into() } else { format!("{:.0}", sum_ms / count as f64) }
}

fn line_of(time: &str, cells: impl Iterator<Item = String>) -> String {
    let cells: String = cells.map(|cell| format!("{cell:<7} ")).collect();
    format!("{time:<9}{cells}").trim_end().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ledger::tests::played;

    fn of(words: &str) -> Result<String, CharbenchError> {
        match unfold(&words.split(' ').map(str::to_owned).collect::<Vec<_>>())? {
            Charbench::Words(words, _) => Ok(words.join(" ")),
            Charbench::Help(help) => Ok(help),
        }
    }

    #[test]
    fn published_options_are_ours() {
        assert_eq!(
            of("-cs sqlite:/x -uc 8 -rt 0:10.30 -bs 0:01 -min 0 -max 5 -di SQ,WQ,WA -v users,tpm -r out.xml -a")
                .unwrap(),
            "run --database sqlite:/x --users 8 --disable SQ,WQ,WA --columns users,tpm --xml out.xml --time 570 --warm-up \
             60 --think 0-5"
        );
        assert_eq!(
            of("-rt 0:01").unwrap(),
            "run --time 60 --warm-up 0 --columns users,tpm,tps,errs,vresp --xml results.xml"
        );
        assert_eq!(of("-p secret"), Err(CharbenchError::Password));
        assert!(matches!(of("-rt 5"), Err(CharbenchError::Time { .. })));
        let said = |words: &str| of(words).unwrap_err().to_string();
        for (words, error) in [
            ("-rt 0:01 -bs 0:02", "-rt: must be later than the start of the measured window, got \"0:01\""),
            ("-be 0:00", "-be: must be later than the start of the measured window, got \"0:00\""),
            ("-rt 168:00.01", "-rt: must be hh:mm or hh:mm.ss, at most 168:00, got \"168:00.01\""),
            ("-bs 25:00", "-bs: must be hh:mm or hh:mm.ss, at most 24:00, got \"25:00\""),
            ("-max x", "-max: must be milliseconds up to 3600000, got \"x\""),
            ("-intermin 5", "-intermin: must not be more than -intermax (0), got 5 ms"),
        ] {
            assert_eq!(said(words), error);
        }
        assert_eq!(said("-usr x"), "-usr: there is no such option; did you mean -sr?");
        assert_eq!(said("-wibble"), "-wibble: there is no such option; -h lists all");
        assert_eq!(of("-uc"), Err(CharbenchError::Missing("-uc".into())));
    }

    /// As in the original, a run without `-r` writes results.xml, unless `-nr` or `-sr` is given.
    #[test]
    fn results_xml_is_written_unless_refused() {
        assert!(of("-uc 2").unwrap().ends_with(" --xml results.xml"));
        assert!(of("-uc 2 --xml=x.xml").is_ok_and(|words| !words.contains("results.xml")));
        for silent in ["-nr", "-sr"] {
            assert!(of(&format!("-uc 2 {silent}")).is_ok_and(|words| !words.contains("--xml")), "{silent}");
        }
    }

    #[test]
    fn help_is_asked_for_anywhere() {
        for line in ["-h", "--help", "-uc 2 -h"] {
            assert!(of(line).is_ok_and(|help| help.starts_with("usage: parameters:\n")), "{line}");
        }
    }

    /// `-u` sets the user of the connect string, whichever comes first; two different users are an
    /// error, and so is a user of a file.
    #[test]
    fn the_user_is_that_of_the_connect_string() {
        let database = |words: &str| of(words).map(|words| words.split(' ').nth(2).unwrap().to_owned());
        for (words, is) in [
            ("-cs postgres://h:5433/shop -u soe", "postgres://soe@h:5433/shop"),
            ("-u soe -cs postgres://h/shop?sslmode=disable", "postgres://soe@h/shop?sslmode=disable"),
            (
                "-cs mysql://localhost/shop?socket=/run/m@1.sock -u a@b",
                "mysql://a%40b@localhost/shop?socket=/run/m@1.sock",
            ),
            ("-cs postgres:///shop -u soe", "postgres://soe@/shop"),
            ("-cs postgres://soe@h/shop -u soe", "postgres://soe@h/shop"),
            ("-cs postgres://a%40b@h/shop -u a@b", "postgres://a%40b@h/shop"),
            ("-cs postgres://h/shop?user=soe -u soe", "postgres://h/shop?user=soe"),
        ] {
            assert_eq!(database(words).unwrap(), is);
        }
        let twice = database("-cs postgres://sys:hunter2@h/shop -u soe").unwrap_err();
        assert_eq!(twice, CharbenchError::User { named: "sys".into(), given: "soe".into() });
        assert!(matches!(database("-cs postgres://h/shop?user=sys -u soe"), Err(CharbenchError::User { .. })));
        assert_eq!(database("-cs sqlite:/x -u soe"), Err(CharbenchError::NoServer("soe".into())));
        assert_eq!(of("-u soe"), Err(CharbenchError::NoServer("soe".into())));
    }

    #[test]
    fn a_line_has_the_published_form() {
        let ledger = played(|_| 8, 5);
        let columns = Columns::parse("users,tpm,tps,errs,vresp").unwrap();
        assert!(columns.heads().starts_with("Time     Users   TPM     TPS     Errors  NCR     UCD     BP"));
        let line = columns.line("10:00:00", &ledger, 89, 4, 4);
        assert_eq!(
            line,
            "10:00:00 [4/4]   480     8       0       5       5       0       0       0       0       0       0       0"
        );
        assert!(Columns::parse("users,disk").is_err());
    }
}
