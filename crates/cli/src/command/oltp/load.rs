//! Users on a database: a fixed number, or more and more.

mod sweep;

use super::{Run, Work};
use crate::classic::Counters;
use crate::interrupt::{self, Stop};
use crate::live::{Live, Stream};
use crate::memory::{self, Kept, Memory};
use crate::outputs::{Kind, Output, check_all};
use crate::play::now_unix_ms;
use crate::{Answer, date, machine, terminal};
use ::database::{
    Database, Dates, Error, PlayOutcome, PointWatcher, ServerSeen, ServerWatch, StopSignal, UserPlan, play, process,
};
use ::oltp::{
    Columns, Draws, Evidence, Failure, Figures, Ledger, Limiter, LoadSettings, Mode, Observed, Ranges, ServerCounts,
    Think, add_point, limiter, load_run, page, results_xml, seconds_csv, summary,
};
use anyhow::{Context as _, Result, anyhow, bail};
use block::{Bytes, Span, Time};
use report::live::LiveWorkload;
use stats::Interval;
use stats::run::{DeviceRow, HostRecord, Run as StatsRun, State, Times};
use std::path::PathBuf;
use uring::Clock;

/// A load and its kept run.
struct Field<'a> {
    work: &'a Work,
    database: Database,
    /// The database's program and version.
    engine: String,
    /// The database's own cache, in bytes.
    buffers: u64,
    ranges: Ranges,
    pace: Schedule,
    run: StatsRun,
    kept: Kept,
    clock: Clock,
    /// When the first window began.
    zero: Option<Time>,
    stop: Stop,
    /// What ended a point early, apart from a stop.
    trouble: Trouble,
    live: Live,
}

/// What went wrong with the database of a point that has measurements.
#[derive(Default)]
struct Trouble {
    /// Why no user could reconnect, which ended the point.
    lost: Option<Failure>,
    /// Why the rows that the point added could not be recorded in the database.
    unclosed: Option<Error>,
}

impl Trouble {
    fn is_some(&self) -> bool {
        self.lost.is_some() || self.unclosed.is_some()
    }
}

/// The rate and the end of a point, apart from its time.
#[derive(Clone, Copy, Default)]
struct Schedule {
    /// Transactions due per second.
    rate: Option<f64>,
    /// Number of transactions after which it ends.
    transactions: Option<u64>,
}

/// The results of a point.
pub(super) struct Played {
    pub figures: Figures,
    pub ledger: Ledger,
    pub seen: Evidence,
    pub host: HostRecord,
    pub server: Vec<ServerCounts>,
    pub limiter: Limiter,
}

impl Run {
    pub fn run(self, memory: &Memory) -> Result<Answer> {
        self.check_outputs()?;
        let users = report::text::count(self.users as usize, "user", "users");
        let pace = Schedule { rate: self.rate, transactions: self.transactions };
        let mut field = Field::open(&self.work, pace, &users, memory)?;
        let played = field.play(self.users, self.columns.as_ref());
        let facts = field.facts();
        let ending = Ending { stopped: field.stop.is_asked(), trouble: field.trouble, reconnect: field.work.reconnect };
        let played = end(played, field.run, field.kept, &ending)?;
        terminal::print(&summary(&played.figures, &played.seen, &played.limiter));
        warn_of_driver(&played.seen);
        if let Some(first) = played.ledger.first_failure() {
            terminal::complain(&format!("the first failure was {first}"));
        }
        let window = played.figures.window;
        let cut = ending
            .is_early()
            .then(|| format!("{} of {} s were measured", report::text::seconds(window), field.work.time));
        all_of([self.write(&played, &field.database.name(), &facts, cut.as_deref()), ending.told()])?;
        Ok(if played.figures.failed() > 0 { Answer::No } else { Answer::Yes })
    }
}

impl Run {
    /// Whether the requested files can be written.
    pub(super) fn check_outputs(&self) -> Result<()> {
        check_all(&[self.work.page(), self.table(), self.xml()])
    }

