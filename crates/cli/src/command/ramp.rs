//! `seawall ramp`: the write-cycle test of a database, run by run, and its verdict.

use crate::interrupt::Stop;
use crate::memory::{self, Kept, Memory};
use crate::play::{in_memory, now_unix_ms};
use crate::ramping::{
    OpenedStorage, Outputs, SimulatedStorage, Standing, Storage, Wanted, ask_to_stop, failed, must_be_a_folder,
    must_be_free, said,
};
use crate::{Answer, demand, interrupt, machine, terminal};
use anyhow::{Context as _, Result, anyhow, bail};
use block::{Bytes, Span, Time};
use engine::Scene;
use ramp::{Accounting, Criteria, Outcome, RampInvocation, RampLoad, RampRow, RampSettings, RunOutcome, RunSetup};
use report::Page;
use report::text::count;
use stats::run::{Point, Run, State};
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::mpsc::channel;
use std::time::Duration;
use workload::plan::Device;

/// Ramp a database's load run by run and judge its write cycles
///
/// Takes the classic options (--miniops, --maxiops, --numruns, --runtime, --wijfile, --system,
/// --comment …) with one dash or two, on directories, devices and NBD exports that seawall dgen
/// filled. --help lists all of them; docs/ramp.md says what is measured.
#[derive(clap::Args)]
#[command(disable_help_flag = true)]
pub struct Ramp {
    /// The options, as --help lists them
    #[arg(value_name = "OPTION", trailing_var_arg = true, allow_hyphen_values = true)]
    words: Vec<String>,
}

impl Ramp {
    pub fn run(self, memory: &Memory) -> Result<Answer> {
        let invocation = RampInvocation::parse(&self.words, &machine::host_name())?;
        let folder = Path::new(&invocation.output);
        if invocation.status {
            let (line, answer) = said(folder)?;
            terminal::line(&line);
            return Ok(answer);
        } else if invocation.stop {
            ask_to_stop(folder)?;
        } else if invocation.background {
            detach(&self.words, folder)?;
        }
        match &invocation.settings {
            Some(settings) if !invocation.background => {
                let wanted = Wanted::of(&invocation);
                ramp_up(&invocation, settings, memory, &|stop| {
                    Ok(Box::new(OpenedStorage::open(&wanted, settings, stop)?))
                })
            }
            None if invocation.help => {
                terminal::print(&ramp::help());
                Ok(Answer::Yes)
            }
            _ => Ok(Answer::Yes),
        }
    }
}

/// Runs a ramp in virtual time over a simulated device that holds `data`, whatever directories and
/// devices it names.
///
/// # Errors
/// Those of `seawall ramp`, and options that make no sense in virtual time.
pub fn simulate(words: &[String], device: &Device, data: Bytes, memory: &Memory) -> Result<Answer> {
    let invocation = RampInvocation::parse(words, &machine::host_name())?;
    let senseless = [
        ("--background", invocation.background),
        ("--status", invocation.status),
        ("--stop", invocation.stop),
        ("--page-cache", invocation.page_cache),
    ];
    if let Some((option, _)) = senseless.iter().find(|(_, asked)| *asked) {
        bail!("{option}: makes no sense in virtual time; leave it out");
    }
    match &invocation.settings {
        Some(settings) => {
            // Every row says so, because rows are copied elsewhere.
            let system = format!("{} (simulated)", settings.system);
            let settings = &RampSettings { system, ..settings.clone() };
            ramp_up(&invocation, settings, memory, &|_| Ok(Box::new(SimulatedStorage::new(device, data, settings)?)))
        }
        None => {
            terminal::print(&ramp::help());
            Ok(Answer::Yes)
        }
    }
}

/// How often a ramp in the background is checked for having begun.
const LOOK: Duration = Duration::from_millis(20);

