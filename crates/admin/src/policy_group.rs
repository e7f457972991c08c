//! `qos policy-group`: fixed policy groups.

use super::{AdminError, Answer, Errand, Obstacle};
use crate::uuid_text;
use block::{BytesPerSecond, Iops, Span};
use ontap::catalogue::{PolicyGroupCommand, PolicyGroupCreate, PolicyGroupModify};
use ontap::show::{BurstRow, PolicyGroupRow};
use ontap::value::{Count, ExpectedLatency, MinThroughput, Throughput, ThroughputLimits};
use qos::{Burst, BurstChange, BurstKnobs, FixedChange, FixedPolicy, Group, NewGroup, Policy, PolicyChange, Rates};

impl Errand<'_> {
    pub(super) fn policy_group(&mut self, command: PolicyGroupCommand) -> Result<Answer, AdminError> {
        match command {
            PolicyGroupCommand::Create(create) => self.create_policy_group(&create),
            PolicyGroupCommand::Modify(modify) => self.modify_policy_group(&modify),
            PolicyGroupCommand::Rename(rename) => {
                self.is_of_kind(rename.policy_group.as_str(), false)?;
                self.rename_group(rename.policy_group.as_str(), rename.new_name.as_str())
            }
            PolicyGroupCommand::Delete(delete) => {
                self.is_of_kind(delete.policy_group.as_str(), false)?;
                self.delete_group(delete.policy_group.as_str(), delete.force.0)
            }
            PolicyGroupCommand::Show(selection) => {
                self.listed(self.registry.groups().filter_map(|group| self.policy_group_row(group)), &selection)
            }
        }
    }

    fn create_policy_group(&mut self, create: &PolicyGroupCreate) -> Result<Answer, AdminError> {
        let svm = self.svm(create.vserver.as_ref())?;
        let policy = Policy::Fixed(FixedPolicy {
            ceiling: ceiling_of(create.max_throughput).unwrap_or_default(),
            floor: floor_of(create.min_throughput).unwrap_or_default(),
            expected_latency: create.expected_latency.map(latency_of),
            shared: create.is_shared,
            burst: burst_knobs(create.burst_percent, create.burst_iops, create.burst_duration),
            auto_generated: false,
        });
        self.create_group(svm, create.policy_group.as_str(), policy)
    }

    fn modify_policy_group(&mut self, modify: &PolicyGroupModify) -> Result<Answer, AdminError> {
        let change = PolicyChange::Fixed(FixedChange {
            ceiling: ceiling_of(modify.max_throughput),
            floor: floor_of(modify.min_throughput),
            expected_latency: modify.expected_latency.map(latency_of),
            shared: modify.is_shared,
            burst: burst_change(modify.burst_percent, modify.burst_iops, modify.burst_duration),
        });
        self.modify_group(modify.policy_group.as_str(), &change)
    }

    pub(super) fn create_group(
        &mut self,
        svm: block::ObjectId,
        name: &str,
        policy: Policy,
    ) -> Result<Answer, AdminError> {
        let uuid = self.at.world.uuid();
        let change = self.registry.create_group(NewGroup { name, svm, uuid, policy })?;
        self.take(change);
        Ok(Answer::default())
    }

    pub(super) fn modify_group(&mut self, name: &str, change: &PolicyChange) -> Result<Answer, AdminError> {
        // A changed adaptive policy is evaluated at once, with the space that its members use now.
        for member in self.registry.group(name).map(|group| group.members().collect::<Vec<_>>()).unwrap_or_default() {
            self.measure(member);
        }
        let change = self.registry.modify_group(name, change)?;
        self.take(change);
        Ok(Answer::default())
    }

    /// Checks that a group is of the command's kind: fixed and adaptive groups have separate
    /// commands.
    pub(super) fn is_of_kind(&self, name: &str, adaptive: bool) -> Result<(), AdminError> {
        let Some(group) = self.registry.group(name) else { return Ok(()) };
        match (adaptive, group.policy().adaptive().is_some()) {
            (false, true) => {
                let text =
                    format!("policy group {name}: it is adaptive; use the commands `qos adaptive-policy-group …`");
                Err(Obstacle::GroupIsAdaptive.told(text).given(name).about(name).into())
            }
            (true, false) => {
                let text = format!("policy group {name}: it is fixed; use the commands `qos policy-group …`");
                Err(Obstacle::GroupIsFixed.told(text).given(name).about(name).into())
            }
            _ => Ok(()),
        }
    }

    pub(super) fn rename_group(&mut self, name: &str, to: &str) -> Result<Answer, AdminError> {
        let change = self.registry.rename_group(name, to)?;
        self.take(change);
        Ok(Answer::default())
    }

    pub(super) fn delete_group(&mut self, name: &str, force: bool) -> Result<Answer, AdminError> {
        let change = self.registry.delete_group(name, force)?;
        self.take(change);
        Ok(Answer::default())
    }

    /// The burst in force: the pool's setting applies to what is not set.
    pub(super) fn burst_row(&self, knobs: BurstKnobs) -> Option<BurstRow> {
        let knobs = knobs.normal();
        let default = match self.registry.settings().burst.burst() {
            _ if knobs != BurstKnobs::default() => Burst::percent(50, Span::SECOND),
            Some(burst) => burst,
            None => return None,
        };
        let percent = knobs.percent.unwrap_or((default.ppm / 10_000) as u32);
        Some(BurstRow {
            percent: if knobs.iops.is_some() { 0 } else { percent },
            iops: knobs.iops.map_or(0, |rate| rate.0),
            duration_s: (knobs.duration.unwrap_or(default.duration).as_nanos() / 1_000_000_000) as u32,
        })
    }

    fn policy_group_row(&self, group: &Group) -> Option<PolicyGroupRow> {
        let Policy::Fixed(policy) = group.policy() else { return None };
        Some(PolicyGroupRow {
            policy_group: group.name().into(),
            vserver: group.svm().map(|svm| self.svm_name(svm)).unwrap_or_default(),
            uuid: uuid_text(group.uuid()),
            class: "user-defined".into(),
            pgid: group.id().0,
            max_throughput: limits_of(policy.ceiling),
            min_throughput: limits_of(policy.floor),
            expected_latency: policy.expected_latency.map(latency_shown),
            num_workloads: group.members().len() as u32,
            is_shared: policy.shared,
            is_auto_generated: policy.auto_generated.then_some(true),
            burst: self.burst_row(policy.burst),
        })
    }
}

