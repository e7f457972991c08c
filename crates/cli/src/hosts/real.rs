//! The hosts as processes of their own, against a server in this one.

use super::children::{Clocks, Hosts, RESULTS, Ready};
use super::load::journal_bytes;
use super::{Field, Left, Played};
use crate::command::serve::io_settings;
use crate::play::{Options, RealOptions, free_name, now_unix_ms, say, stamp};
use crate::workspace::Workspace;
use crate::{interrupt, machine};
use anyhow::{Context as _, Result, bail};
use block::Bytes;
use qos::RegistrySettings;
use ramp::{Settings, read_seconds, read_summary};
use server::{Control, ControlSocket, Listen, ServerLimits, Shard};
use stats::LimitsInForce;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use store::Pool;
use workload::plan::{HostsPlan, PlannedHost, Units};

/// The server, and what its hosts are started with.
pub struct Real {
    control: Arc<Mutex<Control>>,
    _socket: ControlSocket,
    hosts: Hosts,
    /// The ramps that were begun, in their order.
    ramps: Vec<Ready>,
    folder: Folder,
    clocks: Vec<Clocks>,
    // Last: the pool's folder goes when nobody uses it any more.
    workspace: Workspace,
}

/// The folder for what the hosts leave. Where nothing was measured it goes with what is in it, and so do those above it
/// that were made for it.
struct Folder {
    path: PathBuf,
    /// Those above it, from below, that were not there.
    above: Vec<PathBuf>,
    is_kept: bool,
}

impl Folder {
    fn new(path: PathBuf) -> Folder {
        let is_missing = |path: &&Path| !path.as_os_str().is_empty() && !path.exists();
        let above = path.ancestors().skip(1).take_while(is_missing).map(Path::to_owned).collect();
        Folder { path, above, is_kept: false }
    }

    fn make(&self) -> Result<()> {
        std::fs::create_dir_all(&self.path).with_context(|| format!("--out {}", self.path.display()))
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        if self.is_kept {
            return;
        }
        let _ = std::fs::remove_dir_all(&self.path);
        // One that somebody else has put something into stays.
        let _ = self.above.iter().try_for_each(std::fs::remove_dir);
    }
}

/// The lines that make a plan's SVM, volumes and LUNs. Sizes are plain bytes: no unit can be misread.
pub fn set_up(plan: &HostsPlan) -> Vec<String> {
    let (svm, data) = (&plan.svm, plan.volume_size.0);
    let mut lines = vec![format!("vserver create -vserver {svm}")];
    for name in plan.volumes() {
        let journals = plan.hosts.iter().filter(|host| host.journal == name).map(|host| journal_bytes(plan, host));
        let holds =
            if plan.hosts.iter().any(|host| host.volumes.iter().any(|volume| volume == name)) { data } else { 0 };
        let size = holds + journals.sum::<u64>();
        lines.push(format!("volume create -vserver {svm} -volume {name} -size {size}"));
    }
    for host in &plan.hosts {
        let luns = host.data_paths().into_iter().map(|path| (path, data));
        for (path, size) in luns.chain([(host.journal_path(), journal_bytes(plan, host))]) {
            lines.push(format!("lun create -vserver {svm} -path {path} -size {size}"));
        }
    }
    lines
}

impl Real {
    /// Where its pool lies.
    pub fn folder(&self) -> &Path {
        self.workspace.path()
    }

    /// Makes a pool, starts the server, makes and fills the plan's volumes.
    ///
    /// # Errors
    /// Whatever kept it from being ready.
    pub fn start(plan: &HostsPlan, options: &Options, real: &RealOptions) -> Result<Real> {
        let started = stamp(now_unix_ms());
        let needed: u64 = plan
            .hosts
            .iter()
            .map(|host| host.volumes.len() as u64 * plan.volume_size.0 + journal_bytes(plan, host))
            .sum();
        let stop = interrupt::watch()?;
        let pool = real.dir.clone().unwrap_or_else(|| format!("seawall-pool-{started}").into());
        let workspace = Workspace::make(pool, Bytes(needed), real.keep)?;
        let name = free_name(&options.out, &started, "html");
        let folder = Folder::new(options.out.join(name));
        let pool = Pool::create(workspace.path())?;
        let (nbd, control_socket) = (workspace.path().join("nbd.sock"), pool.control_socket());
        let limits = ServerLimits::default();
        let shard = Shard::start(&[Listen::Unix(nbd.clone())], limits, io_settings(real.no_io_uring, limits.memory))?;
        say(options, &format!("I/O: {}", shard.backend()));
        let units = match plan.units {
            Units::Decimal => qos::Units::Decimal,
            Units::Binary => qos::Units::Binary,
        };
        let settings = RegistrySettings { units, ..RegistrySettings::default() };
        let mut control = Control::open(pool, shard, settings)?;
        for line in set_up(plan) {
            control.execute(&line).with_context(|| format!("plan: {line}"))?;
        }
        let control = Arc::new(Mutex::new(control));
        let socket = ControlSocket::open(&control_socket, Arc::clone(&control)).context("control socket")?;
        let nbd = std::path::absolute(nbd).context("--dir")?;
        let hosts = Hosts { exports: exports(plan, &nbd), stop };
        say(options, &format!("filling {} in {}", Bytes(needed), workspace.path().display()));
        folder.make()?;
        hosts.fill(&folder.path, plan.seed)?;
        Ok(Real { control, _socket: socket, hosts, ramps: Vec::new(), folder, clocks: Vec::new(), workspace })
    }
}

