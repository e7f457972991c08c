//! Why a command was not done, or not all of it.

use crate::audit::AuditError;
use crate::persist::UnreadablePolicy;
use crate::shard::ShardGone;
use admin::AdminError;
use ontap::catalogue::Output;
use qos::Refusal;
use store::StoreError;

/// Why a command was not done, or not all of it.
#[derive(Debug, thiserror::Error)]
pub enum ControlError {
    /// The command is wrong, or a rule refused it.
    #[error(transparent)]
    Admin(#[from] AdminError),
    /// What the catalogue holds breaks a rule.
    #[error("catalogue: {0}")]
    Catalogue(#[from] Refusal),
    /// A kept policy cannot be read.
    #[error(transparent)]
    Unreadable(#[from] UnreadablePolicy),
    /// The pool failed.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The shard is gone.
    #[error(transparent)]
    Gone(#[from] ShardGone),
    /// The trail cannot be written.
    #[error(transparent)]
    Audit(#[from] AuditError),
    /// What was asked is in force and stays so, but something that should have followed failed.
    #[error("done, but not all that follows from it: {0}")]
    Afterwards(Box<ControlError>),
    /// It was refused, and the trail does not have that.
    #[error("{refusal}; and that it was refused is not in the audit trail: {untold}")]
    Untold {
        /// Why it was refused.
        refusal: Box<ControlError>,
        /// Why that is not there.
        untold: AuditError,
    },
}

impl ControlError {
    /// As the answer of a line: in a line for people, or as JSON. What no rule refused has no code
    /// there.
    pub fn text(&self, output: Output) -> String {
        match (output, self) {
            (Output::Text, _) => self.to_string(),
            (Output::Json, ControlError::Admin(error)) => error.json(),
            (Output::Json, ControlError::Untold { refusal, .. }) => refusal.text(output),
            (Output::Json, _) => ontap::show::refusal(None, &self.to_string(), None),
        }
    }
}
