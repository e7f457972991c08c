//! The GenIO tests at the level of phases, with policies computed by the administration.

use super::Setting;
use admin::Administration;
use anyhow::{Context as _, Result, bail};
use array::{Array, Model};
use block::{Bytes, ObjectId, Time};
use capacity::{Comparison, PairRow, Ramps, Trial, a_pair, adaptive_qos, setups};
use qos::RegistrySettings;
use stage::device::spec_of;
use std::collections::HashSet;
use workload::plan::Device;

/// Volumes of a host, and the sizes of each and of its LUN: as published, 16 of 342 GB with one of
/// 307 GB on the A700.
const VOLUMES: u32 = 16;
const VOLUME: &str = "342GB";
const LUN: u64 = 307_000_000_000;

pub fn a300(setting: &Setting) -> Result<Comparison> {
    pair(A300, "aff-a300", "A300_ramp", setting)
}

pub fn a700(setting: &Setting) -> Result<Comparison> {
    pair(A700, "aff-a700", "A700_ramp", setting)
}

const A300: PairRow<'_> = PairRow {
    name: "a300",
    title: "GenIO on an AFF A300: two hosts ramp from 75 000 to 110 000 IOPS",
    file: "a300_genio.csv",
    step: 6,
};

const A700: PairRow<'_> = PairRow {
    name: "a700",
    title: "GenIO on an AFF A700: two hosts ramp to 100 000 IOPS, a third to 170 000",
    file: "a700_genio.csv",
    step: 7,
};

fn pair(of: PairRow<'_>, array: &str, test: &str, setting: &Setting) -> Result<Comparison> {
    let array = array_of(&setting.array(array)?)?;
    let trial = ramp_of(&array, test, setting)?;
    Ok(a_pair(of, &array, &trial, &setting.others)?)
}

fn ramp_of(array: &Array, test: &str, setting: &Setting) -> Result<Trial> {
    let (hosts, settings) = ramps(test, setting)?;
    Ok(Trial::play(array, hosts.clone(), settings, &vec![(None, None); hosts.len()]))
}

pub fn aqos(setting: &Setting) -> Result<Comparison> {
    let array = array_of(&setting.array("aff-a700")?)?;
    let (hosts, settings) = ramps("A700_AQOS", setting)?;
    let none = vec![(None, None); hosts.len()];
    let free = Trial::play(&array, hosts.clone(), settings.clone(), &none);
    if setting.no_policies {
        return Ok(adaptive_qos(&array, &free, None, &setting.others)?);
    }
    let policies = policies(&hosts)?;
    let with = Trial::play(&array, hosts.clone(), settings, &policies);
    let mut comparison = adaptive_qos(&array, &with, Some(&free), &setting.others)?;
    if let Some(&(Some(floor), Some(ceiling))) = policies.first() {
        comparison.notes.push(format!(
            "Each protected host has {VOLUMES} volumes of {VOLUME}. By the policy's arithmetic a volume's floor is the absolute \
             minimum of 7500, above 15 000 IOPS/TB of its space, so a host's is {floor:.0} IOPS, not the 75 000 that the source \
             reckons with. Its ceiling is {ceiling:.0} if all of its LUN of 307 GB counts as used, which is assumed (a reserved \
             LUN does). Were it the 20 % that the data fills, the minimum would be its ceiling too, 120 000, and a burst beside \
             its reads would be held by it, with longer cycles than published."
        ));
    }
    Ok(comparison)
}

/// The array of a device, for the level of means.
pub fn array_of(device: &Device) -> Result<Array> {
    // Means do not model these; only single requests do.
    if let Some(key) = ["members", "queue_limit"].into_iter().find(|key| device.figure(key).is_some()) {
        bail!("--array: {key}: is for simulate alone; leave it out here");
    }
    if !device.changes.is_empty() {
        bail!("--array: changes: are for simulate alone; leave them out here");
    }
    match spec_of(device, Bytes::gib(1024))?.model {
        Model::Array(array) => Ok(array),
        other => bail!("--array: must be an array with stages, got the kind {}", other.name()),
    }
}

