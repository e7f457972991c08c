//! The adaptive policy that protects a database with a given demand in IOPS and used space.
//!
//! The published rule divides the required IOPS by the used space. That is the average: a burst of
//! writes, made every 80 s, would then take all of the 80 s. To write it within the limit of a
//! cycle, the floor must carry the reads and the burst together for that time:
//!
//! ```text
//!   floor = reads + burst / limit = (0.75 + 0.25 · 80 / limit) · required = 1.194 · required for 45 s
//! ```

mod demand;
mod show;

pub use demand::Demand;
pub use show::{advice_chart, advice_page, advice_text, space};

use crate::settings::Constants;
use block::{Bytes, Span};

/// References in the database per operation, from the sizing rule: `(reads + writes of a burst /
/// 45) · 225`.
const REFERENCES: f64 = 225.0;

/// A TB, as policies count it.
pub const TB: u64 = 1_000_000_000_000;

/// What is to be protected.
#[derive(Clone, Debug, PartialEq)]
pub struct PolicyNeed {
    /// Total IOPS, 75 % of them reads.
    pub iops: u64,
    /// Used space.
    pub used: Bytes,
    /// The time in which a burst must be written.
    pub cycle_limit: Span,
    /// Volumes over which the space is spread evenly; an absolute minimum counts for each, so the
    /// advised one is divided by them.
    pub volumes: u64,
}

/// What is wrong with a need.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum AdviceError {
    /// There is nothing to protect.
    #[error("--iops: must be between 1 and 100000000, got {0}")]
    Iops(u64),
    /// There is no used space.
    #[error("--used-space: must be between 1 MB and 1000000 TB, got {0}")]
    Space(Bytes),
    /// A limit that is impossible for a burst.
    #[error("--cycle-limit: must be above 0 and at most 80 s, when the next burst is due; got {} s", .0.as_secs_f64())]
    Limit(Span),
}

/// A policy, in IOPS per TB of used space.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Policy {
    /// The floor per TB.
    pub expected: u64,
    /// The ceiling per TB.
    pub peak: u64,
    /// The minimum floor of each volume, however little space is used.
    pub absolute_min: u64,
}

/// The advice.
#[derive(Clone, Debug, PartialEq)]
pub struct Advice {
    /// The published rule: required IOPS divided by used space.
    pub published: Policy,
    /// The rule that leaves enough time to write a burst.
    pub safe: Policy,
    /// The safe floor divided by the required IOPS.
    pub factor: f64,
    /// Duration of a burst at the published floor, while reads continue.
    pub published_cycle: Span,
    /// Duration of a burst at the safe floor.
    pub safe_cycle: Span,
    need: PolicyNeed,
}

/// The global references per second that a total of `iops` serves: `(reads + writes of a burst /
/// 45) · 225`.
pub fn references_of(iops: u64) -> f64 {
    iops as f64 * factor(Constants::CYCLE_LIMIT) * REFERENCES
}

/// The total IOPS for this many global references per second, rounded up.
pub fn iops_of_references(references: u64) -> u64 {
    (references as f64 / (factor(Constants::CYCLE_LIMIT) * REFERENCES)).ceil() as u64
}

/// The factor between the floor and the average that lets a burst be written within `limit`.
fn factor(limit: Span) -> f64 {
    0.75 + 0.25 * Constants::CYCLE.as_secs_f64() / limit.as_secs_f64()
}

impl Policy {
    /// Rates for a total floor of `iops` on so many volumes. As in both published examples (15 000:
    /// 30 000 and 7 500), the peak is twice and the absolute minimum half of the floor per TB.
    fn of(iops: f64, used: Bytes, volumes: u64) -> Policy {
        // Rounded up, because a floor must not be too low; the last bits of a division are ignored.
        let expected = (iops * TB as f64 / used.0 as f64 - 1e-6).ceil().max(1.0) as u64;
        // On less than half a TB a volume, half of the floor per TB would be more than the whole
        // demand. A share is rounded up as well.
        let all = (iops - 1e-6).ceil().max(1.0) as u64;
        let share = all.div_ceil(volumes.max(1));
        Policy { expected, peak: expected * 2, absolute_min: expected.div_ceil(2).min(share) }
    }

