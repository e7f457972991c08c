//! Why a request was not done: the status, and ONTAP's envelope around code, message and field.

use admin::{AdminError, Detail};
use block::Span;
use qos::RefusalKind;
use serde_json::{Value, json};
use server::ControlError;

/// Why a request was not done.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    /// The HTTP status.
    pub status: u16,
    /// ONTAP's code, or ours: see [`Detail`].
    pub code: u32,
    /// What was given, which rule, what to do: one line.
    pub message: String,
    /// The field that it is about.
    pub target: Option<String>,
    /// What is in the way, where a command was refused.
    pub kind: Option<RefusalKind>,
    /// What was asked for is in force all the same: something failed afterwards.
    pub is_in_force: bool,
    /// How long to wait before trying again, where that is what is asked for.
    pub wait: Option<Span>,
}

/// ONTAP's general codes.
pub(crate) mod code {
    /// A field is missing or wrong.
    pub const BAD_FIELD: u32 = 2;
    /// There is no such function.
    pub const UNSUPPORTED: u32 = 3;
    /// There is no such entry.
    pub const MISSING: u32 = 4;
    /// The server could not.
    pub const INTERNAL: u32 = 5;
    /// It may not be done by whoever asks.
    pub const DENIED: u32 = 6;
    /// A parameter that there is none of.
    pub const UNEXPECTED: u32 = 262179;
    /// A field that cannot be set here.
    pub const NOT_SETTABLE: u32 = 262196;
    /// A value that cannot be read.
    pub const INVALID_VALUE: u32 = 262197;
    /// No JSON, or none that is taken.
    pub const BAD_JSON: u32 = 262199;
    /// Two fields that exclude one another.
    pub const EXCLUSIVE: u32 = 8454389;
    /// Who asks is not known.
    pub const UNAUTHORISED: u32 = 6691623;
}

impl Problem {
    /// A problem without a field.
    pub(crate) fn new(status: u16, code: u32, message: impl Into<String>) -> Problem {
        Problem { status, code, message: message.into(), target: None, kind: None, is_in_force: false, wait: None }
    }

    /// What was asked for is wrong.
    pub(crate) fn bad(code: u32, field: &str, message: impl Into<String>) -> Problem {
        Problem::new(400, code, message).at(field)
    }

    /// There is none of it.
    pub(crate) fn missing(message: impl Into<String>) -> Problem {
        Problem::new(404, code::MISSING, message)
    }

    /// Whoever asks may not.
    pub(crate) fn denied(message: impl Into<String>) -> Problem {
        Problem::new(403, code::DENIED, message)
    }

    /// The same about a field.
    #[must_use]
    pub(crate) fn at(self, field: &str) -> Problem {
        Problem { target: Some(field.to_owned()), ..self }
    }

    /// As it is sent.
    pub fn body(&self) -> Value {
        let mut error = json!({ "message": self.message, "code": self.code.to_string() });
        if let Some(target) = &self.target {
            error["target"] = target.as_str().into();
        }
        json!({ "error": error })
    }
}

impl From<&AdminError> for Problem {
    fn from(error: &AdminError) -> Problem {
        let Detail { code, kind, field, .. } = error.detail();
        let status = match kind {
            RefusalKind::Missing => 404,
            RefusalKind::Exists | RefusalKind::InUse => 409,
            RefusalKind::Invalid | RefusalKind::Full => 400,
            RefusalKind::Denied => 403,
            RefusalKind::Unsupported => 405,
        };
        let message = error.to_string();
        Problem {
            status,
            code,
            message,
            target: field.map(|field| field.replace('-', "_")),
            kind: Some(kind),
            is_in_force: false,
            wait: None,
        }
    }
}

impl From<&ControlError> for Problem {
    fn from(error: &ControlError) -> Problem {
        match error {
            ControlError::Admin(error) => error.into(),
            ControlError::Untold { refusal, .. } => {
                Problem { message: error.to_string(), ..Problem::from(refusal.as_ref()) }
            }
            ControlError::Afterwards(_) => {
                Problem { is_in_force: true, ..Problem::new(500, code::INTERNAL, error.to_string()) }
            }
            other => Problem::new(500, code::INTERNAL, other.to_string()),
        }
    }
}
