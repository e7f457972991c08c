//! The file that lists tiers: what each is, where it can be loaded, what is known of it already,
//! and the load.
//!
//! ```toml
//! title = "Three stores"
//!
//! [load]                              # what `tiers run` puts on each; all of it may be left out
//! orion = "-run simple -duration 5"
//! ranread = [1, 10, 20]               # processes, a batch each; [] leaves it out
//! iterations = 10000
//! size_gb = 4                         # of the database that is made in a directory
//! oltp = "--users 8 --time 60"         # options of `seawall oltp run`; "" leaves it out
//! scale = 0.1                         # of the order-entry database that is made
//! repeats = 3
//!
//! [[tier]]
//! test = 1                            # its number; otherwise its place
//! path = "/data"                      # a directory, a file, a device or nbd://…
//! # array = "usp-v-fc-raid5"          # or an array that one does not have, in virtual time
//! database = "postgres://u@host/shop"  # for order entry; in a directory SQLite's file otherwise
//! cpus = 2                            # processors that the load may use
//! storage = "Clariion FC"             # words are said here where the host cannot see them
//! iops = 1403                         # figures are printed ones
//! import = ["old/x_iops.csv"]         # files of other tools, by their paths from this one
//! ```

use crate::column::{Column, TierFigure, TierWord};
use crate::table::{TierRow, TierTable, Told};
use serde::Deserialize;
use std::collections::BTreeSet;

/// A list of tiers.
#[derive(Clone, Debug, PartialEq)]
pub struct List {
    /// The title, by which runs are found again.
    pub title: String,
    /// The load on each tier.
    pub load: Load,
    /// The tiers.
    pub tiers: Vec<Tier>,
}

/// The load on each tier.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Load {
    /// Orion's options without the test's name; empty to leave it out.
    pub orion: String,
    /// RanRead's numbers of processes, a batch for each; empty to leave it out.
    pub ranread: Vec<u32>,
    /// Reads of each process.
    pub iterations: u64,
    /// The size of the database that is made in a directory, in GB as RanRead counts them (2^30
    /// bytes).
    pub size_gb: u64,
    /// Options of the order-entry run without the database; empty to leave it out.
    pub oltp: String,
    /// The scale of the order-entry database that is made.
    pub scale: f64,
    /// How often everything is repeated; the tiers take turns.
    pub repeats: u32,
}

impl Default for Load {
    fn default() -> Load {
        let orion = "-run simple -duration 10".into();
        let oltp = String::new();
        Load { orion, ranread: vec![1, 10, 20], iterations: 10_000, size_gb: 4, oltp, scale: 0.1, repeats: 1 }
    }
}

/// A tier of a list.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Tier {
    /// What is known of it before any run.
    pub row: TierRow,
    /// Where it can be loaded: a directory, a file, a device, an NBD export.
    pub path: Option<String>,
    /// A simulated array that is loaded in virtual time instead: its name or file.
    pub array: Option<String>,
    /// The database for the order-entry load.
    pub database: Option<String>,
    /// Processors that the load may use; `None` for all.
    pub cpus: Option<f64>,
    /// Files of other tools with its figures.
    pub imports: Vec<String>,
}

