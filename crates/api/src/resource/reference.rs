//! References in bodies, by name or identifier: `{"name": "svm1"}`, `{"uuid": "…"}`, or both of the
//! same object.

use super::View;
use super::policy::{MB, whole_mbps};
use crate::body::Body;
use crate::problem::{Problem, code};
use block::ObjectId;
use ontap::value::{MinThroughput, ObjectName, OwnLimits, PolicyAssignment, Throughput};
use qos::{FixedPolicy, Group, Object, ObjectKind, Policy};
use serde_json::{Value, json};

/// The policy that a body assigns, as one of two parameters of a command, or none.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Assignment {
    pub fixed: Option<PolicyAssignment>,
    pub adaptive: Option<PolicyAssignment>,
}

impl Assignment {
    /// Whether nothing is assigned or detached.
    pub fn is_none(&self) -> bool {
        *self == Assignment::default()
    }

    /// The policy of either kind, for commands with one parameter; the registry refuses a kind that
    /// does not fit.
    pub fn any(self) -> Option<PolicyAssignment> {
        self.fixed.or(self.adaptive)
    }
}

impl View<'_> {
    /// The SVM that a body names, which the caller must be permitted to change.
    pub fn svm_in(&self, body: &mut Body) -> Result<ObjectId, Problem> {
        let named = body.object("svm")?;
        let mut named = body.required("svm", named)?;
        let find = |name: &str| self.registry().find_svm(name);
        let svm = self.referred(&mut named, ObjectKind::Svm, &find)?;
        named.end()?;
        self.may_change(Some(svm))?;
        Ok(svm)
    }

    /// The volume of an SVM that a body names.
    pub fn volume_in(&self, svm: ObjectId, field: &str, body: &mut Body) -> Result<ObjectId, Problem> {
        let named = body.object(field)?;
        let mut named = body.required(field, named)?;
        let find = |name: &str| self.registry().find_volume(svm, name);
        let volume = self.referred(&mut named, ObjectKind::Volume, &find)?;
        named.end()?;
        match self.registry().svm_of(volume) == Some(svm) {
            true => Ok(volume),
            false => Err(self.none(&named_as(field, ObjectKind::Volume), self.name_of(volume)).at(&body.name(field))),
        }
    }

    fn referred(
        &self,
        body: &mut Body,
        kind: ObjectKind,
        find: &dyn Fn(&str) -> Option<ObjectId>,
    ) -> Result<ObjectId, Problem> {
        let (name, uuid) = (body.text("name")?, body.text("uuid")?);
        let (name_field, uuid_field) = (body.name("name"), body.name("uuid"));
        let by_name =
            name.as_ref().map(|name| find(name).ok_or_else(|| self.none(&kind.to_string(), name).at(&name_field)));
        let by_uuid = uuid
            .as_ref()
            .map(|uuid| self.object(kind, uuid).ok_or_else(|| self.none(&kind.to_string(), uuid).at(&uuid_field)));
        match (by_name.transpose()?, by_uuid.transpose()?) {
            (Some(one), Some(other)) if one != other => {
                let message = format!("{name_field} and {uuid_field} are of two different ones; give one of them");
                Err(Problem::bad(code::BAD_FIELD, &uuid_field, message))
            }
            (Some(found), _) | (None, Some(found)) => Ok(found),
            (None, None) => body.required("name", None),
        }
    }

    /// The assignment that `policy`, as `{"name": …}` or `{"uuid": …}`, means for `object`, or for
    /// a new one. `none` and an empty name detach. Limits in its place are the object's own. An
    /// empty object changes nothing: the client sends it if it does not know an object's own
    /// limits.
    pub fn assignment(&self, policy: Option<Body>, object: Option<ObjectId>) -> Result<Assignment, Problem> {
        let Some(mut policy) = policy.filter(|policy| !policy.is_empty()) else { return Ok(Assignment::default()) };
        if let (Some(named), Some(limit)) = (policy.first_of(&["name", "uuid"]), policy.first_of(&OWN_LIMITS)) {
            return Err(policy.exclusive(named, limit));
        }
        let (name, uuid) = (policy.text("name")?, policy.text("uuid")?);
        if let Some(limits) = own_limits(&mut policy)? {
            policy.end()?;
            return Ok(assigned(PolicyAssignment::Own(limits), false));
        }
        let (name_field, uuid_field) = (policy.name("name"), policy.name("uuid"));
        policy.end()?;
        let by_uuid = uuid.filter(|uuid| !uuid.is_empty()).map(|uuid| {
            self.group(&uuid)
                .map(|group| group.name().to_owned())
                .ok_or_else(|| self.none("policy group", &uuid).at(&uuid_field))
        });
        let name = match (name, by_uuid.transpose()?) {
            (Some(name), Some(other)) if name != other => {
                let message = format!("{name_field} and {uuid_field} are of two different ones; give one of them");
                return Err(Problem::bad(code::BAD_FIELD, &uuid_field, message));
            }
            (name, other) => name.or(other).unwrap_or_default(),
        };
        if name.is_empty() || name.eq_ignore_ascii_case("none") {
            let is_adaptive = object.and_then(|object| self.group_over(object)).is_some_and(is_adaptive);
            return Ok(assigned(PolicyAssignment::Detach, is_adaptive));
        }
        let is_adaptive = self.registry().group(&name).is_some_and(is_adaptive);
        let name = name.parse().map_err(|error: ontap::value::ValueError| {
            Problem::bad(code::INVALID_VALUE, &name_field, format!("{name_field}: {error}"))
        })?;
        Ok(assigned(PolicyAssignment::Group(name), is_adaptive))
    }

    /// The policy group with that identifier.
    pub fn group(&self, uuid: &str) -> Option<&Group> {
        let uuid = u128::from_str_radix(&uuid.replace('-', ""), 16).ok()?;
        self.registry().groups().find(|group| group.uuid() == uuid)
    }

    /// The policy group that an object is in itself.
    pub fn group_over(&self, object: ObjectId) -> Option<&Group> {
        let membership = self.registry().object(object).and_then(Object::membership)?;
        self.registry().group_of(membership.group)
    }

    /// The name of an object's policy, for records.
    pub fn policy_name(&self, object: ObjectId) -> Option<Value> {
        Some(self.group_over(object)?.name().into())
    }

    /// The identifier of an object's policy, for records.
    pub fn policy_uuid(&self, object: ObjectId) -> Option<Value> {
        Some(admin::uuid_text(self.group_over(object)?.uuid()).into())
    }

    /// The fixed policy that an object is in.
    fn fixed_over(&self, object: ObjectId) -> Option<&FixedPolicy> {
        match self.group_over(object)?.policy() {
            Policy::Fixed(policy) => Some(policy),
            Policy::Adaptive(_) => None,
        }
    }

    /// The ceiling in operations per second.
    pub fn max_iops(&self, object: ObjectId) -> Option<Value> {
        Some(self.fixed_over(object)?.ceiling.iops?.0.into())
    }

    /// The ceiling in MB/s.
    pub fn max_mbps(&self, object: ObjectId) -> Option<Value> {
        whole_mbps(self.fixed_over(object)?.ceiling)
    }

    /// The floor in operations per second.
    pub fn min_iops(&self, object: ObjectId) -> Option<Value> {
        Some(self.fixed_over(object)?.floor.iops?.0.into())
    }

    /// The floor in MB/s.
    pub fn min_mbps(&self, object: ObjectId) -> Option<Value> {
        whole_mbps(self.fixed_over(object)?.floor)
    }

    /// A reference in a record: `{"name": …, "uuid": …}`.
    pub fn name_value(&self, object: ObjectId) -> Value {
        json!({ "name": self.name_of(object), "uuid": admin::uuid_of(object) })
    }

    fn none(&self, what: &str, name: &str) -> Problem {
        Problem::missing(format!("there is no {what} {name:?}"))
    }

    /// The new name for a rename; `None` if it is the present one.
    pub fn new_name(&self, object: ObjectId, body: &mut Body) -> Result<Option<ObjectName>, Problem> {
        let name = body.value::<ObjectName>("name")?;
        Ok(name.filter(|name| name.as_str() != self.name_of(object)))
    }
}

