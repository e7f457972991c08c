//! `/api/storage/qos/policies`: policy groups: fixed, adaptive and built-in ones.

use super::{Resource, View};
use crate::body::Body;
use crate::problem::Problem;
use crate::record::{Field, Kind, key, known};
use crate::setting::{Place, Setting, Takes, setting};
use admin::uuid_text;
use block::ObjectId;
use ontap::Command;
use ontap::catalogue::{
    AdaptiveCommand, AdaptiveCreate, AdaptiveDelete, AdaptiveModify, AdaptiveRename, PolicyGroupCommand,
    PolicyGroupCreate, PolicyGroupDelete, PolicyGroupModify, PolicyGroupRename,
};
use ontap::value::{
    AbsoluteMinimum, AdaptiveRate, Allocation, BlockSize, Count, MinThroughput, PerSize, PolicyName, Switch,
    Throughput, ThroughputLimits, ValueError,
};
use qos::{AdaptivePolicy, BurstKnobs, Density, FixedPolicy, Group, GroupClass, GroupId, Per, Policy, Rates, Units};
use serde_json::Value;
use std::str::FromStr;

/// Policy groups.
pub(crate) struct Policies;

/// Bytes of an MB in a limit, in either system of units for sizes.
pub(super) const MB: u64 = 1_000_000;

/// ONTAP's classes of policies and workloads.
pub(super) const QOS_CLASSES: &[&str] =
    &["undefined", "preset", "user_defined", "system_defined", "autovolume", "load_control"];

const FIELDS: &[Field<GroupId>] = &[
    key("uuid", |view, id| Some(uuid_text(group(view, id)?.uuid()).into())),
    key("name", |view, id| Some(group(view, id)?.name().into())),
    known("svm.name", |view, id| Some(view.name_of(group(view, id)?.svm()?).into())),
    known("svm.uuid", |view, id| Some(admin::uuid_of(group(view, id)?.svm()?).into())),
    known("scope", |view, id| Some(if group(view, id)?.svm().is_some() { "svm" } else { "cluster" }.into()))
        .of(Kind::Word(&["cluster", "svm"])),
    known("policy_class", |view, id| {
        Some(if group(view, id)?.class() == GroupClass::Preset { "preset" } else { "user_defined" }.into())
    })
    .of(Kind::Word(QOS_CLASSES)),
    known("pgid", |_, id: GroupId| Some(id.0.into())).of(Kind::Number),
    known("object_count", |view, id| Some(group(view, id)?.members().len().into())).of(Kind::Number),
    known("fixed.capacity_shared", |view, id| Some(fixed(view, id)?.shared.into())).of(Kind::Truth),
    known("fixed.max_throughput_iops", |view, id| Some(fixed(view, id)?.ceiling.iops?.0.into())).of(Kind::Number),
    known("fixed.max_throughput_mbps", |view, id| whole_mbps(fixed(view, id)?.ceiling)).of(Kind::Number),
    known("fixed.min_throughput_iops", |view, id| Some(fixed(view, id)?.floor.iops?.0.into())).of(Kind::Number),
    known("fixed.min_throughput_mbps", |view, id| whole_mbps(fixed(view, id)?.floor)).of(Kind::Number),
    known("fixed.max_throughput", |view, id| throughput(fixed(view, id)?.ceiling)).of(Kind::Ceiling),
    known("fixed.min_throughput", |view, id| throughput(fixed(view, id)?.floor)).of(Kind::Floor),
    known("adaptive.expected_iops", |view, id| Some(per_tb(view, adaptive(view, id)?.expected).into()))
        .of(Kind::Number),
    known("adaptive.peak_iops", |view, id| Some(per_tb(view, adaptive(view, id)?.peak).into())).of(Kind::Number),
    known("adaptive.absolute_min_iops", |view, id| {
        Some(adaptive(view, id)?.minimum(view.registry().settings().units).0.into())
    })
    .of(Kind::Number),
    known("adaptive.block_size", |view, id| Some(block_size(adaptive(view, id)?.block_size).into())),
    known("adaptive.expected_iops_allocation", |view, id| {
        Some(allocation(adaptive(view, id)?.expected_allocation).into())
    }),
    known("adaptive.peak_iops_allocation", |view, id| Some(allocation(adaptive(view, id)?.peak_allocation).into())),
    known("burst.percent", |view, id| Some(burst(view, id)?.percent?.into())).of(Kind::Number),
    known("burst.duration", |view, id| Some((burst(view, id)?.duration?.as_nanos() / 1_000_000_000).into()))
        .of(Kind::Number),
    known("burst.iops", |view, id| Some(burst(view, id)?.iops?.0.into())).of(Kind::Number),
];

