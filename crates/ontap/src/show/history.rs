//! Rows of `qos statistics history show`: one interval each.

use super::{Cell, Column, Row, figure};
use crate::value::SizeUnits;
use block::date;

/// What was done in an interval. Times are means per request.
#[derive(Clone, Copy, Debug, Default)]
pub struct HistoryRow {
    /// The end of the interval, in seconds since 1970.
    pub time: u64,
    /// Its length in seconds.
    pub duration: u64,
    /// Whether it is part of a history of a day or less: then the time is printed with seconds,
    /// otherwise with hours.
    pub is_of_a_day: bool,
    /// Operations per second.
    pub iops: u64,
    /// Reads per second.
    pub read_iops: u64,
    /// Bytes per second.
    pub bytes_per_second: u64,
    /// Total latency, in nanoseconds.
    pub latency_ns: u64,
    /// The part of it in the network.
    pub network_ns: u64,
    /// The part for which a ceiling held it back.
    pub qos_max_ns: u64,
    /// The part for which the floors of others held it back.
    pub qos_min_ns: u64,
    /// The part in the layer that manages the data.
    pub data_ns: u64,
    /// The part on the disks.
    pub disk_ns: u64,
}

impl Row for HistoryRow {
    const COMMAND: &'static str = "qos statistics history show";

    // Together 80 columns.
    const SUMMARY: &'static [Column] = &[
        Column::left("at", "Time UTC", 8),
        Column::right("iops", "IOPS", 6),
        Column::right("throughput", "Throughput", 10),
        Column::right("latency", "Latency", 8),
        Column::right("network", "Network", 8),
        Column::right("qos-max", "QoS Max", 8),
        Column::right("qos-min", "QoS Min", 8),
        Column::right("data", "Data", 8),
        Column::right("disk", "Disk", 8),
    ];

    // In base units, for programs.
    const INSTANCE: &'static [(&'static str, &'static str)] = &[
        ("Time", "time"),
        ("Duration", "duration-s"),
        ("IOPS", "iops"),
        ("Read IOPS", "read-iops"),
        ("Bytes Per Second", "bytes-per-second"),
        ("Latency", "latency-ns"),
        ("Network", "network-ns"),
        ("QoS Max", "qos-max-ns"),
        ("QoS Min", "qos-min-ns"),
        ("Data", "data-ns"),
        ("Disk", "disk-ns"),
    ];

    fn cell(&self, field: &str) -> Option<Cell> {
        let latency = |ns| Cell::Text(figure::short_latency(ns));
        Some(match field {
            "at" if self.is_of_a_day => Cell::Text(date(self.time, "%H:%M:%S")),
            "at" => Cell::Text(date(self.time, "%m-%d %H")),
            "throughput" => Cell::Text(figure::throughput(self.bytes_per_second, SizeUnits::Binary)),
            "latency" => latency(self.latency_ns),
            "network" => latency(self.network_ns),
            "qos-max" => latency(self.qos_max_ns),
            "qos-min" => latency(self.qos_min_ns),
            "data" => latency(self.data_ns),
            "disk" => latency(self.disk_ns),
            "time" => Cell::Moment(self.time),
            "duration-s" => Cell::Count(self.duration),
            "iops" => Cell::Count(self.iops),
            "read-iops" => Cell::Count(self.read_iops),
            "bytes-per-second" => Cell::Count(self.bytes_per_second),
            "latency-ns" => Cell::Count(self.latency_ns),
            "network-ns" => Cell::Count(self.network_ns),
            "qos-max-ns" => Cell::Count(self.qos_max_ns),
            "qos-min-ns" => Cell::Count(self.qos_min_ns),
            "data-ns" => Cell::Count(self.data_ns),
            "disk-ns" => Cell::Count(self.disk_ns),
            _ => return None,
        })
    }
}
