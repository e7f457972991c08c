//! Changes the users' file, for `security login`.

use crate::caller::Role;
use crate::users::{Users, UsersError};
use admin::{Login, LoginChange, LoginScope};
use server::LoginStore;
use std::path::PathBuf;

/// The users in a file; log-ins notice when the file changes.
#[derive(Debug)]
pub struct UsersFile(pub PathBuf);

impl LoginStore for UsersFile {
    fn list(&self) -> Result<Vec<Login>, String> {
        let users = Users::read(&self.0).map_err(|error| error.to_string())?;
        Ok(users.list().map(|(name, role)| Login { name: name.into(), scope: scope(role) }).collect())
    }

    fn change(&self, change: &LoginChange, secret: Option<&str>) -> Result<(), String> {
        let secret = secret.unwrap_or_default();
        let changed = Users::change(&self.0, |users| match change {
            LoginChange::Create(login) => users.add(&login.name, role(&login.scope), secret),
            LoginChange::Modify(login) => users.modify(&login.name, role(&login.scope)),
            LoginChange::Password(name) => users.set_password(name, secret),
            LoginChange::Delete(name) => users.delete(name),
        });
        changed.map_err(|error| match error {
            UsersError::Missing(name) => {
                format!("user {name}: there is none of that name; `security login show` has them")
            }
            error => error.to_string(),
        })
    }
}

fn scope(role: &Role) -> LoginScope {
    match role {
        Role::Admin => LoginScope::Admin,
        Role::ReadOnly => LoginScope::ReadOnly,
        Role::Svm(svm) => LoginScope::Svm(svm.clone()),
    }
}

fn role(scope: &LoginScope) -> Role {
    match scope {
        LoginScope::Admin => Role::Admin,
        LoginScope::ReadOnly => Role::ReadOnly,
        LoginScope::Svm(svm) => Role::Svm(svm.clone()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::users::{USERS_FILE, is_password};

    /// Users are created, changed, given another password and deleted in the file that log-ins use.
    #[test]
    fn users_are_changed_in_their_file() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join(USERS_FILE);
        let file = UsersFile(path.clone());
        let login = |scope| Login { name: "bob".into(), scope };
        file.change(&LoginChange::Create(login(LoginScope::ReadOnly)), Some("correct horse")).unwrap();
        let svm = login(LoginScope::Svm("svm01".into()));
        file.change(&LoginChange::Modify(svm.clone()), None).unwrap();
        assert_eq!(file.list().unwrap(), [svm]);
        assert!(is_password("correct horse", &Users::read(&path).unwrap().hash("bob")), "a role is no password");
        file.change(&LoginChange::Password("bob".into()), Some("battery staple")).unwrap();
        assert!(is_password("battery staple", &Users::read(&path).unwrap().hash("bob")));
        let refused = |change, secret| file.change(&change, secret).unwrap_err();
        assert!(refused(LoginChange::Password("bob".into()), Some("short")).contains("at least 8"));
        assert!(refused(LoginChange::Create(login(LoginScope::Admin)), Some("correct horse")).contains("already"));
        file.change(&LoginChange::Delete("bob".into()), None).unwrap();
        assert!(refused(LoginChange::Delete("bob".into()), None).contains("security login show"));
        assert_eq!(file.list().unwrap(), []);
    }
}
