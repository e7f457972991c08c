//! Records the file requests of a server's processes with strace, as a table that `seawall advise
//! cache --trace` reads.
//!
//! ```text
//!   1795891536.882541 pread64(11</db/data/base/5/16404>, ""..., 8192, 3678208) = 8192
//!   └ when                       └ which file                        └ where     └ how much
//! ```
//! Each process has a log of its own, so that calls of different processes are not interleaved.

use anyhow::{Context as _, Result};
use std::ffi::OsString;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};

/// The calls with a position in a file.
const CALLS: &str = "trace=pread64,pwrite64,preadv,pwritev,preadv2,pwritev2";

/// Records into a folder.
pub struct Recorder {
    folder: PathBuf,
}

/// A read or write of a part of a file.
#[derive(Debug, PartialEq, Eq)]
struct Request {
    us: u64,
    file: String,
    action: &'static str,
    at: u64,
    len: u64,
}

impl Recorder {
    /// Records into a folder, which must not exist yet.
    ///
    /// # Errors
    /// It cannot be made.
    pub fn into(folder: PathBuf) -> Result<Recorder> {
        std::fs::create_dir(&folder).with_context(|| folder.display().to_string())?;
        Ok(Recorder { folder })
    }

    /// The words to start a server with.
    pub fn words(&self) -> Vec<OsString> {
        // The kernel's filter stops a process for these calls only.
        let words = ["strace", "-ff", "--seccomp-bpf", "-y", "-ttt", "-s", "0", "-e", "signal=none", "-e", CALLS, "-o"];
        words.map(OsString::from).into_iter().chain([self.folder.join("calls").into()]).collect()
    }

    /// The table of the requests to files below a folder, once all processes have ended.
    ///
    /// # Errors
    /// The recording cannot be read, or is empty.
    pub fn table(&self, below: &Path) -> Result<String> {
        // The kernel reports canonical paths.
        let below = format!("{}/", below.canonicalize().with_context(|| below.display().to_string())?.display());
        let mut requests = Vec::new();
        for entry in std::fs::read_dir(&self.folder).with_context(|| self.folder.display().to_string())? {
            let path = entry?.path();
            let text = std::fs::read_to_string(&path).with_context(|| path.display().to_string())?;
            requests.extend(text.lines().filter_map(|line| request(line, &below)));
        }
        requests.sort_by_key(|request| request.us);
        let first = requests.first().with_context(|| format!("strace saw no request of files below {below}"))?.us;
        let mut table = String::from("time_us,file,action,offset,length\n");
        for Request { us, file, action, at, len } in requests {
            let _ = writeln!(table, "{},{file},{action},{at},{len}", us - first);
        }
        Ok(table)
    }
}

/// Parses a line of strace; `None` for a call that failed, moved nothing, or concerns another file.
fn request(line: &str, below: &str) -> Option<Request> {
    let (when, call) = line.split_once(' ')?;
    let (seconds, us) = when.split_once('.')?;
    let us = seconds.parse::<u64>().ok()? * 1_000_000 + us.parse::<u64>().ok()?;
    let (name, rest) = call.split_once('(')?;
    let action = if name.starts_with("pread") { "read" } else { "write" };
    let (file, rest) = rest.split_once('<')?.1.split_once('>')?;
    let (asked, len) = rest.rsplit_once(") = ")?;
    let len = len.trim().parse().ok().filter(|len| *len > 0)?;
    // Calls of version 2 have flags after the offset.
    let last = if name.ends_with('2') { asked.rsplit_once(", ")?.0 } else { asked };
    let at = last.rsplit_once(", ")?.1.parse().ok()?;
    Some(Request { us, file: file.strip_prefix(below)?.to_owned(), action, at, len })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(call: &str) -> Option<(&'static str, u64, u64)> {
        let request = request(&format!("17.000002 {call}"), "/db/data/")?;
        assert_eq!((request.us, request.file.as_str()), (17_000_002, "base/5/16404"));
        Some((request.action, request.at, request.len))
    }

    #[test]
    fn calls_that_moved_data_of_the_servers_files_are_requests() {
        let of = "</db/data/base/5/16404>";
        assert_eq!(found(&format!("pread64(11{of}, \"\"..., 8192, 3678208) = 8192")), Some(("read", 3_678_208, 8192)));
        assert_eq!(found(&format!("pwrite64(11{of}, \"\"..., 8192, 0) = 8192")), Some(("write", 0, 8192)));
        let two = "[{iov_base=\"\"..., iov_len=8192}, {iov_base=\"\"..., iov_len=8192}], 2, 16384";
        assert_eq!(found(&format!("preadv(11{of}, {two}) = 16384")), Some(("read", 16_384, 16_384)));
        assert_eq!(found(&format!("pwritev2(11{of}, {two}, RWF_DSYNC) = 16384")), Some(("write", 16_384, 16_384)));
        // At the end of the file, failed, of the program itself, and the end of the process.
        assert_eq!(found(&format!("pread64(11{of}, \"\", 8192, 8192) = 0")), None);
        assert_eq!(found(&format!("pread64(11{of}, \"\", 8192, 8192) = -1 EIO (Input/output error)")), None);
        assert_eq!(found("pread64(3</usr/lib/libc.so.6>, \"\"..., 784, 64) = 784"), None);
        assert_eq!(found("+++ exited with 0 +++"), None);
    }

    #[test]
    fn the_requests_of_all_processes_are_in_the_order_of_their_times() {
        let folder = tempfile::tempdir().unwrap();
        let recorder = Recorder::into(folder.path().join("calls")).unwrap();
        let data = folder.path().canonicalize().unwrap();
        let line =
            |us: u32, at: u32| format!("9.00000{us} pread64(4<{}/f>, \"\"..., 8192, {at}) = 8192\n", data.display());
        std::fs::write(recorder.folder.join("calls.1"), line(2, 0) + &line(6, 8192)).unwrap();
        std::fs::write(recorder.folder.join("calls.2"), line(5, 16_384)).unwrap();
        assert!(recorder.table(&recorder.folder).is_err(), "of no file there");
        let table = recorder.table(&data).unwrap();
        let lines =
            ["time_us,file,action,offset,length", "0,f,read,0,8192", "3,f,read,16384,8192", "4,f,read,8192,8192"];
        assert_eq!(table.lines().collect::<Vec<_>>(), lines);
    }
}
