//! The same plan in virtual time: the same streams, commands, gate and recorder, over a simulated device.

use super::device::spec_of;
use super::{connections, paths, registry_settings, seen, set_up, silent};
use admin::Administration;
use anyhow::{Context as _, Result, bail};
use array::VirtualClock;
use block::{Bytes, Completion, Driver, ObjectId, Request, Span, Submitted, Target, Ticket, Time, Traits, Wakeup};
use engine::{Hub, Lane, NoMemory, Second, Stage, StageError, Worker};
use qos::Gate;
use server::{Accounts, trace_of};
use stats::LimitsInForce;
use std::collections::HashMap;
use workload::{Plan, Spec, Stream};

/// The simulator.
pub struct Simulated {
    clock: VirtualClock,
    hub: Hub<Backend>,
    administration: Administration,
    worker: Worker,
    /// How much of each LUN is used: all of it, as after a fill.
    used: HashMap<ObjectId, u64>,
}

/// The gate around the device, and what passed it.
struct Backend {
    gate: Gate<Box<dyn Target>>,
    accounts: Accounts,
}

impl Simulated {
    /// Makes the plan's volumes over the plan's device.
    ///
    /// # Errors
    /// The plan names no device, or one that cannot be.
    pub fn start(plan: &Plan) -> Result<Simulated> {
        let Some(device) = &plan.device else {
            bail!("{}: has no [device]; say what stands in for the disk in a simulation", plan.file);
        };
        let size: u64 = plan.volumes.iter().map(|volume| volume.size.map_or(0, |size| size.0)).max().unwrap_or(0);
        let device = spec_of(device, Bytes(size))?.build(plan.seed).context("[device]")?;
        let gate = Gate::new(device, qos::Settings::default());
        let hub = Hub::new(Backend { gate, accounts: Accounts::recording() });
        let administration = Administration::new(registry_settings(plan));
        let worker = Worker::new(0, Vec::new());
        let clock = VirtualClock::new();
        let mut stage = Simulated { clock, hub, administration, worker, used: HashMap::new() };
        for line in set_up(plan, &plan.volumes) {
            stage.command(&line).with_context(|| format!("plan: {line}"))?;
        }
        for volume in &plan.volumes {
            let lun = stage.lun(&format!("{}:{}", plan.svm, volume.path()))?;
            stage.used.insert(lun, volume.size.map_or(0, |size| size.0));
        }
        stage.worker = stage.hosts(plan)?;
        Ok(stage)
    }

    /// The LUN at a path as the server writes it.
    fn lun(&self, path: &str) -> Result<ObjectId> {
        let registry = &self.administration.registry;
        let (svm, lun) = path.split_once(':').unwrap_or_default();
        let object = registry.find_svm(svm).and_then(|svm| registry.find_lun(svm, lun));
        object.with_context(|| format!("{path}: no such LUN"))
    }

    fn hosts(&self, plan: &Plan) -> Result<Worker> {
        let (paths, counts) = (paths(plan), connections(plan));
        let mut lanes = Vec::new();
        for (workload, load) in plan.workloads.iter().enumerate() {
            let object = self.lun(&paths[workload])?;
            let size = plan.volumes[load.volume].size.unwrap_or_default();
            for lane in 0..counts[workload] {
                let spec = Spec { seed: load.spec.seed ^ (workload as u64) << 48, ..silent(&load.spec) };
                lanes.push(Lane {
                    workload,
                    object,
                    stream: Stream::new(&spec, size, lane, self.clock.now())?,
                    target: Box::new(self.hub.socket()),
                    memory: Box::new(NoMemory),
                });
            }
        }
        Ok(Worker::new(plan.workloads.len(), lanes))
    }
}

impl Stage for Simulated {
    fn command(&mut self, line: &str) -> Result<String, StageError> {
        let (now, used) = (self.clock.now(), &self.used);
        let used = |lun: ObjectId| used.get(&lun).copied().unwrap_or(0);
        let outcome = self.administration.execute(line, now, &used).map_err(|e| StageError(e.to_string()))?;
        for edit in &outcome.edits {
            let edited = self.hub.with(|backend| backend.gate.edit(now, edit));
            edited.map_err(|error| StageError(error.to_string()))?;
        }
        Ok(outcome.answer.text())
    }

    fn reshape(&mut self, workload: usize, spec: &Spec) -> Result<(), StageError> {
        self.worker.reshape(self.clock.now(), workload, spec);
        Ok(())
    }

    fn run(&mut self, until: Time) -> Result<Second, StageError> {
        self.worker.run(&mut self.clock, until);
        let now = self.clock.now();
        let (mut said, mut groups) = (Vec::new(), Vec::new());
        let (counted, gate) = self.hub.with(|backend| {
            backend.gate.account(now, &mut said);
            backend.gate.groups(now, &mut groups);
            (backend.accounts.take(), backend.gate.status())
        });
        let mut objects = seen::objects(&self.administration, counted, &said);
        objects.extend(groups.iter().map(|g| seen::group(&self.administration, g.group, trace_of(&g.passed))));
        let advice = admin::advice(&gate).unwrap_or_default();
        Ok(Second { workloads: self.worker.collect(), objects, advice, ..Second::default() })
    }

    fn limits(&mut self) -> Vec<(String, LimitsInForce)> {
        self.administration.limits()
    }

    fn used(&mut self) -> Vec<(String, Bytes)> {
        self.administration.used_by_volume(&|lun| self.used.get(&lun).copied().unwrap_or(0))
    }

    fn now(&self) -> Time {
        self.clock.now()
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

impl Target for Backend {
    fn traits(&self) -> Traits {
        self.gate.traits()
    }

    fn submit(&mut self, now: Time, request: Request) -> Submitted {
        self.gate.submit(now, request)
    }

    fn poll(&mut self, now: Time, out: &mut Vec<Completion>) {
        let before = out.len();
        self.gate.poll(now, out);
        out[before..].iter().for_each(|completion| self.accounts.completed(completion));
    }

    fn next_wakeup(&self) -> Wakeup {
        self.gate.next_wakeup()
    }

    fn cancel(&mut self, now: Time, ticket: Ticket) {
        self.gate.cancel(now, ticket);
    }
}
