//! Maps the command line's parameters to fields of bodies, so that a REST error names the field
//! that the client wrote.

use crate::setting::Setting;
use serde_json::{Map, Value};

/// A parameter, and the fields that it may have come from.
const FIELDS: &[(&str, &[&str])] = &[
    ("size", &["space.size", "size"]),
    ("path", &["path", "name"]),
    ("vserver", &["svm.name", "svm.uuid"]),
    ("volume", &["volume.name", "volume.uuid", "clone.parent_volume.name", "clone.parent_volume.uuid", "name"]),
    ("new_name", &["name"]),
    ("snapshot", &["restore_to.snapshot.name", "restore_to.snapshot.uuid", "clone.parent_snapshot.name", "name"]),
    ("junction_path", &["nas.path"]),
    ("policy_group", &[POLICY[0], POLICY[1], POLICY[2], POLICY[3], "name"]),
    ("qos_policy_group", POLICY),
    ("qos_adaptive_policy_group", POLICY),
    (
        "qos_adaptive_policy_group_template",
        &["qos_adaptive_policy_group_template.name", "qos_adaptive_policy_group_template.uuid"],
    ),
    (
        "max_throughput",
        &[
            "fixed.max_throughput_iops",
            "fixed.max_throughput_mbps",
            "fixed.max_throughput",
            "qos.policy.max_throughput_iops",
            "qos.policy.max_throughput_mbps",
            "qos_policy.max_throughput_iops",
            "qos_policy.max_throughput_mbps",
        ],
    ),
    (
        "min_throughput",
        &[
            "fixed.min_throughput_iops",
            "fixed.min_throughput_mbps",
            "fixed.min_throughput",
            "qos.policy.min_throughput_iops",
            "qos.policy.min_throughput_mbps",
            "qos_policy.min_throughput_iops",
            "qos_policy.min_throughput_mbps",
        ],
    ),
    ("is_shared", &["fixed.capacity_shared"]),
    ("expected_iops", &["adaptive.expected_iops"]),
    ("peak_iops", &["adaptive.peak_iops"]),
    ("absolute_min_iops", &["adaptive.absolute_min_iops"]),
    ("burst_percent", &["burst.percent"]),
    ("burst_iops", &["burst.iops"]),
    ("burst_duration", &["burst.duration"]),
];

/// The fields that assign a policy.
const POLICY: &[&str] = &["qos.policy.name", "qos.policy.uuid", "qos_policy.name", "qos_policy.uuid"];

/// The field that a parameter (with underscores) has in a body of `settings`; if there are several,
/// the one that was given. `None` if the body has no such field.
pub(crate) fn field(parameter: &str, settings: &[Setting], body: &Map<String, Value>) -> Option<String> {
    let fields = FIELDS.iter().find(|(name, _)| *name == parameter).map(|(_, fields)| *fields);
    let fields = fields.unwrap_or(std::slice::from_ref(&parameter));
    let known = |field: &&&str| settings.iter().any(|setting| is_in(field, setting.name));
    let given = |field: &&&str| {
        let records = body.get("records").and_then(Value::as_array).into_iter().flatten();
        records.filter_map(Value::as_object).chain([body]).any(|body| has(body, field))
    };
    let mut known = fields.iter().filter(known);
    let first = known.clone().next();
    known.find(given).or(first).map(|field| (*field).to_owned())
}

/// Whether a field is a setting, or a part of one.
fn is_in(field: &str, setting: &str) -> bool {
    field.strip_prefix(setting).is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
}

/// Whether a body has a field of that dotted name.
fn has(body: &Map<String, Value>, field: &str) -> bool {
    match field.split_once('.') {
        Some((first, rest)) => body.get(first).and_then(Value::as_object).is_some_and(|inner| has(inner, rest)),
        None => body.contains_key(field),
    }
}
