//! Every option of a job after its values were read: what fio calls `thread_options`.
//!
//! A section starts from a copy of what the global sections above it set. Values that depend on each other (a block
//! size and a split, a size and a number of files) stay apart here; [`crate::Job::spec`] joins them.

use crate::dialect::KbBase;
use crate::percentile::PercentileList;
use crate::trace::Playing;
use block::Span;
use stats::{Direction, PerDirection};
use workload::job::{
    Amount, Content, Distribution, Ending, Ends, FileLock, FileOrder, Flushes, Forgive, Hash, LatencySearch, Layout,
    Numa, Pattern, Think, TrimChecks, WriteSync,
};

/// One value for reads, writes and trims each, where one was given.
pub type Triple<T> = PerDirection<Option<T>>;

/// The options of one job, defaults as fio has them.
#[derive(Clone, Debug, PartialEq)]
pub struct Options {
    /// `name`: replaces the section's name.
    pub name: Option<String>,
    /// `description`.
    pub description: Option<String>,
    /// What units mean.
    pub kb_base: KbBase,
    /// `unit_base=1`: rates in the normal output count bits.
    pub bits: bool,
    /// What it talks to.
    pub target: TargetOptions,
    /// What it asks.
    pub pattern: PatternOptions,
    /// When it asks.
    pub pace: PaceOptions,
    /// What it writes and checks.
    pub data: DataOptions,
    /// When it starts and ends, and where.
    pub course: CourseOptions,
    /// What it reports.
    pub report: ReportOptions,
    /// What the user should know of options that do less, or something else, than in fio. One line each.
    pub notes: Vec<String>,
}

/// Files, devices, and how they are used.
#[derive(Clone, Debug, PartialEq)]
pub struct TargetOptions {
    /// `filename`, with its colons.
    pub filename: Option<String>,
    /// `directory`, with its colons.
    pub directory: Option<String>,
    /// `filename_format`.
    pub filename_format: String,
    /// `nrfiles`.
    pub nrfiles: u32,
    /// `file_service_type`.
    pub order: FileOrder,
    /// `ioengine`.
    pub engine: Engine,
    /// `ioengine` as typed.
    pub engine_name: String,
    /// `uri` of an NBD export.
    pub uri: Option<String>,
    /// `read_iolog`: the recording that is run again.
    pub read_iolog: Option<String>,
    /// `write_iolog`: where what is asked is recorded.
    pub write_iolog: Option<String>,
    /// `replay_redirect`: all of the recording goes there.
    pub replay_redirect: Option<String>,
    /// How the recording is played.
    pub playing: Playing,
    /// `direct`.
    pub direct: bool,
    /// `sync`.
    pub write_sync: WriteSync,
    /// `lockfile`.
    pub lock: FileLock,
    /// How files are made.
    pub layout: Layout,
    /// `size`.
    pub size: Option<Amount>,
    /// `filesize`: least and most.
    pub filesize: Option<(u64, u64)>,
    /// `offset`.
    pub offset: Amount,
    /// `offset_increment`.
    pub offset_increment: Amount,
    /// `offset_align`.
    pub offset_align: u64,
}

/// The engines, after what fio's many names come to here.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Engine {
    /// Plain system calls.
    #[default]
    Sync,
    /// Plain system calls that take space and give it back, and move nothing.
    Space,
    /// io_uring.
    Uring,
    /// An NBD export.
    Nbd,
    /// Nothing at all.
    Null,
}

/// Directions, order, sizes.
#[derive(Clone, Debug, PartialEq)]
pub struct PatternOptions {
    /// `rw`.
    pub kind: Kind,
    /// What stands behind the colon of `rw`, as a number of bytes or requests.
    pub more: Option<i64>,
    /// `rw_sequencer=identical`.
    pub identical: bool,
    /// `rwmixread`.
    pub read_percent: u32,
    /// `bs`, `bsrange`, `bssplit`: what was given last for each direction.
    pub blocks: Triple<Blocks>,
    /// `bs_unaligned`.
    pub unaligned: bool,
    /// `bs_is_seq_rand`: blocks for reads are those of requests in order, for writes those at random places.
    pub blocks_by_order: bool,
    /// `ba`.
    pub align: Triple<u64>,
    /// `percentage_random`.
    pub random_percent: PerDirection<u32>,
    /// `random_distribution`.
    pub distribution: PerDirection<Distribution>,
    /// `zonemode=strided`.
    pub strided: bool,
    /// `zonesize`.
    pub zone_bytes: u64,
    /// `zonerange`; 0 is `zonesize`.
    pub zone_range: u64,
    /// `zoneskip`.
    pub zone_skip: u64,
    /// `norandommap`.
    pub norandommap: bool,
    /// `randseed`.
    pub seed: u64,
    /// `randrepeat`.
    pub repeat: bool,
}

