//! Who asks, and what they may.

use std::fmt;
use std::str::FromStr;

/// Somebody who logged in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Caller {
    /// The name that they logged in by.
    pub name: String,
    /// What they may.
    pub role: Role,
}

/// What a user may do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Role {
    /// Everything.
    Admin,
    /// See everything and change nothing.
    ReadOnly,
    /// See and change what is in this SVM.
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
            (_, Some(svm)) if !svm.is_empty() => Ok(Role::Svm(svm.into())),
            _ => Err(format!("{text:?} is no role: write admin, readonly, or svm:NAME for the admin of one SVM")),
        }
    }
}
