//! A limit on the processor time of this program, by a control group of its own.

use anyhow::{Context as _, Result, bail};
use std::fs;
use std::path::{Path, PathBuf};

/// Keeps this program in the group until it is dropped.
pub struct Capped {
    group: PathBuf,
    parent: PathBuf,
}

/// The period of a limit in microseconds: the kernel's default.
const PERIOD: u64 = 100_000;

impl Capped {
    /// Limits this program to this many processors from now on.
    ///
    /// # Errors
    /// The system has no control groups, or this user may not create any.
    pub fn to(processors: f64) -> Result<Capped> {
        let quota = (processors * PERIOD as f64).round() as u64;
        let own = fs::read_to_string("/proc/self/cgroup").context("cpus: /proc/self/cgroup")?;
        let Some((parent, file, limit)) = place(&own, Path::new("/sys/fs/cgroup"), quota) else {
            bail!("cpus: this system has no control group for processors; limit the program from outside");
        };
        let capped = Capped { group: parent.join(format!("seawall-tiers-{}", std::process::id())), parent };
        let why = "cpus: a control group for processors is needed, which takes root or a delegated group";
        fs::create_dir_all(&capped.group).with_context(|| format!("{why}: {}", capped.group.display()))?;
        fs::write(capped.group.join(file), limit).with_context(|| why.to_owned())?;
        enter(&capped.group).with_context(|| why.to_owned())?;
        Ok(capped)
    }
}

impl Drop for Capped {
    fn drop(&mut self) {
        // It can be removed once it is empty.
        let _ = enter(&self.parent);
        let _ = fs::remove_dir(&self.group);
    }
}

fn enter(group: &Path) -> std::io::Result<()> {
    fs::write(group.join("cgroup.procs"), std::process::id().to_string())
}

/// The group of this program, and the file and text of a limit for a group below it: version 2 of
/// control groups if that controls processors, otherwise version 1.
fn place(own: &str, root: &Path, quota: u64) -> Option<(PathBuf, &'static str, String)> {
    let of = |controllers: &dyn Fn(&str) -> bool| {
        own.lines().find_map(|line| {
            let mut parts = line.splitn(3, ':').skip(1);
            let found = parts.next()?;
            Some(parts.next()?.trim_start_matches('/').to_owned()).filter(|_| controllers(found))
        })
    };
    let first = of(&|controllers| controllers.split(',').any(|controller| controller == "cpu"));
    if let Some(path) = first {
        return Some((root.join("cpu").join(path), "cpu.cfs_quota_us", quota.to_string()));
    }
    let second = of(&str::is_empty)?;
    Some((root.join(second), "cpu.max", format!("{quota} {PERIOD}")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_group_for_processors_is_found_in_both_versions() {
        let root = Path::new("/g");
        let second = place("0::/user.slice/x\n", root, 150_000).unwrap();
        assert_eq!(second, ("/g/user.slice/x".into(), "cpu.max", "150000 100000".into()));
        let both = place("9:name=systemd:/\n3:cpu,cpuacct:/a\n0::/\n", root, 50_000).unwrap();
        assert_eq!(both, ("/g/cpu/a".into(), "cpu.cfs_quota_us", "50000".into()));
        assert_eq!(place("8:pids:/\n", root, 1), None);
    }
}
