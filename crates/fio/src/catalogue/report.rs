//! Options of reports and logs.

use super::{Definition, Form, option};
use crate::dialect::KbBase;
use crate::duration::Bare;
use crate::options::Unified;
use crate::percentile::PercentileList;
use crate::value::{Rule, Value};

pub(super) const OPTIONS: &[Definition] = &[
    option("kb_base", Form::Text("1000"), "whether k is 1024 or 1000", |o, v| {
        o.kb_base = v.choice(&[("1024", KbBase::Binary), ("1000", KbBase::Decimal)])?;
        Ok(())
    }),
    option("unit_base", Form::Text("8"), "whether the normal output counts bytes (8) or bits (1)", |o, v| {
        o.bits = v.choice(&[("0", false), ("8", false), ("1", true)])?;
        Ok(())
    }),
    option("group_reporting", Form::Flag, "reports the jobs of a group as one", |o, v| {
        o.report.group = v.flag()?;
        Ok(())
    }),
    option("stats", Form::Bool, "whether this job is reported", |o, v| {
        o.report.stats = v.flag()?;
        Ok(())
    }),
    option("clat_percentiles", Form::Bool, "percentiles of service time", |o, v| {
        o.report.clat_percentiles = v.flag()?;
        Ok(())
    }),
    option("lat_percentiles", Form::Bool, "percentiles of response time", |o, v| {
        o.report.lat_percentiles = v.flag()?;
        Ok(())
    }),
    option("slat_percentiles", Form::Bool, "percentiles of the time until a request is submitted", |o, v| {
        o.report.slat_percentiles = v.flag()?;
        Ok(())
    }),
    option("percentile_list", Form::Text("50:99:99.9"), "which percentiles", |o, v| {
        let percents: Result<Vec<f64>, Rule> = v.text().split(':').map(|text| v.part(text).fraction()).collect();
        o.report.percentiles = PercentileList::new(percents?)?;
        Ok(())
    }),
    option("significant_figures", Form::Whole, "digits of the normal output", |o, v| {
        o.report.figures = v.whole(1, 10)? as u32;
        Ok(())
    }),
    option("disk_util", Form::Bool, "reports the devices behind the files", |o, v| {
        o.report.disk_util = v.flag()?;
        Ok(())
    }),
    option("disable_lat", Form::Bool, "leaves response times out", |o, v| {
        o.report.no_lat = v.flag()?;
        Ok(())
    }),
    option("disable_clat", Form::Bool, "leaves service times out", |o, v| {
        o.report.no_clat = v.flag()?;
        Ok(())
    }),
    option("disable_slat", Form::Bool, "leaves submission times out", |o, v| {
        o.report.no_slat = v.flag()?;
        Ok(())
    }),
    option("disable_bw_measurement", Form::Bool, "leaves bandwidth over time out", |o, v| {
        o.report.no_bw = v.flag()?;
        Ok(())
    })
    .also(&["disable_bw"]),
    option("gtod_reduce", Form::Bool, "fio: fewer clock readings and no latencies; here latencies stay", |o, v| {
        if v.flag()? {
            o.note("gtod_reduce has no effect: latencies cost one clock reading a batch and are never left out");
        }
        Ok(())
    }),
    option("unified_rw_reporting", Form::Text("none"), "reports all directions as one", |o, v| {
        let words = [
            ("none", Unified::None),
            ("0", Unified::None),
            ("mixed", Unified::Mixed),
            ("1", Unified::Mixed),
            ("both", Unified::Both),
            ("2", Unified::Both),
        ];
        o.report.unified = v.choice(&words)?;
        Ok(())
    }),
    option("write_bw_log", Form::Prefix, "a log of bandwidth; the value is the prefix of the file name", |o, v| {
        o.report.logs.bw = Some(v.text().to_owned());
        Ok(())
    }),
    option("write_lat_log", Form::Prefix, "logs of latencies; the value is the prefix of the file names", |o, v| {
        o.report.logs.lat = Some(v.text().to_owned());
        Ok(())
    }),
    option("write_iops_log", Form::Prefix, "a log of IOPS; the value is the prefix of the file name", |o, v| {
        o.report.logs.iops = Some(v.text().to_owned());
        Ok(())
    }),
    option("write_hist_log", Form::Prefix, "a log of histograms; the value is the prefix of the file name", |o, v| {
        o.report.logs.hist = Some(v.text().to_owned());
        Ok(())
    }),
    option(
        "log_avg_msec",
        Form::Time,
        "interval of averages in logs; 0 logs each request; bare: milliseconds",
        |o, v| {
            o.report.logs.average = v.span(Bare::Millis)?;
            Ok(())
        },
    ),
    option("log_max_value", Form::Bool, "averaged logs of latencies have the maximum instead", |o, v| {
        o.report.logs.max_value = v.flag()?;
        Ok(())
    }),
    option("log_hist_msec", Form::Time, "interval of histogram logs; a bare number is milliseconds", |o, v| {
        o.report.logs.hist_interval = v.span(Bare::Millis)?;
        Ok(())
    }),
    option("log_hist_coarseness", Form::Whole, "joins bins of histogram logs, 0 to 6 times in pairs", |o, v| {
        o.report.logs.coarseness = v.whole(0, 6)? as u32;
        Ok(())
    }),
    option("log_offset", Form::Bool, "logs each request's offset", |o, v| {
        o.report.logs.offset = v.flag()?;
        Ok(())
    }),
    option("log_prio", Form::Bool, "logs each request's priority, which is its job's", |o, v| {
        o.report.logs.prio = v.flag()?;
        Ok(())
    }),
    option("log_unix_epoch", Form::Bool, "times of logs count from 1970", |o, v| {
        o.report.logs.unix_epoch = v.flag()?;
        Ok(())
    }),
    option("log_alternate_epoch", Form::Bool, "the same, by the clock that the next option names", |o, v| {
        o.report.logs.unix_epoch = v.flag()?;
        Ok(())
    }),
    option(
        "log_alternate_epoch_clock_id",
        Form::Text("0"),
        "the clock of log_alternate_epoch: 0, from 1970",
        |_, v| match v.whole(0, u64::MAX)? {
            0 => Ok(()),
            _ => Err("only clock 0 (CLOCK_REALTIME, from 1970) is there".into()),
        },
    ),
    option("log_entries", Form::Text("1024"), "room for log entries at the start; here logs grow as needed", |_, v| {
        v.whole(1024, 1 << 20).map(drop)
    }),
    option("per_job_logs", Form::Bool, "each clone has log files of its own", |o, v| {
        o.report.logs.per_job = v.flag()?;
        Ok(())
    }),
    option("bwavgtime", Form::Time, "the time over which bandwidth is averaged; bare: milliseconds", averaging),
    option("iopsavgtime", Form::Time, "the time over which IOPS are averaged; bare: milliseconds", averaging),
];

/// Both averages share one interval here: the shorter of the two.
fn averaging(o: &mut crate::options::Options, v: Value<'_>) -> Result<(), Rule> {
    let interval = v.span(Bare::Millis)?;
    if interval == block::Span::ZERO {
        return Err("must be above 0; the default is 500 ms".into());
    }
    o.report.logs.interval = o.report.logs.interval.min(interval);
    Ok(())
}
