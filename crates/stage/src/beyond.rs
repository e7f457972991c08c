//! Open loads that ask for more than a simulated device can do, reported before they are played.

use crate::device::spec_of;
use anyhow::Result;
use array::{Array, DISKS, Flow, IN_PLACE, Model};
use block::{Bytes, OpKind};
use workload::plan::{DeviceFigure, Phase};
use workload::{Arrival, Pattern, Plan, Spec};

/// How many times its mean rate for single requests a disk may do by reordering them.
const REORDERED: f64 = 2.0;
/// The part of the load that must get through: a little less may be the search's own error.
const NEARLY_ALL: f64 = 0.99;

/// A line for each phase whose open loads alone use more of the plan's device than there is.
///
/// # Errors
/// The device is impossible.
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
    let told = |phase: &Phase| {
        let open = || phase.specs.iter().enumerate().filter(|(_, spec)| spec.connections > 0);
        let flows: Vec<Flow> = open().flat_map(|(index, spec)| flows(spec, size(index), members)).collect();
        let asked: f64 = members * flows.iter().map(|flow| flow.rate).sum::<f64>();
        // Sequential requests cost a disk next to nothing.
        let scattered = open().all(|(_, spec)| spec.pattern == Pattern::Random);
        let beyond = beyond(&array, &flows, scattered, plan.length(phase).as_secs_f64())?;
        Some(format!("phase {}: its open loads ask for {asked:.0} IOPS, {beyond}", phase.name))
    };
    Ok(plan.phases.iter().filter_map(told).collect())
}

/// What these flows use up within so many seconds, in words that follow "they ask for so much";
/// `None` if nothing.
fn beyond(array: &Array, flows: &[Flow], scattered: bool, seconds: f64) -> Option<String> {
    let means = array.means(flows, true);
    let most = |name: &str| match (name.ends_with(DISKS), scattered) {
        (true, true) => REORDERED,
        (true, false) => f64::INFINITY,
        (false, false) if name.ends_with(IN_PLACE) => f64::INFINITY,
        (false, _) => 1.0,
    };
    let over = means.used.iter().filter(|(name, used)| *used > most(name));
    if let Some((name, used)) = over.max_by(|one, other| one.1.total_cmp(&other.1)) {
        let percent = 100.0 * used;
        return Some(format!("{percent:.0} % of what the {name} can do: its queue grows as long as they last"));
    }
    let lasting = array.means(flows, false);
    for (name, limit) in array.credits() {
        let used = lasting.used.iter().find(|(station, _)| *station == name).map_or(0.0, |(_, used)| *used);
        // What is asked beyond the base is taken from the credit.
        let until = limit.credit as f64 / ((used - 1.0) * limit.base as f64);
        if used > 1.0 && until < seconds {
            let percent = 100.0 * used;
            return Some(format!(
                "{percent:.0} % of what the {name} can do once their credit has ended, after {until:.0} s: its queue grows from \
                 then on"
            ));
        }
    }
    // Near its capacity a station makes all flows wait, so the adapters are not the cause.
    let near = means.used.iter().any(|(_, used)| *used > NEARLY_ALL);
    let had: f64 = means.flows.iter().map(|mean| mean.rate).sum();
    let asked: f64 = flows.iter().map(|flow| flow.rate).sum();
    (!near && had < NEARLY_ALL * asked).then(|| {
        let percent = 100.0 * asked / had;
        format!("{percent:.0} % of what the hosts' adapters let be outstanding: their queue grows as long as they last")
    })
}

/// The flows that an open load sends to each of so many devices that share it.
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
        let pattern = if load.contains("pattern") { "" } else { "pattern = \"random\"\n" };
        let text = format!(
            "title = \"t\"\n[server]\nsvm = \"s\"\n[[volume]]\nname = \"v\"\nlun = \"l\"\nsize = \"1GiB\"\n[[workload]]\n\
             name = \"w\"\nlun = \"/vol/v/l\"\n{pattern}block = \"4k\"\n{load}\n[[phase]]\nname = \"p\"\n[device]\n{device}\n"
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

    /// What is in front of a disk has no order to choose; a disk has.
    #[test]
    fn each_resource_is_told_and_not_the_disks_alone() {
        let stages = |first: &str| {
            format!(
                "kind = \"array\"\n[[device.stage]]\n{first}\n[[device.stage]]\nkind = \"raid\"\nlevel = \"dp\"\nmembers = 12\n\
                 [[device.stage]]\nkind = \"disk\""
            )
        };
        let link = stages("kind = \"link\"\nbandwidth = 1000000");
        let said = told("rate = 300", &link);
        assert!(said.len() == 1 && said[0].contains("123 % of what the link up can do"), "{said:?}");
        let said = told("rate = 300\npattern = \"sequential\"", &link);
        assert!(said.len() == 1 && said[0].contains("link up"), "{said:?}");
        let fast = stages("kind = \"link\"\nbandwidth = 1000000000");
        let said = told("rate = 3000", &fast);
        assert!(said.len() == 1 && said[0].contains(" disks can do"), "{said:?}");
        assert_eq!(told("rate = 500", &fast), [""; 0]);
        let hba = "kind = \"array\"\n[[device.stage]]\nkind = \"hba\"\nqueue = 4\n[[device.stage]]\nkind = \"parallel-servers\"\n\
                   servers = 100\nservice = \"1ms\"";
        let said = told("rate = 8000", hba);
        assert!(said.len() == 1 && said[0].contains("200 % of what the hosts' adapters"), "{said:?}");
        assert_eq!(told("rate = 3900", hba), [""; 0]);
    }

    /// 2000 a second on a base of 1000 and a credit of 5000: five seconds of the phase's eight.
    #[test]
    fn credit_that_ends_is_told_with_its_time() {
        let volume = |credit: u64| {
            format!(
                "kind = \"cloud-volume\"\niops = 1000\niops_peak = 3000\niops_credit = {credit}\nbytes = 1000000000"
            )
        };
        let said = told("rate = 2000", &volume(5000));
        let words = "200 % of what the volume, operations can do once their credit has ended, after 5 s";
        assert!(said.len() == 1 && said[0].contains(words), "{said:?}");
        assert_eq!(told("rate = 2000", &volume(9000)), [""; 0]);
    }

    #[test]
    fn what_fits_is_not_told_nor_what_waits_for_answers() {
        assert_eq!(told("rate = 9900", TEN_THOUSAND), [""; 0]);
        assert_eq!(told("rate = 12300", &format!("{TEN_THOUSAND}\nmembers = 2")), [""; 0]);
        assert_eq!(told("depth = 4096", TEN_THOUSAND), [""; 0]);
    }
}
