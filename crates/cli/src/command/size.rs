//! `seawall size`: which array carries a load, and which resource is exhausted first.

mod cycle;
mod require;

use super::reproduce::array_of;
use crate::catalogue;
use crate::outputs::check_out;
use crate::play::{now_unix_ms, stamp, write_page};
use crate::{Answer, amount, interrupt, machine, terminal};
use anyhow::{Context as _, Result, anyhow, bail};
use block::Bytes;
use capacity::{Candidate, Need, Play, choice, played, size, size_page, size_text};
use ramp::{Advice, Constants, PolicyNeed};
use report::Page;
use report::text::fit;
use std::collections::HashSet;
use std::io::{IsTerminal as _, Write as _, stderr};
use std::path::{Path, PathBuf};
use workload::plan::Device;

/// Find the array that carries a load, and the resource that is exhausted first
///
/// The load is that of a database: --iops operations a second of which a part are reads, the rest
/// written in bursts; or --global-references. Prints for each array the utilisation of each
/// resource, also with one of two controllers, and by year at a rate of growth; with --instances,
/// one array for all compared with one for each. These are mean values; on the array that they
/// choose a write cycle is played in virtual time, and if it breaks a limit the next array is
/// tried. With --require a plan is simulated on each array with an increasing load until one of its
/// criteria fails. Exit code 1: no array carries it.
#[derive(clap::Args)]
#[command(group(clap::ArgGroup::new("load").args(["iops", "global_references", "require"]).required(true)))]
#[command(override_usage = "\
seawall size --iops IOPS [OPTIONS]\n       \
seawall size --global-references COUNT [OPTIONS]\n       \
seawall size --require PLAN [OPTIONS]")]
pub struct Size {
    /// Operations a second of one instance: 75000, or 75k
    #[arg(long, value_name = "IOPS", value_parser = amount::count)]
    iops: Option<u64>,
    /// Global references a second of one instance, in place of --iops
    #[arg(long, value_name = "COUNT", value_parser = amount::count)]
    global_references: Option<u64>,
    /// Used space of one instance, which determines the hits of caches and the floor by TB. TB, or
    /// with a unit (500GB, 64MiB)
    #[arg(long, value_name = "SIZE", value_parser = amount::space, conflicts_with = "require")]
    used_space: Option<Bytes>,
    /// Number of instances
    #[arg(long, default_value_t = 1, conflicts_with = "require", value_parser = clap::value_parser!(u32).range(1..=1000))]
    instances: u32,
    /// Percentage of each resource to keep free while a burst is written in the time it may take
    /// (the time itself has no headroom); for a plan, how much more load it must hold
    #[arg(long, default_value_t = 30, value_parser = clap::value_parser!(u32).range(0..=95))]
    headroom: u32,
    /// Maximum mean time of a read, in milliseconds
    #[arg(long, value_name = "MS", default_value = "2", conflicts_with = "require", value_parser = milliseconds)]
    read_ms: f64,
    /// Maximum mean time of a small write, in milliseconds
    #[arg(long, value_name = "MS", default_value = "1", conflicts_with = "require", value_parser = milliseconds)]
    write_ms: f64,
    /// Growth of the load in a year, in percent
    #[arg(long, default_value_t = 0, value_parser = clap::value_parser!(u32).range(0..=1000))]
    growth: u32,
    /// Years to look ahead at that growth
    #[arg(long, default_value_t = 5, conflicts_with = "require", requires = "growth", value_parser = clap::value_parser!(u32).range(1..=20))]
    years: u32,
    /// An array to consider, and its price: NAME, FILE or NAME=PRICE [default: all of the list]
    #[arg(long = "array", value_name = "NAME|FILE[=PRICE]")]
    arrays: Vec<String>,
    /// Also consider the arrays with these figures of a stage, such as controller.cores=16,32 or
    /// raid.members=8,16; several ranges are combined. Without the array's price
    #[arg(long = "vary", value_name = "STAGE.KEY=A,B", value_parser = range)]
    ranges: Vec<Range>,
    /// A plan whose criteria must hold on the array, with its own load and space
    #[arg(long, value_name = "PLAN", conflicts_with = "growth")]
    require: Option<PathBuf>,
    /// The folder for the page
    #[arg(long, value_name = "DIR", default_value = ".")]
    out: PathBuf,
}

