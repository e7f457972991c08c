//! Job files and command lines that are nearly right: the parser never panics, and whatever it
//! accepts can be described, unfolded, printed and rendered.

use fio::render::{Moment, Report};
use fio::{Given, Invocation};
use proptest::prelude::*;

/// Realistic job files, which are also the fuzzer's seeds.
const SEEDS: [&str; 7] = [
    "[global]\nioengine=libaio\ndirect=1\nsize=1g\nruntime=60\ntime_based\ngroup_reporting\n[randread]\nrw=randread\nbs=4k\niodepth=32\nnumjobs=4\n[seqwrite]\nstonewall\nrw=write\nbs=1m\nrate=100m,50m\n",
    "; comment\n[a]\nfilename=/dev/x:/dev/y\\:z\nrw=randrw:8\nrwmixread=70\nbssplit=4k/60:64k/40,8k/50:16k/\nrandom_distribution=zoned:60/10:30/20:8/30:2/40\nsize=50%\noffset=20%\n",
    "[v]\nsize=8*$mb_memory\nverify=crc32c\nverify_pattern=0xdeadbeef%o\"abc\"\nverify_backlog=1024\nloops=3\nstartdelay=1s-5s\nthinktime=10ms\nthinktime_blocks=4\n",
    "[l]\nioengine=null\nsize=(4*1g)\nrate_iops=1000,,500\nrate_process=poisson\nlatency_target=2ms\nlatency_window=5s\nlatency_percentile=99.9\nsteadystate=iops_slope:0.3%\nss_dur=30s\npercentile_list=50:99:99.9\n",
    "[n]\nioengine=nbd\nuri=nbd://h/x\nbsrange=1k-16k,4k-64k\nwrite_bw_log=x\nwrite_lat_log\nlog_avg_msec=500\nwrite_hist_log=h\nlog_hist_msec=1000\nlog_hist_coarseness=3\ncontinue_on_error=all\n",
    "[z]\nrw=write\nsize=64m\nzonemode=strided\nzonesize=16k\nzonerange=64k\nzoneskip=1m\nverify=xxhash\nverify_offset=1024\nverify_backlog=64\nverify_backlog_batch=16\ntrim_percentage=20\ntrim_verify_zero=1\nignore_error=EIO,ENOSPC:28\ndedupe_percentage=30\ndedupe_mode=working_set\ndedupe_global=1\nexitall\nexit_what=stonewall\nwrite_iolog=trace\nreplay_skip=write,sync\nnice=5\nprioclass=2\n",
    "[i]\ninclude inc.fio\nsize=${SIZE}\ncpus_allowed=0-1,3\nunified_rw_reporting=mixed\nkb_base=1000\nfilesize=4m-16m\nnrfiles=3\nfile_service_type=zipf:1.2:4\n",
];

/// Fragments that are inserted in wrong places.
const PIECES: [&str; 24] = [
    "=",
    ":",
    ",",
    "/",
    "%",
    "\n",
    "[",
    "]",
    "(",
    ")",
    "${",
    "}",
    "$ncpus",
    "include inc.fio",
    "-1",
    "99999999999999999999",
    "1.5M",
    "0x",
    "\u{0}",
    "é",
    "[global]\n",
    "numjobs=70000\n",
    "bs=0\n",
    "rw=\n",
];

fn mutated() -> impl Strategy<Value = String> {
    let edit = (any::<prop::sample::Index>(), 0usize..6, prop::sample::select(&PIECES[..]));
    (prop::sample::select(&SEEDS[..]), prop::collection::vec(edit, 0..5)).prop_map(|(seed, edits)| {
        let mut chars: Vec<char> = seed.chars().collect();
        for (at, cut, piece) in edits {
            let at = at.index(chars.len() + 1);
            let end = (at + cut).min(chars.len());
            chars.splice(at..end, piece.chars());
        }
        chars.into_iter().collect()
    })
}

fn world(text: &str) -> Given {
    let world = Given::default().with_text("a.fio", text).with_text("inc.fio", "rw=write\nbs=8k\n");
    world.with_variable("SIZE", "4m").with_file("/dev/x", 1 << 30)
}

/// Does everything that can be done with an accepted command line.
fn use_all(invocation: &Invocation) {
    assert!(!invocation.command().is_empty());
    let _ = invocation.describe();
    if invocation.jobs.iter().all(|job| job.spec().is_ok()) && invocation.jobs.len() <= 8 {
        let outcomes = crate::outcome::outcomes(invocation);
        let moment = Moment::default();
        let report = Report {
            invocation,
            outcomes: &outcomes,
            moment,
            host: "h",
            pid: 1,
            notes: &[],
            interim: &[],
            interrupted: false,
        };
        let json: serde_json::Value = serde_json::from_str(&report.json_plus()).unwrap();
        assert_eq!(json["jobs"].as_array().unwrap().len(), invocation.entries().len());
        assert_eq!(report.terse().lines().count(), invocation.entries().len());
        assert!(report.normal().ends_with('\n'));
        assert!(report.logs(moment).iter().all(|file| !file.path.is_empty()));
    }
}

#[test]
fn the_seeds_are_right() {
    for seed in SEEDS {
        let arguments = ["a.fio".to_owned()];
        match Invocation::parse(&arguments, &world(seed)) {
            Ok(invocation) => use_all(&invocation),
            // The files of /dev/y:z do not exist, and a percentage of a missing file is unknown.
            Err(error) => panic!("{error}\n{seed}"),
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    /// An error has a position; an accepted input can be used.
    #[test]
    fn nearly_right_job_files(text in mutated(), strict in any::<bool>()) {
        let mut arguments = vec!["a.fio".to_owned()];
        if strict {
            arguments.push("--strict-fio".into());
        }
        match Invocation::parse(&arguments, &world(&text)) {
            Ok(invocation) => use_all(&invocation),
            Err(error) => prop_assert!(!error.to_string().contains('\n') || text.contains('\n'), "{}", error),
        }
    }

    /// Words of job files as words of a command line.
    #[test]
    fn nearly_right_command_lines(text in mutated()) {
        let words: Vec<String> = text.lines().map(|line| match line.strip_prefix('[') {
            Some(name) => format!("--name={}", name.trim_end_matches(']')),
            None => format!("--{line}"),
        }).collect();
        if let Ok(invocation) = Invocation::parse(&words, &world("[x]\nsize=1m\n")) {
            use_all(&invocation);
        }
    }
}
