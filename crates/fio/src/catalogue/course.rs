//! Options of clones, groups, start, end and processors.

use super::{Definition, Form, option};
use crate::duration::Bare;
use crate::options::{Options, Steady};
use crate::value::{Rule, Value};
use block::Span;
use workload::job::{Ends, MemoryPolicy, SteadyCheck, SteadyFigure, SteadyLimit};

pub(super) const OPTIONS: &[Definition] = &[
    option("numjobs", Form::Whole, "clones of the job", |o, v| {
        o.course.numjobs = v.count(1)?;
        Ok(())
    }),
    option("thread", Form::Flag, "threads instead of processes; here always", |_, v| v.flag().map(drop))
        .also(&["threads"]),
    option("stonewall", Form::Flag, "starts when all jobs before it have ended, and begins a group", |o, v| {
        o.course.stonewall = v.flag()?;
        Ok(())
    })
    .also(&["wait_for_previous"]),
    option("new_group", Form::Flag, "begins a report group", |o, v| {
        o.course.new_group = v.flag()?;
        Ok(())
    }),
    option("wait_for", Form::Text("writer"), "starts when all jobs of this name have ended", |o, v| {
        o.course.wait_for = Some(v.text().to_owned());
        Ok(())
    }),
    option("startdelay", Form::Text("5s-10s"), "delay of the start; of a range, a random one", |o, v| {
        o.course.delay = v.range(|v| v.span(Bare::Seconds))?;
        Ok(())
    }),
    option("runtime", Form::Time, "ends after this time; a bare number is seconds", |o, v| {
        let runtime = v.span(Bare::Seconds)?;
        o.course.ending.runtime = (runtime > Span::ZERO).then_some(runtime);
        Ok(())
    })
    .also(&["timeout"]),
    option("time_based", Form::Flag, "starts again when done, until runtime is over", |o, v| {
        o.course.ending.time_based = v.flag()?;
        Ok(())
    }),
    option("ramp_time", Form::Time, "time before measuring begins; a bare number is seconds", |o, v| {
        o.course.ending.ramp = v.span(Bare::Seconds)?;
        Ok(())
    }),
    option("loops", Form::Whole, "number of passes", |o, v| {
        // As in fio, 0 is one pass.
        o.course.ending.loops = v.count(0)?.max(1);
        Ok(())
    }),
    option("number_ios", Form::Whole, "a pass ends after this many requests", |o, v| {
        let requests = v.whole(0, u64::MAX)?;
        o.course.ending.requests = (requests > 0).then_some(requests);
        Ok(())
    }),
    option("exitall", Form::Flag, "the end of any job also ends the jobs of its group, or of its exit_what", |o, v| {
        o.course.exitall = v.flag()?;
        Ok(())
    }),
    option("exit_what", Form::Text("group"), "what exitall ends: group, all, or stonewall for its stage", |o, v| {
        o.course.exit_what = v.choice(&[("group", Ends::Group), ("all", Ends::All), ("stonewall", Ends::Stage)])?;
        Ok(())
    }),
    option("exitall_on_error", Form::Flag, "its failure ends all jobs", |o, v| {
        o.course.ending.ends_all_on_error = v.flag()?;
        Ok(())
    }),
    option("steadystate", Form::Text("iops_slope:0.3%"), "ends when figures are steady", steadystate).also(&["ss"]),
    option("steadystate_duration", Form::Time, "the time over which they must be steady; bare: seconds", |o, v| {
        o.course.steady_duration = v.span(Bare::Seconds)?;
        Ok(())
    })
    .also(&["ss_dur"]),
    option("steadystate_ramp_time", Form::Time, "time before steadiness is judged; bare: seconds", |o, v| {
        o.course.steady_ramp = v.span(Bare::Seconds)?;
        Ok(())
    })
    .also(&["ss_ramp"]),
    option("cpus_allowed", Form::Text("0-3,8"), "processors that the job may run on", |o, v| {
        o.course.cpus = cpus(v)?;
        Ok(())
    }),
    option("cpumask", Form::Whole, "processors that the job may run on, as a mask of bits", |o, v| {
        let mask = v.whole(1, u64::MAX)?;
        o.course.cpus = (0..64).filter(|bit| mask >> bit & 1 == 1).collect();
        Ok(())
    }),
    option("cpus_allowed_policy", Form::Text("split"), "whether clones share processors or have one each", |o, v| {
        o.course.cpus_split = v.choice(&[("shared", false), ("split", true)])?;
        Ok(())
    }),
    option("numa_cpu_nodes", Form::Text("0"), "nodes whose processors the job may run on; all for each", |o, v| {
        o.course.numa.nodes = if v.text() == "all" { Vec::new() } else { cpus(v)? };
        Ok(())
    }),
    option(
        "numa_mem_policy",
        Form::Text("bind:0"),
        "where buffers are: default, local, prefer:N, bind:N, interleave:N",
        memory,
    ),
    option("sqthread_poll", Form::Flag, "a kernel thread polls for requests, which saves system calls", |o, v| {
        o.course.kernel_polls = v.flag()?;
        Ok(())
    }),
    option("sqthread_poll_cpu", Form::Whole, "the processor of that thread", |o, v| {
        o.course.kernel_polls_on = Some(v.whole(0, CPU_MAX)? as u32);
        Ok(())
    }),
    option("nice", Form::Text("10"), "the nice value of the job's thread, -20 to 19", |o, v| {
        let nice = v.text().parse().ok().filter(|nice| (-20..=19).contains(nice));
        o.course.nice = Some(nice.ok_or("must be between -20 and 19")?);
        Ok(())
    }),
    option("prio", Form::Text("4"), "the level of its I/O within prioclass, 0 (first) to 7", |o, v| {
        o.course.prio = Some(v.whole(0, 7)? as u16);
        Ok(())
    }),
    option("prioclass", Form::Text("2"), "the class of its I/O: 1 real time, 2 best effort, 3 idle", |o, v| {
        o.course.prio_class = Some(v.whole(0, 3)? as u16);
        Ok(())
    }),
    option("exec_prerun", Form::Text("sync"), "runs a command by the shell before the job", |o, v| {
        o.course.before = Some(v.text().to_owned());
        Ok(())
    }),
    option("exec_postrun", Form::Text("sync"), "runs a command by the shell after the job", |o, v| {
        o.course.after = Some(v.text().to_owned());
        Ok(())
    }),
    option("clocksource", Form::Text("clock_gettime"), "which clock is read", |o, v| {
        v.choice(&[("clock_gettime", ()), ("gettimeofday", ()), ("cpu", ())])?;
        o.note("clocksource has no effect: the monotonic clock is read");
        Ok(())
    }),
    option("mem", Form::Text("malloc"), "where buffers come from", |o, v| {
        let words = ["malloc", "shm", "mmap", "shmhuge", "mmaphuge", "mmapshared"].map(|word| (word, ()));
        v.choice(&words)?;
        o.note("mem has no effect: buffers are one mapping, registered with the kernel if it allows that");
        Ok(())
    })
    .also(&["iomem"]),
    option("mem_align", Form::Size, "alignment of buffers; here at least a page", |_, v| {
        v.whole(0, 4096).map(drop).map_err(|_| "buffers are aligned to 4096 bytes; write 4096 or leave it out".into())
    })
    .also(&["iomem_align"]),
    option("fixedbufs", Form::Flag, "registers buffers with the kernel; here always, if it allows that", |_, v| {
        v.flag().map(drop)
    }),
    option("registerfiles", Form::Flag, "registers files with the kernel; here always", |_, v| v.flag().map(drop)),
    option("nonvectored", Form::Bool, "plain reads and writes; here always", |_, v| v.flag().map(drop)),
];

