//! `qos adaptive-policy-group`: policy groups whose limits follow the sizes of their members.

use super::policy_group::{burst_change, burst_knobs, latency_of, latency_shown};
use super::{AdminError, Answer, Errand};
use crate::uuid_text;
use block::Iops;
use ontap::catalogue::{AdaptiveCommand, AdaptiveCreate, AdaptiveModify};
use ontap::show::{AdaptiveRow, BurstRow};
use ontap::value::{AbsoluteMinimum, AdaptiveRate, Allocation, BlockSize, PeakMode, PerSize};
use qos::{AdaptiveChange, AdaptivePolicy, Density, Group, GroupClass, Per, Policy, PolicyChange};

/// Block sizes in the commands' syntax, and the registry's.
const BLOCK_SIZES: [(BlockSize, qos::BlockSize); 7] = [
    (BlockSize::Any, qos::BlockSize::Any),
    (BlockSize::K4, qos::BlockSize::K4),
    (BlockSize::K8, qos::BlockSize::K8),
    (BlockSize::K16, qos::BlockSize::K16),
    (BlockSize::K32, qos::BlockSize::K32),
    (BlockSize::K64, qos::BlockSize::K64),
    (BlockSize::K128, qos::BlockSize::K128),
];

impl Errand<'_> {
    pub(super) fn adaptive_policy_group(&mut self, command: AdaptiveCommand) -> Result<Answer, AdminError> {
        match command {
            AdaptiveCommand::Create(create) => self.create_adaptive(&create),
            AdaptiveCommand::Modify(modify) => self.modify_group(modify.policy_group.as_str(), &change_of(&modify)),
            AdaptiveCommand::Rename(rename) => {
                self.is_of_kind(rename.policy_group.as_str(), true)?;
                self.rename_group(rename.policy_group.as_str(), rename.new_name.as_str())
            }
            AdaptiveCommand::Delete(delete) => {
                self.is_of_kind(delete.policy_group.as_str(), true)?;
                self.delete_group(delete.policy_group.as_str(), delete.force.0)
            }
            AdaptiveCommand::Show(selection) => {
                self.listed(self.registry.groups().filter_map(|group| self.adaptive_row(group)), &selection)
            }
        }
    }

    fn create_adaptive(&mut self, create: &AdaptiveCreate) -> Result<Answer, AdminError> {
        let svm = self.svm(create.vserver.as_ref())?;
        let policy = AdaptivePolicy {
            expected_allocation: allocation_of(create.expected_iops_allocation),
            peak_allocation: allocation_of(create.peak_iops_allocation),
            absolute_min: create.absolute_min_iops.map(minimum_of),
            expected_latency: create.expected_latency.map(latency_of),
            block_size: block_size_of(create.block_size),
            peak_mode: create.peak_mode.map(peak_mode_of),
            burst: burst_knobs(create.burst_percent, create.burst_iops, create.burst_duration),
            ..AdaptivePolicy::new(density_of(create.expected_iops), density_of(create.peak_iops))
        };
        self.create_group(svm, create.policy_group.as_str(), Policy::Adaptive(policy))
    }

    fn adaptive_row(&self, group: &Group) -> Option<AdaptiveRow> {
        let policy = group.policy().adaptive()?;
        let preset = group.class() == GroupClass::Preset;
        Some(AdaptiveRow {
            policy_group: group.name().into(),
            // The built-in groups belong to the whole cluster.
            vserver: group.svm().map_or_else(|| self.cluster_name(), |svm| self.svm_name(svm)),
            uuid: uuid_text(group.uuid()),
            class: if preset { "preset" } else { "user-defined" }.into(),
            pgid: group.id().0,
            expected_iops: rate_of(policy.expected),
            peak_iops: rate_of(policy.peak),
            expected_iops_allocation: allocation_shown(policy.expected_allocation),
            peak_iops_allocation: allocation_shown(policy.peak_allocation),
            absolute_min_iops: policy.minimum(self.registry.settings().units).0,
            expected_latency: policy.expected_latency.map(latency_shown),
            block_size: block_size_shown(policy.block_size),
            peak_mode: peak_mode_shown(policy.peak_mode(self.registry.settings())),
            num_workloads: group.members().len() as u32,
            burst: match policy.peak_mode(self.registry.settings()) {
                qos::PeakMode::Ceiling => self.burst_row(policy.burst),
                // The peak limits the height of the burst.
                qos::PeakMode::Credits => {
                    let duration = policy.burst.duration.unwrap_or(qos::CREDIT_DURATION);
                    Some(BurstRow { percent: 0, iops: 0, duration_s: (duration.as_nanos() / 1_000_000_000) as u32 })
                }
            },
        })
    }
}

