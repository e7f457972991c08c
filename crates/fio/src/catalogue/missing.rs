//! What fio has and we do not, with the nearest that we have. Such an option is an error, never ignored: a run that does
//! something else than it was told to is worse than none.

/// Names that share an answer, and the answer.
pub(super) const OPTIONS: &[(&[&str], &str)] = &[
    (
        &["lockfile", "lockmem", "nice", "prio", "prioclass", "ioscheduler"],
        "start seawall under nice, ionice or prlimit, or set it in /sys/block",
    ),
    (&["unique_filename", "opendir"], "name the files with filename=a:b:c"),
    (&["ignore_error"], "the nearest is continue_on_error, by direction"),
    (&["error_dump"], "failures are counted by kind in every report"),
    (&["fill_device", "fill_fs"], "the nearest is size=100%, which fills a device exactly"),
    (&["file_append"], "the nearest is offset"),
    (&["write_barrier"], "the nearest is fdatasync"),
    (&["sync_file_range"], "the nearest is fdatasync"),
    (&["atomic"], "the nearest is sync=dsync with direct=1"),
    (&["create_on_open"], "all files are opened, and made, before the run"),
    (&["unlink_each_loop"], "the nearest is unlink, at the end"),
    (&["verify_offset"], "the header is always at the start of its interval"),
    (&["verify_backlog_batch"], "the nearest is verify_backlog, which checks as many as it waits for"),
    (
        &["experimental_verify", "verify_state_load"],
        "the nearest is verify_only, which needs no state of the earlier run",
    ),
    (&["verify_async_cpus"], "the thread that reads a block checks it, where cpus_allowed lets it run"),
    (&["trim_percentage", "trim_verify_zero", "trim_backlog", "trim_backlog_batch"], "the nearest is rw=trimwrite"),
    (
        &[
            "write_iolog",
            "read_iolog_chunked",
            "replay_skip",
            "merge_blktrace_file",
            "merge_blktrace_scalars",
            "merge_blktrace_iters",
        ],
        "the nearest is read_iolog, which reads a whole recording and runs all of it",
    ),
    (&["exec_prerun", "exec_postrun"], "run the program before or after seawall"),
    (
        &[
            "zonemode",
            "zonesize",
            "zonecapacity",
            "zonerange",
            "zoneskip",
            "read_beyond_wp",
            "max_open_zones",
            "job_max_open_zones",
            "ignore_zone_limits",
            "zone_reset_threshold",
            "zone_reset_frequency",
        ],
        "zoned devices are not known; for a part of a device use offset and size, for hot parts \
         random_distribution=zoned:…",
    ),
    (&["numa_cpu_nodes", "numa_mem_policy"], "the nearest is cpus_allowed, or start seawall under numactl"),
    (&["write_hint"], "there is no nearest one"),
    (&["hugepage-size"], "buffers are one mapping that the kernel may back with huge pages by itself"),
    (&["gtod_cpu"], "the clock is read once a batch, which needs no processor of its own"),
    (&["log_max_value"], "the nearest are percentiles, or a log of each request with log_avg_msec=0"),
    (
        &["log_compression", "log_compression_cpus", "log_store_compressed"],
        "logs are written as text; compress them afterwards",
    ),
    (&["log_alternate_epoch", "log_alternate_epoch_clock_id"], "the nearest is log_unix_epoch"),
    (&["block_error_percentiles"], "failures are counted by kind in every report"),
    (&["dedupe_working_set_percentage", "dedupe_global"], "the nearest is dedupe_percentage, which each job meets"),
    (&["profile"], "write the job out"),
    (&["rwmixcycle"], "fio dropped it too: each request of a mix is drawn, so leave it out"),
    (&["cgroup", "cgroup_weight", "cgroup_nodelete", "uid", "gid"], "start seawall in that group or as that user"),
    (&["flow", "flow_id", "flow_watermark", "flow_sleep"], "the nearest is rate_iops, which holds a share exactly"),
    (
        &["hipri", "sqthread_poll", "sqthread_poll_cpu", "uncached", "nowait", "force_async", "cmd_type"],
        "the ring is set up as the kernel serves it best; leave the option out",
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
