//! `seawall dgen`: directories, devices and NBD exports full of data for a ramp.

use crate::dataset::{self, Ask, Checked, Device, Filler, Filling, Found, Place};
use crate::live::{Live, Progress, Stream, Unit};
use crate::watch::REPORT_COLUMNS;
use crate::{Answer, interrupt, terminal};
use anyhow::{Context as _, Result, bail};
use block::Bytes;
use ramp::{Dataset, Recipe};
use report::text::{count, wrap};
use std::ffi::OsString;
use std::ops::RangeInclusive;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

/// Fill directories, devices and NBD exports with data for a ramp
///
/// A directory is filled until so many percent of its whole file system are in use, counting what
/// is there, never into the space that is kept for root; a device or an export until so many
/// percent of it hold data. A stopped filling goes on when the same command is given again. Every
/// block says what it is, so that --verify can check it.
#[derive(clap::Args)]
#[command(group(clap::ArgGroup::new("filled").args(["directory", "device"]).required(true).multiple(true)))]
pub struct Dgen {
    /// The classic program's name, as a command line copied whole begins with it
    #[arg(hide = true, value_parser = classic)]
    classic: Option<String>,
    /// Directory to fill, usually a mount point
    #[arg(long, value_name = "DIR")]
    directory: Option<PathBuf>,
    /// Device to fill, or an NBD export (nbd://HOST/NAME, nbd+unix:///NAME?socket=PATH); may be
    /// given again
    #[arg(long, value_name = "TARGET")]
    device: Vec<String>,
    /// This device may be overwritten, whatever it holds: a name, a pattern, or the folder of a
    /// file; may be given again
    #[arg(long, value_name = "NAME")]
    destroy_data: Vec<String>,
    /// This device may be written even while it is mounted, swapped to or held; may be given again
    #[arg(long, value_name = "NAME")]
    even_in_use: Vec<String>,
    /// Generators, each with a sub-directory of its own (dir01, dir02 …)
    /// [default: as the data has, or 2]; of several devices, how many are filled at the same time
    /// [default: all]
    #[arg(long, value_name = "N", value_parser = jobs)]
    jobs: Option<u32>,
    /// No progress bar and no summary
    #[arg(long)]
    quiet: bool,
    /// Percent of the whole file system in use at the end, what others have in it counted; or of
    /// the device
    #[arg(long, value_name = "P", default_value_t = 95, value_parser = percent)]
    pctfull: u32,
    /// Percent of the bytes that a compressor can save [default: as the data has, or 50]
    #[arg(long, value_name = "P", value_parser = share)]
    compress: Option<u32>,
    /// Percent of the blocks that are copies of others [default: as the data has, or 0]
    #[arg(long, value_name = "P", value_parser = share)]
    duplicates: Option<u32>,
    /// Seed of the data [default: as the data has; of new data one that follows from this host's
    /// name and the full path, so that no two places hold the same]
    #[arg(long, value_name = "N")]
    seed: Option<u64>,
    /// Check the data that is there and write nothing
    #[arg(long)]
    verify: bool,
    /// Fill the file system that holds /, too
    #[arg(long)]
    allow_root_filesystem: bool,
}

impl Dgen {
    pub fn run(self) -> Result<Answer> {
        let place = |given: &String| dataset::place("device", given);
        let places: Vec<Place> = self.device.iter().map(place).collect::<Result<_>>()?;
        if let Some((place, _)) = places
            .iter()
            .enumerate()
            .find_map(|(at, place)| places[..at].iter().find(|other| other.is_same(place)).map(|other| (place, other)))
        {
            bail!("--device: {place} is named twice; name each once");
        }
        if self.verify {
            return self.check(&places);
        }
        let paths = places.iter().filter_map(|place| match place {
            Place::Path(path) if path.exists() => Some(path),
            _ => None,
        });
        let _alone = paths.map(|path| dataset::only_writer(path, "fill it")).collect::<Result<Vec<_>>>()?;
        // Everything is looked at before anything is written.
        let ask = self.ask();
        ask.consent.idle(&places, &[]).iter().for_each(|line| terminal::complain(&format!("note: {line}")));
        let prepare = |(at, place)| Filler::prepare(place, at as u32 + 1, &ask);
        let fillers: Vec<Filler> = places.iter().enumerate().map(prepare).collect::<Result<_>>()?;
        let stop = interrupt::watch()?;
        if let Some(folder) = &self.directory {
            self.fill_directory(folder, &stop)?;
        }
        self.fill_devices(fillers, &stop)?;
        Ok(Answer::Yes)
    }