fn ramps(test: &str, setting: &Setting) -> Result<Ramps> {
    let (hosts, mut settings) = setups(test, &setting.others)?;
    if let (Some((min, max)), Some(last)) = (setting.last_host, settings.last_mut()) {
        (last.ladder.min, last.ladder.max) = (min, max);
    }
    for one in &mut settings {
        one.constants.cycle = setting.cycle.unwrap_or(one.constants.cycle);
        one.check()?;
        let (cycle, runtime) = (one.constants.cycle, one.runtime);
        if cycle >= runtime {
            bail!("--cycle: must be shorter than a run of {runtime}, within which no burst would begin, got {cycle}");
        }
    }
    Ok((hosts, settings))
}

/// For each host the sums of its volumes' floors and ceilings after the published commands.
fn policies(hosts: &[(String, bool)]) -> Result<Vec<(Option<f64>, Option<f64>)>> {
    let mut administration = Administration::new(RegistrySettings::default());
    let mut made = vec![
        "vserver create -vserver epic".to_string(),
        "qos adaptive-policy-group create -policy-group AqosEpicProd -vserver epic -expected-iops 15000IOPS/TB -peak-iops \
         30000IOPS/TB -absolute-min-iops 7500IOPS -expected-iops-allocation used-space -peak-iops-allocation used-space \
         -block-size any"
            .into(),
    ];
    let mut attached = Vec::new();
    for (host, protected) in hosts {
        for volume in 1..=VOLUMES {
            made.push(format!("volume create -vserver epic -volume {}_{volume} -size {VOLUME}", name(host)));
            made.push(format!("lun create -vserver epic -path /vol/{}_{volume}/lun1 -size {LUN}", name(host)));
        }
        if *protected {
            let volumes = format!("{}_*", name(host));
            attached
                .push(format!("vol modify -vserver epic -volume {volumes} -qos-adaptive-policy-group AqosEpicProd"));
        }
    }
    // There is no scheduler here to apply the edits to: a requested limit is in force at once.
    for line in &made {
        let _ = administration.execute(line, Time::ZERO, &|_| 0).with_context(|| line.clone())?;
    }
    // All of a LUN counts as used; volumes contain nothing else.
    let luns = administration.registry.objects().filter(|object| object.kind().is_leaf());
    let luns: HashSet<ObjectId> = luns.map(qos::Object::id).collect();
    let reserved = |object: ObjectId| if luns.contains(&object) { LUN } else { 0 };
    for line in &attached {
        let _ = administration.execute(line, Time::ZERO, &reserved).with_context(|| line.clone())?;
    }
    let limits = administration.limits();
    let sum = |host: &str, of: fn(&stats::LimitsInForce) -> Option<u64>| {
        let volumes = limits.iter().filter(|(path, _)| path.contains(&format!("{}_", name(host))));
        let figures: Vec<u64> = volumes.filter_map(|(_, limits)| of(limits)).collect();
        (!figures.is_empty()).then(|| figures.iter().sum::<u64>() as f64)
    };
    let of =
        |(host, _): &(String, bool)| (sum(host, |limits| limits.floor_iops), sum(host, |limits| limits.ceiling_iops));
    Ok(hosts.iter().map(of).collect())
}

/// A host's name as used in the names of its volumes.
fn name(host: &str) -> String {
    host.replace(['-', ' '], "_")
}

#[cfg(test)]
mod tests {
    use super::*;
    use capacity::nearest_step;
    use std::collections::HashMap;

    /// The steps of the single rows are those whose totals are nearest to the published ones.
    #[test]
    fn single_rows_show_the_steps_nearest_to_their_totals() {
        let setting = Setting { others: HashMap::new(), array: None, cycle: None, last_host: None, no_policies: false };
        for (row, name, test) in [(A300, "aff-a300", "A300_ramp"), (A700, "aff-a700", "A700_ramp")] {
            let array = array_of(&setting.array(name).expect("an array")).expect("stages");
            let trial = ramp_of(&array, test, &setting).expect("played");
            assert_eq!(nearest_step(row.file, &trial, &setting.others), Ok(row.step), "{name}");
        }
    }
}
