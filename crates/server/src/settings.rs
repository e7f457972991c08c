//! The table `[qos]` of a pool's `seawall.toml`: how all of its policies are read.
//!
//! ```toml
//! [qos]
//! units = "decimal"    # or "binary": what a TB of a rate is, and how commands read sizes
//! nesting = "ontap"    # or "free": which levels may carry a policy at the same time
//! burst = "none"       # or "ontap": the burst of a policy that says nothing of one
//! peak = "ceiling"     # or "credits": how the peak of an adaptive policy is reached
//! fair = false         # or true: SVMs take turns even where no limit binds; left out, as commands last left it
//! groups_max = 12000
//! workloads_max = 40000
//! capacity_iops = 200000       # what the pool can do; without it there is no goal
//! utilisation = 80             # how much of that floors may promise together, in percent
//! beyond_utilisation = "warn"  # or "refuse": what becomes of a promise beyond it
//! ```

use block::Iops;
use qos::{Beyond, DefaultBurst, Goal, Nesting, PeakMode, RegistrySettings, Units};
use serde::Deserialize;
use std::path::Path;
use store::{Pool, StoreError};

/// The settings of a pool's registry, with defaults for what is not set.
///
/// # Errors
/// A setting or its value is unknown.
pub fn registry_settings(pool: &Pool) -> Result<RegistrySettings, StoreError> {
    pool.qos_settings::<Table>()?.registry(&pool.settings_path())
}

/// Checks the settings of a pool that is not served.
///
/// # Errors
/// As for [`registry_settings`].
pub fn check_settings(pool: &Path) -> Result<(), StoreError> {
    store::qos_settings::<Table>(pool)?.registry(&store::settings_path(pool)).map(drop)
}

#[derive(Clone, Copy, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct Table {
    units: Option<UnitsWord>,
    nesting: Option<NestingWord>,
    burst: Option<BurstWord>,
    peak: Option<PeakWord>,
    fair: Option<bool>,
    groups_max: Option<u32>,
    workloads_max: Option<u32>,
    capacity_iops: Option<u64>,
    utilisation: Option<u32>,
    beyond_utilisation: Option<BeyondWord>,
}

/// The default share of the pool's capacity that may be promised, in percent. The rest is for those
/// without a floor.
const UTILISATION: u32 = 80;

/// Declares a word of the table for each value of a registry setting.
macro_rules! words {
    ($name:ident for $type:ty { $($word:ident = $value:expr),+ }) => {
        #[derive(Clone, Copy, Deserialize)]
        #[serde(rename_all = "lowercase")]
        enum $name { $($word),+ }

        impl From<$name> for $type {
            fn from(word: $name) -> $type {
                match word { $($name::$word => $value),+ }
            }
        }
    };
}

words!(UnitsWord for Units { Decimal = Units::Decimal, Binary = Units::Binary });
words!(NestingWord for Nesting { Ontap = Nesting::Ontap, Free = Nesting::Free });
words!(BurstWord for DefaultBurst { None = DefaultBurst::None, Ontap = DefaultBurst::Ontap });
words!(PeakWord for PeakMode { Ceiling = PeakMode::Ceiling, Credits = PeakMode::Credits });

words!(BeyondWord for Beyond { Warn = Beyond::Warn, Refuse = Beyond::Refuse });

impl Table {
    fn registry(self, path: &Path) -> Result<RegistrySettings, StoreError> {
        let goal = self.goal().map_err(|reason| StoreError::Settings { path: path.into(), reason })?;
        Ok(RegistrySettings { goal, ..self.settings() })
    }

    fn goal(self) -> Result<Option<Goal>, String> {
        let Some(capacity) = self.capacity_iops else {
            return match (self.utilisation, self.beyond_utilisation) {
                (None, None) => Ok(None),
                _ => Err("[qos] utilisation is of capacity_iops, which is not there; say what the pool can do".into()),
            };
        };
        let percent = self.utilisation.unwrap_or(UTILISATION);
        if !(1..=1000).contains(&percent) {
            return Err(format!("[qos] utilisation: must be from 1 to 1000 percent, got {percent}"));
        }
        if !(1..=qos::policy::IOPS_MAX).contains(&capacity) {
            return Err(format!("[qos] capacity_iops: must be from 1 to {}, got {capacity}", qos::policy::IOPS_MAX));
        }
        let beyond = self.beyond_utilisation.map_or(Beyond::default(), Beyond::from);
        Ok(Some(Goal { capacity: Iops(capacity), percent, beyond }))
    }

    fn settings(self) -> RegistrySettings {
        let default = RegistrySettings::default();
        RegistrySettings {
            units: self.units.map_or(default.units, Units::from),
            nesting: self.nesting.map_or(default.nesting, Nesting::from),
            burst: self.burst.map_or(default.burst, DefaultBurst::from),
            peak: self.peak.map_or(default.peak, PeakMode::from),
            fair: self.fair,
            groups_max: self.groups_max.map_or(default.groups_max, |count| count as usize),
            workloads_max: self.workloads_max.map_or(default.workloads_max, |count| count as usize),
            evaluation_interval: default.evaluation_interval,
            goal: None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<RegistrySettings, String> {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("pool");
        std::fs::create_dir(&path).unwrap();
        std::fs::write(path.join("seawall.toml"), text).unwrap();
        let pool = Pool::create(&path).map_err(|error| error.to_string())?;
        registry_settings(&pool).map_err(|error| error.to_string())
    }

    #[test]
    fn every_setting_is_read_and_what_is_left_out_is_the_default() {
        assert_eq!(read("cache = \"page\"").unwrap(), RegistrySettings::default());
        let all = "[qos]\nunits = \"binary\"\nnesting = \"free\"\nburst = \"ontap\"\npeak = \"credits\"\n\
                   fair = true\ngroups_max = 5\nworkloads_max = 1000000\ncapacity_iops = 200000\n\
                   beyond_utilisation = \"refuse\"";
        let expected = RegistrySettings {
            units: Units::Binary,
            nesting: Nesting::Free,
            burst: DefaultBurst::Ontap,
            peak: PeakMode::Credits,
            fair: Some(true),
            groups_max: 5,
            workloads_max: 1_000_000,
            goal: Some(Goal { capacity: Iops(200_000), percent: 80, beyond: Beyond::Refuse }),
            ..RegistrySettings::default()
        };
        assert_eq!(read(all).unwrap(), expected);
    }

    #[test]
    fn a_wrong_setting_is_named_with_what_it_may_be() {
        for (text, words) in [
            ("[qos]\nunits = \"metric\"", ["metric", "decimal", "binary"]),
            ("[qos]\nunit = \"binary\"", ["unit", "units", "nesting"]),
            ("[qos]\nutilisation = 70", ["seawall.toml", "capacity_iops", "say what the pool can do"]),
            ("[qos]\ncapacity_iops = 9\nutilisation = 0", ["seawall.toml", "from 1 to 1000 percent", "got 0"]),
            ("[qos]\ngroups_max = -1", ["seawall.toml", "qos.groups_max", "-1"]),
        ] {
            let error = read(text).unwrap_err();
            assert!(words.iter().all(|word| error.contains(word)) && !error.contains('\n'), "{error}");
        }
    }
}
