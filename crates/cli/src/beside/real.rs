//! The database on real storage: PostgreSQL on ext4 on a volume of the run's own server, and the
//! other workloads as clients of that server.
//!
//! ```text
//!   users ── PostgreSQL ── ext4 ── loop ── nbdfuse ─┐ NBD
//!                                     other loads ──┴── server: gate ── volumes' files ── the disk
//! ```
//! Setup leaves the database stopped, with all of it on the volume and in a snapshot. Each turn
//! restores the snapshot and starts with a cold cache. The users warm up alone; the other workloads
//! begin a second before the window, so that all arms are measured with the same cache.
//!
//! If the plan has the latency of the database's requests without other load, an extra turn
//! measures it here, and latencies in policies are scaled by the ratio.

use super::disk::Disk;
use super::mounted::{Made, Mounted};
use super::{Others, Played, Testbed, stopped};
use crate::dataset;
use crate::interrupt::{self, Stop};
use crate::machine;
use crate::play::{Filling, Options, RealOptions, now_unix_ms, say, stamp};
use crate::scale::Factors;
use crate::workspace::Workspace;
use anyhow::{Context as _, Result, anyhow, bail};
use block::{Bytes, Span, Time};
use database::{Database, Dates, PlayOutcome, PointWatcher, RECONNECT_S, StopSignal, UserPlan, play};
use engine::{Managed, Stage as _};
use oltp::{Draws, Indexes, Ledger, Mode, Ranges, Rows, SchemaScale, Sizes, Think, TransactionMix};
use stage::{Elsewhere, Places, silent};
use stats::Histogram;
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, Sender, channel};
use workload::Spec;
use workload::plan::DatabasePlan;

/// The snapshot that setup makes.
const SNAPSHOT: &str = "loaded";
/// How long the disk is measured.
const MEASURE: Span = Span::from_secs(3);
/// Number of products; it determines the size of the fixed tables.
const PRODUCTS: u64 = 1000;

/// The server, the mounted volume of the database, and the disk.
pub struct Real {
    stage: stage::real::Real,
    users: UserPlan,
    buffers: Bytes,
    memory: Bytes,
    svm: String,
    volume: String,
    export: String,
    silent: Vec<Spec>,
    /// The mount point of the volume, which the database's account can reach wherever the pool's
    /// folder is.
    point: Workspace,
    size: u64,
    factors: Factors,
    /// The latency of a database request without other load, if it was measured.
    alone: Option<Span>,
    stop: Stop,
    // The fields below are dropped last, in this order.
    pool: PathBuf,
    disk: Disk,
    workspace: Workspace,
}

impl Real {
    /// The folder of its pool.
    pub fn folder(&self) -> &Path {
        &self.pool
    }

    /// Creates the disk, pool, server and volumes, and the database on its volume.
    ///
    /// # Errors
    /// A step failed.
    pub fn start(of: &DatabasePlan, options: &Options, real: &RealOptions) -> Result<Real> {
        let (plan, database) = (&of.plan, &of.database);
        let stop = interrupt::watch()?;
        let size = |volume: &workload::plan::Volume| volume.size.unwrap_or_default().0;
        let needed: u64 = plan.volumes.iter().map(size).sum();
        let folder = real.dir.clone().unwrap_or_else(|| format!("seawall-pool-{}", stamp(now_unix_ms())).into());
        let workspace = Workspace::make(folder, Bytes(needed), real.keep)?;
        let folder = std::path::absolute(workspace.path())?;
        // Half as much again, for the snapshot and the file system's own data.
        let disk = Disk::new(database.bottleneck, &folder, Bytes(needed + needed / 2))?;
        let pool = disk.pool(&folder);
        std::fs::create_dir(&pool).with_context(|| pool.display().to_string())?;
        let filled = plan.volumes.iter().filter(|volume| !volume.thin).map(size).sum();
        let filling = Filling::new(options, &pool, filled, stop.clone());
        let places = Places::ask(&mut plan.clone(), &Elsewhere::default())?;
        let stage = stage::real::Real::start(plan, places, Some(&pool), real.no_io_uring, |done, _| {
            dataset::Filling::written(&filling, done);
            !stop.is_asked()
        })?;
        filling.end();
        let volume = &plan.volumes[database.volume];
        let socket = pool.join("nbd.sock");
        let temporary = std::env::temp_dir().join(format!("seawall-database-{}", std::process::id()));
        let mut testbed = Real {
            users: users(of),
            buffers: database.buffers,
            memory: database.memory,
            svm: plan.svm.clone(),
            volume: volume.name.clone(),
            export: format!("nbd+unix:///{}?socket={}", stage::path(plan, volume), socket.display()),
            silent: plan.workloads.iter().map(|load| silent(&load.spec)).collect(),
            point: Workspace::make(temporary, Bytes(0), false)?,
            size: 0,
            factors: 1.0.into(),
            alone: None,
            stop,
            stage,
            pool,
            disk,
            workspace,
        };
        testbed.set_up(database.scale, options)?;
        testbed.hold(of, options)?;
        Ok(testbed)
    }

