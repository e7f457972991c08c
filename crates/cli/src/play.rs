//! Plays a plan and judges it: the common part of `demo`, `run` and `simulate`.

mod filling;
mod quiet;
mod reading;

pub(crate) use filling::Filling;
pub(crate) use quiet::quietly;
use reading::{read, scaled, sized};

use crate::dataset::Filling as _;
use crate::live::Stream;
use crate::memory::{Keeping, Kept, Memory};
use crate::outputs::check_out;
use crate::watch::{REPORT_COLUMNS, Seen, Watch, paint};
use crate::workspace::Workspace;
use crate::{Answer, beside, date, hosts, interrupt, machine, memory, terminal};
use anyhow::{Context as _, Result, bail};
use block::{Bytes, Span};
use engine::{Conductor, Stage};
use report::{Page, Standing, text};
use stage::real::Real;
use stage::simulated::{Simulated, idle_service};
use stage::{Elsewhere, Places, alone, beyond, first_there, silent, space_needed};
use stats::run::{self, Identity, Run};
use stats::{Outcome, Recording, Scale, Verdict};
use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};
use workload::Plan;
use workload::plan::{DatabasePlan, Device, HostsPlan, PHASE_SECONDS, PlanUnits, Volume, Workload, parse_space};

/// The options of all commands that play a plan.
#[derive(clap::Args, Clone, Debug)]
pub struct Options {
    /// Length of every phase that has none of its own in the plan [default: the plan's]
    #[arg(long, value_name = "SECONDS", value_parser = seconds)]
    pub(crate) phase_seconds: Option<u64>,
    /// Multiply the plan's depths, rates and limits by this; 1 runs the published figures
    /// [default: as measured before the run, 1 in a simulation]
    #[arg(long, value_name = "FACTOR", value_parser = factor)]
    pub(crate) scale: Option<f64>,
    /// The folder for the files of the run: a page, a picture and a CSV file
    #[arg(long, value_name = "DIR", default_value = ".")]
    pub(crate) out: PathBuf,
    /// Size of every volume that has none in the plan [default: 512MiB]
    #[arg(long, value_name = "SIZE", value_parser = size)]
    pub(crate) size: Option<Bytes>,
    /// Print only the result, without a live view
    #[arg(short, long)]
    quiet: bool,
    /// The command, and where the run is kept.
    #[arg(skip)]
    pub(crate) keeping: (&'static str, Memory),
    /// The seed that replaces the plan's.
    #[arg(skip)]
    pub(crate) seed: Option<u64>,
    /// The simulated device that replaces the plan's.
    #[arg(skip)]
    pub(crate) device: Option<Device>,
}

impl Options {
    /// The options for the command `tool`, whose runs `memory` keeps.
    pub(crate) fn kept_by(self, tool: &'static str, memory: &Memory) -> Options {
        Options { keeping: (tool, memory.clone()), ..self }
    }

    /// The size of a volume without one in the plan.
    pub(crate) fn volume_size(&self) -> Bytes {
        self.size.unwrap_or(VOLUME_SIZE)
    }

    /// The option that sets the size of a volume, if the plan does not.
    pub(crate) fn origin(&self, volume: &Volume) -> Option<String> {
        let default = if self.size.is_none() { " (the default)" } else { "" };
        volume.size.is_none().then(|| format!("--size {}{default}", self.volume_size()))
    }

    /// The options for a run that loads these paths.
    pub(crate) fn loading<'p>(&self, paths: impl IntoIterator<Item = &'p Path>) -> Options {
        let (tool, memory) = &self.keeping;
        Options { keeping: (tool, memory.loading(paths)), ..self.clone() }
    }
}

/// More options of a run on real storage.
#[derive(clap::Args, Clone, Debug)]
pub struct RealOptions {
    /// The folder to create for the pool [default: a new one in the current folder]
    #[arg(long, value_name = "DIR")]
    pub(crate) dir: Option<PathBuf>,
    /// Keep the pool at the end, for `seawall serve`
    #[arg(long)]
    pub(crate) keep: bool,
    /// Use threads for I/O and not io_uring
    #[arg(long)]
    pub(crate) no_io_uring: bool,
}