fn change_of(modify: &AdaptiveModify) -> PolicyChange {
    PolicyChange::Adaptive(AdaptiveChange {
        expected: modify.expected_iops.map(density_of),
        peak: modify.peak_iops.map(density_of),
        expected_allocation: modify.expected_iops_allocation.map(allocation_of),
        peak_allocation: modify.peak_iops_allocation.map(allocation_of),
        absolute_min: modify.absolute_min_iops.map(minimum_of),
        expected_latency: modify.expected_latency.map(latency_of),
        block_size: modify.block_size.map(block_size_of),
        peak_mode: modify.peak_mode.map(peak_mode_of),
        burst: burst_change(modify.burst_percent, modify.burst_iops, modify.burst_duration),
    })
}

fn density_of(rate: AdaptiveRate) -> Density {
    let per = match rate.per {
        PerSize::Gigabyte => Per::Gb,
        PerSize::Terabyte => Per::Tb,
    };
    Density { iops: Iops(rate.iops), per }
}

fn rate_of(density: Density) -> AdaptiveRate {
    let per = match density.per {
        Per::Gb => PerSize::Gigabyte,
        Per::Tb => PerSize::Terabyte,
    };
    AdaptiveRate { iops: density.iops.0, per }
}

fn allocation_of(allocation: Allocation) -> qos::Allocation {
    match allocation {
        Allocation::Allocated => qos::Allocation::Allocated,
        Allocation::Used => qos::Allocation::Used,
    }
}

fn allocation_shown(allocation: qos::Allocation) -> Allocation {
    match allocation {
        qos::Allocation::Allocated => Allocation::Allocated,
        qos::Allocation::Used => Allocation::Used,
    }
}

fn peak_mode_of(mode: PeakMode) -> qos::PeakMode {
    match mode {
        PeakMode::Ceiling => qos::PeakMode::Ceiling,
        PeakMode::Credits => qos::PeakMode::Credits,
    }
}

fn peak_mode_shown(mode: qos::PeakMode) -> PeakMode {
    match mode {
        qos::PeakMode::Ceiling => PeakMode::Ceiling,
        qos::PeakMode::Credits => PeakMode::Credits,
    }
}

fn minimum_of(minimum: AbsoluteMinimum) -> Iops {
    Iops(minimum.0)
}

fn block_size_of(size: BlockSize) -> qos::BlockSize {
    BLOCK_SIZES.iter().find(|(shown, _)| *shown == size).map(|(_, kept)| *kept).unwrap_or_default()
}

fn block_size_shown(size: qos::BlockSize) -> BlockSize {
    BLOCK_SIZES.iter().find(|(_, kept)| *kept == size).map_or(BlockSize::Any, |(shown, _)| *shown)
}

#[cfg(test)]
mod tests {
    use crate::Administration;
    use block::Time;

    /// One group says for itself how its peak is reached; the others go by the pool's setting.
    #[test]
    fn the_way_to_the_peak_is_said_and_shown() {
        let mut administration = Administration::new(qos::RegistrySettings::default());
        let mut run = |line: &str| administration.execute(line, Time::ZERO, &|_| 0).map_err(|error| error.to_string());
        let _ = run("vserver create s").unwrap();
        let create = "qos adaptive-policy-group create a -expected-iops 1000 -peak-iops 3000 -peak-mode credits";
        let _ = run(&format!("{create} -burst-duration 5")).unwrap();
        let mut shown = |line: &str, fields: [&str; 3]| {
            let answer = run(line).unwrap().answer.text();
            let lines: Vec<&str> = answer.lines().map(str::trim).collect();
            assert!(fields.iter().all(|field| lines.contains(field)), "{answer}");
        };
        shown("qos adaptive show a", ["Peak Mode: credits", "Burst Percent: 0", "Burst Duration: 5"]);
        shown("qos adaptive show value", ["Peak Mode: ceiling", "Burst Percent: -", "Burst Duration: -"]);
        let _ = run("qos adaptive modify a -peak-mode ceiling").unwrap();
        let mut shown = |line: &str| run(line).unwrap().answer.text();
        assert!(shown("qos adaptive show a").contains("Peak Mode: ceiling"));
        let refused = run(&format!("{} -burst-percent 5", create.replace(" a ", " b "))).unwrap_err();
        assert!(refused.starts_with("policy group b: where the peak is reached on credits, only"), "{refused}");
    }
}