    /// Creates the database and its snapshot.
    fn set_up(&mut self, scale: f64, options: &Options) -> Result<()> {
        say(options, &format!("making the database, scale {scale} …"));
        let started = self.begin(Some(Made::Usual))?;
        let scale: SchemaScale = format!("{scale}").parse().map_err(|rule| anyhow!("scale: {rule}"))?;
        let rows = Rows { seed: self.users.seed, sizes: Sizes { scale, products: PRODUCTS } };
        let jobs = std::thread::available_parallelism().unwrap_or(NonZeroUsize::MIN);
        let stop = self.stop.clone();
        let made = started.database.setup(rows, Indexes::All, jobs, &mut |_, _| !stop.is_asked());
        made.context("setup")?;
        self.users.draws.ranges = started.database.ranges()?;
        self.size = started.database.size()?;
        drop(started);
        let line = format!("volume snapshot create -vserver {} -volume {} -snapshot {SNAPSHOT}", self.svm, self.volume);
        self.managed().command(&line)?;
        say(options, &format!("the database has {}", Bytes(self.size)));
        Ok(())
    }

    /// Measures and limits the disk, and derives the factors for limits in commands.
    fn hold(&mut self, of: &DatabasePlan, options: &Options) -> Result<()> {
        let specs: Vec<Spec> = of.plan.workloads.iter().map(|load| load.spec.clone()).collect();
        let (measured, _) = self.stage.measure(&of.plan, &specs, MEASURE)?;
        let held = self.disk.hold(&self.pool, measured)?;
        let published = of.plan.published_iops.map(|published| published.0 as f64);
        let iops = held.unwrap_or(measured);
        self.factors = options.scale.or(published.map(|published| iops / published)).unwrap_or(1.0).into();
        say(options, &format!("{measured:.0} operations a second measured; {}", self.disk.says()));
        if let (Some(published), None) = (of.database.published_latency, options.scale) {
            say(options, "a turn of the database alone, which does not count …");
            let silent = self.silent.clone();
            let (_, beside) = self.work(&silent, of.plan.seed)?;
            let alone = beside.device.mean();
            if alone == Span::ZERO {
                bail!("published_latency: the database asked nothing of its disk; give it less memory");
            }
            self.factors.latencies = alone.as_secs_f64() / published.as_secs_f64();
            self.alone = Some(alone);
            say(options, &format!("its requests took {alone} each"));
        }
        say(options, "");
        Ok(())
    }

    /// Starts the database on its volume.
    fn begin(&mut self, make: Option<Made>) -> Result<Started> {
        let mounted = Mounted::new(&self.export, self.point.path(), make)?;
        let folder = mounted.point().join("pg");
        let name = format!("private:{}", folder.display());
        let database = Database::named(&name, &|_| None, Some(self.buffers.0)).context("PostgreSQL")?;
        Ok(Started { database, _mounted: mounted })
    }

    /// Restores the volume from the snapshot.
    fn restore(&mut self) -> Result<()> {
        let (svm, volume) = (self.svm.clone(), self.volume.clone());
        let line = format!("volume snapshot restore -vserver {svm} -volume {volume} -snapshot {SNAPSHOT} -force");
        self.managed().command(&line)?;
        Ok(())
    }

    /// Plays the users on the data that setup left, beside the other workloads.
    fn work(&mut self, specs: &[Spec], seed: u64) -> Result<(Ledger, Seen)> {
        self.restore()?;
        let started = self.begin(None)?;
        if let (Database::Postgres(postgres), true) = (&started.database, self.memory.0 > 0) {
            postgres.limit_memory(self.memory.0).context("memory")?;
        }
        let (plan, stop) = (UserPlan { seed, ..self.users }, self.stop.clone());
        let (signal, database) = (StopSignal::default(), &started.database);
        let (sender, began) = channel();
        let (ledger, seen) = std::thread::scope(|scope| {
            let (plan, signal, stop) = (&plan, &signal, &stop);
            let users = scope.spawn(move || {
                let mut watch = Watch { stop, began: Some(sender) };
                play(plan, signal, &|_, signal| database.connect(signal), &mut watch)
            });
            let seen = self.beside(specs, plan.window, &began);
            if seen.is_err() {
                signal.raise();
            }
            (users.join(), seen)
        });
        let ledger = ledger.map_err(|_| anyhow!("the users' thread ended early"))?;
        let failed = |failure| anyhow!("{}: {failure}", started.database.name());
        let PlayOutcome { ledger, lost } = ledger.map_err(failed)?;
        if self.stop.is_asked() {
            return Err(stopped());
        }
        if let Disk::Delayed(disk) = &mut self.disk
            && !disk.is_there()
        {
            bail!("the server's disk is gone: nbdkit ended");
        }
        lost.map_or(Ok(()), |failure| Err(failed(failure)))?;
        Ok((ledger, seen?))
    }

