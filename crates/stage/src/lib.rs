//! What plays a plan: the real server with its clients, or the simulator. Both make the plan's
//! volumes with the same administrators' commands.

pub mod beyond;
mod cached;
pub mod clones;
pub mod device;
mod linked;
pub mod modelled;
mod places;
mod processors;
pub mod real;
mod rehearsal;
mod seen;
pub mod served;
pub mod simulated;

pub use places::{Elsewhere, Places, check_forms};
pub use rehearsal::{Rehearsal, Rehearsed, rehearse};

use qos::{CreditLimit, RegistrySettings};
use server::LinkSettings;
use workload::plan::{Burst, Peak, PlanLink, PlanNesting, PlanUnits, Volume};
use workload::{Arrival, Plan, Spec};

/// The registry settings that a plan asks for.
pub fn registry_settings(plan: &Plan) -> RegistrySettings {
    let said = &plan.settings;
    RegistrySettings {
        units: match said.units {
            PlanUnits::Decimal => qos::Units::Decimal,
            PlanUnits::Binary => qos::Units::Binary,
        },
        nesting: match said.nesting {
            PlanNesting::Ontap => qos::Nesting::Ontap,
            PlanNesting::Free => qos::Nesting::Free,
        },
        burst: match said.burst {
            Burst::None => qos::DefaultBurst::None,
            Burst::Ontap => qos::DefaultBurst::Ontap,
        },
        peak: match said.peak {
            Peak::Ceiling => qos::PeakMode::Ceiling,
            Peak::Credits => qos::PeakMode::Credits,
        },
        ..RegistrySettings::default()
    }
}

/// The limits of connections to a plan's server.
pub fn link_settings(plan: &Plan) -> LinkSettings {
    let PlanLink { flow, network, burst, credit } = plan.settings.link;
    let whole = network.map(|base| CreditLimit { base: base.0, peak: burst.unwrap_or(base).0, credit: credit.0 });
    LinkSettings { flow, whole }
}

/// The commands that make a plan's SVM and these of its volumes, with their LUNs; clones are made
/// by the plan's own commands. Sizes are plain bytes, so that no unit can be misread.
pub fn set_up<'p>(plan: &Plan, volumes: impl IntoIterator<Item = &'p Volume>) -> Vec<String> {
    let svm = &plan.svm;
    let mut lines = vec![format!("vserver create -vserver {svm}")];
    if plan.settings.fair {
        lines.push("qos fairness modify -enable true".into());
    }
    for volume in volumes.into_iter().filter(|volume| volume.clone_of.is_none()) {
        let (name, size) = (&volume.name, volume.size.map_or(0, |size| size.0));
        lines.push(format!("volume create -vserver {svm} -volume {name} -size {size}"));
        lines.push(format!("lun create -vserver {svm} -path {} -size {size}", volume.path()));
    }
    lines
}

/// The path of a volume's LUN as the server names it: `svm01:/vol/vol1/lun1`.
pub fn path(plan: &Plan, volume: &Volume) -> String {
    format!("{}:{}", plan.svm, volume.path())
}

/// The same load without connections.
pub fn silent(spec: &Spec) -> Spec {
    Spec { connections: 0, ..spec.clone() }
}

/// The same load with one request at a time, so that each finds the device idle.
pub fn alone(spec: &Spec) -> Spec {
    Spec { connections: 1, arrival: Arrival::Closed { depth: 1 }, pace: None, requests: None, ..spec.clone() }
}

/// The first workload whose storage exists before any phase.
pub fn first_there(plan: &Plan) -> Option<usize> {
    (0..plan.workloads.len()).find(|workload| !plan.is_late(*workload))
}

/// The bytes that a run may take of the pool's file system: what is written before it, and what
/// loads write to clones.
pub fn space_needed(plan: &Plan) -> u64 {
    let served = plan.volumes.iter().enumerate().filter(|(_, volume)| volume.is_served());
    let takes = |(index, volume): (usize, &Volume)| match volume {
        Volume { clone_of: Some(_), .. } if !plan.writes(index) => 0,
        Volume { clone_of: None, thin: false, size, .. } => size.unwrap_or_default().0,
        _ => plan.used(index).size.unwrap_or_default().0,
    };
    served.map(takes).sum()
}
