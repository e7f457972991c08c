//! Outputs for people and programs, compared as text in the repository; `INSTA_UPDATE=always`
//! rewrites them.

use crate::outcome::{outcomes, parsed};
use block::Span;
use fio::Invocation;
use fio::render::{Moment, Report};
use stats::{Direction, Track};

/// A mixed job with a rate, followed by a writer with flushes.
const LINE: &str = "--group_reporting --name=mix --rw=randrw --rwmixread=70 --bs=4k,8k --ioengine=io_uring --iodepth=4 \
                    --rate_iops=1000,500 --numjobs=2 --size=1g --directory=/data --runtime=2 --time_based --ramp_time=1 \
                    --name=log --stonewall --rw=write --bs=16k --size=64m --filename=/data/redo --fdatasync=1 \
                    --ioengine=sync --description=redo --continue_on_error=all --verify=crc32c --do_verify=0";

fn report<'r>(invocation: &'r Invocation, outcomes: &'r [stats::job::JobOutcome]) -> Report<'r> {
    // The version would change all snapshots with each release.
    Report {
        invocation,
        outcomes,
        moment: Moment { unix_ms: 1_795_303_069_994, ahead_s: 0 },
        host: "a-host",
        pid: 7,
        notes: &[],
        interim: &[],
        interrupted: false,
    }
}

fn settled(text: &str) -> String {
    text.replace(fio::render::VERSION, "fio-VERSION")
        .replace(concat!("\"", env!("CARGO_PKG_VERSION"), "\""), "\"VERSION\"")
}

#[test]
fn the_plan() {
    insta::assert_snapshot!(parsed(LINE).describe().join("\n"));
}

#[test]
fn json() {
    let invocation = parsed(LINE);
    insta::assert_snapshot!(settled(&report(&invocation, &outcomes(&invocation)).json()));
}

#[test]
fn normal() {
    let invocation = parsed(LINE);
    let outcomes = outcomes(&invocation);
    let report = report(&invocation, &outcomes);
    insta::assert_snapshot!(settled(&(report.opening() + &report.normal())));
}

#[test]
fn terse() {
    let invocation = parsed(LINE);
    insta::assert_snapshot!(settled(&report(&invocation, &outcomes(&invocation)).terse()));
}

/// A partial millisecond of measuring counts, as in fio, so that amounts can be divided by their
/// time.
#[test]
fn what_moved_took_a_millisecond_at_least() {
    let invocation = parsed("--name=j --rw=write --bs=4k --size=1m");
    let mut outcomes = outcomes(&invocation);
    outcomes[0].measured = Span::from_micros(90);
    outcomes[0].tape[Direction::Write].measured = Span::from_micros(90);
    let report = report(&invocation, &outcomes);
    let json: serde_json::Value = serde_json::from_str(&report.json()).unwrap();
    let job = &json["jobs"][0];
    assert_eq!((job["write"]["runtime"].as_u64(), job["job_runtime"].as_u64()), (Some(1), Some(1)), "{job}");
    let normal = report.normal();
    assert!(normal.contains("/1msec)") && normal.contains("run=1-1msec"), "{normal}");
    // Writes begin after five fields of the job and 41 of reads; this is their fourth.
    assert_eq!(report.terse().split(';').nth(5 + 41 + 3), Some("1"), "{}", report.terse());
}

/// All directions combined, in their place or after them. The bytes of both are where fio has them,
/// and those of each direction are unchanged.
#[test]
fn directions_as_one() {
    let line = "--name=j --rw=rw --bs=4k --ioengine=io_uring --size=1g";
    let outputs = |unified: &str| {
        let invocation = parsed(&format!("{line} --unified_rw_reporting={unified}"));
        let outcomes = outcomes(&invocation);
        let report = report(&invocation, &outcomes);
        let terse: Vec<String> = report.terse().trim().split(';').map(str::to_owned).collect();
        let normal = report.normal();
        let issued = normal.lines().find(|line| line.contains("issued rwts")).unwrap();
        let issued = issued.split_once("total=").unwrap().1.split(' ').next().unwrap().to_owned();
        (terse, issued)
    };
    // 2000 requests of 4 KiB in each direction.
    let (none, issued) = outputs("none");
    assert_eq!((none[5].as_str(), none[46].as_str(), issued.as_str()), ("8000", "8000", "2000,2000,0,0"));
    let (both, issued) = outputs("both");
    assert_eq!([&both[5], &both[46], &both[87]], ["8000", "8000", "16000"]);
    assert_eq!((both.len(), issued.as_str()), (none.len() + 41, "2000,2000,0,0"));
    let (mixed, issued) = outputs("mixed");
    assert_eq!((mixed[5].as_str(), mixed.len(), issued.as_str()), ("16000", none.len() - 41, "4000,0,0,0"));
}

#[test]
fn logs() {
    let line = "--name=j --rw=rw --ioengine=io_uring --size=1m --write_bw_log=b --write_lat_log=l --write_iops_log --log_offset=1";
    let each = parsed(line);
    let averaged = parsed(&format!("{line} --log_avg_msec=1000 --per_job_logs=0 --numjobs=2"));
    let mut text = String::new();
    for invocation in [each, averaged] {
        let outcomes = outcomes(&invocation);
        for file in report(&invocation, &outcomes).logs(Moment::default()) {
            text += &format!("{}\n{}\n", file.path, file.text);
        }
    }
    insta::assert_snapshot!(text);
}

