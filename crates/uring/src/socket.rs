//! What the standard library lacks for sockets: a listener with permissions from the start, the
//! removal of its file wherever its folder is by then, the identity of the peer, larger buffers.

use std::ffi::CString;
use std::fs::File;
use std::io;
use std::mem::{MaybeUninit, offset_of};
use std::os::fd::{AsFd, AsRawFd, FromRawFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::Path;

use block::Bytes;

use crate::{Backend, FileId, Io, TaskWork};

/// Limit on connections that wait to be accepted; the system's own limit (4096 by default) applies
/// too.
const BACKLOG: libc::c_int = 4096;

/// Listens on a Unix socket at `path`, which must not exist, with these permissions. Unlike `bind`
/// and then `chmod`, this leaves no moment in which others can connect.
pub fn listen_unix(path: &Path, mode: u32) -> io::Result<UnixListener> {
    let (address, len) = unix_address(path)?;
    // SAFETY: no memory is passed.
    let socket = unsafe { libc::socket(libc::AF_UNIX, libc::SOCK_STREAM | libc::SOCK_CLOEXEC, 0) };
    check(socket)?;
    // SAFETY: the call above just made this descriptor, and nobody else knows it.
    let socket = unsafe { OwnedFd::from_raw_fd(socket) };
    // Linux gives the file that `bind` creates the permissions of the socket, less the umask.
    // SAFETY: no memory is passed; the descriptor is open.
    check(unsafe { libc::fchmod(socket.as_raw_fd(), mode) })?;
    // SAFETY: `address` is a valid Unix address of `len` bytes.
    check(unsafe { libc::bind(socket.as_raw_fd(), (&raw const address).cast(), len) })?;
    // SAFETY: no memory is passed.
    check(unsafe { libc::listen(socket.as_raw_fd(), BACKLOG) })?;
    Ok(UnixListener::from(socket))
}

/// The file of a Unix socket that this process listens on. Dropping it removes the file, also from
/// a folder that was renamed meanwhile, and leaves alone what has taken its place.
#[derive(Debug)]
pub struct SocketFile {
    folder: File,
    name: CString,
    /// Its device and inode.
    identity: (libc::dev_t, libc::ino_t),
}

impl SocketFile {
    /// The file of a listener that was just made at `path`.
    ///
    /// # Errors
    /// Its folder cannot be opened, or the file is gone already.
    pub fn of(path: &Path) -> io::Result<SocketFile> {
        let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
        let folder = File::open(folder)?;
        let name = CString::new(path.file_name().unwrap_or_default().as_bytes())?;
        let identity = identity(&folder, &name)?;
        Ok(SocketFile { folder, name, identity })
    }
}

impl Drop for SocketFile {
    fn drop(&mut self) {
        if identity(&self.folder, &self.name).is_ok_and(|found| found == self.identity) {
            // SAFETY: `name` is a C string; the descriptor is open.
            unsafe { libc::unlinkat(self.folder.as_raw_fd(), self.name.as_ptr(), 0) };
        }
    }
}

/// Device and inode of what has that name in a folder.
fn identity(folder: &File, name: &CString) -> io::Result<(libc::dev_t, libc::ino_t)> {
    let mut about = MaybeUninit::<libc::stat>::uninit();
    let flags = libc::AT_SYMLINK_NOFOLLOW;
    // SAFETY: `name` is a C string, `about` a valid place for the answer; the descriptor is open.
    check(unsafe { libc::fstatat(folder.as_raw_fd(), name.as_ptr(), about.as_mut_ptr(), flags) })?;
    // SAFETY: the call succeeded, so it filled it.
    let about = unsafe { about.assume_init() };
    Ok((about.st_dev, about.st_ino))
}

fn unix_address(path: &Path) -> io::Result<(libc::sockaddr_un, libc::socklen_t)> {
    // SAFETY: all-zero is a valid sockaddr_un: numbers only.
    let mut address: libc::sockaddr_un = unsafe { std::mem::zeroed() };
    address.sun_family = libc::AF_UNIX as libc::sa_family_t;
    let bytes = path.as_os_str().as_bytes();
    // One byte stays zero, as the terminator.
    let room = address.sun_path.len() - 1;
    if bytes.is_empty() || bytes.len() > room || bytes.contains(&0) {
        let rule = format!("a socket's path has 1 to {room} bytes, got {}; use a shorter one", bytes.len());
        return Err(io::Error::new(io::ErrorKind::InvalidInput, rule));
    }
    for (place, &byte) in address.sun_path.iter_mut().zip(bytes) {
        *place = byte as libc::c_char;
    }
    let len = offset_of!(libc::sockaddr_un, sun_path) + bytes.len() + 1;
    Ok((address, len as libc::socklen_t))
}

/// The process at the other end of a Unix socket, as of when it connected.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Peer {
    /// Process ID.
    pub pid: i32,
    /// User ID.
    pub uid: u32,
    /// Group ID.
    pub gid: u32,
}