impl Real {
    fn control(&self) -> MutexGuard<'_, Control> {
        self.control.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Each host's exports: those of its data, then its journal's.
fn exports(plan: &HostsPlan, socket: &Path) -> Vec<Vec<String>> {
    let uri = |path: String| format!("nbd+unix:///{}:{path}?socket={}", plan.svm, socket.display());
    let of = |host: &PlannedHost| host.data_paths().into_iter().chain([host.journal_path()]).map(uri).collect();
    plan.hosts.iter().map(of).collect()
}

impl Field for Real {
    fn command(&mut self, line: &str) -> Result<()> {
        self.control().execute(line).with_context(|| format!("command {line:?}"))?;
        Ok(())
    }

    fn begin(&mut self, name: &str, ramps: &[Settings]) -> Result<()> {
        let folders = ramps.iter().map(|ramp| self.folder.path.join(name).join(&ramp.system)).collect();
        self.ramps.push(self.hosts.ready(folders, ramps)?);
        Ok(())
    }

    fn run(&mut self, ramp: usize) -> Result<()> {
        let ramp = &mut self.ramps[ramp];
        self.clocks.push(ramp.let_go()?);
        self.hosts.run(ramp)
    }

    fn end(&mut self, ended: Result<()>) -> Played {
        let mut ramps = std::mem::take(&mut self.ramps);
        match ended.and_then(|()| ramps.iter_mut().map(whole).collect()) {
            Ok(left) => Played { left, ended: Ok(()) },
            Err(error) => {
                ramps.iter_mut().for_each(Ready::wind_down);
                // What cannot be read was not written: the host was ended too early for it.
                let kept = |ramp: &Ready| ramp.folders.iter().map(|at| read(at).unwrap_or_default()).collect();
                Played { left: ramps.iter().map(kept).collect(), ended: Err(error) }
            }
        }
    }

    fn limits(&self) -> Vec<(String, LimitsInForce)> {
        self.control().limits()
    }

    fn used(&self) -> Vec<(String, Bytes)> {
        self.control().used_by_volume().unwrap_or_default()
    }

    fn machine(&self) -> stats::Machine {
        let backend = self.control().shard().backend().to_string();
        machine::look(Some(self.workspace.path()), &backend)
    }

    fn is_simulated(&self) -> bool {
        false
    }

    fn notes(&self) -> Vec<String> {
        let worst = |of: fn(&Clocks) -> f64| self.clocks.iter().map(of).fold(0.0, f64::max);
        vec![format!(
            "hosts' clocks differed from the server's by at most {:.0} us (known to {:.0} us); each run was begun by all \
             within {:.0} us",
            worst(|clocks| clocks.offset_us),
            worst(|clocks| clocks.error_us),
            worst(|clocks| clocks.spread_us),
        )]
    }

    fn keep_folder(&mut self) -> Option<PathBuf> {
        self.folder.is_kept = true;
        Some(self.folder.path.clone())
    }
}

/// What the hosts of a ramp wrote, all of them to their ends.
fn whole(ramp: &mut Ready) -> Result<Vec<Left>> {
    ramp.end()?;
    let left = |folder: &PathBuf| {
        let (left, runs) = (read(folder)?, ramp.runs as usize);
        if left.rows.len() != runs {
            bail!("{}: has {} runs of {runs}", folder.join("summary.csv").display(), left.rows.len());
        }
        Ok(left)
    };
    ramp.folders.iter().map(left).collect()
}

/// What a host wrote into its folder.
fn read(folder: &Path) -> Result<Left> {
    let text = |name: &str| {
        let path = folder.join(name);
        std::fs::read_to_string(&path).with_context(|| path.display().to_string())
    };
    let within = |name: &str| format!("{}", folder.join(name).display());
    let rows = read_summary(&text("summary.csv")?).with_context(|| within("summary.csv"))?;
    let seconds = read_seconds(&text("seconds.csv")?).with_context(|| within("seconds.csv"))?;
    let results = results::Results::open_existing(&folder.join(RESULTS))?;
    Ok(Left { rows, seconds, run: results.load(1)? })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_goes_with_those_that_were_made_for_it() {
        let dir = tempfile::tempdir().unwrap();
        let at = |name: &str| dir.path().join(name);
        let folder = Folder::new(at("new/out/seawall-1"));
        folder.make().unwrap();
        std::fs::write(folder.path.join("fill.log"), "").unwrap();
        drop(folder);
        assert!(!at("new").exists() && dir.path().exists());
        // Somebody else's results in it, and a folder that was there.
        let folder = Folder::new(at("new/out/seawall-1"));
        folder.make().unwrap();
        std::fs::write(at("new/thesis"), "years of work").unwrap();
        drop(folder);
        assert!(at("new/thesis").exists() && !at("new/out").exists());
        drop(Folder::new(at("new/seawall-1")));
        assert!(at("new").exists());
        let mut folder = Folder::new(at("new/out/seawall-1"));
        folder.make().unwrap();
        folder.is_kept = true;
        drop(folder);
        assert!(at("new/out/seawall-1").exists());
    }
}