/// The default size of a volume.
const VOLUME_SIZE: Bytes = Bytes::mib(512);
/// How long the storage is measured before a run, after a second of settling.
const MEASURE: Span = Span::from_secs(3);
/// How long the latency of the idle device is measured, with one request at a time.
const MEASURE_IDLE: Span = Span::from_millis(500);

/// The time in milliseconds since 1970, read once for each run.
pub(crate) fn now_unix_ms() -> u64 {
    date::since_1970().as_millis() as u64
}

/// The text of a plan's file.
///
/// # Errors
/// It cannot be read, is not text, or is for another command.
pub fn text_of(path: &Path) -> Result<String> {
    let name = path.display();
    let bytes = std::fs::read(path).with_context(|| format!("PLAN {name}: cannot be read"))?;
    let text = String::from_utf8(bytes).ok().with_context(|| format!("PLAN {name}: is no text; name a TOML file"))?;
    if tiers::List::is_meant(&text) {
        bail!("PLAN {name}: is a list of storage tiers and no plan; show it with: seawall tiers show {name}");
    }
    Ok(text)
}

/// Plays a plan on real storage, with the places of `elsewhere` for its volumes.
pub fn on_real_storage(
    text: &str,
    file: &str,
    options: &Options,
    real: &RealOptions,
    elsewhere: &Elsewhere<'_>,
) -> Result<Answer> {
    if HostsPlan::is_meant(text) {
        return hosts::on_real_storage(text, file, options, real);
    }
    if DatabasePlan::is_meant(text) {
        return beside::on_real_storage(text, file, options, real);
    }
    let started = now_unix_ms();
    let mut plan = read(text, file, options)?;
    elsewhere.change(&mut plan)?;
    let places = Places::ask(&mut plan, elsewhere)?;
    elsewhere.consent.idle(&places.named(), &[]).iter().for_each(|line| terminal::complain(&format!("note: {line}")));
    let plan = sized(plan, options, elsewhere)?;
    places.check_loads(&plan)?;
    let factor_given = options.scale.or(plan.published_iops.is_none().then_some(1.0));
    let stop = interrupt::watch()?;
    check_out(&options.out)?;
    let folder = real.dir.clone().unwrap_or_else(|| format!("seawall-pool-{}", stamp(started)).into());
    let needed = space_needed(&plan);
    let make = || Workspace::make(folder, Bytes(needed), real.keep);
    let workspace = (!places.are_all()).then(make).transpose()?;
    let pool = workspace.as_ref().map(Workspace::path);
    say(options, &format!("{}\n{}\n", plan.title, plan.about));
    places.lay_out(&plan, |file| say(options, &format!("laying out {file}")), &mut || stop.is_asked())?;
    let filling = pool.map(|pool| Filling::new(options, pool, needed, stop.clone()));
    let mut stage = Real::start(&plan, places.clone(), pool, real.no_io_uring, |done, _| {
        filling.iter().for_each(|filling| filling.written(done));
        !stop.is_asked()
    })?;
    filling.iter().for_each(Filling::end);
    let backend = stage.backend().to_owned();
    say(options, &format!("I/O: {backend}\n"));
    let (scaling, idle) = measured(&mut stage, &plan, factor_given, options)?;
    if stop.is_asked() {
        bail!("stopped before the first phase; nothing was measured");
    }
    let (plan, commands) = scaled(&plan, scaling.factor)?;
    stage.limit_link(&plan)?;
    let run = Run {
        machine: machine::look(pool.or(places.paths().next()), &backend),
        scale: plan.published_iops.map(|_| scaling),
        notes: places.mounts(&plan),
        ..begun(&plan, started, false, options)
    };
    let course = Course { places: places.loaded(&plan), commands, idle, asked: Vec::new() };
    let options = &options.loading(pool.into_iter().chain(places.paths()));
    let result = play(&plan, course, run, &mut stage, stop, options);
    drop(stage);
    if let Some(pool) = pool.filter(|_| real.keep) {
        say(options, &format!("pool kept: {}\n", pool.display()));
    }
    drop(workspace);
    result
}

