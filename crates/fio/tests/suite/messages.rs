//! Messages about wrong input: file, line, section, option, value, rule, and what to write instead.

use crate::outcome::words;
use fio::{Given, Invocation};

fn file_error(file: &str) -> String {
    let world = Given { missing_folders: vec!["/dta".into()], ..Given::default() }.with_text("jobs/a.fio", file);
    Invocation::parse(&words("jobs/a.fio"), &world).unwrap_err().to_string()
}

fn line_error(line: &str) -> String {
    Invocation::parse(&words(line), &Given::default()).unwrap_err().to_string()
}

#[test]
fn job_files() {
    for (file, message) in [
        (
            "[global]\nsize=1m\n[seq]\nbs=1.5M\n",
            "jobs/a.fio:4 [seq]: bs=1.5M: fio reads this as 1; write 1536k (--strict-fio copies fio)",
        ),
        (
            "[a]\nsize=4MiB\n",
            "jobs/a.fio:2 [a]: size=4MiB: fio reads this as 4000000 bytes unless kb_base=1000; write 4m for 4194304, or set \
             kb_base=1000 (--strict-fio copies fio)",
        ),
        ("[a]\nsize=1m\niodepht=4\n", "jobs/a.fio:3 [a]: no option \"iodepht\"; the nearest is \"iodepth\""),
        ("[a]\nsize=1m\nfoo\n", "jobs/a.fio:3 [a]: no option \"foo\""),
        (
            "[a]\nsize=1m\nzonemode=zbd\n",
            "jobs/a.fio:3 [a]: zonemode=zbd: zoned devices are not known; strided uses any device piece by piece",
        ),
        (
            "[a]\nsize=1m\nramp_size=1g\n",
            "jobs/a.fio:3 [a]: ramp_size: fio has this option and seawall does not; the nearest is ramp_time",
        ),
        (
            "[a]\nsize=1m\nzonesize=64k\n",
            "jobs/a.fio:1 [a]: has zonesize, zonerange or zoneskip without zonemode=strided, which they belong to",
        ),
        (
            "[a]\nsize=1m\ncpus_allowed=0,4\n",
            "jobs/a.fio:1 [a]: cpus_allowed: there is no processor 4, the last is 3; leave it out of the list",
        ),
        (
            "[a]\nrw=randwrite\nfill_device=1\n",
            "jobs/a.fio:1 [a]: fill_device without size=… goes on until there is no space left, in order; it needs \
             rw=write, or rw=read of what was filled before",
        ),
        (
            "[a]\nsize=1m\nignore_error=EI0\n",
            "jobs/a.fio:3 [a]: ignore_error=EI0: must be one of EPERM, EIO, ENOMEM, EACCES, ENODEV, EINVAL, EFBIG, ENOSPC, \
             EROFS, ETIME, EILSEQ, EOPNOTSUPP; did you mean EIO?",
        ),
        ("[a]\nsize=1m\niodepth=0\n", "jobs/a.fio:3 [a]: iodepth=0: must be between 1 and 65536"),
        (
            "[a]\nsize=1m\nrw=randrea\n",
            "jobs/a.fio:3 [a]: rw=randrea: must be one of read, write, trim, randread, randwrite, randtrim, rw, readwrite, randrw, randreadwrite, trimwrite, randtrimwrite; did you mean randread?",
        ),
        ("[a]\nsize=1m\nbs=\n", "jobs/a.fio:3 [a]: bs: needs a value, as in bs=4k"),
        (
            "[a]\nsize=1m\nbs=${NOT_SET}\n",
            "jobs/a.fio:3 [a]: bs: needs a value, and ${NOT_SET} is not set; set it in the environment, as in NOT_SET=4k",
        ),
        (
            "[a]\nsize=1m\ncpuload=50\n",
            "jobs/a.fio:3 [a]: cpuload: fio has this option and seawall does not; ioengine=cpuio is not there: it does not \
             measure storage",
        ),
        (
            "[a]\nsize=1m\nruntime=5min\n",
            "jobs/a.fio:3 [a]: runtime=5min: fio reads this as 5 s; write 5m (--strict-fio copies fio)",
        ),
        (
            "[a]\nsize=1m\nrate=1m\nrate_iops=100\n",
            "jobs/a.fio:1 [a]: has rate=1 MiB and rate_iops=100 for the same direction; only one of them can set the pace",
        ),
        (
            "[a]\nsize=1m\nioengine=rbd\n",
            "jobs/a.fio:3 [a]: ioengine=rbd: fio has this engine and seawall does not; the nearest is nbd, on an export of it",
        ),
        (
            "[a]\nsize=1m\nioengine=nul\n",
            "jobs/a.fio:3 [a]: ioengine=nul: must be one of psync, sync, pvsync, pvsync2, vsync, mmap, falloc, io_uring, libaio, posixaio, aio, null, nbd, nfs, joined; did you mean null?",
        ),
        (
            "[a]\nsize=1m\nnuma_mem_policy=prefer:0,1\n",
            "jobs/a.fio:3 [a]: numa_mem_policy=prefer:0,1: prefer takes one node, as in prefer:0",
        ),
        ("[a]\nsize=1m\nnumjobs=5000\n", "jobs/a.fio:1 [a]: jobs: 5000 is more than the limit of 4096"),
        (
            "[a]\nsize=1m\nlatency_target=1ms\n",
            "jobs/a.fio:1 [a]: latency_target needs latency_window=…, the time for which each depth is tried",
        ),
        (
            "[global]\nsize=1m\n[a]\n[b]\nwait_for=b\n",
            "jobs/a.fio:4 [b]: wait_for=b: a job cannot wait for itself; name an earlier job",
        ),
        (
            "[global]\nsize=1m\n[reader]\nwait_for=writer\n[writer]\nwait_for=reader\n",
            "jobs/a.fio:3 [reader]: wait_for=writer: no earlier job has that name",
        ),
        (
            "[global]\nsize=1m\n[writer]\n[b]\nwait_for=writter\n",
            "jobs/a.fio:4 [b]: wait_for=writter: no earlier job has that name; did you mean writer?",
        ),
        (
            "[global]\nsize=1m\n[a]\nnumjobs=3\n[a]\n[b]\nwait_for=a\n",
            "jobs/a.fio:6 [b]: wait_for=a: 2 jobs have that name; give each its own",
        ),
        (
            "[a]\nsize=1m\ndirectory=/data:/dta\n",
            "jobs/a.fio:1 [a]: directory=/dta: there is no such folder; make it, or name another",
        ),
        (
            "[a]\nsize=1m\nioengine=falloc\nverify=md5\n",
            "jobs/a.fio:1 [a]: has verify with ioengine=falloc, which writes no data that could be checked",
        ),
        ("[a]\nioengine=null\n", "jobs/a.fio:1 [a]: needs size=…, which the null engine has no file to take it from"),
        ("rw=read\n", "jobs/a.fio:1: \"rw=read\" is before the first [section]; put [global] or [a-name] above it"),
    ] {
        assert_eq!(file_error(file), message);
    }
}

