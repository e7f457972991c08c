//! Open loads that asked for more than a simulated device did. That they did is seen in the run;
//! what of the device was used up is told by its means where they say so.
//!
//! ```text
//!   plan ──► means of each phase ──┐
//!   run ──► phases that fell behind ──► "its open loads ask for 275000 IOPS, 110 % of what the …"
//! ```

use crate::device::spec_of;
use anyhow::Result;
use array::{Array, DISKS, Flow, IN_PLACE, Model};
use block::{Bytes, OpKind};
use stats::{HeldBy, Interval, Recording, Tally, WorkloadRecord};
use workload::plan::{DeviceFigure, Phase};
use workload::{Arrival, Plan, Spec};

/// The part of the load that must get through: a little less may be the search's own error.
const NEARLY_ALL: f64 = 0.99;

/// Seconds in the quarter of a phase from which on a queue that grows is told from one that wavers.
const QUARTER_LEAST: usize = 3;

/// What the open loads of a phase ask of the plan's device.
#[derive(Clone, Debug, PartialEq)]
pub struct Asked {
    /// Requests a second, together.
    iops: f64,
    /// What they use up by the device's means, in words that follow "they ask for so much"; `None`
    /// if nothing, or if means do not say.
    beyond: Option<String>,
}

/// What each phase's open loads ask of the plan's device.
///
/// # Errors
/// The device is impossible.
pub fn asked(plan: &Plan) -> Result<Vec<Asked>> {
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
    let of = |phase: &Phase| {
        let open = || phase.specs.iter().enumerate().filter(|(_, spec)| spec.connections > 0);
        let flows: Vec<Flow> = open().flat_map(|(index, spec)| flows(spec, size(index), members)).collect();
        let iops = members * flows.iter().map(|flow| flow.rate).sum::<f64>();
        Asked { iops, beyond: beyond(&array, &flows, plan.length(phase).as_secs_f64()) }
    };
    Ok(plan.phases.iter().map(of).collect())
}

/// A line for each phase whose open loads fell behind in the device.
pub fn notes(plan: &Plan, asked: &[Asked], recording: &Recording) -> Vec<String> {
    let told = |(index, (phase, Asked { iops, beyond })): (usize, (&Phase, &Asked))| {
        let ran = recording.phases.get(index)?;
        let open = phase.specs.iter().zip(&recording.workloads).filter(|(spec, _)| is_open(spec));
        let loads: Vec<(&WorkloadRecord, &Tally)> =
            open.filter_map(|(_, record)| Some((record, record.tallies.get(index)?))).collect();
        let is_behind = |(record, tally): &(&WorkloadRecord, &Tally)| {
            let of_phase = |second: &&Interval| (ran.start..ran.end).contains(&second.start);
            let seconds: Vec<&Interval> = record.intervals.iter().filter(of_phase).collect();
            fell_behind(tally, &seconds) && !is_held_elsewhere(&seconds, beyond.is_some())
        };
        let got: f64 = loads.iter().map(|(_, tally)| tally.iops()).sum();
        loads.iter().any(is_behind).then(|| match beyond {
            Some(beyond) => format!("phase {}: its open loads ask for {iops:.0} IOPS, {beyond}", phase.name),
            None => format!(
                "phase {}: its open loads ask for {iops:.0} IOPS, and the device did {got:.0}: its queue grows as long as \
                 they last",
                phase.name
            ),
        })
    };
    plan.phases.iter().zip(asked).enumerate().filter_map(told).collect()
}

fn is_open(spec: &Spec) -> bool {
    spec.connections > 0 && matches!(spec.arrival, Arrival::Open { .. })
}

/// Whether requests were left over at the end of a phase, or more waited from one quarter of it to
/// the next.
fn fell_behind(tally: &Tally, seconds: &[&Interval]) -> bool {
    let quarter = seconds.len() / 4;
    let mean = |number: usize| {
        let of = &seconds[seconds.len() - (4 - number) * quarter..][..quarter];
        of.iter().map(|second| f64::from(second.outstanding.unwrap_or(0))).sum::<f64>() / quarter as f64
    };
    let grows = || {
        let means = [0, 1, 2, 3].map(mean);
        // A queue that grows evenly has seven times as much in the last quarter as in the first.
        means.is_sorted() && means[3] > 2.0 * means[0]
    };
    tally.never_sent.is_some_and(|requests| requests > 0) || quarter >= QUARTER_LEAST && grows()
}

/// Whether something before the device held a workload back in most of these seconds. For floors of
/// others it waits where the device has no more, if that is known to be `used_up`.
fn is_held_elsewhere(seconds: &[&Interval], used_up: bool) -> bool {
    let by = |second: &&&Interval| match second.held_by {
        HeldBy::Floors => !used_up,
        HeldBy::Nothing | HeldBy::Disk | HeldBy::Depth | HeldBy::Pace => false,
        _ => true,
    };
    2 * seconds.iter().filter(by).count() > seconds.len()
}

