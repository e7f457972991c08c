//! Order entry on the published table of tiers.

use super::Setting;
use super::genio::array_of;
use anyhow::Result;
use array::Array;
use capacity::{Comparison, TIER_SHOP, tier_table};

/// The array of each test with the same host and buffer cache as tests 7 and 8.
const ARRAYS: [(&str, &str); 8] = [
    ("4", "usp-v-clariion"),
    ("5", "usp-v-clariion-512"),
    ("6", "ams-sata-raid5"),
    ("7", "usp-v-fc-raid5"),
    ("8", "usp-v-fc-raid10"),
    ("9", "usp-v-ssd-raid10"),
    ("10", "usp-v-fc-raid10-512"),
    ("11", "usp-v-ssd-raid5-512"),
];

pub fn uspv(setting: &Setting) -> Result<Comparison> {
    Ok(tier_table(&arrays(setting)?, &TIER_SHOP, &setting.others)?)
}

fn arrays(setting: &Setting) -> Result<Vec<(&'static str, Array)>> {
    ARRAYS.iter().map(|(test, name)| Ok((*test, array_of(&setting.array(name)?)?))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::catalogue;
    use capacity::{TIER_MISSING, carried, fit_tiers};
    use std::collections::HashMap;
    use workload::plan::Device;

    /// Test 10's partition of 512 GB holds the whole database; reduced to 4 GB it holds 13 % of it,
    /// so about 13 % of the gain over no cache (test 8) is left.
    #[test]
    fn a_partition_that_is_cut_gives_as_much_less() {
        let text = catalogue::text("usp-v-fc-raid10-512").expect("it is there");
        let cut = text.replace("512_000_000_000", "4_000_000_000");
        assert_ne!(cut, text);
        let tps = |text: &str| {
            let array = array_of(&Device::read(text, "array").expect("an array")).expect("stages");
            carried(&array, &TIER_SHOP).tps
        };
        let none = tps(&catalogue::text("usp-v-fc-raid10").expect("it is there"));
        let left = (tps(&cut) - none) / (tps(&text) - none);
        assert!((0.08..0.25).contains(&left), "{left} of the gain is left; {none} without");
    }

    /// The numbers in the simulation are those of a fit to tests 7 and 8, within half a percent.
    #[test]
    fn fitted_numbers_of_the_tiers_are_those_of_the_fit() {
        let setting = Setting { others: HashMap::new(), array: None, cycle: None, last_host: None, no_policies: false };
        let arrays = arrays(&setting).expect("they are in the catalogue");
        let (users, missing, host) = fit_tiers(&arrays[3].1, &arrays[4].1, &setting.others).expect("a fit");
        assert_eq!(users, TIER_SHOP.users);
        assert!((missing / TIER_MISSING - 1.0).abs() < 0.005, "the fit gives {missing}");
        assert!((host / TIER_SHOP.host.as_secs_f64() - 1.0).abs() < 0.005, "the fit gives {host} s");
        let comparison = uspv(&setting).expect("played");
        assert!(comparison.is_honest() && comparison.parameters() == 3);
    }
}
