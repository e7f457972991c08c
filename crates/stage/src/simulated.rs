//! A plan in virtual time: the same streams, commands, gate and recorder as in a real run, over a
//! simulated device.

use crate::linked::Link;
use crate::modelled::{Gated, Modelled, ServerModel};
use crate::rehearsal::filled;
use crate::{alone, first_there, link_settings, registry_settings, seen, set_up, silent};
use anyhow::Result;
use block::{Actor, Driver as _, ObjectId, Span, Time, Wait, drive};
use engine::{Lane, LinkWaits, Managed, NoMemory, Second, Socket, Stage, StageError, Worker};
use server::{Accounts, trace_of};
use std::collections::HashSet;
use storage::LossCounts;
use workload::plan::Volume;
use workload::{Plan, Spec, Stream};

/// The simulator.
pub struct Simulated {
    plan: Plan,
    server: ServerModel,
    worker: Worker,
    link: Link,
    /// How often connections had begun to wait for it when last asked.
    link_waits: LinkWaits,
    /// When the last second ended.
    last: Time,
    /// The workloads whose storage is made by a phase and has not been used yet.
    late: HashSet<usize>,
    /// Whether to end at once.
    stop: Box<dyn Fn() -> bool>,
}

impl Simulated {
    /// Makes the plan's volumes over the plan's device.
    ///
    /// # Errors
    /// The plan names no device, or an impossible one.
    pub fn start(plan: &Plan) -> Result<Simulated> {
        let size_of = |volume: &Volume| volume.size.map_or(0, |size| size.0);
        let size = plan.volumes.iter().map(size_of).max().unwrap_or(0);
        let luns = plan.volumes.len() as u32;
        let of = Modelled {
            device: plan.device.as_ref(),
            file: &plan.file,
            size,
            luns,
            seed: plan.seed,
            cache: plan.settings.cache,
            second_level: plan.settings.second_level,
            processors: plan.settings.processors,
        };
        let lines = set_up(plan, &plan.volumes);
        let mut server = ServerModel::start(&of, registry_settings(plan), &lines, Accounts::recording())?;
        for (index, volume) in plan.volumes.iter().enumerate().filter(|(_, volume)| volume.clone_of.is_none()) {
            server.uses(server.lun(&plan.svm, &volume.path())?, filled(plan, index, volume));
        }
        let workloads = || 0..plan.workloads.len();
        let late: HashSet<usize> = workloads().filter(|workload| plan.is_late(*workload)).collect();
        let early = workloads().filter(|workload| !late.contains(workload));
        let link = Link::new(link_settings(plan));
        let lanes = early.map(|workload| clients(plan, &server, &link, workload)).collect::<Result<Vec<_>>>()?;
        let worker = Worker::new(plan.workloads.len(), lanes.into_iter().flatten().collect());
        Ok(Simulated {
            plan: plan.clone(),
            server,
            worker,
            link,
            link_waits: LinkWaits::default(),
            last: Time::ZERO,
            late,
            stop: Box::new(|| false),
        })
    }

    /// Ends a second early once `stop`, which is asked at every instant, says so: a second of a
    /// device of nanoseconds takes minutes.
    #[must_use]
    pub fn stopped_by(self, stop: impl Fn() -> bool + 'static) -> Simulated {
        Simulated { stop: Box::new(stop), ..self }
    }

    /// A socket to the server, for clients that are none of the plan's workloads.
    pub fn socket(&self) -> Socket<Gated> {
        self.server.hub.socket()
    }

    /// The number of a volume's LUN, as requests name it.
    ///
    /// # Errors
    /// There is no such LUN.
    pub fn lun(&self, volume: &Volume) -> Result<ObjectId> {
        self.server.lun(&self.plan.svm, &volume.path())
    }

    /// Runs `others`, which have sockets of their own, beside the workloads until then.
    pub fn run_beside(&mut self, others: &mut dyn Actor, until: Time) {
        self.drive(&mut [others], until);
    }

    fn drive(&mut self, others: &mut [&mut dyn Actor], until: Time) {
        let stop = &self.stop;
        let look = |now, _: &mut [_]| if now >= until || stop() { Wait::End } else { Wait::Until(until) };
        let mut actors: Vec<&mut dyn Actor> = vec![&mut self.worker];
        actors.extend(others.iter_mut().map(|other| &mut **other as &mut dyn Actor));
        drive(&mut self.server.clock, &mut actors, look);
    }
}