    /// Floor and ceiling in total at this used space, on so many volumes.
    pub fn at(&self, used: Bytes, volumes: u64) -> (u64, u64) {
        let rate = |per_tb: u64| (u128::from(per_tb) * u128::from(used.0) / u128::from(TB)) as u64;
        let floor = rate(self.expected).max(self.absolute_min.saturating_mul(volumes));
        (floor, rate(self.peak).max(floor))
    }

    /// The commands that create the policy and, if a volume or a pattern is given, attach it.
    pub fn commands(&self, name: &str, svm: &str, volume: Option<&str>) -> Vec<String> {
        let Policy { expected, peak, absolute_min } = self;
        let create = format!(
            "qos adaptive-policy-group create -policy-group {name} -vserver {svm} -expected-iops {expected}IOPS/TB \
             -peak-iops {peak}IOPS/TB -absolute-min-iops {absolute_min}IOPS -expected-iops-allocation used-space \
             -peak-iops-allocation used-space"
        );
        let attach =
            |volume| format!("volume modify -vserver {svm} -volume {volume} -qos-adaptive-policy-group {name}");
        std::iter::once(create).chain(volume.map(attach)).collect()
    }
}

impl Advice {
    /// The policies for a need.
    ///
    /// # Errors
    /// A value is out of range.
    pub fn on(need: PolicyNeed) -> Result<Advice, AdviceError> {
        let PolicyNeed { iops, used, cycle_limit, volumes } = need;
        if !(1..=100_000_000).contains(&iops) {
            return Err(AdviceError::Iops(iops));
        }
        if !(1_000_000..=1_000_000 * TB).contains(&used.0) {
            return Err(AdviceError::Space(used));
        }
        if cycle_limit == Span::ZERO || cycle_limit > Constants::CYCLE {
            return Err(AdviceError::Limit(cycle_limit));
        }
        let factor = factor(cycle_limit);
        // The published rule does not count volumes.
        let published = Policy::of(iops as f64, used, 1);
        let safe = Policy::of(iops as f64 * factor, used, volumes);
        let cycle = |policy: &Policy| drain(iops, policy.at(used, volumes).0);
        Ok(Advice { published_cycle: cycle(&published), safe_cycle: cycle(&safe), published, safe, factor, need })
    }

    /// Whether the published rule leaves a burst too little time.
    pub fn published_misses(&self) -> bool {
        self.published_cycle > self.need.cycle_limit
    }

    /// Floor and ceiling of the safe policy as the used space grows: (used space, floor, ceiling).
    pub fn growth(&self) -> Vec<(Bytes, u64, u64)> {
        let at = |percent: u128| {
            let used = Bytes((self.need.used.0 as u128 * percent / 100) as u64);
            let (floor, ceiling) = self.safe.at(used, self.need.volumes);
            (used, floor, ceiling)
        };
        [25, 50, 75, 100, 150, 200].map(at).into()
    }
}

/// Duration of the burst of `iops` at a floor, while its reads continue: the floor serves both.
fn drain(iops: u64, floor: u64) -> Span {
    let burst = 0.25 * iops as f64 * Constants::CYCLE.as_secs_f64();
    let left = floor as f64 - 0.75 * iops as f64;
    if left <= 0.0 { Span::MAX } else { Span::from_secs_f64(burst / left) }
}

#[cfg(test)]
mod tests {
    use super::*;

    const GB: u64 = TB / 1000;

    fn advice(iops: u64, used_gb: u64, limit_s: u64) -> Advice {
        Advice::on(PolicyNeed { iops, used: Bytes(used_gb * GB), cycle_limit: Span::from_secs(limit_s), volumes: 1 })
            .unwrap()
    }

    /// The published settings for 5 TB (15 000, 30 000, 7 500) and for 75 TB (1 000, 2 000, 500),
    /// at 75 000 IOPS.
    #[test]
    fn the_published_rule_gives_the_published_policies() {
        let policy = |expected, peak, absolute_min| Policy { expected, peak, absolute_min };
        assert_eq!(advice(75_000, 5_000, 45).published, policy(15_000, 30_000, 7_500));
        assert_eq!(advice(75_000, 75_000, 45).published, policy(1_000, 2_000, 500));
    }

