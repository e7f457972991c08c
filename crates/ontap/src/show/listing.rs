//! The result of a `show` command: rows of one kind, and the form that was asked for.

use super::{
    AdaptiveRow, AggregateRow, CachePartitionRow, CacheStatisticsRow, CertificateRow, CloneRow, DfRow, EventRow,
    FairnessRow, FileRow, HistoryRow, LinkRow, LoginRow, LunRow, MemoryRow, PolicyGroupRow, QtreeRow, Row,
    SecondLevelRow, SnapshotRow, VolumeRow, VserverRow, WorkloadRow, columns, fields_of, instance, json, order, picked,
    summary,
};
use crate::catalogue::{Form, Output, Selection};
use crate::value::SizeUnits;

/// The rows of a selection, with figures in base units. They are laid out on demand.
#[derive(Clone, Debug)]
pub struct Listing {
    /// The rows, in the order in which they print.
    pub rows: Rows,
    form: Form,
    output: Output,
    /// Whether there were no filters.
    everything: bool,
    units: SizeUnits,
}

/// Joins the kinds of rows into one enum.
macro_rules! kinds {
    ($( $(#[$doc:meta])* $kind:ident($row:ident), )+) => {
        /// Rows of one kind.
        #[derive(Clone, Debug)]
        pub enum Rows {
            $( $(#[$doc])* $kind(Vec<$row>), )+
        }

        $(
            impl From<Vec<$row>> for Rows {
                fn from(rows: Vec<$row>) -> Rows {
                    Rows::$kind(rows)
                }
            }
        )+

        /// Applies an expression to rows of any kind.
        macro_rules! each {
            ($of:expr, $rows:ident => $do:expr) => {
                match $of { $( Rows::$kind($rows) => $do, )+ }
            };
        }
    };
}

kinds! {
    /// `vserver show`
    Vservers(VserverRow),
    /// `volume show`
    Volumes(VolumeRow),
    /// `volume clone show`
    Clones(CloneRow),
    /// `df`
    Df(DfRow),
    /// `storage aggregate show`
    Aggregates(AggregateRow),
    /// `volume qtree show`
    Qtrees(QtreeRow),
    /// `volume file show`
    Files(FileRow),
    /// `volume snapshot show`
    Snapshots(SnapshotRow),
    /// `lun show`
    Luns(LunRow),
    /// `qos policy-group show`
    PolicyGroups(PolicyGroupRow),
    /// `qos adaptive-policy-group show`
    Adaptive(AdaptiveRow),
    /// `qos fairness show`
    Fairness(FairnessRow),
    /// `qos statistics history show`
    History(HistoryRow),
    /// `qos workload show`
    Workloads(WorkloadRow),
    /// `cache partition show`
    CachePartitions(CachePartitionRow),
    /// `cache statistics show`
    CacheStatistics(CacheStatisticsRow),
    /// `memory show`
    Memory(MemoryRow),
    /// `cache second-level show`
    SecondLevel(SecondLevelRow),
    /// `network limit show`
    Links(LinkRow),
    /// `event log show`
    Events(EventRow),
    /// `security login show`
    Logins(LoginRow),
    /// `security certificate show`
    Certificates(CertificateRow),
}

impl Listing {
    /// The rows that the selection selects.
    pub fn new<R: Row>(rows: impl IntoIterator<Item = R>, selection: &Selection, units: SizeUnits) -> Listing
    where
        Rows: From<Vec<R>>,
    {
        let mut rows: Vec<R> = rows.into_iter().filter(|row| picked(row, selection, units)).collect();
        order::sort(&mut rows, units);
        let (form, everything) = (selection.form.clone(), selection.filters.is_empty());
        Listing { rows: rows.into(), form, output: selection.output, everything, units }
    }

    /// The same for rows whose measured fields are not known yet. `measure` fills them in for the
    /// rows that all other filters select, and only if the selection asks for such a field. It
    /// receives the key of each row.
    pub fn measured<K, R: Row>(
        rows: impl IntoIterator<Item = (K, R)>,
        selection: &Selection,
        units: SizeUnits,
        mut measure: impl FnMut(K, &mut R),
    ) -> Listing
    where
        Rows: From<Vec<R>>,
    {
        let is_measured = |field: &str| R::MEASURED.contains(&field);
        let filters = selection.filters.iter().filter(|filter| !is_measured(filter.field)).cloned().collect();
        let known = Selection { filters, ..selection.clone() };
        let shows = match &selection.form {
            Form::Summary => R::SUMMARY.iter().any(|column| is_measured(column.field)),
            Form::Instance => R::INSTANCE.iter().any(|(_, field)| is_measured(field)),
            Form::Fields(fields) => fields.iter().any(|field| is_measured(field)),
        };
        let is_needed = shows || known.filters.len() < selection.filters.len();
        let known_rows = rows.into_iter().filter(|(_, row)| picked(row, &known, units));
        let whole = known_rows.map(|(about, mut row)| {
            if is_needed {
                measure(about, &mut row);
            }
            row
        });
        Listing::new(whole, selection, units)
    }

    /// How many rows there are.
    pub fn len(&self) -> usize {
        each!(&self.rows, rows => rows.len())
    }

    /// Whether nothing was found.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The answer in ONTAP's layout, or as JSON if the command asked for that.
    pub fn text(&self) -> String {
        if self.output == Output::Json {
            return each!(&self.rows, rows => self.json(rows));
        }
        if self.is_empty() {
            let none = match self.everything {
                true => "This table is currently empty.",
                false => "There are no entries matching your query.",
            };
            return format!("{none}\n");
        }
        // The number of entries is not printed for a single one.
        let count = if self.len() > 1 { format!("{} entries were displayed.\n", self.len()) } else { String::new() };
        each!(&self.rows, rows => self.body(rows)) + &count
    }

    fn json<R: Row>(&self, rows: &[R]) -> String {
        json::listing(rows, &fields_of::<R>(&self.form))
    }

    fn body<R: Row>(&self, rows: &[R]) -> String {
        match &self.form {
            Form::Summary => summary(rows, self.units),
            Form::Instance => rows.iter().map(|row| instance(row, self.units)).collect::<Vec<_>>().join("\n"),
            Form::Fields(fields) => columns(rows, fields, self.units),
        }
    }
}
