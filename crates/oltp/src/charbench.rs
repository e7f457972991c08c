//! The published tool's options as ours, and its line for each second.

use crate::ledger::{Ledger, Second};
use crate::transaction::Transaction;

/// What is wrong with what was typed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum CharbenchError {
    /// No such option.
    #[error("{typed}: there is no such option{hint}", hint = near.map_or(String::new(), |near| format!("; did you mean {near}?")))]
    Option {
        /// As typed.
        typed: String,
        /// The nearest.
        near: Option<&'static str>,
    },
    /// Nothing behind an option.
    #[error("{0}: needs a value behind it")]
    Missing(String),
    /// Not a time.
    #[error("{option}: must be hh:mm or hh:mm.ss, got {given:?}")]
    Time {
        /// Which option.
        option: &'static str,
        /// As typed.
        given: String,
    },
    /// A window that has no length.
    #[error("-bs: the window must begin before -be and the end of the run")]
    Window,
    /// Others would see it.
    #[error(
        "-p: a password on the command line can be read by everybody on this host; put it into the database's own file"
    )]
    Password,
    /// A user of what has none.
    #[error("-u: only a server's connect string has a user, as in -cs postgres://{0}@localhost/shop; leave -u out")]
    NoServer(String),
    /// Two users.
    #[error("-u: the connect string names another user, {named:?}, got {given:?}; leave one of them out")]
    User {
        /// Of the connect string.
        named: String,
        /// As typed.
        given: String,
    },
    /// A file of settings.
    #[error(
        "-c: a configuration is not read here; give what it says by options, as -cs, -uc, -rt, -min and -max, and weights \
         by --weights"
    )]
    Configuration,
    /// No such column.
    #[error("must be columns of users, tpm, tps, errs, resp, vresp and trans, got {0:?}")]
    Column(String),
}

/// Options that take a value, with ours where it is the same.
const VALUED: [(&str, Option<&str>); 18] = [
    ("-c", None),
    ("-cs", Some("--database")),
    ("-uc", Some("--users")),
    ("-r", Some("--xml")),
    ("-di", Some("--disable")),
    ("-com", Some("--comment")),
    ("-v", Some("--columns")),
    ("-rt", None),
    ("-bs", None),
    ("-be", None),
    ("-min", None),
    ("-max", None),
    ("-intermin", None),
    ("-intermax", None),
    ("-p", None),
    ("-u", None),
    ("-rr", None),
    ("-stats", None),
];
/// Options without a value that change nothing here.
const IGNORED: [&str; 3] = ["-a", "-nc", "-s"];

/// The words of `seawall oltp run` that mean the same.
///
/// # Errors
/// An option is none, or its value cannot be.
pub fn unfold(typed: &[String]) -> Result<Vec<String>, CharbenchError> {
    let mut out = vec!["run".to_owned()];
    let mut value = std::collections::BTreeMap::new();
    let mut words = typed.iter();
    while let Some(word) = words.next() {
        if word.starts_with("--") {
            out.push(word.clone());
            continue;
        }
        if IGNORED.contains(&word.as_str()) {
            continue;
        }
        let Some((option, ours)) = VALUED.iter().find(|(option, _)| option == word) else {
            if !word.starts_with('-') {
                out.push(word.clone());
                continue;
            }
            let names = || VALUED.iter().map(|(option, _)| *option).chain(IGNORED);
            let near = nearest::to(word, names()).and_then(|near| names().find(|name| *name == near));
            return Err(CharbenchError::Option { typed: word.clone(), near });
        };
        let given = words.next().ok_or_else(|| CharbenchError::Missing(word.clone()))?;
        match ours {
            Some(ours) => out.extend([(*ours).to_owned(), given.clone()]),
            None if *option == "-p" => return Err(CharbenchError::Password),
            None if *option == "-c" => return Err(CharbenchError::Configuration),
            None => drop(value.insert(*option, given.clone())),
        }
    }
    let time = |option: &'static str| value.get(option).map(|given| seconds(option, given)).transpose();
    let begin = time("-bs")?.unwrap_or(0);
    let end = time("-be")?.or(time("-rt")?);
    if let Some(end) = end {
        let window = end.checked_sub(begin).filter(|window| *window > 0).ok_or(CharbenchError::Window)?;
        out.extend(["--time".into(), window.to_string()]);
    }
    out.extend(["--warm-up".into(), begin.to_string()]);
    for (least, most, ours) in [("-min", "-max", "--think"), ("-intermin", "-intermax", "--think-between")] {
        if value.contains_key(least) || value.contains_key(most) {
            let of = |name| value.get(name).map_or("0", String::as_str);
            out.extend([ours.into(), format!("{}-{}", of(least), of(most))]);
        }
    }
    if let Some(user) = value.get("-u") {
        let database = out.iter().position(|word| word == "--database").and_then(|at| out.get_mut(at + 1));
        let database = database.ok_or_else(|| CharbenchError::NoServer(user.clone()))?;
        *database = with_user(database, user)?;
    }
    if !out.iter().any(|word| word == "--columns") {
        out.extend(["--columns".into(), "users,tpm,tps,errs,vresp".into()]);
    }
    Ok(out)
}