    fn table(&self) -> Option<Output<'_>> {
        Output::of("--csv", self.csv.as_ref(), Kind::Text("second,done,failed,"))
    }

    fn xml(&self) -> Option<Output<'_>> {
        Output::of("--xml", self.xml.as_ref(), Kind::Text("<?xml"))
    }

    /// Writes the requested files; `cut` says how far a run came that ended early.
    ///
    /// # Errors
    /// One cannot be written. The others are written all the same.
    pub(super) fn write(
        &self,
        played: &Played,
        name: &str,
        facts: &[(String, String)],
        cut: Option<&str>,
    ) -> Result<()> {
        let Played { figures, ledger, host, server, limiter, .. } = played;
        let xml = self.xml().map_or(Ok(()), |output| {
            let date = report::text::date(now_unix_ms());
            let xml = results_xml(figures, ledger, self.work.think(), name, &self.comment, &date);
            output.write(xml)
        });
        let csv = self.table().map_or(Ok(()), |output| output.write(seconds_csv(ledger, Span::ZERO, host, server)));
        let mut whole = page(figures, ledger, Observed { host, server }, limiter, facts);
        cut.iter().for_each(|how_far| whole.cut_short(how_far));
        let backend = if self.array.is_some() { "virtual time" } else { "" };
        all_of([xml, csv, write(self.work.page(), whole, backend)])
    }
}

/// The last of several failures; those before it are printed.
pub(super) fn all_of<const N: usize>(done: [Result<()>; N]) -> Result<()> {
    let mut failed: Vec<anyhow::Error> = done.into_iter().filter_map(Result::err).collect();
    let last = failed.pop();
    failed.iter().for_each(|error| terminal::complain(&crate::error_line::of(error)));
    last.map_or(Ok(()), Err)
}

/// What ended a load early.
struct Ending {
    stopped: bool,
    trouble: Trouble,
    /// How long users tried to reconnect, in seconds.
    reconnect: u64,
}

impl Ending {
    fn is_early(&self) -> bool {
        self.stopped || self.trouble.is_some()
    }

    /// Reports it, after the results are written.
    fn told(self) -> Result<()> {
        let Trouble { lost, unclosed } = self.trouble;
        if let Some(failure) = lost {
            let noted = if unclosed.is_some() { ", but not noted in the database" } else { "" };
            bail!("no user could reconnect for {} s: {failure}; what was measured is kept{noted}", self.reconnect);
        }
        if let Some(error) = unclosed {
            bail!("what was measured is kept, but what this run added was not noted in the database: {error}");
        }
        if self.stopped {
            bail!("stopped before the end; what was measured until then is kept");
        }
        Ok(())
    }
}

/// Keeps the run as it ended.
fn end<T>(played: Result<T>, mut run: StatsRun, kept: Kept, ending: &Ending) -> Result<T> {
    if played.is_err() && run.points.is_empty() {
        kept.forget();
    } else {
        if played.is_err() || ending.is_early() {
            run.identity.state = State::CutShort;
        }
        kept.end(run);
    }
    played
}

