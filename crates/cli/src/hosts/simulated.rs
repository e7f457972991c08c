//! The hosts in virtual time: the machines of the ramp with a common clock, on the server's model.
//!
//! ```text
//!   Machine ─┐
//!   Machine ─┼─ Hub ─► Gate ─► simulated device
//!   Machine ─┘           ▲ administrators' lines
//! ```

use super::load::{journal_bytes, registry_settings, set_up};
use super::{Testbed, stopped};
use crate::interrupt::{self, Stop};
use crate::machine;
use anyhow::Result;
use block::{Driver as _, ObjectId, Span, Time, Wait, drive};
use engine::Managed;
use ramp::{BLOCK, CycleMachine, DataFile, Layout, NoContents, RampSettings, RunOutcome, RunSetup, Spot};
use server::Accounts;
use stage::modelled::{Modelled, ServerModel};
use workload::plan::HostsPlan;

/// The server's model and its hosts.
pub struct Simulated {
    server: ServerModel,
    /// Where each host's data and journal are.
    layouts: Vec<Layout>,
    journals: Vec<ObjectId>,
    stop: Stop,
}

impl Simulated {
    /// Creates the plan's volumes on the plan's device.
    ///
    /// # Errors
    /// The plan has no device, or an impossible one.
    pub fn start(plan: &HostsPlan) -> Result<Simulated> {
        let journals = plan.hosts.iter().map(|host| journal_bytes(plan, host));
        let size = journals.chain([plan.volume_size.0]).max().unwrap_or(0);
        let luns: usize = plan.hosts.iter().map(|host| host.volumes.len() + 1).sum();
        let (device, luns) = (plan.device.as_ref(), luns as u32);
        let of = Modelled { device, file: &plan.file, size, luns, seed: plan.seed, ..Modelled::default() };
        let mut server = ServerModel::start(&of, registry_settings(plan), &set_up(plan), Accounts::default())?;
        let (mut layouts, mut journals) = (Vec::new(), Vec::new());
        for host in &plan.hosts {
            let mut files = Vec::new();
            for path in host.data_paths() {
                let object = server.lun(&plan.svm, &path)?;
                files.push(DataFile { object, at: 0, blocks: plan.volume_size.0 / BLOCK });
                // All of it is in use, as after a fill; of a journal, as much as the largest burst
                // wrote.
                server.uses(object, plan.volume_size.0);
            }
            let journal = server.lun(&plan.svm, &host.journal_path())?;
            layouts.push(Layout::new(files, Spot { object: journal, at: 0, bytes: journal_bytes(plan, host) }));
            journals.push(journal);
        }
        Ok(Simulated { server, layouts, journals, stop: interrupt::watch()? })
    }
}

impl Testbed for Simulated {
    fn managed(&mut self) -> &mut dyn Managed {
        &mut self.server
    }

    fn run(&mut self, ramps: &[RampSettings], number: u64) -> Result<Vec<RunOutcome>> {
        let start = self.now();
        let mut machines = Vec::new();
        for ((ramp, layout), journal) in ramps.iter().zip(&self.layouts).zip(&self.journals) {
            let target = Box::new(self.server.hub.socket());
            let (load, setup) = (ramp.loads()[number as usize], RunSetup::of(ramp, number));
            self.server.uses(*journal, Layout::wij_need(load.burst));
            machines.push(CycleMachine::new(target, Box::new(NoContents), layout.clone(), &load, &setup, start)?);
        }
        let stop = &self.stop;
        let mut is_stopped = false;
        let now = drive(&mut self.server.clock, &mut machines, |now, _| {
            is_stopped = stop.is_asked();
            if is_stopped { Wait::End } else { Wait::Until(now + Span::SECOND) }
        });
        if is_stopped {
            return Err(stopped());
        }
        Ok(machines.into_iter().map(|machine| machine.finish(now)).collect())
    }

    fn now(&self) -> Time {
        self.server.clock.now()
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
}