/// `rw`: directions and order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Kind {
    /// One direction, or a mix.
    pub ways: Ways,
    /// At random places.
    pub random: bool,
}

/// Which directions `rw` names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ways {
    /// One.
    Only(Direction),
    /// Reads and writes.
    ReadWrite,
    /// Trims, each followed by a write.
    TrimWrite,
}

/// Block sizes of one direction, in bytes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Blocks {
    /// `bs`.
    Fixed(u64),
    /// `bsrange`: least and most.
    Range(u64, u64),
    /// `bssplit`: size and percent.
    Split(Vec<(u64, u32)>),
}

/// Depth, rates, pauses.
#[derive(Clone, Debug, PartialEq)]
pub struct PaceOptions {
    /// `iodepth`.
    pub depth: u32,
    /// `iodepth_batch`; 0 is the depth.
    pub submit_batch: u32,
    /// `iodepth_batch_complete_min`.
    pub complete_least: u32,
    /// `iodepth_low`.
    pub refill_below: Option<u32>,
    /// `rate`, bytes a second.
    pub rate: Triple<u64>,
    /// `rate_iops`.
    pub rate_iops: Triple<u64>,
    /// `rate_min`.
    pub rate_min: Triple<u64>,
    /// `rate_iops_min`.
    pub rate_iops_min: Triple<u64>,
    /// `rate_cycle`.
    pub rate_cycle: Span,
    /// `rate_process=poisson`.
    pub poisson: bool,
    /// `thinktime` and its kin; without effect while its time is zero.
    pub think: Think,
    /// `latency_target` and its kin; without effect while its target is zero.
    pub search: LatencySearch,
    /// `max_latency`.
    pub latency_most: Option<Span>,
    /// `flow`; 0 is none.
    pub flow: u32,
    /// `flow_id`.
    pub flow_id: u32,
    /// `flow_sleep`.
    pub flow_sleep: Span,
}

/// Buffers, verification, flushes.
#[derive(Clone, Debug, PartialEq)]
pub struct DataOptions {
    /// What is written.
    pub content: Content,
    /// `zero_buffers`.
    pub zero: bool,
    /// `buffer_pattern`.
    pub pattern: Option<Pattern>,
    /// `verify`.
    pub verify: Option<Hash>,
    /// `verify_pattern`.
    pub verify_pattern: Option<Pattern>,
    /// `verify_interval`.
    pub verify_interval: u32,
    /// `do_verify=0`.
    pub verify_not_now: bool,
    /// `verify_only`.
    pub verify_only: bool,
    /// `verify_fatal`.
    pub verify_fatal: bool,
    /// `verify_backlog`.
    pub verify_backlog: u64,
    /// `verify_backlog_batch`.
    pub verify_backlog_batch: u64,
    /// `verify_state_save`.
    pub state_save: bool,
    /// `verify_state_load`.
    pub state_load: bool,
    /// `verify_offset`.
    pub verify_offset: u32,
    /// `trim_percentage`, `trim_verify_zero`, `trim_backlog`.
    pub trims: TrimChecks,
    /// `dedupe_mode=working_set`.
    pub dedupe_set: bool,
    /// `dedupe_working_set_percentage`.
    pub dedupe_set_percent: u32,
    /// `dedupe_global`.
    pub dedupe_global: bool,
    /// `fsync`, `fdatasync`, `end_fsync`, `fsync_on_close`.
    pub flushes: Flushes,
    /// `continue_on_error`.
    pub forgive: Forgive,
}

