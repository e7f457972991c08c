//! The hosts on real storage, each with its own thread and NBD connections to a server in this
//! process.

use super::load::{journal_bytes, registry_settings, set_up};
use super::together::{Host, together};
use super::{Testbed, stopped};
use crate::dataset::{self, Ask, Filler, Filling as _};
use crate::interrupt::{self, Stop};
use crate::machine;
use crate::play::{Filling, Options, RealOptions, now_unix_ms, say, stamp};
use crate::workspace::Workspace;
use anyhow::{Context as _, Result};
use block::{Bytes, Span, Time};
use engine::Managed;
use ramp::{RampSettings, RunOutcome};
use stage::served::Server;
use std::path::Path;
use storage::Place;
use uring::Clock;
use workload::plan::{HostsPlan, PlanSettings, PlannedHost};

/// The server and its hosts.
pub struct Real {
    server: Server,
    hosts: Vec<Host>,
    stop: Stop,
    clock: Clock,
    /// The longest time of all runs between the first host's start and the last one's.
    apart: Span,
    // Dropped last, because it removes the pool's folder.
    workspace: Workspace,
}

impl Real {
    /// The folder of its pool.
    pub fn folder(&self) -> &Path {
        self.workspace.path()
    }

    /// Creates a pool, starts the server, and creates and fills the plan's volumes.
    ///
    /// # Errors
    /// A step failed.
    pub fn start(plan: &HostsPlan, options: &Options, real: &RealOptions) -> Result<Real> {
        let data = |host: &PlannedHost| host.volumes.len() as u64 * plan.volume_size.0;
        let filled = plan.hosts.iter().map(data).sum();
        let needed = filled + plan.hosts.iter().map(|host| journal_bytes(plan, host)).sum::<u64>();
        let stop = interrupt::watch()?;
        let pool = real.dir.clone().unwrap_or_else(|| format!("seawall-pool-{}", stamp(now_unix_ms())).into());
        let workspace = Workspace::make(pool, Bytes(needed), real.keep)?;
        let server = Server::start(
            workspace.path(),
            real.no_io_uring,
            (registry_settings(plan), &PlanSettings::default()),
            &set_up(plan),
        )?;
        say(options, &format!("I/O: {}", server.backend()));
        let socket = std::path::absolute(workspace.path().join("nbd.sock")).context("--dir")?;
        let hosts: Vec<Host> = plan.hosts.iter().map(|host| connected(plan, host, &socket)).collect();
        let filling = Filling::new(options, workspace.path(), filled, stop.clone());
        fill(&hosts, plan.seed, &filling)?;
        filling.end();
        Ok(Real { server, hosts, stop, clock: Clock::new(), apart: Span::ZERO, workspace })
    }
}

/// A host with the exports of its data and of its journal.
fn connected(plan: &HostsPlan, host: &PlannedHost, socket: &Path) -> Host {
    let export = |path: String| format!("nbd+unix:///{}:{path}?socket={}", plan.svm, socket.display());
    Host {
        name: host.name.clone(),
        data: host.data_paths().into_iter().map(export).collect(),
        journal: export(host.journal_path()),
    }
}

/// Fills all data as `seawall dgen` does.
fn fill(hosts: &[Host], seed: u64, filling: &Filling) -> Result<()> {
    let consent = dataset::consent(&[], &[]);
    let ask = Ask { seed: Some(seed), compress: None, duplicates: None, percent: 100, consent };
    let places = hosts.iter().flat_map(|host| &host.data).map(|export| dataset::place("device", export));
    let places = places.collect::<Result<Vec<Place>>>()?;
    let fillers = (1..).zip(&places).map(|(number, place)| Filler::prepare(place, number, &ask));
    let fillers = fillers.collect::<Result<Vec<Filler>>>()?;
    let at_once = fillers.len();
    dataset::fill_devices(fillers, at_once, filling)?;
    match filling.is_stopped() {
        true => Err(stopped().context("while the volumes were being filled")),
        false => Ok(()),
    }
}

impl Testbed for Real {
    fn managed(&mut self) -> &mut dyn Managed {
        &mut self.server
    }

    fn run(&mut self, ramps: &[RampSettings], number: u64) -> Result<Vec<RunOutcome>> {
        let (outcomes, apart) = together(&self.hosts, ramps, number, &self.stop)?;
        self.apart = self.apart.max(apart);
        Ok(outcomes)
    }

    fn now(&self) -> Time {
        self.clock.now()
    }

    fn machine(&self) -> stats::Machine {
        machine::look(Some(self.workspace.path()), &self.server.backend())
    }

    fn is_simulated(&self) -> bool {
        false
    }

    fn notes(&self) -> Vec<String> {
        vec![format!("each run was begun by all hosts within {}", self.apart)]
    }
}
