//! Why a command failed, or was done only in part.

use crate::audit::AuditError;
use crate::persist::UnreadablePolicy;
use crate::shard::ShardGone;
use admin::AdminError;
use ontap::catalogue::Output;
use qos::Refusal;
use store::StoreError;

/// Why a command failed, or was done only in part.
#[derive(Debug, thiserror::Error)]
pub enum ControlError {
    /// The command is wrong, or a rule refused it.
    #[error(transparent)]
    Admin(#[from] AdminError),
    /// A row of the catalogue breaks a rule.
    #[error("catalogue: {0}")]
    Catalogue(#[from] Refusal),
    /// A stored policy cannot be read.
    #[error(transparent)]
    Unreadable(#[from] UnreadablePolicy),
    /// The pool failed.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The shard is gone.
    #[error(transparent)]
    Gone(#[from] ShardGone),
    /// The audit trail cannot be written.
    #[error(transparent)]
    Audit(#[from] AuditError),
    /// The command is in force, but something that should have followed failed.
    #[error("done, but not all that follows from it: {0}")]
    Afterwards(Box<ControlError>),
    /// The command was refused, and the trail could not record that.
    #[error("{refusal}; and that it was refused is not in the audit trail: {untold}")]
    RefusalNotAudited {
        /// Why the command was refused.
        refusal: Box<ControlError>,
        /// Why the trail could not record it.
        untold: AuditError,
    },
}

impl ControlError {
    /// The error as the answer to a line: text for people, or JSON. An error that is no refusal by
    /// a rule has no code in JSON.
    pub fn text(&self, output: Output) -> String {
        match (output, self) {
            (Output::Text, _) => self.to_string(),
            (Output::Json, ControlError::Admin(error)) => error.json(),
            (Output::Json, ControlError::RefusalNotAudited { refusal, .. }) => refusal.text(output),
            (Output::Json, _) => ontap::show::refusal(None, &self.to_string(), None),
        }
    }
}
