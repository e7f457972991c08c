//! `seawall levels report`: the bill of a provider.

use super::read;
use crate::outputs::{Kind, Output, check_all};
use crate::{Answer, date, terminal};
use anyhow::{Context as _, Result, bail};
use levels::{Bill, Gathered, Hour, HoursWriter, Kept, Period};
use std::fs::File;
use std::path::{Path, PathBuf};
use store::{HourRow, HourlyTotals, ObjectName, TOTALS};

/// Report what was promised, used, held back and missed, and what it costs
#[derive(clap::Args)]
#[command(group(clap::ArgGroup::new("from_where").args(["pool", "hours"]).required(true).multiple(true)))]
pub struct Report {
    /// The file of classes
    file: PathBuf,
    /// A pool's folder, whose hourly totals are read, whether or not it is being served; may be
    /// given several times
    #[arg(long, value_name = "DIR")]
    pool: Vec<PathBuf>,
    /// A file of hours (CSV), as `levels hours` writes it; may be given several times
    #[arg(long, value_name = "FILE")]
    hours: Vec<PathBuf>,
    /// From this date on, UTC: 2026-11-01, or 2026-11-01T06:00 [default: the first of this month]
    #[arg(long, value_name = "DATE", value_parser = full_hour)]
    from: Option<u64>,
    /// Up to this date [default: now]
    #[arg(long, value_name = "DATE", value_parser = full_hour)]
    to: Option<u64>,
    /// Also write the bill as CSV, a row for each line
    #[arg(long, value_name = "FILE")]
    csv: Option<PathBuf>,
    /// Also write a page
    #[arg(long, value_name = "FILE")]
    page: Option<PathBuf>,
}

impl Report {
    /// Reads the hours and prints the bill.
    ///
    /// # Errors
    /// Something cannot be read or written, or is invalid.
    pub fn run(self) -> Result<Answer> {
        let classes = read(&self.file)?;
        let now = date::since_1970().as_secs();
        let month = full_hour(&block::date(now, "%Y-%m-01")).unwrap_or(0);
        let period = Period { from: self.from.unwrap_or(month), to: self.to.unwrap_or(now) };
        if period.from >= period.to {
            let said = |seconds| block::date(seconds, "%Y-%m-%dT%H:%M");
            bail!("--to {}: must be after --from {}; give a later date", said(period.to), said(period.from));
        }
        let table = Output::of("--csv", self.csv.as_ref(), Kind::Text("from,to,svm,"));
        let page_file = Output::of("--page", self.page.as_ref(), Kind::Page);
        check_all(&[table, page_file])?;
        let mut gathered = Gathered::default();
        for dir in &self.pool {
            let mut hours = Vec::new();
            each_hour(dir, period, |row| hours.push(Hour::of(kept_of(&row), &row.totals)))?;
            gathered.add(format!("--pool {}", dir.display()), hours)?;
        }
        for path in &self.hours {
            gathered.add(format!("--hours {}", path.display()), kept(path)?)?;
        }
        let bill = Bill::of(&classes, period, gathered.into_hours());
        terminal::print(&levels::table(&bill));
        if let Some(output) = table {
            let mut text = Vec::new();
            levels::csv(&bill, &mut text)?;
            output.write(text)?;
            terminal::line(&format!("\nfigures   {}", output.path.display()));
        }
        if let Some(output) = page_file {
            let page = report::Page { version: env!("CARGO_PKG_VERSION").into(), ..levels::page(&bill) };
            output.write(page.render())?;
            terminal::line(&format!("\npage      {}", output.path.display()));
        }
        Ok(Answer::Yes)
    }
}

/// Write a pool's hourly totals of each object as CSV: for a spreadsheet, or for `report` on
/// another machine
#[derive(clap::Args)]
pub struct Hours {
    /// The pool's folder
    #[arg(long, value_name = "DIR")]
    pool: PathBuf,
    /// From this date on, UTC: 2026-11-01, or 2026-11-01T06:00 [default: from the first hour]
    #[arg(long, value_name = "DATE", value_parser = full_hour)]
    from: Option<u64>,
    /// Up to this date [default: now]
    #[arg(long, value_name = "DATE", value_parser = full_hour)]
    to: Option<u64>,
}

impl Hours {
    /// Writes the hours to standard output.
    ///
    /// # Errors
    /// They cannot be read or written.
    pub fn run(self) -> Result<Answer> {
        let period = Period { from: self.from.unwrap_or(0), to: self.to.unwrap_or(date::since_1970().as_secs()) };
        let mut text = Vec::new();
        let (mut output, mut written) = (HoursWriter::new(&mut text)?, Ok(()));
        each_hour(&self.pool, period, |row| {
            if written.is_ok() {
                written = output.hour(kept_of(&row), &row.totals);
            }
        })?;
        written?;
        drop(output);
        terminal::print(&String::from_utf8_lossy(&text));
        Ok(Answer::Yes)
    }
}

/// Reads the hours of a pool in a period.
fn each_hour(dir: &Path, period: Period, mut each: impl FnMut(HourRow)) -> Result<()> {
    if !dir.is_dir() {
        bail!("--pool {}: there is no such folder", dir.display());
    }
    // A pool has no totals before its first minute.
    if !dir.join(TOTALS).exists() {
        store::must_be_a_pool(dir).context("--pool")?;
    }
    HourlyTotals::read(dir, period.hours(), &mut each).with_context(|| format!("--pool {}", dir.display()))
}

fn kept_of(row: &HourRow) -> Kept<'_> {
    let ObjectName { svm, volume, path, policy } = &row.name;
    Kept { hour: row.hour, object: row.object.into(), svm, volume, path, policy }
}

fn kept(path: &Path) -> Result<Vec<Hour>> {
    let named = || format!("--hours {}", path.display());
    levels::hours(File::open(path).with_context(named)?).with_context(named)
}

/// A date as typed, in seconds since the beginning of 1970. Totals are hourly, so a part of an hour
/// is refused.
fn full_hour(given: &str) -> Result<u64, String> {
    let moment = block::moment(given).ok_or("must be a date such as 2026-11-01 or 2026-11-01T06:00, from 1970 on")?;
    let is_full = moment.is_multiple_of(3600);
    is_full
        .then_some(moment)
        .ok_or_else(|| "must be a full hour such as 2026-11-01T06:00, as totals are kept by the hour".into())
}