const SETTINGS: &[Setting] = &[
    setting("name", Takes::Text, Place::RequiredAndPatch),
    setting("svm", Takes::Named, Place::Required),
    setting("fixed.capacity_shared", Takes::Truth, Place::Both),
    setting("fixed.max_throughput", Takes::Text, Place::Both),
    setting("fixed.max_throughput_iops", Takes::Number, Place::Both),
    setting("fixed.max_throughput_mbps", Takes::Number, Place::Both),
    setting("fixed.min_throughput", Takes::Text, Place::Both),
    setting("fixed.min_throughput_iops", Takes::Number, Place::Both),
    setting("fixed.min_throughput_mbps", Takes::Number, Place::Both),
    setting("adaptive.expected_iops", Takes::Number, Place::Both),
    setting("adaptive.peak_iops", Takes::Number, Place::Both),
    setting("adaptive.absolute_min_iops", Takes::Number, Place::Both),
    setting("adaptive.block_size", Takes::OneOf(&["any", "4k", "8k", "16k", "32k", "64k", "128k"]), Place::Both),
    setting("adaptive.expected_iops_allocation", Takes::OneOf(&["used_space", "allocated_space"]), Place::Both),
    setting("adaptive.peak_iops_allocation", Takes::OneOf(&["used_space", "allocated_space"]), Place::Both),
    setting("burst.percent", Takes::Number, Place::Both),
    setting("burst.iops", Takes::Number, Place::Both),
    setting("burst.duration", Takes::Number, Place::Both),
];

impl Resource for Policies {
    type Item = GroupId;

    const NAME: &'static str = "policy group";
    const HAS_JOBS: bool = false;

    fn path(&self) -> String {
        "/api/storage/qos/policies".into()
    }