    fn ask(&self) -> Ask {
        Ask {
            seed: self.seed,
            compress: self.compress,
            duplicates: self.duplicates,
            percent: self.pctfull,
            consent: dataset::consent(&self.destroy_data, &self.even_in_use),
        }
    }

    fn fill_devices(&self, fillers: Vec<Filler>, stop: &interrupt::Stop) -> Result<()> {
        if fillers.is_empty() {
            return Ok(());
        }
        for filler in fillers.iter().filter(|filler| !filler.lost.is_empty()) {
            let Device { place, size, .. } = &filler.device;
            terminal::complain(&format!("note: overwriting {place} ({}): {}", Bytes(*size), filler.lost.join("; ")));
        }
        let missing = fillers.iter().map(Filler::missing).sum();
        let watch = Watch { bar: self.bar("filling", missing), stop: stop.clone() };
        let devices: Vec<Device> = fillers.iter().map(|filler| filler.device.clone()).collect();
        let at_once = self.jobs.map_or(devices.len(), |jobs| jobs as usize);
        let filled = dataset::fill_devices(fillers, at_once, &watch);
        let took = watch.bar.elapsed().as_secs_f64();
        watch.bar.clear();
        let written = Bytes(filled?);
        if stop.is_asked() {
            bail!("stopped after {written}; run the same command again to go on");
        }
        if !self.quiet {
            let lines = devices.iter().flat_map(|device| wrap(&said_of(device), REPORT_COLUMNS));
            lines.for_each(|line| terminal::line(&line));
            let rate = written.0 as f64 / 1e6 / took.max(1e-9);
            terminal::line(&format!("{written} written in {took:.3} s, {rate:.0} MB/s"));
        }
        Ok(())
    }

    fn fill_directory(&self, folder: &Path, stop: &interrupt::Stop) -> Result<()> {
        let about = directory(folder)?;
        let _alone = dataset::only_writer(folder, "fill it")?;
        let found = dataset::find(folder)?;
        if about.dev() == std::fs::metadata("/").context("/")?.dev() && !self.allow_root_filesystem {
            bail!(
                "--directory: {} is on the root file system, which a filling can take down with it; mount another one \
                 there, or insist with --allow-root-filesystem",
                folder.display()
            );
        }
        self.fill(folder, found.as_ref(), stop)
    }

    fn fill(&self, folder: &Path, found: Option<&Found>, stop: &interrupt::Stop) -> Result<()> {
        let dataset = self.dataset(folder, found)?;
        let ours = found.map_or(Bytes(0), Found::size);
        let room = dataset::room(folder)?;
        let plan = dataset.plan(room, ours.0, self.pctfull);
        let bytes = (plan.blocks_per_job * u64::from(dataset.jobs) * ramp::BLOCK).saturating_sub(ours.0);
        if plan.blocks_per_job == 0 {
            bail!(
                "--pctfull: must be more than what is in use already without data of dgen's, {:.1} % of {}, by a block a \
                 job, got {}; raise it or make room",
                100.0 * (room.total - room.free).saturating_sub(ours.0) as f64 / room.total.max(1) as f64,
                folder.display(),
                self.pctfull
            );
        }
        if room.total - room.free > plan.used_at_most {
            // A journal beside the data is enough for that. What is there stays.
            terminal::complain(&format!(
                "note: {:.1} % of {} are in use already; nothing was written, and nothing taken away",
                100.0 * (room.total - room.free) as f64 / room.total as f64,
                folder.display()
            ));
            return Ok(());
        }
        if plan.reserve_in_the_way {
            terminal::complain(&format!(
                "note: {} % would reach into the space kept for root; filling what is left",
                self.pctfull
            ));
        }
        if found.is_none() {
            let manifest = folder.join(Dataset::MANIFEST);
            std::fs::write(&manifest, dataset.manifest(&[])).with_context(|| manifest.display().to_string())?;
        }
        let watch = Watch { bar: self.bar("filling", bytes), stop: stop.clone() };
        let filled = dataset::fill(folder, &dataset, plan.blocks_per_job, plan.used_at_most, &watch);
        watch.bar.clear();
        let written = filled?;
        if stop.is_asked() {
            bail!("stopped after {}; run the same command again to go on", Bytes(written));
        }
        if !self.quiet {
            let summary = self.summary(folder, &dataset, Bytes(written))?;
            wrap(&summary, REPORT_COLUMNS).iter().for_each(|line| terminal::line(line));
        }
        Ok(())
    }

