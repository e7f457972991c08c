//! REST, as ONTAP has it: HTTP and nothing else. What a request changes are the typed commands of [`admin`], run as those
//! of the control socket are; what it shows is read from what [`admin`] has.
//!
//! ```text
//!   http ─► login ─► dispatch ─► resource ─► commands ─► Control ─► the data thread
//!                       │           └─► fields ─► records
//!                       └─ query, selection, filter, body: no clock, thread, socket
//! ```

mod body;
mod caller;
mod certificate;
mod dispatch;
mod filter;
mod http;
mod json;
mod login;
mod openapi;
mod problem;
mod query;
mod record;
mod resource;
mod selection;
mod users;

pub use caller::{Caller, Role};
pub use certificate::CertificateError;
pub use http::{Rest, RestError, RestSettings};
pub use problem::Problem;
pub use resource::Cluster;
pub use users::{USERS_FILE, Users, UsersError, new_password};