/// A connect string as that user's, which it may name itself.
fn with_user(database: &str, user: &str) -> Result<String, CharbenchError> {
    let (scheme, rest) = database.split_once("://").ok_or_else(|| CharbenchError::NoServer(user.into()))?;
    let coded = percent_coded(user);
    let parameters = rest.split_once('?').map_or("", |(_, parameters)| parameters);
    let authority = rest.split(['/', '?']).next().unwrap_or_default();
    let before = authority.rsplit_once('@').map(|(user, _)| user).filter(|user| !user.is_empty());
    let named = before.or_else(|| parameters.split('&').find_map(|parameter| parameter.strip_prefix("user=")));
    match named {
        Some(named) if named == user || named == coded => Ok(database.into()),
        // What stands behind a colon is a password, and nothing for a message.
        Some(named) => {
            let named = named.split(':').next().unwrap_or_default().into();
            Err(CharbenchError::User { named, given: user.into() })
        }
        None => Ok(format!("{scheme}://{coded}@{}", rest.trim_start_matches('@'))),
    }
}

/// A name as it stands in a URL.
fn percent_coded(name: &str) -> String {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-._~".contains(&byte);
    let coded = |byte: u8| if plain(byte) { char::from(byte).to_string() } else { format!("%{byte:02X}") };
    name.bytes().map(coded).collect()
}

fn seconds(option: &'static str, given: &str) -> Result<u64, CharbenchError> {
    let wrong = || CharbenchError::Time { option, given: given.into() };
    let (hours, rest) = given.split_once(':').ok_or_else(wrong)?;
    let (minutes, seconds) = rest.split_once('.').unwrap_or((rest, "0"));
    let number = |part: &str, most| part.parse::<u64>().ok().filter(|number| *number <= most);
    let parts = (number(hours, 1000), number(minutes, 59), number(seconds, 59));
    let (Some(hours), Some(minutes), Some(seconds)) = parts else { return Err(wrong()) };
    Ok(hours * 3600 + minutes * 60 + seconds)
}

/// Which columns a line has behind the time.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Columns(Vec<&'static str>);

impl Columns {
    const KNOWN: [&'static str; 7] = ["users", "tpm", "tps", "errs", "resp", "vresp", "trans"];

    /// As typed, with commas between them.
    ///
    /// # Errors
    /// One is none.
    pub fn parse(given: &str) -> Result<Columns, CharbenchError> {
        let known = |name: &str| Columns::KNOWN.into_iter().find(|known| known.eq_ignore_ascii_case(name.trim()));
        let column = |name: &str| known(name).ok_or_else(|| CharbenchError::Column(name.into()));
        given.split(',').map(column).collect::<Result<_, _>>().map(Columns)
    }

    /// The heads.
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

    /// The line of a second, at that time of day.
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
        unfold(&words.split(' ').map(str::to_owned).collect::<Vec<_>>()).map(|words| words.join(" "))
    }

    #[test]
    fn published_options_are_ours() {
        assert_eq!(
            of("-cs sqlite:/x -uc 8 -rt 0:10.30 -bs 0:01 -min 0 -max 5 -di SQ,WQ,WA -v users,tpm -r out.xml -a")
                .unwrap(),
            "run --database sqlite:/x --users 8 --disable SQ,WQ,WA --columns users,tpm --xml out.xml --time 570 --warm-up \
             60 --think 0-5"
        );
        assert_eq!(of("-rt 0:01").unwrap(), "run --time 60 --warm-up 0 --columns users,tpm,tps,errs,vresp");
        assert_eq!(of("-p secret"), Err(CharbenchError::Password));
        assert!(matches!(of("-rt 5"), Err(CharbenchError::Time { .. })));
        assert_eq!(of("-rt 0:01 -bs 0:02"), Err(CharbenchError::Window));
        assert!(matches!(of("-usr x"), Err(CharbenchError::Option { .. })));
        assert_eq!(of("-uc"), Err(CharbenchError::Missing("-uc".into())));
    }

    /// The user of `-u` is the connect string's, wherever the two stand; two that differ are one
    /// too many, and a file has none.
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
