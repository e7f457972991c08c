//! What a job reports, and which logs it writes.

use crate::percentile::PercentileList;
use block::Span;

/// What is reported and logged.
#[derive(Clone, Debug, PartialEq)]
pub struct ReportOptions {
    /// `group_reporting`.
    pub group: bool,
    /// `stats`.
    pub stats: bool,
    /// Percentiles of service time, response time and submission time.
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
    /// Each on its own.
    #[default]
    None,
    /// All combined, instead of each.
    Mixed,
    /// All combined, in addition to each.
    Both,
}

/// Logs over time.
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
    /// `log_avg_msec`; zero logs every request.
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
