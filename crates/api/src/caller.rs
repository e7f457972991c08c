//! The user who makes a request, and what they may do.

use ontap::value::ObjectName;
use std::fmt;
use std::str::FromStr;

/// A logged-in user.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Caller {
    /// The name that they logged in with.
    pub name: String,
    /// What they may do.
    pub role: Role,
}

/// What a user may do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Role {
    /// Everything.
    Admin,
    /// See everything, change nothing.
    ReadOnly,
    /// See and change the contents of this SVM.
    Svm(String),
}

impl fmt::Display for Role {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Role::Admin => f.write_str("admin"),
            Role::ReadOnly => f.write_str("readonly"),
            Role::Svm(svm) => write!(f, "svm:{svm}"),
        }
    }
}

impl FromStr for Role {
    type Err = String;

    fn from_str(text: &str) -> Result<Role, String> {
        match (text, text.strip_prefix("svm:")) {
            ("admin", _) => Ok(Role::Admin),
            ("readonly", _) => Ok(Role::ReadOnly),
            (_, Some(svm)) => match svm.parse::<ObjectName>() {
                Ok(svm) => Ok(Role::Svm(svm.to_string())),
                Err(error) => Err(format!("{text:?} is no role: {error}")),
            },
            _ => Err(format!("{text:?} is no role: write admin, readonly, or svm:NAME for the admin of one SVM")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_role_names_what_can_be_an_svm() {
        for role in ["admin", "readonly", "svm:svm01"] {
            assert_eq!(role.parse::<Role>().map(|role| role.to_string()).as_deref(), Ok(role));
        }
        assert!("svm:a b".parse::<Role>().unwrap_err().starts_with("\"svm:a b\" is no role: "));
        for wrong in ["", "root", "svm:", "svm:*", "svm:a/b"] {
            assert!(wrong.parse::<Role>().is_err(), "{wrong}");
        }
    }
}