/// Starts the same ramp without a terminal, and waits until it has begun.
fn detach(words: &[String], folder: &Path) -> Result<()> {
    must_be_a_folder(folder)?;
    must_be_free(folder)?;
    std::fs::create_dir_all(folder).with_context(|| format!("--output {}", folder.display()))?;
    let path = folder.join("ramp.log");
    let log = std::fs::File::create(&path).with_context(|| path.display().to_string())?;
    let words = words.iter().filter(|word| word.trim_start_matches(ramp::DASHES) != "background");
    let mut child = Command::new(std::env::current_exe().context("this program's own file")?)
        .arg("ramp")
        .args(words)
        .stdin(Stdio::null())
        .stdout(log.try_clone().with_context(|| path.display().to_string())?)
        .stderr(log)
        // Not reached by the terminal's signals.
        .process_group(0)
        .spawn()
        .context("start the ramp in the background")?;
    let process = child.id();
    let (sender, ended) = channel();
    std::thread::spawn(move || sender.send(child.wait()));
    // Errors at its start are reported here, at the terminal.
    while !Standing::is_begun(folder, process) {
        let Ok(status) = ended.recv_timeout(LOOK) else { continue };
        let status = status.context("the ramp in the background")?;
        let said = std::fs::read_to_string(&path).unwrap_or_default();
        match said.lines().last() {
            // It was so short that it is already over.
            _ if matches!(status.code(), Some(0 | 1)) => break,
            Some(last) => bail!("{}", last.trim_start_matches("seawall: ")),
            None => bail!("the ramp in the background ended at once and said nothing ({status})"),
        }
    }
    terminal::line(&format!(
        "process {} in the background, it writes to {}; --status and --stop with --output {} ask it",
        process,
        path.display(),
        folder.display()
    ));
    Ok(())
}

fn ramp_up(
    invocation: &RampInvocation,
    settings: &RampSettings,
    memory: &Memory,
    open: &dyn Fn(&Stop) -> Result<Box<dyn Storage>>,
) -> Result<Answer> {
    let criteria = criteria(&invocation.criteria)?;
    let folder = Path::new(&invocation.output);
    must_be_a_folder(folder)?;
    must_be_free(folder)?;
    if let Some(path) = &invocation.results {
        can_keep(Path::new(path))?;
    }
    let stop = interrupt::watch()?;
    let storage = open(&stop)?;
    let outputs = Outputs::open(&invocation.output)?;
    let about_it = about(settings, &*storage).into_iter().chain(not_comparable(settings));
    outputs.about(&about_it.collect::<Vec<_>>())?;
    let standing = Standing::begin(outputs.folder(), stop, settings, invocation.quiet)?;
    notes(settings, &*storage).iter().for_each(|note| terminal::complain(&format!("note: {note}")));
    let started_unix_ms = now_unix_ms();
    let run = begun(settings, &*storage, started_unix_ms);
    let memory = memory.with_file(invocation.results.as_deref()).loading(storage.folder());
    let mut ramp = Ramping {
        settings,
        criteria,
        loads: settings.loads(),
        storage,
        outputs,
        standing,
        runs: Vec::new(),
        rows: Vec::new(),
        worst: None,
        backend: String::new(),
        started_unix_ms,
        kept: memory.begin(run.clone()),
    };
    let (run, played) = match ramp.warm_up() {
        Ok(()) => engine::play(&mut ramp, run),
        Err(error) => (cut_short(run), Err(error)),
    };
    if played.is_err() && !ramp.rows.is_empty() {
        let cut = format!("stopped in {}", ramp.name_of(ramp.rows.len()));
        if let Err(error) = ramp.page(&run, Some(&cut)) {
            terminal::complain(&crate::error_line::of(&error));
        }
    }
    let Ramping { mut standing, outputs, rows, worst, kept, .. } = ramp;
    standing.clear();
    let kept = kept.end(run);
    let verdict = verdict(&rows, worst);
    let ended = played.and_then(|()| ended(&outputs, &verdict, worst, kept));
    standing.end(&ended, &verdict);
    ended
}

