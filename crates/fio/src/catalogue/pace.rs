//! Options of when a job makes requests: depth, rates, pauses, latency searches.

use super::{Definition, Form, option};
use crate::duration::Bare;
use crate::options::Triple;
use crate::value::{Rule, Value};

pub(super) const OPTIONS: &[Definition] = &[
    option("iodepth", Form::Whole, "requests in flight of each clone", |o, v| {
        o.pace.depth = v.whole(1, DEPTH_MAX)? as u32;
        Ok(())
    }),
    option(
        "iodepth_batch",
        Form::Whole,
        "requests made together once the depth was reached; 0 is the depth",
        |o, v| {
            o.pace.submit_batch = v.whole(0, DEPTH_MAX)? as u32;
            Ok(())
        },
    )
    .also(&["iodepth_batch_submit"]),
    option("iodepth_batch_complete_min", Form::Whole, "completions to wait for at once; 0 only polls", |o, v| {
        o.pace.complete_least = v.whole(0, DEPTH_MAX)? as u32;
        Ok(())
    })
    .also(&["iodepth_batch_complete"]),
    option(
        "iodepth_batch_complete_max",
        Form::Whole,
        "maximum completions taken at once; seawall takes all there are",
        |o, v| {
            v.whole(0, DEPTH_MAX)?;
            o.note("iodepth_batch_complete_max has no effect: all ends that are there are taken at once");
            Ok(())
        },
    ),
    option(
        "iodepth_low",
        Form::Whole,
        "once the depth was reached, waits until only this many are in flight",
        |o, v| {
            let low = v.whole(0, DEPTH_MAX)? as u32;
            o.pace.refill_below = (low > 0).then_some(low);
            Ok(())
        },
    ),
    option("io_submit_mode", Form::Text("inline"), "who makes requests", |o, v| {
        if v.choice(&[("inline", false), ("offload", true)])? {
            o.note("io_submit_mode=offload has no effect: a rate never waits for what is in flight here");
        }
        Ok(())
    }),
    option("rate", Form::Size, "bytes a second of each clone: reads,writes,trims", |o, v| {
        o.pace.rate = rates(v)?;
        Ok(())
    }),
    option("rate_iops", Form::Whole, "requests a second of each clone: reads,writes,trims", |o, v| {
        o.pace.rate_iops = rates(v)?;
        Ok(())
    }),
    option("rate_min", Form::Size, "bytes a second that each clone must reach, or it fails", |o, v| {
        o.pace.rate_min = rates(v)?;
        Ok(())
    })
    .also(&["ratemin"]),
    option("rate_iops_min", Form::Whole, "requests a second that each clone must reach, or it fails", |o, v| {
        o.pace.rate_iops_min = rates(v)?;
        Ok(())
    }),
    option(
        "rate_cycle",
        Form::Time,
        "the time over which rate_min is checked; a bare number is milliseconds",
        |o, v| {
            o.pace.rate_cycle = v.span(Bare::Millis)?;
            Ok(())
        },
    )
    .also(&["ratecycle"]),
    option("rate_process", Form::Text("poisson"), "how a rate's requests are spread over time", |o, v| {
        o.pace.poisson = v.choice(&[("linear", false), ("poisson", true)])?;
        Ok(())
    }),
    option("rate_ignore_thinktime", Form::Bool, "requests missed during a pause are not made up for", |o, v| {
        o.pace.think.forgets_rate = v.flag()?;
        Ok(())
    }),
    option("thinktime", Form::Time, "a pause after some requests; a bare number is microseconds", |o, v| {
        o.pace.think.time = v.span(Bare::Micros)?;
        Ok(())
    }),
    option("thinktime_spin", Form::Time, "the part of a pause that keeps the processor busy", |o, v| {
        o.pace.think.spin = v.span(Bare::Micros)?;
        Ok(())
    }),
    option("thinktime_blocks", Form::Whole, "requests between pauses", |o, v| {
        o.pace.think.every = v.count(1)?;
        Ok(())
    }),
    option(
        "thinktime_blocks_type",
        Form::Text("issue"),
        "whether requests count when made or when they end",
        |o, v| {
            o.pace.think.by_issue = v.choice(&[("complete", false), ("issue", true)])?;
            Ok(())
        },
    ),
    option("thinktime_iotime", Form::Time, "time of requests between pauses; a bare number is seconds", |o, v| {
        o.pace.think.work_time = v.span(Bare::Seconds)?;
        Ok(())
    }),
    option(
        "latency_target",
        Form::Time,
        "searches for the highest depth within this latency; bare: microseconds",
        |o, v| {
            o.pace.search.target = v.span(Bare::Micros)?;
            Ok(())
        },
    ),
    option("latency_window", Form::Time, "how long each depth is tried; a bare number is microseconds", |o, v| {
        o.pace.search.window = v.span(Bare::Micros)?;
        Ok(())
    }),
    option("latency_percentile", Form::Fraction, "percentage of requests that must be within it", |o, v| {
        o.pace.search.percent = v.fraction()?;
        match o.pace.search.percent {
            percent if percent > 0.0 && percent <= 100.0 => Ok(()),
            _ => Err("lies above 0 and is at most 100".into()),
        }
    }),
    option("latency_run", Form::Bool, "continues at the depth that was found", |o, v| {
        o.pace.search.goes_on = v.flag()?;
        Ok(())
    }),
    option("max_latency", Form::Time, "a request that takes longer ends the job; bare: microseconds", |o, v| {
        let most = v.span(Bare::Micros)?;
        o.pace.latency_most = (most > block::Span::ZERO).then_some(most);
        Ok(())
    }),
    option("flow", Form::Whole, "the job's share of the requests of all jobs with its flow_id; 0 is none", |o, v| {
        o.pace.flow = v.whole(0, FLOW_WEIGHT_MAX)? as u32;
        Ok(())
    }),
    option("flow_id", Form::Whole, "which jobs share by flow", |o, v| {
        o.pace.flow_id = v.whole(0, u64::from(u32::MAX))? as u32;
        Ok(())
    }),
    option(
        "flow_sleep",
        Form::Time,
        "how long a job ahead of its flow pauses; a bare number is microseconds",
        |o, v| {
            o.pace.flow_sleep = v.span(Bare::Micros)?;
            Ok(())
        },
    ),
    option("flow_watermark", Form::Whole, "fio dropped it: how far a flow's jobs may be from their shares", |o, v| {
        v.whole(0, u64::from(u32::MAX))?;
        o.note("flow_watermark has no effect: shares are kept to a request, and fio dropped it too");
        Ok(())
    }),
];

/// Maximum number of requests in flight of one job: two rings of the kernel's maximum size.
const DEPTH_MAX: u64 = 65_536;

/// Maximum weight of a flow, as in fio.
const FLOW_WEIGHT_MAX: u64 = 1000;

/// Parses rates. 0 means no rate, as in fio.
fn rates(v: Value<'_>) -> Result<Triple<u64>, Rule> {
    let given = v.triple(|v| v.whole(0, u64::MAX))?;
    Ok(Triple::from_fn(|direction| given[direction].filter(|rate| *rate > 0)))
}
