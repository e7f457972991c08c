//! Notes for the user on what a job's options do together.

use crate::job::Job;
use block::Span;

/// Notes on a job's options that have no effect, or another than expected.
pub(crate) fn on(job: &Job) -> Vec<String> {
    let ending = &job.options.course.ending;
    let target = &job.options.target;
    let mut notes = job.options.notes.clone();
    match (ending.runtime, ending.time_based) {
        (Some(_), false) => {
            notes.push("runtime without time_based only caps: the job ends earlier when its size is done".into());
        }
        (None, true) => notes.push("time_based has no effect without runtime".into()),
        _ => {}
    }
    if target.engine.calls() && job.options.pace.depth > 1 {
        let (depth, engine) = (job.options.pace.depth, &target.engine_name);
        notes.push(format!("iodepth={depth} has no effect with ioengine={engine}, which has one request in flight"));
    }
    let pattern = &job.options.pattern;
    if pattern.kind.random && !pattern.norandommap && job.aligns_apart() {
        notes.push("ba is not the smallest block, so random offsets may repeat, as in fio".into());
    }
    if target.write_iolog.is_some() && job.options.course.numjobs > 1 {
        notes.push("write_iolog: each clone has a file of its own; .1, .2, … are added from the second on".into());
    }
    if job.options.course.steady.is_some() && job.options.course.steady_duration == Span::ZERO {
        notes.push(
            "steadystate has no effect without steadystate_duration=…, the time over which figures must be steady"
                .into(),
        );
    }
    if job.options.data.dedupe_global && !job.options.data.dedupe_set {
        notes.push("dedupe_global has no effect without dedupe_mode=working_set".into());
    }
    if job.options.data.state_load && !job.options.data.verify_only {
        notes.push("verify_state_load has no effect without verify_only".into());
    }
    if job.options.data.trims.percent > 0 && job.options.data.verify.is_none() {
        notes.push("trim_percentage has no effect without verify".into());
    }
    let logs = &job.options.report.logs;
    if logs.hist.is_some() && logs.hist_interval == Span::ZERO {
        notes.push("write_hist_log writes nothing without log_hist_msec".into());
    }
    notes
}