/// What is wrong with a list.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ListError {
    /// It is not valid TOML, or has an unknown key.
    #[error("line {line}: {what}")]
    Form {
        /// The line.
        line: usize,
        /// The error.
        what: String,
    },
    /// There is no tier.
    #[error("it lists no tier; begin one with [[tier]]")]
    Empty,
    /// Two tiers have the same number.
    #[error("two tiers have test = {0}; each needs a number of its own")]
    Twice(u32),
    /// A figure is invalid.
    #[error("tier {row}: {key} = {value} is no figure; give one from 0 on, or leave it out")]
    Figure {
        /// The tier's number.
        row: u32,
        /// The key.
        key: &'static str,
        /// The value given.
        value: String,
    },
    /// A tier is both an array and something real.
    #[error("tier {row}: array = {array:?} is loaded in virtual time; leave path, database and cpus out")]
    Array {
        /// The tier's number.
        row: u32,
        /// The value given.
        array: String,
    },
    /// The number of processors is invalid.
    #[error("tier {row}: cpus = {cpus}: must be from 0.01 to 4096")]
    Cpus {
        /// The tier's number.
        row: u32,
        /// The value given.
        cpus: String,
    },
    /// The scale is invalid.
    #[error("load.scale = {0}: must be from 0.0001 to 1000")]
    Scale(String),
    /// A load is out of range.
    #[error("load.{key} = {value}: must be from {least} to {most}")]
    Load {
        /// The key.
        key: &'static str,
        /// The value given.
        value: u64,
        /// The least value.
        least: u64,
        /// The largest value.
        most: u64,
    },
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Typed {
    #[serde(default)]
    title: String,
    #[serde(default)]
    load: Load,
    #[serde(default)]
    tier: Vec<TypedTier>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct TypedTier {
    test: Option<u32>,
    path: Option<String>,
    array: Option<String>,
    database: Option<String>,
    cpus: Option<f64>,
    #[serde(default)]
    import: Vec<String>,
    storage: Option<String>,
    spindle_type: Option<String>,
    raid_level: Option<Loose>,
    virtualized: Option<Loose>,
    cache_gb: Option<Loose>,
    iops: Option<f64>,
    mbps: Option<f64>,
    max_tpm: Option<f64>,
    max_tps: Option<f64>,
    avg_tps: Option<f64>,
    avg_resp: Option<f64>,
    disk_busy_pct: Option<f64>,
    cpu_pct: Option<f64>,
}

/// A word that may be written as a number.
#[derive(Deserialize)]
#[serde(untagged)]
enum Loose {
    Whole(i64),
    Fraction(f64),
    Yes(bool),
    Text(String),
}

impl Loose {
    fn text(self) -> String {
        match self {
            Loose::Whole(number) => number.to_string(),
            Loose::Fraction(number) => number.to_string(),
            Loose::Yes(yes) => if yes { "Yes" } else { "No" }.into(),
            Loose::Text(text) => text,
        }
    }
}

impl List {
    /// Whether `text` is such a list: it has a `[[tier]]`.
    pub fn is_meant(text: &str) -> bool {
        toml::de::DeTable::parse_recoverable(text).0.get_ref().contains_key("tier")
    }

    /// Parses a list.
    ///
    /// # Errors
    /// The first error in it.
    pub fn read(text: &str) -> Result<List, ListError> {
        let form = |error: toml::de::Error| {
            let (line, what) = nearest::toml::wrong(text, error.span(), error.message());
            ListError::Form { line, what }
        };
        let typed: Typed = toml::from_str(text).map_err(form)?;
        if typed.tier.is_empty() {
            return Err(ListError::Empty);
        }
        for (key, value, least, most) in [
            ("repeats", u64::from(typed.load.repeats), 1, 1000),
            ("iterations", typed.load.iterations, 1, 1_000_000_000),
            ("size_gb", typed.load.size_gb, 1, 1 << 20),
        ] {
            if !(least..=most).contains(&value) {
                return Err(ListError::Load { key, value, least, most });
            }
        }
        if !(0.0001..=1000.0).contains(&typed.load.scale) {
            return Err(ListError::Scale(typed.load.scale.to_string()));
        }
        let tiers: Vec<Tier> =
            (1..).zip(typed.tier).map(|(place, tier)| tier_of(place, tier)).collect::<Result<_, _>>()?;
        let mut numbers = BTreeSet::new();
        match tiers.iter().find(|tier| !numbers.insert(tier.row.number)) {
            Some(twice) => Err(ListError::Twice(twice.row.number)),
            None => Ok(List { title: typed.title, load: typed.load, tiers }),
        }
    }

    /// What is known of all tiers before any run.
    pub fn table(&self) -> TierTable {
        let rows = self.tiers.iter().map(|tier| tier.row.clone()).collect();
        TierTable { title: self.title.clone(), rows, ..TierTable::default() }
    }
}

fn tier_of(place: u32, typed: TypedTier) -> Result<Tier, ListError> {
    let mut row = TierRow { number: typed.test.unwrap_or(place), ..TierRow::default() };
    let text = |word: Option<Loose>| word.map(Loose::text);
    let words =
        [typed.storage, typed.spindle_type, text(typed.raid_level), text(typed.virtualized), text(typed.cache_gb)];
    for (word, said) in TierWord::ALL.into_iter().zip(words) {
        // An empty cell or the published table's N/A means that nothing is known.
        let said = said.filter(|said| !said.trim().is_empty() && said != "N/A");
        row.words[word as usize] = Told { said, seen: None };
    }
    let figures = [
        typed.iops,
        typed.mbps,
        typed.max_tpm,
        typed.max_tps,
        typed.avg_tps,
        typed.avg_resp,
        typed.disk_busy_pct,
        typed.cpu_pct,
    ];
    for (figure, value) in TierFigure::ALL.into_iter().zip(figures) {
        let Some(value) = value else { continue };
        if !(value.is_finite() && value >= 0.0) {
            let key = Column::Figure(figure).key();
            return Err(ListError::Figure { row: row.number, key, value: value.to_string() });
        }
        row.add(figure, value, "printed");
    }
    if let Some(cpus) = typed.cpus.filter(|cpus| !(0.01..=4096.0).contains(cpus)) {
        return Err(ListError::Cpus { row: row.number, cpus: cpus.to_string() });
    }
    let TypedTier { path, array, database, cpus, import: imports, .. } = typed;
    if let Some(array) = array.as_ref().filter(|_| path.is_some() || database.is_some() || cpus.is_some()) {
        return Err(ListError::Array { row: row.number, array: array.clone() });
    }
    Ok(Tier { row, path, array, database, cpus, imports })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_list_is_read_and_what_is_wrong_with_it_is_told_in_a_line() {
        let list = List::read(
            "title = \"T\"\n[load]\nrepeats = 3\nranread = []\n[[tier]]\npath = \"/d\"\nraid_level = 5\n\
             virtualized = false\niops = 1403\n[[tier]]\ntest = 7\ncache_gb = \"N/A\"\nimport = [\"a.csv\"]\n",
        )
        .unwrap();
        assert_eq!((list.load.repeats, list.load.ranread.len(), list.load.size_gb), (3, 0, 4));
        let [first, second] = &list.tiers[..] else { panic!("{list:?}") };
        assert_eq!((first.row.number, second.row.number), (1, 7));
        assert_eq!(first.row.word(TierWord::Raid).shown(), Some("5"));
        assert_eq!(first.row.word(TierWord::Virtualized).shown(), Some("No"));
        assert_eq!(
            (first.row.median(TierFigure::Iops), second.row.word(TierWord::Cache).shown()),
            (Some(1403.0), None)
        );
        for (text, says) in [
            ("title = 1\n", "line 1: title: must be a text in quotes, got 1"),
            ("", "it lists no tier"),
            ("[[tier]]\niops = \"many\"\n", "line 2: tier.iops: must be a number, got \"many\""),
            ("[[tier]]\ncache_gb = []\n", "line 2: tier.cache_gb: must be a text in quotes or a number"),
            ("[[tier]]\n[[tier]]\nspeed = 3\n", "line 3: speed: there is no such key; here it is one of test, path"),
            ("[[tier]]\ntest = 2\n[[tier]]\n", "two tiers have test = 2"),
            ("[[tier]]\narray = \"a\"\npath = \"p\"\n", "tier 1: array = \"a\" is loaded in virtual time"),
            ("[[tier]]\niops = -1\n", "tier 1: iops = -1 is no figure"),
            ("[load]\nrepeats = 0\n[[tier]]\n", "load.repeats = 0: must be from 1 to 1000"),
        ] {
            let error = List::read(text).unwrap_err().to_string();
            assert!(error.starts_with(says) && !error.contains('\n'), "{text:?}: {error}");
        }
    }
}