/// An array to consider: its name, its device, and its price if known.
type Offer = (String, Device, Option<f64>);

/// Values of a figure of a stage.
#[derive(Clone, Debug)]
struct Range {
    stage: String,
    key: String,
    values: Vec<String>,
}

/// Maximum operations a second of an instance.
const IOPS_MAX: u64 = 1_000_000_000;

/// Maximum number of arrays; each is a row of the table.
const ARRAYS_MAX: usize = 500;

impl Size {
    pub fn run(self) -> Result<Answer> {
        check_out(&self.out)?;
        let arrays = self.arrays()?;
        if let Some(plan) = &self.require {
            return require::run(plan, &arrays, self.headroom, &self.out);
        }
        let iops = match (self.iops, self.global_references) {
            (Some(iops), _) => iops,
            (None, references) => ramp::iops_of_references(references.unwrap_or_default()),
        };
        if !(1..=IOPS_MAX).contains(&iops) {
            bail!("--iops, or what --global-references are: must be from 1 to {IOPS_MAX}, got {iops}");
        }
        self.used_space.map_or(Ok(()), |used| must_have_a_floor(iops, used))?;
        let iops = iops as f64;
        let free = f64::from(self.headroom) / 100.0;
        let need = Need {
            iops,
            instances: self.instances,
            most: 1.0 - free,
            most_one_down: 1.0,
            response: [self.read_ms, self.write_ms].map(|ms| 1e-3 * ms),
            growth: f64::from(self.growth) / 100.0,
            years: self.years,
            spread: self.used_space,
            constants: Constants::default(),
        };
        let candidate = |(name, device, price): &Offer| {
            let array = array_of(device).map_err(|error| of_array(name, &error))?;
            Ok(Candidate { name: name.clone(), array, price: *price })
        };
        let candidates = arrays.iter().map(candidate).collect::<Result<Vec<_>>>()?;
        let mut sized = size(&need, &candidates);
        let stop = interrupt::watch()?;
        played(&need, &candidates, &mut sized, |play: Play| {
            let _shown = Shown::new(&format!("playing a write cycle on {}", play.name));
            cycle::play(&need, &play, &stop).with_context(|| format!("--array {}", play.name))
        })?;
        terminal::print(&size_text(&need, &sized));
        let page = write(&self.out, size_page(&need, &sized))?;
        terminal::line(&format!("\npage      {}", page.display()));
        Ok(if choice(&need, &sized).is_some() { Answer::Yes } else { Answer::No })
    }

    /// Name, device and price of each array, with all variations.
    fn arrays(&self) -> Result<Vec<Offer>> {
        let mut arrays = self.named()?;
        if let Some(name) = twice(arrays.iter().map(|(name, ..)| name)) {
            bail!("--array {name}: is given twice; once will do");
        }
        let places: Vec<String> = self.ranges.iter().map(|range| format!("{}.{}", range.stage, range.key)).collect();
        if let Some(place) = twice(places.iter()) {
            bail!("--vary {place}: is given twice; write all of its values behind one another, {place}=A,B");
        }
        for Range { stage, key, values } in &self.ranges {
            if let Some(value) = twice(values.iter()) {
                bail!("--vary {stage}.{key}: has {value} twice; once will do");
            }
            let has = |device: &Device| device.stages.iter().any(|of| of.kind == stage);
            if !arrays.iter().any(|(_, device, _)| has(device)) {
                bail!("--vary {stage}.{key}: no array that is looked at has a stage of this kind");
            }
            for (name, device, _) in arrays.clone().iter().filter(|(_, device, _)| has(device)) {
                for value in values {
                    let varied = device.with(stage, key, value).map_err(|rule| anyhow!("--vary {rule}"))?;
                    array_of(&varied).with_context(|| format!("--vary {stage}.{key}={value}: {name}"))?;
                    arrays.push((format!("{name} {key}={value}"), varied, None));
                }
            }
            if arrays.len() > ARRAYS_MAX {
                bail!(
                    "--vary: at most {ARRAYS_MAX} arrays are looked at, got {} and more; give fewer values",
                    arrays.len()
                );
            }
        }
        Ok(arrays)
    }

