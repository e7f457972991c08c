//! What a job writes and verifies.

use workload::job::{Content, Flushes, Forgive, Hash, Pattern, TrimChecks};

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
    /// `verify_dump`.
    pub verify_dump: bool,
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
            verify_dump: false,
            verify_backlog: 0,
            verify_backlog_batch: 0,
            state_save: false,
            state_load: false,
            verify_offset: 0,
            trims: TrimChecks::default(),
            dedupe_set: false,
            // fio's default.
            dedupe_set_percent: 5,
            dedupe_global: false,
            flushes: Flushes::default(),
            forgive: Forgive::default(),
        }
    }
}
