//! Why a command was not done.

use ontap::CommandError;
use qos::Refusal;

/// Why a command was not done. Nothing changed.
#[derive(Debug, thiserror::Error)]
pub enum AdminError {
    /// The line is no command.
    #[error("{0}")]
    Grammar(Box<CommandError>),
    /// A rule refused it.
    #[error("{0} (code {code})", code = .0.code())]
    Refused(#[from] Refusal),
    /// Something that it names does not exist, or stands in the way.
    #[error("{0}")]
    Command(String),
}

impl From<CommandError> for AdminError {
    fn from(error: CommandError) -> AdminError {
        AdminError::Grammar(Box::new(error))
    }
}
