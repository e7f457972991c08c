//! `seawall demo`: the main use case, with the bundled plan.

use crate::Answer;
use crate::memory::Memory;
use crate::play::{self, Options, RealOptions};
use anyhow::Result;
use stage::Elsewhere;

/// Watch a noisy neighbour starve two volumes, and a policy give them back what they had
///
/// Creates a pool in a folder of its own, serves three volumes over NBD through the QoS gate, lets
/// three hosts load them, and ends with a table, a verdict for each criterion, and a page with the
/// picture. Needs no root, no service and no network; removes the pool at the end. Ctrl-C ends it
/// early and keeps what was measured; a second one stops at once.
#[derive(clap::Args)]
pub struct Demo {
    #[command(flatten)]
    options: Options,
    #[command(flatten)]
    real: RealOptions,
}

/// The bundled plan.
pub const PLAN: &str = include_str!("../../../../plans/noisy-neighbour.toml");

impl Demo {
    pub fn run(self, memory: &Memory) -> Result<Answer> {
        let options = self.options.kept_by("demo", memory);
        play::on_real_storage(PLAN, "plans/noisy-neighbour.toml", &options, &self.real, &Elsewhere::default())
    }
}

#[cfg(test)]
mod tests {
    #[test]
    fn the_bundled_plan_is_a_plan() {
        workload::Plan::read(super::PLAN, "plans/noisy-neighbour.toml").unwrap();
    }
}