/// Clones, groups, start, end, processors.
#[derive(Clone, Debug, PartialEq)]
pub struct CourseOptions {
    /// `numjobs`.
    pub numjobs: u32,
    /// `stonewall`.
    pub stonewall: bool,
    /// `new_group`.
    pub new_group: bool,
    /// `wait_for`.
    pub wait_for: Option<String>,
    /// `startdelay`: least and most.
    pub delay: (Span, Span),
    /// When it ends.
    pub ending: Ending,
    /// `steadystate`.
    pub steady: Option<Steady>,
    /// `steadystate_duration`.
    pub steady_duration: Span,
    /// `steadystate_ramp_time`.
    pub steady_ramp: Span,
    /// `cpus_allowed`.
    pub cpus: Vec<u32>,
    /// `cpus_allowed_policy=split`.
    pub cpus_split: bool,
    /// `numa_cpu_nodes` and `numa_mem_policy`.
    pub numa: Numa,
    /// `sqthread_poll`.
    pub kernel_polls: bool,
    /// `sqthread_poll_cpu`.
    pub kernel_polls_on: Option<u32>,
    /// `exitall`.
    pub exitall: bool,
    /// `exit_what`.
    pub exit_what: Ends,
    /// `nice`.
    pub nice: Option<i32>,
    /// `prio`.
    pub prio: Option<u16>,
    /// `prioclass`.
    pub prio_class: Option<u16>,
    /// `exec_prerun`.
    pub before: Option<String>,
    /// `exec_postrun`.
    pub after: Option<String>,
}

/// `steadystate`: the figure and how much it may vary.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Steady {
    /// Which figure.
    pub figure: workload::job::SteadyFigure,
    /// By which rule.
    pub check: workload::job::SteadyCheck,
}

/// What is reported and logged.
#[derive(Clone, Debug, PartialEq)]
pub struct ReportOptions {
    /// `group_reporting`.
    pub group: bool,
    /// `stats`.
    pub stats: bool,
    /// Percentiles of service time, of response time, of submission.
    pub clat_percentiles: bool,
    /// `lat_percentiles`.
    pub lat_percentiles: bool,
    /// `slat_percentiles`.
    pub slat_percentiles: bool,
    /// `percentile_list`.
    pub percentiles: PercentileList,
    /// `significant_figures` of the normal output.
    pub figures: u32,
    /// `disk_util`.
    pub disk_util: bool,
    /// `disable_lat`.
    pub no_lat: bool,
    /// `disable_clat`.
    pub no_clat: bool,
    /// `disable_slat`.
    pub no_slat: bool,
    /// `disable_bw_measurement`.
    pub no_bw: bool,
    /// `unified_rw_reporting`.
    pub unified: Unified,
    /// `write_bw_log`, `write_lat_log`, `write_iops_log`, `write_hist_log`: prefixes of file names.
    pub logs: LogOptions,
}

/// How directions are reported.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Unified {
    /// Each apart.
    #[default]
    None,
    /// All as one, in place of each.
    Mixed,
    /// All as one, beside each.
    Both,
}

/// The logs over time.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LogOptions {
    /// Prefix of the bandwidth log's name.
    pub bw: Option<String>,
    /// Prefix of the latency logs' names.
    pub lat: Option<String>,
    /// Prefix of the IOPS log's name.
    pub iops: Option<String>,
    /// Prefix of the histogram log's name.
    pub hist: Option<String>,
    /// `log_avg_msec`; zero logs each request.
    pub average: Span,
    /// `log_hist_msec`.
    pub hist_interval: Span,
    /// `log_hist_coarseness`, 0 to 6.
    pub coarseness: u32,
    /// `log_max_value`.
    pub max_value: bool,
    /// `log_offset`.
    pub offset: bool,
    /// `log_prio`.
    pub prio: bool,
    /// `log_unix_epoch`.
    pub unix_epoch: bool,
    /// `per_job_logs`.
    pub per_job: bool,
    /// `bwavgtime`, `iopsavgtime`: the shorter one.
    pub interval: Span,
}

impl Engine {
    /// Whether its requests are system calls, one at a time.
    pub fn calls(self) -> bool {
        matches!(self, Engine::Sync | Engine::Space)
    }

    /// Whether it works on files and devices.
    pub fn has_files(self) -> bool {
        matches!(self, Engine::Sync | Engine::Space | Engine::Uring)
    }
}

impl Default for Options {
    fn default() -> Options {
        Options {
            name: None,
            description: None,
            kb_base: KbBase::Binary,
            bits: false,
            target: TargetOptions::default(),
            pattern: PatternOptions::default(),
            pace: PaceOptions::default(),
            data: DataOptions::default(),
            course: CourseOptions::default(),
            report: ReportOptions::default(),
            notes: Vec::new(),
        }
    }
}

impl Options {
    /// Adds a note, once.
    pub fn note(&mut self, note: impl Into<String>) {
        let note = note.into();
        if !self.notes.contains(&note) {
            self.notes.push(note);
        }
    }
}