    fn fields(&self) -> &'static [Field<GroupId>] {
        FIELDS
    }

    fn settings(&self) -> &'static [Setting] {
        SETTINGS
    }

    fn items(&self, view: &View<'_>) -> Vec<GroupId> {
        view.registry().groups().map(Group::id).collect()
    }

    fn find(&self, view: &View<'_>, key: &str) -> Option<GroupId> {
        view.group(key).map(Group::id)
    }

    fn key(&self, view: &View<'_>, item: GroupId) -> String {
        group(view, item).map(|group| uuid_text(group.uuid())).unwrap_or_default()
    }

    fn svm(&self, view: &View<'_>, item: GroupId) -> Option<ObjectId> {
        group(view, item)?.svm()
    }

    fn create(&self, view: &View<'_>, body: &mut Body) -> Result<Vec<Command>, Problem> {
        let svm = view.object_name(view.svm_in(body)?)?;
        let name = body.value::<PolicyName>("name")?;
        let policy_group = body.required("name", name)?;
        let burst = Burst::read(body)?;
        let (fixed, adaptive) = (body.object("fixed")?, body.object("adaptive")?);
        let fixed = match (fixed, adaptive) {
            (Some(_), Some(_)) => return Err(body.exclusive("fixed", "adaptive")),
            (None, None) => return body.required("fixed", None),
            (None, Some(adaptive)) => return Ok(vec![create_adaptive(policy_group, svm, adaptive, &burst)?]),
            (Some(fixed), None) => Rating::read(fixed)?,
        };
        Ok(vec![Command::PolicyGroup(PolicyGroupCommand::Create(PolicyGroupCreate {
            policy_group,
            vserver: Some(svm),
            max_throughput: fixed.ceiling(None),
            min_throughput: fixed.floor(None),
            expected_latency: None,
            is_shared: fixed.shared.unwrap_or(false),
            burst_percent: burst.percent,
            burst_iops: burst.iops,
            burst_duration: burst.duration,
        }))])
    }

    fn made(&self, view: &View<'_>, mut body: Body) -> Option<GroupId> {
        let name = body.text("name").ok()??;
        view.registry().group(&name).map(Group::id)
    }

    fn modify(&self, view: &View<'_>, item: GroupId, body: &mut Body) -> Result<Vec<Command>, Problem> {
        let Some(group) = group(view, item) else { return Ok(Vec::new()) };
        let policy_group: PolicyName = named(group)?;
        let new_name = body.value::<PolicyName>("name")?.filter(|name| *name != policy_group);
        let burst = Burst::read(body)?;
        let (fixed, adaptive) = (body.object("fixed")?, body.object("adaptive")?);
        if fixed.is_some() && adaptive.is_some() {
            return Err(body.exclusive("fixed", "adaptive"));
        }
        let mut commands = Vec::new();
        // A group without settings of the other kind is modified as its own kind. With such
        // settings, the registry refuses it.
        if adaptive.is_some() || fixed.is_none() && burst.is_some() && group.policy().adaptive().is_some() {
            commands.push(modify_adaptive(policy_group.clone(), adaptive.unwrap_or_default(), &burst)?);
        } else if fixed.is_some() || burst.is_some() {
            let rating = Rating::read(fixed.unwrap_or_default())?;
            let now = fixed_of(group);
            commands.push(Command::PolicyGroup(PolicyGroupCommand::Modify(PolicyGroupModify {
                policy_group: policy_group.clone(),
                max_throughput: rating.ceiling(now.map(|policy| policy.ceiling)),
                min_throughput: rating.floor(now.map(|policy| policy.floor)),
                expected_latency: None,
                is_shared: rating.shared,
                burst_percent: burst.percent,
                burst_iops: burst.iops,
                burst_duration: burst.duration,
            })));
        }
        if let Some(new_name) = new_name {
            commands.push(match group.policy() {
                Policy::Fixed(_) => {
                    Command::PolicyGroup(PolicyGroupCommand::Rename(PolicyGroupRename { policy_group, new_name }))
                }
                Policy::Adaptive(_) => {
                    Command::Adaptive(AdaptiveCommand::Rename(AdaptiveRename { policy_group, new_name }))
                }
            });
        }
        Ok(commands)
    }

    fn delete(&self, view: &View<'_>, item: GroupId) -> Result<Vec<Command>, Problem> {
        let Some(group) = group(view, item) else { return Ok(Vec::new()) };
        // ONTAP's REST has no flag for this: objects lose the policy that is deleted.
        let (policy_group, force) = (named(group)?, Switch(true));
        Ok(vec![match group.policy() {
            Policy::Fixed(_) => {
                Command::PolicyGroup(PolicyGroupCommand::Delete(PolicyGroupDelete { policy_group, force }))
            }
            Policy::Adaptive(_) => Command::Adaptive(AdaptiveCommand::Delete(AdaptiveDelete { policy_group, force })),
        }])
    }
}

/// A limit in MB/s; `None` if it is not a whole number, because 0 would mean that there is no
/// limit. The text field with both limits is exact to the byte.
pub(super) fn whole_mbps(rates: Rates) -> Option<Value> {
    let bytes = rates.bytes?.0;
    bytes.is_multiple_of(MB).then(|| (bytes / MB).into())
}

