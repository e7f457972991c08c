//! `security login`: who may log in by REST, and what they may do; `security certificate`: what the
//! server shows of itself.

use super::commands;
use crate::value::{AuthenticationMethod, LoginApplication, LoginName, LoginRole, ObjectName};

commands! {
    /// Everything that begins with `security`.
    SecurityCommand in Security

    /// Create a log-in; its password is asked for, and not typed into the line
    "security login create" => Create(LoginCreate) {
        /// Name of the new user: letters, digits, _, - and dots
        "user-or-group-name" user: LoginName,
        /// SVM, for the role vsadmin
        "vserver" vserver: Option<ObjectName>,
        /// What the user may; without it admin, or vsadmin where an SVM is named
        "role" role: Option<LoginRole>,
        /// The way in, of which there is one
        "application" application: LoginApplication = "http",
        /// How the user shows who it is
        "authentication-method" authentication_method: AuthenticationMethod = "password",
    } refused { "password" "a password does not belong into a line, which is remembered; it is asked for", }

    /// Change what a user may
    "security login modify" => Modify(LoginModify) {
        /// User
        "user-or-group-name" user: LoginName,
        /// What the user may from now on
        "role" role: LoginRole,
        /// SVM, for the role vsadmin
        "vserver" vserver: Option<ObjectName>,
    } refused { "password" "a password does not belong into a line, which is remembered; `security login password` asks for it", }

    /// Change a user's password, which is asked for, and not typed into the line
    "security login password" => Password(LoginPassword) {
        /// User
        "username" user: LoginName,
    } refused { "password" "a password does not belong into a line, which is remembered; it is asked for", }

    /// Delete a log-in; the user is refused from the next request on
    "security login delete" => Delete(LoginDelete) {
        /// User
        "user-or-group-name" user: LoginName,
    }

    shows
    /// Display who may log in by REST
    "security login show" => Show by { "user-or-group-name" } {
        /// SVM, or the pool for users of all SVMs
        "vserver",
        /// User
        "user-or-group-name",
        /// The way in
        "application",
        /// How the user shows who it is
        "authentication-method",
        /// What the user may: admin, readonly, or vsadmin for one SVM
        "role",
        /// Whether the user is locked out
        "is-account-locked",
    }

    shows
    /// Display the certificates that the server uses, and when they expire
    "security certificate show" => ShowCertificates by { "serial" } {
        /// The pool, as a certificate is of all SVMs
        "vserver",
        /// Common name of whom it is for
        "common-name",
        /// Serial number, in hexadecimal
        "serial",
        /// Common name of who issued it
        "ca",
        /// server, server-ca for what stands behind it in its file, client-ca for what verifies
        /// clients
        "type",
        /// Its file
        "cert-name",
        /// When it begins to be valid: MM/DD/YYYY, or with a time of day
        "start": Time,
        /// When it expires: MM/DD/YYYY, or with a time of day, "MM/DD/YYYY HH:MM:SS"
        "expiration": Time,
    }
}

impl SecurityCommand {
    /// The prompt for the password that the command needs; `None` if it needs none.
    pub fn secret(&self) -> Option<String> {
        match self {
            SecurityCommand::Create(create) => Some(format!("Please enter a password for user '{}': ", create.user)),
            SecurityCommand::Password(password) => Some(format!("Enter a new password for user '{}': ", password.user)),
            _ => None,
        }
    }
}