/// A ramp in progress.
struct Ramping<'a> {
    settings: &'a RampSettings,
    criteria: Criteria,
    /// The load of each run.
    loads: Vec<RampLoad>,
    storage: Box<dyn Storage>,
    outputs: Outputs,
    standing: Standing,
    runs: Vec<RunOutcome>,
    rows: Vec<RampRow>,
    worst: Option<Outcome>,
    backend: String,
    started_unix_ms: u64,
    kept: Kept,
}

impl Scene for Ramping<'_> {
    type Error = anyhow::Error;

    /// Time of the runs only; pauses between them are not part of the ramp.
    fn now(&self) -> Time {
        self.runs.iter().fold(Time::ZERO, |time, run| time + run.elapsed)
    }

    fn next(&mut self, run: &Run) -> Option<Point> {
        self.loads.get(run.points.len()).map(|load| ramp::kept::point(load.target))
    }

    fn play(&mut self, start: Time, run: &mut Run) -> Result<bool> {
        let index = run.points.len() - 1;
        let number = self.outputs.first_run + index as u64;
        let outcome = self.one(index + 1, &RunSetup::of(self.settings, number), number, &self.name_of(index))?;
        self.standing.clear();
        run.points[index].start = self.now().since(start);
        ramp::kept::add(run, ACTOR, &outcome);
        run.machine = machine::look(self.storage.folder(), &self.backend);
        self.keep(number, outcome, run)?;
        Ok(true)
    }
}

/// The database is the only actor.
const ACTOR: u32 = 0;

impl Ramping<'_> {
    /// The name of a run, counted from 0, as the view and the status have it.
    fn name_of(&self, index: usize) -> String {
        format!("run {} of {}", index + 1, self.loads.len())
    }

    fn warm_up(&mut self) -> Result<()> {
        if self.settings.warm_up {
            self.one(0, &RunSetup::warm_up(self.settings), self.outputs.first_run, "the warm-up")?;
        }
        self.kept.begins();
        Ok(())
    }

    /// Plays one run, counted from 1, or the warm-up; an error if it did not reach its end.
    fn one(&mut self, count: usize, setup: &RunSetup, run: u64, name: &str) -> Result<RunOutcome> {
        let (load, constants) = (&self.loads[count.saturating_sub(1)], &self.settings.constants);
        let standing = &mut self.standing;
        let mut watch = |progress: &ramp::Progress| standing.show(count, load, setup.runtime, constants, progress);
        let played = self.storage.play(self.settings, load, setup, run, &mut watch);
        let (outcome, backend) = played.with_context(|| format!("{name}: rows of earlier runs are kept"))?;
        self.backend = backend;
        if let Some(failure) = failed(&outcome, &*self.storage) {
            bail!("{name}: {failure}; the rows of earlier runs are kept");
        }
        if outcome.cut_short {
            bail!("{name}: stopped before its end; the rows of earlier runs are kept");
        }
        Ok(outcome)
    }

    /// Adds a run to the tables, prints its result, and keeps it.
    fn keep(&mut self, number: u64, outcome: RunOutcome, run: &mut Run) -> Result<()> {
        let mut row = RampRow::of(number, &outcome, self.settings);
        let (verdict, judgements) = self.criteria.judge(&row, &self.settings.constants);
        row.verdict = verdict.to_string();
        self.outputs.add(&row, &outcome, self.settings.constants.cycle)?;
        self.worst = self.worst.max(Some(verdict));
        if self.rows.is_empty() {
            terminal::line(HEADS);
        }
        terminal::line(&line(&row));
        for judgement in judgements.iter().filter(|judgement| judgement.outcome != Outcome::Pass) {
            terminal::line(&format!("  {}: {}", judgement.outcome, judgement.because));
        }
        let lost = outcome.losses.lines();
        remarks(&row).iter().chain(&lost).for_each(|remark| terminal::line(&format!("  {remark}")));
        run.verdicts.extend(judgements.into_iter().map(|judgement| stats::Verdict {
            question: format!("run {} at {} IOPS: {}", row.run, row.target, judgement.name),
            outcome: judgement.outcome,
            because: judgement.because,
            measured: judgement.measured,
        }));
        self.runs.push(outcome);
        self.rows.push(row);
        self.kept.so_far(run.clone());
        self.page(run, None)
    }

    /// Writes the page of the runs so far; `cut` says where a ramp ended early.
    fn page(&self, run: &Run, cut: Option<&str>) -> Result<()> {
        let facts = report::text::facts(self.started_unix_ms, &run.machine);
        let page = ramp::page(self.settings, &self.rows, &self.runs);
        let mut page = Page { facts, version: env!("CARGO_PKG_VERSION").into(), ..page };
        cut.iter().for_each(|where_| page.cut_short(where_));
        self.outputs.page(&page.render())
    }
}