#[test]
fn a_job_that_is_not_chosen_is_not_waited_for() {
    let world = Given::default().with_text("jobs/a.fio", "[global]\nsize=1m\n[x]\nname=a\n[b]\nwait_for=a\n");
    let parsed = |line: &str| Invocation::parse(&words(line), &world);
    assert_eq!(
        parsed("jobs/a.fio --section=b").unwrap_err().to_string(),
        "jobs/a.fio:5 [b]: wait_for=a: --section leaves that job out; choose it too, or drop wait_for"
    );
    assert!(parsed("jobs/a.fio --section=b --section=x").is_ok());
}

/// Whatever changes what is run is in the plan.
#[test]
fn the_plan_says_what_changes_the_run() {
    for (line, part) in [
        ("--name=a --size=1m --name=b --size=1m --wait_for=a", "until its size is done, starts when a has ended"),
        ("--name=a --size=1m --number_ios=7", "at most 7 requests"),
        ("--name=a --size=1m --number_ios=7 --loops=2", "at most 7 requests a pass, 2 times"),
        ("--name=a --size=1m --number_ios=7 --runtime=1 --time_based", "runtime 1 s, at most 7 requests a pass"),
        (
            "--name=a --read_iolog=- --replay_scale=2 --replay_align=4k --replay_skip=write,sync --replay_redirect=f",
            "the recording on the standard input again, at its own times, its offsets divided by 2, its offsets \
             rounded down to a multiple of 4 KiB, without its writes and flushes, all of it on f; 1 in flight (psync)",
        ),
    ] {
        let invocation = Invocation::parse(&words(line), &Given::default()).unwrap();
        let phrases = invocation.describe();
        assert!(phrases.last().unwrap().ends_with(part), "{phrases:?}");
    }
}

#[test]
fn command_lines() {
    for (line, message) in [
        ("", "command line: no job: name a job file, or give --name=NAME with its options"),
        ("--name=a --size=1m --bogus", "command line [a]: no option \"bogus\""),
        ("--name=a --size=1m --redonly", "command line [a]: no option \"redonly\"; the nearest is \"--readonly\""),
        ("--readonly --name=a --size=1m --rw=write", "command line [a]: writes, and --readonly was given"),
        (
            "--name=a --size=1m --ioengine=nbd",
            "command line [a]: ioengine=nbd needs uri=…, as in uri=nbd+unix:///disk?socket=pool.sock",
        ),
        ("none.fio", "command line: cannot read none.fio: entity not found"),
        ("--name=a --size=1m --section=b", "command line: --section=b: no such section; there are none"),
        (
            "--client=host --name=a",
            "command line: --client: fio has this option and seawall does not; the nearest is to run seawall on each host",
        ),
    ] {
        assert_eq!(line_error(line), message);
    }
}

/// A block larger than its job's size is an error before anything runs.
#[test]
fn blocks_that_do_not_fit() {
    let invocation = crate::outcome::parsed("--name=a --size=4k --bs=8k");
    let error = invocation.jobs[0].spec().unwrap_err();
    assert_eq!(error.to_string(), "command line [a]: has blocks of 8 KiB in a size of 4 KiB; no block fits");
}