/// Plays a plan in virtual time.
pub fn simulated(text: &str, file: &str, options: &Options) -> Result<Answer> {
    if HostsPlan::is_meant(text) {
        return hosts::simulated(text, file, options);
    }
    if DatabasePlan::is_meant(text) {
        return beside::simulated(text, file, options);
    }
    let started = now_unix_ms();
    let plan = sized(read(text, file, options)?, options, &Elsewhere::default())?;
    let stop = interrupt::watch()?;
    check_out(&options.out)?;
    // The device of a plan has the published capacity, so scaling is only on request.
    let factor = options.scale.unwrap_or(1.0);
    let (plan, commands) = scaled(&plan, factor)?;
    let published = plan.published_iops.map_or(0.0, |iops| iops.0 as f64);
    let mut stage = Simulated::start(&plan)?.stopped_by(stop.question());
    say(options, &format!("{}\n{}\n", plan.title, plan.about));
    if let Some(device) = &plan.device {
        say(options, &format!("simulated device: {device}\n"));
    }
    let run = Run {
        machine: machine::look(None, "virtual time"),
        scale: (factor != 1.0).then_some(Scale { factor, published_iops: published, measured_iops: None }),
        ..begun(&plan, started, true, options)
    };
    // It is over too soon for a live view.
    let options = Options { quiet: true, ..options.clone() };
    let idle = idle_service(&plan, stop.question())?;
    if stop.is_asked() {
        bail!("stopped before the first phase; nothing was measured");
    }
    let asked = beyond::asked(&plan)?;
    let course = Course { places: Places::default().loaded(&plan), commands, idle, asked };
    play(&plan, course, run, &mut stage, stop, &options)
}

/// Measures the storage under the plan's first load, and the idle device; prints the resulting
/// scale.
fn measured(stage: &mut Real, plan: &Plan, given: Option<f64>, options: &Options) -> Result<(Scale, Span)> {
    let published = plan.published_iops.map_or(0.0, |iops| iops.0 as f64);
    let first = first_there(plan);
    let alone = plan.workloads.iter().enumerate().map(|(index, load)| match first {
        Some(first) if first == index => alone(&load.spec),
        _ => silent(&load.spec),
    });
    let (_, idle) = stage.measure(plan, &alone.collect::<Vec<_>>(), MEASURE_IDLE)?;
    let (factor, measured) = match given {
        Some(factor) => (factor, None),
        None => {
            say(options, "measuring what this machine can do …\n");
            // Without the pace of the clients, which is scaled with the other figures.
            let unbound = plan.phases[0].specs.iter().map(|spec| workload::Spec { pace: None, ..spec.clone() });
            let (iops, _) = stage.measure(plan, &unbound.collect::<Vec<_>>(), MEASURE)?;
            if iops < 1.0 {
                bail!("the storage did nothing for {} s; is the disk stuck?", MEASURE.as_secs_f64());
            }
            // Three digits are enough, and keep the scaled figures readable.
            (plan.scale_most.unwrap_or(f64::INFINITY).min(rounded(iops / published)), Some(iops))
        }
    };
    let scaling = Scale { factor, published_iops: published, measured_iops: measured };
    // A plan without published figures has nothing to compare with.
    if let Some(line) = plan.published_iops.and_then(|_| text::scale(Some(scaling))) {
        say(options, &format!("{line}\n"));
    }
    Ok((scaling, idle))
}

/// Rounds to three significant digits.
fn rounded(factor: f64) -> f64 {
    let digits = 10f64.powf(2.0 - factor.log10().floor());
    (factor * digits).round() / digits
}

/// A plan's run before its first phase.
fn begun(plan: &Plan, started: u64, simulated: bool, options: &Options) -> Run {
    let identity = memory::identity(options.keeping.0, plan.title.clone(), started);
    Run { identity: Identity { text: plan.text.clone(), seed: plan.seed, simulated, ..identity }, ..Run::default() }
}