/// The highest processor number that a list may name.
const CPU_MAX: u64 = 4095;

/// Maps fio's words to memory policies.
fn memory(o: &mut Options, v: Value<'_>) -> Result<(), Rule> {
    let (word, nodes) = v.text().split_once(':').unwrap_or((v.text(), ""));
    let list = || cpus(v.part(nodes));
    let policy = match (word, nodes) {
        ("default", "") => MemoryPolicy::Default,
        ("local", "") => MemoryPolicy::Local,
        ("prefer", _) => match list()?[..] {
            [node] => MemoryPolicy::Prefer(node),
            _ => return Err("prefer takes one node, as in prefer:0".into()),
        },
        ("bind", _) => MemoryPolicy::Bind(list()?),
        ("interleave", _) => MemoryPolicy::Interleave(list()?),
        _ => return Err("must be one of default, local, prefer:N, bind:N, interleave:N".into()),
    };
    o.course.numa.memory = Some(policy);
    Ok(())
}

fn cpus(v: Value<'_>) -> Result<Vec<u32>, Rule> {
    let mut found = Vec::new();
    for part in v.text().split(',').filter(|part| !part.is_empty()) {
        let (low, high) = v.part(part).range(|v| v.whole(0, CPU_MAX))?;
        found.extend(low as u32..=high as u32);
    }
    found.sort_unstable();
    found.dedup();
    if found.is_empty() { Err("names no processor; write a list such as 0-3,8".into()) } else { Ok(found) }
}

