//! ONTAP's REST interface: HTTP and nothing else. A request's changes are typed commands of
//! [`admin`], which run like those of the control socket; what it shows is read from [`admin`]'s
//! state.
//!
//! ```text
//!   http ─► connection ─► login ─► dispatch ─► resource ─► commands ─► Control ─► the data thread
//!                                     │           └─► fields ─► records
//!                                     ├─ /metrics: exposition ─► text for Prometheus
//!                                     └─ query, selection, filter, body: no clock, thread, socket
//! ```

mod body;
mod caller;
mod certificate;
mod client;
mod connection;
mod dispatch;
mod exposition;
mod filter;
mod http;
mod journal;
mod json;
mod login;
mod login_store;
mod openapi;
mod parameter;
mod pass_through;
mod problem;
mod query;
mod record;
mod resource;
mod selection;
mod setting;
mod users;

pub use caller::{Caller, Role};
pub use certificate::CertificateError;
pub use client::{Client, ClientError, ClientSettings};
pub use http::{Rest, RestError, RestSettings};
pub use login_store::UsersFile;
pub use problem::Problem;
pub use resource::Cluster;
pub use users::{USERS_FILE, Users, UsersError, new_password};

/// Whether a query string and a body can be parsed as those of a request; for the fuzz target.
#[doc(hidden)]
pub fn can_be_read(query: &str, body: &[u8]) -> bool {
    query::Query::read(query).is_ok() & json::object(body).is_ok()
}