/// A plan's run on its stage.
struct Course {
    /// The storage of each workload: the path of a LUN, or a place as it was named.
    places: Vec<run::RunPlace>,
    /// The commands of each phase as they will be run.
    commands: Vec<Vec<String>>,
    /// The latency of the idle device.
    idle: Span,
    /// What each phase asks of a simulated device.
    asked: Vec<beyond::Asked>,
}

/// Plays the phases, judges, prints and keeps the result.
fn play(
    plan: &Plan,
    course: Course,
    run: Run,
    stage: &mut dyn Stage,
    stop: interrupt::Stop,
    options: &Options,
) -> Result<Answer> {
    let workloads: Vec<(String, String)> =
        plan.workloads.iter().map(|load| (load.name.clone(), volume_names(plan, load))).collect();
    let mut watch = Watch::new(stop, &plan.title, &workloads, options.quiet);
    let mut kept = options.keeping.1.begin(run.clone());
    let seen = Seen { watch: &mut watch, phases: plan.phases.len() };
    let mut keeping = Keeping { watch: seen, kept: &mut kept };
    let conductor = Conductor::new(plan, stage, &mut keeping, course.places, course.idle);
    let (mut run, played) = conductor.play(course.commands, run);
    watch.finish();
    if run.points.is_empty() {
        kept.forget();
        played?;
        bail!("stopped before the first phase");
    }
    run.host.clone_from(kept.host());
    let recording = memory::by_minutes(&mut run).unwrap_or_else(|| run.recording());
    run.notes.extend(beyond::notes(plan, &course.asked, &recording));
    run.verdicts = plan.criteria.iter().map(|criterion| criterion.judge(&recording)).collect();
    let recording = Recording { verdicts: run.verdicts.clone(), notes: run.notes.clone(), ..recording };
    terminal::print(&format!("\n{}", report::table::render(&recording, paint(Stream::Out))));
    let files = keep(run, &recording, kept, options)?;
    terminal::line(&format!("\n{}", files.join("\n")));
    played.context("the run ended early; what was measured so far is kept")?;
    if recording.origin.cut_short {
        const STOPPED: &str = "stopped by hand; what was measured so far is kept, marked as cut short";
        // What did not hold before that did not hold.
        if Standing::of(&recording.verdicts).failed == 0 {
            bail!(STOPPED);
        }
        terminal::complain(STOPPED);
    }
    answer(&recording.verdicts)
}

/// The answer is no if a criterion failed. A criterion that cannot be judged is neither a failure
/// of the storage nor a pass.
pub(crate) fn answer(verdicts: &[Verdict]) -> Result<Answer> {
    match Standing::of(verdicts).outcome() {
        Some(Outcome::Fail) => Ok(Answer::No),
        Some(Outcome::CannotSay) => {
            let unsaid = verdicts.iter().find(|verdict| verdict.outcome == Outcome::CannotSay);
            bail!("cannot say: {}", unsaid.map_or("", |verdict| verdict.because.as_str()))
        }
        Some(Outcome::Pass) | None => Ok(Answer::Yes),
    }
}

/// The volumes of a workload in the live view.
fn volume_names(plan: &Plan, load: &Workload) -> String {
    let first = &plan.volumes[load.volumes[0]].name;
    if load.volumes.len() == 1 { first.clone() } else { format!("{first} …") }
}

