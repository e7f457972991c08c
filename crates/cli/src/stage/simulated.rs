//! The same plan in virtual time: the same streams, commands, gate and recorder, over a simulated device.

use super::modelled::{Model, Modelled};
use super::{connections, registry_settings, seen, set_up, silent};
use anyhow::Result;
use block::{Driver as _, Span, Time};
use engine::{Lane, Managed, NoMemory, Second, Stage, StageError, Worker};
use server::{Accounts, trace_of};
use workload::plan::Volume;
use workload::{Plan, Spec, Stream};

/// The simulator.
pub struct Simulated {
    server: Model,
    worker: Worker,
}

impl Simulated {
    /// Makes the plan's volumes over the plan's device.
    ///
    /// # Errors
    /// The plan names no device, or one that cannot be.
    pub fn start(plan: &Plan) -> Result<Simulated> {
        let size_of = |volume: &Volume| volume.size.map_or(0, |size| size.0);
        let size = plan.volumes.iter().map(size_of).max().unwrap_or(0);
        let of = Modelled { device: plan.device.as_ref(), file: &plan.file, size, seed: plan.seed };
        let lines = set_up(plan, &plan.volumes);
        let mut server = Model::start(&of, registry_settings(plan), &lines, Accounts::recording())?;
        for volume in &plan.volumes {
            // All of it, as after a fill.
            server.uses(server.lun(&plan.svm, &volume.path())?, size_of(volume));
        }
        let worker = clients(plan, &server)?;
        Ok(Simulated { server, worker })
    }
}

/// The clients of all workloads, silent for now.
fn clients(plan: &Plan, server: &Model) -> Result<Worker> {
    let mut lanes = Vec::new();
    for ((workload, load), count) in plan.workloads.iter().enumerate().zip(connections(plan)) {
        let volume = &plan.volumes[load.volume];
        let object = server.lun(&plan.svm, &volume.path())?;
        for lane in 0..count {
            let spec = Spec { seed: load.spec.seed ^ (workload as u64) << 48, ..silent(&load.spec) };
            lanes.push(Lane {
                workload,
                object,
                stream: Stream::new(&spec, volume.size.unwrap_or_default(), lane, server.clock.now())?,
                target: Box::new(server.hub.socket()),
                memory: Box::new(NoMemory),
            });
        }
    }
    Ok(Worker::new(plan.workloads.len(), lanes))
}

impl Stage for Simulated {
    fn managed(&mut self) -> Option<&mut dyn Managed> {
        Some(&mut self.server)
    }

    fn reshape(&mut self, workload: usize, spec: &Spec) -> Result<(), StageError> {
        self.worker.reshape(self.server.clock.now(), workload, spec);
        Ok(())
    }

    fn run(&mut self, until: Time) -> Result<Second, StageError> {
        self.worker.run(&mut self.server.clock, until);
        let now = self.server.clock.now();
        let (mut said, mut groups) = (Vec::new(), Vec::new());
        let (counted, gate) = self.server.hub.with(|gated| {
            gated.gate.account(now, &mut said);
            gated.gate.groups(now, &mut groups);
            (gated.accounts.take(), gated.gate.status())
        });
        let mut objects = seen::objects(&self.server.administration, counted, &said);
        objects.extend(groups.iter().map(|g| seen::group(&self.server.administration, g.group, trace_of(&g.passed))));
        let advice = admin::advice(&gate).unwrap_or_default();
        Ok(Second { workloads: self.worker.collect(), objects, advice, ..Second::default() })
    }

    fn now(&self) -> Time {
        self.server.clock.now()
    }
}

/// The mean time of one request of the plan's first workload in the idle device, by which a queue is told: measured over
/// a second of virtual time with one request at a time, in a simulation of its own, so that the run finds its device new.
///
/// # Errors
/// The plan cannot be simulated.
pub fn idle_service(plan: &Plan) -> Result<Span> {
    let alone = plan.workloads.first().map(|load| Spec {
        connections: 1,
        arrival: workload::Arrival::Closed { depth: 1 },
        pace: None,
        requests: None,
        ..load.spec.clone()
    });
    let Some(alone) = alone else { return Ok(Span::ZERO) };
    // A workload that is silent at first has lanes for later; one is enough here.
    let mut quiet = plan.clone();
    quiet.workloads[0].spec = alone.clone();
    let mut stage = Simulated::start(&quiet)?;
    stage.reshape(0, &alone)?;
    let second = stage.run(Time::ZERO + Span::SECOND)?;
    let device = second.objects.iter().filter(|object| object.device.count() > 0);
    let (sum, count) =
        device.fold((Span::ZERO, 0), |(sum, count), seen| (sum + seen.device.sum(), count + seen.device.count()));
    Ok(sum / count.max(1))
}
