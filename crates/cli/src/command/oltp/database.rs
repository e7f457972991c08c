//! Creates, verifies and removes databases.

use super::{Check, Drop, Setup, Which};
use crate::live::{Live, Progress, Stream, Unit};
use crate::{Answer, interrupt, terminal};
use ::database::{Database, Error};
use ::oltp::{Indexes, Rows, Sizes};
use anyhow::{Context as _, Result, bail};
use std::num::NonZeroUsize;

/// The database file in a folder.
pub const FILE: &str = "orders.sqlite";

/// Whether setup has been run on that database.
///
/// # Errors
/// The name is invalid, or the server does not answer.
pub fn is_set_up(name: &str) -> Result<bool> {
    match Database::named(name, &|name| std::env::var(name).ok(), None)?.number("scale") {
        Ok(_) => Ok(true),
        Err(Error::NotOurs(_)) => Ok(false),
        Err(error) => Err(error.into()),
    }
}

impl Which {
    /// The named database.
    pub fn database(&self, buffers: Option<u64>) -> Result<Database> {
        let environment = |name: &str| std::env::var(name).ok();
        match &self.database {
            None => {
                let name = format!("sqlite:{}", self.directory.join(FILE).display());
                Ok(Database::named(&name, &environment, buffers)?)
            }
            // The name is not printed, because it may contain a password.
            Some(named) => Database::named(named, &environment, buffers).context("--database"),
        }
    }
}

/// Steps of the progress bar.
const PARTS: u64 = 1000;

impl Setup {
    pub fn run(self) -> Result<Answer> {
        let stop = interrupt::watch()?;
        let database = self.which.database(None)?;
        let indexes = match self.indexes.as_str() {
            "primary" => Indexes::Primary,
            "none" => Indexes::None,
            _ => Indexes::All,
        };
        let rows = Rows { seed: self.seed, sizes: Sizes { scale: self.scale, products: self.products } };
        let live = Live::on(Stream::Err, false, format!("loading {}", database.name()));
        let bar = Progress::new(live, PARTS, Unit::Parts);
        let jobs = self.jobs.or_else(|| std::thread::available_parallelism().ok()).unwrap_or(NonZeroUsize::MIN);
        let loaded = database.setup(rows, indexes, jobs, &mut |part, what| {
            bar.set_to((part * PARTS as f64) as u64, what);
            !stop.is_asked()
        });
        bar.clear();
        let loaded = loaded.context("setup")?;
        for (table, rows, _) in &loaded.rows {
            terminal::line(&format!("{:<22}{:>12}", table.name(), report::text::thousands(*rows)));
        }
        let size = block::Bytes(database.size()?);
        terminal::line(&format!("\n{} has {size}, scale {}", database.name(), self.scale));
        Ok(Answer::Yes)
    }
}

impl Check {
    pub fn run(self) -> Result<Answer> {
        let database = self.which.database(None)?;
        let mut unsure = false;
        let holds = database.check(&mut |found| {
            let (says, why) = match found.holds {
                Some(true) => ("pass", String::new()),
                Some(false) => ("fail", format!(": {}", found.because)),
                None => ("cannot say", format!(": {}", found.because)),
            };
            unsure |= found.holds.is_none();
            terminal::line(&format!("{says}: {}{why}", found.what));
        })?;
        if self.digests {
            for (table, digest) in database.digests()? {
                terminal::line(&format!("{digest:016x}  {}", table.name()));
            }
        }
        match holds {
            true => Ok(Answer::Yes),
            false if unsure => bail!("check: of some of it nothing can be said"),
            false => Ok(Answer::No),
        }
    }
}

impl Drop {
    pub fn run(self) -> Result<Answer> {
        let database = self.which.database(None)?;
        if !self.force && database.is_in_use()? {
            return Err(Error::Busy(database.name()).into());
        }
        database.drop_all()?;
        terminal::line(&format!("{}: what setup made is removed", database.name()));
        Ok(Answer::Yes)
    }
}