fn create_adaptive(
    policy_group: PolicyName,
    svm: ontap::value::ObjectName,
    mut body: Body,
    burst: &Burst,
) -> Result<Command, Problem> {
    let (expected, peak) = (rate(&mut body, "expected_iops")?, rate(&mut body, "peak_iops")?);
    let create = AdaptiveCreate {
        policy_group,
        vserver: Some(svm),
        expected_iops: body.required("expected_iops", expected)?,
        peak_iops: body.required("peak_iops", peak)?,
        expected_iops_allocation: word(&mut body, "expected_iops_allocation")?.unwrap_or(Allocation::Allocated),
        peak_iops_allocation: word(&mut body, "peak_iops_allocation")?.unwrap_or(Allocation::Used),
        absolute_min_iops: body.number("absolute_min_iops")?.map(AbsoluteMinimum),
        expected_latency: None,
        block_size: word(&mut body, "block_size")?.unwrap_or(BlockSize::K32),
        peak_mode: None,
        burst_percent: burst.percent,
        burst_iops: burst.iops,
        burst_duration: burst.duration,
    };
    body.end()?;
    Ok(Command::Adaptive(AdaptiveCommand::Create(create)))
}

fn modify_adaptive(policy_group: PolicyName, mut body: Body, burst: &Burst) -> Result<Command, Problem> {
    let modify = AdaptiveModify {
        policy_group,
        expected_iops: rate(&mut body, "expected_iops")?,
        peak_iops: rate(&mut body, "peak_iops")?,
        expected_iops_allocation: word(&mut body, "expected_iops_allocation")?,
        peak_iops_allocation: word(&mut body, "peak_iops_allocation")?,
        absolute_min_iops: body.number("absolute_min_iops")?.map(AbsoluteMinimum),
        expected_latency: None,
        block_size: word(&mut body, "block_size")?,
        peak_mode: None,
        burst_percent: burst.percent,
        burst_iops: burst.iops,
        burst_duration: burst.duration,
    };
    body.end()?;
    Ok(Command::Adaptive(AdaptiveCommand::Modify(modify)))
}

/// The settings in `fixed`.
#[derive(Default)]
struct Rating {
    shared: Option<bool>,
    max: Rate,
    min: Rate,
}

/// A ceiling or a floor, as one text or as separate numbers.
#[derive(Default)]
struct Rate {
    text: Option<ThroughputLimits>,
    iops: Option<u64>,
    bytes: Option<u64>,
}

impl Rating {
    fn read(mut body: Body) -> Result<Rating, Problem> {
        let rating = Rating {
            shared: body.truth("capacity_shared")?,
            max: Rate::read(&mut body, "max_throughput")?,
            min: Rate::read(&mut body, "min_throughput")?,
        };
        body.end()?;
        Ok(rating)
    }

    fn ceiling(&self, now: Option<Rates>) -> Option<Throughput> {
        self.max.over(now).map(Throughput::from)
    }

    fn floor(&self, now: Option<Rates>) -> Option<MinThroughput> {
        self.min.over(now).map(MinThroughput::new)
    }
}

impl Rate {
    fn read(body: &mut Body, field: &str) -> Result<Rate, Problem> {
        let (in_iops, in_mb) = (format!("{field}_iops"), format!("{field}_mbps"));
        let text = body.value::<Throughput>(field)?;
        let (iops, mb) = (body.number(&in_iops)?, body.number(&in_mb)?);
        if text.is_some() && (iops.is_some() || mb.is_some()) {
            return Err(body.exclusive(field, if iops.is_some() { &in_iops } else { &in_mb }));
        }
        // The registry refuses values that are too large, so they must not wrap around here.
        let bytes = mb.map(|mb| mb.saturating_mul(MB));
        Ok(Rate { text: text.map(|text| text.limits().unwrap_or_default()), iops, bytes })
    }

    /// Applies it to the present limits: what it does not name stays, and 0 removes a limit.
    fn over(&self, now: Option<Rates>) -> Option<ThroughputLimits> {
        if self.text.is_some() || self.iops.is_none() && self.bytes.is_none() {
            return self.text;
        }
        let now = now.unwrap_or_default();
        Some(ThroughputLimits {
            iops: self.iops.or(now.iops.map(|rate| rate.0)),
            bytes_per_second: self.bytes.or(now.bytes.map(|rate| rate.0)),
        })
    }
}

/// The settings in `burst`.
#[derive(Default)]
struct Burst {
    percent: Option<Count>,
    iops: Option<Count>,
    duration: Option<Count>,
}