    /// Plays the other workloads beside the users, who signal the start of their window.
    fn beside(&mut self, specs: &[Spec], window: Span, began: &Receiver<Time>) -> Result<Seen> {
        let from = loop {
            self.stage.run(self.now() + Span::from_millis(100))?;
            match began.try_recv() {
                Ok(from) => break from,
                Err(std::sync::mpsc::TryRecvError::Disconnected) => bail!("the users ended before they began"),
                Err(std::sync::mpsc::TryRecvError::Empty) => {}
            }
        };
        self.stage.run(from - Span::SECOND)?;
        self.stage.reshape_all(specs)?;
        self.stage.run(from)?;
        let mut seen = Seen::default();
        let mut now = self.now();
        while now < from + window && !self.stop.is_asked() {
            let second = self.stage.run((now + Span::SECOND).min(from + window))?;
            let until = self.now();
            seen.device.merge(&second.device());
            seen.others.push(Others { start: now, length: until.since(now), workloads: second.workloads });
            (seen.advice, now) = (second.advice, until);
        }
        self.stage.reshape_all(&self.silent)?;
        // Requests in flight complete before anything is restored.
        self.stage.run(self.now() + Span::SECOND)?;
        Ok(seen)
    }
}

/// What the server measured in the window of a turn.
#[derive(Default)]
struct Seen {
    others: Vec<Others>,
    advice: String,
    /// Latencies of its disk, for requests of the database and of the others.
    device: Histogram,
}

/// What users do in each turn; the ranges they draw from are known once the database exists.
fn users(of: &DatabasePlan) -> UserPlan {
    let database = &of.database;
    UserPlan {
        users: database.users,
        mix: TransactionMix::V2,
        mode: Mode::Statements,
        think: Think { within_ms: (0, 0), between_ms: (0, 0) },
        rate: None,
        warm_up: database.warm_up,
        window: database.window,
        transactions: None,
        dates: Dates::Passing(crate::date::since_1970().as_secs() as i64),
        seed: of.plan.seed,
        draws: Draws { ranges: Ranges { customers: 1, products: 1 }, skew: None },
        reconnect: Span::from_secs(RECONNECT_S),
    }
}

/// A database on its mounted volume. It is stopped before the volume is unmounted.
struct Started {
    database: Database,
    _mounted: Mounted,
}

/// Signals the start of the window, and ends the users' work if a stop is requested.
struct Watch<'a> {
    stop: &'a Stop,
    began: Option<Sender<Time>>,
}

impl PointWatcher for Watch<'_> {
    fn second(&mut self, ledger: &Ledger, _seconds: usize, _working: u32) -> bool {
        if let Some(began) = self.began.take() {
            // The receiver is gone if the other workloads failed.
            let _ = began.send(ledger.from());
        }
        !self.stop.is_asked()
    }
}

impl Testbed for Real {
    fn managed(&mut self) -> &mut dyn Managed {
        self.stage.managed().expect("a plan of a database has a server of its own")
    }

    fn turn(&mut self, specs: &[Spec], seed: u64) -> Result<Played> {
        let (ledger, Seen { others, advice, .. }) = self.work(specs, seed)?;
        Ok(Played { ledger, others, advice })
    }

    fn now(&self) -> Time {
        self.stage.now()
    }

    fn machine(&self) -> stats::Machine {
        machine::look(Some(self.workspace.path()), self.stage.backend())
    }

    fn database(&self) -> String {
        format!("PostgreSQL on {}", self.volume)
    }

    fn factors(&self) -> Factors {
        self.factors
    }

    fn is_simulated(&self) -> bool {
        false
    }

    fn notes(&self) -> Vec<String> {
        let (size, buffers, memory) = (Bytes(self.size), self.buffers, self.memory);
        let mut notes = vec![
            self.disk.says(),
            format!(
                "the database has {size}, buffers of {buffers} and {memory} of memory with its page cache; each turn begins with its data restored and a cold cache"
            ),
        ];
        notes.extend(self.alone.map(|alone| {
            let factor = self.factors.latencies;
            format!("alone its requests took {alone} each, so that latencies in policies are {factor:.2} times those of the plan")
        }));
        if cfg!(debug_assertions) {
            notes.push("this is a debug build: figures are of it".into());
        }
        notes
    }
}
