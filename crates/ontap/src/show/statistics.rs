//! The tables of `qos statistics`: one iteration each, with the total first, then the busiest or
//! the slowest.

use super::table::{Column, Table};
use super::{FloorStatus, HeldBy, figure, json};
use crate::catalogue::{Output, ROWS_DEFAULT, StatisticsFigures, StatisticsScope, StatisticsShow};
use crate::value::SizeUnits;
use serde_json::{Map, Value};

/// The measurements of a policy group, workload or volume in one interval.
#[derive(Clone, Debug, Default)]
pub struct Measured {
    /// The policy group, or `<object>-wid<number>`.
    pub name: String,
    /// The SVM of a volume: volumes of several may have the same name.
    pub vserver: Option<String>,
    /// The number of the workload; policy groups have none.
    pub id: Option<u32>,
    /// Operations per second.
    pub iops: u64,
    /// Bytes per second.
    pub bytes_per_second: u64,
    /// Mean size of an operation, in bytes.
    pub request_bytes: u64,
    /// Mean latency of an operation, in nanoseconds.
    pub latency_ns: u64,
    /// The parts of that latency.
    pub waits: Waits,
    /// Share of reads among the operations, in percent.
    pub read_percent: u8,
    /// Mean number of operations in progress.
    pub concurrency: u64,
    /// Whether the policy group is adaptive.
    pub is_adaptive: bool,
    /// What held it back.
    pub held_by: HeldBy,
    /// Whether its floor was met, and if not why.
    pub floor: FloorStatus,
}

/// Mean time of an operation in each part of the system, in nanoseconds.
#[derive(Clone, Copy, Debug, Default)]
pub struct Waits {
    /// In the network and its protocols.
    pub network_ns: u64,
    /// On the way between nodes.
    pub cluster_ns: u64,
    /// In the layer that manages the data.
    pub data_ns: u64,
    /// On the disks.
    pub disk_ns: u64,
    /// Held back by a ceiling.
    pub qos_max_ns: u64,
    /// Held back for the floors of others.
    pub qos_min_ns: u64,
    /// For the journal.
    pub nvram_ns: u64,
    /// In a cloud tier.
    pub cloud_ns: u64,
    /// In a remote cache.
    pub flexcache_ns: u64,
    /// For a synchronous mirror.
    pub sm_sync_ns: u64,
    /// For a volume to be activated.
    pub va_ns: u64,
    /// For a virus scanner.
    pub avscan_ns: u64,
}

impl Waits {
    /// All parts, in the order of the columns.
    fn all(&self) -> [(&'static str, u64); 12] {
        [
            ("Network", self.network_ns),
            ("Cluster", self.cluster_ns),
            ("Data", self.data_ns),
            ("Disk", self.disk_ns),
            ("QoS Max", self.qos_max_ns),
            ("QoS Min", self.qos_min_ns),
            ("NVRAM", self.nvram_ns),
            ("Cloud", self.cloud_ns),
            ("FlexCache", self.flexcache_ns),
            ("SM Sync", self.sm_sync_ns),
            ("VA", self.va_ns),
            ("AVSCAN", self.avscan_ns),
        ]
    }
}

/// One iteration of a statistics command, with the busiest or the slowest first. The caller selects
/// the objects ([`StatisticsShow::vserver`], `volume`, `node`); order and number of rows are
/// determined here.
#[derive(Clone, Debug)]
pub struct Statistics {
    /// What a row stands for.
    pub scope: StatisticsScope,
    /// The figures that are asked for; rows have all of them.
    pub figures: StatisticsFigures,
    /// Everything that was measured, whether it has a row or not.
    pub total: Measured,
    /// At most as many as were asked for.
    pub rows: Vec<Measured>,
    /// Advice for administrators, in a sentence.
    pub advice: Option<String>,
    /// Whether volumes of several SVMs were measured.
    of_svms: bool,
    output: Output,
}

impl Statistics {
    /// Makes an iteration of everything that was measured.
    pub fn new(mut measured: Vec<Measured>, command: &StatisticsShow, advice: Option<String>) -> Statistics {
        let (scope, figures, total) = (command.scope, command.figures, total(&measured));
        let mut svms = measured.iter().map(|m| &m.vserver);
        let of_svms = svms.next().is_some_and(|first| svms.any(|other| other != first));
        measured.sort_by_key(|m| {
            let rank = match figures {
                StatisticsFigures::Latency => m.latency_ns,
                StatisticsFigures::Performance | StatisticsFigures::Characteristics | StatisticsFigures::Held => m.iops,
            };
            (std::cmp::Reverse(rank), m.name.clone())
        });
        measured.truncate(command.rows.map_or(ROWS_DEFAULT, |rows| rows.get()));
        Statistics { scope, figures, total, rows: measured, advice, of_svms, output: command.output }
    }

