//! The database in virtual time: the users' page accesses and commits on the server's model, beside
//! the plan's workloads.
//!
//! ```text
//!   Shopping ─┐
//!   Worker   ─┴─ Hub ─► Gate ─► simulated device
//!                         ▲ administrators' lines
//! ```

use super::{Others, Played, Testbed, stopped};
use crate::interrupt::{self, Stop};
use crate::machine;
use crate::scale::Factors;
use anyhow::{Result, bail};
use block::{ObjectId, Span, Time};
use capacity::Buffered;
use engine::{Managed, Stage as _};
use oltp::{Shop, ShopPages, Shopping, Sizes, TransactionMix};
use stage::silent;
use workload::Spec;
use workload::plan::DatabasePlan;

/// The server's model, the other workloads and the users.
pub struct Simulated {
    stage: stage::simulated::Simulated,
    shop: Shop,
    object: ObjectId,
    silent: Vec<Spec>,
    warm_up: Span,
    window: Span,
    factor: f64,
    stop: Stop,
}

impl Simulated {
    /// Creates the plan's volumes on the plan's device.
    ///
    /// # Errors
    /// The plan names no device, or its volume has no room for the database.
    pub fn start(of: &DatabasePlan, factor: f64) -> Result<Simulated> {
        let (plan, database) = (&of.plan, &of.database);
        let (mix, pages) = (TransactionMix::V2, ShopPages::of(&Sizes::of_bytes(database.size)));
        let shop = Shop {
            users: database.users,
            mix,
            think: Span::ZERO,
            host: database.host_time,
            processors: database.processors,
            asks: Buffered::new(pages, &mix, database.users, database.buffers).asks(),
            database: database.size,
            page: ShopPages::PAGE,
        };
        let volume = &plan.volumes[database.volume];
        if volume.size.is_some_and(|size| size < shop.size()) {
            bail!(
                "{}: volume {}: {} are needed, the database and {} of log",
                plan.file,
                volume.name,
                shop.size(),
                Shop::LOG
            );
        }
        let stop = interrupt::watch()?;
        let stage = stage::simulated::Simulated::start(plan)?.stopped_by(stop.question());
        Ok(Simulated {
            object: stage.lun(volume)?,
            stage,
            shop,
            silent: plan.workloads.iter().map(|load| silent(&load.spec)).collect(),
            warm_up: database.warm_up,
            window: database.window,
            factor,
            stop,
        })
    }
}

impl Testbed for Simulated {
    fn managed(&mut self) -> &mut dyn Managed {
        self.stage.managed().expect("a simulation has the model of a server")
    }

    fn turn(&mut self, specs: &[Spec], seed: u64) -> Result<Played> {
        let start = self.stage.now();
        let socket = self.stage.socket();
        let lengths = [self.warm_up, self.window];
        let mut users = Shopping::new(self.shop, socket, seed, start, lengths).on(self.object);
        let from = start + self.warm_up;
        self.stage.run_beside(&mut users, from - Span::SECOND);
        self.stage.reshape_all(specs)?;
        self.stage.run_beside(&mut users, from);
        self.stage.run(from)?;
        let (mut others, mut advice) = (Vec::new(), String::new());
        let mut now = from;
        while now < from + self.window {
            let until = (now + Span::SECOND).min(from + self.window);
            self.stage.run_beside(&mut users, until);
            let second = self.stage.run(until)?;
            advice = second.advice;
            others.push(Others { start: now, length: until.since(now), workloads: second.workloads });
            now = until;
            if self.stop.is_asked() {
                return Err(stopped());
            }
        }
        let ledger = users.finish(now);
        self.stage.reshape_all(&self.silent)?;
        // Requests in flight complete before the next turn.
        self.stage.run(now + Span::SECOND)?;
        Ok(Played { ledger, others, advice })
    }

    fn now(&self) -> Time {
        self.stage.now()
    }

    fn machine(&self) -> stats::Machine {
        machine::look(None, "virtual time")
    }

    fn database(&self) -> String {
        "order entry in virtual time".into()
    }

    fn factors(&self) -> Factors {
        self.factor.into()
    }

    fn is_simulated(&self) -> bool {
        true
    }

    fn notes(&self) -> Vec<String> {
        let demand = self.shop.demand();
        let (reads, changed) = (demand.pages, demand.changed);
        vec![format!(
            "in virtual time: a transaction is {reads:.1} reads one after the other, {changed:.1} pages changed and {:.2} commits, \
             by counts and not by a trace",
            demand.commits
        )]
    }
}
