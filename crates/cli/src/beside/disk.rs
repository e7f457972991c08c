//! Makes the server's disk the bottleneck.
//!
//! A control group is the standard means. Linux gives it a budget for each tenth of a second, and
//! requests beyond the budget wait for the next one. So a request either runs at the disk's own
//! speed or stalls, and the median of the latency is far from the mean. With `delay` the server has
//! a disk of its own on which every request takes the same time, a few at once, as on real disks:
//! memory behind nbdkit's filter, mounted like the database's volume.

use super::mounted::{Made, Mounted};
use super::tools::{command, pause};
use anyhow::{Context as _, Result, bail};
use block::Bytes;
use std::fs;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Stdio};
use storage::major_minor;
use uring::groups::{GROUPS, own_group};
use workload::plan::Bottleneck;

/// How long each request takes on a delayed disk, and how many at a time.
const DELAY: &str = "2ms";
const AT_ONCE: u32 = 12;

/// The server's disk; the set-up is undone on drop.
pub enum Disk {
    /// The disk without changes.
    Plain,
    /// Limited by a control group once the limit is known.
    Group(Option<Throttle>),
    /// A disk of its own.
    Delayed(DelayedDisk),
}

impl Disk {
    /// The disk below `folder`; a disk of its own has room for `size`.
    ///
    /// # Errors
    /// This machine cannot provide it.
    pub fn new(bottleneck: Bottleneck, folder: &Path, size: Bytes) -> Result<Disk> {
        Ok(match bottleneck {
            Bottleneck::None => Disk::Plain,
            Bottleneck::Cgroup => Disk::Group(None),
            Bottleneck::Delay => Disk::Delayed(DelayedDisk::new(folder, size)?),
        })
    }

    /// The folder for the server's pool, which does not exist yet.
    pub fn pool(&self, folder: &Path) -> PathBuf {
        match self {
            Disk::Delayed(disk) => disk.mounted.point().join("pool"),
            Disk::Plain | Disk::Group(_) => folder.join("pool"),
        }
    }

    /// Limits the disk to a quarter of the measured operations a second. Returns the limit if it is
    /// known.
    ///
    /// # Errors
    /// This machine has no control groups for that.
    pub fn hold(&mut self, folder: &Path, measured: f64) -> Result<Option<f64>> {
        let Disk::Group(throttle) = self else { return Ok(None) };
        let iops = (measured / 4.0).round().max(1.0);
        *throttle = Some(Throttle::new(folder, iops as u64)?);
        Ok(Some(iops))
    }

    /// A description of the disk.
    pub fn says(&self) -> String {
        match self {
            Disk::Plain => "the server's disk was the host's own".into(),
            Disk::Group(None) => "the server's disk was not held".into(),
            Disk::Group(Some(throttle)) => format!(
                "the server's disk was held by a control group to {} reads and as many writes a second, a quarter of what it did",
                throttle.iops
            ),
            Disk::Delayed(_) => format!(
                "the server's disk took {DELAY} for each request, {AT_ONCE} at a time (memory behind nbdkit's filter delay)"
            ),
        }
    }
}

/// Memory behind nbdkit, with a delay for every request.
pub struct DelayedDisk {
    mounted: Mounted,
    nbdkit: Server,
}

/// nbdkit, which is ended on drop.
struct Server(Child);

