//! Answers as JSON: one document per answer, on one line, so that repeated statistics are one line
//! each.
//!
//! ```text
//!   {"num_records":2,"records":[{"volume":"vol1","size":1073741824,"qos_policy_group":null,…},…]}
//! ```
//! Fields have the names of the command's table, with underscores. Figures are numbers in base
//! units (bytes, bytes per second, operations per second, nanoseconds, percent), missing values are
//! null, states and names are strings. Names are never shortened.

use super::{Cell, Row};
use crate::value::ThroughputLimits;
use block::date;
use serde_json::{Map, Value, json};

/// The list of a `show` command: the rows and their number, with the names of ONTAP's REST.
pub(super) fn listing<R: Row>(rows: &[R], fields: &[&'static str]) -> String {
    let records: Vec<Value> = rows.iter().map(|row| record(row, fields)).collect();
    line(&json!({ "num_records": records.len(), "records": records }))
}

/// A document as one line.
pub(super) fn line(document: &Value) -> String {
    format!("{document}\n")
}

/// A refusal, in the envelope of ONTAP's REST: `code` is a string as it is there, and null if the
/// failure has none.
pub fn refusal(code: Option<u32>, message: &str, target: Option<&str>) -> String {
    json!({ "error": { "code": code.map(|code| code.to_string()), "message": message, "target": target } }).to_string()
}

fn record<R: Row>(row: &R, fields: &[&'static str]) -> Value {
    let value = |field: &&str| (field.replace('-', "_"), row.cell(field).unwrap_or(Cell::Absent).json());
    Value::Object(fields.iter().map(value).collect::<Map<_, _>>())
}

impl Cell {
    /// The value as JSON. A rate per size is converted to TB; a date has the format of RFC 3339 in
    /// UTC.
    pub fn json(&self) -> Value {
        match self {
            Cell::Absent => Value::Null,
            Cell::Text(text) => json!(text),
            Cell::List(names) => json!(names.join(",")),
            Cell::Flag(flag) => json!(flag),
            Cell::Count(number)
            | Cell::Percent(number)
            | Cell::Bytes(number)
            | Cell::Space(number)
            | Cell::Paged(number, _)
            | Cell::Iops(number) => {
                json!(number)
            }
            Cell::Rate(rate) => json!(rate.per_terabyte()),
            Cell::Severity(severity) => json!(severity.word()),
            Cell::Moment(seconds) | Cell::Stamp(seconds) => json!(date(*seconds, "%Y-%m-%dT%H:%M:%SZ")),
            Cell::Ceiling(limits) | Cell::Floor(limits) => throughput(*limits),
            Cell::Throughput { floor, ceiling } => json!({ "min": throughput(*floor), "max": throughput(*ceiling) }),
            Cell::Latency(latency) => json!(latency.map(|latency| latency.0)),
            Cell::BlockSize(size) => json!(size.bytes()),
            Cell::Burst(burst) => json!({
                "above_percent": burst.percent(),
                "duration_ns": burst.duration.as_nanos(),
                "on_credit": burst.on_credit,
            }),
        }
    }
}

fn throughput(limits: Option<ThroughputLimits>) -> Value {
    limits.map_or(Value::Null, |limits| json!({ "iops": limits.iops, "bytes_per_second": limits.bytes_per_second }))
}
