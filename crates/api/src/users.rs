//! Who may log in: a file in the pool's folder with a name, a role and the hash of a password for
//! each, by argon2id.
//!
//! ```json
//! {"users":[{"name":"alice","role":"svm:svm01","password":"$argon2id$v=19$m=19456,t=2,p=1$…$…"}]}
//! ```
//! It is replaced as a whole, so that whoever reads it finds the old one or the new one.

use crate::caller::Role;
use argon2::Argon2;
use argon2::password_hash::{PasswordHash, PasswordHasher as _, PasswordVerifier as _, SaltString};
use ring::rand::{SecureRandom as _, SystemRandom};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fs::{File, OpenOptions};
use std::io::Write as _;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};

/// Its name in the pool's folder.
pub const USERS_FILE: &str = "users.json";

/// The least that a password has, in characters.
const PASSWORD_CHARS_MIN: usize = 8;
/// The most, in bytes: hashing longer ones is work that anybody could ask for.
pub(crate) const PASSWORD_BYTES_MAX: usize = 1024;
/// The longest name of a user.
const NAME_CHARS_MAX: usize = 64;

/// Why the users are not read or not changed.
#[derive(Debug, thiserror::Error)]
pub enum UsersError {
    /// The file cannot be read or written.
    #[error("{}: users: {reason}", .path.display())]
    File {
        /// Which.
        path: PathBuf,
        /// What is wrong.
        reason: String,
    },
    /// There is one of that name.
    #[error("user {0}: there is one already; delete it first to give it another role or password")]
    Taken(String),
    /// There is none of that name.
    #[error("user {0}: there is none of that name; `seawall user list` has them")]
    Missing(String),
    /// It is no name of a user.
    #[error("user {0:?}: a name has 1 to {NAME_CHARS_MAX} letters, digits, _, - and dots")]
    Name(String),
    /// It is no password.
    #[error("password: must have at least {PASSWORD_CHARS_MIN} characters and at most {PASSWORD_BYTES_MAX} bytes")]
    Password,
}