impl<'a> Field<'a> {
    fn open(work: &'a Work, pace: Schedule, users: &str, memory: &Memory) -> Result<Field<'a>> {
        let mix = work.mix()?;
        let database = opened(work)?;
        let (ranges, scale) = (database.ranges()?, database.number("scale")?);
        let (engine, size, buffers) = (database.engine()?, database.size()?, database.buffers()?);
        let (name, folder) = (database.name(), database.folder());
        let is_cached = database.is_local() && !database.reads_directly();
        if size < machine::look(None, "").memory.0 && is_cached {
            let size = Bytes(size);
            let then = match work.memory {
                Some(_) => "reads that miss its limited page cache may hit the rest of the host's",
                None => "after the first reads the page cache gives them",
            };
            terminal::complain(&format!("note: the database has {size}, less than this host's memory: {then}"));
        }
        if !database.is_local() {
            terminal::complain("note: the server is on another host: its processors and devices are not seen");
        } else if folder.is_none() {
            terminal::complain(
                "note: the server does not say where its files are (PostgreSQL: role pg_read_all_settings), or they are not \
                 to be seen from here; its devices are not seen",
            );
        }
        if work.warm_up < 60 && pace.transactions.is_none() {
            terminal::complain("note: with less than 60 s of warm-up the first minutes count too few transactions");
        }
        let begun = load_run(&LoadSettings {
            database: name.clone(),
            engine: engine.clone(),
            size: Some(size),
            scale: Some(scale),
            products: u64::try_from(ranges.products).ok(),
            mix,
            mode: work.mode(),
            think: work.think(),
            skew: work.skew,
            rate: pace.rate,
            warm_up_s: if pace.transactions.is_some() { 0 } else { work.warm_up },
            buffers,
        });
        let identity = memory::identity("oltp", format!("order entry on {name}, {users}"), now_unix_ms());
        let identity = stats::run::Identity { seed: work.seed, ..identity };
        let machine = machine::look(folder.as_deref(), "");
        let run = StatsRun { identity, machine, ..begun };
        let cache = vec![("db_cache".to_owned(), Bytes(buffers).to_string())];
        // The log may be on a device of its own.
        let log = database.log_folder().filter(|log| log.exists());
        let loaded: Vec<PathBuf> = folder.into_iter().chain(log).collect();
        let kept = memory.labelled(cache).loading(loaded).watched().begin(run.clone());
        let (clock, zero, stop, trouble) = (Clock::new(), None, interrupt::watch()?, Trouble::default());
        let mut live = Live::on(Stream::Err, false, format!("order entry on {name}"));
        live.state.rate = "TPS";
        Ok(Field { work, database, engine, buffers, ranges, pace, run, kept, clock, zero, stop, trouble, live })
    }

    /// Length of the warm-up, in seconds.
    fn warm_up(&self) -> u64 {
        if self.pace.transactions.is_some() { 0 } else { self.work.warm_up }
    }

    fn play(&mut self, users: u32, columns: Option<&Columns>) -> Result<Played> {
        let work = self.work;
        let plan = UserPlan {
            users,
            mix: work.mix()?,
            think: work.think(),
            mode: work.mode(),
            rate: self.pace.rate,
            transactions: self.pace.transactions,
            dates: work.date.map_or(Dates::Passing(date::since_1970().as_secs() as i64), Dates::Fixed),
            warm_up: Span::from_secs(self.warm_up()),
            window: Span::from_secs(work.time),
            seed: work.seed,
            draws: Draws { ranges: self.ranges, skew: work.skew },
            reconnect: Span::from_secs(work.reconnect),
        };
        let open = self.database.run_begins(users)?;
        let (signal, database) = (StopSignal::default(), self.database.clone());
        let connect = |_, signal| database.connect(signal);
        let whole = self.pace.transactions.is_none().then(|| plan.warm_up + plan.window);
        self.live.begin(report::text::count(users as usize, "user", "users"), whole);
        let mut watch = Watch {
            stop: &self.stop,
            kept: self.zero.is_none().then_some(&self.kept),
            columns,
            live: &mut self.live,
            users,
            database: &self.database,
            before: None,
            server: None,
        };
        if let Some(columns) = columns {
            terminal::line(&columns.heads());
        }
        let played = play(&plan, &signal, &connect, &mut watch);
        watch.live.clear();
        let before = watch.before;
        let ServerSeen { seconds: server, stored } = watch.server.take().map(ServerWatch::end).unwrap_or_default();
        // Without a connection nothing was added.
        let added = played.as_ref().map(|PlayOutcome { ledger, .. }| (*ledger.whole(), ledger.unsure()));
        let (added, unsure) = added.unwrap_or_default();
        // If the database is gone, its measurements are still valid.
        let unclosed = self.database.run_ends(open, &added, unsure).err();
        let PlayOutcome { ledger, lost } = played.map_err(|failure| anyhow!("{}: {failure}", self.database.name()))?;
        self.trouble = Trouble { lost, unclosed };
        let zero = *self.zero.get_or_insert(ledger.from());
        let start = ledger.from().since(zero);
        let figures = Figures::of(&ledger, users);
        if self.stop.is_asked() && figures.done + figures.failed() == 0 {
            bail!("stopped before anything was measured");
        }
        let host = self.kept.host_so_far().between(start, start + figures.window);
        let seen = Evidence { stored, ..self.seen(start, &host, &server, before) };
        let limiter = limiter(&figures, &seen);
        add_point(&mut self.run, start, &ledger, &figures, &seen, &limiter);
        if self.kept.is_due() {
            self.kept.so_far(self.run.clone());
        }
        Ok(Played { figures, ledger, seen, host, server, limiter })
    }

    /// What was observed of the host in a window.
    fn seen(
        &self,
        start: Span,
        host: &HostRecord,
        server: &[ServerCounts],
        before: Option<(Counters, Option<f64>)>,
    ) -> Evidence {
        let busy = |rows: &[DeviceRow]| DeviceRow::sum(rows).and_then(|sum| sum.busy_part());
        let devices = host.devices.iter().filter_map(|device| Some((device.name.clone(), busy(&device.rows)?)));
        let passed: f64 = host.rows.iter().map(|row| row.length.as_secs_f64()).sum();
        let stalls: Option<Vec<f64>> =
            host.rows.iter().map(|row| row.pressure.io.map(|stall| stall.some.as_secs_f64())).collect();
        let now = Counters::now();
        let window = (self.clock.now().since(self.zero.unwrap_or(Time::ZERO)).saturating_sub(start)).as_secs_f64();
        let own = before.and_then(|(_, cpu)| Some(own_cpu_s()? - cpu?)).filter(|_| window > 0.0);
        let server = ServerCounts::sum(server).map(|sum| (server.len() as f64, sum));
        let memory = self.database.memory();
        Evidence {
            cpu: before.and_then(|(before, _)| now.cpu_busy_since(&before)),
            device: devices.max_by(|a, b| a.1.total_cmp(&b.1)),
            io_pressure: stalls.filter(|_| passed > 0.0).map(|stalls| stalls.iter().sum::<f64>() / passed),
            // Devices may be stacked, so the most of one device counts, not the sum.
            device_read: host
                .devices
                .iter()
                .filter_map(|device| Some(DeviceRow::sum(&device.rows)?.reads.bytes.0))
                .max(),
            own_cores: own.map(|seconds| seconds / window),
            database_cores: server.as_ref().and_then(|(seconds, sum)| Some(sum.cpu?.as_secs_f64() / seconds)),
            server: server.map(|(_, sum)| sum),
            cores: machine::look(None, "").cores,
            paced: self.work.think() != Think::default() || self.pace.rate.is_some(),
            fetched: before.and_then(|(before, _)| now.fetched_since(&before)),
            stored: Vec::new(),
            memory: memory.map(|memory| memory.limit),
            page_cache: memory.and_then(|memory| memory.page_cache),
        }
    }

    fn facts(&self) -> Vec<(String, String)> {
        let work = self.work;
        let mut facts = vec![
            ("Database".to_owned(), format!("{}, {}", self.engine, self.database.name())),
            ("Buffers".to_owned(), Bytes(self.buffers).to_string()),
            ("Calls".to_owned(), work.mode().name().to_owned()),
            ("Warm-up".to_owned(), format!("{} s", self.warm_up())),
            ("Command".to_owned(), self.run.identity.command.clone()),
        ];
        if let Some(rate) = self.pace.rate {
            facts.push(("Rate".into(), format!("{rate} transactions a second, each due by a schedule")));
        }
        facts
    }
}

/// The database, with the settings of its connections.
fn opened(work: &Work) -> Result<Database> {
    let mut database = work.which.database(work.buffers.map(|size| size.0))?;
    match &mut database {
        Database::Sqlite(_) => {
            if work.mode() == Mode::Procedures {
                bail!("--calls procedures: SQLite has no procedures; name a server with --database postgres://…");
            }
            if work.memory.is_some() {
                bail!("--memory: only a server of its own is limited; name it with --database private:FOLDER");
            }
        }
        Database::Postgres(postgres) => {
            if work.buffers.is_some() && !postgres.is_private() {
                bail!("--buffers: is the server's shared_buffers; set it there and start it again");
            }
            postgres.isolation = work.isolation();
            if let Some(memory) = work.memory {
                postgres.limit_memory(memory.0).context("--memory")?;
            }
        }
        Database::Mysql(mysql) => {
            if work.memory.is_some() {
                bail!("--memory: only a server of its own is limited; name it with --database private:FOLDER");
            }
            if work.buffers.is_some() {
                bail!("--buffers: is the server's innodb_buffer_pool_size; set it there and start it again");
            }
            mysql.isolation = work.isolation();
        }
    }
    if work.mode() == Mode::Procedures && work.think.1 > 0 {
        bail!("--think: a call has no pause inside; use --think-between, or --calls statements");
    }
    Ok(database)
}

/// Processor time of this program, in seconds.
fn own_cpu_s() -> Option<f64> {
    process("self").map(|(_, time)| time.as_secs_f64())
}

/// If it uses this fraction of a processor or more, the driver beside a server distorts the result.
const DRIVER: f64 = 0.5;

fn warn_of_driver(seen: &Evidence) {
    if let Some(own) = seen.own_cores.filter(|own| seen.server.is_some() && *own > DRIVER) {
        terminal::complain(&format!(
            "note: the driver itself used {own:.1} processors; another host for it, or --calls procedures where a database has them, takes less"
        ));
    }
}

/// Called once a second.
struct Watch<'a> {
    stop: &'a Stop,
    /// Notified when the first window begins.
    kept: Option<&'a Kept>,
    columns: Option<&'a Columns>,
    /// Used if no lines are printed.
    live: &'a mut Live,
    users: u32,
    database: &'a Database,
    before: Option<(Counters, Option<f64>)>,
    server: Option<ServerWatch>,
}