/// A ceiling as given. Nothing given changes nothing; `INF`, `none` and `0` remove it.
fn ceiling_of(given: Option<Throughput>) -> Option<Rates> {
    given.map(|throughput| rates_of(throughput.limits()))
}

fn floor_of(given: Option<MinThroughput>) -> Option<Rates> {
    given.map(|throughput| rates_of(throughput.limits()))
}

fn rates_of(limits: Option<ThroughputLimits>) -> Rates {
    let limits = limits.unwrap_or_default();
    Rates { iops: limits.iops.map(Iops), bytes: limits.bytes_per_second.map(BytesPerSecond) }
}

fn limits_of(rates: Rates) -> Option<ThroughputLimits> {
    let limits =
        ThroughputLimits { iops: rates.iops.map(|rate| rate.0), bytes_per_second: rates.bytes.map(|rate| rate.0) };
    (limits != ThroughputLimits::default()).then_some(limits)
}

pub(super) fn latency_of(latency: ExpectedLatency) -> Span {
    Span::from_nanos(latency.0)
}

pub(super) fn latency_shown(latency: Span) -> ExpectedLatency {
    ExpectedLatency(latency.as_nanos())
}

pub(super) fn burst_knobs(percent: Option<Count>, iops: Option<Count>, seconds: Option<Count>) -> BurstKnobs {
    let BurstChange { percent, duration, iops } = burst_change(percent, iops, seconds);
    BurstKnobs { percent, duration, iops }
}

pub(super) fn burst_change(percent: Option<Count>, iops: Option<Count>, seconds: Option<Count>) -> BurstChange {
    BurstChange {
        percent: percent.map(|count| count.0),
        duration: seconds.map(|count| Span::from_secs(count.0.into())),
        iops: iops.map(|count| Iops(count.0.into())),
    }
}
