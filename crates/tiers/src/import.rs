//! Figures from the files of other tools, so that old tests can be compared with new ones.
//!
//! | file | what it tells |
//! | --- | --- |
//! | Orion's `…_iops.csv`, `…_mbps.csv` | the most of all cells; rows may be ragged |
//! | Orion's `…_summary.txt` | its two maxima |
//! | an export of RanRead (tab or comma) | the most IOPS of all batches |
//! | Swingbench's results.xml | transactions; its maximum is one of a minute, the best second is among its readings |
//! | `iostat -x` at an interval | the busiest device and the processors, without the first report (since the start) |

use crate::column::TierFigure;

/// Why a file has no figures.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ImportError {
    /// The kind of file is unknown.
    #[error(
        "is no file that is known: Orion's _iops.csv, _mbps.csv or _summary.txt, an export of RanRead, Swingbench's \
         results.xml, or the output of iostat -x"
    )]
    Unknown,
    /// The kind is known, but it has no figure.
    #[error("looks like {0}, and has no figure in it")]
    Nothing(&'static str),
    /// The file is damaged.
    #[error("looks like {kind}, and cannot be read: {what}")]
    Broken {
        /// What it looks like.
        kind: &'static str,
        /// What is wrong.
        what: String,
    },
}

/// The figures in a file of that name.
///
/// # Errors
/// The kind of file is unknown, or it has no figure.
pub fn import(name: &str, text: &str) -> Result<Vec<(TierFigure, f64)>, ImportError> {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let (kind, figures) = match () {
        () if text.contains("Large/Small") => ("a matrix of Orion", orion_matrix(name, text)?),
        () if text.contains("Maximum Small IOPS=") || text.contains("Maximum Large MBPS=") => {
            ("a summary of Orion", orion_summary(text))
        }
        () if text.trim_start().starts_with("RunDate") => ("an export of RanRead", ranread(text)),
        () if text.trim_start().starts_with('<') => ("results of Swingbench", swingbench(text)?),
        () if text.contains("%util") => ("the output of iostat -x", iostat(text)),
        () => return Err(ImportError::Unknown),
    };
    if figures.is_empty() { Err(ImportError::Nothing(kind)) } else { Ok(figures) }
}

/// The best cell of a matrix, whose kind is only in the file's name.
fn orion_matrix(name: &str, text: &str) -> Result<Vec<(TierFigure, f64)>, ImportError> {
    let kind = "a matrix of Orion";
    let figure = match name {
        name if name.ends_with("iops.csv") => TierFigure::Iops,
        name if name.ends_with("mbps.csv") => TierFigure::Mbps,
        name if name.ends_with("lat.csv") => {
            let what = "the table has no column for its latencies; import the _iops.csv beside it".into();
            return Err(ImportError::Broken { kind, what });
        }
        _ => {
            let what = "its name must end in _iops.csv or _mbps.csv, which tells them apart".into();
            return Err(ImportError::Broken { kind, what });
        }
    };
    let rows = text.lines().skip_while(|line| !line.contains("Large/Small")).skip(1);
    let cells = rows.flat_map(|line| line.split(',').skip(1)).filter_map(|cell| cell.trim().parse().ok());
    Ok(most(cells).map(|best| (figure, best)).into_iter().collect())
}

fn orion_summary(text: &str) -> Vec<(TierFigure, f64)> {
    let value = |key: &str| {
        let line = text.lines().find_map(|line| line.trim().strip_prefix(key))?;
        line.split_whitespace().next()?.parse().ok()
    };
    let found = [(TierFigure::Iops, "Maximum Small IOPS="), (TierFigure::Mbps, "Maximum Large MBPS=")];
    found.into_iter().filter_map(|(figure, key)| Some((figure, value(key)?))).collect()
}

fn ranread(text: &str) -> Vec<(TierFigure, f64)> {
    let mut lines = text.trim_start().lines();
    let head = lines.next().unwrap_or_default();
    let delimiter = if head.contains('\t') { '\t' } else { ',' };
    let Some(column) = head.split(delimiter).position(|name| matches!(name.trim(), "IOPS" | "ReadsPS")) else {
        return Vec::new();
    };
    let cells = lines.filter_map(|line| line.split(delimiter).nth(column)?.trim().parse().ok());
    most(cells).map(|best| (TierFigure::Iops, best)).into_iter().collect()
}

