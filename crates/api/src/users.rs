//! The users: a file in the pool's folder with the name, the role and the hashed password
//! (argon2id) of each.
//!
//! ```json
//! {"users":[{"name":"alice","role":"svm:svm01","password":"$argon2id$v=19$m=19456,t=2,p=1$…$…"}]}
//! ```
//! The file is replaced as a whole, so that readers find either the old or the new contents.

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

/// The file's name in the pool's folder.
pub const USERS_FILE: &str = "users.json";

/// Least length of a password, in characters.
const PASSWORD_CHARS_MIN: usize = 8;
/// Most bytes of a password: anybody could cause the work of hashing longer ones.
pub(crate) const PASSWORD_BYTES_MAX: usize = 1024;
/// Longest name of a user, in characters.
const NAME_CHARS_MAX: usize = 64;

/// Why the users cannot be read or changed.
#[derive(Debug, thiserror::Error)]
pub enum UsersError {
    /// The file cannot be read or written.
    #[error("{}: users: {reason}", .path.display())]
    File {
        /// The file.
        path: PathBuf,
        /// The reason.
        reason: String,
    },
    /// There is a user of that name already.
    #[error("user {0}: there is one already; delete it first to give it another role or password")]
    Taken(String),
    /// There is no user of that name.
    #[error("user {0}: there is none of that name; `seawall user list` has them")]
    Missing(String),
    /// The name is invalid.
    #[error("user {0:?}: a name has 1 to {NAME_CHARS_MAX} letters, digits, _, - and dots")]
    Name(String),
    /// The password is invalid.
    #[error("password: must have at least {PASSWORD_CHARS_MIN} characters and at most {PASSWORD_BYTES_MAX} bytes")]
    Password,
}

/// The users, by name.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Users {
    users: BTreeMap<String, User>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct User {
    role: Role,
    /// In the PHC string format for password hashes.
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
    /// Reads the file; a missing file has no users.
    ///
    /// # Errors
    /// It cannot be read, others can read it too, or its contents are invalid.
    pub fn read(path: &Path) -> Result<Users, UsersError> {
        let wrong = |reason: String| UsersError::File { path: path.into(), reason };
        if !path.exists() {
            return Ok(Users::default());
        }
        let text = cipher::secret::read(path).map_err(|error| wrong(error.to_string()))?;
        let table: Table =
            serde_json::from_str(&text).map_err(|error| wrong(nearest::json::wrong(&error.to_string())))?;
        let user = |row: Row| {
            let role = row.role.parse().map_err(|error| wrong(format!("user {}: {error}", row.name)))?;
            PasswordHash::new(&row.password).map_err(|error| wrong(format!("user {}: {error}", row.name)))?;
            Ok((row.name, User { role, hash: row.password }))
        };
        Ok(Users { users: table.users.into_iter().map(user).collect::<Result<_, _>>()? })
    }

    /// Changes the file: reads it, applies `change`, and replaces it, by one process at a time.
    ///
    /// # Errors
    /// It cannot be read or written, or `change` refuses; then it is unchanged.
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

    /// Adds a user.
    ///
    /// # Errors
    /// There is one of that name already, or name or password is invalid.
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

    /// Changes a user's role.
    ///
    /// # Errors
    /// There is no user of that name.
    pub fn modify(&mut self, name: &str, role: Role) -> Result<(), UsersError> {
        self.named(name).map(|user| user.role = role)
    }

    /// Changes a user's password.
    ///
    /// # Errors
    /// There is no user of that name, or the password is invalid.
    pub fn set_password(&mut self, name: &str, password: &str) -> Result<(), UsersError> {
        let user = self.named(name)?;
        user.hash = checked(password).map(hashed)?;
        Ok(())
    }

    fn named(&mut self, name: &str) -> Result<&mut User, UsersError> {
        self.users.get_mut(name).ok_or_else(|| UsersError::Missing(name.into()))
    }

    /// Deletes a user.
    ///
    /// # Errors
    /// There is no user of that name.
    pub fn delete(&mut self, name: &str) -> Result<(), UsersError> {
        self.users.remove(name).map(drop).ok_or_else(|| UsersError::Missing(name.into()))
    }

    /// All users, by name.
    pub fn list(&self) -> impl Iterator<Item = (&str, &Role)> {
        self.users.iter().map(|(name, user)| (name.as_str(), &user.role))
    }

    /// The role of a user.
    pub(crate) fn role(&self, name: &str) -> Option<&Role> {
        self.users.get(name).map(|user| &user.role)
    }

    /// The hash that a user's password must match. For an unknown user it is one that nothing
    /// matches, so that the check takes equally long.
    pub(crate) fn hash(&self, name: &str) -> String {
        self.users.get(name).map_or_else(|| NOBODYS.to_owned(), |user| user.hash.clone())
    }
}

/// A hash of 32 zero bytes, which no known password has.
const NOBODYS: &str =
    "$argon2id$v=19$m=19456,t=2,p=1$AAAAAAAAAAAAAAAAAAAAAA$AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA";

/// Checks a password against a hash, which takes some 20 MiB and some 30 ms.
pub(crate) fn is_password(password: &str, hash: &str) -> bool {
    let verify = |hash: &PasswordHash<'_>| Argon2::default().verify_password(password.as_bytes(), hash).is_ok();
    PasswordHash::new(hash).is_ok_and(|hash| verify(&hash))
}

/// A new random password with 120 bits, of letters and digits that are not easily confused.
pub fn new_password() -> String {
    const SIGNS: &[u8; 32] = b"abcdefghijkmnpqrstuvwxyz23456789";
    random::<24>().iter().map(|byte| SIGNS[usize::from(*byte) % SIGNS.len()] as char).collect()
}

/// Checks the rules for passwords.
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