impl PointWatcher for Watch<'_> {
    fn begins(&mut self) {
        if let Some(kept) = self.kept {
            kept.begins();
        }
        self.before = Some((Counters::now(), own_cpu_s()));
        // Without it the server's counters are unknown.
        self.server = self.database.watch().ok().flatten();
    }

    fn second(&mut self, ledger: &Ledger, seconds: usize, working: u32) -> bool {
        let read = self.columns.is_none_or(|columns| {
            let time = report::text::date(now_unix_ms());
            let time = time.split(' ').nth(1).unwrap_or_default().to_owned();
            let line = columns.line(&time, ledger, seconds - 1, working, self.users);
            terminal::is_read(&(line + "\n"))
        });
        if self.columns.is_none() {
            self.show(ledger, seconds, working);
        }
        read && !self.stop.is_asked()
    }
}

impl Watch<'_> {
    /// Shows the transactions of the last second.
    fn show(&mut self, ledger: &Ledger, seconds: usize, working: u32) {
        let second = ledger.seconds()[seconds - 1];
        let took: Span = second.took.iter().fold(Span::ZERO, |sum, took| sum + *took);
        let times = Times { count: second.done, mean: took / second.done.max(1), spread: None, max: None };
        let interval = Interval {
            start: Span::from_secs(seconds as u64 - 1),
            length: Span::SECOND,
            counts: stats::Counts { other: second.done, faults: second.failed, ..Default::default() },
            response: (second.done > 0).then_some(times),
            ..Interval::default()
        };
        let state = &mut self.live.state;
        state.elapsed = Span::from_secs(seconds as u64);
        state.in_force = vec![format!("{working} of {} users at work", self.users)];
        if state.workloads.is_empty() {
            state.workloads.push(LiveWorkload::new("transactions", ""));
        }
        state.workloads[0].push(interval);
        self.live.draw();
    }
}

/// Writes a page if it is requested.
fn write(output: Option<Output<'_>>, page: report::Page, backend: &str) -> Result<()> {
    let Some(output) = output else { return Ok(()) };
    let facts = report::text::facts(now_unix_ms(), &machine::look(None, backend));
    let page = report::Page { facts, version: env!("CARGO_PKG_VERSION").into(), ..page };
    output.write(page.render())?;
    terminal::line(&format!("page       {}", output.path.display()));
    Ok(())
}