/// The fields of [`own_limits`].
const OWN_LIMITS: [&str; 6] = [
    "max_throughput",
    "max_throughput_iops",
    "max_throughput_mbps",
    "min_throughput",
    "min_throughput_iops",
    "min_throughput_mbps",
];

/// Limits in place of a policy's name.
fn own_limits(policy: &mut Body) -> Result<Option<OwnLimits>, Problem> {
    let max = policy.value::<Throughput>("max_throughput")?.map(|text| text.limits().unwrap_or_default());
    let min = policy.value::<MinThroughput>("min_throughput")?.map(|text| text.limits().unwrap_or_default());
    let mut number = |field: &str, in_text: Option<u64>, is_text: bool, unit: u64| match policy.number(field)? {
        Some(_) if is_text => Err(policy.exclusive(field.rsplit_once('_').map_or(field, |(text, _)| text), field)),
        // The registry refuses values that are too large, so they must not wrap around here.
        number => Ok(number.map(|number| number.saturating_mul(unit)).or(is_text.then(|| in_text.unwrap_or(0)))),
    };
    let limits = OwnLimits {
        max_iops: number("max_throughput_iops", max.and_then(|max| max.iops), max.is_some(), 1)?,
        max_bytes: number("max_throughput_mbps", max.and_then(|max| max.bytes_per_second), max.is_some(), MB)?,
        min_iops: number("min_throughput_iops", min.and_then(|min| min.iops), min.is_some(), 1)?,
        min_bytes: number("min_throughput_mbps", min.and_then(|min| min.bytes_per_second), min.is_some(), MB)?,
    };
    Ok((limits != OwnLimits::default()).then_some(limits))
}

fn named_as(field: &str, kind: ObjectKind) -> String {
    if field == "volume" { kind.to_string() } else { format!("{kind} ({field})") }
}

fn is_adaptive(group: &Group) -> bool {
    group.policy().adaptive().is_some()
}

fn assigned(policy: PolicyAssignment, is_adaptive: bool) -> Assignment {
    match is_adaptive {
        true => Assignment { fixed: None, adaptive: Some(policy) },
        false => Assignment { fixed: Some(policy), adaptive: None },
    }
}
