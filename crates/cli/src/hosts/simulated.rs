//! The hosts in virtual time: the ramp's own machines, the server's commands and gate, over the plan's device.
//!
//! ```text
//!   Machine ─┐
//!   Machine ─┼─ Hub ─► Gate ─► simulated device
//!   Machine ─┘           ▲ administrators' lines
//! ```

use super::load::journal_bytes;
use super::whole::luns;
use super::{Field, Left, Played};
use crate::interrupt::{self, Stop};
use crate::machine;
use crate::stage::device::spec_of;
use admin::Administration;
use anyhow::{Context as _, Result, bail};
use array::VirtualClock;
use block::{Bytes, Driver as _, ObjectId, Span, Target, Wait, drive};
use engine::Hub;
use qos::{Gate, RegistrySettings};
use ramp::{BLOCK, DataFile, Layout, Machine, NoContents, Row, RunOutcome, RunSetup, Settings, Spot, TimelineSecond};
use stats::LimitsInForce;
use std::collections::HashMap;
use std::path::PathBuf;
use workload::plan::{HostsPlan, Units};

/// The server and its hosts.
pub struct Simulated {
    clock: VirtualClock,
    server: Hub<Gate<Box<dyn Target>>>,
    administration: Administration,
    /// What each LUN takes: data all of it, as after a fill, journals as much as the largest burst wrote.
    used: HashMap<ObjectId, u64>,
    layouts: Vec<Layout>,
    journals: Vec<ObjectId>,
    /// What each host's data is, by path.
    paths: Vec<String>,
    /// The ramps that were begun, in their order.
    ramps: Vec<Begun>,
    stop: Stop,
}

/// A ramp of every host, and what its runs came to so far.
struct Begun {
    ramps: Vec<Settings>,
    /// Of each host, run by run.
    outcomes: Vec<Vec<RunOutcome>>,
}

impl Simulated {
    /// Makes the plan's volumes over the plan's device.
    ///
    /// # Errors
    /// The plan names no device, or one that cannot be.
    pub fn start(plan: &HostsPlan) -> Result<Simulated> {
        let Some(device) = &plan.device else {
            bail!("{}: has no [device]; say what stands in for the disk in a simulation", plan.file);
        };
        let journals = plan.hosts.iter().map(|host| journal_bytes(plan, host));
        let size = journals.chain([plan.volume_size.0]).max().unwrap_or(0);
        let device = spec_of(device, Bytes(size))?.build(plan.seed).context("[device]")?;
        let gate = Gate::new(device, qos::Settings::default());
        let units = match plan.units {
            Units::Decimal => qos::Units::Decimal,
            Units::Binary => qos::Units::Binary,
        };
        let mut simulated = Simulated {
            clock: VirtualClock::new(),
            server: Hub::new(gate),
            administration: Administration::new(RegistrySettings { units, ..RegistrySettings::default() }),
            used: HashMap::new(),
            layouts: Vec::new(),
            journals: Vec::new(),
            paths: plan.hosts.iter().map(|host| luns(plan, host)).collect(),
            ramps: Vec::new(),
            stop: interrupt::watch()?,
        };
        for line in super::real::set_up(plan) {
            simulated.command(&line).with_context(|| format!("plan: {line}"))?;
        }
        simulated.connect(plan)?;
        Ok(simulated)
    }

    /// Says whose each LUN is, and where each host's data and journal are.
    fn connect(&mut self, plan: &HostsPlan) -> Result<()> {
        let registry = &self.administration.registry;
        let lun = |path: &str| {
            let object = registry.find_svm(&plan.svm).and_then(|svm| registry.find_lun(svm, path));
            object.with_context(|| format!("{path}: no such LUN"))
        };
        for host in &plan.hosts {
            let wij_bytes = journal_bytes(plan, host);
            let mut files = Vec::new();
            for path in host.data_paths() {
                let object = lun(&path)?;
                files.push(DataFile { object, at: 0, blocks: plan.volume_size.0 / BLOCK });
                self.used.insert(object, plan.volume_size.0);
            }
            let journal = lun(&host.journal_path())?;
            self.journals.push(journal);
            self.layouts.push(Layout::new(files, Spot { object: journal, at: 0, bytes: wij_bytes }));
        }
        Ok(())
    }