/// What these flows use up within so many seconds, in words that follow "they ask for so much";
/// `None` if nothing. Of disks that is not known, as they do more by choosing which request to
/// serve next, nor of logs that join neighbours.
fn beyond(array: &Array, flows: &[Flow], seconds: f64) -> Option<String> {
    let means = array.means(flows, true);
    let is_known = |name: &str| !name.ends_with(DISKS) && !name.ends_with(IN_PLACE);
    let over = means.used.iter().filter(|(name, used)| is_known(name) && *used > 1.0);
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
    use crate::simulated::Simulated;
    use block::Span;
    use engine::{Conductor, RunWatcher};

    fn plan(load: &str, device: &str) -> Plan {
        let pattern = if load.contains("pattern") { "" } else { "pattern = \"random\"\n" };
        let text = format!(
            "title = \"t\"\n[server]\nsvm = \"s\"\n[[volume]]\nname = \"v\"\nlun = \"l\"\nsize = \"1GiB\"\n[[workload]]\n\
             name = \"w\"\nlun = \"/vol/v/l\"\n{pattern}block = \"4k\"\n{load}\n[[phase]]\nname = \"p\"\n[device]\n{device}\n"
        );
        Plan::read(&text, "t.toml").expect("a plan")
    }

    /// What its means say.
    fn told(load: &str, device: &str) -> Vec<String> {
        let asked = asked(&plan(load, device)).expect("a device");
        asked.into_iter().filter_map(|Asked { iops, beyond }| Some(format!("{iops:.0} IOPS, {}", beyond?))).collect()
    }

    const TEN_THOUSAND: &str = "kind = \"parallel-servers\"\nservers = 10\nservice = \"1ms\"";

    #[test]
    fn what_is_asked_beyond_capacity_is_told_with_its_part() {
        let said = told("rate = 12300", TEN_THOUSAND);
        assert!(said.len() == 1 && said[0].contains("12300 IOPS, 123 % of what the"), "{said:?}");
        let writes = "kind = \"array\"\n[[device.stage]]\nkind = \"raid\"\nlevel = \"5\"\nmembers = 5\n[[device.stage]]\n\
                      kind = \"parallel-servers\"\nservers = 1\nservice = \"1ms\"";
        // Four operations on five members that do 1000 each: 1250 writes a second are all.
        let said = told("rate = 2500\nread_percent = 0", writes);
        assert!(said.len() == 1 && said[0].contains("200 %"), "{said:?}");
    }

    /// What is in front of disks is known, and what they do by choosing their order is not.
    #[test]
    fn each_resource_is_told_but_disks() {
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
        assert_eq!(told("rate = 3000", &fast), [""; 0]);
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

    struct Nobody;

    impl RunWatcher for Nobody {
        fn second(&mut self, _: &stats::run::Run, _: usize, _: Span, _: Span) -> bool {
            true
        }
    }

    /// What is noted of 20 seconds of a load in virtual time.
    fn noted(load: &str, device: &str) -> Vec<String> {
        let mut plan = plan(load, device);
        plan.phase_length = Span::from_secs(20);
        let (mut stage, mut nobody) = (Simulated::start(&plan).expect("a stage"), Nobody);
        let place = stats::run::RunPlace { name: "s:/vol/v/l".into(), kind: "volume".into(), size: None };
        let conductor = Conductor::new(&plan, &mut stage, &mut nobody, vec![place], Span::from_millis(1));
        let (run, played) = conductor.play(vec![Vec::new()], stats::run::Run::default());
        played.expect("it is played");
        notes(&plan, &asked(&plan).expect("a device"), &run.recording())
    }

    /// One request at a time a disk does some 80 a second, and with many to choose from 200: that
    /// carries 150. A log before it makes its writes sequential.
    #[test]
    fn what_the_device_carries_is_not_noted() {
        let disk = "kind = \"disk\"";
        assert_eq!(noted("rate = 150\nspacing = \"poisson\"", disk), [""; 0]);
        let log = "kind = \"array\"\n[[device.stage]]\nkind = \"write-log\"\nanywhere = true\n[[device.stage]]\n\
                   kind = \"disk\"";
        assert_eq!(noted("rate = 200\nread_percent = 0", log), [""; 0]);
        let said = noted("rate = 1000", disk);
        assert!(said.len() == 1 && said[0].contains("ask for 1000 IOPS, and the device did "), "{said:?}");
    }

    /// A device at a quarter of its 10 000 does not carry 5000.
    #[test]
    fn what_falls_behind_is_noted_whatever_the_device_can_do() {
        assert_eq!(noted("rate = 5000", TEN_THOUSAND), [""; 0]);
        let slow = format!("{TEN_THOUSAND}\nchanges = [{{ at = \"0s\", percent = 25 }}]");
        let said = noted("rate = 5000", &slow);
        assert!(said.len() == 1 && said[0].contains("5000 IOPS, and the device did 2500: its queue grows"), "{said:?}");
        let said = noted("rate = 12300", TEN_THOUSAND);
        assert!(said.len() == 1 && said[0].contains("123 % of what the"), "{said:?}");
    }
}