    /// The answer in ONTAP's layout, with throughput in powers of 1024 as in published tables; or
    /// as JSON if the command asked for that.
    pub fn text(&self) -> String {
        if self.output == Output::Json {
            return self.json();
        }
        let layout =
            Layout { scope: self.scope, figures: self.figures, of_svms: self.of_svms, units: SizeUnits::Binary };
        let mut table = Table::new(layout.columns());
        table.line(layout.cells(&self.total, "-".to_owned()));
        for row in &self.rows {
            table.line(layout.cells(row, row.is_adaptive.to_string()));
        }
        table.text() + &self.advice.as_ref().map_or(String::new(), |advice| format!("Note: {advice}.\n"))
    }
}

impl Statistics {
    fn json(&self) -> String {
        let records: Vec<Value> = self.rows.iter().map(|row| self.record(row, Some(row.is_adaptive))).collect();
        json::line(&serde_json::json!({
            "num_records": records.len(),
            "records": records,
            "total": self.record(&self.total, None),
            "advice": self.advice,
        }))
    }

    /// The figures of its table, with the unit in their names.
    fn record(&self, m: &Measured, is_adaptive: Option<bool>) -> Value {
        let of_groups = self.scope == StatisticsScope::PolicyGroup;
        let name = if of_groups { "policy_group" } else { "workload" };
        let mut record = Map::new();
        let mut put = |name: &str, value: Value| drop(record.insert(name.to_owned(), value));
        put(name, m.name.clone().into());
        if self.scope == StatisticsScope::Volume {
            put("vserver", m.vserver.clone().into());
        }
        if !of_groups {
            put("id", m.id.into());
        }
        match self.figures {
            StatisticsFigures::Performance => {
                put("iops", m.iops.into());
                put("bytes_per_second", m.bytes_per_second.into());
                put("latency_ns", m.latency_ns.into());
                if of_groups {
                    put("is_adaptive", is_adaptive.into());
                }
            }
            StatisticsFigures::Characteristics => {
                put("iops", m.iops.into());
                put("bytes_per_second", m.bytes_per_second.into());
                put("request_bytes", m.request_bytes.into());
                put("read_percent", m.read_percent.into());
                put("concurrency", m.concurrency.into());
            }
            StatisticsFigures::Latency => {
                put("latency_ns", m.latency_ns.into());
                for (header, ns) in m.waits.all() {
                    put(&format!("{}_ns", header.to_ascii_lowercase().replace(' ', "_")), ns.into());
                }
            }
            StatisticsFigures::Held => {
                put("iops", m.iops.into());
                put("held_by", m.held_by.json());
                put("floor", m.floor.json());
            }
        }
        Value::Object(record)
    }
}

/// The width of the column of SVMs.
const SVM_WIDTH: usize = 10;

struct Layout {
    scope: StatisticsScope,
    figures: StatisticsFigures,
    of_svms: bool,
    units: SizeUnits,
}

impl Layout {
    fn of_groups(&self) -> bool {
        self.scope == StatisticsScope::PolicyGroup
    }

    fn name_width(&self) -> usize {
        if self.of_groups() { 20 } else { 15 }
    }

