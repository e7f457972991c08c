//! What fio has and we do not, with the nearest that we have. Such an option is an error, never
//! ignored: a run that does something else than it was told to is worse than none.

/// Names that share an answer, and the answer.
pub(super) const OPTIONS: &[(&[&str], &str)] = &[
    (&["lockmem", "ioscheduler"], "start seawall under prlimit, or set it in /sys/block"),
    (&["opendir"], "name the files with filename=a:b:c"),
    (&["write_barrier"], "the nearest is fdatasync"),
    (&["sync_file_range"], "the nearest is fdatasync"),
    (&["atomic"], "the nearest is sync=dsync with direct=1"),
    (&["experimental_verify"], "the nearest is verify_only, which makes the earlier run's requests again"),
    (&["verify_async_cpus"], "the thread that reads a block checks it, where cpus_allowed lets it run"),
    (
        &["merge_blktrace_file", "merge_blktrace_scalars", "merge_blktrace_iters"],
        "the nearest are several jobs, each with its own read_iolog",
    ),
    (
        &[
            "zonecapacity",
            "read_beyond_wp",
            "max_open_zones",
            "job_max_open_zones",
            "ignore_zone_limits",
            "zone_reset_threshold",
            "zone_reset_frequency",
        ],
        "zoned devices are not known; zonemode=strided uses any device piece by piece",
    ),
    (&["write_hint"], "there is no nearest one"),
    (&["hugepage-size"], "buffers are one mapping that the kernel may back with huge pages by itself"),
    (&["gtod_cpu"], "the clock is read once a batch, which needs no processor of its own"),
    (&["log_window_value"], "a row of a log is an average; the nearest is log_avg_msec"),
    (
        &["log_issue_time", "job_start_clock_id"],
        "times of logs count from the start of measuring, or with log_unix_epoch from 1970",
    ),
    (&["thinkcycles"], "the nearest is thinktime_spin"),
    (&["num_range"], "a trim has one range"),
    (&["ramp_size"], "the nearest is ramp_time"),
    (
        &["verify_header_seed", "verify_write_sequence"],
        "headers are always checked, with a job's generation in place of a seed",
    ),
    (&["write_mode", "readfua", "writefua"], "the nearest is sync=dsync"),
    (&["sprandom", "sprandom_op", "spr_op"], "fill the device with rw=randwrite first"),
    (&["filetype"], "what a path is is found by looking at it"),
    (&["ioengine_so_path"], "engines cannot be loaded"),
    (
        &["log_compression", "log_compression_cpus", "log_store_compressed"],
        "logs are written as text; compress them afterwards",
    ),
    (&["block_error_percentiles"], "failures are counted by kind in every report"),
    (&["profile"], "write the job out"),
    (&["rwmixcycle"], "fio dropped it too: each request of a mix is drawn, so leave it out"),
    (&["cgroup", "cgroup_weight", "cgroup_nodelete", "uid", "gid"], "start seawall in that group or as that user"),
    (
        &["hipri", "uncached", "nowait", "force_async", "cmd_type"],
        "the nearest is sqthread_poll; without it the ring is set up as the kernel serves it best",
    ),
    (
        &["cmdprio", "cmdprio_class", "cmdprio_percentage", "cmdprio_split", "cmdprio_bssplit", "userspace_reap"],
        "requests have no priorities of their own",
    ),
    (&["ss_check_interval", "steadystate_check_interval"], "figures are taken every second"),
    (&["hostname", "port", "protocol", "listen", "pingpong"], "the network engines are not there"),
    (
        &["clientname", "pool", "rbdname", "cluster"],
        "the nearest is ioengine=nbd with uri=…, on an export of the image",
    ),
    (&["fdp", "fdp_pli", "dataplacement", "plids"], "data placement is not there"),
];