/// The peer's credentials, from the kernel.
pub fn peer(stream: &UnixStream) -> io::Result<Peer> {
    let mut who = libc::ucred { pid: 0, uid: 0, gid: 0 };
    let mut len = size_of::<libc::ucred>() as libc::socklen_t;
    // SAFETY: `who` has room for `len` bytes, and any number is valid in it.
    check(unsafe {
        libc::getsockopt(stream.as_raw_fd(), libc::SOL_SOCKET, libc::SO_PEERCRED, (&raw mut who).cast(), &mut len)
    })?;
    Ok(Peer { pid: who.pid, uid: who.uid, gid: who.gid })
}

/// Asks for socket buffers of `size` in both directions; the system's limits may reduce it.
pub fn set_buffers(socket: &impl AsFd, size: Bytes) -> io::Result<()> {
    let size = libc::c_int::try_from(size.0).unwrap_or(libc::c_int::MAX);
    for option in [libc::SO_SNDBUF, libc::SO_RCVBUF] {
        let fd = socket.as_fd().as_raw_fd();
        let len = size_of_val(&size) as libc::socklen_t;
        // SAFETY: `size` is an int of `len` bytes, valid during the call.
        check(unsafe { libc::setsockopt(fd, libc::SOL_SOCKET, option, (&raw const size).cast(), len) })?;
    }
    Ok(())
}

impl Io {
    /// Whether a send that succeeds at once need not end a turn.
    pub fn sends_end_silently(&self) -> bool {
        matches!(self.backend(), Backend::Uring { task_work: TaskWork::Deferred, .. })
    }

    /// Bytes that arrived on a socket and were not received. A system call, so not for the path of
    /// each I/O.
    pub fn unread(&self, socket: FileId) -> u64 {
        self.queued(socket, libc::FIONREAD)
    }

    /// What was sent on a socket and is still in its send queue (`SIOCOUTQ`). For a Unix socket
    /// that is the memory, in bytes, of what the peer has not read; for TCP, the bytes that it has
    /// not acknowledged. A system call.
    pub fn send_queue(&self, socket: FileId) -> u64 {
        self.queued(socket, libc::TIOCOUTQ)
    }

    /// A count by `ioctl`; zero if the kernel does not tell.
    fn queued(&self, socket: FileId, which: libc::Ioctl) -> u64 {
        let mut count: libc::c_int = 0;
        let Some(socket) = self.descriptor(socket) else { return 0 };
        // SAFETY: the kernel writes an int to `count`; a descriptor that is none is an error.
        let outcome = unsafe { libc::ioctl(socket, which, &raw mut count) };
        if outcome < 0 { 0 } else { u64::try_from(count).unwrap_or(0) }
    }
}

fn check(outcome: libc::c_int) -> io::Result<()> {
    if outcome < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt;

    #[test]
    fn a_listener_has_its_permissions_and_knows_its_peers() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("control");
        let listener = listen_unix(&path, 0o600).unwrap();
        assert_eq!(std::fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
        let client = UnixStream::connect(&path).unwrap();
        let (server, _) = listener.accept().unwrap();
        assert_eq!(peer(&server).unwrap().pid, std::process::id() as i32);
        set_buffers(&client, Bytes::kib(64)).unwrap();
        assert_eq!(listen_unix(&path, 0o600).unwrap_err().kind(), io::ErrorKind::AddrInUse);
    }

    /// A socket's file goes from its folder under any name, and another's file at its old path
    /// stays, even where that took the name.
    #[test]
    fn a_sockets_file_is_removed_where_it_is_and_no_other() {
        let scratch = tempfile::tempdir().unwrap();
        let [before, after] = ["before", "after"].map(|name| scratch.path().join(name));
        std::fs::create_dir(&before).unwrap();
        let path = before.join("control");
        let _listener = listen_unix(&path, 0o600).unwrap();
        let made = SocketFile::of(&path).unwrap();
        std::fs::rename(&before, &after).unwrap();
        std::fs::create_dir(&before).unwrap();
        let _others = listen_unix(&path, 0o600).unwrap();
        drop(made);
        assert!(path.exists() && !after.join("control").exists());
        let made = SocketFile::of(&path).unwrap();
        std::fs::rename(&path, before.join("moved")).unwrap();
        std::fs::write(&path, "another's").unwrap();
        drop(made);
        assert!(path.exists(), "another has the name now");
    }

    #[test]
    fn a_path_that_does_not_fit_is_refused_with_the_rule() {
        let long = "x".repeat(108);
        let error = listen_unix(Path::new(&long), 0o600).unwrap_err();
        assert_eq!(error.to_string(), "a socket's path has 1 to 107 bytes, got 108; use a shorter one");
    }
}