/// Tags are found by name, in any name space, and each may be missing.
fn swingbench(text: &str) -> Result<Vec<(TierFigure, f64)>, ImportError> {
    let broken =
        |error: roxmltree::Error| ImportError::Broken { kind: "results of Swingbench", what: error.to_string() };
    let document = roxmltree::Document::parse(text).map_err(broken)?;
    let number = |node: roxmltree::Node<'_, '_>| node.text().and_then(|text| text.trim().parse::<f64>().ok());
    let first = |name: &str| document.descendants().find(|node| node.tag_name().name() == name).and_then(number);
    let mut found = Vec::new();
    // The highest count in a minute, according to its own script.
    found.extend(first("MaximumTransactionRate").map(|rate| (TierFigure::MaxTpm, rate)));
    let readings = document.descendants().filter(|node| node.tag_name().name() == "TPSReadings");
    found.extend(most(readings.flat_map(|node| pairs(&node))).map(|best| (TierFigure::MaxTps, best)));
    found.extend(first("AverageTransactionsPerSecond").map(|mean| (TierFigure::AvgTps, mean)));
    let (mut count, mut time) = (0.0, 0.0);
    for result in document.descendants().filter(|node| node.tag_name().name() == "Result") {
        let value = |name: &str| result.children().find(|child| child.tag_name().name() == name).and_then(number);
        if let (Some(each), Some(many)) = (value("AverageResponse"), value("TransactionCount")) {
            (count, time) = (count + many, time + each * many);
        }
    }
    // The mean over all transactions, not over their kinds.
    found.extend((count > 0.0).then(|| (TierFigure::AvgResp, time / count)));
    Ok(found)
}

/// The second value of each pair of time and value, in the node's text, its elements or their
/// attributes.
fn pairs(node: &roxmltree::Node<'_, '_>) -> Vec<f64> {
    let text = node.text().unwrap_or_default();
    let words: Vec<f64> = text.split([',', ';', ' ', '\n', '\t']).filter_map(|word| word.trim().parse().ok()).collect();
    if words.len() >= 2 {
        return words.chunks(2).filter_map(|pair| pair.get(1).copied()).collect();
    }
    let values = node.descendants().filter(|node| matches!(node.tag_name().name(), "value" | "Value" | "TPS" | "tps"));
    let attributes = node.descendants().flat_map(|node| {
        let value = node.attribute("value").or_else(|| node.attribute("tps"));
        value.and_then(|value| value.trim().parse().ok())
    });
    values.filter_map(|node| node.text()?.trim().parse().ok()).chain(attributes).collect()
}

fn iostat(text: &str) -> Vec<(TierFigure, f64)> {
    let number = |word: &str| word.replace(',', ".").parse::<f64>().ok();
    let (mut cpus, mut busy) = (Vec::new(), Vec::new());
    let mut lines = text.lines().peekable();
    while let Some(line) = lines.next() {
        if line.trim_start().starts_with("avg-cpu:") {
            let names: Vec<&str> = line.split_whitespace().skip(1).collect();
            let values: Vec<f64> =
                lines.next().map_or(Vec::new(), |line| line.split_whitespace().filter_map(number).collect());
            let value = |name| names.iter().position(|found| *found == name).and_then(|at| values.get(at));
            if let (Some(idle), Some(wait)) = (value("%idle"), value("%iowait")) {
                cpus.push(100.0 - idle - wait);
            }
        } else if line.contains("%util") {
            let Some(at) = line.split_whitespace().position(|name| name == "%util") else { continue };
            let mut most = None::<f64>;
            while let Some(device) = lines.next_if(|line| !line.trim().is_empty()) {
                let value = device.split_whitespace().nth(at).and_then(number);
                most = value.map(|value| most.map_or(value, |most| most.max(value))).or(most);
            }
            busy.extend(most);
        }
    }
    // The first report covers the time since the machine was started.
    let mean = |values: &[f64]| {
        let values = values.get(1..).unwrap_or_default();
        (!values.is_empty()).then(|| values.iter().sum::<f64>() / values.len() as f64)
    };
    let found = [(TierFigure::DiskBusy, mean(&busy)), (TierFigure::Cpu, mean(&cpus))];
    found.into_iter().filter_map(|(figure, value)| Some((figure, value?))).collect()
}

