//! `security login`: users. Whoever serves REST stores them; the rules that depend on other objects
//! are here.

use super::errand::list;
use super::{AdminError, Answer, Errand, Obstacle};
use ontap::catalogue::SecurityCommand;
use ontap::show::LoginRow;
use ontap::value::{LoginRole, ObjectName};

/// A user, without its password.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Login {
    /// Its name.
    pub name: String,
    /// What it may do.
    pub scope: LoginScope,
}

/// What a user may do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LoginScope {
    /// Everything.
    Admin,
    /// See everything, change nothing.
    ReadOnly,
    /// See and change the contents of the SVM of that name.
    Svm(String),
}

/// A change of a user.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LoginChange {
    /// It is created.
    Create(Login),
    /// Its scope changes.
    Modify(Login),
    /// Its password changes.
    Password(String),
    /// It is deleted.
    Delete(String),
}

impl Errand<'_> {
    pub(super) fn security(&mut self, command: SecurityCommand) -> Result<Answer, AdminError> {
        match command {
            SecurityCommand::Show(selection) => {
                let logins = self.at.world.logins().map_err(|error| Obstacle::NoLogins.told(error))?;
                let rows = logins.into_iter().map(|login| self.login_row(login)).collect::<Vec<_>>();
                self.listed(rows, &selection)
            }
            SecurityCommand::ShowCertificates(selection) => self.certificates(&selection),
            SecurityCommand::Create(create) => {
                let scope = self.scope(create.role, create.vserver.as_ref())?;
                self.change_login(&LoginChange::Create(Login { name: create.user.to_string(), scope }))
            }
            SecurityCommand::Modify(modify) => {
                let scope = self.scope(Some(modify.role), modify.vserver.as_ref())?;
                self.change_login(&LoginChange::Modify(Login { name: modify.user.to_string(), scope }))
            }
            SecurityCommand::Password(password) => self.change_login(&LoginChange::Password(password.user.to_string())),
            SecurityCommand::Delete(delete) => self.change_login(&LoginChange::Delete(delete.user.to_string())),
        }
    }

    /// An administrator's scope names its SVM. While an SVM's name is in use by one, no SVM may
    /// take or lose that name, so that nobody becomes the administrator of another SVM.
    pub(super) fn must_have_no_logins(&self, svm: &ObjectName) -> Result<(), AdminError> {
        let logins = self.at.world.logins().map_err(|error| Obstacle::NoLogins.told(error))?;
        let whose =
            |login: Login| matches!(login.scope, LoginScope::Svm(of) if of == svm.as_str()).then_some(login.name);
        let users: Vec<_> = logins.into_iter().filter_map(whose).collect();
        if users.is_empty() {
            return Ok(());
        }
        let text = format!(
            "SVM {svm}: users administrate it by that name ({}); delete them first, or give them another role: \
             `security login delete`, `security login modify`",
            list(&users)
        );
        Err(Obstacle::LoginsOfSvm.told(text).given(svm).into())
    }

    /// The last step of a command: nothing after it can be refused.
    fn change_login(&mut self, change: &LoginChange) -> Result<Answer, AdminError> {
        self.at.world.change_login(change).map_err(|error| Obstacle::NoLogins.told(error))?;
        Ok(Answer::default())
    }

    /// Without a role, `-vserver` makes an administrator of that SVM, and its absence one of
    /// everything, as in ONTAP.
    fn scope(&self, role: Option<LoginRole>, vserver: Option<&ObjectName>) -> Result<LoginScope, AdminError> {
        let cluster = self.cluster_name();
        let vserver = vserver.filter(|vserver| vserver.as_str() != cluster);
        let role = role.unwrap_or(if vserver.is_some() { LoginRole::SvmAdmin } else { LoginRole::Admin });
        match (role, vserver) {
            (LoginRole::Admin, None) => Ok(LoginScope::Admin),
            (LoginRole::ReadOnly, None) => Ok(LoginScope::ReadOnly),
            (LoginRole::SvmAdmin, vserver) => Ok(LoginScope::Svm(self.svm_name(self.svm(vserver)?))),
            (role, Some(vserver)) => {
                let text = format!("role {role} is of all SVMs: leave -vserver out, or write -role vsadmin");
                Err(Obstacle::WhichRole.told(text).given(vserver).into())
            }
        }
    }

    fn login_row(&self, login: Login) -> LoginRow {
        let (vserver, role) = match login.scope {
            LoginScope::Admin => (self.cluster_name(), LoginRole::Admin),
            LoginScope::ReadOnly => (self.cluster_name(), LoginRole::ReadOnly),
            LoginScope::Svm(svm) => (svm, LoginRole::SvmAdmin),
        };
        LoginRow { vserver, user: login.name, role }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::world::TestWorld;
    use crate::{Administration, At};
    use block::Time;

    #[test]
    fn a_name_of_an_svm_that_users_administrate_stays() {
        let bob = Login { name: "bob".into(), scope: LoginScope::Svm("svm01".into()) };
        let ed = Login { name: "ed".into(), scope: LoginScope::Svm("svm05".into()) };
        let world = TestWorld { logins: vec![bob, ed], ..TestWorld::default() };
        let mut administration = Administration::new(qos::RegistrySettings::default());
        let _ = administration.execute("vserver create svm05", Time::ZERO, &|_| 0).unwrap();
        let mut run = |line: &str| {
            let at = At { now: Time::ZERO, began: 0, world: &world };
            let command = ontap::parse(line).unwrap();
            administration.run_all(vec![command], &at).map(drop).map_err(|error| error.to_string())
        };
        run("vserver create svm02").unwrap();
        for line in [
            "vserver create svm01",
            "vserver rename svm01 -newname svm03",
            "vserver rename svm02 -newname svm01",
            "vserver delete svm01",
        ] {
            let refused = run(line).unwrap_err();
            assert!(refused.starts_with("SVM svm01: users administrate it by that name (bob); "), "{refused}");
        }
        // What is there already is in the way first.
        for line in ["vserver create svm05", "vserver rename svm02 -newname svm05"] {
            let refused = run(line).unwrap_err();
            assert!(refused.contains("the name is in use there"), "{refused}");
        }
        run("vserver rename svm02 -newname svm04").unwrap();
        run("vserver delete svm04").unwrap();
    }
}