#[test]
fn plans_of_many_kinds() {
    let lines = [
        "--name=a --rw=randread:8 --norandommap --bsrange=4k-64k --size=50% --filename=/dev/x --offset=20% --direct=1",
        "--name=b --rw=write:4k --bssplit=4k/60:64k/40 --filesize=1m-4m --nrfiles=3 --loops=2 --fsync=32 --sync=dsync",
        "--name=c --rw=read --size=1m --ioengine=null --rate=1m,500k --rate_process=poisson --thinktime=5ms --thinktime_blocks=8",
        "--name=d --rw=randrw --ioengine=nbd --uri=nbd://h/x --latency_target=2ms --latency_window=5s --latency_percentile=99 --iodepth=64 --random_distribution=zipf:1.2",
        "--name=e --rw=read:-8k --size=1g --io_size=4g --number_ios=99 --startdelay=1s-5s --max_latency=1s --runtime=90 --verify=xxhash --verify_only",
        "--name=f --rw=randread --percentage_random=50 --size=4m --filesize=1m --thinktime=2ms --thinktime_spin=1ms --thinktime_iotime=100ms",
        "--name=f --rw=randrw --percentage_random=50,80 --filesize=1m --offset=256k",
        "--name=f --rw=trimwrite --size=1g --steadystate=snia_iops --ss_dur=300",
    ];
    let plans: Vec<String> = lines.iter().flat_map(|line| parsed(line).describe()).collect();
    insta::assert_snapshot!(plans.join("\n"));
    assert_eq!(Span::from_secs(90).spoken(), "1 min 30 s");
}

/// fio's line for `steadystate`: rounds of 900 and 1100 differ from their mean by 10 % and rise by
/// 200. fio prints the slope only if the rule uses it.
#[test]
fn steadiness_is_told_as_in_fio() {
    for (rule, criterion, slope) in [
        ("iops:50%", "iops mean dev=10.000%", 0.0),
        ("iops:150", "iops mean dev=100.000", 0.0),
        ("iops_slope:30%", "iops slope=20.000%", 200.0),
        ("iops_slope:250", "iops slope=200.000", 200.0),
    ] {
        let invocation = parsed(&format!("--name=g --rw=randread --size=1m --ss={rule} --ss_dur=2"));
        let outcomes = outcomes(&invocation);
        let text = report(&invocation, &outcomes).normal();
        let line = text.lines().find(|line| line.contains("steadystate")).unwrap();
        assert!(line.starts_with("  steadystate  : attained=yes, bw="), "{line}");
        assert!(line.ends_with(&format!(", iops=1000, {criterion}")), "{line}");
        assert!(text.contains("  seawall      : steady: a rule"), "{text}");
        let json: serde_json::Value = serde_json::from_str(&report(&invocation, &outcomes).json()).unwrap();
        assert_eq!(json["jobs"][0]["steadystate"]["slope"].as_f64(), Some(slope), "{rule}");
    }
}

/// What fio-plot 1.2 looks up in a report, and what a script that reads percentiles uses. fio-plot
/// itself draws seawall's reports and logs; it needs the four options among the job's own.
#[test]
fn what_fio_plot_looks_up_is_there() {
    let line = "--name=iops --rw=randread --bs=4k --iodepth=4 --numjobs=2 --ioengine=io_uring --size=1m --group_reporting \
                --steadystate=snia_iops --ss_dur=5";
    let invocation = parsed(line);
    let report: serde_json::Value = serde_json::from_str(&report(&invocation, &outcomes(&invocation)).json()).unwrap();
    let job = &report["jobs"][0];
    assert!(report["fio version"].as_str().unwrap().starts_with("fio-3."));
    for (option, value) in [("iodepth", "4"), ("numjobs", "2"), ("bs", "4k"), ("rw", "randread")] {
        assert_eq!(job["job options"][option], value);
    }
    for path in [
        "/read/bw",
        "/read/iops",
        "/read/iops_stddev",
        "/read/lat_ns/mean",
        "/read/lat_ns/stddev",
        "/usr_cpu",
        "/sys_cpu",
        "/latency_ns/1000",
        "/latency_us/1000",
        "/latency_ms/>=2000",
        "/steadystate/attained",
        "/steadystate/data/bw_mean",
        "/steadystate/data/iops_mean",
        "/read/clat_ns/percentile/99.000000",
    ] {
        assert!(job.pointer(path).is_some_and(serde_json::Value::is_number), "{path}");
    }
}

/// Percentiles of a report are within 1 % of the true ones from 100 ns to 100 s. The values are
/// spread evenly over nine decades, so the p-th percentile is 100 ns × 10^(9p).
#[test]
fn percentiles_are_true_from_a_hundred_nanoseconds_to_a_hundred_seconds() {
    const VALUES: u32 = 200_000;
    let invocation =
        parsed("--name=p --rw=randread --ioengine=null --size=1m --lat_percentiles=1 --slat_percentiles=1");
    let mut outcomes = outcomes(&invocation);
    let figures = &mut outcomes[0].tape[Direction::Read];
    *figures = Track { ops: VALUES.into(), ..Track::new(figures.class.clone()) };
    let value = |part: f64| 100.0 * 10f64.powf(9.0 * part);
    for number in 1..=VALUES {
        let ns = value(f64::from(number) / f64::from(VALUES)) as u64;
        for each in [&mut figures.submission, &mut figures.service, &mut figures.response] {
            each.record(Span::from_nanos(ns));
        }
    }
    let json: serde_json::Value = serde_json::from_str(&report(&invocation, &outcomes).json()).unwrap();
    for kind in ["slat_ns", "clat_ns", "lat_ns"] {
        let percentiles = json["jobs"][0]["read"][kind]["percentile"].as_object().unwrap();
        assert_eq!(percentiles.len(), 17, "{kind}");
        for (percent, found) in percentiles {
            let (found, truth) = (found.as_f64().unwrap(), value(percent.parse::<f64>().unwrap() / 100.0));
            assert!((found / truth - 1.0).abs() < 0.01, "{kind} {percent}: {found} for {truth}");
        }
    }
}
