//! Rows of `security login show`.

use super::{Cell, Column, Row};
use crate::value::LoginRole;

/// A user.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LoginRow {
    /// The SVM that the user administers, or the pool.
    pub vserver: String,
    /// Its name.
    pub user: String,
    /// What it may do.
    pub role: LoginRole,
}

impl Row for LoginRow {
    const COMMAND: &'static str = "security login show";

    const SUMMARY: &'static [Column] = &[
        Column::left("vserver", "Vserver", 14),
        Column::left("user-or-group-name", "Name", 20).under("User/Group"),
        Column::left("application", "Application", 11),
        Column::left("authentication-method", "Method", 14).under("Authentication"),
        Column::left("role", "Role", 8),
        Column::left("is-account-locked", "Locked", 6).under("Acct"),
    ];

    const INSTANCE: &'static [(&'static str, &'static str)] = &[
        ("Vserver", "vserver"),
        ("User Name or Group Name", "user-or-group-name"),
        ("Application", "application"),
        ("Authentication Method", "authentication-method"),
        ("Role Name", "role"),
        ("Is Account Locked", "is-account-locked"),
    ];

    fn cell(&self, field: &str) -> Option<Cell> {
        Some(match field {
            "vserver" => Cell::Text(self.vserver.clone()),
            "user-or-group-name" => Cell::Text(self.user.clone()),
            "application" => Cell::Text("http".into()),
            "authentication-method" => Cell::Text("password".into()),
            "role" => Cell::Text(self.role.to_string()),
            // Users are never locked; log-ins after failures are slowed down.
            "is-account-locked" => Cell::Text("no".into()),
            _ => return None,
        })
    }
}