impl Burst {
    fn read(body: &mut Body) -> Result<Burst, Problem> {
        let Some(mut body) = body.object("burst")? else { return Ok(Burst::default()) };
        let burst = Burst {
            percent: count(&mut body, "percent")?,
            iops: count(&mut body, "iops")?,
            duration: count(&mut body, "duration")?,
        };
        body.end()?;
        Ok(burst)
    }

    fn is_some(&self) -> bool {
        self.percent.is_some() || self.iops.is_some() || self.duration.is_some()
    }
}

fn count(body: &mut Body, field: &str) -> Result<Option<Count>, Problem> {
    // Larger numbers exceed every limit, and are refused as such.
    Ok(body.number(field)?.map(|number| Count(u32::try_from(number).unwrap_or(u32::MAX))))
}

/// REST's rates are per TB.
fn rate(body: &mut Body, field: &str) -> Result<Option<AdaptiveRate>, Problem> {
    Ok(body.number(field)?.map(|iops| AdaptiveRate { iops, per: PerSize::Terabyte }))
}

/// A word of the command line, in which REST has underscores for hyphens.
fn word<T: FromStr<Err = ValueError>>(body: &mut Body, field: &str) -> Result<Option<T>, Problem> {
    struct Underscored<T>(T);
    impl<T: FromStr<Err = ValueError>> FromStr for Underscored<T> {
        type Err = ValueError;

        fn from_str(text: &str) -> Result<Underscored<T>, ValueError> {
            text.replace('_', "-").parse().map(Underscored)
        }
    }
    Ok(body.value::<Underscored<T>>(field)?.map(|word| word.0))
}

fn group<'a>(view: &View<'a>, id: GroupId) -> Option<&'a Group> {
    view.administration.registry.group_of(id)
}

fn named(group: &Group) -> Result<PolicyName, Problem> {
    group
        .name()
        .parse()
        .map_err(|error: ValueError| Problem::new(500, crate::problem::code::INTERNAL, error.to_string()))
}

fn fixed_of(group: &Group) -> Option<&FixedPolicy> {
    match group.policy() {
        Policy::Fixed(policy) => Some(policy),
        Policy::Adaptive(_) => None,
    }
}

fn fixed<'a>(view: &View<'a>, id: GroupId) -> Option<&'a FixedPolicy> {
    fixed_of(group(view, id)?)
}

fn adaptive<'a>(view: &View<'a>, id: GroupId) -> Option<&'a AdaptivePolicy> {
    group(view, id)?.policy().adaptive()
}

fn burst(view: &View<'_>, id: GroupId) -> Option<BurstKnobs> {
    match group(view, id)?.policy() {
        Policy::Fixed(policy) => Some(policy.burst.normal()),
        Policy::Adaptive(policy) => Some(policy.burst.normal()),
    }
}

fn throughput(rates: Rates) -> Option<Value> {
    let limits =
        ThroughputLimits { iops: rates.iops.map(|rate| rate.0), bytes_per_second: rates.bytes.map(|rate| rate.0) };
    (limits != ThroughputLimits::default()).then(|| limits.to_string().into())
}

fn per_tb(view: &View<'_>, density: Density) -> u64 {
    let gb_in_tb = match view.registry().settings().units {
        Units::Decimal => 1000,
        Units::Binary => 1024,
    };
    match density.per {
        Per::Tb => density.iops.0,
        Per::Gb => density.iops.0.saturating_mul(gb_in_tb),
    }
}

fn allocation(allocation: qos::Allocation) -> &'static str {
    match allocation {
        qos::Allocation::Allocated => "allocated_space",
        qos::Allocation::Used => "used_space",
    }
}

fn block_size(size: qos::BlockSize) -> &'static str {
    match size {
        qos::BlockSize::Any => "any",
        qos::BlockSize::K4 => "4k",
        qos::BlockSize::K8 => "8k",
        qos::BlockSize::K16 => "16k",
        qos::BlockSize::K32 => "32k",
        qos::BlockSize::K64 => "64k",
        qos::BlockSize::K128 => "128k",
    }
}
