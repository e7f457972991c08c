//! Published cells, as printed.

use std::collections::HashMap;

/// The files of the folder `published`, by name.
const FILES: [(&str, &str); 14] = [
    ("a300_genio.csv", include_str!("../../../published/a300_genio.csv")),
    ("a700_genio.csv", include_str!("../../../published/a700_genio.csv")),
    ("aqos_policy_settings.csv", include_str!("../../../published/aqos_policy_settings.csv")),
    ("aqos_rhel1.csv", include_str!("../../../published/aqos_rhel1.csv")),
    ("aqos_rhel2.csv", include_str!("../../../published/aqos_rhel2.csv")),
    ("aqos_rhel3_bully.csv", include_str!("../../../published/aqos_rhel3_bully.csv")),
    ("genio_acceptance.csv", include_str!("../../../published/genio_acceptance.csv")),
    ("genio_test_setups.csv", include_str!("../../../published/genio_test_setups.csv")),
    ("fsx_qos_setup.csv", include_str!("../../../published/fsx_qos_setup.csv")),
    ("fsx_qos_steps.csv", include_str!("../../../published/fsx_qos_steps.csv")),
    ("fsx_workshop_expectations.csv", include_str!("../../../published/fsx_workshop_expectations.csv")),
    ("fsx_workshop_spec.csv", include_str!("../../../published/fsx_workshop_spec.csv")),
    ("uspv_swingbench.csv", include_str!("../../../published/uspv_swingbench.csv")),
    ("commands.txt", include_str!("../../../published/commands.txt")),
];

/// A published table.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Cells {
    /// The name of its file.
    pub file: String,
    columns: Vec<String>,
    /// The cells as printed.
    rows: Vec<Vec<String>>,
}

/// A cell that is missing or not a number.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PublishedError(pub String);

impl std::fmt::Display for PublishedError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for PublishedError {}

impl Cells {
    /// The names of the embedded files.
    pub fn files() -> impl Iterator<Item = &'static str> {
        FILES.iter().map(|(name, _)| *name)
    }

    /// The text of an embedded file.
    pub fn embedded(file: &str) -> Option<&'static str> {
        FILES.iter().find(|(name, _)| *name == file).map(|(_, text)| *text)
    }

    /// The table of a file; `others` replaces embedded texts, by file name.
    ///
    /// # Errors
    /// There is no such file, or it is not a table.
    pub fn of(file: &str, others: &HashMap<String, String>) -> Result<Cells, PublishedError> {
        let text = others.get(file).map(String::as_str).or_else(|| Cells::embedded(file));
        let text = text.ok_or_else(|| PublishedError(format!("{file}: no published table has this name")))?;
        let wrong = |error: csv::Error| PublishedError(format!("{file}: {error}"));
        let mut reader = csv::Reader::from_reader(text.as_bytes());
        let columns = reader.headers().map_err(wrong)?.iter().map(String::from).collect();
        let record = |record: Result<csv::StringRecord, csv::Error>| {
            record.map(|record| record.iter().map(String::from).collect()).map_err(wrong)
        };
        let rows = reader.records().map(record).collect::<Result<_, _>>()?;
        Ok(Cells { file: file.into(), columns, rows })
    }

    /// Number of rows.
    pub fn len(&self) -> usize {
        self.rows.len()
    }

    /// Whether it has no rows.
    pub fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// A cell as printed.
    ///
    /// # Errors
    /// There is no such row or column.
    pub fn text(&self, row: usize, column: &str) -> Result<&str, PublishedError> {
        let at = self.columns.iter().position(|name| name == column);
        let cell = at.and_then(|at| self.rows.get(row)?.get(at));
        cell.map(String::as_str)
            .ok_or_else(|| PublishedError(format!("{}: row {}, column {column}: missing", self.file, row + 1)))
    }

    /// A cell as a number.
    ///
    /// # Errors
    /// Those of [`Cells::text`], or the cell is not a number.
    pub fn number(&self, row: usize, column: &str) -> Result<f64, PublishedError> {
        let text = self.text(row, column)?;
        text.parse().map_err(|_| {
            PublishedError(format!("{}: row {}, column {column}: must be a number, got {text:?}", self.file, row + 1))
        })
    }

    /// The row in which this column has this text.
    pub fn find(&self, column: &str, says: &str) -> Option<usize> {
        (0..self.len()).find(|row| self.text(*row, column) == Ok(says))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use sha2::{Digest as _, Sha256};
    use std::fmt::Write as _;

    /// Every table equals the source's, byte for byte: its SHA-256 is in a list, and the list has
    /// no other file.
    #[test]
    fn tables_are_those_of_the_list_of_checksums() {
        let sums = include_str!("../../../published/SHA256SUMS");
        let listed: Vec<(&str, &str)> = sums.lines().filter_map(|line| line.split_once("  ")).collect();
        let mut found: Vec<(String, &str)> = Vec::new();
        for (name, text) in FILES {
            let mut sum = String::new();
            Sha256::digest(text.as_bytes()).iter().for_each(|byte| write!(sum, "{byte:02x}").expect("a string"));
            found.push((sum, name));
        }
        found.sort_by_key(|(_, name)| *name);
        let mut listed: Vec<(String, &str)> = listed.into_iter().map(|(sum, name)| (sum.into(), name)).collect();
        listed.sort_by_key(|(_, name)| *name);
        assert_eq!(found, listed, "published/: a file is not as printed, or the list is not its");
    }

    #[test]
    fn cells_are_read_as_printed_and_another_text_stands_in() {
        let cells = Cells::of("aqos_rhel1.csv", &HashMap::new()).expect("embedded");
        assert_eq!((cells.len(), cells.text(0, "longest_write_cycle_s")), (10, Ok("32.66")));
        assert_eq!(cells.number(9, "effective_write_latency_ms"), Ok(0.11));
        let others = HashMap::from([("aqos_rhel1.csv".to_string(), "run,a\n10,x\n".to_string())]);
        let other = Cells::of("aqos_rhel1.csv", &others).expect("a table");
        let said = other.number(0, "a").expect_err("no number").to_string();
        assert_eq!(said, "aqos_rhel1.csv: row 1, column a: must be a number, got \"x\"");
        assert!(Cells::of("none.csv", &HashMap::new()).is_err());
    }

    /// No figure was corrected: the suspect cells are those of the source.
    #[test]
    fn suspect_cells_are_as_printed() {
        let cells = Cells::of("uspv_swingbench.csv", &HashMap::new()).expect("embedded");
        let eleven = cells.find("test", "11").expect("test 11");
        assert_eq!((cells.text(eleven, "max_tps"), cells.text(eleven, "avg_tps")), (Ok("110"), Ok("935")));
        assert_eq!(cells.len(), 11);
    }
}
