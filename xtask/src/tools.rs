//! The programs that tests use, and how they are installed.
//!
//! A test checks for its own needs and skips with a reason if something is missing. This module
//! installs everything missing beforehand, if possible: Debian's packages, as root.

use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;

/// A program that some tests need.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Tool {
    /// The program's name.
    pub program: &'static str,
    /// The Debian package that contains it.
    pub package: &'static str,
}

const fn tool(program: &'static str, package: &'static str) -> Tool {
    Tool { program, package }
}

/// All of them: standard NBD clients, an NFS server and clients, programs for file systems and
/// volumes, databases, and a browser for the page.
pub const TOOLS: [Tool; 38] = [
    tool("fio", "fio"),
    // fio's example job files, represented by one of them.
    tool("/usr/share/doc/fio/examples/flow.fio", "fio-examples"),
    tool("nbdkit", "nbdkit"),
    tool("nbdinfo", "libnbd-bin"),
    tool("nbdcopy", "libnbd-bin"),
    tool("nbdfuse", "libnbd-bin"),
    tool("nbdsh", "python3-libnbd"),
    tool("qemu-img", "qemu-utils"),
    tool("qemu-io", "qemu-utils"),
    tool("qemu-nbd", "qemu-utils"),
    tool("mkfs.xfs", "xfsprogs"),
    tool("mkfs.btrfs", "btrfs-progs"),
    tool("pvcreate", "lvm2"),
    tool("cryptsetup", "cryptsetup-bin"),
    tool("sfdisk", "fdisk"),
    // A file system on a LUN.
    tool("mkfs.ext4", "e2fsprogs"),
    tool("debugfs", "e2fsprogs"),
    tool("losetup", "mount"),
    // An NFS server, in a network namespace of its own, and clients.
    tool("ganesha.nfsd", "nfs-ganesha"),
    tool("/usr/share/doc/nfs-ganesha-vfs", "nfs-ganesha-vfs"),
    tool("rpcbind", "rpcbind"),
    tool("rpcinfo", "rpcbind"),
    tool("showmount", "nfs-common"),
    tool("nfs-ls", "libnfs-utils"),
    // Needed to build the NFS client's bench.
    tool("/usr/include/nfsc/libnfs.h", "libnfs-dev"),
    tool("ip", "iproute2"),
    tool("nsenter", "util-linux"),
    tool("unshare", "util-linux"),
    tool("chromium", "chromium"),
    // Drives the browser.
    tool("node", "nodejs"),
    tool("npm", "npm"),
    // Servers for the order-entry load; the package of that name depends on the newest version.
    tool("/usr/lib/postgresql", "postgresql"),
    tool("mariadbd", "mariadb-server"),
    tool("prometheus", "prometheus"),
    tool("promtool", "prometheus"),
    tool("curl", "curl"),
    // Shows the server's system calls.
    tool("strace", "strace"),
    // Makes the environment of ONTAP's client; the package has no program.
    tool("/usr/share/doc/python3-venv", "python3-venv"),
];

/// npm packages that tests use, in exactly these versions; neither depends on another.
const NODE_PACKAGES: [&str; 2] = ["axe-core@4.14.1", "playwright-core@1.65.1"];

/// Installs [`NODE_PACKAGES`] in `target/node`, where the tests of the pages look for them. Never
/// fails, because those tests report what is missing.
pub fn provide_node_packages() {
    let folder = crate::root().join("target/node");
    let line = || format!("npm install --prefix {} {}", folder.display(), NODE_PACKAGES.join(" "));
    let stamp = folder.join("installed");
    if std::fs::read_to_string(&stamp).is_ok_and(|there| there == NODE_PACKAGES.join(" ")) {
        return println!("all there: {}", NODE_PACKAGES.join(" "));
    } else if !has("npm") || !has("node") {
        return println!("node and npm are not installed; the pages are not checked with axe-core");
    }
    println!("installing: {}", line());
    let mut command = Command::new("npm");
    command.args(["install", "--no-audit", "--no-fund", "--no-save", "--ignore-scripts", "--prefix"]);
    command.arg(&folder).args(NODE_PACKAGES);
    let good = std::fs::create_dir_all(&folder).is_ok() && crate::step::run(command).is_ok_and(|ended| ended.good);
    match good && std::fs::write(&stamp, NODE_PACKAGES.join(" ")).is_ok() {
        true => println!("installed: {}", NODE_PACKAGES.join(" ")),
        false => println!("not installed: {}; the pages are not checked with axe-core", NODE_PACKAGES.join(" ")),
    }
}

