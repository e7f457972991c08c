//! `/api/cluster`: the identity of the server.

use serde_json::{Value, json};

/// The server, as ONTAP's cluster.
#[derive(Clone, Debug)]
pub struct Cluster {
    /// Its name.
    pub name: String,
    /// Its identifier, which stays the same for the pool's life.
    pub uuid: String,
}

/// The release of ONTAP whose interface this is, for clients that depend on it.
const GENERATION: (u32, u32, u32) = (9, 19, 1);

impl Cluster {
    /// Its record.
    pub(crate) fn record(&self) -> Value {
        let (generation, major, minor) = GENERATION;
        let full = format!("Seawall {}: REST as of ONTAP {generation}.{major}.{minor}", env!("CARGO_PKG_VERSION"));
        json!({
            "name": self.name,
            "uuid": self.uuid,
            "version": { "full": full, "generation": generation, "major": major, "minor": minor },
            "_links": { "self": { "href": "/api/cluster" } },
        })
    }
}