/// The users.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Users {
    users: BTreeMap<String, User>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct User {
    role: Role,
    /// In the format of password hashing competitions' strings (PHC).
    hash: String,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Table {
    users: Vec<Row>,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Row {
    name: String,
    role: String,
    password: String,
}

impl Users {
    /// Reads the file; there is nobody where it is missing.
    ///
    /// # Errors
    /// It cannot be read, others can read it too, or it is not what [`Users::change`] writes.
    pub fn read(path: &Path) -> Result<Users, UsersError> {
        let wrong = |reason: String| UsersError::File { path: path.into(), reason };
        if !path.exists() {
            return Ok(Users::default());
        }
        let text = cipher::secret::read(path).map_err(|error| wrong(error.to_string()))?;
        let table: Table = serde_json::from_str(&text).map_err(|error| wrong(error.to_string()))?;
        let user = |row: Row| {
            let role = row.role.parse().map_err(|error| wrong(format!("user {}: {error}", row.name)))?;
            PasswordHash::new(&row.password).map_err(|error| wrong(format!("user {}: {error}", row.name)))?;
            Ok((row.name, User { role, hash: row.password }))
        };
        Ok(Users { users: table.users.into_iter().map(user).collect::<Result<_, _>>()? })
    }

    /// Changes the file: reads it, has `change` change the users, and writes it anew, one process
    /// at a time.
    ///
    /// # Errors
    /// It cannot be read or written, or `change` refuses; then it is as it was.
    pub fn change(path: &Path, change: impl FnOnce(&mut Users) -> Result<(), UsersError>) -> Result<(), UsersError> {
        let wrong = |reason: std::io::Error| UsersError::File { path: path.into(), reason: reason.to_string() };
        let folder = File::open(path.parent().unwrap_or(Path::new("."))).map_err(wrong)?;
        folder.lock().map_err(wrong)?;
        let mut users = Users::read(path)?;
        change(&mut users)?;
        let row = |(name, user): (&String, &User)| Row {
            name: name.clone(),
            role: user.role.to_string(),
            password: user.hash.clone(),
        };
        let table = Table { users: users.users.iter().map(row).collect() };
        let text = serde_json::to_string_pretty(&table).expect("plain texts") + "\n";
        let new = path.with_extension("new");
        let mut options = OpenOptions::new();
        let mut file = options.write(true).create(true).truncate(true).mode(0o600).open(&new).map_err(wrong)?;
        file.write_all(text.as_bytes()).and_then(|()| file.sync_all()).map_err(wrong)?;
        std::fs::rename(&new, path).and_then(|()| folder.sync_all()).map_err(wrong)
    }

    /// Adds one.
    ///
    /// # Errors
    /// There is one of that name, or name or password break a rule.
    pub fn add(&mut self, name: &str, role: Role, password: &str) -> Result<(), UsersError> {
        let fits = (1..=NAME_CHARS_MAX).contains(&name.len())
            && name.chars().all(|c| c.is_ascii_alphanumeric() || "_-.".contains(c));
        if !fits {
            return Err(UsersError::Name(name.into()));
        } else if self.users.contains_key(name) {
            return Err(UsersError::Taken(name.into()));
        }
        let hash = checked(password).map(hashed)?;
        self.users.insert(name.into(), User { role, hash });
        Ok(())
    }

    /// Has one be allowed something else.
    ///
    /// # Errors
    /// There is none of that name.
    pub fn modify(&mut self, name: &str, role: Role) -> Result<(), UsersError> {
        self.named(name).map(|user| user.role = role)
    }

    /// Gives one another password.
    ///
    /// # Errors
    /// There is none of that name, or it is no password.
    pub fn set_password(&mut self, name: &str, password: &str) -> Result<(), UsersError> {
        let user = self.named(name)?;
        user.hash = checked(password).map(hashed)?;
        Ok(())
    }

    fn named(&mut self, name: &str) -> Result<&mut User, UsersError> {
        self.users.get_mut(name).ok_or_else(|| UsersError::Missing(name.into()))
    }

    /// Takes one away.
    ///
    /// # Errors
    /// There is none of that name.
    pub fn delete(&mut self, name: &str) -> Result<(), UsersError> {
        self.users.remove(name).map(drop).ok_or_else(|| UsersError::Missing(name.into()))
    }

    /// All of them by name.
    pub fn list(&self) -> impl Iterator<Item = (&str, &Role)> {
        self.users.iter().map(|(name, user)| (name.as_str(), &user.role))
    }

    /// What somebody may.
    pub(crate) fn role(&self, name: &str) -> Option<&Role> {
        self.users.get(name).map(|user| &user.role)
    }

    /// The hash that somebody's password must fit; for nobody one that nothing fits, so that both
    /// take as long.
    pub(crate) fn hash(&self, name: &str) -> String {
        self.users.get(name).map_or_else(|| NOBODYS.to_owned(), |user| user.hash.clone())
    }
}

/// A hash of 32 zero bytes, which is nobody's password's.
const NOBODYS: &str =
    "$argon2id$v=19$m=19456,t=2,p=1$AAAAAAAAAAAAAAAAAAAAAA$AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA";

/// Whether a password is the one that a hash was made of. It takes some 20 MiB and some 30 ms.
pub(crate) fn is_password(password: &str, hash: &str) -> bool {
    let verify = |hash: &PasswordHash<'_>| Argon2::default().verify_password(password.as_bytes(), hash).is_ok();
    PasswordHash::new(hash).is_ok_and(|hash| verify(&hash))
}

/// A new password for somebody, of 120 random bits, in letters and digits that are not taken for
/// one another.
pub fn new_password() -> String {
    const SIGNS: &[u8; 32] = b"abcdefghijkmnpqrstuvwxyz23456789";
    random::<24>().iter().map(|byte| SIGNS[usize::from(*byte) % SIGNS.len()] as char).collect()
}

/// The password, if it is one.
fn checked(password: &str) -> Result<&str, UsersError> {
    let fits = password.chars().count() >= PASSWORD_CHARS_MIN && password.len() <= PASSWORD_BYTES_MAX;
    fits.then_some(password).ok_or(UsersError::Password)
}

fn hashed(password: &str) -> String {
    let salt = SaltString::encode_b64(&random::<16>()).expect("16 bytes are a salt");
    let hash = Argon2::default().hash_password(password.as_bytes(), &salt).expect("the default settings hash anything");
    hash.to_string()
}

pub(crate) fn random<const N: usize>() -> [u8; N] {
    let mut bytes = [0; N];
    SystemRandom::new().fill(&mut bytes).expect("the kernel has random bytes");
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn users_are_kept_and_passwords_are_not() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join(USERS_FILE);
        let role = Role::Svm("svm01".into());
        Users::change(&path, |users| users.add("alice", role.clone(), "correct horse")).unwrap();
        Users::change(&path, |users| users.add("bob", Role::Admin, &new_password())).unwrap();
        let users = Users::read(&path).unwrap();
        assert_eq!(users.list().collect::<Vec<_>>(), [("alice", &role), ("bob", &Role::Admin)]);
        assert!(is_password("correct horse", &users.hash("alice")));
        assert!(!is_password("correct house", &users.hash("alice")));
        assert!(!is_password("correct horse", &users.hash("nobody")));
        assert!(!std::fs::read_to_string(&path).unwrap().contains("horse"));
        Users::change(&path, |users| users.delete("alice")).unwrap();
        assert_eq!(Users::read(&path).unwrap().role("alice"), None);
    }

    #[test]
    fn what_breaks_a_rule_changes_nothing() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join(USERS_FILE);
        Users::change(&path, |users| users.add("alice", Role::ReadOnly, "correct horse")).unwrap();
        let before = Users::read(&path).unwrap();
        let add = |name: &str, password: &str| {
            Users::change(&path, |users| users.add(name, Role::Admin, password)).unwrap_err().to_string()
        };
        assert!(add("alice", "correct horse").contains("alice"));
        assert!(add("a b", "correct horse").contains("letters"));
        assert!(add("bob", "short").contains("at least 8"));
        assert!(Users::change(&path, |users| users.delete("bob")).is_err());
        assert_eq!(Users::read(&path).unwrap(), before);
    }

    #[test]
    fn a_file_that_others_can_read_is_refused() {
        use std::os::unix::fs::PermissionsExt as _;
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join(USERS_FILE);
        Users::change(&path, |users| users.add("alice", Role::ReadOnly, "correct horse")).unwrap();
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o644)).unwrap();
        assert!(Users::read(&path).unwrap_err().to_string().contains("users.json"));
    }
}