/// The official client of ONTAP's REST interface; a generator of requests from its document, with
/// the library whose version determines them; the oracle for a cache's misses; and a reader of
/// Parquet. All are of exactly these versions.
const PYTHON_PACKAGES: [&str; 5] =
    ["netapp-ontap==9.19.1.0", "schemathesis==4.32.5", "hypothesis==6.170.17", "libcachesim==0.3.5", "duckdb==2.0.1"];

/// Makes a virtual environment with [`PYTHON_PACKAGES`] in `target/python`, where tests look for
/// them. Never fails, because those tests report what is missing.
pub fn provide_python_packages() {
    let folder = crate::root().join("target/python");
    let (stamp, packages) = (folder.join("installed"), PYTHON_PACKAGES.join(" "));
    if std::fs::read_to_string(&stamp).is_ok_and(|there| there == packages) {
        return println!("all there: {packages}");
    } else if !has("python3") {
        return println!("python3 is not installed; nothing is tested with {packages}");
    }
    println!("installing: {packages} in {}", folder.display());
    let is_done = |command| crate::step::run(command).is_ok_and(|ended| ended.good);
    let mut environment = Command::new("python3");
    environment.args(["-m", "venv"]).arg(&folder);
    let mut package = Command::new(folder.join("bin/python"));
    package.args(["-m", "pip", "install", "--quiet", "--disable-pip-version-check"]).args(PYTHON_PACKAGES);
    match is_done(environment) && is_done(package) && std::fs::write(&stamp, &packages).is_ok() {
        true => println!("installed: {packages}"),
        false => println!("not installed: {packages}; nothing is tested with them"),
    }
}

/// Whether a program of that name is on the path.
pub fn has(program: &str) -> bool {
    let path = std::env::var_os("PATH").unwrap_or_default();
    // Some programs are only in root's path.
    let system = ["/usr/sbin", "/sbin"].map(PathBuf::from);
    std::env::split_paths(&path).chain(system).any(|folder| folder.join(program).exists())
}

/// The tools that are missing.
pub fn missing() -> Vec<Tool> {
    TOOLS.into_iter().filter(|tool| !has(tool.program)).collect()
}

/// Installs what is missing if possible, and reports what was installed and what is still missing.
/// Never fails, because a test reports a missing tool itself.
pub fn provide() {
    let missing = missing();
    if missing.is_empty() {
        println!("all there: {}", names(&TOOLS));
        return;
    }
    println!("missing: {}", names(&missing));
    let mut packages: Vec<&str> = missing.iter().map(|tool| tool.package).collect();
    packages.dedup();
    let by_hand = format!("apt-get install -y --no-install-recommends {}", packages.join(" "));
    if !has("apt-get") {
        println!("this system has no apt-get; tests that need them are skipped");
    } else if !is_root() {
        println!("not root; tests that need them are skipped. To have them: sudo {by_hand}");
    } else {
        println!("installing: {by_hand}");
        // The package lists may be old or absent. Reading them takes seconds, so it is done only if
        // the installation failed.
        if !install(&packages) && apt(&["update"]) {
            install(&packages);
        }
        let still = self::missing();
        match still.is_empty() {
            true => println!("installed: {}", packages.join(" ")),
            false => println!("still missing: {}; tests that need them are skipped", names(&still)),
        }
    }
}

fn install(packages: &[&str]) -> bool {
    apt(&[&["install", "-y", "--no-install-recommends"], packages].concat())
}

fn apt(arguments: &[&str]) -> bool {
    let mut command = Command::new("apt-get");
    command.arg("-q").args(arguments).env("DEBIAN_FRONTEND", "noninteractive");
    crate::step::run(command).is_ok_and(|ended| ended.good)
}

/// Whether this process may install packages.
fn is_root() -> bool {
    Path::new("/proc/self").metadata().is_ok_and(|found| found.uid() == 0)
}

fn names(tools: &[Tool]) -> String {
    tools.iter().map(|tool| tool.program).collect::<Vec<_>>().join(" ")
}