/// A ramp that ended before its first run.
fn cut_short(mut run: Run) -> Run {
    run.identity.state = State::CutShort;
    run
}

/// Prints the overall verdict and the names of the files.
fn ended(outputs: &Outputs, verdict: &str, worst: Option<Outcome>, kept: Option<(PathBuf, i64)>) -> Result<Answer> {
    terminal::line(&format!("\nverdict   {verdict}"));
    for (name, file) in [("summary", "summary.csv"), ("page", "page.html")] {
        terminal::line(&format!("{name:<9} {}", outputs.folder().join(file).display()));
    }
    in_memory(kept).iter().for_each(|line| terminal::line(line));
    match worst {
        Some(Outcome::Pass) => Ok(Answer::Yes),
        Some(Outcome::Fail) => Ok(Answer::No),
        Some(Outcome::CannotSay) | None => {
            bail!("cannot say: a run saw too little or was not the load that was asked; its line tells why")
        }
    }
}

/// The verdict on all runs together.
fn verdict(rows: &[RampRow], worst: Option<Outcome>) -> String {
    let (runs, passed) = (rows.len(), rows.iter().filter(|row| row.verdict == "pass").count());
    let verdict = worst.map_or("cannot say".into(), |worst| worst.to_string());
    format!("{verdict}, {passed} of {} passed", count(runs, "run", "runs"))
}

/// The ramp before its first run, as a kept run.
fn begun(settings: &RampSettings, storage: &dyn Storage, started_unix_ms: u64) -> Run {
    let ladder = format!("ramp {} to {} IOPS", settings.ladder.min, settings.ladder.max);
    let title = if settings.comment.is_empty() { ladder } else { format!("{ladder}: {}", settings.comment) };
    let mut run = ramp::kept::begun(&settings.system, &storage.names());
    run.identity = memory::identity("ramp", title, started_unix_ms);
    run.identity.seed = settings.seed;
    run.identity.simulated = storage.is_simulated();
    run.machine = machine::look(storage.folder(), "");
    let constants = &settings.constants;
    run.set(None, "cycle_s", constants.cycle.as_secs_f64());
    run.set(None, "runtime_s", settings.runtime.as_secs_f64());
    run.set(None, "readers", f64::from(constants.readers));
    run.set(None, "writers", f64::from(constants.writers));
    run.notes.extend(not_comparable(settings));
    run.set(None, "used_bytes", storage.size().0 as f64);
    run
}

/// The column heads of [`line()`], in two lines.
const HEADS: &str = concat!(
    "run  asked   read  write  cycle    WIJ  write   read    p99\n",
    "      IOPS   IOPS   IOPS      s      s     ms     ms     ms"
);

/// A run as a line of 80 characters.
fn line(row: &RampRow) -> String {
    let known = |figure: Option<f64>| figure.map_or("-".to_owned(), four);
    let cycle = |length: Span| known(row.of_cycles(length).map(Span::as_secs_f64));
    let read = |latency: Span| known(row.of_reads(latency).map(Span::as_millis_f64));
    let stamp = if row.comparable { "" } else { ", not comparable" };
    format!(
        "{:>3} {:>6} {:>6} {:>6} {:>6} {:>6} {:>6} {:>6} {:>6} {}{stamp}",
        row.run,
        row.target,
        row.read_iops.trunc(),
        row.write_iops.trunc(),
        cycle(row.longest_cycle),
        cycle(row.longest_wij),
        known(row.effective_write_ms),
        read(row.read_mean),
        read(row.read_p99),
        row.verdict,
    )
}