    fn summary(&self, folder: &Path, dataset: &Dataset, written: Bytes) -> Result<String> {
        let room = dataset::room(folder)?;
        let Recipe { seed, compress_percent, duplicate_percent } = dataset.recipe;
        Ok(format!(
            "{}: {written} written by {}, {:.3} % of {} in use; seed {seed}, {compress_percent} % compressible, \
             {duplicate_percent} % duplicates",
            folder.display(),
            count(dataset.jobs as usize, "job", "jobs"),
            100.0 * (room.total - room.free) as f64 / room.total as f64,
            Bytes(room.total),
        ))
    }

    /// What the data is to be: what it is, where there is some; what is asked must not contradict
    /// it.
    fn dataset(&self, folder: &Path, found: Option<&Found>) -> Result<Dataset> {
        let usual = Recipe::default();
        let Some(found) = found else {
            if let Some(job) = (1..=self.jobs.unwrap_or(2)).find(|job| folder.join(Dataset::folder(*job)).exists()) {
                let taken = folder.join(Dataset::folder(job));
                bail!("{}: is there already and seawall dgen did not make it; move it away", taken.display());
            }
            let recipe = Recipe {
                seed: self.seed.unwrap_or_else(|| dataset::seed_of(&Place::Path(folder.into()))),
                compress_percent: self.compress.unwrap_or(usual.compress_percent),
                duplicate_percent: self.duplicates.unwrap_or(usual.duplicate_percent),
            };
            return Ok(Dataset { recipe, jobs: self.jobs.unwrap_or(2) });
        };
        let Dataset { recipe, jobs } = found.dataset;
        let asked = [
            ("jobs", self.jobs.map(u64::from), u64::from(jobs)),
            ("seed", self.seed, recipe.seed),
            ("compress", self.compress.map(u64::from), u64::from(recipe.compress_percent)),
            ("duplicates", self.duplicates.map(u64::from), u64::from(recipe.duplicate_percent)),
        ];
        for (option, given, is) in asked {
            if let Some(given) = given.filter(|given| *given != is) {
                bail!(
                    "--{option}: the data in {} was begun with {is}, got {given}; leave the option out, or remove the data",
                    folder.display()
                );
            }
        }
        Ok(found.dataset)
    }