impl Default for TargetOptions {
    fn default() -> TargetOptions {
        TargetOptions {
            filename: None,
            directory: None,
            filename_format: "$jobname.$jobnum.$filenum".into(),
            nrfiles: 1,
            order: FileOrder::default(),
            engine: Engine::Sync,
            engine_name: "psync".into(),
            uri: None,
            read_iolog: None,
            write_iolog: None,
            replay_redirect: None,
            playing: Playing::default(),
            direct: false,
            write_sync: WriteSync::None,
            lock: FileLock::None,
            layout: Layout::default(),
            size: None,
            filesize: None,
            offset: Amount::default(),
            offset_increment: Amount::default(),
            offset_align: 0,
        }
    }
}

impl Default for PatternOptions {
    fn default() -> PatternOptions {
        PatternOptions {
            kind: Kind { ways: Ways::Only(Direction::Read), random: false },
            more: None,
            identical: false,
            read_percent: 50,
            blocks: Triple::default(),
            unaligned: false,
            blocks_by_order: false,
            align: Triple::default(),
            random_percent: PerDirection::all(100),
            distribution: PerDirection::all(Distribution::Uniform),
            strided: false,
            zone_bytes: 0,
            zone_range: 0,
            zone_skip: 0,
            norandommap: false,
            // fio's own default.
            seed: 0x89,
            repeat: true,
        }
    }
}

impl Default for PaceOptions {
    fn default() -> PaceOptions {
        PaceOptions {
            depth: 1,
            submit_batch: 1,
            complete_least: 1,
            refill_below: None,
            rate: Triple::default(),
            rate_iops: Triple::default(),
            rate_min: Triple::default(),
            rate_iops_min: Triple::default(),
            rate_cycle: Span::SECOND,
            poisson: false,
            think: Think {
                time: Span::ZERO,
                spin: Span::ZERO,
                every: 1,
                work_time: Span::ZERO,
                by_issue: false,
                forgets_rate: false,
            },
            search: LatencySearch { target: Span::ZERO, window: Span::ZERO, percent: 100.0, goes_on: false },
            latency_most: None,
            flow: 0,
            flow_id: 0,
            flow_sleep: Span::ZERO,
        }
    }
}

impl Default for CourseOptions {
    fn default() -> CourseOptions {
        CourseOptions {
            numjobs: 1,
            stonewall: false,
            new_group: false,
            wait_for: None,
            delay: (Span::ZERO, Span::ZERO),
            ending: Ending { loops: 1, ..Ending::default() },
            steady: None,
            steady_duration: Span::ZERO,
            steady_ramp: Span::ZERO,
            cpus: Vec::new(),
            cpus_split: false,
            numa: Numa::default(),
            kernel_polls: false,
            kernel_polls_on: None,
            exitall: false,
            exit_what: Ends::Group,
            nice: None,
            prio: None,
            prio_class: None,
            before: None,
            after: None,
        }
    }
}

impl Default for DataOptions {
    fn default() -> DataOptions {
        DataOptions {
            content: Content::default(),
            zero: false,
            pattern: None,
            verify: None,
            verify_pattern: None,
            verify_interval: 0,
            verify_not_now: false,
            verify_only: false,
            verify_fatal: false,
            verify_backlog: 0,
            verify_backlog_batch: 0,
            state_save: false,
            state_load: false,
            verify_offset: 0,
            trims: TrimChecks::default(),
            dedupe_set: false,
            // fio's own default.
            dedupe_set_percent: 5,
            dedupe_global: false,
            flushes: Flushes::default(),
            forgive: Forgive::default(),
        }
    }
}

impl Default for ReportOptions {
    fn default() -> ReportOptions {
        ReportOptions {
            group: false,
            stats: true,
            clat_percentiles: true,
            lat_percentiles: false,
            slat_percentiles: false,
            percentiles: PercentileList::default(),
            figures: 4,
            disk_util: true,
            no_lat: false,
            no_clat: false,
            no_slat: false,
            no_bw: false,
            unified: Unified::None,
            logs: LogOptions::default(),
        }
    }
}

impl Default for LogOptions {
    fn default() -> LogOptions {
        LogOptions {
            bw: None,
            lat: None,
            iops: None,
            hist: None,
            average: Span::ZERO,
            hist_interval: Span::ZERO,
            coarseness: 0,
            max_value: false,
            offset: false,
            prio: false,
            unix_epoch: false,
            per_job: true,
            interval: Span::from_millis(500),
        }
    }
}

/// The most files of one job: each is open at once.
pub const FILES_MAX: u64 = 65_536;