    /// One run of every host, from now on.
    fn play(&mut self, ramps: &[Settings], number: u64) -> Result<Vec<RunOutcome>> {
        let start = self.clock.now();
        let mut machines = Vec::new();
        for (host, (ramp, layout)) in ramps.iter().zip(&self.layouts).enumerate() {
            let target = Box::new(self.server.socket());
            let (load, setup) = (ramp.loads()[number as usize], RunSetup::of(ramp, number));
            let journal = self.used.entry(self.journals[host]).or_default();
            *journal = (*journal).max(Layout::wij_need(load.burst));
            machines.push(Machine::new(target, Box::new(NoContents), layout.clone(), &load, &setup, start)?);
        }
        let stop = &self.stop;
        let mut stopped = false;
        let now = drive(&mut self.clock, &mut machines, |now, _| {
            stopped = stop.is_asked();
            if stopped { Wait::End } else { Wait::Until(now + Span::SECOND) }
        });
        if stopped {
            bail!("stopped by hand");
        }
        Ok(machines.into_iter().map(|machine| machine.finish(now)).collect())
    }
}

impl Field for Simulated {
    fn command(&mut self, line: &str) -> Result<()> {
        let used = &self.used;
        let used = |object: ObjectId| used.get(&object).copied().unwrap_or(0);
        let now = self.clock.now();
        let outcome = self.administration.execute(line, now, &used)?;
        for edit in &outcome.edits {
            self.server.with(|gate| gate.edit(now, edit))?;
        }
        Ok(())
    }

    fn begin(&mut self, _name: &str, ramps: &[Settings]) -> Result<()> {
        self.ramps.push(Begun { ramps: ramps.to_vec(), outcomes: ramps.iter().map(|_| Vec::new()).collect() });
        Ok(())
    }

    fn run(&mut self, ramp: usize) -> Result<()> {
        let Begun { ramps, outcomes } = &self.ramps[ramp];
        let played = self.play(&ramps.clone(), outcomes[0].len() as u64)?;
        self.ramps[ramp].outcomes.iter_mut().zip(played).for_each(|(of_host, outcome)| of_host.push(outcome));
        Ok(())
    }

    fn end(&mut self, ended: Result<()>) -> Played {
        let begun = std::mem::take(&mut self.ramps);
        let left = |Begun { ramps, outcomes }: &Begun| {
            let hosts = ramps.iter().zip(&self.paths).zip(outcomes);
            hosts.map(|((ramp, paths), outcomes)| left(ramp, paths, outcomes)).collect()
        };
        Played { left: begun.iter().map(left).collect(), ended }
    }

    fn limits(&self) -> Vec<(String, LimitsInForce)> {
        self.administration.limits()
    }

    fn used(&self) -> Vec<(String, Bytes)> {
        self.administration.used_by_volume(&|object| self.used.get(&object).copied().unwrap_or(0))
    }

    fn machine(&self) -> stats::Machine {
        machine::look(None, "virtual time")
    }

    fn is_simulated(&self) -> bool {
        true
    }

    fn notes(&self) -> Vec<String> {
        vec!["in virtual time: the hosts have one clock, and start each run at the same instant".into()]
    }

    fn keep_folder(&mut self) -> Option<PathBuf> {
        None
    }
}

/// What a host's runs come to.
fn left(ramp: &Settings, paths: &str, outcomes: &[RunOutcome]) -> Left {
    let runs = || outcomes.iter().enumerate().map(|(number, outcome)| (number as u64, outcome));
    Left {
        rows: runs().map(|(number, outcome)| Row::of(number, outcome, ramp)).collect(),
        seconds: runs().flat_map(|(number, outcome)| TimelineSecond::of(number, outcome)).collect(),
        run: ramp::kept(&ramp.system, paths, outcomes),
    }
}
