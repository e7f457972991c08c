//! Turns the reads of a kept run of a plan into a trace.

use super::Asked;
use crate::demand;
use anyhow::{Context as _, Result, bail};
use block::{Bytes, Time};
use fio::trace::{Action, Event, Trace};
use stats::run::Run;
use std::path::Path;
use workload::plan::{HostsPlan, Plan};

/// Maximum number of reads that are examined: 1 GiB of events. Of a longer run, only the beginning
/// is used.
const EVENTS_MAX: usize = 1 << 25;

/// The reads of run `run` of the results database at `path`, generated again.
///
/// # Errors
/// There is no such run, or its requests cannot be generated again from a plan; one line.
pub fn asked(path: &Path, run: Option<&str>) -> Result<Asked> {
    let (number, run) = demand::kept(path, run)?;
    let named = format!("--recording {}, run {number}", path.display());
    let plan = plan_of(&run).with_context(|| named.clone())?;
    let files = plan.volumes.iter().map(|volume| volume.name.clone()).collect();
    let mut trace = Trace { files, events: Vec::new() };
    let mut all = true;
    plan.read_again(&run, &mut |read| {
        all = trace.events.len() < EVENTS_MAX;
        if all {
            trace.events.push(Event {
                due: Time::ZERO + read.due,
                file: read.volume as u32,
                action: Action::Read,
                at: read.at,
                len: read.len as u32,
            });
        }
        all
    })
    .with_context(|| named.clone())?;
    let end = if all { "" } else { " (its beginning)" };
    Ok(Asked { about: format!("Run {number}{end}, {}", run.identity.title), named, trace })
}

/// The plan of a run, with the sizes of its volumes.
fn plan_of(run: &Run) -> Result<Plan> {
    let identity = &run.identity;
    let is_plans = ["run", "simulate", "demo"].contains(&identity.tool.as_str());
    if !is_plans || identity.text.is_empty() || HostsPlan::is_meant(&identity.text) {
        bail!(
            "only the requests of a plan of workloads can be made again, and it is of {}; record a trace and name it by --trace",
            identity.tool
        );
    }
    let plan = Plan::read(&identity.text, "its plan")?;
    let size = run.places.iter().filter_map(|place| place.size).max().unwrap_or_default();
    Ok(plan.sized(Bytes(size))?)
}
