//! Why a request failed: its status, and ONTAP's envelope with code, message and field.

use admin::{AdminError, Detail};
use block::Span;
use qos::RefusalKind;
use serde_json::{Value, json};
use server::ControlError;

/// Why a request failed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    /// The HTTP status.
    pub status: u16,
    /// ONTAP's code, or ours: see [`Detail`].
    pub code: u32,
    /// The value given, the rule, and what to do, in one line.
    pub message: String,
    /// The field that it concerns.
    pub target: Option<String>,
    /// The kind of obstacle, if a command was refused.
    pub kind: Option<RefusalKind>,
    /// Whether the change is in force all the same, because something failed afterwards.
    pub is_in_force: bool,
    /// How long to wait before trying again, if that would help.
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
    /// An internal failure.
    pub const INTERNAL: u32 = 5;
    /// The caller is not permitted to do this.
    pub const DENIED: u32 = 6;
    /// An unknown parameter.
    pub const UNEXPECTED: u32 = 262179;
    /// A field that cannot be set here.
    pub const NOT_SETTABLE: u32 = 262196;
    /// An invalid value.
    pub const INVALID_VALUE: u32 = 262197;
    /// Invalid JSON, or JSON of an unsupported form.
    pub const BAD_JSON: u32 = 262199;
    /// Two fields that exclude one another.
    pub const EXCLUSIVE: u32 = 8454389;
    /// The caller is not authenticated.
    pub const UNAUTHORISED: u32 = 6691623;
}

impl Problem {
    /// A problem that concerns no field.
    pub(crate) fn new(status: u16, code: u32, message: impl Into<String>) -> Problem {
        Problem { status, code, message: message.into(), target: None, kind: None, is_in_force: false, wait: None }
    }

    /// The request is invalid.
    pub(crate) fn bad(code: u32, field: &str, message: impl Into<String>) -> Problem {
        Problem::new(400, code, message).at(field)
    }

    /// What was asked for does not exist.
    pub(crate) fn missing(message: impl Into<String>) -> Problem {
        Problem::new(404, code::MISSING, message)
    }

    /// The caller is not permitted to do this.
    pub(crate) fn denied(message: impl Into<String>) -> Problem {
        Problem::new(403, code::DENIED, message)
    }

    /// The same problem for a field.
    #[must_use]
    pub(crate) fn at(self, field: &str) -> Problem {
        Problem { target: Some(field.to_owned()), ..self }
    }

    /// The body that is sent.
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
            ControlError::RefusalNotAudited { refusal, .. } => {
                Problem { message: error.to_string(), ..Problem::from(refusal.as_ref()) }
            }
            ControlError::Afterwards(_) => {
                Problem { is_in_force: true, ..Problem::new(500, code::INTERNAL, error.to_string()) }
            }
            other => Problem::new(500, code::INTERNAL, other.to_string()),
        }
    }
}