/// The clients of a workload, silent for now.
fn clients(plan: &Plan, server: &ServerModel, link: &Link, workload: usize) -> Result<Vec<Lane>> {
    let load = &plan.workloads[workload];
    let lane = |lane: u32| {
        let volume = &plan.volumes[load.volume_of(lane)];
        let spec = Spec { seed: plan.seed_of(workload), ..silent(&load.spec) };
        Ok(Lane {
            workload,
            object: server.lun(&plan.svm, &volume.path())?,
            stream: Stream::new(&spec, volume.size.unwrap_or_default(), lane, server.clock.now())?,
            target: Box::new(link.connect(Box::new(server.hub.socket()))),
            memory: Box::new(NoMemory),
            losses: LossCounts::default(),
        })
    };
    (0..plan.connections(workload)).map(lane).collect()
}

impl Stage for Simulated {
    fn managed(&mut self) -> Option<&mut dyn Managed> {
        Some(&mut self.server)
    }

    fn reshape(&mut self, workload: usize, spec: &Spec) -> Result<(), StageError> {
        if spec.connections > 0 && self.late.remove(&workload) {
            let lanes = clients(&self.plan, &self.server, &self.link, workload)
                .map_err(|error| StageError(format!("{error:#}")))?;
            self.worker.add(lanes);
        }
        self.worker.reshape(self.server.clock.now(), workload, spec);
        Ok(())
    }

    fn run(&mut self, until: Time) -> Result<Second, StageError> {
        self.drive(&mut [], until);
        let now = self.server.clock.now();
        let (mut said, mut groups) = (Vec::new(), Vec::new());
        let (counted, gate) = self.server.hub.with(|gated| {
            gated.gate.account(now, &mut said);
            gated.gate.groups(now, &mut groups);
            (gated.accounts.take(), gated.gate.status())
        });
        let mut objects = seen::objects(&self.server.administration, counted, &said, &self.server.take_asked());
        objects.extend(groups.iter().map(|g| seen::group(&self.server.administration, g.group, trace_of(&g.passed))));
        let advice = admin::advice(&gate).unwrap_or_default();
        let link = self.link.waits(now).since(&mut self.link_waits);
        let server_busy = self.server.take_busy(now.since(std::mem::replace(&mut self.last, now)));
        Ok(Second { workloads: self.worker.collect(), objects, advice, link, server_busy, ..Second::default() })
    }

    fn now(&self) -> Time {
        self.server.clock.now()
    }
}

/// The mean time of one request in the idle device, by which a queue is recognised: of the first
/// workload whose storage exists before any phase, zero if there is none. Measured over a second of
/// virtual time with one request at a time, in a simulation of its own, so that the run finds its
/// device new.
///
/// # Errors
/// The plan cannot be simulated.
pub fn idle_service(plan: &Plan, stop: impl Fn() -> bool + 'static) -> Result<Span> {
    let Some(first) = first_there(plan) else { return Ok(Span::ZERO) };
    let alone = alone(&plan.workloads[first].spec);
    // A workload that is silent at first has lanes for later; one is enough here.
    let mut quiet = plan.clone();
    quiet.workloads[first].spec = alone.clone();
    let mut stage = Simulated::start(&quiet)?.stopped_by(stop);
    stage.reshape(first, &alone)?;
    Ok(stage.run(Time::ZERO + Span::SECOND)?.device().mean())
}

#[cfg(test)]
mod tests {
    use super::*;
    use block::Bytes;
    use std::cell::Cell;

    /// A stop ends a second early: 8 requests of 1 µs at a time are 8 million instants.
    #[test]
    fn a_stop_is_heard_within_a_second() {
        let text = "title = \"t\"\n[server]\nsvm = \"s\"\n[[volume]]\nname = \"a\"\n[[workload]]\nname = \"w\"\n\
            volume = \"a\"\ndepth = 8\n[[phase]]\nname = \"p\"\n[device]\nkind = \"parallel-servers\"\n\
            servers = 8\nservice = \"1us\"\n";
        let plan = Plan::read(text, "p.toml").and_then(|plan| plan.sized(Bytes::mib(64)));
        let plan = plan.unwrap_or_else(|errors| panic!("{errors}"));
        let asked = Cell::new(0);
        let stop = move || asked.replace(asked.get() + 1) >= 1000;
        let mut stage = Simulated::start(&plan).expect("the plan is right").stopped_by(stop);
        stage.reshape(0, &plan.phases[0].specs[0]).expect("a simulation takes any shape");
        stage.run(Time::ZERO + Span::SECOND).expect("a simulation runs");
        let ended = stage.now();
        assert!(ended > Time::ZERO && ended < Time::ZERO + Span::from_millis(10), "{ended:?}");
    }
}