/// Writes the results; returns a line for each file.
fn keep(run: Run, recording: &Recording, kept: Kept, options: &Options) -> Result<Vec<String>> {
    let database = in_memory(kept.end(run));
    let out = &options.out;
    std::fs::create_dir_all(out).with_context(|| format!("--out {}: make the folder", out.display()))?;
    let name = free_name(out, &stamp(recording.origin.started_unix_ms), "csv");
    let figures = out.join(format!("{name}.csv"));
    let (page, picture) = (out.join(format!("{name}.html")), out.join(format!("{name}.svg")));
    let mut csv = BufWriter::new(File::create(&figures).with_context(|| format!("{}", figures.display()))?);
    report::csv::write(recording, &mut csv)?;
    csv.flush()?;
    std::fs::write(&page, report::run_page(&[recording]).render()).with_context(|| format!("{}", page.display()))?;
    std::fs::write(&picture, report::picture::render(recording)).with_context(|| format!("{}", picture.display()))?;
    let mut lines = vec![
        format!("page      {}", page.display()),
        format!("picture   {}", picture.display()),
        format!("figures   {}", figures.display()),
    ];
    lines.extend(database);
    Ok(lines)
}

/// Writes a page into the folder of results under a new name and returns its path.
///
/// # Errors
/// It cannot be written.
pub(crate) fn write_page(out: &Path, stem: &str, page: &Page) -> Result<PathBuf> {
    std::fs::create_dir_all(out).with_context(|| format!("--out {}: make the folder", out.display()))?;
    let path = out.join(format!("{}.html", free_name(out, stem, "html")));
    std::fs::write(&path, page.render()).with_context(|| path.display().to_string())?;
    Ok(path)
}

/// The line that says where a run is kept.
pub(crate) fn in_memory(kept: Option<(PathBuf, i64)>) -> Option<String> {
    kept.map(|(file, number)| format!("database  {} (run {number})", file.display()))
}

/// A name that no results have yet; runs may start in the same second.
fn free_name(out: &Path, stamp: &str, ending: &str) -> String {
    let names = (1..).map(|number| match number {
        1 => format!("seawall-{stamp}"),
        number => format!("seawall-{stamp}-{number}"),
    });
    let is_free = |name: &String| !out.join(format!("{name}.{ending}")).exists();
    names.into_iter().find(is_free).unwrap_or_default()
}

/// `20261121-204500`, in UTC.
pub(crate) fn stamp(unix_ms: u64) -> String {
    block::date(unix_ms / 1000, "%Y%m%d-%H%M%S")
}

pub(crate) fn say(options: &Options, text: &str) {
    if options.quiet {
        return;
    }
    for line in text.lines() {
        // Lines that fit keep their columns.
        match text::width(line) <= REPORT_COLUMNS {
            true => terminal::line(line),
            false => text::wrap(line, REPORT_COLUMNS).iter().for_each(|part| terminal::line(part)),
        }
    }
}

fn seconds(given: &str) -> Result<u64, String> {
    match given.parse() {
        Ok(seconds) if PHASE_SECONDS.contains(&seconds) => Ok(seconds),
        _ => {
            let (least, most) = (PHASE_SECONDS.start(), PHASE_SECONDS.end());
            Err(format!("must be a whole number of seconds from {least} to {most}"))
        }
    }
}

fn factor(given: &str) -> Result<f64, String> {
    match given.parse::<f64>() {
        Ok(factor) if (0.0001..=10_000.0).contains(&factor) => Ok(factor),
        _ => Err("must be a number from 0.0001 to 10000".into()),
    }
}

/// Parses a size as in administrators' commands and plans: `1GB` is 10^9 bytes, rounded up to whole
/// blocks.
pub fn size(given: &str) -> Result<Bytes, String> {
    let size = parse_space(given, PlanUnits::Decimal).ok();
    let blocks = size.and_then(|size| size.0.checked_next_multiple_of(4096).map(Bytes));
    blocks.filter(|size| *size >= Bytes::mib(1)).ok_or_else(|| "must be a size such as 64MiB, at least 1 MiB".into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_factor_keeps_three_digits() {
        assert_eq!(rounded(3.38749), 3.39);
        assert_eq!(rounded(0.048_234), 0.0482);
        assert_eq!(rounded(12.345), 12.3);
        assert_eq!(rounded(1.0), 1.0);
    }

    #[test]
    fn a_stamp_is_a_file_name() {
        // 2026-11-21 20:45:00 UTC
        assert_eq!(stamp(1_795_293_900_000), "20261121-204500");
    }
}
