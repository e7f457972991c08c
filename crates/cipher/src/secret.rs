//! Files that contain a secret, such as keys. A file that others can read is refused, because it is
//! not secret any more.
//!
//! The rule is PostgreSQL's for its key: only the owner may read the file, or it is root's and a
//! group may read it. So the files of `psktool`, `openssl` and `certtool` (0600) are accepted, and
//! so are the ways in which Debian and systemd give a service a key that it does not own (0640 or
//! 0440 of root with the service's group; credentials, whose access list appears as the group's
//! right).

use std::fs::File;
use std::io::Read as _;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
use std::path::Path;

/// Why a secret file is refused.
#[derive(Debug, thiserror::Error)]
pub enum SecretError {
    /// The file cannot be read.
    #[error(transparent)]
    Io(#[from] std::io::Error),
    /// Others can read it, or change it.
    #[error("{whom} can read or change it (mode {mode:04o}), so it is no secret; {remedy}")]
    Exposed {
        /// Who can.
        whom: &'static str,
        /// Its permissions.
        mode: u32,
        /// How to protect it.
        remedy: &'static str,
    },
}

/// The text of a file that nobody else can read.
///
/// # Errors
/// It cannot be read as text, or others can read it too.
pub fn read(path: &Path) -> Result<String, SecretError> {
    let mut file = File::open(path)?;
    // Checks the open file, because the name may soon refer to another one.
    let about = file.metadata()?;
    check(about.permissions().mode() & 0o7777, about.uid())?;
    let mut text = String::new();
    file.read_to_string(&mut text)?;
    Ok(text)
}

fn check(mode: u32, owner: u32) -> Result<(), SecretError> {
    const OWNER_ONLY: &str = "chmod 600 it";
    if mode & 0o006 != 0 {
        let remedy = "chmod 600 it, or 640 if it is root's and the server's group shall read it";
        return Err(SecretError::Exposed { whom: "everybody", mode, remedy });
    }
    match owner {
        0 if mode & 0o020 != 0 => Err(SecretError::Exposed { whom: "its group", mode, remedy: "chmod 640 it" }),
        0 => Ok(()),
        _ if mode & 0o060 != 0 => Err(SecretError::Exposed { whom: "its group", mode, remedy: OWNER_ONLY }),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_secret_is_its_owners_or_a_group_of_roots() {
        const USER: u32 = 1000;
        for (mode, owner) in
            [(0o600, USER), (0o400, USER), (0o600, 0), (0o640, 0), (0o440, 0), (0o400, 0), (0o710, USER)]
        {
            assert!(check(mode, owner).is_ok(), "{mode:o} {owner}");
        }
        for (mode, owner, whom) in [
            (0o644, USER, "everybody"),
            (0o604, 0, "everybody"),
            (0o602, 0, "everybody"),
            (0o666, 0, "everybody"),
            (0o640, USER, "its group"),
            (0o440, USER, "its group"),
            (0o620, USER, "its group"),
            (0o660, 0, "its group"),
        ] {
            let said = check(mode, owner).unwrap_err().to_string();
            assert!(said.starts_with(whom) && said.contains(&format!("{mode:04o}")), "{mode:o} {owner}: {said}");
        }
    }

    #[test]
    fn a_file_is_read_as_soon_as_it_is_a_secret() {
        let folder = std::env::temp_dir().join(format!("seawall-secret-{}", std::process::id()));
        std::fs::write(&folder, "alice:00").unwrap();
        let with_mode = |mode| {
            std::fs::set_permissions(&folder, std::fs::Permissions::from_mode(mode)).unwrap();
            read(&folder)
        };
        let said = with_mode(0o644).unwrap_err().to_string();
        let expected = "everybody can read or change it (mode 0644), so it is no secret; chmod 600 it, or 640 if it is \
                        root's and the server's group shall read it";
        assert_eq!(said, expected);
        assert_eq!(with_mode(0o600).unwrap(), "alice:00");
        std::fs::remove_file(&folder).unwrap();
        assert!(matches!(read(&folder), Err(SecretError::Io(_))));
    }
}