    fn check(&self, places: &[Place]) -> Result<Answer> {
        let found = match &self.directory {
            None => None,
            Some(folder) => {
                directory(folder)?;
                let Some(found) = dataset::find(folder)? else {
                    bail!("--verify: {} holds no data of seawall dgen; fill it first", folder.display());
                };
                Some(found)
            }
        };
        let device = |place: &Place| match Device::find(place)? {
            Some(device) if !matches!(place, Place::Nothing(_)) => Ok(device),
            _ => bail!("--verify: {place} holds no data of seawall dgen; fill it first"),
        };
        let devices: Vec<Device> = places.iter().map(device).collect::<Result<_>>()?;
        let bytes = found.as_ref().map_or(0, |found| found.size().0)
            + devices.iter().map(|device| device.bytes().0).sum::<u64>();
        let (bar, stop) = (self.bar("checking", bytes), interrupt::watch()?);
        let mut checked = Checked::default();
        let mut step = |bytes| {
            bar.add(bytes);
            !stop.is_asked()
        };
        if let Some(found) = &found {
            dataset::check(found, &mut checked, &mut step)?;
        }
        for device in &devices {
            dataset::check_device(device, &mut checked, &mut step)?;
        }
        bar.clear();
        let Checked { blocks, rewritten, wrong, missing, .. } = checked;
        if stop.is_asked() {
            bail!("stopped after {}, {wrong} of them wrong", count(blocks as usize, "block", "blocks"));
        }
        checked.first.iter().for_each(|line| terminal::line(line));
        let missing_too = if missing == 0 { String::new() } else { format!(", {missing} missing") };
        terminal::line(&format!(
            "{} read, {rewritten} written by cycles since, {wrong} wrong{missing_too}",
            count(blocks as usize, "block", "blocks")
        ));
        if found.as_ref().is_some_and(|found| found.noted.is_empty()) {
            terminal::complain("note: no filling has ended here yet, so blocks that are missing are not seen");
        }
        Ok(if wrong == 0 && missing == 0 { Answer::Yes } else { Answer::No })
    }

    fn bar(&self, doing: &str, bytes: u64) -> Progress {
        let folder = self.directory.iter().map(|folder| folder.display().to_string());
        let places: Vec<String> = folder.chain(self.device.iter().cloned()).collect();
        let live = Live::on(Stream::Err, self.quiet, format!("{doing} {}", places.join(", ")));
        Progress::new(live, bytes, Unit::Bytes)
    }
}

fn classic(word: &str) -> Result<String, String> {
    match word.ends_with("dgen.pl") {
        true => Ok(word.into()),
        false => Err("stands alone; options begin with --".into()),
    }
}

/// The classic options with one dash or a typographer's, as people copy them.
pub fn with_dashes(mut words: Vec<OsString>) -> Vec<OsString> {
    if words.get(1).is_some_and(|command| command == "dgen") {
        for word in &mut words[2..] {
            let Some(text) = word.to_str() else { continue };
            let name = text.trim_start_matches(ramp::DASHES);
            // A letter alone is an option of that kind, and a value may begin with a dash.
            if name.len() < text.len() && name.len() > 1 && name.starts_with(|first: char| first.is_ascii_lowercase()) {
                *word = format!("--{name}").into();
            }
        }
    }
    words
}

fn jobs(given: &str) -> Result<u32, String> {
    whole(given, 1..=9999)
}

fn percent(given: &str) -> Result<u32, String> {
    whole(given, 1..=100)
}

fn share(given: &str) -> Result<u32, String> {
    whole(given, 0..=95)
}

fn whole(given: &str, range: RangeInclusive<u32>) -> Result<u32, String> {
    let wrong = || format!("must be a whole number from {} to {}", range.start(), range.end());
    given.parse().ok().filter(|number| range.contains(number)).ok_or_else(wrong)
}

/// What the system says of a folder.
fn directory(folder: &Path) -> Result<std::fs::Metadata> {
    let about = std::fs::metadata(folder).with_context(|| format!("--directory {}", folder.display()))?;
    if !about.is_dir() {
        bail!("--directory: {} is no directory; name the mount point to fill", folder.display());
    }
    Ok(about)
}

/// A filled device in a line.
fn said_of(device: &Device) -> String {
    let Device { place, label, size } = device;
    let Recipe { seed, compress_percent, duplicate_percent } = label.recipe;
    let data = Bytes(label.blocks * ramp::BLOCK);
    format!(
        "{place}: {data}, {:.1} % of {}; seed {seed}, {compress_percent} % compressible, {duplicate_percent} % \
         duplicates",
        100.0 * data.0 as f64 / *size as f64,
        Bytes(*size),
    )
}

struct Watch {
    bar: Progress,
    stop: interrupt::Stop,
}

impl Filling for Watch {
    fn written(&self, bytes: u64) {
        self.bar.set(bytes);
    }

    fn is_stopped(&self) -> bool {
        self.stop.is_asked()
    }
}