impl Drop for Server {
    fn drop(&mut self) {
        // It may have exited already.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

impl DelayedDisk {
    fn new(folder: &Path, size: Bytes) -> Result<DelayedDisk> {
        let folder = folder.join("disk");
        fs::create_dir(&folder).with_context(|| folder.display().to_string())?;
        let socket = folder.join("socket");
        let mut nbdkit = command("nbdkit");
        nbdkit.args(["--foreground", "--threads", &AT_ONCE.to_string(), "--unix"]).arg(&socket);
        // In memory, allocated as it is written: a disk would add latencies of its own.
        nbdkit.args(["--filter=delay", "memory", &size.0.next_multiple_of(1 << 20).to_string()]);
        nbdkit.args([format!("rdelay={DELAY}"), format!("wdelay={DELAY}")]).stdout(Stdio::null()).stderr(Stdio::null());
        let mut nbdkit = Server(nbdkit.spawn().context("nbdkit")?);
        while !socket.exists() {
            if let Some(status) = nbdkit.0.try_wait()? {
                bail!("nbdkit: ended with {status}; has it the filter delay?");
            }
            pause();
        }
        let mounted = Mounted::new(&format!("nbd+unix:///?socket={}", socket.display()), &folder, Some(Made::Bare))?;
        Ok(DelayedDisk { mounted, nbdkit })
    }

    /// Whether nbdkit is still running.
    pub fn is_there(&mut self) -> bool {
        matches!(self.nbdkit.0.try_wait(), Ok(None))
    }
}

/// A control group of this process that limits its reads from and writes to a device. On drop the
/// process leaves it and it is removed.
pub struct Throttle {
    group: PathBuf,
    /// The group in which this process was before.
    before: PathBuf,
    iops: u64,
}

impl Throttle {
    fn new(folder: &Path, iops: u64) -> Result<Throttle> {
        let device = device_of(folder)?;
        let (first, second) = (Path::new(GROUPS).join("blkio"), Path::new(GROUPS).join("cgroup.controllers"));
        let name = format!("seawall-{}", std::process::id());
        let controllers = fs::read_to_string(second).unwrap_or_default();
        let (root, before) = if controllers.split_whitespace().any(|one| one == "io") {
            fs::write(Path::new(GROUPS).join("cgroup.subtree_control"), "+io").context("cgroup.subtree_control")?;
            (PathBuf::from(GROUPS), own_group(""))
        } else if first.join("blkio.throttle.read_iops_device").exists() {
            (first, own_group("blkio"))
        } else {
            bail!(
                "bottleneck \"cgroup\": this host has no control groups that hold a disk; say bottleneck = \"delay\""
            );
        };
        let before = before.unwrap_or_else(|| root.clone());
        let group = root.join(name);
        fs::create_dir(&group).with_context(|| group.display().to_string())?;
        let throttle = Throttle { group, before, iops };
        throttle.hold(&device)?;
        fs::write(throttle.group.join("cgroup.procs"), std::process::id().to_string()).context("cgroup.procs")?;
        Ok(throttle)
    }

    fn hold(&self, device: &str) -> Result<()> {
        let (iops, write) = (self.iops, |name: &str, line: String| {
            fs::write(self.group.join(name), line).with_context(|| format!("{}/{name}", self.group.display()))
        });
        if self.group.join("io.max").exists() {
            return write("io.max", format!("{device} riops={iops} wiops={iops}"));
        }
        write("blkio.throttle.read_iops_device", format!("{device} {iops}"))?;
        write("blkio.throttle.write_iops_device", format!("{device} {iops}"))
    }
}

impl Drop for Throttle {
    fn drop(&mut self) {
        let _ = fs::write(self.before.join("cgroup.procs"), std::process::id().to_string());
        // A process that has just ended may still be in it.
        for _ in 0..100 {
            if fs::remove_dir(&self.group).is_ok() {
                return;
            }
            pause();
        }
    }
}

/// The whole disk below a folder, in the notation of control groups: `254:0`.
fn device_of(folder: &Path) -> Result<String> {
    let (major, minor) = major_minor(fs::metadata(folder)?.dev());
    let sys = PathBuf::from(format!("/sys/dev/block/{major}:{minor}"));
    if !sys.exists() {
        bail!("bottleneck \"cgroup\": {} is on no disk of this host; name another --dir", folder.display());
    }
    // For a partition the limit is on its disk.
    let whole = if sys.join("partition").exists() { sys.canonicalize()?.join("..") } else { sys };
    Ok(fs::read_to_string(whole.join("dev"))?.trim().to_owned())
}