fn steadystate(o: &mut Options, v: Value<'_>) -> Result<(), Rule> {
    let (figure, limit) = v.text().split_once(':').unwrap_or((v.text(), ""));
    let word = v.part(figure).choice(&[
        ("iops", (SteadyFigure::Iops, false)),
        ("iops_slope", (SteadyFigure::Iops, true)),
        ("bw", (SteadyFigure::Throughput, false)),
        ("bw_slope", (SteadyFigure::Throughput, true)),
        ("lat", (SteadyFigure::Latency, false)),
        ("lat_slope", (SteadyFigure::Latency, true)),
        ("snia_iops", (SteadyFigure::Iops, false)),
        ("snia_bw", (SteadyFigure::Throughput, false)),
        ("snia_lat", (SteadyFigure::Latency, false)),
    ])?;
    if figure.starts_with("snia_") {
        if !limit.is_empty() {
            return Err("the rule of the SNIA has its own limits; leave the colon out".into());
        }
        let check = SteadyCheck::Snia { excursion_percent: 20.0, slope_percent: 10.0 };
        o.course.steady = Some(Steady { figure: word.0, check });
        return Ok(());
    }
    let limit = match limit.strip_suffix('%') {
        Some(percent) => SteadyLimit::Percent(v.part(percent).fraction()?),
        None if word.0 == SteadyFigure::Latency => {
            SteadyLimit::Absolute(v.part(limit).span(Bare::Micros)?.as_nanos() as f64)
        }
        None if limit.is_empty() => return Err("needs a limit, as in iops:5% or bw_slope:10m".into()),
        None if word.0 == SteadyFigure::Iops => SteadyLimit::Absolute(v.part(limit).fraction()?),
        None => SteadyLimit::Absolute(v.part(limit).size()? as f64),
    };
    let check = if word.1 { SteadyCheck::Slope(limit) } else { SteadyCheck::Deviation(limit) };
    o.course.steady = Some(Steady { figure: word.0, check });
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dialect::Dialect;

    fn value(text: &str) -> Value<'_> {
        Value::new(text, Dialect::default())
    }

    #[test]
    fn processors() {
        assert_eq!(cpus(value("0-2,5")), Ok(vec![0, 1, 2, 5]));
        assert_eq!(cpus(value("2,2,0")), Ok(vec![0, 2]));
        assert!(cpus(value("")).is_err() && cpus(value("x")).is_err() && cpus(value("0-99999")).is_err());
    }

    #[test]
    fn steady_rules() {
        let rule = |text| {
            let mut options = Options::default();
            steadystate(&mut options, value(text)).map(|()| options.course.steady.unwrap().check)
        };
        assert_eq!(rule("iops:5%"), Ok(SteadyCheck::Deviation(SteadyLimit::Percent(5.0))));
        assert_eq!(rule("bw_slope:10m"), Ok(SteadyCheck::Slope(SteadyLimit::Absolute(10_485_760.0))));
        assert_eq!(rule("iops_slope:0.3%"), Ok(SteadyCheck::Slope(SteadyLimit::Percent(0.3))));
        assert!(matches!(rule("snia_iops"), Ok(SteadyCheck::Snia { .. })));
        assert!(rule("iops").is_err() && rule("snia_bw:5%").is_err() && rule("mood:1%").is_err());
    }
}
