//! The command lines of two published documents, verbatim except for the path: a workshop on a
//! cloud file system (eight calls of the same form) and a set-up for quality of service (two).

use crate::outcome::{parsed, words};
use block::{Bytes, Span};
use fio::{Given, Invocation, Job};
use stats::Direction;
use workload::job::{Amount, BlockSizes, EngineKind, JobPlace, Mix, Order};

const WORKSHOP: [(&str, &str, &str, u64, u32); 8] = [
    ("1M-write", "write", "1M", 16 << 20, 1 << 20),
    ("1M-write", "read", "1M", 16 << 20, 1 << 20),
    ("1M-write", "write", "1M", 16 << 30, 1 << 20),
    ("1M-write", "read", "1M", 16 << 30, 1 << 20),
    ("4KB-write", "write", "4K", 16 << 30, 4096),
    ("4KB-write", "read", "4K", 16 << 30, 4096),
    ("4KB-write", "write", "4K", 16 << 30, 4096),
    ("4KB-write", "read", "4K", 16 << 30, 4096),
];

fn files(job: &Job) -> Vec<String> {
    match job.spec().unwrap().place {
        JobPlace::Files(files) => files.iter().map(|file| file.path.display().to_string()).collect(),
        other => panic!("{other:?}"),
    }
}

#[test]
fn the_workshops_eight_lines() {
    for (name, rw, bs, size, block) in WORKSHOP {
        let short = if size == 16 << 20 { "16M" } else { "16G" };
        let line = format!(
            "--name={name} --rw={rw} --time_based --bs={bs} --ioengine=libaio --numjobs=2 --direct=1 --iodepth=64 \
             --offset=0 --size={short} --directory=/fsx --group_reporting --runtime 60"
        );
        let invocation = parsed(&line);
        assert_eq!(invocation.jobs.len(), 2);
        assert_eq!(invocation.entries(), [vec![0, 1]]);
        for (number, job) in invocation.jobs.iter().enumerate() {
            let spec = job.spec().unwrap();
            assert_eq!(files(job), [format!("/fsx/{name}.{number}.0")]);
            let JobPlace::Files(regions) = &spec.place else { panic!("{:?}", spec.place) };
            // Each clone has the whole size.
            assert_eq!(regions[0].size, Some(Amount::Bytes(Bytes(size))));
            let direction = if rw == "read" { Direction::Read } else { Direction::Write };
            assert_eq!((spec.reach.mix, spec.reach.order), (Mix::Only(direction), Order::Sequential { hole: 0 }));
            assert_eq!(spec.reach.blocks[direction], BlockSizes::Fixed(block));
            assert_eq!((spec.pacing.depth, spec.direct, spec.engine), (64, true, EngineKind::Uring));
            assert_eq!((spec.ending.runtime, spec.ending.time_based), (Some(Span::from_secs(60)), true));
        }
        let note = format!("{name}: ioengine=libaio: io_uring in its place, with the same depth");
        assert_eq!(invocation.notes, [note]);
    }
}

const QOS: &str = "--name=IOPS-test-job --filename=/mnt/vol1/fiofile --size=16GB --direct=1 --rw=randrw --bs=4k \
                   --ioengine=libaio --iodepth=256 --runtime=120000 --numjobs=32 --time_based --group_reporting \
                   --name=IOPS-test-job --eta-newline=1";

/// The second `--name` opens an empty job, which is left out and reported; the first one runs.
#[test]
fn a_second_name_leaves_an_empty_job_out_and_says_what_was_meant() {
    let invocation = parsed(QOS);
    assert_eq!(invocation.jobs.len(), 32);
    assert_eq!(invocation.left_out.len(), 1);
    let note = invocation.notes.last().unwrap();
    assert!(note.contains("IOPS-test-job: every --name opens a new job"), "{note}");
    assert!(note.contains("one --name, before all options"), "{note}");
    assert_eq!(invocation.flags.eta_newline, Some(Span::SECOND));
    for job in &invocation.jobs {
        assert_eq!(files(job), ["/mnt/vol1/fiofile"]);
        let spec = job.spec().unwrap();
        assert_eq!((spec.reach.mix, spec.reach.order), (Mix::ReadWrite { read_percent: 50 }, Order::RANDOM));
        assert_eq!(spec.pacing.depth, 256);
    }
    let plan = invocation.describe();
    assert_eq!(plan.len(), 1);
    // 32 · 256 requests; 120 000 s = 33 · 3600 s + 20 · 60 s.
    for part in [
        "32 clones",
        "8192 in all",
        "runtime 33 h 20 min",
        "16 GiB",
        "reads and writes, 50 : 50",
        "shared by all clones",
    ] {
        assert!(plan[0].contains(part), "{part}: {}", plan[0]);
    }
    // fio fails the second job and exits with 1. Strict mode does the same and therefore lists the
    // job there, too.
    let strict = parsed(&format!("--strict-fio {QOS}"));
    assert_eq!((strict.jobs.len(), strict.left_out[0].why.as_str()), (32, "you need to specify size="));
}

/// The same options before the only `--name` are defaults, and nothing is left out.
#[test]
fn options_in_front_of_the_only_name_are_defaults() {
    let invocation =
        parsed("--filename=/f --size=16GB --rw=randrw --iodepth=256 --ioengine=libaio --name=IOPS-test-job");
    assert_eq!((invocation.jobs.len(), invocation.left_out.len()), (1, 0));
    let global: Vec<&str> = invocation.global.iter().flatten().map(|(name, _)| name.as_str()).collect();
    assert_eq!(global, ["filename", "size", "rw", "iodepth", "ioengine"]);
    assert_eq!(invocation.jobs[0].given, [("name".to_owned(), "IOPS-test-job".to_owned())]);
    assert_eq!(invocation.jobs[0].options.pace.depth, 256);
}

/// Otherwise a forgotten size is an error before anything runs. An existing file has its own size.
#[test]
fn a_forgotten_size_is_an_error() {
    let wrong = Invocation::parse(&words("--name=a --rw=read --filename=/f"), &Given::default()).unwrap_err();
    assert_eq!(
        wrong.to_string(),
        "command line [a]: needs size=…, because not all of its files are there to take it from"
    );
    let there = Given::default().with_file("/f", 1 << 20);
    assert_eq!(Invocation::parse(&words("--name=a --rw=read --filename=/f"), &there).unwrap().jobs.len(), 1);
}