    /// Name, device and price of each named array; by default the arrays of the list that have
    /// stages.
    fn named(&self) -> Result<Vec<Offer>> {
        let one = |given: &String| {
            let (name, price) = match given.rsplit_once('=') {
                Some((name, price)) => match price.parse::<f64>() {
                    Ok(price) if price >= 0.0 && price.is_finite() => (name, Some(price)),
                    _ => bail!("--array {given}: the price must be a number from 0 on, got {price:?}"),
                },
                None => (given.as_str(), None),
            };
            Ok((name.to_string(), catalogue::array("--array", name)?, price))
        };
        if self.arrays.is_empty() {
            let all = catalogue::names();
            return all
                .iter()
                .map(one)
                .filter(|one| !matches!(one, Ok((_, device, _)) if device.kind != "array"))
                .collect();
        }
        self.arrays.iter().map(one).collect()
    }
}

/// The error with the name of the array that it is about.
fn of_array(name: &str, error: &anyhow::Error) -> anyhow::Error {
    let said = format!("{error:#}");
    anyhow!("--array {name}: {}", said.strip_prefix("--array: ").unwrap_or(&said))
}

/// Refuses what `seawall advise` refuses: a space of which no policy's floor is enough.
fn must_have_a_floor(iops: u64, used: Bytes) -> Result<()> {
    let constants = Constants::default();
    let advice = Advice::on(PolicyNeed { iops, used, cycle_limit: constants.cycle_limit(), volumes: 1 })?;
    for line in advice.safe.commands("policy", "svm", None) {
        ontap::parse(&line).with_context(|| format!("--used-space: too small for {iops} IOPS; the line {line:?}"))?;
    }
    Ok(())
}

/// A line on the terminal's standard error for as long as something takes.
struct Shown {
    columns: usize,
}

impl Shown {
    fn new(text: &str) -> Shown {
        let is_terminal = stderr().is_terminal();
        let text = fit(text, 79);
        // A terminal that is gone is no reason to stop.
        let _ = if is_terminal { write!(stderr(), "{text}\r") } else { Ok(()) };
        Shown { columns: if is_terminal { text.chars().count() } else { 0 } }
    }
}

impl Drop for Shown {
    fn drop(&mut self) {
        let _ = if self.columns > 0 { write!(stderr(), "{:1$}\r", "", self.columns) } else { Ok(()) };
    }
}

/// The first word that occurs twice.
fn twice<'a>(words: impl Iterator<Item = &'a String>) -> Option<&'a String> {
    let mut seen = HashSet::new();
    words.into_iter().find(|word| !seen.insert(*word))
}

fn write(out: &Path, page: Page) -> Result<PathBuf> {
    let now = now_unix_ms();
    let facts = report::text::facts(now, &machine::look(None, "computed"));
    let page = Page { facts, version: env!("CARGO_PKG_VERSION").into(), ..page };
    write_page(out, &format!("size-{}", stamp(now)), &page)
}

/// `controller.cores=16,32`
fn range(given: &str) -> Result<Range, String> {
    let split = || {
        let (place, values) = given.split_once('=')?;
        let (stage, key) = place.split_once('.')?;
        let values: Vec<String> = values.split(',').map(str::to_string).collect();
        let all = [stage, key].into_iter().chain(values.iter().map(String::as_str));
        all.clone().all(|word| !word.is_empty()).then(|| Range {
            stage: stage.into(),
            key: key.into(),
            values: values.clone(),
        })
    };
    split().ok_or_else(|| "must be a stage, a key and its values, such as controller.cores=16,32".into())
}

/// `0.5`
fn milliseconds(given: &str) -> Result<f64, String> {
    let ms = given.parse::<f64>().ok().filter(|ms| (0.001..=100_000.0).contains(ms));
    ms.ok_or_else(|| "must be a number of milliseconds from 0.001 to 100000".into())
}
