//! Commands of the shell itself, which do not concern the server.

use super::commands;
use crate::value::{Confirmations, Count, Privilege};

commands! {
    /// Commands of the shell.
    SessionCommand in Session

    /// Display or choose how this session goes on
    "set" => Set(SessionSet) {
        /// Level of privilege; the prompt shows it
        "privilege" privilege: Option<Privilege>,
        /// Ask before something is destroyed
        "confirmations" confirmations: Option<Confirmations>,
    }

    /// Display or choose how many lines a page has; 0 for any number
    "rows" => Rows(SessionRows) {
        /// Lines of a page
        "rows" rows: Option<Count>,
    }
}