    fn columns(&self) -> Vec<Column> {
        let width = self.name_width();
        let mut columns = match self.of_groups() {
            true => vec![Column::left("", "Policy Group", width)],
            false => vec![Column::left("", "Workload", width)],
        };
        columns.extend(self.of_svms.then(|| Column::left("", "Vserver", SVM_WIDTH)));
        columns.extend((!self.of_groups()).then(|| Column::right("", "ID", 6)));
        let work =
            [Column::right("", "IOPS", 8), Column::right("", "Throughput", if self.of_groups() { 15 } else { 16 })];
        match self.figures {
            StatisticsFigures::Performance => {
                columns.extend(work);
                columns.push(Column::right("", "Latency", 10));
                columns.extend(self.of_groups().then(|| Column::left("", "Is Adaptive?", 12)));
            }
            StatisticsFigures::Characteristics => {
                columns.extend(work);
                columns.push(Column::right("", "Request Size", 12));
                columns.push(Column::right("", "Read (%)", 8));
                columns.push(Column::right("", "Concurrency", 11));
            }
            StatisticsFigures::Latency => {
                columns.push(Column::right("", "Latency", 10));
                columns.extend(Waits::default().all().map(|(header, _)| Column::right("", header, 10)));
            }
            // Together 80 columns.
            StatisticsFigures::Held => {
                columns.push(Column::right("", "IOPS", 8));
                columns.push(Column::left("", "Held Back By", 24));
                columns.push(Column::left("", "Floor", 23));
            }
        }
        columns
    }

    fn cells(&self, m: &Measured, is_adaptive: String) -> Vec<String> {
        let mut cells = vec![shorten(&m.name, self.name_width())];
        cells.extend(self.of_svms.then(|| shorten(m.vserver.as_deref().unwrap_or("-"), SVM_WIDTH)));
        if !self.of_groups() {
            cells.push(m.id.map_or("-".to_owned(), |id| id.to_string()));
        }
        let work = [m.iops.to_string(), figure::throughput(m.bytes_per_second, self.units)];
        match self.figures {
            StatisticsFigures::Performance => {
                cells.extend(work);
                cells.push(figure::latency(m.latency_ns));
                cells.extend(self.of_groups().then_some(is_adaptive));
            }
            StatisticsFigures::Characteristics => {
                cells.extend(work);
                cells.push(format!("{}B", m.request_bytes));
                cells.push(format!("{}%", m.read_percent));
                cells.push(m.concurrency.to_string());
            }
            StatisticsFigures::Latency => {
                cells.push(figure::latency(m.latency_ns));
                cells.extend(m.waits.all().map(|(_, ns)| figure::latency(ns)));
            }
            StatisticsFigures::Held => {
                cells.extend([m.iops.to_string(), m.held_by.to_string(), m.floor.to_string()]);
            }
        }
        cells
    }
}

/// Rates and concurrency are added up; times and shares are means over the operations.
fn total(measured: &[Measured]) -> Measured {
    let sum = |figure: fn(&Measured) -> u64| measured.iter().map(figure).fold(0, u64::saturating_add);
    let operations = measured.iter().map(|m| u128::from(m.iops)).sum::<u128>();
    let mean = |figure: &dyn Fn(&Measured) -> u64| {
        let all: u128 = measured.iter().map(|m| u128::from(m.iops) * u128::from(figure(m))).sum();
        all.checked_div(operations).and_then(|mean| u64::try_from(mean).ok()).unwrap_or(0)
    };
    let wait = |figure: fn(&Waits) -> u64| mean(&|m| figure(&m.waits));
    Measured {
        name: "-total-".to_owned(),
        id: None,
        iops: sum(|m| m.iops),
        bytes_per_second: sum(|m| m.bytes_per_second),
        request_bytes: mean(&|m| m.request_bytes),
        latency_ns: mean(&|m| m.latency_ns),
        waits: Waits {
            network_ns: wait(|w| w.network_ns),
            cluster_ns: wait(|w| w.cluster_ns),
            data_ns: wait(|w| w.data_ns),
            disk_ns: wait(|w| w.disk_ns),
            qos_max_ns: wait(|w| w.qos_max_ns),
            qos_min_ns: wait(|w| w.qos_min_ns),
            nvram_ns: wait(|w| w.nvram_ns),
            cloud_ns: wait(|w| w.cloud_ns),
            flexcache_ns: wait(|w| w.flexcache_ns),
            sm_sync_ns: wait(|w| w.sm_sync_ns),
            va_ns: wait(|w| w.va_ns),
            avscan_ns: wait(|w| w.avscan_ns),
        },
        read_percent: u8::try_from(mean(&|m| m.read_percent.into())).unwrap_or(100),
        concurrency: sum(|m| m.concurrency),
        ..Measured::default()
    }
}

/// Names that are longer than their column end in two dots: `_Scan_Backgro..`.
fn shorten(name: &str, width: usize) -> String {
    if name.chars().count() <= width {
        return name.to_owned();
    }
    name.chars().take(width - 2).chain("..".chars()).collect()
}
