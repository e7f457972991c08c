//! A file system on a LUN, through nbdfuse and a loop device: mkfs, fio, fsck. Where the kernel has
//! no FUSE or no loop devices, or this is not root, the file system goes there and back as a copy
//! instead, and the output says so.

use crate::requires::{client, find, requires};
use crate::running::{Running, run, succeed, succeed_with};
use crate::scratch::Scratch;
use crate::server::{LUN, Server, pattern, read};
use std::path::{Path, PathBuf};
use std::process::Command;

/// A LUN as a block device of this machine; everything is taken down with it.
struct Device {
    _nbdfuse: Running,
    /// Where nbdfuse shows the LUN as a file.
    shown: PathBuf,
    /// The loop device on that file.
    name: String,
}

impl Device {
    /// Shows the export; or why that cannot be had here.
    fn new(scratch: &Scratch, uri: &str) -> Result<Device, String> {
        let folder = scratch.join("shown");
        let _ = std::fs::create_dir(&folder);
        if std::fs::File::options().read(true).write(true).open("/dev/fuse").is_err() {
            return Err("/dev/fuse cannot be opened here".into());
        }
        let mut command = client("nbdfuse");
        command.arg(&folder).arg(uri);
        let mut nbdfuse = Running::start(command);
        let shown = folder.join("nbd");
        while !shown.exists() {
            if let Some(said) = nbdfuse.ended() {
                return Err(format!("nbdfuse cannot mount here: {said}"));
            }
            std::thread::yield_now();
        }
        let losetup = run(tool("losetup").args(["--find", "--show"]).arg(&shown));
        let name = losetup.out.trim().to_owned();
        if losetup.code != Some(0) || name.is_empty() {
            let _ = run(tool("umount").arg(&folder));
            return Err(format!("no loop device can be had here: {}", losetup.err.trim()));
        }
        Ok(Device { _nbdfuse: nbdfuse, shown, name })
    }

    /// Mounts it for as long as `work` takes.
    fn mounted(&self, point: &Path, work: impl FnOnce()) {
        let _ = std::fs::create_dir(point);
        succeed(tool("mount").arg(&self.name).arg(point));
        let outcome = std::panic::catch_unwind(std::panic::AssertUnwindSafe(work));
        succeed(tool("umount").arg(point));
        if let Err(panic) = outcome {
            std::panic::resume_unwind(panic);
        }
    }
}

impl Drop for Device {
    fn drop(&mut self) {
        let _ = run(tool("losetup").arg("--detach").arg(&self.name));
        let _ = run(tool("umount").arg(self.shown.parent().expect("it is in a folder")));
    }
}

/// A system tool, given two minutes; some lie where only root looks.
fn tool(program: &str) -> Command {
    let found = ["/usr/sbin", "/sbin"].iter().map(|folder| Path::new(folder).join(program)).find(|file| file.is_file());
    let mut command = Command::new("timeout");
    command.args(["--kill-after=5", "120"]).arg(found.or_else(|| find(program)).unwrap_or_else(|| program.into()));
    command
}

/// mkfs.ext4 on a LUN; fio writes into the file system with flushes and verifies; unmounted, fsck
/// finds nothing wrong. The server is killed and started again: fsck finds nothing wrong, and what
/// was synced is there, byte for byte.
#[test]
fn a_file_system_lives_on_a_lun() {
    requires!("nbdfuse", "nbdcopy", "fio");
    let scratch = Scratch::new();
    let server = Server::start(&scratch);
    server.make_lun("64MiB");
    let device = match Device::new(&scratch, &server.uri(LUN)) {
        Ok(device) => device,
        Err(why) => {
            println!("not mounted, but copied there and back: {why}");
            return copied_there_and_back(&scratch, &server);
        }
    };
    let (point, bytes) = (scratch.join("point"), pattern(3 << 20));
    succeed(tool("mkfs.ext4").arg("-q").arg(&device.name));
    device.mounted(&point, || {
        std::fs::write(point.join("kept"), &bytes).unwrap();
        let mut fio = client("fio");
        fio.current_dir(&point).args(["--name=v", "--rw=randwrite", "--bs=4k", "--size=16m", "--fsync=64"]);
        succeed(fio.args(["--verify=crc32c", "--verify_fatal=1", "--verify_state_save=0", "--directory=."]));
        succeed(tool("sync").arg("--file-system").arg(&point));
    });
    succeed(tool("fsck.ext4").arg("-fn").arg(&device.name));
    drop(device);
    server.kill();
    let server = Server::start(&scratch);
    let device = Device::new(&scratch, &server.uri(LUN)).expect("it could be had a moment ago");
    succeed(tool("fsck.ext4").arg("-fn").arg(&device.name));
    device.mounted(&point, || assert!(read(&point.join("kept")) == bytes, "what was synced is not there"));
}

/// What can be tried without mounting: an ext4 that mkfs filled from a folder goes into the LUN,
/// comes back after a restart, and fsck finds nothing wrong with it; its file is still in it.
fn copied_there_and_back(scratch: &Scratch, server: &Server) {
    let (folder, image, back) = (scratch.join("folder"), scratch.join("image"), scratch.join("back"));
    std::fs::create_dir(&folder).unwrap();
    std::fs::write(folder.join("kept"), pattern(3 << 20)).unwrap();
    std::fs::File::create(&image).unwrap().set_len(64 << 20).unwrap();
    succeed(tool("mkfs.ext4").arg("-q").arg("-d").arg(&folder).arg(&image));
    succeed(client("nbdcopy").arg("--flush").arg(&image).arg(server.uri(LUN)));
    succeed(client("nbdcopy").arg(server.uri(LUN)).arg(&back));
    succeed(tool("fsck.ext4").arg("-fn").arg(&back));
    let kept = scratch.join("kept");
    succeed_with(tool("debugfs"), ["-R", &format!("dump kept {}", kept.display()), &back.display().to_string()]);
    assert!(read(&kept) == pattern(3 << 20));
}

/// The way for where nothing can be mounted works here, too.
#[test]
fn a_file_system_is_copied_there_and_back() {
    requires!("nbdcopy");
    let scratch = Scratch::new();
    let server = Server::start(&scratch);
    server.make_lun("64MiB");
    copied_there_and_back(&scratch, &server);
}
