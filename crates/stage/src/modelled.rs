//! A model of the server in virtual time: its commands and its gate, over a plan's simulated
//! device.

use crate::cached::{Cached, Memory};
use crate::device::built_for;
use crate::processors::{Busy, Processors};
use crate::seen;
use admin::{Administration, CacheSeen};
use anyhow::{Context as _, Result, bail};
use array::VirtualClock;
use block::{Bytes, Completion, Driver as _, ObjectId, Request, Span, Submitted, Target, Ticket, Time, Traits, Wakeup};
use engine::{Hub, Managed, StageError};
use qos::{Gate, RegistrySettings};
use server::Accounts;
use stats::LimitsInForce;
use stats::run::{Hits, PartitionRecord};
use std::collections::{BTreeMap, HashMap};
use workload::plan::{Device, PlanProcessors};

/// A server without sockets and disks.
pub struct ServerModel {
    /// Its time.
    pub clock: VirtualClock,
    /// What clients send their requests to.
    pub hub: Hub<Gated>,
    /// What its commands change.
    pub administration: Administration,
    /// How much of each LUN is used.
    used: HashMap<ObjectId, u64>,
    /// Its cache.
    memory: Option<Memory>,
    /// Its processors.
    busy: Busy,
    /// What the partitions of its cache had done when that was last asked.
    cached: BTreeMap<u32, CacheSeen>,
}

/// The gate around the device, and the accounts of what passed it.
pub struct Gated {
    /// The gate.
    pub gate: Gate<Box<dyn Target>>,
    /// What passed, to be recorded.
    pub accounts: Accounts,
}

/// What a server model is made of: the plan's device and file, the seed, and the size of the
/// largest object on the device.
#[derive(Default)]
pub struct Modelled<'p> {
    /// The device in place of the disk.
    pub device: Option<&'p Device>,
    /// The plan's file, for messages.
    pub file: &'p str,
    /// The size of the largest object in bytes.
    pub size: u64,
    /// How many objects of that size lie on it, each with a place of its own.
    pub luns: u32,
    /// The seed of its random choices.
    pub seed: u64,
    /// The size of the server's cache in front of it.
    pub cache: Option<Bytes>,
    /// The size of the level below the cache's memory.
    pub second_level: Option<Bytes>,
    /// The server's processors in front of that.
    pub processors: Option<PlanProcessors>,
}

impl ServerModel {
    /// Starts a server over the plan's device, with what the commands make.
    ///
    /// # Errors
    /// The plan names no device, or an impossible one; or a command is refused.
    pub fn start(
        of: &Modelled<'_>,
        settings: RegistrySettings,
        set_up: &[String],
        accounts: Accounts,
    ) -> Result<ServerModel> {
        let Some(device) = of.device else {
            bail!("{}: has no [device]; say what stands in for the disk in a simulation", of.file);
        };
        let device = built_for(device, Bytes(of.size), of.luns.max(1), of.seed)?;
        let memory = of.cache.map(|memory| Memory::new(memory, of.second_level)).transpose()?;
        let device = match &memory {
            Some(memory) => Box::new(Cached::new(device, memory.clone())),
            None => device,
        };
        let busy = Busy::default();
        let device = match of.processors {
            Some(processors) => Box::new(Processors::new(device, processors, busy.clone())),
            None => device,
        };
        let gate = Gate::new(device, qos::Settings::default());
        let mut model = ServerModel {
            clock: VirtualClock::new(),
            hub: Hub::new(Gated { gate, accounts }),
            administration: Administration::new(settings),
            used: HashMap::new(),
            memory,
            cached: BTreeMap::new(),
            busy,
        };
        model.administration.partitions.memory = of.cache.map(Memory::told);
        for line in set_up {
            model.command(line).with_context(|| format!("plan: {line}"))?;
        }
        Ok(model)
    }

    /// The LUN at a path of an SVM.
    ///
    /// # Errors
    /// There is none.
    pub fn lun(&self, svm: &str, path: &str) -> Result<ObjectId> {
        let registry = &self.administration.registry;
        let object = registry.find_svm(svm).and_then(|svm| registry.find_lun(svm, path));
        object.with_context(|| format!("{svm}:{path}: no such LUN"))
    }

    /// How many pages each object's reads asked the cache for since the last call.
    pub fn take_asked(&self) -> Vec<(ObjectId, Hits)> {
        self.memory.as_ref().map(Memory::take_asked).unwrap_or_default()
    }

    /// The part of the time since the last call that its processors worked.
    pub fn take_busy(&self, length: Span) -> f64 {
        self.busy.take(length)
    }

    /// Notes that at least so many bytes of a LUN are used from now on.
    pub fn uses(&mut self, lun: ObjectId, bytes: u64) {
        let used = self.used.entry(lun).or_default();
        *used = (*used).max(bytes);
    }
}

impl Managed for ServerModel {
    fn command(&mut self, line: &str) -> Result<String, StageError> {
        let (now, used) = (self.clock.now(), &self.used);
        let used = |lun: ObjectId| used.get(&lun).copied().unwrap_or(0);
        let outcome = self.administration.execute(line, now, &used).map_err(|e| StageError(e.to_string()))?;
        self.memory.iter().for_each(|memory| memory.follow(&outcome.effects, &self.administration));
        for edit in &outcome.edits {
            let edited = self.hub.with(|gated| gated.gate.edit(now, edit));
            edited.map_err(|error| StageError(error.to_string()))?;
        }
        Ok(outcome.answer.text())
    }

    fn limits(&mut self) -> Vec<(String, LimitsInForce)> {
        self.administration.limits()
    }

    fn used(&mut self) -> Vec<(String, Bytes)> {
        self.administration.used_by_volume(&|lun| self.used.get(&lun).copied().unwrap_or(0))
    }

    fn partitions(&mut self) -> Vec<PartitionRecord> {
        let Some(memory) = &self.memory else { return Vec::new() };
        let now = memory.seen(&self.administration);
        seen::partitions(&self.administration, now, &mut self.cached)
    }
}

impl Target for Gated {
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
