//! Users: their names, their roles, and how they log in.

use super::choice::choice;
use super::{Value, ValueError, plain_value};
use crate::word::Word;
use std::fmt;
use std::str::FromStr;

/// Longest name of a user, in characters.
pub const LOGIN_NAME_CHARS_MAX: usize = 64;

/// A user's name: 1 to 64 letters, digits, `_`, `-` and dots.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct LoginName(String);

impl LoginName {
    /// The name as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl FromStr for LoginName {
    type Err = ValueError;

    fn from_str(text: &str) -> Result<LoginName, ValueError> {
        let fits = (1..=LOGIN_NAME_CHARS_MAX).contains(&text.len())
            && text.chars().all(|c| c.is_ascii_alphanumeric() || "_-.".contains(c));
        match fits {
            true => Ok(LoginName(text.to_owned())),
            false => Err(ValueError::new(text, "is not a user's name: 1 to 64 letters, digits, _, - and dots")),
        }
    }
}

impl fmt::Display for LoginName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

plain_value!(LoginName, "<text>");

choice! {
    /// What a user may.
    LoginRole, "admin|readonly|vsadmin", "a role"
    {
        /// Everything.
        Admin = "admin",
        /// See everything and change nothing.
        ReadOnly = "readonly",
        /// See and change what is in one SVM.
        SvmAdmin = "vsadmin",
    }
}

choice! {
    /// The way in. The shell on the server's own machine goes by who owns its control socket, and
    /// knows no log-in.
    LoginApplication, "http", "an application"
    {
        /// REST over HTTPS.
        Http = "http",
    }
}

choice! {
    /// How a user shows who it is.
    AuthenticationMethod, "password", "a method of authentication"
    {
        /// By a password.
        Password = "password",
    }
}
