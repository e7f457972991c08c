//! Open loads that ask for more than a simulated device can do, told before they are played.

use super::device::spec_of;
use anyhow::Result;
use array::{Array, Flow, Model};
use block::{Bytes, OpKind};
use workload::plan::{DeviceFigure, Phase};
use workload::{Arrival, Pattern, Plan, Spec};

/// How much more than its mean of single requests a disk may do by choosing whom to serve next.
const REORDERED: f64 = 2.0;

/// A line for each phase whose open loads alone use more of the plan's device than there is.
///
/// # Errors
/// The device cannot be.
pub fn loads(plan: &Plan) -> Result<Vec<String>> {
    let Some(device) = &plan.device else { return Ok(Vec::new()) };
    let size = |workload: usize| {
        let volume = &plan.volumes[plan.workloads[workload].volume_of(0)];
        volume.size.unwrap_or_default()
    };
    let array = match spec_of(device, Bytes::gib(1))?.model {
        Model::Array(array) => array,
        media => Array { stages: Vec::new(), media: Box::new(media) },
    };
    let members = match device.figure("members") {
        Some(DeviceFigure::Count(members)) => members as f64,
        _ => 1.0,
    };
    let at_disks = if matches!(*array.media, Model::Disk(_)) { REORDERED } else { 1.0 };
    let told = |phase: &Phase| {
        let open = || phase.specs.iter().enumerate().filter(|(_, spec)| spec.connections > 0);
        if !open().all(|(_, spec)| spec.pattern == Pattern::Random) && at_disks > 1.0 {
            // What lies in a row costs a disk next to nothing.
            return None;
        }
        let flows: Vec<Flow> = open().flat_map(|(index, spec)| flows(spec, size(index), members)).collect();
        let asked: f64 = members * flows.iter().map(|flow| flow.rate).sum::<f64>();
        let means = array.means(&flows, true);
        let (what, used) = means.limit().filter(|(_, used)| *used > at_disks)?;
        Some(format!(
            "phase {}: its open loads ask for {asked:.0} IOPS, {:.0} % of what the {what} can do: its queue grows as long \
             as they last",
            phase.name,
            100.0 * used,
        ))
    };
    Ok(plan.phases.iter().filter_map(told).collect())
}

/// What an open load asks of each of so many devices that share it.
fn flows(spec: &Spec, volume: Bytes, members: f64) -> Vec<Flow> {
    let Arrival::Open { rate, .. } = spec.arrival else { return Vec::new() };
    let sizes = spec.blocks.shares();
    let weights: f64 = sizes.iter().map(|share| f64::from(share.weight)).sum();
    let spread = Some(spec.range.size.unwrap_or(volume));
    let reads = f64::from(spec.read_percent) / 100.0;
    let of = |(kind, part): (OpKind, f64)| {
        sizes.iter().map(move |share| Flow {
            kind,
            len: share.size,
            rate: rate.0 as f64 * part * f64::from(share.weight) / weights / members,
            outstanding: f64::INFINITY,
            spread,
        })
    };
    [(OpKind::Read, reads), (OpKind::Write, 1.0 - reads)]
        .into_iter()
        .filter(|(_, part)| *part > 0.0)
        .flat_map(of)
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(load: &str, device: &str) -> Vec<String> {
        let text = format!(
            "title = \"t\"\n[server]\nsvm = \"s\"\n[[volume]]\nname = \"v\"\nlun = \"l\"\nsize = \"1GiB\"\n[[workload]]\n\
             name = \"w\"\nlun = \"/vol/v/l\"\npattern = \"random\"\nblock = \"4k\"\n{load}\n[[phase]]\nname = \"p\"\n[device]\n{device}\n"
        );
        loads(&Plan::read(&text, "t.toml").expect("a plan")).expect("a device")
    }

    const TEN_THOUSAND: &str = "kind = \"parallel-servers\"\nservers = 10\nservice = \"1ms\"";

    #[test]
    fn what_is_asked_beyond_capacity_is_told_with_its_part() {
        let said = told("rate = 12300", TEN_THOUSAND);
        assert!(said.len() == 1 && said[0].contains("ask for 12300 IOPS, 123 % of what the"), "{said:?}");
        let writes = "kind = \"array\"\n[[device.stage]]\nkind = \"raid\"\nlevel = \"5\"\nmembers = 5\n[[device.stage]]\n\
                      kind = \"parallel-servers\"\nservers = 1\nservice = \"1ms\"";
        // Four operations on five members that do 1000 each: 1250 writes a second are all.
        let said = told("rate = 2500\nread_percent = 0", writes);
        assert!(said.len() == 1 && said[0].contains("200 %"), "{said:?}");
    }

    #[test]
    fn what_fits_is_not_told_nor_what_waits_for_answers() {
        assert_eq!(told("rate = 9900", TEN_THOUSAND), [""; 0]);
        assert_eq!(told("rate = 12300", &format!("{TEN_THOUSAND}\nmembers = 2")), [""; 0]);
        assert_eq!(told("depth = 4096", TEN_THOUSAND), [""; 0]);
    }
}
