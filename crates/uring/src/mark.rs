//! A mark on files that were made for tests, so that a load tool may overwrite them later without
//! being told to.
//!
//! The mark is the extended attribute `user.seawall`. If the file system has no such attributes, it
//! is the sticky bit, which Linux ignores on files and which nobody sets by chance. Both stay with
//! the file when it is renamed, are not copied by plain tools, and need no second file.

use std::fs::File;
use std::io;
use std::os::fd::AsRawFd;
use std::os::unix::fs::PermissionsExt;

const NAME: &std::ffi::CStr = c"user.seawall";
const VALUE: &[u8] = b"laid out for tests";
const STICKY: u32 = 0o1000;

/// Marks a file.
pub fn set(file: &File) -> io::Result<()> {
    // SAFETY: the name is a C string and the value is valid for its length; the descriptor is open.
    let outcome = unsafe { libc::fsetxattr(file.as_raw_fd(), NAME.as_ptr(), VALUE.as_ptr().cast(), VALUE.len(), 0) };
    if outcome == 0 {
        return Ok(());
    }
    let mut permissions = file.metadata()?.permissions();
    permissions.set_mode(permissions.mode() | STICKY);
    file.set_permissions(permissions)
}

/// Whether a file is marked.
pub fn is_set(file: &File) -> io::Result<bool> {
    // SAFETY: with a length of zero nothing is written; the name is a C string; the descriptor is
    // open.
    let outcome = unsafe { libc::fgetxattr(file.as_raw_fd(), NAME.as_ptr(), std::ptr::null_mut(), 0) };
    Ok(outcome >= 0 || file.metadata()?.permissions().mode() & STICKY != 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mark_stays_with_its_file_and_not_with_its_data() {
        let folder = tempfile::tempdir().unwrap();
        let (path, copy) = (folder.path().join("a"), folder.path().join("b"));
        let file = File::create(&path).unwrap();
        assert!(!is_set(&file).unwrap());
        set(&file).unwrap();
        assert!(is_set(&file).unwrap());
        std::fs::rename(&path, &copy).unwrap();
        assert!(is_set(&File::open(&copy).unwrap()).unwrap());
        std::fs::write(&path, std::fs::read(&copy).unwrap()).unwrap();
        assert!(!is_set(&File::open(&path).unwrap()).unwrap());
    }
}