/// A number in about four digits.
fn four(value: f64) -> String {
    let decimals = if value < 10.0 {
        3
    } else if value < 100.0 {
        2
    } else {
        usize::from(value < 1000.0)
    };
    format!("{value:.decimals$}")
}

/// Remarks on a row for the reader.
fn remarks(row: &RampRow) -> Vec<String> {
    let mut found = Vec::new();
    // More missing reads are in the verdict.
    if row.reads_missed > 0 && row.never_made() <= Criteria::NEVER_MADE_MOST {
        found.push(format!(
            "{} due and never made: storage or this host could not keep up",
            count(row.reads_missed as usize, "read was", "reads were")
        ));
    }
    if row.overruns > 0 {
        let overruns = count(row.overruns as usize, "cycle was", "cycles were");
        let missed = row.cycles_missed;
        found.push(format!("{overruns} not over when the next was due; {missed} found no room in the run"));
    }
    if let (Some(rate), Some(sync)) = (row.journal_mb_s, row.journal_sync_p99) {
        found.push(format!("transaction journal: {rate:.2} MB/s, sync p99 {} ms", four(sync.as_millis_f64())));
    }
    found
}

/// Fails if a results database cannot be used: now, and not after hours.
fn can_keep(path: &Path) -> Result<()> {
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    if !folder.is_dir() {
        bail!("--results: {} is no folder; make it first, or name another place", folder.display());
    }
    if path.exists() {
        results::Results::open_existing(path).with_context(|| format!("--results {}", path.display()))?;
    }
    Ok(())
}

fn criteria(given: &str) -> Result<Criteria> {
    if let Some(preset) = Criteria::preset(given) {
        return Ok(preset);
    }
    let text = std::fs::read_to_string(given).map_err(|error| {
        let presets = Criteria::PRESETS.join(", ");
        anyhow!("--criteria: must be {presets} or a file of criteria, got {given:?}: {error}")
    })?;
    Ok(Criteria::read(&text, given)?)
}

/// Notes for the reader.
fn notes(settings: &RampSettings, storage: &dyn Storage) -> Vec<String> {
    let mut notes = vec![length(settings)];
    notes.extend(not_comparable(settings));
    notes.extend(storage.notes());
    if settings.runtime <= settings.constants.cycle {
        notes.push(format!(
            "runs of {} end before their first write cycle, which begins after {}: nothing can be said of them; make \
             --runtime longer or --cycle shorter",
            settings.runtime, settings.constants.cycle
        ));
    }
    if settings.accounting == Accounting::Published {
        notes.push("published accounting: rates are divided by 20 s more than the runs took".into());
    }
    notes
}

/// How long it will take. Users of fio expect seconds.
fn length(settings: &RampSettings) -> String {
    // The warm-up is a nanosecond longer than a cycle.
    let said = |span: Span| Span::from_millis(span.as_nanos() / 1_000_000).spoken();
    let runs = settings.ladder.runs;
    let runs = format!("{} of {}", count(runs as usize, "run", "runs"), said(settings.runtime));
    let warm_up = format!(" and a warm-up of {}", said(settings.warm_up_length()));
    let warm_up = if settings.warm_up { &warm_up } else { "" };
    format!("{runs}{warm_up}, {} in all; a number without a unit at --runtime is minutes", said(settings.total()))
}

/// What `advise` needs to know about this ramp.
fn about(settings: &RampSettings, storage: &dyn Storage) -> Vec<String> {
    let cycle = settings.constants.cycle.as_nanos() / 1_000_000;
    vec![format!("{}{}", demand::USED, storage.size().0), format!("{}{cycle}", demand::CYCLE)]
}

fn not_comparable(settings: &RampSettings) -> Option<String> {
    let differences = settings.differences();
    (!differences.is_empty()).then(|| format!("not comparable with published figures: {}", differences.join(", ")))
}
