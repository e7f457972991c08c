//! Control groups: where they are mounted, and which of them this process is in.

use std::path::{Path, PathBuf};

/// Where control groups are usually mounted.
pub const GROUPS: &str = "/sys/fs/cgroup";

/// The folder of this process's control group, if the machine has them. An empty `controller` means
/// version 2; otherwise it names a controller of version 1.
pub fn own_group(controller: &str) -> Option<PathBuf> {
    own_and_above(controller).into_iter().next()
}

/// Our own group, followed by all groups above it that are visible.
pub fn own_and_above(controller: &str) -> Vec<PathBuf> {
    let read = |path| std::fs::read_to_string(path).unwrap_or_default();
    let (mounts, groups) = (read("/proc/self/mountinfo"), read("/proc/self/cgroup"));
    let Some((mount, folder)) = folder(&mounts, &groups, controller) else { return Vec::new() };
    folder.ancestors().take_while(|above| above.starts_with(&mount)).map(Path::to_path_buf).collect()
}

/// Where a controller's groups are mounted, and the folder of ours, from the contents of
/// `/proc/self/mountinfo` and `/proc/self/cgroup`.
fn folder(mounts: &str, groups: &str, controller: &str) -> Option<(PathBuf, PathBuf)> {
    let own = member(groups, controller)?;
    mounts.lines().find_map(|line| {
        // 36 35 98:0 ROOT MOUNT OPTIONS [TAGS...] - TYPE SOURCE OPTIONS
        let (left, right) = line.split_once(" - ")?;
        let (mut left, mut right) = (left.split(' ').skip(3), right.split(' '));
        let (root, mount) = (left.next()?, left.next()?);
        let is_it = match (controller, right.next()?) {
            ("", kind) => kind == "cgroup2",
            (_, kind) => kind == "cgroup" && right.nth(1)?.split(',').any(|one| one == controller),
        };
        // In a container without its own namespace, the mount begins somewhere below the root.
        let below = Path::new(own).strip_prefix(root).unwrap_or(Path::new(own.trim_start_matches('/')));
        is_it.then(|| (PathBuf::from(mount), Path::new(mount).join(below)))
    })
}

/// The group's path below its controller's root, from `/proc/self/cgroup`.
fn member<'t>(groups: &'t str, controller: &str) -> Option<&'t str> {
    groups.lines().find_map(|line| {
        let (_, rest) = line.split_once(':')?;
        let (controllers, path) = rest.split_once(':')?;
        controllers.split(',').any(|one| one == controller).then_some(path)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn is_at(mounts: &str, groups: &str, controller: &str, expected: Option<(&str, &str)>) {
        let found = folder(mounts, groups, controller);
        assert_eq!(found, expected.map(|(mount, folder)| (mount.into(), folder.into())), "{controller:?}: {groups}");
    }

    #[test]
    fn a_group_is_found_wherever_its_kind_is_mounted() {
        let second = "25 1 0:23 / /sys/fs/cgroup rw,nosuid shared:9 - cgroup2 cgroup2 rw,nsdelegate\n";
        is_at(
            second,
            "0::/system.slice/seawall.service\n",
            "",
            Some(("/sys/fs/cgroup", "/sys/fs/cgroup/system.slice/seawall.service")),
        );
        is_at(second, "0::/a\n", "memory", None);
        let both = "35 31 0:32 / /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory\n\
            38 31 0:35 / /sys/fs/cgroup/cpu,cpuacct rw - cgroup cgroup rw,cpu,cpuacct\n\
            41 31 0:38 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw\n";
        let groups = "4:memory:/a\n2:cpu,cpuacct:/b\n0::/c\n";
        is_at(both, groups, "memory", Some(("/sys/fs/cgroup/memory", "/sys/fs/cgroup/memory/a")));
        is_at(both, groups, "cpuacct", Some(("/sys/fs/cgroup/cpu,cpuacct", "/sys/fs/cgroup/cpu,cpuacct/b")));
        is_at(both, groups, "", Some(("/sys/fs/cgroup/unified", "/sys/fs/cgroup/unified/c")));
        let inside = "35 31 0:32 /docker/1 /sys/fs/cgroup/memory ro - cgroup cgroup rw,memory\n";
        is_at(inside, "4:memory:/docker/1/d\n", "memory", Some(("/sys/fs/cgroup/memory", "/sys/fs/cgroup/memory/d")));
        is_at(inside, "4:memory:/docker/1\n", "memory", Some(("/sys/fs/cgroup/memory", "/sys/fs/cgroup/memory/")));
    }
}