    /// 0.75 + 0.25 · 80 / 45 = 1.19444: 89 583.3 IOPS, by 5 TB 17 916.7, rounded up.
    #[test]
    fn the_safe_rule_leaves_a_burst_its_time() {
        let found = advice(75_000, 5_000, 45);
        assert_eq!(found.safe.expected, 17_917);
        assert!((found.factor - 1.194_444_4).abs() < 1e-6);
        // At the average rate a burst takes the whole period; at the safe one 1.5 M / (89 585 −
        // 56 250) = 44.998 s.
        assert_eq!(found.published_cycle, Span::from_secs(80));
        assert!(found.published_misses());
        assert!((found.safe_cycle.as_secs_f64() - 44.998).abs() < 0.001 && found.safe_cycle <= Span::from_secs(45));
        // If the whole period may be used, both rules are the same.
        let slow = advice(75_000, 5_000, 80);
        assert_eq!(slow.safe, slow.published);
        assert!(!slow.published_misses());
    }

    #[test]
    fn a_policy_grows_with_the_space_down_to_its_minimum() {
        let found = advice(75_000, 5_000, 45);
        let growth = found.growth();
        assert_eq!(growth[3], (Bytes(5 * TB), 89_585, 179_170));
        assert_eq!(growth[5], (Bytes(10 * TB), 179_170, 358_340));
        assert_eq!(
            found.safe.at(Bytes(GB), 1),
            (8_959, 8_959),
            "the absolute minimum rules, and no ceiling is below it"
        );
    }

    /// 100 IOPS on 3 GB: half of 33 334 IOPS/TB would be 16 667 IOPS, for a database that needs
    /// 100.
    #[test]
    fn an_absolute_minimum_is_never_more_than_what_is_needed() {
        let found = advice(100, 3, 45);
        assert_eq!((found.published.absolute_min, found.published.at(Bytes(3 * GB), 1).0), (100, 100));
        // 100 · 1.19444 = 119.4, rounded up.
        assert_eq!((found.safe.absolute_min, found.safe.at(Bytes(3 * GB), 1).0), (120, 120));
    }

    /// 400 · 1.19444 = 477.8, rounded up to 478: 160 for each of three volumes, as 159 would be 477
    /// together. A thousand volumes have no less than 1 each.
    #[test]
    fn an_absolute_minimum_is_divided_by_the_volumes() {
        let on = |volumes| {
            let (used, cycle_limit) = (Bytes(GB / 5), Constants::CYCLE_LIMIT);
            Advice::on(PolicyNeed { iops: 400, used, cycle_limit, volumes }).unwrap()
        };
        let three = on(3);
        assert_eq!((three.safe.absolute_min, three.safe.at(Bytes(GB / 5), 3).0), (160, 480));
        assert_eq!((three.published.absolute_min, on(1000).safe.absolute_min), (400, 1));
        // Where half of the floor per TB is less than a share, it is as published.
        assert_eq!(advice(75_000, 75_000, 45).safe.absolute_min, 598);
    }

    /// 75 000 IOPS: 56 250 reads and 1.5 million writes a burst, (56 250 + 33 333.3) · 225 =
    /// 20 156 250.
    #[test]
    fn references_size_a_database() {
        assert!((references_of(75_000) - 20_156_250.0).abs() < 1.0);
        assert_eq!(iops_of_references(20_156_250), 75_000);
        assert_eq!(iops_of_references(1), 1);
    }

    #[test]
    fn what_is_out_of_range_says_so() {
        let error = |iops, used_gb, s| {
            let need = PolicyNeed { iops, used: Bytes(used_gb * GB), cycle_limit: Span::from_secs(s), volumes: 1 };
            Advice::on(need).unwrap_err().to_string()
        };
        assert_eq!(error(0, 1, 45), "--iops: must be between 1 and 100000000, got 0");
        assert!(error(1, 0, 45).starts_with("--used-space: must be between"));
        assert!(error(1, 1, 81).ends_with("; got 81 s") && error(1, 1, 0).ends_with("; got 0 s"));
    }
}
