//! Plays a plan in virtual time for its recording only.

use super::{Simulated, idle_service, scaled};
use crate::interrupt;
use anyhow::{Result, bail};
use block::{Bytes, Span};
use engine::Conductor;
use stage::Places;
use stats::Recording;
use stats::run::Run;
use workload::Plan;
use workload::plan::Device;

/// Plays a plan in virtual time at `times` its load. Nothing is printed or kept.
///
/// # Errors
/// The plan is wrong or cannot be simulated.
pub(crate) fn quietly(text: &str, file: &str, device: Option<&Device>, times: f64) -> Result<Recording> {
    struct Unseen(interrupt::Stop);
    impl engine::RunWatcher for Unseen {
        fn second(&mut self, _run: &Run, _phase: usize, _passed: Span, _whole: Span) -> bool {
            !self.0.is_asked()
        }
    }
    let mut plan = Plan::read(text, file)?;
    plan.device = device.cloned().or(plan.device);
    let plan = plan.sized(Bytes::gib(1))?;
    let (plan, commands) = scaled(&plan, times)?;
    let stop = interrupt::watch()?;
    let mut stage = Simulated::start(&plan)?.stopped_by(stop.question());
    let (places, idle) = (Places::default().loaded(&plan), idle_service(&plan, stop.question())?);
    let mut unseen = Unseen(stop);
    let (run, played) = Conductor::new(&plan, &mut stage, &mut unseen, places, idle).play(commands, Run::default());
    played?;
    if unseen.0.is_asked() {
        bail!("stopped by hand");
    }
    let recording = run.recording();
    let verdicts = plan.criteria.iter().map(|criterion| criterion.judge(&recording)).collect();
    Ok(Recording { verdicts, ..recording })
}
