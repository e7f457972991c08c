//! A server that encrypts, and what libnbd's tools and QEMU's do with it by whatever they were
//! given to prove.

use crate::requires::client;
use crate::running::{Running, run, seawall, succeed, succeed_with};
use crate::scratch::Scratch;
use crate::server::{LUN, pattern, read};
use std::process::Command;

/// `seawall serve` on a port that the system chose.
pub struct Encrypted {
    pub running: Running,
    pub port: String,
}

impl Encrypted {
    pub fn start(scratch: &Scratch, arguments: &[&str]) -> Encrypted {
        let mut command = seawall(scratch.path());
        command.arg("serve").args(arguments);
        let mut running = Running::start(command);
        let line = running.wait_for("listening on 127.0.0.1:");
        let port = line.split([':', ' ']).nth(3).expect("a port").to_owned();
        running.wait_for("commands: ");
        Encrypted { running, port }
    }

    /// Makes `vol1` with the LUN [`LUN`] of 8 MiB in it, in a new SVM `svm01`.
    pub fn make_volume(&self, scratch: &Scratch) {
        let mut shell = seawall(scratch.path());
        shell.args(["shell", "--pool", "pool", "-c", "vserver create -vserver svm01"]);
        succeed(shell.args(["-c", "volume create -vserver svm01 -volume vol1 -size 64MiB"]));
        self.make_lun(scratch, LUN);
    }

    pub fn make_lun(&self, scratch: &Scratch, path: &str) {
        let mut shell = seawall(scratch.path());
        shell.args(["shell", "--pool", "pool", "-c", &format!("lun create -vserver svm01 -path {path} -size 8MiB")]);
        succeed(&mut shell);
    }

    /// The URI of an export for who is named before the host (`alice@`, or nobody) and proves it by
    /// `parameter`.
    pub fn uri(&self, who: &str, export: &str, parameter: &str) -> String {
        let export = export.replacen('/', "%2F", usize::from(export.starts_with('/')));
        format!("nbds://{who}localhost:{}/{export}?{parameter}", self.port)
    }

    /// nbdcopy writes the LUN at `uri` over four connections and reads back what it wrote, nbdinfo
    /// says that it is encrypted; in clear text there is nothing to be had.
    pub fn is_copied_by_libnbd(&self, scratch: &Scratch, uri: &str) {
        let (there, back) = (scratch.join("there"), scratch.join("back"));
        std::fs::write(&there, pattern(8 << 20)).unwrap();
        succeed(client("nbdcopy").args(["--connections=4", "--flush"]).arg(&there).arg(uri));
        succeed(client("nbdcopy").arg(uri).arg(&back));
        assert!(read(&there) == read(&back), "what came back is not what went there");
        let told = succeed_with(client("nbdinfo"), [uri]);
        assert!(told.contains("newstyle-fixed with TLS"), "{told}");
        let clear = format!("nbd://localhost:{}/{}", self.port, LUN.replacen('/', "%2F", 1));
        assert_eq!(run(client("nbdinfo").arg(clear)).code, Some(1));
    }

    /// qemu-img writes an image to the LUN and finds it there, with `credentials`, an object `tls`.
    pub fn is_converted_by_qemu(&self, scratch: &Scratch, credentials: &str) {
        let image = scratch.join("image");
        std::fs::write(&image, pattern(8 << 20)).unwrap();
        let target = format!(
            "driver=raw,file.driver=nbd,file.host=localhost,file.port={},file.export={LUN},file.tls-creds=tls",
            self.port
        );
        let source = format!("driver=raw,file.driver=file,file.filename={}", image.display());
        let qemu_img = |verb: &str| -> Command {
            let mut command = client("qemu-img");
            command.args([verb, "--object", credentials, "--image-opts"]);
            command
        };
        succeed(qemu_img("convert").args(["-n", "--target-image-opts", &source, &target]));
        let said = succeed(qemu_img("compare").args([&source, &target]));
        assert!(said.contains("identical"), "{said}");
    }
}