fn most(values: impl Iterator<Item = f64>) -> Option<f64> {
    values.filter(|value| value.is_finite()).reduce(f64::max)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_of_orion_give_their_maxima_ragged_rows_and_all() {
        let matrix =
            "Large/Small,      1,      2,      3\n          0,   1000,   1900,   2600\n          1\n          2\n";
        assert_eq!(import("x_20261123_0900_iops.csv", matrix), Ok(vec![(TierFigure::Iops, 2600.0)]));
        let mbps = "Explained here\n\nLarge/Small,      0,      1\n          1,  53.96\n          2, 117.46, 1.00\n";
        assert_eq!(import("x_mbps.csv", mbps), Ok(vec![(TierFigure::Mbps, 117.46)]));
        assert!(import("x_lat.csv", matrix).unwrap_err().to_string().contains("no column"));
        assert!(import("x.csv", matrix).unwrap_err().to_string().contains("must end in"));
        assert_eq!(import("x_iops.csv", "Large/Small,      1\n"), Err(ImportError::Nothing("a matrix of Orion")));
        let summary =
            "Maximum Large MBPS=117.46 @ Small=0 and Large=2\nMaximum Small IOPS=1403 @ Small=5 and Large=0\n";
        assert_eq!(import("s.txt", summary), Ok(vec![(TierFigure::Iops, 1403.0), (TierFigure::Mbps, 117.46)]));
    }

    #[test]
    fn an_export_of_ranread_gives_its_best_batch() {
        let text = "RunDate\tRunTime\tDatabase\tIterations\tProcesses\tResponseTime\tIOPS\t\n\
                    2016-05-01\t10:00:00\t/db/\t1000\t1\t4.22\t237\t\n2016-05-01\t10:01:00\t/db/\t1000\t40\t10.46\t3826\t\n";
        assert_eq!(import("e.txt", text), Ok(vec![(TierFigure::Iops, 3826.0)]));
        let commas = text.replace('\t', ",");
        assert_eq!(import("e.txt", &commas), Ok(vec![(TierFigure::Iops, 3826.0)]));
    }

    /// 100 of 10 ms and 300 of 50 ms have a mean of 40 ms.
    #[test]
    fn swingbench_gives_transactions_and_the_mean_over_all_of_them() {
        let text = r#"<?xml version="1.0"?><Results xmlns="http://www.dominicgiles.com/swingbench/results"><Overview>
            <AverageTransactionsPerSecond>40.28</AverageTransactionsPerSecond>
            <MaximumTransactionRate>2620</MaximumTransactionRate></Overview><TransactionResults>
            <Result id="a"><AverageResponse>10</AverageResponse><TransactionCount>100</TransactionCount></Result>
            <Result id="b"><AverageResponse>50</AverageResponse><TransactionCount>300</TransactionCount></Result>
            </TransactionResults><BenchmarkMetrics><TPSReadings>1000,38,1001,61,1002,40</TPSReadings></BenchmarkMetrics>
            </Results>"#;
        let found = import("results.xml", text).unwrap();
        let wanted = [
            (TierFigure::MaxTpm, 2620.0),
            (TierFigure::MaxTps, 61.0),
            (TierFigure::AvgTps, 40.28),
            (TierFigure::AvgResp, 40.0),
        ];
        assert_eq!(found, wanted);
        assert_eq!(import("r.xml", "<a/>"), Err(ImportError::Nothing("results of Swingbench")));
        assert!(matches!(import("r.xml", "<a><b></a>"), Err(ImportError::Broken { .. })));
    }

    /// Two reports after the first: the busiest device 40 and 60, the processors 30 and 50 without
    /// I/O wait.
    #[test]
    fn iostat_gives_what_was_between_its_reports() {
        let report = |user: f64, wait: f64, util: f64| {
            format!(
                "avg-cpu:  %user   %nice %system %iowait  %steal   %idle\n          {user:.2}    0.00   10.00   \
                 {wait:.2}    0.00   {:.2}\n\nDevice            r/s     w/s  %util\nsda              1.00    2.00   \
                 1.00\nsdb             10.00    2.00  {util:.2}\n\n",
                90.0 - user - wait
            )
        };
        let text =
            format!("Linux 6.1\n\n{}{}{}", report(80.0, 0.0, 99.0), report(20.0, 30.0, 40.0), report(40.0, 5.0, 60.0));
        let found = import("iostat.log", &text).unwrap();
        assert_eq!(found.len(), 2);
        assert!((found[0].1 - 50.0).abs() < 1e-9 && (found[1].1 - 40.0).abs() < 1e-9, "{found:?}");
        assert_eq!(import("notes.txt", "hello"), Err(ImportError::Unknown));
    }
}
